"""How sure a share is that was counted in a sample."""

from __future__ import annotations

import math

__all__ = ["share_interval"]

_NORMAL_QUANTILE = 1.959963984540054
"""Of 95 %, two-sided."""


def share_interval(n_hits: int, n_tries: int) -> tuple[float, float]:
    """Give the Wilson interval, at 95 %, of a share; anything is possible where nothing was tried.

    Examples
    --------
    >>> low, high = share_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    >>> share_interval(0, 0)
    (0.0, 1.0)
    """
    if n_tries == 0:
        return 0.0, 1.0
    share, spread = n_hits / n_tries, _NORMAL_QUANTILE**2 / n_tries
    centre = share + spread / 2
    half = _NORMAL_QUANTILE * math.sqrt(share * (1 - share) / n_tries + spread / (4 * n_tries))
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    # Rounding must not leave the share outside its own interval.
    return max(0.0, min(low, share)), min(1.0, max(high, share))
