"""The lowest point of a smooth function of few numbers, by the limited-memory BFGS method.

Written out here since libraries run their linear algebra in threads, which for some hundred numbers
costs many times what it saves, and rounds differently with their number.

References
----------
[Nocedal06] J. Nocedal, S. J. Wright: Numerical Optimization, 2nd edition, 2006, Algorithms 3.1, 7.4
and 7.5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["Divide", "descend"]

Floats = npt.NDArray[np.float64]
Objective = Callable[[Floats], tuple[float, Floats]]
Divide = Callable[[Floats], Floats]
"""Divides a slope by about how fast slopes grow."""

_MEMORY = 12
_ENOUGH = 1e-4
"""The part of the promised descent that a step must keep."""
_MAX_HALVINGS = 40


def descend(
    objective: Objective,
    start: Floats,
    divide: Divide,
    *,
    tolerance: float,
    max_steps: int,
    enough: float = 0.0,
) -> tuple[Floats, int, bool]:
    """Find the lowest point.

    Parameters
    ----------
    objective
        Gives the height and its gradient.
    start
        Where to begin.
    divide
        Divides a slope by about how fast slopes grow with the numbers: by a positive definite
        matrix.
    tolerance
        The largest slope that counts as none.
    max_steps
        The most steps.
    enough
        The descent that a step must promise to be worth taking; default 0, so that only the slope
        counts.

    Returns
    -------
    point
        The lowest point found.
    n_steps
        How many steps were taken.
    is_converged
        Whether it is flat there, or rounding hides that it is not.

    Examples
    --------
    >>> def bowl(point):
    ...     return float(((point - 3) ** 2).sum()), 2 * (point - 3)
    >>> found = descend(bowl, np.zeros(2), lambda slope: slope, tolerance=1e-9, max_steps=9)
    >>> found[0].tolist(), found[2]
    ([3.0, 3.0], True)
    """
    point = start
    height, slope = objective(point)
    moves: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for n_steps in range(max_steps):
        if np.abs(slope).max() <= tolerance:
            return point, n_steps, True
        direction = -_scaled(slope, moves, divide)
        promised = _product(slope, direction)
        if promised >= 0:
            moves.clear()
            direction = -divide(slope)
            promised = _product(slope, direction)
        if -promised < enough:
            return point, n_steps, True
        following = _search(objective, point, height, direction, promised)
        if following is None:
            # No step lowers it: what is left of the slope is rounding.
            return point, n_steps, bool(-promised <= 1e-9 * max(abs(height), 1.0))
        length, height, grown = following
        move, turn = length * direction, grown - slope
        if _product(move, turn) > 1e-12 * _product(move, move):
            moves.append((move, turn, _product(move, turn)))
        point, slope = point + move, grown
    return point, max_steps, bool(np.abs(slope).max() <= tolerance)


def _product(first: Floats, second: Floats) -> float:
    return float((first * second).sum())


def _scaled(slope: Floats, moves: deque[tuple[Floats, Floats, float]], divide: Divide) -> Floats:
    """Divide a slope by the curvature that the latest moves have shown ([Nocedal06] 7.4)."""
    rest = slope.copy()
    parts = []
    for move, turn, product in reversed(moves):
        part = _product(move, rest) / product
        parts.append(part)
        rest = rest - part * turn
    rest = divide(rest)
    if moves:
        _, turn, product = moves[-1]
        rest *= product / _product(turn, divide(turn))
    for (move, turn, product), part in zip(moves, reversed(parts), strict=True):
        rest = rest + (part - _product(turn, rest) / product) * move
    return rest


def _search(
    objective: Objective, point: Floats, height: float, direction: Floats, promised: float
) -> tuple[float, float, Floats] | None:
    """Halve a step until it lowers the height enough ([Nocedal06] 3.1)."""
    length = 1.0
    for _ in range(_MAX_HALVINGS):
        reached, slope = objective(point + length * direction)
        if reached <= height + _ENOUGH * length * promised:
            return length, reached, slope
        length /= 2
    return None
