"""Minimize a smooth function of few numbers, and tell maxima of a likelihood from saddle points.

`descend` is the limited-memory BFGS method, written out here because libraries run their linear
algebra in threads, which for a few hundred numbers costs many times what it saves and rounds
differently with the number of threads. The method divides slopes by a matrix that should be close
to the second derivatives. `information` computes one for an additive logit. A bucket says only how
many of its rows carry the value, so what it tells about two parameters is the product of their
covariances with that sum, over its variance. Steps divided by that matrix lead almost straight to
the minimum; steps that take parameters one by one zigzag for hundreds of steps, since buckets tell
far less about a parameter than their rows would.

A point where the equations hold may still be a saddle point of the likelihood. The second
derivatives tell; they follow from how the carriers of two classes in one bucket depend on each
other. Newton's steps by them (`refine`) also find the digits that the iteration would take very
long to reach, above all if a probability tends to a bound and the slope there is zero.

References
----------
[Nocedal06] J. Nocedal, S. J. Wright: Numerical Optimization, 2nd edition, 2006: Algorithms 3.1, 7.4
and 7.5; Section 7.2 on the choice of the first matrix.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats
from shoal.foreground._additive_kernels import inform
from shoal.foreground._linear_kernels import factorize, solve
from shoal.foreground.expectation_maximization import Likelihood
from shoal.foreground.shapes import Shapes

Objective = Callable[[Floats], tuple[float, Floats]]
Divide = Callable[[Floats], Floats]
"""Divides a slope by about how fast slopes grow."""

_MEMORY = 12
_ENOUGH = 1e-4
"""The fraction of the promised descent that a step must achieve."""
_MAX_HALVINGS = 40
_MOST_PARAMETERS = 400
_MOST_PRODUCTS, _MOST_PRODUCTS_EACH = 50_000_000, 60
_STEPS_SAVED = 400
"""The matrix may cost about as much as this many passes over the rows."""


def descend(
    objective: Objective,
    start: Floats,
    divide: Divide,
    *,
    tolerance: float,
    max_steps: int,
    enough: float = 0.0,
) -> tuple[Floats, int, bool]:
    """Find the minimum of a function; return the point, the number of steps, and convergence.

    `objective` returns the height and its gradient. `divide` divides a slope by about how fast
    slopes grow with the numbers: by a positive definite matrix. A slope up to `tolerance` counts as
    flat. A step must promise a descent of `enough` to be worth taking; default 0, so that only the
    slope counts. Points may be arrays of any shape.
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
            # No step leads down: the remaining slope is rounding.
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


def is_worthwhile(shapes: Shapes, place: Codes, n_parameters: int) -> bool:
    """Return whether the matrix costs less than the steps that it saves."""
    if n_parameters > _MOST_PARAMETERS or n_parameters**3 > _STEPS_SAVED * place.size:
        return False
    width = np.minimum(np.diff(shapes.start) * place.shape[1], n_parameters).astype(np.float64)
    return float((width**2).sum()) <= max(_MOST_PRODUCTS, _MOST_PRODUCTS_EACH * place.size)


def information(shapes: Shapes, place: Codes, f: Floats, n_rows: Floats, size: int) -> Floats:
    """Return the information matrix of an additive logit with `size` parameters.

    In `shapes`, rows that cannot be carriers have the class after the last. `place` has one row per
    class: the places of its parameters besides the first, the level, which all classes share.
    """
    n_classes = len(f)
    variance = f * (1 - f)
    is_able = shapes.which < n_classes
    own = np.where(is_able, np.append(variance, 0.0)[shapes.which], 0.0) * shapes.count
    total = np.bincount(shapes.shape, own, shapes.n_shapes)
    weight = shapes.multiplicity / np.maximum(total, np.finfo(np.float64).tiny)
    # The values of rows in buckets without a carrier are known.
    seen = np.bincount(shapes.which, shapes.multiplicity[shapes.shape] * shapes.count, n_classes)
    rest = (n_rows - seen[:n_classes]) * variance
    found, covariance = np.zeros((size, size)), np.zeros(size)
    touched = np.empty(size, dtype=np.int64)
    inform(shapes.start, shapes.which, own, weight, place, rest, covariance, touched, found)
    whole: Floats = found + found.T - np.diag(np.diag(found))
    return whole


# --- maxima and saddle points ---------------------------------------------------------------------


FLOOR = 1e-12
"""Free probabilities stay this far from 0 and 1: no step would lead away from a bound itself."""
_EDGE = 1e-9
"""Newton's steps stay this far from the bounds, where slopes still have seven digits."""
_AT_EDGE, _NEAR_EDGE = 1e-8, 1e-4
"""Probabilities this close to a bound are at it; this close, they go there if the slope says so."""
_STEEP = 1e-5
"""A probability is held at a bound if a step brings it closer by this fraction of itself."""
_DEFINITE = 1e-6
"""The least curvature of a clear maximum, relative to that of rows whose values are known."""
_LITTLE = 0.01
_N_NEWTON = 30
_LONGEST_NEWTON = 0.05
_EXACT = 1e-9
NEWTON = (
    _N_NEWTON, _EDGE, _AT_EDGE, _NEAR_EDGE, _STEEP, _DEFINITE, _LITTLE, _LONGEST_NEWTON, _EXACT,
)  # fmt: skip
"""What the kernel that searches for one maximum has to know of these, in its order."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """The shape of the likelihood around a point.

    `slope` is 0 for classes that are not free. Free classes are held at a bound by their slope, or
    open. `matrix` holds minus the second derivatives along the open classes.
    """

    f: Floats
    slope: Floats
    is_held: Flags
    is_open: Flags
    matrix: Floats
    n_rows: Floats

    @classmethod
    def at(cls, likelihood: Likelihood, f: Floats, is_free: Flags) -> Curvature:
        """Compute slopes and second derivatives at a point."""
        inner = np.where(is_free, np.clip(f, _EDGE, 1 - _EDGE), f)
        share = likelihood.step(inner)[0]
        slope = _slope(likelihood, inner, share, is_free)
        n_rows = likelihood.n_at_least_one.astype(np.float64)
        low = (f <= _NEAR_EDGE) & (slope < -_STEEP * n_rows)
        high = (1 - f <= _NEAR_EDGE) & (slope > _STEEP * n_rows)
        is_held = is_free & (low | high)
        is_open = is_free & ~is_held
        matrix = _second(likelihood, inner, is_open, share)
        return cls(inner, slope, is_held, is_open, matrix, n_rows)

    @cached_property
    def is_definite(self) -> bool:
        """Whether the point is clearly a maximum, as far as curvature tells."""
        return self._falls_by(_DEFINITE)

    @cached_property
    def bends_up(self) -> bool:
        """Whether the likelihood clearly curves upwards in some direction, as at no maximum."""
        return not self._falls_by(-_DEFINITE)

    def _falls_by(self, least: float) -> bool:
        """Whether the likelihood falls by more than this in every direction."""
        if not self.is_open.any():
            return True
        spread = _spread(self.f)[self.is_open]
        # A probability at a bound would otherwise not count at all.
        scale = np.sqrt(np.maximum(spread, _LITTLE * spread.max()) / self.n_rows[self.is_open])
        scaled = self.matrix * np.outer(scale, scale)
        return bool(factorize(scaled - least * np.eye(len(scaled))))

    @property
    def held_slope(self) -> Floats:
        """How steep the likelihood is along the held classes; 0 for all others."""
        return np.where(self.is_held, np.abs(self.slope), 0.0)

    def fall(self, points: Floats) -> Floats:
        """Return how far the log-likelihood falls to each point, by curvature and slopes."""
        away = points - self.f
        inner = away[:, self.is_open]
        bent = ((inner @ self.matrix) * inner).sum(axis=1) / 2
        held = (np.abs(away) * np.abs(self.slope))[:, self.is_held].sum(axis=1)
        found: Floats = bent + held
        return found


@dataclass(frozen=True, eq=False)
class Refinement:
    """The result of Newton's steps: the point, its log-likelihood, and the curvature there.

    `is_exact` says that the last step changed nothing. If the curvature was in doubt, the point is
    the one that was given.
    """

    f: Floats
    height: float
    curvature: Curvature
    is_exact: bool


def refine(likelihood: Likelihood, f: Floats, is_free: Flags) -> Refinement:
    """Take Newton's steps to the maximum near a point, while the curvature is that of a maximum."""
    curvature = Curvature.at(likelihood, f, is_free)
    height = float(likelihood.steps(curvature.f[np.newaxis])[1][0])
    is_exact = False
    for _ in range(_N_NEWTON):
        if not curvature.is_definite:
            break
        following, above = _newton_step(likelihood, curvature, height)
        if following is None:
            break
        is_exact = float(np.abs(following - curvature.f).max()) <= _EXACT
        f, height = following, above
        if is_exact:
            break
        curvature = Curvature.at(likelihood, following, is_free)
    found = np.where(is_free, _to_floor(f), f)
    height = float(likelihood.steps(found[np.newaxis])[1][0])
    return Refinement(found, height, curvature, is_exact)


def _newton_step(
    likelihood: Likelihood, curvature: Curvature, height: float
) -> tuple[Floats | None, float]:
    """Take one short step within the bounds that does not lead down; None if there is none."""
    step, is_open = _newton_direction(curvature)
    longest = float(np.abs(step).max(initial=0.0))
    step *= min(1.0, _LONGEST_NEWTON / max(longest, _LONGEST_NEWTON))
    tried = np.where(is_open, np.clip(curvature.f + step, _EDGE, 1 - _EDGE), curvature.f)
    tried = np.where(curvature.is_held, np.where(tried < 0.5, _EDGE, 1 - _EDGE), tried)
    above = float(likelihood.steps(tried[np.newaxis])[1][0])
    if not above >= height - 1e-9 * (1 + abs(height) * 1e-3):
        return None, height
    return tried, above


def _newton_direction(curvature: Curvature) -> tuple[Floats, Flags]:
    """Solve for the step; open classes that it would push beyond a bound stay at the bound."""
    step = np.zeros_like(curvature.f)
    is_open = curvature.is_open.copy()
    while is_open.any():
        chosen = is_open[curvature.is_open]
        step[:] = 0.0
        matrix = curvature.matrix[np.ix_(chosen, chosen)]
        # The whole matrix is positive definite, and so is every part of it.
        own = curvature.slope[is_open]
        factorize(matrix)
        solve(matrix, own)
        step[is_open] = own
        outward = (curvature.f <= _AT_EDGE) & (step < 0)
        outward |= (1 - curvature.f <= _AT_EDGE) & (step > 0)
        if not (outward & is_open).any():
            break
        is_open &= ~outward
        step[:] = 0.0
    return step, is_open


def _to_floor(f: Floats) -> Floats:
    low = np.where(f <= 2 * _EDGE, FLOOR, f)
    found: Floats = np.where(1 - low <= 2 * _EDGE, 1 - FLOOR, low)
    return found


def _spread(f: Floats) -> Floats:
    spread: Floats = f * (1 - f)
    return spread


def _slope(likelihood: Likelihood, f: Floats, share: Floats, is_free: Flags) -> Floats:
    """Return the slope of the log-likelihood along each free class."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = likelihood.n_at_least_one * (share - f) / _spread(f)
    return np.where(is_free, slope, 0.0)


def _second(likelihood: Likelihood, f: Floats, is_open: Flags, share: Floats) -> Floats:
    """Return minus the second derivatives along the open classes.

    `share` is the expected share of carriers of each class, which is where one step leads.
    """
    n_rows = likelihood.n_at_least_one
    # Differences of large numbers cancel in this form, and not in rounding.
    own = np.diag(n_rows * f * (2 * share - f))
    spread = _spread(f)[is_open]
    inside = np.ix_(is_open, is_open)
    found = -(likelihood.pairs(f) + own)[inside] / np.outer(spread, spread)
    matrix: Floats = (found + found.T) / 2
    return matrix
