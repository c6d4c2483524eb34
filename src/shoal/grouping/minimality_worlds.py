"""What an algorithm that changes no more than necessary discloses by what it changed.

The adversary knows everybody's quasi-identifiers, the algorithm, and the release. Of the tables
that are consistent with them, those count that the algorithm maps to this release: the share of
them in which a person has a value is its credibility. All assignments of values to people are
equally likely beforehand.

A truthful release fixes the values of every bucket, so candidates distribute these among the people
of the bucket. If there are few, all are enumerated, with exact weights; otherwise some are drawn,
and for each bucket those count that produce it again, whatever becomes of the others.

References
----------
[Wong07] R. Wong, A. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing,
VLDB 2007, Sections 3 and 4: credibility.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats, Texts
from shoal.core.calibration import share_interval
from shoal.core.progress import following

Publish = Callable[[Counts], Codes | None]
"""Returns the bucket of every kind as the algorithm forms them from a table, kinds of people by
values; None if it publishes nothing, or separates people who are alike."""

_FEWEST_DRAWS = 30
"""With fewer draws, nothing is reported about a bucket."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """The kinds of people of an external table, and the buckets of a release.

    `bucket` has the bucket of each kind, `counts` its people, and `values` the count of each value,
    with one row per bucket. Every bucket has at least one kind.
    """

    bucket: Codes
    counts: Counts
    values: Counts

    @property
    def n_kinds(self) -> int:
        """The number of kinds of people."""
        return len(self.bucket)

    @property
    def is_open(self) -> Flags:
        """The buckets that leave anything open: several kinds of people and several values."""
        n_kinds = np.bincount(self.bucket, minlength=len(self.values))
        n_values = np.count_nonzero(self.values, axis=1)
        return np.asarray((n_kinds > 1) & (n_values > 1), dtype=bool)

    def agreement(self, buckets: Codes | None) -> Flags:
        """Return which buckets of the release are also buckets of another one."""
        n_buckets = len(self.values)
        if buckets is None:
            return np.zeros(n_buckets, dtype=bool)
        # The bucket there of the first kind of each bucket here; the others must share it.
        first = np.full(n_buckets, -1, dtype=np.int64)
        first[self.bucket[::-1]] = buckets[::-1]
        n_apart = np.bincount(self.bucket[buckets != first[self.bucket]], minlength=n_buckets)
        n_here = np.bincount(self.bucket, minlength=n_buckets)
        n_there = np.bincount(buckets)[first]
        return np.asarray((n_apart == 0) & (n_here == n_there), dtype=bool)


@dataclass(frozen=True, eq=False)
class Credibilities:
    """The credibility of every value for every kind of people.

    It is exact if all candidate tables were enumerated.
    """

    # By kind and value: the weight of the tables in which a person of the kind has the value,
    # summed over its people. Python integers, of any size.
    weight: Texts
    # By kind: the weight of the tables that count, those mapped to the release or, if tables are
    # drawn, those that produce the kind's bucket again.
    total: Texts
    counts: Counts
    # The number of tables published again, and of those mapped to the release.
    n_tried: int
    n_mapped: int
    # By kind: the number of independent draws behind the estimate; infinite if it is exact.
    n_draws: Floats
    is_exact: bool

    @property
    def is_said(self) -> Flags:
        """The kinds about which enough is known to be reported."""
        return np.asarray(self.n_draws >= _FEWEST_DRAWS, dtype=bool)

    def of(self, values: Sequence[int]) -> Floats:
        """Return for each kind the credibility of having one of some values."""
        chosen = self.weight[:, list(values)].sum(axis=1)
        whole = self.total * self.counts
        if not self.is_exact:
            return np.asarray(chosen / np.maximum(whole, 1), dtype=np.float64)
        # The quotient of Python's integers is rounded only once, so ties stay ties.
        pairs = zip(chosen.tolist(), whole.tolist(), strict=True)
        return np.array([part / total if total else 0.0 for part, total in pairs])

    def interval(self, values: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the 95 % intervals of `of`; 0 to 1 if nothing is known."""
        share = self.of(values)
        if self.is_exact:
            return share, share
        # A kind that is certain needs no draws.
        n_draws = np.where(np.isinf(self.n_draws), 1e15, self.n_draws).astype(np.int64)
        hits = np.rint(share * n_draws).astype(np.int64)
        pairs, place = np.unique(np.stack([hits, n_draws]), axis=1, return_inverse=True)
        ends = np.array([share_interval(*pair) for pair in pairs.T.tolist()])[place.ravel()]
        return np.minimum(ends[:, 0], share), np.maximum(ends[:, 1], share)


def credibilities(crowd: Crowd, publish: Publish, n_tables: int, seed: int = 0) -> Credibilities:
    """Return the credibility of every value for every kind of people.

    At most `n_tables` tables are published again; the result is exact if there are no more
    candidates.

    Examples
    --------
    Two people of one kind and five of another, two of whom have HIV; buckets are merged if HIV
    makes up more than half of one. The fact that they were merged discloses who has it.

    >>> crowd = Crowd(np.array([0, 0]), np.array([2, 5]), np.array([[2, 5]]))
    >>> def publish(table):
    ...     return np.array([0, 0] if table[0, 0] > 1 else [0, 1])
    >>> credibilities(crowd, publish, 100).of([0]).tolist()
    [1.0, 0.0]
    """
    choices = _choices(crowd, n_tables)
    if choices is not None:
        return _enumerated(crowd, publish, choices)
    return _sampled(crowd, publish, n_tables, np.random.default_rng(seed))


# --- every candidate --------------------------------------------------------------------------


Share = tuple[Counts, int]
"""One distribution of the values of a bucket, and the number of assignments that it stands for."""


def _choices(crowd: Crowd, most: int) -> list[list[Share]] | None:
    """Return all distributions of the values of every bucket; None if there are too many."""
    found: list[list[Share]] = []
    n_tables = 1
    for bucket, values in enumerate(crowd.values):
        kinds = crowd.counts[crowd.bucket == bucket].tolist()
        shares = itertools.islice(_share_out(kinds, values.tolist()), most // n_tables + 1)
        found.append([(np.array(table, dtype=np.int64), weight) for table, weight in shares])
        n_tables *= len(found[-1])
        if n_tables > most:
            return None
    return found


def _share_out(kinds: list[int], values: list[int]) -> Iterator[tuple[list[list[int]], int]]:
    """Yield the distributions of values among kinds of people; the last kind takes what is left."""
    if len(kinds) == 1:
        yield [values], _n_orders(values)
        return
    for own in _parts(kinds[0], values):
        left = [held - taken for held, taken in zip(values, own, strict=True)]
        for rest, weight in _share_out(kinds[1:], left):
            yield [own, *rest], weight * _n_orders(own)


def _parts(size: int, values: list[int]) -> Iterator[list[int]]:
    """Yield all ways to take `size` of some values."""
    if len(values) == 1:
        if size <= values[0]:
            yield [size]
        return
    most_left = sum(values[1:])
    for taken in range(max(0, size - most_left), min(size, values[0]) + 1):
        for rest in _parts(size - taken, values[1:]):
            yield [taken, *rest]


def _n_orders(counts: list[int]) -> int:
    """Return the number of ways in which people of one kind can have these counts of values."""
    ways = math.factorial(sum(counts))
    for count in counts:
        ways //= math.factorial(count)
    return ways


def _enumerated(crowd: Crowd, publish: Publish, choices: list[list[Share]]) -> Credibilities:
    n_values = crowd.values.shape[1]
    kinds = [np.flatnonzero(crowd.bucket == bucket) for bucket in range(len(choices))]
    table = np.zeros((crowd.n_kinds, n_values), dtype=np.int64)
    weights = np.zeros(table.shape, dtype=object)
    total = n_tried = n_mapped = 0
    for shares in itertools.product(*choices):
        weight = 1
        for members, (share, ways) in zip(kinds, shares, strict=True):
            table[members] = share
            weight *= ways
        n_tried += 1
        if crowd.agreement(publish(table)).all():
            n_mapped += 1
            total += weight
            weights += table.astype(object) * weight
    n_draws = np.full(crowd.n_kinds, np.inf if total else 0.0)
    totals = np.full(crowd.n_kinds, total, dtype=object)
    return Credibilities(weights, totals, crowd.counts, n_tried, n_mapped, n_draws, is_exact=True)


# --- some candidates --------------------------------------------------------------------------


def _sampled(
    crowd: Crowd, publish: Publish, n_tables: int, draw: np.random.Generator
) -> Credibilities:
    """Distribute the values of all buckets at random, and find which buckets are produced again.

    In a large release, all buckets are hardly ever produced at once. So for each bucket those
    tables count that produce this one: independent draws given that part of the release.
    """
    n_values = crowd.values.shape[1]
    person = np.repeat(np.arange(crowd.n_kinds), crowd.counts)
    person = person[np.argsort(crowd.bucket[person], kind="stable")]
    bucket = crowd.bucket[person]
    value = np.repeat(np.tile(np.arange(n_values), len(crowd.values)), crowd.values.ravel())
    weights = np.zeros((crowd.n_kinds, n_values), dtype=np.int64)
    n_agreed = np.zeros(len(crowd.values), dtype=np.int64)
    n_mapped = 0
    for _ in following(range(n_tables)):
        shuffled = value[np.lexsort((draw.random(len(value)), bucket))]
        table = np.bincount(person * n_values + shuffled, minlength=weights.size)
        table = table.reshape(weights.shape).astype(np.int64)
        agrees = crowd.agreement(publish(table))
        weights += table * agrees[crowd.bucket][:, None]
        n_agreed += agrees
        n_mapped += bool(agrees.all())
    total = n_agreed[crowd.bucket]
    # If a bucket leaves nothing open, one table is as good as any number.
    is_open = crowd.is_open[crowd.bucket]
    return Credibilities(
        weights.astype(object),
        total.astype(object),
        crowd.counts,
        n_tables,
        n_mapped,
        np.where((total > 0) & ~is_open, np.inf, total),
        is_exact=False,
    )
