"""Keeping the belief gain of buckets within a bound, while planning or by merging afterwards.

Problem: the values of a bucket may fit some of its rows better than others, so that an adversary
with prior beliefs finds out whose value is whose.
Idea: a method judges each bucket by its cells (`BeliefBound`). A release is repaired by merging the
bucket with the largest gain with one that compensates for it: one that has too many of the values
of which the first has too few, relative to the beliefs about the rows of both (`merge_until`).
Guarantee: bounded belief gain. Merging keeps every guarantee that holds for unions of buckets:
bucket size, distinct and frequency l-diversity among others.

References
----------
[LiLZ09] T. Li, N. Li, J. Zhang: Modeling and Integrating Background Knowledge in Data
Anonymization. ICDE 2009: (B, t)-privacy. The merging is not from there.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.beliefs.beliefs import Beliefs, estimate_beliefs
from shoal.beliefs.posteriors import gains, omega_distances
from shoal.beliefs.priors import BELIEFS, beliefs_to_json
from shoal.core.adversary_guarantees import BeliefGain
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, total_by
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.exact import Number, as_text, exact, reachable, whole
from shoal.core.guarantees import Guarantee
from shoal.core.method import Problem
from shoal.core.prior_knowledge import BelievedRows

_POOL = 2048
"""The number of buckets among which candidates for a merge are chosen."""
_THOUSAND = 1000


@dataclass(frozen=True, eq=False)
class BeliefBound:
    """The largest belief gain allowed, and the prior beliefs about each cell.

    `value` is the sensitive value of each cell, and `prior` its row in `beliefs`, which are
    estimated once, from the whole table.
    """

    t: float
    value: Codes
    prior: Codes
    beliefs: Beliefs

    @classmethod
    def of_problem(cls, guarantees: Sequence[Guarantee], problem: Problem) -> BeliefBound | None:
        """Return the bound that the guarantees ask for, or None if they ask for none.

        Raises `InfeasibleError`, with the best bound, if even one bucket of all rows exceeds it.
        """
        asked = next((one for one in guarantees if isinstance(one, BeliefGain)), None)
        if asked is None:
            return None
        sensitive = problem.schema.sensitive[0]
        cells = problem.cells.select([*problem.schema.quasi, sensitive])
        beliefs = estimate_beliefs(cells, sensitive, problem.trees, asked.bandwidth)
        _, prior = problem.cells.select_with_inverse(problem.schema.quasi)
        value = problem.cells.column(sensitive)
        bound = cls(float(asked.t), value, prior, beliefs)
        bound._confirm_reachable(asked, problem.cells.counts)
        return bound

    def _confirm_reachable(self, asked: BeliefGain, counts: Counts) -> None:
        least = self.gain(np.arange(len(counts)), counts)
        if least <= self.t:
            return
        best = _rounded_up(least)
        raise InfeasibleError(
            f"{asked.name} with t = {as_text(asked.t)} is out of reach: even with all rows in one "
            f"bucket, a belief changes by about {least:.3f}.",
            hint=f"{reachable({'belief_gain': best}) or 'no bound below 1 can be reached'}; try "
            "another bandwidth for less.",
            best={"belief_gain": best},
        )

    def gain(self, cells: Codes, counts: Counts) -> float:
        """Return the largest belief gain in a bucket with `counts` rows of each of the cells."""
        own, place = np.unique(self.prior[cells], return_inverse=True)
        n_rows = total_by(place, counts, len(own))
        held = total_by(self.value[cells], counts, self.beliefs.domain.size)
        return float(omega_distances(self.beliefs.prior[own], n_rows, held).max())

    def keeps(self, cells: Codes, counts: Counts) -> bool:
        """Return whether a bucket keeps the bound."""
        return self.gain(cells, counts) <= self.t

    @property
    def witnesses(self) -> dict[str, bytes]:
        """The prior beliefs, by the name of their internal file."""
        return {BELIEFS: beliefs_to_json(self.beliefs)}


def merge_until(
    buckets: Buckets, occupants: BelievedRows, t: Number, *, n_candidates: int = 16
) -> Codes:
    """Merge buckets until no belief changes by more than t, by the Omega estimate.

    The bucket with the largest gain is merged with the candidate that leaves the smallest gain. The
    `n_candidates` candidates are the buckets that best compensate for the difference between the
    bucket's counts of values and those expected of its rows, relative to the rows of both.

    Returns for each bucket the merged bucket that it belongs to, numbered from 0 in the order of
    the first. Raises `InfeasibleError` if even one bucket of all rows exceeds t; it names the best
    bound reached on the way.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1]), disease)
    >>> occupants = BelievedRows.of_pairs(buckets.bucket, np.zeros(4, int), np.array([[0.5, 0.5]]))
    >>> merge_until(buckets, occupants, 0.1).tolist()
    [0, 0, 1]
    """
    bound = exact("t", t)
    if not 0 <= bound <= 1:
        raise ParameterError(f"t must lie between 0 and 1, not {as_text(bound)}.")
    whole("n_candidates", n_candidates, least=1)
    worst = np.zeros(buckets.n_buckets)
    np.maximum.at(worst, occupants.bucket, gains(buckets, occupants, max_steps=0).distance)
    merging = _Merging.of(buckets, occupants)
    least = float(worst.max(initial=0.0))
    failing = [(-gain, place) for place, gain in enumerate(worst.tolist()) if gain > bound]
    heapq.heapify(failing)
    while failing:
        negative, place = heapq.heappop(failing)
        # Skip entries of buckets that have been merged since.
        if not merging.is_live[place] or -negative != worst[place]:
            continue
        least = min(least, -negative)
        if merging.n_live == 1:
            raise _infeasible(bound, least)
        gain, place = merging.merge(place, n_candidates)
        worst[place] = gain
        if gain > bound:
            heapq.heappush(failing, (-gain, place))
    return merging.targets()


def _infeasible(t: Fraction, least: float) -> InfeasibleError:
    best = _rounded_up(least)
    return InfeasibleError(
        f"No merging of buckets keeps every belief gain within t = {as_text(t)}; the "
        f"best bound found is about {least:.3f}.",
        hint=f"{reachable({'t': best}) or 'no bound below 1 can be reached'}.",
        best={"t": best},
    )


def _rounded_up(gain: float) -> str:
    """Return a bound of three digits, at most 1, that the gain is below."""
    return as_text(min(Fraction(math.floor(gain * _THOUSAND) + 1, _THOUSAND), Fraction(1)))


@dataclass(eq=False)
class _Merging:
    """Buckets that are merged; the one with the lower number absorbs the other."""

    priors: Floats
    # By bucket: the prior beliefs about its rows, and the number of rows with each.
    prior: list[Codes]
    n_rows: list[Counts]
    # By bucket and value: the number of rows, and that minus the number expected by the priors.
    counts: Counts
    surplus: Floats
    # Whether each bucket has not been absorbed, and the bucket that absorbed it, or itself.
    is_live: Flags
    taken_by: Codes

    @classmethod
    def of(cls, buckets: Buckets, occupants: BelievedRows) -> _Merging:
        n_buckets, n_values = buckets.n_buckets, buckets.domain.size
        counts = np.zeros((n_buckets, n_values), dtype=np.int64)
        counts[buckets.bucket, buckets.value] = buckets.count
        believed = np.zeros((n_buckets, n_values))
        weighed = occupants.priors[occupants.prior] * occupants.count[:, np.newaxis]
        np.add.at(believed, occupants.bucket, weighed)
        borders = occupants.starts[1:-1]
        return cls(
            occupants.priors,
            np.split(occupants.prior, borders),
            np.split(occupants.count, borders),
            counts,
            counts - believed,
            np.ones(n_buckets, dtype=bool),
            np.arange(n_buckets),
        )

    @property
    def n_live(self) -> int:
        """The number of buckets left."""
        return int(np.count_nonzero(self.is_live))

    def merge(self, place: int, n_candidates: int) -> tuple[float, int]:
        """Merge a bucket with the best candidate; return the gain and the number of the result."""
        found = [
            (self._gain(place, other), other) for other in self._candidates(place, n_candidates)
        ]
        gain, other = min(found)
        keeper, taken = sorted((place, other))
        self.prior[keeper], self.n_rows[keeper] = self._rows(place, other)
        self.counts[keeper] += self.counts[taken]
        self.surplus[keeper] += self.surplus[taken]
        self.is_live[taken] = False
        self.taken_by[taken] = keeper
        return gain, keeper

    def _candidates(self, place: int, n_candidates: int) -> list[int]:
        live = np.flatnonzero(self.is_live)
        live = live[live != place]
        # Every n-th bucket, so that a merge costs about the same in a release of any size.
        pool = live[:: -(-len(live) // _POOL)]
        sizes = self.counts[pool].sum(axis=1) + self.counts[place].sum()
        left = np.abs(self.surplus[pool] + self.surplus[place]).sum(axis=1) / sizes
        best: list[int] = pool[np.argsort(left, kind="stable")[:n_candidates]].tolist()
        return best

    def _gain(self, place: int, other: int) -> float:
        prior, n_rows = self._rows(place, other)
        counts = self.counts[place] + self.counts[other]
        return float(omega_distances(self.priors[prior], n_rows, counts).max())

    def _rows(self, place: int, other: int) -> tuple[Codes, Counts]:
        prior, inverse = np.unique(
            np.concatenate([self.prior[place], self.prior[other]]), return_inverse=True
        )
        n_rows = np.concatenate([self.n_rows[place], self.n_rows[other]])
        return prior, total_by(inverse, n_rows, len(prior))

    def targets(self) -> Codes:
        """Return for each bucket the number of the merged bucket that it belongs to."""
        keeper = self.taken_by
        while not np.array_equal(keeper, keeper[keeper]):
            keeper = keeper[keeper]
        return np.unique(keeper, return_inverse=True)[1].astype(np.int64, copy=False)
