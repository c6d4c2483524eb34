"""Read a table with its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.errors import ParameterError, SchemaError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Dataset
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Engine, Origin, Scan, is_postgres_address, open_engine
from shoal.engines.limits import Limits
from shoal.engines.postgres.connection import without_password
from shoal.engines.sql.table import EngineTable


def read(
    source: Any,
    schema: Schema | None = None,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    engine: Any = None,
    memory: str | None = None,
    limits: Limits | None = None,
    **roles: Any,
) -> EngineTable:
    """Read a table and check it against its schema.

    Parameters
    ----------
    source
        The path of a CSV, Parquet, Arrow or DuckDB file; an Arrow table, a pandas or polars frame,
        a DuckDB relation, a mapping of columns, or a `shoal.datasets.Dataset`; a Spark frame; the
        address of a Postgres database.
    schema
        The roles of the columns, as a `shoal.Schema`. Default: made of `roles`; a Dataset brings
        its own.
    table
        The name of the table in a DuckDB file or a database. Default: the only one.
    delimiter, quote, encoding
        The format of a CSV file. Default: detected from the file.
    engine
        The engine that holds and sorts the rows: ``"duckdb"``, ``"spark"``, ``"postgres"``, or a
        Spark session. Default: chosen by the source.
    memory
        The memory limit, such as ``"4GB"``; larger data spills to a private directory on disk.
        Default: half the free memory.
    limits
        The limits beyond which a file is refused: `shoal.config.Limits(max_columns=..., ...)`.
        Default: those of `shoal.config.Limits()`.
    roles
        In place of a schema, the keywords of `shoal.Schema`: `quasi`, `sensitive`, `identifying`,
        `insensitive`, `hierarchies`, `key` and so on.

    Returns
    -------
    The table, staged in the engine.

    Raises
    ------
    SchemaError
        If no roles are given, or they don't fit the table: roles are never guessed.

    Examples
    --------
    >>> import shoal
    >>> columns = {"age": [29, 22, 27], "disease": ["flu", "cold", None]}
    >>> shoal.read(columns, quasi=["age"], sensitive="disease")
    Table(columns: 3 rows, 2 columns)
    >>> shoal.read(columns, shoal.Schema(quasi=["age"], sensitive="disease"))
    Table(columns: 3 rows, 2 columns)
    """
    if isinstance(source, Dataset):
        schema = source.schema if schema is None and not roles else schema
        source = source.columns
    schema = _schema(schema, roles)
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    given = {name: value for name, value in options.items() if value is not None}
    opened, scan = scan_source(source, given, engine=engine, memory=memory, limits=limits)
    try:
        return EngineTable(opened, scan, schema)
    except BaseException:
        opened.close()
        raise


def _schema(schema: Schema | None, roles: Mapping[str, Any]) -> Schema:
    """Return the schema: the one given, or the one that the roles make."""
    if schema is None and not roles:
        raise SchemaError(
            "No schema is given, and roles are never guessed.",
            hint="shoal.read(source, quasi=[...], sensitive=...)",
        )
    if schema is None:
        return Schema(**roles)
    if roles:
        raise SchemaError(
            f"A schema is given, and beside it {', '.join(sorted(roles))}.",
            hint="give either a schema or the roles of columns.",
        )
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"The schema must be a shoal.Schema, not a {type(schema).__name__}.",
            hint="shoal.Schema(quasi=[...], sensitive=...), or shoal.Schema.from_roles({...}).",
        )
    return schema


def scan_source(
    source: Any,
    options: dict[str, str],
    *,
    engine: Any = None,
    memory: str | None = None,
    limits: Limits | None = None,
) -> tuple[Engine, Scan]:
    """Open the engine that reads a source, and scan the source; the caller closes the engine.

    `options` holds those of table, delimiter, quote and encoding that are given.
    """
    opened = open_engine(source, engine, memory=memory, limits=limits)
    try:
        scan = opened.scan(source, **options)
    except BaseException:
        opened.close()
        raise
    origin = Origin(
        address=_address(source, opened.name),
        engine=opened.name.partition(" ")[0],
        options=options,
        limits=Limits() if limits is None else limits,
        source=source,
    )
    return opened, replace(scan, origin=origin)


def _address(source: Any, engine: str) -> str | None:
    """Return the address of a source, without a password; None if it is in memory."""
    if not isinstance(source, str | Path):
        return None
    if is_postgres_address(source):
        return without_password(str(source))
    if isinstance(source, str) and "://" in source:
        # Greedy: an unescaped slash or at sign in a password must not end it.
        return re.sub(r"://.*@", "://", source)
    if engine.startswith("spark") and not Path(source).exists():
        return str(source)
    return str(Path(source).absolute())


def columns_of(source: Any, **options: Any) -> tuple[str, ...]:
    """Return the names of the columns of a source, without reading its rows."""
    engine = DuckDB()
    try:
        return tuple(engine.scan(source, **options).types)
    finally:
        engine.close()


def read_source(source: str, engine: str | None = None) -> Path | str:
    """Interpret a source typed by a user: a path, an address, or the name of a table of Spark.

    An address that no engine reads is refused; it may hold a password, so it is not repeated.

    Examples
    --------
    >>> read_source("postgresql://host/people")
    'postgresql://host/people'
    """
    if is_postgres_address(source):
        return source
    if "://" in source and engine != "spark":
        raise ParameterError(
            "The source is an address that Shoal cannot read.",
            hint="it reads postgresql://...; with the engine spark also what Spark reads.",
        )
    if engine != "spark":
        return Path(source)
    try:
        return Path(source) if Path(source).exists() else source
    except (OSError, ValueError):
        return source
