"""The labels of one level of a hierarchy, and what they stand for."""

from __future__ import annotations

import re

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import ColumnType, Domain
from shoal.core.plan import Label, Recode
from shoal.core.tree import Tree

__all__ = ["recode_to_level"]

_INTERVAL = re.compile(r"[\[\]]([^ ,]+), ([^ ,]+)\[")


def recode_to_level(domain: Domain, tree: Tree, level: int) -> Recode:
    """Give every value the label that it has at a level.

    Parameters
    ----------
    domain
        The values of a column.
    tree
        Its hierarchy.
    level
        The level, from 0, where every value is itself.

    Examples
    --------
    >>> from shoal.core.hierarchy import Hierarchy
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> [label.text for label in recode_to_level(sex, Hierarchy.flat().over(sex), 1).labels]
    ['*']
    """
    nodes, first, index = np.unique(
        tree.ancestors_at(level), return_index=True, return_inverse=True
    )
    # In the order of their first values; the missing one, where it is alone, is then last.
    order = np.argsort(first)
    labels = tuple(_label(tree, domain, node) for node in nodes[order].tolist())
    return Recode(domain.column, "value", np.argsort(order)[index], labels)


def _label(tree: Tree, domain: Domain, node: int) -> Label:
    members = np.sort(tree.members(node))
    present = members[members < len(domain.texts)]
    interval = _interval(tree.labels[node] or "", domain, present)
    return Label(
        tree.labels[node],
        # Readers go by what a label says, of values too that nobody has.
        interval=interval,
        members=tuple(present.tolist()) if interval is None else None,
        has_missing=len(present) < len(members),
    )


def _interval(text: str, domain: Domain, members: Codes) -> tuple[str, str] | None:
    """Read the interval that a label of numbers says it is, where its members are those in it."""
    ends = _INTERVAL.fullmatch(text) if domain.type.is_numeric else None
    if ends is None or domain.numbers is None:
        return None
    if domain.type is not ColumnType.DATE:
        try:
            low, high = float(ends[1]), float(ends[2])
        except ValueError:
            return None
        is_within = (domain.numbers >= low) & (domain.numbers < high)
        if not np.array_equal(np.flatnonzero(is_within), members):
            return None
    return ends[1], ends[2]
