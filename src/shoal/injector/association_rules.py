"""Association rules: values that people of some kind never have, and values that they tend to have.

X is a conjunction of nodes of the quasi-identifiers' hierarchies, at any level but the root. A
negative rule ``X => not s`` says that people for whom X is true do not have the sensitive value s.
It is interesting if X is true for so many people that s would be expected among them: with
probability `expectation`, if X and s were independent. There may be half a million negative rules,
so they are kept as arrays and converted to objects one by one.

A positive rule ``X => s`` says that people for whom X is true tend to have s. Its strength is its
conviction: how often X would occur without s if the two were independent, divided by how often it
does. Positive rules change how likely values are and forbid nothing.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section IV (negative rules), VIII-A and VI-B (positive rules and conviction).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

import numpy as np

from shoal.core.arrays import Flags, Floats, Integers, Small
from shoal.core.errors import ParameterError
from shoal.core.tree import Label
from shoal.injector.nodes import Node, covering


@dataclass(frozen=True, kw_only=True)
class NegativeRule:
    """People for whom the antecedent is true do not have the value.

    Parameters
    ----------
    antecedent
        The label of a hierarchy node for each column that it names; None is the missing value.
    value
        The excluded sensitive value; None is the missing value.
    count
        The number of people for whom the antecedent is true. Default: None, for a rule that was
        given, not mined.
    expectation
        The probability that one of them would have the value if the two were independent.
        Default: None, as for the count.
    confidence
        The share of them who do not have it. Default: 1.
    who, why
        The author of the rule, and the reason. Default: unknown.

    Examples
    --------
    >>> NegativeRule(antecedent={"sex": "M"}, value="ovarian cancer", who="a physician")
    NegativeRule(sex)
    """

    antecedent: Mapping[str, str | None] = field(repr=False)
    value: str | None = field(repr=False)
    count: int | float | None = None
    expectation: float | None = None
    confidence: float = 1.0
    who: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if not self.antecedent:
            raise ParameterError(
                "A negative rule needs an antecedent; without one it would be about everybody."
            )

    @property
    def key(self) -> tuple[frozenset[tuple[str, str | None]], str | None]:
        """The identity of a rule: its antecedent and the value that it excludes."""
        return frozenset(self.antecedent.items()), self.value

    def __repr__(self) -> str:
        return f"NegativeRule({', '.join(self.antecedent)})"


@dataclass(frozen=True, eq=False)
class NegativeRules:
    """A frozen set of negative rules, in arrays; unknown numbers are nan."""

    # The nodes that rules name, by column, with distinct labels.
    nodes: Mapping[str, tuple[Node, ...]]
    # One row per rule, one column per column of `nodes`: the place of its node, -1 for none.
    place: Small
    # The sensitive values that rules exclude, and the place of each rule's value.
    values: tuple[str | None, ...]
    value: Small
    counts: Floats
    expectations: Floats
    confidences: Floats
    # The author and the reason, by the number of the rule.
    notes: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    is_fuzzy: bool = False

    @classmethod
    def of(
        cls, rules: Iterable[NegativeRule], definitions: Mapping[str, Sequence[Node]] | None = None
    ) -> NegativeRules:
        """Collect rules; equal ones count once.

        The first of equal rules is kept; the numbers of a mined rule, the author and the reason are
        added from the others. `definitions` define labels that are not values themselves.
        """
        known = {
            (column, node.label): node
            for column, nodes in (definitions or {}).items()
            for node in nodes
        }
        distinct: dict[tuple[object, ...], NegativeRule] = {}
        for rule in rules:
            kept = distinct.setdefault(rule.key, rule)
            if kept is not rule:
                distinct[rule.key] = _completed(kept, rule)
        listed = list(distinct.values())
        nodes: dict[str, dict[str | None, Node]] = {}
        for rule in listed:
            for column, label in rule.antecedent.items():
                node = known.get((column, label), Node.of_value(label))
                nodes.setdefault(column, {}).setdefault(label, node)
        places = {
            column: {label: place for place, label in enumerate(labels)}
            for column, labels in nodes.items()
        }
        values = {rule.value: None for rule in listed}
        value_place = {value: place for place, value in enumerate(values)}
        place = np.full((len(listed), len(nodes)), -1, dtype=np.int32)
        for number, rule in enumerate(listed):
            for at, (column, of_label) in enumerate(places.items()):
                if column in rule.antecedent:
                    place[number, at] = of_label[rule.antecedent[column]]
        return cls(
            nodes={column: tuple(labels.values()) for column, labels in nodes.items()},
            place=place,
            values=tuple(values),
            value=np.array([value_place[rule.value] for rule in listed], dtype=np.int32),
            counts=_known([rule.count for rule in listed]),
            expectations=_known([rule.expectation for rule in listed]),
            confidences=_known([rule.confidence for rule in listed]),
            notes={
                number: (rule.who, rule.why)
                for number, rule in enumerate(listed)
                if rule.who or rule.why
            },
            is_fuzzy=any(isinstance(rule.count, float) for rule in listed),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rules may name."""
        return tuple(self.nodes)

    def __len__(self) -> int:
        return len(self.value)

    @overload
    def __getitem__(self, number: int) -> NegativeRule: ...
    @overload
    def __getitem__(self, number: slice) -> NegativeRules: ...
    def __getitem__(self, number: int | slice) -> NegativeRule | NegativeRules:
        if isinstance(number, slice):
            return self.take(np.arange(len(self))[number])
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        number %= len(self)
        who, why = self.notes.get(number, ("", ""))
        return NegativeRule(
            antecedent={
                column: nodes[place].label
                for (column, nodes), place in zip(
                    self.nodes.items(), self.place[number].tolist(), strict=True
                )
                if place >= 0
            },
            value=self.values[self.value[number]],
            count=self._count_of(number),
            expectation=_unknown(self.expectations[number]),
            confidence=float(self.confidences[number]),
            who=who,
            why=why,
        )

    def _count_of(self, number: int) -> int | float | None:
        count = _unknown(self.counts[number])
        return count if count is None or self.is_fuzzy else int(count)

    def __iter__(self) -> Iterator[NegativeRule]:
        return (self[number] for number in range(len(self)))

    def take(self, numbers: Integers | Flags) -> NegativeRules:
        """Return some of the rules."""
        numbers = np.flatnonzero(numbers) if numbers.dtype == bool else numbers
        return NegativeRules(
            nodes=self.nodes,
            place=self.place[numbers],
            values=self.values,
            value=self.value[numbers],
            counts=self.counts[numbers],
            expectations=self.expectations[numbers],
            confidences=self.confidences[numbers],
            notes={
                new: self.notes[old]
                for new, old in enumerate(numbers.tolist())
                if old in self.notes
            },
            is_fuzzy=self.is_fuzzy,
        )

    def without(
        self,
        rules: Iterable[NegativeRule],
        definitions: Mapping[str, Sequence[Node]] | None = None,
    ) -> NegativeRules:
        """Return the rules without the given ones, and without mined rules that follow from them.

        A rule follows from one about the same value and about at least the same people. A rule that
        was given, or has an author or a reason, is left out only if it is struck itself.
        `definitions` define the labels of the struck rules that are not values themselves.
        """
        struck = list(rules)
        if not struck or not len(self):
            return self
        keys = {rule.key for rule in struck}
        is_out = np.array([rule.key in keys for rule in self], dtype=bool)
        # Only mined rules have a count.
        is_vouched = np.isnan(self.counts)
        is_vouched[list(self.notes)] = True
        for rule in struck:
            is_out |= self._following(rule, definitions or {}) & ~is_vouched
        return self.take(~is_out)

    def _following(self, rule: NegativeRule, definitions: Mapping[str, Sequence[Node]]) -> Flags:
        """Mark the rules that follow from a rule without exceptions."""
        excluded = np.array([value == rule.value for value in self.values], dtype=bool)
        follows: Flags = excluded[self.value]
        for column, label in rule.antecedent.items():
            if column not in self.nodes:
                return np.zeros(len(self), dtype=bool)
            nodes = self.nodes[column]
            own = {node.label: node for node in (*nodes, *definitions.get(column, ()))}
            above = own.get(label, Node.of_value(label))
            is_within = covering([above, *nodes])[0, 1:]
            place = self.place[:, self.columns.index(column)]
            # A rule that does not name the column is about more people, so it does not follow.
            follows &= (place >= 0) & is_within[place]
        return follows

    def defined(self, definitions: Mapping[str, Sequence[Node]]) -> NegativeRules:
        """Define the labels that have no definition of their own."""
        nodes = {}
        for column, named in self.nodes.items():
            known = {node.label: node for node in definitions.get(column, ())}
            nodes[column] = tuple(
                node if node.is_defined else known.get(node.label, node) for node in named
            )
        return replace(self, nodes=nodes)

    @cached_property
    def lengths(self) -> Integers:
        """The number of columns that each rule names."""
        lengths: Integers = np.count_nonzero(self.place >= 0, axis=1).astype(np.int64)
        return lengths

    def __repr__(self) -> str:
        return f"NegativeRules({len(self)} rules about {', '.join(self.columns) or 'nothing'})"


def _completed(rule: NegativeRule, other: NegativeRule) -> NegativeRule:
    """Fill in what is missing in a rule from an equal one."""
    if rule.count is None and other.count is not None:
        rule = replace(
            rule, count=other.count, expectation=other.expectation, confidence=other.confidence
        )
    if not (rule.who or rule.why):
        rule = replace(rule, who=other.who, why=other.why)
    return rule


def _known(values: Sequence[int | float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _unknown(value: np.floating) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, kw_only=True, repr=False)
class PositiveRule:
    """People for whom the antecedent is true tend to have the value.

    The default of a number is None: unknown, because the rule was given, not mined.

    Parameters
    ----------
    antecedent
        X: the label of a hierarchy node for each column that it names; None is the missing value.
    value
        s, the sensitive value; None is the missing value.
    confidence
        The share of s among the rows for which X is true.
    count
        The number of these rows. Default: None.
    conviction
        P(X) P(not s) / P(X and not s): 1 if X says nothing about s, infinite if the confidence
        is 1. Default: None.
    support
        The share of rows of the table with X and s. Default: None.
    who, why
        The author of the rule, and the reason. Default: unknown.

    Examples
    --------
    >>> PositiveRule(antecedent={"smoker": "yes"}, value="bronchitis", confidence=0.3)
    PositiveRule(smoker: confidence 0.3)
    """

    antecedent: Mapping[str, Label]
    value: Label
    confidence: float
    count: int | None = None
    conviction: float | None = None
    support: float | None = None
    who: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if not self.antecedent or not 0 <= self.confidence <= 1:
            raise ParameterError(
                "A positive rule needs an antecedent, and a confidence between 0 and 1.",
                hint="give a share among all people as a statistic.",
            )

    def __hash__(self) -> int:
        return hash((frozenset(self.antecedent.items()), self.value, self.confidence))

    def to_dict(self) -> dict[str, object]:
        """Return the rule as plain values; an infinite conviction, which JSON lacks, as a text."""
        is_infinite = self.conviction == math.inf
        return {
            "antecedent": dict(self.antecedent),
            "value": self.value,
            "count": self.count,
            "confidence": self.confidence,
            "conviction": "infinite" if is_infinite else self.conviction,
            "support": self.support,
            "who": self.who,
            "why": self.why,
        }

    def __repr__(self) -> str:
        rows = "" if self.count is None else f"{self.count} rows, "
        conviction = "" if self.conviction is None else f", conviction {self.conviction:.3g}"
        columns = ", ".join(self.antecedent)
        return f"PositiveRule({columns}: {rows}confidence {self.confidence:.3g}{conviction})"
