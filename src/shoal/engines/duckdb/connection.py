"""Connections to DuckDB that can do no more than Shoal needs, and errors that show no data.

No connection of Shoal's installs or loads an extension, reads stored secrets, or lets a statement
change a setting. The engine's own connection reads sources and writes releases at paths that Shoal
chooses, so it keeps access to files; every statement that it runs is Shoal's own. The only foreign
SQL is that of a view in a DuckDB file. It runs on a connection of its own, which can reach that
file, the copy that it makes, and nothing else.

DuckDB's own error messages quote data, so they go to the internal log.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from shoal.core.errors import DataError, EngineError, SchemaError
from shoal.core.log import internal_log
from shoal.core.threads import core_share
from shoal.engines.engine import SEE_LOG
from shoal.engines.files import literal, quoted

_DIGITS = {False: (15, 16, 17), True: (6, 7, 8, 9)}
"""The numbers of digits that may suffice, for numbers of 64 and of 32 bits."""


def text_of_real(expression: str, *, is_short: bool) -> str:
    """Return the expression of the text of a real number; a short one has 32 bits."""
    own = "FLOAT" if is_short else "DOUBLE"
    # Adding 0 turns a negative zero into the zero that it equals.
    number = f"CAST({expression} + 0 AS DOUBLE)"
    *fewer, most = _DIGITS[is_short]
    plain = _first_exact("%.{}g", number, own, fewer, most)
    whole = f"CAST(TRY_CAST(CAST({plain} AS DOUBLE) AS BIGINT) AS VARCHAR) || '.0'"
    # With an exponent there is one digit before the point, and one fewer after it.
    large = _first_exact("%.{}e", number, own, [n - 1 for n in fewer], most - 1)
    large = f"regexp_replace({large}, '[.]?0*e', 'e')"
    is_large = f"abs({number}) >= 1e16 AND isfinite({number})"
    # For powers of two and numbers near zero, the cast sometimes finds fewer digits.
    found = f"(CASE WHEN {is_large} THEN {large} ELSE {plain} END)"
    cast = f"CAST(CAST({number} AS {own}) AS VARCHAR)"
    is_better = f"TRY_CAST({cast} AS {own}) = {number} AND length({cast}) < length({found})"
    return (
        # The statistics of a file ignore NaN, and so does the optimizer.
        f"CASE WHEN abs({number}) < 1e16 AND {number} = floor({number}) "
        f"THEN coalesce({whole}, {found}) WHEN {is_better} THEN {cast} ELSE {found} END"
    )


def _first_exact(template: str, number: str, own: str, fewer: list[int], most: int) -> str:
    """Return the text with the fewest digits that read back as the number."""
    tries = "".join(
        f"WHEN CAST({text} AS {own}) = {number} THEN {text} "
        for text in (f"printf('{template.format(n)}', {number})" for n in fewer)
    )
    return f"CASE {tries}ELSE printf('{template.format(most)}', {number}) END"


_CLOSED: Mapping[str, str] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
_SETTINGS = {
    # The date of a timestamp must not depend on where the machine is.
    "TimeZone": "'UTC'",
    # The type of a column of Python objects is inferred from all of them. DuckDB would look at a
    # thousand, and round a fraction that it did not see to a whole number.
    "pandas_analyze_sample": str(2**62),
}
_REACHING_OUT = (duckdb.PermissionException, duckdb.CatalogException, duckdb.BinderException)
_CHANGED = "memory_limit"
"""The only setting that the engine changes while it works."""


@dataclass(frozen=True)
class TableOfFile:
    """A table or a view of a DuckDB file."""

    schema: str
    name: str
    is_view: bool


def connect(directory: Path, memory: int | None) -> duckdb.DuckDBPyConnection:
    """Open the connection of an engine that spills into a private directory.

    `memory` is its limit in bytes; None leaves DuckDB's default.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        **_CLOSED,
        "temp_directory": str(directory / "spill"),
    }
    if memory is not None:
        config["memory_limit"] = f"{memory}B"
    n_threads = core_share()
    if n_threads is not None:
        config["threads"] = n_threads
    connection = duckdb.connect(":memory:", config=config)
    for setting, value in _SETTINGS.items():
        connection.execute(f"SET {setting} = {value}")
    # In a DuckDB without `allowed_configs`, the lock would cover the memory limit as well.
    with contextlib.suppress(duckdb.CatalogException):
        connection.execute(f"SET allowed_configs = ['{_CHANGED}']")
        connection.execute("SET lock_configuration = true")
    return connection


def find_table(path: Path, table: str | None) -> TableOfFile:
    """Return the table or view of a DuckDB file with a given name; None if it holds only one."""
    with contextlib.closing(_closed_connection(path)) as connection:
        found = [
            TableOfFile(str(schema), str(name), str(kind) == "VIEW")
            for schema, name, kind in connection.execute(
                "SELECT table_schema, table_name, table_type FROM information_schema.tables "
                "WHERE table_catalog = 'source' ORDER BY ALL"
            ).fetchall()
        ]
    matching = [one for one in found if table in (None, one.name)]
    if len(matching) == 1:
        return matching[0]
    what = "no table" if not matching else f"{len(matching)} tables"
    raise SchemaError(
        f"{path.name} has {what} to read" + (f" named {table!r}." if table else "."),
        hint=f"say which: table=...; it holds {', '.join(repr(one.name) for one in found)}.",
    )


def copy_view(path: Path, view: TableOfFile, target: Path) -> None:
    """Copy a view of a DuckDB file into a table of the same name in the DuckDB file `target`.

    The view runs where it can read only its own file, and is refused if it needs more.
    """
    name = f"{quoted(view.schema)}.{quoted(view.name)}"
    with contextlib.closing(_closed_connection(path, target)) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS target.{quoted(view.schema)}")
        try:
            connection.execute(f"CREATE TABLE target.{name} AS SELECT * FROM source.{name}")
        except _REACHING_OUT as error:
            internal_log.info("%s", error)
            raise DataError(
                f"The view {view.name!r} of {path.name} cannot be read: it needs more than the "
                "tables of its own file.",
                hint="make a table of it: CREATE TABLE ... AS SELECT * FROM the view.",
            ) from None


def _closed_connection(path: Path, target: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open a connection that can reach a DuckDB file, and the file that it is copied into."""
    connection = duckdb.connect(":memory:", config=dict(_CLOSED))
    try:
        connection.execute(f"ATTACH {literal(path)} AS source (READ_ONLY)")
        if target is not None:
            connection.execute(f"ATTACH {literal(target)} AS target")
            connection.execute(f"SET temp_directory = {literal(target.parent / 'spill')}")
        connection.execute(f"SET TimeZone = {_SETTINGS['TimeZone']}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


# Errors ------------------------------------------------------------------------------------

_LONGER_LINES = 'raise it: max_line = "64MB" under [engine].'
_FAULTS = (
    (
        "No space left on device",
        "The disk is full.",
        "free some space, or choose another disk; TMPDIR says where temporary files go.",
    ),
    (
        "File too large",
        "A file would grow larger than the system allows.",
        "raise the limit (ulimit -f), or choose another disk.",
    ),
    (
        "max_temp_directory_size",
        "The folder for temporary files is full.",
        "free some space there, or set TMPDIR to a folder on a larger disk.",
    ),
    (
        "Out of Memory Error",
        "There is not enough memory for this table.",
        'give more (--memory 8GB, or [engine] memory = "8GB"), or publish fewer columns.',
    ),
    (
        "Could not read enough bytes",
        "A file became shorter while it was read.",
        "wait until nobody writes to it, or read a copy.",
    ),
    (
        "No files found that match",
        "A file vanished before it was read.",
        "is its disk still there, and does nobody move it?",
    ),
    (
        "does not support a full read",
        "The CSV file has a line that is longer than the limit.",
        _LONGER_LINES,
    ),
)
"""A part of a DuckDB message about an exhausted machine, and the fact and hint to report."""
_CSV_FAULTS = (
    (
        "unicode",
        "is not valid UTF-8.",
        "give the encoding of the file, for example encoding='cp1252'.",
    ),
    ("Maximum line size", "is longer than the limit.", _LONGER_LINES),
    (
        "Number of Columns",
        "does not have as many fields as the header.",
        "is a value with a delimiter or a newline not in quotes?",
    ),
    (
        "",
        "cannot be read.",
        "is a quote left open, or a line too long? You can also give delimiter and quote.",
    ),
)
"""The same for a line of a CSV file."""


@contextlib.contextmanager
def guarded(statement: str = "") -> Iterator[None]:
    """Turn errors of DuckDB into Shoal's own; DuckDB's text goes to the internal log."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        internal_log.info("%s\n%s", error, statement)
        raise _translated(str(error)) from None
    except RuntimeError as error:
        if "interrupt" in str(error).lower():
            raise KeyboardInterrupt from None
        raise


def _translated(message: str) -> EngineError | DataError:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if line is not None:
        _, fact, hint = next(fault for fault in _CSV_FAULTS if fault[0] in message)
        return DataError(f"Line {line.group(1)} of the CSV file {fact}", hint=hint)
    if "CSV Parser" in message:
        return DataError(
            "The CSV file cannot be read.",
            hint="do all its lines end in the same way, and is every quote closed?",
        )
    for mark, fact, hint in _FAULTS:
        if mark in message:
            return EngineError(fact, hint=hint)
    kind = re.match(r"[A-Z][A-Za-z ]{1,40} Error(?=:)", message)
    return EngineError(
        f"DuckDB refused ({kind.group() if kind else 'no reason that can be shown'}).",
        hint=SEE_LOG,
    )
