"""Where published intervals begin and end: never because somebody has that value.

A bucket of numbers or dates is published as a region: the half-open interval between the cuts
around it. Any point above the largest value `below` a cut and up to the smallest one `above` it
parts the two equally well. Which of them is published is drawn from the secret among the points of
a grid that does not depend on the gap, so a reader learns that the cut lies in some gap around
the bound, and not where the gap begins or ends. All arithmetic is exact, on the texts of the table:
beyond 2**53 a float does not tell two whole numbers apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.domain import ColumnType
from shoal.core.hierarchy_rules import date_of_day, day_of_date
from shoal.methods.partition.axes import Axis

__all__ = ["Grid", "draw_bounds", "draw_point", "months", "multiples", "round_step"]

_DRAW_BITS = 64
_STEPS = 1000
"""A grid has about as many points within the range of the middle nine tenths of the rows."""
_FINER = 3
"""So many more decimals than the table has suffice for a thousandth of any distance in it."""
_MOST_DECIMALS = 1100
"""No float has more; what differs only beyond that is one number to everybody else."""
_EXACT = Context(prec=3000)


@dataclass(frozen=True)
class Grid:
    """Numbered points on the line of whole numbers.

    Parameters
    ----------
    number
        Gives the number of the last point up to a whole number.
    point
        Gives the point of a number.
    """

    number: Callable[[int], int]
    point: Callable[[int], int]


def multiples(step: int) -> Grid:
    """Make the grid of the multiples of a step."""
    return Grid(lambda whole: whole // step, lambda number: number * step)


def months() -> Grid:
    """Make the grid of the first days of months, as days since 1970-01-01."""

    def number(day: int) -> int:
        date = date_of_day(day)
        return 12 * date.year + date.month - 1

    def point(month: int) -> int:
        return day_of_date(date_of_day(0).replace(year=month // 12, month=month % 12 + 1))

    return Grid(number, point)


def draw_point(
    grids: Sequence[Grid], below: int, above: int, number: int, *, is_common: bool
) -> int:
    """Draw a point above `below` and up to `above` that separates the two.

    It lies on the first grid that has a point strictly between them, or at `above` where that
    value is common enough to be named. Where nothing else is left it is `above`: it cannot be
    avoided, and does not assert that somebody has that value, since the same bound arises from
    every wider gap around it.

    Parameters
    ----------
    grids
        Coarse ones first.
    below, above
        The largest value on the left and the smallest one on the right.
    number
        A draw of 64 bits.
    is_common
        Whether `above` may be named.

    Examples
    --------
    >>> half = 2**63
    >>> draw_point([multiples(10), multiples(1)], 17, 52, half, is_common=False)
    40
    >>> draw_point([multiples(10), multiples(1)], 11, 18, half, is_common=False)
    15
    >>> draw_point([multiples(10), multiples(1)], 17, 18, half, is_common=False)
    18
    """
    last = above if is_common else above - 1
    for grid in grids:
        first = grid.number(below) + 1
        n_points = grid.number(last) - first + 1
        if n_points > 0:
            return grid.point(first + (number * n_points >> _DRAW_BITS))
    return above


def round_step(extent: float, decimals: int = 0) -> int:
    """Give the step of a grid for columns of that extent, at least 1, in units of 10**-decimals.

    It is 1, 2 or 5 times a power of ten, and at most about a thousandth of the extent.

    Examples
    --------
    >>> round_step(73), round_step(8500), round_step(250000), round_step(0.5, 6)
    (1, 5, 200, 500)
    """
    if extent <= 0:
        return 1
    share = Fraction(extent) * 10**decimals / _STEPS
    if share < 1:
        return 1
    power: int = 10 ** (len(str(int(share))) - 1)
    return next(factor * power for factor in (5, 2, 1) if factor * power <= share)


def draw_bounds(
    axis: Axis,
    below: Codes,
    above: Codes,
    totals: Counts,
    least: int,
    draws: npt.NDArray[np.uint64],
) -> list[str]:
    """Draw the bound of every cut in a column of numbers or dates.

    Parameters
    ----------
    axis
        The column.
    below, above
        For each cut the last position on its left and the first one on its right.
    totals
        How many rows carry each code.
    least
        Values carried by fewer rows are not named, so they are no bounds if that can be avoided.
    draws
        For each cut a secret number.

    Returns
    -------
    bounds
        Texts, each above every value at the cut's left and up to every value at its right.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> share = Domain.of_texts("share", ["0.1", "0.4"], type=ColumnType.REAL, numbers=[0.1, 0.4])
    >>> draw_bounds(Axis.of_domain(share, None), np.array([0]), np.array([1]), np.array([5, 5]),
    ...             6, np.array([2**63], dtype=np.uint64))
    ['0.25']
    """
    if len(below) == 0:
        return []
    starts = np.searchsorted(_numbers(axis), axis.numbers)
    # Of texts that are one float the lowest counts: named is what stands there, and no more.
    is_common: list[bool] = (totals[starts[above]] >= least).tolist()
    if axis.domain.type is ColumnType.DATE:
        grids = (months(), multiples(1))
        gaps = axis.numbers[np.stack((below, above), axis=1)].astype(np.int64).tolist()
        return [
            date_of_day(draw_point(grids, low, high, number, is_common=common)).isoformat()
            for (low, high), number, common in zip(gaps, draws.tolist(), is_common, strict=True)
        ]
    line = _Line.of_positions(axis, below, above, _usual_extent(axis, totals))
    gaps = zip(below.tolist(), above.tolist(), strict=True)
    floats = axis.numbers[below].tolist()
    return [
        line.bound(gap, value, number, is_common=common)
        for gap, value, number, common in zip(gaps, floats, draws.tolist(), is_common, strict=True)
    ]


def _numbers(axis: Axis) -> npt.NDArray[np.float64]:
    assert axis.domain.numbers is not None
    return axis.domain.numbers


def _usual_extent(axis: Axis, totals: Counts) -> float:
    """Give the range of the middle nine tenths of the rows, which no lone outlier changes."""
    present = np.zeros(len(axis.numbers), dtype=np.int64)
    n_texts = len(axis.domain.texts)
    np.add.at(present, axis.position[:n_texts], totals[:n_texts])
    cumulated = np.cumsum(present)
    shares = np.array([cumulated[-1] // 20 + 1, cumulated[-1] - cumulated[-1] // 20])
    low, high = axis.numbers[np.searchsorted(cumulated, shares)].tolist()
    return min(float(high) / 2 - float(low) / 2, 2.0**1000) * 2


@dataclass(frozen=True, eq=False)
class _Line:
    """Numbers as exact multiples of one power of ten.

    Parameters
    ----------
    below, above
        By position the largest and the smallest number there; a float stands for several.
    texts
        By position the smallest number as the table writes it.
    decimals
        The power: 10**-decimals.
    coarse
        The grid of the column.
    is_whole
        Whether bounds are whole numbers.
    """

    below: dict[int, int]
    above: dict[int, int]
    texts: dict[int, str]
    decimals: int
    coarse: tuple[Grid, ...]
    is_whole: bool

    @classmethod
    def of_positions(cls, axis: Axis, below: Codes, above: Codes, extent: float) -> _Line:
        """Read the numbers on both sides of cuts."""
        numbers = _numbers(axis)
        positions = np.unique(np.append(below, above))
        first = np.searchsorted(numbers, axis.numbers[positions])
        last = np.searchsorted(numbers, axis.numbers[positions], side="right")
        decimals_at = {
            position: [Decimal(text) for text in axis.domain.texts[start:stop].tolist()]
            for position, start, stop in zip(
                positions.tolist(), first.tolist(), last.tolist(), strict=True
            )
        }
        least = {position: min(found) for position, found in decimals_at.items()}
        most = {position: max(found) for position, found in decimals_at.items()}
        some = [*least.values(), *most.values()]
        is_whole = axis.domain.type is ColumnType.INTEGER and all(
            number == number.to_integral_value() for number in some
        )
        decimals = 0
        if not is_whole:
            decimals = min(max(map(_n_decimals, some)), _MOST_DECIMALS) + _FINER
        coarse = (multiples(round_step(extent, decimals)),) if is_whole or extent > 0 else ()
        return cls(
            # Rounded towards each other, if at all: what lies between then lies between these.
            {place: _scaled(number, decimals, ROUND_CEILING) for place, number in most.items()},
            {place: _scaled(number, decimals, ROUND_FLOOR) for place, number in least.items()},
            {place: str(number) for place, number in least.items()},
            decimals,
            coarse,
            is_whole,
        )

    def bound(self, gap: tuple[int, int], value: float, number: int, *, is_common: bool) -> str:
        """Draw the bound between two positions, above the lower one's value as a float too."""
        below, above = gap
        low, high = self.below[below], self.above[above]
        found = self._draw(low, high, number, is_common=is_common)
        if low < high and float(found) > value:
            return found
        # Readers compare floats, and to them what rounds to the lower number is not above it.
        middle = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2
        nearest = max(low, math.floor(middle * 10**self.decimals))
        if nearest < high:
            return self._draw(nearest, high, number, is_common=is_common)
        return self._text(high) if low < high else self.texts[above]

    def _draw(self, low: int, high: int, number: int, *, is_common: bool) -> str:
        # Off the grid: any whole number, or decimals as short as ten choices allow.
        unit = 1 if self.is_whole else 10 ** max(len(str(high - low)) - 2, 0)
        grids = (*self.coarse, multiples(unit))
        return self._text(draw_point(grids, low, high, number, is_common=is_common))

    def _text(self, multiple: int) -> str:
        digits = str(abs(multiple)).rjust(1 + self.decimals, "0")
        sign = "-" if multiple < 0 else ""
        n_whole = len(digits) - self.decimals
        whole, decimals = digits[:n_whole], digits[n_whole:].rstrip("0")
        return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"


def _n_decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _scaled(number: Decimal, decimals: int, rounding: str) -> int:
    quantum = Decimal((0, (1,), -decimals))
    rounded = number.quantize(quantum, rounding=rounding, context=_EXACT)
    return int(rounded.scaleb(decimals, context=_EXACT))
