"""Count the lines of a release, from queries that return the lines of its files.

Texts are coded inside the engine, so that only numbers are fetched, one entry per distinct line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import smallest_type
from shoal.core.domain import ColumnType, Domain, Role
from shoal.core.errors import DataError
from shoal.core.manifest import FORMATS, Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.release import Company, Published
from shoal.core.shapes import BUCKET, COUNT, DataFile
from shoal.core.table import MOST_ROWS
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.domains import (
    SQL_TYPES,
    build_domain,
    text_array,
    texts_of,
    type_of_engine,
)
from shoal.engines.sql.kept_lines import LineKeeper, type_of_codes
from shoal.engines.sql.line_counts import (
    CHANGED,
    COUNTERS,
    CodedColumn,
    LineCounts,
    count_runs,
    domain_of,
    room_for,
)

_PLAIN_NUMBER = "[1-9][0-9]{0,17}"
"""A positive whole number of at most 64 bits in its only spelling."""


_STABLE_TYPES = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG)?INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\([0-9,]+\)|DATE|TIME|"
    r"TIMESTAMP(_NS)?|TIMESTAMP WITH TIME ZONE|BLOB|JSON"
)
"""Types that DuckDB reads from a Parquet file as it wrote them."""


class PublishedFiles:
    """The data files of a release, readable by DuckDB.

    `queries` has, for every data file (without its extension), the query of its lines in order. If
    `is_on_disk`, lines are numbered in the order of the file.
    """

    def __init__(
        self, engine: DuckDB, queries: Mapping[str, str], *, is_on_disk: bool = False
    ) -> None:
        self.engine = engine
        self._queries = dict(queries)
        self._is_on_disk = is_on_disk
        self._first_lines: Codes | None = None
        self._types_of_query: dict[str, Mapping[str, str]] = {}
        self.keeper = LineKeeper(engine)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the data files."""
        return tuple(self._queries)

    @property
    def queries(self) -> Mapping[str, str]:
        """The query of the lines of every data file, in order."""
        return self._queries

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the names of the columns of a file."""
        return tuple(self._types(name))

    def _types(self, name: str) -> Mapping[str, str]:
        """Return the engine's types of the columns of a file, which are asked for once."""
        query = self.queries[name]
        if query not in self._types_of_query:
            self._types_of_query[query] = self.engine.types_of(query)
        return self._types_of_query[query]

    def typed_query(self, name: str, manifest: Manifest) -> str:
        """Return the query of a file with typed numbers, dates and booleans instead of texts."""
        file = manifest.data_file(name)
        own = [*[BUCKET] * file.has_bucket, *[COUNT] * file.has_count]
        kinds = dict.fromkeys(own, "BIGINT")
        for column in manifest.columns:
            kind = SQL_TYPES.get(column.type)
            if kind and not column.is_recoded and self._has_type(column):
                kinds[column.name] = kind
        return self._cast_query(self.queries[name], self.columns(name), kinds)

    def _cast_query(self, query: str, columns: Sequence[str], kinds: Mapping[str, str]) -> str:
        quote, cast = self.engine.quote, self.engine.cast
        casts = {column: cast(quote(column), kind) for column, kind in kinds.items()}
        return self._select(query, columns, casts)

    def _select(self, query: str, columns: Sequence[str], expressions: Mapping[str, str]) -> str:
        """Return the query of all columns, with expressions in the place of some."""
        quote = self.engine.quote
        selected = ", ".join(
            f"{expressions[column]} AS {quote(column)}" if column in expressions else quote(column)
            for column in columns
        )
        return f"SELECT {selected} FROM ({query}) f"

    def _has_type(self, column: PublishedColumn) -> bool:
        """Return whether a column can be cast to its type.

        Insensitive columns have the type of the source, whatever that is.
        """
        return column.role is not Role.INSENSITIVE

    def written_query(self, name: str, manifest: Manifest, ending: str) -> str:
        """Return the query of a file as written in a format.

        In Parquet, a type that would be read as another type becomes text.
        """
        if ending != "parquet":
            return self.queries[name]
        query = self.typed_query(name, manifest)
        types = self.engine.types_of(query)
        kinds = {name: parquet_type(kind) for name, kind in types.items()}
        kinds = {name: kind for name, kind in kinds.items() if kind != types[name]}
        return self._cast_query(query, self.columns(name), kinds) if kinds else query

    def published(
        self, manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
    ) -> Published:
        """Count lines and buckets as any reader of the files can."""
        self.confirm(manifest)
        self.engine.make_room(room_for(manifest))
        published, self._first_lines = COUNTERS[manifest.shape.model](self, manifest, meanings)
        return published

    def confirm(self, manifest: Manifest) -> None:
        """Refuse files that do not have the columns that the manifest states."""
        self._check_columns(manifest)
        _check_sensitive(manifest)

    def cell_of_lines(self, published: Published) -> Codes:
        """Return for every line of the file, in order, the cell of `published.lines` it shows.

        A file in which equal lines are not adjacent, as in every release, is refused.
        """
        first, counts = self._first_lines, published.lines.counts
        assert first is not None
        order = np.arange(len(first), dtype=smallest_type(len(first)))
        if not np.all(first[1:] > first[:-1]):
            order = np.argsort(first).astype(order.dtype)
            first, counts = first[order], counts[order]
        if not np.array_equal(first[1:], np.cumsum(counts[:-1]) + 1):
            raise DataError("The lines are not sorted by their content.", hint=CHANGED)
        return cast("Codes", np.repeat(order, counts))

    def company(self, manifest: Manifest) -> Company | None:
        """Count for every line, in order, the lines with the same insensitive values.

        None if the release does not show insensitive columns line by line.
        """
        confirmed = {column for columns in manifest.meant for column in columns}
        insensitive = manifest.columns_of(Role.INSENSITIVE)
        if not insensitive or not manifest.shape.has_lines:
            return None
        quasi = manifest.columns_of(Role.QUASI)
        known = [column for column in insensitive if column not in confirmed]
        whole = self._count_alike(manifest, (*quasi, *insensitive))
        if len(known) == len(insensitive):
            return Company(whole, whole)
        return Company(self._count_alike(manifest, (*quasi, *known)) if known else None, whole)

    def _count_alike(self, manifest: Manifest, columns: Sequence[str]) -> Counts:
        """Count for every line, in order, the lines that agree with it in some columns."""
        name = manifest.data_names[0]
        names = [f"v{place}" for place in range(len(columns))]
        selected = ", ".join(
            f"{self.engine.quote(column)} AS {short}"
            for column, short in zip(columns, names, strict=True)
        )
        lines = f"SELECT {selected}, row_number() OVER () AS line FROM ({self.queries[name]}) f"
        return self._alike_in(f"({lines}) f", names)

    def _alike_in(self, relation: str, names: Sequence[str]) -> Counts:
        counted = f"SELECT line, count(*) OVER (PARTITION BY {', '.join(names)}) AS n"
        query = f"SELECT n FROM ({counted} FROM {relation}) a ORDER BY line"
        return self.engine.arrays(query, {"n": np.int64})["n"]

    def check_linking(self, linking: DataFile, files: Sequence[DataFile]) -> None:
        """Refuse a linking that does not link the files beside it."""
        quote = self.engine.quote
        for file in files:
            # A column of people's could have the name of the count.
            shown = [(quote(name), f"v{i}") for i, name in enumerate((BUCKET, *file.columns))]
            listed = ", ".join(short for _, short in shown)
            renamed = ", ".join(f"{name} AS {short}" for name, short in shown)
            lines = f"SELECT {renamed} FROM ({self.queries[linking.name]}) f"
            linked = f"SELECT {listed}, count(*) AS n FROM ({lines}) l GROUP BY {listed}"
            # The counts are plain positive numbers of distinct values, or `count` refused them.
            negated = f"-{self.engine.cast(quote(COUNT), 'BIGINT')}"
            stated = f"SELECT {renamed}, {negated} AS n FROM ({self.queries[file.name]}) f"
            differing = (
                f"SELECT 1 FROM ({linked} UNION ALL {stated}) e "
                f"GROUP BY {listed} HAVING sum(n) <> 0"
            )
            found = self.engine.rows(f"SELECT count(*) AS n FROM ({differing}) d")
            if int(found["n"][0]):
                raise DataError(
                    f"{linking.name} does not link what {file.name} holds.", hint=CHANGED
                )

    def count(self, manifest: Manifest, file: DataFile) -> LineCounts:
        """Count the distinct lines of a file by its quasi-identifying and sensitive columns."""
        name, has_bucket, columns = file.name, file.has_bucket, _coded(manifest, file)
        carried = [column for column in file.columns if column not in columns]
        is_kept = self._is_kept(manifest, name, carried)
        has_first = self._is_on_disk and not (has_bucket and file.has_count)
        # Otherwise the lines of a file with buckets and counts are of no further use.
        has_line = has_first or is_kept
        numbers = [*[(BUCKET, "b")] * has_bucket, *[(COUNT, "w")] * file.has_count]
        may_be_texts = manifest.format != "parquet"
        staged = [*columns, *(carried if is_kept else ())]
        self._stage_texts(name, staged, numbers, has_line=has_line, may_be_texts=may_be_texts)
        domains, codes, joins = [], [], []
        for place, column in enumerate(staged):
            domain, missing = self._push_dictionary(place, manifest, column)
            domains.append(domain)
            code = f"coalesce(d{place}.code, {missing})"
            if is_kept:
                code = self.engine.cast(code, type_of_codes(missing))
            codes.append(f"{code} AS c{place}")
            joins.append(f" LEFT JOIN seen_{place} d{place} ON d{place}.v = t.v{place}")
        coded = ", ".join([*codes, *(f"t.{short}" for _, short in numbers)])
        coded += ", t.line" if has_line else ""
        lines = f"(SELECT {coded} FROM file_text t{''.join(joins)}) g"
        kept = self.keeper.keep(file, lines, domains) if is_kept else None
        lines = lines if kept is None else f"{kept} g"
        del domains[len(columns) :]
        names = (["b"] if has_bucket else []) + [f"c{place}" for place in range(len(columns))]
        listed = ", ".join(names)
        kinds: dict[str, npt.DTypeLike] = dict.fromkeys(names, np.int32)
        kinds |= {"b": self._type_of_buckets()} if has_bucket else {}
        if file.has_count:
            # Equal lines are one line, with their count.
            first = ", sum(w) OVER (ORDER BY line) - w + 1 AS first" if has_first else ""
            kinds |= {"n": np.int64} | ({"first": np.int64} if first else {})
            query = f"SELECT {listed}, w AS n{first} FROM {lines} ORDER BY {listed}"
            fetched = self.engine.arrays(query, kinds)
            _refuse_repeated(name, [fetched[short] for short in names])
        elif has_bucket and self._is_on_disk:
            # Nearly all lines are different, and equal lines are adjacent.
            ordered = f"SELECT {listed} FROM {lines} ORDER BY line"
            fetched = count_runs(
                self.engine.columns(kept, kinds) if kept else self.engine.arrays(ordered, kinds)
            )
        else:
            first = ", min(line) AS first" if self._is_on_disk else ""
            kinds |= {"n": np.int64} | ({"first": np.uint32} if first else {})
            fetched = self.engine.arrays(
                f"SELECT {listed}, count(*) AS n{first} FROM {lines} "
                f"GROUP BY {listed} ORDER BY {listed}",
                kinds,
            )
        self.engine.drop("file_text")
        return LineCounts(
            bucket=fetched["b"] if has_bucket else None,
            columns=[(domain, fetched.pop(f"c{place}")) for place, domain in enumerate(domains)],
            n=fetched["n"],
            first=fetched.get("first"),
        )

    def _is_kept(self, manifest: Manifest, name: str, carried: Sequence[str]) -> bool:
        """Return whether the lines of a file are kept, with its insensitive columns."""
        texts = [self.text_of(name, column) for column in carried]
        may_be = self._is_on_disk and manifest.format == "csv"
        return may_be and self.keeper.wants(self.queries[name], texts)

    def lines(self, manifest: Manifest, file: DataFile) -> list[CodedColumn]:
        """Return the quasi-identifying and sensitive columns of a file, line by line."""
        _refuse_many(manifest)
        columns = _coded(manifest, file)
        self._stage_texts(file.name, columns, (), has_line=True, may_be_texts=True)
        coded: list[CodedColumn] = []
        for place, column in enumerate(columns):
            domain, missing = self._push_dictionary(place, manifest, column)
            query = (
                f"SELECT coalesce(d.code, {missing}) AS c FROM file_text t "
                f"LEFT JOIN seen_{place} d ON d.v = t.v{place} ORDER BY t.line"
            )
            coded.append((domain, self.engine.arrays(query, {"c": np.int32})["c"]))
        self.engine.drop("file_text")
        return coded

    def _type_of_buckets(self) -> type[np.signedinteger[Any]]:
        found = self.engine.rows("SELECT coalesce(max(b), 0) AS n FROM file_text")
        return smallest_type(int(found["n"][0]) + 1)

    def _stage_texts(
        self,
        name: str,
        columns: Sequence[str],
        numbers: Sequence[tuple[str, str]],
        *,
        has_line: bool,
        may_be_texts: bool,
    ) -> None:
        """Stage columns of a file as texts, and `numbers` as positive whole numbers.

        A number that a cast would round, or that readers may read differently, is refused.
        """
        quote, cast = self.engine.quote, self.engine.cast
        selected = ["row_number() OVER () AS line"] if has_line else []
        for place, column in enumerate(columns):
            selected.append(f"{self.text_of(name, column)} AS v{place}")
        nothing = f"SELECT * FROM ({self.queries[name]}) f LIMIT 0"
        kinds = self.engine.rows(nothing) if numbers else {}
        plain = "iuO" if may_be_texts else "iu"
        is_plain = all(kinds[column].dtype.kind in plain for column, _ in numbers)
        for column, short in numbers:
            is_text = kinds[column].dtype.kind == "O"
            given = quote(column)
            test = f"regexp_full_match({given}, '{_PLAIN_NUMBER}')" if is_text else f"{given} > 0"
            selected.append(f"CASE WHEN {test} THEN {cast(given, 'BIGINT')} END AS {short}")
        self.engine.stage(
            "file_text", f"SELECT {', '.join(selected)} FROM ({self.queries[name]}) f"
        )
        for column, short in numbers:
            found = self.engine.rows(f"SELECT count(*) - count({short}) AS n FROM file_text")
            if not is_plain or int(found["n"][0]):
                raise DataError(
                    f"The column {column!r} of {name} contains values other than plain positive "
                    "whole numbers.",
                    hint=CHANGED,
                )

    def text_of(self, name: str, column: str, alias: str = "") -> str:
        """Return the canonical text of a column: different values have different texts."""
        quoted = self.engine.quote(column)
        kind = self._types(name)[column]
        type_of_engine(column, kind)
        return self.engine.text(f"{alias}{quoted}", kind)

    def _push_dictionary(self, place: int, manifest: Manifest, column: str) -> tuple[Domain, int]:
        """Push the codes of a column's texts; return its domain and the code of missing ones."""
        fetched = self.engine.rows(f"SELECT v{place} AS v FROM file_text GROUP BY v{place}")
        texts = texts_of(fetched["v"])
        if column in manifest.columns_of(Role.INSENSITIVE):
            domain, codes = build_domain(column, ColumnType.CATEGORICAL, texts)
        else:
            domain, codes = domain_of(manifest, column, texts)
        is_text = codes < len(domain.texts)
        pushed = {"code": codes[is_text].astype(np.int32), "v": text_array(texts)[is_text]}
        self.engine.push(f"seen_{place}", pushed)
        return domain, len(domain.texts)

    def _check_columns(self, manifest: Manifest) -> None:
        for name in self.queries:
            expected = manifest.data_file(name).header
            found = self.columns(name)
            if found != expected:
                stray = [column for column in found if column not in expected]
                raise DataError(
                    f"The file {name} does not have the columns that the manifest states"
                    + (f": it also has {', '.join(map(repr, stray))}." if stray else "."),
                    hint=CHANGED,
                )


def parquet_type(kind: str) -> str:
    """Return the type of a column in a Parquet file, by its type in DuckDB.

    Examples
    --------
    >>> parquet_type("BIGINT"), parquet_type("TIMESTAMP_MS"), parquet_type("INTEGER[]")
    ('BIGINT', 'TIMESTAMP', 'VARCHAR')
    """
    if kind in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return "TIMESTAMP"
    return kind if _STABLE_TYPES.fullmatch(kind) else "VARCHAR"


def _refuse_repeated(name: str, columns: Sequence[Codes]) -> None:
    """Refuse sorted lines of which two are equal."""
    if np.logical_and.reduce([column[1:] == column[:-1] for column in columns]).any():
        raise DataError(f"{name} has several lines for one value of one bucket.", hint=CHANGED)


def _coded(manifest: Manifest, file: DataFile) -> list[str]:
    """Return the quasi-identifying and sensitive columns of a file."""
    insensitive = manifest.columns_of(Role.INSENSITIVE)
    return [column for column in file.columns if column not in insensitive]


def _refuse_many(manifest: Manifest) -> None:
    if manifest.n_rows > MOST_ROWS:
        raise DataError(
            f"The release has {manifest.n_rows} rows; a suppressed release is read line by line, "
            f"with at most {MOST_ROWS}."
        )


def _check_sensitive(manifest: Manifest) -> None:
    sensitive = manifest.columns_of(Role.SENSITIVE)
    shape = manifest.shape
    if shape.most_sensitive is not None and len(sensitive) > shape.most_sensitive:
        raise DataError(f"The release has {len(sensitive)} sensitive columns, not one.")
    if len(sensitive) < shape.least_sensitive:
        raise DataError(f"A {shape} release needs a sensitive column; this one has none.")


def open_files(
    engine: DuckDB, folder: Path, names: Sequence[str], ending: str, *, is_trusted: bool = False
) -> PublishedFiles:
    """Make the data files of a release folder readable; trusted if they were just written here."""
    if ending not in FORMATS:
        raise DataError(f"The data files of a release must be {' or '.join(FORMATS)}.")
    queries = {}
    for name in names:
        path = folder / f"{name}.{ending}"
        if not path.exists():
            raise DataError(f"The release lacks its file {path.name}.")
        queries[name] = f"SELECT * FROM {engine.scan_own(path, is_trusted=is_trusted).relation}"
    return PublishedFiles(engine, queries, is_on_disk=True)
