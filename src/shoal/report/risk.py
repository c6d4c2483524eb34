"""Who is at risk: by bucket, by column and by subgroup, from what an attack believes of people.

Everything is counted from one entry per kind of people, whatever the attack. What a column adds to
the risk is how many people would no longer be at risk if the adversary did not know it. Beside it
stands the part of the variance of beliefs that the column explains by itself: 1 if people who agree
in it are at the same risk, 0 if it makes no difference.

Without a column the adversary cannot tell apart people who agree in all others. What she believes
of each of them is then the mean of what she believes of all, by the law of total probability. For
every kind of people the findings have the value that she believes most, and how much; her belief in
another value is at most that, and at most what is left. So her belief without the column lies
between two bounds, which agree if all of a group are believed to have the same value, or are
certain. An attack that picks somebody's line is exact: without the column the classes of lines that
fit add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats, weighted_sum
from shoal.core.cells import Buckets, Cells, group, smallest_type
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.exact import exact
from shoal.core.findings import Findings

BY_BUCKET = "people at risk by bucket"
WITHOUT_COLUMN = "people who would not be at risk if the adversary did not know a column"
BY_COLUMN = "how much of the beliefs each column explains"
BY_SUBGROUP = "people at risk by single values"
BELIEFS_BY_BUCKET = "beliefs by bucket"
BELIEFS_BY_SUBGROUP = "beliefs by single values"
"""The titles if an attack has no limit: nobody can then be said to be at risk, or not to be."""

_N_SHOWN = 15
_DIGITS = 7
"""Beliefs that are the same to so many digits are tied: rounding must not decide their order."""


def risk_sections(found: Findings, people: Attacked) -> tuple[Section, ...]:
    """Count people at risk by what they have in common.

    Returns sections by bucket, by column and by single value, and what each column adds if somebody
    is at risk and that can be determined. Empty if the findings are not about these people.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex = Domain.of_texts("sex", ["f", "m"])
    >>> quasi = Cells((sex,), np.array([[0], [1]]), np.array([3, 1]))
    >>> found = Findings("linkage", "who is in it", quasi.counts, np.array([-1, -1]),
    ...     np.array([0.25, 1.0]), np.array([False, True]), "1/2", {})
    >>> without, columns, values = risk_sections(found, Attacked(quasi))
    >>> without.rows, columns.rows
    ((('sex', 1),), (('sex', 1.0),))
    >>> values.rows
    (('sex', 'm', 1, 1, 1.0, 1.0), ('sex', 'f', 3, 0, 0.0, 0.25))
    """
    if not np.array_equal(found.counts, people.quasi.counts):
        return ()
    columns, subgroups = _by_value(found, people.quasi)
    by_bucket = () if people.bucket is None else (_by_bucket(found, people.bucket),)
    return (*by_bucket, *_without_columns(found, people), columns, subgroups)


def _without_columns(found: Findings, people: Attacked) -> tuple[Section, ...]:
    added = contributions(found, people)
    if not added:
        return ()
    rows = sorted(((name, *counts) for name, counts in added.items()), key=lambda row: -row[1])
    if all(least == most for _, least, most in rows):
        told = tuple(row[:2] for row in rows)
        return (Section(WITHOUT_COLUMN, ("column", "people"), told, holds_values=False),)
    return (
        Section(
            WITHOUT_COLUMN,
            ("column", "people, at least", "at most"),
            tuple(rows),
            holds_values=False,
        ),
    )


def _by_bucket(found: Findings, bucket: Codes) -> Section:
    people, at_risk, mean, worst = _counted(found, bucket, int(bucket.max(initial=-1)) + 1)
    order = np.lexsort((-people, -worst.round(_DIGITS), -at_risk))
    order = order[people[order] > 0][:_N_SHOWN]
    # The attack's numbers of buckets are in no file, so only sizes are shown.
    rows = [
        (int(people[one]), int(at_risk[one]), float(mean[one]), float(worst[one]))
        for one in order.tolist()
    ]
    columns = ("people in the bucket", "at risk", "mean posterior", "worst posterior")
    if found.limit is None:
        return Section(BELIEFS_BY_BUCKET, *_without(columns, rows, [1]), holds_values=False)
    return Section(BY_BUCKET, columns, tuple(rows), holds_values=False)


def _without(
    columns: Sequence[str], rows: Sequence[Sequence[object]], places: Sequence[int]
) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """Return the columns and rows of a section without some of its columns."""
    kept = [place for place in range(len(columns)) if place not in places]
    return (
        tuple(columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in rows),
    )


def _by_value(found: Findings, quasi: Cells) -> tuple[Section, Section]:
    columns: list[tuple[object, ...]] = []
    groups: list[tuple[str, str | None, int, int, float, float]] = []
    overall, variation = _variation(found)
    for domain in quasi.domains:
        counted = _counted(found, quasi.column(domain.column), domain.size)
        people, at_risk, mean, worst = counted
        there = np.flatnonzero(people)
        between = weighted_sum((mean - overall) ** 2, people)
        columns.append((domain.column, min(between / variation, 1.0) if variation else 0.0))
        share = at_risk[there] / people[there]
        order = there[np.lexsort((-people[there], -worst[there].round(_DIGITS), -share))][:_N_SHOWN]
        groups += [
            (
                domain.column,
                domain.text(code),
                int(people[code]),
                int(at_risk[code]),
                float(at_risk[code] / people[code]),
                float(mean[code]),
            )
            for code in order.tolist()
        ]
    groups.sort(key=lambda row: (-row[4], -round(row[5], _DIGITS), -row[2]))
    columns.sort(key=_explained_of, reverse=True)
    names = ("column", "value", "people", "at risk", "share at risk", "mean posterior")
    shown = groups[:_N_SHOWN]
    explained = ("column", "variance explained")
    return (
        Section(BY_COLUMN, explained, tuple(columns), holds_values=False),
        Section(BELIEFS_BY_SUBGROUP, *_without(names, shown, [3, 4]))
        if found.limit is None
        else Section(BY_SUBGROUP, names, tuple(shown)),
    )


def _explained_of(row: Sequence[object]) -> float:
    explained = row[1]
    assert isinstance(explained, float)
    return round(explained, _DIGITS)


def _counted(found: Findings, group: Codes, n_groups: int) -> tuple[Counts, Counts, Floats, Floats]:
    """Count the people of each group, those at risk, and their mean and worst posterior."""
    weights = found.counts
    people = np.bincount(group, weights, n_groups).astype(np.int64)
    at_risk = np.bincount(group, weights * found.breached, n_groups).astype(np.int64)
    total = np.bincount(group, weights * found.posterior, n_groups)
    worst = np.zeros(n_groups)
    np.maximum.at(worst, group, found.posterior)
    return people, at_risk, total / np.maximum(people, 1), worst


def _variation(found: Findings) -> tuple[float, float]:
    """Return the mean posterior, and the sum of the squared deviations from it."""
    n_people = max(int(found.counts.sum()), 1)
    overall = weighted_sum(found.posterior, found.counts) / n_people
    total = weighted_sum((found.posterior - overall) ** 2, found.counts)
    # Rounding leaves a little variance even if there is none.
    return overall, total if total > 1e-12 * n_people else 0.0


# --- which columns contribute ---------------------------------------------------------------------


# Attacks whose belief is one over the number of lines that fit.
_LINKING = ("linkage",)
# Attacks whose belief in a value is its share of the bucket.
_BY_BUCKET = ("homogeneity",)
_ROUNDING = 1e-9
_MOST_ENTRIES = 2**25


@dataclass(frozen=True, eq=False)
class Attacked:
    """The people that findings are about."""

    # Their quasi-identifiers, one cell per entry of the findings. Cells may repeat.
    quasi: Cells
    # The bucket of each entry; None if it is not known.
    bucket: Codes | None = None
    # The sensitive values of each bucket; None if they are not published.
    buckets: Buckets | None = None

    @cached_property
    def looks(self) -> tuple[Codes, Codes]:
        """The first entry of each combination, and the combination of each entry.

        Attacks on the same people share it: there may be as many entries as people.
        """
        codes = {name: self.quasi.column(name) for name in self.quasi.columns}
        return self._grouped(codes, self.quasi.n_cells)

    @cached_property
    def alike(self) -> dict[str, Codes]:
        """For each column, the number of the group of combinations that agree in all others."""
        first, _ = self.looks
        codes = {name: self.quasi.column(name)[first] for name in self.quasi.columns}
        numbered = {}
        for column in codes:
            others = {name: held for name, held in codes.items() if name != column}
            start, number = self._grouped(others, len(first))
            numbered[column] = number.astype(smallest_type(len(start)))
        return numbered

    def _grouped(self, codes: Mapping[str, Codes], n_entries: int) -> tuple[Codes, Codes]:
        sizes = [self.quasi.domain(name).size for name in codes]
        return group(list(codes.values()), sizes, n_entries)

    @cached_property
    def shares(self) -> tuple[Codes, Codes, Floats] | None:
        """Each entry with each value of its bucket, and its share; None if there are too many."""
        if self.bucket is None or self.buckets is None:
            return None
        held = self.buckets
        begin = np.searchsorted(held.bucket, np.arange(held.n_buckets + 1))
        n_values = np.diff(begin)[self.bucket]
        if int(n_values.sum()) > _MOST_ENTRIES:
            return None
        entry = np.repeat(np.arange(len(self.bucket)), n_values)
        within = np.arange(len(entry)) - np.repeat(np.cumsum(n_values) - n_values, n_values)
        place = begin[self.bucket][entry] + within
        share = held.count[place] / held.sizes[held.bucket[place]]
        return entry, held.value[place], share


def contributions(found: Findings, people: Attacked) -> dict[str, tuple[int, int]]:
    """Count the people at risk who would not be if the adversary did not know a column.

    Returns a lower and an upper bound for each column; they agree if the findings determine the
    number. Empty if nobody is at risk, or if more than the belief in a sensitive value or in a line
    decides who is.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> age, sex = Domain.of_texts("age", ["20", "30"]), Domain.of_texts("sex", ["f", "m"])
    >>> quasi = Cells((age, sex), np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 1, 3]))
    >>> found = Findings("linkage", "who is in it", quasi.counts, np.array([-1, -1, -1]),
    ...     np.array([1, 1, 1 / 3]), np.array([True, True, False]), "1/2", {})
    >>> contributions(found, Attacked(quasi))
    {'age': (1, 1), 'sex': (2, 2)}
    """
    is_linking = found.attack in _LINKING
    if not found.breached.any() or not (is_linking or bool(np.all(found.value >= 0))):
        return {}
    limit = _limit(found)
    if limit is None or not np.array_equal(found.breached, found.posterior > limit):
        return {}
    first, look = people.looks
    at_risk = np.bincount(look, found.counts * found.breached, len(first))
    beliefs = None if is_linking else _beliefs(found, people)
    told = {}
    for column, alike in people.alike.items():
        low, high = _linked(found, first, alike) if beliefs is None else beliefs.without(alike)
        told[column] = int(at_risk[high <= limit].sum()), int(at_risk[low <= limit].sum())
    return told


def _goes_by_bucket(found: Findings, people: Attacked) -> bool:
    """Return whether all beliefs equal the shares of the buckets."""
    if found.attack not in _BY_BUCKET or people.shares is None:
        return False
    entry, _, share = people.shares
    most = np.zeros(len(found.counts))
    np.maximum.at(most, entry, share)
    return bool(np.allclose(most, found.posterior, rtol=0, atol=_ROUNDING))


def _limit(found: Findings) -> float | None:
    """Return the belief above which somebody is at risk, with room for rounding."""
    if found.limit is None:
        return None
    try:
        return float(exact("limit", found.limit)) + _ROUNDING
    except ParameterError:
        # Anything short of certainty is allowed.
        return 1 - _ROUNDING


def _linked(found: Findings, first: Codes, alike: Codes) -> tuple[Floats, Floats]:
    """Add up the classes that fit: the right line is picked with one over their size."""
    with np.errstate(divide="ignore"):
        size = 1 / found.posterior[first]
    believed = 1 / np.bincount(alike, size)[alike]
    return believed, believed


def _beliefs(found: Findings, people: Attacked) -> _Beliefs:
    """Add up beliefs by combination and value, weighted by people."""
    first, look = people.looks
    n_looks = len(first)
    n_people = _total(look, found.counts, n_looks)
    if _goes_by_bucket(found, people):
        assert people.shares is not None
        entry, value, share = people.shares
        believed = found.counts[entry] * share
        return _Beliefs(n_people, look[entry], value, believed, believed).summed()
    believed = found.counts * found.posterior
    # The most that she may believe of any other value.
    spare: Floats = np.minimum(believed, found.counts - believed)
    settled = believed - spare
    spare = _total(look, spare, n_looks)
    return _Beliefs(n_people, look, found.value, believed, settled, spare).summed()


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """Beliefs in values by combination, each weighted by the people of whom it is held.

    An entry may be spread over several of the same combination and value.
    """

    # The people of each combination.
    n_people: Floats
    # The combination and the value of each entry.
    look: Codes
    value: Codes
    # What is believed, and the part of it that exceeds what people have to spare for any value.
    believed: Floats
    settled: Floats
    # What each combination can spare for any value; None if nothing is open.
    spare: Floats | None = None

    def summed(self) -> _Beliefs:
        """Return them with one entry per combination and value, unless hardly any repeat."""
        if 2 * len(self.n_people) > len(self.look):
            return self
        first, entry = self._pairs(self.look, self.value, len(self.n_people))
        return replace(
            self,
            look=self.look[first],
            value=self.value[first],
            believed=_total(entry, self.believed, len(first)),
            settled=_total(entry, self.settled, len(first)),
        )

    def without(self, alike: Codes) -> tuple[Floats, Floats]:
        """Return bounds of the largest mean belief in a value over the group of each combination.

        Most groups of a table of near-unique people are a single combination, for which any column
        leaves the same bounds.
        """
        n_looks = np.bincount(alike)
        if np.all(n_looks > 1):
            low, high = self._bounds(alike, len(n_looks))
            return low[alike], high[alike]
        is_grouped = n_looks[alike] > 1
        among = (np.cumsum(is_grouped) - 1)[self.look]
        kept = is_grouped[self.look]
        number = (np.cumsum(n_looks > 1) - 1)[alike[is_grouped]]
        chosen = _Beliefs(
            self.n_people[is_grouped],
            among[kept],
            self.value[kept],
            self.believed[kept],
            self.settled[kept],
            None if self.spare is None else self.spare[is_grouped],
        )
        own_low, own_high = self._own
        low, high = own_low.copy(), own_high.copy()
        of_group = chosen._bounds(number, int(np.count_nonzero(n_looks > 1)))
        low[is_grouped], high[is_grouped] = of_group[0][number], of_group[1][number]
        return low, high

    @cached_property
    def _own(self) -> tuple[Floats, Floats]:
        """The bounds of each combination by itself."""
        return self._bounds(np.arange(len(self.n_people)), len(self.n_people))

    def _bounds(self, alike: Codes, n_groups: int) -> tuple[Floats, Floats]:
        """Return a lower and an upper bound of the largest mean belief of each group."""
        n_people = _total(alike, self.n_people, n_groups)
        owner = alike[self.look]
        first, pair = self._pairs(owner, self.value, n_groups)

        def largest(numbers: Floats) -> Floats:
            most = np.full(n_groups, -np.inf)
            np.maximum.at(most, owner[first], _total(pair, numbers, len(first)))
            return most

        low = largest(self.believed) / n_people
        if self.spare is None:
            return low, low
        # A value gets what the people with another most likely value can spare for it.
        spare = _total(alike, self.spare, n_groups)
        return low, (largest(self.settled) + spare) / n_people

    @staticmethod
    def _pairs(owner: Codes, value: Codes, n_owners: int) -> tuple[Codes, Codes]:
        return group([owner, value], [n_owners, int(value.max(initial=0)) + 1], len(owner))


def _total(owner: Codes, numbers: Counts | Floats, n_owners: int) -> Floats:
    """Add up the numbers of each owner."""
    return np.asarray(np.bincount(owner, numbers, n_owners), dtype=np.float64)
