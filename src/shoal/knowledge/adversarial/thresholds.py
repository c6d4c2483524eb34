"""From when on a rule is adversarial: its least confidence and its least support.

Both are exact. A confidence is a share of at most as many rows as the table has, so the least
confidence is replaced by the next such share, which rules reach or miss alike and whose products
stay small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from shoal.core.exact import Number
from shoal.core.rule_thresholds import read_delta, read_gamma
from shoal.knowledge.mining.thresholds import largest_below

__all__ = ["Limits"]


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
