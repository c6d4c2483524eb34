"""The values of a column, or published labels, that the nodes of rules stand for.

If the values of the table are known, they decide: a node holds for a label if it holds for all
values that the label stands for. Otherwise the labels themselves are compared, with the meanings
that the release states. A node that names nothing in the column has a fault instead of an extent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.core.arrays import Codes, Flags, Integers
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.manifest import Meaning
from shoal.core.release import Published, Vocabulary
from shoal.core.tree import Tree
from shoal.injector.association_rules import NegativeRules
from shoal.injector.nodes import Node, codes_in, holds_for_labels, holds_for_values, node_in_tree
from shoal.locating.location import labels_of_values

_NO_NAME = "has neither a value nor a node of that name"
_OTHER_VALUES = "has a value of that name, but the knowledge defines it as other values"


@dataclass(frozen=True, eq=False)
class Setting:
    """The people, values and hierarchies that knowledge is resolved against."""

    # Values, or published labels, of the quasi-identifiers.
    cells: Cells
    # The sensitive values.
    domain: Domain
    # Hierarchies over the values of `cells`.
    trees: Mapping[str, Tree] = field(default_factory=dict)
    # The values that labels stand for; a rule holds for a label if it holds for all of them.
    meanings: Mapping[str, Mapping[str, Meaning]] = field(default_factory=dict)
    # The columns whose values are integers.
    whole: Collection[str] = ()
    # The values and hierarchies of the table, if it is available.
    vocabulary: Vocabulary = field(default_factory=Vocabulary)

    @classmethod
    def of_published(cls, published: Published, cells: Cells | None = None) -> Setting:
        """Return the setting of a release; of its own lines if no cells are given."""
        assert published.buckets is not None
        columns = published.manifest.columns
        known = published.vocabulary or Vocabulary()
        # If the values of a column are unknown, its tree is over the published labels.
        of_labels = {c: tree for c, tree in known.trees.items() if c not in known.domains}
        return cls(
            published.looks[0] if cells is None else cells,
            published.buckets.domain,
            of_labels,
            published.meanings,
            {column.name for column in columns if column.type is ColumnType.INTEGER},
            known,
        )

    @classmethod
    def of_beliefs(cls, published: Published, cells: Cells, domain: Domain) -> Setting:
        """Return the setting of beliefs about people of a release."""
        return cls(cells, domain, vocabulary=published.vocabulary or Vocabulary())

    @classmethod
    def of_people(cls, published: Published, people: Cells) -> Setting:
        """Return the setting of people whose values are known, not only their labels."""
        assert published.buckets is not None
        known = published.vocabulary or Vocabulary()
        return cls(people, published.buckets.domain, vocabulary=known)


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


@dataclass(frozen=True, eq=False)
class Extents:
    """The codes of a column that its nodes stand for, and the faults of nodes, by place."""

    marks: Flags
    faults: Mapping[int, str]
    labels: Labels | None = None

    @classmethod
    def of(cls, column: str, nodes: Sequence[Node], setting: Setting) -> Extents:
        """Find the codes that the nodes of a column stand for in a setting."""
        if column not in setting.cells.columns:
            fault = f"there is no quasi-identifier {column!r}"
            none = np.zeros((len(nodes), 1), dtype=bool)
            return cls(none, dict.fromkeys(range(len(nodes)), fault))
        if column in setting.vocabulary.domains:
            found = _extents_by_values(column, nodes, setting)
        else:
            found = _extents_by_labels(column, nodes, setting)
        faults = {at: f"column {column!r} {fault}" for at, fault in found.faults.items()}
        return cls(found.marks, faults, found.labels)


def _extents_by_labels(column: str, nodes: Sequence[Node], setting: Setting) -> Extents:
    """Decide by the values or published labels in the setting, and a hierarchy over them."""
    domain, tree = setting.cells.domain(column), setting.trees.get(column)
    meanings = setting.meanings.get(column, {})
    marks = np.zeros((len(nodes), max(domain.size, 1)), dtype=bool)
    rest = np.arange(len(nodes))
    if not meanings:
        rest = _mark_values(nodes, domain, marks)
    faults: dict[int, str] = {}
    for place in rest.tolist():
        node, is_whole = nodes[place], column in setting.whole
        found = holds_for_labels(node, domain, meanings, tree, is_whole=is_whole)
        if found is not None:
            marks[place, : domain.size] = found
        elif not setting.vocabulary.is_empty_node(column, node.label):
            faults[place] = _NO_NAME
    if not meanings:
        faults |= _ambiguous(nodes, domain, marks)
    return Extents(marks, faults)


def _extents_by_values(column: str, nodes: Sequence[Node], setting: Setting) -> Extents:
    """Decide by the values of the table: a node holds for a label with all its values."""
    known = setting.vocabulary
    values, tree = known.domains[column], known.trees.get(column)
    by_value = np.zeros((len(nodes), max(values.size, 1)), dtype=bool)
    faults: dict[int, str] = {}
    for place in _mark_values(nodes, values, by_value).tolist():
        found = holds_for_values(nodes[place], values, tree)
        if found is not None:
            by_value[place, : values.size] = found
        elif not known.is_empty_node(column, nodes[place].label):
            faults[place] = _NO_NAME
    faults |= _ambiguous(nodes, values, by_value)
    domain = setting.cells.domain(column)
    if domain is values:
        return Extents(by_value, faults)
    label, value = _values_of_labels(domain, setting.meanings.get(column, {}), values, tree)
    is_admitted = np.zeros(max(domain.size, 1), dtype=bool)
    is_admitted[label] = True
    marks = np.repeat(is_admitted[np.newaxis], len(nodes), axis=0)
    for place in range(len(nodes)):
        outside = ~by_value[place, value]
        marks[place, label[outside]] = False
    # Values not in the table are compared by text: people outside it may be attacked too.
    strange = np.flatnonzero(~is_admitted[: domain.size])
    if len(strange):
        by_label = _extents_by_labels(
            column, nodes, Setting(setting.cells, setting.domain, meanings=setting.meanings)
        )
        marks[:, strange] = by_label.marks[:, strange]
    labels = Labels(by_value, label, value, max(domain.size, 1))
    return Extents(marks, faults, labels if setting.meanings.get(column) else None)


def _values_of_labels(
    domain: Domain, meanings: Mapping[str, Meaning], values: Domain, tree: Tree | None
) -> tuple[Codes, Codes]:
    """Return pairs of a label and a value that it stands for.

    A label that is a node of the hierarchy stands for the values under it. The meaning that a
    release states is less complete: it does not name rare values.
    """
    start, label = labels_of_values(domain, meanings, values)
    value = np.repeat(np.arange(values.size), np.diff(start))
    if tree is None or not meanings:
        return label, value
    texts = domain.labels()
    nodes = {
        code: node
        for code, text in enumerate(texts)
        if text in meanings and (node := node_in_tree(tree, text)) is not None
    }
    is_other = ~np.isin(label, list(nodes))
    labels, held = [label[is_other]], [value[is_other]]
    for code, node in nodes.items():
        members = tree.members(node)
        labels.append(np.full(len(members), code, dtype=np.int64))
        held.append(members)
    return np.concatenate(labels), np.concatenate(held)


def _mark_values(nodes: Sequence[Node], domain: Domain, marks: Flags) -> Integers:
    """Mark the nodes that are values, all at once, and return the places of the others."""
    plain = np.flatnonzero([not node.is_defined for node in nodes])
    codes = codes_in(domain, [nodes[place].label for place in plain.tolist()])
    marks[plain[codes >= 0], codes[codes >= 0]] = True
    is_value = np.zeros(len(nodes), dtype=bool)
    is_value[plain[codes >= 0]] = True
    return np.flatnonzero(~is_value)


def _ambiguous(nodes: Sequence[Node], domain: Domain, marks: Flags) -> dict[int, str]:
    """Find labels of groups that are values too: rules about that value would mean others.

    Nodes are distinguished by label only, so rules mined about the value would be lost.
    """
    labels = [node.label if node.is_defined else None for node in nodes]
    codes = domain.codes_of(labels)
    named = np.flatnonzero((codes >= 0) & np.array([label is not None for label in labels], bool))
    is_other = ~marks[named, codes[named]] | (marks[named].sum(axis=1) > 1)
    return dict.fromkeys(named[is_other].tolist(), _OTHER_VALUES)
