"""Homogeneity and skewness: what the published buckets alone say about a person.

The adversary knows the quasi-identifiers of a person who is in the table and finds the buckets
they may be in. Within a bucket every assignment of its sensitive values to its people is equally
likely to her (the random worlds), so she believes a value as much as it is frequent there. Where
all share one value she is certain: the bucket is homogeneous. Where a value is much more frequent
than in the whole table she has learned something about everybody in it: the bucket is skewed.

This is the adversary whom l-diversity and (alpha, k)-anonymity are defined against, and the
baseline for those who know more.

References
----------
A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Sections 2 and 3.
N. Li, T. Li, S. Venkatasubramanian, t-closeness, 2007, Section 3 (skewness).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Attack, Findings, Section
from shoal.core.cells import Buckets, Codes, Counts
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.guarantees import AlphaK, FrequencyDiversity, Guarantee, TCloseness
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.knowledge.location import Locations, matching_buckets, spread

__all__ = ["Homogeneity"]

_Flags = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]

_CHUNK = 2**22
"""How many triples of a person, a bucket and a value are held at a time."""
_NEARLY = 1e-9
"""Beliefs this close to the limit are compared exactly."""
_N_WORST = 10
_N_BANDS = 10


@dataclass(frozen=True, kw_only=True, init=False)
class Homogeneity(Attack):
    """Believe each sensitive value as much as it is frequent in a person's bucket.

    Parameters
    ----------
    limit
        The largest belief that is allowed, above 0 and at most 1. Without one, the bound that the
        release's guarantees give; where they give none, anything short of certainty. Certainty
        is always a breach.

    Notes
    -----
    Where the guarantees protect only some values, only those are attacked: together where the
    guarantee counts them as one (frequency l-diversity, t-closeness), else each for itself. Where
    a person may be in several buckets, the belief is the mean over the rows that they may be.
    A belief equal to the limit is no breach, and the comparison is exact.

    Examples
    --------
    >>> from shoal.core.cells import Cells
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4", "5"]), Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> values = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), disease)
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, columns=(),
    ...     guarantees=(FrequencyDiversity(ell=2),), n_rows=4, n_buckets=2,
    ... )
    >>> everybody = People(Cells((sex,), np.array([[0], [1]]), np.array([1, 3])))
    >>> findings = Homogeneity().run(Published(manifest, lines, values), everybody)
    >>> findings
    Findings(homogeneity: 3 of 4 people at risk, worst posterior 0.833)
    >>> findings.limit, findings.posterior.round(3).tolist()
    ('0.5', [0.5, 0.833])
    """

    limit: Fraction | None = None

    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, and the release; any assignment of "
        "a bucket's sensitive values to its people is equally likely to her"
    )
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GENERALIZED, Shape.BUCKETIZED})

    def __init__(self, *, limit: Number | None = None) -> None:
        object.__setattr__(self, "limit", None if limit is None else _checked(limit))

    def fits(self, published: Published) -> bool:
        """Whether the release has buckets of sensitive values."""
        return super().fits(published) and published.buckets is not None

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:  # noqa: ARG002
        """Attack the people with the release alone.

        Raises
        ------
        ParameterError
            Where the release has no sensitive column, or a shape that the attack does not know.
        """
        buckets = published.buckets
        if buckets is None or not self.fits(published):
            raise ParameterError(
                "Homogeneity attacks generalized and bucketized releases with a sensitive column; "
                f"this one is {published.manifest.shape}"
                + (" and has none." if buckets is None else "."),
            )
        claims = _claims(published.manifest.guarantees, self.limit)
        places = _Places.of(matching_buckets(published, people), buckets.n_buckets)
        belief = _strongest([_believe(buckets, claim, places.locations) for claim in claims])
        found = belief.of(places.place)
        return Findings(
            attack="homogeneity",
            knows=self.knows,
            counts=people.counts,
            value=found.value,
            posterior=found.posterior,
            breached=found.breached,
            limit=_limit_text(claims),
            headline=_headline(found, places.place >= 0, people.counts),
            sections=(
                *_bucket_sections(published, buckets, belief, places.buckets_with_people),
                _bands(found, places.place >= 0, people.counts),
            ),
        )


def _checked(limit: Number) -> Fraction:
    bound = exact("limit", limit)
    if not 0 < bound <= 1:
        raise ParameterError(f"limit must be above 0 and at most 1, not {as_text(bound)}.")
    return bound


# What is claimed about which values


@dataclass(frozen=True)
class _Claim:
    """Values whose share in a bucket is bounded.

    Parameters
    ----------
    values
        The values; none for all of them, each for itself.
    is_joint
        Whether the values count as one.
    bound
        The largest share; None where only certainty is excluded.
    """

    values: frozenset[str | None] = frozenset()
    is_joint: bool = False
    bound: Fraction | None = None

    def apart(self) -> _Claim:
        """Give the claim about each value for itself."""
        return _Claim(self.values, False, self.bound)


def _claims(guarantees: Sequence[Guarantee], limit: Fraction | None) -> tuple[_Claim, ...]:
    """Give what the guarantees claim about beliefs; the tightest bound for each set of values."""
    bounding = [entry for entry in guarantees if entry.posterior_bound is not None]
    protecting = [entry for entry in guarantees if _protected(entry)]
    tightest: dict[_Claim, Fraction | None] = {}
    for guarantee in bounding or protecting:
        values = _protected(guarantee)
        is_joint = bool(values) and isinstance(guarantee, FrequencyDiversity | TCloseness)
        about = _Claim(values, is_joint)
        bounds = [limit] if limit is not None else [tightest.get(about), guarantee.posterior_bound]
        tightest[about] = min((bound for bound in bounds if bound is not None), default=None)
    if not tightest:
        return (_Claim(bound=limit),)
    return tuple(_Claim(about.values, about.is_joint, bound) for about, bound in tightest.items())


def _protected(guarantee: Guarantee) -> frozenset[str | None]:
    if isinstance(guarantee, FrequencyDiversity | TCloseness | AlphaK):
        return frozenset(guarantee.protect)
    return frozenset()


def _limit_text(claims: Sequence[_Claim]) -> str:
    bounds = sorted({claim.bound for claim in claims if claim.bound is not None})
    return " and ".join(map(as_text, bounds)) if bounds else "anything short of certainty"


# Where people are


@dataclass(frozen=True, eq=False)
class _Places:
    """The different places that people are in: a bucket, or a mixture of several.

    Places are numbered: first the buckets, then a mixture for each cell of people who may be in
    more than one.

    Parameters
    ----------
    locations
        The buckets of each place.
    place
        The place of each cell of people; -1 where they are nowhere.
    buckets_with_people
        The buckets that people may be in.
    """

    locations: Locations
    place: Codes
    buckets_with_people: Codes

    @classmethod
    def of(cls, found: Locations, n_buckets: int) -> _Places:
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
        return cls(locations, place, np.unique(found.bucket))


# What she believes at a place


@dataclass(frozen=True, eq=False)
class _Belief:
    """What she believes, one entry a place.

    Parameters
    ----------
    value, posterior, prior
        The value that she believes most (-1 for none), how much, and its share in the table.
    breached
        Whether she believes any value more than is allowed, or is certain.
    is_certain
        Whether she is certain.
    gained_value, gained_posterior, gained_prior
        The same for the value whose share is furthest above that in the table.
    ratio
        The largest quotient of a value's share and its share in the table.
    """

    value: Codes
    posterior: _Floats
    prior: _Floats
    breached: _Flags
    is_certain: _Flags
    gained_value: Codes
    gained_posterior: _Floats
    gained_prior: _Floats
    ratio: _Floats

    def of(self, place: Codes) -> _Belief:
        """Give the belief at some places; none at all where a place is -1."""
        if not len(self.value):
            return _no_belief(len(place))
        is_nowhere = place < 0
        taken = {name: entries[place] for name, entries in vars(self).items()}
        for entries in taken.values():
            entries[is_nowhere] = -1 if entries.dtype == np.int64 else 0
        return _Belief(**taken)


def _no_belief(n_places: int) -> _Belief:
    def zeros() -> _Floats:
        return np.zeros(n_places, dtype=np.float64)

    def none() -> Codes:
        return np.full(n_places, -1, dtype=np.int64)

    no = np.zeros(n_places, dtype=bool)
    return _Belief(none(), zeros(), zeros(), no, no.copy(), none(), zeros(), zeros(), zeros())


def _strongest(beliefs: Sequence[_Belief]) -> _Belief:
    """Give at every place the belief that is a breach, and of those the strongest."""
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
        strongest = _Belief(**chosen)
    return strongest


def _believe(buckets: Buckets, claim: _Claim, locations: Locations) -> _Belief:
    """Evaluate a claim at every place."""
    if claim.is_joint:
        together = _believe_shares(_shares(buckets, claim), claim.bound, locations)
        apart = _believe_shares(_shares(buckets, claim.apart()), claim.bound, locations)
        values = {"value": apart.value, "gained_value": apart.gained_value}
        return _Belief(**(vars(together) | values))
    return _believe_shares(_shares(buckets, claim), claim.bound, locations)


@dataclass(frozen=True, eq=False)
class _Shares:
    """How often each target occurs in each bucket; a target is a value, or several as one.

    Parameters
    ----------
    start
        Where the entries of each bucket begin; one entry more than there are buckets.
    target, count
        The entries.
    sizes
        The size of each bucket.
    prior
        The share of each target in the whole table.
    """

    start: Codes
    target: Codes
    count: Counts
    sizes: Counts
    prior: _Floats


def _shares(buckets: Buckets, claim: _Claim) -> _Shares:
    """Count what a claim is about; a joint claim's only target is 0."""
    bucket, target, count = buckets.bucket, buckets.value, buckets.count
    totals = buckets.totals
    if claim.values:
        protected = buckets.domain.codes_of(list(claim.values))
        is_kept = np.isin(target, protected)
        bucket, target, count = bucket[is_kept], target[is_kept], count[is_kept]
        if claim.is_joint:
            totals = np.array([count.sum()])
            added = np.zeros(buckets.n_buckets, dtype=np.int64)
            np.add.at(added, bucket, count)
            bucket = np.flatnonzero(added)
            target, count = np.zeros_like(bucket), added[bucket]
    start = np.searchsorted(bucket, np.arange(buckets.n_buckets + 1)).astype(np.int64)
    return _Shares(start, target, count, buckets.sizes, totals / max(buckets.n_rows, 1))


def _believe_shares(shares: _Shares, bound: Fraction | None, locations: Locations) -> _Belief:
    belief = _no_belief(locations.n_people)
    for first, last in _chunks(shares, locations):
        candidates = _Candidates.of(shares, locations, slice(first, last))
        candidates.write(belief, shares.prior, bound)
    return belief


def _chunks(shares: _Shares, locations: Locations) -> Iterator[tuple[int, int]]:
    """Cut the entries of `locations` into parts of bounded work, at the borders of places."""
    work = np.cumsum(np.diff(shares.start)[locations.bucket])
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
    """Pairs of a place and a target that occurs there, and what her belief in each adds up from.

    Parameters
    ----------
    place, target, posterior
        The pairs, sorted, and how much she believes each.
    is_certain
        Whether every row of the place carries the target.
    pair
        The pair of each part.
    numerator, denominator
        The parts, as exact fractions.
    """

    place: Codes
    target: Codes
    posterior: _Floats
    is_certain: _Flags
    pair: Codes
    numerator: Counts
    denominator: Counts

    @classmethod
    def of(cls, shares: _Shares, locations: Locations, chunk: slice) -> _Candidates:
        person, bucket = locations.person[chunk], locations.bucket[chunk]
        source, entry = spread(shares.start[bucket], np.diff(shares.start)[bucket])
        rows, total = locations.n_rows[chunk][source], locations.totals[person[source]]
        count, size = shares.count[entry], shares.sizes[bucket[source]]
        n_targets = max(len(shares.prior), 1)
        keys = person[source] * n_targets + shares.target[entry]
        pairs, pair = np.unique(keys, return_inverse=True)
        place, target = np.divmod(pairs, n_targets)
        n_sure = np.bincount(pair, rows * (count == size), len(pairs))
        is_certain = n_sure == locations.totals[place]
        added = np.bincount(pair, rows / total * (count / size), len(pairs))
        posterior = np.where(is_certain, 1.0, np.minimum(added, 1.0))
        return cls(place, target, posterior, is_certain, pair, rows * count, total * size)

    def write(self, belief: _Belief, prior: _Floats, bound: Fraction | None) -> None:
        """Write what is believed at the places of these candidates."""
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

    def _first_by(self, score: _Floats) -> Codes:
        """Give for every place the candidate of the highest score, the first of equals."""
        order = np.lexsort((self.target, -score, self.place))
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = np.diff(self.place[order]) != 0
        return order[is_first]

    def _is_above(self, bound: Fraction | None) -> _Flags:
        """Say which beliefs are above a bound, exactly."""
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

    def _is_part_above(self, parts: Codes, bound: Fraction) -> _Flags:
        """Compare numerator * bound's denominator with denominator * bound's numerator."""
        fractions = np.stack([self.numerator[parts], self.denominator[parts]], axis=1)
        # Python's integers do not overflow, and few different fractions lie close to a bound.
        different, inverse = np.unique(fractions, axis=0, return_inverse=True)
        is_above = [
            numerator * bound.denominator > denominator * bound.numerator
            for numerator, denominator in different.tolist()
        ]
        return np.array(is_above, dtype=bool)[inverse.reshape(-1)]


# What is reported


def _headline(belief: _Belief, is_found: _Flags, counts: Counts) -> Mapping[str, object]:
    found = counts[is_found]
    n_found = max(int(found.sum()), 1)
    gains = (belief.gained_posterior - belief.gained_prior)[is_found]
    return {
        "people at risk": int(counts[belief.breached].sum()),
        "worst posterior": float(belief.posterior.max(initial=0.0)),
        "mean posterior": float(belief.posterior[is_found] @ found) / n_found,
        "mean prior": float(belief.prior[is_found] @ found) / n_found,
        "people certain": int(counts[belief.is_certain].sum()),
        "largest gain ratio": float(belief.ratio.max(initial=0.0)),
        "largest gain difference": float(gains.max(initial=0.0)),
        "people not found": int(counts[~is_found].sum()),
    }


def _bucket_sections(
    published: Published, buckets: Buckets, belief: _Belief, used: Codes
) -> tuple[Section, Section]:
    """List the buckets where she believes one value most, and those furthest from the table."""
    n_values = np.diff(np.append(buckets.starts, len(buckets.bucket)))
    is_numbered = published.manifest.shape is Shape.GENERALIZED
    what = "class" if is_numbered else "bucket"

    def section(
        title: str, score: _Floats, value: Codes, share: _Floats, prior: _Floats
    ) -> Section:
        order = np.lexsort((used, -buckets.sizes[used], -score[used]))
        worst = used[order[:_N_WORST]].tolist()
        return Section(
            title,
            (what, "size", "different values", "share", "prior", "gain", "value"),
            tuple(
                (
                    bucket + 1 if is_numbered else published.lines.domains[0].text(bucket),
                    int(buckets.sizes[bucket]),
                    int(n_values[bucket]),
                    float(share[bucket]),
                    float(prior[bucket]),
                    float(share[bucket] - prior[bucket]),
                    buckets.domain.text(int(value[bucket])) if value[bucket] >= 0 else None,
                )
                for bucket in worst
            ),
        )

    gain = belief.gained_posterior - belief.gained_prior
    return (
        section("worst buckets", belief.posterior, belief.value, belief.posterior, belief.prior),
        section(
            "most skewed buckets",
            gain,
            belief.gained_value,
            belief.gained_posterior,
            belief.gained_prior,
        ),
    )


def _bands(belief: _Belief, is_found: _Flags, counts: Counts) -> Section:
    """Count people by how much she believes the value that she believes most."""
    edges = np.arange(1, _N_BANDS) / _N_BANDS
    band = np.searchsorted(edges, belief.posterior, side="left")
    band[belief.is_certain] = _N_BANDS
    people = np.bincount(band[is_found], counts[is_found], _N_BANDS + 1).astype(np.int64)
    names = [f"up to {edge:g}" for edge in edges] + ["below 1", "certain"]
    return Section(
        "people by posterior",
        ("posterior", "people"),
        tuple(zip(names, people.tolist(), strict=True)),
    )
