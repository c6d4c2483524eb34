"""A table as the kernels read it: value and state of a cell in one number.

Values that too few visible cells have for a rule to name or to predict them are all alike. In a
column with F others, codes 0 to F - 1 are these, visible; F is any rare value, visible; F + 1 is a
blank; F + 2 to 2F + 2 are the same F + 1 values, private. Where hidden values must not matter, all
private cells have the last of these codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Codes
from shoal.knowledge.adversarial.cells import PRIVATE, VISIBLE, HiddenTable, Small, States
from shoal.knowledge.adversarial.thresholds import Limits

__all__ = ["Packed", "pack"]

_FEW_CODES = 8


@dataclass(frozen=True, eq=False)
class Packed:
    """A table in packed codes, the rows with private cells first.

    Parameters
    ----------
    code
        One row a column, one column a row; kernels blank and restore cells in it.
    n_values
        For each column the number of values that rules may name.
    values
        For each column the codes that these have in the table.
    order
        For each row here its number in the table.
    private_start, private_column
        For each row with private cells where its private columns start, and these columns.
    """

    code: Small
    n_values: Small
    values: tuple[Small, ...]
    order: Codes
    private_start: Small
    private_column: Small

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.code)

    def unpack(self, antecedent: Small) -> Small:
        """Give antecedents in the codes of the table; -1 stays -1."""
        codes = np.empty_like(antecedent)
        for column, values in enumerate(self.values):
            # The last entry is the one that -1 takes.
            codes[:, column] = np.append(values, np.int32(-1))[antecedent[:, column]]
        return codes

    def unpack_value(self, column: Codes, value: Codes) -> Small:
        """Give values of columns in the codes of the table."""
        start = np.append(0, np.cumsum(self.n_values))
        values = np.concatenate([np.empty(0, dtype=np.int32), *self.values])
        unpacked: Small = values[start[column] + value]
        return unpacked


def pack(table: HiddenTable, limits: Limits) -> Packed:
    """Pack a table.

    Parameters
    ----------
    table
        The table.
    limits
        What makes a rule adversarial: says which values are rare, and whether hidden ones matter.

    Examples
    --------
    >>> table = HiddenTable(np.array([[5, 1], [5, 2], [7, 1]]), np.array([[0, 0], [0, 1], [0, 0]]))
    >>> packed = pack(table, Limits.of(1, 2, 3, use_hidden=True))
    >>> packed.order.tolist(), packed.code.tolist(), packed.n_values.tolist()
    ([1, 0, 2], [[0, 0, 1], [4, 0, 0]], [1, 1])
    """
    is_private = table.state == PRIVATE
    has_private = is_private.any(axis=1)
    order = np.argsort(~has_private, kind="stable")
    code = np.empty((table.n_columns, table.n_rows), dtype=np.int32)
    values = []
    for column in range(table.n_columns):
        codes, states = table.codes[order, column], table.state[order, column]
        frequent, place = _frequent(codes, states == VISIBLE, limits.least_hits)
        code[column] = _pack_column(place, states, len(frequent), limits.use_hidden)
        values.append(frequent)
    row, private_column = np.nonzero(is_private[order[: np.count_nonzero(has_private)]])
    private_start = np.append(0, np.cumsum(np.bincount(row))).astype(np.int32)
    return Packed(
        code,
        np.array([len(frequent) for frequent in values], dtype=np.int32),
        tuple(values),
        order,
        private_start,
        private_column.astype(np.int32),
    )


def _pack_column(place: Small, states: States, n_values: int, use_hidden: bool) -> Small:
    hidden = place + (n_values + 2) if use_hidden else np.full_like(place, 2 * n_values + 2)
    blank = np.full_like(place, n_values + 1)
    packed: Small = np.where(
        states == VISIBLE, place, np.where(states == PRIVATE, hidden, blank)
    ).astype(np.int32)
    return packed


def _frequent(codes: Small, is_visible: States, least: int) -> tuple[Small, Small]:
    """Give the codes that enough visible cells have, and each cell's place among them."""
    largest = int(codes.max(initial=0))
    if largest < _FEW_CODES * len(codes):
        present, dense = np.arange(largest + 1, dtype=np.int32), codes
    else:
        present, inverse = np.unique(codes, return_inverse=True)
        dense = inverse.astype(np.int32)
    is_frequent = np.bincount(dense[is_visible], minlength=len(present)) >= least
    frequent = present[is_frequent].astype(np.int32)
    place = np.full(len(present), len(frequent), dtype=np.int32)
    place[is_frequent] = np.arange(len(frequent))
    return frequent, place[dense]
