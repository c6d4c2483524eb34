"""The values that the rules and facts of a knowledge file forbid, read by the checkers' own code.

Methods and attacks resolve knowledge elsewhere. A mistake there would plan a release against less
than is known, and a checker that shared the code would repeat it. So the witness is read again
here, entry by entry, with nothing but the file and the published values.

A label stands for the values that the file lists, because the file was written for this table.
Positive rules and statistics forbid nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.core.arrays import Flags
from shoal.core.cells import Cells
from shoal.core.documents import parse_toml
from shoal.core.domain import ColumnType, Domain, day_of_date, iso_date
from shoal.core.errors import DataError


def forbidden_by_rules(content: bytes, people: Cells, domain: Domain) -> Flags:
    """Mark the sensitive values (columns) that negative rules forbid to people (rows).

    `people` are the distinct combinations of quasi-identifiers, published unchanged. Raises
    `DataError` if `content` is no knowledge file, or a rule names a column that the release does
    not have.
    """
    stated = _read(content)
    marks = np.zeros((people.n_cells, domain.size), dtype=bool)
    seen: dict[tuple[str, str | None], Flags] = {}
    codes = {text: _code_of(domain, text) for text in _excluded(stated)}
    for entry in stated.get("negative", []):
        value = codes[_text(entry["never"])]
        if entry.get("struck", False) or value is None:
            continue
        holds = np.ones(people.n_cells, dtype=bool)
        for column, given in entry["when"].items():
            key = column, _text(given)
            if key not in seen:
                seen[key] = _holds(stated, key, people)
            holds &= seen[key]
        marks[holds, value] = True
    return marks


def _excluded(stated: Mapping[str, Any]) -> set[str | None]:
    return {_text(entry["never"]) for entry in stated.get("negative", [])}


def excluded_by_facts(content: bytes, domain: Domain) -> dict[str, list[int]]:
    """Return the codes of the values that single people do not have, by the keys of their rows."""
    excluded: dict[str, list[int]] = {}
    for entry in _read(content).get("fact", []):
        value = _code_of(domain, _text(entry["never"]))
        if value is not None:
            excluded.setdefault(str(entry["person"]), []).append(value)
    return excluded


def _read(content: bytes) -> Mapping[str, Any]:
    try:
        stated = parse_toml(content.decode("utf-8").removeprefix("\ufeff"))
        entries = [*stated.get("negative", []), *stated.get("fact", [])]
        is_whole = all("never" in entry and ("when" in entry or "person" in entry)
                       for entry in entries)  # fmt: skip
    except (ValueError, RecursionError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise DataError("The knowledge that the release was made against cannot be read.")
    return stated


def _text(given: object) -> str | None:
    """Return a value as a text; None for the missing value, which is written as a table."""
    if isinstance(given, dict):
        return None
    return str(given).lower() if isinstance(given, bool) else str(given)


def _holds(stated: Mapping[str, Any], key: tuple[str, str | None], people: Cells) -> Flags:
    """Mark the people for whom one part of an antecedent is true."""
    column, label = key
    if column not in people.columns:
        raise DataError(
            f"The knowledge names column {column!r}, which is not a quasi-identifier of the "
            "release."
        )
    domain = people.domain(column)
    node = stated.get("nodes", {}).get(column, {}).get(label) if label is not None else None
    is_in = np.array([_is_in(domain, code, label, node) for code in range(domain.size)], dtype=bool)
    marks: Flags = is_in[people.column(column)]
    return marks


def _is_in(domain: Domain, code: int, label: str | None, node: Any) -> bool:
    """Return whether one value of a column belongs to the node with a label."""
    text = domain.text(code)
    if node is None:
        return _is_same(domain, text, label)
    if isinstance(node, list):
        return any(_is_same(domain, text, _text(member)) for member in node)
    if text is None:
        return bool(node.get("missing", False))
    if "from" not in node:
        return any(_is_same(domain, text, _text(member)) for member in node.get("values", []))
    return _is_between(domain, code, node)


def _is_same(domain: Domain, text: str | None, other: str | None) -> bool:
    """Compare texts, and numbers in any spelling."""
    if text == other or text is None or other is None:
        return text == other
    if domain.numbers is None or domain.type is ColumnType.DATE:
        return False
    try:
        return Fraction(text) == Fraction(other)
    except (ValueError, ZeroDivisionError):
        return False


def _is_between(domain: Domain, code: int, node: Mapping[str, Any]) -> bool:
    if domain.numbers is None:
        return False
    is_date = domain.type is ColumnType.DATE
    low, high = (_number(_text(node[name]), is_date=is_date) for name in ("from", "to"))
    if low is None or high is None:
        return False
    number = float(domain.numbers[code])
    beyond = max(low - number, number - high, 0.0)
    return beyond <= 0 or beyond < float(node.get("width", 0.0))


def _number(text: str | None, *, is_date: bool) -> float | None:
    """Read a bound as a number, or as the day of a date, as the column requires."""
    date = iso_date(text or "")
    if date is not None:
        return float(day_of_date(date)) if is_date else None
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if not is_date or np.isinf(number) else None


def _code_of(domain: Domain, text: str | None) -> int | None:
    """Return the code of a sensitive value; None if nobody in the release has it."""
    labels = domain.labels()
    if text in labels:
        return labels.index(text)
    return next((c for c, label in enumerate(labels) if _is_same(domain, label, text)), None)
