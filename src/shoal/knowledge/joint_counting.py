"""Count the worlds of a few people exactly, and how often each variable has each number.

The variables are given their numbers one after the other. What came before matters only through
what it leaves of the sums that still have variables to come: that is the state, and worlds that
reach the same state are counted together. A second pass from the end counts how every state goes
on; both together say in how many worlds a variable has a number.

The order takes cell after cell, each time the one that opens the fewest sums and closes the most,
so that few sums are open at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from shoal.core.work import Work

__all__ = ["Component", "Counted", "count_worlds"]

_COST = 1000
"""Operations that one step from a state counts as, so that the default limit takes seconds."""
_COST_OF_SUM = 40
"""What every open sum adds to that."""

State = tuple[int, ...]


@dataclass(frozen=True)
class Component:
    """Variables that depend on one another, and the sums that they stand in.

    Parameters
    ----------
    cell
        The cell of each variable, numbered from 0.
    sums
        For each variable the sums that it stands in, those of cells aside, numbered from 0.
    low, high
        The bounds of each variable.
    people
        What the variables of each cell add up to.
    totals
        What the variables of each other sum add up to.
    """

    cell: Sequence[int]
    sums: Sequence[Sequence[int]]
    low: Sequence[int]
    high: Sequence[int]
    people: Sequence[int]
    totals: Sequence[int]


@dataclass(frozen=True)
class Counted:
    """How many worlds a component has, and what each variable is in them.

    Parameters
    ----------
    n_worlds
        The number of assignments of values to people; 0 where there is none.
    mean
        For each variable its mean over all worlds.
    low, high
        For each variable the smallest and the largest number that it has in any world.
    """

    n_worlds: int
    mean: tuple[Fraction, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True)
class _Step:
    """One variable in its turn.

    Parameters
    ----------
    variable
        The variable.
    low, high
        Its bounds.
    at
        The places of its sums in the state, that of its cell first.
    least, most
        What the variables to come can add to each of these sums.
    opened
        What the sums that begin here come to; they are put at the end of the state.
    kept
        The places of the state that are kept afterwards; None where all are.
    """

    variable: int
    low: int
    high: int
    at: tuple[int, ...]
    least: tuple[int, ...]
    most: tuple[int, ...]
    opened: State
    kept: tuple[int, ...] | None

    def moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        """Go through the numbers that the variable may have, its weights and the next states.

        The weight is in how many ways people of the cell can be chosen for the value.
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


def count_worlds(component: Component, work: Work) -> Counted:
    """Count the worlds of a component.

    Parameters
    ----------
    component
        The variables and their sums.
    work
        What may be spent.

    Raises
    ------
    TooMuchWork
        Where counting would take more.

    Examples
    --------
    Two people share the values of a bucket, and one of them is known to have the first.

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
        return Counted(0, (Fraction(0),) * n_variables, none, none)
    mean = [Fraction(0)] * n_variables
    low, high = [0] * n_variables, [0] * n_variables
    # Backwards: in how many ways each state goes on to the end.
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
    return Counted(n_worlds, tuple(mean), tuple(low), tuple(high))


def _forward(steps: Sequence[_Step], work: Work) -> list[dict[State, int]]:
    """Count in how many ways each state is reached, layer by layer."""
    layers: list[dict[State, int]] = [{(): 1}]
    for step in steps:
        reached: dict[State, int] = {}
        for state, n_ways in layers[-1].items():
            # The way back goes through the same moves.
            cost = 2 * (_COST + _COST_OF_SUM * len(state))
            work.spend(cost)
            for _, weight, after in step.moves(state):
                work.spend(cost)
                reached[after] = reached.get(after, 0) + n_ways * weight
        layers.append(reached)
    return layers


def _steps(component: Component, work: Work) -> list[_Step]:
    """Put the variables in order, and say for each how it changes the state."""
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
    # The sums that a cell would open, less those that it would close.
    cost = {
        cell: sum(1 - (len(waiting[node]) == 1) for node in touched)
        for cell, touched in sums_of.items()
    }
    # Cells beside what is open come first; entries that a later one outdates are passed over.
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
