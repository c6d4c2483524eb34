"""Many queries about a release, answered together.

A query asks for the rows whose attributes lie in chosen sets of values. All queries about the same
attributes are answered at once: every entry of a column counts by the share of it that a query
chooses, and columns are multiplied, bucket by bucket, as random linking requires. For one or two
columns the buckets are added up beforehand.

References
----------
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 6
for how queries are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, diags_array

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells, group, total_by
from shoal.utility.estimated import Estimated
from shoal.utility.linked import Linked, LinkedColumn

_PAIR = 2
_MOST_NUMBERS = 1 << 21
"""The most numbers that are held at a time, one per entry and query."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries about the same attributes.

    `marks` are the values that each query chooses, by attribute: one row per value, one column per
    query.
    """

    marks: Mapping[str, Flags]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the queries are about."""
        return tuple(self.marks)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return int(next(iter(self.marks.values())).shape[1])

    def weights(self, worth: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the weight of each value in each query.

        `worth` is the worth of a row by attribute and value. Attributes without it count 1 per row.
        """
        found = {name: marks.astype(np.float64) for name, marks in self.marks.items()}
        for name, numbers in worth.items():
            chosen = found.get(name, np.ones((len(numbers), self.n_queries)))
            found[name] = chosen * numbers[:, np.newaxis]
        return found


def draw_workloads(
    truth: Cells,
    quasi: Sequence[str],
    always: Sequence[str],
    dimension: int,
    selectivity: float,
    number: int,
    generator: np.random.Generator,
) -> list[Workload]:
    """Draw `number` queries, gathered by the attributes that they are about.

    Every query is about the attributes of `always` and `dimension` random ones of `quasi` (all if
    there are fewer). `selectivity` is the share of rows that a query would choose if all values
    were equally frequent and attributes independent. Only the values of the table are used.
    """
    dimension = min(dimension, len(quasi))
    drawn = np.argsort(generator.random((number, len(quasi))), axis=1)[:, :dimension]
    ordered = [np.sort(drawn, axis=1)[:, place] for place in range(dimension)]
    first, of_query = group(ordered, [len(quasi)] * dimension, number)
    chosen = np.sort(drawn, axis=1)[first]
    n_queries = np.bincount(of_query, minlength=len(chosen))
    share = selectivity ** (1 / max(dimension + len(always), 1))
    workloads = []
    for places, n_here in zip(chosen, n_queries.tolist(), strict=True):
        names = [*(quasi[place] for place in places), *always]
        largest = max((truth.domain(name).size for name in names), default=0)
        for queries in _chunks(n_here if names else 0, largest):
            marks = {}
            for name in names:
                size = truth.domain(name).size
                # [Li08] VI-D draws sizes from 0 on, which leaves many predicates empty.
                n_chosen = min(size, math.ceil(size * share))
                drawn_ranks = generator.random((size, queries.stop - queries.start))
                marks[name] = np.argsort(drawn_ranks, axis=0) < n_chosen
            workloads.append(Workload(marks))
    return workloads


def answer(estimated: Estimated, workload: Workload, worth: Mapping[str, Floats]) -> Floats:
    """Answer queries from a release: the expected worth of all rows that each chooses."""
    weights = workload.weights(worth)
    linked = estimated.linked(list(weights))
    # The weight of a label in a query is the mean weight of the values that it stands for.
    by_label = {
        name: np.asarray(estimated.shares[name].matrix @ of_value, dtype=np.float64)
        for name, of_value in weights.items()
    }
    return _answer_linked(linked, by_label, workload.n_queries)


def answer_truly(truth: Cells, workload: Workload, worth: Mapping[str, Floats]) -> Floats:
    """Answer queries from the table."""
    weights = workload.weights(worth)
    cells = truth.select(list(weights))
    column = LinkedColumn(
        cells.domains, np.zeros(cells.n_cells, dtype=np.int64), cells.codes, cells.counts
    )
    return _answer_linked(Linked.of_columns([column]), weights, workload.n_queries)


def _answer_linked(linked: Linked, by_label: Mapping[str, Floats], n_queries: int) -> Floats:
    if not linked.n_buckets:
        return np.zeros(n_queries)
    columns = [
        _Entries.of(column, names)
        for column in linked.columns
        for names in [[name for name in column.attributes if name in by_label]]
        if names
    ]
    pair = _Pair.of(columns, linked.sizes) if len(columns) <= _PAIR else None
    n_longest = max(linked.n_buckets, *(len(column.count) for column in columns))
    total = np.empty(n_queries)
    for queries in _chunks(n_queries, n_longest if pair is None else pair.n_combinations):
        if pair is None:
            total[queries] = _add_up_buckets(columns, linked.sizes, by_label, queries)
        else:
            total[queries] = pair.add_up(by_label, queries)
    return total


def _add_up_buckets(
    columns: Sequence[_Entries], sizes: Counts, by_label: Mapping[str, Floats], queries: slice
) -> Floats:
    """Answer queries about any number of columns, bucket by bucket.

    The sum of products over the rows of a bucket of n is, on average, n times the product of the
    columns' means.
    """
    product = sizes[:, np.newaxis].astype(np.float64)
    for column in columns:
        product = product * (column.add_up(by_label, queries) / sizes[:, np.newaxis])
    total: Floats = product.sum(axis=0)
    return total


def _chunks(n_queries: int, n_entries: int) -> Iterator[slice]:
    step = max(1, _MOST_NUMBERS // max(n_entries, 1))
    for first in range(0, n_queries, step):
        yield slice(first, min(first + step, n_queries))


@dataclass(frozen=True, eq=False)
class _Pair:
    """The expected rows of every combination of one column with every one of another.

    There are far fewer distinct combinations than entries of buckets, so most of the work is done
    once for all queries about the same attributes.
    """

    first: _Entries
    second: _Entries
    expected: Any

    @classmethod
    def of(cls, columns: Sequence[_Entries], sizes: Counts) -> _Pair:
        first, second = columns[0], columns[-1]
        one, one_counts = first.merged(len(sizes))
        if len(columns) < _PAIR:
            total = np.asarray(one_counts.sum(axis=0)).reshape(-1)
            return cls(one, one, diags_array(total, format="csr"))
        other, other_counts = second.merged(len(sizes))
        scaled = diags_array(1 / sizes) @ other_counts
        return cls(one, other, (one_counts.T @ scaled).tocsr())

    @property
    def n_combinations(self) -> int:
        """The number of combinations of the longer column."""
        return max(len(self.first.count), len(self.second.count))

    def add_up(self, by_label: Mapping[str, Floats], queries: slice) -> Floats:
        worth = self.first.worth(by_label, queries)
        if self.second is self.first:
            return np.asarray(self.expected.diagonal() @ worth, dtype=np.float64)
        worth *= self.expected @ self.second.worth(by_label, queries)
        total: Floats = worth.sum(axis=0)
        return total


@dataclass(frozen=True, eq=False)
class _Entries:
    """The distinct entries of a column by some of its attributes, sorted by bucket."""

    codes: Mapping[str, Codes]
    count: Counts
    starts: Codes

    @classmethod
    def of(cls, column: LinkedColumn, names: Sequence[str]) -> _Entries:
        codes = [column.code_of(name) for name in names]
        sizes = [int(code.max(initial=0)) + 1 for code in codes]
        n_buckets = int(column.bucket.max(initial=-1)) + 1
        keys, key_sizes = [column.bucket, *codes], [n_buckets, *sizes]
        first, inverse = group(keys, key_sizes, len(column.count))
        count = total_by(inverse, column.count, len(first))
        kept = {name: code[first] for name, code in zip(names, codes, strict=True)}
        starts = np.flatnonzero(np.diff(column.bucket[first], prepend=-1))
        return cls(kept, count, starts)

    def merged(self, n_buckets: int) -> tuple[_Entries, Any]:
        """Merge the entries of all buckets, and count them by bucket and combination."""
        codes = list(self.codes.values())
        sizes = [int(code.max(initial=0)) + 1 for code in codes]
        first, inverse = group(codes, sizes, len(self.count))
        n_entries = np.diff(np.append(self.starts, len(self.count)))
        bucket = np.repeat(np.arange(len(self.starts)), n_entries)
        shape = (n_buckets, len(first))
        counts = coo_array((self.count.astype(np.float64), (bucket, inverse)), shape=shape).tocsr()
        kept = {name: code[first] for name, code in self.codes.items()}
        total = np.bincount(inverse, self.count, len(first)).astype(np.int64)
        return _Entries(kept, total, np.zeros(1, dtype=np.int64)), counts

    def worth(self, by_label: Mapping[str, Floats], queries: slice) -> Floats:
        """Return the worth of a row of each entry, one column per query."""
        worth: Floats | None = None
        for name, codes in self.codes.items():
            part = by_label[name][:, queries][codes]
            worth = part if worth is None else np.multiply(worth, part, out=worth)
        assert worth is not None
        return worth

    def add_up(self, by_label: Mapping[str, Floats], queries: slice) -> Floats:
        """Return the total worth of the entries of each bucket, one column per query."""
        worth = self.worth(by_label, queries)
        worth *= self.count[:, np.newaxis]
        added: Floats = np.add.reduceat(worth, self.starts, axis=0)
        return added
