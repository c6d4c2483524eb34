"""How much is lost by a generalization, exactly where that is a fraction.

Without suppression no measure falls where something is generalized further; so what a
generalization would lose if no row were left out bounds what is lost by it and by all above it.

References
----------
[Iyengar02] V. Iyengar: Transforming Data to Satisfy Privacy Constraints. KDD 2002: loss.
[Bayardo05] R. Bayardo, R. Agrawal: Data Privacy through Optimal k-Anonymization. ICDE 2005:
discernibility.
[LeFevre06] K. LeFevre, D. DeWitt, R. Ramakrishnan: Mondrian Multidimensional K-Anonymity.
ICDE 2006: average class size.
[DeWaal99] A. de Waal, L. Willenborg: Information Loss through Global Recoding and Local
Suppression. Netherlands Official Statistics 14, 1999: entropy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.methods.lattice.groups import Groups
from shoal.methods.lattice.judging import Marks
from shoal.methods.lattice.levels import Ladder, Lattice, Levels

__all__ = ["Floats", "Loss", "Measure", "measure_of"]

Floats = npt.NDArray[np.float64]
Loss = Literal["loss", "discernibility", "class_size", "entropy"]

_DIGITS = 12
"""Sums of logarithms that agree so far are taken as equal, on every machine."""


@dataclass(frozen=True, eq=False)
class Measure(ABC):
    """What is lost by generalizing columns to levels, and by leaving rows out.

    Parameters
    ----------
    lattice
        The levels of the columns.
    n_rows
        The rows of the table.
    """

    lattice: Lattice
    n_rows: int

    @abstractmethod
    def of(self, groups: Groups, kept: Marks, levels: Levels) -> Fraction:
        """Give what is lost where only the groups that are kept are published."""

    def bounds(self) -> Floats:
        """Give for each element a number that nothing above it falls below, as far as known."""
        return np.zeros(self.lattice.shape)

    def bound(self, groups: Groups, levels: Levels) -> float:
        """Give what is lost where every group is published: nothing above loses less."""
        return float(self.of(groups, np.ones(groups.n_groups, dtype=bool), levels))


def measure_of(loss: Loss, lattice: Lattice, n_rows: int) -> Measure:
    """Give the measure of a name."""
    measures: dict[Loss, type[Measure]] = {
        "loss": _DomainShares,
        "discernibility": _Discernibility,
        "class_size": _ClassSize,
        "entropy": _Entropy,
    }
    return measures[loss](lattice, n_rows)


class _Discernibility(Measure):
    """How many rows every row looks like; one that is left out, like all."""

    def of(self, groups: Groups, kept: Marks, levels: Levels) -> Fraction:  # noqa: ARG002
        sizes = groups.sizes[kept]
        n_dropped = self.n_rows - int(sizes.sum())
        return Fraction(int(sizes @ sizes) + n_dropped * self.n_rows)


class _ClassSize(Measure):
    """The rows of the table for each bucket that is published."""

    def of(self, groups: Groups, kept: Marks, levels: Levels) -> Fraction:  # noqa: ARG002
        return Fraction(self.n_rows, int(np.count_nonzero(kept)))


class _ByColumn(Measure):
    """A sum over columns and rows of what the label costs; `*` where the row is left out."""

    @abstractmethod
    def _cost(self, ladder: Ladder, level: int) -> npt.NDArray[Any]:
        """Give the cost of a row, for each node of a level."""

    @abstractmethod
    def _share(self, place: int, cost: float) -> Fraction:
        """Give a column's part of the whole, from the cost of all rows."""

    def of(self, groups: Groups, kept: Marks, levels: Levels) -> Fraction:
        sizes, first = groups.sizes[kept], groups.first[kept]
        n_dropped = self.n_rows - int(sizes.sum())
        total = Fraction(0)
        for place, (ladder, level) in enumerate(zip(self.lattice.ladders, levels, strict=True)):
            cost = (sizes @ self._costs[place][level][ladder.numbers_at(level, first)]).item()
            total += self._share(place, cost + n_dropped * self._costs[place][-1].item())
        return total

    @cached_property
    def _costs(self) -> list[list[npt.NDArray[Any]]]:
        return [
            [self._cost(ladder, level) for level in range(ladder.height + 1)]
            for ladder in self.lattice.ladders
        ]

    def bounds(self) -> Floats:
        bounds = np.zeros(())
        for place, (ladder, costs) in enumerate(
            zip(self.lattice.ladders, self._costs, strict=True)
        ):
            by_level = [
                float(self._share(place, (rows @ cost).item()))
                for rows, cost in zip(ladder.n_rows, costs, strict=True)
            ]
            bounds = np.add.outer(bounds, np.array(by_level))
        return bounds

    def bound(self, groups: Groups, levels: Levels) -> float:  # noqa: ARG002
        # All is known beforehand.
        return 0.0


class _DomainShares(_ByColumn):
    """The mean over columns of the share of its hierarchy's leaves that a label stands for.

    It is 0 where every value is published and 1 where none is.
    """

    def _cost(self, ladder: Ladder, level: int) -> npt.NDArray[Any]:
        return ladder.n_leaves[level]

    def _share(self, place: int, cost: float) -> Fraction:
        n_leaves = int(self._costs[place][-1].item())
        if n_leaves == 1:
            return Fraction(0)
        unit = self.n_rows * (n_leaves - 1) * len(self.lattice.ladders)
        return Fraction(int(cost) - self.n_rows, unit)


class _Entropy(_ByColumn):
    """How many bits it takes to find the values of all rows from their labels.

    A value is looked for among all rows of the table that share its label. The bits are divided
    by what it would take if every value were suppressed.
    """

    def _cost(self, ladder: Ladder, level: int) -> npt.NDArray[Any]:
        return np.log2(np.maximum(ladder.n_rows[level], 1))

    @cached_property
    def _known(self) -> list[float]:
        """The sum of the logarithms of the rows that carry each row's own value."""
        return [
            float(ladder.n_rows[0] @ costs[0])
            for ladder, costs in zip(self.lattice.ladders, self._costs, strict=True)
        ]

    @cached_property
    def _most(self) -> float:
        most = [self.n_rows * costs[-1].item() for costs in self._costs]
        return float(sum(most) - sum(self._known))

    def _share(self, place: int, cost: float) -> Fraction:
        if self._most <= 0:
            return Fraction(0)
        return Fraction((cost - self._known[place]) / self._most)

    def of(self, groups: Groups, kept: Marks, levels: Levels) -> Fraction:
        return Fraction(round(float(super().of(groups, kept, levels)), _DIGITS))
