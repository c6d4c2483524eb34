"""Beliefs in several values side by side with the truth, and what a slope makes of them.

An entry is a cell of people and a value that somebody of their group has. The entries of one value
and one group are a *pair*: the release says how many of its people have the value and nothing
about who. Everything here is vectorised over all pairs; `shoal.knowledge.calibration` fits slopes
to them and counts who is exposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.core.calibration import Suspicion, Suspicions
from shoal.core.cells import Codes, Counts
from shoal.core.proportion import share_interval
from shoal.knowledge.foreground.law import condition
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["CheckedBeliefs", "centred"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_EXTREME = 12.0
"""The largest log odds of a belief that the truth has refuted at least once."""
_ROUNDING = 1e-9
_BANDS = (0.5, 0.7, 0.9, 1.0)
_FEWEST_IN_BAND = 10


@dataclass(frozen=True, eq=False)
class CheckedBeliefs:
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
    def of(
        cls, suspicions: Suspicions, count: Counts, carriers: Sequence[Counts]
    ) -> CheckedBeliefs:
        """Put the beliefs in all values side by side with who has them."""
        groups: dict[int, _Groups] = {}
        parts = []
        for number, (about, have) in enumerate(zip(suspicions.about, carriers, strict=True)):
            if id(about.group) not in groups:
                n_before = sum(len(one.size) for one in groups.values())
                groups[id(about.group)] = _Groups.of(about.group, count, n_before)
            parts.append(_Part.of(number, about, groups[id(about.group)], count, have))
        return cls._join(parts, len(count))

    @classmethod
    def _join(cls, parts: Sequence[_Part], n_cells: int) -> CheckedBeliefs:
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

    def take(self, pairs: Codes) -> CheckedBeliefs:
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
    """The entries of one value; see `CheckedBeliefs`."""

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
            lift, is_hard = centred(about.log_odds[cell], of_cell)
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


def centred(log_odds: Floats, group: Codes) -> tuple[Floats, Flags]:
    """Take the largest log odds of each group away from its others: the law stays the same."""
    is_hard = np.isneginf(log_odds)
    finite = np.where(is_hard, -np.inf, np.minimum(log_odds, 500.0))
    most = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(most, group, finite)
    most = np.where(np.isneginf(most), 0.0, most)
    lift = finite - most[group]
    return np.where(is_hard, -_EXTREME, np.maximum(lift, -40.0)), is_hard
