"""The parameters of the additive model, and the normal prior that ties them together.

Every value has an effect of its own that is drawn to 0. Along an order the differences of
neighbours are drawn to 0 instead, the more the nearer they are: a random walk. Every group of a
hierarchy has an effect that its members share, so that a rare value borrows from its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes
from shoal.knowledge.foreground.relations import Relation

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Effects"]

Floats = npt.NDArray[np.float64]

_MOST_KNOTS = 100
"""Numbers with more different values than this share effects with their nearest neighbours."""
_FREE = 1e-3
"""The precision of the level of effects along an order, which the level of the model absorbs."""


@dataclass(frozen=True, eq=False)
class Effects:
    """The parameters of an additive model, and how a prior ties them together.

    The first parameter is the level, which nothing ties; the last is always 0 and stands where a
    value has no group. Minus twice the logarithm of the prior is a penalty times `form`.

    Parameters
    ----------
    place
        The parameters of each distinct row, beside the level.
    n_parameters
        How many parameters there are, the first and the last included.
    ridge
        How strongly each parameter is drawn to 0.
    low, high, weight
        Pairs of neighbours along an order, and how strongly they are drawn together.
    of_code
        For each column the parameters of each code.
    """

    place: Codes
    n_parameters: int
    ridge: Floats
    low: Codes
    high: Codes
    weight: Floats
    of_code: tuple[Codes, ...]

    @classmethod
    def of(cls, looks: Cells, relations: Sequence[Relation]) -> Effects:
        """Lay out the parameters of the columns of distinct rows.

        Examples
        --------
        >>> from shoal.core.domain import Domain
        >>> sex = Domain.of_texts("sex", ["F", "M"])
        >>> looks = Cells.of_rows([sex], np.array([[0], [1], [1]]))
        >>> effects = Effects.of(looks, [Relation()])
        >>> effects.n_parameters, effects.place.tolist(), effects.ridge.tolist()
        (4, [[1], [2]], [0.0, 1.0, 1.0, 1.0])
        """
        laid = _Layout()
        of_code = []
        for column, (domain, relation) in enumerate(zip(looks.domains, relations, strict=True)):
            rows = np.bincount(looks.codes[:, column], looks.counts, domain.size).astype(np.float64)
            # The levels of a hierarchy share the variance that a column has without one.
            share = float(len(relation.groups) + 1)
            own = [laid.add_values(relation, rows, share)]
            own += [laid.add_group(level, share) for level in relation.groups]
            of_code.append(np.column_stack(own))
        n_parameters = laid.n_parameters + 1
        of_code = [np.where(one < 0, n_parameters - 1, one) for one in of_code]
        place = np.column_stack([one[looks.codes[:, column]] for column, one in enumerate(of_code)])
        return cls(
            place,
            n_parameters,
            np.concatenate([[0.0], *laid.ridge, [1.0]]),
            np.concatenate([*laid.low, []]).astype(np.int64),
            np.concatenate([*laid.high, []]).astype(np.int64),
            np.concatenate([*laid.weight, []]),
            tuple(of_code),
        )

    @cached_property
    def _designs(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Which parameters each distinct row has, and the same the other way round."""
        from scipy import sparse  # noqa: PLC0415 - it takes long to import

        width = self.place.shape[1]
        starts = np.arange(0, self.place.size + 1, width)
        entries = (np.ones(self.place.size), self.place.ravel(), starts)
        design = sparse.csr_array(entries, shape=(len(self.place), self.n_parameters))
        return design, design.T.tocsr()

    def totals(self, parameters: Floats) -> Floats:
        """Return the sum of the effects of each distinct row, without the level.

        Several sets of parameters may be given as the rows of a matrix, here and in `collect` and
        `form`.
        """
        total: Floats = (self._designs[0] @ parameters.T).T
        return total

    def collect(self, weights: Floats) -> Floats:
        """Add up weights of distinct rows by parameter; the first has them all."""
        found: Floats = (self._designs[1] @ weights.T).T
        found[..., 0], found[..., -1] = weights.sum(axis=-1), 0.0
        return found

    def form(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the quadratic form of the prior, and half its gradient."""
        rise = self.weight * (parameters[..., self.high] - parameters[..., self.low])
        half = self.ridge * parameters
        # Nobody is the upper or the lower neighbour of two others.
        half[..., self.high] += rise
        half[..., self.low] -= rise
        return float((half * parameters).sum()), half

    def matrix(self) -> Floats:
        """Return the matrix of the quadratic form."""
        found = np.diag(self.ridge)
        np.add.at(found, (self.high, self.high), self.weight)
        np.add.at(found, (self.low, self.low), self.weight)
        np.add.at(found, (self.high, self.low), -self.weight)
        np.add.at(found, (self.low, self.high), -self.weight)
        return found

    def diagonal(self) -> Floats:
        """Return the diagonal of the matrix of the quadratic form."""
        found: Floats = self.ridge.copy()
        found += np.bincount(self.high, self.weight, self.n_parameters)
        found += np.bincount(self.low, self.weight, self.n_parameters)
        return found

    def chains(self) -> list[tuple[int, int, Floats]]:
        """Return where the parameters of each order begin and end, and the weights between."""
        border = np.flatnonzero(np.diff(self.low) != 1) + 1
        pieces = zip(np.split(self.low, border), np.split(self.weight, border), strict=True)
        return [(int(low[0]), int(low[-1]) + 2, weight) for low, weight in pieces if len(low)]

    def by_column(self, parameters: Floats) -> tuple[Floats, ...]:
        """Return the sum of the effects of each code of each column."""
        return tuple(parameters[one].sum(axis=1) for one in self.of_code)


class _Layout:
    """Parameters as they are laid out, column after column."""

    def __init__(self) -> None:
        self.n_parameters = 1
        self.ridge: list[Floats] = []
        self.low: list[Codes] = []
        self.high: list[Codes] = []
        self.weight: list[Floats] = []

    def _take(self, ridge: Floats) -> int:
        first = self.n_parameters
        self.ridge.append(ridge)
        self.n_parameters += len(ridge)
        return first

    def add_values(self, relation: Relation, rows: Floats, ridge: float) -> Codes:
        """Lay out the effects of values; return the parameter of each code."""
        if relation.position is None:
            return self._take(np.full(len(rows), ridge)) + np.arange(len(rows))
        is_placed = np.isfinite(relation.position)
        knot = np.full(len(rows), -1, dtype=np.int64)
        knot[is_placed], at = _knots(relation.position[is_placed], rows[is_placed])
        n_knots, n_others = len(at), int(np.count_nonzero(~is_placed))
        knot[~is_placed] = n_knots + np.arange(n_others)
        first = self._take(np.concatenate([np.full(n_knots, _FREE), np.ones(n_others)]))
        if n_knots > 1:
            mass = np.bincount(knot, rows, n_knots + n_others)[:n_knots].astype(np.float64)
            gap = np.diff(at) / _spread(at, mass)
            self.low.append(first + np.arange(n_knots - 1))
            self.high.append(first + np.arange(1, n_knots))
            self.weight.append(1 / gap)
        return first + knot

    def add_group(self, level: Codes, ridge: float) -> Codes:
        """Lay out the effects of the groups of a level; return the parameter of each code."""
        different, which = np.unique(level, return_inverse=True)
        has_none = int(different[0] < 0)
        first = self._take(np.full(len(different) - has_none, ridge))
        return np.where(level < 0, -1, first + which - has_none)


def _knots(position: Floats, rows: Floats) -> tuple[Codes, Floats]:
    """Put values along an order into at most so many knots; return each one's, and where it is."""
    different, which = np.unique(position, return_inverse=True)
    if len(different) > _MOST_KNOTS:
        mass = np.bincount(which, rows, len(different))
        # A value stands at the middle of the people before and after it.
        share = (np.cumsum(mass) - mass / 2) / max(float(mass.sum()), 1.0)
        _, knot = np.unique(np.floor(share * _MOST_KNOTS), return_inverse=True)
        which, at = knot[which], np.bincount(knot, different) / np.bincount(knot)
        return which.astype(np.int64), at
    return which.astype(np.int64), different


def _spread(at: Floats, mass: Floats) -> float:
    """Return half of how far two people drawn at random lie apart, on average.

    Along an order the variance of a difference grows with the distance. With distances in these
    units, effects of two people differ on average as much as they would without an order.
    """
    share = np.cumsum(mass) / max(float(mass.sum()), 1.0)
    mean = float((share[:-1] * (1 - share[:-1]) * np.diff(at)).sum())
    return mean if mean > 0 else float(at[-1] - at[0])
