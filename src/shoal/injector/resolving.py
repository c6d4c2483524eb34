"""Knowledge applied to people: which entries hold for whom, and which entries cannot be resolved.

Knowledge is written in words: the name of a column, a value or a node of a hierarchy, a sensitive
value, the key of a row. Methods, attacks and the gate resolve it here and nowhere else. If the
table is available its vocabulary decides; on a release alone, the published labels and their
meanings do. An entry that names something unknown is never taken to be about nobody: it is returned
as unresolved.

The extent of a node is the values of a column, or published labels, that it stands for. If the
values of the table are known, a node holds for a label if it holds for all values that the label
stands for. Otherwise the labels themselves are compared, with the meanings that the release states.
A node that overlaps some published label in part is known; the rule merely holds for none of the
lines with that label.

References
----------
[Li08] Sections III-A, III-B and V-A.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Flags, Integers
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.core.release import Published, Vocabulary
from shoal.core.tree import Tree
from shoal.injector.association_rules import NegativeRules, PositiveRule
from shoal.injector.consequences import Labels, forbidden_marks
from shoal.injector.known import Fact, Knowledge
from shoal.injector.nodes import Node, codes_in, holds_for_labels, holds_for_values, node_in_tree
from shoal.injector.statistics import Statistic
from shoal.locating.location import labels_of_values

_MOST_LISTED = 100
"""The largest number of unresolved entries that are listed individually."""
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
    def of_people(cls, published: Published, people: Cells, domain: Domain) -> Setting:
        """Return the setting of people whose values are known, not only their labels."""
        return cls(people, domain, vocabulary=published.vocabulary or Vocabulary())


@dataclass(frozen=True, eq=False)
class Resolution:
    """Knowledge applied to the people of a setting."""

    knowledge: Knowledge
    setting: Setting
    # Whether everything that each negative rule names exists.
    is_known: Flags
    # For each column of the rules which node (row) holds for which code (column).
    extents: tuple[Flags, ...]
    # The columns of the rules that are published as labels, by place.
    labels: Mapping[int, Labels]
    # The resolved positive rules and statistics, and the cells that each is about.
    conditions: tuple[tuple[PositiveRule | Statistic, Flags], ...]
    # One line for each entry that names something unknown, without any value of the table.
    unresolved: tuple[str, ...]

    def confirm(self) -> Resolution:
        """Raise `ParameterError`, naming entries and columns but no value, if any is unresolved."""
        if self.unresolved:
            listed = "; ".join(self.unresolved[:3])
            more = f"; and {len(self.unresolved) - 3} more" if len(self.unresolved) > 3 else ""
            raise ParameterError(
                f"The knowledge names something that does not exist: {listed}{more}.",
                hint="correct or strike these entries, or define their labels under "
                "[nodes.COLUMN] in the knowledge file.",
            )
        return self

    @cached_property
    def values(self) -> Integers:
        """The code of the value that each rule excludes; -1 if nobody in the setting has it."""
        rules = self.knowledge.negative
        codes = codes_in(self.setting.domain, rules.values)
        return codes[rules.value] if len(rules) else np.zeros(0, dtype=np.int64)

    @cached_property
    def sets(self) -> ForbiddenSets:
        """The values that each cell cannot take."""
        return self.sets_by(np.ones(len(self.knowledge), dtype=bool))

    @cached_property
    def certain_sets(self) -> ForbiddenSets:
        """The values that each cell cannot take by rules without exceptions."""
        return self.sets_by(self.knowledge.negative.confidences == 1)

    def sets_by(self, is_used: Flags) -> ForbiddenSets:
        """Return the values that each cell cannot take by some of the rules."""
        rules, cells = self.knowledge.negative, self.setting.cells
        kept = np.flatnonzero(is_used & self.is_known & (self.values >= 0))
        marks = forbidden_marks(
            rules.place[kept],
            self.values[kept].astype(np.int32),
            self.extents,
            _codes(rules, cells),
            self.setting.domain.size,
        )
        for at, labels in self.labels.items():
            by_label = labels.forbidden(rules, self.values, kept, at, self.setting.domain.size)
            marks |= by_label[_codes(rules, cells)[:, at]]
        return ForbiddenSets.of_marks(marks)

    def holding(self) -> Flags:
        """Mark for each negative rule (row) the cells (column) for which its antecedent is true."""
        rules, cells = self.knowledge.negative, self.setting.cells
        codes = _codes(rules, cells)
        holds = np.repeat(self.is_known[:, np.newaxis], cells.n_cells, axis=1)
        for at, extent in enumerate(self.extents):
            place = rules.place[:, at]
            holds[place >= 0] &= extent[:, codes[:, at]][place[place >= 0]]
        return holds

    def __repr__(self) -> str:
        return f"Resolution({self.knowledge!r}, {len(self.unresolved)} unresolved)"


def resolve(knowledge: Knowledge, setting: Setting) -> Resolution:
    """Resolve rules and statistics; facts are resolved by `resolve_facts`.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.injector.association_rules import NegativeRule
    >>> sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["a", "b"])
    >>> people = Cells.of_rows([sex], np.array([[0], [1]]))
    >>> rules = [NegativeRule(antecedent={"sex": "M"}, value="a"),
    ...          NegativeRule(antecedent={"sx": "M"}, value="a")]
    >>> found = resolve(Knowledge("disease", rules), Setting(people, disease))
    >>> found.sets.sets[found.sets.which].tolist()
    [[False, False], [True, False]]
    >>> found.unresolved
    ("negative rule 2: there is no quasi-identifier 'sx'",)
    """
    rules = knowledge.negative
    is_known = np.ones(len(rules), dtype=bool)
    faults: list[tuple[int, str]] = []
    extents: list[Flags] = []
    labels: dict[int, Labels] = {}
    for at, (column, nodes) in enumerate(rules.nodes.items()):
        found = Extents.of(column, nodes, setting)
        extents.append(found.marks)
        if found.labels is not None:
            labels[at] = found.labels
        place = rules.place[:, at]
        for node, fault in found.faults.items():
            wrong = np.flatnonzero(place == node)
            is_known[wrong] = False
            faults += [(number, fault) for number in wrong.tolist()]
    is_there = _have_value(setting, knowledge.sensitive, rules.values)
    lacks = np.flatnonzero(~is_there[rules.value]) if len(rules) else np.zeros(0, dtype=np.int64)
    is_known[lacks] = False
    absent = f"column {knowledge.sensitive!r} does not have the value that it excludes"
    faults += [(number, absent) for number in lacks.tolist()]
    lines = [f"negative rule {number + 1}: {fault}" for number, fault in sorted(faults)]
    conditions: list[tuple[PositiveRule | Statistic, Flags]] = []
    for kind, entries in (
        ("positive rule", knowledge.positive),
        ("statistic", knowledge.statistics),
    ):
        for number, (entry, cells, fault) in enumerate(_conditions(knowledge, entries, setting)):
            if fault:
                lines.append(f"{kind} {number + 1}: {fault}")
            else:
                conditions.append((entry, cells))
    told = tuple(conditions)
    return Resolution(knowledge, setting, is_known, tuple(extents), labels, told, _shortened(lines))


def resolve_facts(
    facts: Sequence[Fact],
    setting: Setting,
    sensitive: str,
    cell_of_key: Mapping[str, int] | None,
) -> tuple[dict[str, list[int]], tuple[str, ...]]:
    """Resolve facts about single people.

    `cell_of_key` is the cell of each person, by the key of their row (-1 if they are left out), or
    None if keys are unknown. Returns the codes of the values that each person does not have, by
    key, and one line for each fact about an unknown person or value.
    """
    codes = codes_in(setting.domain, [fact.value for fact in facts]).tolist()
    is_there = _have_value(setting, sensitive, [fact.value for fact in facts]).tolist()
    excluded: dict[str, list[int]] = {}
    lines = []
    for number, fact in enumerate(facts):
        if cell_of_key is None:
            lines.append(f"fact {number + 1}: the keys of rows are unknown")
        elif fact.person not in cell_of_key:
            lines.append(f"fact {number + 1}: no row has that key")
        elif not is_there[number]:
            lines.append(
                f"fact {number + 1}: column {sensitive!r} does not have the value that it excludes"
            )
        elif codes[number] >= 0 and cell_of_key[fact.person] >= 0:
            excluded.setdefault(fact.person, []).append(codes[number])
    return excluded, _shortened(lines)


# --- other entries -----------------------------------------------------------------------------


def _conditions(
    knowledge: Knowledge, entries: Sequence[PositiveRule | Statistic], setting: Setting
) -> Iterator[tuple[PositiveRule | Statistic, Flags, str]]:
    """Yield for each entry the cells that it is about, and its fault; empty if it has none."""
    stated = {
        (column, node.label): node
        for column, defined in knowledge.defined_nodes.items()
        for node in defined
    }
    labels: dict[str, dict[str | None, int]] = {}
    for entry in entries:
        for column, label in entry.antecedent.items():
            named = labels.setdefault(column, {})
            named.setdefault(label, len(named))
    found = {
        column: Extents.of(
            column, [stated.get((column, label), Node.of_value(label)) for label in named], setting
        )
        for column, named in labels.items()
    }
    cells = setting.cells
    for entry in entries:
        holds, fault = np.ones(cells.n_cells, dtype=bool), ""
        for column, label in entry.antecedent.items():
            extents, place = found[column], labels[column][label]
            fault = fault or extents.faults.get(place, "")
            if column in cells.columns:
                holds &= extents.marks[place, cells.column(column)]
        is_mean = getattr(entry, "mean", None) is not None
        if not is_mean and not _have_value(setting, knowledge.sensitive, [entry.value])[0]:
            fault = fault or f"column {knowledge.sensitive!r} does not have its value"
        yield entry, holds, fault


def _have_value(setting: Setting, sensitive: str, texts: Sequence[str | None]) -> Flags:
    """Mark the texts that are values of the sensitive column, in the setting or in the table."""
    is_there: Flags = codes_in(setting.domain, texts) >= 0
    table = setting.vocabulary.domains.get(sensitive)
    if table is not None:
        is_there |= codes_in(table, texts) >= 0
    # The missing value cannot be mistyped.
    is_there |= np.array([text is None for text in texts], dtype=bool)
    return is_there


def _codes(rules: NegativeRules, cells: Cells) -> Integers:
    """Return the codes of the columns that rules name; 0 for an unknown column."""
    codes = np.zeros((cells.n_cells, len(rules.nodes)), dtype=np.int64)
    for at, column in enumerate(rules.nodes):
        if column in cells.columns:
            codes[:, at] = cells.column(column)
    return codes


def _shortened(lines: Sequence[str]) -> tuple[str, ...]:
    if len(lines) <= _MOST_LISTED:
        return tuple(lines)
    return (*lines[:_MOST_LISTED], f"{len(lines) - _MOST_LISTED} further entries")


# --- the extents of nodes ----------------------------------------------------------------------


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
