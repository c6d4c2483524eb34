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

from shoal.core.cells import Cells, Codes
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.guarantees import BucketSize, Guarantee, SlicedDiversity
from shoal.core.method import Method, Problem, Shape
from shoal.core.plan import Plan, Recode
from shoal.core.schema import Schema
from shoal.core.sliced import Layout
from shoal.knowledge.column_generalization import apply_recode, generalize_columns
from shoal.knowledge.correlation import correlations
from shoal.knowledge.slicing_columns import SlicedColumns
from shoal.methods.slicing_partition.grouping import confirm_diverse, random_buckets
from shoal.methods.slicing_partition.partition import partition_tuples
from shoal.methods.slicing_partition.pieces import TuplePartition

__all__ = ["Slicing"]

TUPLES = "tuples.parquet"
_DIVERSITIES = ("frequency", "distinct")
_CUTS = ("strict", "relaxed")
_BUCKETS = ("mondrian", "random")


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
        each column.
    diversity
        ``frequency``: no value is believed more than 1/ell. ``distinct``: at least ell values stay
        possible.
    cuts
        ``strict``: equal values stay in one bucket, and the bound holds for what can be inferred.
        ``relaxed``: they may be parted, which makes smaller buckets and a weaker promise.
    min_frequency
        How often every value of a column occurs at least; values are generalized for that.
    buckets
        ``mondrian``: near rows share a bucket. ``random``: any do.
    bucket_size
        The fewest rows of a bucket, and about their number where buckets are random.
    overlap
        Whether an attribute may be in several columns.

    Notes
    -----
    Guarantee: sliced l-diversity; bucket size where nothing is sensitive.

    Publishes: a sliced table.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.slicing_patients())
    >>> columns = [["age", "sex"], ["zipcode", "disease"]]
    >>> shoal.anonymize(table, Slicing(ell=2, columns=columns), seed=1)
    Release(sliced by slicing: 8 rows in 2 buckets, test)
    """

    ell: Fraction | None = None
    columns: int | tuple[tuple[str, ...], ...] = 2
    diversity: str = "frequency"
    cuts: str = "strict"
    min_frequency: int | None = None
    buckets: str = "mondrian"
    bucket_size: int | None = None
    overlap: bool = False

    deviations: ClassVar[tuple[str, ...]] = (
        "Whether the table can be l-diverse at all is checked first.",
        "A bucket is cut only on attributes outside the sensitive column.",
        "Buckets that a person matches are weighed by their size.",
        "p(t, s) = 1/l is allowed, as in the paper's text and example, not as in its Figure 2.",
    )
    example: ClassVar[Mapping[str, object]] = {"ell": 2, "columns": 3}

    def __init__(
        self,
        *,
        ell: Number | None = None,
        columns: int | Sequence[Sequence[str]] = 2,
        diversity: str = "frequency",
        cuts: str = "strict",
        min_frequency: int | None = None,
        buckets: str = "mondrian",
        bucket_size: int | None = None,
        overlap: bool = False,
    ) -> None:
        for name, word, known in (
            ("diversity", diversity, _DIVERSITIES),
            ("cuts", cuts, _CUTS),
            ("buckets", buckets, _BUCKETS),
        ):
            if word not in known:
                raise ParameterError(f"{name} must be one of {', '.join(known)}, not {word!r}.")
        if buckets == "random" and bucket_size is None:
            raise ParameterError("Random buckets need a size.", hint="for example bucket_size=100.")
        values: dict[str, object] = {
            "ell": None if ell is None else _read_ell(ell),
            "columns": _read_columns(columns),
            "diversity": diversity,
            "cuts": cuts,
            "min_frequency": _optional("min_frequency", min_frequency),
            "buckets": buckets,
            "bucket_size": _optional("bucket_size", bucket_size),
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
        if self.ell is None:
            return (BucketSize(k=self.bucket_size or 1),)
        return (SlicedDiversity(ell=self.ell, diversity=self.diversity),)

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
        if isinstance(self.columns, tuple):
            self._sliced_columns(schema, None)

    def plan(self, problem: Problem) -> Plan:
        """Plan columns and buckets.

        Raises
        ------
        InfeasibleError
            Where not even the whole table as one bucket is diverse enough.
        """
        schema, cells = problem.schema, problem.cells
        found = self._sliced_columns(schema, cells)
        recode: tuple[Recode, ...] = ()
        if self.min_frequency is not None:
            recode = generalize_columns(
                cells, found.columns, self.min_frequency, trees=problem.trees, keep=schema.sensitive
            ).recode
        layout = Layout(found.columns, schema.sensitive, schema.quasi)
        coarse = apply_recode(cells, recode) if recode else cells
        partition = self._partition(problem, coarse, layout)
        return Plan(
            cells,
            partition.n_buckets,
            partition.segments(),
            recode=recode,
            merged=_class_of_cells(cells, coarse, recode) if recode else None,
            slices=layout.columns,
            tables={TUPLES: _tuples(coarse.select(list(layout.known)))},
        )

    def _sliced_columns(self, schema: Schema, cells: Cells | None) -> SlicedColumns:
        if isinstance(self.columns, tuple):
            return SlicedColumns(
                self.columns, quasi=schema.quasi, sensitive=schema.sensitive, overlap=self.overlap
            )
        assert cells is not None
        return SlicedColumns.clustered(
            correlations(cells), self.columns, quasi=schema.quasi, sensitive=schema.sensitive
        )

    def _partition(self, problem: Problem, cells: Cells, layout: Layout) -> TuplePartition:
        if self.buckets == "random":
            assert self.bucket_size is not None
            generator = problem.secret.generator("buckets")
            partition = random_buckets(cells, self.bucket_size, generator)
            if self.ell is not None:
                confirm_diverse(partition, layout, self.ell, self.diversity)  # type: ignore[arg-type]
            return partition
        return partition_tuples(
            cells,
            layout,
            ell=self.ell,
            diversity=self.diversity,  # type: ignore[arg-type]
            cuts=self.cuts,  # type: ignore[arg-type]
            least=self.bucket_size or 1,
            trees=problem.trees,
        )


def _read_ell(given: Number) -> Fraction:
    ell = exact("ell", given)
    if ell < 1:
        raise ParameterError(f"ell must be at least 1, not {as_text(ell)}.")
    return ell


def _read_columns(given: int | Sequence[Sequence[str]]) -> int | tuple[tuple[str, ...], ...]:
    if isinstance(given, (int, np.integer)):
        return whole("columns", given, least=1)
    return tuple(tuple(names) for names in given)


def _optional(name: str, given: int | None) -> int | None:
    return None if given is None else whole(name, given, least=1)


def _class_of_cells(cells: Cells, coarse: Cells, recode: tuple[Recode, ...]) -> Codes:
    """Give for each cell the cell that it is after its values are generalized."""
    one = replace(cells, counts=np.ones(cells.n_cells, dtype=np.int64))
    codes = one.codes.copy()
    for labels in recode:
        place = cells.columns.index(labels.column)
        codes[:, place] = labels.index[codes[:, place]]
    order = np.lexsort(coarse.codes.T[::-1])
    found = {
        tuple(row): place
        for place, row in zip(order.tolist(), coarse.codes[order].tolist(), strict=True)
    }
    return np.array([found[tuple(row)] for row in codes.tolist()], dtype=np.int64)


def _tuples(known: Cells) -> dict[str, np.ndarray]:
    """Give what is known of people, as a table of texts with the number of people of each."""
    columns = {
        domain.column: np.array([*domain.labels(), None], dtype=object)[:-1][known.codes[:, place]]
        for place, domain in enumerate(known.domains)
    }
    return columns | {"people": known.counts}
