"""The values that each kind of row can have, in all buckets of a release or in one.

Rows of one bucket with one set of forbidden values have the same valid values, so all that is
needed of the rows is `Occupants`: how many each bucket has with each set. Buckets in which nobody
is forbidden anything are answered at once, the others by flow and reachability.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.cells import Buckets, Codes, Counts, group
from shoal.core.errors import DataError
from shoal.knowledge.matching._kernels import Matcher
from shoal.knowledge.matching.words import Marks, Words, count_words, words_of

__all__ = ["Occupants", "matching_values", "simple_values", "valid_of_bucket"]


@dataclass(frozen=True, eq=False)
class Occupants:
    """How many rows of each bucket have each set of forbidden values.

    Parameters
    ----------
    n_buckets
        The number of buckets.
    bucket, which, count
        The entries, sorted by bucket, then set, each pair once: this bucket has so many rows, at
        least one, with the set at this place.

    Examples
    --------
    >>> Occupants.of_rows(np.array([0, 1, 0, 0]), np.array([1, 0, 0, 1]), n_buckets=2, n_sets=2)
    Occupants(2 buckets, 4 rows, 3 entries)
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
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, inverse, count)
        return cls(n_buckets, bucket[first], which[first], total)

    @cached_property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        sizes = np.zeros(self.n_buckets, dtype=np.int64)
        np.add.at(sizes, self.bucket, self.count)
        return sizes

    def __repr__(self) -> str:
        return (
            f"Occupants({self.n_buckets} buckets, {self.count.sum()} rows, "
            f"{len(self.count)} entries)"
        )


def simple_values(occupants: Occupants, sets: Marks, buckets: Buckets) -> Words:
    """Find the values that rows can have by themselves: in the bucket and not forbidden.

    This is the simple requirement that [Li08, Section V-A] finds wanting.

    Parameters
    ----------
    occupants
        Who is in each bucket.
    sets
        The sets of forbidden values, one row a set, one column a code.
    buckets
        The values that each bucket holds.

    Returns
    -------
    One row of words an entry of `occupants`; bit v stands for code v.

    Raises
    ------
    DataError
        Where a bucket has not as many rows as values, or the sets are not those of the rows or of
        the values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.matching import marks_of
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> sets = np.array([[False, False, False], [True, False, False]])
    >>> occupants = Occupants.of_rows(np.array([0, 0]), np.array([0, 1]), n_buckets=1, n_sets=2)
    >>> marks_of(simple_values(occupants, sets, buckets), 3).tolist()
    [[True, True, False], [False, True, False]]
    """
    _confirm(occupants, sets, buckets)
    return _words_of_buckets(buckets)[occupants.bucket] & ~words_of(sets)[occupants.which]


def matching_values(occupants: Occupants, sets: Marks, buckets: Buckets) -> Words:
    """Find the values that some assignment of a bucket's values to its rows gives to a row.

    An assignment gives every row a value that it can have, and every value to as many rows as the
    bucket holds it [Li08, Section V-A, Definition 1]. Where a bucket has none, what is known
    contradicts the values, and nobody there has a valid one.

    Parameters
    ----------
    occupants
        Who is in each bucket.
    sets
        The sets of forbidden values, one row a set, one column a code.
    buckets
        The values that each bucket holds.

    Returns
    -------
    One row of words an entry of `occupants`; bit v stands for code v.

    Raises
    ------
    DataError
        Where a bucket has not as many rows as values, or the sets are not those of the rows or of
        the values.

    Examples
    --------
    Who cannot have a cold has the flu, so the other one has the cold:

    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.matching import marks_of
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
    # Where nothing in the bucket is forbidden to anybody in it, every value is valid for all.
    words = np.where(is_hard[occupants.bucket, np.newaxis], np.uint64(0), present)
    hard = np.flatnonzero(is_hard)
    matcher = Matcher(
        _writable(occupants.which),
        _writable(occupants.count),
        _writable(buckets.value),
        _writable(buckets.count),
        np.require(sets, bool, ["C", "W"]).view(np.uint8),
    )
    matcher.mark_valid(_bounds(occupants.bucket, hard), _bounds(buckets.bucket, hard), words)
    return words


def valid_of_bucket(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Marks
) -> Words:
    """Find the valid values of the rows of one bucket, as `matching_values` does of many.

    Parameters
    ----------
    which, row_count
        The groups of rows: the place of their set, and how many they are.
    value, value_count
        The codes of the values and how many rows have each.
    sets
        The sets of forbidden values, one row a set, one column a code.

    Returns
    -------
    One row of words a group, all 0 where there is no assignment.

    Raises
    ------
    DataError
        Where there are not as many rows as values, or a group or a value counts no row.

    Examples
    --------
    >>> sets = np.array([[False, False], [True, False]])
    >>> one, two = np.array([1, 1]), np.array([0, 1])
    >>> valid_of_bucket(two, one, two, one, sets).tolist()
    [[1], [2]]
    """
    if row_count.sum() != value_count.sum():
        raise DataError(
            f"A bucket must have as many values as rows, not {value_count.sum()} values for "
            f"{row_count.sum()} rows."
        )
    if row_count.min(initial=1) < 1 or value_count.min(initial=1) < 1:
        raise DataError("Every group and every value of a bucket must count at least one row.")
    matcher = Matcher(
        _writable(which),
        _writable(row_count),
        _writable(value),
        _writable(value_count),
        np.require(sets, bool, ["C", "W"]).view(np.uint8),
    )
    words = np.zeros((len(which), count_words(sets.shape[1])), dtype=np.uint64)
    matcher.mark_valid(np.array([[0, len(which)]]), np.array([[0, len(value)]]), words)
    return words


def _confirm(occupants: Occupants, sets: Marks, buckets: Buckets) -> None:
    if not np.array_equal(occupants.sizes, buckets.sizes):
        raise DataError(
            "Every bucket must have as many sensitive values as rows; there are "
            f"{buckets.n_rows} values in {buckets.n_buckets} buckets and "
            f"{occupants.count.sum()} rows in {occupants.n_buckets}."
        )
    if sets.shape[1] != buckets.domain.size or occupants.which.max(initial=-1) >= len(sets):
        raise DataError(
            f"The sets of forbidden values must be those of the rows, by the "
            f"{buckets.domain.size} values of column {buckets.domain.column!r}; there are "
            f"{len(sets)} sets by {sets.shape[1]} values."
        )


def _words_of_buckets(buckets: Buckets) -> Words:
    """Write the values of each bucket as words."""
    n_words = count_words(buckets.domain.size)
    words = np.zeros(buckets.n_buckets * n_words, dtype=np.uint64)
    bits = np.left_shift(np.uint64(1), (buckets.value & 63).astype(np.uint64))
    # A bucket has each value once, so the sum of bits is their union.
    np.add.at(words, buckets.bucket * n_words + (buckets.value >> 6), bits)
    return words.reshape(-1, n_words)


def _bounds(bucket: Codes, chosen: Codes) -> Codes:
    """Give where the entries of some buckets begin and end, one pair a bucket."""
    sides = [np.searchsorted(bucket, chosen, side=side) for side in ("left", "right")]
    return np.stack(sides, axis=1).astype(np.int64, copy=False)


def _writable(numbers: Codes) -> Codes:
    return np.require(numbers, np.int64, ["C", "W"])
