"""The beliefs of an adversary about a MASK release if she knows the algorithm, and her findings.

A bucket that shows some share either had it, or was above 1/m and was given it. The adversary
weighs both: every person has a protected value with a known prior probability, independently (1/2:
all tables are equally likely), and the likelihood of a set V of distorted buckets is that of the
tables in which exactly these are above 1/m, times the chance that the shares drawn for them are
those published.

Buckets of the same size and published count are alike, so a world is the number of distorted
buckets of each kind. If there are few worlds, all are enumerated; otherwise Markov chains sample
them.

References
----------
[Wong07] R. Wong, A. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing,
VLDB 2007, Section 5. Its bound of 1/m needs a prior that the text does not state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy import special

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, group, total_by
from shoal.core.display import Section
from shoal.core.exact import as_text
from shoal.core.findings import Findings
from shoal.core.guarantees import MConfidentiality
from shoal.core.release import People
from shoal.locating.random_worlds import Places

_MOST_WORLDS = 200_000
"""The largest number of worlds that are enumerated."""
_A_TIME = 1 << 14
_N_CHAINS, MOST_STEPS = 8, 20_000
_N_BURNT = 4
"""The first `1 / _N_BURNT` of every chain is not counted."""
_NO_VARIANCE = 1e-12
_TINY = 1e-290
"""Probabilities below this lose digits as floats."""
_ROUNDING = 1e-17
_FEWEST_DRAWS = 30
_WIDEST = 0.25
"""Chains that differ by more than this have not found the same worlds."""
EVEN = Fraction(1, 2)
"""The prior with which all tables are equally likely."""
_N_WORST = 10
_NEARLY = 1e-9
"""Beliefs are floats: exceeding a limit by this little is a tie."""


@dataclass(frozen=True, eq=False)
class Credibility:
    """The belief that a person has a protected value, one entry per bucket.

    `low` and `high` are the 95 % interval; the estimate itself if it is exact. `n_draws` is the
    number of independent draws that would give as good an estimate; 0 if it is exact. It is exact
    if all worlds were enumerated.
    """

    estimate: Floats
    low: Floats
    high: Floats
    n_draws: Floats
    is_exact: bool

    @property
    def is_said(self) -> Flags:
        """Whether the belief about each bucket is known well enough to be reported."""
        if self.is_exact:
            return np.ones(len(self.estimate), dtype=bool)
        is_narrow = self.high - self.low <= _WIDEST
        return np.asarray(is_narrow & (self.n_draws >= _FEWEST_DRAWS), dtype=bool)


def mask_credibility(
    held: Counts,
    sizes: Counts,
    m: int,
    prior: Fraction = Fraction(1, 2),
    n_steps: int = MOST_STEPS,
    *,
    needs_enough: bool = True,
    seed: int = 0,
) -> Credibility:
    """Compute the belief that a person of a bucket has a protected value.

    `held` of the `sizes` rows of each bucket show a protected value; `prior` is above 0 and below
    1. If `needs_enough`, nothing is published when fewer than (m - 1)|V| buckets have a share to
    lend; otherwise the existing ones lend theirs. If there are too many worlds to enumerate, chains
    of `n_steps` are drawn from the seed.
    """
    first, kind = group([sizes, held], [int(sizes.max()) + 1, int(held.max()) + 1], len(sizes))
    worlds = _Worlds.of(
        held[first], sizes[first], np.bincount(kind), m, prior, needs_enough=needs_enough
    )
    if worlds.n_worlds <= _MOST_WORLDS:
        estimate = worlds.belief(worlds.count_exactly())
        zero = np.zeros(len(estimate))
        found = Credibility(estimate, estimate, estimate, zero, is_exact=True)
    else:
        found = _sampled(worlds, n_steps, np.random.default_rng(seed))
    return replace(
        found,
        estimate=found.estimate[kind],
        low=found.low[kind],
        high=found.high[kind],
        n_draws=found.n_draws[kind],
    )


@dataclass(frozen=True, eq=False)
class _Worlds:
    """The possible numbers of distorted buckets of each kind, and how likely they are.

    `shown` and `above` are the belief of each kind if it is not distorted, and if it is; `log_odds`
    compare a bucket above 1/m with one that has the published count. For each kind (row) and share
    (column, from the highest), `has_share` marks whether the kind has the share, and `shows`
    whether a bucket of the kind that is given the share shows the published count.
    """

    n_buckets: Counts
    m: int
    needs_enough: bool
    shown: Floats
    above: Floats
    log_odds: Floats
    has_share: Floats
    shows: Floats

    @classmethod
    def of(
        cls,
        held: Counts,
        sizes: Counts,
        n_buckets: Counts,
        m: int,
        prior: Fraction,
        *,
        needs_enough: bool,
    ) -> _Worlds:
        """Weigh the kinds of buckets by a binomial prior."""
        likely = float(prior)
        most = sizes // m
        log_above = _log_above(most, sizes, likely)
        # For the mean of the counts above: c C(n, c) = n C(n - 1, c - 1).
        log_rest = _log_above(most - 1, sizes - 1, likely)
        kinds = list(zip(held.tolist(), sizes.tolist(), strict=True))
        shares = sorted({Fraction(h, s) for h, s in kinds}, reverse=True)
        has_share = [[Fraction(h, s) == share for share in shares] for h, s in kinds]
        shows = [[math.floor(s * share) == h for share in shares] for h, s in kinds]
        return cls(
            n_buckets=n_buckets.astype(np.int64),
            m=m,
            needs_enough=needs_enough,
            shown=held / sizes,
            above=np.minimum(likely * np.exp(log_rest - log_above), 1.0),
            log_odds=log_above - _log_exactly(held, sizes, likely),
            has_share=np.array(has_share, dtype=np.float64),
            shows=np.array(shows, dtype=np.float64),
        )

    @property
    def most(self) -> Counts:
        """The most buckets of each kind that may be distorted."""
        n_buckets = int(self.n_buckets.sum())
        return np.minimum(
            self.n_buckets, n_buckets // self.m if self.needs_enough else n_buckets - 1
        )

    @property
    def n_worlds(self) -> int:
        """The number of worlds."""
        return math.prod((self.most + 1).tolist())

    def log_weights(self, distorted: Codes) -> Floats:
        """Return the log weights of worlds, one per row of numbers of distorted buckets."""
        kept = (self.n_buckets - distorted) @ self.has_share
        n_kept = kept.sum(axis=1)
        n_wanted = (self.m - 1) * distorted.sum(axis=1)
        n_lent = np.minimum(n_wanted, n_kept)
        # [Wong07] L: the buckets with the highest shares among those kept lend them.
        lent = np.clip(n_lent[:, None] - (np.cumsum(kept, axis=1) - kept), 0, kept)
        chance = (lent @ self.shows.T) / np.maximum(n_lent, 1)[:, None]
        weights: Floats = (
            distorted @ self.log_odds
            + special.xlogy(distorted, chance).sum(axis=1)
            + _log_choose(self.n_buckets, distorted).sum(axis=1)
        )
        is_possible = n_lent >= (n_wanted if self.needs_enough else np.minimum(n_wanted, 1))
        return np.where(is_possible, weights, -np.inf)

    def count_exactly(self) -> Floats:
        """Return the expected number of distorted buckets of each kind, over all worlds."""
        radix = (self.most + 1).astype(np.int64)
        log_weights, counts = [], []
        for first in range(0, self.n_worlds, _A_TIME):
            numbers = np.arange(first, min(first + _A_TIME, self.n_worlds))
            distorted = np.stack(np.unravel_index(numbers, tuple(radix.tolist())), axis=1)
            weight = self.log_weights(distorted)
            top = float(weight.max())
            if top == -np.inf:
                continue
            share = np.exp(weight - top)
            log_weights.append(top + math.log(float(share.sum())))
            counts.append(share @ distorted / share.sum())
        parts = np.array(log_weights)
        share = np.exp(parts - parts.max())
        return np.asarray(share @ np.array(counts) / share.sum(), dtype=np.float64)

    def belief(self, distorted: Floats) -> Floats:
        """Return the belief of each kind from the expected number of distorted buckets."""
        chance = distorted / self.n_buckets
        return np.asarray((1 - chance) * self.shown + chance * self.above, dtype=np.float64)


def _log_choose(n: Counts, k: Codes) -> Floats:
    logs: Floats = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return logs


def _sampled(worlds: _Worlds, n_steps: int, draw: np.random.Generator) -> Credibility:
    """Estimate the belief of each kind from several independent chains."""
    means = _run_chains(worlds, n_steps, draw)
    beliefs = np.stack([worlds.belief(mean) for mean in means])
    estimate = beliefs.mean(axis=0)
    variance = beliefs.var(axis=0, ddof=1) / _N_CHAINS
    half = special.stdtrit(_N_CHAINS - 1, 0.975) * np.sqrt(variance)
    # The number of independent draws of "distorted or not" with the same variance.
    chance = means.mean(axis=0) / worlds.n_buckets
    width = worlds.above - worlds.shown
    is_moved = (chance > 0) & (chance < 1)
    n_draws = np.full(len(estimate), float(_N_CHAINS))
    n_draws[is_moved] = (chance * (1 - chance) * width**2)[is_moved] / np.maximum(
        variance[is_moved], _NO_VARIANCE
    )
    least = float(max(n_draws[is_moved].min(), 1.0)) if is_moved.any() else float(_N_CHAINS)
    n_draws[~is_moved] = least
    # Rule of three: what never happened in n draws has a probability of at most 3/n, at 95 %.
    is_possible = worlds.shows.any(axis=1) & ~is_moved
    half[is_possible] = width[is_possible] * min(1.0, 3 / least)
    low, high = np.maximum(estimate - half, 0.0), np.minimum(estimate + half, 1.0)
    return Credibility(estimate, low, high, np.minimum(n_draws, n_steps), is_exact=False)


def _run_chains(worlds: _Worlds, n_steps: int, draw: np.random.Generator) -> Floats:
    """Run the chains and return, for each, the mean number of distorted buckets.

    A step changes the count of one kind by a number of any magnitude, or moves that many from one
    kind to another. The length does not depend on the state, so a step is as likely as the step
    back, and worlds are visited in proportion to their probability (Metropolis). Half of the chains
    start with nothing distorted, which is always possible, the others with much: if they agree in
    the end, they have forgotten their start.
    """
    n_kinds, most = len(worlds.n_buckets), worlds.most
    state = np.zeros((_N_CHAINS, n_kinds), dtype=np.int64)
    for chain in range(_N_CHAINS // 2, _N_CHAINS):
        state[chain] = _far_start(worlds, draw)
    weight = worlds.log_weights(state)
    total = np.zeros(state.shape)
    chains = np.arange(_N_CHAINS)
    n_burnt = n_steps // _N_BURNT
    for step in range(n_steps):
        proposed = state.copy()
        kinds = draw.integers(n_kinds, size=(2, _N_CHAINS))
        length = np.exp(draw.random(_N_CHAINS) * np.log1p(most[kinds[0]])).astype(np.int64)
        sign = np.where(draw.random(_N_CHAINS) < 0.5, 1, -1)
        proposed[chains, kinds[0]] += sign * length
        if step % 2:
            # Keep the total, because there may be no room for more.
            proposed[chains, kinds[1]] -= sign * length
        is_valid = np.all((proposed >= 0) & (proposed <= most), axis=1)
        new_weight = worlds.log_weights(np.clip(proposed, 0, most))
        is_taken = is_valid & (np.log(draw.random(_N_CHAINS)) < new_weight - weight)
        state[is_taken], weight[is_taken] = proposed[is_taken], new_weight[is_taken]
        if step >= n_burnt:
            total += state
    return np.asarray(total / (n_steps - n_burnt), dtype=np.float64)


def _far_start(worlds: _Worlds, draw: np.random.Generator) -> Codes:
    """Draw a world with as many distorted buckets as chance finds."""
    for halvings in range(12):
        shares = draw.random((16, len(worlds.most))) / 2**halvings
        tries: Codes = np.floor(shares * worlds.most).astype(np.int64)
        found = np.flatnonzero(worlds.log_weights(tries) > -np.inf)
        if len(found):
            return np.asarray(tries[found[0]], dtype=np.int64)
    return np.zeros(len(worlds.most), dtype=np.int64)


def _log_above(most: Counts, sizes: Counts, likely: float) -> Floats:
    """Return the log probability of more than `most` successes in `sizes` binomial draws."""
    chance = special.bdtrc(most.astype(np.float64), sizes, likely)
    is_tiny = chance < _TINY
    with np.errstate(divide="ignore"):
        logs = np.log(chance)
    logs[is_tiny] = _log_far_above(most[is_tiny], sizes[is_tiny], likely)
    return np.asarray(logs, dtype=np.float64)


def _log_far_above(most: Counts, sizes: Counts, likely: float) -> Floats:
    """Return the same if it is too small for a float, as it is in large buckets.

    Each further term is smaller than the one before by a decreasing factor, so the sum soon
    converges.
    """
    first = most + 1
    total, term, step = np.ones(len(first)), np.ones(len(first)), 0
    while np.any(term > _ROUNDING * total):
        term *= np.maximum(sizes - first - step, 0) / (first + step + 1) * (likely / (1 - likely))
        total += term
        step += 1
    return np.asarray(_log_exactly(first, sizes, likely) + np.log(total))


def _log_exactly(held: Counts, sizes: Counts, likely: float) -> Floats:
    """Return the log probability of exactly `held` successes in `sizes` binomial draws."""
    log_one = special.xlogy(held, likely) + special.xlog1py(sizes - held, -likely)
    return np.asarray(_log_choose(sizes, held) + log_one)


# --- the attack -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MaskRelease:
    """A release of MASK, its promise, and the largest belief that is allowed.

    `held` is the number of rows of each bucket that show a protected value. If `needs_enough`,
    nothing is published when there are too few buckets to lend a share. Chains have `n_steps`.
    """

    buckets: Buckets
    claim: MConfidentiality
    held: Counts
    limit: Fraction
    needs_enough: bool
    n_steps: int = MOST_STEPS

    @classmethod
    def of(
        cls, buckets: Buckets, claim: MConfidentiality, limit: Fraction, *, needs_enough: bool
    ) -> MaskRelease:
        """Count the protected values of every bucket."""
        codes = buckets.domain.codes_of(list(claim.protect))
        is_protected = np.isin(buckets.value, codes)
        held = total_by(buckets.bucket, buckets.count * is_protected, buckets.n_buckets)
        return cls(buckets, claim, held, limit, needs_enough)

    def believe(self, prior: Fraction) -> tuple[Credibility, Floats]:
        """Return the credibility of each bucket, and the posterior: the share if it is unknown."""
        held, sizes, m, enough = self.held, self.buckets.sizes, self.claim.m, self.needs_enough
        found = mask_credibility(held, sizes, m, prior, self.n_steps, needs_enough=enough)
        return found, np.where(found.is_said, found.estimate, held / sizes)

    def is_above(self, posterior: Floats) -> Flags:
        """Return which beliefs are more than is allowed."""
        return np.asarray(posterior > float(self.limit) + _NEARLY, dtype=bool)

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
