"""Merging buckets until no value is too likely for anybody, over all assignments.

Buckets of `ell` compatible rows keep the bound by themselves: nobody in them is forbidden any of
their values, so each has every value with probability 1/ell. Rows that joined a bucket later may
break it. A failing bucket is merged with the one, of a few candidates, that brings its largest
posterior lowest.

Merging does not always lower a posterior, so this is a search and proves nothing by its failure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.work import Work
from shoal.knowledge.matching import largest_posteriors
from shoal.methods.bucketizing.classes import Classes, Grouping

__all__ = ["largest_reachable", "merge_weighted"]

_N_CANDIDATES = 8
"""How many buckets are tried for a failing one at each step."""


def largest_reachable(classes: Classes) -> int:
    """Return the largest ell that the frequencies of values allow.

    The posteriors of a bucket's rows for one value add up to the rows that have it, so a value
    that more than one row in ell has is too likely for somebody in any release.
    """
    n_of_value = np.zeros(classes.domain.size, dtype=np.int64)
    np.add.at(n_of_value, classes.value, classes.counts)
    return int(classes.counts.sum()) // max(int(n_of_value.max(initial=0)), 1)


def merge_weighted(classes: Classes, grouping: Grouping, ell: int, work: Work) -> Grouping | None:
    """Merge buckets until no posterior exceeds 1/ell.

    Parameters
    ----------
    classes
        The classes of rows.
    grouping
        The buckets, in each of which everybody has `ell` valid values.
    ell
        The bound.
    work
        What counting may cost.

    Returns
    -------
    The buckets, numbered without gaps; None if merging did not reach the bound.

    Raises
    ------
    TooMuchWork
        If assignments are too many to be counted.
    """
    search = _Search(classes, grouping, Fraction(1, ell), work)
    for bucket in range(grouping.n_buckets):
        if bucket in search.members and not search.mend(bucket):
            return None
    return search.grouping()


@dataclass(eq=False)
class _Search:
    """Buckets that are merged one into another.

    Parameters
    ----------
    classes, start, bound, work
        The classes, the buckets at the start, the largest posterior allowed, and what counting
        may cost.
    """

    classes: Classes
    start: Grouping
    bound: Fraction
    work: Work
    members: dict[int, Codes] = field(init=False)
    _into: Codes = field(init=False)
    _known: dict[bytes, Fraction] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        order = np.argsort(self.start.bucket, kind="stable")
        borders = np.searchsorted(self.start.bucket[order], np.arange(1, self.start.n_buckets))
        parts = np.split(self.start.row_class[order], borders)
        self.members = dict(enumerate(parts))
        self._into = np.arange(self.start.n_buckets)

    def mend(self, bucket: int) -> bool:
        """Merge others into a bucket until it keeps the bound; False if none are left."""
        while self._largest(self.members[bucket]) > self.bound:
            best, lowest = None, Fraction(2)
            for other in self._candidates(bucket):
                largest = self._largest(self._together(bucket, other))
                if largest < lowest:
                    best, lowest = other, largest
                if lowest <= self.bound:
                    break
            if best is None:
                return False
            self.members[bucket] = self._together(bucket, best)
            del self.members[best]
            self._into[best] = bucket
        return True

    def _together(self, bucket: int, other: int) -> Codes:
        return np.concatenate([self.members[bucket], self.members[other]])

    def _candidates(self, bucket: int) -> list[int]:
        """Return the buckets that share and forbid least, small ones first.

        What both have stays as likely as it was, and the fewer values are forbidden to anybody,
        the more alike all rows are: their posteriors, and the work of counting them, are low.
        """
        counts, forbidden = self._n_of_value(self.members[bucket]), self._forbidden(bucket)
        scored = []
        for other, members in self.members.items():
            if other == bucket:
                continue
            theirs = self._n_of_value(members)
            clashes = int(forbidden @ theirs) + int(self._forbidden(other) @ counts)
            scored.append((int(counts @ theirs) + clashes, len(members), other))
        return [other for *_, other in sorted(scored)[:_N_CANDIDATES]]

    def _forbidden(self, bucket: int) -> Counts:
        """Count for each value the rows of a bucket that cannot have it."""
        counts: Counts = self.classes.sets[self.classes.which[self.members[bucket]]].sum(axis=0)
        return counts

    def _n_of_value(self, members: Codes) -> Counts:
        return np.bincount(self.classes.value[members], minlength=self.classes.domain.size)

    def _largest(self, members: Codes) -> Fraction:
        """Return the largest posterior of a bucket; equal buckets are counted once."""
        key = np.sort(members).tobytes()
        if key not in self._known:
            classes = self.classes
            which, n_of_set = np.unique(classes.which[members], return_counts=True)
            value, n_of_value = np.unique(classes.value[members], return_counts=True)
            found = largest_posteriors(which, n_of_set, value, n_of_value, classes.sets, self.work)
            self._known[key] = max(found)
        return self._known[key]

    def grouping(self) -> Grouping:
        """Return the merged buckets, numbered without gaps."""
        into = self._into
        while not np.array_equal(into, into[into]):
            into = into[into]
        alive, number = np.unique(into, return_inverse=True)
        return Grouping(len(alive), number[self.start.bucket], self.start.row_class)
