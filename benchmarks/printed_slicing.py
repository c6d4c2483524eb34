"""Tuple partitioning as [Slicing] prints it: the whole table is checked again after every cut.

Figures 1 and 2 line by line, with numpy operating on all tuples of a bucket at once, which is
faster than a loop would be. Cuts are Mondrian's, as in Shoal: at the median of the widest attribute
outside the sensitive column, and of the next widest if that is refused. Line 9 of Figure 2 refuses
p(t, s) = 1/l; here it is allowed, as in the paper's text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """The tuples, one row each."""

    axes: Codes  # The attributes that are cut, one column each.
    outside: Codes  # The value of the column of quasi-identifiers.
    beside: Codes  # The values beside the sensitive one in its column.
    sensitive: Codes

    @property
    def n_rows(self) -> int:
        """The number of tuples."""
        return len(self.axes)


def partition(table: PrintedTable, ell: float, *, is_relaxed: bool) -> list[Codes]:
    """Partition the tuples ([Slicing] Figure 1)."""
    split = _split_relaxed if is_relaxed else _split_strict
    queue, done = deque([np.arange(table.n_rows)]), []
    while queue:
        bucket = queue.popleft()
        for sides in split(table, bucket):
            if _is_diverse(table, [*queue, *sides, *done], ell):
                queue.extend(sides)
                break
        else:
            done.append(bucket)
    return done


def _split_strict(table: PrintedTable, bucket: Codes) -> Iterator[tuple[Codes, Codes]]:
    """Split at the median of each attribute, widest first; equal values stay together."""
    for values in _by_width(table, bucket):
        median = np.median(values)
        is_right = values > median if (values > median).any() else values >= median
        if is_right.any() and not is_right.all():
            yield bucket[~is_right], bucket[is_right]


def _split_relaxed(table: PrintedTable, bucket: Codes) -> Iterator[tuple[Codes, Codes]]:
    """Split into halves by each attribute, widest first; equal values may be separated."""
    for values in _by_width(table, bucket):
        if np.ptp(values):
            left, right = np.array_split(bucket[np.argsort(values, kind="stable")], 2)
            yield left, right


def _by_width(table: PrintedTable, bucket: Codes) -> Iterator[Codes]:
    values = table.axes[bucket]
    whole = np.maximum(np.ptp(table.axes, axis=0), 1)
    for axis in np.argsort(-np.ptp(values, axis=0) / whole, kind="stable"):
        yield values[:, axis]


def _is_diverse(table: PrintedTable, buckets: list[Codes], ell: float) -> bool:
    """Check every tuple against every bucket ([Slicing] Figure 2)."""
    n_outside, n_beside = int(table.outside.max()) + 1, int(table.beside.max()) + 1
    n_values = int(table.sensitive.max()) + 1
    amounts = np.zeros((table.n_rows, n_values))
    for bucket in buckets:
        outside = np.bincount(table.outside[bucket], minlength=n_outside)
        pair = table.beside[bucket] * n_values + table.sensitive[bucket]
        inside = np.bincount(pair, minlength=n_beside * n_values).reshape(n_beside, n_values)
        # p(t, B) D(t, B)[s] is |B| times one share times the other.
        weight = outside[table.outside] / len(bucket)
        amounts += weight[:, np.newaxis] * inside[table.beside]
    shares = amounts.max(axis=1) / amounts.sum(axis=1)
    return bool((shares <= 1 / ell + _ROUNDING).all())
