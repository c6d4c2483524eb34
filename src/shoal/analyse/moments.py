"""Mean and variance, over all linkings of a bucket's columns, of a sum over its rows.

The rows of a bucket of n link one entry of each column at random. Let every entry of column i bear
a number f_i, with mean m_i and s_i = sum of (f_i - m_i)^2 over the column. The sum over the rows of
the product of their f_i has mean n prod m_i. Write each factor as m_i + (f_i - m_i) and multiply
out: the parts, one for each set S of columns, do not correlate; those of no or one column do not
vary, and that of r columns has the variance

    prod_{i not in S} m_i^2  prod_{i in S} s_i  (n^(1 - r) + (-1)^r (n (n - 1))^(1 - r)).

For two columns of marks this is the hypergeometric variance. Nothing cancels, so a query whose
answer no linking changes has the standard error 0. What is not a product of factors is taken apart
in the same way, one axis of groups a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts

__all__ = ["Factor", "Tensor", "moments_of_product", "moments_of_tensor", "spread_weight"]

Reals = npt.NDArray[np.float64]
Tensor = npt.NDArray[np.float64]

_MOST_NUMBERS = 1 << 22
"""How many numbers a chunk of buckets may take."""


@dataclass(frozen=True, eq=False)
class Factor:
    """The numbers f that one column's entries bear, summed up by bucket.

    Parameters
    ----------
    mean
        Of each bucket, the mean over its rows.
    spread
        Of each bucket, the sum of squared distances from that mean.
    """

    mean: Reals
    spread: Reals

    @classmethod
    def of_marks(cls, n_marked: Counts, sizes: Counts) -> Factor:
        """Make the factor of a condition: 1 where an entry meets it, else 0."""
        marked, rows = n_marked.astype(np.float64), sizes.astype(np.float64)
        return cls(marked / rows, marked * (rows - marked) / rows)

    @classmethod
    def of_numbers(cls, number: Reals, bucket: Codes, count: Counts, sizes: Counts) -> Factor:
        """Make the factor of a number for each entry."""
        mean = np.bincount(bucket, weights=number * count, minlength=len(sizes)) / sizes
        distance = number - mean[bucket]
        squares = np.bincount(bucket, weights=distance**2 * count, minlength=len(sizes))
        return cls(mean, squares.astype(np.float64, copy=False))


def spread_weight(sizes: Counts, r: int) -> Reals:
    """Give what the product of the spreads of r columns counts for in the variance."""
    rows = sizes.astype(np.float64)
    # A bucket of one row has no spread.
    pairs = rows * np.maximum(rows - 1, 1)
    weight: Reals = rows ** (1 - r) + (-1) ** r * pairs ** (1 - r)
    return weight


def moments_of_product(factors: Sequence[Factor], sizes: Counts) -> tuple[Reals, Reals]:
    """Give each bucket's mean and variance of the sum of products.

    Parameters
    ----------
    factors
        One for each column that bears numbers; others count as 1 throughout.
    sizes
        The number of rows of each bucket.

    Examples
    --------
    >>> sizes = np.array([4])
    >>> women, ill = (Factor.of_marks(np.array([n]), sizes) for n in (2, 1))
    >>> mean, variance = moments_of_product([women, ill], sizes)
    >>> mean.tolist(), variance.tolist()
    ([0.5], [0.25])
    """
    mean = sizes.astype(np.float64)
    # Coefficient r sums over the sets of r columns.
    sums = [np.ones(len(sizes))]
    for factor in factors:
        mean *= factor.mean
        square = factor.mean**2
        still = [part * square for part in sums]
        moved = [part * factor.spread for part in sums]
        sums = [still[0], *(a + b for a, b in zip(still[1:], moved, strict=False)), moved[-1]]
    variance = np.zeros(len(sizes))
    for r in range(2, len(sums)):
        variance += sums[r] * spread_weight(sizes, r)
    return mean, variance


def moments_of_tensor(
    tensor: Tensor, groups: Sequence[Codes], columns: Sequence[tuple[Codes, Counts]], sizes: Counts
) -> tuple[float, float]:
    """Give mean and variance, over all buckets, of the sum of what each row is worth.

    Parameters
    ----------
    tensor
        What a row is worth by its groups, one axis a column.
    groups
        For each column, the group of each entry.
    columns
        For each column, the bucket and the count of each entry, sorted by bucket.
    sizes
        The number of rows of each bucket.
    """
    mean = variance = 0.0
    step = max(1, _MOST_NUMBERS // max(tensor.size, 1))
    for start in range(0, len(sizes), step):
        stop = min(start + step, len(sizes))
        counted = [
            _counted(bucket, group, count, n_groups, (start, stop))
            for (bucket, count), group, n_groups in zip(columns, groups, tensor.shape, strict=True)
        ]
        part_mean, part_variance = _moments(tensor, counted, sizes[start:stop])
        mean += part_mean
        variance += part_variance
    return mean, variance


def _counted(
    bucket: Codes, group: Codes, count: Counts, n_groups: int, within: tuple[int, int]
) -> Reals:
    """Count a column's groups in each bucket of a range."""
    low, high = np.searchsorted(bucket, within)
    key = (bucket[low:high] - within[0]) * n_groups + group[low:high]
    n_buckets = within[1] - within[0]
    counted = np.zeros(n_buckets * n_groups)
    np.add.at(counted, key, count[low:high])
    return counted.reshape(n_buckets, n_groups)


def _moments(tensor: Tensor, counted: Sequence[Reals], sizes: Counts) -> tuple[float, float]:
    """Take the tensor apart axis by axis into its mean and what is left, in every bucket."""
    rows = sizes.astype(np.float64)
    parts = [(0, np.broadcast_to(tensor, (len(rows), *tensor.shape)))]
    for axis, counts in enumerate(counted, start=1):
        share = _along(axis, counts / rows[:, np.newaxis], tensor.ndim)
        means = [(part * share).sum(axis=axis, keepdims=True) for _, part in parts]
        rests = [(r + 1, part - mean) for (r, part), mean in zip(parts, means, strict=True)]
        parts = [(r, mean) for (r, _), mean in zip(parts, means, strict=True)] + rests
    variance = 0.0
    for r, part in parts:
        if r >= 2:
            squares = _sum_of_squares(part, counted)
            variance += float((squares * spread_weight(sizes, r)).sum())
    # The first part is the mean along every axis.
    return float((parts[0][1].reshape(-1) * rows).sum()), variance


def _sum_of_squares(part: Tensor, counted: Sequence[Reals]) -> Reals:
    """Add up, in every bucket, the squares of a part over the entries of its columns."""
    squares: Tensor = part**2
    for axis, counts in enumerate(counted, start=1):
        # A part does not depend on the other columns.
        if part.shape[axis] > 1:
            weighed = squares * _along(axis, counts, len(counted))
            squares = weighed.sum(axis=axis, keepdims=True)
    return squares.reshape(-1)


def _along(axis: int, numbers: Reals, n_axes: int) -> Tensor:
    """Lay numbers, one a bucket and group, along an axis of the tensor."""
    shape = [1] * (n_axes + 1)
    shape[0], shape[axis] = numbers.shape
    return numbers.reshape(shape)
