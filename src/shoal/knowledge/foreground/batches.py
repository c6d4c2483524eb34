"""One step of the equations from many points at once.

Searching for several maxima evaluates the same likelihood at many points. The points share the
buckets, so the steps from all of them are one matrix product where every bucket has one carrier,
and one pass over repeated buckets otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts
from shoal.knowledge.foreground.fitting import Likelihood
from shoal.knowledge.foreground.law import condition, odds_of
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["Batch"]

Floats = npt.NDArray[np.float64]

_MOST_ENTRIES = 2_000_000
"""How many entries of buckets are held at once."""


@dataclass(frozen=True, eq=False)
class Batch:
    """A likelihood that is evaluated at many points at once.

    Parameters
    ----------
    likelihood
        The likelihood.
    """

    likelihood: Likelihood

    @cached_property
    def _tiles(self) -> dict[int, Shapes]:
        return {}

    @cached_property
    def n_rows(self) -> Counts:
        """The number of rows of each class, at least 1."""
        return np.maximum(self.likelihood.n_rows, 1)

    def steps(self, f: Floats) -> tuple[Floats, Floats]:
        """Return the expected shares of carriers from each point, and its log-likelihood.

        Parameters
        ----------
        f
            One row per point, one column per class.
        """
        n_entries = max(len(self.likelihood.shapes.which), 1)
        n_at_once = max(_MOST_ENTRIES // n_entries, 1)
        if len(f) <= n_at_once:
            return self._steps(f)
        parts = [self._steps(f[at : at + n_at_once]) for at in range(0, len(f), n_at_once)]
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )

    def _steps(self, f: Floats) -> tuple[Floats, Floats]:
        likelihood, shapes = self.likelihood, self.likelihood.shapes
        odds = odds_of(f)
        if likelihood.is_single and np.isfinite(odds).all():
            matrix, transposed = likelihood.matrices
            total = matrix @ odds.T
            with np.errstate(divide="ignore"):
                log = np.log(total)
            expected = odds * (transposed @ (shapes.multiplicity[:, np.newaxis] / total)).T
            height = (shapes.multiplicity[:, np.newaxis] * log).sum(axis=0)
        else:
            tiles = self._tiled(len(f))
            share, log = condition(tiles, odds.ravel())
            carriers = tiles.multiplicity[tiles.shape] * tiles.count * share
            expected = np.bincount(tiles.which, carriers, f.size).reshape(f.shape)
            height = (tiles.multiplicity * log).reshape(len(f), -1).sum(axis=1)
        found = np.minimum(expected / self.n_rows, 1.0)
        lacking = np.where(f < 1, f, 0.0)
        height = height + (likelihood.n_rows * np.log1p(-lacking)).sum(axis=1)
        return np.where(np.isnan(likelihood.fixed), found, likelihood.fixed), height

    def _tiled(self, n_points: int) -> Shapes:
        """Return the buckets repeated for each point, with classes of its own."""
        if n_points not in self._tiles:
            self._tiles[n_points] = _tile(
                self.likelihood.shapes, n_points, len(self.likelihood.n_rows)
            )
        return self._tiles[n_points]


def _tile(shapes: Shapes, n_points: int, n_classes: int) -> Shapes:
    number = np.arange(n_points)[:, np.newaxis]
    start = (shapes.start[np.newaxis, :-1] + number * shapes.start[-1]).ravel()
    return Shapes(
        np.append(start, n_points * shapes.start[-1]),
        (shapes.which + number * n_classes).ravel(),
        np.tile(shapes.count, n_points),
        np.tile(shapes.n_carrying, n_points),
        np.tile(shapes.multiplicity, n_points),
    )
