"""The nodes of hierarchies that antecedents of rules are made of.

A rule may name a value of a quasi-identifier or any node above it but the root. Nodes are told
apart by the values of the table that they hold: one that holds them all says nothing, like the
root; one that holds none has no rows; and of those that hold the same the highest stands for all.
What is mined here is used elsewhere too, and there the highest says most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes
from shoal.core.domain import Domain
from shoal.core.hierarchy import Hierarchy
from shoal.core.tree import Integers, Tree
from shoal.knowledge.location import spread

__all__ = ["Items", "covers_of", "extents_of", "items_of", "tree_of"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Items:
    """The nodes of one column that rules may use.

    Nodes with one leaf of the table come first, in the order of leaves; then the others, from
    lower levels to higher ones.

    Parameters
    ----------
    tree
        The column's hierarchy.
    node
        For each item the number of its node: the highest of those that hold the same leaves.
    first, last
        For each item its slice of the leaves that the table has, half open.
    leaf
        For each code the place of its leaf among those; -1 where the table does not have it.

    Examples
    --------
    >>> work = Domain.of_texts("work", ["Federal", "Private", "State", "Unpaid"])
    >>> groups = ["Government", "Other", "Government", "Other"]
    >>> tree = Hierarchy.from_rows(zip(work.texts, groups)).over(work)
    >>> items = Items.of_tree(tree, np.array([0, 1, 2]))
    >>> tree.labels[items.node].tolist()
    ['Federal', 'State', 'Other', 'Government']
    """

    tree: Tree
    node: Integers
    first: Integers
    last: Integers
    leaf: Integers

    @classmethod
    def of_tree(cls, tree: Tree, codes: Codes) -> Items:
        """Find the items of a column, given the codes that the table has."""
        is_there = np.zeros(tree.n_leaves, dtype=np.int64)
        is_there[tree.position[codes]] = 1
        before = np.append(0, np.cumsum(is_there))
        first, last = before[tree.first], before[tree.last]
        n_leaves = int(before[-1])
        says_something = (first < last) & (last - first < n_leaves)
        nodes = np.flatnonzero(says_something)
        slices = first[nodes] * (n_leaves + 1) + last[nodes]
        _, lowest, inverse = np.unique(slices, return_index=True, return_inverse=True)
        highest = np.zeros(len(lowest), dtype=np.int64)
        np.maximum.at(highest, inverse, nodes)
        # A parent has a higher number than its children, so this is the order of the leaves.
        kept = highest[np.argsort(lowest)]
        leaf = np.where(is_there, before[:-1], -1)[tree.position]
        return cls(tree, kept, first[kept], last[kept], leaf)

    @property
    def n_leaves(self) -> int:
        """The number of leaves that the table has."""
        return int(self.leaf.max(initial=-1)) + 1

    def paths(self) -> tuple[Integers, Integers]:
        """Give the items that hold each leaf, highest first, and where those of each leaf start."""
        item, leaf = spread(self.first, self.last - self.first)
        order = np.lexsort((self.first[item] - self.last[item], leaf))
        start = np.searchsorted(leaf[order], np.arange(self.n_leaves + 1))
        return item[order], start.astype(np.int64)


def tree_of(domain: Domain, trees: Mapping[str, Tree]) -> Tree:
    """Give the hierarchy of a column; leaves under the root where it was given none."""
    return trees[domain.column] if domain.column in trees else Hierarchy.flat().over(domain)


def items_of(cells: Cells, columns: Sequence[str], trees: Mapping[str, Tree]) -> list[Items]:
    """Find the items of some columns."""
    return [
        Items.of_tree(tree_of(cells.domain(column), trees), np.unique(cells.column(column)))
        for column in columns
    ]


def extents_of(tree: Tree) -> Flags:
    """Say for each node (row) which codes (column) it holds.

    Examples
    --------
    >>> tree = Hierarchy.flat().over(Domain.of_texts("sex", ["F", "M"]))
    >>> extents_of(tree).astype(int).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    position = tree.position[np.newaxis, :]
    is_held = (tree.first[:, np.newaxis] <= position) & (position < tree.last[:, np.newaxis])
    return np.asarray(is_held, dtype=bool)


def covers_of(tree: Tree) -> Flags:
    """Say for each node (row) which nodes (column) lie within it; each lies within itself.

    Examples
    --------
    >>> tree = Hierarchy.flat().over(Domain.of_texts("sex", ["F", "M"]))
    >>> covers_of(tree).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [1, 1, 1]]
    """
    first, last = tree.first[:, np.newaxis], tree.last[:, np.newaxis]
    return np.asarray((first <= tree.first) & (tree.last <= last), dtype=bool)
