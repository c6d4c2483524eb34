"""Read a table with its schema."""

from __future__ import annotations

from typing import Any

from shoal.core.errors import SchemaError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Dataset
from shoal.engines.duckdb import DuckDB
from shoal.engines.table import EngineTable

__all__ = ["read"]


def read(
    source: Any,
    schema: Schema | None = None,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> EngineTable:
    """Read a table and check it against its schema.

    Parameters
    ----------
    source
        The path of a CSV, Parquet, Arrow or DuckDB file; an Arrow table, a pandas or polars frame,
        a DuckDB relation, a mapping of columns, or a `shoal.datasets.Dataset`.
    schema
        The roles of the columns; a Dataset brings its own.
    table
        Which table of a DuckDB file.
    delimiter, quote, encoding
        How a CSV file is written, where it is not to be found out.
    memory
        The memory that the engine may use before it spills, such as ``"4GB"``.

    Returns
    -------
    The table, staged in the embedded engine.

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
    engine = DuckDB(memory)
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    try:
        scan = engine.scan(source, **{k: v for k, v in options.items() if v is not None})
        return EngineTable(engine, scan, schema)
    except BaseException:
        engine.close()
        raise
