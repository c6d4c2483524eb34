"""The nodes that rules name: a value, or a group of values under one label.

Rules are mined on a table with hierarchies and used on releases that have none. So a node defines
the values it stands for: a single value by its label, a group by a list or by an interval of
numbers. A node that was mined is marked as one of a hierarchy: if a hierarchy with that label is
available, the node there is meant, not the values that happened to occur where it was mined.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from shoal.core.arrays import Flags, Integers
from shoal.core.domain import ColumnType, Domain, day_of_date, iso_date
from shoal.core.errors import ParameterError
from shoal.core.exact import exact
from shoal.core.meaning import Meaning
from shoal.core.tree import Tree


@dataclass(frozen=True)
class Node:
    """A value, or a group of values, that a rule may name.

    Examples
    --------
    >>> Node.of_value("Private"), Node("young", interval=("18", "29"))
    (Node(one value), Node(an interval))
    """

    # The text of the value if it is a single value; None is the missing value.
    label: str | None
    # The values of a group; None if the node is a single value or an interval.
    members: frozenset[str | None] | None = None
    # The lowest and the highest number or date of a group, as texts; both belong to it.
    interval: tuple[str, str] | None = None
    # The distance from the interval up to which a number belongs to the node in part ([Li08] IV-B).
    width: float = 0.0
    # Whether the missing value belongs to an interval too.
    has_missing: bool = False
    # If set, the definition applies only if no hierarchy with this label is available.
    is_of_hierarchy: bool = False

    @classmethod
    def of_value(cls, text: str | None) -> Node:
        """Return the node of one value."""
        return cls(text)

    @property
    def is_defined(self) -> bool:
        """Whether it defines its values itself; otherwise its label is a value or a node."""
        return self.members is not None or self.interval is not None or self.label is None

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The interval as numbers; dates are days."""
        assert self.interval is not None
        low, high = map(number_of, self.interval)
        return low, high

    def __repr__(self) -> str:
        # Labels are often values of the table, so they are not shown.
        if self.members is not None:
            return f"Node({len(self.members)} values)"
        return f"Node({'one value' if self.interval is None else 'an interval'})"


def number_of(text: str) -> float:
    """Read a number, or a date as its day."""
    try:
        return float(text)
    except ValueError:
        pass
    date = iso_date(text)
    if date is None:
        raise ParameterError(
            "An interval of a rule has a bound that is neither a number nor a date.",
            hint="write numbers with a decimal point, and dates as year-month-day.",
        )
    return float(day_of_date(date))


def codes_in(domain: Domain, texts: Sequence[str | None]) -> Integers:
    """Return the code of each text, or -1 if the domain does not have it.

    A number may be spelled differently from the table.

    Examples
    --------
    >>> age = Domain.of_texts("age", ["20", "35"], type=ColumnType.INTEGER, numbers=[20, 35])
    >>> codes_in(age, ["35.0", "36", None]).tolist()
    [1, -1, -1]
    """
    codes = domain.codes_of(list(texts))
    if domain.numbers is None or domain.type is ColumnType.DATE:
        return codes
    for place in np.flatnonzero(codes < 0).tolist():
        text = texts[place]
        with contextlib.suppress(ValueError):
            code = int(np.searchsorted(domain.numbers, float(text or "")))
            # Large integers may differ although their floats are equal.
            if code < len(domain.texts) and exact("a value", text or "") == Fraction(
                domain.texts[code]
            ):
                codes[place] = code
    return codes


def holds_for_values(node: Node, domain: Domain, tree: Tree | None = None) -> Flags | None:
    """Mark the codes of a domain that a node stands for.

    Returns None if the node is unknown: it is no value of the domain, no node of the hierarchy, and
    has no definition; or if its definition is of another kind than the column.
    """
    if node.is_of_hierarchy and tree is not None:
        found = node_in_tree(tree, node.label)
        if found is not None:
            return _members(tree, found, domain)
    if node.interval is not None:
        return _within(node, domain)
    texts = [node.label] if node.members is None else list(node.members)
    codes = codes_in(domain, texts)
    marks = np.zeros(domain.size, dtype=bool)
    marks[codes[codes >= 0]] = True
    if marks.any() or texts == [None]:
        return marks
    found = None if node.is_defined or tree is None else node_in_tree(tree, node.label)
    return None if tree is None or found is None else _members(tree, found, domain)


def _members(tree: Tree, number: int, domain: Domain) -> Flags:
    marks = np.zeros(domain.size, dtype=bool)
    marks[tree.members(number)] = True
    return marks


def node_in_tree(tree: Tree, label: str | None) -> int | None:
    """Return the number of the lowest node of a hierarchy with a label; None if it has none."""
    found = np.flatnonzero(tree.labels == label)
    return int(found[0]) if len(found) else None


def _within(node: Node, domain: Domain) -> Flags | None:
    numbers = domain.numbers
    if numbers is None or not _is_of_kind(node, is_date=domain.type is ColumnType.DATE):
        return None
    low, high = node.bounds
    beyond = np.maximum(np.maximum(low - numbers, numbers - high), 0.0)
    marks = np.zeros(domain.size, dtype=bool)
    # With a width, any degree of membership counts.
    marks[: len(numbers)] = (beyond <= 0.0) | (beyond < node.width)
    marks[len(numbers) :] = node.has_missing
    return marks


def _is_of_kind(node: Node, *, is_date: bool) -> bool:
    """Return whether an interval is one of dates, or of numbers; an infinite bound fits both."""
    assert node.interval is not None
    return all(
        math.isinf(number) or (iso_date(text) is not None) == is_date
        for text, number in zip(node.interval, node.bounds, strict=True)
    )


def covering(nodes: Sequence[Node]) -> Flags:
    """Mark for each pair of nodes whether the first stands for all values of the second.

    Examples
    --------
    >>> higher = Node("Higher", members=frozenset({"Bachelors", "Masters"}))
    >>> covering([higher, Node.of_value("Masters"), Node.of_value("9th")]).tolist()
    [[True, True, False], [False, True, False], [False, False, True]]
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - it takes long to import

    covers = np.eye(len(nodes), dtype=bool)
    named = [place for place, node in enumerate(nodes) if node.interval is None]
    spans = [place for place, node in enumerate(nodes) if node.interval is not None]
    texts = [_texts_of(nodes[place]) for place in named]
    if named:
        place_of = {text: place for place, text in enumerate(set().union(*texts))}
        columns = [place_of[text] for held in texts for text in held]
        rows = np.repeat(np.arange(len(named)), [len(held) for held in texts])
        shape = (len(named), len(place_of))
        holds = csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
        common = (holds @ holds.T).toarray()
        covers[np.ix_(named, named)] = common == np.diagonal(common)
    for span in spans:
        inside = [all(_has_value(nodes[span], text) for text in held) for held in texts]
        covers[span, named] = inside
        covers[span, spans] = [_is_within(nodes[other], nodes[span]) for other in spans]
    return covers


def _texts_of(node: Node) -> frozenset[str | None]:
    return frozenset({node.label}) if node.members is None else node.members


def _is_within(node: Node, other: Node) -> bool:
    """Return whether one interval lies within another."""
    if not _has_missing(other) and _has_missing(node):
        return False
    kinds = [_is_of_kind(node, is_date=d) and _is_of_kind(other, is_date=d) for d in (False, True)]
    if not any(kinds):
        return False
    low, high = node.bounds
    if not node.width:
        return _has_number(other, low) and _has_number(other, high)
    # Numbers as far away as the width do not belong to the node.
    first, last = other.bounds
    return first - other.width <= low - node.width and high + node.width <= last + other.width


def holds_for_labels(
    node: Node,
    domain: Domain,
    meanings: Mapping[str, Meaning],
    tree: Tree | None = None,
    *,
    is_whole: bool = False,
) -> Flags | None:
    """Mark the published labels for which a node is certainly true.

    A label that stands for several values is marked if all of them are in the node. A label without
    a stated meaning stands for its own text. With `is_whole`, all values are integers, and an
    interval ends with the last of them. `tree` is the hierarchy over the labels, if any.

    Returns None if nothing in the column has the node's name or any of its values.
    """
    if not meanings:
        return holds_for_values(node, domain, tree)
    number = None if tree is None or node.label is None else node_in_tree(tree, node.label)
    is_within = np.zeros(domain.size, dtype=bool)
    if tree is not None and number is not None and (node.is_of_hierarchy or not node.is_defined):
        is_within = _members(tree, number, domain)
    marks, overlaps = is_within.copy(), bool(is_within.any())
    for code, label in enumerate(domain.labels()):
        meaning = None if label is None else meanings.get(label)
        if meaning is None:
            marks[code] |= _has_value(node, label)
        else:
            is_covered = _covers(node, meaning, is_whole=is_whole)
            marks[code] |= is_covered or _is_same(node, label, meaning)
            overlaps = overlaps or label == node.label or _overlaps(node, meaning)
    return marks if overlaps or marks.any() or node.label is None else None


def _overlaps(node: Node, meaning: Meaning) -> bool:
    """Return whether a label stands for some value of a node, as far as it names values."""
    if any(_has_value(node, member) for member in meaning.members):
        return True
    if meaning.has_missing and _has_missing(node):
        return True
    if meaning.interval is None:
        return False
    # An interval names no values: any node of numbers may be about it.
    texts = node.interval if node.interval is not None else _texts_of(node)
    return any(text is not None and _is_number(text) for text in texts)


def _is_number(text: str) -> bool:
    try:
        number_of(text)
    except ParameterError:
        return False
    return True


def _is_same(node: Node, label: str | None, meaning: Meaning) -> bool:
    """Return whether a label is that of the node, and nothing known about both differs."""
    if label != node.label:
        return False
    # The labels of a release are nodes of its hierarchies.
    if not node.is_defined or node.is_of_hierarchy:
        return True
    if meaning.interval is not None:
        # The node has the least and the largest value that occur, the label its own bounds.
        return node.interval is not None and _lies_in(node, meaning.interval)
    return meaning.has_other and all(_has_value(node, member) for member in meaning.members)


def _lies_in(node: Node, interval: tuple[str, str]) -> bool:
    """Return whether a node of numbers lies between one bound (included) and another (excluded)."""
    try:
        first, end = map(number_of, interval)
    except ParameterError:
        return False
    return first <= node.bounds[0] and node.bounds[1] < end


def _covers(node: Node, meaning: Meaning, *, is_whole: bool) -> bool:
    if meaning.has_other or (meaning.has_missing and not _has_missing(node)):
        return False
    if meaning.members:
        return all(_has_value(node, member) for member in meaning.members)
    if meaning.interval is None:
        # Only the missing value is left.
        return meaning.has_missing
    if node.interval is None:
        return False
    return _covers_interval(node, meaning.interval, is_whole=is_whole)


def _covers_interval(node: Node, interval: tuple[str, str], *, is_whole: bool) -> bool:
    """Return whether a node covers all from one bound (included) to another (excluded)."""
    try:
        first, end = map(number_of, interval)
    except ParameterError:
        return False
    is_date = any(iso_date(text) is not None for text in interval)
    if not _is_of_kind(node, is_date=is_date):
        return False
    # Dates and integers have a last value before the bound; real numbers have none.
    has_last = is_date or is_whole
    last = math.ceil(end) - 1 if has_last and math.isfinite(end) else end
    reaches_end = _has_number(node, last) if has_last else end <= node.bounds[1] + node.width
    return _has_number(node, first) and reaches_end


def _has_missing(node: Node) -> bool:
    if node.members is not None:
        return None in node.members
    return node.label is None or node.has_missing


def _has_value(node: Node, text: str | None) -> bool:
    if text is None:
        return _has_missing(node)
    if node.members is not None:
        return text in node.members
    if node.interval is None:
        return text == node.label
    try:
        number = number_of(text)
    except ParameterError:
        return False
    return _is_of_kind(node, is_date=iso_date(text) is not None) and _has_number(node, number)


def _has_number(node: Node, number: float) -> bool:
    low, high = node.bounds
    return low <= number <= high or max(low - number, number - high) < node.width


def named_nodes(
    domain: Domain, tree: Tree, numbers: Sequence[int], width: float = 0.0
) -> tuple[Node, ...]:
    """Return nodes of a hierarchy, by their numbers, that define the values they stand for.

    No two of them may stand for the same values. Labels are distinct. Fuzzy nodes, with a `width`
    above 0, are labelled differently from crisp ones: "about 20" stands for more than 20.
    """
    return tuple(
        _fuzzy(domain, tree, number, width) if width else _crisp(domain, tree, number)
        for number in numbers
    )


def node_of_label(label: str | None, domain: Domain | None, tree: Tree | None) -> Node | None:
    """Return the node of a hierarchy with a label; None if it is a value or unknown."""
    if label is None or domain is None or tree is None or codes_in(domain, [label])[0] >= 0:
        return None
    number = node_in_tree(tree, label)
    return None if number is None else _crisp(domain, tree, number)


def _crisp(domain: Domain, tree: Tree, number: int) -> Node:
    codes, label = np.sort(tree.members(number)), tree.labels[number]
    if len(codes) == 1 and domain.text(int(codes[0])) == label:
        return Node.of_value(label)
    has_missing = int(codes[-1]) == domain.missing_code
    present = codes[:-1] if has_missing else codes
    if domain.numbers is not None and len(present) and np.all(np.diff(present) == 1):
        ends = _ends(domain, present)
        return Node(str(label), interval=ends, has_missing=has_missing, is_of_hierarchy=True)
    members = frozenset(domain.text(code) for code in codes.tolist())
    return Node(str(label), members=members, is_of_hierarchy=True)


def _fuzzy(domain: Domain, tree: Tree, number: int, width: float) -> Node:
    codes = np.sort(tree.members(number))
    present = codes[codes != domain.missing_code]
    if not len(present):
        return _crisp(domain, tree, number)
    # Numbers between those of the node belong to it fully, the missing value not at all.
    return Node(f"about {tree.labels[number]}", interval=_ends(domain, present), width=width)


def _ends(domain: Domain, codes: Integers) -> tuple[str, str]:
    return str(domain.texts[codes[0]]), str(domain.texts[codes[-1]])
