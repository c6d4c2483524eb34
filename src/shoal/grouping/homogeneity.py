"""Homogeneity and skewness: what the published buckets alone disclose about a person.

The adversary knows the quasi-identifiers of a person who is in the table and finds the buckets
they may be in. Every assignment of a bucket's sensitive values to its people is equally likely to
her (the random worlds), so her belief in a value is its share in the bucket. If all people of a
bucket share one value, she is certain: the bucket is homogeneous. If a value is much more frequent
than in the whole table, she has learned something about everybody in it: the bucket is skewed.

l-diversity and (alpha, k)-anonymity are defined against this adversary, who is the baseline for
adversaries with more knowledge.

References
----------
A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Sections 2 and 3.
N. Li, T. Li, S. Venkatasubramanian, t-closeness, 2007, Section 3 (skewness).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats, weighted_sum
from shoal.core.attack import Attack, View
from shoal.core.cells import Buckets
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.findings import Findings, Risk
from shoal.core.parameters import OptionalExact, exact_number
from shoal.core.release import Published
from shoal.core.shapes import Model
from shoal.locating.random_worlds import Belief, Places, believe, claims_of, limit_text, strongest

_N_WORST = 10
_N_BANDS = 10


@declared
class Homogeneity(Attack):
    """Believe in each sensitive value by its share in a person's bucket.

    Notes
    -----
    If the guarantees protect only some values, only those are attacked: together if the guarantee
    counts them as one (frequency l-diversity, t-closeness), otherwise each on its own. If a person
    may be in several buckets, the belief is the mean over the rows that may be theirs. A belief
    equal to the limit is not a breach, and the comparison is exact.

    Examples
    --------
    >>> from shoal.core.cells import Cells
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.guarantees import FrequencyDiversity
    >>> from shoal.core.manifest import Manifest
    >>> from shoal.core.release import People, Published
    >>> from shoal.core.shapes import Shape
    >>> bucket, sex = Domain.of_texts("bucket", ["4", "5"]), Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> values = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), disease)
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, columns=(),
    ...     guarantees=(FrequencyDiversity(ell=2),), n_rows=4, n_buckets=2,
    ... )
    >>> everybody = People(Cells((sex,), np.array([[0], [1]]), np.array([1, 3])))
    >>> findings = Homogeneity().run(View(Published(manifest, lines, values), everybody))
    >>> findings
    Findings(homogeneity: 3 of 4 people at risk, worst posterior 0.833)
    >>> findings.limit, findings.posterior.round(3).tolist()
    ('0.5', [0.5, 0.833])
    """

    limit: OptionalExact = exact_number(
        "The largest belief that is allowed; certainty is always a breach. Default: the "
        "guarantee's bound, or anything short of certainty.",
        default=None,
        above=0,
        at_most=1,
        is_limit=True,
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, and the release; any assignment of "
        "a bucket's sensitive values to its people is equally likely to her"
    )
    reads: ClassVar[frozenset[Model]] = frozenset({Model.CLASSES, Model.BUCKETS})

    def fits(self, published: Published) -> bool:
        """Return whether the release has buckets of sensitive values."""
        return super().fits(published) and published.buckets is not None

    def aims(self, published: Published) -> tuple[list[tuple[int, ...]], Fraction] | None:
        """Return the attacked sets of values, and the loosest bound; None if one has no bound."""
        claims = claims_of(published.manifest.guarantees, self.limit)
        bounds = [claim.bound for claim in claims if claim.bound is not None]
        if published.buckets is None or len(bounds) < len(claims):
            return None
        domain, totals = published.buckets.domain, published.buckets.totals
        aims: list[tuple[int, ...]] = []
        for claim in claims:
            codes = domain.codes_of(list(claim.values)) if claim.values else np.flatnonzero(totals)
            # A protected value that the release does not have has code -1.
            held = tuple(codes[codes >= 0].tolist())
            aims += [held] if claim.is_joint else [(code,) for code in held]
        return aims, max(bounds)

    def run(self, view: View) -> Findings:
        """Attack the people with the release alone.

        Raises `ParameterError` if the release has no sensitive column, or a shape that the attack
        does not support.
        """
        published, people = view.published, view.people
        buckets = published.buckets
        if buckets is None or not self.fits(published):
            raise ParameterError(
                "Homogeneity attacks generalized and bucketized releases with a sensitive column; "
                f"this one is {published.manifest.shape}"
                + (" and has none." if buckets is None else "."),
            )
        claims = claims_of(published.manifest.guarantees, self.limit)
        places = Places.of_people(published, people)
        belief = strongest([believe(buckets, claim, places.locations) for claim in claims])
        people_at = places.people_at(people.counts)
        value, posterior, breached = belief.of(places.place)
        return Findings(
            attack="homogeneity",
            knows=self.knows,
            counts=people.counts,
            value=value,
            posterior=posterior,
            breached=breached,
            limit=limit_text(claims),
            headline=_headline(belief, people_at, people.n_people),
            sections=(
                *_bucket_sections(published, buckets, belief, places.buckets_with_people),
                _bands(belief, people_at),
            ),
        )


def _headline(belief: Belief, people_at: Counts, n_people: int) -> Mapping[str, object]:
    is_used = people_at > 0
    n_found = int(people_at.sum())
    gains = belief.gained_posterior - belief.gained_prior
    return {
        "people at risk": int(people_at[belief.breached].sum()),
        "worst posterior": float(belief.posterior[is_used].max(initial=0.0)),
        "mean posterior": weighted_sum(belief.posterior, people_at) / max(n_found, 1),
        "mean prior": weighted_sum(belief.prior, people_at) / max(n_found, 1),
        "people certain": int(people_at[belief.is_certain].sum()),
        "largest gain ratio": float(belief.ratio[is_used].max(initial=0.0)),
        "largest gain difference": float(gains[is_used].max(initial=0.0)),
        "people not found": n_people - n_found,
    }


def _bucket_sections(
    published: Published, buckets: Buckets, belief: Belief, used: Codes
) -> tuple[Section, Section]:
    """List the buckets with the strongest beliefs, and the buckets with the largest gains."""
    n_values = np.diff(np.append(buckets.starts, len(buckets.bucket)))
    what = published.manifest.shape.bucket_word

    def section(title: str, score: Floats, value: Codes, share: Floats, prior: Floats) -> Section:
        order = np.lexsort((used, -buckets.sizes[used], -score[used]))
        worst = used[order[:_N_WORST]].tolist()
        return Section(
            title,
            (what, "size", "different values", "share", "prior", "gain", "value"),
            tuple(
                (
                    published.bucket_name(bucket),
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


def _bands(belief: Belief, people_at: Counts) -> Section:
    """Count people by the adversary's belief in their most likely value."""
    edges = np.arange(1, _N_BANDS) / _N_BANDS
    # A belief at an edge belongs to the band below it; certainty has its own band.
    band = np.searchsorted(edges, belief.posterior, side="left")
    band[belief.is_certain] = _N_BANDS
    people = np.bincount(band, people_at, _N_BANDS + 1).astype(np.int64)
    names = [f"up to {edge:g}" for edge in edges] + ["below 1", "certain"]
    return Section(
        "people by posterior",
        ("posterior", "people"),
        tuple(zip(names, people.tolist(), strict=True)),
        holds_values=False,
    )
