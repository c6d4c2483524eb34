"""Read a table with its schema."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.errors import SchemaError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Dataset
from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Engine, Origin, Scan
from shoal.engines.limits import Limits
from shoal.engines.opening import is_postgres_address, open_engine
from shoal.engines.postgres_connection import without_password
from shoal.engines.table import EngineTable

__all__ = ["columns_of", "read", "scan_source"]


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
) -> EngineTable:
    """Read a table and check it against its schema.

    Parameters
    ----------
    source
        The path of a CSV, Parquet, Arrow or DuckDB file; an Arrow table, a pandas or polars frame,
        a DuckDB relation, a mapping of columns, or a `shoal.datasets.Dataset`; a Spark frame; the
        address of a Postgres database.
    schema
        The roles of the columns; a Dataset brings its own.
    table
        Which table of a DuckDB file or a database.
    delimiter, quote, encoding
        How a CSV file is written, where it is not to be found out.
    engine
        What holds and sorts the rows: ``"duckdb"``, ``"spark"``, ``"postgres"``, or a Spark
        session. It follows from the source where none is given.
    memory
        The memory that the run is to stay within, such as ``"4GB"``; half of what is free where
        none is given. The engine spills what does not fit into a private directory.
    limits
        What a file may cost before it is refused: `shoal.Limits(max_columns=..., ...)`.

    Returns
    -------
    The table, staged in the engine.

    Examples
    --------
    >>> import shoal
    >>> columns = {"age": [29, 22, 27], "disease": ["flu", "cold", None]}
    >>> shoal.read(columns, shoal.Schema(quasi=["age"], sensitive="disease"))
    Table(columns: 3 rows, 2 columns)
    """
    if isinstance(source, Dataset):
        schema = source.schema if schema is None else schema
        source = source.columns
    if schema is None:
        raise SchemaError(
            "No schema is given, and roles are never guessed.",
            hint="shoal.read(source, shoal.Schema(quasi=[...], sensitive=...))",
        )
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"The schema must be a shoal.Schema, not a {type(schema).__name__}.",
            hint="shoal.Schema(quasi=[...], sensitive=...), or shoal.Schema.from_roles({...}).",
        )
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    given = {name: value for name, value in options.items() if value is not None}
    opened, scan = scan_source(source, given, engine=engine, memory=memory, limits=limits)
    try:
        return EngineTable(opened, scan, schema)
    except BaseException:
        opened.close()
        raise


def scan_source(
    source: Any,
    options: dict[str, str],
    *,
    engine: Any = None,
    memory: str | None = None,
    limits: Limits | None = None,
) -> tuple[Engine, Scan]:
    """Open the engine that reads a source, and look at the source; whoever asks closes it.

    Parameters
    ----------
    source, engine, memory, limits
        As for `read`.
    options
        What is given of table, delimiter, quote and encoding.
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
    )
    return opened, replace(scan, origin=origin)


def _address(source: Any, engine: str) -> str | None:
    """Say where a source stands, without a password; None where it is in memory."""
    if not isinstance(source, str | Path):
        return None
    if is_postgres_address(source):
        return without_password(str(source))
    if isinstance(source, str) and "://" in source:
        return re.sub(r"://[^/]*@", "://", source)
    if engine.startswith("spark") and not Path(source).exists():
        return str(source)
    return str(Path(source).absolute())


def columns_of(source: Any, **options: Any) -> tuple[str, ...]:
    """Name the columns of a source, without reading it.

    Parameters
    ----------
    source, options
        As for `read`: table, delimiter, quote, encoding.
    """
    engine = DuckDB()
    try:
        return tuple(engine.scan(source, **options).types)
    finally:
        engine.close()
