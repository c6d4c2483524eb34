"""The steward's table as every layer above the engines sees it, and its rows as codes.

Hiding single cells, and attacking them, works row by row instead of on counts. The caller of such a
function states the largest number of rows that it accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Small, Texts
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.levels import Level
from shoal.core.private_cells import PrivateCells
from shoal.core.schema import Schema
from shoal.core.tree import Tree

HIDDEN = -1
"""The code of a suppressed cell."""

MOST_ROWS = 1_000_000
"""The largest number of rows for which work is done row by row."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table or of a release, as codes.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> Rows((sex,), np.array([[0], [1], [HIDDEN]], dtype=np.int32))
    Rows(3 rows, 1 columns, 1 cells suppressed)
    """

    domains: tuple[Domain, ...]
    # One line per row, one column per domain; `HIDDEN` for a suppressed cell.
    codes: Small
    # The key of each row; None in a release, which does not reveal whose row it is.
    keys: Texts | None = None
    # Whether the texts were made from typed values; otherwise they are as the source writes them.
    is_typed: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(domain.column for domain in self.domains)

    @property
    def is_hidden(self) -> Flags:
        """Whether each cell is suppressed."""
        hidden: Flags = self.codes == HIDDEN
        return hidden

    def shown(self) -> Iterator[tuple[Domain, Codes, Counts]]:
        """Yield each column's domain with the codes that it shows, each counted once."""
        for domain, codes in zip(self.domains, self.codes.T, strict=True):
            shown = codes[codes != HIDDEN]
            yield domain, shown, np.ones(len(shown), dtype=np.int64)

    def __repr__(self) -> str:
        return (
            f"Rows({self.n_rows} rows, {len(self.domains)} columns, "
            f"{np.count_nonzero(self.is_hidden)} cells suppressed)"
        )


class Table(Protocol):
    """A table with its schema, held by a data engine; `shoal.read` returns one.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read({"age": [29, 22], "disease": ["flu", "cold"]},
    ...                    quasi=["age"], sensitive="disease")
    >>> table.n_rows, table.schema.quasi
    (2, ('age',))
    """

    @property
    def schema(self) -> Schema:
        """The roles, types and hierarchies of the columns."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The values of every quasi-identifying and sensitive column."""

    @property
    def trees(self) -> Mapping[str, Tree]:
        """The hierarchies of the schema, applied to the values of their columns."""

    @property
    def levels(self) -> Sequence[Level]:
        """The levels at which sensitive columns are protected and attacked; see `protected`."""

    def counts(self, columns: Sequence[str]) -> Cells:
        """Count the distinct cells of some quasi-identifying or sensitive columns."""

    def rows(self, columns: Sequence[str], cap: int) -> Mapping[str, Texts]:
        """Return the texts of some columns row by row; more than `cap` rows are refused."""

    def row_codes(self, cap: int) -> Rows:
        """Return the codes of all coded columns row by row; more than `cap` rows are refused."""

    def marked(self, cells: PrivateCells, cap: int) -> Flags:
        """Mark the private cells: one line per row of `row_codes`, in the same order."""
