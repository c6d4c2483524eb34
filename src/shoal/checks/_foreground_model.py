"""The likelihood of the chances of one attribute set, from the published lines and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.checks._foreground_buckets import Floats, Mixed, Part, Small
from shoal.core.cells import Cells, Codes, Counts

__all__ = ["Model"]

_MANY = 512
"""Buckets with more carriers are added up by Fourier transform."""


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
        is_full = carriers == np.bincount(owner, rows, len(carriers))
        is_mixed = (n_own > 1) & (carriers > 0) & ~is_full
        is_large = carriers > _MANY
        small: list[Mixed] = []
        parts: list[Part] = []
        for n_there, large in np.unique(np.column_stack([n_own, is_large])[is_mixed], axis=0):
            chosen = np.flatnonzero(is_mixed & (n_own == n_there) & (is_large == large))
            entry = np.isin(owner, chosen)
            held = which[entry].reshape(len(chosen), n_there)
            kinds = Mixed.of(held, rows[entry].reshape(held.shape), carriers[chosen], chosen)
            (parts if large else small).append(kinds)
        if small:
            parts.append(Small.of(small, n_classes))
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
