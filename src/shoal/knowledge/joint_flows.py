"""Variables that a flow shows to be the same in every world.

Two families of sums in which the same variables stand make a transportation problem: the variables
are the edges between the sums of one family and those of the other. Given one flow that meets all
sums, another one differs from it by cycles of the residual graph alone. An edge between two
strongly connected components of that graph is on no cycle, so its variable has the same number in
every flow, and all the more in every world, which must meet the sums of the other families too.
The converse does not hold: what is left open here may still be certain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.knowledge.joint_worlds import Bounds, JointWorlds, Marks

__all__ = ["settle_by_flows"]


@dataclass(frozen=True, eq=False)
class _Transport:
    """Edges with capacities between nodes that supply and nodes that take.

    Parameters
    ----------
    variable
        The variable of each edge.
    tail, head
        The nodes of each edge.
    supply
        For each node what it sends, less what it takes.
    """

    variable: Codes
    tail: Codes
    head: Codes
    supply: Counts


def settle_by_flows(worlds: JointWorlds, bounds: Bounds) -> Bounds:
    """Settle the variables that have one number in every flow.

    Values within buckets are tried for each release, and with two releases also the people of
    each value between both.

    Parameters
    ----------
    worlds
        The worlds.
    bounds
        Bounds that `propagate` tightened.
    """
    n_releases = len(worlds.partitions)
    pairs = [(0, 1 + which) for which in range(n_releases)]
    # With more releases several cells lie between the same two buckets: parallel edges.
    pairs += [(1, 2)] if n_releases == 2 else []
    for one, other in pairs:
        bounds = _settle(worlds, bounds, one, other)
    return bounds


def _settle(worlds: JointWorlds, bounds: Bounds, one: int, other: int) -> Bounds:
    transport = _transport(worlds, bounds, one, other)
    if not len(transport.variable):
        return bounds
    low, high = bounds.low.copy(), bounds.high.copy()
    variable = transport.variable
    flow, is_met = _meet(transport, (high - low)[variable])
    contradicted = bounds.is_contradicted.copy()
    component = worlds.component[worlds.cell[variable]]
    missed = ~(is_met[transport.tail] & is_met[transport.head])
    contradicted[component[missed]] = True
    is_fixed = _crosses(transport, flow, (high - low)[variable]) & ~contradicted[component]
    fixed = variable[is_fixed]
    low[fixed] += flow[is_fixed]
    high[fixed] = low[fixed]
    return Bounds(low, high, contradicted)


def _transport(worlds: JointWorlds, bounds: Bounds, one: int, other: int) -> _Transport:
    """Set the transportation problem of two families up, over what is still open."""
    (first, first_total), (second, second_total) = worlds.families[one], worlds.families[other]
    is_live = ~bounds.is_contradicted[worlds.component[worlds.cell]]
    is_both = (first >= 0) & (second >= 0)
    # People who are missing from one of two releases have their value from outside it.
    chosen = is_live & bounds.is_open & (is_both if one == 0 else (first >= 0) | (second >= 0))
    left_first = _left(first, first_total, bounds)
    left_second = _left(second, second_total, bounds)
    n_first, n_second = len(first_total), len(second_total)
    n_values = 1 + max(int(one.value.max(initial=-1)) for one in worlds.partitions)
    supply = np.concatenate([left_first, -left_second, np.zeros(n_values, dtype=np.int64)])
    variable = np.flatnonzero(chosen)
    outside = n_first + n_second + worlds.value[variable]
    tail = np.where(first[variable] >= 0, first[variable], outside)
    head = np.where(second[variable] >= 0, n_first + second[variable], outside)
    # Nodes without an open edge have nothing to send or take.
    is_used = np.zeros(len(supply), dtype=bool)
    is_used[tail] = True
    is_used[head] = True
    supply[~is_used] = 0
    if one != 0:
        # What a value has more in one release than in the other goes to people outside.
        value_of = np.concatenate([p.value for p in worlds.partitions])
        np.subtract.at(supply, n_first + n_second + value_of, supply[: n_first + n_second])
    return _Transport(variable, tail, head, supply)


def _left(entry: Codes, total: Counts, bounds: Bounds) -> Counts:
    """Return what each sum leaves when its variables are at their lowest."""
    inside = np.flatnonzero(entry >= 0)
    lowest = np.bincount(entry[inside], bounds.low[inside], len(total)).astype(np.int64)
    left: Counts = np.maximum(total - lowest, 0)
    return left


def _meet(transport: _Transport, capacity: Counts) -> tuple[Counts, Marks]:
    """Find a flow that sends and takes what the nodes have; mark the nodes that it serves."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - it takes long to import
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    n_nodes = len(transport.supply)
    source, sink = n_nodes, n_nodes + 1
    gives, takes = np.flatnonzero(transport.supply > 0), np.flatnonzero(transport.supply < 0)
    tail = np.concatenate([transport.tail, np.full(len(gives), source), takes])
    head = np.concatenate([transport.head, gives, np.full(len(takes), sink)])
    limit = np.concatenate([capacity, transport.supply[gives], -transport.supply[takes]])
    shape = (n_nodes + 2, n_nodes + 2)
    graph = coo_array((limit.astype(np.int32), (tail, head)), shape=shape).tocsr()
    found = maximum_flow(graph, source, sink).flow
    sent = np.asarray(found[tail, head]).ravel().astype(np.int64)
    n_edges = len(transport.tail)
    is_met = np.ones(n_nodes, dtype=bool)
    ends = np.concatenate([gives, takes])
    is_met[ends] = sent[n_edges:] == limit[n_edges:]
    return sent[:n_edges], is_met


def _crosses(transport: _Transport, flow: Counts, capacity: Counts) -> Marks:
    """Mark the edges that join different strongly connected components of the residual graph."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - it takes long to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    may_grow, may_shrink = flow < capacity, flow > 0
    tail = np.concatenate([transport.tail[may_grow], transport.head[may_shrink]])
    head = np.concatenate([transport.head[may_grow], transport.tail[may_shrink]])
    n_nodes = len(transport.supply)
    ones = np.ones(len(tail), dtype=np.int8)
    graph = coo_array((ones, (tail, head)), shape=(n_nodes, n_nodes))
    strong = connected_components(graph, directed=True, connection="strong")[1]
    return np.asarray(strong[transport.tail] != strong[transport.head])
