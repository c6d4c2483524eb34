"""What an algorithm that changes no more than it must betrays by what it changed.

The adversary knows everybody's quasi-identifiers, the algorithm, and the release. Of the tables
that agree with both, those count that the algorithm maps to this release: the share of them in
which somebody has a value is its credibility. All assignments of values to people are equally
likely beforehand.

A release that is true fixes the values of every bucket, so candidates share these out among the
people of a bucket. Few enough are gone through, with exact weights; else some are drawn, and of
each bucket those count in which it came about again, whatever became of the others.

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
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.proportion import share_interval

__all__ = ["Credibilities", "Crowd", "credibilities"]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]
Publish = Callable[[Counts], Codes | None]
"""Gives for a table, kinds of people by values, the bucket of every kind as the algorithm forms
them; None where it publishes nothing, or parts people who are alike."""

_FEWEST_DRAWS = 30
"""With fewer draws nothing is said of a bucket."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """The kinds of people of an external table, and what a release says of their buckets.

    Parameters
    ----------
    bucket
        The bucket of each kind, numbered from 0; every bucket has at least one kind.
    counts
        How many people are of each kind.
    values
        For each bucket how often it holds each value: one row a bucket.
    """

    bucket: Codes
    counts: Counts
    values: Counts

    @property
    def n_kinds(self) -> int:
        """The number of kinds of people."""
        return len(self.bucket)

    @property
    def is_open(self) -> Marks:
        """Which buckets leave anything open: several kinds of people and several values."""
        n_kinds = np.bincount(self.bucket, minlength=len(self.values))
        n_values = np.count_nonzero(self.values, axis=1)
        return np.asarray((n_kinds > 1) & (n_values > 1), dtype=bool)

    def agreement(self, buckets: Codes | None) -> Marks:
        """Say which buckets of the release are buckets of another one too."""
        n_buckets = len(self.values)
        if buckets is None:
            return np.zeros(n_buckets, dtype=bool)
        first = np.full(n_buckets, -1, dtype=np.int64)
        first[self.bucket[::-1]] = buckets[::-1]
        n_apart = np.bincount(self.bucket[buckets != first[self.bucket]], minlength=n_buckets)
        n_here = np.bincount(self.bucket, minlength=n_buckets)
        n_there = np.bincount(buckets)[first]
        return np.asarray((n_apart == 0) & (n_here == n_there), dtype=bool)


@dataclass(frozen=True, eq=False)
class Credibilities:
    """The credibility of every value for every kind of people.

    Parameters
    ----------
    weight
        For each kind and value the weight of the tables in which one of the kind has it, summed
        over the kind's people: whole numbers.
    total
        For each kind the weight of the tables that count: of those that are mapped to the release
        or, where they are drawn, in which the bucket of the kind came about again.
    counts
        How many people are of each kind.
    n_tried, n_mapped
        How many tables were published anew, and how many of them gave the release.
    n_draws
        For each kind how many independent draws the estimate rests on; infinite where it is
        exact.
    is_exact
        Whether every candidate was gone through.
    """

    weight: npt.NDArray[np.object_]
    total: npt.NDArray[np.object_]
    counts: Counts
    n_tried: int
    n_mapped: int
    n_draws: Floats
    is_exact: bool

    @property
    def is_said(self) -> Marks:
        """Of which kinds anything can be said."""
        return np.asarray(self.n_draws >= _FEWEST_DRAWS, dtype=bool)

    def of(self, values: Sequence[int]) -> Floats:
        """Give for each kind the credibility of having one of some values."""
        chosen = self.weight[:, list(values)].sum(axis=1)
        whole = self.total * self.counts
        if not self.is_exact:
            return np.asarray(chosen / np.maximum(whole, 1), dtype=np.float64)
        # Of Python's whole numbers the quotient is rounded once, so that ties stay ties.
        pairs = zip(chosen.tolist(), whole.tolist(), strict=True)
        return np.array([part / total if total else 0.0 for part, total in pairs])

    def interval(self, values: Sequence[int]) -> tuple[Floats, Floats]:
        """Give the ends of the intervals of `of`, at 95 %; everything where nothing is said."""
        share = self.of(values)
        if self.is_exact:
            return share, share
        # One that is certain by itself needs no draws.
        n_draws = np.where(np.isinf(self.n_draws), 1e15, self.n_draws).astype(np.int64)
        hits = np.rint(share * n_draws).astype(np.int64)
        pairs, place = np.unique(np.stack([hits, n_draws]), axis=1, return_inverse=True)
        ends = np.array([share_interval(*pair) for pair in pairs.T.tolist()])[place.ravel()]
        return np.minimum(ends[:, 0], share), np.maximum(ends[:, 1], share)


def credibilities(crowd: Crowd, publish: Publish, n_tables: int, seed: int = 0) -> Credibilities:
    """Find the credibility of every value for every kind of people.

    Parameters
    ----------
    crowd
        The people and the release.
    publish
        The algorithm.
    n_tables
        How many tables are published anew at most. Where there are no more candidates, the answer
        is exact.
    seed
        What draws come from.

    Examples
    --------
    Two people of one kind and five of another, two of whom have HIV; buckets are merged where HIV
    makes up more than half of one. That they were merged says who has it.

    >>> crowd = Crowd(np.array([0, 0]), np.array([2, 5]), np.array([[2, 5]]))
    >>> def publish(table):
    ...     return np.array([0, 0] if table[0, 0] > 1 else [0, 1])
    >>> credibilities(crowd, publish, 100).of([0]).tolist()
    [1.0, 0.0]
    """
    choices = _choices(crowd, n_tables)
    if choices is not None:
        return _gone_through(crowd, publish, choices)
    return _sampled(crowd, publish, n_tables, np.random.default_rng(seed))


# --- every candidate --------------------------------------------------------------------------


Share = tuple[Counts, int]
"""One way to share out the values of a bucket, and how many assignments to people it stands for."""


def _choices(crowd: Crowd, most: int) -> list[list[Share]] | None:
    """Give all ways to share out the values of every bucket; None where there are too many."""
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
    """Share out values among kinds of people, the last of which takes what is left."""
    if len(kinds) == 1:
        yield [values], _n_orders(values)
        return
    for own in _parts(kinds[0], values):
        left = [held - taken for held, taken in zip(values, own, strict=True)]
        for rest, weight in _share_out(kinds[1:], left):
            yield [own, *rest], weight * _n_orders(own)


def _parts(size: int, values: list[int]) -> Iterator[list[int]]:
    """Give all ways to take so many of some values."""
    if len(values) == 1:
        if size <= values[0]:
            yield [size]
        return
    most_left = sum(values[1:])
    for taken in range(max(0, size - most_left), min(size, values[0]) + 1):
        for rest in _parts(size - taken, values[1:]):
            yield [taken, *rest]


def _n_orders(counts: list[int]) -> int:
    """In how many ways people of one kind can have so many of each value."""
    ways = math.factorial(sum(counts))
    for count in counts:
        ways //= math.factorial(count)
    return ways


def _gone_through(crowd: Crowd, publish: Publish, choices: list[list[Share]]) -> Credibilities:
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
    """Share out the values of all buckets at random, and look which buckets come about again.

    That all come about at once has hardly any chance in a large release. So of each bucket those
    tables count in which it came about itself: independent draws given that much of the release.
    """
    n_values = crowd.values.shape[1]
    person = np.repeat(np.arange(crowd.n_kinds), crowd.counts)
    person = person[np.argsort(crowd.bucket[person], kind="stable")]
    bucket = crowd.bucket[person]
    value = np.repeat(np.tile(np.arange(n_values), len(crowd.values)), crowd.values.ravel())
    weights = np.zeros((crowd.n_kinds, n_values), dtype=np.int64)
    n_agreed = np.zeros(len(crowd.values), dtype=np.int64)
    n_mapped = 0
    for _ in range(n_tables):
        shuffled = value[np.lexsort((draw.random(len(value)), bucket))]
        table = np.bincount(person * n_values + shuffled, minlength=weights.size)
        table = table.reshape(weights.shape).astype(np.int64)
        agrees = crowd.agreement(publish(table))
        weights += table * agrees[crowd.bucket][:, None]
        n_agreed += agrees
        n_mapped += bool(agrees.all())
    total = n_agreed[crowd.bucket]
    # Where a bucket leaves nothing open, one table is as good as any number.
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
