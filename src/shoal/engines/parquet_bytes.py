"""Small tables as the bytes of a Parquet file, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, EngineError
from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Columns
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.texts import texts_of

__all__ = ["columns_of_parquet", "parquet_of_columns"]

_TABLE = "parquet_columns"
_FILE = "columns.parquet"


def parquet_of_columns(engine: DuckDB, columns: Columns) -> bytes:
    """Give the bytes of a Parquet file with some columns."""
    directory = PrivateDirectory()
    path = directory.path / _FILE
    # Any text may be the name of a column in a file.
    engine.push(_TABLE, {f"c{place}": array for place, array in enumerate(columns.values())})
    named = ", ".join(f"c{place} AS {engine.quote(name)}" for place, name in enumerate(columns))
    try:
        engine.write(f"SELECT {named} FROM {_TABLE}", path, "parquet")
        return path.read_bytes()
    finally:
        engine.drop(_TABLE)
        directory.remove()


def columns_of_parquet(engine: DuckDB, content: bytes, name: str) -> dict[str, npt.NDArray[Any]]:
    """Read the columns of a Parquet file from its bytes; texts are objects, None where missing.

    Parameters
    ----------
    name
        What the file is called, for errors.

    Raises
    ------
    DataError
        Where the bytes are not such a file.
    """
    directory = PrivateDirectory()
    path = directory.path / _FILE
    try:
        path.write_bytes(content)
        relation = engine.scan_own(path, is_trusted=True).relation
        fetched = engine.rows(f"SELECT * FROM {relation}")
    except EngineError:
        raise DataError(f"{name} cannot be read.", hint="was it changed?") from None
    finally:
        directory.remove()
    return {
        column: array if array.dtype.kind in "biu" else _objects(texts_of(array))
        for column, array in fetched.items()
    }


def _objects(texts: list[str | None]) -> npt.NDArray[np.object_]:
    array: npt.NDArray[np.object_] = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
