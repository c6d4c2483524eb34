"""Read a table with its schema."""

from __future__ import annotations

from typing import Any

from shoal.core.errors import SchemaError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Dataset
from shoal.engines.duckdb import DuckDB
from shoal.engines.limits import Limits
from shoal.engines.opening import open_engine
from shoal.engines.table import EngineTable

__all__ = ["columns_of", "read"]


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
    opened = open_engine(source, engine, memory=memory, limits=limits)
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    try:
        scan = opened.scan(source, **{k: v for k, v in options.items() if v is not None})
        return EngineTable(opened, scan, schema)
    except BaseException:
        opened.close()
        raise


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
