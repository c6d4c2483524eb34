"""All sensitive values at once: the values of a bucket are given to its rows one to one.

The additive adversary learns the chances of each value by itself. Weighed one value at a time,
what she knows about a cold says nothing about who has the flu. Weighed together it does: an
assignment of a bucket's values to its rows is as likely as the product of the chances of its rows
to have what they are given. All assignments are added up by the states of how many of each value
are used up, which is exact, and affordable in small buckets.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 3, for any number of values.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets
from shoal.knowledge.assignments import MAX_STEPS, find_small
from shoal.knowledge.foreground.exposed import Exposed
from shoal.knowledge.posteriors import posteriors

__all__ = ["weigh_jointly"]

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 2e8
"""How many steps over all buckets are affordable: some seconds."""
_RARE = 1e-12
"""What a value counts that the chances rule out, so that no bucket is impossible."""


def weigh_jointly(exposed: Exposed, chances: Floats, a: float = 1.0) -> Floats | None:
    """Return how likely the rows of each entry have each value, by all values together.

    Parameters
    ----------
    exposed
        The release.
    chances
        For each distinct row, one row each, the chance to have each value, one column each: for
        example `AdditiveModel.f` of one model per value. A value that can be ruled out has 0.
    a
        The power that chances are raised to; default 1, which leaves them as they are, while 0
        makes everybody alike.

    Returns
    -------
    One row per entry of the release and one column per value, or None where a bucket is too large
    for the exact sum over its assignments, or all buckets together are. The rows add up to 1, and
    over a bucket the columns add up to the counts of its values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "ulcer"])
    >>> exposed = Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]), np.array([0, 1]),
    ...                           disease)
    >>> weigh_jointly(exposed, np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])).round(6).tolist()
    [[0.714286, 0.285714, 0.0], [0.285714, 0.714286, 0.0]]
    """
    if not _is_affordable(exposed.buckets):
        return None
    weights = np.where(chances > 0, np.maximum(chances, _RARE) ** a, _RARE)
    weights = weights / weights.sum(axis=1, keepdims=True)
    rows = BelievedRows.of_pairs(
        exposed.bucket, exposed.look.astype(np.int64), weights, exposed.count
    )
    found = posteriors(exposed.buckets, rows)
    p = np.zeros((rows.n_entries, weights.shape[1]))
    p[found.entry, found.value] = found.posterior
    n_looks = exposed.looks.n_cells
    keys = rows.bucket * n_looks + rows.prior
    place = np.searchsorted(keys, exposed.bucket * n_looks + exposed.look.astype(np.int64))
    shares: Floats = p[place]
    return shares


def _is_affordable(buckets: Buckets) -> bool:
    """Whether every bucket is small enough to be exact, and all of them together are."""
    n_values = np.diff(np.append(buckets.starts, len(buckets.value)))
    if not np.all(find_small(buckets, MAX_STEPS) | (n_values == 1)):
        return False
    states = np.exp2(np.add.reduceat(np.log2(buckets.count + 1.0), buckets.starts))
    work = np.where(n_values > 1, states * buckets.sizes * n_values, 0.0)
    return float(work.sum()) <= _MOST_STEPS
