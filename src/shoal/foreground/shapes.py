"""Buckets that look the same to the attack: the same classes of rows and as many carriers.

The conditional law of a bucket depends only on how many of its rows belong to each class and how
many carry the value. Buckets that agree in both share one computation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import group

_MOST_KEYS = 1 << 62


@dataclass(frozen=True, eq=False)
class Shapes:
    """Distinct kinds of buckets, each with its classes in ascending order.

    The entries of shape s, from `start[s]` to `start[s + 1]`, are a class (`which`) and its number
    of rows, at least 1. `multiplicity` is the number of buckets that have each shape.

    Examples
    --------
    >>> bucket, which = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 0, 1])
    >>> shapes, of_bucket = Shapes.of_buckets(bucket, which, np.array([1, 1, 1, 1, 2]),
    ...                                       np.array([1, 1, 1]), 2)
    >>> shapes, of_bucket.tolist()
    (Shapes(2 shapes of 3 buckets), [0, 0, 1])
    """

    start: Codes
    which: Codes
    count: Counts
    n_carrying: Counts
    multiplicity: Counts

    @classmethod
    def of_buckets(
        cls, bucket: Codes, which: Codes, count: Counts, n_carrying: Counts, n_classes: int
    ) -> tuple[Shapes, Codes]:
        """Group buckets by shape; return the shapes, and the shape of each bucket.

        Each entry says that `count` rows of a bucket are of class `which`; every bucket has at
        least one row.
        """
        made = Composition.of(bucket, which, count, len(n_carrying), n_classes)
        return made.shapes(np.arange(len(n_carrying)), np.asarray(n_carrying, np.int64))

    @classmethod
    def one_by_one(
        cls, bucket: Codes, which: Codes, count: Counts, n_carrying: Counts, n_classes: int
    ) -> tuple[Shapes, Codes]:
        """Return every bucket as a shape of its own, and the place of each given entry in them.

        See `of_buckets`.
        """
        n_buckets = len(n_carrying)
        first, place = group([bucket, which], [n_buckets, n_classes], len(bucket))
        total = np.bincount(place, count, len(first)).astype(np.int64)
        start = np.searchsorted(bucket[first], np.arange(n_buckets + 1)).astype(np.int64)
        ones = np.ones(n_buckets, dtype=np.int64)
        carrying = np.asarray(n_carrying, dtype=np.int64)
        return cls(start, np.asarray(which[first], np.int64), total, carrying, ones), place

    @property
    def n_shapes(self) -> int:
        """The number of shapes."""
        return len(self.n_carrying)

    @cached_property
    def shape(self) -> Codes:
        """The shape that each entry belongs to."""
        return np.repeat(np.arange(self.n_shapes), np.diff(self.start))

    @cached_property
    def rarer(self) -> Counts:
        """The number of rows of each shape that carry the value, or lack it, if these are fewer."""
        n_rows = np.bincount(self.shape, self.count, self.n_shapes).astype(np.int64)
        rarer: Counts = np.minimum(self.n_carrying, n_rows - self.n_carrying)
        return rarer

    def take(self, chosen: Codes) -> tuple[Shapes, Codes]:
        """Return some of the shapes, and the former place of each of their entries."""
        length = np.diff(self.start)[chosen]
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        place = np.arange(start[-1]) + np.repeat(self.start[chosen] - start[:-1], length)
        kept = Shapes(
            start,
            self.which[place],
            self.count[place],
            self.n_carrying[chosen],
            self.multiplicity[chosen],
        )
        return kept, place

    def __repr__(self) -> str:
        return f"Shapes({self.n_shapes} shapes of {int(self.multiplicity.sum())} buckets)"


@dataclass(frozen=True, eq=False)
class Composition:
    """How many rows of which class each bucket has, whoever carries a value.

    Buckets that have the same are of one of the `kinds`, shapes without carriers: `kind` is that of
    each bucket. `rank` says, for each entry that was given, the place of its class in its bucket.
    It is the same for all values.
    """

    kinds: Shapes
    kind: Codes
    rank: Codes
    n_classes: int

    @classmethod
    def of(
        cls, bucket: Codes, which: Codes, count: Counts, n_buckets: int, n_classes: int
    ) -> Composition:
        """Group buckets by what they consist of; see `Shapes.of_buckets`."""
        nobody = np.zeros(n_buckets, dtype=np.int64)
        each, place = Shapes.one_by_one(bucket, which, count, nobody, n_classes)
        first, kind = _number_alike(each)
        multiplicity = np.bincount(kind, minlength=len(first)).astype(np.int64)
        kinds = replace(each.take(first)[0], multiplicity=multiplicity)
        return cls(kinds, kind, place - each.start[bucket], n_classes)

    @cached_property
    def n_rows(self) -> Counts:
        """The number of rows of each class."""
        kinds = self.kinds
        each = kinds.count * kinds.multiplicity[kinds.shape]
        return np.bincount(kinds.which, each, self.n_classes).astype(np.int64)

    def shapes(self, bucket: Codes, n_carrying: Counts) -> tuple[Shapes, Codes]:
        """Return the shapes of some buckets, given their carriers, and the shape of each."""
        kind = self.kind[bucket]
        sizes = [self.kinds.n_shapes, int(n_carrying.max(initial=0)) + 1]
        first, of_bucket = group([kind, n_carrying], sizes, len(bucket))
        multiplicity = np.bincount(of_bucket, minlength=len(first)).astype(np.int64)
        taken, _ = self.kinds.take(kind[first])
        return replace(taken, n_carrying=n_carrying[first], multiplicity=multiplicity), of_bucket

    def mean_spread(self, f: Floats) -> float:
        """Return the mean, over buckets, of the largest difference between chances of classes."""
        kinds = self.kinds
        if not kinds.n_shapes:
            return 0.0
        own, start = f[kinds.which], kinds.start[:-1]
        spread = np.maximum.reduceat(own, start) - np.minimum.reduceat(own, start)
        return float((spread * kinds.multiplicity).sum()) / len(self.kind)


def _number_alike(each: Shapes) -> tuple[Codes, Codes]:
    """Number buckets so that those with the same entries and carriers have the same number."""
    most_of = np.zeros(int(each.which.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most_of, each.which, each.count)
    digits = [*(most_of + 1).tolist(), int(each.n_carrying.max(initial=0)) + 1]
    n_keys = prod(digits)
    if n_keys <= _MOST_KEYS and each.n_shapes:
        # The rows of each class are the digits of a number.
        place = np.cumprod([1, *digits[:-1]])
        key = np.add.reduceat(each.count * place[each.which], each.start[:-1])
        return group([key + each.n_carrying * place[-1]], [n_keys], each.n_shapes)
    return _number_alike_by_rank(each)


def _number_alike_by_rank(each: Shapes) -> tuple[Codes, Codes]:
    """Do the same for many classes, one entry of all buckets after another."""
    length = np.diff(each.start)
    most = [int(numbers.max(initial=0)) + 1 for numbers in (each.n_carrying, length)]
    first, number = group([each.n_carrying, length], most, each.n_shapes)
    n_numbers = len(first)
    sizes = [int(numbers.max(initial=0)) + 1 for numbers in (each.which, each.count)]
    for rank in range(int(length.max(initial=0))):
        # Buckets with fewer entries already differ from the others by their length.
        chosen = np.flatnonzero(length > rank)
        entry = each.start[chosen] + rank
        first, inverse = group(
            [number[chosen], each.which[entry], each.count[entry]],
            [n_numbers, *sizes],
            len(chosen),
        )
        number[chosen] = n_numbers + inverse
        n_numbers += len(first)
    return group([number], [n_numbers], each.n_shapes)
