"""k-anonymity: every combination of published quasi-identifiers is shared by at least k rows.

Where a release is generalized, the rows that share a combination are a bucket, so that the smallest
bucket is the largest k. Where it is bucketized, the rows of a bucket differ in their combinations,
and it is these that are counted.

References
----------
L. Sweeney, k-anonymity: a model for protecting privacy, 2002, Definition 3.
"""

from __future__ import annotations

import numpy.typing as npt

from shoal.checks._entries import Marks
from shoal.checks.bucket_size import smallest_bucket
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.cells import Counts
from shoal.core.guarantees import KAnonymity

__all__ = ["anonymity", "check", "count_alike", "find_exposed"]


def check(guarantee: KAnonymity, evidence: Evidence) -> Verdict:
    """Check that at least k rows share every combination of quasi-identifiers.

    Examples
    --------
    >>> import numpy as np
    >>> check(KAnonymity(k=5), Evidence(None, np.array([7, 4, 5])))
    Verdict(k-anonymity fails in 1 of 3 buckets, reached k=4)
    """
    fails, fault = find_exposed(evidence, guarantee.k)
    reached = {"k": anonymity(count_alike(evidence))} if evidence.sizes.size else {}
    return Verdict.of_failures(guarantee, fails, fault, reached)


def count_alike(evidence: Evidence) -> Counts:
    """Give for each bucket the number of rows that look like its rarest one."""
    return evidence.sizes if evidence.alike is None else evidence.alike


def find_exposed(evidence: Evidence, k: int) -> tuple[Marks, str]:
    """Say of each bucket whether a row of it looks like fewer than k rows, and say so in words."""
    fault = (
        f"hold fewer than {k} rows"
        if evidence.alike is None
        else f"hold a combination of quasi-identifiers that fewer than {k} rows share"
    )
    return count_alike(evidence) < k, fault


def anonymity(sizes: npt.ArrayLike) -> int:
    """Give the largest k for which a release is k-anonymous.

    Parameters
    ----------
    sizes
        How many rows share each combination of quasi-identifiers.

    Examples
    --------
    >>> anonymity([7, 4, 5])
    4
    """
    return smallest_bucket(sizes)
