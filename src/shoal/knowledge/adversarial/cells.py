"""A table whose cells are visible, private or blanked.

People choose cell by cell what must not be known: the private cells, P. More cells are blanked to
protect these: K. Whoever reads the release sees neither, and cannot tell one from the other; here
they are told apart, and the true values are known.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, ParameterError

__all__ = ["BLANKED", "NO_ITEM", "PRIVATE", "VISIBLE", "HiddenTable", "Small", "States"]

Small = npt.NDArray[np.int32]
States = npt.NDArray[np.uint8]

VISIBLE, PRIVATE, BLANKED = 0, 1, 2
"""What a cell is: shown, hidden because its owner wants it (P), hidden to protect others (K)."""

NO_ITEM = -1
"""Stands in the place of a column that an antecedent does not name; no value has this code."""

_LARGEST = 2**31


@dataclass(frozen=True, eq=False)
class HiddenTable:
    """The codes of a table, and what is hidden of it.

    Parameters
    ----------
    codes
        One row a row, one column a column: numbers from 0 on that stand for values. A missing
        value is a value like others, with a code of its own.
    state
        For each cell `VISIBLE`, `PRIVATE` or `BLANKED`.

    Raises
    ------
    ParameterError
        Where the two differ in shape, or a code or a state is out of range.
    DataError
        Where the table has too many rows to be counted.

    Examples
    --------
    >>> HiddenTable(np.array([[0, 1], [1, 1]]), np.array([[0, 0], [0, 1]]))
    HiddenTable(2 rows, 2 columns, 1 private and 0 blanked cells)
    """

    codes: Small
    state: States

    def __init__(
        self, codes: npt.NDArray[np.integer[Any]], state: npt.NDArray[np.integer[Any]]
    ) -> None:
        if codes.ndim != 2 or codes.shape != state.shape:
            raise ParameterError(
                "Codes and states must have one row a row and one column a column, and the same "
                f"shape; they have {codes.shape} and {state.shape}."
            )
        if len(codes) >= _LARGEST:
            raise DataError(
                f"The table has {len(codes)} rows; adversarial rules are mined from fewer than "
                f"{_LARGEST}.",
                hint="mine a sample of it.",
            )
        if codes.size and (codes.min() < 0 or codes.max() >= _LARGEST - 1):
            raise ParameterError(f"Codes must be whole numbers from 0 to {_LARGEST - 2}.")
        if state.size and not np.isin(state, (VISIBLE, PRIVATE, BLANKED)).all():
            raise ParameterError(
                f"States must be {VISIBLE} (visible), {PRIVATE} (private) or {BLANKED} (blanked)."
            )
        object.__setattr__(self, "codes", codes.astype(np.int32, copy=False))
        object.__setattr__(self, "state", state.astype(np.uint8, copy=False))

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
