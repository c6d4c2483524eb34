"""(alpha, k)-anonymity: k-anonymity, and no value in more than alpha of the rows of a bucket.

With protected values alpha bounds each of them for itself, and no other value.

References
----------
R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang, (alpha, k)-anonymity: an enhanced k-anonymity model for
privacy preserving data publishing, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from shoal.checks._entries import Marks, confirm_occupied, largest_counts, mark_protected
from shoal.checks._ratios import greatest, is_at_most
from shoal.checks.k_anonymity import anonymity, count_alike, find_exposed
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.cells import Buckets
from shoal.core.exact import as_text
from shoal.core.guarantees import AlphaK

__all__ = ["check", "largest_share"]


def check(guarantee: AlphaK, evidence: Evidence) -> Verdict:
    """Check how many rows look alike, and the share of the values of every bucket.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 0, 2]), disease)
    >>> check(AlphaK(alpha=0.5, k=2), Evidence.of_buckets(buckets))
    Verdict((alpha, k)-anonymity fails in 1 of 2 buckets, reached alpha=2/3, k=2)
    """
    buckets = evidence.buckets_for(guarantee)
    frequent = largest_counts(buckets, _marks(buckets, guarantee.protect))
    is_exposed, fault = find_exposed(evidence, guarantee.k)
    return Verdict.of_failures(
        guarantee,
        is_exposed | ~is_at_most(frequent, buckets.sizes, guarantee.alpha),
        f"{fault} or have a value in more than {as_text(guarantee.alpha)} of their rows",
        _reached(buckets, evidence, guarantee.protect) if buckets.n_buckets else {},
    )


def largest_share(buckets: Buckets, protect: Sequence[str | None] = ()) -> Fraction:
    """Give the least alpha: the largest share that one value has in a bucket.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    protect
        The values that count, each for itself; all where none is given. None is the missing one.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 0, 2]), disease)
    >>> largest_share(buckets), largest_share(buckets, protect=["flu", "gout"])
    (Fraction(2, 3), Fraction(1, 3))
    """
    frequent = largest_counts(confirm_occupied(buckets), _marks(buckets, protect))
    return greatest(frequent, buckets.sizes)


def _marks(buckets: Buckets, protect: Sequence[str | None]) -> Marks | None:
    return mark_protected(buckets, protect) if protect else None


def _reached(
    buckets: Buckets, evidence: Evidence, protect: Sequence[str | None]
) -> dict[str, object]:
    return {
        "alpha": as_text(largest_share(buckets, protect)),
        "k": anonymity(count_alike(evidence)),
    }
