"""Mark the cells of a data frame that somebody names: by position, by list, or by a condition.

A table that was read marks its own cells: `shoal.core.table.Table.marked`. Rows of a frame have no
key; they are named by their position, counted from 0.
"""

from __future__ import annotations

import numpy as np

from shoal.core.errors import ParameterError
from shoal.core.private_cells import (
    CellFile,
    CellList,
    CellMask,
    CellText,
    Condition,
    Marks,
    PrivateCells,
)
from shoal.core.row_filter import RowFilter, rows_of_function
from shoal.knowledge.coded_rows import CodedRows

__all__ = ["mark_frame"]

_READ = "read it first: shoal.read(frame, schema)."


def mark_frame(rows: CodedRows, cells: PrivateCells) -> Marks:
    """Mark the cells that are named.

    Raises
    ------
    ParameterError
        Where a mask has another shape than the frame, a column or a row is named that it does not
        have, or a file is given.

    Examples
    --------
    >>> rows = CodedRows.of_frame({"age": [30, 70], "job": ["cook", "judge"]})
    >>> mark_frame(rows, PrivateCells.of([(0, "age"), "job where age > 60"])).tolist()
    [[True, False], [False, True]]
    """
    marks = np.zeros(rows.codes.shape, dtype=bool)
    for given in cells.parts:
        part = given.among(rows.columns) if isinstance(given, CellText) else given
        if isinstance(part, CellMask):
            _mark_positions(rows, part, marks)
        elif isinstance(part, CellList):
            _mark_listed(rows, part, marks)
        elif isinstance(part, Condition):
            marks[_chosen(rows, part), rows.place(part.column)] = True
        else:
            assert isinstance(part, CellFile)
            raise ParameterError(
                "The cells of a data frame are named by a file, which only a table that was read "
                "can look up.",
                hint=_READ,
            )
    return marks


def _mark_positions(rows: CodedRows, mask: CellMask, marks: Marks) -> None:
    columns = rows.columns if mask.columns is None else mask.columns
    expected = (rows.n_rows, len(columns))
    if mask.marks.shape != expected:
        n_rows, n_columns = mask.marks.shape
        raise ParameterError(
            f"The table of booleans has {n_rows} rows and {n_columns} columns; {expected[0]} and "
            f"{expected[1]} are needed.",
            hint="one row a row and one column a column of the frame, in its order; or name the "
            "columns.",
        )
    for column, marked in zip(columns, mask.marks.T, strict=True):
        marks[marked, rows.place(column)] = True


def _mark_listed(rows: CodedRows, cells: CellList, marks: Marks) -> None:
    rows_named = [key for key in cells.keys if isinstance(key, int) and 0 <= key < rows.n_rows]
    n_stray = len(cells.keys) - len(rows_named)
    if n_stray:
        raise ParameterError(
            f"{n_stray} of {len(cells.keys)} listed cells are in rows that the frame does not "
            f"have; it has {rows.n_rows}.",
            hint="a row of a frame is named by its position, counted from 0; for keys, " + _READ,
        )
    places = {column: _place(rows, column) for column in dict.fromkeys(cells.columns)}
    marks[rows_named, [places[column] for column in cells.columns]] = True


def _place(rows: CodedRows, column: str | int) -> int:
    if isinstance(column, str):
        return rows.place(column)
    if not 0 <= column < len(rows.columns):
        raise ParameterError(
            f"The list of cells names column {column}; the frame has columns 0 to "
            f"{len(rows.columns) - 1}.",
            hint=f"its columns are {', '.join(rows.columns)}.",
        )
    return column


def _chosen(rows: CodedRows, condition: Condition) -> Marks:
    """Mark the rows that a condition lets through."""
    if condition.sql is not None:
        read = RowFilter.read(condition.sql)
        return read.rows({column: rows.values_of(column) for column in read.columns})
    if condition.python is None:
        return np.ones(rows.n_rows, dtype=bool)
    return rows_of_function(
        condition.python, {column: rows.values_of(column) for column in rows.columns}
    )
