"""Slicing: columns of correlated attributes, linked at random within buckets of rows.

Problem: generalization loses the links between attributes, and bucketization breaks those with the
sensitive one and shows everybody's quasi-identifiers as they are.
Idea: group attributes that are correlated into columns, cut the table into buckets, and publish for
each bucket the values of each column, without saying which belong together.
Guarantee: sliced l-diversity, and without a sensitive attribute buckets of a least size.

References
----------
[Slicing] Shaik Mahammad Rafi, P. Venkata Ramanaiah: Protecting Attribute Disclosure for High
Dimensionality and Preserving Publishing of Microdata (a shortened variant of T. Li, N. Li,
J. Zhang, I. Molloy: Slicing: a new approach for privacy preserving data publishing, 2012).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.core.cells import Cells
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.guarantees import BucketSize, Guarantee, SlicedDiversity
from shoal.core.method import Method, Problem, Shape
from shoal.core.plan import Plan, Recode
from shoal.core.schema import Schema
from shoal.core.sliced import Layout
from shoal.knowledge.column_generalization import generalize_columns, recode_with_inverse
from shoal.knowledge.correlation import correlations
from shoal.knowledge.slicing_columns import SlicedColumns
from shoal.methods.slicing_membership import ProtectedMembership, find_frequency
from shoal.methods.slicing_partition.grouping import (
    confirm_diverse,
    dissimilar_buckets,
    random_buckets,
)
from shoal.methods.slicing_partition.partition import partition_tuples
from shoal.methods.slicing_partition.pieces import TuplePartition

__all__ = ["Slicing"]

_ONE_EACH, _BUCKETIZED = "one_each", "bucketized"
_MEMBERSHIP = "membership"
"""The note that says how frequent values had to be."""
_DIVERSITIES = ("frequency", "distinct")
_CUTS = ("strict", "relaxed")
_BUCKETS = ("mondrian", "random", "dissimilar")


@dataclass(frozen=True, kw_only=True, init=False)
class Slicing(Method):
    """Publish columns of attributes that are linked at random within buckets.

    Parameters
    ----------
    ell
        How diverse every person's sensitive value stays, at least 1; None where no column is
        sensitive.
    columns
        How many columns attributes are clustered into by their correlations, or the attributes of
        each column. ``one_each`` gives every attribute a column of its own, which says as much as
        generalization to multisets; ``bucketized`` parts the sensitive ones from the others.
    diversity
        ``frequency``: no value is believed more than 1/ell. ``distinct``: at least ell values stay
        possible.
    cuts
        ``strict``: equal values stay in one bucket, and the bound holds for what can be inferred.
        ``relaxed``: they may be parted, which makes smaller buckets and a weaker promise.
    min_frequency
        How often every value that may be known occurs at least in its column; values are
        generalized for that, sensitive ones never.
    buckets
        ``mondrian``: near rows share a bucket. ``random``: any do. ``dissimilar``: near rows are
        kept apart.
    bucket_size
        The fewest rows of a bucket, and about their number where buckets are not cut.
    max_membership_auc
        How well people in the table may be told from others, as the area under the ROC curve:
        from 1/2, not at all, to 1, always. The least frequency of values is raised from
        `min_frequency` until the upper end of its 95 % interval, from trials with five random
        halves of the rows, is no higher. It is a test and no guarantee.
    overlap
        Whether an attribute may be in several columns.

    Notes
    -----
    Guarantee: sliced l-diversity; bucket size where nothing is sensitive.

    `InfeasibleError` means that not even the whole table as one bucket is diverse enough. With
    strict cuts no other cuts would do then. Relaxed ones may meet the formula by parting equal
    rows, which protects nobody, for anybody can put the buckets together again; they are refused.

    Publishes: a sliced table.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.slicing_patients())
    >>> columns = [["age", "sex"], ["zipcode", "disease"]]
    >>> shoal.anonymize(table, Slicing(ell=2, columns=columns), seed=1)
    Release(sliced by slicing: 8 rows in 3 buckets, test)
    """

    ell: Fraction | None = None
    columns: int | str | tuple[tuple[str, ...], ...] = 2
    diversity: str = "frequency"
    cuts: str = "strict"
    min_frequency: int | None = None
    buckets: str = "mondrian"
    bucket_size: int | None = None
    max_membership_auc: Fraction | None = None
    overlap: bool = False

    deviations: ClassVar[tuple[str, ...]] = (
        "Whether the table can be l-diverse at all is checked first.",
        "A bucket is cut only on attributes outside the sensitive column.",
        "Buckets that a person matches are weighed by their size.",
        "p(t, s) = 1/l is allowed, as in the paper's text and example, not as in its Figure 2.",
    )
    example: ClassVar[Mapping[str, object]] = {"ell": 2, "columns": "one_each"}

    def __init__(
        self,
        *,
        ell: Number | None = None,
        columns: int | str | Sequence[Sequence[str]] = 2,
        diversity: str = "frequency",
        cuts: str = "strict",
        min_frequency: int | None = None,
        buckets: str = "mondrian",
        bucket_size: int | None = None,
        max_membership_auc: Number | None = None,
        overlap: bool = False,
    ) -> None:
        for name, word, known in (
            ("diversity", diversity, _DIVERSITIES),
            ("cuts", cuts, _CUTS),
            ("buckets", buckets, _BUCKETS),
        ):
            if word not in known:
                raise ParameterError(f"{name} must be one of {', '.join(known)}, not {word!r}.")
        if bucket_size is None and (buckets != "mondrian" or ell is None):
            needed = f"buckets={buckets!r}" if ell is not None else "a release without ell"
            raise ParameterError(
                f"Slicing needs bucket_size for {needed}.", hint="for example bucket_size=100."
            )
        values: dict[str, object] = {
            "ell": None if ell is None else _read_ell(ell),
            "columns": _read_columns(columns),
            "diversity": diversity,
            "cuts": cuts,
            "min_frequency": _optional("min_frequency", min_frequency),
            "buckets": buckets,
            "bucket_size": _optional("bucket_size", bucket_size),
            "max_membership_auc": _read_auc(max_membership_auc),
            "overlap": bool(overlap),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.SLICED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What a release of this method promises."""
        size = () if self.bucket_size is None else (BucketSize(k=self.bucket_size),)
        if self.ell is None:
            return size
        return (SlicedDiversity(ell=self.ell, diversity=self.diversity), *size)

    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Name all columns: rows with equal values are interchangeable."""
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
                hint="give both, or neither where only membership is to be hidden.",
            )
        if not isinstance(self.columns, int):
            self._sliced_columns(schema, None)

    def plan(self, problem: Problem) -> Plan:
        """Plan columns and buckets.

        Raises
        ------
        InfeasibleError
            Where not even the whole table as one bucket is diverse enough.
        """
        cells, columns = problem.cells, self._sliced_columns(problem.schema, problem.cells).columns
        layout = Layout(columns, problem.schema.sensitive, problem.schema.quasi)
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
        """Give the method with the least frequency that a plan found."""
        found = notes.get(_MEMBERSHIP)
        if not isinstance(found, Mapping):
            return self
        return replace(self, min_frequency=found["min_frequency"], max_membership_auc=None)

    def _protected(self, problem: Problem, layout: Layout) -> ProtectedMembership | None:
        """Find how frequent values must be for membership to be hidden, where that is asked for."""
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

    def _sliced_columns(self, schema: Schema, cells: Cells | None) -> SlicedColumns:
        roles = {"quasi": schema.quasi, "sensitive": schema.sensitive}
        if self.columns == _ONE_EACH:
            return SlicedColumns.one_attribute_each(**roles)
        if self.columns == _BUCKETIZED:
            return SlicedColumns.bucketized(**roles)
        if isinstance(self.columns, tuple):
            return SlicedColumns(self.columns, **roles, overlap=self.overlap)
        assert isinstance(self.columns, int)
        assert cells is not None
        return SlicedColumns.clustered(correlations(cells), self.columns, **roles)

    def _recode(
        self, problem: Problem, cells: Cells, layout: Layout, min_frequency: int | None
    ) -> tuple[Recode, ...]:
        """Generalize what may be known; how rare a sensitive value is finds nobody."""
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
            # Hierarchies are about values; where labels stand for them, there are none.
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


def _read_ell(given: Number) -> Fraction:
    ell = exact("ell", given)
    if ell < 1:
        raise ParameterError(f"ell must be at least 1, not {as_text(ell)}.")
    return ell


def _read_auc(given: Number | None) -> Fraction | None:
    if given is None:
        return None
    bound = exact("max_membership_auc", given)
    if not Fraction(1, 2) <= bound <= 1:
        raise ParameterError(
            f"max_membership_auc must be from 0.5 to 1, not {as_text(bound)}.",
            hint="0.5 is no better than a guess.",
        )
    return bound


def _read_columns(
    given: int | str | Sequence[Sequence[str]],
) -> int | str | tuple[tuple[str, ...], ...]:
    if isinstance(given, (int, np.integer)):
        return whole("columns", given, least=1)
    if isinstance(given, str) and given in (_ONE_EACH, _BUCKETIZED):
        return given
    if isinstance(given, str) or any(isinstance(names, str) for names in given):
        raise ParameterError(
            f"columns must be a number, {_ONE_EACH!r}, {_BUCKETIZED!r} or lists of attributes, not "
            f"{given!r}.",
            hint="for example columns=2, or columns=[['age', 'sex'], ['zipcode', 'disease']].",
        )
    return tuple(tuple(names) for names in given)


def _optional(name: str, given: int | None) -> int | None:
    return None if given is None else whole(name, given, least=1)
