"""One step of the equations from many points at once.

Searching for several maxima evaluates the same likelihood at many points. The points share the
buckets: where every bucket has one carrier, the steps from all points are one matrix product. Small
buckets with several carriers go through a kernel, very large ones are repeated for every point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts
from shoal.knowledge.foreground._kernels import expect
from shoal.knowledge.foreground.fitting import Likelihood
from shoal.knowledge.foreground.law import condition, odds_of
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["Batch"]

Floats = npt.NDArray[np.float64]

_MOST_ENTRIES = 2_000_000
"""How many entries of buckets are held at once."""
_WIDEST = 256
"""The kernel takes buckets in which so many rows carry the value, or lack it."""
_FEW_ENTRIES = 400
"""So few entries take the kernel less time than a matrix product takes to begin."""


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
    def _room(self) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Room for the kernel; None where a bucket is too large for it."""
        shapes = self.likelihood.shapes
        sizes = np.bincount(shapes.shape, shapes.count, shapes.n_shapes).astype(np.int64)
        width = int(np.minimum(shapes.n_carrying, sizes).max(initial=0)) + 1
        n_classes = int(np.diff(shapes.start).max(initial=0)) + 1
        if width > _WIDEST:
            return None
        return (
            np.empty((2, n_classes)),
            np.empty(width),
            np.empty(width * n_classes),
            np.empty(width),
        )

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
        likelihood = self.likelihood
        odds = odds_of(f)
        is_finite = bool(np.isfinite(odds).all())
        is_few = len(likelihood.shapes.which) <= _FEW_ENTRIES
        if is_finite and self._room is not None and (is_few or not likelihood.is_single):
            expected, height = self._by_kernel(odds, self._room)
        elif is_finite and likelihood.is_single:
            expected, height = self._by_product(odds)
        else:
            expected, height = self._by_tiles(odds)
        found = np.minimum(expected / self.n_rows, 1.0)
        lacking = np.where(f < 1, f, 0.0)
        height = height + (likelihood.n_rows * np.log1p(-lacking)).sum(axis=1)
        return np.where(np.isnan(likelihood.fixed), found, likelihood.fixed), height

    def _by_kernel(
        self, odds: Floats, room: tuple[Floats, Floats, Floats, Floats]
    ) -> tuple[Floats, Floats]:
        shapes = self.likelihood.shapes
        expected, height = np.empty(odds.shape), np.empty(len(odds))
        expect(
            shapes.start,
            shapes.which,
            shapes.count,
            shapes.n_carrying,
            shapes.multiplicity,
            np.ascontiguousarray(odds),
            expected,
            height,
            *room,
        )
        return expected, height

    def _by_product(self, odds: Floats) -> tuple[Floats, Floats]:
        matrix, transposed = self.likelihood.matrices
        multiplicity = self.likelihood.shapes.multiplicity[:, np.newaxis]
        total = matrix @ odds.T
        with np.errstate(divide="ignore"):
            log = np.log(total)
        expected = odds * (transposed @ (multiplicity / total)).T
        return expected, (multiplicity * log).sum(axis=0)

    def _by_tiles(self, odds: Floats) -> tuple[Floats, Floats]:
        tiles = self._tiled(len(odds))
        share, log = condition(tiles, odds.ravel())
        carriers = tiles.multiplicity[tiles.shape] * tiles.count * share
        expected = np.bincount(tiles.which, carriers, odds.size).astype(np.float64)
        return expected.reshape(odds.shape), (tiles.multiplicity * log).reshape(len(odds), -1).sum(
            axis=1
        )

    def _tiled(self, n_points: int) -> Shapes:
        """Return the buckets repeated for each point, with classes of its own."""
        if n_points not in self._tiles:
            # One size at a time: large releases make large tiles.
            self._tiles.clear()
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
