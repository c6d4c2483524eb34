"""Where published intervals begin and end: at round numbers, never at somebody's value.

A bucket of numbers is published as a region: the half-open interval between the cuts around it.
Between two neighbouring values any cut separates them equally well, so the roundest is taken,
and the outermost bounds are rounded outward. All arithmetic is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from shoal.core.domain import ColumnType

__all__ = ["Bounds", "bounds_of", "round_between", "round_outward"]


def round_between(below: int, above: int) -> int:
    """Give the roundest whole number that is above `below` and at most `above`.

    That is the multiple of the largest possible step among 1, 2, 5, 10, 20, 50, ...

    Examples
    --------
    >>> round_between(17, 18), round_between(17, 23), round_between(36, 71), round_between(-3, 8)
    (18, 20, 50, 0)
    """
    power: int = 10 ** len(str(above - below))
    while True:
        for step in (power, power // 2, power // 5):
            bound = above // step * step
            if bound > below:
                return bound
        power //= 10


def round_outward(lowest: int, highest: int) -> tuple[int, int]:
    """Give round numbers at most `lowest` and above `highest`.

    They are multiples of 5 times a power of ten, about a tenth of the range.

    Examples
    --------
    >>> round_outward(17, 90), round_outward(0, 99999), round_outward(17, 17)
    ((15, 95), (0, 100000), (15, 20))
    """
    extent = highest - lowest or abs(highest)
    step = max(5 * 10 ** len(str(extent)) // 100, 1)
    return lowest // step * step, (highest // step + 1) * step


Bounds = tuple[
    Callable[[float, float], str],
    Callable[[float, float], tuple[str, str]],
]
"""The bound between two neighbouring numbers, and the bounds around the lowest and highest."""


def bounds_of(column_type: ColumnType) -> Bounds:
    """Give how intervals of a type are bounded.

    Examples
    --------
    >>> between, around = bounds_of(ColumnType.REAL)
    >>> between(0.1, 0.35), around(0.1, 0.35), between(1e22, 3e22)
    ('0.2', ('0.1', '0.4'), '20000000000000000000000')
    >>> between, around = bounds_of(ColumnType.DATE)
    >>> between(0, 50), around(0, 50)
    ('1970-02-01', ('1970-01-01', '1971-01-01'))
    """
    if column_type is ColumnType.DATE:
        return _between_dates, _around_dates
    return _between_numbers, _around_numbers


def _between_numbers(below: float, above: float) -> str:
    exponent, (low, high) = _scaled(below, above)
    bound = _unscaled(round_between(low, high), exponent)
    # A bound that is nearer to the lower number than floats can tell would hold it too.
    return bound if float(bound) > below else _unscaled(high, exponent)


def _around_numbers(lowest: float, highest: float) -> tuple[str, str]:
    exponent, (low, high) = _scaled(lowest, highest)
    lower, upper = round_outward(low, high)
    return _unscaled(lower, exponent), _unscaled(upper, exponent)


def _scaled(*numbers: float) -> tuple[int, list[int]]:
    """Give numbers as multiples of one power of ten, as short as they are written."""
    decimals = [Decimal(repr(float(number))).normalize() for number in numbers]
    exponents = [decimal.as_tuple().exponent for decimal in decimals]
    exponent = min(0, *(exponent for exponent in exponents if isinstance(exponent, int)))
    return exponent, [int(decimal.scaleb(-exponent)) for decimal in decimals]


def _unscaled(multiple: int, exponent: int) -> str:
    text = str(abs(multiple)).rjust(1 - exponent, "0")
    sign = "-" if multiple < 0 else ""
    whole, decimals = text[: len(text) + exponent], text[len(text) + exponent :].rstrip("0")
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"


def _days(number: float) -> np.datetime64:
    return np.datetime64(int(number), "D")


def _between_dates(below: float, above: float) -> str:
    day: npt.NDArray[np.datetime64] = np.array(_days(above))
    year, month = day.astype("datetime64[Y]"), day.astype("datetime64[M]")
    decade = (year.astype(np.int64) // 10 * 10).astype("datetime64[Y]")
    rounded = [start.astype("datetime64[D]") for start in (decade, year, month, day)]
    return str(next(start for start in rounded if start > _days(below)))


def _around_dates(lowest: float, highest: float) -> tuple[str, str]:
    first, last = _days(lowest).astype("datetime64[Y]"), _days(highest).astype("datetime64[Y]")
    return str(first.astype("datetime64[D]")), str((last + 1).astype("datetime64[D]"))
