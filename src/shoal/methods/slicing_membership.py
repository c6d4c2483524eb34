"""Generalize columns of a sliced table until nobody can tell who is in it.

Problem: [Slicing], Section 7, asks for membership protection as a goal. Fakes alone do not give it:
among billions of them there may be hardly one real person who is not in the table.
Idea: slice a random half of the table, and see how well the two halves are told apart; do so for
several halves, and raise the least frequency of column values until the upper end of the 95 %
interval of the area is no higher than a bound.
Guarantee: none against other adversaries. It is a test and no proof: among people from where the
table comes from, as many as are in the table, the area is above the bound for few tables in 100.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 4.2, 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import fmean

import numpy as np

from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.plan import Recode
from shoal.core.sliced import Sliced
from shoal.knowledge.column_generalization import apply_recode
from shoal.knowledge.membership import split_rows, tell_apart_sliced
from shoal.knowledge.separation import Separation

__all__ = ["ProtectedMembership", "find_frequency"]

Generalize = Callable[[Cells, int], Sequence[Recode]]
Slice = Callable[[Cells], Sliced]
_Key = tuple[tuple[str, bytes], ...]


_CLOSE = 16
"""Frequencies that differ by less than one part of so many are not tried apart."""
_N_SPLITS = 5
"""How many halves are tried; a single one may be lucky."""


@dataclass(frozen=True)
class ProtectedMembership:
    """A least frequency at which members are told from others no better than a bound allows.

    Parameters
    ----------
    min_frequency
        How often every value of a column occurs at least.
    separations
        How well members of each half were told from the other half.
    """

    min_frequency: int
    separations: tuple[Separation, ...]

    @property
    def auc(self) -> float:
        """The area under the ROC curve, on average over halves."""
        return fmean(one.auc for one in self.separations)

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval of the area in a trial with fresh people.

        The mean of S halves varies as one of them, divided by S. A trial of the whole table beside
        as many fresh people has twice the people of a half on either side, and varies half as
        much as that. Both add up.
        """
        reach = fmean(one.high - one.auc for one in self.separations)
        return self.auc + reach * math.sqrt(1 / len(self.separations) + 1 / 2)

    def to_dict(self) -> dict[str, object]:
        """Return the numbers, for the internal record."""
        return {
            "min_frequency": self.min_frequency,
            "auc": self.auc,
            "high": self.high,
            "splits": [one.to_dict() for one in self.separations],
        }


def find_frequency(
    cells: Cells,
    *,
    generalize: Generalize,
    slice_rows: Slice,
    bound: Fraction,
    generator: np.random.Generator,
    least: int = 1,
    n_splits: int = _N_SPLITS,
) -> ProtectedMembership:
    """Find a least frequency of column values that hides who is in the table.

    It is doubled until the bound holds, and then lowered by bisection, as if members were told
    apart the less the higher it is. That need not be so everywhere, so a lower one may do as well;
    at the one that is returned the bound held.

    Parameters
    ----------
    cells
        The table, with at least two rows.
    generalize
        Returns the labels of a table whose column values occur at least so often.
    slice_rows
        Slices a table with labels in place of values; of attributes that it says are known, the
        people are.
    bound
        The largest upper end of the interval of the area under the ROC curve that is allowed; a
        tie holds.
    generator
        What draws the halves.
    least
        The frequency to begin with.
    n_splits
        How many halves are drawn; default 5.

    Raises
    ------
    InfeasibleError
        Where the bound does not hold however frequent values are; it names the best that was
        reached. Where half of the table cannot be sliced at all, what its slicing raised.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> from shoal.knowledge.column_generalization import generalize_columns
    >>> from shoal.methods.slicing_partition.grouping import random_buckets
    >>> ages = Domain.of_texts("age", [str(age) for age in range(40)])
    >>> cells = Cells.of_rows([ages], np.arange(40)[:, np.newaxis])
    >>> found = find_frequency(
    ...     cells,
    ...     generalize=lambda half, often: generalize_columns(half, [["age"]], often).recode,
    ...     slice_rows=lambda half: random_buckets(half, 5, np.random.default_rng(1)).sliced(
    ...         Layout([["age"]])),
    ...     bound=Fraction(3, 5),
    ...     generator=np.random.default_rng(1),
    ... )
    >>> found.high <= 0.6
    True
    """
    halves = [split_rows(cells, cells.n_rows // 2, generator) for _ in range(n_splits)]
    trials = [_Trials(half, rest, generalize, slice_rows) for half, rest in halves]
    search = _Search(trials, float(bound), least)
    low, high, most = least - 1, least, min(one.highest_frequency(least) for one in trials)
    while not search.holds(high):
        if high == most:
            raise search.failure(bound)
        low, high = high, min(2 * high, most)
    # Closer than that, chance decides.
    while high - low > 1 + high // _CLOSE:
        middle = (low + high) // 2
        low, high = (low, middle) if search.holds(middle) else (middle, high)
    return search.found[high]


@dataclass(frozen=True, eq=False)
class _Search:
    """What was tried on all halves.

    Parameters
    ----------
    trials
        One per half.
    bound
        The largest upper end that is allowed.
    least
        The frequency to begin with.
    found
        How well members were told from others, by frequency.
    """

    trials: Sequence[_Trials]
    bound: float
    least: int
    found: dict[int, ProtectedMembership] = field(default_factory=dict)

    def holds(self, frequency: int) -> bool:
        """Say whether members are told from others no better than is allowed."""
        told: list[Separation] = []
        for trial in self.trials:
            separation = trial.tell_apart(frequency)
            # One half that fails by far spares the others.
            if separation is None or separation.low > self.bound:
                self._remember(frequency, separation)
                return False
            told.append(separation)
        self.found[frequency] = ProtectedMembership(frequency, tuple(told))
        return self.found[frequency].high <= self.bound

    def _remember(self, frequency: int, separation: Separation | None) -> None:
        if separation is not None:
            self.found[frequency] = ProtectedMembership(frequency, (separation,))

    def failure(self, bound: Fraction) -> InfeasibleError:
        """Say what was reached at best."""
        if not self.found:
            return next(trial.refusals[0] for trial in self.trials if trial.refusals)
        best = min(self.found.values(), key=lambda one: (one.high, one.min_frequency))
        return InfeasibleError(
            f"Who is in the table can be told from who is not with an area under the ROC curve of "
            f"up to {best.high:.3f} at best (95 % interval, {best.auc:.3f} on average), at "
            f"min_frequency = {best.min_frequency}; {as_text(bound)} is allowed.",
            hint=f"allow {math.ceil(best.high * 1000) / 1000}, take more rows, give hierarchies to "
            "generalize along, or more and smaller columns.",
            best={"max_membership_auc": best.high, "min_frequency": best.min_frequency},
        )


@dataclass(frozen=True, eq=False)
class _Trials:
    """What was tried on one half.

    Parameters
    ----------
    half, rest
        The rows that are sliced, and those that are not.
    generalize, slice_rows
        As for `find_frequency`.
    by_labels
        How well members were told from others, by the labels that a frequency leads to: several
        may lead to the same. None where the half could not be sliced.
    refusals
        What was raised where it could not be.
    """

    half: Cells
    rest: Cells
    generalize: Generalize
    slice_rows: Slice
    by_labels: dict[_Key, Separation | None] = field(default_factory=dict)
    refusals: list[InfeasibleError] = field(default_factory=list)

    def highest_frequency(self, least: int) -> int:
        """Return the highest frequency that all values of the half can reach, at least `least`."""
        self.generalize(self.half, least)
        try:
            self.generalize(self.half, max(self.half.n_rows, least))
        except InfeasibleError as error:
            reachable = error.best.get("min_frequency", least)
            assert isinstance(reachable, int)
            return max(reachable, least)
        return max(self.half.n_rows, least)

    def tell_apart(self, frequency: int) -> Separation | None:
        """Slice the half at a frequency; None where it cannot be sliced."""
        labels = self.generalize(self.half, frequency)
        key = tuple((one.column, one.index.tobytes()) for one in labels)
        if key not in self.by_labels:
            self.by_labels[key] = self._tell_apart(labels)
        return self.by_labels[key]

    def _tell_apart(self, labels: Sequence[Recode]) -> Separation | None:
        half, rest = (apply_recode(part, labels) for part in (self.half, self.rest))
        try:
            sliced = self.slice_rows(half)
        except InfeasibleError as error:
            self.refusals.append(error)
            return None
        members, others = (part.select(sliced.layout.known) for part in (half, rest))
        found = tell_apart_sliced(sliced, members, others).worse
        if all(domain.size == 1 for domain in members.domains):
            # Everybody looks alike, whoever they are: nothing is left to chance.
            return replace(found, low=found.auc, high=found.auc)
        return found
