"""The answers to many queries: counts and sums in one pass over a release, or over the table.

Every entry of a column counts by the share of it that a query chooses, and columns are multiplied,
bucket by bucket, as random linking requires. While an entry is counted, its worths are added up as
well, so sums and averages of all numeric attributes cost hardly more than the count.

References
----------
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 3
for the estimates from buckets, and from labels that are divided evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats
from shoal.core.cells import Cells
from shoal.utility._kernels import Adder
from shoal.utility.estimated import Estimated, Shares
from shoal.utility.linked import Linked, LinkedColumn
from shoal.utility.workload import Workload

_WORD = 64
"""The queries that are answered at a time: one bit each."""


@dataclass(frozen=True, eq=False)
class Worth:
    """A number for each value of an attribute, to be added up over the rows that a query chooses.

    Examples
    --------
    >>> Worth("age", np.array([20.0, 30.0])).attribute
    'age'
    """

    attribute: str
    of_value: Floats


def answer(estimated: Estimated, workloads: Sequence[Workload], worths: Sequence[Worth]) -> Floats:
    """Answer queries from a release.

    Returns one line per query: the expected number of rows that it chooses, and their expected
    total worth for each of `worths`. Expectations are over all linkings, with labels divided evenly
    among their values.
    """
    held = [name for column in estimated.columns for name in column.attributes]
    if len(set(held)) == len(held):
        # Columns without common attributes are linked alike, whatever a query is about.
        whole = estimated.linked(held)
        return _Answering(estimated.shares, lambda _: whole, worths).answer(workloads)
    return _Answering(estimated.shares, estimated.linked, worths).answer(workloads)


def answer_truly(truth: Cells, workloads: Sequence[Workload], worths: Sequence[Worth]) -> Floats:
    """Answer queries from the table, with the same lines as `answer`."""
    in_one = np.zeros(truth.n_cells, dtype=np.int64)
    column = LinkedColumn(truth.domains, in_one, truth.codes, truth.counts)
    linked = Linked.of_columns([column])
    shares = {domain.column: Shares.of_values(domain.size) for domain in truth.domains}
    return _Answering(shares, lambda _: linked, worths).answer(workloads)


@dataclass(frozen=True, eq=False)
class _Answering:
    """What queries are answered from: linked columns, and the shares of values in labels."""

    shares: Mapping[str, Shares]
    link: Callable[[Sequence[str]], Linked]
    worths: Sequence[Worth]

    @cached_property
    def _mean(self) -> list[Floats]:
        """The mean worth of the values of each label."""
        return [self.shares[worth.attribute].mean(worth.of_value) for worth in self.worths]

    @cached_property
    def _is_count(self) -> list[bool]:
        """Whether every row has a worth of 1, which the count answers."""
        return [bool(np.allclose(mean, 1.0, 1e-12, 0)) for mean in self._mean]

    @cached_property
    def _sums(self) -> dict[int, _Sums]:
        """The sums over columns that were linked, by the identity of the link."""
        return {}

    def answer(self, workloads: Sequence[Workload]) -> Floats:
        """Answer queries, one line each."""
        parts = [self._answer(part) for workload in workloads for part in _words(workload)]
        return np.concatenate([np.empty((0, 1 + len(self.worths))), *parts])

    def _answer(self, workload: Workload) -> Floats:
        """Answer queries about the same attributes, at most 64."""
        chosen = {
            name: _Chosen.of(self.shares[name], marks) for name, marks in workload.marks.items()
        }
        out = np.zeros((workload.n_queries, 1 + len(self.worths)))
        for linked, asked in self._links(workload.attributes):
            summed = [place for place in asked if place and not self._is_count[place - 1]]
            found = self._sums_of(linked).add_up(chosen, [place - 1 for place in summed])
            out[:, asked] = found[:, :1]
            out[:, summed] = found[:, 1:]
        return out

    def _links(self, names: Sequence[str]) -> Iterable[tuple[Linked, list[int]]]:
        """Return what to link for the count and each worth, and the places of their answers.

        Columns that share attributes are linked differently when another column is needed.
        """
        found: dict[int, tuple[Linked, list[int]]] = {}
        for place, needed in enumerate(
            [names, *([*names, worth.attribute] for worth in self.worths)]
        ):
            linked = self.link(needed)
            found.setdefault(id(linked), (linked, []))[1].append(place)
        return found.values()

    def _sums_of(self, linked: Linked) -> _Sums:
        if id(linked) not in self._sums:
            added = {
                at: (worth, mean)
                for at, (worth, mean) in enumerate(zip(self.worths, self._mean, strict=True))
                if not self._is_count[at] and worth.attribute in linked.place_of
            }
            self._sums[id(linked)] = _Sums(self.shares, linked, added)
        return self._sums[id(linked)]


def _words(workload: Workload) -> Iterator[Workload]:
    for first in range(0, workload.n_queries, _WORD):
        part = slice(first, first + _WORD)
        yield Workload({name: marks[:, part] for name, marks in workload.marks.items()})


@dataclass(frozen=True, eq=False)
class _Chosen:
    """How much of each label of an attribute is chosen, by up to 64 queries."""

    marks: Flags  # One row per value, one column per query.
    bits: Any  # One word per label: the queries that choose some of it.
    weights: Floats | None  # One row per label, one column per query; None if all are 0 or 1.

    @classmethod
    def of(cls, shares: Shares, marks: Flags) -> _Chosen:
        weights = None
        if shares.only_value is not None:
            some = marks[shares.only_value]
        else:
            weights = shares.mean(marks.astype(np.float64))
            some = weights > 0
        words = np.zeros((len(some), _WORD // 8), dtype=np.uint8)
        packed = np.packbits(some, axis=1, bitorder="little")
        words[:, : packed.shape[1]] = packed
        return cls(marks, words.view("<u8").reshape(-1).astype(np.uint64, copy=False), weights)

    def ratios(self, shares: Shares, worth: Worth) -> Floats:
        """Return the mean worth of the chosen values of each label, one column per query."""
        assert self.weights is not None
        total = shares.mean(self.marks * worth.of_value[:, np.newaxis])
        return np.divide(total, self.weights, out=np.zeros_like(total), where=self.weights > 0)


class _Sums:
    """Sums over linked columns: those of the entries are made once, for all queries.

    `added` are the worths by number, with their means by label.
    """

    def __init__(
        self,
        shares: Mapping[str, Shares],
        linked: Linked,
        added: Mapping[int, tuple[Worth, Floats]],
    ) -> None:
        self.shares = shares
        self.linked = linked
        self.added = added
        # Without another column to link, buckets make no difference.
        sizes = linked.sizes if len(linked.columns) > 1 else linked.sizes.sum(keepdims=True)
        self.sizes = sizes[sizes > 0].astype(np.float64)
        n_entries = [len(column.count) for column in linked.columns]
        self.starts = np.concatenate([[0], np.cumsum(n_entries)])
        self.worths_of = [
            [at for at, (worth, _) in added.items() if linked.place_of[worth.attribute] == place]
            for place in range(len(linked.columns))
        ]
        moments = [
            np.column_stack([np.empty((n_here, 0)), *map(self._of_entry, worths)]).reshape(-1)
            for n_here, worths in zip(n_entries, self.worths_of, strict=True)
        ]
        self.adder = Adder(
            self.sizes,
            self._ends(),
            np.concatenate([column.count for column in linked.columns]).astype(np.float64),
            np.concatenate(moments),
            np.array([len(worths) for worths in self.worths_of], dtype=np.int64),
            np.cumsum([0, *map(len, moments)])[:-1],
        )
        self._totals: dict[int, Floats] = {}

    def _of_entry(self, at: int) -> Floats:
        worth, mean = self.added[at]
        column = self.linked.columns[self.linked.place_of[worth.attribute]]
        return mean[column.code_of(worth.attribute)]

    def _ends(self) -> Codes:
        columns = self.linked.columns
        if len(columns) == 1:
            return np.array([[0, self.starts[1]]])[:, : len(self.sizes) + 1]
        bounds = np.arange(len(self.sizes) + 1)
        return np.stack(
            [
                start + np.searchsorted(column.bucket, bounds)
                for start, column in zip(self.starts[:-1], columns, strict=True)
            ]
        )

    def _total(self, at: int) -> Floats:
        """Return the total worth of the rows of each bucket."""
        if at not in self._totals:
            column = self.linked.columns[self.linked.place_of[self.added[at][0].attribute]]
            worth = column.count * self._of_entry(at)
            total = np.bincount(column.bucket, worth, len(self.sizes))
            self._totals[at] = total.astype(np.float64, copy=False)
        return self._totals[at]

    def add_up(self, chosen: Mapping[str, _Chosen], asked: Sequence[int]) -> Floats:
        """Return the count of each query, and the sums of the worths asked for."""
        names = sorted(chosen, key=self.linked.place_of.__getitem__)
        place_of = [self.linked.place_of[name] for name in names]
        places = sorted(set(place_of))
        n_queries = next(iter(chosen.values())).marks.shape[1]
        first_row = np.cumsum([0, *(len(chosen[name].bits) for name in names)])
        rows = [
            self.linked.columns[place].code_of(name) + first
            for name, place, first in zip(names, place_of, first_row[:-1], strict=True)
        ]
        weights, shifts = _stacked([chosen[name].weights for name in names], n_queries)
        varied = [
            (places.index(place_of[j]), j, at)
            for j, name in enumerate(names)
            for at in asked
            if self.added[at][0].attribute == name and chosen[name].weights is not None
        ]
        ratios, ratio_shifts = _stacked(
            [
                chosen[names[j]].ratios(self.shares[names[j]], self.added[at][0])
                for _, j, at in varied
            ],
            n_queries,
        )
        apart = [
            at for at in asked if self.linked.place_of[self.added[at][0].attribute] not in places
        ]
        answered = [
            answered
            for i, place in enumerate(places)
            for answered in [*self.worths_of[place], *(at for v, _, at in varied if v == i)]
        ] + apart
        out = np.zeros((n_queries, 1 + len(answered)))
        self.adder.add_up(
            np.array(places, dtype=np.int64),
            np.concatenate(rows),
            np.cumsum([0, *map(len, rows)])[:-1] - self.starts[place_of],
            np.searchsorted(place_of, [*places, len(self.linked.columns)]),
            np.concatenate([chosen[name].bits for name in names]),
            weights,
            shifts - first_row[:-1],
            np.array([chosen[name].weights is not None for name in names], dtype=np.uint8),
            np.array(
                [
                    (i, j, shift - first_row[j])
                    for (i, j, _), shift in zip(varied, ratio_shifts, strict=True)
                ],
                dtype=np.int64,
            ).reshape(-1, 3),
            ratios,
            np.column_stack([np.empty((len(self.sizes), 0)), *map(self._total, apart)]),
            out,
        )
        # What varies by query comes after the same worth's moments, and replaces it.
        column = {at: 1 + place for place, at in enumerate(answered)}
        return out[:, [0, *(column[at] for at in asked)]]


def _stacked(tables: Sequence[Floats | None], n_columns: int) -> tuple[Floats, Codes]:
    """Put tables below one another; returns also the first row of each."""
    there = [np.empty((0, n_columns)) if table is None else table for table in tables]
    stacked = np.concatenate([np.empty((0, n_columns)), *there])
    return stacked, np.cumsum([0, *map(len, there)], dtype=np.int64)[:-1]
