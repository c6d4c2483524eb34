"""The search for the generalization that loses least.

Elements of the lattice are tried in the order of what they lose at least; the search ends where
that is more than the best one found loses. An element that is hopeless rules out all below it, so
chains of elements are searched by halves for where hope begins. Where no row may be left out,
what is not hopeless can be published, and rules out all above it.

References
----------
[Kohlmayer12] F. Kohlmayer, F. Prasser, C. Eckert, A. Kemper, K. Kuhn: Flash: Efficient, Stable and
Optimal k-Anonymity. SocialCom/PASSAT 2012: chains and predictive tagging.
[Samarati01] P. Samarati: Protecting Respondents' Identities in Microdata Release. TKDE 13(6), 2001:
the lattice, and its search by halves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.methods.lattice.groups import Groups, RolledUp
from shoal.methods.lattice.judging import Judge, Marks
from shoal.methods.lattice.levels import Lattice, Levels
from shoal.methods.lattice.measures import Measure

__all__ = ["Found", "fewest_dropped", "find_best"]

_SLACK = 1e-9
"""Bounds are floats: what is no more than that above the best is tried, too."""


@dataclass(frozen=True, eq=False)
class Found:
    """A generalization that can be published.

    Parameters
    ----------
    levels
        The level of each column.
    groups, kept
        The groups that it makes, and which of them are published.
    n_dropped
        The rows that are left out.
    loss
        What is lost.
    """

    levels: Levels
    groups: Groups
    kept: Marks
    n_dropped: int
    loss: Fraction

    @property
    def rank(self) -> tuple[Any, ...]:
        """What the best one has the least of: ties are broken by rows left out, then by levels."""
        return self.loss, self.n_dropped, sum(self.levels), self.levels


def find_best(lattice: Lattice, cells: Groups, judge: Judge, measure: Measure) -> Search:
    """Search the lattice for what can be published at the least loss.

    Parameters
    ----------
    lattice
        The levels of the columns.
    cells
        The groups before anything is generalized.
    judge
        Which groups are published.
    measure
        What is lost.

    Returns
    -------
    The search, at its end.
    """
    search = Search(lattice, cells, judge, measure)
    while (levels := search.cheapest()) is not None:
        # With rows left out, more generalization may lose less: every candidate is looked at.
        if judge.limit == 0:
            search.halve(search.chain(levels))
        elif not search.evaluate(levels):
            search.halve(search.chain(levels)[1:])
    return search


def fewest_dropped(lattice: Lattice, cells: Groups, judge: Judge) -> int | None:
    """Give how many rows must be left out at least, by looking at all there is.

    Parameters
    ----------
    lattice, cells
        As in `find_best`.
    judge
        With the highest limit there is.

    Returns
    -------
    The number; None where nothing can be published however many are left out.
    """
    rolled_up = RolledUp(lattice, cells)
    verdicts = [judge.judge(rolled_up.at(levels)) for levels in np.ndindex(*lattice.shape)]
    return min((one.n_dropped for one in verdicts if one.kept is not None), default=None)


class Search:
    """The state of a search: what is still open, what it loses at least, and the best so far.

    Parameters
    ----------
    lattice, cells, judge, measure
        As in `find_best`.
    """

    def __init__(self, lattice: Lattice, cells: Groups, judge: Judge, measure: Measure) -> None:
        self._lattice, self._judge, self._measure = lattice, judge, measure
        self._rolled_up = RolledUp(lattice, cells)
        self._bounds = measure.bounds()
        self._is_open = np.ones(lattice.shape, dtype=bool)
        self.n_evaluated = 0
        self.best: Found | None = None

    def cheapest(self) -> Levels | None:
        """Give the open element that loses least at least; None where no open one can be best."""
        bounds = np.where(self._is_open, self._bounds, np.inf)
        place = np.unravel_index(int(np.argmin(bounds)), bounds.shape)
        if not bounds[place] <= self._most_allowed():
            return None
        return tuple(int(level) for level in place)

    def _most_allowed(self) -> float:
        """Give the bound up to which an element may still be the best; below infinity."""
        if self.best is None:
            return float(np.finfo(np.float64).max)
        return float(self.best.loss) * (1 + _SLACK) + _SLACK

    def chain(self, levels: Levels) -> list[Levels]:
        """Go up from an element, cheapest first, while what is met is open and may be best."""
        chain = [levels]
        most = self._most_allowed()
        while True:
            further = [
                above
                for above in self._lattice.successors(chain[-1])
                if self._is_open[above] and self._bounds[above] <= most
            ]
            if not further:
                return chain
            chain.append(min(further, key=lambda above: (self._bounds[above], self._height(above))))

    def _height(self, levels: Levels) -> float:
        """Give the height of the column that is highest for its hierarchy."""
        return max(level / top for level, top in zip(levels, self._lattice.top, strict=True))

    def halve(self, chain: list[Levels]) -> None:
        """Find the lowest element of a chain that is not hopeless, by halves."""
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self.evaluate(chain[middle]):
                high = middle
            else:
                low = middle + 1

    def evaluate(self, levels: Levels) -> bool:
        """Look at an element, close what it rules out, and say whether there is hope below."""
        self.n_evaluated += 1
        self._is_open[levels] = False
        groups = self._rolled_up.at(levels)
        verdict = self._judge.judge(groups)
        if verdict.is_hopeless:
            self._is_open[self._lattice.below(levels)] = False
        above = self._lattice.above(levels)
        bound = self._measure.bound(groups, levels)
        self._bounds[above] = np.maximum(self._bounds[above], bound)
        if verdict.kept is None:
            return not verdict.is_hopeless
        if self._judge.limit == 0:
            # What is above loses no less.
            self._is_open[above] = False
        loss = self._measure.of(groups, verdict.kept, levels)
        found = Found(levels, groups, verdict.kept, verdict.n_dropped, loss)
        if self.best is None or found.rank < self.best.rank:
            self.best = found
        return True
