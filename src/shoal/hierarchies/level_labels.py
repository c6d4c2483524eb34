"""The labels of one level of a hierarchy, and the values or the interval that each stands for."""

from __future__ import annotations

import re

import numpy as np

from shoal.core.arrays import Codes
from shoal.core.domain import ColumnType, Domain, day_of_date, iso_date
from shoal.core.plan import Label, Recode
from shoal.core.tree import Tree

_HALF_OPEN = re.compile(r"[\[\]]([^ ,]+), ([^ ,]+)\[")
_CLOSED = re.compile(r"(-?\d{1,15})-(-?\d{1,15})")
_OPEN_ENDS = ("-inf", "+inf")


def recode_to_level(domain: Domain, tree: Tree, level: int) -> Recode:
    """Return the recoding of every value to its label at a level; level 0 has the values."""
    nodes, first, index = np.unique(
        tree.ancestors_at(level), return_index=True, return_inverse=True
    )
    # In the order of their first values, so that the missing value comes last if it is alone.
    order = np.argsort(first)
    labels = tuple(label_node(tree, domain, node) for node in nodes[order].tolist())
    return Recode(domain.column, "value", np.argsort(order)[index], labels)


def label_node(tree: Tree, domain: Domain, node: int, members: Codes | None = None) -> Label:
    """Return the label of a node of a hierarchy, as an interval if its text is one.

    `members` are the codes that it stands for; by default all codes under it. An interval names no
    value of the table, and a reader can tell for every number whether it is inside. A list of
    members would have to omit rare values, which could then be behind any label of the column.

    Examples
    --------
    >>> from shoal.hierarchies.hierarchy import Hierarchy
    >>> ages = Domain.of_texts("age", ["17", "23"], type=ColumnType.INTEGER, numbers=[17, 23])
    >>> tree = Hierarchy.intervals(cuts=[0, 20, 40]).over(ages)
    >>> label_node(tree, ages, int(tree.ancestors_at(1)[0]))
    Label(text='[0, 20[', interval=('0', '20'), members=None, has_missing=False)
    """
    under = np.sort(tree.members(node))
    interval = _interval(tree.labels[node] or "", domain, under[under < len(domain.texts)])
    members = under if members is None else members
    present = members[members < len(domain.texts)]
    return Label(
        tree.labels[node],
        interval=interval,
        members=tuple(present.tolist()) if interval is None else None,
        has_missing=len(present) < len(members),
    )


def _interval(text: str, domain: Domain, members: Codes) -> tuple[str, str] | None:
    """Parse the interval in a label; None unless the members are the numbers inside it."""
    ends = _ends(text, domain) if domain.type.is_numeric else None
    if ends is None or domain.numbers is None:
        return None
    try:
        low, high = (_number(end, domain) for end in ends)
    except ValueError:
        return None
    is_within = (domain.numbers >= low) & (domain.numbers < high)
    return ends if np.array_equal(np.flatnonzero(is_within), members) else None


def _ends(text: str, domain: Domain) -> tuple[str, str] | None:
    """Parse both ends of ``[20, 30[``, or of ``20-29`` if all values are integers."""
    half_open = _HALF_OPEN.fullmatch(text)
    if half_open is not None:
        return half_open[1], half_open[2]
    closed = _CLOSED.fullmatch(text) if domain.type is ColumnType.INTEGER else None
    return None if closed is None else (str(int(closed[1])), str(int(closed[2]) + 1))


def _number(end: str, domain: Domain) -> float:
    if domain.type is not ColumnType.DATE or end in _OPEN_ENDS:
        return float(end)
    date = iso_date(end)
    if date is None:
        raise ValueError
    return day_of_date(date)
