"""What rules imply: other rules, and the sensitive values that rows cannot take.

A rule about people in government implies the same rule about people in state government, and about
men in state government; the most general rules say everything. Rules are kept in a trie, value by
value and column by column, in which the generalizations of a rule are a few paths.

Values forbidden by rules about one column are looked up by code. For longer rules every node has
the set of cells that it holds, as bits: an antecedent holds for the intersection of its nodes'
sets, and a value is forbidden to the union over its rules.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section V-A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Flags, Integers, Small, marks_of, words_of
from shoal.core.cells import group
from shoal.injector._mining_kernels import Finder, mark_cells
from shoal.injector.association_rules import NegativeRules
from shoal.injector.mined_rules import NO_NODE
from shoal.locating.location import spread


def most_general(
    nodes: npt.NDArray[np.integer], value: npt.NDArray[np.integer], covers: Sequence[Flags]
) -> Flags:
    """Mark the rules that no other rule about the same value implies.

    `nodes` has one row per rule and one column per quasi-identifier: a node, or -1 if the rule does
    not name the column. `value` is the value that each rule excludes. `covers` marks for each
    column which node (row) is at least as general as which (column). Of rules that imply each other
    the first is marked.

    Examples
    --------
    >>> covers = np.array([[True, False, False], [False, True, False], [True, True, True]])
    >>> most_general(np.array([[0], [2], [1]]), np.array([5, 5, 6]), [covers]).tolist()
    [False, True, True]
    """
    n_rules, n_columns = nodes.shape
    labels = np.empty((n_rules, n_columns), dtype=np.int64)
    generals = []
    for column, given in enumerate(covers):
        relation = given | np.eye(len(given), dtype=bool)
        used, place = _renumber(nodes[:, column], relation)
        labels[:, column] = place
        generals.append(relation[np.ix_(used, used)])
    values, number = np.unique(value, return_inverse=True)
    sizes = [len(values), *(len(relation) + 1 for relation in generals)]
    # Equal rules imply each other; only the first of them is compared with others.
    first, _ = group([number, *(labels + 1).T], sizes, n_rules)
    distinct = np.ascontiguousarray(labels[first], dtype=np.int32)
    trie = Trie.of_rules(distinct, number[first], generals)
    is_implied = np.zeros(len(first), dtype=np.uint8)
    Finder(trie).mark_implied(distinct, number[first].astype(np.int32), is_implied)
    is_general = np.zeros(n_rules, dtype=bool)
    is_general[first] = is_implied == 0
    return is_general


def _renumber(nodes: npt.NDArray[np.integer], covers: Flags) -> tuple[Codes, Codes]:
    """Number the nodes that rules name; nodes that cover each other count as the lowest."""
    is_named = nodes != NO_NODE
    is_used = np.zeros(len(covers), dtype=bool)
    is_used[nodes[is_named]] = True
    used = np.flatnonzero(is_used)
    within = covers[np.ix_(used, used)]
    lowest = used[np.argmax(within & within.T, axis=1)] if len(used) else used
    kept = np.unique(lowest)
    place = np.full(len(nodes), NO_NODE, dtype=np.int64)
    stands_for = np.empty(len(covers), dtype=np.int64)
    stands_for[used] = np.searchsorted(kept, lowest)
    place[is_named] = stands_for[nodes[is_named]]
    return kept, place


@dataclass(frozen=True, eq=False)
class Trie:
    """Rules as paths: a value, then one label per column, which is a node or -1."""

    # The first entry of each level; the first level holds the values, the last the rules.
    level_start: Codes
    # The first child of each entry, counted within the next level. Every level but the last is
    # followed by one place for its end, which `level_start` counts too.
    child_start: Codes
    # The label of each entry, in the places of `child_start`.
    label: Small
    # The first label of each column in `general_start`, which is -1.
    label_start: Codes
    # The labels at least as general as each label, -1 last: a rule is mostly implied by a rule
    # next to it, which is then found soonest.
    general_start: Codes
    general: Small

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.level_start) - 1

    @classmethod
    def of_rules(cls, labels: Small, value: Codes, covers: Sequence[Flags]) -> Trie:
        """Build the trie of distinct rules sorted by value (0, 1, ...), then labels."""
        begins = np.r_[True, value[1:] != value[:-1]][: len(value)]
        first = np.flatnonzero(begins)
        level_labels, children = [value[first]], []
        for column in range(labels.shape[1]):
            changes = labels[1:, column] != labels[:-1, column]
            begins = begins | np.r_[True, changes][: len(begins)]
            entry = np.cumsum(begins) - 1
            children.append(np.append(entry[first], len(np.flatnonzero(begins))))
            first = np.flatnonzero(begins)
            level_labels.append(labels[first, column])
        children.append(np.zeros(len(first) + 1, dtype=np.int64))
        sizes = [len(part) for part in children]
        padded = [np.append(part, NO_NODE) for part in level_labels]
        return cls(
            np.array([0, *accumulate(sizes)][:-1], dtype=np.int64),
            np.concatenate(children),
            np.concatenate(padded).astype(np.int32),
            *_generals(covers),
        )


def _generals(covers: Sequence[Flags]) -> tuple[Codes, Codes, Small]:
    """List for each label of each column, from -1 on, the labels that are at least as general."""
    label_start, general_start, general = [0], [np.zeros(1, dtype=np.int64)], []
    for relation in covers:
        n_nodes = len(relation)
        is_general = np.zeros((n_nodes + 1, n_nodes + 1), dtype=bool)
        is_general[1:, :n_nodes] = relation.T
        is_general[:, n_nodes] = True
        label, above = np.nonzero(is_general)
        general.append(np.where(above == n_nodes, NO_NODE, above))
        ends = general_start[-1][-1] + np.cumsum(np.bincount(label, minlength=n_nodes + 1))
        general_start.append(ends)
        label_start.append(label_start[-1] + n_nodes + 1)
    return (
        np.array(label_start, dtype=np.int64),
        np.concatenate(general_start),
        np.concatenate([np.empty(0, dtype=np.int64), *general]).astype(np.int32),
    )


Nodes = npt.NDArray[np.integer]

_CHUNK = 2**26
"""The number of pairs of a node and a cell that are held in memory at a time."""
_WORD = 64


def forbidden_marks(
    nodes: Nodes,
    value: npt.NDArray[np.integer],
    extents: Sequence[Flags],
    codes: Codes,
    n_values: int,
) -> Flags:
    """Mark the values (columns) that each cell (row) cannot take.

    `nodes` and `value` are the rules, as in `most_general`. `extents` says for each column which
    node (row) holds for which code (column), and `codes` has one row per cell.

    Examples
    --------
    >>> nodes, value = np.array([[0, -1], [1, 1]]), np.array([2, 0])
    >>> extents = [np.eye(2, dtype=bool), np.eye(2, dtype=bool)]
    >>> codes = np.array([[0, 0], [1, 0], [1, 1]])
    >>> forbidden_marks(nodes, value, extents, codes, 3).astype(int).tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    n_named = (nodes != NO_NODE).sum(axis=1)
    # There may be thousands of values, so marks are joined as bits.
    octets = np.zeros((len(codes), -(-n_values // 8)), dtype=np.uint8)
    for column, extent in enumerate(extents):
        is_single = (n_named == 1) & (nodes[:, column] != NO_NODE)
        if is_single.any():
            by_code = _marks_by_code(nodes[is_single, column], value[is_single], extent, n_values)
            octets |= np.packbits(by_code, axis=1)[codes[:, column]]
    marks: Flags = np.unpackbits(octets, axis=1, count=n_values).view(bool)
    marks[:, value[n_named == 0]] = True
    if (n_named > 1).any():
        _mark_long(nodes[n_named > 1], value[n_named > 1], extents, codes, marks)
    return marks


def _marks_by_code(
    node: Nodes, value: npt.NDArray[np.integer], extent: Flags, n_values: int
) -> Flags:
    """Mark for each code of a column the values that rules about this column alone exclude."""
    used, place = np.unique(node, return_inverse=True)
    holder, code = np.nonzero(extent[used])
    start = np.searchsorted(holder, np.arange(len(used) + 1))
    by_code = np.zeros((extent.shape[1], n_values), dtype=bool)
    rule, entry = spread(start[place], np.diff(start)[place])
    by_code[code[entry], value[rule]] = True
    return by_code


def _mark_long(
    nodes: Nodes,
    value: npt.NDArray[np.integer],
    extents: Sequence[Flags],
    codes: Codes,
    marks: Flags,
) -> None:
    """Mark the values that rules about several columns exclude."""
    sizes = [len(extent) + 1 for extent in extents]
    columns = [nodes[:, column].astype(np.int64) + 1 for column in range(len(extents))]
    first, _ = group([*columns, value.astype(np.int64)], [*sizes, marks.shape[1]], len(nodes))
    used = [np.setdiff1d(nodes[:, column], [NO_NODE]) for column in range(len(extents))]
    item = _items(nodes[first], used)
    n_items, rule_value = sum(map(len, used)), value[first].astype(np.int32)
    n_together = max(_WORD, _CHUNK // n_items)
    for start in range(0, len(codes), n_together):
        part = slice(start, start + n_together)
        held = [
            extent[nodes_used][:, codes[part, column]]
            for column, (extent, nodes_used) in enumerate(zip(extents, used, strict=True))
        ]
        cells = words_of(np.concatenate(held))
        found = np.zeros((marks.shape[1], cells.shape[1]), dtype=np.uint64)
        work = np.full((len(extents) + 1, cells.shape[1]), np.iinfo(np.uint64).max)
        mark_cells(cells, item, rule_value, work, found)
        marks[part] |= marks_of(found, len(codes[part])).T


def _items(nodes: Nodes, used: Sequence[Nodes]) -> Small:
    """Number the nodes of all columns together, and move those of each rule to its front."""
    item = np.full(nodes.shape, NO_NODE, dtype=np.int32)
    start = 0
    for column, nodes_used in enumerate(used):
        is_named = nodes[:, column] != NO_NODE
        item[is_named, column] = start + np.searchsorted(nodes_used, nodes[is_named, column])
        start += len(nodes_used)
    order = np.argsort(item == NO_NODE, axis=1, kind="stable")
    return np.ascontiguousarray(np.take_along_axis(item, order, axis=1))


@dataclass(frozen=True, eq=False)
class Labels:
    """A column whose labels stand for several values.

    `by_value` marks the node (row) that holds for a value (column); `label` and `value` are pairs
    of a label and a value that it stands for.
    """

    by_value: Flags
    label: Codes
    value: Codes
    n_labels: int

    def forbidden(
        self,
        rules: NegativeRules,
        excluded: Integers,
        kept: Integers,
        at: int,
        n_values: int,
    ) -> Flags:
        """Mark the sensitive values (columns) that rules about this column forbid to labels (rows).

        Rules about each of the values that a label stands for say as much as one rule about the
        label.
        """
        kept = kept[(rules.lengths[kept] == 1) & (rules.place[kept, at] >= 0)]
        by_value = np.zeros((self.by_value.shape[1], n_values), dtype=bool)
        for number in kept.tolist():
            by_value[self.by_value[rules.place[number, at]], excluded[number]] = True
        is_admitted = np.zeros(self.n_labels, dtype=bool)
        is_admitted[self.label] = True
        marks = np.repeat(is_admitted[:, np.newaxis], n_values, axis=1)
        np.logical_and.at(marks, self.label, by_value[self.value])
        return marks
