"""Expected contingency tables across columns that are linked at random.

Only combinations of groups that some bucket holds are looked at: all others are expected nowhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.analyse.linked import Linked, LinkedColumn
from shoal.analyse.moments import Factor, moments_of_product
from shoal.core.cells import Codes, Counts, group
from shoal.core.errors import ParameterError

__all__ = ["expected_table"]

Marks = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]

_MOST_CELLS = 5_000_000
_MOST_COMBINATIONS = 1 << 21
"""How many combinations of groups a chunk of buckets may hold, one bucket apart."""


def expected_table(
    linked: Linked, attributes: Sequence[str], marks: Mapping[int, Marks]
) -> tuple[Reals, Reals]:
    """Give the expected number of rows of every combination of values, and its variance.

    Parameters
    ----------
    linked
        The release.
    attributes
        The axes of the table.
    marks
        By column the entries that meet a condition; all of a column that is not there.
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
    column: LinkedColumn, steps: Mapping[str, int], marks: Marks | None
) -> tuple[Codes, Codes, Counts]:
    """Give by bucket the part that a column has in the number of a cell, and how often."""
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
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, inverse, column.count[chosen])
    return keys[0][first], keys[1][first], counts


def _chunks(
    grouped: Sequence[tuple[Codes, Codes, Counts]], n_buckets: int
) -> list[tuple[int, int]]:
    """Part the buckets so that no part, but for a single bucket, has too many combinations."""
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
        left = np.repeat(np.arange(len(bucket)), n_here)
        right = low[left] + np.arange(len(left)) - (np.cumsum(n_here) - n_here)[left]
        bucket, cell = bucket[left], cell[left] + part[right]
        counts = [*(held[left] for held in counts), count[right]]
    return bucket, cell, counts
