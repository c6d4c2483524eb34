"""Postgres as an engine: the table is read, counted and placed inside the database.

The table is copied into a temporary one in a repeatable-read transaction, which ends then: the copy
cannot change between two passes, and no lock on the table hinders others during the work that
follows. All staged tables are temporary, so nothing is left in the steward's database.
Dictionaries, plans and published lines travel by COPY, never as
literals in statements, which servers log; an embedded DuckDB converts them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Columns, RemoteEngine, Scan, is_postgres_address
from shoal.engines.files import literal, quoted
from shoal.engines.limits import Limits, bytes_of
from shoal.engines.postgres.connection import Connection, lock_setting
from shoal.engines.postgres.types import (
    PLAIN_TYPES,
    ServerColumn,
    as_array,
    copy_into,
    duckdb_type,
    is_loaded_as_text,
    joined,
    real_text,
    server_type,
)
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sources import check_column_names, refuse_options

_MOST_BYTES_OF_NAME = 63
_N_LISTED = 20
_MOST_DIGITS = 38
_OWN_SETTINGS = {
    # What is committed are temporary tables; a crash of the server may lose them.
    "synchronous_commit": "off",
}
_FIRST_DATE, _LAST_DATE = "4713-11-25 (BC)", "5874897-12-30"
_CASTS = {
    # DuckDB reads a text such as 1e3 as a whole number; a detour over numeric does so here.
    "BIGINT": "CAST(CAST({} AS numeric) AS bigint)",
    "DOUBLE": "CAST({} AS double precision)",
    "VARCHAR": 'CAST({} AS text) COLLATE "C"',
}
_TABLES = """
    SELECT n.nspname, c.relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY 1, 2
"""
_COLUMNS = """
    WITH RECURSIVE base AS (
        SELECT a.attnum, a.attname, format_type(a.atttypid, NULL) AS stated,
            a.atttypid AS type, a.atttypmod AS modifier
        FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
        AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
        UNION ALL
        SELECT b.attnum, b.attname, format_type(t.typbasetype, NULL), t.typbasetype, t.typtypmod
        FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype = 'd'
    )
    SELECT b.attname, t.typname, b.stated, t.typtype = 'e', b.modifier
    FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype <> 'd' ORDER BY b.attnum
"""


class Postgres(RemoteEngine):
    """Postgres as Shoal's engine.

    Only while the table is copied does it hold a lock, which lets others change rows, but not alter
    the table. It waits for a lock as long as `limits` says. The password is best kept in
    ``~/.pgpass`` or in the
    environment variable ``PGPASSWORD``, not in the address. `memory` is the memory that a statement
    may use before it spills. Default: that of the server.
    """

    def __init__(
        self, address: str, *, memory: str | None = None, limits: Limits | None = None
    ) -> None:
        limits = Limits() if limits is None else limits
        self._connection = Connection(
            address, _OWN_SETTINGS | _memory_settings(memory) | lock_setting(limits.lock_timeout)
        )
        try:
            self._directory = PrivateDirectory()
            self._embedded = DuckDB(memory)
        except BaseException:
            self._connection.close()
            raise
        self._names = itertools.count()

    @property
    def name(self) -> str:
        """The name and version of the engine."""
        return f"postgres {self._connection.version}"

    def __repr__(self) -> str:
        return f"Postgres({self.name})"

    def close(self) -> None:
        """Drop temporary tables, and remove temporary files."""
        self._connection.close()
        self._embedded.close()
        self._directory.remove()

    def quote(self, identifier: str) -> str:
        """Return an identifier in quotes, so that any name is safe."""
        return quoted(identifier)

    def has_nul(self, expression: str) -> str:  # noqa: ARG002 - no text has any
        """Return the test of a text for NUL characters, which Postgres does not allow."""
        return "FALSE"

    def hash(self, expression: str) -> str:
        """Return the expression of a text's SHA-256 in hexadecimal."""
        return f"encode(sha256(convert_to({expression}, 'UTF8')), 'hex')"

    def hash_number(self, expression: str) -> str:
        """Return the expression of the first 15 hexadecimal digits of a SHA-256, as a BIGINT."""
        digits = f"left({self.hash(expression)}, 15)"
        return f"CAST(CAST(concat('x', {digits}) AS bit(60)) AS bigint)"

    def cast(self, expression: str, kind: str) -> str:
        """Return an expression cast to another type; texts sort by code points."""
        return _CASTS.get(kind, f"CAST({{}} AS {kind})").format(expression)

    def text(self, expression: str, kind: str) -> str:
        """Return the canonical text of an expression: equal values have one text."""
        if kind in ("FLOAT", "REAL"):
            return real_text(f"({expression} + CAST(0 AS real))", is_short=True)
        if kind == "DOUBLE":
            # Adding 0 turns a negative zero into zero, which it equals.
            return real_text(f"({expression} + 0)", is_short=False)
        return self.cast(expression, "VARCHAR")

    def stage(self, name: str, query: str) -> None:
        """Keep the result of a query under a name."""
        with self._connection.transaction():
            # The query may read the table that it replaces.
            self._connection.run(f"CREATE TEMP TABLE shoal_staged AS {query}")
            self.drop(name)
            self._connection.run(f"ALTER TABLE pg_temp.shoal_staged RENAME TO {name}")
            # Without statistics, Postgres joins large tables row by row.
            self._connection.run(f"ANALYZE pg_temp.{name}")

    def push(self, name: str, columns: Columns) -> None:
        """Keep arrays as the columns of a table."""
        self._embedded.push("pushed", columns)
        with self._connection.transaction():
            self.drop(name)
            self._load(name, "SELECT * FROM pushed")
        self._embedded.drop("pushed")

    def drop(self, name: str) -> None:
        """Drop a table, if there is one of that name."""
        self._connection.run(f"DROP TABLE IF EXISTS pg_temp.{name}")

    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and return its result by column."""
        pieces: list[list[npt.NDArray[Any]]] = []
        columns: list[tuple[str, str]] = []
        for columns, rows in self._connection.fetch(query):
            values = zip(*rows, strict=True) if rows else [() for _ in columns]
            pieces.append([as_array(v, kind) for v, (_, kind) in zip(values, columns, strict=True)])
        return {
            name: joined([piece[place] for piece in pieces])
            for place, (name, _) in enumerate(columns)
        }

    def bring(self, query: str) -> str:
        """Bring the result of a query to the embedded DuckDB."""
        with self._fetched(query) as fetched:
            self._embedded.stage("brought", f"SELECT * FROM {fetched}")
        return "brought"

    def scan(self, source: object, **options: object) -> Scan:
        """Make a table or a view of the database readable, or any source that DuckDB reads."""
        if not is_postgres_address(source):
            return self._scan_elsewhere(source, options)
        table = options.pop("table", None)
        refuse_options(options, "a database", "only table has.")
        copy = self._new_name()
        with self._connection.transaction():
            schema, name, number = self._find_table(None if table is None else str(table))
            columns = self._columns(f"{quoted(schema)}.{quoted(name)}", number)
            check_column_names(f"{schema}.{name}", [column.name for column in columns])
            selected = ", ".join(
                f"{column.expression(quoted(column.name))} AS {quoted(column.name)}"
                for column in columns
            )
            self.stage(copy, f"SELECT {selected} FROM {quoted(schema)}.{quoted(name)}")
        self._connection.release_locks()
        return Scan(
            relation=copy,
            types={column.name: column.kind for column in columns},
            line=None,
            is_text=False,
            name=f"postgresql:{schema}.{name}",
            options={"table": f"{schema}.{name}"},
        )

    def _find_table(self, table: str | None) -> tuple[str, str, int]:
        if table is not None and table.lower().startswith(("select ", "with ", "(", "table ")):
            raise ParameterError(
                "table must be the name of a table or a view, not SQL.",
                hint="make a view of what is to be published, and name that.",
            )
        found = self._connection.run(_TABLES)
        matching = [entry for entry in found if table in (None, entry[1], f"{entry[0]}.{entry[1]}")]
        if len(matching) == 1:
            schema, name, number = matching[0]
            return str(schema), str(name), int(number)
        what = "no table" if not matching else f"{len(matching)} tables"
        listed = [f"{schema}.{name}" for schema, name, _ in (matching or found)]
        more = f" and {len(listed) - _N_LISTED} more" if len(listed) > _N_LISTED else ""
        holds = ", ".join(map(repr, listed[:_N_LISTED])) + more if listed else "none"
        raise SchemaError(
            f"The database has {what} to read" + (f" named {table!r}." if table else "."),
            hint=f"say which: table=...; you may read {holds}.",
        )

    def _columns(self, table: str, number: int) -> list[ServerColumn]:
        found = self._connection.run(_COLUMNS, (number,))
        loose = [
            str(name)
            for name, base, _, _, modifier in found
            if base == "numeric" and _is_loose(modifier)
        ]
        measured = self._measure(table, loose)
        return [
            ServerColumn(
                name=str(name),
                base=str(base),
                stated=str(base if base in PLAIN_TYPES else stated),
                is_enumeration=bool(is_enumeration),
                digits=measured[name] if name in measured else _digits(base, modifier),
            )
            for name, base, stated, is_enumeration, modifier in found
        ]

    def _measure(self, table: str, columns: Sequence[str]) -> dict[str, tuple[int, int] | None]:
        """Count the digits that columns of type numeric need if their type sets no limit."""
        if not columns:
            return {}
        counted = ", ".join(
            f"max(length(CAST(trunc(abs({name})) AS text))), max(scale(trim_scale({name}))), "
            f"count(*) FILTER (WHERE CAST({name} AS text) ~ 'n')"
            for name in map(quoted, columns)
        )
        (found,) = self._connection.run(f"SELECT {counted} FROM {table}")
        measured: dict[str, tuple[int, int] | None] = {}
        for place, name in enumerate(columns):
            before, behind, n_strange = found[3 * place : 3 * place + 3]
            digits = (before or 1, behind or 0)
            fits = not n_strange and sum(digits) <= _MOST_DIGITS
            measured[name] = digits if fits else None
        return measured

    def _scan_elsewhere(self, source: object, options: dict[str, object]) -> Scan:
        scan = self._embedded.scan(source, **options)
        long = [c for c in scan.types if len(c.encode()) > _MOST_BYTES_OF_NAME]
        if long:
            raise SchemaError(
                f"{len(long)} columns have names of more than {_MOST_BYTES_OF_NAME} bytes, which "
                "Postgres would cut.",
                hint="shorten them.",
            )
        with scan.unchanged():
            self._embedded.stage("loaded", f"SELECT * FROM {scan.relation}")
        self._refuse_nul(scan)
        self._refuse_far_dates(scan)
        table = self._new_name()
        self._load(table, "SELECT * FROM loaded")
        self._embedded.drop("loaded")
        # Rows are in the order in which they were copied.
        line = "row_number() OVER (ORDER BY ctid)"
        return dataclasses.replace(scan, relation=table, line=line, watched=None)

    def _refuse_nul(self, scan: Scan) -> None:
        """Refuse NUL characters, which Postgres cannot hold: it would log the whole line."""
        texts = [column for column, kind in scan.types.items() if is_loaded_as_text(kind)]
        if not texts:
            return
        counted = ", ".join(
            f"count(*) FILTER (WHERE contains(CAST({quoted(c)} AS VARCHAR), chr(0))) AS n{place}"
            for place, c in enumerate(texts)
        )
        found = self._embedded.rows(f"SELECT {counted} FROM loaded")
        for place, column in enumerate(texts):
            if found[f"n{place}"][0]:
                raise DataError(
                    f"Column {column!r} holds NUL characters.",
                    hint="remove them: most readers cut a text off there.",
                )

    def _refuse_far_dates(self, scan: Scan) -> None:
        """Refuse dates and times that Postgres cannot hold: it would log them."""
        for column, kind in scan.types.items():
            if not kind.startswith(("DATE", "TIMESTAMP")):
                continue
            date = f"CAST({quoted(column)} AS DATE)"
            found = self._embedded.rows(
                f"SELECT count(*) AS n FROM loaded WHERE isfinite({date}) "
                f"AND ({date} < DATE '{_FIRST_DATE}' OR {date} > DATE '{_LAST_DATE}')"
            )
            if found["n"][0]:
                raise DataError(
                    f"Column {column!r} holds dates that Postgres cannot hold.",
                    hint="leave them empty, or read the table with the engine duckdb.",
                )

    def _load(self, name: str, query: str) -> None:
        """Keep the result of a query of the embedded DuckDB in a temporary table."""
        relation = self._embedded.relation(query)
        columns = ", ".join(
            f"{quoted(column)} {server_type(str(kind))}"
            for column, kind in zip(relation.columns, relation.types, strict=True)
        )
        self._connection.run(f"CREATE TEMP TABLE {name} ({columns})")
        copy_into(self._connection, f"pg_temp.{name}", relation, self._directory.path)
        self._connection.run(f"ANALYZE pg_temp.{name}")

    @contextmanager
    def _fetched(self, query: str) -> Iterator[str]:
        """Fetch a result into a private file; yield the relation that reads it in DuckDB."""
        columns = [
            (name, duckdb_type(base, precision, scale))
            for name, base, precision, scale in self._connection.describe(query)
        ]
        texts = ", ".join(quoted(name) for name, kind in columns if kind == "VARCHAR")
        quoting = f", FORCE_QUOTE ({texts})" if texts else ""
        path = self._directory.path / f"{self._new_name()}.csv"
        try:
            self._connection.copy_out(
                f"COPY ({query}) TO STDOUT (FORMAT csv, NULL '\\N'{quoting})", path
            )
            listed = ", ".join(f"{literal(name)}: '{kind}'" for name, kind in columns)
            yield (
                f"read_csv({literal(str(path))}, auto_detect = false, header = false, "
                "delim = ',', quote = '\"', escape = '\"', nullstr = '\\N', "
                "allow_quoted_nulls = false, parallel = false, new_line = '\\n', "
                "max_line_size = 268435456, "
                f"columns = {{{listed}}})"
            )
        finally:
            path.unlink(missing_ok=True)

    def _new_name(self) -> str:
        return f"shoal_source_{next(self._names)}"


def _memory_settings(memory: str | None) -> dict[str, str]:
    """Divide the memory: some statements sort and hash at the same time, beside staged tables."""
    if memory is None:
        return {}
    kilobytes = bytes_of(memory) // 1024
    most = 2**31 - 1
    return {
        "work_mem": f"{min(max(kilobytes // 4, 64), most)}kB",
        "temp_buffers": f"{min(max(kilobytes // 4, 800), most)}kB",
    }


def _is_loose(modifier: int) -> bool:
    return modifier < 0


def _digits(base: str, modifier: int) -> tuple[int, int] | None:
    """Return the digits before and after the point from the type modifier of a numeric."""
    if base != "numeric" or _is_loose(modifier):
        return None
    precision = ((modifier - 4) >> 16) & 0xFFFF
    # From Postgres 15 on the scale may be negative or exceed the precision: 11 bits, signed.
    scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024
    before, behind = max(precision - scale, 0), max(scale, 0)
    return (before, behind) if before + behind <= _MOST_DIGITS else None
