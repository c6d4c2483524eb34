"""The bucketization of [Li08] Figure 2, on classes with counts.

Buckets of `ell` mutually compatible rows are formed first: all their rows have all their values
valid. Rows that found no such bucket join one that they clash with least, and buckets are merged
where a row still lacks valid values. At the end every bucket is checked anew.
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.errors import InternalError
from shoal.knowledge.matching import count_values, valid_of_bucket
from shoal.methods.bucketizing._kernels import group_by_value, group_printed
from shoal.methods.bucketizing.classes import Classes, Grouping, Marks

__all__ = ["Choose", "bucketize", "feasible_sets"]

Choose = Literal["balanced", "similar", "printed"]


def bucketize(classes: Classes, ell: int, choose: Choose) -> Grouping:
    """Group the rows of classes so that everybody has `ell` valid values.

    Every class must be feasible: in one bucket of all rows its rows have that many.
    """
    n_buckets, member, residue = _form(classes, ell, choose)
    bucket = np.repeat(np.arange(n_buckets, dtype=np.int64), ell)
    if not n_buckets:
        return _in_one(classes)
    joined = _join_residue(classes, Grouping(n_buckets, bucket, member), residue)
    grouping = _merge_failing(classes, joined, ell)
    if len(grouping.failing(classes, ell)):
        # Merging was exhausted before everybody had enough values.
        grouping = _in_one(classes)
    if len(grouping.failing(classes, ell)):
        raise InternalError("Injector's buckets do not keep matching l-diversity.")
    return grouping


def _in_one(classes: Classes) -> Grouping:
    rows = np.repeat(np.arange(classes.n_classes), classes.counts)
    return Grouping(1, np.zeros(len(rows), dtype=np.int64), rows)


def feasible_sets(classes: Classes) -> Counts:
    """Count for each set the values that are valid for its rows in one bucket of all rows."""
    n_of_set = np.zeros(len(classes.sets), dtype=np.int64)
    np.add.at(n_of_set, classes.which, classes.counts)
    which = np.flatnonzero(n_of_set)
    n_of_value = np.zeros(classes.domain.size, dtype=np.int64)
    np.add.at(n_of_value, classes.value, classes.counts)
    value = np.flatnonzero(n_of_value)
    words = valid_of_bucket(which, n_of_set[which], value, n_of_value[value], classes.sets)
    valid = np.zeros(len(classes.sets), dtype=np.int64)
    valid[which] = count_values(words)
    return valid


# --- forming buckets -------------------------------------------------------------------------


def _form(classes: Classes, ell: int, choose: Choose) -> tuple[int, Codes, Counts]:
    """Form buckets of `ell` mutually compatible rows ([Li08] Figure 2, lines 2 to 17).

    Returns
    -------
    n_buckets
        Their number.
    member
        The classes of their rows, `ell` a bucket.
    residue
        How many rows of each class found no bucket.
    """
    words = classes.words
    residue = np.zeros(classes.n_classes, dtype=np.int64)
    left = classes.counts.copy()
    # A row whose own value is forbidden clashes with itself.
    residue[classes.forbids_own] = left[classes.forbids_own]
    left[classes.forbids_own] = 0
    value = np.ascontiguousarray(classes.value)
    member = np.zeros(int(left.sum()) + ell, dtype=np.int64)
    clashing = np.array(
        [left[classes.clash(one)].sum() for one in range(classes.n_classes)], dtype=np.int64
    )
    if choose == "printed":
        fits = np.zeros(classes.n_classes, dtype=np.uint8)
        n_buckets = group_printed(ell, left, value, words, clashing, fits, member, residue)
    else:
        n_of_value = np.zeros(classes.domain.size, dtype=np.int64)
        np.add.at(n_of_value, value, left)
        starts = np.searchsorted(value, np.arange(classes.domain.size + 1)).astype(np.int64)
        order = np.argsort(-n_of_value, kind="stable").astype(np.int64)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        sen, barred, shared = (np.zeros(words.shape[1], dtype=np.uint64) for _ in range(3))
        n_buckets = group_by_value(
            ell, choose == "similar", left, value, words, clashing, starts, n_of_value, order,
            place, sen, barred, shared, member, residue,
        )  # fmt: skip
    return n_buckets, member[: n_buckets * ell], residue


# --- the residue -----------------------------------------------------------------------------


def _join_residue(classes: Classes, grouping: Grouping, residue: Counts) -> Grouping:
    """Add each row of the residue to the bucket that has the fewest rows it clashes with.

    [Li08] Figure 2, lines 18 to 20. Of buckets that are equal in that the smallest is taken.
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
    """Choose buckets for some rows of one class, each of which clashes with the others."""
    # More than the best n_rows buckets can never be needed.
    best = np.lexsort((sizes, n_clashing))[:n_rows]
    heap = [(int(n_clashing[b]), int(sizes[b]), int(b)) for b in best]
    heapq.heapify(heap)
    chosen = np.empty(n_rows, dtype=np.int64)
    for row in range(n_rows):
        clashing, size, bucket = heap[0]
        chosen[row] = bucket
        heapq.heapreplace(heap, (clashing + 1, size + 1, bucket))
    return chosen


# --- merging ---------------------------------------------------------------------------------


def _merge_failing(classes: Classes, grouping: Grouping, ell: int) -> Grouping:
    """Merge buckets until everybody has `ell` valid values, or there is nothing left to merge.

    [Li08] Figure 2, lines 21 to 23. The figure takes the bucket with the most values that this one
    lacks; values that the row cannot take would not help it, so only the others count.
    """
    failing = grouping.failing(classes, ell)
    if not len(failing):
        return grouping
    merging = _Merging(classes, grouping)
    for bucket in failing.tolist():
        if merging.is_alive[bucket]:
            merging.mend(bucket, ell)
    return merging.grouping()


class _Merging:
    """Buckets that are merged one into another."""

    def __init__(self, classes: Classes, grouping: Grouping) -> None:
        self._classes = classes
        self._grouping = grouping
        order = np.argsort(grouping.bucket, kind="stable")
        self._rows = grouping.row_class[order]
        self._starts = np.searchsorted(grouping.bucket[order], np.arange(grouping.n_buckets + 1))
        self._into = np.arange(grouping.n_buckets)
        self.is_alive = np.ones(grouping.n_buckets, dtype=bool)
        self._held: dict[int, list[int]] = {}
        marks = np.zeros((grouping.n_buckets, classes.domain.size), dtype=bool)
        marks[grouping.bucket, classes.value[grouping.row_class]] = True
        self._values: Marks = marks
        self._sizes = np.bincount(grouping.bucket, minlength=grouping.n_buckets)

    def mend(self, bucket: int, ell: int) -> None:
        """Merge others into a bucket until all its rows have `ell` valid values."""
        while True:
            short = self._short_of_values(bucket, ell)
            if short is None:
                return
            # Line 22: the most values that it has not and that the row can take.
            wanted = ~self._values[bucket] & ~self._classes.sets[short]
            n_new = np.where(self.is_alive, self._values @ wanted.astype(np.int64), -1)
            n_new[bucket] = -1
            best = np.flatnonzero(n_new == n_new.max())
            other = int(best[np.argmin(self._sizes[best])])
            if n_new[other] < 0:
                return
            self._merge(bucket, other)

    def _members(self, bucket: int) -> Codes:
        parts = [
            self._rows[self._starts[part] : self._starts[part + 1]]
            for part in self._held.get(bucket, [bucket])
        ]
        return np.concatenate(parts)

    def _short_of_values(self, bucket: int, ell: int) -> int | None:
        """Give a set of forbidden values whose rows have too few valid ones; None where none."""
        members = self._members(bucket)
        which, n_of_set = np.unique(self._classes.which[members], return_counts=True)
        value, n_of_value = np.unique(self._classes.value[members], return_counts=True)
        words = valid_of_bucket(which, n_of_set, value, n_of_value, self._classes.sets)
        n_valid = count_values(words)
        worst = int(np.argmin(n_valid))
        return None if n_valid[worst] >= ell else int(which[worst])

    def _merge(self, bucket: int, other: int) -> None:
        self._held[bucket] = self._held.get(bucket, [bucket]) + self._held.pop(other, [other])
        self._values[bucket] |= self._values[other]
        self._sizes[bucket] += self._sizes[other]
        self.is_alive[other] = False
        self._into[other] = bucket

    def grouping(self) -> Grouping:
        """Give the merged buckets, numbered without gaps."""
        into = self._into
        while not np.array_equal(into, into[into]):
            into = into[into]
        alive, number = np.unique(into, return_inverse=True)
        return Grouping(len(alive), number[self._grouping.bucket], self._grouping.row_class)
