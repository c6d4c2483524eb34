"""Evaluation of the parts of an SQL condition, with NULL and the three truth values of SQL.

A text is compared with a number or a date only if it can be read as one, as in the engines. Other
values of different kinds are never compared: a condition that silently matches nothing would leave
private cells unprotected.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.core.domain import iso_date

Row = Mapping[str, object]
Evaluate = Callable[[Row], Any]
"""Returns the value of an expression, or of a part of one, in a row."""
Compute = Callable[[Any, Any], Any]
"""Computes a value from two."""

_MOST_DIGITS = 20
_NUMBER = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?", re.ASCII)


def constant(value: object) -> Evaluate:
    """Return a function with the same value for every row."""
    return lambda _: value


def applied(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return a function that computes from the values of its parts; NULL if any of them is NULL."""

    def evaluate(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if any(value is None for value in values) else compute(*values)

    return evaluate


def chained(first: Evaluate, rest: Sequence[tuple[Compute, Evaluate]]) -> Evaluate:
    """Return a function that computes step by step; NULL if any part is NULL."""

    def evaluate(row: Row) -> Any:
        found = first(row)
        for compute, part in rest:
            value = part(row)
            found = None if found is None or value is None else compute(found, value)
        return found

    return evaluate


def truth(value: object) -> bool | None:
    """Return a truth value, or None for NULL; raise a TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    raise TypeError


def negated(inner: Evaluate) -> Evaluate:
    """Return a function that is true if another is false."""

    def evaluate(row: Row) -> bool | None:
        found = truth(inner(row))
        return None if found is None else not found

    return evaluate


def any_holds(values: Iterable[object]) -> bool | None:
    """Return OR of truth values; stop at the first that is true."""
    is_missing = False
    for value in values:
        if truth(value):
            return True
        is_missing |= value is None
    return None if is_missing else False


def all_hold(values: Iterable[object]) -> bool | None:
    """Return AND of truth values; stop at the first that is false."""
    is_missing = False
    for value in values:
        if truth(value) is False:
            return False
        is_missing |= value is None
    return None if is_missing else True


def _alike(left: object, right: object) -> tuple[Any, Any]:
    """Return two values that can be compared: a text next to a date or a number is read as one."""
    if isinstance(left, str) and not isinstance(right, str):
        return _read_like(left, right), right
    if isinstance(right, str) and not isinstance(left, str):
        return left, _read_like(right, left)
    if _kind(left) != _kind(right):
        raise TypeError
    return left, right


def _read_like(text: str, other: object) -> object:
    """Read a text as the kind of another value."""
    if isinstance(other, dt.date):
        return as_date(text)
    if _kind(other) is not float or not _NUMBER.fullmatch(text):
        raise TypeError
    return float(text) if set(text) & set(".eE") else int(text)


def _kind(value: object) -> type:
    if isinstance(value, bool):
        return bool
    return float if isinstance(value, int | float) else type(value)


def negative(value: Any) -> Any:
    """Return a number with the opposite sign."""
    return -_number(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _lower(value: Any) -> str:
    return _text(value).lower()


def as_date(text: str) -> dt.date:
    """Read a date; raise a ValueError if the text is not one."""
    day = iso_date(text)
    if day is None:
        raise ValueError
    return day


def day_of_midnight(value: object) -> object:
    """Return the date of a timestamp at midnight; other values are returned unchanged."""
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date()
    return value


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: holds(*_alike(left, right))


def between(value: Evaluate, low: Evaluate, high: Evaluate) -> Evaluate:
    """Return a function that tests whether a value lies between two others."""
    not_below = applied(_compared(operator.ge), value, low)
    not_above = applied(_compared(operator.le), value, high)
    return lambda row: all_hold(part(row) for part in (not_below, not_above))


def among(value: Evaluate, members: Sequence[Evaluate]) -> Evaluate:
    """Return a function that tests whether a value is one of several."""
    equal = [applied(_compared(operator.eq), value, member) for member in members]
    return lambda row: any_holds(part(row) for part in equal)


def is_distinct(left: object, right: object) -> bool:
    """Return whether two values differ; NULL differs from every value except itself."""
    if left is None or right is None:
        return left is not right
    return bool(_compared(operator.ne)(left, right))


def is_like(text: Any, pattern: Any) -> bool:
    """Return whether a text matches a pattern: `%` matches any characters, `_` one character.

    After a mismatch only the part behind the last `%` is tried again, one character further on, so
    the time is bounded by the product of both lengths.
    """
    text, pattern = _text(text), _text(pattern)
    at = place = 0
    last, tried = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "%":
            last, tried = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in (text[at], "_"):
            at, place = at + 1, place + 1
        elif last >= 0:
            tried += 1
            at, place = tried, last + 1
        else:
            return False
    return all(sign == "%" for sign in pattern[place:])


def _added(left: Any, right: Any) -> Any:
    if isinstance(left, dt.date) and _kind(right) is float:
        return left + dt.timedelta(days=right)
    return _number(left) + _number(right)


def _subtracted(left: Any, right: Any) -> Any:
    """Subtract numbers, a number of days from a date, or two dates; the latter returns days."""
    if isinstance(left, dt.date):
        if _kind(right) is float:
            return left - dt.timedelta(days=right)
        left, right = _alike(left, right)
        return (left - right).days
    return _number(left) - _number(right)


def _remainder(left: Any, right: Any) -> Any:
    """Return the remainder with the sign of the dividend, as engines do."""
    rest = abs(_number(left)) % abs(_number(right))
    return -rest if left < 0 else rest


def _rounded(number: Any, n_digits: Any = 0) -> Any:
    """Round halves away from zero, as engines do."""
    scale = 10 ** min(max(int(_number(n_digits)), -_MOST_DIGITS), _MOST_DIGITS)
    shifted = abs(_number(number)) * scale
    whole = int(shifted + 0.5)
    return (
        (-whole if number < 0 else whole) / scale
        if scale != 1
        else (-whole if number < 0 else whole)
    )


def _part_of(text: Any, first: Any, length: Any = None) -> str:
    """Return a part of a text, whose characters are counted from 1."""
    begin = int(_number(first)) - 1
    end = None if length is None else max(begin + int(_number(length)), 0)
    return _text(text)[max(begin, 0) : end]


def _coalesced(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


CONSTANTS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": _compared(operator.le),
    ">=": _compared(operator.ge),
    "<>": _compared(operator.ne),
    "!=": _compared(operator.ne),
    "=": _compared(operator.eq),
    "<": _compared(operator.lt),
    ">": _compared(operator.gt),
}
SUMS: Mapping[str, Compute] = {
    "+": _added,
    "-": _subtracted,
    "||": lambda left, right: _text(left) + _text(right),
}
PRODUCTS: Mapping[str, Compute] = {
    "*": lambda left, right: _number(left) * _number(right),
    "/": lambda left, right: _number(left) / _number(right),
    "%": _remainder,
}


@dataclass(frozen=True, eq=False)
class _Function:
    """A function that conditions may call, with `least` to `most` arguments."""

    compute: Callable[..., Any]
    least: int = 1
    most: int = 1
    # Whether it is called with NULL too; the result of other functions is then NULL.
    takes_missing: bool = False


FUNCTIONS: Mapping[str, _Function] = {
    "abs": _Function(lambda number: abs(_number(number))),
    "floor": _Function(lambda number: int(_number(number) // 1)),
    "ceil": _Function(lambda number: -int(-_number(number) // 1)),
    "round": _Function(_rounded, 1, 2),
    "lower": _Function(_lower),
    "upper": _Function(lambda text: _text(text).upper()),
    "trim": _Function(lambda text: _text(text).strip(" ")),
    "length": _Function(lambda text: len(_text(text))),
    "substr": _Function(_part_of, 2, 3),
    "starts_with": _Function(lambda text, part: _text(text).startswith(_text(part)), 2, 2),
    "year": _Function(lambda day: _day(day).year),
    "month": _Function(lambda day: _day(day).month),
    "day": _Function(lambda day: _day(day).day),
    "coalesce": _Function(_coalesced, 1, 100, takes_missing=True),
}


def _day(value: Any) -> dt.date:
    if not isinstance(value, dt.date):
        raise TypeError
    return value
