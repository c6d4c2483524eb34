"""Whether a point is a maximum, and the last digits of one.

Where the equations hold, the likelihood may still have a saddle. Its second derivatives tell: they
are taken as differences of the slopes that one step of the equations gives. Newton's steps by them
also find the digits that the iteration would take very long to reach, above all where a chance
tends to a bound and the slope there is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.knowledge.foreground.likelihood import Likelihood

__all__ = ["FLOOR", "Curvature", "Polished", "polish"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FLOOR = 1e-12
"""Free chances stay this far from 0 and 1: at a bound itself no step would lead away again."""
_EDGE = 1e-9
"""Newton's steps stay this far from the bounds, where slopes still have seven digits."""
_AT_EDGE, _NEAR_EDGE = 1e-8, 1e-4
"""Chances this near to a bound are there; this near, they go there where the slope says so."""
_STEEP = 1e-5
"""A chance is held at a bound where a step brings it nearer by this part of itself."""
_DEFINITE = 1e-6
"""The least curvature, as a part of that of rows seen one by one, of a maximum beyond doubt."""
_LITTLE = 0.01
_DIFFERENCE = 1e-4
_N_NEWTON = 30
_FARTHEST = 0.05
_EXACT = 1e-9


@dataclass(frozen=True, eq=False)
class Curvature:
    """The shape of the likelihood around a point.

    Parameters
    ----------
    f
        The point.
    slope
        The slope along each class; 0 for those that are not free.
    is_held
        The classes that their slope holds at a bound.
    is_open
        The other free classes.
    matrix
        Minus the second derivatives along the open classes.
    n_rows
        The number of rows of each class.
    """

    f: Floats
    slope: Floats
    is_held: Flags
    is_open: Flags
    matrix: Floats
    n_rows: Floats

    @classmethod
    def at(cls, likelihood: Likelihood, f: Floats, is_free: Flags) -> Curvature:
        """Take differences of slopes around a point."""
        inner = np.where(is_free, np.clip(f, _EDGE, 1 - _EDGE), f)
        slope = _slopes(likelihood, inner[np.newaxis], is_free)[0]
        n_rows = likelihood.n_at_least_one.astype(np.float64)
        low = (f <= _NEAR_EDGE) & (slope < -_STEEP * n_rows)
        high = (1 - f <= _NEAR_EDGE) & (slope > _STEEP * n_rows)
        is_held = is_free & (low | high)
        is_open = is_free & ~is_held
        matrix = _second(likelihood, inner, is_free, np.flatnonzero(is_open))
        return cls(inner, slope, is_held, is_open, matrix, n_rows)

    @property
    def is_definite(self) -> bool:
        """Whether the point is a maximum beyond doubt, as far as curvature goes."""
        return self.least > _DEFINITE

    @property
    def bends_up(self) -> bool:
        """Whether the likelihood clearly curves upwards in some direction, as at no maximum."""
        return self.least < -_DEFINITE

    @cached_property
    def least(self) -> float:
        """How much the likelihood falls in the direction in which it falls least."""
        if not self.is_open.any():
            return 1.0
        spread = _spread(self.f)[self.is_open]
        # A chance at a bound would otherwise count for nothing.
        scale = np.sqrt(np.maximum(spread, _LITTLE * spread.max()) / self.n_rows[self.is_open])
        values = np.linalg.eigvalsh(self.matrix * np.outer(scale, scale))
        return float(values.min())

    def fall(self, points: Floats) -> Floats:
        """Return by how much the log-likelihood falls to each point, by curvature and slopes."""
        away = points - self.f
        inner = away[:, self.is_open]
        bent = ((inner @ self.matrix) * inner).sum(axis=1) / 2
        held = (np.abs(away) * np.abs(self.slope))[:, self.is_held].sum(axis=1)
        found: Floats = bent + held
        return found


@dataclass(frozen=True, eq=False)
class Polished:
    """Where Newton's steps led.

    Parameters
    ----------
    f, height
        The point and its log-likelihood; where the curvature was in doubt, as it was given.
    curvature
        The curvature there.
    is_exact
        Whether the last step changed nothing any more.
    """

    f: Floats
    height: float
    curvature: Curvature
    is_exact: bool


def polish(likelihood: Likelihood, f: Floats, is_free: Flags) -> Polished:
    """Take Newton's steps to the maximum near a point, while its curvature is that of one."""
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
    return Polished(found, height, curvature, is_exact)


def _newton_step(
    likelihood: Likelihood, curvature: Curvature, height: float
) -> tuple[Floats | None, float]:
    """Take one short step within the bounds that does not lead down; None where there is none."""
    step, is_open = _newton_direction(curvature)
    longest = float(np.abs(step).max(initial=0.0))
    step *= min(1.0, _FARTHEST / max(longest, _FARTHEST))
    tried = np.where(is_open, np.clip(curvature.f + step, _EDGE, 1 - _EDGE), curvature.f)
    tried = np.where(curvature.is_held, np.where(tried < 0.5, _EDGE, 1 - _EDGE), tried)
    above = float(likelihood.steps(tried[np.newaxis])[1][0])
    if not above >= height - 1e-9 * (1 + abs(height) * 1e-3):
        return None, height
    return tried, above


def _newton_direction(curvature: Curvature) -> tuple[Floats, Flags]:
    """Solve for the step; open classes at a bound that it would leave stay there."""
    step = np.zeros_like(curvature.f)
    is_open = curvature.is_open.copy()
    while is_open.any():
        chosen = is_open[curvature.is_open]
        step[:] = 0.0
        matrix = curvature.matrix[np.ix_(chosen, chosen)]
        step[is_open] = np.linalg.solve(matrix, curvature.slope[is_open])
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


def _slopes(likelihood: Likelihood, points: Floats, is_free: Flags) -> Floats:
    """Return the slope of the log-likelihood along each free class, at each point."""
    following = likelihood.steps(points)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = likelihood.n_at_least_one * (following - points) / _spread(points)
    return np.where(is_free, slopes, 0.0)


def _second(
    likelihood: Likelihood, f: Floats, is_free: Flags, along: npt.NDArray[np.intp]
) -> Floats:
    """Return minus the second derivatives, as differences of slopes."""
    if not len(along):
        return np.zeros((0, 0))
    room = np.maximum(np.minimum(f, 1 - f), 0.01 * float(np.mean(f[along])) * (1 - f.mean()))
    width = _DIFFERENCE * room[along]
    points = np.repeat(f[np.newaxis], 2 * len(along), axis=0)
    number = np.arange(len(along))
    points[2 * number, along] = np.minimum(f[along] + width, 1 - _EDGE)
    points[2 * number + 1, along] = np.maximum(f[along] - width, _EDGE)
    apart = points[2 * number, along] - points[2 * number + 1, along]
    slopes = _slopes(likelihood, points, is_free)[:, along]
    second = -(slopes[0::2] - slopes[1::2]) / apart[:, np.newaxis]
    matrix: Floats = (second + second.T) / 2
    return matrix
