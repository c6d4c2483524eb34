"""The quasi-identifiers as axes: the positions of values, and the ends of published intervals.

Every value has a position, and cells are cut between positions. Numbers and dates are in their
order, equal ones at the same position; values with a hierarchy in the order of its leaves; other
values in the order of their domain. Missing values come last.

A bucket of numbers or dates is published as a region: the half-open interval between the cuts
around it. Any point above the largest value `below` a cut and up to the smallest value `above` it
separates the two equally well. The published point is drawn from the secret among the points of a
grid that does not depend on the gap, so a reader learns that the cut is in some gap around the
bound, but not where the gap begins or ends, and never that somebody has that value. All arithmetic
is exact, on the texts of the table: beyond 2**53, different integers may share a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats, Small, Words
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain, date_of_day, day_of_date
from shoal.core.tree import Tree

_NO_TREE = -1


@dataclass(frozen=True, eq=False)
class Axis:
    """One quasi-identifier.

    `position` has the position of each code, the last one for missing values; `numbers` has for
    each position the number by which widths are measured.
    """

    domain: Domain
    tree: Tree | None
    position: Codes
    numbers: Floats

    @classmethod
    def of_domain(cls, domain: Domain, tree: Tree | None) -> Axis:
        """Assign positions to the values of a column."""
        n_texts = len(domain.texts)
        if tree is not None:
            numbers = np.arange(tree.n_leaves, dtype=np.float64)
            position = tree.position[:n_texts]
        elif domain.numbers is not None:
            numbers, position = np.unique(domain.numbers, return_inverse=True)
        else:
            numbers = np.arange(n_texts, dtype=np.float64)
            position = np.arange(n_texts)
        missing = [len(numbers)] if domain.has_missing else []
        return cls(domain, tree, np.append(position, missing).astype(np.int64), numbers)

    @property
    def missing(self) -> int:
        """The position of missing values, whether or not there are any."""
        return len(self.numbers)

    @property
    def is_numeric(self) -> bool:
        """Whether buckets are published as intervals."""
        return self.tree is None and self.domain.numbers is not None


@dataclass(frozen=True, eq=False)
class Axes:
    """All quasi-identifiers, in the form in which the kernel reads them."""

    axes: tuple[Axis, ...]
    # The positions of every cell, column by column within a cell.
    position: Small
    # The position of missing values in each column.
    missing: Codes
    # The numbers of all positions, column by column, and the first of each column.
    number: Floats
    number_start: Codes
    # The width of the whole table in each column.
    span: Floats
    # The first node of each column's hierarchy; -1 if it has none.
    tree_start: Codes
    # The slice of positions and the parent of each node, within its own hierarchy.
    first: Codes
    last: Codes
    parent: Codes

    @classmethod
    def of_cells(cls, cells: Cells, columns: Sequence[str], trees: Mapping[str, Tree]) -> Axes:
        """Assign positions to the cells of a table."""
        axes = tuple(Axis.of_domain(cells.domain(name), trees.get(name)) for name in columns)
        position = np.empty((cells.n_cells, len(axes)), dtype=np.int32)
        for place, axis in enumerate(axes):
            position[:, place] = axis.position[cells.column(axis.domain.column)]
        planted = [axis.tree for axis in axes if axis.tree is not None]
        starts = iter(_starts([tree.n_nodes for tree in planted]))
        return cls(
            axes=axes,
            position=position.reshape(-1),
            missing=np.array([axis.missing for axis in axes], dtype=np.int64),
            number=np.concatenate([_measurable(axis.numbers) for axis in axes]),
            number_start=np.array(_starts([len(axis.numbers) for axis in axes]), dtype=np.int64),
            span=np.array([_span(axis) for axis in axes]),
            tree_start=np.array(
                [_NO_TREE if axis.tree is None else next(starts) for axis in axes], dtype=np.int64
            ),
            first=_joined([tree.first for tree in planted]),
            last=_joined([tree.last for tree in planted]),
            parent=_joined([tree.parent for tree in planted]),
        )

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.axes)


def _starts(lengths: Sequence[int]) -> list[int]:
    return [sum(lengths[:place]) for place in range(len(lengths))]


def _joined(arrays: Sequence[Codes]) -> Codes:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


def _measurable(numbers: Floats) -> Floats:
    """Return the numbers, or a quarter of each if they are too far apart for a float."""
    is_finite = len(numbers) < 2 or math.isfinite(float(numbers[-1]) - float(numbers[0]))
    return numbers if is_finite else numbers / 4


def _span(axis: Axis) -> float:
    numbers = _measurable(axis.numbers)
    return float(numbers[-1] - numbers[0]) if len(numbers) > 1 else 1.0


_DRAW_BITS = 64
_STEPS = 1000
"""A grid has about this many points within the range of the middle nine tenths of the rows."""
_FINER = 3
"""This many more decimals than the table has suffice for a thousandth of any distance in it."""
_MOST_DECIMALS = 1100
"""No float has more; numbers that differ only beyond that are equal to every reader."""
_EXACT = Context(prec=3000)


@dataclass(frozen=True)
class Grid:
    """Numbered points on the line of integers.

    `number` returns the number of the last point up to an integer, `point` the point of a number.
    """

    number: Callable[[int], int]
    point: Callable[[int], int]


def multiples(step: int) -> Grid:
    """Return the grid of the multiples of a step."""
    return Grid(lambda whole: whole // step, lambda number: number * step)


def months() -> Grid:
    """Return the grid of the first days of months, as days since 1970-01-01."""

    def number(day: int) -> int:
        date = date_of_day(day)
        return 12 * date.year + date.month - 1

    def point(month: int) -> int:
        return day_of_date(date_of_day(0).replace(year=month // 12, month=month % 12 + 1))

    return Grid(number, point)


def draw_point(
    grids: Sequence[Grid], below: int, above: int, number: int, *, is_common: bool
) -> int:
    """Draw a point above `below` and up to `above`, by a draw of 64 bits.

    It is on the first of the `grids`, coarse ones first, that has a point strictly between the two,
    or at `above` if that value is common enough to be named. If there is no such point, it is
    `above`: this cannot be avoided, and does not assert that somebody has that value, since the
    same bound arises from every wider gap around it.

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
    """Return the step of a grid for a column of that extent, at least 1, in units of 10**-decimals.

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
    draws: Words,
) -> list[str]:
    """Draw the bound of every cut in a column of numbers or dates.

    `below` and `above` have, for each cut, the last position on its left and the first one on its
    right. Values of fewer rows than `least` are bounds only if that is unavoidable. Each bound, as
    text, is above every value on the cut's left and at most every value on its right.
    """
    if len(below) == 0:
        return []
    starts = np.searchsorted(_numbers(axis), axis.numbers)
    # Of texts that share a float the lowest counts, since only that text would be named.
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


def _numbers(axis: Axis) -> Floats:
    assert axis.domain.numbers is not None
    return axis.domain.numbers


def _usual_extent(axis: Axis, totals: Counts) -> float:
    """Return the range of the middle nine tenths of the rows, which no single outlier changes."""
    present = np.zeros(len(axis.numbers), dtype=np.int64)
    n_texts = len(axis.domain.texts)
    np.add.at(present, axis.position[:n_texts], totals[:n_texts])
    cumulated = np.cumsum(present)
    shares = np.array([cumulated[-1] // 20 + 1, cumulated[-1] - cumulated[-1] // 20])
    low, high = axis.numbers[np.searchsorted(cumulated, shares)].tolist()
    return min(float(high) / 2 - float(low) / 2, 2.0**1000) * 2


@dataclass(frozen=True, eq=False)
class _Line:
    """Numbers as exact multiples of 10**-`decimals`.

    `below` and `above` have the largest and the smallest number at a position, as a float may stand
    for several, and `texts` the smallest one as the table writes it. `coarse` is the grid of the
    column. If `is_whole`, bounds are integers.
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
            # Rounded towards each other, if at all, so that a point between these separates them.
            {place: _scaled(number, decimals, ROUND_CEILING) for place, number in most.items()},
            {place: _scaled(number, decimals, ROUND_FLOOR) for place, number in least.items()},
            {place: str(number) for place, number in least.items()},
            decimals,
            coarse,
            is_whole,
        )

    def bound(self, gap: tuple[int, int], value: float, number: int, *, is_common: bool) -> str:
        """Draw the bound between two positions, which is above the lower one as a float, too."""
        below, above = gap
        low, high = self.below[below], self.above[above]
        found = self._draw(low, high, number, is_common=is_common)
        if low < high and float(found) > value:
            return found
        # Readers compare floats, and a bound that rounds to the lower number is not above it.
        middle = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2
        nearest = max(low, math.floor(middle * 10**self.decimals))
        if nearest < high:
            return self._draw(nearest, high, number, is_common=is_common)
        return self._text(high) if low < high else self.texts[above]

    def _draw(self, low: int, high: int, number: int, *, is_common: bool) -> str:
        # If the grid has no point: any integer, or decimals as short as ten choices allow.
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
