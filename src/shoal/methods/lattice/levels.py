"""The levels to which every column can be generalized; together they make a lattice.

An element of the lattice is a level for each quasi-identifying column: 0 keeps its values, the
highest one suppresses them. One element lies above another where no level of it is lower.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Cells, Codes, Counts
from shoal.core.domain import SUPPRESSED
from shoal.core.errors import SchemaError
from shoal.core.hierarchy import Hierarchy
from shoal.core.method import Problem
from shoal.core.tree import Tree

__all__ = ["Ladder", "Lattice", "Levels"]

Levels = tuple[int, ...]
"""An element of the lattice: the level of each column."""

_MOST_ELEMENTS = 1 << 22


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one column.

    Parameters
    ----------
    tree
        Its hierarchy.
    code
        The code of each cell of the quasi-identifiers.
    number
        For each level the number of every code among the nodes of that level.
    node
        For each level the node of each number.
    n_rows
        For each level how many rows of the table lie under each node.
    n_leaves
        For each level how many leaves of the hierarchy, occurring or not, each node stands for.
    """

    tree: Tree
    code: Codes
    number: tuple[Codes, ...]
    node: tuple[Codes, ...]
    n_rows: tuple[Counts, ...]
    n_leaves: tuple[Counts, ...]

    @classmethod
    def of_tree(cls, tree: Tree, cells: Cells, given: Hierarchy) -> Ladder:
        """Lay out the levels of a tree over the cells of the quasi-identifiers.

        Parameters
        ----------
        tree
            The hierarchy of one column.
        cells
            The distinct quasi-identifiers.
        given
            The hierarchy as it was given.
        """
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
        """Give the number that some cells have at a level."""
        numbers: Codes = self.number[level][self.code[cells]]
        return numbers


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of the columns' levels.

    Parameters
    ----------
    ladders
        The levels of each quasi-identifying column.
    """

    ladders: tuple[Ladder, ...]

    @classmethod
    def of_problem(cls, problem: Problem, cells: Cells) -> Lattice:
        """Lay out the lattice; a column without a hierarchy is kept or suppressed.

        Parameters
        ----------
        problem
            The hierarchies.
        cells
            The distinct quasi-identifiers.

        Raises
        ------
        SchemaError
            Where it has more elements than can be searched.
        """
        ladders = []
        for domain in cells.domains:
            given = problem.schema.hierarchies.get(domain.column, Hierarchy.flat())
            tree = problem.trees.get(domain.column) or given.over(domain)
            ladders.append(Ladder.of_tree(tree, cells, given))
        lattice = cls(tuple(ladders))
        n_elements = math.prod(lattice.shape)
        if n_elements > _MOST_ELEMENTS:
            raise SchemaError(
                f"The hierarchies of {len(ladders)} columns can be combined to {n_elements} "
                f"generalizations; at most {_MOST_ELEMENTS} are searched.",
                hint="give columns hierarchies with fewer levels, or take another method, such as "
                "Mondrian.",
            )
        return lattice

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each column."""
        return tuple(ladder.height + 1 for ladder in self.ladders)

    @property
    def top(self) -> Levels:
        """The element that suppresses every value."""
        return tuple(ladder.height for ladder in self.ladders)

    def above(self, levels: Levels) -> tuple[slice, ...]:
        """Select an element and all above it, from an array of the lattice's shape."""
        return tuple(slice(level, None) for level in levels)

    def below(self, levels: Levels) -> tuple[slice, ...]:
        """Select an element and all below it, from an array of the lattice's shape."""
        return tuple(slice(level + 1) for level in levels)

    def successors(self, levels: Levels) -> Sequence[Levels]:
        """Give the elements right above one, in the order of the columns."""
        return [
            (*levels[:place], level + 1, *levels[place + 1 :])
            for place, (level, top) in enumerate(zip(levels, self.top, strict=True))
            if level < top
        ]


def _count_leaves(tree: Tree, given: Hierarchy, level: int, node: Codes, number: Codes) -> Counts:
    """Count the leaves of every node of a level: of all rows, where the hierarchy has rows.

    The root may stand for some values below the highest level already: those that are suppressed
    there.
    """
    if given.kind != "rows":
        return np.bincount(number)
    n_rows = Counter(row[level] for row in given.rows)
    if None in tree.labels and (None,) not in {row[:1] for row in given.rows}:
        # The missing value has a leaf of its own where no row places it.
        n_rows[SUPPRESSED if level == tree.height else None] += 1
    # A number may be written otherwise than in its row.
    return np.array([n_rows.get(label, 1) for label in tree.labels[node].tolist()], dtype=np.int64)
