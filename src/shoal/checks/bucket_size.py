"""Bucket size: every bucket of a bucketized release holds at least k rows.

It is checked as k-anonymity is; what differs is which rows the evidence puts into one bucket.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.checks._entries import confirm_sizes
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.errors import DataError
from shoal.core.guarantees import BucketSize

__all__ = ["check", "smallest_bucket"]


def check(guarantee: BucketSize, evidence: Evidence) -> Verdict:
    """Check that every bucket holds at least k rows.

    Examples
    --------
    >>> check(BucketSize(k=4), Evidence(None, np.array([7, 4, 5])))
    Verdict(bucket size holds in all 3 buckets, reached k=4)
    """
    return Verdict.of_failures(
        guarantee,
        evidence.sizes < guarantee.k,
        f"hold fewer than {guarantee.k} rows",
        {"k": smallest_bucket(evidence.sizes)} if evidence.sizes.size else {},
    )


def smallest_bucket(sizes: npt.ArrayLike) -> int:
    """Give the number of rows in the smallest bucket.

    Parameters
    ----------
    sizes
        How many rows each bucket holds.

    Examples
    --------
    >>> smallest_bucket([7, 4, 5])
    4
    """
    counts = confirm_sizes(np.asarray(sizes))
    if not counts.size:
        raise DataError("A release without rows has no strongest parameter.")
    return int(counts.min())
