"""Exact numbers: thresholds as fractions of what the user typed, and exact comparison of ratios.

A threshold of 0.8 is 4/5, so that a tie is a tie. Ratios of counts are compared with a threshold
and with each other without rounding: floats only guess where the greatest ratio is; every decision
is made in whole numbers. Products never leave 64 bits, because a threshold is turned into one whole
limit per denominator, and a release of N rows has at most sqrt(2 N) different denominators.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Counts, Flags
from shoal.core.errors import ParameterError

Number = int | float | str | Decimal | Fraction

# Reading such a number exactly would take hours and all memory.
_HUGE_EXPONENT = re.compile(r"[eE][+-]?[0-9_]{4,}")


def exact(name: str, value: Number) -> Fraction:
    """Read a threshold as the fraction that its text states.

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
            f"{name} must be a finite number, not {value!r}.", hint="for example 3, 0.2 or '1/3'."
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
    """Write a fraction as a decimal if that is exact, otherwise as a quotient.

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


_LEAST_USEFUL = {
    "k": Fraction(2),
    "ell": Fraction(3, 2),
    "r": Fraction(3, 2),
    "m": Fraction(2),
    "min_frequency": Fraction(2),
    "bucket_size": Fraction(2),
}
"""Parameters for which more protects more, and the smallest values that protect at all."""
_MOST_USEFUL = {"t": 1, "alpha": 1, "belief_gain": 1, "c": math.inf}
"""Parameters for which less protects more; these values and larger ones protect nobody."""
_HUNDRED = 100


def reachable(best: Mapping[str, object]) -> str:
    """Describe the reachable parameters, as decimals; empty if none of them protects anybody.

    Numbers are rounded towards values that can be reached.

    Examples
    --------
    >>> reachable({"k": 5, "ell": "20/9"}), reachable({"t": "1/3"}), reachable({"ell": 1})
    ('k = 5 and ell = 2.22 can be reached', 't = 0.34 can be reached', '')
    """
    told = []
    for name, value in best.items():
        if name not in _LEAST_USEFUL and name not in _MOST_USEFUL:
            continue
        read = exact(name, str(value))
        if name in _LEAST_USEFUL:
            is_useful, rounded = read >= _LEAST_USEFUL[name], math.floor(read * _HUNDRED)
        else:
            is_useful, rounded = read < _MOST_USEFUL[name], math.ceil(read * _HUNDRED)
        if not is_useful:
            return ""
        told.append(f"{name} = {as_text(Fraction(rounded, _HUNDRED))}")
    return f"{' and '.join(told)} can be reached" if told else ""


def read_delta(value: Number) -> Fraction:
    """Read a minimum confidence, above 0 and at most 1; a rule that just reaches it counts.

    Examples
    --------
    >>> read_delta(0.8)
    Fraction(4, 5)
    """
    delta = exact("delta", value)
    if not 0 < delta <= 1:
        raise ParameterError(
            f"delta must be above 0 and at most 1, not {value}.", hint="for example 0.8."
        )
    return delta


def read_gamma(value: Number, n_rows: int) -> int:
    """Read a minimum support: a whole number of rows, or a share of them, which is rounded up.

    Examples
    --------
    >>> read_gamma(2, 10_000), read_gamma(0.001, 10_001), read_gamma(1.0, 10)
    (2, 11, 10)
    """
    checked = check_gamma(value)
    return checked if isinstance(checked, int) else max(1, math.ceil(checked * n_rows))


def check_gamma(value: Number) -> int | Fraction:
    """Read a minimum support without knowing the table: a whole number stays a number of rows.

    Examples
    --------
    >>> check_gamma(2), check_gamma("2"), check_gamma(0.001)
    (2, 2, Fraction(1, 1000))
    """
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, (int, np.integer)):
        return whole("gamma", value, least=1)
    share = exact("gamma", value)
    if not 0 < share <= 1:
        raise ParameterError(
            f"gamma must be a whole number of at least 1, or a share of the rows above 0 and at "
            f"most 1, not {value}.",
            hint="for example 0.001; an integer 1 is one row, a float 1.0 all of them.",
        )
    return share


def check_blank_per_round(value: Number) -> int | Fraction:
    """Read how many cells are blanked at a time: a number, or a share of the cells of the table."""
    if isinstance(value, (int, np.integer)):
        return whole("blank_per_round", value, least=1)
    share = exact("blank_per_round", value)
    if not 0 < share <= 1:
        raise ParameterError(
            "blank_per_round must be a whole number of at least 1, or a share of the cells above 0 "
            f"and at most 1, not {value}.",
            hint="1 blanks one cell at a time, and the fewest in all.",
        )
    return share


Numerators = npt.NDArray[Any]
"""64-bit integers, or Python integers if 64 bits are not enough."""

_LARGEST = int(np.iinfo(np.int64).max)


def is_at_most(numerators: Numerators, denominators: Counts, bound: Fraction) -> Flags:
    """Return for each ratio whether it is at most `bound`.

    Numerators and the bound are at least 0, denominators at least 1.

    Examples
    --------
    >>> is_at_most(np.array([1, 1, 2]), np.array([4, 5, 10]), Fraction("0.2")).tolist()
    [False, True, True]
    """
    # One limit per distinct denominator, in Python integers: no product can overflow.
    distinct, inverse = np.unique(denominators, return_inverse=True)
    numerator, denominator = bound.as_integer_ratio()
    limits = [numerator * number // denominator for number in distinct.tolist()]
    if numerators.dtype == np.int64:
        limits = [min(limit, _LARGEST) for limit in limits]
    return np.asarray(numerators <= np.array(limits, dtype=numerators.dtype)[inverse], dtype=bool)


def greatest(numerators: Numerators, denominators: Counts) -> Fraction:
    """Return the greatest of at least one ratio.

    Examples
    --------
    >>> greatest(np.array([1, 3, 2]), np.array([2, 4, 3]))
    Fraction(3, 4)
    """
    best = _likely_greatest(numerators, denominators)
    # Floats cannot distinguish all ratios; each round keeps those above the last guess.
    while (is_above := ~is_at_most(numerators, denominators, best)).any():
        numerators, denominators = numerators[is_above], denominators[is_above]
        best = _likely_greatest(numerators, denominators)
    return best


def _likely_greatest(numerators: Numerators, denominators: Counts) -> Fraction:
    place = int(np.argmax(numerators.astype(np.float64) / denominators))
    return Fraction(int(numerators[place]), int(denominators[place]))


def highest_at_most(share: Fraction, limit: int) -> Fraction:
    """Return the highest fraction with a denominator up to `limit` that is at most a share.

    A quotient of counts up to `limit` is at most the fraction exactly if it is at most the share,
    and products with the fraction stay small.

    Examples
    --------
    >>> highest_at_most(Fraction("0.3333333333333333"), 100)
    Fraction(33, 100)
    """
    nearest = share.limit_denominator(limit)
    if nearest <= share:
        return nearest
    # [Hardy, Wright] Theorem 28: neighbours p'/q' < p/q in a Farey series have p q' - p' q = 1.
    inverse = pow(nearest.numerator, -1, nearest.denominator)
    denominator = limit - (limit - inverse) % nearest.denominator
    return Fraction((nearest.numerator * denominator - 1) // nearest.denominator, denominator)
