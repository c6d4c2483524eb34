"""Findings of the minimality attack on a release of MASK: beliefs per bucket, and other priors.

References
----------
[Wong07] (see `shoal.grouping.mask_worlds`) Section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Counts, Flags, Floats
from shoal.core.cells import Buckets, total_by
from shoal.core.display import Section
from shoal.core.exact import as_text
from shoal.core.findings import Findings
from shoal.core.guarantees import MConfidentiality
from shoal.core.release import People, Published
from shoal.grouping.mask_worlds import Credibility, mask_credibility
from shoal.locating.location import matching_buckets
from shoal.locating.random_worlds import Places

EVEN = Fraction(1, 2)
"""The prior with which all tables are equally likely."""
_N_WORST = 10
_ROUNDING = 1e-9
"""Beliefs are floats: exceeding a limit by this little is a tie."""


def mask_claim(published: Published) -> MConfidentiality | None:
    """Return the promise of a release of MASK; None for other releases."""
    stated = (one for one in published.manifest.guarantees if isinstance(one, MConfidentiality))
    return next(stated, None)


def places_of(published: Published, people: People) -> Places:
    """Return the places of people: their known buckets, or those that their values fit."""
    if people.bucket is not None:
        return Places.known(people.bucket, published.n_buckets)
    return Places.of(matching_buckets(published, people), published.n_buckets)


@dataclass(frozen=True, eq=False)
class MaskRelease:
    """A release of MASK, its promise, and the largest belief that is allowed.

    `held` is the number of rows of each bucket that show a protected value. If `needs_enough`,
    nothing is published when there are too few buckets to lend a share.
    """

    buckets: Buckets
    claim: MConfidentiality
    held: Counts
    limit: Fraction
    needs_enough: bool

    @classmethod
    def of(
        cls, buckets: Buckets, claim: MConfidentiality, limit: Fraction, *, needs_enough: bool
    ) -> MaskRelease:
        """Count the protected values of every bucket."""
        codes = buckets.domain.codes_of(list(claim.protect))
        held = total_by(
            buckets.bucket, buckets.count * np.isin(buckets.value, codes), buckets.n_buckets
        )
        return cls(buckets, claim, held, limit, needs_enough)

    def believe(self, prior: Fraction) -> tuple[Credibility, Floats]:
        """Return the credibility of each bucket, and the posterior: the share if it is unknown."""
        found = mask_credibility(
            self.held, self.buckets.sizes, self.claim.m, prior, needs_enough=self.needs_enough
        )
        return found, np.where(found.is_said, found.estimate, self.held / self.buckets.sizes)

    def is_above(self, posterior: Floats) -> Flags:
        """Return which beliefs are more than is allowed."""
        return np.asarray(posterior > float(self.limit) + _ROUNDING, dtype=bool)

    def findings(self, knows: str, places: Places, people: People, prior: Fraction) -> Findings:
        """Return what the adversary learns about people from their places."""
        found, of_bucket = self.believe(prior)
        at_place, at_least = _mean(of_bucket, places), _mean(found.low, places)
        is_unsaid = _mean((~found.is_said).astype(np.float64), places) > 0
        # Index -1 selects the entry that is appended for people who are nowhere.
        posterior = np.append(at_place, 0.0)[places.place]
        breached = np.append(self.is_above(at_least) & ~is_unsaid, False)[places.place]
        unsaid = np.append(is_unsaid, False)[places.place]
        codes = self.buckets.domain.codes_of(list(self.claim.protect))
        value = int(codes[0]) if len(codes) == 1 else -1
        return Findings(
            attack="minimality",
            knows=f"{knows}; {_prior_text(prior)}",
            counts=people.counts,
            value=np.where(places.place >= 0, value, -1),
            posterior=posterior,
            breached=breached,
            limit=as_text(self.limit),
            headline={
                "people at risk": int(people.counts[breached].sum()),
                "worst credibility": float(posterior.max(initial=0.0)),
                "prior": as_text(prior),
                "exact": found.is_exact,
                "people of whom nothing is said": int(people.counts[unsaid].sum()),
            },
            sections=(self._priors(prior, found, of_bucket), self._worst_buckets(found)),
        )

    def _priors(self, prior: Fraction, found: Credibility, posterior: Floats) -> Section:
        """Show the beliefs with other priors: 1/2, and the share that the release shows."""
        known = {prior: (found, posterior)}
        sizes = self.buckets.sizes
        rate = Fraction(int(self.held.sum()), int(sizes.sum()))
        priors = {EVEN: "all tables equally likely"}
        if 0 < rate < 1:
            priors.setdefault(rate, "the share in the release")
        priors.setdefault(prior, "as given")
        rows = []
        for one, name in priors.items():
            found, posterior = known[one] if one in known else self.believe(one)
            n_above = int(sizes[found.is_said & self.is_above(found.low)].sum())
            rows.append((name, float(one), float(posterior.max()), n_above, found.is_exact))
        return Section(
            "credibility by prior",
            ("prior", "probability", "worst credibility", "people above the limit", "exact"),
            tuple(rows),
            holds_values=False,
        )

    def _worst_buckets(self, found: Credibility) -> Section:
        sizes = self.buckets.sizes
        order = np.lexsort((-sizes, -found.estimate))[:_N_WORST]
        return Section(
            "worst buckets",
            ("size", "share shown", "credibility", "95 % from", "to", "independent draws"),
            tuple(
                (
                    int(sizes[bucket]),
                    float(self.held[bucket] / sizes[bucket]),
                    float(found.estimate[bucket]),
                    float(found.low[bucket]),
                    float(found.high[bucket]),
                    None if found.is_exact else int(found.n_draws[bucket]),
                )
                for bucket in order.tolist()
            ),
            holds_values=False,
        )


def _mean(of_bucket: Floats, places: Places) -> Floats:
    """Return the mean of a number of buckets at every place, weighted by the rows there."""
    found = places.locations
    mean = np.zeros(found.n_people)
    np.add.at(mean, found.person, of_bucket[found.bucket] * found.n_rows)
    return mean / np.maximum(found.totals, 1)


def _prior_text(prior: Fraction) -> str:
    if prior == EVEN:
        return "all tables are equally likely to her"
    return f"her prior probability of a protected value is {as_text(prior)} for everybody"
