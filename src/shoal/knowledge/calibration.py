"""Calibrate an adversary's beliefs against the truth, and count who is exposed.

An adversary who believes .9 may be right in 3 of 10 cases. Whoever has the truth can find out how
far her beliefs should be trusted: a slope `a` flattens (below 1) or sharpens (above 1) all of them
at once, and is fitted by how well the flattened beliefs say *who within a bucket* has the value.
With a = 1 she is calibrated; with a = 0 she knows nothing beyond what the bucket shows to anybody.

Two laws are used. Where she has odds of her own before she looks at a bucket's counts, these are
raised to the power a and conditioned on the counts (a conditional Bernoulli law). Where only
posteriors are known, the posterior odds relative to the bucket's share are raised to it, so that
a = 1 returns her own belief and a = 0 the share.

One slope serves all values, and a value gets its own if a likelihood-ratio test asks for it. The
values of one bucket depend on each other, so a bucket counts as one observation: intervals and
tests are scaled by the ratio of the curvature to the variance of the buckets' scores (a sandwich).
A slope is an average, and people of whom she is rightly certain could vanish among others. So a
band of strong beliefs counts in full if it was right often enough. And a slope can only rescale
what she found out: where her model misses what is in the data, a better one would not. So people
are also counted who would be exposed to somebody who knew the law of the table (`TableLaw`), each
by the upper end of what the truth leaves open; the larger of both counts is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import f as f_distribution

from shoal.core.calibration import Calibration, Estimate, Suspicion, Suspicions
from shoal.core.cells import Cells, Codes, Counts
from shoal.core.proportion import share_interval
from shoal.knowledge.foreground.law import condition
from shoal.knowledge.foreground.shapes import Shapes
from shoal.knowledge.foreground.table_law import TableLaw

__all__ = ["calibrate", "raised_limit"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FEWEST_INFORMATIVE = 30
"""With fewer informative people nothing can be calibrated."""
_MARGIN = 1.2
"""Where a bucket's share equals the limit, a worthless attack passes the limit by a hair."""
_GRID = 0.05
_STEEPEST = 4.0
"""The largest slope that is looked at."""
_LEVEL = 0.05
_EXTREME = 12.0
"""The largest log odds of a belief that the truth has refuted at least once."""
_ROUNDING = 1e-9
_BANDS = (0.5, 0.7, 0.9, 1.0)
_FEWEST_IN_BAND = 10
_SURE = 0.9
"""The quantile, over laws that agree with the truth, that a person counts by."""
_SURE_OF_MANY = 0.7
"""The same where many values are attacked, each of which is another chance to err upwards."""
_N_DRAWS = 60
_MOST_DRAWN = 4_000_000
_MOST_ENTRIES = 300_000
"""The slope is fitted to buckets of at most so many entries; further ones change little."""


def raised_limit(limit: float) -> float:
    """Return the belief above which a calibrated person counts as exposed.

    That is 1.2 times the limit. Since nothing exceeds certainty, a limit above 5/7 is raised by
    half of its distance to 1 instead.

    Examples
    --------
    >>> round(raised_limit(0.5), 3), round(raised_limit(0.9), 3)
    (0.6, 0.95)
    """
    return min(_MARGIN * limit, (1 + limit) / 2)


def calibrate(
    suspicions: Suspicions,
    count: Counts,
    carriers: Sequence[Counts],
    names: Sequence[str] = (),
    kinds: Cells | None = None,
) -> tuple[Calibration, Flags]:
    """Compare beliefs with the truth.

    Parameters
    ----------
    suspicions
        What the adversary believes.
    count
        How many people each cell has.
    carriers
        For each value attacked how many people of each cell have it.
    names
        What to call the values.
    kinds
        What is known of each cell of people; values that have odds of their own are then also
        judged by the law of the table.

    Returns
    -------
    calibration
        The figures.
    is_exposed
        For each cell whether its people are exposed.

    Examples
    --------
    A thousand buckets of two, one of whom has the value; the adversary believes .8 of the first
    of the two, and is right in half of the buckets:

    >>> group = np.repeat(np.arange(1000), 2)
    >>> belief = np.tile([0.8, 0.2], 1000)
    >>> about = Suspicion((0,), belief, group, np.ones(1000, dtype=np.int64))
    >>> truth = np.tile([1, 0, 0, 1], 500)
    >>> found, is_exposed = calibrate(Suspicions((about,), 0.5), np.ones(2000, int), [truth])
    >>> found.believed, found.right.value, found.exposed, round(found.slope.value, 2)
    (1000, 0.5, 0, 0.0)
    """
    beliefs = _Beliefs.of(suspicions, count, carriers)
    is_flagged = suspicions.is_flagged
    is_flagged = np.zeros(len(count), dtype=bool) if is_flagged is None else is_flagged
    own = beliefs.flag(beliefs.belief, suspicions.limit) | is_flagged
    in_bands = beliefs.trusted_bands(suspicions.limit)
    informative = beliefs.informative
    n_informative = int(count[beliefs.mark(informative)].sum())
    slope: Estimate | None = None
    slopes: dict[int, Estimate] = {}
    is_exposed, n_by_law = own, 0
    if n_informative >= FEWEST_INFORMATIVE:
        slope, slopes = _fit_slopes(beliefs)
        limit = raised_limit(suspicions.limit)
        calibrated = _worst_case(beliefs, slope, slopes, limit)
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


# --- beliefs, side by side --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """Beliefs in all values, one entry per value and cell whose group has somebody with the value.

    Parameters
    ----------
    n_cells
        The number of cells of people.
    aim, cell
        The value and the cell of each entry, sorted by value, then group.
    start
        Where the entries of each pair of a value and a group begin; one more than there are pairs.
    bucket
        The group of each pair, whose values depend on each other.
    n_carrying, size
        How many people of each pair have the value, and how many there are.
    count, carriers
        The people of each entry, and those of them who have the value.
    belief
        What the adversary believes.
    lift
        What the slope multiplies: log odds.
    base
        What a slope of 0 leaves of the log odds. Not a number in pairs that have odds of their
        own, which are conditioned on the counts instead.
    is_hard
        Whether the belief follows by logic: it stays 0 or 1 whatever the slope.
    """

    n_cells: int
    aim: Codes
    cell: Codes
    start: Codes
    bucket: Codes
    n_carrying: Counts
    size: Counts
    count: Counts
    carriers: Counts
    belief: Floats
    lift: Floats
    base: Floats
    is_hard: Flags

    @classmethod
    def of(cls, suspicions: Suspicions, count: Counts, carriers: Sequence[Counts]) -> _Beliefs:
        groups: dict[int, _Groups] = {}
        parts = []
        for number, (about, have) in enumerate(zip(suspicions.about, carriers, strict=True)):
            if id(about.group) not in groups:
                n_before = sum(len(one.size) for one in groups.values())
                groups[id(about.group)] = _Groups.of(about.group, count, n_before)
            parts.append(_Part.of(number, about, groups[id(about.group)], count, have))
        return cls._join(parts, len(count))

    @classmethod
    def _join(cls, parts: Sequence[_Part], n_cells: int) -> _Beliefs:
        def joined(name: str) -> npt.NDArray[np.generic]:
            arrays = [getattr(part, name) for part in parts]
            return np.concatenate(arrays) if arrays else np.empty(0)

        length = joined("length").astype(np.int64)
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        whole = ("aim", "cell", "bucket", "n_carrying", "size", "count", "carriers")
        return cls(
            n_cells=n_cells,
            start=start,
            **{name: joined(name).astype(np.int64) for name in whole},
            belief=joined("belief").astype(np.float64),
            lift=joined("lift").astype(np.float64),
            base=joined("base").astype(np.float64),
            is_hard=joined("is_hard").astype(bool),
        )

    @cached_property
    def pair(self) -> Codes:
        """The pair of a value and a group that each entry belongs to."""
        return np.repeat(np.arange(len(self.bucket)), np.diff(self.start))

    @cached_property
    def share(self) -> Floats:
        """For each entry the share of its group that has the value."""
        return (self.n_carrying / np.maximum(self.size, 1))[self.pair]

    @cached_property
    def informative(self) -> Codes:
        """The pairs that say something about the slope.

        Some but not all of their people have the value, and what is believed of them differs.
        """
        if not len(self.bucket):
            return np.empty(0, dtype=np.int64)
        # A hard belief stays as it is, whatever the slope.
        soft = np.where(self.is_hard, np.nan, self.lift)
        highest = np.fmax.reduceat(soft, self.start[:-1])
        lowest = np.fmin.reduceat(soft, self.start[:-1])
        differs = highest - lowest > _ROUNDING
        return np.flatnonzero(differs & (self.n_carrying > 0) & (self.n_carrying < self.size))

    def take(self, pairs: Codes) -> _Beliefs:
        """Keep some pairs."""
        length = np.diff(self.start)[pairs]
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        place = np.arange(start[-1]) + np.repeat(self.start[pairs] - start[:-1], length)
        entries = ("aim", "cell", "count", "carriers", "belief", "lift", "base", "is_hard")
        return replace(
            self,
            start=start,
            **{name: getattr(self, name)[place] for name in entries},
            **{name: getattr(self, name)[pairs] for name in ("bucket", "n_carrying", "size")},
        )

    def mark(self, pairs: Codes) -> Flags:
        """Mark the cells of some pairs."""
        chosen = np.zeros(len(self.bucket), dtype=bool)
        chosen[pairs] = True
        marks = np.zeros(self.n_cells, dtype=bool)
        marks[self.cell[chosen[self.pair]]] = True
        return marks

    def flag(self, belief: Floats, limit: float) -> Flags:
        """Mark the cells of which some value is believed above a limit."""
        marks = np.zeros(self.n_cells, dtype=bool)
        marks[self.cell[belief > limit + _ROUNDING]] = True
        return marks

    # --- the strongest belief about each cell ---

    @cached_property
    def strongest(self) -> tuple[Floats, Codes]:
        """For each cell the strongest belief, and the entry that has it; -1 if there is none."""
        belief, entry = np.zeros(self.n_cells), np.full(self.n_cells, -1, dtype=np.int64)
        np.maximum.at(belief, self.cell, self.belief)
        top = np.flatnonzero((self.belief == belief[self.cell]) & (self.belief > 0))
        entry[self.cell[top[::-1]]] = top[::-1]
        return belief, entry

    @cached_property
    def strongest_carriers(self) -> Counts:
        """For each cell how many of its people have the value that is believed most."""
        entry = self.strongest[1]
        padded = np.append(self.carriers, 0)
        return padded[entry]

    @cached_property
    def best_share(self) -> Floats:
        """For each cell the largest share of a value in its group: the best guess of anybody."""
        best = np.zeros(self.n_cells)
        np.maximum.at(best, self.cell, self.share)
        return best

    def n_wrong(self, limit: float, is_flagged: Flags) -> int:
        """Count the people of whom something false is believed, above a limit or flagged."""
        above = self.belief > limit + _ROUNDING
        flagged = self.strongest[1][is_flagged]
        above[flagged[flagged >= 0]] = True
        n_above = np.bincount(self.cell[above], minlength=self.n_cells)
        people, right = np.zeros((2, self.n_cells), dtype=np.int64)
        people[self.cell[above]] = self.count[above]
        # Nobody has two of the values.
        np.add.at(right, self.cell[above], self.carriers[above])
        return int(np.where(n_above > 1, people, people - right).sum())

    def trusted_bands(self, limit: float) -> Flags:
        """Mark the cells in bands of belief that are right more often than limit and baseline."""
        belief, entry = self.strongest
        count = np.append(self.count, 0)[entry]
        marks = np.zeros(self.n_cells, dtype=bool)
        for low, high in pairwise(_BANDS):
            inside = (belief > low + _ROUNDING) & (belief <= high + _ROUNDING)
            n_people = int(count[inside].sum())
            if n_people < _FEWEST_IN_BAND:
                continue
            lowest, _ = share_interval(int(self.strongest_carriers[inside].sum()), n_people)
            baseline = float((self.best_share * count)[inside].sum()) / n_people
            marks |= inside & (lowest > max(baseline, limit))
        return marks

    # --- the law at a slope ---

    def at(self, slope: float) -> tuple[Floats, Floats, Floats]:
        """Return what a slope makes of the beliefs.

        Returns
        -------
        belief
            For each entry.
        log_likelihood, score
            For each pair: the logarithm of the likelihood of who has the value, and its
            derivative by the slope.
        """
        has_odds = np.isnan(self.base)
        belief = np.where(has_odds, 0.0, self.belief)
        log_likelihood = np.zeros(len(self.bucket))
        if has_odds.any():
            shares, logs = condition(self._shapes, self._odds(slope, has_odds))
            belief[has_odds] = shares[has_odds]
            is_own = has_odds[self.start[:-1]]
            log_likelihood[is_own] = -logs[is_own]
        if not has_odds.all():
            self._add_posteriors(slope, ~has_odds, belief, log_likelihood)
        lift = np.where(self.is_hard, 0.0, self.lift)
        terms = np.where(has_odds, slope * self.carriers * lift, 0.0)
        log_likelihood += self._sum(terms)
        return belief, log_likelihood, self._sum((self.carriers - self.count * belief) * lift)

    @cached_property
    def _shapes(self) -> Shapes:
        ones = np.ones(len(self.bucket), dtype=np.int64)
        entries = np.arange(len(self.cell), dtype=np.int64)
        return Shapes(self.start, entries, self.count, self.n_carrying, ones)

    def _odds(self, slope: float, has_odds: Flags) -> Floats:
        odds: Floats = np.exp(slope * np.where(has_odds, self.lift, 0.0))
        odds[self.is_hard & has_odds] = 0.0
        return odds

    def _add_posteriors(
        self, slope: float, chosen: Flags, belief: Floats, log_likelihood: Floats
    ) -> None:
        soft = chosen & ~self.is_hard
        logs = self.base[soft] + slope * self.lift[soft]
        belief[soft] = 1 / (1 + np.exp(-logs))
        have, lack = self.carriers[soft], (self.count - self.carriers)[soft]
        terms = np.zeros(len(self.cell))
        terms[soft] = -have * np.logaddexp(0, -logs) - lack * np.logaddexp(0, logs)
        log_likelihood += self._sum(terms)

    def _sum(self, terms: npt.NDArray[np.generic]) -> Floats:
        return np.bincount(self.pair, terms, len(self.bucket)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Cells of people by group.

    Parameters
    ----------
    order, group
        The cells sorted by their group, and the groups.
    size
        How many people each group has.
    n_before
        How many groups other ways of grouping have, which are numbered first.
    """

    order: Codes
    group: Codes
    size: Counts
    n_before: int

    @classmethod
    def of(cls, group: Codes, count: Counts, n_before: int) -> _Groups:
        order = np.argsort(group, kind="stable")
        size = np.bincount(group, count).astype(np.int64)
        return cls(order, group[order], size, n_before)


@dataclass(frozen=True, eq=False)
class _Part:
    """The entries of one value; see `_Beliefs`."""

    aim: Codes
    cell: Codes
    length: Codes
    bucket: Codes
    n_carrying: Counts
    size: Counts
    count: Counts
    carriers: Counts
    belief: Floats
    lift: Floats
    base: Floats
    is_hard: Flags

    @classmethod
    def of(
        cls,
        number: int,
        about: Suspicion,
        groups: _Groups,
        count: Counts,
        carriers: Counts,
    ) -> _Part:
        size = groups.size
        has_any = about.n_carrying[: len(size)] > 0
        kept = has_any[groups.group]
        cell, of_cell = groups.order[kept], groups.group[kept]
        bucket = np.flatnonzero(has_any & (size > 0))
        have, people = carriers[cell], count[cell]
        belief = about.belief[cell]
        if about.log_odds is None:
            lift, base, is_hard = _from_posteriors(
                belief, (about.n_carrying[: len(size)] / np.maximum(size, 1))[of_cell]
            )
        else:
            lift, is_hard = _centred(about.log_odds[cell], of_cell)
            base = np.full(len(cell), np.nan)
        # One person with a value that was held impossible, and none of these beliefs is logic.
        is_false = np.where(belief > 0.5, people - have, have) > 0
        is_hard &= not np.any(is_hard & is_false)
        return cls(
            aim=np.full(len(cell), number),
            cell=cell,
            length=np.bincount(of_cell, minlength=len(size))[bucket],
            bucket=bucket + groups.n_before,
            n_carrying=about.n_carrying[bucket],
            size=size[bucket],
            count=people,
            carriers=have,
            belief=belief,
            lift=lift,
            base=base,
            is_hard=is_hard,
        )


def _from_posteriors(belief: Floats, share: Floats) -> tuple[Floats, Floats, Flags]:
    """Return how far posteriors are from the share of the group, in log odds, and that share."""
    is_hard = (belief <= _ROUNDING) | (belief >= 1 - _ROUNDING)
    base = _logit(share)
    return _logit(belief) - base, base, is_hard


def _logit(chance: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(chance) - np.log1p(-chance)
    return np.clip(logs, -_EXTREME, _EXTREME)


def _centred(log_odds: Floats, group: Codes) -> tuple[Floats, Flags]:
    """Take the largest log odds of each group away from its others: the law stays the same."""
    is_hard = np.isneginf(log_odds)
    finite = np.where(is_hard, -np.inf, np.minimum(log_odds, 500.0))
    most = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(most, group, finite)
    most = np.where(np.isneginf(most), 0.0, most)
    lift = finite - most[group]
    return np.where(is_hard, -_EXTREME, np.maximum(lift, -40.0)), is_hard


# --- slopes -----------------------------------------------------------------------------------


def _fit_slopes(beliefs: _Beliefs) -> tuple[Estimate, dict[int, Estimate]]:
    """Fit one slope for all values, and further ones for values that ask for it."""
    informative = beliefs.take(_some(beliefs))
    aims = informative.aim[informative.start[:-1]]
    together = _Slope.fit(informative)
    values = np.unique(aims)
    if len(values) < 2:
        return together.estimate, {}
    own = {}
    for aim in values.tolist():
        alone = informative.take(np.flatnonzero(aims == aim))
        if alone.count.sum() >= FEWEST_INFORMATIVE:
            found = _Slope.fit(alone)
            if found.differs_from(together.value, _LEVEL / len(values)):
                own[aim] = found.estimate
    rest = np.flatnonzero(~np.isin(aims, list(own)))
    if not own or not len(rest):
        return together.estimate, own
    return _Slope.fit(informative.take(rest)).estimate, own


def _some(beliefs: _Beliefs) -> Codes:
    """Choose informative pairs, all of them unless they are very many."""
    pairs = beliefs.informative
    length = np.diff(beliefs.start)[pairs]
    if length.sum() <= _MOST_ENTRIES:
        return pairs
    # Whole buckets, in an order that has nothing to do with their contents.
    mixed = np.random.default_rng(0).permutation(int(beliefs.bucket.max()) + 1)
    order = np.argsort(mixed[beliefs.bucket[pairs]], kind="stable")
    n_kept = int(np.searchsorted(np.cumsum(length[order]), _MOST_ENTRIES))
    return np.sort(pairs[order[: max(n_kept, 1)]])


@dataclass(frozen=True, eq=False)
class _Slope:
    """A slope fitted to informative pairs."""

    beliefs: _Beliefs
    value: float
    log_likelihood: float
    deflation: float
    n_buckets: int

    @classmethod
    def fit(cls, beliefs: _Beliefs) -> _Slope:
        score: Callable[[float], float] = lambda slope: float(beliefs.at(slope)[2].sum())  # noqa: E731
        value = _root(score)
        _, log_likelihood, scores = beliefs.at(value)
        # A bucket is one observation, whatever the number of its values.
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
        worse = self.log_likelihood - float(self.beliefs.at(slope)[1].sum())
        return 2 * worse * self.deflation

    def quantile(self, level: float) -> float:
        return float(f_distribution.ppf(1 - level, 1, max(self.n_buckets - 1, 1)))

    def differs_from(self, slope: float, level: float) -> bool:
        return self.statistic(slope) > self.quantile(level)

    @cached_property
    def estimate(self) -> Estimate:
        """The slope with its 95 % interval, by the likelihood."""
        allowed = self.quantile(_LEVEL)
        excess: Callable[[float], float] = lambda slope: self.statistic(slope) - allowed  # noqa: E731
        low = 0.0 if excess(0.0) <= 0 else _crossing(excess, 0.0, self.value)
        high = _STEEPEST if excess(_STEEPEST) <= 0 else _crossing(excess, self.value, _STEEPEST)
        return Estimate(self.value, low, high)


def _root(score: Callable[[float], float]) -> float:
    """Find where the score, which falls with the slope, is 0; within 0 and the steepest."""
    if score(0.0) <= 0:
        return 0.0
    return _STEEPEST if score(_STEEPEST) >= 0 else _crossing(score, 0.0, _STEEPEST)


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low, high, xtol=1e-4)) if high - low > 1e-4 else low


# --- exposed people ---------------------------------------------------------------------------


def _worst_case(
    beliefs: _Beliefs, slope: Estimate, slopes: dict[int, Estimate], limit: float
) -> Flags:
    """Mark the people above a limit at the slope, within its interval, that marks the most."""
    aim = beliefs.aim[beliefs.start[:-1]] if len(beliefs.bucket) else np.empty(0, dtype=np.int64)
    common = beliefs.take(np.flatnonzero(~np.isin(aim, list(slopes))))
    marks = _largest(common, slope, limit)
    for number, own in slopes.items():
        marks |= _largest(beliefs.take(np.flatnonzero(aim == number)), own, limit)
    return marks


def _largest(beliefs: _Beliefs, slope: Estimate, limit: float) -> Flags:
    count = np.zeros(beliefs.n_cells, dtype=np.int64)
    count[beliefs.cell] = beliefs.count
    found = (beliefs.flag(beliefs.at(one)[0], limit) for one in _slopes_within(slope))
    return max(found, key=lambda marks: int(count[marks].sum()))


def _by_law(beliefs: _Beliefs, suspicions: Suspicions, kinds: Cells | None, limit: float) -> Flags:
    """Mark the people above a limit for somebody who knows the law of the table.

    Everybody counts by a high quantile, over laws that agree with the truth, of their posterior.
    """
    marks = np.zeros(beliefs.n_cells, dtype=bool)
    if kinds is None or not len(beliefs.bucket):
        return marks
    looks, look = kinds.select_with_inverse(kinds.columns)
    aims = beliefs.aim[beliefs.start[:-1]]
    sure = _SURE_OF_MANY + (_SURE - _SURE_OF_MANY) / len(suspicions.about)
    for number, about in enumerate(suspicions.about):
        if about.log_odds is None:
            continue
        own = beliefs.take(np.flatnonzero(aims == number))
        carriers = np.zeros(looks.n_cells, dtype=np.int64)
        np.add.at(carriers, look[own.cell], own.carriers)
        law = TableLaw.fit(looks, carriers)
        n_draws = int(np.clip(_MOST_DRAWN // max(len(own.cell), 1), 5, _N_DRAWS))
        drawn = law.draw(n_draws, np.random.default_rng(0))
        likely = [replace(own, lift=_lifted(one[look], own)).at(1.0)[0] for one in drawn]
        marks |= own.flag(np.quantile(likely, sure, axis=0), limit)
    return marks


def _lifted(log_odds: Floats, beliefs: _Beliefs) -> Floats:
    lift, _ = _centred(log_odds[beliefs.cell], beliefs.pair)
    return lift


def _slopes_within(slope: Estimate) -> Iterator[float]:
    yield slope.value
    yield slope.low
    yield slope.high
    first, last = int(slope.low / _GRID) + 1, int(slope.high / _GRID)
    yield from (number * _GRID for number in range(first, last + 1))
