"""Whether the choice of private cells gives them away, before anything is mined.

That a cell is suppressed can be seen. Where cells are private because of what they hold, whoever
sees one suppressed knows what it holds, and no blank elsewhere helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.private_cells import CellText, Condition, Marks, PrivateCells
from shoal.core.row_filter import RowFilter
from shoal.core.rows import Rows

__all__ = ["choice_warnings"]


def choice_warnings(
    cells: PrivateCells, rows: Rows, private: Marks, delta: Fraction
) -> tuple[str, ...]:
    """Say where cells are private for what they hold, without naming a value.

    Parameters
    ----------
    cells
        How the private cells were given.
    rows, private
        The rows, and which of their cells are private.
    delta
        The share from which on a value counts as known.
    """
    named = dict.fromkeys(_own_conditions(cells, rows.columns))
    found = [
        f"Which cells of column {column!r} are private follows from what they hold: the condition "
        "names the column itself. Whoever sees one suppressed knows that much of it."
        for column in named
    ]
    for place, column in enumerate(rows.columns):
        if column not in named and _is_telling(rows, private, place, delta):
            found.append(
                f"At least {as_text(delta)} of the private cells of column {column!r} hold one "
                "value, more than of its other cells: whoever guesses it wherever the column is "
                "suppressed is mostly right."
            )
    return tuple(found)


def _own_conditions(cells: PrivateCells, columns: Sequence[str]) -> list[str]:
    """Name the columns that are private by conditions on themselves."""
    found = []
    for part in cells.parts:
        condition = _condition(part, columns) if isinstance(part, CellText) else part
        if isinstance(condition, Condition) and _names_itself(condition):
            found.append(condition.column)
    return found


def _condition(text: CellText, columns: Sequence[str]) -> object:
    try:
        return text.among(columns)
    except ParameterError:
        # A file, or a column that is not published.
        return None


def _names_itself(condition: Condition) -> bool:
    return condition.sql is not None and condition.column in RowFilter.read(condition.sql).columns


def _is_telling(rows: Rows, private: Marks, place: int, delta: Fraction) -> bool:
    """Whether one value makes up delta of a column's private cells, and of the others less."""
    codes, is_private = rows.codes[:, place], private[:, place]
    n_private, n_others = int(is_private.sum()), int((~is_private).sum())
    # Of few private cells one value is soon the most.
    if n_private < _FEW or not n_others:
        return False
    hidden = np.bincount(codes[is_private], minlength=rows.domains[place].size)
    value = int(hidden.argmax())
    others = int(np.count_nonzero(codes[~is_private] == value))
    is_known = int(hidden[value]) >= delta * n_private
    return bool(is_known and others < delta * n_others)


_FEW = 5
