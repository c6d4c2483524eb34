"""The counts that a checker starts from, confirmed and reduced bucket by bucket.

Every checker reduces slices of entries, one slice a bucket. That is only right where the entries
are sorted and each stands for itself, so this is confirmed before anything is concluded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Counts
from shoal.core.errors import DataError, ParameterError

__all__ = [
    "Marks",
    "confirm",
    "confirm_occupied",
    "confirm_sizes",
    "count_values",
    "largest_counts",
    "mark_protected",
    "sum_counts",
]

Marks = npt.NDArray[np.bool_]
"""Yes or no, for each entry, code or bucket."""


def confirm(buckets: Buckets) -> Buckets:
    """Give the buckets back once their entries are known to be what `Buckets` says they are.

    Raises
    ------
    DataError
        Where entries are unsorted, doubled, out of range or not positive, or a bucket has none.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> confirm(Buckets.of_pairs(np.array([0, 0]), np.array([1, 0]), disease))
    Buckets(disease: 1 buckets, 2 rows)
    """
    if not (_is_numbered(buckets) and _is_sorted(buckets) and _is_counted(buckets)):
        raise DataError(
            f"The counts of column {buckets.domain.column!r} by bucket are not in order: they must "
            "be sorted by bucket, then value, each pair once, with counts of at least 1 and no "
            "bucket left empty.",
            hint="Buckets.of_pairs sorts pairs and adds equal ones up.",
        )
    return buckets


def confirm_occupied(buckets: Buckets) -> Buckets:
    """Do as `confirm` does, and refuse a release without buckets: it reaches no parameter.

    Raises
    ------
    DataError
        Where there is no bucket.
    """
    if not buckets.n_buckets:
        raise DataError("A release without rows has no strongest parameter.")
    return confirm(buckets)


def confirm_sizes(sizes: Counts) -> Counts:
    """Give the sizes of buckets back once every bucket is known to hold a row.

    Raises
    ------
    DataError
        Where a bucket is empty.
    """
    sizes = np.asarray(sizes)
    if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
        raise DataError("The sizes of buckets must be whole numbers of at least 1, one a bucket.")
    return sizes.astype(np.int64, copy=False)


def _is_numbered(buckets: Buckets) -> bool:
    numbers = buckets.bucket
    if not len(numbers) == len(buckets.value) == len(buckets.count):
        return False
    if not len(numbers):
        return buckets.n_buckets == 0
    steps = numbers[1:] - numbers[:-1]
    return bool(
        numbers[0] == 0
        and numbers[-1] == buckets.n_buckets - 1
        and np.all((steps == 0) | (steps == 1))
    )


def _is_sorted(buckets: Buckets) -> bool:
    same_bucket = buckets.bucket[1:] == buckets.bucket[:-1]
    return bool(np.all((buckets.value[1:] > buckets.value[:-1]) | ~same_bucket))


def _is_counted(buckets: Buckets) -> bool:
    if not len(buckets.count):
        return True
    # Products of counts are checked against 64 bits, so the counts must have them.
    return bool(
        buckets.count.dtype == np.int64
        and buckets.count.min() >= 1
        and buckets.value.min() >= 0
        and buckets.value.max() < buckets.domain.size
    )


def count_values(buckets: Buckets) -> Counts:
    """Give the number of different values in each bucket."""
    return np.diff(buckets.starts, append=len(buckets.bucket)).astype(np.int64, copy=False)


def mark_protected(buckets: Buckets, protect: Sequence[str | None]) -> Marks:
    """Say of each code of the domain whether it is protected; texts it lacks protect nothing.

    Raises
    ------
    ParameterError
        Where one text is given in the place of a list, for its letters would protect nothing.
    """
    if isinstance(protect, str):
        raise ParameterError("protect must be a list of texts, not one text.")
    codes = buckets.domain.codes_of(list(protect))
    marks = np.zeros(buckets.domain.size, dtype=bool)
    marks[codes[codes >= 0]] = True
    return marks


def sum_counts(buckets: Buckets, marks: Marks) -> Counts:
    """Give the number of rows in each bucket whose value is marked."""
    return np.add.reduceat(_marked_counts(buckets, marks), buckets.starts)


def largest_counts(buckets: Buckets, marks: Marks | None = None) -> Counts:
    """Give the count of the most frequent value of each bucket, among the marked ones if given."""
    counts = buckets.count if marks is None else _marked_counts(buckets, marks)
    return np.maximum.reduceat(counts, buckets.starts)


def _marked_counts(buckets: Buckets, marks: Marks) -> Counts:
    return np.where(marks[buckets.value], buckets.count, 0)
