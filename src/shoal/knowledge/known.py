"""What an adversary is assumed to know about the people of a table.

Negative rules forbid values; positive rules and statistics make some more likely; a fact is about
one person. They are mined from the data that are to be published, given by somebody who knows the
field, or both: `knowledge | other` combines them.

References
----------
[Li08] Sections III-A, IV and VIII-A.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.forbidden import Forbidden, ForbiddenSets
from shoal.core.release import Meaning
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.knowledge.extents import extents_in
from shoal.knowledge.mining import forbidden_marks, most_general
from shoal.knowledge.negative_rules import NegativeRule, NegativeRules
from shoal.knowledge.nodes import (
    Marks,
    Node,
    codes_in,
    covering,
    node_of_label,
    united,
)
from shoal.knowledge.positive_rules import PositiveRule
from shoal.knowledge.statistics import Statistic

__all__ = ["Fact", "Knowledge"]

Told = TypeVar("Told", PositiveRule, Statistic)


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
        Who added it, and for what reason.
    """

    person: str = field(repr=False)
    value: str | None = field(repr=False)
    who: str = ""
    why: str = ""


@dataclass(frozen=True, eq=False, init=False)
class Knowledge:
    """A frozen set of what is known; going through it gives its negative rules.

    Parameters
    ----------
    sensitive
        The sensitive column.
    negative
        What people of some kind never have.
    positive, statistics
        What people of some kind have more or less often than others.
    facts
        What one person does not have.
    struck
        Negative rules that somebody struck from what was mined: they stay out when knowledge is
        combined.
    definitions
        What labels of given rules stand for, by column, where they are neither values nor nodes of
        the table's hierarchies.

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
        fields = {
            "sensitive": sensitive,
            "negative": negative.defined(defined).without(struck),
            "positive": tuple(positive),
            "statistics": tuple(statistics),
            "facts": tuple(facts),
            "struck": struck,
            "definitions": defined,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.negative)

    def __iter__(self) -> Iterator[NegativeRule]:
        return iter(self.negative)

    def __getitem__(self, number: int) -> NegativeRule:
        return self.negative[number]

    def __or__(self, other: Knowledge) -> Knowledge:
        """Know what either knows; what one of them struck out stays out."""
        if other.sensitive != self.sensitive:
            raise ParameterError(
                f"Knowledge about column {self.sensitive!r} and about column {other.sensitive!r} "
                "do not combine."
            )
        definitions = united(self.defined_nodes, other.defined_nodes)
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
        """Every node that says itself for which values it stands, by column."""
        return united(self.definitions, self.negative.nodes)

    def explained_by(self, domains: Mapping[str, Domain], trees: Mapping[str, Tree]) -> Knowledge:
        """Say of every label that is a node of a hierarchy for which values it stands.

        Such knowledge can be used where the hierarchies are not at hand, as on a release.
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
        """Leave out every negative rule that a more general one implies."""
        rules = self.negative
        covers = [covering(nodes) for nodes in rules.nodes.values()]
        kept = most_general(rules.place, rules.value, covers)
        return self.with_rules(rules.take(kept))

    def with_rules(
        self, negative: NegativeRules, definitions: Mapping[str, Sequence[Node]] | None = None
    ) -> Knowledge:
        """Know the same, but other negative rules."""
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
        """Keep at most so many negative rules: those that concern most people."""
        if len(self) <= n_rules:
            return self
        order = np.argsort(-np.nan_to_num(self.negative.counts, nan=np.inf), kind="stable")
        return self.with_rules(self.negative.take(np.sort(order[:n_rules])))

    def holding(
        self,
        cells: Cells,
        meanings: Mapping[str, Mapping[str, Meaning]] | None = None,
        whole: Collection[str] = (),
    ) -> Marks:
        """Say for each negative rule of which cells its antecedent is true."""
        rules = self.negative
        holds = np.ones((len(rules), cells.n_cells), dtype=bool)
        for at, (column, nodes) in enumerate(rules.nodes.items()):
            place = rules.place[:, at]
            if column in cells.columns:
                labels = (meanings or {}).get(column, {})
                domain, is_whole = cells.domain(column), column in whole
                extents = extents_in(
                    nodes, domain, labels, None, is_whole=is_whole, is_strict=False
                )
                true = extents[:, cells.column(column)]
            else:
                true = np.zeros((len(nodes), cells.n_cells), dtype=bool)
            holds[place >= 0] &= true[place[place >= 0]]
        return holds

    def forbidden(self, table: Table) -> Forbidden:
        """Give the values that each distinct row of a table cannot take, by the negative rules.

        Facts about one person are not in it: rows that are alike are one row here.

        Raises
        ------
        ParameterError
            Where a rule names a column, a node or a value that the table does not have.

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
        if self.sensitive not in table.schema.sensitive:
            raise ParameterError(
                f"The knowledge is about column {self.sensitive!r}, which is not the table's "
                "sensitive column.",
            )
        cells = table.counts(table.schema.quasi)
        domain = table.domains[self.sensitive]
        sets = self.sets_of(cells, domain, table.trees, is_strict=True)
        return Forbidden(cells, sets, tuple(domain.labels()))

    def sets_of(
        self,
        cells: Cells,
        domain: Domain,
        trees: Mapping[str, Tree] | None = None,
        *,
        meanings: Mapping[str, Mapping[str, Meaning]] | None = None,
        whole: Collection[str] = (),
        is_strict: bool = False,
    ) -> ForbiddenSets:
        """Give the values that each cell cannot take.

        Parameters
        ----------
        cells
            Values, or published labels, of the quasi-identifiers.
        domain
            The sensitive values.
        trees
            Hierarchies, for nodes that do not say themselves what they stand for.
        meanings
            What labels stand for; a rule holds where it holds for all that a label stands for.
        whole
            The columns whose values are whole numbers.
        is_strict
            Whether a rule that names what is not there is refused; else it holds for nobody.
        """
        rules, trees = self.negative, trees or {}
        value = codes_in(domain, rules.values).astype(np.int32)
        is_known = value[rules.value] >= 0 if len(rules) else np.zeros(0, dtype=bool)
        if is_strict and not is_known.all():
            raise ParameterError(
                f"{int(np.count_nonzero(~is_known))} rules exclude a value that column "
                f"{self.sensitive!r} does not have.",
                hint="correct or strike them in the file of knowledge.",
            )
        extents: list[Marks] = []
        codes = np.zeros((cells.n_cells, len(rules.nodes)), dtype=np.int64)
        for at, (column, nodes) in enumerate(rules.nodes.items()):
            if column in cells.columns:
                tree, labels = trees.get(column), (meanings or {}).get(column, {})
                found = extents_in(
                    nodes,
                    cells.domain(column),
                    labels,
                    tree,
                    is_whole=column in whole,
                    is_strict=is_strict,
                )
                codes[:, at] = cells.column(column)
            else:
                self._refuse_column(column, is_strict=is_strict)
                found = np.zeros((len(nodes), 1), dtype=bool)
            extents.append(found)
        kept = rules if is_known.all() else rules.take(is_known)
        marks = forbidden_marks(kept.place, value[kept.value], extents, codes, domain.size)
        return ForbiddenSets.of_marks(marks)

    def _refuse_column(self, column: str, *, is_strict: bool) -> None:
        if is_strict:
            raise ParameterError(
                f"Rules speak of column {column!r}, which is no quasi-identifier.",
                hint="correct or strike them in the file of knowledge.",
            )

    def state(self, rule: NegativeRule) -> str:
        """Say in words what a rule says that has no exception."""
        who = " and ".join(f"{column} {_shown(node)}" for column, node in rule.antecedent.items())
        return f"Nobody with {who} has {self.sensitive} {_shown(rule.value)}."

    def explain(self, rule: NegativeRule) -> str:
        """Say in words what a rule says, and how strong it is.

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
                f"{few} of the {count} people with {who} {have} {what}. Had the two nothing to do "
                f"with each other, somebody would with probability {rule.expectation:.4g}."
            )
        noted = f" Added by {rule.who}." if rule.who else ""
        return sentence + noted + (f" Reason: {rule.why.rstrip('.')}." if rule.why else "")

    def to_toml(self) -> str:
        """Write the knowledge as a text that a domain expert can read and edit."""
        from shoal.knowledge.knowledge_file import write_toml  # noqa: PLC0415 - it reads this

        return write_toml(self)

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write the knowledge to a TOML file."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    @classmethod
    def from_toml(cls, text: str) -> Knowledge:
        """Read what `to_toml` wrote, or somebody edited."""
        from shoal.knowledge.knowledge_file import read_toml  # noqa: PLC0415 - it makes this

        return read_toml(text)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Read knowledge from a TOML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise ParameterError(
                f"The file of knowledge {Path(path).name} cannot be read: "
                f"{os.strerror(error.errno) if error.errno else 'unknown reason'}."
            ) from None
        except UnicodeDecodeError:
            raise ParameterError(
                f"The file of knowledge {Path(path).name} is not text in UTF-8."
            ) from None
        return cls.from_toml(text)

    def __repr__(self) -> str:
        return (
            f"Knowledge(about {self.sensitive}: {len(self)} negative rules, "
            f"{len(self.positive)} positive rules, {len(self.statistics)} statistics, "
            f"{len(self.facts)} facts)"
        )


def _distinct(entries: Sequence[Told]) -> list[Told]:
    """Leave out what says of the same people and value what is said already."""
    found: dict[object, Told] = {}
    for entry in entries:
        is_mean = getattr(entry, "mean", None) is not None
        key = (frozenset(entry.antecedent.items()), entry.value, is_mean)
        found.setdefault(key, entry)
    return list(found.values())


def _shown(label: str | None) -> str:
    return "missing" if label is None else label
