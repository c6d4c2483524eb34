"""Calibrate an adversary's beliefs against the truth, and count who is exposed.

An adversary who believes .9 may be right in 3 of 10 cases. Given the truth, we can find out how far
her beliefs should be trusted: a slope `a` flattens (below 1) or sharpens (above 1) all of them at
once, and is fitted by how well the flattened beliefs say *who within a bucket* has the value. At a
= 1 she is calibrated; at a = 0 she knows nothing beyond what the bucket shows to anybody.

There are two laws. If she has odds of her own before looking at a bucket's counts, these are raised
to the power a and conditioned on the counts (a conditional Bernoulli law). If only posteriors are
known, the posterior odds relative to the bucket's share are raised to it, so that a = 1 returns her
own belief and a = 0 the share.

One slope serves all values, and a value gets its own if a likelihood-ratio test asks for it. The
values of one bucket depend on each other, so a bucket counts as one observation: intervals and
tests are scaled by the ratio of the curvature to the variance of the buckets' scores (a sandwich).

A slope is an average, in which people about whom she is rightly certain could vanish. So a band of
strong beliefs counts in full if it was right often enough. And a slope only rescales what she found
out: if her model misses something in the data, an adversary with a better one would not. So people
are also counted who would be exposed to an adversary who knew the law of the table (`TableLaw`),
each by the upper end of what the truth leaves open; the larger of both counts is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from shoal.calibration.checked_beliefs import CheckedBeliefs
from shoal.calibration.table_law import TableLaw, blocks_of
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.calibration import (
    Calibration,
    Estimate,
    Suspicions,
    raised_limit,
    share_interval,
)
from shoal.core.cells import Cells, total_by
from shoal.core.threads import each_of

FEWEST_INFORMATIVE = 30
"""With fewer informative people, nothing can be calibrated."""
_GRID = 0.05
_STEEPEST = 4.0
"""The largest slope considered."""
_LEVEL = 0.05
_NEAR = 1e-3
"""The precision of a fitted slope."""
_MAX_FALSE = 12
_WIDER = 1.2
"""Laws are drawn this many times as far apart as their posterior says, since the effects they have
were chosen by the same truth."""
_SURE, _SURE_OF_MANY = 0.83, 0.67
"""The quantile, over drawn laws, that a person counts by. The second is for many attacked values,
each of which is another opportunity to err upwards."""
_SURE_OF_NUMBER, _SURE_OF_NUMBER_OF_MANY = 0.96, 0.5
"""The quantile, over drawn laws, that the number of people counts by."""
_N_DRAWS = 40
_MOST_DRAWN = 4_000_000
_MOST_ENTRIES = 300_000
"""The slope is fitted to buckets of at most this many entries; more would change little."""


def calibrate(
    suspicions: Suspicions,
    count: Counts,
    carriers: Sequence[Counts],
    names: Sequence[str] = (),
    kinds: Cells | None = None,
) -> tuple[Calibration, Flags]:
    """Compare beliefs with the truth; return the figures, and which cells are exposed.

    `count` is the number of people of each cell, and `carriers` has, for each attacked value, the
    number of people of each cell who have it. `kinds` are the known values of each cell of people;
    if given, mined beliefs are also judged by the law of the table.

    Examples
    --------
    A thousand buckets of two, one of whom has the value; the adversary believes .8 of the first of
    the two, and is right in half of the buckets:

    >>> from shoal.core.calibration import Suspicion, Suspicions
    >>> group = np.repeat(np.arange(1000), 2)
    >>> belief = np.tile([0.8, 0.2], 1000)
    >>> about = Suspicion((0,), belief, group, np.ones(1000, dtype=np.int64))
    >>> truth = np.tile([1, 0, 0, 1], 500)
    >>> found, is_exposed = calibrate(Suspicions((about,), 0.5), np.ones(2000, int), [truth])
    >>> found.believed, found.right.value, found.exposed, round(found.slope.value, 2)
    (1000, 0.5, 0, 0.0)
    """
    beliefs = CheckedBeliefs.of(suspicions, count, carriers)
    is_flagged = suspicions.is_flagged
    is_flagged = np.zeros(len(count), dtype=bool) if is_flagged is None else is_flagged
    own = beliefs.flag(beliefs.belief, suspicions.limit) | is_flagged
    in_bands = beliefs.trusted_bands(suspicions.limit)
    informative = beliefs.informative
    n_informative = int(count[beliefs.mark(informative)].sum())
    slope: Estimate | None = None
    slopes: dict[int, Estimate] = {}
    limit = raised_limit(suspicions.limit)
    has_law = kinds is not None and suspicions.is_mined
    calibrated = own
    if n_informative >= FEWEST_INFORMATIVE:
        slope, slopes = _fit_slopes(beliefs)
        calibrated = _worst_case(beliefs, slope, slopes, limit, is_certain=has_law)
    lawful = _by_law(beliefs, suspicions, kinds, limit)
    n_calibrated, n_by_law = (int(count[one].sum()) for one in (calibrated, lawful))
    larger = lawful if n_by_law > n_calibrated else calibrated
    is_exposed = larger | in_bands | is_flagged
    n_believed = int(count[own].sum())
    calibration = Calibration(
        believed=n_believed,
        right=_rate(int(beliefs.strongest_carriers[own].sum()), n_believed),
        baseline=float((beliefs.best_share * count)[own].sum()) / n_believed
        if n_believed
        else None,
        wrongly_believed=beliefs.n_wrong(suspicions.limit, is_flagged),
        exposed=int(count[is_exposed].sum()),
        slope=slope,
        n_informative=n_informative,
        n_in_bands=int(count[in_bands].sum()),
        n_by_law=n_by_law,
        slopes={names[aim] if names else str(aim): one for aim, one in slopes.items()},
    )
    return calibration, is_exposed


def _rate(n_right: int, n_tries: int) -> Estimate | None:
    return Estimate(n_right / n_tries, *share_interval(n_right, n_tries)) if n_tries else None


# --- slopes -----------------------------------------------------------------------------------


def _fit_slopes(beliefs: CheckedBeliefs) -> tuple[Estimate, dict[int, Estimate]]:
    """Fit one slope for all values, and further ones for values that need them."""
    informative = beliefs.take(_some(beliefs))
    aims = informative.aim[informative.start[:-1]]
    together = _Slope.fit(informative)
    values = np.unique(aims)
    if len(values) < 2:
        return together.estimate, {}

    def fit_alone(aim: int) -> Estimate | None:
        """Return the slope of a value if it needs its own."""
        alone = informative.take(np.flatnonzero(aims == aim))
        if alone.count.sum() < FEWEST_INFORMATIVE:
            return None
        found = _Slope.fit(alone)
        needs_own = found.differs_from(together.value, _LEVEL / len(values))
        return found.estimate if needs_own else None

    found = list(each_of(fit_alone, values[::-1].tolist()))[::-1]
    own = {aim: one for aim, one in zip(values.tolist(), found, strict=True) if one is not None}
    rest = np.flatnonzero(~np.isin(aims, list(own)))
    if not own or not len(rest):
        return together.estimate, own
    return _Slope.fit(informative.take(rest)).estimate, own


def _some(beliefs: CheckedBeliefs) -> Codes:
    """Choose informative pairs: all of them, unless there are very many."""
    pairs = beliefs.informative
    length = np.diff(beliefs.start)[pairs]
    if length.sum() <= _MOST_ENTRIES:
        return pairs
    # Whole buckets, in an order that is independent of their contents.
    mixed = np.random.default_rng(0).permutation(int(beliefs.bucket.max()) + 1)
    order = np.argsort(mixed[beliefs.bucket[pairs]], kind="stable")
    n_kept = int(np.searchsorted(np.cumsum(length[order]), _MOST_ENTRIES))
    return np.sort(pairs[order[: max(n_kept, 1)]])


@dataclass(frozen=True, eq=False)
class _Slope:
    """A slope fitted to informative pairs."""

    beliefs: CheckedBeliefs
    value: float
    log_likelihood: float
    deflation: float
    n_buckets: int

    @classmethod
    def fit(cls, beliefs: CheckedBeliefs) -> _Slope:
        score: Callable[[float], float] = cache(beliefs.total_score)
        value = _root(score)
        _, log_likelihood, scores = beliefs.at(value)
        # A bucket is one observation, however many values it has.
        by_bucket = np.bincount(beliefs.bucket, scores)
        variance = float((by_bucket * by_bucket).sum())
        step = 1e-4
        curvature = (score(max(value - step, 0.0)) - score(value + step)) / (
            value + step - max(value - step, 0.0)
        )
        n_buckets = len(np.unique(beliefs.bucket))
        deflation = min(curvature / variance, 1.0) if variance > 0 else 1.0
        return cls(beliefs, value, float(log_likelihood.sum()), deflation, n_buckets)

    def statistic(self, slope: float) -> float:
        """Return how much worse another slope explains the truth, on the scale of F(1, m - 1)."""
        worse = self.log_likelihood - float(self.beliefs.log_likelihoods(slope).sum())
        return 2 * worse * self.deflation

    def quantile(self, level: float) -> float:
        return upper_quantile(max(self.n_buckets - 1, 1), level)

    def differs_from(self, slope: float, level: float) -> bool:
        return self.statistic(slope) > self.quantile(level)

    @cached_property
    def estimate(self) -> Estimate:
        """The slope with its 95 % interval, by the likelihood."""
        allowed = self.quantile(_LEVEL)
        excess: Callable[[float], float] = cache(lambda slope: self.statistic(slope) - allowed)
        low = 0.0 if excess(0.0) <= 0 else _crossing(excess, 0.0, self.value)
        high = _STEEPEST if excess(_STEEPEST) <= 0 else _crossing(excess, self.value, _STEEPEST)
        return Estimate(self.value, low, high)


@lru_cache(maxsize=256)
def upper_quantile(degrees: int, level: float) -> float:
    """Return the number that F(1, degrees) exceeds with probability `level`.

    Examples
    --------
    >>> round(upper_quantile(10, 0.05), 4), round(upper_quantile(1_000_000, 0.05), 4)
    (4.9646, 3.8415)
    """
    half = degrees / 2
    logs = math.lgamma(half + 0.5) - math.lgamma(half) - math.lgamma(0.5) - math.log(degrees) / 2
    found = 1.0
    # Newton's steps never pass the root from the left, since the tail is convex.
    while (tail := _incomplete_beta(half, degrees / (degrees + found))) <= level:
        found /= 2
    for _ in range(200):
        density = math.exp(logs - (half + 0.5) * math.log1p(found / degrees)) / math.sqrt(found)
        step = (tail - level) / density
        found += step
        if step <= 1e-14 * found:
            break
        tail = _incomplete_beta(half, degrees / (degrees + found))
    return found


def _incomplete_beta(a: float, x: float) -> float:
    """Return the regularized incomplete beta function I_x(a, 1/2), by its continued fraction."""
    if x in (0.0, 1.0):
        return x
    logs = math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5)
    front = math.exp(logs + a * math.log(x) + 0.5 * math.log1p(-x))
    # It converges fast below this point, and beyond it the function of 1 - x does.
    if x < (a + 1) / (a + 2.5):
        return front * _fraction(a, 0.5, x) / a
    return 1 - front * _fraction(0.5, a, 1 - x) / 0.5


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    ratio = 1 / (1 - (a + b) * x / (a + 1))
    found, last = ratio, 1.0
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = found
        for factor in (even, odd):
            ratio, last = 1 / (1 + factor * ratio), 1 + factor / last
            found *= ratio * last
        if abs(found - before) <= 1e-16 * abs(found):
            break
    return found


def _root(score: Callable[[float], float]) -> float:
    """Find where the score, which falls with the slope, is 0; between 0 and the steepest."""
    if score(0.0) <= 0:
        return 0.0
    return _STEEPEST if score(_STEEPEST) >= 0 else _crossing(score, 0.0, _STEEPEST)


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function that rises or falls changes its sign, as bisection finds it.

    Bisection asks for the function at a dozen points. A narrow interval around the root, found by
    the false position (with the step of Illinois), answers for most of them.
    """
    at_low, at_high = function(low), function(high)
    is_rising = at_high > 0
    left, right, side = low, high, 0
    for _ in range(_MAX_FALSE):
        if right - left <= _NEAR / 100 or at_low == at_high:
            break
        middle = (left * at_high - right * at_low) / (at_high - at_low)
        # Beside the root, so that both ends approach it.
        margin = _NEAR / 400
        middle = min(max(middle - side * margin, left + margin), right - margin)
        at_middle = function(middle)
        if (at_middle > 0) == is_rising:
            right, at_high = middle, at_middle
            at_low = at_low / 2 if side == 1 else at_low
            side = 1
        else:
            left, at_low = middle, at_middle
            at_high = at_high / 2 if side == -1 else at_high
            side = -1
    while high - low > _NEAR:
        middle = (low + high) / 2
        is_left = middle >= right or (middle > left and (function(middle) > 0) == is_rising)
        low, high = (low, middle) if is_left else (middle, high)
    return (low + high) / 2


# --- exposed people ---------------------------------------------------------------------------


def _worst_case(
    beliefs: CheckedBeliefs,
    slope: Estimate,
    slopes: dict[int, Estimate],
    limit: float,
    *,
    is_certain: bool,
) -> Flags:
    """Mark the people above a limit at the slope, within its interval, that marks the most.

    If the law of the table is used as well, it covers the uncertainty, and the slope is taken as
    estimated.
    """
    aim = beliefs.aim[beliefs.start[:-1]] if len(beliefs.bucket) else np.empty(0, dtype=np.int64)
    common = beliefs.take(np.flatnonzero(~np.isin(aim, list(slopes))))
    marks = _largest(common, slope, limit, is_certain=is_certain)
    for number, own in slopes.items():
        alone = beliefs.take(np.flatnonzero(aim == number))
        marks |= _largest(alone, own, limit, is_certain=is_certain)
    return marks


def _largest(beliefs: CheckedBeliefs, slope: Estimate, limit: float, *, is_certain: bool) -> Flags:
    count = np.zeros(beliefs.n_cells, dtype=np.int64)
    count[beliefs.cell] = beliefs.count
    first, last = int(slope.low / _GRID) + 1, int(slope.high / _GRID)
    grid = (number * _GRID for number in range(first, last + 1))
    tried = [slope.value] if is_certain else [slope.value, slope.low, slope.high, *grid]
    found = (beliefs.flag(beliefs.beliefs_at(one), limit) for one in tried)
    return max(found, key=lambda marks: int(count[marks].sum()))


def _by_law(
    beliefs: CheckedBeliefs, suspicions: Suspicions, kinds: Cells | None, limit: float
) -> Flags:
    """Mark the people above a limit for an adversary who knows the law of the table.

    Everybody counts by a high quantile of their posterior, over laws that agree with the truth. If
    these people are fewer than a high quantile of the number of people above the limit, those who
    are above it by most laws count as well.
    """
    marks = np.zeros(beliefs.n_cells, dtype=bool)
    if kinds is None or not suspicions.is_mined or not len(beliefs.bucket):
        return marks
    looks, look = kinds.select_with_inverse(kinds.columns)
    blocks = blocks_of(looks)
    aims = beliefs.aim[beliefs.start[:-1]]
    part = 1 / len(suspicions.about)
    sure = _SURE_OF_MANY + (_SURE - _SURE_OF_MANY) * part
    sure_of_number = _SURE_OF_NUMBER_OF_MANY + (_SURE_OF_NUMBER - _SURE_OF_NUMBER_OF_MANY) * part
    n_draws = int(np.clip(_MOST_DRAWN // max(len(beliefs.cell), 1), 5, _N_DRAWS))
    above = np.zeros((n_draws, beliefs.n_cells), dtype=bool)

    def likely_of(number: int) -> tuple[CheckedBeliefs, Sequence[Floats]]:
        """Return the posteriors of one value, by each of the laws that were drawn."""
        own = beliefs.take(np.flatnonzero(aims == number)).with_odds()
        carriers = total_by(look[own.cell], own.carriers, looks.n_cells)
        law = TableLaw.fit(looks, carriers, blocks)
        if law.is_flat:
            # Everybody is alike, so the share of the bucket is the posterior.
            return own, [own.share]
        drawn = law.draw(n_draws, np.random.default_rng(0))
        drawn = drawn + (_WIDER - 1) * (drawn - drawn.mean(axis=0))
        own_look = look[own.cell]
        return own, [own.conditioned(one[own_look]) for one in drawn]

    # The last value, usually the most frequent, takes longest.
    for own, likely in each_of(likely_of, range(len(suspicions.about))[::-1]):
        marks |= own.flag(np.quantile(likely, sure, axis=0), limit)
        above |= np.stack([own.flag(one, limit) for one in likely])
    return _filled_up(marks, above, kinds.counts, sure_of_number)


def _filled_up(marks: Flags, above: Flags, count: Codes, sure: float) -> Flags:
    """Mark more people, until they are as many as a quantile of the numbers of several laws."""
    n_people = float(np.quantile((above * count).sum(axis=1), sure))
    n_left = n_people - int(count[marks].sum())
    order = np.argsort(-above.mean(axis=0), kind="stable")
    order = order[~marks[order]]
    n_before = np.cumsum(count[order]) - count[order]
    filled = marks.copy()
    filled[order[n_before < n_left]] = True
    return filled
