"""Mondrian: cut the table in the space of its quasi-identifiers until no cut is allowed.

Problem: hide everybody among others who are alike, and generalize no more than that requires.
Idea: start with the whole table as one bucket; cut it in two at the median of its widest column,
and each half again, as long as both sides keep the requirements.
Guarantee: any of k-anonymity, l-diversity, t-closeness and bounded belief gain, in every bucket.
Buckets are published as regions of the quasi-identifiers, or bucketized with unchanged
quasi-identifiers.

References
----------
[LeFevre06] K. LeFevre, D. DeWitt, R. Ramakrishnan: Mondrian Multidimensional K-Anonymity.
ICDE 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from shoal.beliefs.bound import BeliefBound
from shoal.core.adversary_guarantees import BeliefGain
from shoal.core.declared import declared
from shoal.core.errors import ParameterError
from shoal.core.guarantees import BANDWIDTH, BucketSize, Guarantee, KAnonymity
from shoal.core.method import Problem
from shoal.core.parameters import OptionalExact, OptionalValues, choice, exact_number, values
from shoal.core.plan import Plan, Recode
from shoal.core.shapes import Shape
from shoal.grouping.axes import Axes
from shoal.grouping.partition import cut_cells, label_columns, place_cells
from shoal.grouping.requirements import Requirements, RequiringMethod

Cuts = Literal["strict", "relaxed"]
Publish = Literal["generalized", "bucketized"]


def _usual_bandwidth(method: Mondrian) -> Fraction | None:
    return None if method.belief_gain is None else Fraction(BANDWIDTH)


@declared
class Mondrian(RequiringMethod):
    """Cut the table into buckets, each as small as the requirements allow.

    At least one of `k`, `ell`, `t` and `belief_gain` is needed; every bucket keeps all that are
    given.

    Notes
    -----
    Guarantee: the requirements that were given, in every bucket; see `guarantees`.

    Publishes: a generalized or a bucketized table. With a hierarchy, a bucket's label is the
    lowest node above its values. For numbers and dates, it is the interval between the cuts around
    the bucket. Otherwise it is the set of its values, of which those carried by fewer rows than a
    bucket must have are not named. An interval is open (``-inf``, ``+inf``) if no cut bounds it.
    The bound of a cut is drawn from the secret between the values on both sides of it. It is a
    point of a grid if the grid has one there: multiples of a round step, about a thousandth of the
    range of the middle nine tenths of the rows, or first days of months. A value carried by fewer
    rows than a bucket must have is a bound only by chance, or if no other integer or day separates
    it from the value before it; wider gaps give the same bound, so a reader cannot be sure. A
    bound off the grid discloses that the gap holds no point of the grid.

    The order of columns and cuts: the widest column comes first; ties follow the order of the
    schema. The width of a part in a column is its range (numbers), the distance between its first
    and last value in the domain, or the number of leaves under the lowest common ancestor minus
    one, each divided by the same for the whole domain; it is 1 if missing and present values are
    mixed. Within a column, missing values are separated from the others first. Then come
    boundaries between neighbouring values that occur, or between children of the lowest common
    ancestor, with missing values last: the last boundary with at most half of the rows before it,
    and the first with more. The one nearer to half comes first; ties go to the lower. A relaxed
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
    Shape(bucketized)
    """

    belief_gain: OptionalExact = exact_number(
        "How much a bucket may change the belief about a person, as a Jensen-Shannon distance. "
        "Default: no bound.",
        default=None,
        at_least=0,
        at_most=1,
    )
    bandwidth: OptionalExact = exact_number(
        "For belief_gain, how far others may differ from a person and still count towards the "
        "prior belief about that person. "
        f"Default: {BANDWIDTH}.",
        default=None,
        at_least=0,
        at_most=1,
        otherwise=_usual_bandwidth,
    )
    cuts: Cuts = choice(
        "Whether equal values stay on one side of a cut (`strict`), or those at the median may go "
        "either way, so that both sides have equally many rows (`relaxed`).",
        get_args(Cuts),
        default="strict",
    )
    protect: OptionalValues = values(
        "Sensitive values that count as one, for frequency diversity and the equal distance; the "
        "others are not protected. Default: every value is protected.",
        default=None,
    )
    publish: Publish = choice(
        "Whether quasi-identifiers are published as labels (`generalized`), or as they are, apart "
        "from the sensitive values (`bucketized`).",
        get_args(Publish),
        default="generalized",
    )

    deviations: ClassVar[tuple[str, ...]] = (
        "A cut is allowed if both sides keep every requirement, not only k-anonymity.",
        "The boundaries on both sides of the median are tried, in every column, widest first.",
        "Intervals end at points drawn between the values that a cut separates, or are open.",
        "Missing values are values of their own, separated from the others first.",
    )
    example: ClassVar[Mapping[str, object]] = {"k": 5, "ell": 2}

    def check_parameters(self) -> None:
        """Raise `ParameterError` for requirements that contradict each other or protect nothing."""
        if self.k is None and not self._is_about_values:
            raise ParameterError(
                "Mondrian needs at least one of k, ell and t, or belief_gain; got none.",
                hint="for example k=5, ell=3.",
            )
        if self.bandwidth is not None and self.belief_gain is None:
            raise ParameterError(
                "bandwidth needs belief_gain; got none.", hint="for example belief_gain=0.3."
            )
        if self.publish == "bucketized" and not self._is_about_values:
            raise ParameterError(
                "A bucketized release with k alone would protect nothing: quasi-identifiers are "
                "published as they are, and a bucket may hold one sensitive value only.",
                hint="give ell or t too, or publish='generalized'.",
            )
        super().check_parameters()

    @property
    def _is_about_values(self) -> bool:
        given = (self.ell, self.t, self.belief_gain)
        return any(parameter is not None for parameter in given)

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.named(self.publish)

    @property
    def is_minimal(self) -> bool:
        """Whether buckets follow from the table alone; rows at a relaxed cut do not."""
        return self.cuts == "strict"

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release: all that were asked for."""
        found: list[Guarantee] = []
        if self.k is not None:
            size = KAnonymity if self.shape.generalizes else BucketSize
            found.append(size(k=self.k))
        found += self._value_guarantees()
        if self.belief_gain is not None:
            assert self.bandwidth is not None
            found.append(BeliefGain(t=self.belief_gain, bandwidth=self.bandwidth))
        return tuple(found)

    def plan(self, problem: Problem) -> Plan:
        """Plan the buckets, and their labels if quasi-identifiers are generalized.

        Raises `DataError` if the table has no rows, `InfeasibleError` if not even the whole table
        keeps the requirements, and `ParameterError` if a protected value does not occur.
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
        if self.shape.generalizes:
            least = max(2, requirements.least_bucket)
            recode = label_columns(partition, axes, cells, least, problem.secret)
        return Plan(
            cells,
            partition.n_buckets,
            place_cells(partition, cells),
            recode,
            witnesses={} if beliefs is None else beliefs.witnesses,
        )
