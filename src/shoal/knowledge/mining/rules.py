"""Negative rules as columns of numbers.

Tables give hundreds of thousands of rules, so each of their parts is an array: which nodes the
antecedent names, which value it excludes, and how many rows say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, lexicographic_order
from shoal.knowledge.mining.items import Items

__all__ = ["NO_NODE", "MinedRules", "Numbers", "Small"]

Small = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

NO_NODE = -1
"""Stands in the place of a column that an antecedent does not name."""


@dataclass(frozen=True, eq=False)
class MinedRules:
    """Rules that say: who is all this does not have that value.

    They are in the order of the number of columns they name, then their nodes, then the value.

    Parameters
    ----------
    columns
        The names of the quasi-identifiers.
    nodes
        One row a rule, one column a quasi-identifier: the number of the node in its hierarchy, or
        -1 where the rule does not name it.
    value
        For each rule the code of the sensitive value that it excludes.
    count
        For each rule the rows that its antecedent holds for; a sum of memberships where those are
        fuzzy.
    hits
        How many of these have the value all the same.
    n_itemsets
        How many antecedents have rows enough for a rule about some value.
    """

    columns: tuple[str, ...]
    nodes: Small
    value: Small
    count: Numbers
    hits: Numbers
    n_itemsets: int

    @classmethod
    def of_items(
        cls,
        columns: Sequence[Items],
        item: npt.NDArray[np.integer[Any]],
        value: Codes,
        count: Numbers,
        hits: Numbers,
        n_itemsets: int,
    ) -> MinedRules:
        """Put rules in order that were found in any.

        Parameters
        ----------
        columns
            The items of each quasi-identifier.
        item
            One row a rule: for each column the place of the node among its items, or -1.
        value, count, hits, n_itemsets
            As above.
        """
        nodes = np.empty((len(value), len(columns)), dtype=np.int32)
        for place, items in enumerate(columns):
            # The last entry is the one that -1 takes.
            nodes[:, place] = np.append(items.node, NO_NODE)[item[:, place]]
        n_named = (nodes != NO_NODE).sum(axis=1)
        sizes = [items.tree.n_nodes + 1 for items in columns]
        keys = [n_named, *(nodes[:, place] + np.int64(1) for place in range(len(columns))), value]
        n_values = int(value.max(initial=0)) + 1
        order = lexicographic_order(keys, [len(columns) + 1, *sizes, n_values])
        names = tuple(items.tree.column for items in columns)
        rules = cls(names, nodes, value.astype(np.int32), count, hits, n_itemsets)
        return rules if order is None else rules.take(order)

    def take(self, which: npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]) -> MinedRules:
        """Give some of the rules, in the order given; a mask of booleans selects."""
        return MinedRules(
            self.columns,
            self.nodes[which],
            self.value[which],
            self.count[which],
            self.hits[which],
            self.n_itemsets,
        )

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return (
            f"MinedRules({len(self)} rules over {len(self.columns)} columns, "
            f"{self.n_itemsets} itemsets)"
        )
