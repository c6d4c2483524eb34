"""Mondrian: cut the table in the space of its quasi-identifiers until no cut is left.

Problem: hide everybody among others who are alike, and generalize no more than that needs.
Idea: take the whole table as one bucket; cut it in two at the median of its widest column, and
each half again, as long as both sides keep what is required.
Guarantee: any of k-anonymity, l-diversity, t-closeness and a bound on what is learned about a
row, in every bucket. Buckets are then published as regions of the quasi-identifiers, or bucketized
with quasi-identifiers as they are.

References
----------
[LeFevre06] K. LeFevre, D. DeWitt, R. Ramakrishnan: Mondrian Multidimensional K-Anonymity.
ICDE 2006.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact
from shoal.core.guarantee import BANDWIDTH
from shoal.core.guarantees import (
    BeliefGain,
    BucketSize,
    Guarantee,
    KAnonymity,
    TCloseness,
)
from shoal.core.method import Method, Problem, Shape
from shoal.core.plan import Plan, Recode
from shoal.core.schema import Schema
from shoal.methods.partition.axes import Axes
from shoal.methods.partition.cutting import cut_cells, label_columns, place_cells
from shoal.methods.requirements.beliefs import BeliefBound
from shoal.methods.requirements.parameters import (
    Distance,
    Diversity,
    check_choice,
    check_hierarchy,
    check_partners,
    check_protect,
    diversity_guarantee,
    read_ell,
)
from shoal.methods.requirements.table import Requirements, as_protect

__all__ = ["Mondrian"]

Cuts = Literal["strict", "relaxed"]
Publish = Literal["generalized", "bucketized"]


@dataclass(frozen=True, kw_only=True)
class Mondrian(Method):
    """Cut the table into buckets, each as small as the requirements allow.

    At least one of `k`, `ell`, `t` and `belief_gain` is needed; every bucket keeps all that are
    given.

    Parameters
    ----------
    k
        The fewest rows of a bucket.
    ell, diversity, c
        How diverse the sensitive values of a bucket are: at least `ell` values (``distinct``,
        the default), none with more than 1/ell of the rows (``frequency``), an entropy of at
        least log(ell) (``entropy``), or (c, ell)-diversity (``recursive``).
    t, distance
        How far a bucket's distribution of sensitive values may be from the table's, with values
        equally far apart, by rank, or by the sensitive column's hierarchy.
    belief_gain, bandwidth
        How much a bucket may add to what is believed of a row (Jensen-Shannon distance), by an
        adversary who knows about people as near to it as the bandwidth, 0.3 where none is given.
    cuts
        Whether equal values stay on one side of a cut (``strict``), or those at the median go
        either way, so that halves are halves (``relaxed``).
    protect
        Sensitive values that count as one, while the others are not protected; None is the
        missing one. For ``frequency`` (then the default) and the ``equal`` distance.
    publish
        Whether quasi-identifiers are published as labels (``generalized``), or as they are,
        apart from the sensitive values (``bucketized``).

    Notes
    -----
    Guarantee: what was asked for, in every bucket; see `guarantees`.

    Publishes: a generalized or a bucketized table. With a hierarchy a bucket's label is the
    lowest node above its values, for numbers and dates the interval between the cuts around it,
    else the set of its values, of which those carried by fewer rows than a bucket must have are
    not named. An interval is open (``-inf``, ``+inf``) where no cut bounds it. The bound of a cut
    is drawn from the secret between the values on both sides of it, on a grid where that has a
    point there: multiples of a round step, about a thousandth of the range of the middle nine
    tenths of the rows, or first days of months. A value carried by fewer rows than a bucket must
    have is a bound only by chance, or where no other whole number or day parts it from the value
    before it; wider gaps give the same bound, so a reader cannot be sure of that. A bound off the
    grid tells that the gap holds no point of the grid.

    The order of columns and cuts: the width of a part in a column is its range divided by the
    table's (numbers), the distance of its first and last value in the domain, or the leaves
    under the lowest common ancestor less one, each divided by the same for the whole domain; 1
    where missing and present values are mixed. Widest first, then in the order of the schema.
    Within a column missing values are parted from the others first. Then come boundaries between
    neighbouring values that occur, or between children of the lowest common ancestor, with
    missing values last: the last boundary with at most half of the rows before it, and the first
    with more; the one nearer to half first, the lower one where they are equally near. A relaxed
    cut sends exactly half of the rows, rounded down, to the left; of the rows at the median every
    cell sends the same share, give or take one row.

    References
    ----------
    [LeFevre06] strict and relaxed multidimensional partitioning; the greedy algorithm `Anonymize`.
    [Machanavajjhala06] A. Machanavajjhala et al.: l-diversity. ICDE 2006, Section 4.
    [Li07] N. Li, T. Li, S. Venkatasubramanian: t-closeness. ICDE 2007, Section 4.
    [LiLZ09] T. Li, N. Li, J. Zhang: Modeling and Integrating Background Knowledge in Data
    Anonymization. ICDE 2009: (B, t)-privacy.

    Examples
    --------
    >>> Mondrian(k=5, ell=3).guarantees
    (KAnonymity(k=5), DistinctDiversity(ell=3))
    >>> Mondrian(t=0.2, publish="bucketized").shape
    <Shape.BUCKETIZED: 'bucketized'>
    """

    k: int | None = None
    ell: Number | None = None
    diversity: Diversity | None = None
    c: Number | None = None
    t: Number | None = None
    distance: Distance = "equal"
    belief_gain: Number | None = None
    bandwidth: Number | None = None
    cuts: Cuts = "strict"
    protect: Sequence[str | None] | None = field(default=None, repr=False)
    publish: Publish = "generalized"

    deviations: ClassVar[tuple[str, ...]] = (
        "A cut is allowed where both sides keep every requirement, not k-anonymity alone.",
        "The boundaries on both sides of the median are tried, in every column, widest first.",
        "Intervals end at points drawn between the values that a cut parts, or are open.",
        "Missing values are values of their own, parted from the others first.",
    )
    example: ClassVar[Mapping[str, object]] = {"k": 5, "ell": 2}

    def __post_init__(self) -> None:
        for name, kind in (
            ("diversity", Diversity),
            ("distance", Distance),
            ("cuts", Cuts),
            ("publish", Publish),
        ):
            is_optional = name == "diversity"
            check_choice(name, getattr(self, name), get_args(kind), is_optional=is_optional)
        object.__setattr__(self, "protect", as_protect(self.protect))
        self._check_combination()
        if self.ell is not None:
            default = "distinct" if self.protect is None else "frequency"
            object.__setattr__(self, "diversity", self.diversity or default)
            object.__setattr__(self, "ell", read_ell(self.ell, self.diversity))
        if self.belief_gain is not None and self.bandwidth is None:
            object.__setattr__(self, "bandwidth", Fraction(BANDWIDTH))
        for name in ("c", "t", "belief_gain", "bandwidth"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, exact(name, value))
        if self.protect is not None:
            check_protect(ell=self.ell, t=self.t, diversity=self.diversity)
        # Each guarantee checks its own parameters.
        assert self.guarantees

    def _check_combination(self) -> None:
        if self.k is None and not self._is_about_values:
            raise ParameterError(
                "Mondrian needs at least one of k, ell and t, or belief_gain; got none.",
                hint="for example k=5, ell=3.",
            )
        if self.bandwidth is not None and self.belief_gain is None:
            raise ParameterError(
                "bandwidth needs belief_gain; got none.", hint="for example belief_gain=0.3."
            )
        check_partners(
            ell=self.ell, diversity=self.diversity, c=self.c, t=self.t, distance=self.distance
        )
        if self.publish == "bucketized" and not self._is_about_values:
            raise ParameterError(
                "A bucketized release with k alone would protect nothing: quasi-identifiers are "
                "published as they are, and a bucket may hold one sensitive value only.",
                hint="give ell or t too, or publish='generalized'.",
            )

    @property
    def _is_about_values(self) -> bool:
        given = (self.ell, self.t, self.belief_gain)
        return any(parameter is not None for parameter in given)

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape(self.publish)

    @property
    def is_minimal(self) -> bool:
        """Whether buckets follow from the table alone: rows at a median do not, if relaxed."""
        return self.cuts == "strict"

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What a release promises: everything that was asked for."""
        found: list[Guarantee] = []
        protect = self.protect or ()
        if self.k is not None:
            size = KAnonymity if self.shape is Shape.GENERALIZED else BucketSize
            found.append(size(k=self.k))
        if self.ell is not None:
            found.append(diversity_guarantee(self.ell, self.diversity, self.c, protect))
        if self.t is not None:
            found.append(TCloseness(t=self.t, distance=self.distance, protect=protect))
        if self.belief_gain is not None:
            assert self.bandwidth is not None
            found.append(BeliefGain(t=self.belief_gain, bandwidth=self.bandwidth))
        return tuple(found)

    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Name the columns whose values make rows interchangeable."""
        return schema.quasi + schema.sensitive

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot work on."""
        super().check_schema(schema)
        check_hierarchy(schema, self.distance)

    def plan(self, problem: Problem) -> Plan:
        """Plan the buckets, and their labels where quasi-identifiers are generalized.

        Raises
        ------
        DataError
            Where the table has no rows.
        InfeasibleError
            Where not even the whole table keeps what is asked for.
        ParameterError
            Where a protected value does not occur.
        """
        requirements = Requirements.of_problem(self.guarantees, problem)
        requirements.confirm_reachable()
        cells, quasi = problem.cells, problem.schema.quasi
        axes = Axes.of_cells(cells, quasi, problem.trees)
        beliefs = BeliefBound.of_problem(self.guarantees, problem)
        is_relaxed = self.cuts == "relaxed"
        keeps = None if beliefs is None else beliefs.keeps
        partition = cut_cells(axes, cells, requirements, keeps, is_relaxed=is_relaxed)
        recode: tuple[Recode, ...] = ()
        if self.shape is Shape.GENERALIZED:
            least = max(2, requirements.least_bucket)
            recode = label_columns(partition, axes, cells, least, problem.secret)
        return Plan(
            cells,
            partition.n_buckets,
            place_cells(partition, cells),
            recode,
            witnesses={} if beliefs is None else beliefs.witnesses,
        )
