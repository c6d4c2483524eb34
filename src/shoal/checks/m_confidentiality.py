"""m-confidentiality: at least k rows in every bucket, at most 1/m of them with a protected value.

That is what published files can tell. Whether somebody who knows the algorithm believes more
follows from what she takes for likely beforehand, which no file says.

References
----------
R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data
publishing, VLDB 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from shoal.checks._entries import confirm_occupied, mark_protected, sum_counts
from shoal.checks._ratios import greatest, is_at_most
from shoal.checks.bucket_size import smallest_bucket
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.cells import Buckets
from shoal.core.guarantees import MConfidentiality

__all__ = ["check", "largest_protected_share"]


def check(guarantee: MConfidentiality, evidence: Evidence) -> Verdict:
    """Check the size of every bucket, and the share of the protected values in it.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "HIV"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1, 1]), np.array([0, 2, 1, 2, 2]), disease)
    >>> check(MConfidentiality(m=2, k=2, protect=["HIV"]), Evidence.of_buckets(buckets))
    Verdict(m-confidentiality fails in 1 of 2 buckets, reached m=1, k=2)
    """
    buckets = evidence.buckets_for(guarantee)
    protected = sum_counts(buckets, mark_protected(buckets, guarantee.protect))
    is_above = ~is_at_most(protected, buckets.sizes, Fraction(1, guarantee.m))
    return Verdict.of_failures(
        guarantee,
        (evidence.sizes < guarantee.k) | is_above,
        f"hold fewer than {guarantee.k} rows, or protected values in more than 1/{guarantee.m} of "
        "them",
        _reached(buckets, evidence, guarantee) if buckets.n_buckets else {},
    )


def largest_protected_share(buckets: Buckets, protect: Sequence[str | None]) -> Fraction:
    """Give the largest share that some values have together in a bucket.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    protect
        The values that count, as one. None is the missing one.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "HIV"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), disease)
    >>> largest_protected_share(buckets, protect=["flu", "HIV"])
    Fraction(2, 3)
    """
    marks = mark_protected(confirm_occupied(buckets), protect)
    return greatest(sum_counts(buckets, marks), buckets.sizes)


def _reached(
    buckets: Buckets, evidence: Evidence, guarantee: MConfidentiality
) -> dict[str, object]:
    share = largest_protected_share(buckets, guarantee.protect)
    # No m is too large where nobody shows a protected value.
    reached: dict[str, object] = {"m": math.floor(1 / share)} if share else {}
    return reached | {"k": smallest_bucket(evidence.sizes)}
