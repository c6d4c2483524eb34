"""Which of several releases are worth choosing from: less risk against less loss.

One release beats another if it has neither more risk nor more loss, and less of one. Those that
nothing beats are the frontier: whatever a steward prefers, her choice is among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Point", "frontier", "nearest", "within"]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Point:
    """A release in the picture.

    Parameters
    ----------
    name
        What it is called.
    risk, loss
        How much adversaries learn, and how much analysts lose; 0 is best.
    """

    name: str
    risk: float
    loss: float

    def beats(self, other: Point) -> bool:
        """Whether it is better in one and worse in none."""
        is_no_worse = self.risk <= other.risk and self.loss <= other.loss
        return is_no_worse and (self.risk, self.loss) != (other.risk, other.loss)


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Give the points that no other beats, from least risk to least loss.

    Examples
    --------
    >>> found = frontier([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1), Point("c", 0.4, 0.5)])
    >>> [point.name for point in found]
    ['a', 'b']
    """
    kept: list[Point] = []
    least = math.inf
    for point in sorted(points, key=lambda point: (point.risk, point.loss)):
        is_equal = bool(kept) and (kept[-1].risk, kept[-1].loss) == (point.risk, point.loss)
        if point.loss < least or is_equal:
            kept.append(point)
            least = point.loss
    return tuple(kept)


def nearest(points: Sequence[Point], risk: float) -> Point:
    """Give the point nearest to no loss at a risk that nobody can go below.

    Of equally near ones the one with less risk is taken.

    Examples
    --------
    >>> nearest([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], risk=0.1).name
    'b'
    """
    return min(points, key=lambda point: (math.hypot(point.risk - risk, point.loss), point.risk))


def within(points: Sequence[Point], most: float) -> Point | None:
    """Give the point with least loss among those of at most some risk; None where there is none.

    Examples
    --------
    >>> within([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], 0.2).name
    'a'
    """
    # A risk is a mean, and rounding must not carry it over the limit.
    allowed = [point for point in points if point.risk <= most + _ROUNDING]
    return min(allowed, key=lambda point: (point.loss, point.risk), default=None)
