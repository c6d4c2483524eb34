"""Expected carriers of each class in buckets, given how many rows of the bucket carry a value.

In a small bucket every way to share the carriers out among its classes is listed, and weighed. In a
large one the number of carriers of each class is binomial, given that they add up to n, and the
binomial laws are added up class by class. A bucket whose rows are all of one class needs neither:
whatever the chance, everybody in it is a carrier with n/N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shoal.core.cells import Codes, Counts

__all__ = ["Floats", "Listed", "Mixed", "Part"]

Floats = npt.NDArray[np.float64]

_MOST_HALVINGS = 60
_NEAR = 0.5
_SHORT = 48
"""Sums of so few carriers are added up one by one; longer ones by Fourier transform."""
_FEW = 200_000


class Part(Protocol):
    """Some of the buckets of a release that hold a carrier and rows of several classes."""

    @property
    def n_operations(self) -> int:
        """About how many operations one call of `expect` takes, for one point."""

    def expect(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class over all buckets, and their log-likelihood.

        Parameters
        ----------
        logs
            The logarithms of the odds: one row per point, one column per class.
        """

    def beliefs(self, logs: Floats, weights: Floats) -> tuple[Codes, Floats]:
        """Return buckets, and the largest belief about a row of each.

        Parameters
        ----------
        logs
            The logarithms of the odds: one row per point, one column per class.
        weights
            The weights of the points.
        """


@dataclass(frozen=True, eq=False)
class Mixed:
    """Buckets with carriers and rows of several classes, of about the same size.

    Parameters
    ----------
    which, rows
        One line per kind of bucket: its classes, and how many rows of each it has.
    carriers
        How many rows of each carry the value.
    alike
        How many buckets are of each kind.
    bucket, kind
        The buckets, and the kind of each.
    """

    which: Codes
    rows: Counts
    carriers: Counts
    alike: Counts
    bucket: Codes
    kind: Codes

    @property
    def n_operations(self) -> int:
        """About how many operations one call of `expect` takes, for one point."""
        width = int(self.carriers.max()) + 1
        return int(self.which.size) * width * min(width, _SHORT)

    def each(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class, and the logarithm of the sum over worlds.

        Returns
        -------
        expected
            By point, kind of bucket and class.
        log
            By point and kind, the logarithm of the sum of the products of the odds of those who
            carry the value, over all worlds.
        """
        own = logs[:, self.which]
        shape = own.shape
        expected, log = self._convolve(own.reshape(-1, shape[2]), shape[0])
        return expected.reshape(shape), log.reshape(shape[:2])

    def expect(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class over all buckets; see `Part`."""
        found, log = self.each(logs)
        place = self.which + logs.shape[1] * np.arange(len(logs))[:, np.newaxis, np.newaxis]
        carriers = (found * self.alike[:, np.newaxis]).ravel()
        expected = np.bincount(place.ravel(), carriers, logs.size).astype(np.float64)
        return expected.reshape(logs.shape), (log * self.alike).sum(axis=1)

    def beliefs(self, logs: Floats, weights: Floats) -> tuple[Codes, Floats]:
        """Return buckets, and the largest belief about a row of each; see `Part`."""
        belief = self.each(logs)[0] / self.rows
        mean = (belief * weights[:, np.newaxis, np.newaxis]).sum(axis=0)
        return self.bucket, mean.max(axis=1)[self.kind]

    def _convolve(self, own: Floats, n_points: int) -> tuple[Floats, Floats]:
        """Sum over how many carriers each class has; all points one after the other."""
        carriers, rows = np.tile(self.carriers, n_points), np.tile(self.rows, (n_points, 1))
        shift = _shift(own, rows, carriers)
        exponent = np.clip(own + shift[:, np.newaxis], -700, 700)
        yes, no = -np.logaddexp(0, -exponent), -np.logaddexp(0, exponent)
        number, rest, ways = (np.tile(part, (n_points, 1, 1)) for part in self._ways)
        binomial = np.exp(ways + number * yes[:, :, np.newaxis] + rest * no[:, :, np.newaxis])
        n_classes, width = own.shape[1], binomial.shape[2]
        nobody = np.zeros((len(own), width))
        nobody[:, 0] = 1.0
        before, after = [nobody], [nobody]
        for place in range(n_classes - 1):
            before.append(_add(before[-1], binomial[:, place]))
            after.append(_add(after[-1], binomial[:, n_classes - 1 - place]))
        expected, total = np.empty(own.shape), np.empty(len(own))
        left = carriers[:, np.newaxis] - np.arange(width)
        for place in range(n_classes):
            others = _add(before[place], after[n_classes - 1 - place])
            rest_of = np.take_along_axis(others, np.maximum(left, 0), axis=1)
            weight = np.where(left >= 0, binomial[:, place] * rest_of, 0.0)
            total = weight.sum(axis=1)
            expected[:, place] = (weight * np.arange(width)).sum(axis=1) / total
        log = np.log(total) - (rows * no).sum(axis=1) - carriers * shift
        return expected, log

    @cached_property
    def _ways(self) -> tuple[Floats, Floats, Floats]:
        """Return 0, 1, 2, ..., the rows left of each class, and the log of the ways to choose.

        There is no way to choose more rows than a class has.
        """
        rows = self.rows[:, :, np.newaxis]
        number = np.broadcast_to(
            np.arange(int(self.carriers.max()) + 1),
            (*self.rows.shape, int(self.carriers.max()) + 1),
        )
        rest = np.maximum(rows - number, 0)
        top = max(int(self.rows.max()), int(self.carriers.max()) + 1)
        factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, top + 1)))])
        ways = factorial[rows] - factorial[number] - factorial[rest]
        chosen = np.where(number <= rows, ways, -np.inf)
        return number.astype(np.float64), rest.astype(np.float64), chosen


def _shift(logs: Floats, rows: Counts, carriers: Counts) -> Floats:
    """Return what to add to the logarithms so that as many carriers are expected as there are.

    Near is enough: the number itself changes nothing but how small the terms are.
    """
    even = np.log(carriers / (rows.sum(axis=1) - carriers + 0.5))
    low, high = even - logs.max(axis=1), even - logs.min(axis=1)
    middle: Floats = (low + high) / 2
    for _ in range(_MOST_HALVINGS):
        middle = (low + high) / 2
        exponent = np.clip(logs + middle[:, np.newaxis], -700, 700)
        excess = (rows / (1 + np.exp(-exponent))).sum(axis=1) - carriers
        if np.all(np.abs(excess) <= _NEAR):
            break
        low, high = np.where(excess < 0, middle, low), np.where(excess < 0, high, middle)
    return middle


def _add(one: Floats, other: Floats) -> Floats:
    """Return the distribution of the sum of two numbers, as far as it is kept."""
    width = one.shape[1]
    if width <= _SHORT:
        total = np.zeros_like(one)
        for number in range(width):
            total[:, number:] += one[:, number : number + 1] * other[:, : width - number]
        return total
    product = np.fft.rfft(one, 2 * width) * np.fft.rfft(other, 2 * width)
    found: Floats = np.maximum(np.fft.irfft(product, 2 * width)[:, :width], 0.0)
    return found


@dataclass(frozen=True, eq=False)
class Listed:
    """Small buckets, with every way to share their carriers out among their classes.

    Parameters
    ----------
    shares
        One line per way: how many carriers each class has.
    ways
        The logarithm of how many worlds each way stands for.
    start
        The first way of each kind of bucket.
    alike
        How many buckets are of each kind.
    rows
        One line per kind: how many rows it has of each class.
    bucket, kind
        The buckets, and the kind of each.
    """

    shares: sparse.csr_array
    ways: Floats
    start: Codes
    alike: Counts
    rows: sparse.csr_array
    bucket: Codes
    kind: Codes

    @classmethod
    def of(
        cls,
        kinds: list[tuple[tuple[int, ...], tuple[int, ...], int]],
        alike: list[int],
        bucket: Codes,
        kind: Codes,
        n_classes: int,
    ) -> Listed:
        """List the ways of kinds of buckets: classes, rows of each, and carriers."""
        way_of: list[int] = []
        class_of: list[int] = []
        number_of: list[int] = []
        ways: list[float] = []
        start: list[int] = []
        for which, rows, carriers in kinds:
            start.append(len(ways))
            for way in _ways_to_share(rows, carriers):
                log = sum(
                    math.log(math.comb(most, number))
                    for most, number in zip(rows, way, strict=True)
                )
                own = [place for place, number in enumerate(way) if number]
                way_of += [len(ways)] * len(own)
                class_of += [which[place] for place in own]
                number_of += [way[place] for place in own]
                ways.append(log)
        size = (len(ways), n_classes)
        shares = sparse.csr_array((np.array(number_of, float), (way_of, class_of)), shape=size)
        line = [number for number, (which, _, _) in enumerate(kinds) for _ in which]
        held = [one for which, _, _ in kinds for one in which]
        count = np.array([one for _, rows, _ in kinds for one in rows], dtype=np.float64)
        table = sparse.csr_array((count, (line, held)), shape=(len(kinds), n_classes))
        first = np.array(start, dtype=np.int64)
        return cls(shares, np.array(ways), first, np.array(alike), table, bucket, kind)

    @cached_property
    def _kind_of_way(self) -> Codes:
        length = np.diff(np.append(self.start, len(self.ways)))
        return np.repeat(np.arange(len(self.start)), length)

    @cached_property
    def _both(self) -> tuple[Any, Any]:
        """The shares and their transpose, dense where they are few."""
        if self.shares.shape[0] * self.shares.shape[1] <= _FEW:
            dense = self.shares.toarray()
            return dense, np.ascontiguousarray(dense.T)
        return self.shares, self.shares.T.tocsr()

    @property
    def n_operations(self) -> int:
        """About how many operations one call of `expect` takes, for one point."""
        return 2 * int(self.shares.nnz) + 5 * len(self.ways)

    def _weigh(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return how likely each way is in its bucket, one column per point, and the log sums."""
        height = self._both[0] @ logs.T + self.ways[:, np.newaxis]
        top = np.maximum.reduceat(height, self.start, axis=0)
        weight = np.exp(height - top[self._kind_of_way])
        total = np.add.reduceat(weight, self.start, axis=0)
        return weight / total[self._kind_of_way], np.log(total) + top

    def expect(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class over all buckets; see `Part`."""
        weight, log = self._weigh(logs)
        every = weight * self.alike[self._kind_of_way][:, np.newaxis]
        expected: Floats = (self._both[1] @ every).T
        return expected, (log * self.alike[:, np.newaxis]).sum(axis=0)

    def beliefs(self, logs: Floats, weights: Floats) -> tuple[Codes, Floats]:
        """Return buckets, and the largest belief about a row of each; see `Part`."""
        weight = (self._weigh(logs)[0] * weights).sum(axis=1)
        owner = sparse.csr_array(
            (weight, (self._kind_of_way, np.arange(len(weight)))),
            shape=(len(self.start), len(weight)),
        )
        expected = (owner @ self.shares).tocsr()
        rows = self.rows.copy()
        rows.data = 1 / rows.data
        belief = expected.multiply(rows).tocsr()
        largest = np.asarray(belief.max(axis=1).todense()).ravel()
        return self.bucket, largest[self.kind]


def _ways_to_share(rows: tuple[int, ...], carriers: int) -> list[tuple[int, ...]]:
    """List the ways to share carriers out among classes of so many rows."""
    if len(rows) == 1:
        return [(carriers,)] if carriers <= rows[0] else []
    left = sum(rows[1:])
    return [
        (number, *rest)
        for number in range(max(carriers - left, 0), min(carriers, rows[0]) + 1)
        for rest in _ways_to_share(rows[1:], carriers - number)
    ]
