"""The rows that agree in some columns, column by column: what is alone, and what follows from it.

A search over combinations of columns asks the same table thousands of questions. So every column is
coded once, the rows that agree in a combination are grouped once, and further columns split the
groups. A row that is alone stays alone, whatever is added, so it is left out. These are the
stripped partitions of [TANE].

References
----------
[TANE] Y. Huhtala, J. Kärkkäinen, P. Porkka, H. Toivonen, "TANE: An efficient algorithm for
discovering functional and approximate dependencies", Comput. J. 42(2), 1999, Section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Counts, Small
from shoal.core.cells import Cells, total_by
from shoal.locating import _kernels


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumns:
    """The columns of a table as codes from 0, and the number of people of each row."""

    codes: Mapping[str, Small]
    # The number of values of each column; every code is below it.
    n_values: Mapping[str, int]
    weights: Counts

    @classmethod
    def of_cells(cls, cells: Cells) -> CodedColumns:
        """Return the columns of cells, each of which is one row."""
        codes = {
            name: np.ascontiguousarray(cells.column(name), dtype=np.int32) for name in cells.columns
        }
        return cls(codes, {name: cells.domain(name).size for name in codes}, cells.counts)

    @classmethod
    def of_rows(cls, codes: Mapping[str, Small], n_rows: int) -> CodedColumns:
        """Return columns in which every row is one person.

        Examples
        --------
        >>> CodedColumns.of_rows({"sex": np.array([0, 1, 1], dtype=np.int32)}, 3)
        CodedColumns(3 rows, 1 columns)
        """
        n_values = {name: int(column.max(initial=-1)) + 1 for name, column in codes.items()}
        return cls(codes, n_values, np.ones(n_rows, dtype=np.int64))

    def select(self, columns: Sequence[str]) -> CodedColumns:
        """Keep some columns, in the order given."""
        codes = {name: self.codes[name] for name in columns}
        return CodedColumns(codes, {name: self.n_values[name] for name in columns}, self.weights)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.weights)

    @cached_property
    def n_people(self) -> int:
        """The number of people."""
        return int(self.weights.sum())

    def group(self, columns: Iterable[str]) -> RowGroups:
        """Group the rows that agree in some columns."""
        found = self._whole
        for column in columns:
            found = found.split(column)
        return found

    @cached_property
    def _whole(self) -> RowGroups:
        n_rows = self.n_rows
        rows = np.arange(n_rows if self.n_people > 1 else 0, dtype=np.int32)
        return RowGroups(self, np.array([0, len(rows)], dtype=np.int32), rows)

    def __repr__(self) -> str:
        return f"CodedColumns({self.n_rows} rows, {len(self.codes)} columns)"


@dataclass(frozen=True, eq=False, repr=False)
class RowGroups:
    """The rows that agree in some columns, without those that are alone.

    Group g consists of ``rows[starts[g]:starts[g + 1]]``.

    Examples
    --------
    >>> table = CodedColumns.of_rows({"sex": np.array([0, 1, 1, 0, 1], dtype=np.int32),
    ...     "age": np.array([3, 0, 1, 3, 1], dtype=np.int32)}, 5)
    >>> table.group(["sex"])
    RowGroups(2 groups, 0 of 5 people alone)
    >>> table.group(["sex", "age"])
    RowGroups(2 groups, 1 of 5 people alone)
    """

    table: CodedColumns
    starts: Small
    rows: Small

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    @cached_property
    def n_shared(self) -> int:
        """The number of people in groups."""
        return int(self.table.weights[self.rows].sum())

    @property
    def n_alone(self) -> int:
        """The number of people who are alone."""
        return self.table.n_people - self.n_shared

    def split(self, column: str) -> RowGroups:
        """Split the groups by the values of one more column."""
        table, n_values = self.table, self.table.n_values[column]
        starts = np.empty(len(self.rows) + 1, dtype=np.int32)
        rows = np.empty(len(self.rows), dtype=np.int32)
        n_groups = _kernels.split(
            self.n_groups,
            self.starts,
            self.rows,
            table.codes[column],
            table.weights,
            np.zeros(n_values, dtype=np.int32),
            np.zeros(n_values, dtype=np.int64),
            np.empty(n_values, dtype=np.int32),
            starts,
            rows,
        )
        return RowGroups(table, starts[: n_groups + 1].copy(), rows[: starts[n_groups]].copy())

    def count_alone_with(self, column: str) -> int:
        """Return the number of people who are alone once a column is added."""
        table = self.table
        seen = np.zeros(table.n_values[column], dtype=np.int64)
        return self.n_alone + _kernels.count_alone(
            self.n_groups, self.starts, self.rows, table.codes[column], table.weights, seen
        )

    def count_right(self, column: str, most_wrong: int) -> int | None:
        """Return for how many people in groups the most frequent value of their group is right.

        None if it is wrong for more than `most_wrong` people.
        """
        table = self.table
        n_with = np.zeros(table.n_values[column], dtype=np.int64)
        found = _kernels.count_right(
            self.n_groups,
            self.starts,
            self.rows,
            table.codes[column],
            table.weights,
            most_wrong,
            n_with,
        )
        return None if found < 0 else found

    def count_usual(self, column: str) -> int:
        """Return how many people in groups have the value that is the most frequent of theirs."""
        table = self.table
        values = table.codes[column][self.rows].astype(np.int64)
        totals = total_by(values, table.weights[self.rows], table.n_values[column])
        return int(totals.max(initial=0))

    def __repr__(self) -> str:
        return (
            f"RowGroups({self.n_groups} groups, {self.n_alone} of {self.table.n_people} people "
            "alone)"
        )
