"""How sure a share is that was counted in a sample."""

from __future__ import annotations

import math
from statistics import NormalDist

__all__ = ["share_interval"]

_NORMAL_QUANTILE = 1.959963984540054
"""Of 95 %, two-sided."""
_TAIL = 0.025


def share_interval(n_hits: int, n_tries: int, *, n_shares: int = 1) -> tuple[float, float]:
    """Return the Wilson interval, at 95 %, of a share; 0 to 1 where nothing was tried.

    Parameters
    ----------
    n_hits, n_tries
        How often something was true, of how many times.
    n_shares
        Among how many shares this one was chosen after they were seen; default 1. The interval
        is widened (Bonferroni), so that with 95 % all of them lie in theirs.

    Examples
    --------
    >>> low, high = share_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    >>> low, high = share_interval(8, 10, n_shares=3)
    >>> round(low, 3), round(high, 3)
    (0.426, 0.956)
    >>> share_interval(0, 0)
    (0.0, 1.0)
    """
    if n_tries == 0:
        return 0.0, 1.0
    quantile = _NORMAL_QUANTILE
    if n_shares > 1:
        quantile = NormalDist().inv_cdf(1 - _TAIL / n_shares)
    share, spread = n_hits / n_tries, quantile**2 / n_tries
    centre = share + spread / 2
    half = quantile * math.sqrt(share * (1 - share) / n_tries + spread / (4 * n_tries))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    # Rounding must not leave the share outside its own interval.
    return max(0.0, min(low, share)), min(1.0, max(high, share))
