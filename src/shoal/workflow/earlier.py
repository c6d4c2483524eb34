"""Attack several releases of one table together.

The internal folders tell who is where in each release. The adversary is assumed to know it, as in
other attacks on everybody in a release.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.adversary_guarantees import MatchingDiversity, SlicedDiversity
from shoal.core.arrays import Codes, Flags, Floats
from shoal.core.cells import group
from shoal.core.display import Section
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import DistinctDiversity, Guarantee
from shoal.core.progress import DEFAULT_MAX_WORK, Work
from shoal.intersection.beliefs import JointBeliefs, believe_jointly
from shoal.intersection.worlds import JointWorlds, Partition
from shoal.locating.random_worlds import Claim, claims_of, limit_text
from shoal.release.checked_levels import place_values
from shoal.release.opened import Release, opened
from shoal.workflow.joint_people import (
    common_sensitive,
    join_placements,
    partitions_of,
    refuse_other_keys,
    source_of_release,
)

_KNOWS = (
    "the bucket of everyone in each release, and that all releases are of one table; she takes "
    "every assignment of sensitive values that fits all of them as equally likely"
)
_KNOWS_SLICED = (
    "; in a sliced release, which does not publish them, also everyone's bucket and the known "
    "values that stand beside the sensitive one"
)
_TIE = 1 + 1e-12
_MOST_LEFT = 5


def attack_with_earlier(
    release: Release,
    earlier: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    max_work: int = DEFAULT_MAX_WORK,
) -> list[Findings]:
    """Attack several releases of one table together; return findings per shared sensitive column.

    `release` was opened from its folder or written to one; `earlier` are the public folders of the
    other releases. `max_work` limits the operations for counting worlds exactly. Raises DataError
    if an internal folder is missing, the keys of rows are not comparable, or the releases have no
    people in common; and ParameterError if they share no sensitive column, or one suppresses cells.
    """
    folders = [earlier] if isinstance(earlier, str | os.PathLike) else list(earlier)
    with contextlib.ExitStack() as stack:
        releases = [release, *(stack.enter_context(opened(folder)) for folder in folders)]
        columns = common_sensitive(releases)
        sources = [source_of_release(one) for one in releases]
        for source in sources[1:]:
            refuse_other_keys(sources[0], source)
        found = join_placements(release.files.engine, releases)
        work = Work(max_work)
        return [
            _attack_column(
                _Column.of(column, releases, found), releases, work, is_only=len(columns) < 2
            )
            for column in columns
        ]


@dataclass(frozen=True, eq=False)
class _Column:
    """One sensitive column as all releases show it."""

    name: str
    texts: tuple[str | None, ...]
    # The worlds that the releases leave possible.
    worlds: JointWorlds
    # The release that each partition of the worlds belongs to.
    release_of: tuple[int, ...]
    # The number of releases that contain the people of each cell.
    n_inside: Codes
    # The levels at which the first release protects the column, and that of each value; without
    # any, the values themselves.
    levels: tuple[str | None, ...]
    level_of: Codes

    @classmethod
    def of(cls, name: str, releases: Sequence[Release], found: Sequence[Codes]) -> _Column:
        labels: dict[str | None, int] = {}
        parts: list[tuple[Partition, Codes]] = []
        release_of: list[int] = []
        for which, (release, places) in enumerate(zip(releases, found, strict=True)):
            own = partitions_of(release, places, name, labels)
            parts += own
            release_of += [which] * len(own)
        places = np.column_stack([place for _, place in parts])
        worlds, cell = JointWorlds.of_people([partition for partition, _ in parts], places)
        inside = np.column_stack([places[:, 0] > 0 for places in found]).sum(axis=1)
        n_inside = np.zeros(len(worlds.counts), dtype=np.int64)
        n_inside[cell] = inside
        texts = tuple(labels)
        label_of = _level_of_text(name, releases)
        counted = [label_of.get(text, text) for text in texts]
        levels = {one: number for number, one in enumerate(dict.fromkeys(counted))}
        level_of = np.array([levels[one] for one in counted], dtype=np.int64)
        return cls(name, texts, worlds, tuple(release_of), n_inside, tuple(levels), level_of)

    @cached_property
    def suspicion(self) -> tuple[Codes, Codes, Codes]:
        """A level for a cell: the cell and the level of each, and that of every variable."""
        worlds = self.worlds
        own = [worlds.cell, self.level_of[worlds.value]]
        first, number = group(own, [len(worlds.counts), len(self.levels)], len(worlds.cell))
        return own[0][first], own[1][first], number

    def by_level(self, beliefs: Floats) -> Floats:
        """Add up the beliefs in the values of a level; one belief per suspicion."""
        cell, _, number = self.suspicion
        return np.bincount(number, beliefs, len(cell)).astype(np.float64)

    def n_left(self, believed: JointBeliefs) -> Codes:
        """Return for each cell the number of possible levels."""
        cell, _, number = self.suspicion
        is_left = np.bincount(number, believed.high > 0, len(cell)) > 0
        return np.bincount(cell[is_left], minlength=len(self.worlds.counts)).astype(np.int64)

    def is_certain(self, believed: JointBeliefs) -> Flags:
        """Return whether the people of each cell have the same level in every world."""
        is_single = (self.n_left(believed) == 1) & ~believed.is_contradicted
        has_levels = len(self.levels) < len(self.texts)
        return believed.is_certain | is_single if has_levels else believed.is_certain

    def n_shown(self, partition: int) -> Codes:
        """Return for each cell how many levels a partition shows in its place; 0 without one."""
        shown = self.worlds.partitions[partition]
        level, sizes = self.level_of[shown.value], [len(shown.sizes), len(self.levels)]
        first, _ = group([shown.place, level], sizes, len(level))
        n_levels = np.bincount(shown.place[first], minlength=len(shown.sizes))
        place = self.worlds.places[:, partition]
        return np.where(place >= 0, n_levels[np.maximum(place, 0)], 0).astype(np.int64)

    def alone(self, partition: int) -> Floats:
        """Return for each variable the share of the value that one partition gives by itself."""
        worlds, shown = self.worlds, self.worlds.partitions[partition]
        place = worlds.places[worlds.cell, partition]
        entry = worlds.sums[partition]
        sizes = shown.sizes[np.maximum(place, 0)]
        return np.where(entry >= 0, shown.count[entry] / sizes, 0.0)


def _level_of_text(name: str, releases: Sequence[Release]) -> dict[str | None, str | None]:
    """Return the level of every published value; empty if the first release has no levels."""
    level = next((one for one in releases[0].manifest.levels if one.column == name), None)
    if level is None:
        return {}
    found: dict[str | None, str | None] = {}
    for release in releases:
        domain = next(one for one in release.published.sensitive if one.column == name)
        levels = place_values(level, domain, releases[0].hierarchy)
        labels = levels.labels()
        places = zip(domain.labels(), levels.level_of.tolist(), strict=True)
        found |= {text: labels[place] for text, place in places}
    return found


@dataclass(frozen=True, eq=False)
class _Judgement:
    """Beliefs compared with what a guarantee allows, per cell."""

    # The protected value that is believed most, and the belief in it.
    value: Codes
    posterior: Floats
    # Whether a belief exceeds the limit.
    is_over: Flags
    # Whether one exceeds it that no release alone gives.
    is_learned: Flags


def _attack_column(
    column: _Column, releases: Sequence[Release], work: Work, *, is_only: bool
) -> Findings:
    guarantees, stated = releases[0].manifest.guarantees, releases[0].manifest.levels
    believed = believe_jointly(column.worlds, work)
    belief = column.by_level(_or_alone(column, believed))
    claims = claims_of(guarantees, None)
    n_parts = len(column.worlds.partitions)
    alone = [column.by_level(column.alone(which)) for which in range(n_parts)]
    judged = _judge(column, belief, claims, alone)
    too_few = _too_few(column, believed, _least_values(guarantees))
    breached = judged.is_learned | too_few
    breached &= ~believed.is_contradicted
    over_alone = np.zeros(len(breached), dtype=bool)
    for share in alone:
        over_alone |= _judge(column, share, claims, []).is_over
    counts = column.worlds.counts
    n_open = int(counts[~believed.is_exact & ~believed.is_contradicted].sum())
    n_certain = int(counts[column.is_certain(believed)].sum())
    return Findings(
        attack="intersection" if is_only else f"intersection: {column.name}",
        knows=_KNOWS + _KNOWS_SLICED * any(one.manifest.slices for one in releases),
        counts=counts,
        value=_codes(column, releases[0], judged.value),
        posterior=judged.posterior,
        breached=breached,
        limit=_limit(claims, guarantees),
        headline={
            "people": int(counts.sum()),
            "people in all releases": int(counts[column.n_inside == len(releases)].sum()),
            "people at risk": int(counts[breached].sum()),
            "people above the limit": int(counts[judged.is_over].sum()),
            "people above the limit in one release alone": int(counts[over_alone].sum()),
            "people certain": n_certain,
            "people certain in one release alone": int(counts[_certain_alone(column)].sum()),
            "people whose posterior is estimated": n_open,
            "people whom no value fits": int(counts[believed.is_contradicted].sum()),
            "worst posterior": float(judged.posterior.max(initial=0.0)),
            **_worst_alone(column, claims, alone),
        },
        sections=(_by_values_left(column, believed, judged),),
        risks=(Risk.LINKABILITY, Risk.INFERENCE),
        cut_short=_cut_short(n_open, int(counts[believed.is_contradicted].sum())),
        levels=next((one.words for one in stated if one.column == column.name), ""),
        figure=f"{int(counts[breached].sum())} of {int(counts.sum())} people at risk, "
        f"{'at least ' if n_open else ''}{n_certain} certain",
    )


def _or_alone(column: _Column, believed: JointBeliefs) -> Floats:
    """Return the beliefs; if no world fits, those of the first release that holds the person."""
    worlds = column.worlds
    belief, is_open = believed.belief, believed.is_contradicted[worlds.cell]
    for which in range(len(worlds.partitions)):
        chosen = is_open & (worlds.places[worlds.cell, which] >= 0)
        belief = np.where(chosen, column.alone(which), belief)
        is_open &= ~chosen
    return belief


def _judge(
    column: _Column, belief: Floats, claims: Sequence[Claim], alone: Sequence[Floats]
) -> _Judgement:
    """Compare every protected value with its bound; keep the worst one per cell.

    `belief`, and what each release gives `alone`, have one entry per suspicion of the column.
    """
    cell_of, level_of, _ = column.suspicion
    n_cells = len(column.worlds.counts)
    value = np.full(n_cells, -1, dtype=np.int64)
    posterior = np.zeros(n_cells)
    is_over, is_learned = np.zeros(n_cells, dtype=bool), np.zeros(n_cells, dtype=bool)
    largest_alone = np.max([np.zeros(len(belief)), *alone], axis=0)
    for claim in claims:
        protected = np.array([not claim.values or one in claim.values for one in column.levels])
        chosen = np.flatnonzero(protected[level_of])
        cell, own, known = cell_of[chosen], belief[chosen], largest_alone[chosen]
        if claim.is_joint:
            # The protected values count as one; each release alone bounds their sum.
            own = np.bincount(cell, own, n_cells).astype(np.float64)[cell]
            sums = [np.bincount(cell, one[chosen], n_cells)[cell] for one in alone]
            known = np.max([np.zeros(len(own)), *sums], axis=0)
        bound = 1 - 1e-9 if claim.bound is None else float(claim.bound) * _TIE
        over = own > bound
        is_over[cell[over]] = True
        is_learned[cell[over & (own > known * _TIE)]] = True
        np.maximum.at(posterior, cell, own)
        best = own >= posterior[cell]
        value[cell[best]] = level_of[chosen[best]]
    return _Judgement(value, posterior, is_over, is_learned)


def _least_values(guarantees: Sequence[Guarantee]) -> int:
    """Return the number of values that the guarantees leave everybody at least."""
    least = [0]
    for one in guarantees:
        is_sliced = isinstance(one, SlicedDiversity) and one.diversity == "distinct"
        if isinstance(one, DistinctDiversity | MatchingDiversity) or is_sliced:
            least.append(int(getattr(one, "ell", 0)))
    return max(least)


def _too_few(column: _Column, believed: JointBeliefs, least: int) -> Flags:
    """Mark the cells that keep fewer values than allowed, and than each release leaves them."""
    left = column.n_left(believed)
    too_few = left < least
    for which in range(len(column.worlds.partitions)):
        n_shown = column.n_shown(which)
        too_few &= (n_shown == 0) | (left < n_shown)
    return too_few


def _certain_alone(column: _Column) -> Flags:
    certain = np.zeros(len(column.worlds.counts), dtype=bool)
    for which in range(len(column.worlds.partitions)):
        certain |= column.n_shown(which) == 1
    return certain


def _limit(claims: Sequence[Claim], guarantees: Sequence[Guarantee]) -> str:
    least = _least_values(guarantees)
    has_bound = any(claim.bound is not None for claim in claims)
    parts = [limit_text(claims)] if has_bound or not least else []
    return " and ".join([*parts, *([f"at least {least} values"] if least else [])])


def _codes(column: _Column, release: Release, value: Codes) -> Codes:
    """Return levels by the codes of a release; -1 for those that it does not have."""
    domain = next(one for one in release.levelled.sensitive if one.column == column.name)
    own = domain.codes_of(list(column.levels))
    return np.where(value >= 0, own[value], -1)


def _worst_alone(
    column: _Column, claims: Sequence[Claim], alone: Sequence[Floats]
) -> dict[str, object]:
    worst: dict[str, object] = {}
    for share, which in zip(alone, column.release_of, strict=True):
        name = f"worst in {'this' if which == 0 else 'an earlier'} release alone"
        largest = float(_judge(column, share, claims, []).posterior.max(initial=0.0))
        worst[name] = max(largest, float(str(worst.get(name, 0.0))))
    return worst


def _cut_short(n_open: int, n_contradicted: int) -> str:
    """Return what was not examined; empty if everything was."""
    parts = []
    if n_open:
        parts.append(
            f"beliefs about {n_open} people are estimated and more of them may be certain, "
            "because counting all worlds exceeds max_work"
        )
    if n_contradicted:
        parts.append(
            f"the releases contradict each other about {n_contradicted} people, whose values must "
            "have changed in between"
        )
    return "; ".join(parts)


def _by_values_left(column: _Column, believed: JointBeliefs, judged: _Judgement) -> Section:
    is_live = ~believed.is_contradicted
    left = np.minimum(column.n_left(believed), _MOST_LEFT)
    counts = column.worlds.counts
    rows = []
    for number in np.unique(left[is_live]).tolist():
        chosen = is_live & (left == number)
        rows.append(
            (
                f"{number} or more" if number == _MOST_LEFT else number,
                int(counts[chosen].sum()),
                float(judged.posterior[chosen].max(initial=0.0)),
            )
        )
    return Section(
        "people by number of sensitive values left by all releases",
        ("values", "people", "worst posterior"),
        tuple(rows),
        holds_values=False,
    )
