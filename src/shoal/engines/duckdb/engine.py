"""The embedded engine: DuckDB, in memory, spilling into a private directory."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, ParameterError, ShoalError
from shoal.core.log import internal_log
from shoal.engines.csv_files import (
    Dialect,
    copy_as_utf8,
    csv_relation,
    digest_of_lines,
    find_dialect,
    is_plain_utf8,
)
from shoal.engines.duckdb.connection import connect, copy_view, find_table, guarded, text_of_real
from shoal.engines.engine import Columns, Scan
from shoal.engines.files import (
    ParquetFiles,
    WatchedFile,
    check_kind,
    check_readable,
    digest,
    find_parquet,
    literal,
    quoted,
    schema_query,
)
from shoal.engines.limits import Limits, engine_memory, memory_beside
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sources import (
    SOURCES,
    as_registrable,
    check_column_names,
    column_names,
    frame_orders,
    parquet_orders,
    read_arrow,
    refuse_options,
    text_option,
)

_CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
_ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
_DUCKDB_ENDINGS = (".duckdb", ".ddb", ".db")
_LONG_LIST = 500
_PART = 1 << 20
"""The number of rows fetched at a time."""


class DuckDB:
    """DuckDB as Shoal's engine.

    `memory` is the memory limit of the run, such as ``"4GB"``. Default: half the free memory.
    DuckDB gets half of it, and spills the rest into a private directory.
    """

    def __init__(self, memory: str | None = None, limits: Limits | None = None) -> None:
        self.limits = Limits() if limits is None else limits
        self._memory = self._limit = engine_memory(memory)
        self._directory = PrivateDirectory()
        self._connection = connect(self._directory.path, self._memory)
        self._names = itertools.count()

    @property
    def name(self) -> str:
        """The name and version of the engine."""
        return f"duckdb {duckdb.__version__}"

    @property
    def publisher(self) -> DuckDB:
        """The engine that lays out and writes releases: this one."""
        return self

    def bring(self, query: str) -> str:
        """Return the query as a relation: the rows are here already."""
        return f"({query})"

    def close(self) -> None:
        """Close the connection and remove spilled files."""
        self._connection.close()
        self._directory.remove()

    def quote(self, identifier: str) -> str:
        """Return an identifier in quotes, so that any name is safe."""
        return quoted(identifier)

    def hash(self, expression: str) -> str:
        """Return the expression of a text's SHA-256 in hexadecimal."""
        return f"sha256({expression})"

    def hash_number(self, expression: str) -> str:
        """Return the expression of the first 15 hexadecimal digits of a SHA-256, as a BIGINT."""
        return f"CAST(concat('0x', left(sha256({expression}), 15)) AS BIGINT)"

    def cast(self, expression: str, kind: str) -> str:
        """Return an expression cast to another type."""
        return f"CAST({expression} AS {kind})"

    def text(self, expression: str, kind: str) -> str:
        """Return the canonical text of an expression: equal values have one text."""
        if kind in ("DOUBLE", "FLOAT", "REAL"):
            return text_of_real(expression, is_short=kind != "DOUBLE")
        return expression if kind == "VARCHAR" else f"CAST({expression} AS VARCHAR)"

    def decode(
        self, dictionary: str, number: str, expression: str, n_texts: int
    ) -> tuple[str, str]:
        """Return the expression of the text for a code, and the join that it takes.

        The dictionary is a table of `n_texts` texts, `v`, with numbers 0, 1, 2, ... in the column
        `number`. A code that it does not have means a missing text.
        """
        if n_texts > _LONG_LIST:
            alias = f"v_{dictionary}"
            join = f" LEFT JOIN {dictionary} {alias} ON {alias}.{number} = {expression}"
            return f"{alias}.v", join
        # Indexing a short list takes no join. An index below 1 would count from its end.
        place = f"greatest({expression} + 1, 0)"
        return f"(SELECT list(v ORDER BY {number}) FROM {dictionary})[{place}]", ""

    def has_nul(self, expression: str) -> str:
        """Return the test of a text for NUL characters."""
        return f"contains({expression}, chr(0))"

    def stage(self, name: str, query: str) -> None:
        """Keep the result of a query under a name."""
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def push(self, name: str, columns: Columns) -> None:
        """Keep arrays as the columns of a table."""
        selected = ", ".join(
            f"CAST({column} AS VARCHAR) AS {column}" if array.dtype == object else column
            for column, array in columns.items()
        )
        with self.lent(columns) as view:
            self.stage(name, f"SELECT {selected} FROM {view}")

    @contextlib.contextmanager
    def lent(self, columns: Columns) -> Iterator[str]:
        """Let queries read arrays in place, under the name that is yielded."""
        view = self._new_name()
        self._connection.register(view, dict(columns))
        try:
            yield view
        finally:
            self._connection.unregister(view)

    def drop(self, name: str) -> None:
        """Drop a table, if there is one of that name."""
        self._run(f"DROP TABLE IF EXISTS {name}")
        self._keep_limit()

    def make_room(self, n_bytes: int) -> None:
        """Leave room for arrays of `n_bytes`; data that no longer fit are spilled."""
        if self._memory is not None:
            self._limit = memory_beside(self._memory, n_bytes)
        self._keep_limit()

    def _keep_limit(self) -> None:
        """Set the limit again: only then does DuckDB spill the excess and return free memory."""
        if self._limit is not None:
            # DuckDB raises an error if it cannot spill that much, and keeps what it holds.
            with guarded(), contextlib.suppress(duckdb.OutOfMemoryException):
                self._connection.execute(f"SET memory_limit = '{self._limit}B'")

    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and return its result by column."""
        # An error late in a query is raised when its rows are fetched.
        with guarded(query):
            return self._connection.execute(query).fetchnumpy()

    def types_of(self, query: str) -> dict[str, str]:
        """Return the types of the columns of a query."""
        with guarded(query):
            described = self._connection.execute(f"DESCRIBE {query}").fetchall()
        return {str(row[0]): str(row[1]) for row in described}

    def arrays(self, query: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Run a query whose result may be as long as the table, and return columns of numbers.

        It is fetched in parts: otherwise DuckDB would hold it a second time, beyond its limit.
        """
        self.stage("fetched", query)
        arrays = self.columns("fetched", types)
        self.drop("fetched")
        return arrays

    def columns(self, name: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Return columns of numbers of a staged table, in its order."""
        n_rows = int(self.rows(f"SELECT count(*) AS n FROM {name}")["n"][0])
        arrays = {column: np.empty(n_rows, dtype=kind) for column, kind in types.items()}
        listed = ", ".join(arrays)
        for first in range(0, n_rows, _PART):
            part = self.rows(
                f"SELECT {listed} FROM {name} WHERE rowid >= {first} AND rowid < {first + _PART}"
            )
            for column, array in arrays.items():
                array[first : first + _PART] = part[column]
        return arrays

    def write(self, query: str, path: Path, format: str) -> None:  # noqa: A002
        """Write the result of a query, in its order, to a CSV or Parquet file."""
        options = "FORMAT csv, HEADER true" if format == "csv" else "FORMAT parquet"
        if format == "parquet":
            # Otherwise a column without missing values would be written in another form.
            names = [self.quote(name) for name in self.types_of(query)]
            listed = ", ".join(f"CASE WHEN {n} IS NOT NULL THEN {n} END AS {n}" for n in names)
            query = f"SELECT {listed} FROM ({query}) w"
        self._run(f"COPY ({query}) TO {literal(path)} ({options})")

    def relation(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return a query as a DuckDB relation, for conversion into frames."""
        with guarded(query):
            return self._connection.sql(query)

    def from_arrow(self, table: Any) -> duckdb.DuckDBPyRelation:
        """Return an Arrow table as a DuckDB relation."""
        return self._connection.from_arrow(table)

    def scan(self, source: object, **options: object) -> Scan:
        """Make a source readable: a path, a frame, a relation or a mapping of columns."""
        if isinstance(source, (str, Path)):
            path = Path(source)
            check_readable(path)
            watched = WatchedFile(path)
            return replace(self._scan_file(path, options), watched=watched)
        refuse_options(options, "frames")
        view = self._new_name()
        try:
            frame = as_registrable(source)
            if frame is None:
                raise ParameterError(
                    f"Shoal cannot read a {type(source).__name__}.", hint=f"it reads {SOURCES}."
                )
            check_column_names(type(source).__name__, column_names(frame), self.limits)
            self._connection.register(view, frame)
        except ShoalError:
            raise
        except (duckdb.Error, ImportError, TypeError, ValueError) as error:
            internal_log.info("%s", error)
            raise DataError(
                f"DuckDB cannot read this {type(source).__name__}.",
                hint="are all columns of one length and of plain types?",
            ) from None
        # A mapping holds the types of its columns, which are arrays by now.
        is_mapping = isinstance(source, Mapping)
        found = self._described(view, name="columns" if is_mapping else type(source).__name__)
        return replace(found, orders=frame_orders(source if is_mapping else frame))

    def scan_own(self, path: Path, *, is_trusted: bool) -> Scan:
        """Make a file of a release readable; its content is checked elsewhere.

        Only a file that was just written here is trusted. Another may hide lines that DuckDB
        skips, or expand without bounds.
        """
        check_readable(path)
        if path.suffix == ".csv":
            if not is_trusted:
                digest_of_lines(path, self.limits)
            dialect = find_dialect(
                path, delimiter=",", quote='"', encoding="utf-8", limits=self.limits
            )
            return self._csv_scan(path, path, dialect, None)
        check_kind(path, b"PAR1", 0, "a Parquet file")
        files = ParquetFiles((path,))
        if not is_trusted:
            self._refuse_expanding(path, files, is_release=True)
        return self._described(files.relation, name=path.name)

    def _scan_file(self, path: Path, options: dict[str, object]) -> Scan:
        suffixes = [suffix.lower() for suffix in path.suffixes] or [""]
        ending = suffixes[-2] if suffixes[-1] == ".gz" and len(suffixes) > 1 else suffixes[-1]
        if ending == ".parquet" or path.is_dir():
            refuse_options(options, "Parquet")
            return replace(self._scan_parquet(path), orders=parquet_orders(path))
        if ending in _CSV_ENDINGS:
            return self._scan_csv(path, ending, options)
        if ending in _ARROW_ENDINGS:
            refuse_options(options, "Arrow")
            return self._scan_arrow(path)
        if ending in _DUCKDB_ENDINGS:
            table = options.pop("table", None)
            refuse_options(options, "DuckDB files")
            return self._scan_database(path, None if table is None else str(table))
        raise ParameterError(
            f"Shoal does not know the file type of {path.name}.", hint=f"it reads {SOURCES}."
        )

    def _scan_csv(self, path: Path, ending: str, options: dict[str, object]) -> Scan:
        given = {
            name: text_option(name, options.pop(name, None))
            for name in ("delimiter", "quote", "encoding")
        }
        refuse_options(options, "CSV")
        if ending in (".tsv", ".tab") and given["delimiter"] is None:
            given["delimiter"] = "\t"
        dialect = find_dialect(path, **given, limits=self.limits)
        if is_plain_utf8(dialect):
            return self._csv_scan(path, path, dialect, digest_of_lines(path, self.limits))
        copy = self._directory.path / f"{self._new_name()}.csv"
        copy_as_utf8(path, dialect, copy, self.limits)
        return self._csv_scan(path, copy, dialect, digest(path))

    def _csv_scan(self, path: Path, readable: Path, dialect: Dialect, digest: str | None) -> Scan:
        return Scan(
            relation=csv_relation(readable, dialect, self.limits),
            types=dict.fromkeys(dialect.columns, "VARCHAR"),
            line="row_number() OVER ()",
            is_text=True,
            name=path.name,
            digest=digest,
            options=dialect.options,
        )

    def _scan_parquet(self, path: Path) -> Scan:
        files = find_parquet(path)
        if not path.is_dir():
            check_kind(path, b"PAR1", 0, "a Parquet file")
        self._refuse_expanding(path, files)
        self._refuse_disagreement(path, files)
        return self._described(
            files.relation, name=path.name, digest=None if path.is_dir() else digest(path)
        )

    def _refuse_disagreement(self, path: Path, files: ParquetFiles) -> None:
        if len(files.paths) == 1 and not files.partitions:
            return
        found = self._run(schema_query(files)).fetchall()
        stated = [str(name) for name, is_stated in found if is_stated]
        if stated:
            raise DataError(
                f"{path.name} has columns both in its files and in the names of its folders: "
                f"{', '.join(map(repr, stated[:10]))}.",
                hint="leave them out of the files.",
            )
        if found:
            raise DataError(
                f"The Parquet files of {path.name} do not agree on "
                f"{', '.join(repr(str(name)) for name, _ in found[:10])}.",
                hint="every file must have the same columns, of the same types.",
            )

    def _refuse_expanding(
        self, path: Path, files: ParquetFiles, *, is_release: bool = False
    ) -> None:
        """Refuse Parquet files that expand too much, according to their own metadata.

        Cells count as well as bytes: a run of equal values takes no room in the file. The ratio
        does not count for a release, which compresses well because it has few labels.
        """
        ((n_cells, n_bytes, n_columns),) = self._run(
            "SELECT sum(num_values), sum(total_uncompressed_size), "
            f"count(DISTINCT path_in_schema) FROM parquet_metadata({files.listed})"
        ).fetchall()
        self.limits.check_columns(path.name, int(n_columns or 0))
        n_expanded = max(int(n_cells or 0), int(n_bytes or 0))
        self.limits.check_expanded(
            path.name, n_expanded, n_expanded if is_release else files.n_bytes
        )

    def _scan_arrow(self, path: Path) -> Scan:
        table = read_arrow(path, self.limits)
        check_column_names(path.name, table.column_names, self.limits)
        view = self._new_name()
        self._connection.register(view, table)
        found = self._described(view, name=path.name, digest=digest(path))
        return replace(found, orders=frame_orders(table))

    def _scan_database(self, path: Path, table: str | None) -> Scan:
        check_kind(path, b"DUCK", 8, "a DuckDB database")
        with guarded():
            found = find_table(path, table)
            place = path
            if found.is_view:
                place = self._directory.path / f"{self._new_name()}.duckdb"
                copy_view(path, found, place)
        database = self._new_name()
        self._run(f"ATTACH {literal(place)} AS {database} (READ_ONLY)")
        return self._described(
            f"{database}.{self.quote(found.schema)}.{self.quote(found.name)}",
            name=f"{path.name}:{found.name}",
            digest=digest(path),
            options={"table": found.name},
        )

    def _described(
        self,
        relation: str,
        *,
        name: str,
        digest: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Scan:
        described = self._run(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        check_column_names(name, [str(row[0]) for row in described], self.limits)
        return Scan(
            relation=relation,
            types={str(row[0]): str(row[1]) for row in described},
            line="row_number() OVER ()",
            is_text=False,
            name=name,
            digest=digest,
            options=options or {},
        )

    def _new_name(self) -> str:
        return f"shoal_source_{next(self._names)}"

    def _run(self, statement: str) -> duckdb.DuckDBPyConnection:
        with guarded(statement):
            return self._connection.execute(statement)
