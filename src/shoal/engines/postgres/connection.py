"""A connection to Postgres: short transactions, errors that show no data, and no password anywhere.

A connection begins with one repeatable-read transaction, in which the table is read, or a release
is written. Reading ends it early, so that no lock on the table is held during the work that
follows. Messages of Postgres quote values, so they go to the internal log only. Of an address
nothing but host, port and database is ever shown.
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
from shoal.engines.limits import LOCK_TIMEOUT

if TYPE_CHECKING:
    import psycopg

_CHUNK = 1 << 18
_N_FETCHED = 50_000
_LEAST_VERSION = 13


def lock_setting(seconds: int) -> dict[str, str]:
    """Return the setting of the time to wait for a lock, up to the largest that Postgres takes.

    Examples
    --------
    >>> lock_setting(30)
    {'lock_timeout': '30000'}
    """
    return {"lock_timeout": str(min(seconds * 1000, 2**31 - 1))}


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
    **lock_setting(LOCK_TIMEOUT),
    # Whole results are fetched, not their first rows.
    "cursor_tuple_fraction": "1",
    # For statements that run once, compiling expressions costs more than it saves.
    "jit": "off",
    # The server underestimates ranked results, and would scan a whole table for each of their rows.
    "enable_nestloop": "off",
}
# Those that older versions do not have, by the version that brought them.
_LATER_SETTINGS = {
    140_000: {"idle_session_timeout": "0"},
    170_000: {"transaction_timeout": "0"},
}


class Connection:
    """A session of Postgres, which begins with a transaction.

    What is not committed when the connection is closed is rolled back, and temporary tables are
    dropped. `address` is ``postgresql://...`` in any form that libpq accepts; `settings` are added
    to Shoal's own.
    """

    def __init__(
        self,
        address: str,
        settings: Mapping[str, str] | None = None,
        *,
        isolation: str = "REPEATABLE READ",
    ) -> None:
        self._library = _library()
        self._connection = _connected(self._library, address)
        self._close = weakref.finalize(self, _close, self._connection)
        try:
            self._begin(settings or {}, isolation)
        except BaseException:
            self.close()
            raise

    def _begin(self, settings: Mapping[str, str], isolation: str) -> None:
        version = self._connection.info.server_version
        if version < _LEAST_VERSION * 10_000:
            raise EngineError(
                f"Shoal needs Postgres {_LEAST_VERSION} or newer; this is {version // 10_000}."
            )
        self.run(f"BEGIN ISOLATION LEVEL {isolation}")
        self._pooled = _is_pooled(self._connection)
        own = dict(_SETTINGS)
        for since, later in _LATER_SETTINGS.items():
            own |= later if version >= since else {}
        for name, value in (own | dict(settings)).items():
            self.run("SELECT pg_catalog.set_config(%s, %s, %s)", (name, value, self._pooled))
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
            self.transaction(),
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

    def release_locks(self) -> None:
        """End the transaction, but keep its temporary tables.

        Later statements are committed one by one. With a pooler in between, the transaction goes
        on: the next one might run in another session, without the tables.
        """
        if not self._pooled:
            self.commit()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run statements in the open transaction; if there is none, in one of their own."""
        if self._connection.info.transaction_status != self._library.pq.TransactionStatus.IDLE:
            yield
            return
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            yield
        except BaseException:
            with contextlib.suppress(EngineError):
                self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def close(self) -> None:
        """Roll back an open transaction, drop temporary tables, and close the connection."""
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
        "drop what reads it first, such as views of your own, and make it again afterwards.",
    ),
    "25P02": (
        "An earlier statement failed, which ended the transaction.",
        "read the table again.",
    ),
    "42501": (
        "The database does not permit what Shoal needs.",
        "reading takes SELECT on the table and TEMPORARY on the database; writing takes CREATE.",
    ),
    "53100": (
        "The disk of the database server is full.",
        "free some space there; the copies of a table take about three times its size.",
    ),
    "53200": (
        "The database server is out of memory or locks.",
        "lower [engine] memory, or ask its administrator to raise max_locks_per_transaction.",
    ),
    "53400": (
        "A limit of the database server was reached, probably the one on temporary files.",
        "raise [engine] memory, or ask its administrator to raise temp_file_limit.",
    ),
    "55P03": (
        "Another session holds a lock on a table in the database, for longer than Shoal waits.",
        "run again when it has ended, or wait longer: lock_timeout = 600 (s) under [engine].",
    ),
    "57014": ("The statement was cancelled by the database server.", SEE_LOG),
    "23": (
        "A constraint in the database refuses the rows of the release.",
        "drop the constraint or the unique index that was added to the table.",
    ),
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


def _is_pooled(connection: Any) -> bool:
    """Return whether there is a pooler between here and the server.

    It may give every transaction another session, and every session to somebody else afterwards:
    settings and temporary tables must not outlive the transaction. It is recognized by the number
    of the server's process, which poolers do not pass on.
    """
    (process,) = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
    return bool(process != connection.info.backend_pid)


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):
        if not connection.closed:
            connection.execute("ROLLBACK")
            if not _is_pooled(connection):
                # The end of a session drops temporary tables as well, but a moment later.
                connection.execute("DISCARD ALL")
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
