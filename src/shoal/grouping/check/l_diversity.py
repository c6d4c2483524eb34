"""l-diversity: the sensitive values of every bucket are well represented.

Four readings of "well represented" are checked. With counts r_1 >= r_2 >= ... >= r_m of the values
in a bucket of n rows:

distinct
    m >= ell.
frequency
    r_1 <= n / ell; with protected values, all of them together make up at most n / ell.
entropy
    the sum of -(r_i / n) log(r_i / n) is at least log(ell).
recursive
    r_1 < c (r_ell + r_(ell + 1) + ... + r_m), which no bucket with fewer than ell values satisfies.

References
----------
A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Definitions 4.1 and 4.2
(entropy, recursive) and Section 4 (distinct).
X. Xiao, Y. Tao, Anatomy: simple and effective privacy preservation, 2006, Definition 2 (frequency).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch

import numpy as np

from shoal.checks._entries import (
    confirm_occupied,
    count_values,
    largest_counts,
    mark_protected,
    sum_counts,
)
from shoal.checks._entropy import effective_numbers, falls_short, strongest
from shoal.checks._ratios import greatest, is_at_most
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.cells import Buckets, Codes, Counts
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text, whole
from shoal.core.guarantees import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    RecursiveDiversity,
)

__all__ = [
    "check",
    "distinct_diversity",
    "entropy_diversity",
    "frequency_diversity",
    "recursive_diversity",
]


@singledispatch
def check(guarantee: Guarantee, evidence: Evidence) -> Verdict:
    """Check one of the four readings of l-diversity.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 0, 2]), disease)
    >>> check(DistinctDiversity(ell=2), Evidence.of_buckets(buckets))
    Verdict(distinct l-diversity holds in all 2 buckets, reached ell=2)
    >>> check(FrequencyDiversity(ell=2), Evidence.of_buckets(buckets))
    Verdict(frequency l-diversity fails in 1 of 2 buckets, reached ell=1.5)
    """
    del evidence
    raise ParameterError(f"{guarantee.name} is not a kind of l-diversity.")


@check.register
def _check_distinct(guarantee: DistinctDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    return Verdict.of_failures(
        guarantee,
        count_values(buckets) < guarantee.ell,
        f"hold fewer than {guarantee.ell} different values",
        {"ell": distinct_diversity(buckets)} if buckets.n_buckets else {},
    )


def distinct_diversity(buckets: Buckets) -> int:
    """Give the largest ell such that every bucket holds ell different values.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> distinct_diversity(Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 0, 2]), disease))
    2
    """
    return int(count_values(confirm_occupied(buckets)).min())


@check.register
def _check_frequency(guarantee: FrequencyDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    frequent = _frequent_counts(buckets, guarantee.protect)
    reached = frequency_diversity(buckets, guarantee.protect) if buckets.n_buckets else None
    what = "the protected values" if guarantee.protect else "one value"
    return Verdict.of_failures(
        guarantee,
        ~is_at_most(frequent, buckets.sizes, 1 / guarantee.ell),
        f"have {what} in more than 1/{as_text(guarantee.ell)} of their rows",
        {} if reached is None else {"ell": as_text(reached)},
    )


def frequency_diversity(buckets: Buckets, protect: Sequence[str | None] = ()) -> Fraction | None:
    """Give the largest ell such that no value makes up more than 1/ell of a bucket.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    protect
        Values to be counted as one, while the others are unconstrained; None is the missing one.

    Returns
    -------
    The largest ell; None where no protected value occurs, so that every ell holds.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 0, 2]), disease)
    >>> frequency_diversity(buckets), frequency_diversity(buckets, protect=["gout"])
    (Fraction(3, 2), Fraction(3, 1))
    """
    frequent = _frequent_counts(confirm_occupied(buckets), protect)
    share = greatest(frequent, buckets.sizes)
    return 1 / share if share else None


def _frequent_counts(buckets: Buckets, protect: Sequence[str | None]) -> Counts:
    if not protect:
        return largest_counts(buckets)
    return sum_counts(buckets, mark_protected(buckets, protect))


@check.register
def _check_entropy(guarantee: EntropyDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    fails = falls_short(buckets, guarantee.ell, evidence.work)
    reached = strongest(buckets, evidence.work) if buckets.n_buckets else guarantee.ell
    # What is reached is told to six decimals, and the guarantee may ask for more of them.
    if not fails.any():
        reached = max(reached, guarantee.ell)
    return Verdict.of_failures(
        guarantee,
        fails,
        f"have less entropy than log({as_text(guarantee.ell)})",
        {"ell": as_text(reached)} if buckets.n_buckets else {},
    )


def entropy_diversity(buckets: Buckets) -> float:
    """Give the largest ell such that the entropy of every bucket is at least log(ell).

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.

    Returns
    -------
    The largest ell, rounded as floats are; seldom is it rational.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> entropy_diversity(Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), disease))
    3.0
    """
    return float(effective_numbers(confirm_occupied(buckets)).min())


@check.register
def _check_recursive(guarantee: RecursiveDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    largest, tails = largest_counts(buckets), _tails(buckets, guarantee.ell)
    reached = greatest(largest, tails) if buckets.n_buckets and tails.all() else None
    return Verdict.of_failures(
        guarantee,
        # r_1 >= c tail, without a division by a tail that may be 0.
        is_at_most(tails, largest, 1 / guarantee.c),
        f"have their most frequent value not less often than {as_text(guarantee.c)} times all from "
        f"the {guarantee.ell}th most frequent on",
        {} if reached is None else {"ell": guarantee.ell, "c_above": as_text(reached)},
    )


def recursive_diversity(buckets: Buckets, ell: int) -> Fraction | None:
    """Give the bound that c has to exceed for recursive (c, ell)-diversity.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    ell
        The place of the first count of the tail, at least 2.

    Returns
    -------
    The greatest r_1 / (r_ell + ... + r_m) of a bucket. The inequality is strict: every c above it
    holds, it does not hold itself. None where a bucket has fewer than ell values and no c holds.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 2]), disease)
    >>> recursive_diversity(buckets, ell=2), recursive_diversity(buckets, ell=3)
    (Fraction(1, 1), Fraction(2, 1))
    """
    tails = _tails(confirm_occupied(buckets), whole("ell", ell, least=2))
    return greatest(largest_counts(buckets), tails) if tails.all() else None


def _tails(buckets: Buckets, ell: int) -> Counts:
    """Give r_ell + ... + r_m of each bucket."""
    rank = np.arange(len(buckets.bucket)) - buckets.starts[buckets.bucket]
    counts = _descending_counts(buckets.bucket, buckets.count)
    return np.add.reduceat(np.where(rank >= ell - 1, counts, 0), buckets.starts)


def _descending_counts(bucket: Codes, count: Counts) -> Counts:
    """Sort counts from the largest within each bucket; the buckets stay in place."""
    span = int(count.max(initial=0)) + 1
    if (int(bucket.max(initial=0)) + 1) * span >= 2**63:
        return count[np.lexsort((-count, bucket))]
    # One sort of numbers is several times faster than one of pairs.
    key = bucket * np.int64(span) + (span - 1 - count)
    key.sort(kind="stable")
    return span - 1 - key % span
