"""Thresholds as fractions of small numbers, and logarithms compared without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

__all__ = ["highest_at_most", "is_entropy_at_least", "lowest_at_least"]

_LARGEST_POWER = 5000
_DIGITS = 60


def highest_at_most(share: Fraction, limit: int) -> Fraction:
    """Give the highest fraction of a denominator up to `limit` that is at most a share.

    A quotient of counts up to `limit` is at most one exactly when it is at most the other, and
    products with the other stay small.

    Examples
    --------
    >>> highest_at_most(Fraction("0.3333333333333333"), 100)
    Fraction(33, 100)
    """
    nearest = share.limit_denominator(limit)
    if nearest <= share:
        return nearest
    # [Hardy, Wright] Theorem 28: neighbours p'/q' < p/q in a Farey series have p q' - p' q = 1.
    inverse = pow(nearest.numerator, -1, nearest.denominator)
    denominator = limit - (limit - inverse) % nearest.denominator
    return Fraction((nearest.numerator * denominator - 1) // nearest.denominator, denominator)


def lowest_at_least(share: Fraction, limit: int) -> Fraction:
    """Give the lowest fraction of a denominator up to `limit` that is at least a share.

    Examples
    --------
    >>> lowest_at_least(Fraction("0.3333333333333333"), 100)
    Fraction(1, 3)
    """
    return 1 - highest_at_most(1 - share, limit)


def is_entropy_at_least(counts: Sequence[int], ell: Fraction) -> bool:
    """Whether the entropy of a distribution, given by positive counts, is at least log(ell).

    Examples
    --------
    >>> is_entropy_at_least([3, 3], Fraction(2)), is_entropy_at_least([4, 3], Fraction(2))
    (True, False)
    """
    divisor = math.gcd(*counts)
    counts = [count // divisor for count in counts]
    total = sum(counts)
    if total > _LARGEST_POWER:
        with localcontext(Context(prec=_DIGITS)):
            excess = _excess(counts, total, ell)
            # Sums of this size are wrong by far less.
            if abs(excess) > Decimal(10) ** (20 - _DIGITS) * total:
                return excess > 0
    product = math.prod(count**count for count in counts)
    return bool(ell.numerator**total * product <= (total * ell.denominator) ** total)


def _excess(counts: Sequence[int], total: int, ell: Fraction) -> Decimal:
    """Give the entropy less log(ell), times the total."""
    bound = Decimal(ell.numerator).ln() - Decimal(ell.denominator).ln()
    logarithms = {count: Decimal(count).ln() for count in {*counts, total}}
    spread = sum((count * logarithms[count] for count in counts), Decimal(0))
    return total * logarithms[total] - spread - total * bound
