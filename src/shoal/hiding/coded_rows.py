"""The rows of a table or data frame as codes, and which of their cells are declared private.

Cells are processed as small whole numbers. A table of an engine provides them itself; the
columns of a data frame (pandas, polars, pyarrow, or a mapping of columns) are coded here. Codes
follow the order of the values if these have one, so that the same rows get the same codes in any
kind of frame. Missing values (None, NaN, NaT, pandas.NA) are one value, which comes last.

A table that was read marks its own private cells: `shoal.core.table.Table.marked`. Rows of a frame
have no key; they are named by their position, counted from 0. A reader sees which cells are
suppressed. If cells are private because of their values, a suppressed cell gives its value away,
and no blank elsewhere helps; `choice_warnings` reports such choices before anything is mined.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Flags, Small, Texts
from shoal.core.errors import DataError, ParameterError, suggestion
from shoal.core.exact import as_text
from shoal.core.private_cells import (
    CellFile,
    CellList,
    CellMask,
    CellText,
    Condition,
    PrivateCells,
)
from shoal.core.row_filter import RowFilter, rows_of_function
from shoal.core.table import Rows

_NUMBERS = "biuf"
_READ = "read it first: shoal.read(frame, schema)."


@dataclass(frozen=True, eq=False, repr=False)
class CodedRows:
    """Rows as codes.

    `values` has, for each column, the value of each code; None for a missing value. `keys` is None
    if rows are named by their position.

    Examples
    --------
    >>> rows = CodedRows.of_frame({"sex": ["M", None, "F"], "age": np.array([30, 30, 41])})
    >>> rows
    CodedRows(3 rows, 2 columns)
    >>> rows.codes.tolist(), rows.values
    ([[1, 0], [2, 0], [0, 1]], (('F', 'M', None), (30, 41)))
    """

    columns: tuple[str, ...]
    codes: Small
    values: tuple[tuple[Any, ...], ...]
    keys: Texts | None = None

    @classmethod
    def of_rows(cls, rows: Rows) -> CodedRows:
        """Return the rows of a table, whose values are texts."""
        labels = tuple(tuple(domain.labels()) for domain in rows.domains)
        return cls(rows.columns, rows.codes, labels, rows.keys)

    @classmethod
    def of_frame(cls, frame: object) -> CodedRows:
        """Code the rows of a data frame, or of a mapping of columns.

        Raises
        ------
        ParameterError
            If it is not a data frame.
        DataError
            If columns have no name, the same name or different lengths, or hold values that cannot
            be compared.
        """
        columns = _columns_of(frame)
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise DataError(
                f"The columns of the table have {len(lengths)} different lengths.",
                hint="give every column one value per row.",
            )
        codes = np.empty((max(lengths, default=0), len(columns)), dtype=np.int32)
        values = []
        for place, (name, given) in enumerate(columns.items()):
            codes[:, place], listed = _code(name, given)
            values.append(listed)
        return cls(tuple(columns), codes, tuple(values))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    def key(self, row: int) -> str | int:
        """Return the name of a row: its key, or its position."""
        return row if self.keys is None else str(self.keys[row])

    def place(self, column: str) -> int:
        """Return the place of a column; raises `ParameterError` if there is none of that name."""
        if column not in self.columns:
            raise ParameterError(
                f"The table has no column {column!r}.",
                hint=suggestion(column, self.columns, "its columns are"),
            )
        return self.columns.index(column)

    def code(self, column: str, value: object) -> int:
        """Return the code of a value; raises `ParameterError` if the column does not have it."""
        code_by_value = self._codes_by_value[self.place(column)]
        code = None
        # A value that cannot be hashed is in no column.
        with contextlib.suppress(TypeError):
            code = code_by_value.get(None if _is_missing(value) else value)
        if code is None:
            raise ParameterError(
                f"Column {column!r} does not have the value that is asked about.",
                hint="values of a frame are given as they stand in it, those of a table that was "
                "read as texts, a missing one as None.",
            )
        return code

    def values_of(self, column: str) -> list[Any]:
        """Return the values of a column, row by row."""
        place = self.place(column)
        listed: Texts = np.empty(len(self.values[place]), dtype=object)
        # One by one: values may be sequences themselves.
        for code, value in enumerate(self.values[place]):
            listed[code] = value
        values: list[Any] = listed[self.codes[:, place]].tolist()
        return values

    @cached_property
    def _codes_by_value(self) -> tuple[dict[Any, int], ...]:
        return tuple({value: code for code, value in enumerate(listed)} for listed in self.values)

    def __repr__(self) -> str:
        return f"CodedRows({self.n_rows} rows, {len(self.columns)} columns)"


# --- columns of a frame --------------------------------------------------------------------------


Given = npt.NDArray[Any] | list[Any]


def _columns_of(frame: Any) -> dict[str, Given]:
    """Return the columns of a frame by name, each as an array of numbers or as a list of values."""
    names = _names_of(frame)
    n_unnamed = sum(not isinstance(name, str) for name in names)
    if n_unnamed:
        raise DataError(
            f"{n_unnamed} of the table's {len(names)} columns have names that are not texts.",
            hint="give them names, for example frame.rename(columns=str).",
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"The table has more than one column {twice!r}.", hint="rename them.")
    return {name: _given(name, frame[name]) for name in names}


def _names_of(frame: Any) -> list[Any]:
    if isinstance(frame, Mapping):
        return list(frame)
    names = getattr(frame, "column_names", None)
    # A lazy frame may be a query on more rows than memory holds.
    if names is None and not hasattr(frame, "collect"):
        names = getattr(frame, "columns", None)
    if names is None or isinstance(names, Mapping) or not isinstance(names, Iterable):
        raise ParameterError(
            f"Rules are mined from a table that was read or from a data frame, not from a "
            f"{type(frame).__name__}.",
            hint=f"give a data frame or a mapping of columns, or {_READ}",
        )
    return list(names)


def _given(name: str, column: Any) -> Given:
    """Return a column of any library as an array of numbers or as a list of values."""
    is_array = isinstance(column, np.ndarray)
    if is_array and column.ndim != 1:
        raise DataError(
            f"Column {name!r} has {column.ndim} dimensions.", hint="give one value per row."
        )
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind in _NUMBERS and hasattr(column, "to_numpy"):
        numbers = np.asarray(column.to_numpy())
        # pandas has whole numbers that may be missing; they would come as floats.
        return numbers if numbers.dtype.kind == kind else list(column)
    if is_array and kind in _NUMBERS and not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    if is_array and kind in "Mm":
        return _moments(column)
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if isinstance(column, str | bytes) or not isinstance(column, Sequence):
        raise DataError(
            f"Column {name!r} is a {type(column).__name__}, not a column of values.",
            hint="give a list, an array or a series.",
        )
    return list(column)


def _moments(column: npt.NDArray[Any]) -> list[Any]:
    """Return dates and durations as Python objects, unless digits would be lost."""
    unit = np.datetime_data(column.dtype)[0]
    if unit in ("ns", "ps", "fs", "as"):
        coarser = column.astype(f"{column.dtype.kind}8[us]")
        is_lost = (coarser.astype(column.dtype) != column) & ~np.isnat(column)
        return list(column) if is_lost.any() else list(coarser.tolist())
    return list(column.tolist())


# --- codes ---------------------------------------------------------------------------------------


def _code(name: str, given: Given) -> tuple[Small, tuple[Any, ...]]:
    if isinstance(given, np.ndarray):
        return _code_numbers(given)
    try:
        return _code_objects(given)
    except TypeError:
        raise DataError(
            f"Column {name!r} holds values that cannot be compared, such as lists.",
            hint="turn them into texts, or leave the column out.",
        ) from None


def _code_numbers(given: npt.NDArray[Any]) -> tuple[Small, tuple[Any, ...]]:
    is_missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(len(given), dtype=bool)
    present, codes_of_present = np.unique(given[~is_missing], return_inverse=True)
    codes = np.full(len(given), len(present), dtype=np.int32)
    codes[~is_missing] = codes_of_present
    return codes, (*present.tolist(), *([None] if is_missing.any() else []))


def _code_objects(given: list[Any]) -> tuple[Small, tuple[Any, ...]]:
    distinct = dict.fromkeys(given)
    present = [value for value in distinct if not _is_missing(value)]
    # Values of different kinds stay in the order in which they come.
    with contextlib.suppress(TypeError):
        present = sorted(present)
    # Every NaN is a key of its own; all of them have the last code.
    code_by_value = dict.fromkeys(distinct, len(present))
    code_by_value |= {value: code for code, value in enumerate(present)}
    codes = np.fromiter(map(code_by_value.__getitem__, given), dtype=np.int32, count=len(given))
    has_missing = len(present) < len(distinct)
    return codes, (*map(_plain, present), *([None] if has_missing else []))


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        # NaN and NaT are not equal to themselves; pandas.NA cannot even say that.
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError, ArithmeticError):
        return True


def _plain(value: Any) -> Any:
    """Return numbers and texts of numpy as Python objects."""
    is_plain = isinstance(value, np.number | np.bool_ | np.character)
    return value.item() if is_plain and not isinstance(value, np.timedelta64) else value


# --- private cells --------------------------------------------------------------------------------


def mark_frame(rows: CodedRows, cells: PrivateCells) -> Flags:
    """Mark the cells that are named.

    Raises `ParameterError` if a mask has another shape than the frame, a column or row is named
    that it does not have, or a file is given.

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
                "Private cells are listed in a file, which needs a table that was read; this is a "
                "data frame.",
                hint=_READ,
            )
    return marks


def _mark_positions(rows: CodedRows, mask: CellMask, marks: Flags) -> None:
    columns = rows.columns if mask.columns is None else mask.columns
    expected = (rows.n_rows, len(columns))
    if mask.marks.shape != expected:
        n_rows, n_columns = mask.marks.shape
        raise ParameterError(
            f"The table of booleans has {n_rows} rows and {n_columns} columns; {expected[0]} and "
            f"{expected[1]} are needed.",
            hint="give one row per row and one column per column of the frame, in its order; or "
            "name the columns.",
        )
    for column, marked in zip(columns, mask.marks.T, strict=True):
        marks[marked, rows.place(column)] = True


def _mark_listed(rows: CodedRows, cells: CellList, marks: Flags) -> None:
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


def _chosen(rows: CodedRows, condition: Condition) -> Flags:
    """Mark the rows that meet a condition."""
    if condition.sql is not None:
        read = RowFilter.read(condition.sql)
        return read.rows({column: rows.values_of(column) for column in read.columns})
    if condition.python is None:
        return np.ones(rows.n_rows, dtype=bool)
    return rows_of_function(
        condition.python, {column: rows.values_of(column) for column in rows.columns}
    )


def choice_warnings(
    cells: PrivateCells, rows: Rows, private: Flags, delta: Fraction
) -> tuple[str, ...]:
    """Warn of cells that are private because of their values, without naming a value.

    `cells` is the declaration of the private cells, `private` marks them in `rows`, and a value
    with a share of `delta` or more counts as known.
    """
    named = dict.fromkeys(_own_conditions(cells, rows.columns))
    found = [
        f"Which cells of column {column!r} are private follows from what they hold: the condition "
        "names the column itself. A reader who sees a suppressed cell knows that much about it."
        for column in named
    ]
    for place, column in enumerate(rows.columns):
        if column not in named and _is_telling(rows, private, place, delta):
            found.append(
                f"At least {as_text(delta)} of the private cells of column {column!r} hold one "
                "value, a larger share than of its other cells: guessing it wherever the column is "
                "suppressed is mostly right."
            )
    return tuple(found)


def _own_conditions(cells: PrivateCells, columns: Sequence[str]) -> list[str]:
    """Return the columns that are private by conditions on themselves."""
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


def _is_telling(rows: Rows, private: Flags, place: int, delta: Fraction) -> bool:
    """Return whether a value has a share of delta of a column's private cells, but of no others."""
    codes, is_private = rows.codes[:, place], private[:, place]
    n_private, n_others = int(is_private.sum()), int((~is_private).sum())
    # Among few private cells, one value is easily the majority.
    if n_private < _FEW or not n_others:
        return False
    hidden = np.bincount(codes[is_private], minlength=rows.domains[place].size)
    value = int(hidden.argmax())
    others = int(np.count_nonzero(codes[~is_private] == value))
    is_known = int(hidden[value]) >= delta * n_private
    return bool(is_known and others < delta * n_others)


_FEW = 5
