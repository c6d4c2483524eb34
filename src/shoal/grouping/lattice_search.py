"""The search for the generalization that loses least, and the judge of what can be published.

Elements of the lattice are tried in the order of a lower bound of their loss; the search ends when
the bound exceeds the loss of the best one found. A hopeless element rules out all below it, so
chains of elements are searched by bisection for the lowest one that is not. If no row may be left
out, every element that is not hopeless can be published and rules out all above it.

A group that breaks a requirement is left out as a whole. t-closeness compares with what is
published, so leaving groups out may move others too far from the rest: these are left out in turn,
round by round, until all groups that are left are close to all that is left.

References
----------
[Kohlmayer12] F. Kohlmayer, F. Prasser, C. Eckert, A. Kemper, K. Kuhn: Flash: Efficient, Stable and
Optimal k-Anonymity. SocialCom/PASSAT 2012: chains and predictive tagging.
[Samarati01] P. Samarati: Protecting Respondents' Identities in Microdata Release. TKDE 13(6), 2001:
the lattice, and its search by bisection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from shoal.core.arrays import Bytes, Codes, Flags
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.progress import following, tell_share
from shoal.grouping._kernels import Rules, drop_failing
from shoal.grouping.lattice import Groups, Lattice, Levels, Measure, RollUp
from shoal.grouping.requirements import Requirements
from shoal.grouping.thresholds import Limits

_SLACK = 1e-9
"""Bounds are floats, so elements up to this far above the best are tried, too."""
_COUNTED = (KAnonymity, DistinctDiversity)
"""The guarantees that hold if there are enough rows and enough different values."""


@dataclass(frozen=True, eq=False)
class Found:
    """A generalization that can be published: its groups, and which of them are kept."""

    levels: Levels
    groups: Groups
    kept: Flags
    n_dropped: int
    loss: Fraction

    @property
    def rank(self) -> tuple[Any, ...]:
        """The order of preference: least loss, fewest rows left out, lowest levels."""
        return self.loss, self.n_dropped, sum(self.levels), self.levels


def find_best(lattice: Lattice, cells: Groups, judge: Judge, measure: Measure) -> Search:
    """Search the lattice for the publishable element with the least loss; return the search.

    `cells` are the groups before anything is generalized.
    """
    search = Search(lattice, cells, judge, measure)
    while (levels := search.cheapest()) is not None:
        # If rows may be left out, further generalization may lose less, so all are evaluated.
        if judge.limit == 0:
            search.halve(search.chain(levels))
        elif not search.evaluate(levels):
            search.halve(search.chain(levels)[1:])
        tell_share(search.share_closed)
    return search


def fewest_dropped(lattice: Lattice, cells: Groups, judge: Judge) -> int | None:
    """Return the fewest rows that must be left out, by evaluating all elements.

    The judge has the highest limit possible. None if nothing can be published at all.
    """
    roll_up = RollUp(lattice, cells)
    elements = following(list(np.ndindex(*lattice.shape)))
    verdicts = [judge.judge(roll_up.at(levels)) for levels in elements]
    return min((one.n_dropped for one in verdicts if one.kept is not None), default=None)


class Search:
    """The state of a search: open elements, lower bounds of their loss, and the best so far."""

    def __init__(self, lattice: Lattice, cells: Groups, judge: Judge, measure: Measure) -> None:
        self._lattice, self._judge, self._measure = lattice, judge, measure
        self._roll_up = RollUp(lattice, cells)
        self._bounds = measure.bounds()
        self._is_open = np.ones(lattice.shape, dtype=bool)
        self.n_evaluated = 0
        self.best: Found | None = None

    def cheapest(self) -> Levels | None:
        """Return the open element with the lowest bound; None if no open one can be the best."""
        bounds = np.where(self._is_open, self._bounds, np.inf)
        place = np.unravel_index(int(np.argmin(bounds)), bounds.shape)
        if not bounds[place] <= self._most_allowed():
            return None
        return tuple(int(level) for level in place)

    @property
    def share_closed(self) -> float:
        """The share of the lattice that is evaluated or ruled out."""
        return 1 - float((self._is_open & (self._bounds <= self._most_allowed())).mean())

    def _most_allowed(self) -> float:
        """Return the bound up to which an element may still be the best; it is finite."""
        if self.best is None:
            return float(np.finfo(np.float64).max)
        return float(self.best.loss) * (1 + _SLACK) + _SLACK

    def chain(self, levels: Levels) -> list[Levels]:
        """Return a path upwards, cheapest first, of elements that are open and may be the best."""
        chain = [levels]
        most = self._most_allowed()
        while True:
            further = [
                above
                for above in self._lattice.successors(chain[-1])
                if self._is_open[above] and self._bounds[above] <= most
            ]
            if not further:
                return chain
            chain.append(min(further, key=lambda above: (self._bounds[above], self._height(above))))

    def _height(self, levels: Levels) -> float:
        """Return the highest level of any column, relative to the height of its hierarchy."""
        return max(level / top for level, top in zip(levels, self._lattice.top, strict=True))

    def halve(self, chain: list[Levels]) -> None:
        """Find the lowest element of a chain that is not hopeless, by bisection."""
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self.evaluate(chain[middle]):
                high = middle
            else:
                low = middle + 1

    def evaluate(self, levels: Levels) -> bool:
        """Evaluate an element, close what it rules out, and return whether it is not hopeless."""
        self.n_evaluated += 1
        self._is_open[levels] = False
        groups = self._roll_up.at(levels)
        verdict = self._judge.judge(groups)
        if verdict.is_hopeless:
            self._is_open[self._lattice.below(levels)] = False
        above = self._lattice.above(levels)
        bound = self._measure.bound(groups, levels)
        self._bounds[above] = np.maximum(self._bounds[above], bound)
        if verdict.kept is None:
            return not verdict.is_hopeless
        if self._judge.limit == 0:
            # No element above loses less.
            self._is_open[above] = False
        loss = self._measure.of(groups, verdict.kept, levels)
        found = Found(levels, groups, verdict.kept, verdict.n_dropped, loss)
        if self.best is None or found.rank < self.best.rank:
            self.best = found
        return True


# --- the judge --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Verdict:
    """The judgement on the groups of one generalization.

    `kept` marks the groups that are published; None if that is not allowed. `n_dropped` is the
    number of rows left out; if there are too many, those counted so far. If `is_hopeless`, nothing
    below can be published either.
    """

    kept: Flags | None
    n_dropped: int
    is_hopeless: bool = False


@dataclass(frozen=True, eq=False)
class Judge:
    """Decides which groups are published.

    At most `limit` rows, fewer than the table has, may be left out. `protected_cell` and
    `protected_value` are the pairs of a cell and a protected value, numbered from 0, that occurs in
    it.
    """

    requirements: Requirements
    limit: int
    protected_cell: Codes
    protected_value: Codes

    def judge(self, groups: Groups) -> Verdict:
        """Decide which groups are published."""
        is_small = groups.sizes < self.requirements.least_bucket
        is_small |= groups.values_per_group < self._least_values
        n_dropped = int(groups.sizes[is_small].sum())
        if n_dropped > self.limit:
            # A group with too few rows or values consists of groups below with too few, too.
            return Verdict(None, n_dropped, is_hopeless=True)
        kept = (~is_small).astype(np.uint8)
        if self._others is not None:
            n_dropped = self._others.drop(groups, kept, n_dropped, self.limit)
        n_before = -1
        while self._closeness is not None and n_before < n_dropped <= self.limit:
            n_before = n_dropped
            rule = self._closeness if n_dropped == 0 else self._closeness.within(groups, kept)
            n_dropped = rule.drop(groups, kept, n_dropped, self.limit)
        if n_dropped > self.limit:
            return Verdict(None, n_dropped, is_hopeless=self.limit == 0)
        is_kept = kept.astype(bool)
        shows_all = n_dropped == 0 or self._shows_protected(groups, is_kept)
        return Verdict(is_kept if shows_all else None, n_dropped)

    @cached_property
    def _least_values(self) -> int:
        return max(map(_least_values, self.requirements.guarantees))

    @cached_property
    def _others(self) -> _Rule | None:
        chosen = [
            one
            for one in self.requirements.guarantees
            if not isinstance(one, (*_COUNTED, TCloseness))
        ]
        return _Rule(replace(self.requirements, guarantees=tuple(chosen))) if chosen else None

    @cached_property
    def _closeness(self) -> _Rule | None:
        chosen = [one for one in self.requirements.guarantees if isinstance(one, TCloseness)]
        return _Rule(replace(self.requirements, guarantees=tuple(chosen))) if chosen else None

    def _shows_protected(self, groups: Groups, kept: Flags) -> bool:
        """Return whether every protected value is published; if not, its promise is empty."""
        shown = self.protected_value[kept[groups.group[self.protected_cell]]]
        n_protected = len(np.unique(self.protected_value))
        return len(np.unique(shown)) == n_protected


@dataclass(frozen=True, eq=False)
class _Rule:
    """Requirements on the sensitive values of a group, compared with those of `reference` rows."""

    requirements: Requirements

    @cached_property
    def _rules(self) -> tuple[Limits, Rules]:
        # Values are numbered among those that occur.
        occurs = self.requirements.reference > 0
        leaf = self.requirements.leaf
        occurring = replace(
            self.requirements,
            reference=self.requirements.reference[occurs],
            leaf=leaf[occurs] if len(leaf) else leaf,
        )
        return occurring.rules()

    @cached_property
    def _number(self) -> Codes:
        return np.cumsum(self.requirements.reference > 0) - 1

    def within(self, groups: Groups, kept: Bytes) -> _Rule:
        """Return the rule that compares with the rows of the groups that are kept."""
        counts = groups.count * kept[groups.owner]
        reference = np.bincount(groups.value, weights=counts, minlength=groups.n_values)
        return _Rule(replace(self.requirements, reference=reference.astype(np.int64)))

    def drop(self, groups: Groups, kept: Bytes, n_dropped: int, limit: int) -> int:
        """Unmark the groups that fail, and return the number of rows dropped in total."""
        limits, rules = self._rules
        return int(
            drop_failing(
                rules.keep,
                limits.value,
                limits.count,
                groups.starts,
                groups.value,
                groups.count,
                groups.sizes,
                self._number,
                kept,
                n_dropped,
                limit,
            )
        )


def _least_values(guarantee: Guarantee) -> int:
    """Return the fewest different values of a bucket that keeps a guarantee."""
    match guarantee:
        case DistinctDiversity() | RecursiveDiversity():
            return guarantee.ell
        case EntropyDiversity():
            return math.ceil(guarantee.ell)
        case FrequencyDiversity() if not guarantee.protect:
            return math.ceil(guarantee.ell)
        case AlphaK() if not guarantee.protect:
            return math.ceil(1 / guarantee.alpha)
    return 1
