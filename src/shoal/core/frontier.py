"""Which of several releases are worth choosing from: less risk against less loss.

One release beats another if it has no more exposed people, risk or loss, and less of one. Those
that nothing beats are the frontier: whatever a steward prefers, her choice is among them.
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
        How often adversaries are right, and how much analysts lose; 0 is best.
    exposed
        The share of people of whom an adversary rightly believes too much; 0 is best.
    """

    name: str
    risk: float
    loss: float
    exposed: float = 0.0

    @property
    def figures(self) -> tuple[float, float, float]:
        """All that points are compared by."""
        return self.exposed, self.risk, self.loss

    def beats(self, other: Point) -> bool:
        """Whether it is better in one and worse in none."""
        pairs = zip(self.figures, other.figures, strict=True)
        return self.figures != other.figures and all(mine <= theirs for mine, theirs in pairs)


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Give the points that no other beats, from least risk to least loss.

    Examples
    --------
    >>> found = frontier([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1), Point("c", 0.4, 0.5)])
    >>> [point.name for point in found]
    ['a', 'b']
    """
    kept = [point for point in points if not any(other.beats(point) for other in points)]
    return tuple(sorted(kept, key=lambda point: (point.risk, point.loss, point.exposed)))


def nearest(points: Sequence[Point], risk: float) -> Point:
    """Return the point nearest to nobody exposed and no loss, at a risk that nobody goes below.

    Of equally near ones the one with less risk is taken.

    Examples
    --------
    >>> nearest([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], risk=0.1).name
    'b'
    """

    def distance(point: Point) -> float:
        return math.hypot(point.exposed, point.risk - risk, point.loss)

    return min(points, key=lambda point: (distance(point), point.risk))


def within(points: Sequence[Point], most: float) -> Point | None:
    """Give the point with least loss among those of at most some risk; None where there is none.

    Examples
    --------
    >>> within([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], 0.2).name
    'a'
    """
    # A risk is a mean, and rounding must not carry it over the limit.
    allowed = [point for point in points if point.risk <= most + _ROUNDING]
    return min(allowed, key=lambda point: (point.loss, point.exposed, point.risk), default=None)
