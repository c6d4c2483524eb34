"""What goes into Postgres and what comes out of it: relations of DuckDB in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from shoal.engines.postgres_connection import Connection, quoted
from shoal.engines.postgres_types import server_type

__all__ = ["as_array", "copy_into", "is_loaded_as_text", "joined"]

_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), np.int64),
    **dict.fromkeys(("float4", "float8", "numeric"), np.float64),
    "bool": np.bool_,
    **dict.fromkeys(("date", "timestamp"), np.dtype("datetime64[us]")),
}


def copy_into(
    connection: Connection, table: str, relation: duckdb.DuckDBPyRelation, folder: Path
) -> None:
    """Copy a relation of DuckDB into a table of Postgres that has its columns.

    Parameters
    ----------
    folder
        A private directory for the file between the two.
    """
    # In Postgres' own format of lines: in CSV it would take a line with \. alone for the end.
    escaped = relation.project(
        ", ".join(
            f"{_escaped(quoted(column), str(kind))} AS c{place}"
            for place, (column, kind) in enumerate(
                zip(relation.columns, relation.types, strict=True)
            )
        )
    )
    path = folder / "copied"
    try:
        escaped.write_csv(
            str(path), sep="\t", na_rep="\\N", header=False, quotechar="", escapechar=""
        )
        connection.copy_in(f"COPY {table} FROM STDIN", path)
    finally:
        path.unlink(missing_ok=True)


def _escaped(column: str, kind: str) -> str:
    if kind in ("DATE", "TIMESTAMP WITH TIME ZONE") or kind.startswith("TIMESTAMP"):
        return f"replace(CAST({column} AS VARCHAR), ' (BC)', ' BC')"
    if kind in ("DOUBLE", "FLOAT", "REAL"):
        # DuckDB 2.0 writes three powers of two, 2**81 among them, as other numbers.
        return f"printf('%.17g', CAST({column} AS DOUBLE))"
    if not is_loaded_as_text(kind):
        return column
    text = f"CAST({column} AS VARCHAR)"
    for character, letter in (("'\\'", "\\\\"), ("chr(9)", "\\t"), ("chr(10)", "\\n")):
        text = f"replace({text}, {character}, '{letter}')"
    return f"replace({text}, chr(13), '\\r')"


def is_loaded_as_text(kind: str) -> bool:
    """Tell whether values of a type of DuckDB are kept as texts."""
    return server_type(kind).startswith("text")


def as_array(values: Sequence[Any], kind: str) -> npt.NDArray[Any]:
    """Give fetched values of a type of Postgres as an array, masked where some are missing."""
    dtype = _KINDS.get(kind, np.dtype(object))
    if None not in values:
        array = np.empty(len(values), dtype=dtype)
        array[:] = values
        return array
    filler: Any = {"f": np.nan, "M": np.datetime64("NaT"), "O": None}.get(np.dtype(dtype).kind, 0)
    masked: npt.NDArray[Any] = np.ma.empty(len(values), dtype=dtype)
    masked[:] = [filler if value is None else value for value in values]
    masked[[value is None for value in values]] = np.ma.masked
    return masked


def joined(pieces: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join arrays; the result is masked where one of them is."""
    if len(pieces) == 1:
        return pieces[0]
    if any(isinstance(piece, np.ma.MaskedArray) for piece in pieces):
        masked: npt.NDArray[Any] = np.ma.concatenate(pieces)  # type: ignore[no-untyped-call]
        return masked
    return np.concatenate(pieces)
