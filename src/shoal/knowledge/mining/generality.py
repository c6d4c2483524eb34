"""Which rules say something that no more general rule says already.

A rule about people in government implies the same rule about those of a state, and about men of a
state. Of all rules the most general ones say everything. Rules are kept in a trie, value by value
and column by column, in which the generalizations of a rule are a few paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, group
from shoal.knowledge.mining._kernels import Finder
from shoal.knowledge.mining.items import Flags
from shoal.knowledge.mining.rules import NO_NODE, Small

__all__ = ["Trie", "most_general"]


def most_general(
    nodes: npt.NDArray[np.integer], value: npt.NDArray[np.integer], covers: Sequence[Flags]
) -> Flags:
    """Mark the rules that no other one of the same value implies.

    Parameters
    ----------
    nodes
        One row a rule, one column a quasi-identifier: a node, or -1 where the rule does not name
        the column.
    value
        For each rule the value that it excludes.
    covers
        For each column which node (row) is at least as general as which (column). Where one is so
        to another, it is so to all that the other covers.

    Returns
    -------
    One flag a rule. Of rules that imply each other the first is marked.

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
    first, _ = group([number, *(labels + 1).T], sizes, n_rules)
    distinct = np.ascontiguousarray(labels[first], dtype=np.int32)
    trie = Trie.of_rules(distinct, number[first], generals)
    is_implied = np.zeros(len(first), dtype=np.uint8)
    Finder(trie).mark_implied(distinct, number[first].astype(np.int32), is_implied)
    is_general = np.zeros(n_rules, dtype=bool)
    is_general[first] = is_implied == 0
    return is_general


def _renumber(nodes: npt.NDArray[np.integer], covers: Flags) -> tuple[Codes, Codes]:
    """Number the nodes that rules name; nodes that cover each other are one, the lowest."""
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
    """Rules as paths: a value, then one label a column, which is a node or -1.

    Parameters
    ----------
    level_start
        Where the entries of each level start; the first level are the values, the last the rules.
    child_start
        For each entry where its children start, counted within the next level. Every level but
        the last is followed by one place for its end, so that `level_start` counts it too.
    label
        For each entry its label, in the places of `child_start`.
    label_start
        Where the labels of each column start in `general_start`, -1 being the first of them.
    general_start, general
        For each label those that are at least as general, -1 last: what implies a rule is mostly
        a rule next to it, and so soonest found.
    """

    level_start: Codes
    child_start: Codes
    label: Small
    label_start: Codes
    general_start: Codes
    general: Small

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.level_start) - 1

    @classmethod
    def of_rules(cls, labels: Small, value: Codes, covers: Sequence[Flags]) -> Trie:
        """Build the trie of rules that are sorted by value, then labels, and all different.

        Parameters
        ----------
        labels
            One row a rule, one column a quasi-identifier.
        value
            For each rule its value; every number from 0 on occurs.
        covers
            For each column which label is at least as general as which; -1 left out.
        """
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
