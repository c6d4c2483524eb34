"""The lattice of levels to which columns can be generalized, and what each element loses.

An element of the lattice is a level for each quasi-identifying column: 0 keeps its values, the
highest level suppresses them. One element is above another if none of its levels is lower. At an
element, cells that look alike form a group, which would be one bucket of the release.

A `Measure` says how much information an element loses, exactly if the loss is a fraction. Without
suppression, no measure decreases with further generalization. So the loss of a generalization with
no row left out is a lower bound for it and all elements above it.

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

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells, group
from shoal.core.domain import SUPPRESSED
from shoal.core.errors import SchemaError
from shoal.core.method import Problem
from shoal.core.tree import Generalization, Tree
from shoal.hierarchies.hierarchy import Hierarchy

Levels = tuple[int, ...]
"""An element of the lattice: the level of each column."""

_MOST_ELEMENTS = 1 << 22
_WORTH_KEEPING = 0.8
_MOST_KEPT = 8


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one column.

    `code` has the code of each cell of the quasi-identifiers. For each level, `number` has the
    number of every code among the nodes of that level, `node` the node of each number, `n_rows` the
    rows of the table under it, and `n_leaves` the leaves of the hierarchy, occurring or not, that
    it stands for.
    """

    tree: Tree
    code: Codes
    number: tuple[Codes, ...]
    node: tuple[Codes, ...]
    n_rows: tuple[Counts, ...]
    n_leaves: tuple[Counts, ...]

    @classmethod
    def of_tree(cls, tree: Tree, cells: Cells, given: Generalization) -> Ladder:
        """Lay out the levels of a tree over the cells; `given` is the hierarchy as it was given."""
        code = cells.column(tree.column)
        rows = np.bincount(code, weights=cells.counts, minlength=tree.n_leaves)
        found = [
            np.unique(tree.ancestors_at(level), return_inverse=True)
            for level in range(tree.height + 1)
        ]
        return cls(
            tree=tree,
            code=code,
            number=tuple(number for _, number in found),
            node=tuple(node for node, _ in found),
            n_rows=tuple(np.bincount(number, weights=rows).astype(np.int64) for _, number in found),
            n_leaves=tuple(
                _count_leaves(tree, given, level, node, number)
                for level, (node, number) in enumerate(found)
            ),
        )

    @property
    def height(self) -> int:
        """The level at which every value is suppressed."""
        return len(self.node) - 1

    def numbers_at(self, level: int, cells: Codes) -> Codes:
        """Return the numbers of some cells at a level."""
        numbers: Codes = self.number[level][self.code[cells]]
        return numbers


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of the levels of the quasi-identifying columns."""

    ladders: tuple[Ladder, ...]

    @classmethod
    def of_problem(cls, problem: Problem, cells: Cells) -> Lattice:
        """Lay out the lattice; a column without a hierarchy is either kept or suppressed.

        Raises `SchemaError` if it has more elements than can be searched.
        """
        ladders = []
        for domain in cells.domains:
            hierarchies = problem.schema.hierarchies
            given = hierarchies.get(domain.column, Hierarchy.flat())
            tree = problem.trees.get(domain.column) or given.over(domain)
            ladders.append(Ladder.of_tree(tree, cells, given))
        lattice = cls(tuple(ladders))
        n_elements = math.prod(lattice.shape)
        if n_elements > _MOST_ELEMENTS:
            raise SchemaError(
                f"The hierarchies of {len(ladders)} columns can be combined to {n_elements} "
                f"generalizations; at most {_MOST_ELEMENTS} are searched.",
                hint="use hierarchies with fewer levels, or another method, such as Mondrian.",
            )
        return lattice

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(ladder.height + 1 for ladder in self.ladders)

    @cached_property
    def top(self) -> Levels:
        """The element that suppresses every value."""
        return tuple(ladder.height for ladder in self.ladders)

    def above(self, levels: Levels) -> tuple[slice, ...]:
        """Return the index of an element and all above it, in an array of the lattice's shape."""
        return tuple(slice(level, None) for level in levels)

    def below(self, levels: Levels) -> tuple[slice, ...]:
        """Return the index of an element and all below it, in an array of the lattice's shape."""
        return tuple(slice(level + 1) for level in levels)

    def successors(self, levels: Levels) -> Sequence[Levels]:
        """Return the elements directly above one, in the order of the columns."""
        return [
            (*levels[:place], level + 1, *levels[place + 1 :])
            for place, (level, top) in enumerate(zip(levels, self.top, strict=True))
            if level < top
        ]


def _count_leaves(
    tree: Tree, given: Generalization, level: int, node: Codes, number: Codes
) -> Counts:
    """Count the leaves of every node of a level: all rows of the hierarchy, if it has rows.

    Below the highest level, the root may already stand for some values: those suppressed there.
    """
    if given.kind != "rows":
        return np.bincount(number)
    n_rows = Counter(row[level] for row in given.rows)
    if None in tree.labels and (None,) not in {row[:1] for row in given.rows}:
        # The missing value has its own leaf if no row places it.
        n_rows[SUPPRESSED if level == tree.height else None] += 1
    # A number may be written differently from its row, so it may not be found.
    return np.array([n_rows.get(label, 1) for label in tree.labels[node].tolist()], dtype=np.int64)


# --- groups of cells --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Groups:
    """The buckets that a full-domain generalization would form.

    `group` has the group of each cell of the quasi-identifiers, `first` one cell of each group, and
    `sizes` its rows. The entries of group g are `starts[g]` to `starts[g + 1]`, sorted by value:
    `count` rows carry `value`.
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
        """Make every cell its own group; `count` rows of `cell` carry `value`."""
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
    def values_per_group(self) -> Counts:
        """The number of different values in each group."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Codes:
        """The group of each entry."""
        return np.repeat(np.arange(self.n_groups), self.values_per_group)

    def at(self, lattice: Lattice, levels: Levels) -> Groups:
        """Return the groups at an element above, by merging those that look alike there."""
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
    """Add up the entries of the same group and value; return `starts`, `value` and `count`."""
    start, target = group([owner, value], [n_groups, n_values], len(owner))
    total = np.bincount(target, weights=count).astype(np.int64)
    starts = np.searchsorted(owner[start], np.arange(n_groups + 1)).astype(np.int64)
    return starts, value[start], total


class RollUp:
    """The groups of any element, made from the smallest known groups below it."""

    def __init__(self, lattice: Lattice, cells: Groups) -> None:
        self._lattice = lattice
        self._known = [((0,) * len(lattice.ladders), cells)]
        self._n_kept = 0

    def at(self, levels: Levels) -> Groups:
        """Return the groups of an element."""
        places = np.array([known for known, _ in self._known])
        is_below = np.flatnonzero(np.all(places <= levels, axis=1)).tolist()
        # The cost of merging groups is their number of entries.
        below = [self._known[place][1] for place in is_below]
        source = min(below, key=lambda groups: groups.n_entries)
        found = source.at(self._lattice, levels)
        if found.n_entries < _WORTH_KEEPING * source.n_entries:
            self._keep(levels, found)
        return found

    def _keep(self, levels: Levels, groups: Groups) -> None:
        # Every entry kept holds the group of each cell, so memory is bounded by a multiple of that.
        cells = self._known[0][1]
        size = groups.n_entries + len(cells.group)
        if self._n_kept + size <= _MOST_KEPT * (cells.n_entries + len(cells.group)):
            self._known.append((levels, groups))
            self._n_kept += size


Loss = Literal["loss", "discernibility", "class_size", "entropy"]

_DIGITS = 12
"""Sums of logarithms that agree to this many digits count as equal, on every machine."""


@dataclass(frozen=True, eq=False)
class Measure(ABC):
    """The loss of generalizing columns to levels and of leaving rows out."""

    lattice: Lattice
    n_rows: int

    @abstractmethod
    def of(self, groups: Groups, kept: Flags, levels: Levels) -> Fraction:
        """Return the loss if only the groups that are kept are published."""

    def bounds(self) -> Floats:
        """Return for each element a known lower bound of it and all above it."""
        return np.zeros(self.lattice.shape)

    def bound(self, groups: Groups, levels: Levels) -> float:
        """Return the loss if every group is published: no element above loses less."""
        return float(self.of(groups, np.ones(groups.n_groups, dtype=bool), levels))


def measure_of(loss: Loss, lattice: Lattice, n_rows: int) -> Measure:
    """Return the measure of that name."""
    measures: dict[Loss, type[Measure]] = {
        "loss": _DomainShares,
        "discernibility": _Discernibility,
        "class_size": _ClassSize,
        "entropy": _Entropy,
    }
    return measures[loss](lattice, n_rows)


class _Discernibility(Measure):
    """The number of rows that each row looks like, all if it is left out [Bayardo05]."""

    def of(self, groups: Groups, kept: Flags, levels: Levels) -> Fraction:  # noqa: ARG002
        sizes = groups.sizes[kept]
        n_dropped = self.n_rows - int(sizes.sum())
        return Fraction(int(sizes @ sizes) + n_dropped * self.n_rows)


class _ClassSize(Measure):
    """The rows of the table per published bucket [LeFevre06]."""

    def of(self, groups: Groups, kept: Flags, levels: Levels) -> Fraction:  # noqa: ARG002
        return Fraction(self.n_rows, int(np.count_nonzero(kept)))


class _ByColumn(Measure):
    """A sum over columns and rows of the cost of the label; `*` if the row is left out."""

    @abstractmethod
    def _cost(self, ladder: Ladder, level: int) -> npt.NDArray[Any]:
        """Return the cost of a row, for each node of a level."""

    @abstractmethod
    def _share(self, place: int, cost: float) -> Fraction:
        """Return a column's part of the whole, from the cost of all rows."""

    def of(self, groups: Groups, kept: Flags, levels: Levels) -> Fraction:
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
        # `bounds` already has the exact loss.
        return 0.0


class _DomainShares(_ByColumn):
    """The mean share of a hierarchy's leaves that a label stands for [Iyengar02].

    It is 0 if every value is published and 1 if none is.
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
    """The bits needed to find the values of all rows from their labels [DeWaal99].

    A value is one of those of all rows of the table with its label. The bits are divided by those
    needed if every value were suppressed.
    """

    def _cost(self, ladder: Ladder, level: int) -> npt.NDArray[Any]:
        return np.log2(np.maximum(ladder.n_rows[level], 1))

    @cached_property
    def _known(self) -> list[float]:
        """The sum of the logarithms of the number of rows with each row's own value."""
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

    def of(self, groups: Groups, kept: Flags, levels: Levels) -> Fraction:
        return Fraction(round(float(super().of(groups, kept, levels)), _DIGITS))
