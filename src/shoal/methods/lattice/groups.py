"""Cells that look alike at an element of the lattice, and the sensitive values among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.cells import Codes, Counts, group
from shoal.methods.lattice.levels import Lattice, Levels

__all__ = ["Groups", "RolledUp"]

_WORTH_KEEPING = 0.8
_MOST_KEPT = 8


@dataclass(frozen=True, eq=False)
class Groups:
    """The buckets that a full-domain generalization would make.

    Parameters
    ----------
    group
        The group of each cell of the quasi-identifiers.
    first
        A cell of each group.
    sizes
        The rows of each group.
    starts
        Where the entries of each group begin, and at last where they end.
    value, count
        The entries, sorted by group, then value: how many of its rows carry which value.
    n_values
        How many values there are.
    """

    group: Codes
    first: Codes
    sizes: Counts
    starts: Codes
    value: Codes
    count: Counts
    n_values: int

    @classmethod
    def of_cells(cls, cell: Codes, value: Codes, count: Counts, n_values: int) -> Groups:
        """Make every cell a group of its own.

        Parameters
        ----------
        cell, value, count
            The entries: so many rows have these quasi-identifiers and this value.
        n_values
            How many values there are.
        """
        n_cells = int(cell.max()) + 1
        places = np.arange(n_cells)
        starts, value, count = _merged(cell, value, count, n_cells, n_values)
        return cls(
            places, places, np.add.reduceat(count, starts[:-1]), starts, value, count, n_values
        )

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.first)

    @property
    def n_entries(self) -> int:
        """The number of entries."""
        return len(self.value)

    @cached_property
    def values_a_group(self) -> Counts:
        """How many different values each group has."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Codes:
        """The group of each entry."""
        return np.repeat(np.arange(self.n_groups), self.values_a_group)

    def at(self, lattice: Lattice, levels: Levels) -> Groups:
        """Put groups together that look alike at an element above."""
        columns = [
            ladder.numbers_at(level, self.first)
            for ladder, level in zip(lattice.ladders, levels, strict=True)
        ]
        sizes = [
            len(ladder.node[level]) for ladder, level in zip(lattice.ladders, levels, strict=True)
        ]
        start, target = group(columns, sizes, self.n_groups)
        n_groups = len(start)
        rows = np.bincount(target, weights=self.sizes, minlength=n_groups).astype(np.int64)
        if self.n_values == 1:
            starts, value, count = np.arange(n_groups + 1), np.zeros(n_groups, np.int64), rows
        else:
            owner = target[self.owner]
            starts, value, count = _merged(owner, self.value, self.count, n_groups, self.n_values)
        return Groups(
            target[self.group], self.first[start], rows, starts, value, count, self.n_values
        )


def _merged(
    owner: Codes, value: Codes, count: Counts, n_groups: int, n_values: int
) -> tuple[Codes, Codes, Counts]:
    """Add up the entries of one group and value; give where groups begin, values and counts."""
    start, target = group([owner, value], [n_groups, n_values], len(owner))
    total = np.bincount(target, weights=count).astype(np.int64)
    starts = np.searchsorted(owner[start], np.arange(n_groups + 1)).astype(np.int64)
    return starts, value[start], total


class RolledUp:
    """Gives the groups of any element, from the smallest known ones below it.

    Parameters
    ----------
    lattice
        The levels of the columns.
    cells
        The groups before anything is generalized.
    """

    def __init__(self, lattice: Lattice, cells: Groups) -> None:
        self._lattice = lattice
        self._known = [((0,) * len(lattice.ladders), cells)]
        self._n_kept = 0

    def at(self, levels: Levels) -> Groups:
        """Give the groups of an element."""
        places = np.array([known for known, _ in self._known])
        is_below = np.flatnonzero(np.all(places <= levels, axis=1)).tolist()
        below = [self._known[place][1] for place in is_below]
        source = min(below, key=lambda groups: groups.n_entries)
        found = source.at(self._lattice, levels)
        if found.n_entries < _WORTH_KEEPING * source.n_entries:
            self._keep(levels, found)
        return found

    def _keep(self, levels: Levels, groups: Groups) -> None:
        # Each known one holds the group of every cell: so many together, not more.
        cells = self._known[0][1]
        size = groups.n_entries + len(cells.group)
        if self._n_kept + size <= _MOST_KEPT * (cells.n_entries + len(cells.group)):
            self._known.append((levels, groups))
            self._n_kept += size
