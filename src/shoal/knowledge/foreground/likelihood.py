"""How likely the buckets of a release are, given the chance of each class of rows.

The searches evaluate it at many points. The points share the buckets: where every bucket has one
carrier, the steps from all points are one matrix product. Small buckets with several carriers go
through a kernel, very large ones are repeated for every point.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 4.1, Equation (4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts
from shoal.knowledge.foreground._kernels import expect
from shoal.knowledge.foreground.law import condition, odds_of
from shoal.knowledge.foreground.shapes import Shapes

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Likelihood"]

Floats = npt.NDArray[np.float64]

_MOST_ENTRIES = 2_000_000
"""How many entries of buckets are held at once."""
_WIDEST = 256
"""The kernel takes buckets in which so many rows carry the value, or lack it."""
_FEW_ENTRIES = 400
"""So few entries take the kernel less time than a matrix product takes to begin."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """How likely the buckets are, given the chance of each class.

    Parameters
    ----------
    shapes
        The buckets that hold a carrier.
    n_rows
        How many rows of the whole release are of each class.
    fixed
        The chances that are given; not a number where one is to be found.
    """

    shapes: Shapes
    n_rows: Counts
    fixed: Floats

    @cached_property
    def n_at_least_one(self) -> Counts:
        """How many rows are of each class, or 1 for a class of none, to divide by."""
        return np.maximum(self.n_rows, 1)

    @cached_property
    def is_single(self) -> bool:
        """Whether every bucket has one carrier."""
        return bool(np.all(self.shapes.n_carrying == 1)) and self.shapes.n_shapes > 0

    @cached_property
    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The number of rows of each class in each shape, and the transposed matrix."""
        from scipy import sparse  # noqa: PLC0415 - it takes long to import

        shapes = self.shapes
        size = (shapes.n_shapes, len(self.n_rows))
        matrix = sparse.csr_array(
            (shapes.count.astype(np.float64), shapes.which, shapes.start), shape=size
        )
        return matrix, matrix.T.tocsr()

    @cached_property
    def _room(self) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Room for the kernel; None where a bucket is too large for it."""
        shapes = self.shapes
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

    def step(self, f: Floats) -> tuple[Floats, float]:
        """Return the expected share of carriers of each class, and the log-likelihood.

        That of `f`, not of what is returned; fixed chances stay as they are.
        """
        found, heights = self.steps(f[np.newaxis])
        return found[0], float(heights[0])

    def steps(self, f: Floats) -> tuple[Floats, Floats]:
        """Return the expected shares of carriers from each point, and its log-likelihood.

        Parameters
        ----------
        f
            One row per point, one column per class.
        """
        n_entries = max(len(self.shapes.which), 1)
        n_at_once = max(_MOST_ENTRIES // n_entries, 1)
        if len(f) <= n_at_once:
            return self._steps(f)
        parts = [self._steps(f[at : at + n_at_once]) for at in range(0, len(f), n_at_once)]
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )

    def _steps(self, f: Floats) -> tuple[Floats, Floats]:
        odds = odds_of(f)
        is_finite = bool(np.isfinite(odds).all())
        is_few = len(self.shapes.which) <= _FEW_ENTRIES
        if is_finite and self._room is not None and (is_few or not self.is_single):
            expected, height = self._by_kernel(odds, self._room)
        elif is_finite and self.is_single:
            expected, height = self._by_product(odds)
        else:
            expected, height = self._by_tiles(odds)
        found = np.minimum(expected / self.n_at_least_one, 1.0)
        lacking = np.where(f < 1, f, 0.0)
        height = height + (self.n_rows * np.log1p(-lacking)).sum(axis=1)
        return np.where(np.isnan(self.fixed), found, self.fixed), height

    def _by_kernel(
        self, odds: Floats, room: tuple[Floats, Floats, Floats, Floats]
    ) -> tuple[Floats, Floats]:
        shapes = self.shapes
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
        matrix, transposed = self.matrices
        multiplicity = self.shapes.multiplicity[:, np.newaxis]
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
            self._tiles[n_points] = _tile(self.shapes, n_points, len(self.n_rows))
        return self._tiles[n_points]

    def even(self) -> Floats:
        """Return the local random-worlds estimate: one step from equal chances.

        All but those that are 0 for sure; what is fixed otherwise is found here as well.
        """
        start = np.where(self.fixed == 0, 0.0, 0.5)
        free = Likelihood(self.shapes, self.n_rows, np.where(self.fixed == 0, 0.0, np.nan))
        return free.step(start)[0]


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
