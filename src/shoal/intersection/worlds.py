"""The worlds that several releases of one table leave possible.

Each release puts everybody whom it holds in a bucket and publishes the sensitive values of that
bucket. A world gives every person one value so that each bucket of each release holds exactly the
values that it publishes. People who are in the same bucket of every release are interchangeable:
they form a *cell*, and up to that a world is given by the number of people of each cell who have
each value.

These numbers are the variables. Each has a lower and an upper bound, and each is part of several
sums that are known exactly: all values of a cell add up to its people, and one value in one bucket
of one release adds up to the published count. A person who is missing from a release is in none of
that release's sums, which weakens the constraint but never makes it wrong.

Elimination bounds the variables. Single sums bound a variable by what the others leave. Flows
settle more: two families of sums over the same variables make a transportation problem, whose edges
are the variables. Any two flows that meet all sums differ by cycles of the residual graph. An edge
between two strongly connected components of that graph is on no cycle, so its variable has the same
number in every flow, and therefore in every world, which must also meet the sums of the other
families. The converse does not hold: a variable that stays open here may still be certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import count_pairs, group, total_by
from shoal.locating.location import spread


@dataclass(frozen=True, eq=False)
class Partition:
    """The sensitive values that one release publishes: `place` holds `value` `count` times.

    Entries are sorted by bucket (place), then value.
    """

    place: Codes
    value: Codes
    count: Counts
    n_places: int

    @classmethod
    def of_pairs(
        cls, place: Codes, value: Codes, n_places: int, count: Counts | None = None
    ) -> Partition:
        """Count pairs of a bucket and a value; equal pairs are added up."""
        n_values = int(value.max(initial=-1)) + 1
        return cls(*count_pairs(place, value, (n_places, n_values), count), n_places)

    @cached_property
    def starts(self) -> Codes:
        """Where the values of each bucket begin; one entry more than there are buckets."""
        return np.searchsorted(self.place, np.arange(self.n_places + 1)).astype(np.int64)

    @cached_property
    def sizes(self) -> Counts:
        """The number of people in each bucket."""
        return total_by(self.place, self.count, self.n_places)

    def find(self, place: Codes, value: Codes) -> Codes:
        """Return the entry of each pair of a bucket and a value; -1 if there is none."""
        width = max(int(self.value.max(initial=0)), int(value.max(initial=0))) + 1
        key, asked = self.place * width + self.value, place * width + value
        at = np.minimum(np.searchsorted(key, asked), max(len(key) - 1, 0))
        if not len(key):
            return np.full(len(asked), -1, dtype=np.int64)
        return np.where(key[at] == asked, at, -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class JointWorlds:
    """The variables and sums of the worlds of several releases.

    `places` is the bucket of each cell in each release; -1 if it is not in that release. A variable
    is the number of people of a cell who have a value; variables are sorted by cell, then value,
    and values that some release rules out for the cell are left out. `sums` has, for each release
    and variable, the sum that contains the variable, an entry of the release's partition; -1 if the
    cell is not in the release.
    """

    partitions: tuple[Partition, ...]
    places: Codes
    counts: Counts
    cell: Codes
    value: Codes
    sums: tuple[Codes, ...] = field(repr=False)

    @classmethod
    def of_people(cls, partitions: Sequence[Partition], places: Codes) -> tuple[JointWorlds, Codes]:
        """Set up the worlds from the buckets of people.

        `places` has one row per person: their bucket in each release, -1 if they are not in it.
        Everybody is in at least one release. Returns the worlds and the cell of each person.

        Examples
        --------
        >>> one = Partition.of_pairs(np.array([0, 0]), np.array([0, 1]), 1)
        >>> two = Partition.of_pairs(np.array([0, 1]), np.array([0, 1]), 2)
        >>> worlds, cell = JointWorlds.of_people([one, two], np.array([[0, 0], [0, 1]]))
        >>> worlds.cell.tolist(), worlds.value.tolist(), cell.tolist()
        ([0, 1], [0, 1], [0, 1])
        """
        columns = [places[:, which] + 1 for which in range(len(partitions))]
        sizes = [partition.n_places + 1 for partition in partitions]
        first, cell_of_person = group(columns, sizes, len(places))
        counts = np.bincount(cell_of_person, minlength=len(first)).astype(np.int64)
        return cls._of_cells(tuple(partitions), places[first], counts), cell_of_person

    @classmethod
    def _of_cells(
        cls, partitions: tuple[Partition, ...], places: Codes, counts: Counts
    ) -> JointWorlds:
        """Find the values that every release leaves a cell."""
        cell, value = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        is_open = np.ones(len(counts), dtype=bool)
        for which, partition in enumerate(partitions):
            # The first release that holds a cell proposes its values; the others rule some out.
            chosen = np.flatnonzero(is_open & (places[:, which] >= 0))
            is_open[chosen] = False
            start = partition.starts[places[chosen, which]]
            length = partition.starts[places[chosen, which] + 1] - start
            source, entry = spread(start, length)
            cell = np.concatenate([cell, chosen[source]])
            value = np.concatenate([value, partition.value[entry]])
        order = np.lexsort((value, cell))
        cell, value = cell[order], value[order]
        sums, is_left = [], np.ones(len(cell), dtype=bool)
        for which, partition in enumerate(partitions):
            place = places[cell, which]
            found = np.where(place >= 0, partition.find(np.maximum(place, 0), value), -1)
            is_left &= (place < 0) | (found >= 0)
            sums.append(found)
        kept = [found[is_left] for found in sums]
        return cls(partitions, places, counts, cell[is_left], value[is_left], tuple(kept))

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.cell)

    @property
    def families(self) -> tuple[tuple[Codes, Counts], ...]:
        """The sums by family: the sum of each variable, and the total of each sum.

        The first family is that of the cells; a variable is in at most one sum of a family.
        """
        published = zip(self.sums, (one.count for one in self.partitions), strict=True)
        return ((self.cell, self.counts), *published)

    @cached_property
    def component(self) -> Codes:
        """The component of each cell: cells that share a bucket of any release are in one."""
        n_cells = len(self.counts)
        rows, columns, n_nodes = [], [], n_cells
        for which, partition in enumerate(self.partitions):
            inside = np.flatnonzero(self.places[:, which] >= 0)
            rows.append(inside)
            columns.append(n_nodes + self.places[inside, which])
            n_nodes += partition.n_places
        found = joined(np.concatenate(rows), np.concatenate(columns), n_nodes)
        return found[:n_cells]

    def __repr__(self) -> str:
        return (
            f"JointWorlds({len(self.partitions)} releases, {self.counts.sum()} people in "
            f"{len(self.counts)} cells, {self.n_variables} variables)"
        )


def joined(one: Codes, other: Codes, n_nodes: int) -> Codes:
    """Return the connected component of each node of a graph."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - it takes long to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    ones = np.ones(len(one), dtype=np.int8)
    graph = coo_array((ones, (one, other)), shape=(n_nodes, n_nodes))
    number: Codes = connected_components(graph, directed=False)[1].astype(np.int64)
    return number


# --- elimination ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on every variable that hold in all worlds.

    `is_contradicted` says, for each component of the cells, that it has no world at all; its bounds
    mean nothing.
    """

    low: Counts
    high: Counts
    is_contradicted: Flags

    @classmethod
    def widest(cls, worlds: JointWorlds) -> Bounds:
        """Return the bounds that follow from each sum alone."""
        high = worlds.counts[worlds.cell].copy()
        for which, partition in enumerate(worlds.partitions):
            inside = np.flatnonzero(worlds.sums[which] >= 0)
            published = partition.count[worlds.sums[which][inside]]
            high[inside] = np.minimum(high[inside], published)
        n_components = int(worlds.component.max(initial=-1)) + 1
        none = np.zeros(n_components, dtype=bool)
        return cls(np.zeros(worlds.n_variables, dtype=np.int64), high, none)

    @property
    def is_open(self) -> Flags:
        """Whether a variable may still have several numbers."""
        return self.low < self.high


def eliminate(worlds: JointWorlds) -> Bounds:
    """Bound every variable by single sums and by flows, until neither tightens a bound."""
    bounds = propagate(worlds, Bounds.widest(worlds))
    while True:
        n_open = int(np.count_nonzero(bounds.is_open))
        bounds = propagate(worlds, settle_by_flows(worlds, bounds))
        if int(np.count_nonzero(bounds.is_open)) == n_open:
            return bounds


# --- by single sums -------------------------------------------------------------------------------


def left_of_sums(worlds: JointWorlds, bounds: Bounds) -> list[Counts]:
    """Return, family by family, what settled variables leave of each sum."""
    is_settled = ~bounds.is_open
    left = []
    for entry, total in worlds.families:
        inside = np.flatnonzero((entry >= 0) & is_settled)
        taken = np.bincount(entry[inside], bounds.low[inside], len(total))
        left.append(total - taken.astype(np.int64))
    return left


def propagate(worlds: JointWorlds, bounds: Bounds) -> Bounds:
    """Tighten bounds until no single sum tightens one of them.

    A variable is at most what its sum leaves if all others of the sum are at their lowest, and at
    least what it leaves if they are at their highest. This is plain elimination: if a bucket has as
    many of a value as there are people who can still have it, they all have it.
    """
    low, high = bounds.low.copy(), bounds.high.copy()
    contradicted = bounds.is_contradicted.copy()
    is_changed = True
    while is_changed:
        is_changed = False
        for which, (entry, total) in enumerate(worlds.families):
            inside = np.flatnonzero(entry >= 0)
            at = entry[inside]
            lowest = np.bincount(at, low[inside], len(total)).astype(np.int64)
            highest = np.bincount(at, high[inside], len(total)).astype(np.int64)
            wrong = (lowest > total) | (highest < total)
            contradicted |= _components_of(worlds, which, wrong)
            is_live = ~contradicted[worlds.component[worlds.cell[inside]]]
            inside, at = inside[is_live], at[is_live]
            most = total[at] - lowest[at] + low[inside]
            least = total[at] - highest[at] + high[inside]
            new_high, new_low = np.minimum(high[inside], most), np.maximum(low[inside], least)
            if np.any(new_high < high[inside]) or np.any(new_low > low[inside]):
                is_changed = True
                high[inside], low[inside] = new_high, new_low
    return Bounds(low, high, contradicted)


def _components_of(worlds: JointWorlds, family: int, wrong: Flags) -> Flags:
    """Return the components of some sums of a family; a sum without variables has one too."""
    n_components = int(worlds.component.max(initial=-1)) + 1
    marks = np.zeros(n_components, dtype=bool)
    if not wrong.any():
        return marks
    if family == 0:
        marks[worlds.component[np.flatnonzero(wrong)]] = True
        return marks
    places = worlds.places[:, family - 1]
    inside = np.flatnonzero(places >= 0)
    partition = worlds.partitions[family - 1]
    # A bucket that nobody is in belongs to no component.
    owner = np.full(partition.n_places, -1, dtype=np.int64)
    owner[places[inside]] = worlds.component[inside]
    found = owner[partition.place[wrong]]
    marks[found[found >= 0]] = True
    return marks


# --- by flows -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Transport:
    """Edges with capacities between nodes that supply and nodes that demand; one edge per variable.

    `supply` is, for each node, its supply minus its demand.
    """

    variable: Codes
    tail: Codes
    head: Codes
    supply: Counts


def settle_by_flows(worlds: JointWorlds, bounds: Bounds) -> Bounds:
    """Settle the variables that have the same number in every flow, given propagated bounds.

    The families are the cells and the buckets' values of each release and, with two releases, the
    buckets' values of both.
    """
    n_releases = len(worlds.partitions)
    pairs = [(0, 1 + which) for which in range(n_releases)]
    # With more releases several cells lie between the same two buckets, as parallel edges.
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
    """Set up the transportation problem of two families over the open variables."""
    (first, first_total), (second, second_total) = worlds.families[one], worlds.families[other]
    is_live = ~bounds.is_contradicted[worlds.component[worlds.cell]]
    is_both = (first >= 0) & (second >= 0)
    # People who are missing from one of two releases get their value from outside it.
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
    # Nodes without an open edge have no supply or demand.
    is_used = np.zeros(len(supply), dtype=bool)
    is_used[tail] = True
    is_used[head] = True
    supply[~is_used] = 0
    if one != 0:
        # The surplus of a value in one release over the other goes to people outside.
        value_of = np.concatenate([p.value for p in worlds.partitions])
        np.subtract.at(supply, n_first + n_second + value_of, supply[: n_first + n_second])
    return _Transport(variable, tail, head, supply)


def _left(entry: Codes, total: Counts, bounds: Bounds) -> Counts:
    """Return what each sum leaves when its variables are at their lowest."""
    inside = np.flatnonzero(entry >= 0)
    lowest = np.bincount(entry[inside], bounds.low[inside], len(total)).astype(np.int64)
    left: Counts = np.maximum(total - lowest, 0)
    return left


def _meet(transport: _Transport, capacity: Counts) -> tuple[Counts, Flags]:
    """Return a flow that meets supply and demand, and which nodes it serves fully."""
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


def _crosses(transport: _Transport, flow: Counts, capacity: Counts) -> Flags:
    """Return which edges join different strongly connected components of the residual graph."""
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
