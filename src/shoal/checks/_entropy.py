"""Entropy l-diversity, decided exactly although logarithms are irrational.

A bucket of n rows with counts c_1, ..., c_m has an entropy of at least log(p / q) where

    n^n q^n >= p^n c_1^c_1 ... c_m^c_m.

Floats decide every bucket that is not close to a tie, and whole numbers every bucket whose counts
are equal. For the rest the factors of both sides tell whether they are the same number; where they
are not, logarithms of as many digits as it takes tell which is larger. So no power is written out,
however many rows there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.checks._entries import Marks, count_values, largest_counts
from shoal.core.cells import Buckets, Codes, group
from shoal.core.work import Work

__all__ = ["effective_numbers", "falls_short", "has_entropy", "strongest"]

Floats = npt.NDArray[np.float64]

_DECIMALS = 10**6
_FIRST_PRECISION = 40


def falls_short(buckets: Buckets, ell: Fraction, work: Work | None = None) -> Marks:
    """Say of each bucket whether its entropy is less than log(ell).

    Raises
    ------
    TooMuchWork
        If too many buckets are too near to a tie; default 2e9 operations.
    """
    work = work or Work()
    numerator, denominator = math.log(ell.numerator), math.log(ell.denominator)
    surplus = _entropies(buckets) - (numerator - denominator)
    fails: Marks = surplus < 0
    is_close = np.abs(surplus) <= _rounding_errors(buckets, numerator + denominator)
    is_even = _has_equal_counts(buckets)
    tied = np.flatnonzero(is_close & is_even)
    fails[tied] = count_values(buckets)[tied] < math.ceil(ell)
    uneven = np.flatnonzero(is_close & ~is_even)
    fails[uneven] = _fall_short_exactly(buckets, uneven, ell, work)
    return fails


def effective_numbers(buckets: Buckets) -> Floats:
    """Give the exponential of each bucket's entropy: as many equal counts would have it."""
    powers = np.exp(_entropies(buckets))
    return np.where(_has_equal_counts(buckets), count_values(buckets), powers)


def strongest(buckets: Buckets, work: Work | None = None) -> Fraction:
    """Return the largest ell of six decimals that every bucket has the entropy for."""
    steps = round(float(effective_numbers(buckets).min()) * _DECIMALS)
    work = work or Work()
    while falls_short(buckets, Fraction(steps, _DECIMALS), work).any():
        work.spend(len(buckets.value))
        steps -= 1
    return Fraction(steps, _DECIMALS)


def has_entropy(counts: Sequence[int], ell: Fraction, work: Work | None = None) -> bool:
    """Decide whether the entropy of positive counts is at least log(ell), without rounding.

    Examples
    --------
    >>> has_entropy([1, 1, 1], Fraction(3)), has_entropy([10**9 + 1, 10**9], Fraction(2))
    (True, False)
    """
    # Counts of 3, 3 and 6 have the entropy of 1, 1 and 2.
    divisor = math.gcd(*counts)
    reduced = [number // divisor for number in counts]
    n_rows = sum(reduced)
    exponents = Counter({n_rows: n_rows})
    exponents[ell.denominator] += n_rows
    exponents[ell.numerator] -= n_rows
    for number in reduced:
        exponents[number] -= number
    precision = _FIRST_PRECISION
    work = work or Work()
    work.spend(len(exponents) * precision**2)
    sign = _sign_of_logarithm(exponents, precision)
    if sign == 0 and _is_one(exponents.items()):
        return True
    while sign == 0:
        precision *= 2
        work.spend(len(exponents) * precision**2)
        sign = _sign_of_logarithm(exponents, precision)
    return sign > 0


def _entropies(buckets: Buckets) -> Floats:
    counts = buckets.count.astype(np.float64)
    sizes = buckets.sizes.astype(np.float64)
    sums: Floats = np.add.reduceat(counts * np.log(counts), buckets.starts)
    return np.log(sizes) - sums / sizes


def _rounding_errors(buckets: Buckets, log_terms: float) -> Floats:
    """Bound how far off the entropies, and the threshold, can be.

    A sum of m floats is off by at most m epsilon of its terms' sum, and each term by a few epsilon.
    """
    scale = np.log(buckets.sizes) + log_terms + 1
    errors: Floats = 4 * np.finfo(np.float64).eps * (count_values(buckets) + 16) * scale
    return errors


def _has_equal_counts(buckets: Buckets) -> Marks:
    smallest = np.minimum.reduceat(buckets.count, buckets.starts)
    return np.asarray(smallest == largest_counts(buckets))


def _fall_short_exactly(buckets: Buckets, chosen: Codes, ell: Fraction, work: Work) -> Marks:
    """Decide some buckets exactly, once for all that have the same counts."""
    fails = np.empty(len(chosen), dtype=bool)
    n_values = count_values(buckets)[chosen]
    for number in np.unique(n_values).tolist():
        is_member = n_values == number
        starts = buckets.starts[chosen[is_member]]
        counts = np.sort(buckets.count[starts[:, np.newaxis] + np.arange(number)], axis=1)
        distinct = np.unique(counts)
        columns = list(np.searchsorted(distinct, counts).T)
        first, inverse = group(columns, [len(distinct)] * number, len(counts))
        decided = np.array(
            [not has_entropy(profile, ell, work) for profile in counts[first].tolist()]
        )
        fails[is_member] = decided[inverse]
    return fails


def _is_one(powers: Iterable[tuple[int, int]]) -> bool:
    """Decide whether a product of powers is 1, from bases without a common divisor."""
    pending = list(powers)
    coprime: list[tuple[int, int]] = []
    while pending:
        base, exponent = pending.pop()
        if base == 1 or exponent == 0:
            continue
        for place, (other, other_exponent) in enumerate(coprime):
            divisor = math.gcd(base, other)
            if divisor > 1:
                del coprime[place]
                pending += [
                    (divisor, exponent + other_exponent),
                    (base // divisor, exponent),
                    (other // divisor, other_exponent),
                ]
                break
        else:
            coprime.append((base, exponent))
    return not coprime


def _sign_of_logarithm(exponents: Mapping[int, int], precision: int) -> int:
    """Give the sign of the logarithm of a product of powers; 0 where more digits are needed."""
    with localcontext(Context(prec=precision)):
        terms = [exponent * Decimal(base).ln() for base, exponent in exponents.items()]
        total = sum(terms, Decimal(0))
        # Logarithms are rounded correctly; a hundredfold margin covers products and sums.
        scale = sum(map(abs, terms), Decimal(1)) * (len(terms) + 1)
        if abs(total) <= scale.scaleb(3 - precision):
            return 0
    return 1 if total > 0 else -1
