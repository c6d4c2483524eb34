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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
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
    for domain in quasi.domains:
        counted = _counted(found, quasi.column(domain.column), domain.size)
        people, at_risk, mean, worst = counted
        there = np.flatnonzero(people)
        columns.append((domain.column, _explained(found, people, mean)))
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


def _explained(found: Findings, people: Counts, mean: Floats) -> float:
    """Return the part of the variance of posteriors that lies between groups."""
    n_people = max(int(found.counts.sum()), 1)
    overall = float(found.counts @ found.posterior) / n_people
    total = float(found.counts @ (found.posterior - overall) ** 2)
    between = float(people @ (mean - overall) ** 2)
    # Rounding leaves a little variance even if there is none.
    return min(between / total, 1.0) if total > 1e-12 * n_people else 0.0


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
        """The first entry of each combination, and the combination of each entry."""
        return self._grouped(self.quasi.columns)

    @cached_property
    def alike(self) -> dict[str, Codes]:
        """For each column, the number of the group that agrees with an entry in all others.

        Attacks on the same people share it: there may be as many entries as people.
        """
        numbered = {}
        for column in self.quasi.columns:
            first, number = self._grouped([one for one in self.quasi.columns if one != column])
            numbered[column] = number.astype(smallest_type(len(first)))
        return numbered

    def _grouped(self, columns: Sequence[str]) -> tuple[Codes, Codes]:
        codes = [self.quasi.column(name) for name in columns]
        sizes = [self.quasi.domain(name).size for name in columns]
        return group(codes, sizes, self.quasi.n_cells)

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
    believed = _linked if is_linking else _shared if _goes_by_bucket(found, people) else _inferred
    told = {}
    for column, alike in people.alike.items():
        low, high = believed(found, people, alike)
        told[column] = (_count(found, high[alike] <= limit), _count(found, low[alike] <= limit))
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


def _count(found: Findings, is_safe: Flags) -> int:
    return int(found.counts[found.breached & is_safe].sum())


def _linked(found: Findings, people: Attacked, alike: Codes) -> tuple[Floats, Floats]:
    """Add up the classes that fit: the right line is picked with one over their size."""
    first, _ = people.looks
    with np.errstate(divide="ignore"):
        size = 1 / found.posterior[first]
    total = np.bincount(alike[first], size)
    return 1 / total, 1 / total


def _shared(found: Findings, people: Attacked, alike: Codes) -> tuple[Floats, Floats]:
    """Return the largest mean share of one value over each group."""
    assert people.shares is not None
    entry, value, share = people.shares
    return _largest_means(found, alike, alike[entry], value, found.counts[entry] * share)


def _inferred(found: Findings, people: Attacked, alike: Codes) -> tuple[Floats, Floats]:  # noqa: ARG001
    """Bound the largest mean belief in one value over each group."""
    believed = found.counts * found.posterior
    # The most that she may believe of any other value.
    spare: Floats = np.minimum(believed, found.counts - believed)
    return _largest_means(found, alike, alike, found.value, believed, spare)


def _largest_means(
    found: Findings,
    alike: Codes,
    owner: Codes,
    value: Codes,
    believed: Floats,
    spare: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return for each group a lower and an upper bound of the largest mean belief in one value.

    `alike` is the group of each entry of the findings. `owner`, `value` and `believed` are beliefs
    weighted by people: the group, the value, and how much. `spare` is what each entry may add to a
    value that is not its own; None if nothing is open.
    """
    people = np.bincount(alike, found.counts)
    n_groups, n_values = len(people), int(value.max(initial=0)) + 1

    def largest(numbers: Floats) -> Floats:
        if n_groups * n_values <= _MOST_ENTRIES:
            pair = owner * np.int64(n_values) + value
            sums = np.bincount(pair, numbers, n_groups * n_values)
            return np.asarray(sums.reshape(n_groups, n_values).max(axis=1))
        first, pair = group([owner, value], [n_groups, n_values], len(owner))
        most = np.full(n_groups, -np.inf)
        np.maximum.at(most, owner[first], np.bincount(pair, numbers))
        return most

    low = largest(believed) / people
    if spare is None:
        return low, low
    # A value gets what the entries with another most likely value can spare for it.
    return low, (largest(believed - spare) + np.bincount(alike, spare)) / people
