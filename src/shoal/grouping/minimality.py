"""Minimality: what an algorithm betrays by what it had to change.

Two people of one postcode have HIV, five of another do not. Neither postcode would have been merged
with the other had HIV been shared out otherwise, so that they are merged tells who has it. The
adversary knows everybody's quasi-identifiers and the algorithm; of the tables that agree with the
release she counts those that the algorithm maps to it. The share of them in which somebody has a
value is its *credibility*.

MASK was made against this, by distorting values; here it is attacked in the same way, with a prior
that is stated.

References
----------
[Wong07] R. Wong, A. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing,
VLDB 2007, Sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.attacks._masked import EVEN, Masked, mask_claim, places_of
from shoal.core.attack import Findings, Risk, Section
from shoal.core.cells import Buckets, Codes, Counts
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.core.table_attack import Algorithm, TableAttack
from shoal.knowledge.location import matching_buckets
from shoal.knowledge.minimality import Credibilities, Crowd, credibilities
from shoal.knowledge.random_worlds import Claim, claims_of, limit_text

__all__ = ["Minimality"]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]

_N_WORST = 10
_MOST_ENTRIES = 50_000_000


@dataclass(frozen=True, kw_only=True, init=False)
class Minimality(TableAttack):
    """Count the tables that the algorithm maps to a release, and those where a person has a value.

    Parameters
    ----------
    limit
        The largest credibility that is allowed, above 0 and at most 1. Without one, the bound
        that the release's guarantees give; where they give none, anything short of certainty.
    rate
        For releases of MASK, the prior: how likely it is beforehand that somebody has a protected
        value, above 0 and below 1. Without one all tables are equally likely, which is 1/2.
    n_tables
        For other releases: how many tables are published anew at most. Where there are no more
        candidates the answer is exact; else it is an estimate from so many tables.

    Notes
    -----
    A release of MASK says enough by itself. For other methods the adversary needs an external
    table, the quasi-identifiers of everybody and their hierarchies: give it as
    ``people=shoal.read(...)``. Its sensitive column, if it has one, is not looked at. The method
    must form buckets from the table alone, as Mondrian with strict cuts does.

    Two releases are the same where the same people are in the same buckets with the same values;
    where exactly a label ends is not compared. It is known which bucket everybody is in: from their
    values or, where labels leave that open and the table itself is given, from the table.

    Where there are too many candidates, values are shared out at random within buckets, and for
    each bucket those tables count in which it came about again, with the same people, whatever
    became of the others. So an estimate goes by a person's own bucket; what the others add is not
    used. Somebody is at risk where the whole interval, at 95 %, is above the limit, or every table
    that counts agrees. Where a bucket came about in fewer than 30 tables, nothing is said of its
    people: they are counted apart, with the share of their bucket as posterior.

    The posterior of a MASK release is that of somebody who looks at the protected values of all
    buckets, as one. What unprotected values would add is not used.

    Examples
    --------
    >>> import shoal
    >>> people = {"home": ["q1"] * 2 + ["q2"] * 5, "disease": ["HIV"] * 2 + ["flu"] * 5}
    >>> table = shoal.read(people, shoal.Schema(quasi=["home"], sensitive="disease"))
    >>> merged = shoal.Mondrian(ell=2, protect=["HIV"], publish="bucketized")
    >>> release = shoal.anonymize(table, merged, seed=1)
    >>> shoal.attack(release, shoal.attacks.Minimality(), people=table)
    AttackReport(minimality: 2 of 7 people at risk)
    >>> release = shoal.anonymize(table, shoal.Mask(m=2, k=2, protect=["HIV"]), seed=1)
    >>> (found,) = shoal.attack(release, shoal.attacks.Minimality())
    >>> found.posterior.round(3).tolist(), found.headline["exact"]
    ([0.056, 0.611], True)
    """

    limit: Fraction | None = None
    rate: Fraction | None = None
    n_tables: int = 2000

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of everybody in the table, the release, and the algorithm that made "
        "it"
    )
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GENERALIZED, Shape.BUCKETIZED})

    def __init__(
        self, *, limit: Number | None = None, rate: Number | None = None, n_tables: int = 2000
    ) -> None:
        bound = None if limit is None else exact("limit", limit)
        if bound is not None and not 0 < bound <= 1:
            raise ParameterError(f"limit must be above 0 and at most 1, not {as_text(bound)}.")
        prior = None if rate is None else exact("rate", rate)
        if prior is not None and not 0 < prior < 1:
            raise ParameterError(f"rate must be above 0 and below 1, not {as_text(prior)}.")
        object.__setattr__(self, "limit", bound)
        object.__setattr__(self, "rate", prior)
        object.__setattr__(self, "n_tables", whole("n_tables", n_tables, least=1))

    def fits(self, published: Published) -> bool:
        """Whether the release says enough by itself: it is one of MASK."""
        return (
            super().fits(published)
            and published.buckets is not None
            and mask_claim(published) is not None
        )

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:  # noqa: ARG002
        """Attack people with a release of MASK.

        Raises
        ------
        ParameterError
            Where the release is another one.
        """
        claim, buckets = mask_claim(published), published.buckets
        if claim is None or buckets is None:
            raise ParameterError(
                "Minimality needs an external table to attack a release of a method other than "
                "MASK.",
                hint="give it with its hierarchies: people=shoal.read(...).",
            )
        limit = claim.posterior_bound if self.limit is None else self.limit
        needs_enough = published.manifest.parameters.get("lenders") != "any"
        masked = Masked.of(buckets, claim, limit, needs_enough=needs_enough)
        prior = EVEN if self.rate is None else self.rate
        return masked.findings(self.knows, places_of(published, people), people, prior)

    def replay(self, published: Published, algorithm: Algorithm) -> Findings:
        """Attack everybody by running the algorithm on tables of her own.

        Raises
        ------
        DataError
            Where the external table is not that of the people of the release, or labels leave
            open who is in which bucket.
        """
        buckets = published.buckets
        if buckets is None or published.manifest.shape not in self.shapes:
            raise ParameterError("Minimality attacks releases with buckets of sensitive values.")
        crowd = _crowd(published, buckets, algorithm)

        def publish(table: Counts) -> Codes | None:
            return algorithm.buckets(table, buckets.domain)

        found = credibilities(crowd, publish, self.n_tables)
        claims = claims_of(published.manifest.guarantees, self.limit)
        return _findings(self.knows, crowd, buckets, found, claims)


def _crowd(published: Published, buckets: Buckets, algorithm: Algorithm) -> Crowd:
    """Find out who is in which bucket.

    Raises
    ------
    DataError
        Where that is not known, or others are in the release.
    """
    people = algorithm.people
    if people.n_rows != buckets.n_rows:
        raise DataError(
            f"The external table has {people.n_rows} people, the release {buckets.n_rows}.",
            hint="it must list everybody in the release, and nobody else.",
        )
    n_entries = people.n_cells * buckets.domain.size
    if n_entries > _MOST_ENTRIES:
        raise DataError(
            f"{people.n_cells} kinds of people and {buckets.domain.size} values are too many to "
            "publish tables of.",
            hint="attack a part of the table, or a coarser sensitive column.",
        )
    bucket = algorithm.located
    if bucket is None:
        bucket = _only_buckets(published, algorithm)
    sizes = np.zeros(buckets.n_buckets, dtype=np.int64)
    np.add.at(sizes, bucket, people.counts)
    if not np.array_equal(sizes, buckets.sizes):
        raise DataError("The people of the external table are not those of the release.")
    values = np.zeros((buckets.n_buckets, buckets.domain.size), dtype=np.int64)
    values[buckets.bucket, buckets.value] = buckets.count
    return Crowd(bucket, people.counts, values)


def _only_buckets(published: Published, algorithm: Algorithm) -> Codes:
    """Give the only bucket that each kind of people can be in, given how many each holds."""
    people = algorithm.people
    found = matching_buckets(published, People(people))
    n_fitting = found.n_buckets_of
    if np.any(n_fitting == 0):
        raise DataError("Some people of the external table fit no bucket of the release.")
    bucket = np.full(people.n_cells, -1, dtype=np.int64)
    is_single = n_fitting[found.person] == 1
    bucket[found.person[is_single]] = found.bucket[is_single]
    room = published.bucket_sizes.copy()
    np.subtract.at(room, bucket[bucket >= 0], people.counts[bucket >= 0])
    start = np.searchsorted(found.person, np.arange(people.n_cells + 1))
    undecided = np.flatnonzero(bucket < 0).tolist()
    is_changing = True
    while undecided and is_changing:
        is_changing = False
        for kind in list(undecided):
            fitting = found.bucket[start[kind] : start[kind + 1]]
            fitting = fitting[room[fitting] >= people.counts[kind]]
            if len(fitting) == 1:
                bucket[kind] = fitting[0]
                room[fitting[0]] -= people.counts[kind]
                undecided.remove(kind)
                is_changing = True
    if undecided:
        raise DataError(
            f"Labels leave open which bucket {len(undecided)} kinds of people are in.",
            hint="give the table itself, with its sensitive column: it then counts as known.",
        )
    return bucket


def _targets(claim: Claim, buckets: Buckets) -> Iterator[tuple[int, list[int]]]:
    """Give the values that a claim is about, each with the code that stands for it."""
    codes = list(range(buckets.domain.size))
    if claim.values:
        codes = [code for code in buckets.domain.codes_of(list(claim.values)).tolist() if code >= 0]
    if claim.is_joint:
        yield (codes[0] if len(codes) == 1 else -1), codes
    else:
        yield from ((code, [code]) for code in codes)


def _findings(
    knows: str,
    crowd: Crowd,
    buckets: Buckets,
    found: Credibilities,
    claims: Sequence[Claim],
) -> Findings:
    worst = _Worst.of(crowd.n_kinds)
    for claim in claims:
        limit = 1.0 if claim.bound is None else float(claim.bound)
        for code, codes in _targets(claim, buckets):
            shown = (crowd.values[:, codes].sum(axis=1) / buckets.sizes)[crowd.bucket]
            worst.add(code, shown, found.of(codes), found.interval(codes), limit, found.is_said)
    at_risk, counts = worst.breached, crowd.counts
    return Findings(
        attack="minimality",
        knows=f"{knows}; all tables are equally likely to her",
        counts=counts,
        value=worst.value,
        posterior=worst.posterior,
        breached=at_risk,
        limit=limit_text(claims),
        headline={
            "people at risk": int(counts[at_risk].sum()),
            "people whose estimate is above the limit": int(counts[worst.is_above].sum()),
            "worst credibility": float(worst.posterior.max(initial=0.0)),
            "people whose bucket shows less": int(counts[worst.posterior > worst.share].sum()),
            "tables published": found.n_tried,
            "mapped to the release": found.n_mapped,
            "exact": found.is_exact,
            "people of whom nothing is said": int(counts[~found.is_said].sum()),
        },
        sections=(_worst_kinds(crowd, found, worst),),
    )


@dataclass(frozen=True, eq=False)
class _Worst:
    """The value that is most credible for each kind of people, and whether any is too credible.

    Parameters
    ----------
    value, posterior, share
        The value, its credibility, and its share in the bucket.
    low, high
        The interval of the credibility.
    is_above, breached
        Whether the estimate for any value is above the limit, and whether its whole interval is.
    """

    value: Codes
    posterior: Floats
    share: Floats
    low: Floats
    high: Floats
    is_above: Marks
    breached: Marks

    @classmethod
    def of(cls, n_kinds: int) -> _Worst:
        """Begin with nothing that is credible."""
        posterior, share, low, high = (np.zeros(n_kinds) for _ in range(4))
        is_above, breached = (np.zeros(n_kinds, dtype=bool) for _ in range(2))
        return cls(np.full(n_kinds, -1), posterior, share, low, high, is_above, breached)

    def add(
        self,
        code: int,
        shown: Floats,
        belief: Floats,
        interval: tuple[Floats, Floats],
        limit: float,
        is_said: Marks,
    ) -> None:
        """Take a value into account; where nothing is said of somebody, their bucket's share."""
        low, high = interval
        is_certain = belief == 1.0
        np.logical_or(self.is_above, is_said & ((belief > limit) | is_certain), out=self.is_above)
        np.logical_or(self.breached, is_said & ((low > limit) | is_certain), out=self.breached)
        belief = np.where(is_said, belief, shown)
        is_more = belief > self.posterior
        for kept, given in (
            (self.posterior, belief),
            (self.share, shown),
            (self.low, low),
            (self.high, high),
        ):
            kept[is_more] = given[is_more]
        self.value[is_more] = code


def _worst_kinds(crowd: Crowd, found: Credibilities, worst: _Worst) -> Section:
    """List the kinds of people whose values are most credible, without their quasi-identifiers."""
    order = np.lexsort((-crowd.counts, -worst.posterior))[:_N_WORST]
    return Section(
        "worst people",
        ("people", "share shown", "credibility", "95 % from", "to", "independent draws"),
        tuple(
            (
                int(crowd.counts[kind]),
                float(worst.share[kind]),
                float(worst.posterior[kind]),
                float(worst.low[kind]),
                float(worst.high[kind]),
                None if np.isinf(found.n_draws[kind]) else int(found.n_draws[kind]),
            )
            for kind in order.tolist()
        ),
        holds_values=False,
    )
