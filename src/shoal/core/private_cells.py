"""Private cells, which people choose cell by cell, and the cells that a release suppresses.

Private cells are given as a table of booleans, as a list of (row key, column), as conditions (a
column and, unless all of it is private, a filter) or as a file that holds one of the first two.
Several of these together mean all the cells that any of them names. Only the engine that holds the
table can find their rows: see `shoal.core.table.Table.marked`.

`HiddenCells` is the witness of a suppressed release: the suppressed cells, the reason, and their
values. Readers of the release see only that a cell is suppressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Flags, Small, Texts
from shoal.core.errors import ParameterError

RowFilter = Callable[[Mapping[str, Any]], object]

_HINT = (
    "for example a table of booleans, [(key, column), ...], 'disease', 'disease where age > 60', "
    "{'column': 'disease', 'sql': 'age > 60'}, or the path of a file."
)


@dataclass(frozen=True, eq=False, repr=False)
class CellMask:
    """Cells by position."""

    # One line per row, in the order of the source.
    marks: Flags
    # The columns, by name; None for all columns of the source, in its order.
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, repr=False)
class CellList:
    """Cells by the key of their row, as a text or number, and by column, as a name or position."""

    keys: tuple[str | int, ...]
    columns: tuple[str | int, ...]


@dataclass(frozen=True, repr=False)
class Condition:
    """The cells of a column in the rows that a filter selects, or in all rows."""

    column: str
    # A condition over the columns of the table, such as "age > 60 AND sex = 'F'".
    sql: str | None = None
    # A function of a row, which is a mapping of columns to values.
    python: RowFilter | None = None


@dataclass(frozen=True, repr=False)
class CellText:
    """A column, `column where SQL`, or the path of a file; the names of the columns decide which.

    A relative path starts from `base`.
    """

    text: str
    base: Path = Path()

    def among(self, columns: Iterable[str]) -> CellFile | Condition:
        """Read the text for a table with some columns.

        Raises a ParameterError if it does not begin with a column and there is no such file.

        Examples
        --------
        >>> found = CellText("age where age > 60").among(["sex", "age"])
        >>> found.column, found.sql
        ('age', 'age > 60')
        """
        named = sorted(columns, key=len, reverse=True)
        if self.text in named:
            return Condition(self.text)
        for column in named:
            behind = self.text.removeprefix(column)
            if behind != self.text and behind[:1].isspace():
                word, _, rest = behind.strip().partition(" ")
                if word.lower() == "where" and rest.strip():
                    return Condition(column, sql=rest.strip())
        path = self.base / self.text
        if len(self.text) < 1024 and "\n" not in self.text and path.is_file():
            return CellFile(path)
        raise ParameterError(
            "Private cells are given as a text that begins with no column and names no file.",
            hint="write COLUMN, 'COLUMN where SQL' or a path; the columns are "
            f"{', '.join(columns)}.",
        )


@dataclass(frozen=True, repr=False)
class CellFile:
    """A file with a table of booleans, or with the columns `key` and `column`."""

    path: Path


Part = CellMask | CellList | Condition | CellText | CellFile


@dataclass(frozen=True, repr=False)
class PrivateCells:
    """Private cells in all the forms in which they were given; all cells of all parts are private.

    Examples
    --------
    >>> PrivateCells.of([(7, "disease"), (9, "age")])
    PrivateCells(1 part)
    >>> PrivateCells.of(["disease", {"column": "age", "sql": "age > 60"}])
    PrivateCells(2 parts)
    """

    parts: tuple[Part, ...] = ()

    @classmethod
    def of(cls, given: object, base: Path = Path()) -> PrivateCells:
        """Read private cells in any form.

        That is a table of booleans (an array of the table's shape, or a frame or mapping of some
        columns by name), a list of (row key, column), a column, a text such as ``"disease where age
        > 60"``, a mapping with `column` and `sql`, or `python` for a function, a path, or a list of
        any of these. Relative paths start from `base` (default: the current folder). Raises a
        ParameterError for anything else.
        """
        if given is None:
            return cls()
        if isinstance(given, PrivateCells):
            return given
        try:
            return cls(tuple(_parts(given, base)))
        except RecursionError:
            raise ParameterError("The list of private cells contains itself.") from None

    def __or__(self, other: PrivateCells) -> PrivateCells:
        """Return the cells that are in either."""
        return PrivateCells(self.parts + other.parts)

    def __bool__(self) -> bool:
        """Return whether anything was given; it may still name no cell."""
        return bool(self.parts)

    def __repr__(self) -> str:
        return f"PrivateCells({len(self.parts)} part{'s' * (len(self.parts) != 1)})"


def _parts(given: object, base: Path) -> list[Part]:
    if isinstance(given, CellMask | CellList | Condition | CellText | CellFile):
        return [given]
    if isinstance(given, str | Path):
        return [CellText(given, base) if isinstance(given, str) else CellFile(base / given)]
    if isinstance(given, Mapping):
        return [_of_mapping(given, base)]
    if isinstance(given, np.ndarray) or hasattr(given, "columns") or hasattr(given, "column_names"):
        return [_mask(given)]
    if not isinstance(given, Iterable):
        raise ParameterError(
            f"Private cells cannot be given as a {type(given).__name__}.", hint=_HINT
        )
    entries = list(given)
    if entries and all(_is_row_of_marks(entry) for entry in entries):
        if len({len(entry) for entry in entries}) > 1:
            raise _no_mask()
        return [_mask(np.array(entries))]
    pairs = [entry for entry in entries if _is_pair(entry)]
    others = [entry for entry in entries if not _is_pair(entry)]
    parts: list[Part] = []
    if pairs:
        keys, columns = zip(*pairs, strict=True)
        parts.append(CellList(tuple(map(_plain, keys)), tuple(map(_plain, columns))))
    for entry in others:
        parts += _parts(entry, base)
    return parts


def _is_row_of_marks(entry: object) -> bool:
    return isinstance(entry, list | tuple | np.ndarray) and all(
        isinstance(mark, bool | np.bool_) for mark in entry
    )


def _is_pair(entry: object) -> bool:
    return (
        isinstance(entry, list | tuple)
        and len(entry) == 2
        and all(isinstance(part, str | int | np.integer) for part in entry)
    )


def _plain(part: Any) -> str | int:
    return part if isinstance(part, str) else int(part)


def _of_mapping(given: Mapping[Any, Any], base: Path) -> Part:
    if "column" in given and isinstance(given["column"], str):
        stray = [str(key) for key in given if key not in ("column", "sql", "python")]
        if stray or ("sql" in given and "python" in given):
            raise ParameterError(
                "A condition has a column and one filter, in SQL or in Python"
                + (f"; it has no {stray[0]!r}." if stray else "; this one has both."),
                hint=_HINT,
            )
        sql, python = given.get("sql"), given.get("python")
        if not isinstance(sql, str | None) or not (python is None or callable(python)):
            raise ParameterError(
                "A filter of private cells is a condition in SQL, or in Python a function.",
                hint=_HINT,
            )
        return Condition(given["column"], sql, python)
    if set(given) == {"file"}:
        return CellFile(base / str(given["file"]))
    if any(isinstance(entry, str) for entry in given.values()):
        raise ParameterError(
            "A condition on private cells is given by column, and sql or python; this one has "
            f"{', '.join(map(str, given))}.",
            hint=_HINT,
        )
    return _mask(given)


def _mask(given: Any) -> CellMask:
    """Read a table of booleans: an array, or columns by name."""
    columns: tuple[str, ...] | None = None
    if isinstance(given, np.ndarray):
        marks = given
    else:
        names = given if isinstance(given, Mapping) else getattr(given, "columns", None)
        if hasattr(given, "column_names"):
            names = given.column_names
        columns = tuple(names if names is not None else ())
        taken = [np.asarray(given[column]) for column in columns]
        if len({len(marks) for marks in taken}) > 1:
            raise _no_mask()
        marks = np.column_stack(taken) if taken else np.empty((0, 0), dtype=bool)
    if marks.dtype == object:
        if not all(isinstance(mark, bool | np.bool_) for mark in marks.ravel().tolist()):
            raise _no_mask()
        marks = marks.astype(bool)
    if marks.ndim != 2 or marks.dtype != bool:
        raise _no_mask()
    if columns is not None and not all(isinstance(column, str) for column in columns):
        columns = None
    return CellMask(marks, columns)


def _no_mask() -> ParameterError:
    return ParameterError(
        "A table that marks private cells holds true or false for every cell, and nothing else.",
        hint=_HINT,
    )


@dataclass(frozen=True, eq=False, repr=False)
class HiddenCells:
    """Suppressed cells, one entry each."""

    FILE: ClassVar[str] = "private.parquet"
    """The internal file that keeps them."""

    # The key of the row.
    key: Texts
    column: Texts
    # Whether a person wanted it hidden; otherwise it is blanked to protect such cells.
    is_private: Flags
    # The text that would be published otherwise; None if it is missing.
    value: Texts

    @classmethod
    def of_rows(
        cls,
        keys: Texts,
        columns: Sequence[str],
        texts: Sequence[Texts],
        codes: Small,
        is_private: Flags,
        is_blanked: Flags,
    ) -> HiddenCells:
        """Collect the marked cells, column by column.

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
        """Return the columns of the internal file."""
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
