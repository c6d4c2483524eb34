"""Merging groups of values step by step, those with the closest distributions first.

Each value begins as a group of its own with a distribution: how often each of some other values
occurs with it. Two groups that are merged become one that counts by the rows of both. Either any
two groups may be merged or, where the values have an order, only neighbours.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts

__all__ = ["DISTANCES", "Distance", "merge_any", "merge_neighbours"]

_Floats = npt.NDArray[np.float64]
Distance = Callable[[_Floats, Codes, Codes], _Floats]
"""Says of rows of shares how far some are apart from others, one by one, or one from each."""

_NOBODY = -1
_DECIMALS = 12
"""Distances are rounded so that equal ones tie, whatever the last bits of a logarithm are."""


def _jensen_shannon(shares: _Floats, ones: Codes, others: Codes) -> _Floats:
    """Give the Jensen-Shannon divergence in bits.

    The distance is its square root; what is closest by one is closest by the other.
    """
    columns = np.arange(shares.shape[1])
    if len(ones) == 1:
        # A value that one of the two does not have adds nothing to what they share.
        columns = np.flatnonzero(shares[ones[0]])
    p, q = shares[np.ix_(ones, columns)], shares[np.ix_(others, columns)]
    shared = _x_log_x(p + q) - (_x_log_x(p) + _x_log_x(q))
    divergence: _Floats = 1 - shared.sum(axis=1) / 2
    return divergence


def _x_log_x(x: _Floats) -> _Floats:
    return x * np.log2(np.where(x > 0, x, 1))


def _largest_difference(shares: _Floats, ones: Codes, others: Codes) -> _Floats:
    largest: _Floats = np.abs(shares[ones] - shares[others]).max(axis=1)
    return largest


DISTANCES: dict[str, Distance] = {
    "jensen-shannon": _jensen_shannon,
    "largest-difference": _largest_difference,
}
"""The distances of distributions, by name."""


class _Groups:
    """Groups of values with their distributions; a group is numbered by its first value."""

    def __init__(self, counts: Counts, measure: Distance) -> None:
        self.counts = counts.copy()
        self.sizes: Counts = counts.sum(axis=1)
        self.shares = counts / np.maximum(self.sizes, 1)[:, np.newaxis]
        self.measure = measure

    def merge(self, first: int, second: int) -> None:
        """Add the rows of one group to another."""
        self.counts[first] += self.counts[second]
        self.sizes[first] += self.sizes[second]
        self.shares[first] = self.counts[first] / max(int(self.sizes[first]), 1)

    def apart(self, ones: Codes, others: Codes) -> _Floats:
        """Say how far groups are apart, pair by pair, or one from each of the others."""
        distances = self.measure(self.shares, ones, others)
        # Nothing tells a value that no row has from any other.
        is_empty = (self.sizes[ones] == 0) | (self.sizes[others] == 0)
        return np.where(is_empty, 0, np.round(distances, _DECIMALS))


# --- merging ------------------------------------------------------------------------------------


def merge_neighbours(counts: Counts, measure: Distance) -> Codes:
    """Merge groups that lie next to each other, the closest first, until one is left.

    Of pairs that are equally close the one with the fewest rows is merged, then the first.

    Parameters
    ----------
    counts
        One row a value, in order, one column a sensitive value.
    measure
        How far distributions are apart: one of `DISTANCES`.

    Returns
    -------
    One row a merge, in their order: two groups, each numbered by its first value.

    Examples
    --------
    >>> counts = np.array([[3, 0], [0, 3], [1, 3]])
    >>> merge_neighbours(counts, DISTANCES["jensen-shannon"]).tolist()
    [[1, 2], [0, 1]]
    """
    line = _Line(_Groups(counts, measure))
    merges = [line.join_closest() for _ in range(len(counts) - 1)]
    return np.array(merges, dtype=np.int64).reshape(-1, 2)


def merge_any(counts: Counts, measure: Distance) -> Codes:
    """Merge the two groups that are closest until one is left.

    Of pairs that are equally close the one with the fewest rows is merged, then the first. Work
    and memory grow with the square of the number of values.

    Parameters
    ----------
    counts
        One row a value, one column a sensitive value.
    measure
        How far distributions are apart: one of `DISTANCES`.

    Returns
    -------
    One row a merge, in their order: two groups, each numbered by its first value.

    Examples
    --------
    >>> counts = np.array([[3, 0], [0, 3], [3, 1]])
    >>> merge_any(counts, DISTANCES["jensen-shannon"]).tolist()
    [[0, 2], [0, 1]]
    """
    pairs = _Pairs(_Groups(counts, measure))
    merges = [pairs.join_closest() for _ in range(len(counts) - 1)]
    return np.array(merges, dtype=np.int64).reshape(-1, 2)


class _Line:
    """Groups in a row, and a queue of the gaps between them."""

    def __init__(self, groups: _Groups) -> None:
        n_groups = len(groups.sizes)
        self.groups = groups
        self.before = list(range(-1, n_groups - 1))
        self.after = list(range(1, n_groups + 1))
        # The gap after a group: its stamp changes with the groups on both sides of it.
        self.stamps = [0] * n_groups
        self.queue: list[tuple[float, int, int, int]] = []
        self._measure(range(n_groups - 1))

    def join_closest(self) -> tuple[int, int]:
        """Merge the closest neighbours."""
        left, right = self._closest()
        self.groups.merge(left, right)
        self.stamps[right] = -1
        end = self.after[left] = self.after[right]
        if end < len(self.after):
            self.before[end] = left
        lefts = (self.before[left], left)
        self._measure([one for one in lefts if one >= 0 and self.after[one] < len(self.after)])
        return left, right

    def _closest(self) -> tuple[int, int]:
        while True:
            _, _, left, stamp = heapq.heappop(self.queue)
            if stamp == self.stamps[left]:
                return left, self.after[left]

    def _measure(self, lefts: Sequence[int]) -> None:
        """Put the gaps after some groups into the queue."""
        ones = np.array(lefts, dtype=np.int64)
        others = np.array([self.after[left] for left in lefts], dtype=np.int64)
        sizes = (self.groups.sizes[ones] + self.groups.sizes[others]).tolist()
        distances = self.groups.apart(ones, others).tolist()
        for distance, size, left in zip(distances, sizes, lefts, strict=True):
            self.stamps[left] += 1
            heapq.heappush(self.queue, (distance, size, left, self.stamps[left]))


class _Pairs:
    """All pairs of groups, and for each group the one that is nearest to it.

    Nearest is the closest, of those equally close the one with the fewest rows, then the first.
    Where that group was merged, the distance and the rows are kept as bounds, and the next nearest
    is looked for only once the bounds are the lowest of all.
    """

    def __init__(self, groups: _Groups) -> None:
        n_groups = len(groups.sizes)
        self.groups = groups
        self.alive = np.arange(n_groups)
        self.apart = np.full((n_groups, n_groups), np.inf)
        for one in range(n_groups - 1):
            self._measure(one, np.arange(one + 1, n_groups))
        self.nearest = np.full(n_groups, _NOBODY)
        self.closest: _Floats = self.apart.min(axis=1, initial=np.inf)
        self.fewest = np.zeros(n_groups, dtype=np.int64)

    def join_closest(self) -> tuple[int, int]:
        """Merge the closest two groups."""
        first, second = self._closest()
        self.groups.merge(first, second)
        self.alive = self.alive[self.alive != second]
        others = self.alive[self.alive != first]
        if len(others):
            self._measure(first, others)
            is_lost = np.isin(self.nearest[others], (first, second))
            self.nearest[others[is_lost]] = _NOBODY
            self._look(first)
            self._offer(first, others)
        return first, second

    def _closest(self) -> tuple[int, int]:
        while True:
            closest = self.closest[self.alive]
            tied = self.alive[closest == closest.min()]
            one = int(tied[(self.groups.sizes[tied] + self.fewest[tied]).argmin()])
            if self.nearest[one] != _NOBODY:
                other = int(self.nearest[one])
                return min(one, other), max(one, other)
            self._look(one)

    def _measure(self, one: int, others: Codes) -> None:
        distances = self.groups.apart(np.array([one]), others)
        self.apart[one, others] = self.apart[others, one] = distances

    def _look(self, one: int) -> None:
        """Find the nearest group of a group among all that are left."""
        distances = self.apart[one, self.alive]
        tied = self.alive[distances == distances.min()]
        nearest = tied[self.groups.sizes[tied].argmin()]
        self.nearest[one] = nearest
        self.closest[one] = distances.min()
        self.fewest[one] = self.groups.sizes[nearest]

    def _offer(self, one: int, others: Codes) -> None:
        """Make a group the nearest of those that it is nearer to than their bounds."""
        distance, size = self.apart[others, one], self.groups.sizes[one]
        is_first = (size == self.fewest[others]) & (one < self.nearest[others])
        is_smaller = (size < self.fewest[others]) | is_first
        is_tied = distance == self.closest[others]
        nearer = others[(distance < self.closest[others]) | (is_tied & is_smaller)]
        self.nearest[nearer] = one
        self.closest[nearer] = self.apart[nearer, one]
        self.fewest[nearer] = size
