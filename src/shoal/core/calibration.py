"""Beliefs of an adversary compared with the truth, in figures that the gate can judge.

A belief is not a fact: an adversary with a bad model believes much and is right about little. Every
attack that yields beliefs is therefore reported on one scale. `believed` counts the people about
whom she holds a belief above the limit, `right` is the share of these beliefs that are true, and
`baseline` the share that the best guess without the attack gets right. The gate judges `exposed`:
the people who are still above the limit after her beliefs have been calibrated against the truth.
Some limits are exceeded by every release of a table, whatever the method; `find_excess` finds them.

Everything here uses the truth and must stay out of public files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets
from shoal.core.display import in_words, number, of_all, percent
from shoal.core.exact import as_text

_NORMAL_QUANTILE = 1.959963984540054
"""The two-sided 95 % quantile."""
_TAIL = 0.025

UNITS_TO_COMPARE = 60
"""Units of work (`shoal.core.budget`) per person and value for comparing beliefs with the truth,
without the law of the table."""

Limit = TypeVar("Limit", float, Fraction)


def share_interval(n_hits: int, n_tries: int, *, n_shares: int = 1) -> tuple[float, float]:
    """Return the 95 % Wilson interval of the share `n_hits / n_tries`; 0 to 1 if nothing was tried.

    If the share was selected among `n_shares` (default 1) after they were seen, the interval is
    widened (Bonferroni), so that all of them are covered with a probability of 95 %.

    Examples
    --------
    >>> low, high = share_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    >>> low, high = share_interval(8, 10, n_shares=3)
    >>> round(low, 3), round(high, 3)
    (0.426, 0.956)
    >>> share_interval(0, 0)
    (0.0, 1.0)
    """
    if n_tries == 0:
        return 0.0, 1.0
    quantile = _NORMAL_QUANTILE
    if n_shares > 1:
        quantile = NormalDist().inv_cdf(1 - _TAIL / n_shares)
    share, spread = n_hits / n_tries, quantile**2 / n_tries
    centre = share + spread / 2
    half = quantile * math.sqrt(share * (1 - share) / n_tries + spread / (4 * n_tries))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    # Rounding must not leave the share outside its own interval.
    return max(0.0, min(low, share)), min(1.0, max(high, share))


@dataclass(frozen=True, eq=False)
class Suspicion:
    """What an adversary believes about one value, or about several values that count as one."""

    # The codes of the values, as the findings number them.
    values: tuple[int, ...]
    # For each cell of people, her probability that one of them has the value.
    belief: Floats
    # For each cell of people, the bucket, or part of one, whose values the release counts
    # together: nothing in the release distinguishes its people.
    group: Codes
    # For each group, how many of its people have the value according to the release.
    n_carrying: Counts
    # For each cell of people, the log odds before conditioning on the counts of their group; minus
    # infinity if they are known not to have the value. None if the attack has only beliefs.
    log_odds: Floats | None = None


@dataclass(frozen=True, eq=False)
class Suspicions:
    """The unchecked beliefs of an attack about everybody, value by value."""

    about: tuple[Suspicion, ...]
    # The largest belief that is allowed.
    limit: float
    # For each cell of people, whether it exceeds a bound other than one on beliefs, such as a
    # bound on their gain. Such people count as believed and as exposed, whatever the slope.
    is_flagged: Flags | None = None
    # Whether the beliefs derive from a probability of the value for each kind of people. They are
    # then also judged by the law of the table, which states these probabilities best.
    is_mined: bool = False


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    def to_dict(self, name: str = "value") -> dict[str, float]:
        """Return the estimate in its JSON form; `name` is the key of the figure itself."""
        return {name: self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Calibration:
    """Beliefs of one attack, compared with the truth; all counts are numbers of people."""

    # The people about whom the adversary believes some value above the limit.
    believed: int
    # The share of them for whom the belief is true; None if there is nobody.
    right: Estimate | None
    # The share of them for whom the best guess without the attack, the most frequent value of
    # their bucket, is true; None if there is nobody.
    baseline: float | None
    # The people about whom something false is believed above the limit.
    wrongly_believed: int
    # The people above 1.2 times the limit after calibration, which the gate judges: the larger of
    # the counts by the slope and by the law of the table, with the bands of belief that were
    # right.
    exposed: int
    # The calibration slope: 1 means calibrated, 0 worthless. None if too few people are
    # informative; `believed` then replaces the count by the slope.
    slope: Estimate | None
    # The people who contribute information about the slope.
    n_informative: int
    # The part of `exposed` that counts because their band of belief was right often enough,
    # whatever the slope.
    n_in_bands: int = 0
    # The people above 1.2 times the limit for an adversary who knows the probability of the value
    # for each kind of people from the table itself; 0 if the attack mines no such law.
    n_by_law: int = 0
    # The slope of each value that has its own. The keys are values of the table.
    slopes: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def is_calibrated(self) -> bool:
        """Whether there were enough informative people to calibrate."""
        return self.slope is not None

    def to_dict(self) -> dict[str, object]:
        """Return the figures in their JSON form, without any value of the table."""
        return {
            "believed": self.believed,
            "right": None if self.right is None else self.right.to_dict("rate"),
            "baseline": self.baseline,
            "wrongly_believed": self.wrongly_believed,
            "exposed": self.exposed,
            "slope": None if self.slope is None else self.slope.to_dict(),
            "informative": self.n_informative,
            "exposed_by_law": self.n_by_law,
        }


def words_of_scale(found: Calibration, n_people: int) -> str:
    """Describe how beliefs compare with the truth: the people exposed, and how often she is right.

    Examples
    --------
    >>> from shoal.core.calibration import Calibration, Estimate
    >>> right, slope = Estimate(0.24, 0.2, 0.29), Estimate(0.1, -0.1, 0.3)
    >>> words_of_scale(Calibration(1288, right, 0.28, 979, 57, slope, 1900), 2000)
    '57 of 2,000 exposed; 1,288 believed, right 1 in 4 (20 to 29 %), naive guess 28 %'
    """
    if found.is_calibrated:
        first = f"{of_all(found.exposed, n_people)} exposed; {number(found.believed)} believed"
        return ", ".join([first, *_success(found)])
    if not found.believed:
        return f"{of_all(0, n_people)} people believed"
    told = ", ".join([f"{of_all(found.believed, n_people)} believed", *_success(found)])
    informative = f"informative people: {number(found.n_informative)}"
    return f"{told}; too few to calibrate ({informative}), so all of them count"


def _success(found: Calibration) -> list[str]:
    said = []
    if found.right is not None:
        low, high = f"{100 * found.right.low:.0f}", percent(found.right.high)
        said.append(f"right {in_words(found.right.value)} ({low} to {high})")
    if found.baseline is not None:
        said.append(f"naive guess {percent(found.baseline)}")
    return said


@dataclass(frozen=True)
class Excess:
    """How far every release of a table exceeds a limit."""

    # The least number of people above the limit in any release of the table.
    n_people: int = 0
    # Why the limit is meaningless, in words; empty if it is meaningful.
    reason: str = ""


def raised_limit(limit: Limit) -> Limit:
    """Return the belief above which a calibrated person counts as exposed.

    That is 1.2 times the limit: if a bucket's share equals the limit, a worthless attack exceeds it
    by a hair. Since nothing exceeds certainty, a limit above 5/7 is raised by half of its distance
    to 1 instead.

    Examples
    --------
    >>> raised_limit(Fraction(1, 2)), raised_limit(Fraction(9, 10)), round(raised_limit(0.9), 3)
    (Fraction(3, 5), Fraction(19, 20), 0.95)
    """
    return min(limit * 6 / 5, (1 + limit) / 2)


def find_excess(
    buckets: Buckets,
    aims: Sequence[tuple[int, ...]],
    bound: Fraction,
    *,
    is_belief: bool,
    counted_from: Fraction | None = None,
) -> Excess:
    """Return how many people are above the limit `bound` in every release of the same table.

    Only the totals of the buckets count: if a value is more frequent than the bound, no grouping
    keeps everybody below it, because the beliefs within a bucket add up to its number of people
    with the value. Each entry of `aims` holds the codes of values that count as one. With
    `is_belief` the adversary distinguishes people of one bucket: she then believes one of m values
    above 1/m, so a limit of exactly 1/m is meaningless too. People are counted above `counted_from`
    (default `bound`).

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> answer = Domain.of_texts("answer", ["no", "yes"])
    >>> held = Buckets.of_pairs(np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1]), answer)
    >>> find_excess(held, [(0,), (1,)], Fraction(1, 2), is_belief=False).n_people
    2
    >>> find_excess(held, [(1,)], Fraction(1, 2), is_belief=False)
    Excess(n_people=0, reason='')
    """
    threshold = bound if counted_from is None else counted_from
    if not aims or not buckets.n_rows:
        return Excess()
    n_values = _n_values_if_all(buckets, aims)
    n_people, share = _least_above(buckets, aims, threshold, n_values)
    limit = as_text(bound)
    if n_values and bound * n_values < 1:
        return Excess(n_people, _few_values(n_values, f"exceeds the limit {limit} in every bucket"))
    if n_people:
        return Excess(n_people, _frequent_value(share, n_people, as_text(threshold)))
    if n_values and is_belief and bound * n_values == 1:
        return Excess(0, _few_values(n_values, f"is always believed at the limit {limit} or above"))
    return Excess()


def _n_values_if_all(buckets: Buckets, aims: Sequence[tuple[int, ...]]) -> int:
    """Count the values of the column; 0 unless each of them is attacked by itself."""
    n_values = int(np.count_nonzero(buckets.totals))
    alone = {values[0] for values in aims if len(values) == 1 and buckets.totals[values[0]]}
    return n_values if len(alone) == n_values else 0


def _least_above(
    buckets: Buckets, aims: Sequence[tuple[int, ...]], bound: Fraction, n_values: int
) -> tuple[int, float]:
    """Return the least number of people above a bound, and the share of the most frequent value."""
    n_rows = buckets.n_rows
    largest = max(int(buckets.totals[list(values)].sum()) for values in aims)
    if bound >= 1:
        return 0, largest / n_rows
    if n_values and bound * n_values < 1:
        return n_rows, largest / n_rows
    # In buckets within the bound at most that share of the people have the value, in the others
    # at most everybody: largest <= n_above + bound * (n_rows - n_above).
    least = math.ceil((largest - bound * n_rows) / (1 - bound))
    return max(least, 0), largest / n_rows


def _few_values(n_values: int, what: str) -> str:
    return f"the column has {n_values} values, so one of them {what}"


def _frequent_value(share: float, least: int, limit: str) -> str:
    return (
        f"one value makes up {percent(share)} of the table, so every release puts at least "
        f"{number(least)} people above the limit {limit}"
    )
