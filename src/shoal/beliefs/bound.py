"""Repair: merge buckets until none tells too much about a row.

Problem: a bucketized release may hold buckets whose values do not go with their rows equally, so
that an adversary with prior beliefs finds out whose value is whose.
Idea: merge the bucket that tells most with one that makes up for it: that has too many of the
values of which the first has too few, compared with what is believed of the rows of both.
Guarantee: bounded belief gain. What holds of all unions of buckets in which it holds stays true:
bucket size, distinct and frequency l-diversity among others.

References
----------
[LiLZ09] T. Li, N. Li, J. Zhang: Modeling and Integrating Background Knowledge in Data
Anonymization. ICDE 2009: (B, t)-privacy. The merging is not from there.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets, Codes, Counts
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.knowledge.posteriors import gains, omega_distances

__all__ = ["merge_until"]

Floats = npt.NDArray[np.float64]

_POOL = 2048
"""Among so many buckets the candidates for a merge are looked for."""
_THOUSAND = 1000


def merge_until(
    buckets: Buckets, occupants: BelievedRows, t: Number, *, n_candidates: int = 16
) -> Codes:
    """Merge buckets until no belief changes by more than t.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    occupants
        What is believed of the rows of each bucket beforehand.
    t
        The largest gain of belief, by the Omega estimate.
    n_candidates
        How many buckets to try for each merge.

    Returns
    -------
    For each bucket the one that it becomes a part of, numbered from 0 in the order of the first.

    Raises
    ------
    InfeasibleError
        Where even one bucket with all rows tells more; it names the best bound on the way.

    Notes
    -----
    The bucket with the largest gain is merged with that candidate which leaves the smallest one.
    Candidates are those whose counts make up best for what the bucket has more or fewer of each
    value than its rows were believed to have, relative to the rows of both.

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
        # What was noted of a bucket that has been merged since is out of date.
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
    best = as_text(min(Fraction(math.floor(least * _THOUSAND) + 1, _THOUSAND), Fraction(1)))
    return InfeasibleError(
        f"No merging of buckets keeps every gain of belief within t = {as_text(t)}; the best that "
        f"was met is about {least:.3f}.",
        hint=f"t = {best} can be reached.",
        best={"t": best},
    )


@dataclass(eq=False)
class _Merging:
    """Buckets that grow together; the one with the lower number takes the other in.

    Parameters
    ----------
    priors
        The prior beliefs.
    prior, n_rows
        For each bucket the beliefs about its rows, and how many rows have each.
    counts
        For each bucket how many of its rows have each value.
    surplus
        For each bucket how many more that are than its rows were believed to have.
    is_live
        For each bucket whether it has not been taken in.
    taken_by
        For each bucket the one that took it in, or itself.
    """

    priors: Floats
    prior: list[Codes]
    n_rows: list[Counts]
    counts: Counts
    surplus: Floats
    is_live: npt.NDArray[np.bool_]
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
        """How many buckets are left."""
        return int(np.count_nonzero(self.is_live))

    def merge(self, place: int, n_candidates: int) -> tuple[float, int]:
        """Merge a bucket with the best candidate; give the gain and the number of the result."""
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
        n_rows = np.zeros(len(prior), dtype=np.int64)
        np.add.at(n_rows, inverse, np.concatenate([self.n_rows[place], self.n_rows[other]]))
        return prior, n_rows

    def targets(self) -> Codes:
        """Give for each bucket the number of the one that it is a part of."""
        keeper = self.taken_by
        while not np.array_equal(keeper, keeper[keeper]):
            keeper = keeper[keeper]
        return np.unique(keeper, return_inverse=True)[1].astype(np.int64, copy=False)
