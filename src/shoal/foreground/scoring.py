"""How right the adversary is, if the truth is known.

The attack itself never sees who carries what. Given the table, the adversary's beliefs are joined
to the truth: how many carriers of x she flags, how many people she flags wrongly, whether she names
the right people of a bucket, and whether her beliefs are as often true as they are strong. `Answer`
reports this for the attack, with the paper's own measurements.

References
----------
[Wong11] (see `shoal.foreground`) Section 5.1, the three measurements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, Cells
from shoal.core.display import Section
from shoal.core.errors import DataError
from shoal.core.findings import Truth
from shoal.core.release import People, Published
from shoal.foreground.mining import Exposure, GlobalDistribution
from shoal.locating.exposed import Exposed
from shoal.slicing.matches import expose_sliced

_N_BANDS = 10
_ROUNDING = 1e-9
"""Beliefs are floats: an excess over a limit by no more is rounding."""


@dataclass(frozen=True)
class Band:
    """People about whom the adversary's belief is about the same.

    `highest` is the upper end of the band, `believed` the mean p(t:x), and `actual` the share of
    these people who carry x.
    """

    highest: float
    n_people: int
    believed: float
    actual: float


@dataclass(frozen=True)
class Score:
    """Figures about an adversary's beliefs; people are flagged if the belief is above the limit.

    `recall` is the share of carriers who are flagged, `precision` the share of the flagged who
    carry x, `false_flags` the share of people without x who are flagged, and `average_probability`
    the mean p(t:x) of the carriers. `top_share` is the share of carriers found by naming, in every
    bucket, as many people as carry x, in descending order of belief. `bands` show the calibration.
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
        """Return the figures as JSON-compatible values."""
        return vars(self) | {"bands": [vars(band) for band in self.bands]}


def is_above(p: Floats, limit: float) -> Flags:
    """Return which beliefs exceed a limit; a tie does not."""
    above: Flags = p > limit + _ROUNDING
    return above


def score(exposure: Exposure, carriers: Counts, limit: float) -> Score:
    """Compare p(t:x) with the truth: the number of rows of each entry that carry x.

    People are flagged if the belief is above the limit.
    """
    exposed = exposure.target.exposed
    return score_beliefs(exposed.bucket, exposed.count, exposure.p, carriers, limit)


def score_beliefs(bucket: Codes, count: Counts, p: Floats, carriers: Counts, limit: float) -> Score:
    """Compare beliefs about the rows of buckets, entry by entry, with the truth; see `score`."""
    if len(carriers) != len(count) or np.any(carriers < 0) or np.any(carriers > count):
        raise DataError(
            "An entry of the release has more carriers of the value than rows, or fewer than 0."
        )
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
    """Name as many people of each bucket as carry the value; ties are equally likely named."""
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


# --- the answer of the attack ---------------------------------------------------------------------


_FEWEST = 20
"""A subgroup of fewer carriers says little about its recall."""
_N_GROUPS = 15


@dataclass(frozen=True, eq=False)
class Answer:
    """The adversary's beliefs about everybody in the release, each person in their own bucket.

    `buckets` has the values of the attacked column. `aims` are the values attacked, as findings
    number them; those of one entry count as one. `value` and `posterior` are the value believed
    most of each cell of people, and how much; `bound` is the largest belief that is no breach.
    `distributions` are the global distributions of the first aim, as the attack mined them.
    """

    published: Published
    buckets: Buckets
    people: People
    aims: tuple[tuple[int, ...], ...]
    value: Codes
    posterior: Floats
    bound: float
    distributions: tuple[GlobalDistribution, ...]

    def score(self, truth: Truth) -> tuple[Mapping[str, object], tuple[Section, ...]]:
        """Return figures and sections about the accuracy of the beliefs."""
        is_single = len(self.aims) == 1
        carriers = truth.carriers(self.aims[0]) if is_single else truth.right(self.value)
        exposed, entry = self._exposed()
        score = score_beliefs(
            exposed.bucket[entry], self.people.counts, self.posterior, carriers, self.bound
        )
        headline: dict[str, object] = {"precision": score.precision}
        if is_single:
            carried = np.bincount(exposed.look[entry], carriers, exposed.looks.n_cells)
            headline |= _figures(score) | self._errors(carried.astype(np.int64), exposed.looks)
        above = is_above(self.posterior, self.bound)
        groups = _recall_by_group(self.people.quasi, above, carriers)
        return headline, (_calibration(score), groups)

    def _exposed(self) -> tuple[Exposed, Codes]:
        if self.published.sliced is None:
            return Exposed.of_people(self.people, self.buckets)
        column = self.buckets.domain.column
        return expose_sliced(self.published.sliced, self.people, column)

    def _errors(self, carried: Counts, looks: Cells) -> dict[str, object]:
        """Compare the probabilities that were mined with the shares in the table."""
        errors = [
            one.accuracy(carried, looks.counts).mean_relative_error for one in self.distributions
        ]
        return {"mean relative error of chances": float(np.mean(errors)) if errors else None}


def _figures(score: Score) -> dict[str, object]:
    return {
        "people who have it": score.n_carriers,
        "recall": score.recall,
        "false flags": score.false_flags,
        "average probability": score.average_probability,
        "right when naming the likeliest": score.top_share,
    }


def _calibration(score: Score) -> Section:
    rows = tuple(
        (f"up to {band.highest:g}", band.n_people, band.believed, band.actual)
        for band in score.bands
        if band.n_people
    )
    columns = ("posterior", "people", "believed", "actual")
    return Section("calibration", columns, rows, holds_values=False)


def _recall_by_group(quasi: Cells, is_flagged: Flags, carriers: Counts) -> Section:
    """List the subgroups with the highest recall."""
    rows: list[tuple[str, str | None, int, float]] = []
    for place, domain in enumerate(quasi.domains):
        codes = quasi.codes[:, place]
        have = np.bincount(codes, carriers, domain.size)
        flagged = np.bincount(codes, carriers * is_flagged, domain.size)
        rows.extend(
            (domain.column, domain.text(code), int(have[code]), float(flagged[code] / have[code]))
            for code in np.flatnonzero(have >= _FEWEST).tolist()
        )
    rows.sort(key=lambda row: (-row[3], -row[2], row[0], str(row[1])))
    columns = ("column", "label", "people who have it", "recall")
    return Section("recall by subgroup", columns, tuple(rows[:_N_GROUPS]))
