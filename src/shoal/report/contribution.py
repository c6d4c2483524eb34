"""What each column adds to the risk: who would not be at risk if the adversary did not know it.

Without a column she cannot tell apart people who agree in all others. What she believes of each of
them is then the mean of what she believes of all, by the law of total probability. Of every kind of
people the findings tell the value that she believes most, and how much; her belief in another value
is at most that, and at most what is left. So her belief without the column lies between two bounds,
which agree where all of a group are believed to have the same value, or are certain. An attack that
picks somebody's line is exact: without the column the classes of lines that fit add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Findings
from shoal.core.cells import Buckets, Cells, Codes, group, smallest_type
from shoal.core.errors import ParameterError
from shoal.core.exact import exact

__all__ = ["Attacked", "contributions"]

_LINKING = ("linkage",)
"""Attacks whose belief is one over the number of lines that fit."""
_BY_BUCKET = ("homogeneity",)
"""Attacks whose belief in a value is its share of the bucket."""
_ROUNDING = 1e-9
_MOST_ENTRIES = 2**25

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Attacked:
    """The people that findings speak of.

    Parameters
    ----------
    quasi
        Their quasi-identifiers, one cell an entry of the findings. Cells may repeat.
    bucket
        The bucket of each entry, where each is in one.
    buckets
        The sensitive values of each bucket, where they are published.
    """

    quasi: Cells
    bucket: Codes | None = None
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
        """Each entry with each value of its bucket, and the share of that; None where too many."""
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
    """Count the people at risk who would not be, if the adversary did not know a column.

    Parameters
    ----------
    found
        What an attack found.
    people
        The people attacked.

    Returns
    -------
    For each column the fewest and the most that can be; they agree where what was found tells it
    exactly. Nothing where nobody is at risk, or where more than a belief in a sensitive value, or
    in a line, decides who is.

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
    """Whether what is believed of everybody is what the shares of their bucket say."""
    if found.attack not in _BY_BUCKET or people.shares is None:
        return False
    entry, _, share = people.shares
    most = np.zeros(len(found.counts))
    np.maximum.at(most, entry, share)
    return bool(np.allclose(most, found.posterior, rtol=0, atol=_ROUNDING))


def _limit(found: Findings) -> float | None:
    """Give the belief above which somebody is at risk; rounding is not above it."""
    if found.limit is None:
        return None
    try:
        return float(exact("limit", found.limit)) + _ROUNDING
    except ParameterError:
        # Anything short of certainty is allowed.
        return 1 - _ROUNDING


def _count(found: Findings, is_safe: Marks) -> int:
    return int(found.counts[found.breached & is_safe].sum())


def _linked(found: Findings, people: Attacked, alike: Codes) -> tuple[Floats, Floats]:
    """Add up the classes that fit: she picks the right line with one over their size."""
    first, _ = people.looks
    with np.errstate(divide="ignore"):
        size = 1 / found.posterior[first]
    total = np.bincount(alike[first], size)
    return 1 / total, 1 / total


def _shared(found: Findings, people: Attacked, alike: Codes) -> tuple[Floats, Floats]:
    """Give the largest mean share of one value over each group."""
    assert people.shares is not None
    entry, value, share = people.shares
    return _largest_means(found, alike, alike[entry], value, found.counts[entry] * share)


def _inferred(found: Findings, people: Attacked, alike: Codes) -> tuple[Floats, Floats]:  # noqa: ARG001
    """Bound the largest mean belief in one value over each group."""
    believed = found.counts * found.posterior
    # What she may believe of a value that is not the one she believes most.
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
    """Give for each group the largest mean over values, and with what is spare the most it can be.

    Parameters
    ----------
    found, alike
        The findings, and the group of each entry.
    owner, value, believed
        Beliefs, weighed by people: the group, the value, and how much.
    spare
        What each entry may add to a value that is not its own, where that is not known.
    """
    people = np.bincount(alike, found.counts)
    n_groups, n_values = len(people), int(value.max(initial=0)) + 1

    def largest(numbers: Floats) -> Floats:
        """Add up by group and value, and give the largest sum of each group."""
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
    # A value gets what the entries that believe another most may spare for it.
    return low, (largest(believed - spare) + np.bincount(alike, spare)) / people
