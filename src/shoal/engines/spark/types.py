"""Types and canonical texts in Spark's SQL: the same texts as DuckDB's, digit for digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

PLAIN = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)|VARCHAR|DATE|"
    r"TIMESTAMP( WITH TIME ZONE)?"
)
"""The types that both engines have; values of all other types reach Spark as texts."""

_WORDS = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "void": '"NULL"',
}

_SCHUBFACH = "com.fasterxml.jackson.core.io.schubfach"
_TINY = {
    "4.9E-324": "5e-324", "9.9E-324": "1e-323", "4.9E-323": "5e-323", "5.9E-323": "6e-323",
    "6.9E-323": "7e-323", "7.9E-323": "8e-323", "8.9E-323": "9e-323", "9.9E-323": "1e-322",
    "1.4E-45": "1e-45", "2.8E-45": "3e-45", "4.2E-45": "4e-45", "5.6E-45": "6e-45",
    "8.4E-45": "8e-45", "9.8E-45": "1e-44", "9.9E-44": "1e-43",
}  # fmt: skip
"""The only numbers for which one digit suffices and Java insists on two."""

REFLECTION_PROBE = f"SELECT reflect('{_SCHUBFACH}.DoubleToDecimal', 'toString', 2.0E-3D) AS v"
"""Tests whether Java's methods can be called; Java 17 itself writes one digit too many here."""


def word_of(data_type: Any) -> str:
    """Return the name of a Spark type in DuckDB."""
    kind = str(data_type.simpleString())
    if kind.startswith("string"):
        return "VARCHAR"
    return _WORDS.get(kind, kind.upper())


def as_arrow(array: npt.NDArray[Any]) -> Any:
    """Return an array as an Arrow array, missing where it is masked or None."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    kind = pa.string() if array.dtype == object else None
    return pa.array(np.ma.getdata(array), kind, mask=mask)


def text_of_plain(expression: str, kind: str) -> str:
    """Return the expression of a value's text, for all types but real numbers."""
    if kind == "VARCHAR":
        return expression
    text = f"CAST({expression} AS STRING)"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"concat({text}, '+00')"
    if kind == "BINARY":
        return f"hex({expression})"
    numbers = re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", kind)
    if numbers is not None and numbers.group(1) == numbers.group(2):
        # If all digits are after the point, DuckDB writes no zero before it: .50
        return f"regexp_replace({text}, '^(-?)0[.]', '$1.')"
    return text


def text_of_real(expression: str, kind: str, *, can_reflect: bool) -> str:
    """Return the expression of a real number's text: the fewest digits, as in Python.

    It calls Java's methods if SQL may do so, and otherwise `TEXT_FUNCTIONS`.
    """
    word, zero = ("Double", "0D") if kind == "DOUBLE" else ("Float", "CAST(0 AS FLOAT)")
    if not can_reflect:
        return f"shoal_text_of_{word.lower()}({expression} + {zero})"
    # Adding 0 turns a negative zero into zero, which it equals. Java accepts no missing value.
    number = f"coalesce({expression}, {zero}) + {zero}"
    java = f"reflect('{_SCHUBFACH}.{word}ToDecimal', 'toString', {number})"
    text = f"transform(array({java}), j -> {_PYTHON_NOTATION})[0]"
    return f"CASE WHEN {expression} IS NULL THEN NULL ELSE {text} END"


def _python_notation() -> str:
    """Return the expression that rewrites `j`, a number in Java's notation, in Python's."""
    exponent = "CAST(substring_index(j, 'E', -1) AS INT)"
    named = (
        "CASE j WHEN 'NaN' THEN 'nan' WHEN 'Infinity' THEN 'inf' WHEN '-Infinity' THEN '-inf' "
        "ELSE j END"
    )
    plain = "rtrim('0', CAST(CAST(j AS DECIMAL(38, 21)) AS STRING))"
    tiny = " ".join(
        f"WHEN '{sign}{java}' THEN '{sign}{python}'"
        for java, python in _TINY.items()
        for sign in ("", "-")
    )
    mantissa = "regexp_replace(substring_index(j, 'E', 1), '[.]0$', '')"
    digits = f"CAST(abs({exponent}) AS STRING)"
    scientific = (
        f"concat({mantissa}, CASE WHEN {exponent} < 0 THEN 'e-' ELSE 'e+' END, "
        f"CASE WHEN abs({exponent}) < 10 THEN '0' ELSE '' END, {digits})"
    )
    return (
        f"CASE WHEN j IS NULL OR instr(j, 'E') = 0 THEN {named} "
        f"WHEN {exponent} BETWEEN -4 AND 15 THEN regexp_replace({plain}, '[.]$', '.0') "
        f"ELSE CASE j {tiny} ELSE {scientific} END END"
    )


_PYTHON_NOTATION = _python_notation()


def _text_of_double(number: float | None) -> str | None:
    return None if number is None else repr(number)


def _text_of_float(number: float | None) -> str | None:
    # numpy has the digits and Python the notation.
    return None if number is None else repr(float(str(np.float32(number))))


TEXT_FUNCTIONS: Mapping[str, Callable[[float | None], str | None]] = {
    "shoal_text_of_double": _text_of_double,
    "shoal_text_of_float": _text_of_float,
}
