"""Find the private cells of a table, named by position, by key or by a condition.

Conditions read the source once more, so that they may use columns that are never published, such as
whether a person objected.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.core.arrays import Flags, Texts
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, ParameterError, suggestion
from shoal.core.private_cells import (
    CellFile,
    CellList,
    CellMask,
    CellText,
    Condition,
    PrivateCells,
)
from shoal.core.row_filter import RowFilter, rows_of_function
from shoal.engines.sql.domains import infer_type, plain_type, text_array, texts_of

if TYPE_CHECKING:
    from shoal.core.table import Rows
    from shoal.engines.sql.table import EngineTable

_KEY, _COLUMN = "key", "column"
_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def mark_cells(table: EngineTable, cells: PrivateCells, rows: Rows) -> Flags:
    """Return which cells of all rows of the table are private.

    A column, key or position that the table does not have is refused, and so is an entry that names
    no cell at all.
    """
    marks = np.zeros(rows.codes.shape, dtype=bool)
    for number, part in enumerate(cells.parts, start=1):
        read = part.among(tuple(table.scan.types)) if isinstance(part, CellText) else part
        marker = _Marker(table, rows, np.zeros_like(marks))
        marker.mark(read)
        if not marker.marks.any():
            # The steward meant some cells; a typing error must not publish them.
            raise ParameterError(
                f"Entry {number} of {len(cells.parts)} of the private cells "
                f"({_described(read)}) names no cell that is published.",
                hint="correct it, or remove it.",
            )
        marks |= marker.marks
    return marks


def _described(part: CellMask | CellList | Condition | CellFile) -> str:
    if isinstance(part, Condition):
        how = "SQL" if part.sql is not None else "Python" if part.python is not None else "whole"
        return f"column {part.column!r}, {how}"
    if isinstance(part, CellFile):
        return part.path.name
    return "a list of cells" if isinstance(part, CellList) else "a table of booleans"


class _Marker:
    """Marks the private cells of one table, entry by entry."""

    def __init__(self, table: EngineTable, rows: Rows, marks: Flags) -> None:
        self.table, self.rows, self.marks = table, rows, marks
        assert rows.keys is not None
        self.keys: Texts = rows.keys
        self.place = {column: place for place, column in enumerate(rows.columns)}

    def mark(self, part: CellMask | CellList | Condition | CellFile) -> None:
        if isinstance(part, CellFile):
            part = _read_file(self.table, part)
        if isinstance(part, CellMask):
            self._mark_positions(part)
        elif isinstance(part, CellList):
            self._mark_keys(part)
        else:
            self._mark_condition(part)

    def _place_of(self, column: str | int) -> int | None:
        """Return the place of a column; None if it is never published, so hidden anyway."""
        known = tuple(self.table.scan.types)
        if isinstance(column, int) and 0 <= column < len(known):
            column = known[column]
        if column in self.place:
            return self.place[str(column)]
        if column in self.table.schema.identifying:
            return None
        if column in self.table.schema.insensitive:
            raise ParameterError(
                f"Column {column!r} is insensitive and has private cells.",
                hint="give it the role quasi, so that its cells can be blanked.",
            )
        raise ParameterError(
            f"Private cells are named in {str(column)!r}, which is not a column of the table.",
            hint=suggestion(str(column), known, "its columns are"),
        )

    def _mark_positions(self, mask: CellMask) -> None:
        columns = tuple(self.table.scan.types) if mask.columns is None else mask.columns
        expected = (self.table.n_rows, len(columns))
        if mask.marks.shape != expected:
            raise ParameterError(
                f"The table that marks private cells has {mask.marks.shape[0]} rows and "
                f"{mask.marks.shape[1]} columns; {expected[0]} and {expected[1]} are needed.",
                hint="give one row per row and one column per column of the source, in its order; "
                "or name the columns.",
            )
        order = np.argsort(self._positions(), kind="stable")
        for column, marks in zip(columns, mask.marks.T, strict=True):
            place = self._place_of(column) if marks.any() else None
            if place is not None:
                self.marks[order[marks], place] = True

    def _positions(self) -> Any:
        """Return the position of each row in the source, in the order of `rows`."""
        table = self.table
        if table.scan.line is None:
            raise ParameterError(
                "Private cells are given by position, but rows of a database have no position.",
                hint="name a key column and list (key, column), or give a condition.",
            )
        if table.schema.key is None:
            return self.keys.astype(np.int64)
        line = f"{table.scan.line} AS line"
        # A source that has changed since would lack keys.
        with table.scan.unchanged():
            fetched = table.engine.rows(
                f"SELECT row_key, line FROM (SELECT {table.key_expression} AS row_key, {line} "
                f"FROM {table.scan.relation}) f"
            )
        by_key = dict(zip(texts_of(fetched["row_key"]), fetched["line"].tolist(), strict=True))
        return np.array([by_key[key] for key in self.keys.tolist()], dtype=np.int64)

    def _mark_keys(self, cells: CellList) -> None:
        if self.table.schema.key is None and self.table.scan.line is None:
            raise ParameterError(
                "Private cells are given by the key of their row, but the table has no key column.",
                hint="name it: key=...",
            )
        row_of = {key: row for row, key in enumerate(self.keys.tolist())}
        found = [row_of.get(str(key)) for key in cells.keys]
        n_stray = sum(row is None for row in found)
        if n_stray:
            raise ParameterError(
                f"{n_stray} of {len(found)} private cells are in rows that the table does not "
                "have.",
                hint="name a row by its value in the key column."
                if self.table.schema.key
                else "without a key column, name a row by its line, counted from 1.",
            )
        places = {column: self._place_of(column) for column in dict.fromkeys(cells.columns)}
        for row, column in zip(found, cells.columns, strict=True):
            place = places[column]
            if place is not None:
                self.marks[row, place] = True

    def _mark_condition(self, condition: Condition) -> None:
        place = self._place_of(condition.column)
        if place is None:
            return
        if condition.sql is not None:
            chosen = self._chosen_by_sql(condition.column, condition.sql)
        elif condition.python is not None:
            chosen = rows_of_function(condition.python, self._values(tuple(self.table.scan.types)))
        else:
            chosen = np.ones(self.rows.n_rows, dtype=bool)
        self.marks[chosen, place] = True

    def _chosen_by_sql(self, column: str, text: str) -> Flags:
        try:
            read = RowFilter.read(text)
            return read.rows(self._values(read.columns))
        except ParameterError as error:
            raise ParameterError(
                f"The condition on the private cells of column {column!r}: {error.fact}",
                hint=error.hint,
            ) from None

    def _values(self, columns: Sequence[str]) -> dict[str, list[object]]:
        """Return the values of columns of the source, row by row, as Python values."""
        values: dict[str, list[object]] = {}
        others = []
        for column in columns:
            if column in self.place:
                domain = self.table.domains[column]
                read = [_value(text, domain.type) for text in domain.labels()]
                place = self.place[column]
                values[column] = [read[code] for code in self.rows.codes[:, place].tolist()]
            elif column in self.table.scan.types:
                others.append(column)
            else:
                raise ParameterError(
                    f"A condition names {column!r}, which is not a column of the table.",
                    hint=suggestion(column, self.table.scan.types, "its columns are"),
                )
        return values | (self._unpublished(others) if others else {})

    def _unpublished(self, columns: Sequence[str]) -> dict[str, list[object]]:
        """Return the values of columns that are not coded."""
        table = self.table
        quote, types = table.engine.quote, table.scan.types
        listed = ", ".join(
            f"{table.engine.text(quote(column), types[column])} AS v{place}"
            for place, column in enumerate(columns)
        )
        with table.scan.unchanged():
            fetched = table.engine.rows(
                f"SELECT row_key, {', '.join(f'v{place}' for place in range(len(columns)))} FROM "
                f"(SELECT {table.key_expression} AS row_key, {listed} FROM {table.scan.relation}) f"
            )
        row_of = {key: row for row, key in enumerate(texts_of(fetched["row_key"]))}
        order = [row_of[key] for key in self._source_keys()]
        values: dict[str, list[object]] = {}
        for place, column in enumerate(columns):
            texts = texts_of(fetched[f"v{place}"])
            present = text_array(text for text in texts if text is not None)
            kind = infer_type(present) if table.scan.is_text else plain_type(types[column])
            values[column] = [_value(texts[row], kind) for row in order]
        return values

    def _source_keys(self) -> list[str]:
        keys = [str(key) for key in self.keys.tolist()]
        if self.table.schema.key is None and self.table.scan.line is None:
            return [key.partition(":")[0] for key in keys]
        return keys


_READERS: Mapping[ColumnType, Callable[[str], object]] = {
    ColumnType.INTEGER: int,
    ColumnType.REAL: float,
    ColumnType.DATE: dt.date.fromisoformat,
    ColumnType.BOOLEAN: "true".__eq__,
}


def _value(text: str | None, kind: ColumnType | None) -> object:
    """Return the value that a canonical text stands for; itself if it is of no known type."""
    if text is None or kind is None or kind not in _READERS:
        return text
    try:
        return _READERS[kind](text)
    except ValueError:
        # A date with a time of day, or a number that Python does not read.
        return text


def _read_file(table: EngineTable, file: CellFile) -> CellMask | CellList:
    """Read a file: a list if it has the columns `key` and `column`, otherwise a mask."""
    engine = table.engine.publisher
    scan = engine.scan(file.path)
    quote, names = engine.quote, tuple(scan.types)
    key = next((name for name in (_KEY, table.schema.key) if name in names), None)
    listed = ", ".join(
        f"{engine.text(quote(name), scan.types[name])} AS v{place}"
        for place, name in enumerate(names)
    )
    with scan.unchanged():
        # Positions count, so the lines must be in order.
        line = f"ORDER BY {scan.line}" if scan.line is not None else ""
        fetched = engine.rows(f"SELECT {listed} FROM {scan.relation} {line}")
    texts = [texts_of(fetched[f"v{place}"]) for place in range(len(names))]
    if key is not None and set(names) == {key, _COLUMN}:
        keys, columns = texts[names.index(key)], texts[names.index(_COLUMN)]
        if None in keys or None in columns:
            raise DataError(f"{file.path.name} lists cells without a key or without a column.")
        return CellList(tuple(map(str, keys)), tuple(map(str, columns)))
    try:
        marks = [[_TRUTH[str(text).lower()] for text in column] for column in texts]
    except KeyError:
        raise DataError(
            f"{file.path.name} does not say which cells are private.",
            hint="give it the columns key and column, with one line per cell, or the columns of "
            "the table, with true or false in every row.",
        ) from None
    return CellMask(np.array(marks, dtype=bool).T, names)
