"""Which buckets of a sliced release hold the values of people, column by column.

A person matches a bucket that holds their values in every column. People with the same values in a
column are of one kind there. Only the buckets that hold a person's rarest values are looked up in
the other columns, in a table if there is room for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.locating.location import spread

_MOST_PAIRS = 1 << 22
"""The number of pairs of a person and a bucket that are processed together."""
_MOST_PLACES = 1 << 22
"""A table of places has at most this many entries; without one, places are searched."""


@dataclass(frozen=True, eq=False)
class Held:
    """The buckets that hold each kind of values in a column.

    Those of kind k are the entries from `start[k]` to `start[k + 1]`, sorted by bucket.
    """

    start: Codes
    bucket: Codes
    n_buckets: int

    @property
    def n_kinds(self) -> int:
        """The number of kinds."""
        return len(self.start) - 1

    def n_buckets_of(self, kind: Codes) -> Counts:
        """Return how many buckets hold the values of each kind."""
        return np.diff(self.start)[kind]

    def entries_of(self, kind: Codes) -> tuple[Codes, Codes]:
        """Return the entries of several kinds, and the place among them that each is about."""
        return spread(self.start[kind], self.n_buckets_of(kind))

    def find(self, kind: Codes, bucket: Codes) -> Codes:
        """Return the entry of each pair of a kind and a bucket; -1 if there is none."""
        asked = kind * self.n_buckets + bucket
        if self._places is not None:
            return np.asarray(self._places[asked])
        if not len(self._pairs):
            return np.full(len(asked), -1)
        place = np.minimum(np.searchsorted(self._pairs, asked), len(self._pairs) - 1)
        return np.where(self._pairs[place] == asked, place, -1)

    @cached_property
    def _pairs(self) -> Codes:
        """A number for each entry, ascending."""
        owner = np.repeat(np.arange(self.n_kinds), np.diff(self.start))
        return owner * self.n_buckets + self.bucket

    @cached_property
    def _places(self) -> Codes | None:
        """The entry of every pair of a kind and a bucket, or -1; None if these are too many."""
        if self.n_kinds * self.n_buckets > _MOST_PLACES:
            return None
        places = np.full(self.n_kinds * self.n_buckets, -1, dtype=np.int64)
        places[self._pairs] = np.arange(len(self._pairs))
        return places


def matched_pairs(columns: Sequence[Held], kinds: Sequence[Codes]) -> Iterator[tuple[Codes, Codes]]:
    """Yield, in parts, the pairs of a person and a bucket that holds their values in each column.

    `kinds` has, for each column, the kind of every person. The pairs of one person are all in one
    part, and parts are in the order of people; within a part, pairs are in no order.

    Examples
    --------
    Two people in three buckets: the first has values that buckets 0 and 2 hold, and 1 and 2.

    >>> one = Held(np.array([0, 2, 3]), np.array([0, 2, 1]), 3)
    >>> other = Held(np.array([0, 2]), np.array([1, 2]), 3)
    >>> for person, bucket in matched_pairs([one, other], [np.array([0, 1]), np.array([0, 0])]):
    ...     print(person.tolist(), bucket.tolist())
    [0, 1] [2, 1]
    """
    n_buckets_of = np.column_stack(
        [column.n_buckets_of(kind) for column, kind in zip(columns, kinds, strict=True)]
    )
    rarest = n_buckets_of.argmin(axis=1)
    n_pairs = np.cumsum(n_buckets_of.min(axis=1))
    cuts = np.flatnonzero(np.diff(n_pairs // _MOST_PAIRS)) + 1
    for part in np.split(np.arange(len(rarest)), cuts):
        found = [
            _matched(columns, kinds, at, part[rarest[part] == at]) for at in range(len(columns))
        ]
        persons, buckets = zip(*found, strict=True)
        yield np.concatenate(persons), np.concatenate(buckets)


def _matched(
    columns: Sequence[Held], kinds: Sequence[Codes], rarest: int, people: Codes
) -> tuple[Codes, Codes]:
    """Look the buckets that hold the rarest values of some people up in all other columns."""
    source, entry = columns[rarest].entries_of(kinds[rarest][people])
    person, bucket = people[source], columns[rarest].bucket[entry]
    for at, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        if at != rarest:
            is_held = column.find(kind[person], bucket) >= 0
            person, bucket = person[is_held], bucket[is_held]
    return person, bucket
