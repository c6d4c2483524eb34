"""Beliefs in several values joined with the truth, and how a slope changes them.

An entry is a cell of people and a value that somebody in their group has. The entries of one value
and one group are a *pair*: the release says how many of its people have the value, and nothing
about who. Everything here is vectorized over all pairs; `shoal.calibration.calibrate` fits slopes
to them and counts who is exposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.calibration import Suspicion, Suspicions, share_interval
from shoal.foreground.law import ROUGH, condition, log_odds
from shoal.foreground.shapes import Shapes

_EXTREME = 12.0
"""The largest log odds of a belief that the truth has refuted at least once."""
_FARTHEST = 40.0
"""Log odds this far below the largest of a group are as good as impossible."""
_ROUNDING = 1e-9
_BANDS = (0.5, 0.7, 0.9, 1.0)
_FEWEST_IN_BAND = 10


@dataclass(frozen=True, eq=False)
class CheckedBeliefs:
    """Beliefs in all values: one entry per value and cell whose group has somebody with the value.

    Entries are sorted by value (`aim`), then group.
    """

    n_cells: int
    aim: Codes
    cell: Codes
    # Pairs of a value and a group: where their entries begin (one number more than pairs), the
    # group, the people who have the value, and all people. The values of a group depend on each
    # other.
    start: Codes
    bucket: Codes
    n_carrying: Counts
    size: Counts
    # Entries: the people, those who have the value, and the adversary's belief.
    count: Counts
    carriers: Counts
    belief: Floats
    # The log odds that the slope multiplies.
    lift: Floats
    # The log odds at a slope of 0; NaN in pairs that have odds of their own, which are conditioned
    # on the counts instead.
    base: Floats
    # Whether the belief follows by logic: it stays 0 or 1 whatever the slope.
    is_hard: Flags

    @classmethod
    def of(
        cls, suspicions: Suspicions, count: Counts, carriers: Sequence[Counts]
    ) -> CheckedBeliefs:
        """Join the beliefs in all values with the truth."""
        groups: dict[int, _Groups] = {}
        parts = []
        for number, (about, have) in enumerate(zip(suspicions.about, carriers, strict=True)):
            if id(about.group) not in groups:
                n_before = sum(len(one.size) for one in groups.values())
                groups[id(about.group)] = _Groups.of(about.group, count, n_before)
            parts.append(_entries(number, about, groups[id(about.group)], count, have))

        def joined(name: str) -> npt.NDArray[np.generic]:
            return np.concatenate([part[name] for part in parts]) if parts else np.empty(0)

        length = joined("length").astype(np.int64)
        whole = ("aim", "cell", "bucket", "n_carrying", "size", "count", "carriers")
        return cls(
            n_cells=len(count),
            start=np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
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

        Some but not all of their people have the value, and the beliefs about them differ.
        """
        if not len(self.bucket):
            return np.empty(0, dtype=np.int64)
        # Hard beliefs do not depend on the slope.
        soft = np.where(self.is_hard, np.nan, self.lift)
        highest = np.fmax.reduceat(soft, self.start[:-1])
        lowest = np.fmin.reduceat(soft, self.start[:-1])
        differs = highest - lowest > _ROUNDING
        return np.flatnonzero(differs & (self.n_carrying > 0) & (self.n_carrying < self.size))

    def take(self, pairs: Codes) -> CheckedBeliefs:
        """Return some of the pairs."""
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

    def with_odds(self) -> CheckedBeliefs:
        """Condition odds on the counts in all pairs; only what is impossible stays hard."""
        is_hard = self.is_hard & (self.belief < 0.5)
        return replace(self, base=np.full(len(self.base), np.nan), is_hard=is_hard)

    def mark(self, pairs: Codes) -> Flags:
        """Mark the cells of some pairs."""
        chosen = np.zeros(len(self.bucket), dtype=bool)
        chosen[pairs] = True
        marks = np.zeros(self.n_cells, dtype=bool)
        marks[self.cell[chosen[self.pair]]] = True
        return marks

    def flag(self, belief: Floats, limit: float) -> Flags:
        """Mark the cells about which some belief is above a limit."""
        marks = np.zeros(self.n_cells, dtype=bool)
        marks[self.cell[belief > limit + _ROUNDING]] = True
        return marks

    # --- the strongest belief about each cell ---

    @cached_property
    def strongest(self) -> tuple[Floats, Codes]:
        """For each cell the strongest belief, and its entry; -1 if there is none."""
        belief, entry = np.zeros(self.n_cells), np.full(self.n_cells, -1, dtype=np.int64)
        np.maximum.at(belief, self.cell, self.belief)
        top = np.flatnonzero((self.belief == belief[self.cell]) & (self.belief > 0))
        entry[self.cell[top[::-1]]] = top[::-1]
        return belief, entry

    @cached_property
    def strongest_carriers(self) -> Counts:
        """For each cell the number of its people who have the value that is believed most."""
        entry = self.strongest[1]
        padded = np.append(self.carriers, 0)
        return padded[entry]

    @cached_property
    def best_share(self) -> Floats:
        """For each cell the largest share of a value in its group: the best naive guess."""
        best = np.zeros(self.n_cells)
        np.maximum.at(best, self.cell, self.share)
        return best

    def n_wrong(self, limit: float, is_flagged: Flags) -> int:
        """Count the people about whom something false is believed, above a limit or flagged."""
        above = self.belief > limit + _ROUNDING
        flagged = self.strongest[1][is_flagged]
        above[flagged[flagged >= 0]] = True
        n_above = np.bincount(self.cell[above], minlength=self.n_cells)
        people, right = np.zeros((2, self.n_cells), dtype=np.int64)
        people[self.cell[above]] = self.count[above]
        # No person has two of the values.
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
        """Return the beliefs of all entries at a slope.

        Also returns, for each pair, the log-likelihood of who has the value, and its derivative by
        the slope.
        """
        law = self._law(slope)
        belief = self._beliefs(slope, law[0])
        return belief, self._log_likelihoods(slope, law[1]), self._sum(self._scores(belief))

    def beliefs_at(self, slope: float) -> Floats:
        """Return the beliefs of all entries at a slope."""
        return self._beliefs(slope, self._law(slope)[0])

    def log_likelihoods(self, slope: float) -> Floats:
        """Return for each pair the log-likelihood of who has the value, at a slope."""
        return self._log_likelihoods(slope, self._law(slope)[1])

    def _law(self, slope: float) -> tuple[Floats, Floats]:
        """Condition odds at a slope on the counts; only pairs with odds have a law."""
        if not self._has_odds.any():
            return np.empty(0), np.empty(0)
        return condition(self._shapes, self._odds(slope), ROUGH)

    def _beliefs(self, slope: float, share: Floats) -> Floats:
        if self._has_odds.all():
            return share
        belief = np.where(self._has_odds, 0.0, self.belief)
        if self._has_odds.any():
            belief[self._has_odds] = share[self._has_odds]
        soft = self._soft
        logs = slope * self.lift[soft]
        logs += self.base[soft]
        np.negative(logs, out=logs)
        np.exp(logs, out=logs)
        logs += 1
        belief[soft] = 1 / logs
        return belief

    def _log_likelihoods(self, slope: float, weight: Floats) -> Floats:
        found = np.zeros(len(self.bucket))
        if self._has_odds.any():
            is_own = self._has_odds[self.start[:-1]]
            found[is_own] = -weight[is_own]
        terms = np.where(self._has_odds, slope * self.carriers * self._soft_lift, 0.0)
        soft = self._soft
        logs = self.base[soft] + slope * self.lift[soft]
        # Those who lack the value count like carriers, and besides with the log odds.
        likely = np.log1p(np.exp(-np.abs(logs))) + np.maximum(-logs, 0)
        terms[soft] = -self.count[soft] * likely - (self.count - self.carriers)[soft] * logs
        found += self._sum(terms)
        return found

    def total_score(self, slope: float) -> float:
        """Return the derivative, by the slope, of the log-likelihood of all pairs."""
        return float(self._scores(self.beliefs_at(slope)).sum())

    def conditioned(self, log_odds: Floats) -> Floats:
        """Return the beliefs by log odds of all entries; what is impossible has probability 0."""
        if not len(self.bucket):
            return np.zeros(0)
        most = np.maximum.reduceat(np.where(self.is_hard, -np.inf, log_odds), self.start[:-1])
        lift = np.maximum(log_odds - most[self.pair], -_FARTHEST)
        odds = np.where(self.is_hard, 0.0, np.exp(lift))
        return condition(self._shapes, odds, ROUGH)[0]

    def _scores(self, belief: Floats) -> Floats:
        return np.asarray((self.carriers - self.count * belief) * self._soft_lift)

    @cached_property
    def _has_odds(self) -> Flags:
        """Which entries have odds of their own."""
        return np.isnan(self.base)

    @cached_property
    def _soft(self) -> Flags:
        """The entries with posteriors that depend on the slope."""
        return ~self._has_odds & ~self.is_hard

    @cached_property
    def _soft_lift(self) -> Floats:
        return np.where(self.is_hard, 0.0, self.lift)

    @cached_property
    def _shapes(self) -> Shapes:
        ones = np.ones(len(self.bucket), dtype=np.int64)
        entries = np.arange(len(self.cell), dtype=np.int64)
        return Shapes(self.start, entries, self.count, self.n_carrying, ones)

    def _odds(self, slope: float) -> Floats:
        odds: Floats = np.exp(slope * np.where(self._has_odds, self.lift, 0.0))
        odds[self.is_hard & self._has_odds] = 0.0
        return odds

    def _sum(self, terms: npt.NDArray[np.generic]) -> Floats:
        return np.bincount(self.pair, terms, len(self.bucket)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Cells of people sorted by group.

    `n_before` is the number of groups of other groupings, which are numbered first.
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


def _entries(
    number: int, about: Suspicion, groups: _Groups, count: Counts, carriers: Counts
) -> dict[str, npt.NDArray[Any]]:
    """Return the entries of one value as fields of `CheckedBeliefs`, and the length of pairs."""
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
        lift, is_hard = centred(about.log_odds[cell], of_cell)
        base = np.full(len(cell), np.nan)
    # If anybody has a value that was believed impossible, the beliefs do not follow by logic.
    is_false = np.where(belief > 0.5, people - have, have) > 0
    is_hard &= not np.any(is_hard & is_false)
    return {
        "aim": np.full(len(cell), number),
        "cell": cell,
        "length": np.bincount(of_cell, minlength=len(size))[bucket],
        "bucket": bucket + groups.n_before,
        "n_carrying": about.n_carrying[bucket],
        "size": size[bucket],
        "count": people,
        "carriers": have,
        "belief": belief,
        "lift": lift,
        "base": base,
        "is_hard": is_hard,
    }


def _from_posteriors(belief: Floats, share: Floats) -> tuple[Floats, Floats, Flags]:
    """Return how far posteriors are from the share of the group, in log odds, and that share."""
    is_hard = (belief <= _ROUNDING) | (belief >= 1 - _ROUNDING)
    base = _logit(share)
    return _logit(belief) - base, base, is_hard


def _logit(chance: Floats) -> Floats:
    return np.clip(log_odds(chance), -_EXTREME, _EXTREME)


def centred(log_odds: Floats, group: Codes) -> tuple[Floats, Flags]:
    """Subtract the largest log odds of each group from all of its log odds: the law is the same.

    Also returns which are minus infinity.
    """
    is_hard = np.isneginf(log_odds)
    finite = np.where(is_hard, -np.inf, np.minimum(log_odds, 500.0))
    most = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(most, group, finite)
    most = np.where(np.isneginf(most), 0.0, most)
    lift = finite - most[group]
    return np.where(is_hard, -_EXTREME, np.maximum(lift, -_FARTHEST)), is_hard
