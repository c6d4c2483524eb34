"""Generalize columns of a sliced table until nobody can tell who is in it.

Problem: [Slicing], Section 7, asks for membership protection as a goal. Fakes alone do not give it:
among billions of them there may be hardly one real person who is not in the table.
Idea: slice a random half of the table, and see how well the two halves are told apart; raise the
least frequency of column values until that is no better than a bound.
Guarantee: none for other halves, or for other adversaries: it is a test, and no proof.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 4.2, 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

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


@dataclass(frozen=True)
class ProtectedMembership:
    """A least frequency at which members are told from others no better than a bound allows.

    Parameters
    ----------
    min_frequency
        How often every value of a column occurs at least.
    separation
        How well members of a half were told from the other half.
    """

    min_frequency: int
    separation: Separation

    def to_dict(self) -> dict[str, object]:
        """Give the numbers, for the internal record."""
        return {"min_frequency": self.min_frequency, **self.separation.to_dict()}


def find_frequency(
    cells: Cells,
    *,
    generalize: Generalize,
    slice_rows: Slice,
    bound: Fraction,
    generator: np.random.Generator,
    least: int = 1,
) -> ProtectedMembership:
    """Find a least frequency of column values that hides who is in the table.

    It is doubled until the bound holds, and then lowered by bisection, as if members were told
    apart the less the higher it is. That need not be so everywhere, so a lower one may do as well;
    at the one that is given the bound held.

    Parameters
    ----------
    cells
        The table, with at least two rows.
    generalize
        Gives the labels of a table whose column values occur at least so often.
    slice_rows
        Slices a table with labels in place of values; of attributes that it says are known, the
        people are.
    bound
        The largest area under the ROC curve that is allowed; a tie holds.
    generator
        What draws the half.
    least
        The frequency to begin with.

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
    >>> found.min_frequency, found.separation.auc
    (2, 0.5)
    """
    half, rest = split_rows(cells, cells.n_rows // 2, generator)
    trials = _Trials(half, rest, generalize, slice_rows)
    low, high, most = least - 1, least, trials.highest_frequency(least)
    while not trials.holds(high, bound):
        if high == most:
            raise trials.failure(bound)
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trials.holds(middle, bound) else (middle, high)
    return ProtectedMembership(high, trials.found[high])


@dataclass(frozen=True, eq=False)
class _Trials:
    """What was tried on one half.

    Parameters
    ----------
    half, rest
        The rows that are sliced, and those that are not.
    generalize, slice_rows
        As for `find_frequency`.
    found
        How well members were told from others, by frequency.
    by_labels
        The same by the labels that a frequency leads to: several may lead to the same. None where
        the half could not be sliced.
    refusals
        What was raised where it could not be.
    """

    half: Cells
    rest: Cells
    generalize: Generalize
    slice_rows: Slice
    found: dict[int, Separation] = field(default_factory=dict)
    by_labels: dict[_Key, Separation | None] = field(default_factory=dict)
    refusals: list[InfeasibleError] = field(default_factory=list)

    def highest_frequency(self, least: int) -> int:
        """Give the highest frequency that all values of the half can reach, at least the least."""
        self.generalize(self.half, least)
        try:
            self.generalize(self.half, max(self.half.n_rows, least))
        except InfeasibleError as error:
            reachable = error.best.get("min_frequency", least)
            assert isinstance(reachable, int)
            return max(reachable, least)
        return max(self.half.n_rows, least)

    def holds(self, frequency: int, bound: Fraction) -> bool:
        """Say whether members are told from others no better than is allowed."""
        labels = self.generalize(self.half, frequency)
        key = tuple((one.column, one.index.tobytes()) for one in labels)
        if key not in self.by_labels:
            self.by_labels[key] = self._tell_apart(labels)
        separation = self.by_labels[key]
        if separation is None:
            return False
        self.found[frequency] = separation
        # The area is the float nearest to an exact ratio, so that a tie is one here too.
        return separation.auc <= float(bound)

    def _tell_apart(self, labels: Sequence[Recode]) -> Separation | None:
        half, rest = (apply_recode(part, labels) for part in (self.half, self.rest))
        try:
            sliced = self.slice_rows(half)
        except InfeasibleError as error:
            self.refusals.append(error)
            return None
        members, others = (part.select(sliced.layout.known) for part in (half, rest))
        return tell_apart_sliced(sliced, members, others).worse

    def failure(self, bound: Fraction) -> InfeasibleError:
        """Say what was reached at best."""
        if not self.found:
            return self.refusals[0]
        frequency = min(self.found, key=lambda one: (self.found[one].auc, one))
        auc = self.found[frequency].auc
        return InfeasibleError(
            f"Who is in the table can be told from who is not with an area under the ROC curve of "
            f"{auc:.3f} at best, at min_frequency = {frequency}; {as_text(bound)} is allowed.",
            hint=f"allow {math.ceil(auc * 1000) / 1000}, give hierarchies to generalize along, or "
            "more and smaller columns.",
            best={"max_membership_auc": auc, "min_frequency": frequency},
        )
