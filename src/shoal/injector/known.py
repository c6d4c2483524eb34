"""What an adversary is assumed to know about the people of a table.

Negative rules forbid values; positive rules and statistics make some values more likely; a fact is
about one person. Knowledge is mined from the data to be published, given by a domain expert, or
both: `knowledge | other` combines them.

References
----------
[Li08] Sections III-A, IV and VIII-A.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import attrs
import numpy as np

from shoal.core.documents import read_whole_text, write_whole
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.levelled import protected
from shoal.core.parameters import Converted, from_file
from shoal.core.prior_knowledge import Forbidden
from shoal.core.release import Vocabulary
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.injector.association_rules import NegativeRule, NegativeRules, PositiveRule
from shoal.injector.consequences import most_general
from shoal.injector.nodes import Node, covering, node_of_label, number_of
from shoal.injector.statistics import Statistic

Entry = TypeVar("Entry", PositiveRule, Statistic)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One person does not have a value ([Li08] III-A, adversary-specific knowledge).

    Parameters
    ----------
    person
        The key of the person's row.
    value
        The sensitive value; None is the missing value.
    who, why
        The author of the fact, and the reason. Default: unknown.

    Examples
    --------
    >>> Fact(person="17", value="flu", who="a colleague").who
    'a colleague'
    """

    person: str = field(repr=False)
    value: str | None = field(repr=False)
    who: str = ""
    why: str = ""


@attrs.frozen(eq=False, init=False, repr=False)
class Knowledge:
    """A frozen set of rules, statistics and facts; iterating yields its negative rules.

    Parameters
    ----------
    sensitive
        The sensitive column.
    negative
        Values that people of some kind never have. Default: none.
    positive, statistics
        Values that people of some kind have more or less often than others. Default: none.
    facts
        Values that one person does not have. Default: none.
    struck
        Negative rules that were struck from the mined ones: they stay out when knowledge is
        combined, and so do the mined rules that follow from them. Default: none.
    definitions
        The values that labels of given rules stand for, by column, if they are neither values nor
        nodes of the table's hierarchies. Default: none.

    Examples
    --------
    >>> physician = Knowledge(
    ...     "disease", [NegativeRule(antecedent={"sex": "M"}, value="ovarian cancer")]
    ... )
    >>> physician
    Knowledge(about disease: 1 negative rules, 0 positive rules, 0 statistics, 0 facts)
    >>> len(physician), [sorted(rule.antecedent) for rule in physician]
    (1, [['sex']])
    """

    sensitive: str
    negative: NegativeRules
    positive: tuple[PositiveRule, ...]
    statistics: tuple[Statistic, ...]
    facts: tuple[Fact, ...]
    struck: tuple[NegativeRule, ...]
    definitions: Mapping[str, tuple[Node, ...]]

    def __init__(
        self,
        sensitive: str,
        negative: NegativeRules | Iterable[NegativeRule] = (),
        *,
        positive: Iterable[PositiveRule] = (),
        statistics: Iterable[Statistic] = (),
        facts: Iterable[Fact] = (),
        struck: Iterable[NegativeRule] = (),
        definitions: Mapping[str, Sequence[Node]] | None = None,
    ) -> None:
        defined = {column: tuple(nodes) for column, nodes in (definitions or {}).items()}
        struck = tuple({rule.key: rule for rule in struck}.values())
        if not isinstance(negative, NegativeRules):
            negative = NegativeRules.of(negative, defined)
        self.__attrs_init__(
            sensitive=sensitive,
            negative=negative.defined(defined).without(struck, defined),
            positive=tuple(positive),
            statistics=tuple(statistics),
            facts=tuple(facts),
            struck=struck,
            definitions=defined,
        )

    def __len__(self) -> int:
        return len(self.negative)

    def __iter__(self) -> Iterator[NegativeRule]:
        return iter(self.negative)

    def __getitem__(self, number: int) -> NegativeRule:
        return self.negative[number]

    def __or__(self, other: Knowledge) -> Knowledge:
        """Combine two sets of knowledge; rules that one of them struck stay out."""
        if other.sensitive != self.sensitive:
            raise ParameterError(
                f"Knowledge about column {self.sensitive!r} cannot be combined with knowledge "
                f"about column {other.sensitive!r}."
            )
        definitions = united(self.defined_nodes, other.defined_nodes)
        # Half a million mined rules are not converted to objects and back if nothing is added.
        if not len(other.negative) or not len(self.negative):
            negative = self.negative if len(self.negative) else other.negative
        else:
            negative = NegativeRules.of((*self, *other), definitions)
        return Knowledge(
            self.sensitive,
            negative,
            positive=_distinct((*self.positive, *other.positive)),
            statistics=_distinct((*self.statistics, *other.statistics)),
            facts={(f.person, f.value): f for f in (*other.facts, *self.facts)}.values(),
            struck=(*other.struck, *self.struck),
            definitions=definitions,
        )

    @property
    def defined_nodes(self) -> dict[str, tuple[Node, ...]]:
        """Every node that defines the values it stands for, by column."""
        return united(self.definitions, self.negative.nodes)

    def explained_by(self, domains: Mapping[str, Domain], trees: Mapping[str, Tree]) -> Knowledge:
        """Return the knowledge with a definition for every label that is a node of a hierarchy.

        Such knowledge can be used without the hierarchies, as on a release.
        """
        named = [
            (column, node.label)
            for column, nodes in self.negative.nodes.items()
            for node in nodes
            if not node.is_defined
        ]
        for told in (self.positive, self.statistics, self.struck):
            named += [pair for entry in told for pair in entry.antecedent.items()]
        found: dict[str, list[Node]] = {}
        for column, label in dict.fromkeys(named):
            node = node_of_label(label, domains.get(column), trees.get(column))
            if node is not None:
                found.setdefault(column, []).append(node)
        return self.with_rules(self.negative, united(self.defined_nodes, found, is_first_kept=True))

    def most_general(self) -> Knowledge:
        """Return the knowledge without the negative rules that a more general one implies."""
        rules = self.negative
        covers = [covering(nodes) for nodes in rules.nodes.values()]
        kept = most_general(rules.place, rules.value, covers)
        return self.with_rules(rules.take(kept))

    def with_rules(
        self, negative: NegativeRules, definitions: Mapping[str, Sequence[Node]] | None = None
    ) -> Knowledge:
        """Return the same knowledge with other negative rules."""
        return Knowledge(
            self.sensitive,
            negative,
            positive=self.positive,
            statistics=self.statistics,
            facts=self.facts,
            struck=self.struck,
            definitions=self.definitions if definitions is None else definitions,
        )

    def strongest(self, n_rules: int) -> Knowledge:
        """Return the knowledge with at most `n_rules` negative rules: those about most people.

        Given rules, whose number of people is unknown, come first.
        """
        if len(self) <= n_rules:
            return self
        order = np.argsort(-np.nan_to_num(self.negative.counts, nan=np.inf), kind="stable")
        return self.with_rules(self.negative.take(np.sort(order[:n_rules])))

    def forbidden(self, table: Table) -> Forbidden:
        """Return the values that each distinct row of a table cannot take, by the negative rules.

        Facts about one person are not included, because equal rows count as one row here.

        Raises
        ------
        ParameterError
            If a rule names a column, a node or a value that the table does not have.

        Examples
        --------
        >>> import shoal
        >>> table = shoal.read(shoal.datasets.papers.injector_patients())
        >>> rules = Knowledge(
        ...     "disease", [NegativeRule(antecedent={"sex": "M"}, value="Ovarian Cancer")]
        ... )
        >>> len(rules.forbidden(table))
        9
        """
        # Resolving imports this module.
        from shoal.injector.resolving import Setting, resolve  # noqa: PLC0415

        if self.sensitive not in table.schema.sensitive:
            raise ParameterError(
                f"The knowledge is about column {self.sensitive!r}, which is not the table's "
                "sensitive column.",
            )
        table = protected(table)
        cells = table.counts(table.schema.quasi)
        domain = table.domains[self.sensitive]
        setting = Setting(cells, domain, vocabulary=Vocabulary.of_table(table))
        found = resolve(self, setting).confirm()
        return Forbidden(cells, found.sets, tuple(domain.labels()))

    def state(self, rule: NegativeRule) -> str:
        """Return a rule without exceptions as a sentence."""
        who = " and ".join(f"{column} {_shown(node)}" for column, node in rule.antecedent.items())
        return f"Nobody with {who} has {self.sensitive} {_shown(rule.value)}."

    def explain(self, rule: NegativeRule) -> str:
        """Return a rule, its strength and its author in words.

        Examples
        --------
        >>> known = Knowledge("disease")
        >>> known.explain(NegativeRule(antecedent={"sex": "M"}, value="ovarian cancer"))
        'Nobody with sex M has disease ovarian cancer. It was given, not mined.'
        """
        who = " and ".join(f"{column} {_shown(node)}" for column, node in rule.antecedent.items())
        what = f"{self.sensitive} {_shown(rule.value)}"
        few, have = "None", "has"
        if rule.confidence < 1:
            few, have = f"At most {100 * (1 - rule.confidence):.3g}%", "have"
        if rule.count is None or rule.expectation is None:
            few = "Nobody" if few == "None" else f"{few} of people"
            sentence = f"{few} with {who} {have} {what}. It was given, not mined."
        else:
            count = rule.count if isinstance(rule.count, int) else f"{rule.count:.4g}"
            sentence = (
                f"{few} of the {count} people with {who} {have} {what}. If the two were "
                f"independent, somebody would with probability {rule.expectation:.4g}."
            )
        noted = f" Added by {rule.who}." if rule.who else ""
        return sentence + noted + (f" Reason: {rule.why.rstrip('.')}." if rule.why else "")

    def to_toml(self) -> str:
        """Return the knowledge as a text that a domain expert can read and edit."""
        from shoal.injector.knowledge_file import write_toml  # noqa: PLC0415 - imports this module

        return write_toml(self)

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the knowledge to a TOML file that only its owner may read."""
        write_whole(Path(path), [self.to_toml()])

    @classmethod
    def from_toml(cls, text: str) -> Knowledge:
        """Read the output of `to_toml`, possibly edited."""
        from shoal.injector.knowledge_file import read_toml  # noqa: PLC0415 - imports this module

        return read_toml(text)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Read knowledge from a TOML file."""
        try:
            text = read_whole_text(path)
        except OSError as error:
            raise ParameterError(
                f"The knowledge file {Path(path).name} cannot be read: "
                f"{error.strerror or 'unknown reason'}."
            ) from None
        except UnicodeDecodeError:
            raise ParameterError(
                f"The knowledge file {Path(path).name} is not UTF-8 text."
            ) from None
        return cls.from_toml(text)

    def __repr__(self) -> str:
        return (
            f"Knowledge(about {self.sensitive}: {len(self)} negative rules, "
            f"{len(self.positive)} positive rules, {len(self.statistics)} statistics, "
            f"{len(self.facts)} facts)"
        )


def united(
    *stated: Mapping[str, Sequence[Node]], is_first_kept: bool = False
) -> dict[str, tuple[Node, ...]]:
    """Collect the definitions of labels; each label of a column must have one meaning."""
    found: dict[str, dict[str | None, Node]] = {}
    for column, nodes in (pair for definitions in stated for pair in definitions.items()):
        for node in nodes:
            if not node.is_defined or node.label is None:
                continue
            known = found.setdefault(column, {}).setdefault(node.label, node)
            if known == node or is_first_kept:
                continue
            joined = _joined(known, node)
            if joined is None:
                raise ParameterError(
                    f"A label of column {column!r} stands for different values in the knowledge.",
                    hint="give one of the two another label.",
                )
            found[column][node.label] = joined
    return {column: tuple(nodes.values()) for column, nodes in found.items()}


def _joined(one: Node, other: Node) -> Node | None:
    """Join two views of one node of a hierarchy from different tables; None if they differ."""
    if not (one.is_of_hierarchy and other.is_of_hierarchy):
        return None
    if one.members is not None and other.members is not None:
        return replace(one, members=one.members | other.members)
    if one.interval is None or other.interval is None:
        return one
    low = min(one.interval[0], other.interval[0], key=number_of)
    high = max(one.interval[1], other.interval[1], key=number_of)
    has_missing = one.has_missing or other.has_missing
    return replace(one, interval=(low, high), has_missing=has_missing)


def _distinct(entries: Sequence[Entry]) -> list[Entry]:
    """Leave out entries about the same people and value as an earlier one."""
    found: dict[object, Entry] = {}
    for entry in entries:
        is_mean = getattr(entry, "mean", None) is not None
        key = (frozenset(entry.antecedent.items()), entry.value, is_mean)
        found.setdefault(key, entry)
    return list(found.values())


def _shown(label: str | None) -> str:
    return "missing" if label is None else label


OptionalKnowledge = Converted[Knowledge | str | os.PathLike[str] | None, Knowledge | None]


def knowledge_parameter(meaning: str, **more: Any) -> Any:
    """Declare a parameter that takes knowledge, or the path of its file."""
    return from_file(
        meaning,
        (Knowledge,),
        file="knowledge",
        what="knowledge",
        load=Knowledge.from_file,
        hint="for example shoal.knowledge.Knowledge.from_file('rules.toml').",
        **more,
    )
