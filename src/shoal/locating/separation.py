"""How well scores separate the members of a table from other people, with a confidence interval.

The area under the ROC curve is the probability that a member scores higher than another person,
with ties counting one half. It is computed exactly from counts of scores. Its interval is DeLong's,
which allows for ties, on the logit scale, where it stays between 0 and 1. DeLong's variance is 0 if
all members score above all others, or all people score alike, as if that were certain to hold for
everybody; Newcombe's score interval, which does not have this flaw, is used instead.

References
----------
[DeLong88] E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson: Comparing the Areas under Two or More
Correlated Receiver Operating Characteristic Curves. Biometrics 44(3), 1988.

[Newcombe06] R. G. Newcombe: Confidence intervals for an effect size measure based on the
Mann-Whitney statistic. Part 2. Statistics in Medicine 25(4), 2006; method 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Counts, Floats
from shoal.core.calibration import share_interval
from shoal.core.cells import total_by
from shoal.core.errors import ParameterError

_NORMAL_QUANTILE = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""
_N_HALVINGS = 60
_ROUNDING = 1e-10
"""A sum of n positive fractions has a relative rounding error of at most about n * 2**-53, which
stays below this for 900,000 buckets."""


@dataclass(frozen=True)
class MatchRate:
    """The number of people who match the release, among how many.

    Examples
    --------
    >>> MatchRate(1, 40)
    MatchRate(1 of 40: 0.025, 95 % interval 0.004 to 0.129)
    """

    n_matching: int
    n_people: int

    @property
    def share(self) -> float:
        """The share that matches; 0 if there is nobody."""
        return self.n_matching / self.n_people if self.n_people else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the share."""
        return share_interval(self.n_matching, self.n_people)

    def to_dict(self) -> dict[str, object]:
        """Return the rate with its interval."""
        low, high = self.interval
        return {
            "n_matching": self.n_matching,
            "n_people": self.n_people,
            "share": self.share,
            "low": low,
            "high": high,
        }

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"MatchRate({self.n_matching} of {self.n_people}: {self.share:.3f}, "
            f"95 % interval {low:.3f} to {high:.3f})"
        )


@dataclass(frozen=True)
class Separation:
    """How well scores separate members from others: the AUC and its 95 % interval.

    `members` and `others` are the rates at which each match the release at all, by a score above 0.
    """

    auc: float
    low: float
    high: float
    members: MatchRate
    others: MatchRate

    def to_dict(self) -> dict[str, object]:
        """Return all numbers."""
        return {
            "auc": self.auc,
            "low": self.low,
            "high": self.high,
            "members": self.members.to_dict(),
            "others": self.others.to_dict(),
        }

    def __repr__(self) -> str:
        return (
            f"Separation(AUC {self.auc:.3f}, 95 % interval {self.low:.3f} to {self.high:.3f}; "
            f"{self.members.n_people} members, {self.others.n_people} others)"
        )


def separate(
    members: npt.ArrayLike,
    others: npt.ArrayLike,
    *,
    member_counts: Counts | None = None,
    other_counts: Counts | None = None,
) -> Separation:
    """Measure how well scores separate members from others.

    A person who matches nothing scores 0. The counts say how many people have each score, if people
    with the same score are given once. `ParameterError` is raised if there are no members or no
    others, or if a score is NaN.

    Examples
    --------
    >>> separate([3, 2, 2, 1], [0, 0, 0, 1])
    Separation(AUC 0.969, 95 % interval 0.639 to 0.998; 4 members, 4 others)
    """
    held = _counted(members, member_counts), _counted(others, other_counts)
    scores = np.unique(np.concatenate([held[0][0], held[1][0]]))
    n_members, n_others = (
        total_by(np.searchsorted(scores, own), counts, len(scores)) for own, counts in held
    )
    m, n = int(n_members.sum()), int(n_others.sum())
    if m == 0 or n == 0:
        raise ParameterError(
            f"The separation needs members and others, but got {m} members and {n} others.",
            hint="hold out some people, and publish some.",
        )
    auc = _auc(n_members, n_others)
    variance = _variance(n_members, n_others, auc)
    low, high = _logit_interval(auc, variance) if variance > 0 else _score_interval(auc, m, n)
    matches = scores > 0
    return Separation(
        auc,
        low,
        high,
        MatchRate(int(n_members[matches].sum()), m),
        MatchRate(int(n_others[matches].sum()), n),
    )


def tie_rounded(scores: npt.ArrayLike) -> Floats:
    """Return scores in which those that differ only by rounding are equal.

    Scores are sums of positive fractions, so two people who are alike to the adversary may score 1
    and 0.9999999999999999, depending on the order of summation. The area would rank one above the
    other instead of counting a tie as one half. Neighbours that differ by less than 1e-10 of
    themselves get the lower score of the two; 0 stays apart from everything else.

    Examples
    --------
    >>> tie_rounded([0.1 + 0.2, 0.3, 0.31, 0]).tolist()
    [0.3, 0.3, 0.31, 0.0]
    """
    given = np.asarray(scores, dtype=np.float64).reshape(-1)
    values, place = np.unique(given, return_inverse=True)
    is_new = np.diff(values, prepend=-np.inf) > _ROUNDING * values
    lowest = values[np.maximum.accumulate(np.where(is_new, np.arange(len(values)), 0))]
    tied: Floats = lowest[place.reshape(-1)]
    return tied


def _counted(given: npt.ArrayLike, counts: Counts | None) -> tuple[Floats, Counts]:
    scores = np.asarray(given, dtype=np.float64).reshape(-1)
    if np.isnan(scores).any():
        raise ParameterError(
            f"{np.count_nonzero(np.isnan(scores))} scores are NaN.",
            hint="give a person who matches nothing the score 0.",
        )
    return scores, np.ones(len(scores), dtype=np.int64) if counts is None else counts


def _below(counts: Counts) -> Floats:
    """Return for each score the number of people below it, and half of those at it."""
    below: Floats = np.cumsum(counts) - counts / 2
    return below


def _auc(n_members: Counts, n_others: Counts) -> float:
    # Counted in halves, so that the sum is an exact integer.
    halves = (2 * np.cumsum(n_others) - n_others).tolist()
    won = sum(count * half for count, half in zip(n_members.tolist(), halves, strict=True))
    return float(won / (2 * sum(n_members.tolist()) * sum(n_others.tolist())))


def _variance(n_members: Counts, n_others: Counts, auc: float) -> float:
    """Return the variance of the area by [DeLong88]; 0 if it cannot be estimated."""
    m, n = int(n_members.sum()), int(n_others.sum())
    if m == 1 or n == 1 or auc in (0, 1):
        return 0.0
    of_members = (_below(n_others) / n - auc) ** 2
    of_others = (1 - _below(n_members) / m - auc) ** 2
    by_members = float((n_members * of_members).sum()) / (m - 1) / m
    by_others = float((n_others * of_others).sum()) / (n - 1) / n
    return by_members + by_others


def _logit_interval(auc: float, variance: float) -> tuple[float, float]:
    centre = math.log(auc / (1 - auc))
    half = _NORMAL_QUANTILE * math.sqrt(variance) / (auc * (1 - auc))
    return _expit(centre - half), _expit(centre + half)


def _expit(number: float) -> float:
    return 1 / (1 + math.exp(-number)) if number > 0 else 1 - 1 / (1 + math.exp(number))


def _score_interval(auc: float, m: int, n: int) -> tuple[float, float]:
    """Return the areas whose own distribution makes this one likely [Newcombe06]."""
    return _lowest(auc, m, n), 1 - _lowest(1 - auc, m, n)


def _lowest(auc: float, m: int, n: int) -> float:
    # The variance is that at the unknown area, not at the observed one, so the area is found by
    # bisection. Method 5 replaces both m - 1 and n - 1 by their mean.
    low, high = 0.0, auc
    more = (m + n) / 2 - 1
    for _ in range(_N_HALVINGS):
        area = (low + high) / 2
        inside = 1 + more * (1 - area) / (2 - area) + more * area / (1 + area)
        deviation = math.sqrt(area * (1 - area) * inside / (m * n))
        if auc - area > _NORMAL_QUANTILE * deviation:
            low = area
        else:
            high = area
    return low
