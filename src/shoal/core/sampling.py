"""A random sample of people with their buckets, and what it says about all people.

People of one bucket hide one another, so an attack on a person needs the whole bucket. The sample
is therefore drawn person by person, with replacement, and everybody in the buckets of the people
drawn is attacked. A bucket is drawn with a probability in proportion to its size; the share of its
people who are at risk then has, as its expectation, the share of all people who are at risk. The
people of one bucket may be at risk together or not at all, so a draw counts as one observation,
whatever the size of its bucket.

The interval of the share is one of betting: somebody stakes a fixed part of a capital on every draw
having a share at risk below m. If the share of all people is m, the game is fair, so by Ville's
inequality the capital ever reaches 1/alpha with a probability of alpha at most. The upper end of
the interval is the largest m at which it did not. This holds for any number of draws, any sizes of
buckets and any way in which people at risk are distributed over them. With nobody at risk in n
draws, the stake of everything alone would give the bound of Clopper and Pearson, about 3.7/n.

References
----------
[Waudby24] I. Waudby-Smith, A. Ramdas: Estimating means of bounded random variables by betting
(J. R. Stat. Soc. B 86, 2024), Section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.calibration import Estimate
from shoal.core.cells import total_by
from shoal.core.display import number, of_all

_TAIL = 0.025
"""The error allowed at either end of a 95 % interval."""
_N_STAKES = 12
"""Stakes are 1, 1/2, 1/4, ... of the most that cannot ruin; one of them is near the best one."""
_NEAR = 1e-9
"""Bounds are found to this relative precision."""
_CHUNK = 1 << 14
_MOST_DRAWS = 1 << 22
"""After so many draws, more would hardly make the interval smaller."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The buckets of people drawn at random from a release."""

    # The distinct buckets, in ascending order, with their numbers of people.
    buckets: Codes
    sizes: Counts
    # The place in `buckets` of the bucket of each person drawn; a bucket may be drawn repeatedly.
    draws: Codes
    # The number of people in the whole release.
    n_all: int

    @property
    def n_people(self) -> int:
        """The number of people in the sample."""
        return int(self.sizes.sum())

    @property
    def is_whole(self) -> bool:
        """Whether everybody is in the sample, so that nothing is left to chance."""
        return self.n_people == self.n_all

    def number(self, n_buckets: int) -> Codes:
        """Return for each bucket of the release its place in the sample; -1 for the others."""
        number = np.full(n_buckets, -1, dtype=np.int64)
        number[self.buckets] = np.arange(len(self.buckets))
        return number

    def judge(self, place: Codes, count: Counts, is_at_risk: Flags) -> Sampled:
        """Return how many of all people are at risk, given those in the sample.

        The arguments have one entry per cell of people: the place of its bucket in the sample, its
        number of people, and whether they are at risk.
        """
        n_buckets = len(self.buckets)
        at_risk = total_by(place[is_at_risk], count[is_at_risk], n_buckets)
        share = (at_risk / np.maximum(self.sizes, 1))[self.draws]
        low, high = mean_interval(share)
        n_found = int(at_risk.sum())
        # What the sample has seen holds, whatever the interval says of the rest.
        least, most = n_found, self.n_all - (self.n_people - n_found)
        people = Estimate(
            float(np.clip(round(float(share.mean()) * self.n_all), least, most)),
            float(np.clip(math.floor(low * self.n_all), least, most)),
            float(np.clip(math.ceil(high * self.n_all), least, most)),
        )
        return Sampled(self.n_people, self.n_all, len(self.draws), people)


@dataclass(frozen=True)
class Sampled:
    """What an attack on a sample of people says about all of them."""

    # The people attacked, out of how many.
    n_people: int
    n_all: int
    # The people drawn; the others are those in their buckets.
    n_draws: int
    # How many of all people are at risk, with a 95 % interval.
    at_risk: Estimate

    @property
    def words(self) -> str:
        """The estimate in a few words."""
        found = self.at_risk
        about = of_all(int(found.value), self.n_all)
        return (
            f"about {about} people at risk, at most {number(int(found.high))} (95 %), by a sample "
            f"of {number(self.n_people)}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the sample in its JSON form."""
        return {
            "people": self.n_people,
            "of": self.n_all,
            "draws": self.n_draws,
            "at_risk": {name: int(one) for name, one in self.at_risk.to_dict().items()},
        }


def draw_sample(sizes: Counts, most: int, generator: np.random.Generator) -> Sample:
    """Draw people until their buckets would hold more than `most` people; at least one is drawn.

    `sizes` are the numbers of people in the buckets, each at least 1. The draws of a larger sample
    begin with those of a smaller one, so a larger budget never attacks fewer people.

    Examples
    --------
    >>> sample = draw_sample(np.array([2, 2, 3, 3]), 5, np.random.default_rng(0))
    >>> sample.buckets.tolist(), sample.n_people, sample.n_all
    ([3], 3, 10)
    """
    n_all, ends = int(sizes.sum()), np.cumsum(sizes)
    is_held = np.zeros(len(sizes), dtype=bool)
    kept: list[Codes] = []
    n_left, n_draws = most, 0
    while n_left >= 0 and n_draws < _MOST_DRAWS and not is_held.all():
        drawn = np.searchsorted(ends, generator.integers(n_all, size=_CHUNK), side="right")
        is_new = np.zeros(_CHUNK, dtype=bool)
        is_new[np.unique(drawn, return_index=True)[1]] = True
        added = np.cumsum(np.where(is_new & ~is_held[drawn], sizes[drawn], 0))
        n_kept = max(int(np.searchsorted(added, n_left, side="right")), 1 - n_draws)
        kept.append(drawn[:n_kept])
        is_held[drawn[:n_kept]] = True
        n_left = -1 if n_kept < _CHUNK else n_left - int(added[-1])
        n_draws += n_kept
    buckets, draws = np.unique(np.concatenate(kept), return_inverse=True)
    return Sample(buckets, sizes[buckets], draws, n_all)


def mean_interval(share: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent draws from 0 to 1, of any distribution.

    Examples
    --------
    >>> low, high = mean_interval(np.zeros(1000))
    >>> low, round(high, 5)
    (0.0, 0.0043)
    """
    if not len(share):
        return 0.0, 1.0
    different, counts = np.unique(share, return_counts=True)
    return 1 - _upper(1 - different, counts), _upper(different, counts)


def _upper(share: Floats, counts: Counts) -> float:
    """Return the largest mean at which betting on smaller ones does not win 1/alpha."""
    low, high = float((share * counts).sum() / counts.sum()), 1.0
    while high - low > _NEAR * high:
        middle = (low + high) / 2
        is_won = _log_capital(share, counts, middle) >= -math.log(_TAIL)
        low, high = (low, middle) if is_won else (middle, high)
    return high


def _log_capital(share: Floats, counts: Counts, mean: float) -> float:
    """Return the log of the capital won at a mean, averaged over all stakes.

    A stake s multiplies the capital by 1 + s (m - x) / (1 - m) at a draw of x: at x = 1 the stake
    of 1 loses everything.
    """
    # Half of the capital is staked fully, a quarter by half, and so on: the larger stakes are
    # those for small shares, where the interval matters most.
    stakes = 0.5 ** np.arange(_N_STAKES)
    weights = stakes / stakes.sum()
    factors = 1 + stakes[:, np.newaxis] * (mean - share) / (1 - mean)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(factors, 0.0)) @ counts + np.log(weights)
    largest = float(logs.max())
    return largest if math.isinf(largest) else largest + math.log(np.exp(logs - largest).sum())
