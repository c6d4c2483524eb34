"""Between what the least value of the rows lies that a condition chooses.

The least possible value is that of some entry that a row of its bucket can link with entries that
meet the conditions of the other columns. The guaranteed one follows from counting: in a bucket of
n rows the other conditions can be kept off at most as many rows as there are entries that miss one
of them; of the rows with the least values one more than that cannot all escape.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.analyse.conditions import Box, Selection, Spread
from shoal.analyse.linked import Linked, LinkedColumn
from shoal.core.cells import Codes, Counts

__all__ = ["least_codes"]

Marks = npt.NDArray[np.bool_]

_MOST_NUMBERS = 1 << 22


def least_codes(
    linked: Linked, at: int, codes: Codes, is_there: Marks, selection: Selection
) -> tuple[int | None, int | None]:
    """Give the least possible and the guaranteed least code.

    Parameters
    ----------
    linked
        The release.
    at
        The column of the attribute.
    codes
        Its code in each entry.
    is_there
        Which entries have a value.
    selection
        Which rows are chosen. One that joins columns has to hold this column too.
    """
    if isinstance(selection, Spread):
        return _least(codes, is_there & _can_meet(linked, at, selection)), None
    column = linked.columns[at]
    is_met = is_there & selection.marks.get(at, True)
    can_be, n_escaping = _others(linked, at, selection)
    possible = _least(codes, is_met & can_be[column.bucket])
    return possible, _guaranteed(column, codes, is_met, n_escaping)


def _least(codes: Codes, among: Marks) -> int | None:
    return int(codes[among].min()) if among.any() else None


def _others(linked: Linked, at: int, selection: Box) -> tuple[Marks, Counts]:
    """Say of each bucket whether all other conditions can be met, and how many rows miss one."""
    can_be = np.ones(linked.n_buckets, dtype=bool)
    n_escaping = np.zeros(linked.n_buckets, dtype=np.int64)
    for other, marks in selection.marks.items():
        if other != at:
            column = linked.columns[other]
            n_met = np.zeros(linked.n_buckets, dtype=np.int64)
            np.add.at(n_met, column.bucket[marks], column.count[marks])
            can_be &= n_met > 0
            n_escaping += linked.sizes - n_met
    return can_be, n_escaping


def _guaranteed(
    column: LinkedColumn, codes: Codes, is_met: Marks, n_escaping: Counts
) -> int | None:
    """Give the least code that some row of its bucket cannot escape having, or one below it."""
    entries = np.flatnonzero(is_met)
    order = entries[np.lexsort((codes[entries], column.bucket[entries]))]
    bucket = column.bucket[order]
    n_so_far = np.cumsum(column.count[order])
    before = n_so_far - column.count[order]
    starts = np.searchsorted(bucket, bucket)
    within = n_so_far - before[starts]
    return _least(codes[order], within > n_escaping[bucket])


def _can_meet(linked: Linked, at: int, selection: Spread) -> Marks:
    """Mark the entries of a column that some row of their bucket can have and be chosen."""
    axis = selection.columns.index(at)
    n_groups = selection.truth.shape
    can_meet = np.zeros(len(linked.columns[at].count), dtype=bool)
    step = max(1, _MOST_NUMBERS // selection.truth.size)
    for start in range(0, linked.n_buckets, step):
        stop = min(start + step, linked.n_buckets)
        chosen = np.broadcast_to(selection.truth, (stop - start, *n_groups))
        for other, place in enumerate(selection.columns):
            bucket, low, high = _within(linked.columns[place], start, stop)
            holds = np.zeros((stop - start, n_groups[other]), dtype=bool)
            holds[bucket, selection.groups[other][low:high]] = True
            shape = [1] * (len(n_groups) + 1)
            shape[0], shape[other + 1] = holds.shape
            chosen = chosen & holds.reshape(shape)
        rest = tuple(other + 1 for other in range(len(n_groups)) if other != axis)
        bucket, low, high = _within(linked.columns[at], start, stop)
        by_group = np.asarray(chosen.any(axis=rest))
        can_meet[low:high] = by_group[bucket, selection.groups[axis][low:high]]
    return can_meet


def _within(column: LinkedColumn, start: int, stop: int) -> tuple[Codes, int, int]:
    """Give the entries of a range of buckets, and their buckets counted from its first."""
    low, high = np.searchsorted(column.bucket, (start, stop)).tolist()
    return column.bucket[low:high] - start, low, high
