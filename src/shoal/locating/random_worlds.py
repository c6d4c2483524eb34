"""The random-worlds belief: that of an adversary who knows nothing beyond the release.

Within a bucket, every assignment of its sensitive values to its people is equally likely, so the
belief in a value is its share there. If a person may be in several buckets, the belief is the mean
over the rows that they may be. Beliefs are compared exactly with the bounds that a release claims:
a tie at the bound is not a breach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, group, total_by
from shoal.core.exact import as_text
from shoal.core.guarantees import (
    AlphaK,
    FrequencyDiversity,
    Guarantee,
    MConfidentiality,
    TCloseness,
)
from shoal.core.release import People, Published
from shoal.locating.location import Locations, matching_buckets, spread

_CHUNK = 2**20
"""The number of triples of a person, a bucket and a value that are held at a time."""
_NEARLY = 1e-9
"""Beliefs this close to the bound are compared exactly."""
_JOINT = (FrequencyDiversity, TCloseness, MConfidentiality)
"""The guarantees that count the values they protect as one."""


@dataclass(frozen=True)
class Claim:
    """Values whose share in a bucket is bounded.

    No `values` means every value, each on its own; if `is_joint`, the values count as one. Without
    a `bound`, only certainty is excluded.
    """

    values: frozenset[str | None] = frozenset()
    is_joint: bool = False
    bound: Fraction | None = None

    def apart(self) -> Claim:
        """Return the claim about each value on its own."""
        return Claim(self.values, False, self.bound)


def claims_of(guarantees: Sequence[Guarantee], limit: Fraction | None) -> tuple[Claim, ...]:
    """Return what the guarantees claim about beliefs: the tightest bound for each set of values.

    A `limit` replaces the bounds of the guarantees.
    """
    bounding = [entry for entry in guarantees if entry.posterior_bound is not None]
    protecting = [entry for entry in guarantees if _protected(entry)]
    tightest: dict[Claim, Fraction | None] = {}
    for guarantee in bounding or protecting:
        values = _protected(guarantee)
        is_joint = bool(values) and isinstance(guarantee, _JOINT)
        about = Claim(values, is_joint)
        bounds = [limit] if limit is not None else [tightest.get(about), guarantee.posterior_bound]
        tightest[about] = min((bound for bound in bounds if bound is not None), default=None)
    if not tightest:
        return (Claim(bound=limit),)
    return tuple(Claim(about.values, about.is_joint, bound) for about, bound in tightest.items())


def _protected(guarantee: Guarantee) -> frozenset[str | None]:
    if isinstance(guarantee, (*_JOINT, AlphaK)):
        return frozenset(guarantee.protect)
    return frozenset()


def limit_text(claims: Sequence[Claim]) -> str:
    """Describe in words the belief that the claims allow."""
    bounds = sorted({claim.bound for claim in claims if claim.bound is not None})
    return " and ".join(map(as_text, bounds)) if bounds else "anything short of certainty"


@dataclass(frozen=True, eq=False)
class Places:
    """The distinct places of people: a bucket, or a mixture of several buckets.

    The buckets are numbered first, then one mixture for each cell of people who may be in more than
    one. `locations` has the buckets of each place, `place` that of each cell of people (-1 if they
    are nowhere), and `buckets_with_people` the buckets that people may be in.
    """

    locations: Locations
    place: Codes
    buckets_with_people: Codes

    @classmethod
    def of_people(cls, published: Published, people: People) -> Places:
        """Return the places of people: their known buckets, or those that their values fit."""
        if people.bucket is not None:
            return cls.known(people.bucket, published.n_buckets)
        return cls.of(matching_buckets(published, people), published.n_buckets)

    @classmethod
    def known(cls, bucket: Codes, n_buckets: int) -> Places:
        """Return the places of people whose buckets are known; -1 means nowhere."""
        own = np.arange(n_buckets, dtype=np.int64)
        is_used = np.zeros(n_buckets + 1, dtype=bool)
        is_used[bucket] = True
        locations = Locations(n_buckets, own, own, np.ones_like(own))
        return cls(locations, bucket, np.flatnonzero(is_used[:-1]))

    @classmethod
    def of(cls, found: Locations, n_buckets: int) -> Places:
        """Return the places of people who were located."""
        n_places = found.n_buckets_of
        place = np.full(found.n_people, -1, dtype=np.int64)
        mixed = np.flatnonzero(n_places > 1)
        place[mixed] = n_buckets + np.arange(len(mixed))
        is_mixed = n_places[found.person] > 1
        place[found.person[~is_mixed]] = found.bucket[~is_mixed]
        own = np.arange(n_buckets, dtype=np.int64)
        locations = Locations(
            n_buckets + len(mixed),
            np.concatenate([own, place[found.person[is_mixed]]]),
            np.concatenate([own, found.bucket[is_mixed]]),
            np.concatenate([np.ones_like(own), found.n_rows[is_mixed]]),
        )
        is_used = np.zeros(n_buckets, dtype=bool)
        is_used[found.bucket] = True
        return cls(locations, place, np.flatnonzero(is_used))

    def people_at(self, counts: Counts) -> Counts:
        """Return the number of people at each place, given the number of people in each cell."""
        is_found = self.place >= 0
        return total_by(self.place[is_found], counts[is_found], self.locations.n_people)


@dataclass(frozen=True, eq=False)
class Belief:
    """The adversary's beliefs, one entry per place.

    `value` is the value believed most (-1 for none), `posterior` the belief in it, and `prior` its
    share in the table. The `gained_...` fields are the same for the value whose share is furthest
    above that in the table, and `ratio` is the largest quotient of the two shares of any value.
    `breached` marks places where any belief exceeds its bound or is certain.
    """

    value: Codes
    posterior: Floats
    prior: Floats
    breached: Flags
    is_certain: Flags
    gained_value: Codes
    gained_posterior: Floats
    gained_prior: Floats
    ratio: Floats

    def of(self, place: Codes) -> tuple[Codes, Floats, Flags]:
        """Return value, posterior and breach at the given places; -1, 0 and False at place -1."""
        # Index -1 selects the entry that is appended for people who are nowhere.
        value = np.append(self.value, self.value.dtype.type(-1))[place]
        posterior = np.append(self.posterior, 0.0)[place]
        return value, posterior, np.append(self.breached, False)[place]


def _no_belief(n_places: int) -> Belief:
    def zeros() -> Floats:
        return np.zeros(n_places, dtype=np.float64)

    def none() -> Codes:
        # Half the memory: the findings have one entry per line.
        return cast("Codes", np.full(n_places, -1, dtype=np.int32))

    no = np.zeros(n_places, dtype=bool)
    return Belief(none(), zeros(), zeros(), no, no.copy(), none(), zeros(), zeros(), zeros())


def strongest(beliefs: Sequence[Belief]) -> Belief:
    """Return at every place the strongest belief, a breach before any that is not one."""
    strongest = beliefs[0]
    for belief in beliefs[1:]:
        is_stronger = (belief.breached > strongest.breached) | (
            (belief.breached == strongest.breached) & (belief.posterior > strongest.posterior)
        )
        gains = belief.gained_posterior - belief.gained_prior
        is_further = gains > strongest.gained_posterior - strongest.gained_prior
        chosen = {
            name: np.where(
                is_further if name.startswith("gained") else is_stronger,
                entries,
                getattr(strongest, name),
            )
            for name, entries in vars(belief).items()
        }
        chosen["is_certain"] = belief.is_certain | strongest.is_certain
        chosen["ratio"] = np.maximum(belief.ratio, strongest.ratio)
        strongest = Belief(**chosen)
    return strongest


def believe(buckets: Buckets, claim: Claim, locations: Locations) -> Belief:
    """Evaluate a claim at every place."""
    if claim.is_joint:
        # The values are judged together; the one believed most on its own is reported.
        together = _believe_shares(_shares(buckets, claim), claim.bound, locations)
        apart = _believe_shares(_shares(buckets, claim.apart()), claim.bound, locations)
        values = {"value": apart.value, "gained_value": apart.gained_value}
        return Belief(**(vars(together) | values))
    return _believe_shares(_shares(buckets, claim), claim.bound, locations)


@dataclass(frozen=True, eq=False)
class _Shares:
    """The count of each target in each bucket; a target is one value, or several as one.

    The entries of bucket b are `start[b]` to `start[b + 1]`. `prior` is the share of each target in
    the whole table.
    """

    start: Codes
    target: Codes
    count: Counts
    sizes: Counts
    prior: Floats


def _shares(buckets: Buckets, claim: Claim) -> _Shares:
    """Count the targets of a claim; the only target of a joint claim is 0."""
    bucket, target, count = buckets.bucket, buckets.value, buckets.count
    totals = buckets.totals
    if claim.values:
        protected = buckets.domain.codes_of(list(claim.values))
        is_kept = np.isin(target, protected)
        bucket, target, count = bucket[is_kept], target[is_kept], count[is_kept]
        if claim.is_joint:
            totals = np.array([count.sum()])
            added = total_by(bucket, count, buckets.n_buckets)
            bucket = np.flatnonzero(added)
            target, count = np.zeros_like(bucket), added[bucket]
    start = np.searchsorted(bucket, np.arange(buckets.n_buckets + 1)).astype(np.int64)
    return _Shares(start, target, count, buckets.sizes, totals / max(buckets.n_rows, 1))


def _believe_shares(shares: _Shares, bound: Fraction | None, locations: Locations) -> Belief:
    belief = _no_belief(locations.n_people)
    for first, last in _chunks(shares, locations):
        candidates = _Candidates.of(shares, locations, slice(first, last))
        candidates.write(belief, shares.prior, bound)
    return belief


def _chunks(shares: _Shares, locations: Locations) -> Iterator[tuple[int, int]]:
    """Cut the entries of `locations` into parts of bounded work, at the borders of places."""
    work = np.cumsum(np.diff(shares.start)[locations.bucket])
    # The buckets of a place are added up, so they must be in one part.
    borders = np.flatnonzero(np.diff(locations.person, append=-1)) + 1
    first = 0
    while first < len(work):
        done = work[first - 1] if first else 0
        fitting = np.searchsorted(work, done + _CHUNK, side="right")
        place = np.searchsorted(borders, max(fitting, first + 1), side="right") - 1
        last = int(borders[max(place, np.searchsorted(borders, first + 1))])
        yield first, last
        first = last


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs of a place and a target that occurs there, sorted, and the belief in each.

    The belief in a pair is the sum of its parts: part i is the exact fraction `numerator[i] /
    denominator[i]` and belongs to `pair[i]`. `is_certain` marks pairs whose target is carried by
    every row of the place.
    """

    place: Codes
    target: Codes
    posterior: Floats
    is_certain: Flags
    pair: Codes
    numerator: Counts
    denominator: Counts

    @classmethod
    def of(cls, shares: _Shares, locations: Locations, chunk: slice) -> _Candidates:
        person, bucket = locations.person[chunk], locations.bucket[chunk]
        start = shares.start[bucket]
        source, entry = spread(start, shares.start[bucket + 1] - start)
        rows, total = locations.n_rows[chunk][source], locations.totals[person[source]]
        count, size = shares.count[entry], shares.sizes[bucket[source]]
        n_targets = max(len(shares.prior), 1)
        keys = person[source] * n_targets + shares.target[entry]
        if np.all(keys[1:] > keys[:-1]):
            # Each place is one bucket, so there is nothing to add up.
            pairs, pair = keys, np.arange(len(keys))
        else:
            pairs, pair = np.unique(keys, return_inverse=True)
        place, target = np.divmod(pairs, n_targets)
        n_sure = np.bincount(pair, rows * (count == size), len(pairs))
        is_certain = n_sure == locations.totals[place]
        added = np.bincount(pair, rows / total * (count / size), len(pairs))
        posterior = np.where(is_certain, 1.0, np.minimum(added, 1.0))
        return cls(place, target, posterior, is_certain, pair, rows * count, total * size)

    def write(self, belief: Belief, prior: Floats, bound: Fraction | None) -> None:
        """Write the beliefs at the places of these candidates."""
        if not len(self.place):
            return
        before = prior[self.target]
        top, furthest = self._first_by(self.posterior), self._first_by(self.posterior - before)
        place = self.place[top]
        belief.value[place] = self.target[top]
        belief.posterior[place] = self.posterior[top]
        belief.prior[place] = before[top]
        belief.gained_value[place] = self.target[furthest]
        belief.gained_posterior[place] = self.posterior[furthest]
        belief.gained_prior[place] = before[furthest]
        np.maximum.at(belief.ratio, self.place, self.posterior / before)
        belief.is_certain[self.place[self.is_certain]] = True
        belief.breached[self.place[self.is_certain | self._is_above(bound)]] = True

    def _first_by(self, score: Floats) -> Codes:
        """Return for every place the candidate with the highest score, the first of equals.

        Candidates are sorted by place, then target.
        """
        start = np.flatnonzero(np.r_[True, self.place[1:] != self.place[:-1]])
        length = np.diff(np.append(start, len(self.place)))
        top = np.flatnonzero(score == np.repeat(np.maximum.reduceat(score, start), length))
        place = self.place[top]
        return top[np.r_[True, place[1:] != place[:-1]]]

    def _is_above(self, bound: Fraction | None) -> Flags:
        """Return which beliefs exceed a bound, exactly."""
        if bound is None:
            return np.zeros(len(self.place), dtype=bool)
        is_above = self.posterior > float(bound)
        is_close = np.abs(self.posterior - float(bound)) < _NEARLY
        parts = np.flatnonzero(is_close[self.pair])
        is_single = (np.bincount(self.pair, minlength=len(self.place)) == 1)[self.pair[parts]]
        is_above[self.pair[parts[is_single]]] = self._is_part_above(parts[is_single], bound)
        sums: dict[int, Fraction] = {}
        for part in parts[~is_single].tolist():
            pair = int(self.pair[part])
            share = Fraction(int(self.numerator[part]), int(self.denominator[part]))
            sums[pair] = sums.get(pair, Fraction(0)) + share
        for pair, posterior in sums.items():
            is_above[pair] = posterior > bound
        return is_above

    def _is_part_above(self, parts: Codes, bound: Fraction) -> Flags:
        """Compare numerator * bound's denominator with denominator * bound's numerator."""
        numerator, denominator = self.numerator[parts], self.denominator[parts]
        sizes = [int(numerator.max(initial=0)) + 1, int(denominator.max(initial=0)) + 1]
        # Python's integers do not overflow, and few distinct fractions are close to a bound.
        first, inverse = group([numerator, denominator], sizes, len(parts))
        is_above = [
            above * bound.denominator > below * bound.numerator
            for above, below in zip(
                numerator[first].tolist(), denominator[first].tolist(), strict=True
            )
        ]
        return np.array(is_above, dtype=bool)[inverse]
