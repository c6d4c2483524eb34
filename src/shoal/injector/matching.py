"""The values that each kind of row can have, and how likely each is, in the buckets of a release.

Rows of one bucket with the same forbidden values have the same valid values, so `Occupants` is
enough: how many rows of each bucket have each set. If no row of a bucket is forbidden any of its
values, all values are valid; the other buckets are solved by flow and reachability. Sets of values
are the bits of 64-bit words: bit v of a row of words stands for code v.

Matching asks whether some assignment gives a value to a row. Counting all assignments that the
knowledge allows, each equally likely, shows that a value may be nearly certain although others are
possible. Rows with the same forbidden values are alike, and so are values that the same rows can
have. An assignment is then a table: how many rows of each kind take a value of each class. The
tables are counted class by class. Only the number of rows left of each kind matters for the classes
to come, so equal states are counted once. Counts are exact integers, so that a tie at a bound is a
tie.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Sections V-A and V-B.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Words, count_words, words_of
from shoal.core.cells import Buckets, group, total_by
from shoal.core.errors import DataError
from shoal.core.progress import Work
from shoal.injector._matching_kernels import Matcher


def count_values(words: Words) -> Counts:
    """Return the number of values in each set."""
    counts: Counts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return counts


@dataclass(frozen=True, eq=False)
class Occupants:
    """The number of rows of each bucket with each set of forbidden values.

    Entries are sorted by bucket, then set, each pair once: the bucket has `count` rows, at least
    one, with the set `which`.
    """

    n_buckets: int
    bucket: Codes
    which: Codes
    count: Counts

    @classmethod
    def of_rows(
        cls,
        bucket: Codes,
        which: Codes,
        n_buckets: int,
        n_sets: int,
        count: Counts | None = None,
    ) -> Occupants:
        """Count rows, or cells of `count` rows each, by bucket and set."""
        first, inverse = group([bucket, which], [n_buckets, n_sets], len(bucket))
        if count is None:
            return cls(n_buckets, bucket[first], which[first], np.bincount(inverse))
        total = total_by(inverse, count, len(first))
        return cls(n_buckets, bucket[first], which[first], total)

    @cached_property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        return total_by(self.bucket, self.count, self.n_buckets)

    def __repr__(self) -> str:
        return (
            f"Occupants({self.n_buckets} buckets, {self.count.sum()} rows, "
            f"{len(self.count)} entries)"
        )


def simple_values(occupants: Occupants, sets: Flags, buckets: Buckets) -> Words:
    """Return the values that rows can have by themselves: in the bucket and not forbidden.

    This is the simple requirement that [Li08, Section V-A] shows to be insufficient. Returns one
    row of words per entry of `occupants`; `sets` has one row per set and one column per code.
    """
    _confirm(occupants, sets, buckets)
    return _words_of_buckets(buckets)[occupants.bucket] & ~words_of(sets)[occupants.which]


def matching_values(occupants: Occupants, sets: Flags, buckets: Buckets) -> Words:
    """Return the values that some assignment of a bucket's values to its rows gives to a row.

    An assignment gives every row a value that it can have, and every value to as many rows as the
    bucket holds it [Li08, Section V-A, Definition 1]. If a bucket has no assignment, the knowledge
    contradicts the values, and no value is valid there. Returns one row of words per entry of
    `occupants`; `sets` has one row per set and one column per code.

    Examples
    --------
    One of two people cannot have a cold and so has the flu; the other one has the cold:

    >>> from shoal.core.arrays import marks_of
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> sets = np.array([[False, False, False], [True, False, False]])
    >>> occupants = Occupants.of_rows(np.array([0, 0]), np.array([0, 1]), n_buckets=1, n_sets=2)
    >>> marks_of(matching_values(occupants, sets, buckets), 3).tolist()
    [[True, False, False], [False, True, False]]
    """
    _confirm(occupants, sets, buckets)
    present = _words_of_buckets(buckets)[occupants.bucket]
    forbids = (present & words_of(sets)[occupants.which]).any(axis=1)
    is_hard = np.zeros(buckets.n_buckets, dtype=bool)
    is_hard[occupants.bucket[forbids]] = True
    # If a bucket's values are forbidden to none of its rows, every value is valid for all.
    words = np.where(is_hard[occupants.bucket, np.newaxis], np.uint64(0), present)
    hard = np.flatnonzero(is_hard)
    matcher = _matcher(occupants.which, occupants.count, buckets.value, buckets.count, sets)
    matcher.mark_valid(_bounds(occupants.bucket, hard), _bounds(buckets.bucket, hard), words)
    return words


def valid_of_bucket(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Flags
) -> Words:
    """Return the valid values of one bucket, as `matching_values` does for many.

    The bucket has `row_count` rows with each set `which`, and `value_count` rows with each `value`.
    Returns one row of words per set, all 0 if there is no assignment.
    """
    if row_count.sum() != value_count.sum():
        raise DataError(
            f"A bucket must have as many values as rows, not {value_count.sum()} values for "
            f"{row_count.sum()} rows."
        )
    if row_count.min(initial=1) < 1 or value_count.min(initial=1) < 1:
        raise DataError("Every group and every value of a bucket must count at least one row.")
    matcher = _matcher(which, row_count, value, value_count, sets)
    words = np.zeros((len(which), count_words(sets.shape[1])), dtype=np.uint64)
    matcher.mark_valid(np.array([[0, len(which)]]), np.array([[0, len(value)]]), words)
    return words


def _confirm(occupants: Occupants, sets: Flags, buckets: Buckets) -> None:
    if not np.array_equal(occupants.sizes, buckets.sizes):
        raise DataError(
            "Every bucket must have as many sensitive values as rows; there are "
            f"{buckets.n_rows} values in {buckets.n_buckets} buckets and "
            f"{occupants.count.sum()} rows in {occupants.n_buckets}."
        )
    if sets.shape[1] != buckets.domain.size or occupants.which.max(initial=-1) >= len(sets):
        raise DataError(
            f"There must be a set of forbidden values for each row, over the {buckets.domain.size} "
            f"values of column {buckets.domain.column!r}; there are {len(sets)} sets over "
            f"{sets.shape[1]} values."
        )


def _words_of_buckets(buckets: Buckets) -> Words:
    """Return the values of each bucket as words."""
    n_words = count_words(buckets.domain.size)
    words = np.zeros(buckets.n_buckets * n_words, dtype=np.uint64)
    bits = np.left_shift(np.uint64(1), (buckets.value & 63).astype(np.uint64))
    # A bucket has each value once, so the sum of bits is their union.
    np.add.at(words, buckets.bucket * n_words + (buckets.value >> 6), bits)
    return words.reshape(-1, n_words)


def _bounds(bucket: Codes, chosen: Codes) -> Codes:
    """Return where the entries of some buckets begin and end, one pair per bucket."""
    sides = [np.searchsorted(bucket, chosen, side=side) for side in ("left", "right")]
    return np.stack(sides, axis=1).astype(np.int64, copy=False)


def _matcher(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Flags
) -> Matcher:
    a, b, c, d = (
        np.require(one, np.int64, ["C", "W"]) for one in (which, row_count, value, value_count)
    )
    return Matcher(a, b, c, d, np.require(sets, bool, ["C", "W"]).view(np.uint8))


_COST = 100
"""Operations counted for one step between two states."""

_State = tuple[int, ...]


def largest_posteriors(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Flags, work: Work
) -> list[Fraction]:
    """Return the largest posterior of the rows with each set; 1 if there is no assignment.

    See `posteriors_of_bucket`.
    """
    shares = posteriors_of_bucket(which, row_count, value, value_count, sets, work)
    if shares is None:
        return [Fraction(1)] * len(which)
    return [max(row) for row in shares]


def posteriors_of_bucket(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Flags, work: Work
) -> list[list[Fraction]] | None:
    """Return the share of the assignments that give each value to a row with each set.

    The bucket has `row_count` rows with each set `which`, and `value_count` rows with each `value`;
    `sets` has one row per set and one column per code. Returns one list per set with one number per
    value, or None if there is no assignment. Raises `TooMuchWork` if there are too many states.
    """
    is_allowed = ~sets[np.ix_(which, value)]
    kinds, kind_of = np.unique(is_allowed, axis=0, return_inverse=True)
    classes, class_of = np.unique(kinds, axis=1, return_inverse=True)
    rows, copies = [0] * len(classes), [0] * classes.shape[1]
    for kind, count in zip(kind_of.ravel().tolist(), row_count.tolist(), strict=True):
        rows[kind] += count
    for one, count in zip(class_of.ravel().tolist(), value_count.tolist(), strict=True):
        copies[one] += count
    taken = _mean_table(rows, copies, classes.tolist(), work)
    if taken is None:
        return None
    # Within a class, copies go to its takers in any order, so each value gets its share.
    return [
        [
            taken[kind][one] / rows[kind] * Fraction(count, copies[one])
            for one, count in zip(class_of.ravel().tolist(), value_count.tolist(), strict=True)
        ]
        for kind in kind_of.ravel().tolist()
    ]


def _mean_table(
    rows: Sequence[int], copies: Sequence[int], is_allowed: Sequence[Sequence[bool]], work: Work
) -> list[list[Fraction]] | None:
    """Return the mean number of rows of each kind that take each class; None if none can."""
    if _n_states(copies) < _n_states(rows):
        # Kinds and classes are symmetric, so the cheaper direction is counted.
        turned = [list(column) for column in zip(*is_allowed, strict=True)]
        found = _mean_by_column(copies, rows, turned, work)
        return None if found is None else [list(line) for line in zip(*found, strict=True)]
    return _mean_by_column(rows, copies, is_allowed, work)


def _n_states(counts: Sequence[int]) -> int:
    product = 1
    for count in counts:
        product *= count + 1
    return product


def _mean_by_column(
    rows: Sequence[int], copies: Sequence[int], is_allowed: Sequence[Sequence[bool]], work: Work
) -> list[list[Fraction]] | None:
    start, end = tuple(rows), (0,) * len(rows)
    takers = [[k for k in range(len(rows)) if is_allowed[k][c]] for c in range(len(copies))]
    # Forwards, the number of ways to reach a state; backwards, the number to complete it.
    before: list[dict[_State, int]] = [{start: 1}]
    for count, kinds in zip(copies, takers, strict=True):
        reached: dict[_State, int] = {}
        for state, n_ways in before[-1].items():
            for _, after, n_choices in _choices(state, kinds, count, work):
                reached[after] = reached.get(after, 0) + n_ways * n_choices
        before.append(reached)
    total = before[-1].get(end, 0)
    if not total:
        return None
    taken = [[0] * len(copies) for _ in rows]
    completed: dict[_State, int] = {end: 1}
    for column in range(len(copies) - 1, -1, -1):
        earlier: dict[_State, int] = {}
        for state, n_ways in before[column].items():
            for chosen, after, n_choices in _choices(state, takers[column], copies[column], work):
                n_rest = n_choices * completed.get(after, 0)
                if not n_rest:
                    continue
                earlier[state] = earlier.get(state, 0) + n_rest
                for kind, number in zip(takers[column], chosen, strict=True):
                    taken[kind][column] += n_ways * n_rest * number
        completed = earlier
    return [[Fraction(number, total) for number in line] for line in taken]


def _choices(
    state: _State, kinds: Sequence[int], count: int, work: Work
) -> Iterator[tuple[tuple[int, ...], _State, int]]:
    """Choose how many rows of each kind take a class of `count` copies.

    Yields the number of rows of each of the kinds, the rows then left of all kinds, and the number
    of ways to choose the rows themselves.
    """
    available = [state[kind] for kind in kinds]

    def extend(place: int, left: int, n_choices: int) -> Iterator[tuple[tuple[int, ...], int]]:
        if place == len(kinds):
            if left == 0:
                yield (), n_choices
            return
        beyond = sum(available[place + 1 :])
        for number in range(max(left - beyond, 0), min(available[place], left) + 1):
            ways = n_choices * comb(available[place], number)
            for rest, n_ways in extend(place + 1, left - number, ways):
                yield (number, *rest), n_ways

    for chosen, n_choices in extend(0, count, 1):
        work.spend(_COST)
        after = list(state)
        for kind, number in zip(kinds, chosen, strict=True):
            after[kind] -= number
        yield chosen, tuple(after), n_choices
