"""How right the adversary is, where the truth is known.

The attack itself never sees who carries what. Whoever has the table joins it to what the adversary
believes: how many of those who carry x she flags, how many she flags wrongly, whether she names
the right people of a bucket, and whether what she believes to a degree is true to that degree.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 5.1, the three measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.errors import DataError
from shoal.knowledge.foreground.mining import Exposure

__all__ = ["Band", "Score", "is_above", "score", "score_beliefs"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_N_BANDS = 10
_ROUNDING = 1e-9
"""Beliefs are floats: what exceeds a limit by no more is rounding."""


@dataclass(frozen=True)
class Band:
    """People of whom the adversary believes about the same.

    Parameters
    ----------
    highest
        The upper end of the band.
    n_people
        How many there are.
    believed, actual
        Their mean p(t:x), and the share of them who carry x.
    """

    highest: float
    n_people: int
    believed: float
    actual: float


@dataclass(frozen=True)
class Score:
    """Figures about an adversary's beliefs.

    Parameters
    ----------
    n_carriers, n_flagged
        How many people carry x, and how many are flagged: believed to, above the limit.
    recall
        The share of carriers who are flagged.
    precision
        The share of those flagged who carry x.
    false_flags
        The share of those who do not carry x who are flagged.
    average_probability
        The mean p(t:x) of the carriers.
    top_share
        The share of carriers found by naming, in every bucket, as many people as carry x, those
        first of whom she believes it most.
    bands
        Calibration.
    """

    n_carriers: int
    n_flagged: int
    recall: float
    precision: float
    false_flags: float
    average_probability: float
    top_share: float
    bands: tuple[Band, ...] = field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """Give the figures as JSON holds them."""
        return vars(self) | {"bands": [vars(band) for band in self.bands]}


def is_above(p: Floats, limit: float) -> Flags:
    """Say which beliefs exceed a limit; a tie does not."""
    above: Flags = p > limit + _ROUNDING
    return above


def score(exposure: Exposure, carriers: Counts, limit: float) -> Score:
    """Compare p(t:x) with the truth.

    Parameters
    ----------
    exposure
        What the adversary believes.
    carriers
        How many rows of each entry of the release carry x.
    limit
        The belief from which on somebody is flagged, exclusive.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.attribute_sets import usable_sets
    >>> from shoal.knowledge.foreground.exposed import Exposed
    >>> from shoal.knowledge.foreground.mining import Target, expose
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0], [1], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    >>> found, _ = expose(Target.of(exposed, [1]), usable_sets(exposed.looks, 3))
    >>> figures = score(found, np.array([1, 0, 1, 0]), 0.5)
    >>> figures.recall, figures.precision, figures.top_share
    (0.5, 1.0, 0.75)
    """
    exposed = exposure.target.exposed
    return score_beliefs(exposed.bucket, exposed.count, exposure.p, carriers, limit)


def score_beliefs(bucket: Codes, count: Counts, p: Floats, carriers: Counts, limit: float) -> Score:
    """Compare beliefs about the rows of buckets, entry by entry, with the truth; see `score`."""
    if len(carriers) != len(count) or np.any(carriers < 0) or np.any(carriers > count):
        raise DataError("Of every entry of a release at most as many rows carry a value as it has.")
    flagged = is_above(p, limit)
    n_carriers, n_rows = int(carriers.sum()), int(count.sum())
    n_flagged, n_right = int(count[flagged].sum()), int(carriers[flagged].sum())
    return Score(
        n_carriers=n_carriers,
        n_flagged=n_flagged,
        recall=n_right / max(n_carriers, 1),
        precision=n_right / max(n_flagged, 1),
        false_flags=(n_flagged - n_right) / max(n_rows - n_carriers, 1),
        average_probability=float((p * carriers).sum()) / max(n_carriers, 1),
        top_share=_top_share(bucket, count, p, carriers),
        bands=_bands(count, p, carriers),
    )


def _top_share(bucket: Codes, count: Counts, p: Floats, carriers: Counts) -> float:
    """Name as many people of each bucket as carry the value; of equals each is as likely named."""
    if not carriers.any():
        return 0.0
    n_named = np.bincount(bucket, carriers)
    level = np.round(p / _ROUNDING).astype(np.int64)
    order = np.lexsort((-level, bucket))
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = np.diff(bucket[order]) != 0
    opens[1:] |= np.diff(level[order]) != 0
    first = np.flatnonzero(opens)
    owner = bucket[order][first]
    rows = np.add.reduceat(count[order], first)
    right = np.add.reduceat(carriers[order], first)
    before = np.cumsum(rows) - rows
    begin = before[np.searchsorted(owner, owner)]
    named = np.clip(n_named[owner] - (before - begin), 0, rows)
    return float((right * named / rows).sum()) / float(carriers.sum())


def _bands(count: Counts, p: Floats, carriers: Counts) -> tuple[Band, ...]:
    edges = np.arange(1, _N_BANDS + 1) / _N_BANDS
    band = np.minimum(np.searchsorted(edges, p - _ROUNDING), _N_BANDS - 1)
    people = np.bincount(band, count, _N_BANDS)
    believed = np.bincount(band, count * p, _N_BANDS) / np.maximum(people, 1)
    actual = np.bincount(band, carriers, _N_BANDS) / np.maximum(people, 1)
    rows = zip(edges.tolist(), people.tolist(), believed.tolist(), actual.tolist(), strict=True)
    return tuple(Band(edge, int(n), mean, share) for edge, n, mean, share in rows)
