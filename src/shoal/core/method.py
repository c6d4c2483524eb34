"""What an anonymization method is: a pure function from counts to a plan.

A method is a frozen class. Its parameters are fields, checked when it is made; it declares its
guarantees, the shape that it publishes and which rows are interchangeable to it. `Algorithm` is a
method as an adversary runs it on tables of her own: she has the quasi-identifiers of everybody in
the table, guesses sensitive values, and checks which guesses would have led to this release. She
never sees the sensitive values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import Cells
from shoal.core.declared import Declared, declared, parameters_of, stated
from shoal.core.domain import Domain
from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError
from shoal.core.guarantees import Guarantee
from shoal.core.plan import Plan
from shoal.core.private_cells import PrivateCells
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.core.table import Rows
from shoal.core.tree import Tree


@dataclass(frozen=True, eq=False)
class Problem:
    """The input from which a method plans a release."""

    # The counts of the method's classes: the columns that `Method.class_columns` names.
    cells: Cells
    schema: Schema
    # The hierarchies, applied to the values of their columns.
    trees: Mapping[str, Tree]
    # The source of all draws.
    secret: Secret
    # The cell of each row that the method asked for by its key.
    cell_of_key: Mapping[str, int] = field(default_factory=dict)
    # The rows, and for each of their cells whether it is private, if the method asks for rows.
    rows: Rows | None = None
    private: Flags | None = None


@declared
class Method(Declared, ABC):
    """Base class of every method."""

    counts_people: ClassVar[bool] = False
    """Whether the guarantees count people if a person may have several rows."""
    distorts: ClassVar[bool] = False
    """Whether sensitive values are changed on purpose in some buckets."""
    works_on_levels: ClassVar[bool] = True
    """Whether sensitive columns may have levels; otherwise it protects their values."""
    deviations: ClassVar[tuple[str, ...]] = ()
    """The deviations of the method from its paper, with the reasons."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit a table of a few hundred rows, for tests that find every method."""

    @property
    def internal_parameters(self) -> frozenset[str]:
        """The parameters that no public file states."""
        known = parameters_of(type(self)).values()
        return frozenset(one.name for one in known if one.is_internal)

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The shape that is published."""

    @property
    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The promises of a release of this method."""

    @property
    def is_minimal(self) -> bool:
        """Whether buckets follow from the table alone and are merged only if they must be.

        An adversary who knows the algorithm then learns something from what it had to merge.
        """
        return False

    @property
    def keys_asked(self) -> tuple[str, ...]:
        """The keys of rows whose cells the method must know; none for most methods."""
        return ()

    @property
    def private_cells(self) -> PrivateCells | None:
        """The private cells, if the method hides cells: it is then given rows."""
        return None

    def check_rows(self, rows: Rows, private: Flags) -> tuple[str, ...]:  # noqa: ARG002
        """Refuse rows that the method cannot work on; return remarks on them for the steward."""
        return ()

    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns whose values make rows interchangeable.

        By default these are the quasi-identifiers and the sensitive column.
        """
        return (*schema.quasi, *schema.sensitive)

    @abstractmethod
    def plan(self, problem: Problem) -> Plan:
        """Plan a release that keeps every guarantee.

        Raises an InfeasibleError, which names the best reachable parameter, if no release can.
        """

    def for_parts(self, problem: Problem) -> Method:  # noqa: ARG002
        """Return the method as it plans single parts of a table.

        What it would learn from the whole table, `problem`, is fixed beforehand, so that it does
        not learn something different from each part.
        """
        return self

    def settled(self, notes: Mapping[str, object]) -> Method:  # noqa: ARG002
        """Return the method with what a plan had to find out, which the notes of the plan hold."""
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
        """Return the parameters as the manifest states them."""
        return {
            name: stated(getattr(self, name))
            for name, one in parameters_of(type(self)).items()
            if not one.is_internal
        }


_LARGEST_TABLE = 2**31


def confirm_countable(cells: Cells) -> None:
    """Raise a DataError for a table without rows, or with more rows than kernels can count."""
    if cells.n_rows == 0:
        raise DataError("The table has no rows.", hint="check its source.")
    if cells.n_rows >= _LARGEST_TABLE:
        raise DataError(
            f"The table has {cells.n_rows} rows; plans are made for fewer than {_LARGEST_TABLE}.",
            hint="publish it in parts.",
        )


def mark_protected(
    domain: Domain, codes: Codes, protect: Sequence[str | None], name: str = "protect"
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which of the codes that occur are protected, as the parameter `name` lists them.

    Raises a ParameterError if a value does not occur; the message says how many, not which.
    """
    protected = domain.codes_of(list(protect))
    n_strange = int(np.count_nonzero(~np.isin(protected, codes)))
    if n_strange:
        raise ParameterError(
            f"{name} must name values of column {domain.column!r}; of the {len(protect)} given, "
            f"{n_strange} do not occur.",
            hint="write them as the table writes them.",
        )
    return np.isin(codes, protected)


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A method with all its input except the sensitive values.

    The method's buckets must follow from the table alone. `located` is the bucket of the release
    that each cell of `people` is known to be in, the worst case; None if she has to match.
    """

    method: Method
    schema: Schema
    trees: Mapping[str, Tree]
    # The quasi-identifiers of everybody in the table.
    people: Cells
    located: Codes | None = None

    def __post_init__(self) -> None:
        if not self.method.is_minimal:
            raise ParameterError(
                f"{type(self.method).__name__} draws its buckets, or parts people who are alike: "
                "they do not follow from the table alone."
            )

    def buckets(self, table: Counts, values: Domain) -> Codes | None:
        """Return the bucket of each cell of `people` in a table of her own.

        `table` holds for each cell of `people` the number of its people with each sensitive value.
        Returns None if nothing would be published, or not everybody, or if people who are alike
        would be separated.
        """
        kind, value = np.nonzero(table)
        codes = np.column_stack([self.people.codes[kind], value])
        cells = Cells((*self.people.domains, values), codes, table[kind, value])
        # Only the bounds of labels are drawn, which reveal nothing more about values.
        secret = Secret.from_seed("an adversary's own")
        try:
            plan = self.method.plan(Problem(cells, self._schema(values), self.trees, secret))
        except InfeasibleError:
            return None
        assign = plan.assign
        if plan.drop.n_rows or np.any(assign.step) or plan.merged is not None:
            return None
        lowest = np.full(self.people.n_cells, plan.n_buckets, dtype=np.int64)
        highest = np.full(self.people.n_cells, -1, dtype=np.int64)
        np.minimum.at(lowest, kind[assign.group], assign.base)
        np.maximum.at(highest, kind[assign.group], assign.base)
        return lowest if np.array_equal(lowest, highest) else None

    def _schema(self, values: Domain) -> Schema:
        if self.schema.sensitive == (values.column,):
            return self.schema
        return replace(self.schema, sensitive=(values.column,))
