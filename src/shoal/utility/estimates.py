"""Answers of the analyst's kit: estimates with standard errors, bounds, and tables of estimates.

All are about the linkings of one release: the standard error is the uncertainty that the unknown
linking alone leaves. It says nothing about the population from which the table was drawn.
`mean_interval` and `median_interval` are the confidence intervals of figures that measures find on
drawn queries, rules or rows.

Mean and variance, over all linkings of a bucket's columns, of a sum over its rows: the rows of a
bucket of n link one entry of each column at random. Let every entry of column i bear a number f_i,
with mean m_i and s_i = sum of (f_i - m_i)^2 over the column. The sum over the rows of the product
of their f_i has mean n prod m_i. Write each factor as m_i + (f_i - m_i) and multiply out: the
parts, one for each set S of columns, are uncorrelated; those of no or one column are constant, and
that of r columns has the variance

    prod_{i not in S} m_i^2  prod_{i in S} s_i  (n^(1 - r) + (-1)^r (n (n - 1))^(1 - r)).

For two columns of marks this is the hypergeometric variance. Nothing cancels, so a query whose
answer is the same in every linking has standard error 0. A sum that is not a product of factors is
decomposed in the same way, with one axis of groups per column. `expected_table` computes the
moments of a whole contingency table, only for the combinations that some bucket holds.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats, weighted_sum
from shoal.core.cells import group, total_by
from shoal.core.errors import ParameterError
from shoal.locating.location import spread
from shoal.utility.linked import Linked, LinkedColumn

Value = int | float | str | bool | dt.date | None
"""A value as a Python object; None if it is missing."""


@dataclass(frozen=True)
class Estimate:
    """The expected answer to a query over all linkings.

    Parameters
    ----------
    value
        The expected value.
    standard_error
        The standard deviation over the linkings; 0 if they all agree.

    Examples
    --------
    >>> Estimate(12.5, 1.2)
    Estimate(12.5, standard error 1.2)
    """

    value: float
    standard_error: float

    def to_dict(self) -> dict[str, float]:
        """Return the estimate as plain numbers."""
        return {"value": self.value, "standard_error": self.standard_error}

    def __repr__(self) -> str:
        return f"Estimate({self.value:g}, standard error {self.standard_error:g})"


@dataclass(frozen=True)
class Bounds:
    """Bounds of the least (or the largest) value of the chosen rows.

    Parameters
    ----------
    possible
        The least (largest) value that it has in some linking; None if no linking has such a row.
    guaranteed
        In every linking it is at most (at least) this; None if some linking has no such row.

    Examples
    --------
    >>> Bounds(17, 23).to_dict()
    {'possible': 17, 'guaranteed': 23}
    """

    possible: Value
    guaranteed: Value

    def to_dict(self) -> dict[str, Value]:
        """Return both bounds as plain values."""
        return {"possible": self.possible, "guaranteed": self.guaranteed}


@dataclass(frozen=True, eq=False, repr=False)
class ContingencyTable:
    """The expected number of rows for each combination of some attributes' values.

    Parameters
    ----------
    attributes, values
        The attributes, one per axis, and the values along each axis.
    expected, standard_error
        The expected number of rows, and its standard error.
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    expected: Floats
    standard_error: Floats

    def to_dict(self) -> dict[str, object]:
        """Return the table as nested lists."""
        return {
            "attributes": list(self.attributes),
            "values": [list(axis) for axis in self.values],
            "expected": self.expected.tolist(),
            "standard_error": self.standard_error.tolist(),
        }

    def __repr__(self) -> str:
        shape = " x ".join(
            f"{name} ({size})"
            for name, size in zip(self.attributes, self.expected.shape, strict=True)
        )
        return f"ContingencyTable({shape}: {self.expected.sum():g} rows)"


_NORMAL_QUANTILE = 1.959963984540054
"""Normal quantile of a two-sided interval at 95 %."""


def mean_interval(numbers: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Return the normal 95 % confidence interval of a mean; the mean itself if nothing varies.

    `weights` are the number of times that each number was found. Default: once each.

    Examples
    --------
    >>> low, high = mean_interval(np.array([0.0, 1.0, 0.0, 1.0]))
    >>> round(low, 3), round(high, 3)
    (-0.066, 1.066)
    """
    if weights is None:
        weights = np.ones(len(numbers))
    n_found = float(weights.sum())
    if n_found == 0:
        return math.nan, math.nan
    mean = weighted_sum(numbers, weights) / n_found
    squares = weighted_sum((numbers - mean) ** 2, weights)
    half = _NORMAL_QUANTILE * math.sqrt(squares / max(n_found - 1, 1) / n_found)
    return mean - half, mean + half


def median_interval(numbers: Floats) -> tuple[float, float]:
    """Return the 95 % confidence interval of a median, by ranks: it holds for any distribution.

    Examples
    --------
    >>> median_interval(np.arange(101.0))
    (40.0, 60.0)
    """
    if not len(numbers):
        return math.nan, math.nan
    ordered = np.sort(numbers)
    half = _NORMAL_QUANTILE * math.sqrt(len(ordered)) / 2
    middle = (len(ordered) - 1) / 2
    low, high = math.floor(middle - half), math.ceil(middle + half)
    return float(ordered[max(low, 0)]), float(ordered[min(high, len(ordered) - 1)])


# --- moments --------------------------------------------------------------------------------------


_MOST_NUMBERS = 1 << 22
"""The most numbers that a chunk of buckets may take."""


@dataclass(frozen=True, eq=False)
class Factor:
    """The numbers f_i of one column's entries, summarized by bucket.

    `mean` is the mean m_i over the rows of each bucket, `spread` the sum s_i of squared distances
    from it.
    """

    mean: Floats
    spread: Floats

    @classmethod
    def of_marks(cls, n_marked: Counts, sizes: Counts) -> Factor:
        """Return the factor of a condition: 1 for an entry that meets it, otherwise 0."""
        marked, rows = n_marked.astype(np.float64), sizes.astype(np.float64)
        return cls(marked / rows, marked * (rows - marked) / rows)

    @classmethod
    def of_numbers(cls, number: Floats, bucket: Codes, count: Counts, sizes: Counts) -> Factor:
        """Return the factor of one number per entry."""
        mean = np.bincount(bucket, weights=number * count, minlength=len(sizes)) / sizes
        distance = number - mean[bucket]
        squares = np.bincount(bucket, weights=distance**2 * count, minlength=len(sizes))
        return cls(mean, squares.astype(np.float64, copy=False))


def spread_weight(sizes: Counts, r: int) -> Floats:
    """Return the weight of the product of the spreads of r columns in the variance."""
    rows = sizes.astype(np.float64)
    # A bucket of one row has no spread.
    pairs = rows * np.maximum(rows - 1, 1)
    weight: Floats = rows ** (1 - r) + (-1) ** r * pairs ** (1 - r)
    return weight


def moments_of_product(factors: Sequence[Factor], sizes: Counts) -> tuple[Floats, Floats]:
    """Return each bucket's mean and variance of the sum of products.

    `factors` has one factor per column with numbers; other columns count as 1 throughout.

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
    tensor: Floats, groups: Sequence[Codes], columns: Sequence[tuple[Codes, Counts]], sizes: Counts
) -> tuple[float, float]:
    """Return mean and variance, over all buckets, of the sum of the weights of all rows.

    `tensor` is the weight of a row by its groups, one axis per column; `groups` is the group of
    each entry of a column, and `columns` the bucket and the count of each entry, by bucket.
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
) -> Floats:
    """Count a column's groups in each bucket of a range."""
    low, high = np.searchsorted(bucket, within)
    key = (bucket[low:high] - within[0]) * n_groups + group[low:high]
    n_buckets = within[1] - within[0]
    counted = np.zeros(n_buckets * n_groups)
    np.add.at(counted, key, count[low:high])
    return counted.reshape(n_buckets, n_groups)


def _moments(tensor: Floats, counted: Sequence[Floats], sizes: Counts) -> tuple[float, float]:
    """Decompose the tensor, axis by axis, into its mean and the remainder, in every bucket."""
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


def _sum_of_squares(part: Floats, counted: Sequence[Floats]) -> Floats:
    """Add up, in every bucket, the squares of a part over the entries of its columns."""
    squares: Floats = part**2
    for axis, counts in enumerate(counted, start=1):
        # A part does not depend on the other columns.
        if part.shape[axis] > 1:
            weighed = squares * _along(axis, counts, len(counted))
            squares = weighed.sum(axis=axis, keepdims=True)
    return squares.reshape(-1)


def _along(axis: int, numbers: Floats, n_axes: int) -> Floats:
    """Lay numbers, one per bucket and group, along an axis of the tensor."""
    shape = [1] * (n_axes + 1)
    shape[0], shape[axis] = numbers.shape
    return numbers.reshape(shape)


_MOST_CELLS = 5_000_000
_MOST_COMBINATIONS = 1 << 21
"""The most combinations of groups in a chunk of several buckets; a single bucket may have more."""


def expected_table(
    linked: Linked, attributes: Sequence[str], marks: Mapping[int, Flags]
) -> tuple[Floats, Floats]:
    """Return the expected number of rows of every combination of values, and its variance.

    The axes are `attributes`. `marks` flags, by column, the entries that meet a condition; every
    entry of a column without marks meets it.
    """
    shape = tuple(linked.domain(attribute).size for attribute in attributes)
    if math.prod(shape) > _MOST_CELLS:
        raise ParameterError(
            f"The table would have {math.prod(shape)} cells, more than {_MOST_CELLS}.",
            hint="ask for fewer attributes, or for those with fewer values.",
        )
    steps = dict(zip(attributes, _steps(shape), strict=True))
    places = sorted({linked.place_of[attribute] for attribute in attributes} | set(marks))
    grouped = [_grouped(linked.columns[at], steps, marks.get(at)) for at in places]
    mean, variance = np.zeros(math.prod(shape)), np.zeros(math.prod(shape))
    for start, stop in _chunks(grouped, linked.n_buckets):
        bucket, cell, counts = _joined(grouped, start, stop)
        sizes = linked.sizes[bucket]
        factors = [Factor.of_marks(count, sizes) for count in counts]
        part_mean, part_variance = moments_of_product(factors, sizes)
        mean += np.bincount(cell, weights=part_mean, minlength=len(mean))
        variance += np.bincount(cell, weights=part_variance, minlength=len(mean))
    return mean.reshape(shape), variance.reshape(shape)


def _steps(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _grouped(
    column: LinkedColumn, steps: Mapping[str, int], marks: Flags | None
) -> tuple[Codes, Codes, Counts]:
    """Return bucket, partial cell number and count of a column's entries, by bucket."""
    part = np.zeros(len(column.count), dtype=np.int64)
    n_parts = 1
    for domain in column.domains:
        if domain.column in steps:
            part += column.code_of(domain.column) * steps[domain.column]
            n_parts += (domain.size - 1) * steps[domain.column]
    chosen = np.arange(len(part)) if marks is None else np.flatnonzero(marks)
    keys = [column.bucket[chosen], part[chosen]]
    n_buckets = int(column.bucket.max(initial=-1)) + 1
    first, inverse = group(keys, [n_buckets, n_parts], len(chosen))
    return keys[0][first], keys[1][first], total_by(inverse, column.count[chosen], len(first))


def _chunks(
    grouped: Sequence[tuple[Codes, Codes, Counts]], n_buckets: int
) -> list[tuple[int, int]]:
    """Split the buckets so that no part of several buckets has too many combinations."""
    n_combinations = np.ones(n_buckets)
    for bucket, _, _ in grouped:
        n_combinations *= np.bincount(bucket, minlength=n_buckets)
    number = np.cumsum(n_combinations) // _MOST_COMBINATIONS
    bounds = np.flatnonzero(np.diff(number, prepend=-1.0)).tolist()
    return list(itertools.pairwise([*bounds, n_buckets]))


def _joined(
    grouped: Sequence[tuple[Codes, Codes, Counts]], start: int, stop: int
) -> tuple[Codes, Codes, list[Counts]]:
    """Combine the groups of all columns, bucket by bucket, for a range of buckets."""
    bucket, cell = np.arange(start, stop), np.zeros(stop - start, dtype=np.int64)
    counts: list[Counts] = []
    for in_bucket, part, count in grouped:
        low = np.searchsorted(in_bucket, bucket)
        n_here = np.searchsorted(in_bucket, bucket, side="right") - low
        left, right = spread(low, n_here)
        bucket, cell = bucket[left], cell[left] + part[right]
        counts = [*(held[left] for held in counts), count[right]]
    return bucket, cell, counts
