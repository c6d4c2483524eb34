"""What several releases of one table let an adversary believe together.

She knows the bucket of everybody in every release, and takes every world that all releases leave
possible as equally likely (see `shoal.knowledge.joint_worlds`). Beliefs are then exact, by
elimination first, then by counting worlds wherever few people depend on one another. Where too
many do, the bounds of the elimination still hold, so nobody is called certain who is not; beliefs
are then estimated by the table of largest entropy with the same sums.

References
----------
S. Ganta, S. Kasiviswanathan, A. Smith: Composition attacks and auxiliary information in data
privacy, 2008, Section 2 (intersection attacks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.work import TooMuchWork, Work
from shoal.knowledge.joint_counting import Component, Counted, count_worlds
from shoal.knowledge.joint_flows import settle_by_flows
from shoal.knowledge.joint_worlds import (
    Bounds,
    JointWorlds,
    Marks,
    joined,
    left_of_sums,
    propagate,
)

__all__ = ["JointBeliefs", "believe_jointly", "eliminate"]

Floats = npt.NDArray[np.float64]

_MOST_ROUNDS = 200
"""Rounds of the estimate; it is far closer than a percent by then."""
_CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class JointBeliefs:
    """What is believed of the people of each cell.

    Parameters
    ----------
    worlds
        The worlds: the variables, sorted by cell, then value.
    mean
        For each variable the expected number of people of the cell who have the value.
    low, high
        Bounds on it that hold in every world.
    is_exact
        For each cell whether its beliefs are exact; where not, they are estimated.
    is_contradicted
        For each cell whether no world fits it: the releases are not of one table, or values
        changed in between. Nothing is believed of such a cell.
    """

    worlds: JointWorlds
    mean: Floats
    low: Counts
    high: Counts
    is_exact: Marks
    is_contradicted: Marks

    @property
    def belief(self) -> Floats:
        """For each variable how likely one person of the cell has the value."""
        return self.mean / self.worlds.counts[self.worlds.cell]

    @property
    def n_left(self) -> Codes:
        """For each cell how many values are left; at most, where beliefs are estimated."""
        cells = self.worlds.cell[self.high > 0]
        return np.bincount(cells, minlength=len(self.worlds.counts)).astype(np.int64)

    @property
    def is_certain(self) -> Marks:
        """For each cell whether its people have the same one value in every world."""
        certain = np.zeros(len(self.worlds.counts), dtype=bool)
        certain[self.worlds.cell[self.low == self.worlds.counts[self.worlds.cell]]] = True
        return certain & ~self.is_contradicted


def eliminate(worlds: JointWorlds) -> Bounds:
    """Bound every variable by single sums and by flows, until neither tightens a bound."""
    bounds = propagate(worlds, Bounds.widest(worlds))
    while True:
        n_open = int(np.count_nonzero(bounds.is_open))
        bounds = propagate(worlds, settle_by_flows(worlds, bounds))
        if int(np.count_nonzero(bounds.is_open)) == n_open:
            return bounds


def believe_jointly(worlds: JointWorlds, work: Work) -> JointBeliefs:
    """Find what the releases let an adversary believe together.

    Parameters
    ----------
    worlds
        The worlds that the releases leave.
    work
        What may be spent on counting worlds. Small components come first; each may take an equal
        part of what is left.

    Examples
    --------
    >>> from shoal.knowledge.joint_worlds import Partition
    >>> one = Partition.of_pairs(np.array([0, 0, 1]), np.array([0, 1, 2]), 2)
    >>> two = Partition.of_pairs(np.array([0, 0, 1]), np.array([1, 2, 0]), 2)
    >>> worlds, _ = JointWorlds.of_people([one, two], np.array([[0, 0], [0, 1], [1, 0]]))
    >>> believe_jointly(worlds, Work()).is_certain.tolist()
    [True, True, True]
    """
    bounds = eliminate(worlds)
    low, high = bounds.low.copy(), bounds.high.copy()
    mean = low.astype(np.float64)
    contradicted = bounds.is_contradicted.copy()
    is_exact = np.ones(len(worlds.counts), dtype=bool)
    is_live = bounds.is_open & ~contradicted[worlds.component[worlds.cell]]
    parts = _components(worlds, np.flatnonzero(is_live))
    left = left_of_sums(worlds, bounds)
    for place, variables in enumerate(parts):
        own = Work(max(work.left, 0) // (len(parts) - place))
        counted = _counted(_component(worlds, bounds, left, variables), own)
        work.spent += min(own.spent, own.limit)
        if counted is None:
            is_exact[worlds.cell[variables]] = False
        elif not counted.n_worlds:
            contradicted[worlds.component[worlds.cell[variables[0]]]] = True
        else:
            mean[variables] = [float(one) for one in counted.mean]
            low[variables], high[variables] = counted.low, counted.high
    estimated = np.flatnonzero(is_live & ~is_exact[worlds.cell])
    mean[estimated] = _estimate(worlds, bounds, estimated)
    is_void = contradicted[worlds.component]
    return JointBeliefs(worlds, mean, low, high, is_exact & ~is_void, is_void)


def _components(worlds: JointWorlds, variables: Codes) -> list[Codes]:
    """Part variables into those that depend on one another, the smallest parts first."""
    if not len(variables):
        return []
    rows, columns, n_nodes = [], [], len(variables)
    for entry, total in worlds.families:
        inside = np.flatnonzero(entry[variables] >= 0)
        rows.append(inside)
        columns.append(n_nodes + entry[variables][inside])
        n_nodes += len(total)
    number = joined(np.concatenate(rows), np.concatenate(columns), n_nodes)[: len(variables)]
    order = np.argsort(number, kind="stable")
    opens = np.flatnonzero(np.r_[True, np.diff(number[order]) > 0])
    return sorted(np.split(variables[order], opens[1:]), key=len)


def _counted(component: Component, work: Work) -> Counted | None:
    """Count the worlds of one part; None where that would take too much."""
    try:
        return count_worlds(component, work)
    except TooMuchWork:
        return None


def _component(
    worlds: JointWorlds, bounds: Bounds, left: Sequence[Counts], variables: Codes
) -> Component:
    """Number the cells and sums of some variables, and take what is left of these."""
    numbers, totals, n_sums = [], [], 0
    for which, (entry, _) in enumerate(worlds.families):
        used, number = np.unique(entry[variables], return_inverse=True)
        is_outside = entry[variables] < 0
        if is_outside.any():
            used, number = used[1:], number - 1
        numbers.append(np.where(is_outside, -1, number + n_sums))
        totals.append(left[which][used].tolist())
        # Cells are numbered for themselves.
        n_sums += len(used) if which else 0
    others = np.column_stack(numbers[1:]).tolist()
    return Component(
        numbers[0].tolist(),
        [[number for number in row if number >= 0] for row in others],
        bounds.low[variables].tolist(),
        bounds.high[variables].tolist(),
        totals[0],
        [total for family in totals[1:] for total in family],
    )


def _estimate(worlds: JointWorlds, bounds: Bounds, variables: Codes) -> Floats:
    """Fit positive numbers to all sums in turn: the fit of largest entropy."""
    fitted = np.ones(len(variables))
    if not len(variables):
        return fitted
    sums = []
    for (entry, _), left in zip(worlds.families, left_of_sums(worlds, bounds), strict=True):
        chosen = np.flatnonzero(entry[variables] >= 0)
        sums.append((chosen, entry[variables][chosen], left))
    for _ in range(_MOST_ROUNDS):
        before = fitted.copy()
        for chosen, at, left in sums:
            held = np.bincount(at, fitted[chosen], len(left))
            factor = np.divide(left, held, out=np.ones(len(left)), where=held > 0)
            fitted[chosen] *= factor[at]
        if np.abs(fitted - before).max() < _CLOSE:
            break
    return np.clip(fitted, bounds.low[variables], bounds.high[variables])
