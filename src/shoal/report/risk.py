"""Who is at risk: by bucket, by column and by subgroup, from what an attack believes of people.

All of it is counted from one entry a kind of people, whatever the attack. What a column adds to the
risk is how many people would no longer be at risk if the adversary did not know it: she then cannot
tell apart people who agree in all other columns, and believes of each the mean of what she believes
of them (`shoal.report.contribution`). Beside it stands the part of the variance of beliefs that the
column explains by itself: 1 where people who agree in it are at the same risk, 0 where it makes no
difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Findings, Section
from shoal.core.cells import Cells, Codes, Counts
from shoal.report.contribution import Attacked, contributions

__all__ = [
    "BELIEFS_BY_BUCKET",
    "BELIEFS_BY_SUBGROUP",
    "BY_BUCKET",
    "BY_COLUMN",
    "BY_SUBGROUP",
    "WITHOUT_COLUMN",
    "risk_sections",
]

BY_BUCKET = "people at risk by bucket"
WITHOUT_COLUMN = "people no longer at risk if the adversary did not know a column"
BY_COLUMN = "how far columns explain beliefs"
BY_SUBGROUP = "people at risk by single values"
BELIEFS_BY_BUCKET = "beliefs by bucket"
BELIEFS_BY_SUBGROUP = "beliefs by single values"
"""The same where an attack has no limit: nobody can then be said to be at risk, or not to be."""

_N_SHOWN = 15

Floats = npt.NDArray[np.float64]


def risk_sections(found: Findings, people: Attacked) -> tuple[Section, ...]:
    """Count people at risk by what they have in common.

    Parameters
    ----------
    found
        What an attack found.
    people
        The people attacked.

    Returns
    -------
    By bucket, by column and by single value; what a column adds where somebody is at risk and it
    can be told. Nothing where the findings do not speak of these people.

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
    order = np.lexsort((-worst, -at_risk))
    order = order[people[order] > 0][:_N_SHOWN]
    # Buckets are numbered as the attack numbers them, which no file does: only sizes are told.
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
        order = there[np.lexsort((-people[there], -worst[there], -share))][:_N_SHOWN]
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
    groups.sort(key=lambda row: (-row[4], -row[5], -row[2]))
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
    return explained


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
    """Give the part of the variance of posteriors that lies between groups."""
    n_people = max(int(found.counts.sum()), 1)
    overall = float(found.counts @ found.posterior) / n_people
    total = float(found.counts @ (found.posterior - overall) ** 2)
    between = float(people @ (mean - overall) ** 2)
    # Rounding leaves a little of a variance that is none.
    return min(between / total, 1.0) if total > 1e-12 * n_people else 0.0
