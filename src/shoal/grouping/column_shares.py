"""The share of each quasi-identifier in the risk of being linked: Shapley values.

The mean prosecutor risk of records is the number of groups that agree in the quasi-identifiers,
over the number of records. A column's share is the number of groups that it adds, averaged over all
orders in which columns can be added.

References
----------
L. Shapley, A value for n-person games, 1953.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shoal.core.arrays import Codes, Floats
from shoal.core.cells import Cells, group
from shoal.core.display import Section

_CountGroups = Callable[[int], int]

_MOST_EXACT_COLUMNS = 10
"""With more columns than this, shares are estimated from some orders of the columns."""
_WORK = 2**26
"""The approximate number of codes that are grouped for the estimate."""
_MOST_DRAWS = 50
_FEW_KEYS = 2**20
_KEYS_PER_CELL = 16


def column_section(classes: Cells) -> Section:
    """Divide the mean prosecutor risk, as far as it is above 1/n, among the columns."""
    n_columns = len(classes.columns)
    count_groups = _group_counter(classes)
    title = "share of each column in the risk"
    if n_columns <= _MOST_EXACT_COLUMNS:
        n_groups = _exact_shapley(count_groups, n_columns)
    else:
        n_draws = min(max(_WORK // (max(classes.n_cells, 1) * n_columns**2), 2), _MOST_DRAWS)
        n_groups = _sampled_shapley(count_groups, n_columns, n_draws)
        title += f" (estimated from {n_draws * n_columns} orders of the columns)"
    total = max(float(n_groups.sum()), 1.0)
    by_share = np.argsort(-n_groups, kind="stable")
    rows = zip(
        (classes.columns[place] for place in by_share),
        (n_groups[by_share] / max(classes.n_rows, 1)).tolist(),
        (n_groups[by_share] * 100 / total).tolist(),
        strict=True,
    )
    return Section(title, ("column", "risk", "percent"), tuple(rows), holds_values=False)


def _group_counter(classes: Cells) -> _CountGroups:
    """Return a function that counts the groups of classes alike in some columns, given as bits."""
    columns = np.ascontiguousarray(classes.codes.T)
    sizes = [domain.size for domain in classes.domains]
    counted: dict[int, int] = {0: min(classes.n_cells, 1)}

    def count(bits: int) -> int:
        if bits not in counted:
            chosen = [place for place in range(len(sizes)) if bits >> place & 1]
            # If fewer columns already distinguish all classes, so do these.
            are_apart = any(
                counted.get(bits & ~(1 << place)) == classes.n_cells for place in chosen
            )
            counted[bits] = (
                classes.n_cells
                if are_apart
                else _count_groups(
                    [columns[place] for place in chosen],
                    [sizes[place] for place in chosen],
                    classes.n_cells,
                )
            )
        return counted[bits]

    return count


def _count_groups(columns: Sequence[Codes], sizes: Sequence[int], n_cells: int) -> int:
    """Count the distinct combinations of codes."""
    if math.prod(sizes) > 2**62:
        return len(group(columns, sizes, n_cells)[0])
    key = np.zeros(n_cells, dtype=np.int64)
    for codes, size in zip(columns, sizes, strict=True):
        key *= size
        key += codes
    n_keys = math.prod(sizes)
    if n_keys <= max(_KEYS_PER_CELL * n_cells, _FEW_KEYS):
        # Marking the keys that occur is linear, if there is room for all possible keys.
        is_there = np.zeros(n_keys, dtype=bool)
        is_there[key] = True
        return int(np.count_nonzero(is_there))
    # In sorted order, every change is a new combination.
    key.sort()
    return int(np.count_nonzero(np.diff(key))) + min(n_cells, 1)


def _exact_shapley(count_groups: _CountGroups, n_columns: int) -> Floats:
    """Return the Shapley values: the groups that each column adds, averaged over all orders."""
    values = np.zeros(n_columns)
    for bits in range(1, 2**n_columns):
        n_others = bits.bit_count() - 1
        # The share of orders in which exactly these other columns come before the column.
        weight = 1 / (n_columns * math.comb(n_columns - 1, n_others))
        for column in range(n_columns):
            if bits >> column & 1:
                added = count_groups(bits) - count_groups(bits & ~(1 << column))
                values[column] += weight * added
    return values


def _sampled_shapley(count_groups: _CountGroups, n_columns: int, n_draws: int) -> Floats:
    """Average the number of groups that each column adds over some orders of the columns.

    Each order is used in all its rotations, so that every column comes first, second and so on
    equally often: its position determines most of what it adds.
    """
    generator = np.random.default_rng(0)
    values = np.zeros(n_columns)
    for _ in range(n_draws):
        drawn = generator.permutation(n_columns).tolist()
        for shift in range(n_columns):
            bits = 0
            for column in drawn[shift:] + drawn[:shift]:
                before = count_groups(bits)
                bits |= 1 << column
                values[column] += count_groups(bits) - before
    return values / (n_draws * n_columns)
