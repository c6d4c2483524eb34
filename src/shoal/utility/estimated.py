"""The table as an analyst estimates it from a release of any shape.

A label that stands for several values is divided evenly among them; a suppressed cell is divided as
the visible cells of its column are distributed. Columns that are not linked are linked at random
within their buckets. The result is an expected number of rows for every combination of the table's
values.

References
----------
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 3
for the estimates from buckets, and from labels that are divided evenly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from shoal.core.arrays import Codes, Floats, Integers
from shoal.core.cells import Cells, group
from shoal.core.domain import SUPPRESSED, Domain, NumberedDomain, Role
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.release import Published
from shoal.core.sharing import once
from shoal.core.table import HIDDEN, Rows
from shoal.locating.location import labels_of_values, named_pairs
from shoal.utility.estimates import expected_table
from shoal.utility.linked import (
    Linked,
    LinkedColumn,
    columns_for,
    columns_of,
    draw_linking,
    is_evenly_shared,
)

_MOST_WEIGHED = 1 << 20
"""The most numbers that are weighed at once; more are left to a sparse matrix."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each value of an attribute, and the number of groups."""

    group: Codes
    n_groups: int

    @property
    def is_identity(self) -> bool:
        """Whether group i holds value i alone."""
        return np.array_equal(self.group, np.arange(self.n_groups))

    @classmethod
    def of_values(cls, domain: Domain, counts: Floats, n_most: int) -> Grouping:
        """Keep values as they are if they are few; otherwise put them into `n_most` groups.

        Values with an order are cut into runs of about equally many rows; of others the most
        frequent ones stay, and the rest become one group.

        Examples
        --------
        >>> sex = Domain.of_texts("sex", ["D", "F", "M"])
        >>> Grouping.of_values(sex, np.array([1.0, 5.0, 4.0]), 2).group.tolist()
        [1, 0, 1]
        """
        if domain.size <= n_most:
            return cls(np.arange(domain.size), domain.size)
        if domain.type.has_order:
            middle = np.cumsum(counts) - counts / 2
            run = np.floor(middle / max(counts.sum(), 1) * n_most).astype(np.int64)
            return cls(np.minimum(run, n_most - 1), n_most)
        rank = np.empty(domain.size, dtype=np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(domain.size)
        return cls(np.minimum(rank, n_most - 1), n_most)


@dataclass(frozen=True, eq=False)
class Shares:
    """How each published label of an attribute is divided among the table's values.

    An entry says that a row with this label counts for this value by this share.
    """

    label: Codes
    value: Codes
    share: Floats
    n_labels: int
    n_values: int

    @classmethod
    def evenly(cls, labels: Domain, meanings: Mapping[str, Meaning], values: Domain) -> Shares:
        """Divide every label evenly among the values that it stands for."""
        if not meanings and SUPPRESSED not in labels.texts:
            value, label = named_pairs(labels, meanings, values)
        else:
            start, label = labels_of_values(labels, meanings, values)
            value = np.repeat(np.arange(values.size), np.diff(start))
        n_values = np.bincount(label, minlength=labels.size)
        return cls(label, value, 1 / n_values[label], labels.size, values.size)

    @classmethod
    def of_values(cls, n_values: int) -> Shares:
        """Return the shares of labels that are the values themselves.

        Examples
        --------
        >>> Shares.of_values(2).only_value.tolist()
        [0, 1]
        """
        each = np.arange(n_values)
        return cls(each, each, np.ones(n_values), n_values, n_values)

    def with_hidden(self, n_rows: Floats) -> Shares:
        """Add a last label for suppressed cells, divided as the rows of the other labels are."""
        shown = self.weigh_values(n_rows)
        if not shown.any():
            # Every cell is suppressed: all values are equally likely.
            shown = np.ones(self.n_values)
        there = np.flatnonzero(shown)
        return Shares(
            np.concatenate([self.label, np.full(len(there), self.n_labels)]),
            np.concatenate([self.value, there]),
            np.concatenate([self.share, shown[there] / shown.sum()]),
            self.n_labels + 1,
            self.n_values,
        )

    @cached_property
    def _by_label(self) -> tuple[Codes, Codes]:
        """The entries in the order of labels, and where each label begins and the last one ends."""
        ends = np.cumsum(np.bincount(self.label, minlength=self.n_labels))
        return np.argsort(self.label, kind="stable"), np.concatenate([[0], ends])

    @cached_property
    def matrix(self) -> Any:
        """The shares as a sparse matrix: one row per label, one column per value."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - it takes long to import

        order, starts = self._by_label
        entries = (self.share[order], self.value[order], starts)
        return csr_array(entries, shape=(self.n_labels, self.n_values))

    @cached_property
    def only_value(self) -> Codes | None:
        """The value of each label if every label stands for exactly one."""
        if not np.array_equal(
            np.bincount(self.label, minlength=self.n_labels), np.ones(self.n_labels)
        ):
            return None
        order, _ = self._by_label
        return self.value[order] if (self.share == 1).all() else None

    @cached_property
    def is_identity(self) -> bool:
        """Whether label i stands for value i alone."""
        only = self.only_value
        return (
            self.n_labels == self.n_values
            and only is not None
            and bool((only == np.arange(self.n_values)).all())
        )

    @cached_property
    def _runs(self) -> tuple[Codes, Codes] | None:
        """The first value of each label and the one after the last.

        None if some label stands for values that do not follow each other, or not evenly.
        """
        order, starts = self._by_label
        value, n_values = self.value[order], np.diff(starts)
        if not np.array_equal(self.share[order], np.repeat(1 / np.maximum(n_values, 1), n_values)):
            return None
        low = np.zeros(self.n_labels, dtype=np.int64)
        low[n_values > 0] = value[starts[:-1][n_values > 0]]
        within = np.arange(len(value)) - np.repeat(starts[:-1], n_values)
        in_order = np.array_equal(value, np.repeat(low, n_values) + within)
        return (low, low + n_values) if in_order else None

    def mean(self, of_value: Floats) -> Floats:
        """Return the mean of numbers over the values of each label; 0 if it stands for none.

        `of_value` has one row per value, and any number of columns.
        """
        if self.only_value is not None:
            return of_value[self.only_value]
        if self._runs is None or len(self.value) <= self.n_labels + self.n_values:
            return self._mean_of_few(of_value)
        # Long labels of many values overlap: what is added up once serves all of them.
        low, high = self._runs
        reached = np.zeros((self.n_values + 1, *of_value.shape[1:]))
        np.cumsum(of_value, axis=0, out=reached[1:])
        n_values = np.maximum(high - low, 1).reshape(-1, *(1 for _ in of_value.shape[1:]))
        mean: Floats = (reached[high] - reached[low]) / n_values
        return mean

    def _mean_of_few(self, of_value: Floats) -> Floats:
        """Return the mean by going through all entries."""
        if len(self.value) * (of_value.size // max(len(of_value), 1)) > _MOST_WEIGHED:
            return np.asarray(self.matrix @ of_value, dtype=np.float64)
        order, starts = self._by_label
        share = self.share[order].reshape(-1, *(1 for _ in of_value.shape[1:]))
        is_named = starts[:-1] < starts[1:]
        mean = np.zeros((self.n_labels, *of_value.shape[1:]))
        if is_named.any():
            weighed = share * of_value[self.value[order]]
            mean[is_named] = np.add.reduceat(weighed, starts[:-1][is_named], axis=0)
        return mean

    def weigh_values(self, of_label: Floats) -> Floats:
        """Divide a number for each label among the values."""
        weights = of_label[self.label] * self.share
        return np.bincount(self.value, weights, self.n_values).astype(np.float64, copy=False)

    def weigh_labels(self, of_value: Floats) -> Floats:
        """Return the mean of a number over the values of each label."""
        weights = of_value[self.value] * self.share
        return np.bincount(self.label, weights, self.n_labels).astype(np.float64, copy=False)

    def draw(self, labels: Codes, generator: np.random.Generator) -> Codes:
        """Draw a value for each of some labels; -1 if a label stands for none."""
        order, starts = self._by_label
        reached = np.concatenate([[0.0], np.cumsum(self.share[order])])
        first, last = starts[labels], starts[labels + 1]
        low, high = reached[first], reached[last]
        drawn = np.searchsorted(
            reached, low + generator.random(len(labels)) * (high - low), "right"
        )
        # Rounding must not lead to the next label.
        place = np.clip(drawn - 1, first, last - 1)
        return np.where(last > first, np.append(self.value[order], -1)[place], -1)

    def by_group(self, grouping: Grouping) -> Floats:
        """Return the share of each group in each label, one row per label."""
        shares = np.zeros((self.n_labels, grouping.n_groups))
        np.add.at(shares, (self.label, grouping.group[self.value]), self.share)
        return shares


class Estimated:
    """The table as expected from a release.

    Only the values of `truth`, the counts of the table, are used here, not their frequencies.
    """

    def __init__(self, published: Published, truth: Cells) -> None:
        self.published = published
        self.truth = truth
        rows = published.rows
        self.columns = columns_of(published) if rows is None else (_column_of_rows(rows),)
        held = dict.fromkeys(name for column in self.columns for name in column.attributes)
        # In the table's order, so that models of the table are the same for every release.
        self.attributes = tuple(name for name in truth.columns if name in held)
        lacking = [name for name in held if name not in truth.columns]
        if lacking:
            raise ParameterError(
                f"The table's counts lack columns of the release: {', '.join(lacking)}.",
                hint="count all columns that the release holds.",
            )
        if self.n_rows > truth.n_rows:
            raise ParameterError(
                f"The release has {self.n_rows} rows, more than the {truth.n_rows} of the table.",
                hint="count all rows of the table that the release was made from.",
            )
        self._linked: dict[tuple[int, ...], Linked] = {}

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of the release."""
        return int(self.columns[0].count.sum())

    @cached_property
    def shares(self) -> Mapping[str, Shares]:
        """The division of labels among values, by attribute."""
        return {name: self._shares_of(name) for name in self.attributes}

    def _shares_of(self, name: str) -> Shares:
        rows, meanings = self.published.rows, self.published.meanings.get(name, {})
        values = self.truth.domain(name)
        if rows is None:
            return Shares.evenly(self.labels(name), meanings, values)
        place = rows.columns.index(name)
        labels, codes = rows.domains[place], rows.codes[:, place]
        shown = np.bincount(codes[codes != HIDDEN], minlength=labels.size).astype(np.float64)
        return Shares.evenly(labels, meanings, values).with_hidden(shown)

    def labels(self, name: str) -> Domain:
        """Return the published labels of an attribute."""
        column = next(column for column in self.columns if name in column.attributes)
        return column.domains[column.attributes.index(name)]

    def n_rows_of_labels(self, name: str) -> Floats:
        """Count the rows that carry each label of an attribute."""
        column = next(column for column in self.columns if name in column.attributes)
        size = self.shares[name].n_labels
        return np.bincount(column.code_of(name), column.count, size).astype(np.float64)

    def linked(self, attributes: Sequence[str]) -> Linked:
        """Link the columns that a query about some attributes needs; links are cached."""
        held = [column.attributes for column in self.columns]
        places = columns_for(held, attributes)
        if places not in self._linked:
            chosen = [self.columns[place] for place in places]
            if not is_evenly_shared([column.attributes for column in chosen]):
                # Columns that overlap in part are linked as if they did not overlap.
                chosen = _without_repeats(chosen)
            self._linked[places] = Linked.of_columns(chosen)
        return self._linked[places]

    def sample(self, generator: np.random.Generator) -> Codes:
        """Draw a table: columns linked at random, and a value for each label.

        Returns one row of codes per row of the release, one column per attribute, in lexicographic
        order; rows with a label that stands for no value of the table are left out.
        """
        rows = draw_linking(self.columns, generator)
        drawn = np.empty((rows.n_rows, len(self.attributes)), dtype=np.int64)
        for place, name in enumerate(self.attributes):
            labels = rows.codes[:, rows.columns.index(name)].astype(np.int64)
            drawn[:, place] = self.shares[name].draw(labels, generator)
        drawn = drawn[(drawn >= 0).all(axis=1)]
        return drawn[np.lexsort(drawn.T[::-1])]

    def table(self, attributes: Sequence[str], groupings: Mapping[str, Grouping]) -> Floats:
        """Return the expected rows of every combination of groups, one axis per attribute."""
        linked = self.linked(attributes)
        kinds = {}
        for name in attributes:
            if self.shares[name].is_identity and groupings[name].is_identity:
                continue
            by_group = self.shares[name].by_group(groupings[name])
            # Labels with the same shares of groups are merged, which makes the table smaller.
            kinds[name] = np.unique(by_group, axis=0, return_inverse=True)
        columns = tuple(_recoded(column, attributes, kinds) for column in linked.columns)
        table, _ = expected_table(Linked(columns, linked.sizes), attributes, {})
        for axis, name in enumerate(attributes):
            if name in kinds:
                table = np.moveaxis(np.tensordot(table, kinds[name][0], axes=(axis, 0)), -1, axis)
        return table

    def true_table(self, attributes: Sequence[str], groupings: Mapping[str, Grouping]) -> Floats:
        """Count the table's rows of every combination of groups of values."""
        chosen = tuple(groupings[name] for name in attributes)
        count = partial(self._true_table, attributes, groupings)
        return once((self.truth, *chosen), ("table", *attributes), count)

    def _true_table(self, attributes: Sequence[str], groupings: Mapping[str, Grouping]) -> Floats:
        key = np.zeros(self.truth.n_cells, dtype=np.int64)
        shape = tuple(groupings[name].n_groups for name in attributes)
        for name, size in zip(attributes, shape, strict=True):
            key = key * size + groupings[name].group[self.truth.column(name)]
        counted = np.bincount(key, self.truth.counts, int(np.prod(shape)))
        return counted.astype(np.float64).reshape(shape)


def sensitive_of(published: Published) -> tuple[str, ...]:
    """Return the sensitive attributes of a release."""
    counted = tuple(domain.column for domain in published.sensitive)
    # Several sensitive columns of a suppressed release are not counted by bucket.
    is_by_row = not counted and published.manifest.shape.hides_cells
    return published.manifest.columns_of(Role.SENSITIVE) if is_by_row else counted


def _column_of_rows(rows: Rows) -> LinkedColumn:
    """Read a suppressed release: one bucket whose cells are linked, `HIDDEN` the last label."""
    sizes = [domain.size + 1 for domain in rows.domains]
    codes = np.where(rows.codes == HIDDEN, np.array(sizes) - 1, rows.codes).astype(np.int64)
    first, inverse = group([codes[:, place] for place in range(len(sizes))], sizes, rows.n_rows)
    domains = tuple(
        NumberedDomain(domain.column, np.arange(size, dtype=np.int64))
        for domain, size in zip(rows.domains, sizes, strict=True)
    )
    counts = np.bincount(inverse, minlength=len(first)).astype(np.int64)
    return LinkedColumn(domains, np.zeros(len(first), dtype=np.int64), codes[first], counts)


def _without_repeats(columns: Sequence[LinkedColumn]) -> list[LinkedColumn]:
    """Keep every attribute in the first column that holds it."""
    seen: set[str] = set()
    kept = []
    for column in columns:
        own = [name for name in column.attributes if name not in seen]
        seen.update(own)
        if own:
            kept.append(column.keep(own))
    return kept


def _recoded(
    column: LinkedColumn,
    attributes: Sequence[str],
    kinds: Mapping[str, tuple[Floats, Integers]],
) -> LinkedColumn:
    """Keep some attributes; labels of those of `kinds` are replaced by kinds of labels."""
    kept = column.keep([name for name in column.attributes if name in attributes])
    domains, codes = list(kept.domains), kept.codes.copy()
    for place, name in enumerate(kept.attributes):
        if name in kinds:
            domains[place] = NumberedDomain(name, np.arange(len(kinds[name][0]), dtype=np.int64))
            codes[:, place] = kinds[name][1].reshape(-1)[codes[:, place]]
    return LinkedColumn(tuple(domains), kept.bucket, codes, kept.count)
