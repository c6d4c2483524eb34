"""The data files of a release that is still in the engine that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Texts
from shoal.core.cells import smallest_type
from shoal.core.domain import ColumnType, NumberedDomain, Role
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.plan import Plan, Segments
from shoal.core.release import Published
from shoal.core.shapes import BUCKET, DataFile, Shape
from shoal.engines.sql.columns import carried_type
from shoal.engines.sql.domains import SQL_TYPES, text_array, texts_of
from shoal.engines.sql.layout import (
    counts_table,
    files_of,
    placement_query,
    published_queries,
    tuple_query,
)
from shoal.engines.sql.line_counts import (
    CodedColumn,
    LineCounts,
    count_runs,
    recoded,
)
from shoal.engines.sql.published_files import PublishedFiles
from shoal.engines.sql.sorting import shown_texts
from shoal.engines.sql.table import EngineTable


def without_places(plan: Plan) -> Plan:
    """Return a plan without its segments, of which there may be as many as rows.

    Once the plan is applied, the engine holds the places of rows.
    """
    nothing = np.empty(0, dtype=np.int64)
    return replace(plan, assign=Segments(*[nothing] * 6))


class StagedFiles(PublishedFiles):
    """The data files of a release before they are written.

    What they will show is counted by code, without producing the texts. `release` is the number
    that `apply_plan` returned.
    """

    def __init__(self, table: EngineTable, plan: Plan, shape: Shape, release: int) -> None:
        super().__init__(table.engine.publisher, {})
        self._table, self._plan, self._release = table, plan, release
        self._shape = shape
        self._files = files_of(table, plan, shape)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the data files."""
        return tuple(file.name for file in self._files)

    @property
    def queries(self) -> Mapping[str, str]:
        """The query of the lines of every data file, in order; the rows are laid out by now."""
        self._queries = self._queries or published_queries(
            self._table, self._plan, self._shape, self._release
        )
        return self._queries

    @property
    def _lines(self) -> str:
        """The name of the staged rows."""
        return self._table.published_name(self._release)

    def written_query(self, name: str, manifest: Manifest, ending: str) -> str:
        """Return the query of a file as written in a format; texts in CSV are canonical."""
        quote, types = self.engine.quote, self._table.scan.types
        reals = [c for c in self._table.schema.insensitive if types[c] in ("DOUBLE", "FLOAT")]
        columns = self.columns(name) if reals and ending == "csv" else ()
        if not set(columns) & set(reals):
            return super().written_query(name, manifest, ending)
        texts = {column: self.engine.text(quote(column), types[column]) for column in reals}
        return self._select(self.queries[name], columns, texts)

    def parquet_texts(self, column: PublishedColumn, texts: Sequence[str]) -> list[str]:
        """Return values of a column as a reader of a Parquet file sees them.

        There a number is no text: 1.50 is read as 1.5.
        """
        read = self._parquet_text(column, "v")
        if read is None:
            return list(texts)
        self.engine.push("asked", {"place": np.arange(len(texts)), "v": text_array(texts)})
        fetched = self.engine.rows(f"SELECT {read} AS t FROM asked ORDER BY place")
        self.engine.drop("asked")
        return [str(text) for text in fetched["t"]]

    def written_tuples(self, manifest: Manifest, ending: str) -> str:
        """Return the query of the kinds of people, with the texts that a format shows."""
        if ending != "parquet":
            return self.tuple_query
        quote = self.engine.quote
        shown = {c.name: self._parquet_text(c, quote(c.name)) for c in manifest.columns}
        columns = list(self.engine.rows(f"SELECT * FROM ({self.tuple_query}) f LIMIT 0"))
        changed = {name: text for name, text in shown.items() if text and name in columns}
        return self._select(self.tuple_query, columns, changed) if changed else self.tuple_query

    def _parquet_text(self, column: PublishedColumn, name: str) -> str | None:
        """Return the text of a number in a Parquet file; None if the column stays as it is."""
        kind = SQL_TYPES.get(column.type)
        if kind is None or column.is_recoded or not self._has_type(column):
            return None
        return self.engine.text(self.engine.cast(name, kind), kind)

    def carried_type(self, column: str) -> ColumnType:
        """Return the type of the values that an undeclared insensitive column shows."""
        table = self._table
        name = table.shown_name(column)
        return carried_type(self.engine, table.scan, column, name, self._lines)

    def shown_codes(self, column: str) -> Codes:
        """Return the codes that occur in a column that is published as it is."""
        name = self._table.shown_name(column)
        counted = (one for one in self._files if one.has_count and column in one.columns)
        file = next(counted, None)
        waiting = self._table.waiting_lines(self._release)
        if waiting is not None:
            return np.unique(waiting[name]).astype(np.int64)
        lines = self._lines if file is None else self._counts_of(file)
        found = self.engine.rows(f"SELECT DISTINCT {name} AS code FROM {lines} ORDER BY {name}")
        return found["code"].astype(np.int64)

    def _has_type(self, column: PublishedColumn) -> bool:
        # A CSV file holds texts; other sources have types of their own.
        if column.role is not Role.INSENSITIVE:
            return True
        return self._table.scan.is_text and self._is_written_plainly(column)

    def _is_written_plainly(self, column: PublishedColumn) -> bool:
        """Return whether the values of an insensitive column have the texts of the source.

        Otherwise they stay texts, because lines are sorted by those. A whole real number may be
        written without a point, as long as no two texts become equal.
        """
        name = self._table.shown_name(column.name)
        kind = SQL_TYPES[column.type]
        value = self.engine.cast(name, kind)
        text = self.engine.text(value, kind)
        found = self.engine.rows(
            f"SELECT count(CASE WHEN {text} NOT IN ({name}, concat({name}, '.0')) THEN 1 END) "
            f"AS n, count(DISTINCT {name}) - count(DISTINCT {value}) AS n_alike "
            f"FROM {self._lines}"
        )
        return not int(found["n"][0]) and not int(found["n_alike"][0])

    @property
    def placement_query(self) -> str:
        """The query of the line of every row, in the order of lines.

        In a sliced release rows have no line, but their people are of a kind; see `tuple_query`.
        """
        if not self._shape.has_lines:
            return placement_query(self._table, self._release)
        return f"SELECT row_key, bucket, line FROM {self._lines}"

    @property
    def tuple_query(self) -> str:
        """The query of the kinds of people in a sliced release, in the order of their numbers."""
        return tuple_query(self._table, self._plan, self._release)

    def shown_of_keys(self, keys: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """Return the published bucket and quasi-identifiers of rows, by their keys."""
        schema = self._table.schema
        names = {column: self._table.shown_name(column) for column in schema.quasi}
        self.engine.push("asked", {"row_key": text_array(keys)})
        fetched = self.engine.rows(
            f"SELECT p.row_key, p.bucket, {', '.join(f'p.{name}' for name in names.values())} "
            f"FROM {self._lines} p JOIN asked a USING (row_key)"
        )
        self.engine.drop("asked")
        texts = {column: shown_texts(self._table, self._plan, column) for column in schema.quasi}
        return {
            str(key): {BUCKET: str(fetched["bucket"][place])}
            | {column: texts[column][fetched[name][place]] for column, name in names.items()}
            for place, key in enumerate(fetched["row_key"])
        }

    def rows_in(self, published: Published, place: Codes) -> dict[str, npt.NDArray[Any]]:
        """Return the row key, the line and the place of every row in some buckets.

        `place` says for each bucket of the release which place its rows are given; those of -1 are
        left out. A bucket without a number consists of the rows that show the same labels.
        """
        lines, chosen = published.lines, np.flatnonzero(place >= 0)
        asked: dict[str, npt.NDArray[Any]] = {"place": place[chosen]}
        rows = self._lines
        if self._shape.numbers_buckets:
            numbers = lines.domains[0]
            assert isinstance(numbers, NumberedDomain)
            self.engine.push("asked", {**asked, "bucket": numbers.whole[chosen]})
            return self._rows_asked(f"{rows} p JOIN asked a USING (bucket)")
        joins, same = [], []
        for number, domain in enumerate(lines.domains[1:]):
            texts = shown_texts(self._table, self._plan, domain.column)
            shown = self._table.shown_name(domain.column)
            code = domain.codes_of(texts)
            self.engine.push(f"label_{number}", {"shown": np.arange(len(texts)), "code": code})
            # The code of a blank is -1, and its text the last.
            own = f"CASE WHEN p.{shown} < 0 THEN {len(texts) - 1} ELSE p.{shown} END"
            joins.append(f"JOIN label_{number} l{number} ON l{number}.shown = {own}")
            same.append(f"a.q{number} = l{number}.code")
            asked[f"q{number}"] = lines.codes[chosen, number + 1]
        self.engine.push("asked", asked)
        matched = " AND ".join(same) or "TRUE"
        found = self._rows_asked(f"{rows} p {' '.join(joins)} JOIN asked a ON {matched}")
        for number in range(len(joins)):
            self.engine.drop(f"label_{number}")
        return found

    def _rows_asked(self, relation: str) -> dict[str, npt.NDArray[Any]]:
        found = self.engine.rows(
            f"SELECT p.row_key, p.line, a.place FROM {relation} ORDER BY p.row_key"
        )
        self.engine.drop("asked")
        return found

    def shown_of_everybody(self) -> tuple[Texts, dict[str, tuple[Codes, list[str | None]]]]:
        """Return the keys of all rows, and the columns that identify the bucket of each.

        These are the bucket number or the quasi-identifiers: by column, the code of every row and
        the texts of the codes.
        """
        table, plan = self._table, self._plan
        has_numbers = self._shape.numbers_buckets
        named = {column: table.shown_name(column) for column in table.schema.quasi}
        names = ["bucket"] if has_numbers else list(named.values())
        fetched = self.engine.rows(f"SELECT row_key, {', '.join(names)} FROM {self._lines}")
        keys = text_array(texts_of(fetched["row_key"]))
        if not has_numbers:
            shown = {
                column: (fetched[name].astype(np.int64), shown_texts(table, plan, column))
                for column, name in named.items()
            }
            return keys, shown
        used, code = np.unique(fetched["bucket"].astype(np.int64), return_inverse=True)
        return keys, {BUCKET: (code, [str(number) for number in used.tolist()])}

    def _count_alike(self, manifest: Manifest, columns: Sequence[str]) -> Counts:  # noqa: ARG002
        """Count for every line, in order, the lines that agree with it in some columns."""
        names = [self._table.shown_name(column) for column in columns]
        return self._alike_in(self._lines, names)

    @property
    def keys_of_lines(self) -> Texts:
        """The key of the row in each line."""
        query = f"SELECT row_key FROM {self._lines} ORDER BY line"
        return text_array(texts_of(self.engine.rows(query)["row_key"]))

    def lines(self, manifest: Manifest, file: DataFile) -> list[CodedColumn]:  # noqa: ARG002
        """Return the coded columns, line by line."""
        coded = self._table.schema.coded
        names = [f"p{place}" for place in range(len(coded))]
        fetched = self.engine.arrays(
            f"SELECT {', '.join(names)} FROM {self._lines} ORDER BY line",
            dict.fromkeys(names, np.int32),
        )
        return [
            self._shown_as(manifest, column, fetched[name])
            for column, name in zip(coded, names, strict=True)
        ]

    def _shown_as(self, manifest: Manifest, column: str, codes: Codes) -> CodedColumn:
        texts = shown_texts(self._table, self._plan, column)
        # The code of a blank is -1, and its text the last.
        codes[codes < 0] = len(texts) - 1
        return recoded(manifest, column, codes, texts)

    def confirm(self, manifest: Manifest) -> None:
        """Do nothing: the tables were just laid out by Shoal."""

    def check_linking(self, linking: DataFile, files: Sequence[DataFile]) -> None:
        """Do nothing: the linking was just drawn by Shoal."""

    def count(self, manifest: Manifest, file: DataFile) -> LineCounts:
        """Count the distinct lines that a file will have, by code."""
        columns = [column for column in file.columns if column in self._table.schema.coded]
        names = [self._table.shown_name(column) for column in columns]
        listed = ", ".join([*["bucket"] * file.has_bucket, *names])
        kinds: dict[str, npt.DTypeLike] = {**dict.fromkeys(names, np.int32), "n": np.int64}
        if file.has_bucket:
            kinds["bucket"] = smallest_type(self._plan.n_buckets + 1)
        if (waiting := self._table.waiting_lines(self._release)) is not None:
            coded = [
                self._shown_as(manifest, column, waiting[name])
                for column, name in zip(columns, names, strict=True)
            ]
            return LineCounts(None, coded, waiting["n"])
        lines = self._lines
        if file.has_bucket and not file.has_count:
            # Lines are sorted by their content, so equal lines are adjacent.
            del kinds["n"]
            fetched = count_runs(self.engine.columns(lines, kinds))
        else:
            counted = f"count(*) AS n FROM {lines} GROUP BY {listed}"
            if file.has_count:
                counted = f"n FROM {self._counts_of(file)}"
            fetched = self.engine.arrays(f"SELECT {listed}, {counted} ORDER BY {listed}", kinds)
        coded = [
            self._shown_as(manifest, column, fetched.pop(name))
            for column, name in zip(columns, names, strict=True)
        ]
        return LineCounts(fetched.get("bucket"), coded, fetched["n"])

    def _counts_of(self, file: DataFile) -> str:
        return counts_table(self._release, self._files.index(file))
