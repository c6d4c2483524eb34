"""What the adversary will believe about merged buckets, without solving her equations.

Problem: solving the equations of every attribute set for every value takes seconds, and merging
buckets takes many rounds.
Idea: she is likely to learn what is true, the shares that the table has; with these, her beliefs
about the rows of a bucket depend on that bucket alone. A round forecasts only the buckets that it
merged, for all values at once. Before she is asked at last, a few steps of her own iteration tell
what she is about to learn from this release in particular.
Guarantee: none. Forecasts decide what to merge; the attack decides what is safe.

References
----------
[Wong11] (see `shoal.foreground`) Equations (2) to (4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import group
from shoal.foreground._kernels import expect, weigh_each
from shoal.foreground.attribute_sets import AttributeSet
from shoal.foreground.law import EXACT, odds_of, room_for
from shoal.locating.location import spread

_NEVER = 1e-4
"""Forecast chances are kept this far from impossible and certain."""
_WIDEST = 64
"""Buckets with more carriers are summed by an integral at about as many points."""


@dataclass(frozen=True, eq=False)
class Inside:
    """The rows of some buckets, and how many of them carry each aim.

    Entries are sorted by bucket: `count` rows of `bucket` look like `look`. `carrying` has a row
    per aim and a column per bucket.
    """

    bucket: Codes
    look: Codes
    count: Counts
    carrying: Counts

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return int(self.carrying.shape[1])

    @property
    def sizes(self) -> Counts:
        """The number of rows of each bucket."""
        return np.bincount(self.bucket, self.count, self.n_buckets).astype(np.int64)

    def by_look(self, n_looks: int) -> tuple[Counts, Floats]:
        """Return the rows that look the same, and their carriers if a bucket's rows are alike.

        Carriers have a row per aim.
        """
        rows = np.bincount(self.look, self.count, n_looks).astype(np.int64)
        share = self.carrying / np.maximum(self.sizes, 1)
        carriers = np.zeros((len(share), n_looks))
        for own, one in zip(carriers, share, strict=True):
            own[:] = np.bincount(self.look, self.count * one[self.bucket], n_looks)
        return rows, carriers

    def take(self, chosen: Codes) -> Inside:
        """Return some of the buckets, in ascending order, numbered anew."""
        number = np.full(self.n_buckets, -1, dtype=np.int64)
        number[chosen] = np.arange(len(chosen))
        bucket = number[self.bucket]
        here = np.flatnonzero(bucket >= 0)
        return Inside(bucket[here], self.look[here], self.count[here], self.carrying[:, chosen])


@dataclass(frozen=True, eq=False)
class Believed:
    """The highest belief about a row of each bucket, by sets that tell its rows apart.

    `belief` is 0 if no set tells the rows of a bucket apart for an aim that is in doubt. `aim` is
    what is believed, and `look` one of the rows that it is believed of.
    """

    belief: Floats
    aim: Codes
    look: Codes

    @classmethod
    def nothing(cls, n_buckets: int) -> Believed:
        """Believe nothing."""
        zeros = np.zeros(n_buckets, dtype=np.int64)
        return cls(np.zeros(n_buckets), zeros, zeros.copy())

    def take(self, chosen: Codes) -> Believed:
        """Return what is believed of some buckets."""
        return Believed(self.belief[chosen], self.aim[chosen], self.look[chosen])

    def put(self, chosen: Codes, others: Believed) -> None:
        """Replace what is believed of some buckets."""
        for own, new in zip(vars(self).values(), vars(others).values(), strict=True):
            own[chosen] = new

    def raise_to(self, bucket: Codes, belief: Floats, aim: Codes, look: Codes) -> None:
        """Take over what is believed more strongly of some buckets; none is named twice."""
        higher = belief > self.belief[bucket]
        self.belief[bucket[higher]] = belief[higher]
        self.aim[bucket[higher]], self.look[bucket[higher]] = aim[higher], look[higher]


@dataclass(frozen=True, eq=False)
class Forecast:
    """The chances that the adversary has learned, of each aim in each class of each set.

    `chances` has, for each of the `sets`, a row per class and a column per aim.
    """

    sets: tuple[AttributeSet, ...]
    chances: tuple[Floats, ...]

    @classmethod
    def of_table(
        cls, sets: Sequence[AttributeSet], counts: Counts, carriers: Counts | Floats
    ) -> Forecast:
        """Learn the shares of the table.

        `counts` is the number of rows of each look, and `carriers` that of rows with each aim, one
        row per aim.

        Examples
        --------
        >>> from shoal.core.cells import Cells
        >>> from shoal.core.domain import Domain
        >>> from shoal.foreground.attribute_sets import usable_sets
        >>> looks = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0], [0], [1]]))
        >>> sets = usable_sets(looks, 1)
        >>> found = Forecast.of_table(sets, looks.counts, np.array([[1, 0]]))
        >>> found.chances[0].tolist()
        [[0.5], [0.0001]]
        """
        chances = []
        for one in sets:
            which, n_classes = one.class_of_look, one.n_classes
            rows = np.bincount(which, counts, n_classes)
            own = [np.bincount(which, each, n_classes) / rows for each in carriers]
            shares = np.array(own).reshape(len(own), n_classes).T
            chances.append(np.clip(shares, _NEVER, 1 - _NEVER))
        return cls(tuple(sets), tuple(chances))

    def believed(self, inside: Inside) -> Believed:
        """Return what is believed most strongly of each bucket."""
        found = Believed.nothing(inside.n_buckets)
        for one, chances in zip(self.sets, self.chances, strict=True):
            mixed = _Mixed.of(one, inside)
            if not len(mixed.aim):
                continue
            share = mixed.shares(odds_of(chances))
            pair, place = _highest(np.repeat(mixed.bucket, np.diff(mixed.start)), share)
            found.raise_to(pair, share[place], mixed.aim_of_entry[place], mixed.look[place])
        return found

    def climbed(self, whole: Inside, n_steps: int) -> Forecast:
        """Return what is learned from a release by some steps of [Wong11] Equation (4).

        `whole` are all buckets of the release.
        """
        if not self.sets:
            return self
        rows, carriers = whole.by_look(len(self.sets[0].class_of_look))
        climbed = [
            _climb(_Mixed.of(one, whole), _by_class(one, rows, carriers), chances, n_steps)
            for one, chances in zip(self.sets, self.chances, strict=True)
        ]
        return replace(self, chances=tuple(climbed))

    def operations(self, inside: Inside) -> Counts:
        """Return about how many operations one step of the adversary takes, by set and aim."""
        n_aims = len(inside.carrying)
        mixed = [_Mixed.of(one, inside) for one in self.sets]
        found = [np.bincount(one.aim, one.operations, n_aims) for one in mixed]
        return np.array(found, dtype=np.int64).reshape(len(found), n_aims)


@dataclass(frozen=True, eq=False)
class _Mixed:
    """For every aim, the buckets in which a set tells carriers from others, one after another.

    These have rows of several classes, of which some carry the aim and some do not. The entries of
    each begin at `start`: a class (`which`), its number of rows, and one of its looks.
    """

    aim: Codes
    bucket: Codes
    start: Codes
    which: Codes
    count: Counts
    look: Codes
    n_carrying: Counts

    @classmethod
    def of(cls, one: AttributeSet, inside: Inside) -> _Mixed:
        which = one.class_of_look[inside.look].astype(np.int64)
        sizes = [inside.n_buckets, one.n_classes]
        first, entry = group([inside.bucket, which], sizes, len(which))
        count = np.bincount(entry, inside.count, len(first)).astype(np.int64)
        n_there = np.bincount(inside.bucket[first], minlength=inside.n_buckets)
        is_open = (inside.carrying > 0) & (inside.carrying < inside.sizes) & (n_there > 1)
        aim, bucket = np.nonzero(is_open)
        begin = np.cumsum(n_there) - n_there
        _, place = spread(begin[bucket], n_there[bucket])
        start = np.concatenate([[0], np.cumsum(n_there[bucket])]).astype(np.int64)
        return cls(
            aim,
            bucket,
            start,
            which[first][place],
            count[place],
            inside.look[first][place],
            np.ascontiguousarray(inside.carrying[aim, bucket]),
        )

    @property
    def aim_of_entry(self) -> Codes:
        return np.repeat(self.aim, np.diff(self.start))

    @property
    def even_share(self) -> Floats:
        """For each entry, the share of carriers in its bucket."""
        rows = np.add.reduceat(self.count, self.start[:-1])
        share: Floats = np.repeat(self.n_carrying / rows, np.diff(self.start))
        return share

    def shares(self, odds: Floats) -> Floats:
        """Return the belief about the rows of each entry, by the odds of each class and aim."""
        share, logs = np.empty(len(self.which)), np.empty(len(self.aim))
        own = odds[self.which, self.aim_of_entry]
        each = np.arange(len(own), dtype=np.int64)
        weigh_each(
            self.start, each, self.count, self.n_carrying, own, share, logs, *self.room, EXACT
        )
        return share

    @property
    def operations(self) -> Counts:
        """About how many operations it takes to weigh the worlds of each bucket."""
        if not len(self.aim):
            return self.n_carrying
        rows = np.add.reduceat(self.count, self.start[:-1])
        rarer = np.minimum(self.n_carrying, rows - self.n_carrying)
        width = np.minimum(1 + rarer, _WIDEST)
        at_most = np.minimum(self.count, np.repeat(width, np.diff(self.start)))
        found: Counts = np.add.reduceat(at_most, self.start[:-1]) * width
        return found

    @property
    def room(self) -> tuple[Counts, Floats, Floats, Floats]:
        rows = np.add.reduceat(self.count, self.start[:-1])
        return room_for(self.start, np.minimum(self.n_carrying, rows - self.n_carrying))


def _highest(bucket: Codes, share: Floats) -> tuple[Codes, Codes]:
    """Return the buckets that occur, and the first place of the highest share in each."""
    order = np.lexsort((-share, bucket))
    is_first = np.r_[True, bucket[order][1:] != bucket[order][:-1]]
    place: Codes = order[is_first]
    return bucket[place], place


def _by_class(one: AttributeSet, rows: Counts, carriers: Floats) -> tuple[Counts, Floats]:
    """Return the rows of each class, and its carriers: a row per class, a column per aim."""
    which, n_classes = one.class_of_look, one.n_classes
    own = np.zeros((n_classes, len(carriers)))
    for number, each in enumerate(carriers):
        own[:, number] = np.bincount(which, each, n_classes)
    return np.maximum(np.bincount(which, rows, n_classes).astype(np.int64), 1), own


def _climb(mixed: _Mixed, alike: tuple[Counts, Floats], chances: Floats, n_steps: int) -> Floats:
    """Iterate the equations of one set for all aims, which are classes of their own.

    `alike` are the rows of each class, and its carriers if the rows of a bucket are alike.
    """
    if not len(mixed.aim):
        return chances
    (rows, known), (n_classes, n_aims) = alike, chances.shape
    key = mixed.which * n_aims + mixed.aim_of_entry
    # In mixed buckets rows are not alike.
    own = mixed.count * mixed.even_share
    known = known - np.bincount(key, own, n_classes * n_aims).reshape(n_classes, n_aims)
    once = np.ones((1, len(mixed.aim)), dtype=np.int64)
    expected, height, room = np.empty((1, n_classes * n_aims)), np.empty(1), mixed.room
    for _ in range(n_steps):
        odds = np.ascontiguousarray(odds_of(chances).reshape(1, -1))
        expect(
            mixed.start,
            key,
            mixed.count,
            mixed.n_carrying,
            once,
            odds,
            expected,
            height,
            *room,
            EXACT,
        )
        found = (expected.reshape(n_classes, n_aims) + known) / rows[:, np.newaxis]
        chances = np.clip(found, _NEVER, 1 - _NEVER)
    return chances
