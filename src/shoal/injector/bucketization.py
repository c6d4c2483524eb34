"""The bucketization of [Li08] Figure 2, fast, on classes with counts.

Rows with the same value and the same forbidden values are interchangeable, so planning works on
classes of such rows. Buckets of `ell` mutually compatible rows are formed first: every value of
such a bucket is valid for every row. Rows left over join the bucket they clash with least, and
buckets are merged while a row lacks valid values. Every bucket is checked again at the end.

`shoal.injector.plain_bucketization` states the same algorithm row by row; read that first.

If no value may be too likely for any row, over all assignments, buckets are merged further. Buckets
of `ell` compatible rows keep this bound by themselves: none of their values is forbidden to any of
their rows, so each row has every value with probability 1/ell. Rows that joined later may break the
bound. A failing bucket is merged with the candidate that lowers its largest posterior most. Merging
does not always lower a posterior, so this is a heuristic; its failure proves nothing.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section V-C.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Words, words_of
from shoal.core.cells import Buckets, group, total_by
from shoal.core.domain import Domain
from shoal.core.errors import InternalError
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.core.progress import Work
from shoal.injector._bucketization_kernels import (
    count_clashes,
    group_by_value,
    group_printed,
)
from shoal.injector.matching import (
    Occupants,
    count_values,
    largest_posteriors,
    matching_values,
    valid_of_bucket,
)

_VALUES_A_TIME = 256


@dataclass(frozen=True, eq=False)
class Classes:
    """Interchangeable rows: the same value and the same forbidden values.

    Classes are sorted by `value`. `which` is the row of `sets` (one column per code) with the
    forbidden values of the class, and `counts` is its number of rows.
    """

    value: Codes
    which: Codes
    counts: Counts
    sets: Flags
    domain: Domain

    @classmethod
    def of_cells(
        cls, value: Codes, forbidden: ForbiddenSets, counts: Counts, domain: Domain
    ) -> tuple[Classes, Codes]:
        """Group cells into classes; also return the class of each cell."""
        sizes = [domain.size, len(forbidden.sets)]
        first, inverse = group([value, forbidden.which], sizes, len(value))
        total = total_by(inverse, counts, len(first))
        which = forbidden.which[first]
        return cls(value[first], which, total, forbidden.sets, domain), inverse

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.value)

    @property
    def words(self) -> Words:
        """The forbidden values of each class, in words of 64 bits."""
        words: Words = np.ascontiguousarray(words_of(self.sets)[self.which])
        return words

    @property
    def barring(self) -> Words:
        """The classes that forbid each value, in words of 64 bits."""
        n_values = self.domain.size
        parts = [
            words_of(self.sets[:, first : first + _VALUES_A_TIME][self.which].T)
            for first in range(0, n_values, _VALUES_A_TIME)
        ]
        barring: Words = np.ascontiguousarray(np.concatenate(parts))
        return barring

    @property
    def forbids_own(self) -> Flags:
        """Whether a class forbids its own value: the knowledge is wrong about its rows."""
        return self.sets[self.which, self.value]

    def contents(self, members: Codes) -> tuple[Codes, Counts, Codes, Counts]:
        """Return the sets and the values of some rows, given by class, each with its count."""
        which, n_of_set = np.unique(self.which[members], return_counts=True)
        value, n_of_value = np.unique(self.value[members], return_counts=True)
        return which, n_of_set, value, n_of_value

    def clash(self, one: int) -> Flags:
        """Mark the classes that are incompatible with a class [Li08, Definition 2]."""
        marks: Flags = (
            (self.value == self.value[one])
            | self.sets[self.which[one], self.value]
            | self.sets[self.which, self.value[one]]
        )
        return marks


@dataclass(frozen=True, eq=False)
class Grouping:
    """The bucket and the class of every placed row; no bucket is empty."""

    n_buckets: int
    bucket: Codes
    row_class: Codes

    def valid_values(self, classes: Classes) -> tuple[Occupants, Words]:
        """Return the occupants of the buckets and their valid values by matching."""
        values = Buckets.of_pairs(self.bucket, classes.value[self.row_class], classes.domain)
        occupants = Occupants.of_rows(
            self.bucket, classes.which[self.row_class], self.n_buckets, len(classes.sets)
        )
        return occupants, matching_values(occupants, classes.sets, values)

    def failing(self, classes: Classes, ell: int) -> Codes:
        """Return the buckets that hold a row with fewer than `ell` valid values."""
        occupants, words = self.valid_values(classes)
        return np.unique(occupants.bucket[count_values(words) < ell])

    def merged(self, into: Codes) -> Grouping:
        """Return the grouping after each bucket has moved into another, numbered without gaps."""
        while not np.array_equal(into, into[into]):
            into = into[into]
        alive, number = np.unique(into, return_inverse=True)
        return Grouping(len(alive), number[self.bucket], self.row_class)


Choose = Literal["balanced", "similar", "printed"]


def bucketize(classes: Classes, ell: int, choose: Choose) -> Grouping:
    """Group the rows of classes so that every row has `ell` valid values ([Li08] Figure 2).

    Every class must be feasible: its rows have `ell` valid values in one bucket of all rows.
    """
    n_buckets, member, residue = _form(classes, ell, choose)
    if not n_buckets:
        return _in_one(classes)
    bucket = np.repeat(np.arange(n_buckets, dtype=np.int64), ell)
    joined = _join_residue(classes, Grouping(n_buckets, bucket, member), residue)
    grouping = _merge_failing(classes, joined, ell)
    if len(grouping.failing(classes, ell)):
        # Nothing was left to merge, and some row is still short of values.
        grouping = _in_one(classes)
    if len(grouping.failing(classes, ell)):
        raise InternalError("Injector's buckets do not keep matching l-diversity.")
    return grouping


def _in_one(classes: Classes) -> Grouping:
    rows = np.repeat(np.arange(classes.n_classes), classes.counts)
    return Grouping(1, np.zeros(len(rows), dtype=np.int64), rows)


def feasible_sets(classes: Classes) -> Counts:
    """Count for each set the values valid for its rows in one bucket of all rows."""
    n_of_set = total_by(classes.which, classes.counts, len(classes.sets))
    which = np.flatnonzero(n_of_set)
    n_of_value = total_by(classes.value, classes.counts, classes.domain.size)
    value = np.flatnonzero(n_of_value)
    words = valid_of_bucket(which, n_of_set[which], value, n_of_value[value], classes.sets)
    valid = np.zeros(len(classes.sets), dtype=np.int64)
    valid[which] = count_values(words)
    return valid


# --- forming buckets -------------------------------------------------------------------------


def _form(classes: Classes, ell: int, choose: Choose) -> tuple[int, Codes, Counts]:
    """Form buckets of `ell` mutually compatible rows ([Li08] Figure 2, lines 2 to 17).

    Returns the number of buckets, the classes of their rows (`ell` per bucket), and how many rows
    of each class are left over.
    """
    words = classes.words
    residue = np.zeros(classes.n_classes, dtype=np.int64)
    left = classes.counts.copy()
    # A row whose own value is forbidden clashes with itself.
    residue[classes.forbids_own] = left[classes.forbids_own]
    left[classes.forbids_own] = 0
    value = np.ascontiguousarray(classes.value)
    member = np.zeros(int(left.sum()) + ell, dtype=np.int64)
    starts = np.searchsorted(value, np.arange(classes.domain.size + 1)).astype(np.int64)
    barring = classes.barring
    clashing = np.zeros(classes.n_classes, dtype=np.int64)
    count_clashes(left, value, words, barring, starts, clashing)
    if choose == "printed":
        fits = np.zeros(classes.n_classes, dtype=np.uint8)
        n_buckets = group_printed(ell, left, value, words, clashing, fits, member, residue)
    else:
        n_of_value = total_by(value, left, classes.domain.size)
        order = np.argsort(-n_of_value, kind="stable").astype(np.int64)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        sen, barred, shared = (np.zeros(words.shape[1], dtype=np.uint64) for _ in range(3))
        n_buckets = group_by_value(
            ell, choose == "similar", left, value, words, barring, clashing, starts,
            n_of_value, order, place, sen, barred, shared, member, residue,
        )  # fmt: skip
    return n_buckets, member[: n_buckets * ell], residue


# --- the residue -----------------------------------------------------------------------------


def _join_residue(classes: Classes, grouping: Grouping, residue: Counts) -> Grouping:
    """Add each row left over to the bucket with the fewest rows that it clashes with.

    [Li08] Figure 2, lines 18 to 20. Ties go to the smallest bucket.
    """
    buckets, members = [grouping.bucket], [grouping.row_class]
    sizes = np.bincount(grouping.bucket, minlength=grouping.n_buckets)
    for one in np.flatnonzero(residue).tolist():
        clashes = classes.clash(one).astype(np.float64)
        n_clashing = np.zeros(grouping.n_buckets)
        for bucket, member in zip(buckets, members, strict=True):
            n_clashing += np.bincount(bucket, clashes[member], grouping.n_buckets)
        chosen = _fill(n_clashing.astype(np.int64), sizes, int(residue[one]))
        sizes += np.bincount(chosen, minlength=grouping.n_buckets)
        buckets.append(chosen)
        members.append(np.full(len(chosen), one, dtype=np.int64))
    return Grouping(grouping.n_buckets, np.concatenate(buckets), np.concatenate(members))


def _fill(n_clashing: Counts, sizes: Counts, n_rows: int) -> Codes:
    """Choose buckets for some rows of one class, which clash with each other."""
    # Only the best n_rows buckets can ever be chosen.
    best = np.lexsort((sizes, n_clashing))[:n_rows]
    heap = [(int(n_clashing[b]), int(sizes[b]), int(b)) for b in best]
    heapq.heapify(heap)
    chosen = np.empty(n_rows, dtype=np.int64)
    for row in range(n_rows):
        clashing, size, bucket = heap[0]
        chosen[row] = bucket
        # Further rows of the class have the same value, so they clash with this one.
        heapq.heapreplace(heap, (clashing + 1, size + 1, bucket))
    return chosen


# --- merging ---------------------------------------------------------------------------------


def _merge_failing(classes: Classes, grouping: Grouping, ell: int) -> Grouping:
    """Merge buckets until every row has `ell` valid values or one bucket is left.

    [Li08] Figure 2, lines 21 to 23. The figure takes the bucket with the most values that this one
    lacks; values that the row cannot take would not help it, so only the others count.
    """
    failing = grouping.failing(classes, ell)
    if not len(failing):
        return grouping
    merging = _DiverseMerging(classes, grouping)
    for bucket in failing.tolist():
        if bucket in merging.members:
            merging.mend(bucket, ell)
    return grouping.merged(merging.into)


class _Merging:
    """Buckets that are merged into one another.

    `members` are the classes of the rows of each bucket that is left, and `into` is the bucket that
    each has moved into.
    """

    def __init__(self, classes: Classes, grouping: Grouping) -> None:
        order = np.argsort(grouping.bucket, kind="stable")
        borders = np.searchsorted(grouping.bucket[order], np.arange(1, grouping.n_buckets))
        self.classes = classes
        self.members = dict(enumerate(np.split(grouping.row_class[order], borders)))
        self.into = np.arange(grouping.n_buckets)

    def together(self, bucket: int, other: int) -> Codes:
        """Return the rows that two buckets have together."""
        return np.concatenate([self.members[bucket], self.members[other]])

    def merge(self, bucket: int, other: int) -> None:
        """Move the rows of another bucket into a bucket."""
        self.members[bucket] = self.together(bucket, other)
        del self.members[other]
        self.into[other] = bucket


class _DiverseMerging(_Merging):
    """Buckets that are merged until every row has enough valid values."""

    def __init__(self, classes: Classes, grouping: Grouping) -> None:
        super().__init__(classes, grouping)
        self._holds: Flags = np.zeros((grouping.n_buckets, classes.domain.size), dtype=bool)
        self._holds[grouping.bucket, classes.value[grouping.row_class]] = True
        # The size of a bucket; 0 once it has moved into another.
        self._sizes = np.bincount(grouping.bucket, minlength=grouping.n_buckets)

    def mend(self, bucket: int, ell: int) -> None:
        """Merge other buckets into a bucket until all its rows have `ell` valid values."""
        while (short := self._short_of_values(bucket, ell)) is not None:
            # Line 22: the most values that this bucket lacks and that the row can take.
            wanted = ~self._holds[bucket] & ~self.classes.sets[short]
            n_new = np.where(self._sizes > 0, self._holds @ wanted.astype(np.int64), -1)
            n_new[bucket] = -1
            best = np.flatnonzero(n_new == n_new.max())
            other = int(best[np.argmin(self._sizes[best])])
            if n_new[other] < 0:
                return
            self.merge(bucket, other)
            self._holds[bucket] |= self._holds[other]
            self._sizes[bucket] += self._sizes[other]
            self._sizes[other] = 0

    def _short_of_values(self, bucket: int, ell: int) -> int | None:
        """Return the set of the rows with the fewest valid values, if below `ell`."""
        contents = self.classes.contents(self.members[bucket])
        n_valid = count_values(valid_of_bucket(*contents, self.classes.sets))
        worst = int(np.argmin(n_valid))
        return None if n_valid[worst] >= ell else int(contents[0][worst])


_N_CANDIDATES = 8
"""The number of buckets that are tried for a failing one at each step."""


def largest_reachable(classes: Classes) -> int:
    """Return the largest ell that the frequencies of values allow.

    Within a bucket, the posteriors of one value add up to the number of rows that have it, so a
    value held by more than one row in ell is too likely for some row in any release.
    """
    n_of_value = total_by(classes.value, classes.counts, classes.domain.size)
    return int(classes.counts.sum()) // max(int(n_of_value.max(initial=0)), 1)


def merge_weighted(classes: Classes, grouping: Grouping, ell: int, work: Work) -> Grouping | None:
    """Merge buckets until no posterior exceeds 1/ell; None if that is not reached.

    Every row must have `ell` valid values beforehand. Raises `TooMuchWork` if there are too many
    assignments to count.
    """
    merging = _WeightedMerging(classes, grouping, Fraction(1, ell), work)
    for bucket in range(grouping.n_buckets):
        if bucket in merging.members and not merging.mend(bucket):
            return None
    return grouping.merged(merging.into)


class _WeightedMerging(_Merging):
    """Buckets that are merged until no posterior exceeds a bound."""

    def __init__(self, classes: Classes, grouping: Grouping, bound: Fraction, work: Work) -> None:
        super().__init__(classes, grouping)
        self._bound, self._work = bound, work
        self._known: dict[bytes, Fraction] = {}

    def mend(self, bucket: int) -> bool:
        """Merge other buckets into a bucket until it keeps the bound; False if none is left."""
        while self._largest(self.members[bucket]) > self._bound:
            best, lowest = None, Fraction(2)
            for other in self._candidates(bucket):
                largest = self._largest(self.together(bucket, other))
                if largest < lowest:
                    best, lowest = other, largest
                if lowest <= self._bound:
                    break
            if best is None:
                return False
            self.merge(bucket, best)
        return True

    def _candidates(self, bucket: int) -> list[int]:
        """Return the buckets that share and forbid the fewest values, small ones first.

        A value that both have stays as likely as it was. The fewer values are forbidden, the more
        alike all rows are, which keeps posteriors and the work of counting them low.
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
            contents = self.classes.contents(members)
            self._known[key] = max(largest_posteriors(*contents, self.classes.sets, self._work))
        return self._known[key]
