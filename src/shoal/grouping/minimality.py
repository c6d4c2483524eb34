"""Minimality: what an algorithm discloses because it changes no more than necessary.

Two people of one postcode have HIV, five of another do not. The two postcodes would not have been
merged if HIV had been distributed differently, so the fact that they were merged discloses who has
it. The adversary knows everybody's quasi-identifiers and the algorithm. Of the tables that agree
with the release she counts those that the algorithm maps to it. The share of them in which a person
has a value is its *credibility*.

MASK was designed against this attack and distorts values. It is attacked here in the same way, with
an explicit prior.

References
----------
[Wong07] R. Wong, A. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing,
VLDB 2007, Sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.attack import Attack, Need, View
from shoal.core.budget import most_within
from shoal.core.cells import Buckets, total_by
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import DataError, ParameterError
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import MConfidentiality
from shoal.core.method import Algorithm
from shoal.core.parameters import OptionalExact, exact_number, whole_number
from shoal.core.release import People, Published
from shoal.core.shapes import Model
from shoal.grouping.minimality_worlds import Credibilities, Crowd, credibilities
from shoal.locating.location import matching_buckets
from shoal.locating.random_worlds import Claim, Places, claims_of, limit_text

_N_WORST = 10
_MOST_ENTRIES = 50_000_000
# Units (`shoal.core.budget`), measured with Mondrian on the census of 2,000 to 32,000 people:
# drawing and publishing a table, per person and per kind of people and value; and a step of all
# chains, whatever the number of people, because buckets that are alike count together.
_TABLE_PER_PERSON, _TABLE_PER_ENTRY = 60, 1
_STEP = 10_000
_FEWEST_STEPS = 1000


@declared
class Minimality(Attack):
    """Count the tables that the algorithm maps to a release, by the values that a person has.

    Notes
    -----
    A release of MASK can be attacked by itself. For other methods the adversary needs an external
    table, the quasi-identifiers of everybody and their hierarchies: give it as
    ``people=shoal.read(...)``. Its sensitive column, if it has one, is ignored. The method must
    form buckets from the table alone, as Mondrian with strict cuts does.

    Two releases are the same if the same people are in the same buckets with the same values; the
    exact bounds of labels are not compared. Everybody's bucket is known from their values or, if
    labels leave it open and the table itself is given, from the table.

    If there are too many candidates, values are shuffled at random within buckets. For each bucket,
    the tables that produce it again with the same people count, whatever happens to the other
    buckets. So an estimate uses only a person's own bucket, not what the others disclose. A person
    is at risk if the whole 95 % interval is above the limit, or if all tables that count agree. If
    fewer than 30 tables produce a bucket, nothing is reported about its people: they are counted
    separately, with the share in their bucket as posterior.

    The posterior for a MASK release uses the protected values of all buckets, which count as one.
    What unprotected values would add is not used.

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

    limit: OptionalExact = exact_number(
        "The largest credibility that is allowed. Default: the guarantee's bound, or anything "
        "short of certainty.",
        default=None,
        above=0,
        at_most=1,
        is_limit=True,
    )
    rate: OptionalExact = exact_number(
        "For releases of MASK, the prior probability that a person has a protected value. "
        "Default: 1/2, since all tables are then equally likely.",
        default=None,
        above=0,
        below=1,
    )
    n_tables: int = whole_number(
        "For other releases, the largest number of tables that are published again; with more "
        "candidates, the answer is an estimate. If the attack may do less work, they are fewer.",
        default=2000,
        least=1,
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of everybody in the table, the release, and the algorithm that made "
        "it"
    )
    reads: ClassVar[frozenset[Model]] = frozenset({Model.CLASSES, Model.BUCKETS})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ALGORITHM})

    def fits(self, published: Published) -> bool:
        """Return whether the release can be attacked by itself, as a release of MASK can."""
        return (
            super().fits(published)
            and published.buckets is not None
            and _mask_claim(published) is not None
        )

    def run(self, view: View) -> Findings:
        """Attack people with a release of MASK, or everybody by running the algorithm again.

        Raises `ParameterError` if the release is not one of MASK and the algorithm cannot be run,
        and `DataError` if the external table has other people than the release, or labels leave
        open which bucket somebody is in.
        """
        from shoal.grouping.mask_worlds import (  # noqa: PLC0415 - it takes long to import
            EVEN,
            MOST_STEPS,
            MaskRelease,
        )

        published, people = view.published, view.people
        claim, buckets = _mask_claim(published), published.buckets
        if claim is None or buckets is None:
            return self._replay(view)
        limit = claim.posterior_bound if self.limit is None else self.limit
        needs_enough = published.manifest.parameters.get("lenders") != "any"
        n_steps = most_within(view.work, lambda n: n * _STEP, MOST_STEPS, least=_FEWEST_STEPS)
        masked = MaskRelease.of(buckets, claim, limit, needs_enough=needs_enough)
        prior = EVEN if self.rate is None else self.rate
        places = Places.of_people(published, people)
        found = replace(masked, n_steps=n_steps).findings(self.knows, places, people, prior)
        is_cut = n_steps < MOST_STEPS and not found.headline["exact"]
        said = f"chains had {n_steps} of {MOST_STEPS} steps"
        return replace(found, cut_short=said if is_cut else "")

    def _replay(self, view: View) -> Findings:
        """Attack everybody by running the algorithm on the adversary's own tables."""
        published, buckets, algorithm = view.published, view.published.buckets, view.algorithm()
        if algorithm is None:
            raise ParameterError(
                "Minimality needs an external table to attack a release of a method other than "
                "MASK.",
                hint="give it with its hierarchies: people=shoal.read(...).",
            )
        if buckets is None or published.manifest.shape.model not in self.reads:
            raise ParameterError("Minimality attacks releases with buckets of sensitive values.")
        crowd = _crowd(published, buckets, algorithm)

        def publish(table: Counts) -> Codes | None:
            return algorithm.buckets(table, buckets.domain)

        n_tables = most_within(view.work, lambda n: n * _cost_of_table(crowd), self.n_tables)
        found = credibilities(crowd, publish, n_tables)
        claims = claims_of(published.manifest.guarantees, self.limit)
        is_cut = n_tables < self.n_tables and not found.is_exact
        return replace(
            _findings(self.knows, crowd, buckets, found, claims),
            is_apart=True,
            cut_short=f"{n_tables} of {self.n_tables} tables were published" if is_cut else "",
        )


def _mask_claim(published: Published) -> MConfidentiality | None:
    """Return the promise of a release of MASK; None for other releases."""
    stated = (one for one in published.manifest.guarantees if isinstance(one, MConfidentiality))
    return next(stated, None)


def _cost_of_table(crowd: Crowd) -> int:
    """Return the units that publishing one more table takes."""
    n_people, n_entries = int(crowd.counts.sum()), int(crowd.n_kinds * crowd.values.shape[1])
    return _TABLE_PER_PERSON * n_people + _TABLE_PER_ENTRY * n_entries


def _crowd(published: Published, buckets: Buckets, algorithm: Algorithm) -> Crowd:
    """Find the bucket of every person.

    Raises `DataError` if it is not known, or if other people are in the release.
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
    sizes = total_by(bucket, people.counts, buckets.n_buckets)
    if not np.array_equal(sizes, buckets.sizes):
        raise DataError("The people of the external table are not those of the release.")
    values = np.zeros((buckets.n_buckets, buckets.domain.size), dtype=np.int64)
    values[buckets.bucket, buckets.value] = buckets.count
    return Crowd(bucket, people.counts, values)


def _only_buckets(published: Published, algorithm: Algorithm) -> Codes:
    """Return the only bucket that each kind of people can be in, given the bucket sizes."""
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
    # A bucket that is full excludes itself for the others, which may leave them only one.
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
    """Yield the sets of codes that a claim is about, each with its code; -1 for several codes."""
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
    """The most credible value for each kind of people, and whether any value is too credible.

    `posterior` is its credibility, `low` to `high` the interval, and `share` its share in the
    bucket. `is_above` and `breached` say whether the estimate for any value is above the limit,
    and whether its whole interval is.
    """

    value: Codes
    posterior: Floats
    share: Floats
    low: Floats
    high: Floats
    is_above: Flags
    breached: Flags

    @classmethod
    def of(cls, n_kinds: int) -> _Worst:
        """Start without any credible value."""
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
        is_said: Flags,
    ) -> None:
        """Add a value; the bucket's share stands for a credibility that is not known."""
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
