"""Connections to DuckDB that can do no more than Shoal needs.

No connection of Shoal's installs or loads an extension, reads stored secrets, or lets a statement
change a setting. The engine's own connection reads sources and writes releases at paths that Shoal
chooses, so it keeps the access to files; every statement that it runs is Shoal's own. The one
foreign SQL that exists is a view of a DuckDB file. It is run by a connection of its own, which can
reach that file, the copy that it makes, and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from shoal.core.errors import DataError, SchemaError
from shoal.core.log import internal_log
from shoal.engines.paths import literal

__all__ = ["TableOfFile", "connect", "copy_view", "find_table"]

_CLOSED: Mapping[str, str] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
_SETTINGS = {
    # A moment's date must not depend on where the machine stands.
    "TimeZone": "'UTC'",
    # The type of a column of Python objects is read off all of them. DuckDB would look at a
    # thousand and turn a fraction that it did not see into a whole number.
    "pandas_analyze_sample": str(2**62),
}
_REACHING_OUT = (duckdb.PermissionException, duckdb.CatalogException, duckdb.BinderException)
_CHANGED = "memory_limit"
"""The one setting that the engine changes while it works."""


@dataclass(frozen=True)
class TableOfFile:
    """A table or a view of a DuckDB file."""

    schema: str
    name: str
    is_view: bool


def connect(directory: Path, memory: int | None) -> duckdb.DuckDBPyConnection:
    """Open the connection of an engine.

    Parameters
    ----------
    directory
        The private directory into which it spills.
    memory
        The limit of its memory in bytes; DuckDB's own default if None.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        **_CLOSED,
        "temp_directory": str(directory / "spill"),
    }
    if memory is not None:
        config["memory_limit"] = f"{memory}B"
    connection = duckdb.connect(":memory:", config=config)
    for setting, value in _SETTINGS.items():
        connection.execute(f"SET {setting} = {value}")
    # Before DuckDB has `allowed_configs`, a lock would also keep the limit of memory as it is.
    with contextlib.suppress(duckdb.CatalogException):
        connection.execute(f"SET allowed_configs = ['{_CHANGED}']")
        connection.execute("SET lock_configuration = true")
    return connection


def find_table(path: Path, table: str | None) -> TableOfFile:
    """Find the table or view of a DuckDB file that is to be read.

    Parameters
    ----------
    path
        The file.
    table
        Its name; None if the file holds only one.

    Raises
    ------
    SchemaError
        If there is no such table, or more than one.
    """
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
    """Run a view of a DuckDB file where it can read nothing else, and keep what it gives.

    Parameters
    ----------
    path, view
        The file and the view.
    target
        The DuckDB file that gets a table of the same name.

    Raises
    ------
    DataError
        If the view reads more than the tables of its file.
    """
    name = f"{_quoted(view.schema)}.{_quoted(view.name)}"
    with contextlib.closing(_closed_connection(path, target)) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS target.{_quoted(view.schema)}")
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
    """Open a connection that can reach a DuckDB file, and the one that it is copied into."""
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


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'
