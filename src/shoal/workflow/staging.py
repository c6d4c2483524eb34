"""What each attack is given: the release, the people and whatever it needs, whole or as a sample.

Everything is made when the first attack asks for it. If attacking everybody is more work than an
attack may do, it gets a sample of people with their buckets, and its answer an interval for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from shoal.core.arrays import Codes
from shoal.core.attack import Attack, CellView, Need, Sampling, View
from shoal.core.budget import most_within
from shoal.core.calibration import find_excess, raised_limit
from shoal.core.findings import Findings, Risk
from shoal.core.method import Algorithm
from shoal.core.release import People, Published
from shoal.core.sampling import Sample, draw_sample
from shoal.core.secret import Secret
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Release
from shoal.release.people import Uncovered
from shoal.workflow.cells_at_risk import cell_view, score_cells, uncovered
from shoal.workflow.people import (
    LocatedPeople,
    by_line,
    join_truth,
    locate_people,
    people_in,
    spread_over,
)
from shoal.workflow.rerun import algorithm_of, run_trials

_MOST_SCORED = 1_000_000
"""Beliefs are compared with the truth person by person, for at most so many people."""
_FEWEST_SAMPLED = 20_000
"""A smaller sample would say too little: an attack leaves out pieces of its work instead."""
_LABEL = "attacked sample"


@dataclass(frozen=True, eq=False)
class Stage:
    """A release with everything that its attacks may ask for, each made when first needed."""

    release: Release
    knowledge: object
    people: People
    # Everybody in a sliced release by their own bucket, if known.
    placed: People | None
    # The table of everybody's quasi-identifiers, on which the algorithm is run again.
    external: EngineTable | None
    # The table by which beliefs are scored.
    table: EngineTable | None
    # The units of work that each attack may do.
    work: int
    # Whether everybody in the release is attacked, and not other people.
    is_everybody: bool
    # The samples drawn so far, by the most people that they may hold.
    samples: dict[int, Sample] = field(default_factory=dict, init=False)

    @cached_property
    def located(self) -> LocatedPeople | None:
        """Everybody by exact values in their own bucket, with the truth kept apart."""
        return None if self.table is None else locate_people(self.release, self.table)

    @cached_property
    def uncovered(self) -> Uncovered | None:
        """The cells that a suppressed release hides."""
        return uncovered(self.release, self.release.published)

    def findings_of(self, one: Attack) -> Findings:
        """Run an attack on its view, and join the truth to its answer."""
        published = self.release.levelled
        sample = self._sample_for(one)
        found = self._found(one) if sample is None else self._found_in(one, sample)
        if found.guesses is not None and self.uncovered is not None:
            found = score_cells(found, found.guesses, self.uncovered)
        return _with_meaning(one, found, published)

    def _view(self, published: Published, people: People, sample: Codes | None = None) -> View:
        return View(
            published,
            people,
            self.knowledge,
            algorithm=self._algorithm,
            cells=lambda: self.cells,
            trials=partial(run_trials, self.release),
            work=self.work,
            sample=sample,
        )

    def _found(self, one: Attack) -> Findings:
        """Attack everybody, or the people given."""
        published = self.release.levelled
        located = self.located if Need.TRUTH in one.needs else None
        if located is not None:
            found = one.run(self._view(published, located.people))
            return by_line(join_truth(found, located, published), located, published)
        if self.placed is not None and Need.PLACES in one.needs:
            return replace(one.run(self._view(published, self.placed)), is_by_place=True)
        return one.run(self._view(published, self.people))

    def _sample_for(self, one: Attack) -> Sample | None:
        """Return the sample that an attack is to work on; None if it attacks everybody."""
        published = self.release.levelled
        n_all = published.lines.n_rows
        is_compared = Need.TRUTH in one.needs and self.table is not None
        is_known = is_compared or self._places(one).bucket is not None
        if one.sampling is Sampling.NONE or not self.is_everybody or not is_known:
            return None
        cost = partial(one.work_of, published)
        most = most_within(self.work, cost, n_all, least=min(_FEWEST_SAMPLED, n_all))
        if is_compared:
            most = min(most, _MOST_SCORED)
        if most >= n_all:
            return None
        if most not in self.samples:
            making = self.release.making
            # A stranger's release has no secret, and anybody may draw the same sample.
            secret = Secret.from_seed(_LABEL) if making is None else making.secret
            self.samples[most] = draw_sample(published.bucket_sizes, most, secret.generator(_LABEL))
        return None if self.samples[most].is_whole else self.samples[most]

    def _places(self, one: Attack) -> People:
        """Return everybody, in their own buckets if the attack relies on these."""
        return self.placed if self.placed is not None and Need.PLACES in one.needs else self.people

    def _found_in(self, one: Attack, sample: Sample) -> Findings:
        """Attack a sample of everybody; entries about other people have a count of 0."""
        published = self.release.levelled
        place = sample.number(published.n_buckets)
        located, number = None, np.empty(0, dtype=np.int64)
        if Need.TRUTH in one.needs and self.table is not None:
            located = locate_people(self.release, self.table, sample)
            people = located.people
        else:
            people, number = people_in(self._places(one), place)
        assert people.bucket is not None
        own = place[people.bucket]
        if one.sampling is Sampling.RELEASE:
            found = one.run(
                self._view(published.only(place), _renumbered(people, published, place))
            )
        else:
            found = one.run(self._view(published, people, sample.buckets))
        if located is not None:
            found = join_truth(found, located, published)
        found = replace(found, sampled=sample.judge(own, found.counts, found.breached))
        if located is not None:
            return by_line(found, located, published)
        is_by_place = self.placed is not None and Need.PLACES in one.needs
        return replace(spread_over(found, number), is_by_place=is_by_place)

    def _algorithm(self) -> Algorithm | None:
        return None if self.external is None else algorithm_of(self.release, self.external)

    @cached_property
    def cells(self) -> CellView | None:
        """What attacks on the cells of a suppressed release see."""
        hidden = self.uncovered
        return None if hidden is None else cell_view(self.release.manifest, hidden)


def _renumbered(people: People, published: Published, place: Codes) -> People:
    """Return people by the buckets and lines of a release that has a part of the buckets."""
    assert people.bucket is not None
    line = people.line
    if line is not None:
        is_kept = place[published.lines.codes[:, 0]] >= 0
        line = (np.cumsum(is_kept) - 1)[line]
    return replace(people, bucket=place[people.bucket], line=line)


def _with_meaning(one: Attack, found: Findings, published: Published) -> Findings:
    """Add the kind of risk, and whether any release of this table could keep the attack's limit."""
    levels = [level.words for level in published.manifest.levels]
    is_about_values = Risk.INFERENCE in one.risks
    found = replace(found, risks=one.risks, levels=", ".join(levels) if is_about_values else "")
    aimed = one.aims(published) if one.fits(published) else None
    held = one.buckets_of(published)
    if aimed is None or held is None:
        return found
    aims, bound = aimed
    is_calibrated = found.calibration is not None and found.calibration.is_calibrated
    excess = find_excess(
        held,
        aims,
        bound,
        is_belief=found.is_belief,
        counted_from=raised_limit(bound) if is_calibrated else None,
    )
    return replace(found, meaningless=excess.reason, n_above_anyway=excess.n_people)
