"""Types and values that cross between Postgres and DuckDB, and canonical texts in Postgres' SQL.

Postgres does not write reals as Python and DuckDB do: whole numbers have no point, the exponent
begins at 15 digits (6 for short ones), and there is one digit more if the shortest text lies
exactly between two reals. Here they are written as everywhere else in Shoal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from shoal.engines.files import quoted
from shoal.engines.postgres.connection import Connection

_INTEGERS = {"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "oid": "BIGINT"}
_TEXTS = ("text", "varchar", "bpchar", "char", "name", "uuid", "citext")
_TYPES = {
    **_INTEGERS,
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "bool": "BOOLEAN",
    **dict.fromkeys(_TEXTS, "VARCHAR"),
}
PLAIN_TYPES = tuple(_TYPES)
"""The types of Postgres, apart from numeric, that hold plain values."""

_SERVER_TYPES = {
    "TINYINT": "smallint",
    "SMALLINT": "smallint",
    "UTINYINT": "smallint",
    "INTEGER": "integer",
    "USMALLINT": "integer",
    "BIGINT": "bigint",
    "UINTEGER": "bigint",
    "UBIGINT": "numeric(20,0)",
    "HUGEINT": "numeric(39,0)",
    "UHUGEINT": "numeric(39,0)",
    "FLOAT": "real",
    "REAL": "real",
    "DOUBLE": "double precision",
    "DATE": "date",
    "BOOLEAN": "boolean",
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
}
_MOST_DIGITS = 38


@dataclass(frozen=True)
class ServerColumn:
    """A column of a table in Postgres."""

    name: str
    base: str  # The type's name in the catalog; for a domain, that of the underlying type.
    stated: str  # The type as Postgres writes it.
    is_enumeration: bool = False
    # The digits before and after the point that a numeric column needs; None for other columns, if
    # 38 digits do not suffice, or if a value is infinite or NaN.
    digits: tuple[int, int] | None = None

    @property
    def kind(self) -> str:
        """The type under DuckDB's name; Postgres' own name if the column holds no plain values."""
        if self.base == "numeric":
            return "DECIMAL(any)" if self.digits is None else f"DECIMAL({self._precision})"
        if self.is_enumeration:
            return "VARCHAR"
        return _TYPES.get(self.base, self.stated.upper())

    @property
    def _precision(self) -> str:
        before, behind = self.digits or (0, 0)
        return f"{max(before + behind, 1)},{behind}"

    def expression(self, quoted: str) -> str:
        """Return the column cast to a type that holds nothing but its value.

        Texts sort by code points. A type without plain values becomes text: some of them, such as
        json, cannot even be compared.
        """
        if self.base == "numeric":
            if self.digits is not None:
                return f"CAST({quoted} AS numeric({self._precision}))"
            return f'CAST(trim_scale({quoted}) AS text) COLLATE "C"'
        kind = _TYPES.get(self.base)
        if kind is None or kind == "VARCHAR":
            return f'CAST({quoted} AS text) COLLATE "C"'
        return f"CAST({quoted} AS {_server_name(kind)})"


def _server_name(kind: str) -> str:
    return "timestamp" if kind == "TIMESTAMP" else _SERVER_TYPES[kind]


def server_type(kind: str) -> str:
    """Return the type of Postgres that holds values of a type of DuckDB; text if none does.

    Examples
    --------
    >>> server_type("DECIMAL(10,2)"), server_type("UINTEGER"), server_type("INTEGER[]")
    ('numeric(10,2)', 'bigint', 'text COLLATE "C"')
    """
    if re.fullmatch(r"DECIMAL\([0-9]+,[0-9]+\)", kind):
        return kind.replace("DECIMAL", "numeric")
    if re.fullmatch("TIMESTAMP(_S|_MS|_NS)?", kind):
        return "timestamp"
    return _SERVER_TYPES.get(kind, 'text COLLATE "C"')


def duckdb_type(base: str, precision: int | None, scale: int | None) -> str:
    """Return the type of DuckDB that holds a column of a result.

    Examples
    --------
    >>> duckdb_type("numeric", 10, 2), duckdb_type("numeric", None, None)
    ('DECIMAL(10,2)', 'DOUBLE')
    """
    if base == "numeric":
        if precision is None:
            return "DOUBLE"  # a sum; sums in DuckDB have this type too
        return f"DECIMAL({precision},{scale or 0})" if precision <= _MOST_DIGITS else "VARCHAR"
    return _TYPES.get(base, "VARCHAR")


def real_text(number: str, *, is_short: bool) -> str:
    """Return the expression of a real number's text, as Python's repr and DuckDB write it.

    The number is of type double precision or, if it is short, real.
    """
    kind, n_plain = ("real", 6) if is_short else ("double precision", 15)
    least, most = ("1.6e7", "1e20") if is_short else ("9e15", "1e40")
    text = f"CAST({number} AS text)"
    size = f"abs({number})"
    is_whole = f"{number} = floor({number})"
    below = f"{size} < CAST('1e{n_plain}' AS {kind})"
    between = f"{size} >= CAST('{least}' AS {kind}) AND {size} < CAST('{most}' AS {kind})"
    is_plain = f"{size} < CAST('1e16' AS {kind})"
    return (
        f"CASE WHEN {below} AND {is_whole} THEN concat({text}, '.0') "
        f"WHEN {below} THEN {text} "
        f"WHEN {size} >= CAST('Infinity' AS {kind}) "
        f"THEN replace(lower({text}), 'inity', '') "
        f"WHEN {between} THEN {_shortest(number, text, kind, is_plain)} "
        f"WHEN {is_plain} THEN {_plain(f'CAST({text} AS numeric)')} ELSE {text} END"
    )


def _plain(number: str) -> str:
    """Return a number written without an exponent."""
    return (
        f"CASE WHEN {number} = floor({number}) THEN concat(trunc({number}), '.0') "
        f"ELSE CAST({number} AS text) END"
    )


def _shortest(number: str, text: str, kind: str, is_plain: str) -> str:
    """Return the text with the fewest digits that read back as the number.

    Postgres does not choose a text that lies exactly between two reals, although readers round it
    to the even one. Such texts are shorter only for whole numbers of this size.
    """
    mantissa = f"CAST(split_part({text}, 'e', 1) AS numeric)"
    exponent = f"CAST(split_part({text}, 'e', 2) AS integer)"
    rounded = f"trim_scale(round({mantissa}, digits))"
    carried = f"CASE WHEN abs({rounded}) = 10 THEN 1 ELSE 0 END"
    shifted = f"CAST(concat({rounded}, 'e', {exponent}) AS numeric)"
    return (
        f"(SELECT CASE WHEN {is_plain} THEN {_plain(shifted)} "
        f"ELSE concat(trim_scale({rounded} / CASE WHEN abs({rounded}) = 10 THEN 10 ELSE 1 END), "
        f"'e+', {exponent} + {carried}) END "
        "FROM generate_series(0, 17) AS search(digits) "
        f"WHERE CAST(concat({rounded}, 'e', {exponent}) AS {kind}) = {number} "
        "ORDER BY digits LIMIT 1)"
    )


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), np.int64),
    **dict.fromkeys(("float4", "float8", "numeric"), np.float64),
    "bool": np.bool_,
    **dict.fromkeys(("date", "timestamp"), np.dtype("datetime64[us]")),
}


def copy_into(
    connection: Connection, table: str, relation: duckdb.DuckDBPyRelation, folder: Path
) -> None:
    """Copy a relation of DuckDB into a table of Postgres with the same columns.

    The file between the two is written to `folder`, a private directory.
    """
    # In Postgres' text format: in CSV, a line with \. alone would mark the end of the data.
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
        # DuckDB 2.0 writes three powers of two, among them 2**81, as other numbers.
        return f"printf('%.17g', CAST({column} AS DOUBLE))"
    if not is_loaded_as_text(kind):
        return column
    text = f"CAST({column} AS VARCHAR)"
    for character, letter in (("'\\'", "\\\\"), ("chr(9)", "\\t"), ("chr(10)", "\\n")):
        text = f"replace({text}, {character}, '{letter}')"
    return f"replace({text}, chr(13), '\\r')"


def is_loaded_as_text(kind: str) -> bool:
    """Return whether Postgres holds values of a type of DuckDB as texts."""
    return server_type(kind).startswith("text")


def as_array(values: Sequence[Any], kind: str) -> npt.NDArray[Any]:
    """Return fetched values of a type of Postgres as an array, masked if some are missing."""
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
    """Concatenate arrays; the result is masked if one of them is."""
    if len(pieces) == 1:
        return pieces[0]
    if any(isinstance(piece, np.ma.MaskedArray) for piece in pieces):
        masked: npt.NDArray[Any] = np.ma.concatenate(pieces)  # type: ignore[no-untyped-call]
        return masked
    return np.concatenate(pieces)
