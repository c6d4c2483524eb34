"""The words in which knowledge about a table may be put: its values and its hierarchies.

A rule may name a value or a node of a hierarchy. A release shows neither in full: rare values are
not named, and the hierarchies of a bucketized release are not published. Whoever has the table
hands its vocabulary to the attacks, so that a rule which names something is never taken to be
about nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.core.domain import Domain
from shoal.core.errors import SchemaError
from shoal.core.hierarchy import Hierarchy
from shoal.core.table import Table
from shoal.core.tree import Tree

__all__ = ["Vocabulary"]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The values and hierarchies of the columns of a table.

    Parameters
    ----------
    domains
        The values of each column.
    trees
        The hierarchies, laid over the values of their columns. For a column without a domain here
        the tree is laid over its published labels.
    hierarchies
        The hierarchies themselves, which may name values and nodes that nobody in the table has.

    Examples
    --------
    >>> work = Domain.of_texts("work", ["Private"])
    >>> rows = [["Private", "Other"], ["State", "Government"]]
    >>> hierarchy = Hierarchy.from_rows(rows)
    >>> known = Vocabulary({"work": work}, {"work": hierarchy.over(work)}, {"work": hierarchy})
    >>> known.is_empty_node("work", "Government"), known.is_empty_node("work", "Goverment")
    (True, False)
    """

    domains: Mapping[str, Domain] = field(default_factory=dict, repr=False)
    trees: Mapping[str, Tree] = field(default_factory=dict, repr=False)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)

    @classmethod
    def of_table(cls, table: Table) -> Vocabulary:
        """Return the vocabulary of a table."""
        return cls(table.domains, table.trees, table.schema.hierarchies)

    def is_empty_node(self, column: str, label: str | None) -> bool:
        """Return whether a hierarchy that was given as rows has a label that nobody falls under.

        A rule about it is understood, and is about nobody.
        """
        hierarchy = self.hierarchies.get(column)
        if hierarchy is None or label is None:
            return False
        try:
            rows = hierarchy.rows
        except SchemaError:
            return False
        return any(label in row for row in rows)
