"""What was believed of the lines of a release before it was seen.

Beliefs are about exact values, and lines may show labels. A line's prior belief is that of the
people whom it admits: theirs alone where it admits one kind of people, else the mean over them. A
line that admits nobody she has a belief about gets the mean over all people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets, Codes, Counts
from shoal.core.domain import Domain
from shoal.core.release import Published
from shoal.knowledge.beliefs import Beliefs
from shoal.knowledge.location import match_lines
from shoal.knowledge.naming import named_pairs

__all__ = ["LinePriors", "priors_of_lines", "rename_values"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_CHUNK = 2**22
"""How many numbers of beliefs are added up at a time."""


@dataclass(frozen=True, eq=False)
class LinePriors:
    """The prior belief about each line of a release.

    Parameters
    ----------
    occupants
        The rows of each bucket, by prior.
    entry
        The entry of `occupants` that each line belongs to.
    is_known
        For each line whether there was a belief about somebody whom it admits.
    """

    occupants: BelievedRows
    entry: Codes
    is_known: Flags

    @classmethod
    def of(cls, published: Published, prior: Codes, priors: Floats, is_known: Flags) -> LinePriors:
        """Count the rows of buckets, given the prior of each line."""
        bucket = published.lines.codes[:, 0]
        occupants = BelievedRows.of_pairs(bucket, prior, priors, published.lines.counts)
        keys = occupants.bucket * len(priors) + occupants.prior
        entry = np.searchsorted(keys, bucket * len(priors) + prior).astype(np.int64)
        return cls(occupants, entry, is_known)


def priors_of_lines(published: Published, buckets: Buckets, beliefs: Beliefs | None) -> LinePriors:
    """Find what was believed of each line.

    Parameters
    ----------
    published
        The release.
    buckets
        Its sensitive values.
    beliefs
        What was believed of people; None where she knew no more than the distribution of the
        sensitive values in the whole release.
    """
    n_lines = published.lines.n_cells
    if beliefs is None:
        shares = buckets.totals[np.newaxis] / max(buckets.n_rows, 1)
        zero, yes = np.zeros(n_lines, dtype=np.int64), np.ones(n_lines, dtype=bool)
        return LinePriors.of(published, zero, shares, yes)
    looks, look = published.looks
    known = rename_values(beliefs, buckets.domain)
    prior = np.full(looks.n_cells, -1, dtype=np.int64)
    means = np.empty((0, known.shape[1]))
    if set(looks.columns) & set(beliefs.cells.columns):
        matches = match_lines(looks, published.meanings, beliefs.cells)
        order = np.argsort(matches.line, kind="stable")
        line, cell = matches.line[order], matches.person[order]
        start = np.searchsorted(line, np.arange(looks.n_cells + 1))
        n_cells = np.diff(start)
        prior[n_cells == 1] = cell[start[:-1][n_cells == 1]]
        mixed = np.flatnonzero(n_cells > 1)
        prior[mixed] = len(known) + np.arange(len(mixed))
        chosen = np.repeat(n_cells > 1, n_cells)
        means = _means(known, beliefs.cells.counts, cell[chosen], n_cells[mixed])
    overall = beliefs.cells.counts @ known / max(beliefs.cells.n_rows, 1)
    priors = np.concatenate([known, means, overall[np.newaxis]])
    is_known = prior >= 0
    prior[~is_known] = len(priors) - 1
    return LinePriors.of(published, prior[look], priors, is_known[look])


def rename_values(beliefs: Beliefs, domain: Domain) -> Floats:
    """Give the prior beliefs with one column a published value; what it lacks is left out."""
    value, label = named_pairs(domain, {}, beliefs.domain)
    renamed = np.zeros((len(beliefs.prior), domain.size))
    for own, published in zip(value.tolist(), label.tolist(), strict=True):
        renamed[:, published] += beliefs.prior[:, own]
    return renamed


def _means(prior: Floats, counts: Counts, cell: Codes, n_cells: Counts) -> Floats:
    """Give the mean belief over runs of cells, `n_cells` in each."""
    means = np.empty((len(n_cells), prior.shape[1]))
    ends = np.cumsum(n_cells)
    step = max(_CHUNK // max(prior.shape[1], 1), 1)
    first = 0
    while first < len(n_cells):
        begin = int(ends[first] - n_cells[first])
        last = max(int(np.searchsorted(ends, begin + step, side="right")), first + 1)
        own = cell[begin : ends[last - 1]]
        start = ends[first:last] - n_cells[first:last] - begin
        weighed = np.add.reduceat(prior[own] * counts[own, np.newaxis], start, axis=0)
        means[first:last] = weighed / np.add.reduceat(counts[own], start)[:, np.newaxis]
        first = last
    return means
