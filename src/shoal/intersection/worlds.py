"""The worlds that several releases of one table leave possible.

Each release puts everybody whom it holds in a bucket and publishes the sensitive values of that
bucket. A world gives every person one value so that each bucket of each release holds exactly the
values that it publishes. People who are in the same bucket of every release are interchangeable:
they form a *cell*, and a world is known, up to that, by the number of people of each cell who have
each value.

These numbers are the variables here. Each has a lower and an upper bound, and each stands in
several sums that are known exactly: all values of its cell add up to the people of the cell, and
one value in one bucket of one release adds up to what is published. A person who is missing from
a release stands in none of that release's sums, which makes the constraint weaker, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shoal.core.cells import Codes, Counts, group
from shoal.knowledge.location import spread

__all__ = ["Bounds", "JointWorlds", "Marks", "Partition", "joined", "left_of_sums", "propagate"]

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Partition:
    """The sensitive values that one release publishes, bucket by bucket.

    Parameters
    ----------
    place, value, count
        In this bucket this value occurs so many times; sorted by bucket, then value.
    n_places
        The number of buckets.
    """

    place: Codes
    value: Codes
    count: Counts
    n_places: int

    @classmethod
    def of_pairs(
        cls, place: Codes, value: Codes, n_places: int, count: Counts | None = None
    ) -> Partition:
        """Count pairs of a bucket and a value; equal pairs are added up.

        Examples
        --------
        >>> Partition.of_pairs(np.array([0, 1, 0]), np.array([2, 0, 2]), 2).count.tolist()
        [2, 1]
        """
        n_values = int(value.max(initial=-1)) + 1
        first, inverse = group([place, value], [n_places, n_values], len(place))
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, inverse, np.ones_like(place) if count is None else count)
        return cls(place[first], value[first], total, n_places)

    @cached_property
    def starts(self) -> Codes:
        """Where the values of each bucket begin; one entry more than there are buckets."""
        return np.searchsorted(self.place, np.arange(self.n_places + 1)).astype(np.int64)

    @cached_property
    def sizes(self) -> Counts:
        """The number of people in each bucket."""
        sizes = np.zeros(self.n_places, dtype=np.int64)
        np.add.at(sizes, self.place, self.count)
        return sizes

    def find(self, place: Codes, value: Codes) -> Codes:
        """Return the entry of each pair of a bucket and a value; -1 where there is none."""
        width = max(int(self.value.max(initial=0)), int(value.max(initial=0))) + 1
        key, asked = self.place * width + self.value, place * width + value
        at = np.minimum(np.searchsorted(key, asked), max(len(key) - 1, 0))
        if not len(key):
            return np.full(len(asked), -1, dtype=np.int64)
        return np.where(key[at] == asked, at, -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class JointWorlds:
    """The variables and sums of the worlds of several releases.

    Parameters
    ----------
    partitions
        What each release publishes.
    places
        For each cell its bucket in each release; -1 where it is not in that release.
    counts
        The number of people in each cell.
    cell, value
        The variables: how many people of this cell have this value. Values that some release
        rules out for the cell have none. Sorted by cell, then value.
    sums
        For each release and variable the sum that the variable stands in, an entry of the
        release's partition; -1 where the cell is not in the release.
    """

    partitions: tuple[Partition, ...]
    places: Codes
    counts: Counts
    cell: Codes
    value: Codes
    sums: tuple[Codes, ...] = field(repr=False)

    @classmethod
    def of_people(cls, partitions: Sequence[Partition], places: Codes) -> tuple[JointWorlds, Codes]:
        """Set the worlds up from the buckets of people, one row per person.

        Parameters
        ----------
        partitions
            What each release publishes.
        places
            For each person their bucket in each release; -1 where they are not in it. Everybody
            is in at least one release.

        Returns
        -------
        worlds
            The worlds.
        cell_of_person
            The cell of each person.

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
            # The first release that holds a cell proposes its values; the others strike some.
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
        """The sums, family by family: the sum of each variable, and what each sum comes to.

        The first family is that of the cells; a variable is in one sum of a family at most.
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
    """Number the connected components of a graph and return that of each node."""
    ones = np.ones(len(one), dtype=np.int8)
    graph = coo_array((ones, (one, other)), shape=(n_nodes, n_nodes))
    number: Codes = connected_components(graph, directed=False)[1].astype(np.int64)
    return number


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on every variable that hold in all worlds.

    Parameters
    ----------
    low, high
        The bounds.
    is_contradicted
        For each component of the cells whether it has no world at all; its bounds mean nothing.
    """

    low: Counts
    high: Counts
    is_contradicted: Marks

    @classmethod
    def widest(cls, worlds: JointWorlds) -> Bounds:
        """Return the bounds that follow from no more than the single sums."""
        high = worlds.counts[worlds.cell].copy()
        for which, partition in enumerate(worlds.partitions):
            inside = np.flatnonzero(worlds.sums[which] >= 0)
            published = partition.count[worlds.sums[which][inside]]
            high[inside] = np.minimum(high[inside], published)
        n_components = int(worlds.component.max(initial=-1)) + 1
        none = np.zeros(n_components, dtype=bool)
        return cls(np.zeros(worlds.n_variables, dtype=np.int64), high, none)

    @property
    def is_open(self) -> Marks:
        """Whether a variable may still have several numbers."""
        return self.low < self.high


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

    A variable is at most what its sum leaves when all others of the sum are at their lowest, and
    at least what it leaves when they are at their highest. This is plain elimination: a value of
    which a bucket has as many as people who can still have it is theirs.
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


def _components_of(worlds: JointWorlds, family: int, wrong: Marks) -> Marks:
    """Mark the components of some sums of a family; a sum without variables has one too."""
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
