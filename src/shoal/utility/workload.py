"""Many queries about a release, answered together.

A query asks for the rows whose attributes lie in chosen sets of values. Queries about the same
attributes are drawn together and answered together (`shoal.utility.answers`).

References
----------
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 6
for how queries are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Flags
from shoal.core.cells import Cells, group

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


def _chunks(n_queries: int, n_entries: int) -> Iterator[slice]:
    step = max(1, _MOST_NUMBERS // max(n_entries, 1))
    for first in range(0, n_queries, step):
        yield slice(first, min(first + step, n_queries))
