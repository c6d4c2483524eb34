"""Types of Postgres in DuckDB's words, and canonical texts in Postgres' SQL.

Postgres writes reals in other words than Python and DuckDB do: without a point where they are
whole, with an exponent from 15 digits on (6 for short ones), and with one digit more where the
shortest text lies exactly between two reals. Here they are written as everywhere else in Shoal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PLAIN_TYPES", "ServerColumn", "duckdb_type", "real_text", "server_type"]

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
"""The types of Postgres, numeric aside, that hold plain values."""

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
    """A column of a table in Postgres.

    Parameters
    ----------
    name
        The column's name.
    base
        The name of its type in the catalog; of a domain that of the type below it.
    stated
        Its type as Postgres writes it.
    is_enumeration
        Whether the type is an enumeration.
    digits
        The digits before and behind the point that a numeric column needs; None of other columns
        and where 38 digits do not suffice, or a value is infinite or no number.
    """

    name: str
    base: str
    stated: str
    is_enumeration: bool = False
    digits: tuple[int, int] | None = None

    @property
    def kind(self) -> str:
        """The type in DuckDB's words; another word where the column holds no plain value."""
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
        """Give the column as a type that holds nothing but its value.

        Texts sort by code points. A type that holds no plain value is carried as its text: some
        of them, such as json, cannot even be compared.
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
    """Give the type of Postgres that holds values of a type of DuckDB; text where none does.

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
    """Give the type of DuckDB that holds a column of a result.

    Examples
    --------
    >>> duckdb_type("numeric", 10, 2), duckdb_type("numeric", None, None)
    ('DECIMAL(10,2)', 'DOUBLE')
    """
    if base == "numeric":
        if precision is None:
            return "DOUBLE"  # a sum, as DuckDB's own sums come out
        return f"DECIMAL({precision},{scale or 0})" if precision <= _MOST_DIGITS else "VARCHAR"
    return _TYPES.get(base, "VARCHAR")


def real_text(number: str, *, is_short: bool) -> str:
    """Give the expression of a real number's text, as Python's repr and DuckDB write it.

    Parameters
    ----------
    number
        An expression of type double precision, or real where it is short.
    is_short
        Whether it is real, of 32 bits.
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
    """Write a number without an exponent."""
    return (
        f"CASE WHEN {number} = floor({number}) THEN concat(trunc({number}), '.0') "
        f"ELSE CAST({number} AS text) END"
    )


def _shortest(number: str, text: str, kind: str, is_plain: str) -> str:
    """Search the fewest digits that are read as the number.

    Postgres takes no text that lies exactly between two reals, where readers round to the even
    one. Such texts with fewer digits are found only among whole numbers of this size.
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
