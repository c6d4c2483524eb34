"""Whether everybody who may be in a sliced release matches one bucket of it alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.core.cells import Codes
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.core.work import TooMuchWork, Work

__all__ = ["is_matched_once", "is_matched_twice"]

_MOST_PAIRS = 5_000_000
_ENTRIES_A_TIME = 1_000_000
_LOOKUP = 20
"""About how many operations it takes to look one value up."""


def is_matched_once(sliced: Sliced, sensitive: str, work: Work | None = None) -> bool:
    """Whether no combination of published known values matches two buckets.

    Two buckets are matched by one combination where they share a value in every column. Where
    there are too many pairs of buckets to compare, the answer is no.

    Raises
    ------
    TooMuchWork
        If comparing them takes more operations than allowed; default 2e9.
    """
    n_shared = _n_matched_together(sliced, sensitive, work or Work())
    return n_shared == 0


def is_matched_twice(sliced: Sliced, sensitive: str | None) -> bool:
    """Whether some combination of published known values matches two buckets, as far as compared.

    Where equal values stay in one bucket, as of strict cuts, none does.
    """
    try:
        return bool(_n_matched_together(sliced, sensitive, Work()))
    except TooMuchWork:
        return False


def _n_matched_together(sliced: Sliced, sensitive: str | None, work: Work) -> int | None:
    """Count the pairs of buckets that one combination matches; None where they are too many."""
    known = sliced.layout.known_for(sensitive)
    found = [_held(column, known) for column in sliced.columns]
    held = [values for values in found if values is not None]
    if sliced.n_buckets < 2:
        return 0
    if not held:
        return sliced.n_buckets * (sliced.n_buckets - 1) // 2
    held.sort(key=lambda values: _n_pairs(values[1]))
    if _n_pairs(held[0][1]) > _MOST_PAIRS:
        return None
    work.spend(_n_pairs(held[0][1]))
    pairs = _pairs(*held[0], sliced.n_buckets)
    for bucket, value in held[1:]:
        lengths = np.bincount(bucket, minlength=sliced.n_buckets)
        work.spend(_LOOKUP * int(lengths[pairs[:, 0]].sum()))
        pairs = _that_share(pairs, bucket, value)
    return len(pairs)


def _held(column: SlicedColumn, known: Sequence[str]) -> tuple[Codes, Codes] | None:
    """Give each bucket with each known value that it holds; None where none is known."""
    names = [name for name in column.attributes if name in known]
    if not names:
        return None
    values, value_of_cell = column.values.select_with_inverse(names)
    key = np.unique(column.bucket * values.n_cells + value_of_cell[column.value])
    return key // values.n_cells, key % values.n_cells


def _n_pairs(value: Codes) -> int:
    n_buckets = np.bincount(value)
    return int((n_buckets * (n_buckets - 1) // 2).sum())


def _pairs(bucket: Codes, value: Codes, n_buckets: int) -> Codes:
    """Give all pairs of buckets that hold one value, the lower number first."""
    order = np.lexsort((bucket, value))
    bucket, value = bucket[order], value[order]
    starts = np.flatnonzero(np.r_[True, value[1:] != value[:-1]])
    ends = np.append(starts[1:], len(value))
    # Each entry with all that come after it among those of its value.
    n_after = np.repeat(ends, ends - starts) - np.arange(len(value)) - 1
    first = np.repeat(np.arange(len(value)), n_after)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(n_after) - n_after, n_after)
    key = np.unique(bucket[first] * n_buckets + bucket[first + 1 + offset])
    return np.stack([key // n_buckets, key % n_buckets], axis=1)


def _that_share(pairs: Codes, bucket: Codes, value: Codes) -> Codes:
    """Keep the pairs of buckets that hold a common value."""
    n_values = int(value.max()) + 1
    keys = bucket * n_values + value
    lengths = np.bincount(bucket)
    starts = np.cumsum(lengths) - lengths
    total = np.cumsum(lengths[pairs[:, 0]]) // _ENTRIES_A_TIME
    opens = np.flatnonzero(np.diff(total)) + 1
    kept = []
    for part in np.split(pairs, opens):
        n_entries = lengths[part[:, 0]]
        owner = np.repeat(np.arange(len(part)), n_entries)
        offset = np.arange(len(owner)) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
        values = value[starts[part[owner, 0]] + offset]
        is_shared = np.isin(part[owner, 1] * n_values + values, keys)
        kept.append(part[np.unique(owner[is_shared])])
    return np.concatenate(kept)
