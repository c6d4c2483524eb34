"""Foreground-safe buckets, in which the release does not distinguish the people.

Problem: a release shows how likely each kind of person is to have a value. An adversary who weighs
the worlds of a bucket by that links people to the value far above its share in the bucket.
Idea: rows with the same class under every attribute set that can be relied on (a profile) are the
same to that adversary, whatever she mines; in buckets of one profile her belief is n/N. Buckets are
made inside profiles; the remaining rows are merged with the most similar ones, and the result is
attacked until nobody is found.
Guarantee: foreground safety, against the adversary of [Wong11] who weighs all solutions of her
equations by their likelihood.

References
----------
[Wong11] (see `shoal.foreground`) Section 7 leaves the defence as future work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from shoal.core.adversary_guarantees import (
    ForegroundSafety,
    epsilon_parameter,
    policy_parameter,
    sigma_parameter,
)
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, Cells, group
from shoal.core.declared import declared
from shoal.core.errors import InfeasibleError
from shoal.core.guarantees import FrequencyDiversity, Guarantee
from shoal.core.method import Method, Problem, confirm_countable, mark_protected
from shoal.core.parameters import Exact, OptionalValues, exact_number, values
from shoal.core.plan import Plan, Segments
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.foreground.additive import fit_additive
from shoal.foreground.attribute_sets import (
    AttributeSet,
    profiles,
    sample_size,
    usable_sets,
)
from shoal.foreground.every_value import Task, merge_for_every_value
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.merging import (
    Aim,
    Merger,
    merge_until_safe,
    rank_looks,
)
from shoal.foreground.mining import Policy
from shoal.locating.exposed import Exposed

_ROUNDING = 1e-9


@declared
class ForegroundSafe(Method):
    """Group rows so that what the release says of kinds of people finds nobody in a bucket.

    Notes
    -----
    Guarantee: foreground safety, and the frequency l-diversity that it implies, with ell = r.

    Publishes: a bucketized table, quasi-identifiers as they are, so membership is visible.

    Rows of a profile are sorted by an additive model of the value and cut into buckets of
    consecutive rows, so that an adversary with one coherent model of everybody sees people who are
    about equally likely; she may still believe the value of some with more than 1/r, and the plan's
    warnings state of how many. The foreground attack tells how many of them are exposed, because
    she is right often enough. If every value is protected, rows are dealt out by value instead. A
    profile with too many carriers for buckets of its own stays whole and takes in others.

    Protecting every value separately takes more merging than naming some. On small tables with many
    profiles it would end in one bucket of all rows, which is refused, and a search that takes too
    long is stopped. The error then names the largest r that was reached, with the same random
    draws, of seven between 1 and the one that was asked for.

    If the equations of the adversary have several solutions, she believes the mean over all that
    are reached from a published list of starts, weighted by likelihood. Beliefs that depend on them
    stay below 1/r by a millionth; the share of a bucket of one profile may equal 1/r. The plan's
    notes state the worst belief by one solution alone, which may be far higher.

    Merging is a heuristic. If it ends in one bucket of all rows that still gives somebody away, the
    request is refused, although other buckets might be safe. Buckets have at least r rows; smaller
    ones, without a protected value, are made only if the request is infeasible otherwise.

    An adversary who relies on fewer rows than epsilon and sigma require sees finer profiles. In
    buckets with rows of several profiles, the rows that were taken in stand out to an adversary who
    knows the algorithm.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.census(rows=2000, seed=1))
    >>> method = shoal.ForegroundSafe(value="diabetes", r=2, epsilon=0.05)
    >>> release = shoal.anonymize(table, method, seed=1)
    >>> attack = shoal.attacks.Foreground(epsilon=0.05, adversary="paper")
    >>> shoal.attack(release, attack)["foreground"].calibration.believed
    0
    """

    value: OptionalValues = values(
        "The sensitive value that is protected; several count as one. Default: every value "
        "separately.",
        default=None,
    )
    r: Exact = exact_number(
        "Nobody is linked to the value with a probability above 1/r.", at_least=1
    )
    epsilon: Exact = epsilon_parameter()
    sigma: Exact = sigma_parameter()
    policy: Policy = policy_parameter()

    deviations: ClassVar[tuple[str, ...]] = (
        "[Wong11] proposes groups of similar people and no algorithm: this one is Shoal's own.",
    )
    example: ClassVar[Mapping[str, object]] = {"r": 2, "epsilon": 0.03}

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.BUCKETIZED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release."""
        values = self.value or ()
        return (
            FrequencyDiversity(ell=self.r, protect=values),
            ForegroundSafety(
                value=values,
                r=self.r,
                epsilon=self.epsilon,
                sigma=self.sigma,
                policy=self.policy,
            ),
        )

    def plan(self, problem: Problem) -> Plan:
        """Plan the buckets.

        Raises
        ------
        DataError
            If the table has no rows.
        InfeasibleError
            If no buckets are found. It names an r that can be kept: with named values, the largest
            that one bucket of all rows keeps, and otherwise the largest of a few that were tried.
        ParameterError
            If a protected value does not occur.
        """
        cells = problem.cells
        confirm_countable(cells)
        table = _Table.of(problem, self.value)
        sets = usable_sets(table.looks, sample_size(self.epsilon, self.sigma))
        profile, _ = profiles(sets, table.looks.n_cells)
        if table.is_joint:
            cell, bucket, merged = self._merge(table, sets, profile, problem.secret)
        else:
            cell, bucket, merged = self._merge_for_all(table, sets, profile, problem.secret)
        n_buckets = merged.exposed.buckets.n_buckets
        n_pure = _count_pure(merged.exposed, profile)
        return Plan(
            cells,
            n_buckets,
            Segments.of_pairs(cell, merged.target[bucket], n_buckets),
            warnings=_coherent_warnings(merged, table.aims, self.r),
            notes={
                "attribute_sets": len(sets),
                "profiles": int(profile.max()) + 1,
                "buckets_of_one_profile": n_pure,
                "rounds": merged.n_rounds,
                "largest_belief": merged.worst,
                "largest_belief_by_one_solution": merged.worst_solution,
            },
        )

    def _merge(
        self, table: _Table, sets: tuple[AttributeSet, ...], profile: Codes, secret: Secret
    ) -> tuple[Codes, Codes, Merger]:
        """Merge buckets until they are safe, with at least r rows each if that is possible.

        Returns the cell and the bucket of every row, and the merged buckets.
        """
        cell, bucket = table.bucketize(profile, math.ceil(self.r), self.r, secret)
        exposed = table.expose(cell, bucket)
        merge = partial(merge_until_safe, exposed, table.aims, self.r, sets, policy=self.policy)
        try:
            return cell, bucket, merge(n_least=min(math.ceil(self.r), table.cells.n_rows))
        except InfeasibleError:
            # A smaller bucket holds no protected value, and taking it in may give somebody away.
            return cell, bucket, merge(n_least=1)

    def _merge_for_all(
        self, table: _Table, sets: tuple[AttributeSet, ...], profile: Codes, secret: Secret
    ) -> tuple[Codes, Codes, Merger]:
        """Do the same if every value is protected."""

        def bucketize(r: Fraction) -> tuple[Codes, Codes]:
            return table.bucketize(profile, math.ceil(r), r, secret)

        task = Task(
            begin=lambda r: table.expose(*bucketize(r)),
            least=lambda r: min(math.ceil(r), table.cells.n_rows),
            aims=table.aims,
            sets=sets,
            carriers=table.carriers,
            policy=self.policy,
        )
        merged = merge_for_every_value(task, self.r)
        return *bucketize(self.r), merged


@dataclass(frozen=True, eq=False)
class _Table:
    """The table as it is bucketized.

    `looks` are its distinct rows without the sensitive value, and `look` is that of each cell.
    `aims` are the codes of protected values; those of one entry count as one. `is_joint` says that
    the values were named, so that all others are free.
    """

    cells: Cells
    looks: Cells
    look: Codes
    value: Codes
    column: str
    aims: tuple[Aim, ...]
    is_joint: bool

    @property
    def carriers(self) -> Counts:
        """The number of rows with each aim, by distinct row."""
        n_looks, counts = self.looks.n_cells, self.cells.counts
        own = [np.bincount(self.look, counts * np.isin(self.value, a), n_looks) for a in self.aims]
        return np.array(own, dtype=np.int64).reshape(len(own), n_looks)

    @classmethod
    def of(cls, problem: Problem, named: tuple[str | None, ...] | None) -> _Table:
        cells = problem.cells
        (column,) = problem.schema.sensitive
        looks, look = cells.select_with_inverse(problem.schema.quasi)
        value = cells.column(column)
        there = np.unique(value)
        if named is not None:
            aims: tuple[Aim, ...] = (
                tuple(there[mark_protected(cells.domain(column), there, named, "value")].tolist()),
            )
        else:
            aims = tuple((code,) for code in there.tolist())
        return cls(cells, looks, look, value, column, aims, named is not None)

    def bucketize(
        self, profile: Codes, size: int, r: Fraction, secret: Secret
    ) -> tuple[Codes, Codes]:
        """Make buckets inside profiles; return the cell and the bucket of every row."""
        cell = np.repeat(np.arange(self.cells.n_cells), self.cells.counts)
        chance = secret.numbers("foreground-safe: order of rows", len(cell))
        own = profile[self.look[cell]]
        if self.is_joint:
            carries = np.isin(self.value[cell], self.aims[0])
            order = np.lexsort((chance, -self._score()[self.look[cell]], own))
            return cell[order], _cut(own[order], carries[order], size, r)
        order = np.lexsort((chance, self.value[cell], own))
        return cell[order], _deal(own[order], self.value[cell[order]], size)

    def _score(self) -> Floats:
        """Score the looks by an additive model of the table itself, with every cell as a bucket."""
        numbers = np.arange(self.cells.n_cells)
        buckets = Buckets.of_pairs(
            numbers, self.value, self.cells.domain(self.column), self.cells.counts
        )
        table = Exposed(self.looks, numbers, self.look, self.cells.counts, buckets)
        return rank_looks(table, self.aims[0])

    def expose(self, cell: Codes, bucket: Codes) -> Exposed:
        """Return what would be published."""
        n_buckets = int(bucket.max()) + 1
        look = self.look[cell]
        first, inverse = group([bucket, look], [n_buckets, self.looks.n_cells], len(look))
        count = np.bincount(inverse, minlength=len(first)).astype(np.int64)
        buckets = Buckets.of_pairs(bucket, self.value[cell], self.cells.domain(self.column))
        return Exposed(self.looks, bucket[first], look[first], count, buckets)


def _cut(profile: Codes, carries: Flags, size: int, r: Fraction) -> Codes:
    """Cut sorted profiles into buckets of consecutive rows in which at most 1/r carry the value.

    A profile is cut into pieces of `size` rows. Let W be the number of rows so far minus r times
    the carriers so far. Between two consecutive places at which W is no lower than anywhere before,
    the share of carriers is at most 1/r; the last bucket reaches to the end of the profile from a
    place at which W is no higher than at the end. A profile without such places is one bucket.
    """
    n_rows = len(profile)
    opens = np.r_[True, profile[1:] != profile[:-1]]
    begin = np.flatnonzero(opens)
    number = np.cumsum(opens) - 1
    length = np.diff(np.r_[begin, n_rows])
    rank = np.arange(n_rows) - begin[number]
    worth = np.cumsum(r.denominator - r.numerator * carries.astype(np.int64))
    before = np.r_[0, worth[:-1]]
    height = before - before[begin][number]
    final = worth[begin + length - 1] - before[begin]
    # A bucket may begin at the beginning of a piece if enough rows are left.
    is_place = (rank % size == 0) & (length[number] - rank >= size)
    # Each profile is lifted above all before it, so that one pass finds the peaks of all.
    lift = number * (int(np.abs(height).max(initial=0)) + 1) * 2
    lifted = np.where(is_place, height + lift, -1)
    is_peak = lifted >= np.maximum.accumulate(lifted)
    is_cut = opens | (is_place & is_peak & (height >= 0) & (height <= final[number]))
    return np.cumsum(is_cut) - 1


def _deal(profile: Codes, value: Codes, size: int) -> Codes:
    """Deal the rows of each profile, sorted by value, round a ring of buckets of `size` rows.

    No bucket gets a value twice if the value has no more rows than there are buckets; a profile in
    which a value has more rows is one bucket.
    """
    opens = np.r_[True, profile[1:] != profile[:-1]]
    begin = np.flatnonzero(opens)
    number = np.cumsum(opens) - 1
    length = np.diff(np.r_[begin, len(profile)])
    starts_run = opens | np.r_[True, value[1:] != value[:-1]]
    run = np.flatnonzero(starts_run)
    most = np.maximum.reduceat(np.diff(np.r_[run, len(value)]), np.searchsorted(run, begin))
    n_buckets = np.where(most <= length // size, length // size, 1)
    rank = np.arange(len(profile)) - begin[number]
    first = np.cumsum(n_buckets) - n_buckets
    bucket: Codes = first[number] + rank % n_buckets[number]
    return bucket


def _count_pure(exposed: Exposed, profile: Codes) -> int:
    """Count the buckets whose rows are all of one profile."""
    own = profile[exposed.look]
    start = exposed.starts[:-1]
    is_pure = np.maximum.reduceat(own, start) == np.minimum.reduceat(own, start)
    return int(np.count_nonzero(is_pure))


def _coherent_warnings(merged: Merger, aims: Sequence[Aim], r: Fraction) -> tuple[str, ...]:
    """Warn of the people about whom an adversary with one additive model still believes a value."""
    exposed = merged.exposed
    is_found = np.zeros(len(exposed.count), dtype=bool)
    for aim in aims:
        is_found |= fit_additive(Target.of(exposed, aim))[1].p > float(1 / r) + _ROUNDING
    n_found = int(exposed.count[is_found].sum())
    if not n_found:
        return ()
    warning = (
        "An adversary with one additive model of all quasi-identifiers believes a protected value "
        f"with more than 1/r of {n_found} of {exposed.n_rows} people; the guarantee is against "
        "another, who takes attribute sets one by one. These are people believed, not exposed: the "
        "foreground attack says how many of the beliefs are right."
    )
    return (warning,)
