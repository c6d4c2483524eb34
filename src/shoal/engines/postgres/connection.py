"""A connection to Postgres: one transaction, errors that show no data, and no password anywhere.

Messages of Postgres quote values, so they go to the internal log only. Of an address nothing but
host, port and database is ever shown.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from shoal.core.errors import EngineError, ParameterError
from shoal.core.log import internal_log
from shoal.engines.engine import SEE_LOG

if TYPE_CHECKING:
    import psycopg

_CHUNK = 1 << 18
_N_FETCHED = 50_000
_LEAST_VERSION = 13

# All of them hold for the transaction only, so that a pooled connection is left as it was found.
_SETTINGS = {
    # Finds our temporary tables first, then Postgres' own names, and nobody else's functions.
    "search_path": "",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "default_table_access_method": "heap",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    # Whole results are fetched, not their first rows.
    "cursor_tuple_fraction": "1",
    # For statements that run once, compiling expressions costs more than it saves.
    "jit": "off",
    # The server underestimates ranked results, and would scan a whole table for each of their rows.
    "enable_nestloop": "off",
}


class Connection:
    """A transaction of Postgres that is rolled back unless it is committed.

    `address` is ``postgresql://...`` in any form that libpq accepts; `settings` are added to
    Shoal's own for the transaction.
    """

    def __init__(self, address: str, settings: Mapping[str, str] | None = None) -> None:
        self._library = _library()
        self._connection = _connected(self._library, address)
        self._close = weakref.finalize(self, _close, self._connection)
        try:
            self._begin(settings or {})
        except BaseException:
            self.close()
            raise

    def _begin(self, settings: Mapping[str, str]) -> None:
        version = self._connection.info.server_version
        if version < _LEAST_VERSION * 10_000:
            raise EngineError(
                f"Shoal needs Postgres {_LEAST_VERSION} or newer; this is {version // 10_000}."
            )
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        own = _SETTINGS | ({"transaction_timeout": "0"} if version >= 170_000 else {})
        for name, value in (own | dict(settings)).items():
            self.run("SELECT set_config(%s, %s, true)", (name, value))
        ((encoding,),) = self.run("SHOW server_encoding")
        if encoding != "UTF8":
            raise EngineError(
                f"The database holds its texts as {encoding}; Shoal needs UTF8.",
                hint="export the table to CSV or Parquet, and name that file.",
            )

    @property
    def version(self) -> str:
        """The version of the server, such as 15.4."""
        number = self._connection.info.server_version
        return f"{number // 10_000}.{number % 10_000}"

    def run(self, statement: str, parameters: Sequence[object] | None = None) -> list[Any]:
        """Run a statement and return its rows."""
        with self._guarded(statement):
            cursor = self._connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def describe(self, query: str) -> list[tuple[str, str, int | None, int | None]]:
        """Return name, type, precision and scale of every column of a query."""
        statement = f"SELECT * FROM ({query}) described LIMIT 0"
        with self._guarded(statement):
            return self._described(self._connection.execute(statement.encode()))

    def _described(self, cursor: Any) -> list[tuple[str, str, int | None, int | None]]:
        types = self._library.adapters.types
        return [
            (column.name, found.name if found else "", column.precision, column.scale)
            for column in cursor.description or ()
            for found in [types.get(column.type_code)]
        ]

    def fetch(self, query: str) -> Iterator[tuple[list[tuple[str, str]], list[Any]]]:
        """Run a query and yield its result in pieces, at least one: columns with types, rows."""
        with (
            self._guarded(query),
            self._connection.cursor("shoal", binary=True) as cursor,
        ):
            cursor.execute(query.encode())
            columns = [(name, kind) for name, kind, _, _ in self._described(cursor)]
            while True:
                rows = cursor.fetchmany(_N_FETCHED)
                yield columns, rows
                if len(rows) < _N_FETCHED:
                    return

    def copy_in(self, statement: str, path: Path) -> None:
        """Run a COPY FROM STDIN with the content of a file."""
        with (
            self._guarded(statement),
            path.open("rb") as file,
            self._connection.cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            while piece := file.read(_CHUNK):
                copy.write(piece)

    def copy_out(self, statement: str, path: Path) -> None:
        """Run a COPY TO STDOUT into a file."""
        with (
            self._guarded(statement),
            path.open("wb", buffering=_CHUNK) as file,
            self._connection.cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            for piece in copy:
                file.write(piece)

    def commit(self) -> None:
        """Commit, which ends the transaction."""
        self.run("COMMIT")

    def close(self) -> None:
        """Roll back an uncommitted transaction, and close the connection."""
        self._close()

    def literal(self, text: str) -> str:
        """Return an SQL literal for statements without parameters; never for a value of a table."""
        from psycopg import sql  # noqa: PLC0415 - an extra

        return sql.Literal(text).as_string(self._connection)

    @contextlib.contextmanager
    def _guarded(self, statement: str) -> Iterator[None]:
        error_class = self._library.Error
        try:
            yield
        except error_class as error:
            internal_log.info("%s\n%s", error, statement)
            raise self._translated(error) from None

    def _translated(self, error: psycopg.Error) -> EngineError:
        state = error.sqlstate or ""
        if self._connection.closed or state.startswith("57P"):
            return EngineError(
                "The connection to the database was lost.",
                hint="nothing was left in the database; run again when it can be reached.",
            )
        fact, hint = _REFUSALS.get(state) or _REFUSALS.get(state[:2]) or (None, SEE_LOG)
        return EngineError(fact or f"Postgres refused (SQLSTATE {state or 'unknown'}).", hint=hint)


_REFUSALS = {
    "25006": (
        "The database is read-only.",
        "is it a replica? Name the primary server.",
    ),
    "2BP01": (
        "Something in the database depends on a table that would be replaced.",
        "drop the views that read it first.",
    ),
    "25P02": (
        "An earlier statement failed, which ended the transaction.",
        "read the table again.",
    ),
    "42501": (
        "The database does not permit what Shoal needs.",
        "reading takes SELECT on the table and TEMPORARY on the database; writing takes CREATE.",
    ),
    "53100": ("The disk of the database server is full.", "free some space there."),
    "53200": (
        "The database server is out of memory or locks.",
        "lower [engine] memory, or ask its administrator to raise max_locks_per_transaction.",
    ),
    "57014": ("The statement was cancelled by the database server.", SEE_LOG),
    "40": ("The database server aborted the transaction.", "run again."),
}


def _library() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise ParameterError(
            "Postgres needs the extra 'postgres'.", hint="pip install 'shoal-privacy[postgres]'"
        ) from None
    return psycopg


def _connected(library: Any, address: str) -> Any:
    parameters = _parameters(library, address)
    given = {"application_name": "shoal", "client_encoding": "utf8"}
    try:
        return library.connect(
            **{**given, **parameters, "client_encoding": "utf8"},
            autocommit=True,
            prepare_threshold=None,
        )
    except library.Error as error:
        text = str(error)
        for secret in _secrets(parameters):
            text = text.replace(secret, "***")
        internal_log.info("%s", text)
        raise _unreachable(error, text) from None


def _parameters(library: Any, address: str) -> dict[str, Any]:
    try:
        return dict(library.conninfo.conninfo_to_dict(address))
    except library.Error:
        raise ParameterError(
            "The address of the database is not valid.",
            hint="its form is postgresql://user@host:5432/database; in a user or a password "
            "write @ as %40, / as %2F, : as %3A and % as %25.",
        ) from None


def _secrets(parameters: Mapping[str, Any]) -> list[str]:
    held = [str(parameters[key]) for key in ("password", "sslpassword") if parameters.get(key)]
    return [form for secret in held for form in (secret, quote(secret, safe=""))]


def _unreachable(error: Any, text: str) -> EngineError:
    """Return why there is no connection; the server's message may be in any language."""
    connection = getattr(error, "pgconn", None)
    if getattr(connection, "needs_password", False):
        return EngineError(
            "The database requires a password, and none is given.",
            hint="keep it in ~/.pgpass or in the environment variable PGPASSWORD.",
        )
    if getattr(connection, "used_password", False) and "password" in text:
        return EngineError(
            "The database refused the user or the password.",
            hint="is the password in ~/.pgpass, PGPASSWORD or the address the right one?",
        )
    if "does not exist" in text and "database" in text:
        return EngineError(
            "The server has no such database.", hint="postgresql://host/DATABASE names it."
        )
    return EngineError(
        "The database cannot be reached, or refused the connection.",
        hint="are host, port, user and database right, and is the server running? " + SEE_LOG,
    )


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):
        if not connection.closed:
            connection.execute("ROLLBACK")
    with contextlib.suppress(Exception):
        connection.close()


def _readable_parameters(address: str) -> dict[str, Any] | None:
    try:
        return _parameters(_library(), address)
    except ParameterError:
        return None


def public_address(address: str) -> str:
    """Return an address without user, password and parameters.

    Examples
    --------
    >>> public_address("postgresql://me:secret@db.example:5433/people?sslmode=require")
    'postgresql://db.example:5433/people'
    """
    parameters = _readable_parameters(address)
    if parameters is None:
        return "postgresql:"
    host, port, database = (str(parameters.get(key, "")) for key in ("host", "port", "dbname"))
    port = port.strip(",")
    # With an unescaped @ in the password, its rest would be taken for a part of the database.
    shown = "" if "@" in database else quote(database)
    place = "" if host.startswith("/") else host + (f":{port}" if port else "")
    return f"postgresql://{place}/{shown}"


def without_password(address: str) -> str:
    """Return an address of the same database without the password.

    Examples
    --------
    >>> without_password("postgresql://me:secret@db.example:5433/people?sslmode=require")
    'postgresql://me@db.example:5433/people?sslmode=require'
    """
    parameters = _readable_parameters(address)
    if parameters is None:
        return "postgresql:"
    for key in ("password", "sslpassword"):
        parameters.pop(key, None)
    if not str(parameters.get("port", "")).strip(","):
        parameters.pop("port", None)
    host, user = str(parameters.get("host", "")), str(parameters.get("user", ""))
    place = ""
    if host and "/" not in host and "," not in host:
        port = parameters.pop("port", "")
        place = (f"{quote(user, safe='')}@" if user else "") + host + (f":{port}" if port else "")
        parameters.pop("host")
        parameters.pop("user", None)
    database = quote(str(parameters.pop("dbname", "")), safe="")
    rest = f"?{urlencode(parameters)}" if parameters else ""
    return f"postgresql://{place}/{database}{rest}"
