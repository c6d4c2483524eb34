"""k-anonymity and the guarantees built on it: how many rows look alike, and what they share.

k-anonymity
    At least k rows share every combination of published quasi-identifiers. In a generalized
    release these rows are a bucket, so the smallest bucket is the largest k. In a bucketized
    release the rows of a bucket differ in their combinations, and the combinations are counted.
bucket size
    Every bucket of a bucketized release holds at least k rows.
(alpha, k)-anonymity
    k-anonymity, and no value in more than alpha of the rows of a bucket. If values are protected,
    alpha bounds each of them on its own, and no other value.
m-confidentiality
    At least k rows in every bucket, and at most 1/m of them with a protected value. This is all
    that published files can show: the belief of an adversary who knows the algorithm also depends
    on what she considers likely beforehand, which no file says.

References
----------
L. Sweeney, k-anonymity: a model for protecting privacy, 2002, Definition 3.
R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang, (alpha, k)-anonymity: an enhanced k-anonymity model for
privacy preserving data publishing, 2006.
R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data
publishing, VLDB 2007 (m-confidentiality).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Counts, Flags
from shoal.core.cells import Buckets
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import as_text, greatest, is_at_most
from shoal.core.guarantees import AlphaK, BucketSize, Guarantee, KAnonymity, MConfidentiality
from shoal.core.verdict import (
    Evidence,
    Verdict,
    confirm_occupied,
    confirm_sizes,
    largest_counts,
    mark_protected,
    sum_counts,
)


@singledispatch
def check(guarantee: Guarantee, evidence: Evidence) -> Verdict:
    """Check k-anonymity, bucket size, (alpha, k)-anonymity or m-confidentiality.

    Examples
    --------
    >>> check(KAnonymity(k=5), Evidence(None, np.array([7, 4, 5])))
    Verdict(k-anonymity fails in 1 of 3 buckets, reached k=4)
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 0, 2]), disease)
    >>> check(AlphaK(alpha=0.5, k=2), Evidence.of_buckets(buckets))
    Verdict((alpha, k)-anonymity fails in 1 of 2 buckets, reached alpha=2/3, k=2)
    """
    del evidence
    raise ParameterError(f"{guarantee.name} is not a kind of k-anonymity.")


@check.register
def _check_bucket_size(guarantee: BucketSize, evidence: Evidence) -> Verdict:
    return Verdict.of_failures(
        guarantee,
        evidence.sizes < guarantee.k,
        f"hold fewer than {guarantee.k} rows",
        {"k": smallest_bucket(evidence.sizes)} if evidence.sizes.size else {},
    )


def smallest_bucket(sizes: npt.ArrayLike) -> int:
    """Return the number of rows in the smallest bucket.

    Parameters
    ----------
    sizes
        The number of rows in each bucket.

    Examples
    --------
    >>> smallest_bucket([7, 4, 5])
    4
    """
    counts = confirm_sizes(np.asarray(sizes))
    if not counts.size:
        raise DataError("A release without rows has no strongest parameter.")
    return int(counts.min())


@check.register
def _check_k_anonymity(guarantee: KAnonymity, evidence: Evidence) -> Verdict:
    fails, fault = _find_exposed(evidence, guarantee.k)
    reached = {"k": anonymity(_count_alike(evidence))} if evidence.sizes.size else {}
    return Verdict.of_failures(guarantee, fails, fault, reached)


def anonymity(sizes: npt.ArrayLike) -> int:
    """Return the largest k for which a release is k-anonymous.

    Parameters
    ----------
    sizes
        The number of rows that share each combination of quasi-identifiers.

    Examples
    --------
    >>> anonymity([7, 4, 5])
    4
    """
    return smallest_bucket(sizes)


def _count_alike(evidence: Evidence) -> Counts:
    """Return for each bucket the number of rows that look like its rarest row."""
    return evidence.sizes if evidence.alike is None else evidence.alike


def _find_exposed(evidence: Evidence, k: int) -> tuple[Flags, str]:
    """Return which buckets hold a row that looks like fewer than k rows, and the fault in words."""
    fault = (
        f"hold fewer than {k} rows"
        if evidence.alike is None
        else f"hold a combination of quasi-identifiers that fewer than {k} rows share"
    )
    return _count_alike(evidence) < k, fault


@check.register
def _check_alpha_k(guarantee: AlphaK, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    frequent = largest_counts(buckets, _marks(buckets, guarantee.protect))
    is_exposed, fault = _find_exposed(evidence, guarantee.k)
    reached: dict[str, object] = {}
    if buckets.n_buckets:
        alpha = as_text(largest_share(buckets, guarantee.protect))
        reached = {"alpha": alpha, "k": anonymity(_count_alike(evidence))}
    return Verdict.of_failures(
        guarantee,
        is_exposed | ~is_at_most(frequent, buckets.sizes, guarantee.alpha),
        f"{fault} or have a value in more than {as_text(guarantee.alpha)} of their rows",
        reached,
    )


def largest_share(buckets: Buckets, protect: Sequence[str | None] = ()) -> Fraction:
    """Return the smallest alpha: the largest share that one value has in a bucket.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    protect
        The values that count, each on its own; None is the missing value. Default: all values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 0, 2]), disease)
    >>> largest_share(buckets), largest_share(buckets, protect=["flu", "gout"])
    (Fraction(2, 3), Fraction(1, 3))
    """
    frequent = largest_counts(confirm_occupied(buckets), _marks(buckets, protect))
    return greatest(frequent, buckets.sizes)


def _marks(buckets: Buckets, protect: Sequence[str | None]) -> Flags | None:
    return mark_protected(buckets, protect) if protect else None


@check.register
def _check_m_confidentiality(guarantee: MConfidentiality, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    protected = sum_counts(buckets, mark_protected(buckets, guarantee.protect))
    is_above = ~is_at_most(protected, buckets.sizes, Fraction(1, guarantee.m))
    reached: dict[str, object] = {}
    if buckets.n_buckets:
        share = largest_protected_share(buckets, guarantee.protect)
        # If no row has a protected value, every m holds, so there is no largest one.
        reached = {"m": math.floor(1 / share)} if share else {}
        reached["k"] = smallest_bucket(evidence.sizes)
    return Verdict.of_failures(
        guarantee,
        (evidence.sizes < guarantee.k) | is_above,
        f"hold fewer than {guarantee.k} rows, or protected values in more than 1/{guarantee.m} of "
        "them",
        reached,
    )


def largest_protected_share(buckets: Buckets, protect: Sequence[str | None]) -> Fraction:
    """Return the largest share that the protected values have together in a bucket.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    protect
        The values that count, as one; None is the missing value.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "HIV"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), disease)
    >>> largest_protected_share(buckets, protect=["flu", "HIV"])
    Fraction(2, 3)
    """
    marks = mark_protected(confirm_occupied(buckets), protect)
    return greatest(sum_counts(buckets, marks), buckets.sizes)
