"""Where numbers lie along an axis, and at which round numbers it is marked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Scale", "shown"]

_MOST_STEPS = 7
_LEAST_POSITIVE = 1e-300
_ALIKE = 1e-6
"""Numbers that differ by less than this share are written alike; no axis is drawn between them."""


@dataclass(frozen=True)
class Scale:
    """An axis from a number to a larger one, between two places of a drawing; `over` makes one.

    Attributes
    ----------
    low, high
        The numbers at its ends.
    start, end
        Where these lie.
    is_log
        Whether equal ratios, not equal differences, are equally long.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    @classmethod
    def over(
        cls,
        numbers: Iterable[float],
        start: float,
        end: float,
        *,
        is_log: bool = False,
        is_tight: bool = False,
    ) -> Scale:
        """Make an axis that holds all numbers that it can show.

        Parameters
        ----------
        numbers
            What it is to hold.
        start, end
            Where it lies.
        is_log
            Whether it is logarithmic.
        is_tight
            Whether it ends at the least and the largest number; else at round ones, with 0
            unless all numbers lie far from it.

        Examples
        --------
        >>> Scale.over([30, 87], 0, 1)
        Scale(low=0.0, high=100.0, start=0, end=1, is_log=False)
        >>> Scale.over([30, 8700], 0, 1, is_log=True).ticks()
        [10.0, 100.0, 1000.0, 10000.0]
        """
        held = [float(one) for one in numbers if _is_shown(float(one), is_log=is_log)]
        if not held:
            return cls(1.0 if is_log else 0.0, 10.0 if is_log else 1.0, start, end, is_log)
        low, high = min(held), max(held)
        if is_tight:
            return cls(*_apart(low, high, is_log=is_log), start, end, is_log)
        low, high = _powers(low, high) if is_log else _rounded(low, high)
        return cls(low, high, start, end, is_log)

    def place(self, number: float) -> float | None:
        """Give the place of a number; None where it has none.

        Examples
        --------
        >>> Scale(1, 100, 0, 50, is_log=True).place(10), Scale(0, 1, 0, 50).place(math.nan)
        (25.0, None)
        """
        if not _is_shown(number, is_log=self.is_log):
            return None
        low, high = self.low, self.high
        if self.is_log:
            low, high, number = math.log10(low), math.log10(high), math.log10(number)
        return self.start + (self.end - self.start) * (number - low) / (high - low)

    def ticks(self) -> list[float]:
        """Give the round numbers at which the axis is marked."""
        if not self.is_log:
            step = _step(self.low, self.high)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [float(f"{step * number:.12g}") for number in range(first, last + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        digits = (1, 2, 5) if last - first <= 2 else (1,)
        step = 1 + (last - first) // (_MOST_STEPS + 1)
        made = (digit * 10.0**power for power in range(first, last + 1, step) for digit in digits)
        return [one for one in made if self.low <= one * (1 + 1e-9) and one <= self.high]


def shown(number: float) -> str:
    """Write a number as short as it can be read.

    Examples
    --------
    >>> [shown(number) for number in (61964.0, 0.05, 1e-7, 2.5e9, math.nan)]
    ['61,964', '0.05', '1e-07', '2.5e+09', 'none']
    """
    if not math.isfinite(number):
        return "none"
    if float(number).is_integer() and abs(number) < 10**9:
        return f"{int(number):,}"
    return f"{number:.3g}"


def _is_shown(number: float, *, is_log: bool) -> bool:
    return math.isfinite(number) and (number > _LEAST_POSITIVE or not is_log)


def _apart(low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """Give two ends that differ, also where there is but one number."""
    if low < high:
        return low, high
    return (low / 2, low * 2) if is_log else (low - (abs(low) or 1.0) / 2, low + (abs(low) or 1.0))


def _powers(low: float, high: float) -> tuple[float, float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return 10.0**first, 10.0 ** max(last, first + 1)


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Give round ends; 0 is one of them unless all numbers lie in the far half of the way."""
    low, high = (
        low if low < 0 or low > high / 2 else 0.0,
        high if high > 0 or high < low / 2 else 0.0,
    )
    if high - low <= _ALIKE * max(abs(low), abs(high)):
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= _LEAST_POSITIVE:
        low, high = 0.0, 1.0
    step = _step(low, high)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _step(low: float, high: float) -> float:
    """Give a round difference, a digit 1, 2 or 5 and zeros, that parts an axis into few steps."""
    raw = (high - low) / _MOST_STEPS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= raw * (1 - 1e-9))
