"""A table whose cells are visible, private or blanked, and the form in which kernels read it.

Owners choose cell by cell what must not be known: the private cells, P. Further cells, K, are
blanked to protect these. A reader of the release cannot tell P from K; here they are distinguished,
and the true values are known. `Limits` states exactly when a rule is adversarial. `pack` puts the
value and the state of a cell into one number:

Values that too few visible cells have for any rule are all alike. In a column with F other values,
codes 0 to F - 1 are these, visible; F is any rare value, visible; F + 1 is a blank; F + 2 to
2F + 2 are the same F + 1 values, private. If hidden values must not matter, all private cells have
the last of these codes.

References
----------
[Aggarwal06] (see `shoal.hiding`) section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Bytes, Codes, Small
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import Number, highest_at_most, read_delta, read_gamma

VISIBLE, PRIVATE, BLANKED = 0, 1, 2
"""The states of a cell: shown, hidden because its owner wants it (P), hidden for others (K)."""

NO_ITEM = -1
"""Stands in the place of a column that an antecedent does not name; no value has this code."""

_LARGEST = 2**31


def _read_codes(codes: npt.NDArray[np.integer[Any]]) -> Small:
    if codes.ndim and len(codes) >= _LARGEST:
        raise DataError(
            f"The table has {len(codes)} rows; adversarial rules are mined from fewer than "
            f"{_LARGEST}.",
            hint="mine a sample of it.",
        )
    if codes.size and (codes.min() < 0 or codes.max() >= _LARGEST - 1):
        raise ParameterError(f"Codes must be whole numbers from 0 to {_LARGEST - 2}.")
    return codes.astype(np.int32, copy=False)


def _read_state(state: npt.NDArray[np.integer[Any]]) -> Bytes:
    if state.size and not np.isin(state, (VISIBLE, PRIVATE, BLANKED)).all():
        raise ParameterError(
            f"States must be {VISIBLE} (visible), {PRIVATE} (private) or {BLANKED} (blanked)."
        )
    return state.astype(np.uint8, copy=False)


@attrs.frozen(eq=False, repr=False)
class HiddenTable:
    """The codes of a table and the state of each cell: `VISIBLE`, `PRIVATE` or `BLANKED`.

    Codes are numbers from 0 on that stand for values; a missing value is a value like others, with
    a code of its own.

    Raises
    ------
    ParameterError
        If the two differ in shape, or a code or a state is out of range.
    DataError
        If the table has too many rows to be counted.

    Examples
    --------
    >>> HiddenTable(np.array([[0, 1], [1, 1]]), np.array([[0, 0], [0, 1]]))
    HiddenTable(2 rows, 2 columns, 1 private and 0 blanked cells)
    """

    codes: Small = attrs.field(converter=_read_codes)
    state: Bytes = attrs.field(converter=_read_state)

    def __attrs_post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape != self.state.shape:
            raise ParameterError(
                "Codes and states must have one row per row, one column per column, and the same "
                f"shape; they have {self.codes.shape} and {self.state.shape}."
            )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.codes.shape[1])

    def __repr__(self) -> str:
        n_private = np.count_nonzero(self.state == PRIVATE)
        n_blanked = np.count_nonzero(self.state == BLANKED)
        return (
            f"HiddenTable({self.n_rows} rows, {self.n_columns} columns, "
            f"{n_private} private and {n_blanked} blanked cells)"
        )


@dataclass(frozen=True)
class Limits:
    """The conditions for a rule to be adversarial, as kernels read them.

    `gamma` is the fewest rows of the public set, `numerator / denominator` the minimum confidence,
    and `least_hits` the fewest hits that a rule of enough support and confidence can have. If
    `use_hidden`, the hidden confidence has to reach the minimum confidence too; otherwise it is
    enough that the hidden set is not empty.
    """

    gamma: int
    numerator: int
    denominator: int
    least_hits: int
    use_hidden: bool

    @classmethod
    def of(cls, delta: Number, gamma: Number, n_rows: int, *, use_hidden: bool) -> Limits:
        """Read the limits for a table with `n_rows` rows.

        Examples
        --------
        >>> Limits.of(0.6666, 2, 10, use_hidden=True)
        Limits(gamma=2, numerator=2, denominator=3, least_hits=2, use_hidden=True)
        """
        least, support = read_delta(delta), read_gamma(gamma, n_rows)
        ratio = 1 - highest_at_most(1 - least, max(n_rows, 1))
        hits = math.ceil(ratio * support)
        return cls(support, ratio.numerator, ratio.denominator, hits, use_hidden)

    def is_confident(self, hits: int, count: int) -> bool:
        """Return whether `hits` of `count` rows are enough."""
        return hits * self.denominator >= self.numerator * count


_FEW_CODES = 8


@dataclass(frozen=True, eq=False)
class Packed:
    """A table in packed codes, the rows with private cells first.

    `code` has one row per column; kernels blank and restore cells in it. For each column,
    `n_values` is the number of values that rules may name, and `values` their codes in the table.
    `order` is the number in the table of each row here. `private_start` says where the private
    columns of each row with private cells start in `private_column`.
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
        """Return antecedents in the codes of the table; -1 stays -1."""
        codes = np.empty_like(antecedent)
        for column, values in enumerate(self.values):
            # The last entry is the one that -1 takes.
            codes[:, column] = np.append(values, np.int32(-1))[antecedent[:, column]]
        return codes

    def unpack_value(self, column: Codes, value: Codes) -> Small:
        """Return values of columns in the codes of the table."""
        start = np.append(0, np.cumsum(self.n_values))
        values = np.concatenate([np.empty(0, dtype=np.int32), *self.values])
        unpacked: Small = values[start[column] + value]
        return unpacked


def pack(table: HiddenTable, limits: Limits) -> Packed:
    """Pack a table; the limits say which values are rare, and whether hidden ones matter.

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


def grown(array: object) -> npt.NDArray[Any]:
    """Return an array of twice the length that begins with the elements of another."""
    old = np.asarray(array)
    new = np.empty(2 * len(old), dtype=old.dtype)
    new[: len(old)] = old
    return new


def _pack_column(place: Small, states: Bytes, n_values: int, use_hidden: bool) -> Small:
    hidden = place + (n_values + 2) if use_hidden else np.full_like(place, 2 * n_values + 2)
    blank = np.full_like(place, n_values + 1)
    packed: Small = np.where(
        states == VISIBLE, place, np.where(states == PRIVATE, hidden, blank)
    ).astype(np.int32)
    return packed


def _frequent(codes: Small, is_visible: Bytes, least: int) -> tuple[Small, Small]:
    """Return the codes that enough visible cells have, and each cell's place among them."""
    largest = int(codes.max(initial=0))
    # Codes in a narrow range are counted directly, without sorting.
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
