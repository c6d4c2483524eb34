"""How many rows a rule needs before the absence of a value among them says something.

A frequent value is expected among few rows already, a rare one only among many. The expectation of
a rule is the probability that its value occurs at least once among as many rows as its antecedent
has, drawn at random; a rule counts where that is at least `min_exp`. Here this becomes a least
number of rows by value, decided exactly.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section
IV-A.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact

__all__ = ["largest_below", "least_counts", "least_supports", "read_min_conf", "read_min_exp"]

Floats = npt.NDArray[np.float64]

_NEARLY = 1e-9
"""Thresholds this close to a whole number, relative to it, are decided exactly."""


def read_min_exp(value: Number) -> Fraction:
    """Read a minimum expectation, which lies between 0 and 1.

    Examples
    --------
    >>> read_min_exp(0.75)
    Fraction(3, 4)
    """
    min_exp = exact("min_exp", value)
    if not 0 <= min_exp <= 1:
        raise ParameterError(
            f"min_exp must lie between 0 and 1; got {value}.", hint="for example 0.9."
        )
    return min_exp


def read_min_conf(value: Number) -> Fraction:
    """Read a minimum confidence, which is above 0 and at most 1.

    Examples
    --------
    >>> read_min_conf(1)
    Fraction(1, 1)
    """
    min_conf = exact("min_conf", value)
    if not 0 < min_conf <= 1:
        raise ParameterError(
            f"min_conf must be above 0 and at most 1; got {value}.",
            hint="1 finds rules without exception.",
        )
    return min_conf


def least_counts(totals: Counts, min_exp: Fraction) -> Counts:
    """Give the fewest rows from which a rule about each value has the minimum expectation.

    Parameters
    ----------
    totals
        How often each value occurs in the table.
    min_exp
        The minimum expectation.

    Returns
    -------
    For each value the least whole c with (1 - P(s))**c <= 1 - min_exp. Where a value does not
    occur, or no part of the table is large enough, it is one more than the table has rows.

    Examples
    --------
    >>> least_counts(np.array([5, 5, 0]), Fraction(3, 4)).tolist()
    [2, 2, 11]
    """
    n_rows = int(totals.sum())
    real = least_supports(totals, min_exp)
    counts = np.where(real > n_rows, n_rows + 1, np.ceil(np.minimum(real, n_rows)))
    least = counts.astype(np.int64)
    if min_exp > 0:
        # 0**0 is 1: even of a value that every row has, one row is needed.
        least = np.maximum(least, 1)
    nearest = np.round(np.minimum(real, 2.0 * n_rows))
    is_close = (totals > 0) & (nearest > 0) & (np.abs(real - nearest) <= _NEARLY * nearest)
    for place in np.flatnonzero(is_close).tolist():
        count = int(nearest[place])
        share = Fraction(int(totals[place]), n_rows)
        is_enough = _is_power_at_most(1 - share, count, 1 - min_exp)
        least[place] = min(count if is_enough else count + 1, n_rows + 1)
    return least


def least_supports(totals: Counts, min_exp: Fraction) -> Floats:
    """Give the real threshold of each value, log(1 - min_exp) to the base 1 - P(s).

    Infinity where a value does not occur or nothing is enough; 0 where any row is.

    Examples
    --------
    >>> least_supports(np.array([4, 0]), Fraction(1)).tolist()
    [0.0, inf]
    >>> least_supports(np.array([2, 2, 0]), Fraction(1, 2)).tolist()
    [1.0, 1.0, inf]
    """
    n_rows = int(totals.sum())
    supports = np.full(len(totals), np.inf)
    if min_exp == 0:
        supports[totals > 0] = 0.0
        return supports
    supports[(totals > 0) & (totals == n_rows)] = 0.0
    if min_exp < 1:
        is_between = (totals > 0) & (totals < n_rows)
        wanted = float(_logarithm(1 - min_exp, Context(prec=60)))
        supports[is_between] = wanted / np.log1p(-totals[is_between] / n_rows)
    return supports


def largest_below(bound: Fraction, n_rows: int) -> Fraction:
    """Give the largest fraction up to a bound whose denominator is at most `n_rows`.

    A share of at most so many rows keeps the one bound where it keeps the other, and products
    with this one stay small.

    Examples
    --------
    >>> largest_below(Fraction("0.3333"), 10), largest_below(Fraction("0.34"), 10)
    (Fraction(3, 10), Fraction(1, 3))
    """
    closest = bound.limit_denominator(n_rows)
    if closest <= bound:
        return closest
    # The one before it among all fractions of such denominators: a*d - b*c = 1, d largest.
    above, below = closest.numerator, closest.denominator
    inverse = pow(above, -1, below)
    denominator = inverse + (n_rows - inverse) // below * below
    return Fraction((above * denominator - 1) // below, denominator)


def _is_power_at_most(base: Fraction, exponent: int, bound: Fraction) -> bool:
    """Say whether base**exponent <= bound, for a base and a bound between 0 and 1."""
    if base == 0 or bound in (0, 1):
        return base == 0 or bound == 1
    if exponent <= bound.denominator.bit_length():
        return base**exponent <= bound
    # A reduced fraction's power is reduced: its denominator, at least 2**exponent, is larger than
    # the bound's, so the two differ and enough digits tell which is smaller.
    digits = 30
    while True:
        context = Context(prec=digits)
        power = context.multiply(Decimal(exponent), _logarithm(base, context))
        difference = context.subtract(power, _logarithm(bound, context))
        if abs(difference) > Decimal(10) ** (len(str(exponent)) + len(str(bound)) - digits):
            return difference < 0
        digits *= 2


def _logarithm(value: Fraction, context: Context) -> Decimal:
    """Give the natural logarithm; its error is that of the logarithms of the two numbers."""
    numerator, denominator = Decimal(value.numerator), Decimal(value.denominator)
    return context.subtract(context.ln(numerator), context.ln(denominator))
