"""Thresholds as exact fractions of what the user typed, so that a tie at .8 is a tie."""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral

from shoal.core.errors import ParameterError

__all__ = ["Number", "as_text", "exact", "whole"]

Number = int | float | str | Decimal | Fraction

# Read exactly, such a number would take hours and all memory.
_HUGE_EXPONENT = re.compile(r"[eE][+-]?[0-9_]{4,}")


def exact(name: str, value: Number) -> Fraction:
    """Read a threshold as the fraction that its text says.

    Examples
    --------
    >>> exact("t", 0.2)
    Fraction(1, 5)
    """
    if isinstance(value, bool):
        raise ParameterError(f"{name} must be a number, not {value!r}.")
    if not isinstance(value, (int, Fraction)) and _HUGE_EXPONENT.search(str(value)):
        raise ParameterError(f"{name} must be a number of moderate size.")
    try:
        return Fraction(value) if isinstance(value, (int, Fraction)) else Fraction(str(value))
    except (ValueError, InvalidOperation, ZeroDivisionError):
        raise ParameterError(
            f"{name} must be a finite number, not {value!r}.", hint="for example 0.2, or '1/3'."
        ) from None


def whole(name: str, value: object, *, least: int) -> int:
    """Read a whole number of at least `least`.

    Examples
    --------
    >>> whole("k", 5, least=1)
    5
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def as_text(value: Fraction) -> str:
    """Write a fraction as a decimal where that is exact, else as a quotient.

    Examples
    --------
    >>> as_text(Fraction(1, 5)), as_text(Fraction(1, 3)), as_text(Fraction(4))
    ('0.2', '1/3', '4')
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or value.denominator > 10**12:
        return str(value)
    context = Context(prec=len(str(value.numerator)) + 40)
    text = format(context.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
