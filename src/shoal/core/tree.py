"""A hierarchy applied to the values of one column.

Leaves are ordered so that every node of the hierarchy is a slice of them. A set of values then has
a first and a last leaf, and the label that covers the set is the lowest node whose slice holds
both. Methods that generalize need nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Integers, Texts
from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.log import internal_log

Label = str | None
"""The published text of a node; None for the missing value."""

MOST_LEVELS = 100
"""The largest number of levels of a hierarchy, including leaves and root."""
NO_GROUP = -1
"""The group of values that are suppressed at a level below the root."""


class Generalization(Protocol):
    """The interface that the core needs of a hierarchy; `shoal.Hierarchy` implements it."""

    @property
    def kind(self) -> str:
        """The key that names it in a configuration."""

    @property
    def height(self) -> int | None:
        """The level of the root, or None if that depends on the values."""

    @property
    def rows(self) -> tuple[tuple[Label, ...], ...]:
        """The rows that it was given as; raises a SchemaError if it was given as a rule."""

    def over(self, domain: Domain, counts: npt.ArrayLike | None = None) -> Tree:
        """Apply the hierarchy to the values of a column."""

    def to_csv(self, path: str | Path, *, delimiter: str = ";") -> None:
        """Write a hierarchy that was given as rows."""

    def to_config(self) -> dict[str, Any]:
        """Return the hierarchy as a configuration states it."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a hierarchy between the leaves and the root."""

    # For each code its group, or `NO_GROUP`. The code of the missing value may be left out; it
    # then has a group of its own.
    groups: Integers
    # For each group its label.
    labels: Sequence[Label]


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """The nodes of a hierarchy over the codes of a domain; `Hierarchy.over` makes it.

    A node is a number: leaves come first, in their order, then level by level, and the root is
    last. A parent therefore has a higher number than its children.

    Examples
    --------
    >>> from shoal.hierarchies.hierarchy import Hierarchy
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
    # For each code the position of its leaf.
    position: Integers
    # For each position the code of its leaf.
    code: Integers
    # For each node its label: the text of the value for a leaf, * for the root, None for missing.
    labels: Texts
    # For each node its parent; -1 for the root.
    parent: Integers
    # For each node its slice of positions, `last` excluded.
    first: Integers
    last: Integers
    # For each node its level: 0 for leaves, `height` for the root.
    level: Integers
    # For each level and position the node that holds the position at that level; the root if the
    # value is suppressed at a lower level.
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
        """The number of leaves, one per code of the domain."""
        return len(self.code)

    @property
    def n_nodes(self) -> int:
        """The number of nodes, including leaves and root."""
        return len(self.parent)

    @property
    def leaf_node(self) -> Integers:
        """The node of the leaf at each position."""
        return self._nodes_at(0)

    def ancestor(self, positions: npt.ArrayLike, level: int) -> Integers:
        """Return the node that holds each leaf position at a level."""
        return self._nodes_at(level)[np.asarray(positions, dtype=np.int64)]

    def ancestors_at(self, level: int) -> Integers:
        """Return the node of each code if the whole column is generalized to one level."""
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
        """Return the lowest node that holds two leaf positions, and therefore all between them."""
        low, high = sorted((first_position, last_position))
        for nodes in self.by_level:
            node = nodes[low]
            if self.last[node] > high:
                return int(node)
        return self.root

    def common_ancestors(
        self, first_positions: npt.ArrayLike, last_positions: npt.ArrayLike
    ) -> Integers:
        """Return for each pair of positions the lowest node that holds both."""
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
        """Return the children of a node in the order of their leaves; none for a leaf."""
        return self._child_order[self._child_start[node] : self._child_start[node + 1]]

    def members(self, node: int) -> Integers:
        """Return the codes of the values below a node."""
        return self.code[self.first[node] : self.last[node]]

    def rows(self) -> list[list[Label]]:
        """Return the path of labels of every leaf, in the order of the leaves."""
        return self.restricted_rows(range(self.n_leaves))

    def restricted_rows(self, nodes: Iterable[int]) -> list[list[Label]]:
        """Return the leaf-first paths of labels from published nodes up, and nothing below them.

        Rows have the same length: a node above the lowest published level repeats its label down to
        it. The root gets no row. If a node is published together with one of its own ancestors
        (local recoding), the ancestor's label is a leaf of one row and an inner label of another;
        `Hierarchy.from_rows` refuses such rows as ambiguous.

        Examples
        --------
        >>> from shoal.hierarchies.hierarchy import Hierarchy
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
        """Return the tree as plain lists."""
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
    """Create the tree of a domain from its levels between the leaves and the root, lowest first.

    The groups of each level lie within the groups of the next.

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
    """Return the error `fact` for values without a place; the internal log lists them."""
    texts = domain.texts[np.asarray(codes, dtype=np.int64)].tolist()
    internal_log.info(
        "Column %r: values without a place in its hierarchy: %r", domain.column, texts
    )
    return SchemaError(
        fact,
        hint=(
            "run again with --log FILE (in Python: shoal.config.log_to(FILE)) to list them in the "
            "internal log"
        ),
    )


def _with_missing(domain: Domain, level: Level) -> Level:
    if len(level.groups) == domain.size:
        return level
    return Level(np.append(level.groups, len(level.labels)), [*level.labels, None])


def _sort_keys(size: int, levels: Sequence[Level]) -> list[Integers]:
    """Return for each level the first code of each code's group.

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
    """Return where each run of equal keys begins and ends, and for each position its run."""
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
    # A label made by a rule may equal the text of a value by accident: "12…" as prefix and value.
    slices: dict[Label, tuple[int, int]] = {}
    n_ambiguous = 0
    for label, first, last in zip(
        tree.labels.tolist(), tree.first.tolist(), tree.last.tolist(), strict=True
    ):
        n_ambiguous += slices.setdefault(label, (first, last)) != (first, last)
    if n_ambiguous:
        raise SchemaError(
            f"The hierarchy of column {tree.column!r} gives one label to several sets of values; "
            f"got {n_ambiguous} such labels.",
            hint="give the hierarchy as rows whose labels differ from each other and from values.",
        )
