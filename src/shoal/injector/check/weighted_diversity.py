"""Weighted matching l-diversity: no value is more likely than 1/ell, over all assignments.

An assignment gives every row of a bucket one of its values, each value as often as the bucket holds
it, and no row a value that it is known not to have. All assignments are equally likely. The
probability that a row has a value is therefore the number of assignments of the other rows to the
other values, divided by the number of all assignments.

Assignments are counted kind by kind: the rows of one kind, which can have the same values, take
theirs from the values left. The number of ways depends only on the values left, so it is kept for
every state. Counts are exact integers, and a tie at 1/ell is a tie.

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Section
V-A, for assignments; the weights are Shoal's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb

import numpy as np

from shoal.core.adversary_guarantees import WeightedMatchingDiversity
from shoal.core.cells import Buckets
from shoal.core.exact import as_text
from shoal.core.progress import Work
from shoal.core.verdict import Evidence, Verdict, confirm_occupied
from shoal.injector.check.matching_diversity import Witness, confirmed

_COST = 100
"""Operations counted for one choice of values for the rows of a kind."""

_Kind = tuple[int, int]
"""The values that rows of a kind can have, as bits, and the number of rows."""


def check(guarantee: WeightedMatchingDiversity, evidence: Evidence) -> Verdict:
    """Check that no row has a value with a probability above 1/ell.

    Without the witness "forbidden", a `Witness`, the check is partial: a value that more than one
    row in ell has is too likely for some row, whatever is known. `DataError` is raised if the
    witness is about other rows or values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> known = Witness(np.array([0]), np.array([0]), np.array([2]), np.array([[False, False]]))
    >>> check(WeightedMatchingDiversity(ell=2), Evidence(buckets, buckets.sizes,
    ...                                                  witnesses={"forbidden": known}))
    Verdict(weighted matching l-diversity holds in all 1 buckets, reached ell=2)
    """
    buckets = evidence.buckets_for(guarantee)
    witness = evidence.witnesses.get(guarantee.needs_witness)
    if witness is None:
        return _check_in_part(guarantee, buckets)
    largest = _largest_by_bucket(buckets, confirmed(witness), evidence.work)
    bound = Fraction(1, guarantee.ell)
    return Verdict.of_failures(
        guarantee,
        np.array([posterior > bound for posterior in largest], dtype=bool),
        f"hold somebody who has a value with a probability above 1/{guarantee.ell}",
        {"ell": int(1 / max(largest))} if largest else {},
    )


def _check_in_part(guarantee: WeightedMatchingDiversity, buckets: Buckets) -> Verdict:
    largest = np.maximum.reduceat(buckets.count, buckets.starts)
    fewest = int((buckets.sizes // largest).min()) if buckets.n_buckets else 0
    return Verdict.of_failures(
        guarantee,
        largest * guarantee.ell > buckets.sizes,
        f"hold a value that more than one row in {guarantee.ell} has; how likely values are for "
        "single people was not checked, because the knowledge was not given",
        {"ell_at_most": fewest} if buckets.n_buckets else {},
        is_partial=True,
    )


def largest_posterior(buckets: Buckets, witness: Witness, work: Work | None = None) -> str:
    """Return the largest probability of a value for any row, over all assignments.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    witness
        The values that the rows of each bucket cannot have.
    work
        The budget for counting; default 2e9 operations.

    Returns
    -------
    The probability as a fraction or a decimal number; 1 if a bucket has no assignment.

    Raises
    ------
    TooMuchWork
        If there are too many assignments to count.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), disease)
    >>> known = Witness(np.array([0, 0]), np.array([0, 1]), np.array([2, 1]),
    ...                 sets=np.array([[False, False, False], [True, False, False]]))
    >>> largest_posterior(buckets, known)
    '0.5'
    """
    found = _largest_by_bucket(confirm_occupied(buckets), witness, work or Work())
    return as_text(max(found))


def _largest_by_bucket(buckets: Buckets, witness: Witness, work: Work) -> list[Fraction]:
    """Return the largest probability of a value for a row, bucket by bucket."""
    witness.confirm(buckets)
    by_bucket = np.argsort(witness.bucket, kind="stable")
    starts = np.searchsorted(witness.bucket[by_bucket], np.arange(buckets.n_buckets + 1))
    ends = np.append(buckets.starts, len(buckets.bucket))
    known: dict[object, Fraction] = {}
    found = []
    for bucket in range(buckets.n_buckets):
        part = slice(int(ends[bucket]), int(ends[bucket + 1]))
        here = by_bucket[starts[bucket] : starts[bucket + 1]]
        is_allowed = ~witness.sets[np.ix_(witness.which[here], buckets.value[part])]
        rows: Counter[int] = Counter()
        for marks, count in zip(is_allowed.tolist(), witness.count[here].tolist(), strict=True):
            rows[sum(1 << place for place, mark in enumerate(marks) if mark)] += count
        copies = tuple(buckets.count[part].tolist())
        # Most buckets are alike.
        key = frozenset(rows.items()), copies
        if key not in known:
            known[key] = _largest(sorted(rows.items()), copies, work)
        found.append(known[key])
    return found


def _largest(kinds: Sequence[_Kind], copies: tuple[int, ...], work: Work) -> Fraction:
    """Return the largest probability of a value for a row of one bucket."""
    if len(kinds) == 1 and kinds[0][0] == (1 << len(copies)) - 1:
        # Nothing is forbidden, so each row has each value with the probability of its share.
        return Fraction(max(copies), sum(copies))
    n_all = _count(kinds, copies, work)
    if not n_all:
        return Fraction(1)
    most = 0
    for place, (allowed, n_rows) in enumerate(kinds):
        rest = [*kinds[:place], (allowed, n_rows - 1), *kinds[place + 1 :]]
        for value in range(len(copies)):
            if allowed >> value & 1:
                left = (*copies[:value], copies[value] - 1, *copies[value + 1 :])
                most = max(most, _count(rest, left, work))
    return Fraction(most, n_all)


def _count(kinds: Sequence[_Kind], copies: tuple[int, ...], work: Work) -> int:
    """Count the assignments of values, with `copies` of each, to rows of some kinds."""
    # Values that the same kinds can have form one class, within which any order is possible.
    takers = [tuple(allowed >> value & 1 for allowed, _ in kinds) for value in range(len(copies))]
    classes = {taker: place for place, taker in enumerate(dict.fromkeys(takers))}
    sizes = [0] * len(classes)
    n_orders = 1
    for taker, count in zip(takers, copies, strict=True):
        sizes[classes[taker]] += count
        n_orders *= comb(sizes[classes[taker]], count)
    ways = {tuple(sizes): 1}
    for place, (_, n_rows) in enumerate(kinds):
        open_to = [number for taker, number in classes.items() if taker[place]]
        reached: dict[tuple[int, ...], int] = {}
        for left, n_ways in ways.items():
            for after, n_choices in _taken(left, open_to, n_rows, work):
                reached[after] = reached.get(after, 0) + n_ways * n_choices
        ways = reached
    return ways.get((0,) * len(sizes), 0) * n_orders


def _taken(
    left: tuple[int, ...], open_to: Sequence[int], n_rows: int, work: Work
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Let rows of one kind take values of the classes open to them, in every possible way.

    Yields the values then left of all classes, and the number of ways to distribute the rows.
    """
    if not open_to:
        if not n_rows:
            yield left, 1
        return
    first, others = open_to[0], open_to[1:]
    beyond = sum(left[number] for number in others)
    for n_taken in range(max(n_rows - beyond, 0), min(left[first], n_rows) + 1):
        work.spend(_COST)
        after = (*left[:first], left[first] - n_taken, *left[first + 1 :])
        for final, n_choices in _taken(after, others, n_rows - n_taken, work):
            yield final, n_choices * comb(n_rows, n_taken)
