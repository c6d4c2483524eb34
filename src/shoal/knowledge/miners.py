"""Mine what an adversary may know from the table that is to be published.

What is true of the people of a table shows in it, and an adversary may well have data like it
([Li08] III-B). Mined and given knowledge combine: ``mine_negative_rules(table) | given``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from shoal.core.cells import Cells
from shoal.core.errors import SchemaError
from shoal.core.exact import Number
from shoal.core.schema import Schema
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.knowledge.known import Knowledge
from shoal.knowledge.mining import MinedRules, mine, tree_of
from shoal.knowledge.negative_rules import NegativeRules
from shoal.knowledge.nodes import Node, named_nodes, node_of_label
from shoal.knowledge.positive_rules import PositiveRule, mine_positive
from shoal.knowledge.statistics import Statistic, mine_statistics

__all__ = [
    "Fuzzy",
    "mine_negative_rules",
    "mine_positive_rules",
    "mine_summary_statistics",
    "negative_knowledge",
]

Fuzzy = Literal["product", "minimum"]


def mine_negative_rules(
    table: Table,
    min_exp: Number = 0.9,
    min_conf: Number = 1.0,
    max_len: int | None = 1,
    fuzzy: Fuzzy | None = None,
    width: Mapping[str, float] | None = None,
) -> Knowledge:
    """Find what people of some kind never have, though it would be expected.

    Parameters
    ----------
    table
        What `shoal.read` gave.
    min_exp
        The least expectation: how probable it must be, were they independent, that somebody of
        whom the antecedent is true has the value.
    min_conf
        The least share of them who must not have it; 1 means nobody has.
    max_len
        How many columns an antecedent may name; None for any number. With long antecedents people
        are left with few values, and often no release is possible.
    fuzzy
        How numbers near an interval support a rule about it: as the product or as the minimum
        over the columns ([Li08] IV-B); None for not at all.
    width
        For fuzzy rules how far outside an interval a number still counts, by column, in its units.

    Returns
    -------
    The rules, and which of them are most general, whom they concern, and how to write them down.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> rules = mine_negative_rules(table, min_exp=0.5)
    >>> rules
    Knowledge(about disease: 2 negative rules, 0 positive rules, 0 statistics, 0 facts)
    """
    sensitive = sensitive_of(table.schema)
    cells = table.counts((*table.schema.quasi, sensitive))
    return negative_knowledge(
        cells,
        sensitive,
        table.trees,
        min_exp=min_exp,
        min_conf=min_conf,
        max_len=max_len,
        fuzzy=fuzzy,
        width=width,
    )


def sensitive_of(schema: Schema) -> str:
    """Name the sensitive column, of which there must be one."""
    if len(schema.sensitive) != 1 or not schema.quasi:
        raise SchemaError(
            "Knowledge relates quasi-identifiers to one sensitive column; the schema names "
            f"{len(schema.quasi)} and {len(schema.sensitive)}.",
            hint="say which: quasi=[...], sensitive=...",
        )
    if schema.both:
        raise SchemaError(
            f"Knowledge relates columns to another one; {schema.both[0]!r} is quasi-identifying "
            "and sensitive.",
            hint="give it one of the two roles.",
        )
    return schema.sensitive[0]


def negative_knowledge(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    min_exp: Number,
    min_conf: Number,
    max_len: int | None,
    fuzzy: Fuzzy | None,
    width: Mapping[str, float] | None,
) -> Knowledge:
    """Mine negative rules from counts, as `mine_negative_rules` does from a table."""
    mined = mine(
        cells,
        sensitive,
        trees,
        min_exp=min_exp,
        min_conf=min_conf,
        max_len=max_len,
        fuzzy=fuzzy,
        width=width or {},
    )
    return Knowledge(sensitive, _named(mined, cells, sensitive, trees, width or {}))


def _named(
    mined: MinedRules,
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    width: Mapping[str, float],
) -> NegativeRules:
    """Give the nodes of rules names, and say what they stand for."""
    nodes: dict[str, tuple[Node, ...]] = {}
    places = np.full(mined.nodes.shape, -1, dtype=np.int32)
    is_used = np.zeros(len(mined.columns), dtype=bool)
    for at, column in enumerate(mined.columns):
        numbers = mined.nodes[:, at]
        used = np.unique(numbers[numbers >= 0])
        if not len(used):
            continue
        is_used[at] = True
        domain = cells.domain(column)
        spread = float(width.get(column, 0.0))
        nodes[column] = named_nodes(domain, tree_of(domain, trees), used.tolist(), spread)
        places[:, at] = np.where(numbers >= 0, np.searchsorted(used, numbers), -1)
    domain = cells.domain(sensitive)
    totals = np.zeros(domain.size, dtype=np.int64)
    np.add.at(totals, cells.column(sensitive), cells.counts)
    absent = 1 - totals[mined.value] / max(cells.n_rows, 1)
    return NegativeRules(
        nodes=nodes,
        place=np.ascontiguousarray(places[:, is_used]),
        values=tuple(domain.labels()),
        value=mined.value,
        counts=mined.count.astype(np.float64),
        expectations=1 - absent**mined.count,
        confidences=1 - mined.hits / np.maximum(mined.count, np.finfo(float).tiny),
        is_fuzzy=mined.count.dtype.kind == "f",
    )


def mine_positive_rules(
    table: Table,
    min_support: Number = 0.01,
    min_conviction: Number = 1.1,
    max_len: int | None = 1,
) -> Knowledge:
    """Find what people of some kind have more often than others.

    Parameters
    ----------
    table
        What `shoal.read` gave.
    min_support
        How many rows must have both: a count if it is a whole number, else a share of the rows.
    min_conviction
        The least conviction of a rule.
    max_len
        How many columns an antecedent may name; None for any number.
    """
    sensitive = sensitive_of(table.schema)
    cells = table.counts((*table.schema.quasi, sensitive))
    rules = mine_positive(
        cells,
        sensitive,
        table.trees,
        min_support=min_support,
        min_conviction=min_conviction,
        max_len=max_len,
    )
    return Knowledge(sensitive, positive=rules, definitions=_definitions(rules, table))


def mine_summary_statistics(
    table: Table, min_support: Number = 0.01, max_len: int | None = 1
) -> Knowledge:
    """Find the share of each sensitive value, or the mean, among people of some kind.

    Parameters
    ----------
    table
        What `shoal.read` gave.
    min_support
        How many people a statistic must be about: a count if it is a whole number, else a share
        of the rows.
    max_len
        How many columns a condition may name; None for any number.
    """
    sensitive = sensitive_of(table.schema)
    cells = table.counts((*table.schema.quasi, sensitive))
    found = mine_statistics(cells, sensitive, table.trees, min_support=min_support, max_len=max_len)
    return Knowledge(sensitive, statistics=found, definitions=_definitions(found, table))


def _definitions(
    found: tuple[PositiveRule, ...] | tuple[Statistic, ...], table: Table
) -> dict[str, tuple[Node, ...]]:
    """Say what the labels of antecedents stand for, where they are no values."""
    named = dict.fromkeys(pair for entry in found for pair in entry.antecedent.items())
    defined: dict[str, list[Node]] = {}
    for column, label in named:
        node = node_of_label(label, table.domains[column], table.trees.get(column))
        if node is not None:
            defined.setdefault(column, []).append(node)
    return {column: tuple(nodes) for column, nodes in defined.items()}
