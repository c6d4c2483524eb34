"""Knowledge as a TOML file that a domain expert can read, edit, extend and strike from.

Every entry is self-contained: ``when`` says whom it is about, and each label that is neither a
value nor a node of the table's hierarchy is defined once, under ``[nodes.COLUMN]``. An entry is
struck by ``struck = true``, with who and why; it is then left out of rules mined later too.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.core.documents import DocumentLimitError, parse_toml, toml_key, toml_text
from shoal.core.errors import ParameterError
from shoal.injector.association_rules import NegativeRule, PositiveRule
from shoal.injector.known import Fact, Knowledge
from shoal.injector.nodes import Node, number_of
from shoal.injector.statistics import Statistic

_HEADER = """\
# What an adversary is assumed to know. Keep this file internal: it describes people of the table.
#
# [[negative]]   people of whom `when` is true never have the value `never`
# [[positive]]   people of whom `when` is true have `value` with this confidence
# [[statistic]]  the share of `value`, or the mean, among people of whom `when` is true
# [[fact]]       the person with this row key does not have the value `never`
#
# Add entries of your own, with who = "..." and why = "...". Strike one by adding struck = true;
# the mined rules that follow from it are struck with it.
# What a label stands for that is neither a value nor a node of the table's hierarchy is said under
# [nodes.COLUMN]: a list of values, or { from = 20, to = 29 }, both included. With hierarchy = true
# the node of that label is meant where the table has a hierarchy with it.
# { missing = true } is the missing value.
"""
_NOTES = ("who", "why")
_NODES = 'write ["a", "b"], { from = 20, to = 29 }, or { values = ["a"], missing = true }.'
_ENTRIES: Mapping[str, frozenset[str]] = {
    "negative": frozenset(
        {"when", "never", "people", "expectation", "confidence", "struck", *_NOTES}
    ),
    "positive": frozenset(
        {"when", "value", "people", "support", "confidence", "conviction", *_NOTES}
    ),
    "statistic": frozenset({"when", "value", "share", "mean", "people", *_NOTES}),
    "fact": frozenset({"person", "never", *_NOTES}),
}


# --- writing ---------------------------------------------------------------------------------


def write_toml(knowledge: Knowledge) -> str:
    """Return knowledge as text.

    Examples
    --------
    >>> rule = NegativeRule(antecedent={"sex": "M"}, value="ovarian cancer", who="a physician")
    >>> print(write_toml(Knowledge("disease", [rule])).split("missing value.")[1])
    <BLANKLINE>
    <BLANKLINE>
    sensitive = "disease"
    <BLANKLINE>
    [[negative]]
    when = { sex = "M" }
    never = "ovarian cancer"
    who = "a physician"
    <BLANKLINE>
    """
    return "\n".join(_lines(knowledge)) + "\n"


def _lines(knowledge: Knowledge) -> Iterator[str]:
    yield _HEADER
    yield f"sensitive = {toml_text(knowledge.sensitive)}"
    for column, nodes in knowledge.defined_nodes.items():
        yield from ("", f"[nodes.{toml_key(column)}]")
        yield from (f"{toml_key(node.label or '')} = {_node(node)}" for node in nodes)
    for rule in knowledge:
        yield from _negative(rule)
    for rule in knowledge.struck:
        yield from _negative(rule)
        yield "struck = true"
    for positive in knowledge.positive:
        yield from ("", "[[positive]]", f"when = {_when(positive.antecedent)}")
        yield f"value = {_value(positive.value)}"
        yield from _numbers(
            people=positive.count,
            support=positive.support,
            confidence=positive.confidence,
            conviction=positive.conviction,
        )
        yield from _notes(positive)
    for statistic in knowledge.statistics:
        yield from ("", "[[statistic]]", f"when = {_when(statistic.antecedent)}")
        if statistic.share is not None:
            yield f"value = {_value(statistic.value)}"
        yield from _numbers(share=statistic.share, mean=statistic.mean, people=statistic.count)
        yield from _notes(statistic)
    for fact in knowledge.facts:
        yield from ("", "[[fact]]", f"person = {toml_text(fact.person)}")
        yield f"never = {_value(fact.value)}"
        yield from _notes(fact)


def _negative(rule: NegativeRule) -> Iterator[str]:
    yield from ("", "[[negative]]", f"when = {_when(rule.antecedent)}")
    yield f"never = {_value(rule.value)}"
    # A rule that somebody gave is certain unless it says otherwise.
    is_certain = rule.count is None and rule.confidence == 1
    yield from _numbers(
        people=rule.count,
        expectation=rule.expectation,
        confidence=None if is_certain else rule.confidence,
    )
    yield from _notes(rule)


def _node(node: Node) -> str:
    if node.members is not None:
        texts = sorted(text for text in node.members if text is not None)
        listed = f"[{', '.join(map(toml_text, texts))}]"
        missing = ", missing = true" if None in node.members else ""
        if missing or node.is_of_hierarchy:
            return f"{{ values = {listed}{missing}{_of_hierarchy(node)} }}"
        return listed
    assert node.interval is not None
    low, high = map(_bound, node.interval)
    width = f", width = {node.width!r}" if node.width else ""
    missing = ", missing = true" if node.has_missing else ""
    return f"{{ from = {low}, to = {high}{width}{missing}{_of_hierarchy(node)} }}"


def _of_hierarchy(node: Node) -> str:
    return ", hierarchy = true" if node.is_of_hierarchy else ""


def _bound(text: str) -> str:
    """Write a number as a TOML number if it is read back unchanged, otherwise as text."""
    try:
        return text if str(parse_toml(f"v = {text}")["v"]) == text else toml_text(text)
    except ValueError:
        return toml_text(text)


def _when(antecedent: Mapping[str, str | None]) -> str:
    parts = (f"{toml_key(column)} = {_value(label)}" for column, label in antecedent.items())
    return f"{{ {', '.join(parts)} }}"


def _value(value: str | None) -> str:
    return "{ missing = true }" if value is None else toml_text(value)


def _numbers(**numbers: float | None) -> Iterator[str]:
    for name, number in numbers.items():
        if number is not None:
            # As Python numbers: the repr of numpy numbers differs.
            yield f"{name} = {number if isinstance(number, int) else float(number)!r}"


def _notes(entry: Any) -> Iterator[str]:
    for name in _NOTES:
        note = getattr(entry, name, "")
        if note:
            yield f"{name} = {toml_text(note)}"


# --- reading ---------------------------------------------------------------------------------


def read_toml(text: str) -> Knowledge:
    """Read knowledge from text; a `ParameterError` names the entry at fault but no value."""
    try:
        stated = parse_toml(text.removeprefix("\ufeff"))
    except DocumentLimitError as error:
        raise ParameterError(
            f"The knowledge cannot be read: {error}.",
            hint="numbers in it are counts of people, bounds and shares.",
        ) from None
    except ValueError as error:
        # The parser's own message may contain a label.
        place = re.search(r"at (line \d+, column \d+|end of document)", str(error))
        raise ParameterError(
            f"The knowledge is not TOML{f' at {place[1]}' if place else ''}.",
            hint="put texts in quotes, and begin every entry with a line such as [[negative]].",
        ) from None
    strange = stated.keys() - _ENTRIES.keys() - {"sensitive", "nodes"}
    if strange:
        raise ParameterError(
            f"Knowledge has no section {', '.join(sorted(strange))}.",
            hint=f"its sections are sensitive, nodes, {', '.join(_ENTRIES)}.",
        )
    sensitive = stated.get("sensitive")
    if not isinstance(sensitive, str):
        raise ParameterError(
            "The knowledge does not say which column it is about.",
            hint='name it in the first line, for example: sensitive = "disease"',
        )
    entries = {kind: list(_entries(stated, kind)) for kind in _ENTRIES}
    negative = [
        (_read_negative(where, entry), _mark(where, entry, "struck"))
        for where, entry in entries["negative"]
    ]
    return Knowledge(
        sensitive,
        [rule for rule, is_struck in negative if not is_struck],
        positive=[_read_positive(where, entry) for where, entry in entries["positive"]],
        statistics=[_read_statistic(where, entry) for where, entry in entries["statistic"]],
        facts=[_read_fact(where, entry) for where, entry in entries["fact"]],
        struck=[rule for rule, is_struck in negative if is_struck],
        definitions=_read_nodes(stated.get("nodes", {})),
    )


def _entries(stated: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = stated.get(kind, [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise ParameterError(f"{kind} is not a list of entries.", hint=f"write [[{kind}]].")
    for number, entry in enumerate(listed, start=1):
        where = f"{kind} entry {number}"
        strange = entry.keys() - _ENTRIES[kind]
        if strange:
            raise ParameterError(
                f"The {where} of the knowledge has unknown keys: {', '.join(sorted(strange))}.",
                hint=f"its keys are {', '.join(sorted(_ENTRIES[kind]))}.",
            )
        yield where, entry


def _mark(where: str, entry: Mapping[str, Any], name: str) -> bool:
    mark = entry.get(name, False)
    if not isinstance(mark, bool):
        raise ParameterError(f"The {where} of the knowledge must have {name} = true or false.")
    return mark


def _read_negative(where: str, entry: Mapping[str, Any]) -> NegativeRule:
    confidence = _share(where, entry, "confidence")
    return NegativeRule(
        antecedent=_read_when(where, entry),
        value=_read_value(where, "never", entry.get("never")),
        count=_at_least_0(where, entry, "people"),
        expectation=_share(where, entry, "expectation"),
        confidence=1.0 if confidence is None else confidence,
        **_read_notes(where, entry),
    )


def _read_positive(where: str, entry: Mapping[str, Any]) -> PositiveRule:
    confidence = _share(where, entry, "confidence")
    if confidence is None:
        raise ParameterError(f"The {where} of the knowledge has no confidence.")
    return PositiveRule(
        antecedent=_read_when(where, entry),
        value=_read_value(where, "value", entry.get("value")),
        count=_people(where, entry),
        support=_share(where, entry, "support"),
        confidence=confidence,
        conviction=_at_least_0(where, entry, "conviction", is_bounded=False),
        **_read_notes(where, entry),
    )


def _read_statistic(where: str, entry: Mapping[str, Any]) -> Statistic:
    share, mean = _share(where, entry, "share"), _number(where, entry, "mean")
    if (share is None) == (mean is None):
        raise ParameterError(
            f"The {where} of the knowledge must have either a share or a mean.",
            hint="a share needs a value: value = ..., share = 0.2.",
        )
    return Statistic(
        antecedent=_read_when(where, entry),
        value=None if share is None else _read_value(where, "value", entry.get("value")),
        share=share,
        mean=None if mean is None else float(mean),
        count=_people(where, entry),
        **_read_notes(where, entry),
    )


def _read_fact(where: str, entry: Mapping[str, Any]) -> Fact:
    person = entry.get("person")
    if not isinstance(person, (str, int)) or isinstance(person, bool):
        raise ParameterError(
            f"The {where} of the knowledge does not name a person.",
            hint="give the key of the person's row: person = ...",
        )
    return Fact(
        person=str(person),
        value=_read_value(where, "never", entry.get("never")),
        **_read_notes(where, entry),
    )


def _read_when(where: str, entry: Mapping[str, Any]) -> dict[str, str | None]:
    when = entry.get("when")
    if not isinstance(when, dict) or not when:
        raise ParameterError(
            f"The {where} of the knowledge does not say whom it is about.",
            hint='for example: when = { sex = "M" }',
        )
    return {column: _read_value(where, column, value) for column, value in when.items()}


def _read_value(where: str, name: str, value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if value == {"missing": True}:
        return None
    if isinstance(value, (int, float)) or hasattr(value, "isoformat"):
        return str(value)
    raise ParameterError(
        f"The {where} of the knowledge has no value for {name}.",
        hint="write a text, a number, or { missing = true }.",
    )


def _number(
    where: str, entry: Mapping[str, Any], name: str, *, is_bounded: bool = True
) -> int | float | None:
    number: object = entry.get(name)
    if number is None:
        return None
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        with contextlib.suppress(OverflowError):
            if not math.isnan(number) and not (is_bounded and math.isinf(number)):
                return number
    raise ParameterError(f"The {where} of the knowledge has no number for {name}.")


def _at_least_0(
    where: str, entry: Mapping[str, Any], name: str, *, is_bounded: bool = True
) -> int | float | None:
    number = _number(where, entry, name, is_bounded=is_bounded)
    if number is not None and number < 0:
        raise ParameterError(f"The {where} of the knowledge has a {name} below 0.")
    return number


def _people(where: str, entry: Mapping[str, Any]) -> int | None:
    number = _at_least_0(where, entry, "people")
    return None if number is None else round(number)


def _share(where: str, entry: Mapping[str, Any], name: str) -> float | None:
    number = _number(where, entry, name)
    if number is not None and not 0 <= number <= 1:
        raise ParameterError(
            f"The {where} of the knowledge has a {name} that is not between 0 and 1."
        )
    return None if number is None else float(number)


def _read_notes(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    notes = {name: entry.get(name, "") for name in _NOTES}
    if not all(isinstance(note, str) for note in notes.values()):
        raise ParameterError(f"The {where} of the knowledge must give who and why as texts.")
    return notes


def _read_nodes(stated: object) -> dict[str, tuple[Node, ...]]:
    if not isinstance(stated, dict) or not all(isinstance(one, dict) for one in stated.values()):
        raise ParameterError(
            "nodes of the knowledge must be given by column.", hint="write [nodes.COLUMN]."
        )
    return {
        column: tuple(_read_node(column, label, given) for label, given in labels.items())
        for column, labels in stated.items()
    }


def _read_node(column: str, label: str, given: object) -> Node:
    where = f"node of column {column!r}"
    if isinstance(given, list):
        return _read_members(where, label, {"values": given})
    if isinstance(given, dict) and given and given.keys() <= {"values", "missing", "hierarchy"}:
        return _read_members(where, label, given)
    if isinstance(given, dict) and given.keys() >= {"from", "to"}:
        return _read_interval(where, label, given)
    raise ParameterError(
        f"A {where} in the knowledge is neither a list of values nor an interval.", hint=_NODES
    )


def _read_members(where: str, label: str, given: Mapping[str, Any]) -> Node:
    listed = given.get("values", [])
    if not isinstance(listed, list):
        raise ParameterError(f"A {where} in the knowledge has no list of values.", hint=_NODES)
    members = {_read_value(where, "values", value) for value in listed}
    if _mark(where, given, "missing"):
        members.add(None)
    if not members:
        raise ParameterError(f"A {where} in the knowledge stands for no value.", hint=_NODES)
    is_of_hierarchy = _mark(where, given, "hierarchy")
    return Node(label, members=frozenset(members), is_of_hierarchy=is_of_hierarchy)


def _read_interval(where: str, label: str, given: Mapping[str, Any]) -> Node:
    low, high = (_read_value(where, name, given[name]) for name in ("from", "to"))
    strange = given.keys() - {"from", "to", "width", "missing", "hierarchy"}
    if strange or low is None or high is None or not number_of(low) <= number_of(high):
        raise ParameterError(
            f"A {where} in the knowledge is not an interval from one number or date to another.",
            hint=_NODES,
        )
    return Node(
        label,
        interval=(low, high),
        width=float(_at_least_0(where, given, "width") or 0.0),
        has_missing=_mark(where, given, "missing"),
        is_of_hierarchy=_mark(where, given, "hierarchy"),
    )
