"""Tables and releases at levels, as methods, checks and attacks see them.

What is published stays as it is. Only the counts change: in the place of a value they have its
level, so that the layers above need not know of levels at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from shoal.core.arrays import Codes, Flags, Texts
from shoal.core.cells import Buckets, Cells, count_pairs, total_by
from shoal.core.domain import Domain
from shoal.core.levels import Level, LevelDomain, level_domain, tree_of_levels
from shoal.core.private_cells import PrivateCells
from shoal.core.release import Published
from shoal.core.schema import Schema
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.core.table import Rows, Table
from shoal.core.tree import Tree

LevelDomains = Mapping[str, LevelDomain]
"""The levels of some columns, by column."""


def cells_at_levels(cells: Cells, levels: LevelDomains) -> Cells:
    """Return cells with levels in the place of values; cells that become equal are one.

    Examples
    --------
    >>> from shoal.core.domain import ColumnType
    >>> pay = Domain.of_texts("pay", ["1", "2", "9"], type=ColumnType.INTEGER, numbers=[1, 2, 9])
    >>> cells = Cells.of_rows([pay], np.array([[0], [1], [2]]))
    >>> found = cells_at_levels(cells, {"pay": level_domain(Level("pay", ("5",)), pay, None)})
    >>> found.domain("pay").labels(), found.counts.tolist()
    (['below 5', '5 and above'], [2, 1])
    """
    return _coarse(cells, levels)[0]


def _coarse(cells: Cells, levels: LevelDomains) -> tuple[Cells, Codes]:
    """Return cells at levels, and the cell that each one becomes part of."""
    domains = tuple(levels.get(domain.column, domain) for domain in cells.domains)
    codes = cells.codes.astype(np.int64)
    for place, domain in enumerate(domains):
        if domain.column in levels:
            codes[:, place] = levels[domain.column].level_of[codes[:, place]]
    return Cells(domains, codes, cells.counts).select_with_inverse(cells.columns)


def rows_at_levels(rows: Rows, levels: LevelDomains) -> Rows:
    """Return rows with levels in the place of values."""
    codes, domains = rows.codes.copy(), list(rows.domains)
    for place, column in enumerate(rows.columns):
        if column in levels:
            domains[place] = levels[column]
            codes[:, place] = levels[column].level_of[codes[:, place]]
    return replace(rows, domains=tuple(domains), codes=codes)


def buckets_at_levels(buckets: Buckets, levels: LevelDomain) -> Buckets:
    """Return how often each level occurs in each bucket."""
    return Buckets.of_pairs(buckets.bucket, levels.level_of[buckets.value], levels, buckets.count)


def sliced_at_levels(sliced: Sliced, levels: LevelDomains) -> Sliced:
    """Return a sliced release in which columns have levels in the place of values."""
    columns = []
    for column in sliced.columns:
        if not levels.keys() & set(column.attributes):
            columns.append(column)
            continue
        values, value = _coarse(column.values, levels)
        sizes = (sliced.n_buckets, values.n_cells)
        pairs = count_pairs(column.bucket, value[column.value], sizes, column.count)
        columns.append(SlicedColumn(values, *pairs))
    return Sliced(sliced.layout, tuple(columns), sliced.sizes)


def published_at_levels(published: Published, levels: LevelDomains) -> Published:
    """Return the counts of a release with levels in the place of sensitive values."""
    buckets, sliced = published.buckets, published.sliced
    if buckets is not None and buckets.domain.column in levels:
        buckets = buckets_at_levels(buckets, levels[buckets.domain.column])
    if sliced is not None and levels:
        sliced = sliced_at_levels(sliced, levels)
    return replace(published, buckets=buckets, sliced=sliced)


def domains_of_levels(
    levels: Iterable[Level], domains: Iterable[Domain], trees: Mapping[str, Tree]
) -> dict[str, LevelDomain]:
    """Return the levels over the values of their columns, as far as these are among `domains`."""
    values = {domain.column: domain for domain in domains}
    return {
        one.column: level_domain(one, values[one.column], trees.get(one.column))
        for one in levels
        if one.column in values
    }


class LevelledTable:
    """A table whose sensitive columns have levels in the place of values; it is a `Table`."""

    def __init__(self, table: Table, levels: Iterable[Level]) -> None:
        self._table = table
        levels = tuple(levels)
        own = domains_of_levels(levels, table.domains.values(), table.trees)
        self._own = own
        self.domains: Mapping[str, Domain] = {**table.domains, **own}
        # A hierarchy over values says nothing about intervals.
        trees = {column: tree for column, tree in table.trees.items() if column not in own}
        for one in levels:
            if one.node_level is not None and one.column in own:
                tree = table.trees[one.column]
                trees[one.column] = tree_of_levels(tree, one.node_level, own[one.column])
        self.trees: Mapping[str, Tree] = trees
        self.levels: tuple[Level, ...] = ()

    @property
    def schema(self) -> Schema:
        """The roles, types and hierarchies of the columns."""
        return self._table.schema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._table.n_rows

    def counts(self, columns: Sequence[str]) -> Cells:
        """Count the distinct cells of some columns, at levels."""
        counted = self._table.counts(columns)
        own = {column: one for column, one in self._own.items() if column in columns}
        if not own:
            return counted
        if tuple(columns) == tuple(own):
            # A single column has one cell per code, also of a level in which nobody is.
            (levels,) = own.values()
            n_rows = total_by(levels.level_of[counted.codes[:, 0]], counted.counts, levels.size)
            codes = np.arange(levels.size, dtype=np.int64)[:, np.newaxis]
            return Cells((levels,), codes, n_rows)
        return cells_at_levels(counted, own)

    def rows(self, columns: Sequence[str], cap: int) -> Mapping[str, Texts]:
        """Return the texts of some columns row by row; more than `cap` rows are refused."""
        read = dict(self._table.rows(columns, cap))
        coded = self.row_codes(cap)
        for column in self._own.keys() & set(columns):
            labels = np.array([*self.domains[column].labels(), None], dtype=object)[:-1]
            read[column] = labels[coded.codes[:, coded.columns.index(column)]]
        return read

    def row_codes(self, cap: int) -> Rows:
        """Return the codes of all coded columns row by row; more than `cap` rows are refused."""
        return rows_at_levels(self._table.row_codes(cap), self._own)

    def marked(self, cells: PrivateCells, cap: int) -> Flags:
        """Mark the private cells: one line per row of `row_codes`, in the same order."""
        return self._table.marked(cells, cap)


def at_levels(table: Table, levels: Sequence[Level]) -> Table:
    """Return a table with some columns at levels."""
    return LevelledTable(table, levels) if levels else table


def protected(table: Table) -> Table:
    """Return a table with its sensitive columns at the levels at which they are protected."""
    return at_levels(table, table.levels)
