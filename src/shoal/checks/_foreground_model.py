"""The likelihood of the chances of one attribute set, from the published lines and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.checks._foreground_buckets import Floats, Listed, Mixed, Part
from shoal.core.cells import Cells, Codes, Counts

__all__ = ["Model"]

_MOST_LISTED = 3_000
"""The carriers of a bucket are shared out in at most so many ways where the ways are listed."""


def _n_ways(rows: Counts, carriers: Counts, most: int) -> Counts:
    """Count the ways to share carriers out, one line per kind; more than `most` count as that."""
    n_kinds, width = len(rows), int(carriers.max(initial=0)) + 1
    table = np.zeros((n_kinds, width), dtype=np.int64)
    table[:, 0] = 1
    for place in range(rows.shape[1]):
        total = np.cumsum(table, axis=1)
        before = np.arange(width) - rows[:, place : place + 1] - 1
        gone = np.where(before >= 0, np.take_along_axis(total, np.maximum(before, 0), axis=1), 0)
        table = np.minimum(total - gone, most + 1)
    found: Counts = np.take_along_axis(table, carriers[:, np.newaxis], axis=1)[:, 0]
    return found


@dataclass(frozen=True, eq=False)
class Model:
    """The likelihood of the chances of one attribute set.

    Parameters
    ----------
    parts
        The buckets of several classes that hold a carrier.
    known
        The carriers of each class in buckets of that class alone.
    rows
        The rows of each class in the whole release.
    total
        The number of carriers in the whole release.
    """

    parts: list[Part]
    known: Floats
    rows: Counts
    total: float

    @classmethod
    def of(cls, lines: Cells, classes: Codes, carriers: Counts, n_classes: int) -> Model:
        """Find the buckets in which rows are of several classes, those of about one size together.

        Parameters
        ----------
        lines
            The published lines, the column of buckets first.
        classes
            The class of each line.
        carriers
            How many rows of each bucket carry the value.
        n_classes
            How many classes there are.
        """
        pairs, inverse = np.unique(lines.codes[:, 0] * n_classes + classes, return_inverse=True)
        rows = np.bincount(inverse, lines.counts).astype(np.int64)
        owner, which = pairs // n_classes, pairs % n_classes
        n_own = np.bincount(owner, minlength=len(carriers))
        size = np.ceil(np.log2(np.maximum(carriers, 1)) / 2).astype(np.int64)
        is_full = carriers == np.bincount(owner, rows, len(carriers))
        is_mixed = (n_own > 1) & (carriers > 0) & ~is_full
        small, large = _Kinds.none(), []
        for n_there, about in np.unique(np.column_stack([n_own, size])[is_mixed], axis=0).tolist():
            chosen = np.flatnonzero(is_mixed & (n_own == n_there) & (size == about))
            entry = np.isin(owner, chosen)
            held = which[entry].reshape(len(chosen), n_there)
            table = np.column_stack([held, rows[entry].reshape(held.shape), carriers[chosen]])
            large += _divide(table, chosen, small)
        parts: list[Part] = [*large]
        if small.kinds:
            parts.append(small.listed(n_classes))
        # In buckets of one class, and in those where everybody is one, carriers are known.
        pure = np.flatnonzero((n_own == 1) & (carriers > 0) & ~is_full)
        only = np.zeros(len(carriers), dtype=np.int64)
        only[owner] = which
        known = np.bincount(only[pure], carriers[pure], n_classes).astype(np.float64)
        sure = is_full[owner]
        known += np.bincount(which[sure], rows[sure], n_classes)
        n_rows = np.bincount(classes, lines.counts, n_classes).astype(np.int64)
        return cls(parts, known, n_rows, float(carriers.sum()))

    @cached_property
    def n_operations(self) -> int:
        """About how many operations one step takes, for one point."""
        return sum(part.n_operations for part in self.parts) + len(self.rows)

    def step(self, chances: Floats) -> tuple[Floats, Floats]:
        """Apply the equations once, from several points.

        Returns
        -------
        share
            The expected share of carriers among the rows of each class; one row per point.
        log
            The log-likelihood of each point, but for a constant.
        """
        logs = np.log(chances) - np.log1p(-chances)
        expected = np.repeat(self.known[np.newaxis], len(chances), axis=0)
        log = (self.known * logs).sum(axis=1) + (self.rows * np.log1p(-chances)).sum(axis=1)
        for part in self.parts:
            found, weight = part.expect(logs)
            expected += found
            log += weight
        return expected / np.maximum(self.rows, 1), log


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of small buckets, collected.

    Parameters
    ----------
    kinds
        The classes of each kind, the rows of each class, and the carriers.
    alike
        How many buckets are of each kind.
    bucket, kind
        The buckets, and the kind of each.
    """

    kinds: list[tuple[tuple[int, ...], tuple[int, ...], int]]
    alike: list[int]
    bucket: list[int]
    kind: list[int]

    @classmethod
    def none(cls) -> _Kinds:
        return cls([], [], [], [])

    def listed(self, n_classes: int) -> Listed:
        bucket, kind = np.array(self.bucket), np.array(self.kind)
        return Listed.of(self.kinds, self.alike, bucket, kind, n_classes)


def _divide(table: Counts, bucket: Codes, small: _Kinds) -> list[Mixed]:
    """Divide buckets with equally many classes: add the small ones, return the large ones.

    Parameters
    ----------
    table
        One line per bucket: its classes, the rows of each, and its carriers.
    bucket
        The buckets.
    small
        What the small ones are added to.
    """
    width = (table.shape[1] - 1) // 2
    is_small = _n_ways(table[:, width:-1], table[:, -1], _MOST_LISTED) <= _MOST_LISTED
    kinds, kind, alike = _kinds(table[is_small])
    small.bucket.extend(bucket[is_small].tolist())
    small.kind.extend((kind + len(small.kinds)).tolist())
    small.alike.extend(alike.tolist())
    small.kinds.extend(
        (tuple(line[:width]), tuple(line[width:-1]), line[-1]) for line in kinds.tolist()
    )
    if is_small.all():
        return []
    kinds, kind, alike = _kinds(table[~is_small])
    return [
        Mixed(kinds[:, :width], kinds[:, width:-1], kinds[:, -1], alike, bucket[~is_small], kind)
    ]


def _kinds(table: Counts) -> tuple[Counts, Codes, Counts]:
    kinds, kind, alike = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    return kinds, kind.reshape(-1), alike
