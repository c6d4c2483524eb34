"""Ratios of counts, compared with a threshold and with each other without rounding.

Floats only guess where the greatest ratio is; every decision is made in whole numbers. Products
never leave 64 bits, because thresholds are turned into one whole limit for each denominator, and
a release of N rows cannot have more than sqrt(2 N) denominators that differ.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts

__all__ = ["Numerators", "greatest", "is_at_most"]

Numerators = npt.NDArray[Any]
"""64-bit integers, or Python's own where those would not hold them."""

_LARGEST = int(np.iinfo(np.int64).max)


def is_at_most(
    numerators: Numerators, denominators: Counts, bound: Fraction
) -> npt.NDArray[np.bool_]:
    """Say of each ratio whether it is at most `bound`.

    Parameters
    ----------
    numerators
        At least 0.
    denominators
        At least 1.
    bound
        At least 0.

    Examples
    --------
    >>> is_at_most(np.array([1, 1, 2]), np.array([4, 5, 10]), Fraction("0.2")).tolist()
    [False, True, True]
    """
    distinct, inverse = np.unique(denominators, return_inverse=True)
    numerator, denominator = bound.as_integer_ratio()
    limits = [numerator * number // denominator for number in distinct.tolist()]
    if numerators.dtype == np.int64:
        limits = [min(limit, _LARGEST) for limit in limits]
    return np.asarray(numerators <= np.array(limits, dtype=numerators.dtype)[inverse], dtype=bool)


def greatest(numerators: Numerators, denominators: Counts) -> Fraction:
    """Give the greatest of at least one ratio.

    Examples
    --------
    >>> greatest(np.array([1, 3, 2]), np.array([2, 4, 3]))
    Fraction(3, 4)
    """
    best = _likely_greatest(numerators, denominators)
    # Ratios that no float tells apart are left over; each round keeps those above the last guess.
    while (is_above := ~is_at_most(numerators, denominators, best)).any():
        numerators, denominators = numerators[is_above], denominators[is_above]
        best = _likely_greatest(numerators, denominators)
    return best


def _likely_greatest(numerators: Numerators, denominators: Counts) -> Fraction:
    place = int(np.argmax(numerators.astype(np.float64) / denominators))
    return Fraction(int(numerators[place]), int(denominators[place]))
