"""What several releases of one table let an adversary believe together.

The adversary knows the bucket of everybody in every release, and takes every world that all
releases leave possible as equally likely (see `shoal.intersection.worlds`). Beliefs are exact, by
elimination first, then by counting worlds wherever few people depend on one another. If too many
do, the bounds of the elimination still hold, so nobody is wrongly called certain; beliefs are then
estimated by the table of largest entropy with the same sums.

Worlds are counted by assigning the variables their numbers one after the other. Earlier ones matter
only through what they leave of the sums that still have variables to come: that is the state, and
worlds that reach the same state are counted together. A second pass from the end counts the
continuations of every state; together they say in how many worlds a variable has a number. The
order takes cell after cell, each time the one that opens the fewest sums and closes the most, so
that few sums are open at a time.

References
----------
S. Ganta, S. Kasiviswanathan, A. Smith: Composition attacks and auxiliary information in data
privacy, 2008, Section 2 (intersection attacks).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.progress import TooMuchWork, Work
from shoal.intersection.worlds import Bounds, JointWorlds, eliminate, joined, left_of_sums

_MOST_ROUNDS = 200
"""The most rounds of the estimate; its error is far below one percent by then."""
_CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class JointBeliefs:
    """Beliefs about the people of each cell.

    `mean` is the expected number of people of the cell who have the value, one entry per variable
    of `worlds`; `low` and `high` are bounds on it that hold in every world. `is_exact` says, for
    each cell, that its beliefs are exact rather than estimated. `is_contradicted` says that no
    world fits the cell: the releases are not of one table, or values changed in between. Nothing is
    believed of such a cell.
    """

    worlds: JointWorlds
    mean: Floats
    low: Counts
    high: Counts
    is_exact: Flags
    is_contradicted: Flags

    @property
    def belief(self) -> Floats:
        """For each variable, the probability that one person of the cell has the value."""
        return self.mean / self.worlds.counts[self.worlds.cell]

    @property
    def n_left(self) -> Codes:
        """For each cell, the number of possible values; an upper bound if beliefs are estimated."""
        cells = self.worlds.cell[self.high > 0]
        return np.bincount(cells, minlength=len(self.worlds.counts)).astype(np.int64)

    @property
    def is_certain(self) -> Flags:
        """For each cell, whether its people have the same single value in every world."""
        certain = np.zeros(len(self.worlds.counts), dtype=bool)
        certain[self.worlds.cell[self.low == self.worlds.counts[self.worlds.cell]]] = True
        return certain & ~self.is_contradicted


def believe_jointly(worlds: JointWorlds, work: Work) -> JointBeliefs:
    """Return the beliefs that the releases support together.

    `work` limits the counting of worlds. Small components come first; each may use an equal part of
    the work that is left.

    Examples
    --------
    >>> from shoal.intersection.worlds import Partition
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
    """Split variables into those that depend on one another, smallest parts first."""
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


def _counted(component: Component, work: Work) -> WorldCounts | None:
    """Count the worlds of one part; return None if that takes too much work."""
    try:
        return count_worlds(component, work)
    except TooMuchWork:
        return None


def _component(
    worlds: JointWorlds, bounds: Bounds, left: Sequence[Counts], variables: Codes
) -> Component:
    """Number the cells and sums of some variables, and subtract settled variables from the sums."""
    numbers, totals, n_sums = [], [], 0
    for which, (entry, _) in enumerate(worlds.families):
        used, number = np.unique(entry[variables], return_inverse=True)
        is_outside = entry[variables] < 0
        if is_outside.any():
            used, number = used[1:], number - 1
        numbers.append(np.where(is_outside, -1, number + n_sums))
        totals.append(left[which][used].tolist())
        # Cells are numbered separately.
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
    """Fit positive numbers to all sums in turn, which converges to the largest entropy."""
    fitted = np.ones(len(variables))
    if not len(variables):
        return fitted
    sums = []
    for (entry, _), left in zip(worlds.families, left_of_sums(worlds, bounds), strict=True):
        chosen = np.flatnonzero(entry[variables] >= 0)
        sums.append((chosen, entry[variables][chosen], left))
    # Iterative proportional fitting: scale the variables of each family to its totals in turn.
    for _ in range(_MOST_ROUNDS):
        before = fitted.copy()
        for chosen, at, left in sums:
            held = np.bincount(at, fitted[chosen], len(left))
            factor = np.divide(left, held, out=np.ones(len(left)), where=held > 0)
            fitted[chosen] *= factor[at]
        if np.abs(fitted - before).max() < _CLOSE:
            break
    return np.clip(fitted, bounds.low[variables], bounds.high[variables])


# --- counting worlds ------------------------------------------------------------------------------


_COST = 1000
"""The operations that one step from a state counts as; the default limit then takes seconds."""
_COST_OF_SUM = 40
"""The operations that every open sum adds to that."""

State = tuple[int, ...]


@dataclass(frozen=True)
class Component:
    """Variables that depend on one another, and the sums that contain them.

    `cell` is the cell of each variable, and `people` the sum of the variables of each cell. `sums`
    lists the other sums that contain each variable, and `totals` their totals. All are numbered
    from 0.
    """

    cell: Sequence[int]
    sums: Sequence[Sequence[int]]
    low: Sequence[int]
    high: Sequence[int]
    people: Sequence[int]
    totals: Sequence[int]


@dataclass(frozen=True)
class WorldCounts:
    """The number of worlds of a component, and the numbers of each variable in them.

    `n_worlds` counts the assignments of values to people; 0 if there is none. For each variable,
    `mean` is its mean over all worlds, and `low` and `high` are the smallest and the largest number
    that it has in any world.
    """

    n_worlds: int
    mean: tuple[Fraction, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True)
class _Step:
    """The assignment of one variable, between `low` and `high`."""

    variable: int
    low: int
    high: int
    # The places of its sums in the state, that of its cell first.
    at: tuple[int, ...]
    # What later variables can add to each of these sums.
    least: tuple[int, ...]
    most: tuple[int, ...]
    # The totals of the sums that begin here; they are appended to the state.
    opened: State
    # The places of the state that are kept afterwards; None if all are.
    kept: tuple[int, ...] | None

    def moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        """Yield the possible numbers of the variable, with their weights and the next states.

        The weight is the number of ways to choose people of the cell for the value.
        """
        state += self.opened
        left = [state[place] for place in self.at]
        first = max(self.low, *(x - most for x, most in zip(left, self.most, strict=True)))
        last = min(self.high, *(x - least for x, least in zip(left, self.least, strict=True)))
        for number in range(first, last + 1):
            after = list(state)
            for place in self.at:
                after[place] -= number
            kept = after if self.kept is None else [after[place] for place in self.kept]
            yield number, comb(left[0], number), tuple(kept)


def count_worlds(component: Component, work: Work) -> WorldCounts:
    """Count the worlds of a component; raises `TooMuchWork` if that exceeds `work`.

    Examples
    --------
    Two people share the two values of a bucket; each has either value in half of the worlds.

    >>> pair = Component([0, 0, 1, 1], [[0], [1], [0], [1]], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1],
    ...                  [1, 1])
    >>> count_worlds(pair, Work()).mean
    (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))
    """
    steps = _steps(component, work)
    layers = _forward(steps, work)
    n_variables = len(component.cell)
    n_worlds = sum(layers[-1].values())
    if not n_worlds:
        none = (0,) * n_variables
        return WorldCounts(0, (Fraction(0),) * n_variables, none, none)
    mean = [Fraction(0)] * n_variables
    low, high = [0] * n_variables, [0] * n_variables
    # Backwards: the number of ways in which each state continues to the end.
    onwards = dict.fromkeys(layers[-1], 1)
    for step, layer in zip(reversed(steps), reversed(layers[:-1]), strict=True):
        before: dict[State, int] = {}
        number_of: dict[int, int] = {}
        for state, n_ways in layer.items():
            total = 0
            for number, weight, after in step.moves(state):
                n_onwards = weight * onwards.get(after, 0)
                if n_onwards:
                    total += n_onwards
                    number_of[number] = number_of.get(number, 0) + n_ways * n_onwards
            if total:
                before[state] = total
        onwards = before
        summed = sum(number * n_found for number, n_found in number_of.items())
        mean[step.variable] = Fraction(summed, n_worlds)
        low[step.variable], high[step.variable] = min(number_of), max(number_of)
    return WorldCounts(n_worlds, tuple(mean), tuple(low), tuple(high))


def _forward(steps: Sequence[_Step], work: Work) -> list[dict[State, int]]:
    """Count in how many ways each state is reached, layer by layer."""
    layers: list[dict[State, int]] = [{(): 1}]
    for step in steps:
        reached: dict[State, int] = {}
        for state, n_ways in layers[-1].items():
            # The backward pass repeats the same moves.
            cost = 2 * (_COST + _COST_OF_SUM * len(state))
            work.spend(cost)
            for _, weight, after in step.moves(state):
                work.spend(cost)
                reached[after] = reached.get(after, 0) + n_ways * weight
        layers.append(reached)
    return layers


def _steps(component: Component, work: Work) -> list[_Step]:
    """Order the variables, and describe how each changes the state."""
    work.spend(_COST * len(component.cell))
    nodes = [
        (cell, *(len(component.people) + one for one in sums))
        for cell, sums in zip(component.cell, component.sums, strict=True)
    ]
    totals = (*component.people, *component.totals)
    order = _order(component, nodes)
    last = {node: turn for turn, variable in enumerate(order) for node in nodes[variable]}
    least, most = [0] * len(totals), [0] * len(totals)
    for variable in order:
        for node in nodes[variable]:
            least[node] += component.low[variable]
            most[node] += component.high[variable]
    open_nodes: list[int] = []
    steps = []
    for turn, variable in enumerate(order):
        own = nodes[variable]
        new = [node for node in own if node not in open_nodes]
        open_nodes += new
        work.spend(5 * _COST_OF_SUM * len(open_nodes))
        for node in own:
            least[node] -= component.low[variable]
            most[node] -= component.high[variable]
        kept = tuple(p for p, node in enumerate(open_nodes) if last[node] > turn)
        steps.append(
            _Step(
                variable,
                component.low[variable],
                component.high[variable],
                tuple(open_nodes.index(node) for node in own),
                tuple(least[node] for node in own),
                tuple(most[node] for node in own),
                tuple(totals[node] for node in new),
                None if len(kept) == len(open_nodes) else kept,
            )
        )
        open_nodes = [open_nodes[place] for place in kept]
    return steps


def _order(component: Component, nodes: Sequence[tuple[int, ...]]) -> list[int]:
    """Order the variables cell by cell so that few sums are open at a time."""
    of_cell: dict[int, list[int]] = {}
    for variable, cell in enumerate(component.cell):
        of_cell.setdefault(cell, []).append(variable)
    sums_of = {
        cell: {node for variable in variables for node in nodes[variable][1:]}
        for cell, variables in of_cell.items()
    }
    waiting: dict[int, set[int]] = {}
    for cell, touched in sums_of.items():
        for node in touched:
            waiting.setdefault(node, set()).add(cell)
    # The sums that a cell would open, minus those that it would close.
    cost = {
        cell: sum(1 - (len(waiting[node]) == 1) for node in touched)
        for cell, touched in sums_of.items()
    }
    # Cells that touch an open sum come first; outdated entries of the queue are skipped.
    queue = [(True, cost[cell], cell) for cell in sums_of]
    heapq.heapify(queue)
    seen: set[int] = set()
    order: list[int] = []
    while queue:
        _, noted, chosen = heapq.heappop(queue)
        if chosen not in sums_of or noted != cost[chosen]:
            continue
        changed: set[int] = set()
        for node in sums_of.pop(chosen):
            waiting[node].discard(chosen)
            changed |= waiting[node]
            is_new, is_last = node not in seen, len(waiting[node]) == 1
            seen.add(node)
            for cell in waiting[node]:
                cost[cell] -= is_new + is_last
        for cell in changed:
            heapq.heappush(queue, (False, cost[cell], cell))
        order += of_cell[chosen]
    return order
