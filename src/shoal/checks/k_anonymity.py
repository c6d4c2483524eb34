"""k-anonymity: every combination of published quasi-identifiers is shared by at least k rows.

The rows that share a combination are a bucket of the evidence, so that its smallest bucket is the
largest k.

References
----------
L. Sweeney, k-anonymity: a model for protecting privacy, 2002, Definition 3.
"""

from __future__ import annotations

import numpy.typing as npt

from shoal.checks.bucket_size import smallest_bucket
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.guarantees import KAnonymity

__all__ = ["anonymity", "check"]


def check(guarantee: KAnonymity, evidence: Evidence) -> Verdict:
    """Check that every bucket holds at least k rows.

    Examples
    --------
    >>> import numpy as np
    >>> check(KAnonymity(k=5), Evidence(None, np.array([7, 4, 5])))
    Verdict(k-anonymity fails in 1 of 3 buckets, reached k=4)
    """
    return Verdict.of_failures(
        guarantee,
        evidence.sizes < guarantee.k,
        f"hold fewer than {guarantee.k} rows",
        {"k": anonymity(evidence.sizes)} if evidence.sizes.size else {},
    )


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
