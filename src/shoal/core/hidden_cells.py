"""The suppressed cells of a release as its maker knows them: which, why, and what they held.

This is the witness of a suppressed release. Readers of the release see only that a cell is
suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.domain import Texts
from shoal.core.private_cells import Marks
from shoal.core.rows import RowCodes

__all__ = ["HiddenCells"]


@dataclass(frozen=True, eq=False, repr=False)
class HiddenCells:
    """Suppressed cells, one entry each.

    Parameters
    ----------
    key, column
        The cell: the key of its row, and the name of its column.
    is_private
        Whether somebody wanted it hidden; else it is blanked to protect such cells.
    value
        What would be published there; None where it is missing.
    """

    FILE: ClassVar[str] = "private.parquet"
    """The internal file that keeps them."""

    key: Texts
    column: Texts
    is_private: Marks
    value: Texts

    @classmethod
    def of_rows(
        cls,
        keys: Texts,
        columns: Sequence[str],
        texts: Sequence[Texts],
        codes: RowCodes,
        is_private: Marks,
        is_blanked: Marks,
    ) -> HiddenCells:
        """Take the cells that are marked, column by column.

        Examples
        --------
        >>> marks = np.array([[True], [False]])
        >>> sexes = np.array(["F", "M"], dtype=object)
        >>> hidden = HiddenCells.of_rows(
        ...     np.array(["7", "9"], dtype=object), ["sex"], [sexes], np.array([[0], [1]]),
        ...     marks, ~marks,
        ... )
        >>> hidden, hidden.value.tolist(), hidden.is_private.tolist()
        (HiddenCells(1 private and 1 further ones), ['F', 'M'], [True, False])
        """
        place, row = np.nonzero((is_private | is_blanked).T)
        value: Texts = np.empty(len(row), dtype=object)
        for number, column_texts in enumerate(texts):
            chosen = place == number
            value[chosen] = column_texts[codes[row[chosen], number]]
        names: Texts = np.array([*columns, None], dtype=object)[:-1]
        return cls(keys[row], names[place], is_private[row, place], value)

    @property
    def keys_by_column(self) -> dict[str, Texts]:
        """The keys of the rows, by column."""
        columns = dict.fromkeys(self.column.tolist())
        return {column: self.key[self.column == column] for column in columns}

    def to_columns(self) -> dict[str, npt.NDArray[Any]]:
        """Give the columns of the internal file."""
        return {
            "row_key": self.key,
            "column": self.column,
            "private": self.is_private,
            "value": self.value,
        }

    @classmethod
    def from_columns(cls, columns: Mapping[str, npt.NDArray[Any]]) -> HiddenCells:
        """Read the columns of the internal file."""
        return cls(
            columns["row_key"],
            columns["column"],
            columns["private"].astype(bool),
            columns["value"],
        )

    def __len__(self) -> int:
        return len(self.key)

    def __repr__(self) -> str:
        n_private = int(self.is_private.sum())
        return f"HiddenCells({n_private} private and {len(self) - n_private} further ones)"
