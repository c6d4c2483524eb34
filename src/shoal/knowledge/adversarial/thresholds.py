"""From when on a rule is adversarial: its least confidence and its least support.

Both are exact. A confidence is a share of at most as many rows as the table has, so the least
confidence is replaced by the next such share, which rules reach or miss alike and whose products
stay small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact, whole
from shoal.knowledge.mining.thresholds import largest_below

__all__ = ["Limits", "read_delta", "read_gamma"]


def read_delta(value: Number) -> Fraction:
    """Read a least confidence, which is above 0 and at most 1.

    Examples
    --------
    >>> read_delta(0.8)
    Fraction(4, 5)
    """
    delta = exact("delta", value)
    if not 0 < delta <= 1:
        raise ParameterError(
            f"delta must be above 0 and at most 1, not {value}.", hint="for example 0.8."
        )
    return delta


def read_gamma(value: Number, n_rows: int) -> int:
    """Read a least support: a whole number of rows, or a share of them, which is rounded up.

    Examples
    --------
    >>> read_gamma(2, 10_000), read_gamma(0.001, 10_001), read_gamma(1.0, 10)
    (2, 11, 10)
    """
    if isinstance(value, (int, np.integer)):
        return whole("gamma", value, least=1)
    share = exact("gamma", value)
    if not 0 < share <= 1:
        raise ParameterError(
            f"gamma must be a whole number of at least 1, or a share of the rows above 0 and at "
            f"most 1, not {value}.",
            hint="for example 0.001; an integer 1 is one row, a float 1.0 all of them.",
        )
    return max(1, math.ceil(share * n_rows))


@dataclass(frozen=True)
class Limits:
    """What makes a rule adversarial, as kernels read it.

    Parameters
    ----------
    gamma
        The fewest rows of the public set.
    numerator, denominator
        The least confidence.
    least_hits
        The fewest hits that a rule of enough support and confidence can have.
    use_hidden
        Whether the hidden confidence has to reach the least confidence too; else it is enough
        that the hidden set is not empty.
    """

    gamma: int
    numerator: int
    denominator: int
    least_hits: int
    use_hidden: bool

    @classmethod
    def of(cls, delta: Number, gamma: Number, n_rows: int, *, use_hidden: bool) -> Limits:
        """Read the limits for a table of so many rows.

        Examples
        --------
        >>> Limits.of(0.6666, 2, 10, use_hidden=True)
        Limits(gamma=2, numerator=2, denominator=3, least_hits=2, use_hidden=True)
        """
        least, support = read_delta(delta), read_gamma(gamma, n_rows)
        ratio = 1 - largest_below(1 - least, max(n_rows, 1))
        hits = math.ceil(ratio * support)
        return cls(support, ratio.numerator, ratio.denominator, hits, use_hidden)

    def is_confident(self, hits: int, count: int) -> bool:
        """Whether so many hits among so many rows are enough."""
        return hits * self.denominator >= self.numerator * count
