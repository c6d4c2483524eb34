"""The likelihood of the probabilities of one attribute set, from the published lines and values.

The number of carriers of each class in a bucket is binomial, given that they sum to n. The binomial
laws are added class by class: by a kernel, or by Fourier transform if there are many carriers. A
bucket whose rows are all of one class needs neither: whatever the probability, each of its rows is
a carrier with n/N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import Cells
from shoal.foreground.check._kernels import share_out

_MANY = 512
"""Buckets with more carriers are added by Fourier transform."""
_MOST_HALVINGS = 60
_NEAR = 0.5
_SHORT = 48
"""Sums of this few carriers are added one by one; longer ones by Fourier transform."""
_MOST_ENTRIES = 2_000_000
"""How many entries of buckets are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Held:
    """The rows of each class in each bucket, whatever the value is.

    Entries are sorted by bucket, the `owner`: `rows` of it are of class `which`. A bucket has
    `n_own` classes and `sizes` rows, and `only` is one of its classes. `total` is the number of
    rows of each class.
    """

    owner: Codes
    which: Codes
    rows: Counts
    n_own: Counts
    sizes: Counts
    only: Codes
    total: Counts

    @classmethod
    def of(cls, lines: Cells, classes: Codes, n_buckets: int, n_classes: int) -> Held:
        """Count the published lines, of which the first column is the bucket, by their classes."""
        pairs, inverse = np.unique(lines.codes[:, 0] * n_classes + classes, return_inverse=True)
        rows = np.bincount(inverse, lines.counts).astype(np.int64)
        owner, which = pairs // n_classes, pairs % n_classes
        n_own = np.bincount(owner, minlength=n_buckets).astype(np.int64)
        sizes = np.bincount(owner, rows, n_buckets).astype(np.int64)
        only = np.zeros(n_buckets, dtype=np.int64)
        only[owner] = which
        total = np.bincount(classes, lines.counts, n_classes).astype(np.int64)
        return cls(owner, which, rows, n_own, sizes, only, total)

    def is_told_apart(self, carriers: Counts) -> bool:
        """Return whether carriers and others share a bucket of several classes."""
        return bool(((self.n_own > 1) & (carriers > 0) & (carriers < self.sizes)).any())


@dataclass(frozen=True, eq=False)
class Model:
    """The likelihood of the probabilities of one attribute set.

    `parts` are the buckets of several classes that hold a carrier; `known` are the carriers of each
    class in other buckets. `rows` is the number of rows of each class, and `total` that of all
    carriers, in the whole release.
    """

    parts: list[Part]
    known: Floats
    rows: Counts
    total: float

    @classmethod
    def of(cls, held: Held, carriers: Counts) -> Model:
        """Find the buckets with rows of several classes; buckets of similar size are kept together.

        `carriers` is the number of rows of each bucket that carry the value.
        """
        owner, which, rows, n_own = held.owner, held.which, held.rows, held.n_own
        n_classes = len(held.total)
        is_full = carriers == held.sizes
        is_mixed = (n_own > 1) & (carriers > 0) & ~is_full
        is_large = carriers > _MANY
        small: list[Mixed] = []
        parts: list[Part] = []
        for n_there, large in np.unique(np.column_stack([n_own, is_large])[is_mixed], axis=0):
            chosen = np.flatnonzero(is_mixed & (n_own == n_there) & (is_large == large))
            entry = np.isin(owner, chosen)
            own = which[entry].reshape(len(chosen), n_there)
            kinds = Mixed.of(own, rows[entry].reshape(own.shape), carriers[chosen], chosen)
            (parts if large else small).append(kinds)
        if small:
            parts.append(Small.of(small, n_classes))
        # Carriers are known in buckets of one class, and in those where every row is a carrier.
        pure = np.flatnonzero((n_own == 1) & (carriers > 0) & ~is_full)
        known = np.bincount(held.only[pure], carriers[pure], n_classes).astype(np.float64)
        sure = is_full[owner]
        known += np.bincount(which[sure], rows[sure], n_classes)
        return cls(parts, known, held.total, float(carriers.sum()))

    @cached_property
    def n_operations(self) -> int:
        """About how many operations one step takes, for one point."""
        return sum(part.n_operations for part in self.parts) + len(self.rows)

    def step(self, chances: Floats) -> tuple[Floats, Floats]:
        """Apply the equations once, from several points.

        Returns the expected share of carriers among the rows of each class, one row per point, and
        the log-likelihood of each point, up to a constant.
        """
        logs = np.log(chances) - np.log1p(-chances)
        expected = np.repeat(self.known[np.newaxis], len(chances), axis=0)
        log = (self.known * logs).sum(axis=1) + (self.rows * np.log1p(-chances)).sum(axis=1)
        for part in self.parts:
            found, weight = part.expect(logs)
            expected += found
            log += weight
        return expected / np.maximum(self.rows, 1), log


class Part(Protocol):
    """Some of the buckets of a release that hold a carrier and rows of several classes.

    `logs` are log odds: one row per point, one column per class.
    """

    @property
    def n_operations(self) -> int:
        """About how many operations one call of `expect` takes, for one point."""

    def expect(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class over all buckets, and their log-likelihood."""

    def beliefs(self, logs: Floats, weights: Floats) -> tuple[Codes, Floats]:
        """Return buckets, and the largest belief about a row of each, by weighted points."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """Buckets with a carrier and with the same number of classes.

    There is one line of `which` and `rows` per kind of bucket: its classes, and the number of rows
    of each. `alike` is the number of buckets of each kind, and `kind` the kind of each of `bucket`.
    """

    which: Codes
    rows: Counts
    carriers: Counts
    alike: Counts
    bucket: Codes
    kind: Codes

    @classmethod
    def of(cls, which: Codes, rows: Counts, carriers: Counts, bucket: Codes) -> Mixed:
        """Combine buckets with the same rows of the same classes and as many carriers."""
        width = which.shape[1]
        kinds, kind, alike = np.unique(
            np.column_stack([which, rows, carriers]),
            axis=0,
            return_inverse=True,
            return_counts=True,
        )
        held, there, given = kinds[:, :width], kinds[:, width:-1], kinds[:, -1].copy()
        return cls(held, there, given, alike, bucket, kind.reshape(-1))

    @property
    def n_operations(self) -> int:
        """About how many operations one call of `expect` takes, for one point."""
        width = int(self.carriers.max()) + 1
        return int(self.which.size) * width * min(width, _SHORT)

    def each(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class, and the logarithm of the sum over worlds.

        The first is by point, kind of bucket and class. The second is by point and kind; the weight
        of a world is the product of the odds of its carriers.
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
    """Return what to add to the log odds so that the expected number of carriers is about right.

    Being close is enough: the number changes only how small the terms are.
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
    """Return the distribution of the sum of two numbers, up to the width that is kept."""
    width = one.shape[1]
    if width <= _SHORT:
        total = np.zeros_like(one)
        for number in range(width):
            total[:, number:] += one[:, number : number + 1] * other[:, : width - number]
        return total
    from scipy.fft import next_fast_len  # noqa: PLC0415 - it takes long to import

    # Transforms of a length with a large prime factor take several times as long.
    length = next_fast_len(2 * width, real=True)
    product = np.fft.rfft(one, length) * np.fft.rfft(other, length)
    found: Floats = np.maximum(np.fft.irfft(product, length)[:, :width], 0.0)
    return found


@dataclass(frozen=True, eq=False)
class Small:
    """Buckets with carriers and rows of several classes, for the kernel.

    The entries of each kind of bucket begin at `start`: a class, and its number of rows. The other
    fields are as in `Mixed`.
    """

    start: Codes
    which: Codes
    rows: Counts
    carriers: Counts
    alike: Counts
    bucket: Codes
    kind: Codes
    n_classes: int

    @classmethod
    def of(cls, kinds: list[Mixed], n_classes: int) -> Small:
        """Collect buckets of different numbers of classes."""
        width = np.concatenate([np.full(len(one.carriers), one.which.shape[1]) for one in kinds])
        before = np.cumsum([0, *(len(one.carriers) for one in kinds)])
        return cls(
            np.append(0, np.cumsum(width)),
            np.concatenate([one.which.ravel() for one in kinds]),
            np.concatenate([one.rows.ravel() for one in kinds]),
            np.concatenate([one.carriers for one in kinds]),
            np.concatenate([one.alike for one in kinds]),
            np.concatenate([one.bucket for one in kinds]),
            np.concatenate([one.kind + at for one, at in zip(kinds, before, strict=False)]),
            n_classes,
        )

    @cached_property
    def n_operations(self) -> int:
        """About how many operations one call of `expect` takes, for one point."""
        # Six multiplications of the kernel count as one: it is that much faster.
        n_ways = np.minimum(self.rows, np.repeat(self.carriers, np.diff(self.start))) + 1
        pairs = np.add.reduceat(n_ways, self.start[:-1]) * (self.carriers + 1)
        return len(self.which) + int(pairs.sum()) // 2

    @cached_property
    def _factorials(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(self.rows.max()) + 1)))])

    @cached_property
    def _to_classes(self) -> sparse.csr_array:
        """The matrix that sums entries by class, over all buckets of a kind."""
        alike = np.repeat(self.alike, np.diff(self.start)).astype(np.float64)
        place = (np.arange(len(self.which)), self.which)
        return sparse.csr_array((alike, place), shape=(len(self.which), self.n_classes))

    def each(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each entry, and the logarithm of the sum over worlds."""
        width = int(self.carriers.max()) + 1
        n_widest = int(np.diff(self.start).max()) + 1
        expected, height = (np.empty((len(logs), n)) for n in (len(self.which), len(self.carriers)))
        share_out(
            self.start,
            self.which,
            self.rows,
            self.carriers,
            np.ascontiguousarray(logs),
            self._factorials,
            expected,
            height,
            np.empty((n_widest, width)),
            np.empty(width),
            np.empty((n_widest, width)),
        )
        return expected, height

    def expect(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class over all buckets; see `Part`."""
        expected, height = np.empty(logs.shape), np.empty(len(logs))
        n_at_once = max(_MOST_ENTRIES // len(self.which), 1)
        for first in range(0, len(logs), n_at_once):
            chosen = slice(first, first + n_at_once)
            found, log = self.each(logs[chosen])
            expected[chosen] = found @ self._to_classes
            height[chosen] = log @ self.alike
        return expected, height

    def beliefs(self, logs: Floats, weights: Floats) -> tuple[Codes, Floats]:
        """Return buckets, and the largest belief about a row of each; see `Part`."""
        mean = np.zeros(len(self.which))
        for point, weight in zip(logs, weights.tolist(), strict=True):
            mean += weight * self.each(point[np.newaxis])[0][0] / self.rows
        return self.bucket, np.maximum.reduceat(mean, self.start[:-1])[self.kind]
