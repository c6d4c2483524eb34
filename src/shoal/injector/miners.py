"""Mine what an adversary may know from the table that is to be published.

General facts, such as that men do not have ovarian cancer, show in the table, and an adversary may
well know them or have similar data ([Li08] III-B). So knowledge is mined from the table itself,
over the quasi-identifiers and the nodes of their hierarchies, and the release must be safe against
it. Mined and given knowledge combine: ``mine_negative_rules(table) | given``.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section IV.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from shoal.core.arrays import Counts
from shoal.core.cells import Cells, total_by
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.exact import Number, whole
from shoal.core.levelled import protected
from shoal.core.schema import Schema
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.injector.association_rules import NegativeRules, PositiveRule
from shoal.injector.crisp_mining import CountedRows, mine_long, mine_single
from shoal.injector.fuzzy_mining import Fuzzy, FuzzyRows, memberships_of, mine_fuzzy, read_widths
from shoal.injector.known import Knowledge
from shoal.injector.mined_rules import (
    Items,
    MinedRules,
    RawRules,
    items_of,
    least_counts,
    least_supports,
    read_min_conf,
    read_min_exp,
    tree_of,
)
from shoal.injector.nodes import Node, named_nodes, node_of_label
from shoal.injector.statistics import Statistic, mine_positive, mine_statistics

_LARGEST_TABLE = 2**31
_NO_WIDTH: Mapping[str, Number] = MappingProxyType({})


def mine_negative_rules(
    table: Table,
    min_exp: Number = 0.9,
    min_conf: Number = 1.0,
    max_len: int | None = 1,
    fuzzy: Fuzzy | None = None,
    width: Mapping[str, float] | None = None,
) -> Knowledge:
    """Find values that people of some kind never have, though some would be expected to.

    Parameters
    ----------
    table
        The table, as returned by `shoal.read`.
    min_exp
        The minimum expectation: the probability that somebody for whom the antecedent is true would
        have the value if the two were independent. Default: 0.9.
    min_conf
        The smallest share of these people who must not have it. Default: 1, nobody has it.
    max_len
        The largest number of columns that an antecedent names; None for any number. Long
        antecedents leave people with few values, and often no release is possible. Default: 1.
    fuzzy
        How numbers near an interval support a rule about it: as the ``product`` or as the
        ``minimum`` over the columns ([Li08] IV-B). Default: None, not at all.
    width
        For fuzzy rules the distance from an interval at which a number no longer counts, by
        column, in its units. Default: none.

    Returns
    -------
    The rules, which can be reduced to the most general ones, applied to a table, and written to a
    file.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> rules = mine_negative_rules(table, min_exp=0.5)
    >>> rules
    Knowledge(about disease: 2 negative rules, 0 positive rules, 0 statistics, 0 facts)
    """
    table, sensitive = protected(table), sensitive_of(table.schema)
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
    """Return the name of the sensitive column, of which there must be exactly one."""
    if len(schema.sensitive) != 1 or not schema.quasi:
        raise SchemaError(
            "Knowledge relates quasi-identifiers to one sensitive column; the schema names "
            f"{len(schema.quasi)} and {len(schema.sensitive)}.",
            hint="name them: quasi=[...], sensitive=...",
        )
    if schema.both:
        raise SchemaError(
            "Knowledge relates quasi-identifiers to a sensitive column; "
            f"{schema.both[0]!r} is both.",
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
    """Label the nodes of rules, and define the values that they stand for."""
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
    totals = total_by(cells.column(sensitive), cells.counts, domain.size)
    # The probability that a random row does not have the value; see `least_counts`.
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
    """Find values that people of some kind have more often than others.

    Parameters
    ----------
    table
        The table, as returned by `shoal.read`.
    min_support
        The number of rows that must have both: a count if it is an integer, otherwise a share of
        the rows. Default: 0.01.
    min_conviction
        The minimum conviction of a rule. Default: 1.1.
    max_len
        The largest number of columns that an antecedent names; None for any number. Default: 1.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> mine_positive_rules(table, min_support=2)
    Knowledge(about disease: 0 negative rules, 2 positive rules, 0 statistics, 0 facts)
    """
    table, sensitive = protected(table), sensitive_of(table.schema)
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
        The table, as returned by `shoal.read`.
    min_support
        The number of people that a statistic must be about: a count if it is an integer, otherwise
        a share of the rows. Default: 0.01.
    max_len
        The largest number of columns that a condition names; None for any number. Default: 1.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> mine_summary_statistics(table, min_support=4)
    Knowledge(about disease: 0 negative rules, 0 positive rules, 3 statistics, 0 facts)
    """
    table, sensitive = protected(table), sensitive_of(table.schema)
    cells = table.counts((*table.schema.quasi, sensitive))
    found = mine_statistics(cells, sensitive, table.trees, min_support=min_support, max_len=max_len)
    return Knowledge(sensitive, statistics=found, definitions=_definitions(found, table))


def _definitions(
    found: tuple[PositiveRule, ...] | tuple[Statistic, ...], table: Table
) -> dict[str, tuple[Node, ...]]:
    """Define the labels of antecedents that are not values."""
    named = dict.fromkeys(pair for entry in found for pair in entry.antecedent.items())
    defined: dict[str, list[Node]] = {}
    for column, label in named:
        node = node_of_label(label, table.domains[column], table.trees.get(column))
        if node is not None:
            defined.setdefault(column, []).append(node)
    return {column: tuple(nodes) for column, nodes in defined.items()}


def mine(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    min_exp: Number,
    min_conf: Number = 1,
    max_len: int | None = 1,
    fuzzy: Fuzzy | None = None,
    width: Mapping[str, Number] = _NO_WIDTH,
) -> MinedRules:
    """Find the negative rules of a table, as arrays; see `mine_negative_rules`.

    All columns of `cells` but the sensitive one are quasi-identifiers; a column without a tree has
    its values only.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["a", "b"])
    >>> cells = Cells((sex, disease), np.array([[0, 0], [0, 1], [1, 1]]), np.array([2, 2, 4]))
    >>> rules = mine(cells, "disease", {}, min_exp=0.6)
    >>> rules
    MinedRules(1 rules over 1 columns, 2 itemsets)
    >>> rules.nodes.tolist(), rules.value.tolist(), rules.count.tolist()
    ([[1]], [0], [4])
    """
    if sensitive not in cells.columns:
        raise ParameterError(f"The table has no column {sensitive!r}.")
    if cells.n_rows >= _LARGEST_TABLE:
        raise DataError(
            f"The table has {cells.n_rows} rows; rules are mined from fewer than {_LARGEST_TABLE}.",
            hint="mine a sample of it.",
        )
    expectation, slack = read_min_exp(min_exp), 1 - read_min_conf(min_conf)
    quasi = [column for column in cells.columns if column != sensitive]
    longest = len(quasi) if max_len is None else whole("max_len", max_len, least=1)
    widths = read_widths(fuzzy, width, [cells.domain(column) for column in quasi])
    columns = items_of(cells, quasi, trees)
    totals = total_by(cells.column(sensitive), cells.counts, cells.domain(sensitive).size)
    if fuzzy is None:
        return _mine_crisp(cells, sensitive, columns, totals, expectation, slack, longest)
    supports = least_supports(totals, expectation)
    memberships = memberships_of(columns, [cells.domain(column) for column in quasi], widths)
    rows = FuzzyRows.of_cells(cells, sensitive, supports, slack)
    return mine_fuzzy(rows, columns, memberships, fuzzy, longest)


def _mine_crisp(
    cells: Cells,
    sensitive: str,
    columns: list[Items],
    totals: Counts,
    min_exp: Fraction,
    slack: Fraction,
    max_len: int,
) -> MinedRules:
    least = least_counts(totals, min_exp)
    # Values in the order of their thresholds; only those in reach of a rule are kept.
    ranked = np.argsort(least, kind="stable")
    values = ranked[least[ranked] <= cells.n_rows]
    place = np.full(len(totals), len(values), dtype=np.int64)
    place[values] = np.arange(len(values))
    rows = CountedRows(
        [items.leaf[cells.column(items.tree.column)] for items in columns],
        place[cells.column(sensitive)],
        cells.counts,
        least[values],
        slack,
    )
    found = _search(rows, columns, max_len)
    return MinedRules.of_raw(columns, replace(found, value=values[found.value]))


def _search(rows: CountedRows, columns: list[Items], max_len: int) -> RawRules:
    if rows.n_values == 0:
        return RawRules.none(len(columns))
    if max_len == 1:
        return mine_single(rows, columns)
    return mine_long(rows, columns, max_len)
