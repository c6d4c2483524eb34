"""The steward's table as every layer above the engines sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from shoal.core.cells import Cells
from shoal.core.domain import Domain, Texts
from shoal.core.private_cells import Marks, PrivateCells
from shoal.core.rows import Rows
from shoal.core.schema import Schema
from shoal.core.tree import Tree

__all__ = ["Table"]


class Table(Protocol):
    """A table with its schema, held by a data engine."""

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
        """The hierarchies of the schema, laid over the values of their columns."""

    def counts(self, columns: Sequence[str]) -> Cells:
        """Count the distinct cells of some quasi-identifying or sensitive columns."""

    def rows(self, columns: Sequence[str], cap: int) -> Mapping[str, Texts]:
        """Give the texts of some columns, row by row; refused above `cap` rows."""

    def row_codes(self, cap: int) -> Rows:
        """Give the codes of all coded columns, row by row; refused above `cap` rows."""

    def marked(self, cells: PrivateCells, cap: int) -> Marks:
        """Mark the cells that are named: one row a row of `row_codes`, in its order."""
