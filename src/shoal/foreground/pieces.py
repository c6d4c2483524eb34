"""What the attack does first if it may not do everything, and what each piece of it costs.

A piece is the additive model of one sensitive value, or one set of quasi-identifiers by which one
value is mined. The order says which pieces tell most: first the models of all values, the rarest
value first, each with the sets of one quasi-identifier; then the longer sets for all of these
values, the shorter first, because longer ones have fewer rows a signature and mostly repeat what
their parts say. The first pieces that fit the budget are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.core.budget import most_within
from shoal.hierarchies.levels import MOST_VALUES

# Units (`shoal.core.budget`), measured with the census of 4,000 to 200,000 people by Anatomy and
# Mondrian (decision 0015): the cost of a value, that of comparing its beliefs with the truth
# included, and what it costs per entry of the release. The same for a set, measured with slices,
# whose buckets are larger.
_VALUE, _VALUE_PER_ENTRY = 4_000_000, 450
_SET, _SET_PER_ENTRY = 300_000, 15
_MOST_SETS = 500
"""The most sets that are assumed before they are counted: with more columns, most are too rare."""


@dataclass(frozen=True)
class Pieces:
    """How many of the values, and how many of the sets of quasi-identifiers, are attacked by."""

    n_values: int
    n_sets: int

    def cost(self, n_entries: int) -> int:
        """Return the units that they take on a release with so many entries."""
        n_values = min(self.n_values, MOST_VALUES)
        by_set = self.n_sets * (_SET + _SET_PER_ENTRY * n_entries)
        return n_values * (_VALUE + _VALUE_PER_ENTRY * n_entries + by_set)

    def within(self, units: int, n_entries: int, n_columns: int) -> Pieces:
        """Return the first of these pieces that fit the budget; at least one value.

        No budget pays for more than a hundred values: with so many, the rarest have too few people
        for anybody to learn from. A column of more should have levels.

        Examples
        --------
        >>> Pieces(15, 127).within(6_000_000_000, 30_000, 7)
        Pieces(n_values=15, n_sets=127)
        >>> Pieces(15, 127).within(500_000_000, 30_000, 7)
        Pieces(n_values=15, n_sets=21)
        >>> Pieces(15, 127).within(100_000_000, 30_000, 7)
        Pieces(n_values=4, n_sets=7)
        """
        if not self.n_values:
            return self
        least = min(n_columns, self.n_sets)
        most = min(self.n_values, MOST_VALUES)
        n_values = most_within(units, lambda n: Pieces(n, least).cost(n_entries), most)
        if n_values < most:
            return Pieces(n_values, least)
        n_sets = most_within(
            units, lambda n: Pieces(n_values, n).cost(n_entries), self.n_sets, least=least
        )
        return Pieces(n_values, n_sets)


def most_sets(largest: Sequence[float], least: float) -> int:
    """Return how many sets may have a frequent signature, before they are counted.

    `largest` are the shares of the most frequent value of each column, and `least` is the share of
    the rows that a frequent signature has. A signature has no more rows than any of its values. In
    a sample a value may be more frequent, though hardly twice.

    Examples
    --------
    >>> most_sets([0.5, 0.5, 0.1], 0.5), most_sets([0.5, 0.5, 0.1], 0.01)
    (3, 7)
    """
    n_frequent = sum(2 * share >= least for share in largest)
    return min((1 << n_frequent) - 1, _MOST_SETS)
