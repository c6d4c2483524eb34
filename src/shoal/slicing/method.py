"""Slicing: columns of correlated attributes, linked at random within buckets of rows.

Problem: generalization loses the links between attributes, and bucketization breaks those with the
sensitive one and shows everybody's quasi-identifiers as they are.
Idea: group attributes that are correlated into columns, cut the table into buckets, and publish for
each bucket the values of each column, without saying which belong together.
Guarantee: sliced l-diversity, and without a sensitive attribute buckets of a minimum size.

References
----------
[Slicing] (see `shoal.core.sliced`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from shoal.core.adversary_guarantees import SlicedDiversity
from shoal.core.cells import Cells
from shoal.core.declared import changed, declared
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.exact import whole
from shoal.core.guarantees import BucketSize, Guarantee
from shoal.core.method import Method, Problem
from shoal.core.parameters import (
    Converted,
    OptionalExact,
    choice,
    exact_number,
    flag,
    parameter,
    whole_number,
)
from shoal.core.plan import Plan, Recode
from shoal.core.schema import Schema
from shoal.core.shapes import Shape
from shoal.core.sliced import Layout
from shoal.slicing.column_generalization import generalize_columns, recode_with_inverse
from shoal.slicing.columns import (
    bucketized_columns,
    clustered_columns,
    given_columns,
    one_attribute_each,
)
from shoal.slicing.correlation import correlations
from shoal.slicing.membership import ProtectedMembership, find_frequency
from shoal.slicing.partition import (
    TuplePartition,
    confirm_diverse,
    dissimilar_buckets,
    partition_tuples,
    random_buckets,
)

_ONE_EACH, _BUCKETIZED = "one_each", "bucketized"
_MEMBERSHIP = "membership"
"""The key of the plan's note on how frequent values had to be."""


def _read_columns(
    name: str,
    given: int | str | Sequence[Sequence[str]],
) -> int | str | tuple[tuple[str, ...], ...]:
    if isinstance(given, (int, np.integer)):
        return whole(name, given, least=1)
    if isinstance(given, str) and given in (_ONE_EACH, _BUCKETIZED):
        return given
    if isinstance(given, str) or any(isinstance(names, str) for names in given):
        raise ParameterError(
            f"{name} must be a number, {_ONE_EACH!r}, {_BUCKETIZED!r} or lists of attributes, not "
            f"{given!r}.",
            hint="for example columns=2, or columns=[['age', 'sex'], ['zipcode', 'disease']].",
        )
    return tuple(tuple(names) for names in given)


@declared
class Slicing(Method):
    """Publish columns of attributes that are linked at random within buckets.

    Notes
    -----
    Guarantee: sliced l-diversity; bucket size if nothing is sensitive.

    `InfeasibleError` means that not even the whole table as one bucket is diverse enough. No other
    strict cuts would be then. Relaxed cuts may satisfy the formula by separating equal rows, which
    protects nobody, because anyone can merge the buckets again; they are refused.

    Publishes: a sliced table.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.slicing_patients())
    >>> columns = [["age", "sex"], ["zipcode", "disease"]]
    >>> shoal.anonymize(table, Slicing(ell=2, columns=columns), seed=1)
    Release(sliced by slicing: 8 rows in 3 buckets, test)
    """

    ell: OptionalExact = exact_number(
        "How diverse every person's sensitive value stays. Default: no bound, for tables without a "
        "sensitive column.",
        default=None,
        at_least=1,
    )
    columns: Converted[
        int | str | Sequence[Sequence[str]], int | str | tuple[tuple[str, ...], ...]
    ] = parameter(
        "The number of columns that attributes are clustered into by their correlations, or the "
        "attributes of each column. `one_each` puts every attribute into a column of its own; "
        "`bucketized` separates the sensitive attributes from the others.",
        _read_columns,
        takes=f"a whole number, {_ONE_EACH}, {_BUCKETIZED}, or lists of attributes",
        schema={
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"enum": [_ONE_EACH, _BUCKETIZED]},
                {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
            ]
        },
        default=2,
    )
    diversity: str = choice(
        "Whether no value has a probability above 1/ell (`frequency`), or at least ell values stay "
        "possible (`distinct`).",
        ("frequency", "distinct"),
        default="frequency",
    )
    cuts: str = choice(
        "Whether equal values stay in one bucket, and the bound holds for what can be inferred "
        "(`strict`), or may be separated, for smaller buckets and a weaker guarantee (`relaxed`).",
        ("strict", "relaxed"),
        default="strict",
    )
    min_frequency: int | None = whole_number(
        "The fewest times that every known value occurs in its column; values that are not "
        "sensitive are generalized until they do. Default: no bound.",
        default=None,
        least=1,
    )
    buckets: str = choice(
        "The rows that share a bucket: similar rows (`mondrian`), any rows (`random`), or "
        "dissimilar rows (`dissimilar`).",
        ("mondrian", "random", "dissimilar"),
        default="mondrian",
    )
    bucket_size: int | None = whole_number(
        "The fewest rows of a bucket; if buckets are not cut, also their approximate number. "
        "Default: no bound.",
        default=None,
        least=1,
    )
    max_membership_auc: OptionalExact = exact_number(
        "How well people in the table may be told from others, as the area under the ROC curve; "
        "tested by the upper end of its 95 % interval over five random halves of the rows. "
        "Default: no bound.",
        default=None,
        at_least="0.5",
        at_most=1,
        hint="0.5 is no better than a guess.",
    )
    overlap: bool = flag("Whether an attribute may be in several columns.", default=False)

    deviations: ClassVar[tuple[str, ...]] = (
        "Whether the table can be l-diverse at all is checked first.",
        "A bucket is cut only on attributes outside the sensitive column.",
        "Buckets that a person matches are weighed by their size.",
        "p(t, s) = 1/l is allowed, as in the paper's text and example, not as in its Figure 2.",
    )
    example: ClassVar[Mapping[str, object]] = {"ell": 2, "columns": "one_each"}

    def check_parameters(self) -> None:
        """Refuse buckets whose size nothing determines."""
        if self.bucket_size is None and (self.buckets != "mondrian" or self.ell is None):
            needed = (
                f"buckets={self.buckets!r}" if self.ell is not None else "a release without ell"
            )
            raise ParameterError(
                f"Slicing needs bucket_size for {needed}.", hint="for example bucket_size=100."
            )

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.SLICED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release of this method."""
        size = () if self.bucket_size is None else (BucketSize(k=self.bucket_size),)
        if self.ell is None:
            return size
        return (SlicedDiversity(ell=self.ell, diversity=self.diversity), *size)

    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return all columns: rows with equal values are interchangeable."""
        return schema.coded

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot work on."""
        if schema.insensitive:
            raise SchemaError(
                f"Slicing has no place for the insensitive column {schema.insensitive[0]!r}.",
                hint="give it the role quasi: it is then in a column of its own or with others.",
            )
        if bool(schema.sensitive) != (self.ell is not None):
            raise SchemaError(
                "Slicing bounds what is inferred of sensitive columns by ell; "
                + ("ell is not given." if schema.sensitive else "the schema names none."),
                hint="give both, or neither if only membership is to be protected.",
            )
        if not isinstance(self.columns, int):
            self._layout(schema, None)

    def plan(self, problem: Problem) -> Plan:
        """Plan columns and buckets.

        Raises
        ------
        InfeasibleError
            If not even the whole table as one bucket is diverse enough.
        """
        cells, layout = problem.cells, self._layout(problem.schema, problem.cells)
        found = self._protected(problem, layout)
        min_frequency = self.min_frequency if found is None else found.min_frequency
        recode = self._recode(problem, cells, layout, min_frequency)
        coarse, merged = recode_with_inverse(cells, recode)
        partition = self._partition(problem, coarse, layout)
        return Plan(
            cells,
            partition.n_buckets,
            partition.segments(),
            recode=recode,
            merged=merged if recode else None,
            slices=layout.columns,
            notes={} if found is None else {_MEMBERSHIP: found.to_dict()},
        )

    def settled(self, notes: Mapping[str, object]) -> Slicing:
        """Return the method with the minimum frequency that a plan found."""
        found = notes.get(_MEMBERSHIP)
        if not isinstance(found, Mapping):
            return self
        return changed(self, min_frequency=found["min_frequency"], max_membership_auc=None)

    def _protected(self, problem: Problem, layout: Layout) -> ProtectedMembership | None:
        """Find how frequent values must be to protect membership, if a bound is given."""
        if self.max_membership_auc is None:
            return None
        return find_frequency(
            problem.cells,
            generalize=lambda half, often: self._recode(problem, half, layout, often),
            slice_rows=lambda half: self._partition(problem, half, layout).sliced(layout),
            bound=self.max_membership_auc,
            generator=problem.secret.generator("membership"),
            least=self.min_frequency or 1,
        )

    def _layout(self, schema: Schema, cells: Cells | None) -> Layout:
        roles = {"quasi": schema.quasi, "sensitive": schema.sensitive}
        if self.columns == _ONE_EACH:
            return one_attribute_each(**roles)
        if self.columns == _BUCKETIZED:
            return bucketized_columns(**roles)
        if isinstance(self.columns, tuple):
            return given_columns(self.columns, **roles, overlap=self.overlap)
        assert isinstance(self.columns, int)
        assert cells is not None
        return clustered_columns(correlations(cells), self.columns, **roles)

    def _recode(
        self, problem: Problem, cells: Cells, layout: Layout, min_frequency: int | None
    ) -> tuple[Recode, ...]:
        """Generalize known attributes; the frequency of a sensitive value identifies nobody."""
        if min_frequency is None:
            return ()
        columns = [[name for name in names if name in layout.known] for names in layout.columns]
        return generalize_columns(
            cells,
            [names for names in columns if names],
            min_frequency,
            trees=problem.trees,
            keep=problem.schema.both,
        ).recode

    def _partition(self, problem: Problem, cells: Cells, layout: Layout) -> TuplePartition:
        if self.buckets == "mondrian":
            # Hierarchies are about values; columns with labels in their place have none.
            trees = {
                name: tree
                for name, tree in problem.trees.items()
                if cells.domain(name) is problem.cells.domain(name)
            }
            return partition_tuples(
                cells,
                layout,
                ell=self.ell,
                diversity=self.diversity,  # type: ignore[arg-type]
                cuts=self.cuts,  # type: ignore[arg-type]
                least=self.bucket_size or 1,
                trees=trees,
            )
        assert self.bucket_size is not None
        if self.buckets == "random":
            generator = problem.secret.generator("buckets")
            partition = random_buckets(cells, self.bucket_size, generator)
        else:
            partition = dissimilar_buckets(cells, layout, self.bucket_size)
        if self.ell is not None:
            confirm_diverse(partition, layout, self.ell, self.diversity)  # type: ignore[arg-type]
        return partition
