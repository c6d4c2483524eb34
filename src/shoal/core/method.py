"""What an anonymization method is: a pure function from counts to a plan.

A method is a frozen dataclass. Its parameters are fields, checked when it is made; it declares
the guarantees it gives, the shape it publishes and which rows are interchangeable to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from shoal.core.cells import Cells
from shoal.core.errors import SchemaError
from shoal.core.exact import as_text
from shoal.core.guarantees import Guarantee
from shoal.core.plan import Plan
from shoal.core.private_cells import Marks, PrivateCells
from shoal.core.rows import Rows
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.tree import Tree

__all__ = ["Method", "Problem", "Shape"]


class Shape(StrEnum):
    """The form in which a table is published."""

    GENERALIZED = "generalized"
    BUCKETIZED = "bucketized"
    SLICED = "sliced"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method plans from.

    Parameters
    ----------
    cells
        The counts of the method's classes: the columns that `Method.class_columns` names.
    schema
        The roles of the columns.
    trees
        The hierarchies, laid over the values of their columns.
    secret
        Where draws come from.
    cell_of_key
        The cell of each row that the method asked for by its key.
    rows
        The rows, where the method asks for them.
    private
        For each cell of `rows` whether it is private.
    """

    cells: Cells
    schema: Schema
    trees: Mapping[str, Tree]
    secret: Secret
    cell_of_key: Mapping[str, int] = field(default_factory=dict)
    rows: Rows | None = None
    private: Marks | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """The base of every method."""

    counts_people: ClassVar[bool] = False
    """Whether the guarantees count people where a person may have several rows."""
    distorts: ClassVar[bool] = False
    """Whether sensitive values are changed on purpose in some buckets."""
    deviations: ClassVar[tuple[str, ...]] = ()
    """Where the method departs from its paper, and why."""
    internal_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters that no public file states."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit a table of a few hundred rows, for tests that find every method."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The shape that is published."""

    @property
    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What a release of this method promises."""

    @property
    def is_minimal(self) -> bool:
        """Whether buckets follow from the table alone and are merged only where they must be.

        Who knows the algorithm then learns something from what it had to merge.
        """
        return False

    @property
    def keys_asked(self) -> tuple[str, ...]:
        """The keys of rows that the method must know the cells of; most know none."""
        return ()

    @property
    def private_cells(self) -> PrivateCells | None:
        """The cells that must not be known, where the method hides cells: it is given rows then."""
        return None

    def check_rows(self, rows: Rows, private: Marks) -> tuple[str, ...]:  # noqa: ARG002
        """Refuse rows that the method cannot work on; give what should be known of them."""
        return ()

    @abstractmethod
    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Name the columns whose values make rows interchangeable."""

    @abstractmethod
    def plan(self, problem: Problem) -> Plan:
        """Plan a release that keeps every guarantee.

        Raises
        ------
        InfeasibleError
            Where no release can; it names the best reachable parameter.
        """

    def for_parts(self, problem: Problem) -> Method:  # noqa: ARG002
        """Return the method as it plans single parts of a table.

        What it would learn from the whole table, `problem`, is fixed beforehand, so that it does
        not learn something else from each part.
        """
        return self

    def settled(self, notes: Mapping[str, object]) -> Method:  # noqa: ARG002
        """Give the method with what a plan of it had to find out, by the plan's notes."""
        return self

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot work on."""
        needs_sensitive = any(guarantee.is_about_sensitive for guarantee in self.guarantees)
        name = type(self).__name__
        if schema.both:
            raise SchemaError(
                f"{name} takes a column as quasi-identifying or as sensitive; {schema.both[0]!r} "
                "is both.",
                hint="slicing takes such columns.",
            )
        if needs_sensitive and not schema.sensitive:
            raise SchemaError(
                f"{name} protects a sensitive column, and the schema names none.",
                hint="say which one: sensitive=...",
            )
        if len(schema.sensitive) > 1:
            raise SchemaError(
                f"{name} protects one sensitive column; the schema names {len(schema.sensitive)}.",
                hint="make the others quasi-identifying, insensitive or identifying.",
            )
        if not schema.quasi:
            raise SchemaError(
                f"{name} needs at least one quasi-identifying column.",
                hint="say which columns could be linked: quasi=[...]",
            )

    def parameters(self) -> dict[str, object]:
        """Give the parameters as the manifest states them."""
        values = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in self.internal_parameters
        }
        return {
            name: as_text(value)
            if isinstance(value, Fraction)
            else list(value)
            if isinstance(value, tuple)
            else value
            for name, value in values.items()
        }
