"""How sure a mean or a median is that was found on drawn queries, rules or rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["mean_interval", "median_interval"]

Reals = npt.NDArray[np.float64]

_NORMAL_QUANTILE = 1.959963984540054
"""Of 95 %, two-sided."""


def mean_interval(numbers: Reals, weights: Reals | None = None) -> tuple[float, float]:
    """Give the normal interval, at 95 %, of a mean; the mean itself where nothing varies.

    Parameters
    ----------
    numbers
        What was found.
    weights
        How often each was found; once where left out.

    Examples
    --------
    >>> low, high = mean_interval(np.array([0.0, 1.0, 0.0, 1.0]))
    >>> round(low, 3), round(high, 3)
    (-0.066, 1.066)
    """
    if weights is None:
        weights = np.ones(len(numbers))
    n_found = float(weights.sum())
    if n_found == 0:
        return math.nan, math.nan
    mean = float(numbers @ weights) / n_found
    squares = float((numbers - mean) ** 2 @ weights)
    half = _NORMAL_QUANTILE * math.sqrt(squares / max(n_found - 1, 1) / n_found)
    return mean - half, mean + half


def median_interval(numbers: Reals) -> tuple[float, float]:
    """Give the interval, at 95 %, of a median: by ranks, whatever the distribution.

    Examples
    --------
    >>> median_interval(np.arange(101.0))
    (40.0, 60.0)
    """
    if not len(numbers):
        return math.nan, math.nan
    ordered = np.sort(numbers)
    half = _NORMAL_QUANTILE * math.sqrt(len(ordered)) / 2
    middle = (len(ordered) - 1) / 2
    low, high = math.floor(middle - half), math.ceil(middle + half)
    return float(ordered[max(low, 0)]), float(ordered[min(high, len(ordered) - 1)])
