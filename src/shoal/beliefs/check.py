"""Bounded belief gain: a release hardly changes what an adversary believes about a row.

In a bucket where n_s rows have value s, the posterior belief that row j has s is proportional to
n_s P(s|j) divided by the sum of P(s|j') over all rows j' of the bucket, where P(s|j) is the prior
belief (the Omega estimate). The belief gain is the square root of the Jensen-Shannon divergence
between the two, in bits.

Prior beliefs are not part of a release; they come as the witness "beliefs", a
`shoal.core.prior_knowledge.BelievedRows`.

References
----------
T. Li, N. Li, J. Zhang, Modeling and integrating background knowledge in data anonymization, 2009.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from shoal.core.adversary_guarantees import BeliefGain
from shoal.core.arrays import Floats
from shoal.core.cells import Buckets
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import as_text
from shoal.core.prior_knowledge import BelievedRows
from shoal.core.verdict import Evidence, Verdict, confirm_occupied

_ROUNDING = 1e-12
"""Divergences are sums of logarithms that cancel: this much above a bound is a tie."""
_MILLION = 10**6
_OPERATIONS = 20
"""Approximate number of operations per value of a row."""


def check(guarantee: BeliefGain, evidence: Evidence) -> Verdict:
    """Check that no belief changes by more than t.

    The witness "beliefs" is a `BelievedRows`; without it there is nothing to check. `DataError` is
    raised if it is about other rows or values, or holds no distributions.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> beliefs = BelievedRows.of_pairs(np.array([0, 0]), np.array([0, 1]),
    ...                              np.array([[0.5, 0.5], [0.9, 0.1]]))
    >>> check(BeliefGain(t=0.1), Evidence(buckets, buckets.sizes, witnesses={"beliefs": beliefs}))
    Verdict(bounded belief gain fails in 1 of 1 buckets, reached t=0.174084)
    >>> check(BeliefGain(t=0.1), Evidence.of_buckets(buckets))
    Verdict(bounded belief gain holds in all 1 buckets as far as checked)
    """
    buckets = evidence.buckets_for(guarantee)
    witness = evidence.witnesses.get(guarantee.needs_witness)
    if witness is None:
        return _unchecked(guarantee, buckets)
    if not isinstance(witness, BelievedRows):
        raise ParameterError(
            f"The witness {guarantee.needs_witness!r} must be BelievedRows, not a "
            f"{type(witness).__name__}."
        )
    # Every kind of row of a bucket is compared in every value of the domain.
    evidence.work.spend(_OPERATIONS * witness.n_entries * buckets.domain.size)
    divergences = _divergences(buckets, witness)
    return Verdict.of_failures(
        guarantee,
        divergences > float(guarantee.t**2) + _ROUNDING,
        f"let a belief change by more than {as_text(guarantee.t)}",
        {"t": _reached(divergences, guarantee.t)} if buckets.n_buckets else {},
    )


def _unchecked(guarantee: BeliefGain, buckets: Buckets) -> Verdict:
    return Verdict(
        guarantee=guarantee,
        holds=True,
        reached={},
        n_buckets=buckets.n_buckets,
        n_failing=0,
        detail=f"none of {buckets.n_buckets} buckets was checked, because prior beliefs were not "
        "given",
        is_partial=True,
    )


def _reached(divergences: Floats, t: Fraction) -> str:
    """Write the largest gain, rounded up, but not above a bound that holds."""
    worst = float(divergences.max())
    gain = Fraction(math.ceil(math.sqrt(worst) * _MILLION), _MILLION)
    return as_text(min(gain, t) if worst <= float(t**2) + _ROUNDING else gain)


def largest_gain(buckets: Buckets, beliefs: BelievedRows) -> float:
    """Return the largest belief gain about a row of a release.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    beliefs
        The prior beliefs about the rows of each bucket.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0]), np.array([0]), disease)
    >>> beliefs = BelievedRows.of_pairs(np.array([0]), np.array([0]), np.array([[0.5, 0.5]]))
    >>> round(largest_gain(buckets, beliefs), 3)
    0.558
    """
    return math.sqrt(float(_divergences(confirm_occupied(buckets), beliefs).max()))


def _divergences(buckets: Buckets, beliefs: BelievedRows) -> Floats:
    """Return for each bucket the largest divergence between prior and posterior of a row."""
    _confirm(buckets, beliefs)
    counts = np.zeros(buckets.domain.size)
    ends = np.append(buckets.starts, len(buckets.value))
    largest = np.empty(buckets.n_buckets)
    for bucket in range(buckets.n_buckets):
        held = slice(ends[bucket], ends[bucket + 1])
        rows = slice(beliefs.starts[bucket], beliefs.starts[bucket + 1])
        counts[buckets.value[held]] = buckets.count[held]
        before = beliefs.priors[beliefs.prior[rows]]
        after = _omega(before, beliefs.count[rows].astype(np.float64), counts)
        largest[bucket] = _divergence(before, after).max()
        counts[buckets.value[held]] = 0.0
    return largest


def _omega(before: Floats, n_rows: Floats, counts: Floats) -> Floats:
    """Return the Omega estimate for the kinds of rows of one bucket, `n_rows` of each."""
    expected = n_rows @ before
    foreseen = np.where(expected > 0, expected, 1.0)
    odds = before * (counts / foreseen)
    total = odds.sum(axis=1, keepdims=True)
    # A value that no row was believed to have, or a row believed to have none of the values: the
    # prior beliefs are wrong, and all assignments count as equally likely.
    if np.any((counts > 0) & (expected == 0)) or not total.all():
        return np.broadcast_to(counts / counts.sum(), before.shape)
    after: Floats = odds / total
    return after


def _divergence(before: Floats, after: Floats) -> Floats:
    """Return the Jensen-Shannon divergence in bits, row by row."""
    middle = (before + after) / 2
    # Belief in values that the release does not have is lost, as if it were in one value.
    lacking = np.maximum(1 - before.sum(axis=1), 0.0)
    divergence: Floats = (_entropy(before, middle) + _entropy(after, middle) + lacking) / 2
    return np.maximum(divergence, 0.0)


def _entropy(shares: Floats, middle: Floats) -> Floats:
    """Return the relative entropy in bits, row by row."""
    is_there = shares > 0
    ratio = np.where(is_there, shares, 1.0) / np.where(is_there, middle, 1.0)
    total: Floats = (shares * np.log2(ratio)).sum(axis=1)
    return total


def _confirm(buckets: Buckets, beliefs: BelievedRows) -> None:
    beliefs.confirm_sizes(buckets.sizes)
    priors = beliefs.priors
    if priors.ndim != 2 or priors.shape[1] != buckets.domain.size:
        raise DataError(
            f"Beliefs must be about the {buckets.domain.size} values of column "
            f"{buckets.domain.column!r}; got a matrix of shape {priors.shape}."
        )
    if not (np.all(priors >= 0) and np.all(priors.sum(axis=1) <= 1 + 1e-9)):
        raise DataError("Beliefs must be numbers of at least 0 that add up to at most 1.")
