"""The rows of a table or of a data frame as codes, with the values that they stand for.

Work cell by cell goes by small whole numbers. A table of an engine gives them itself; the columns
of a data frame (pandas, polars, pyarrow, or a mapping of columns) are coded here. Codes follow the
order of the values where these have one, so that the same rows give the same codes in whatever
frame they stand. Missing values (None, NaN, NaT, pandas.NA) are one value, which comes last.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.domain import Texts
from shoal.core.errors import DataError, ParameterError
from shoal.core.rows import RowCodes, Rows

__all__ = ["CodedRows"]

_NUMBERS = "biuf"
_READ = "read it first: shoal.read(...)."


@dataclass(frozen=True, eq=False, repr=False)
class CodedRows:
    """Rows as codes.

    Parameters
    ----------
    columns
        The names of the columns.
    codes
        One row a row, one column a column.
    values
        For each column what its codes stand for; None where that is a missing value.
    keys
        The keys of the rows; None where they are named by their position.

    Examples
    --------
    >>> rows = CodedRows.of_frame({"sex": ["M", None, "F"], "age": np.array([30, 30, 41])})
    >>> rows
    CodedRows(3 rows, 2 columns)
    >>> rows.codes.tolist(), rows.values
    ([[1, 0], [2, 0], [0, 1]], (('F', 'M', None), (30, 41)))
    """

    columns: tuple[str, ...]
    codes: RowCodes
    values: tuple[tuple[Any, ...], ...]
    keys: Texts | None = None

    @classmethod
    def of_rows(cls, rows: Rows) -> CodedRows:
        """Take the rows of a table, whose values are texts."""
        labels = tuple(tuple(domain.labels()) for domain in rows.domains)
        return cls(rows.columns, rows.codes, labels, rows.keys)

    @classmethod
    def of_frame(cls, frame: object) -> CodedRows:
        """Code the rows of a data frame, or of a mapping of columns.

        Raises
        ------
        ParameterError
            Where it is no data frame.
        DataError
            Where columns have no name, the same name or different lengths, or hold what cannot be
            compared.
        """
        columns = _columns_of(frame)
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise DataError(
                f"The columns of the table have {len(lengths)} different lengths.",
                hint="give every column one value a row.",
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
        """Give the name of a row: its key, or its position."""
        return row if self.keys is None else str(self.keys[row])

    def place(self, column: str) -> int:
        """Give the place of a column.

        Raises
        ------
        ParameterError
            Where there is none of that name.
        """
        if column not in self.columns:
            raise ParameterError(
                f"The table has no column {column!r}.",
                hint=f"its columns are {', '.join(self.columns)}.",
            )
        return self.columns.index(column)

    def code(self, column: str, value: object) -> int:
        """Give the code of a value.

        Raises
        ------
        ParameterError
            Where the column does not have it.
        """
        code_by_value = self._codes_by_value[self.place(column)]
        code = None
        # What cannot be hashed is no value of a column.
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
        """Give the values of a column, row by row."""
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
    """Give the columns of a frame by name, each as an array of numbers or as a list of values."""
    names = _names_of(frame)
    n_unnamed = sum(not isinstance(name, str) for name in names)
    if n_unnamed:
        raise DataError(
            f"{n_unnamed} of the table's {len(names)} columns are named by something else than a "
            "text.",
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
    # What still has to be collected may be a query on more rows than memory holds.
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
    """Give a column as an array of numbers or as a list of values, whoever holds it."""
    is_array = isinstance(column, np.ndarray)
    if is_array and column.ndim != 1:
        raise DataError(
            f"Column {name!r} has {column.ndim} dimensions.", hint="give one value a row."
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
    """Give dates and durations as Python has them, where it can count as finely."""
    unit = np.datetime_data(column.dtype)[0]
    if unit in ("ns", "ps", "fs", "as"):
        coarser = column.astype(f"{column.dtype.kind}8[us]")
        is_lost = (coarser.astype(column.dtype) != column) & ~np.isnat(column)
        return list(column) if is_lost.any() else list(coarser.tolist())
    return list(column.tolist())


# --- codes ---------------------------------------------------------------------------------------


def _code(name: str, given: Given) -> tuple[RowCodes, tuple[Any, ...]]:
    if isinstance(given, np.ndarray):
        return _code_numbers(given)
    try:
        return _code_objects(given)
    except TypeError:
        raise DataError(
            f"Column {name!r} holds values that cannot be compared, such as lists.",
            hint="turn them into texts, or leave the column out.",
        ) from None


def _code_numbers(given: npt.NDArray[Any]) -> tuple[RowCodes, tuple[Any, ...]]:
    is_missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(len(given), dtype=bool)
    present, codes_of_present = np.unique(given[~is_missing], return_inverse=True)
    codes = np.full(len(given), len(present), dtype=np.int32)
    codes[~is_missing] = codes_of_present
    return codes, (*present.tolist(), *([None] if is_missing.any() else []))


def _code_objects(given: list[Any]) -> tuple[RowCodes, tuple[Any, ...]]:
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
    """Give numbers and texts of numpy as Python has them."""
    is_plain = isinstance(value, np.number | np.bool_ | np.character)
    return value.item() if is_plain and not isinstance(value, np.timedelta64) else value
