"""Membership protection: how well a sliced release tells members from others, and a bound on it.

Problem: [Slicing], Section 7, asks for membership protection as a goal. Fake tuples alone do not
give it: among billions of them there may be hardly one real person who is not in the table.
Idea: the more rows of the release are like a person t (|B| f(t, B) of a bucket B, on average over
all linkings), the more likely t is a member. Slice a random half of the table, and measure how well
that score separates the halves; do so for several halves, and raise the minimum frequency of
column values until the upper end of the 95 % interval of the area under the ROC curve is within a
bound.
Guarantee: none against other adversaries. It is a test, not a proof: for people from the same
population, as many as are in the table, the area exceeds the bound for a few tables in 100.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 4.2, 5, 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import fmean

import numpy as np

from shoal.core.arrays import Counts, Floats
from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.plan import Recode
from shoal.core.sliced import Sliced
from shoal.locating.separation import Separation, separate, tie_rounded
from shoal.slicing.column_generalization import apply_recode
from shoal.slicing.matches import Labels, SlicedMatches, match_sliced


@dataclass(frozen=True, eq=False)
class Fits:
    """How well people fit a release, one entry per cell of people.

    `n_buckets` is the number of buckets they match. `n_rows` is the number of rows like them,
    averaged over all linkings of columns and over the lines that may be theirs; it is above 0
    exactly if they match a bucket.
    """

    n_buckets: Counts
    n_rows: Floats

    def __repr__(self) -> str:
        n_matching = np.count_nonzero(self.n_buckets)
        return f"Fits({n_matching} of {len(self.n_buckets)} different people match)"


@dataclass(frozen=True)
class Telling:
    """How well members are told from others.

    `alone` uses the number of rows like a person, which needs only the release; `listed` uses the
    rows that belong to a person, for an adversary with a list of members and others.
    """

    alone: Separation
    listed: Separation

    @property
    def worse(self) -> Separation:
        """The separation by the adversary who tells members from others better."""
        return max(self.listed, self.alone, key=lambda one: one.auc)


def tell_apart_sliced(
    sliced: Sliced, members: Cells, others: Cells, meanings: Labels | None = None
) -> Telling:
    """Measure how well a sliced release tells the people in it from others.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = Cells.of_rows([sex, city], np.array([[0, 0], [1, 1]]))
    >>> others = Cells.of_rows([sex, city], np.array([[0, 1], [1, 0]]))
    >>> layout = Layout([["sex"], ["city"]])
    >>> together = Sliced.of_pieces(rows, layout, np.arange(2), np.array([0, 0]), rows.counts)
    >>> tell_apart_sliced(together, rows, others).worse.auc
    0.5
    >>> apart = Sliced.of_pieces(rows, layout, np.arange(2), np.array([0, 1]), rows.counts)
    >>> tell_apart_sliced(apart, rows, others).worse.auc
    1.0
    """

    def score(everybody: Cells) -> tuple[Floats, Floats]:
        matches = match_sliced(sliced, everybody, meanings or {})
        return _fits(matches).n_rows, _presence(matches, sliced.sizes, everybody.counts)

    return tell_apart_by(members, others, score)


def tell_apart_by(
    members: Cells, others: Cells, score: Callable[[Cells], tuple[Floats, Floats]]
) -> Telling:
    """Score members and others together, and measure how well the scores tell them apart."""
    codes = np.concatenate([members.codes, others.codes])
    counts = np.concatenate([members.counts, others.counts])
    everybody, place = Cells(members.domains, codes, counts).select_with_inverse(members.columns)
    alone, listed = (
        separate(
            scores[place[: members.n_cells]],
            scores[place[members.n_cells :]],
            member_counts=members.counts,
            other_counts=others.counts,
        )
        for scores in map(tie_rounded, score(everybody))
    )
    return Telling(alone, listed)


def split_rows(cells: Cells, n_rows: int, generator: np.random.Generator) -> tuple[Cells, Cells]:
    """Draw `n_rows` rows of a table at random; return these, and the others."""
    drawn = generator.multivariate_hypergeometric(cells.counts, n_rows, method="marginals")
    first, second = (
        Cells(cells.domains, cells.codes[counts > 0], counts[counts > 0])
        for counts in (drawn, cells.counts - drawn)
    )
    return first, second


def fit_sliced(sliced: Sliced, people: Cells, meanings: Labels | None = None) -> Fits:
    """Return how well people fit a sliced release.

    `people` holds known values or published labels; `meanings` maps attribute and label to the
    values that the label stands for.
    """
    return _fits(match_sliced(sliced, people, meanings or {}))


def _fits(matches: SlicedMatches) -> Fits:
    n_kinds = matches.n_kinds
    n_buckets, n_rows = np.zeros(n_kinds, dtype=np.int64), np.zeros(n_kinds)
    for kind, _, amount in matches.terms():
        n_buckets += np.bincount(kind, minlength=n_kinds)
        n_rows += np.bincount(kind, amount, minlength=n_kinds)
    return Fits(n_buckets[matches.kind], n_rows[matches.kind])


def find_sliced_presence(sliced: Sliced, people: Cells, meanings: Labels | None = None) -> Floats:
    """Return how many rows of a release belong to each person, if all rows belong to these people.

    The rows of a bucket are divided among the people who match it, in proportion to |B| f(t, B).
    """
    return _presence(match_sliced(sliced, people, meanings or {}), sliced.sizes, people.counts)


def _presence(matches: SlicedMatches, sizes: Counts, counts: Counts) -> Floats:
    n_people = np.bincount(matches.kind, counts, minlength=matches.n_kinds)
    total = np.zeros(len(sizes))
    for kind, bucket, amount in matches.terms():
        total += np.bincount(bucket, amount * n_people[kind], minlength=len(sizes))
    presence = np.zeros(matches.n_kinds)
    for kind, bucket, amount in matches.terms():
        chance = sizes[bucket] * amount / total[bucket]
        presence += np.bincount(kind, chance, minlength=matches.n_kinds)
    return presence[matches.kind]


Generalize = Callable[[Cells, int], Sequence[Recode]]
Slice = Callable[[Cells], Sliced]
_Key = tuple[tuple[str, bytes], ...]


_CLOSE = 16
"""Frequencies that differ by less than one part in this many are not tried separately."""
_N_SPLITS = 5
"""The number of random halves that are sliced; a single one may be lucky."""


@dataclass(frozen=True)
class ProtectedMembership:
    """A minimum frequency of column values at which membership is protected within a bound.

    `separations` has one entry per half: how well its members were told from the other half.
    """

    min_frequency: int
    separations: tuple[Separation, ...]

    @property
    def auc(self) -> float:
        """The area under the ROC curve, averaged over halves."""
        return fmean(one.auc for one in self.separations)

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval of the area in a trial with fresh people.

        The variance of the mean of S halves is that of one half divided by S. A trial of the whole
        table against as many fresh people has twice the people of a half on either side, and half
        the variance. The two variances add up.
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
) -> ProtectedMembership:
    """Find a minimum frequency of column values that protects membership.

    The frequency is doubled until the bound holds, and then lowered by bisection, as if the area
    decreased with it. That need not be so everywhere, so a lower frequency may suffice; at the one
    that is returned the bound held.

    `generalize` returns the labels of a table whose column values occur at least so often;
    `slice_rows` slices a table with labels in place of values, and its layout states the known
    attributes. `bound` (inclusive) limits the upper end of the interval of the area under the ROC
    curve. `least` is the frequency to begin with. The table needs at least two rows.

    Raises
    ------
    InfeasibleError
        If the bound does not hold at any frequency; the error names the best result. If half of the
        table cannot be sliced at all, the error that slicing raised.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> from shoal.slicing.column_generalization import generalize_columns
    >>> from shoal.slicing.partition import random_buckets
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
    halves = [split_rows(cells, cells.n_rows // 2, generator) for _ in range(_N_SPLITS)]
    trials = [_Trials(half, rest, generalize, slice_rows) for half, rest in halves]
    search = _Search(trials, float(bound), least)
    low, high, most = least - 1, least, min(one.highest_frequency(least) for one in trials)
    while not search.holds(high):
        if high == most:
            raise search.failure(bound)
        low, high = high, min(2 * high, most)
    # Frequencies that are closer than this differ by chance only.
    while high - low > 1 + high // _CLOSE:
        middle = (low + high) // 2
        low, high = (low, middle) if search.holds(middle) else (middle, high)
    return search.found[high]


@dataclass(frozen=True, eq=False)
class _Search:
    """The trials of all halves, and their results by frequency."""

    trials: Sequence[_Trials]
    bound: float
    least: int
    found: dict[int, ProtectedMembership] = field(default_factory=dict)

    def holds(self, frequency: int) -> bool:
        """Return whether members are told from others no better than the bound allows."""
        told: list[Separation] = []
        for trial in self.trials:
            separation = trial.tell_apart(frequency)
            # If one half clearly fails, the others need not be tried.
            if separation is None or separation.low > self.bound:
                if separation is not None:
                    self.found[frequency] = ProtectedMembership(frequency, (separation,))
                return False
            told.append(separation)
        self.found[frequency] = ProtectedMembership(frequency, tuple(told))
        return self.found[frequency].high <= self.bound

    def failure(self, bound: Fraction) -> InfeasibleError:
        """Return the error that names the best result."""
        if not self.found:
            return next(trial.refusals[0] for trial in self.trials if trial.refusals)
        best = min(self.found.values(), key=lambda one: (one.high, one.min_frequency))
        return InfeasibleError(
            f"Members can be told from others with an area under the ROC curve of up to "
            f"{best.high:.3f} at best (95 % interval, {best.auc:.3f} on average), at "
            f"min_frequency = {best.min_frequency}; {as_text(bound)} is allowed.",
            hint=f"allow {math.ceil(best.high * 1000) / 1000}, use more rows, give hierarchies to "
            "generalize along, or use more and smaller columns.",
            best={"max_membership_auc": best.high, "min_frequency": best.min_frequency},
        )


@dataclass(frozen=True, eq=False)
class _Trials:
    """The trials of one half: `half` is sliced, `rest` is not.

    `by_labels` caches results by the labels that a frequency leads to, because several frequencies
    may lead to the same labels; None if the half could not be sliced. `refusals` holds the errors
    raised in that case.
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
        """Slice the half at a frequency; return None if it cannot be sliced."""
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
            # Everybody looks alike, so there is no sampling error.
            return replace(found, low=found.auc, high=found.auc)
        return found
