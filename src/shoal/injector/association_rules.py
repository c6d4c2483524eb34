"""Negative association rules: what people of some kind never have.

A rule ``X => not s`` says that people of whom X is true do not have the sensitive value s. X is a
conjunction of nodes of the quasi-identifiers' hierarchies. A rule is interesting where X is true
of so many people that s would be expected among them: with probability `expectation`, were X and
s independent. There may be half a million rules, so they are kept as arrays, and made into
objects one by one.

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Section IV.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from shoal.core.errors import ParameterError
from shoal.knowledge.nodes import Marks, Node, covering

__all__ = ["NegativeRule", "NegativeRules"]

_Integers = npt.NDArray[np.int32]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class NegativeRule:
    """People of whom the antecedent is true do not have the value.

    Parameters
    ----------
    antecedent
        The node of each column that it speaks of, by its label; None is the missing value.
    value
        The excluded sensitive value; None is the missing value.
    count
        Of how many people the antecedent is true; None where the rule was given, not mined.
    expectation
        How probable it would be, were they independent, that one of them had the value.
    confidence
        The share of them who do not have it.
    who, why
        Who added the rule, and for what reason.

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
                "A negative rule needs an antecedent: of everybody, nobody has the value is no "
                "knowledge about people."
            )

    @property
    def key(self) -> tuple[frozenset[tuple[str, str | None]], str | None]:
        """What makes two rules the same: of whom they speak, and which value they exclude."""
        return frozenset(self.antecedent.items()), self.value

    def __repr__(self) -> str:
        return f"NegativeRule({', '.join(self.antecedent)})"


@dataclass(frozen=True, eq=False)
class NegativeRules:
    """A frozen set of negative rules, in arrays.

    Parameters
    ----------
    nodes
        For each column the nodes that rules name, with different labels.
    place
        One row a rule, one column a column of `nodes`: the place of its node, -1 where it names
        none.
    values
        The sensitive values that rules exclude.
    value
        The place of each rule's value.
    counts, expectations, confidences
        As in `NegativeRule`; nan where they are not known.
    notes
        Who and why, by the number of a rule.
    """

    nodes: Mapping[str, tuple[Node, ...]]
    place: _Integers
    values: tuple[str | None, ...]
    value: _Integers
    counts: _Floats
    expectations: _Floats
    confidences: _Floats
    notes: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    is_fuzzy: bool = False

    @classmethod
    def of(
        cls, rules: Iterable[NegativeRule], definitions: Mapping[str, Sequence[Node]] | None = None
    ) -> NegativeRules:
        """Collect rules; equal ones count once.

        Of them the first is kept, with what it does not say itself from the others: the numbers of
        a rule that was mined, and who gave it too and why.

        Parameters
        ----------
        definitions
            What labels stand for, where they are not values themselves.
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
        """The columns that rules may speak of."""
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

    def take(self, numbers: npt.NDArray[np.int64] | Marks) -> NegativeRules:
        """Keep some rules."""
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
        """Leave out rules, whatever their numbers, and the mined rules that follow from them.

        A rule follows from one about the same value and about at least the people that it is
        about. A rule that somebody gave, or put a name or a reason to, is left out only if it is
        struck itself.

        Parameters
        ----------
        definitions
            What the labels of the struck rules stand for, where they are not values themselves.
        """
        struck = list(rules)
        if not struck or not len(self):
            return self
        keys = {rule.key for rule in struck}
        is_out = np.array([rule.key in keys for rule in self], dtype=bool)
        is_vouched = np.isnan(self.counts)
        is_vouched[list(self.notes)] = True
        for rule in struck:
            is_out |= self._following(rule, definitions or {}) & ~is_vouched
        return self.take(~is_out)

    def _following(self, rule: NegativeRule, definitions: Mapping[str, Sequence[Node]]) -> Marks:
        """Mark the rules that say less than one that has no exceptions."""
        excluded = np.array([value == rule.value for value in self.values], dtype=bool)
        follows: Marks = excluded[self.value]
        for column, label in rule.antecedent.items():
            if column not in self.nodes:
                return np.zeros(len(self), dtype=bool)
            nodes = self.nodes[column]
            own = {node.label: node for node in (*nodes, *definitions.get(column, ()))}
            above = own.get(label, Node.of_value(label))
            is_within = covering([above, *nodes])[0, 1:]
            place = self.place[:, self.columns.index(column)]
            follows &= (place >= 0) & is_within[place]
        return follows

    def defined(self, definitions: Mapping[str, Sequence[Node]]) -> NegativeRules:
        """Let labels that do not say what they stand for have the meaning that is given here."""
        nodes = {}
        for column, named in self.nodes.items():
            known = {node.label: node for node in definitions.get(column, ())}
            nodes[column] = tuple(
                node if node.is_defined else known.get(node.label, node) for node in named
            )
        return replace(self, nodes=nodes)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """How many columns each rule speaks of."""
        lengths: npt.NDArray[np.int64] = np.count_nonzero(self.place >= 0, axis=1).astype(np.int64)
        return lengths

    def __repr__(self) -> str:
        return f"NegativeRules({len(self)} rules about {', '.join(self.columns) or 'nothing'})"


def _completed(rule: NegativeRule, other: NegativeRule) -> NegativeRule:
    """Add to a rule what only another one like it says."""
    if rule.count is None and other.count is not None:
        rule = replace(
            rule, count=other.count, expectation=other.expectation, confidence=other.confidence
        )
    if not (rule.who or rule.why):
        rule = replace(rule, who=other.who, why=other.why)
    return rule


def _known(values: Sequence[int | float | None]) -> _Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _unknown(value: np.floating) -> float | None:
    return None if np.isnan(value) else float(value)
