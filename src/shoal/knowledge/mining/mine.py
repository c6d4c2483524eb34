"""Mining what an adversary may know: which people do not have which sensitive value.

She knows such things because they show in any table of the kind, this one too: men do not have
ovarian cancer. So they are mined from the table itself, as negative association rules over the
quasi-identifiers and the nodes of their hierarchies, and held against it when it is published.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section IV.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from shoal.core.cells import Cells, Counts
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import Number, whole
from shoal.core.tree import Tree
from shoal.knowledge.mining.crisp import CountedRows, Found, mine_long, mine_single
from shoal.knowledge.mining.fuzzy import Fuzzy, FuzzyRows, memberships_of, mine_fuzzy, read_widths
from shoal.knowledge.mining.items import Items, items_of
from shoal.knowledge.mining.rules import MinedRules
from shoal.knowledge.mining.thresholds import (
    least_counts,
    least_supports,
    read_min_conf,
    read_min_exp,
)

__all__ = ["mine"]

_LARGEST_TABLE = 2**31
_NO_WIDTH: Mapping[str, Number] = MappingProxyType({})


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
    """Find the negative rules of a table.

    Parameters
    ----------
    cells
        The table: the sensitive column, and the quasi-identifiers, which are all others.
    sensitive
        The name of the sensitive column.
    trees
        The hierarchies of the quasi-identifiers; one without is taken as its values.
    min_exp
        The minimum expectation of a rule: how likely its value would be seen among the rows of
        its antecedent if these were any rows.
    min_conf
        The smallest share of these rows that must not have the value.
    max_len
        The most columns that an antecedent names; None for all.
    fuzzy
        How a row's memberships in the nodes of an antecedent become one: their ``product`` or
        their ``minimum``. None where a row is in a node or is not.
    width
        By numeric column the distance, in its units, over which membership in a node fades out.

    Raises
    ------
    ParameterError
        Where a parameter is out of range, or a width is given for another column, or for none
        where rules are fuzzy.
    DataError
        Where the table has too many rows to be counted.

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
    totals = np.zeros(cells.domain(sensitive).size, dtype=np.int64)
    np.add.at(totals, cells.column(sensitive), cells.counts)
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
    # Values in the order of their thresholds: those that a rule may be about come first.
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
    return MinedRules.of_items(
        columns, found.item, values[found.value], found.count, found.hits, found.n_itemsets
    )


def _search(rows: CountedRows, columns: list[Items], max_len: int) -> Found:
    if rows.n_values == 0:
        return Found.none(len(columns))
    if max_len == 1:
        return mine_single(rows, columns)
    return mine_long(rows, columns, max_len)
