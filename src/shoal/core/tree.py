"""A hierarchy applied to the values of one column.

Leaves are laid out so that every node of the hierarchy is a slice of them. A set of values then
has a first and a last leaf, and the label that covers the set is the lowest node whose slice holds
both. Methods that generalize ask for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.core.domain import SUPPRESSED, Domain, Texts
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.log import internal_log

__all__ = [
    "MOST_LEVELS",
    "NO_GROUP",
    "Integers",
    "Label",
    "Level",
    "Tree",
    "grow_tree",
    "unplaced_values",
]

Integers = npt.NDArray[np.int64]
Label = str | None
"""What a node is published as; None for the missing value."""

MOST_LEVELS = 100
"""How many levels a hierarchy may have, leaves and root included."""
NO_GROUP = -1
"""The group of values that are suppressed at a level below the root already."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a hierarchy between the leaves and the root.

    Parameters
    ----------
    groups
        For each code its group, or `NO_GROUP`. It may end before the code of the missing value,
        which then has a group of its own.
    labels
        For each group its label.
    """

    groups: Integers
    labels: Sequence[Label]


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The nodes of a hierarchy over the codes of a domain.

    A node is a number: leaves come first, in their order, then level by level, and the root is the
    last. A parent therefore has a higher number than its children. `Hierarchy.over` makes it.

    Parameters
    ----------
    column
        The column's name.
    position
        For each code the position of its leaf.
    code
        For each position the code of its leaf.
    labels
        For each node its label: the value's text for a leaf, ``*`` for the root, None for the
        missing value.
    parent
        For each node its parent; -1 for the root.
    first, last
        For each node its slice of positions, half open.
    level
        For each node its level: 0 for leaves, `height` for the root.
    by_level
        For each level and position the node that holds the position at that level. Where the
        hierarchy has none there, because the value is suppressed earlier, it is the root.

    Examples
    --------
    >>> from shoal.core.hierarchy import Hierarchy
    >>> domain = Domain.of_texts("work", ["Federal", "Private", "State"])
    >>> rows = [["Private", "Other"], ["State", "Government"], ["Federal", "Government"]]
    >>> tree = Hierarchy.from_rows(rows).over(domain)
    >>> tree
    Tree(column='work', height=2, 3 leaves, 6 nodes)
    >>> [tree.labels[node] for node in tree.ancestors_at(1)]
    ['Government', 'Other', 'Government']
    >>> tree.code.tolist()
    [0, 2, 1]
    >>> tree.labels[tree.common_ancestor(0, 1)]
    'Government'
    """

    column: str
    position: Integers
    code: Integers
    labels: Texts
    parent: Integers
    first: Integers
    last: Integers
    level: Integers
    by_level: Integers

    def __post_init__(self) -> None:
        for array in (self.position, self.code, self.labels, self.parent):
            array.flags.writeable = False
        for array in (self.first, self.last, self.level, self.by_level):
            array.flags.writeable = False

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.by_level) - 1

    @property
    def root(self) -> int:
        """The node that holds every leaf."""
        return self.n_nodes - 1

    @property
    def n_leaves(self) -> int:
        """The number of leaves, which is that of the domain's codes."""
        return len(self.code)

    @property
    def n_nodes(self) -> int:
        """The number of nodes, leaves and root included."""
        return len(self.parent)

    @property
    def leaf_node(self) -> Integers:
        """The node of the leaf at each position."""
        return self._nodes_at(0)

    def ancestor(self, positions: npt.ArrayLike, level: int) -> Integers:
        """Give the node that holds each leaf position at a level."""
        return self._nodes_at(level)[np.asarray(positions, dtype=np.int64)]

    def ancestors_at(self, level: int) -> Integers:
        """Give the node of each code when the whole column is generalized to one level."""
        return self._nodes_at(level)[self.position]

    def _nodes_at(self, level: int) -> Integers:
        if not 0 <= level <= self.height:
            raise ParameterError(
                f"level must lie between 0 and {self.height}, the height of the hierarchy of "
                f"column {self.column!r}; got {level}.",
                hint="level 0 keeps the values, the highest level suppresses them.",
            )
        nodes: Integers = self.by_level[level]
        return nodes

    def common_ancestor(self, first_position: int, last_position: int) -> int:
        """Give the lowest node that holds two leaf positions, and so all between them."""
        low, high = sorted((first_position, last_position))
        for nodes in self.by_level:
            node = nodes[low]
            if self.last[node] > high:
                return int(node)
        return self.root

    def common_ancestors(
        self, first_positions: npt.ArrayLike, last_positions: npt.ArrayLike
    ) -> Integers:
        """Give the lowest node that holds both positions, for each pair of positions."""
        starts = np.asarray(first_positions, dtype=np.int64)
        ends = np.asarray(last_positions, dtype=np.int64)
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        found = np.full(low.shape, self.root, dtype=np.int64)
        for nodes in self.by_level[::-1]:
            candidates = nodes[low]
            found = np.where(self.last[candidates] > high, candidates, found)
        return found

    @cached_property
    def _child_order(self) -> Integers:
        return np.lexsort((self.first, self.parent))

    @cached_property
    def _child_start(self) -> Integers:
        return np.searchsorted(self.parent[self._child_order], np.arange(self.n_nodes + 1))

    def children(self, node: int) -> Integers:
        """Give the children of a node in the order of their leaves; none for a leaf."""
        return self._child_order[self._child_start[node] : self._child_start[node + 1]]

    def members(self, node: int) -> Integers:
        """Give the codes of the values that a node stands for."""
        return self.code[self.first[node] : self.last[node]]

    def rows(self) -> list[list[Label]]:
        """Give the path of labels of every leaf, in the order of the leaves."""
        return self.restricted_rows(range(self.n_leaves))

    def restricted_rows(self, nodes: Iterable[int]) -> list[list[Label]]:
        """Give the leaf-first paths of labels above published nodes, and nothing below them.

        Rows have one length: a node above the lowest published level repeats its label down to
        it. The root is left out, for ``*`` needs no row.

        Notes
        -----
        Where a node is published beside one of its own ancestors (local recoding), the ancestor's
        label is a leaf of one row and an inner label of another. Such rows are a table of labels
        and parents, which `Hierarchy.from_rows` refuses as ambiguous.

        Examples
        --------
        >>> from shoal.core.hierarchy import Hierarchy
        >>> domain = Domain.of_texts("work", ["Federal", "Private", "State"])
        >>> rows = [["Private", "Other"], ["State", "Government"], ["Federal", "Government"]]
        >>> tree = Hierarchy.from_rows(rows).over(domain)
        >>> government = tree.ancestors_at(1)[0]
        >>> tree.restricted_rows([government, tree.position[1]])
        [['Private', 'Other', '*'], ['Government', 'Government', '*']]
        """
        published = np.setdiff1d(np.fromiter(nodes, dtype=np.int64), [self.root])
        if not published.size:
            return []
        lowest = int(self.level[published].min())
        paths = self.by_level[lowest:, self.first[published]]
        levels = np.arange(lowest, self.height + 1)[:, np.newaxis]
        shown = np.where(levels <= self.level[published], published, paths)
        rows: list[list[Label]] = self.labels[shown].T.tolist()
        return rows

    def to_dict(self) -> dict[str, object]:
        """Give the tree as plain lists."""
        return {
            "column": self.column,
            "height": self.height,
            "code": self.code.tolist(),
            "labels": self.labels.tolist(),
            "parent": self.parent.tolist(),
            "first": self.first.tolist(),
            "last": self.last.tolist(),
            "level": self.level.tolist(),
        }

    def __repr__(self) -> str:
        return (
            f"Tree(column={self.column!r}, height={self.height}, "
            f"{self.n_leaves} leaves, {self.n_nodes} nodes)"
        )


def grow_tree(domain: Domain, levels: Sequence[Level]) -> Tree:
    """Make the tree of a domain from its levels between the leaves and the root.

    Parameters
    ----------
    domain
        The column's values.
    levels
        Lowest first; the groups of each lie within the groups of the next.

    Examples
    --------
    >>> domain = Domain.of_texts("sex", ["F", "M"], has_missing=True)
    >>> tree = grow_tree(domain, [Level(np.array([0, 0]), ["known"])])
    >>> tree.rows()
    [['F', 'known', '*'], ['M', 'known', '*'], [None, None, '*']]
    """
    size, height = domain.size, len(levels) + 1
    levels = [_with_missing(domain, level) for level in levels]
    keys = _sort_keys(size, levels)
    code = np.lexsort(keys)
    position = np.empty(size, dtype=np.int64)
    position[code] = np.arange(size)

    leaf_labels = domain.labels()
    labels: list[Label] = [leaf_labels[leaf] for leaf in code.tolist()]
    firsts, lasts = [np.arange(size)], [np.arange(1, size + 1)]
    by_level = np.empty((height + 1, size), dtype=np.int64)
    by_level[0] = np.arange(size)
    for number, (level, key) in enumerate(zip(levels, keys[1:], strict=True), start=1):
        first, last, run = _runs(key[code])
        groups = level.groups[code[first]]
        has_node = groups != NO_GROUP
        nodes = np.where(has_node, len(labels) + np.cumsum(has_node) - 1, NO_GROUP)
        by_level[number] = nodes[run]
        labels.extend(level.labels[group] for group in groups[has_node].tolist())
        firsts.append(first[has_node])
        lasts.append(last[has_node])
    labels.append(SUPPRESSED)
    by_level[height] = len(labels) - 1
    for above, below in pairwise(by_level[::-1]):
        below[:] = np.where(below == NO_GROUP, above, below)

    parents = [by_level[number + 1][first] for number, first in enumerate(firsts)]
    node_levels = np.repeat(np.arange(height), [len(first) for first in firsts])
    tree = Tree(
        column=domain.column,
        position=position,
        code=code,
        labels=_texts(labels),
        parent=np.append(np.concatenate(parents), -1),
        first=np.append(np.concatenate(firsts), 0),
        last=np.append(np.concatenate(lasts), size),
        level=np.append(node_levels, height),
        by_level=by_level,
    )
    _check_labels(tree)
    return tree


def unplaced_values(domain: Domain, codes: npt.ArrayLike, fact: str) -> SchemaError:
    """Make the error for values that a hierarchy cannot place; the internal log lists them.

    Parameters
    ----------
    domain
        The column's values.
    codes
        Those that have no place.
    fact
        The sentence that says so, without any value.
    """
    texts = domain.texts[np.asarray(codes, dtype=np.int64)].tolist()
    internal_log.info(
        "Column %r: values without a place in its hierarchy: %r", domain.column, texts
    )
    return SchemaError(
        fact,
        hint=(
            "run again with --log FILE (in Python: shoal.log_to(FILE)) to list them in the "
            "internal log"
        ),
    )


def _with_missing(domain: Domain, level: Level) -> Level:
    if len(level.groups) == domain.size:
        return level
    return Level(np.append(level.groups, len(level.labels)), [*level.labels, None])


def _sort_keys(size: int, levels: Sequence[Level]) -> list[Integers]:
    """Give each code, level by level, the first code of its group.

    Sorted by the highest level, then the next, and last by the code itself, every group is a slice
    and siblings follow the order of the domain.
    """
    codes = np.arange(size)
    keys = [codes]
    for level in levels:
        is_grouped = level.groups != NO_GROUP
        first_code = np.full(len(level.labels), size, dtype=np.int64)
        np.minimum.at(first_code, level.groups[is_grouped], codes[is_grouped])
        key = keys[-1].copy()
        key[is_grouped] = first_code[level.groups[is_grouped]]
        keys.append(key)
    return keys


def _runs(key: Integers) -> tuple[Integers, Integers, Integers]:
    """Give where each run of equal keys begins and ends, and for each position its run."""
    is_first = np.ones(len(key), dtype=bool)
    is_first[1:] = key[1:] != key[:-1]
    first = np.flatnonzero(is_first)
    last = np.append(first, len(key))[1:]
    return first, last, np.cumsum(is_first) - 1


def _texts(labels: list[Label]) -> Texts:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _check_labels(tree: Tree) -> None:
    # A rule's label may be the text of a value by accident: "12…" as a prefix and as a value.
    slices: dict[Label, tuple[int, int]] = {}
    n_ambiguous = 0
    for label, first, last in zip(
        tree.labels.tolist(), tree.first.tolist(), tree.last.tolist(), strict=True
    ):
        n_ambiguous += slices.setdefault(label, (first, last)) != (first, last)
    if n_ambiguous:
        raise SchemaError(
            f"The hierarchy of column {tree.column!r} gives one label to different sets of values, "
            f"which it must not; got {n_ambiguous} such labels.",
            hint="give the hierarchy as rows whose labels differ from each other and from values.",
        )
