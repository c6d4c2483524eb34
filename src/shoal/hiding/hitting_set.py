"""The smallest set of columns that meets every antecedent of some rules.

In mode ``oblivious`` these are the columns that are blanked wherever the column that the rules
predict is private: each rule then misses an item. A smallest such set is hard to find in general,
so the search is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

Set = frozenset[int]


def minimum_hitting_set(sets: Collection[Set], *, n_steps: int = 100_000) -> tuple[int, ...]:
    """Return a smallest set that meets each of some sets; after `n_steps`, the best found so far.

    Finding it is hard in general, and quick for the columns of a table: these are few.

    Examples
    --------
    >>> minimum_hitting_set([frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})])
    (1, 2)
    """
    minimal = _minimal(sets)
    search = _Search(_greedy(minimal), n_steps)
    search.extend(minimal, frozenset(), frozenset())
    return tuple(sorted(search.best))


def _minimal(sets: Collection[Set]) -> list[Set]:
    """Leave out sets that contain another one; smaller sets come first."""
    kept: list[Set] = []
    for one in sorted(set(sets), key=lambda one: (len(one), sorted(one))):
        if not any(other <= one for other in kept):
            kept.append(one)
    return kept


def _greedy(sets: list[Set]) -> Set:
    """Take the element that is in most sets, again and again, until all are met."""
    chosen: set[int] = set()
    left = sets
    while left:
        counts = Counter(element for one in left for element in one)
        best = min(counts, key=lambda element: (-counts[element], element))
        chosen.add(best)
        left = [one for one in left if best not in one]
    return frozenset(chosen)


@dataclass
class _Search:
    """Branch and bound: every set has to be met by one of its elements."""

    best: Set
    n_steps: int

    def extend(self, left: list[Set], chosen: Set, excluded: Set) -> None:
        self.n_steps -= 1
        if len(chosen) + _n_disjoint(left) >= len(self.best) or self.n_steps < 0:
            return
        if not left:
            self.best = chosen
            return
        for element in sorted(min(left, key=lambda one: len(one - excluded)) - excluded):
            still = [one for one in left if element not in one]
            self.extend(still, chosen | {element}, excluded)
            # Other branches need not try it: all sets with it were tried here.
            excluded |= {element}


def _n_disjoint(sets: list[Set]) -> int:
    """Count sets that have nothing in common; each needs an element of its own."""
    taken: set[int] = set()
    n_disjoint = 0
    for one in sets:
        if taken.isdisjoint(one):
            taken |= one
            n_disjoint += 1
    return n_disjoint
