"""Which groups of a generalization are published, and how many rows it leaves out.

A group that breaks a requirement is left out as a whole. t-closeness compares with what is
published, so leaving groups out may bring others too far from the rest: these are left out in
their turn, round by round, until all that are left are close to all that are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
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
from shoal.methods.lattice._kernels import drop_failing
from shoal.methods.lattice.groups import Groups
from shoal.methods.requirements._kernels import Rules
from shoal.methods.requirements.limits import Limits
from shoal.methods.requirements.table import Requirements

__all__ = ["Judge", "Marks", "Verdict"]

Marks = npt.NDArray[np.bool_]

_COUNTED = (KAnonymity, DistinctDiversity)
"""Guarantees that hold where there are enough rows and enough different values."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What becomes of the groups of one generalization.

    Parameters
    ----------
    kept
        The groups that are published; None where that is not allowed.
    n_dropped
        The rows that are left out; where too many are, as many as were counted.
    is_hopeless
        Whether nothing below can be published either.
    """

    kept: Marks | None
    n_dropped: int
    is_hopeless: bool = False


@dataclass(frozen=True, eq=False)
class Judge:
    """Decides which groups are published.

    Parameters
    ----------
    requirements
        What every published group keeps.
    limit
        How many rows may be left out; fewer than the table has.
    protected_cell, protected_value
        Pairs of a cell and a protected value, numbered from 0, that occurs in it.
    """

    requirements: Requirements
    limit: int
    protected_cell: Codes
    protected_value: Codes

    def judge(self, groups: Groups) -> Verdict:
        """Say which groups are published."""
        is_small = groups.sizes < self.requirements.least_bucket
        is_small |= groups.values_a_group < self._least_values
        n_dropped = int(groups.sizes[is_small].sum())
        if n_dropped > self.limit:
            # What has too few rows or values is made of groups below that have too few.
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

    def _shows_protected(self, groups: Groups, kept: Marks) -> bool:
        """Whether every protected value is published: else a promise about it is empty."""
        shown = self.protected_value[kept[groups.group[self.protected_cell]]]
        n_protected = len(np.unique(self.protected_value))
        return len(np.unique(shown)) == n_protected


@dataclass(frozen=True, eq=False)
class _Rule:
    """Requirements on the sensitive values of a group, compared with those of some rows.

    Parameters
    ----------
    requirements
        The requirements, and how often each value occurs.
    """

    requirements: Requirements

    @cached_property
    def _rules(self) -> tuple[Limits, Rules]:
        # Values are ranked among those that occur.
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

    def within(self, groups: Groups, kept: npt.NDArray[np.uint8]) -> _Rule:
        """Compare with the rows of the groups that are kept."""
        counts = groups.count * kept[groups.owner]
        reference = np.bincount(groups.value, weights=counts, minlength=groups.n_values)
        return _Rule(replace(self.requirements, reference=reference.astype(np.int64)))

    def drop(self, groups: Groups, kept: npt.NDArray[np.uint8], n_dropped: int, limit: int) -> int:
        """Unmark the groups that fail, and count their rows with those dropped already."""
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
    """Give the fewest different values of a bucket that keeps a guarantee."""
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
