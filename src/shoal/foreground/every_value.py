"""Merge buckets until the foreground knowledge attack links nobody to any value.

Problem: every value has its own equations for every attribute set, so that a single attack takes
seconds, and merging takes many rounds.
Idea: most rounds only forecast what the adversary will believe, and only in the buckets that they
merged. What withstands the forecast is forecast more closely, then attacked, and the first value
and sets that link somebody say what to merge next. Distinct rows of one profile count as one. The
effort of the attacks is counted, so that a hopeless request ends.
Guarantee: as in `shoal.foreground.merging`.

References
----------
[Wong11] (see `shoal.foreground`) Section 7 proposes buckets of similar people; the merging is
not from there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text, reachable
from shoal.core.progress import TooMuchWork, Work
from shoal.foreground.attribute_sets import AttributeSet, profiles
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.forecast import Believed, Forecast, Inside
from shoal.foreground.law import log_odds
from shoal.foreground.merging import (
    MARGIN,
    Aim,
    Attacker,
    Merger,
    Suspects,
    join,
    merged_release,
)
from shoal.foreground.mining import Policy, expose
from shoal.foreground.solutions import RAISED_AT_MOST
from shoal.locating.exposed import Exposed

_N_STEPS = 10
"""How many steps of the adversary's iteration are looked ahead."""
_MOST_WORK, _MOST_PER_ROW = 1_500_000_000, 100_000
"""How many operations the attacks of one request may take: some ten seconds."""
_N_PARTS = 8
"""How many parts the way from 1 to the r asked for is divided into, to find one that is reached."""
_AT_ONCE = 10_000_000
"""About how many operations of attacks are begun before anybody asks whether somebody is found."""
_N_STARTS, _STEPS_PER_START = 9, 50
_PER_SET = 500_000
"""The starts of the adversary's search, besides one per class, and about how long each climb is."""


@dataclass(frozen=True, eq=False)
class Task:
    """The attacks that buckets must withstand: by each of the `sets`, on each of the `aims`.

    `begin` makes the buckets to begin with, for an r, and `least` says how many rows they have at
    least. Forecasts begin with the shares that the table has: `carriers` by aim and distinct row.
    """

    begin: Callable[[Fraction], Exposed]
    least: Callable[[Fraction], int]
    aims: tuple[Aim, ...]
    sets: tuple[AttributeSet, ...]
    carriers: Counts | Floats
    policy: Policy = "pool"


def merge_for_every_value(task: Task, r: Fraction) -> Merger:
    """Merge buckets until nobody is linked to any of many values with a probability above 1/r.

    Notes
    -----
    What is safe is as in `shoal.foreground.merging.merge_until_safe`. One bucket of all rows says
    nothing about anybody, so it is no result.

    Raises
    ------
    InfeasibleError
        If no buckets are found, or not within the work that a table of this size may take. It names
        the largest r that was reached of some that were tried, between 1 and the one asked for.
    """
    exposed = task.begin(r)
    n_most = _MOST_WORK + _MOST_PER_ROW * exposed.n_rows
    try:
        rounds = _Rounds.of(task, r, exposed)
        return rounds.merge_until_safe(Work(n_most))
    except InfeasibleError as error:
        refused = error
    except TooMuchWork:
        refused = _stopped(rounds)
    best = _largest_reached(task, r, n_most)
    reached = reachable({"r": best}) or "no smaller r that is of use was reached"
    raise InfeasibleError(refused.fact, hint=f"{reached}; {_INSTEAD}.", best={"r": as_text(best)})


def _largest_reached(task: Task, r: Fraction, n_most: int) -> Fraction:
    """Return the largest r that can be kept, of some between 1 and a larger one that cannot.

    The forecast says where to begin, so that few are attacked.
    """
    tried = [1 + (r - 1) * Fraction(number, _N_PARTS) for number in range(_N_PARTS)]
    promising = bisect_left(range(1, _N_PARTS), True, key=lambda n: not _promises(task, tried[n]))
    reached, above = 0, promising + 1
    while above - reached > 1:
        # First the largest that is promising.
        number = promising if above > promising else (reached + above) // 2
        try:
            _Rounds.of(task, tried[number]).merge_until_safe(Work(n_most // _N_PARTS))
            reached = number
        except (InfeasibleError, TooMuchWork):
            above = number
    return tried[reached]


def _promises(task: Task, r: Fraction) -> bool:
    """Return whether several buckets withstand the forecast."""
    try:
        _Rounds.of(task, r).merge_by_forecast()
    except InfeasibleError:
        return False
    return True


_INSTEAD = (
    "protect only the values that need it, with value = [...], or take a smaller epsilon, so that "
    "the adversary relies only on combinations that more rows have"
)


def _only_one_bucket(r: Fraction) -> InfeasibleError:
    return InfeasibleError(
        f"Keeping every belief about every value within 1/r for r = {as_text(r)} would leave one "
        "bucket of all rows or none, which is of no use.",
        hint=_INSTEAD,
    )


def _stopped(rounds: _Rounds) -> InfeasibleError:
    return InfeasibleError(
        "The search for buckets that keep every belief about every value within 1/r for "
        f"r = {as_text(rounds.r)} was stopped because it takes too long: in round "
        f"{rounds.n_rounds}, {rounds.now.buckets.n_buckets} of {len(rounds.target)} buckets were "
        "left, and the adversary was still being asked.",
        hint=_INSTEAD,
    )


@dataclass(eq=False)
class _Rounds:
    """The buckets as merged so far, with what is forecast of them.

    `begun` are the buckets at the beginning, `now` and `inside` the merged ones, with profiles as
    distinct rows, and `target` is the merged bucket that each bucket became a part of. `order` are
    the aims, those first that are likely to be believed.
    """

    begun: Exposed
    attacker: Attacker
    forecast: Forecast
    scores: Floats
    now: Exposed
    inside: Inside
    believed: Believed
    target: Codes
    order: list[int]
    n_rounds: int = 0

    @classmethod
    def of(cls, task: Task, r: Fraction, exposed: Exposed | None = None) -> _Rounds:
        """Begin, with the buckets that the task begins with unless they are given."""
        exposed = task.begin(r) if exposed is None else exposed
        aims = task.aims
        # If the share in the whole release exceeds 1/r, so does the share in some bucket.
        totals = np.array([exposed.n_carrying(aim).sum() for aim in aims], dtype=np.int64)
        if int(totals.max(initial=0)) * r > exposed.n_rows:
            raise _only_one_bucket(r)
        alike, sets, carriers = by_profile(exposed, task.sets, task.carriers)
        forecast = Forecast.of_table(sets, alike.looks.counts, carriers)
        logs = [
            log_odds(chances)[one.class_of_look]
            for one, chances in zip(sets, forecast.chances, strict=True)
        ]
        nothing = np.zeros((alike.looks.n_cells, len(aims)))
        scores = np.ascontiguousarray((np.mean(logs, axis=0) if logs else nothing).T)
        carrying = np.array([alike.n_carrying(aim) for aim in aims], dtype=np.int64)
        inside = _inside(alike, carrying.reshape(len(aims), -1))
        return cls(
            exposed,
            Attacker(aims, r, sets, task.policy, task.least(r)),
            forecast,
            scores,
            alike,
            inside,
            forecast.believed(inside),
            np.arange(alike.buckets.n_buckets),
            # Beliefs in frequent values are the highest.
            np.argsort(-totals, kind="stable").tolist(),
        )

    @property
    def r(self) -> Fraction:
        """Nobody is to be linked to a value with more than 1/r."""
        return self.attacker.r

    def merge_until_safe(self, work: Work) -> Merger:
        """Merge until the adversary finds nobody; attacks spend from `work`."""
        while True:
            self.merge_by_forecast()
            judged = self.attack(work)
            if not judged.fails.any():
                whole = merged_release(self.begun, self.target)
                worst = judged.worst, judged.worst_solution
                return Merger(self.target, whole, self.n_rounds, *worst)
            self.merge(judged)

    def merge_by_forecast(self) -> None:
        """Merge until nobody is found by forecasts."""
        while True:
            judged = self._judge(self.believed)
            if not judged.fails.any():
                ahead = self.forecast.climbed(self.inside, _N_STEPS)
                judged = self._judge(ahead.believed(self.inside))
                if not judged.fails.any():
                    return
            self.merge(judged)

    def merge(self, judged: Suspects) -> None:
        """Merge the buckets in which somebody is found with others."""
        if self.now.buckets.n_buckets == 1:
            raise _only_one_bucket(self.r)
        joined = join(self.now, judged, self.scores, self.r, boldness=1.0)
        n_parts = np.bincount(joined)
        if len(n_parts) == 1:
            raise _only_one_bucket(self.r)
        carrying = np.zeros((len(self.inside.carrying), len(n_parts)), dtype=np.int64)
        np.add.at(carrying.T, joined, self.inside.carrying.T)
        self.now = merged_release(self.now, joined)
        self.inside = _inside(self.now, carrying)
        self.target = joined[self.target]
        self.n_rounds += 1
        # Only the beliefs in merged buckets have changed.
        source = np.empty(len(n_parts), dtype=np.int64)
        source[joined] = np.arange(len(joined))
        self.believed = self.believed.take(source)
        changed = np.flatnonzero(n_parts > 1)
        self.believed.put(changed, self.forecast.believed(self.inside.take(changed)))

    def _judge(self, believed: Believed) -> Suspects:
        """Return the buckets in which somebody is believed to carry an aim too strongly."""
        r, sizes, carrying = self.r, self.inside.sizes, self.inside.carrying
        n_buckets = self.inside.n_buckets
        most = np.argmax(carrying, axis=0) if len(carrying) else np.zeros(n_buckets, dtype=np.int64)
        n_most = carrying.max(axis=0, initial=0)
        share = n_most / sizes
        fails = sizes < self.attacker.n_least
        # The share of a bucket does not depend on what was learned, and is judged exactly.
        fails |= n_most * r.numerator > sizes * r.denominator
        is_higher = believed.belief > share + MARGIN
        if r > 1:
            fails |= is_higher & (believed.belief > float(1 / r) - MARGIN)
        first = self.inside.look[self.now.starts[:-1]]
        highest = np.where(is_higher, believed.belief, share)
        return Suspects(
            fails,
            np.where(is_higher, believed.aim, most),
            np.where(is_higher, believed.look, first),
            highest * float(r),
            carrying,
            float(highest.max(initial=0.0)),
            float(highest.max(initial=0.0)),
        )

    def attack(self, work: Work) -> Suspects:
        """Let the adversary attack, value by value, until she finds somebody."""
        # By sets that do not tell rows apart, she believes the shares, which were judged.
        found = self._judge(Believed.nothing(self.inside.n_buckets))
        steps = self.forecast.operations(self.inside)
        for number in tuple(self.order):
            target = Target.of(self.now, self.attacker.aims[number])
            for places, estimate in _at_once(self.attacker.sets, steps[:, number]):
                if estimate > work.left:
                    raise TooMuchWork(f"about {estimate} operations are not left")
                chosen = [self.attacker.sets[place] for place in places]
                exposure, learned = expose(target, chosen, policy=self.attacker.policy)
                n_steps = [one.fit.n_steps for one in learned]
                work.spend(int(steps[places, number] @ n_steps) + _PER_SET * len(places))
                judged = self.attacker.suspects(number, exposure, self.inside.carrying)
                if judged.fails.any():
                    # It is likely to fail again.
                    self.order.remove(number)
                    self.order.insert(0, number)
                    return judged
                found = found.with_others(judged)
        return found


def _at_once(sets: Sequence[AttributeSet], steps: Counts) -> Iterator[tuple[list[int], int]]:
    """Yield the places of sets that tell rows apart, as many at once as take little work.

    With them comes an estimate of that work.
    """
    chosen: list[int] = []
    estimate = 0
    for place in np.flatnonzero(steps).tolist():
        chosen.append(place)
        n_starts = _N_STARTS + min(sets[place].n_classes, RAISED_AT_MOST)
        estimate += int(steps[place]) * n_starts * _STEPS_PER_START
        if estimate > _AT_ONCE:
            yield chosen, estimate
            chosen, estimate = [], 0
    if chosen:
        yield chosen, estimate


def _inside(exposed: Exposed, carrying: Counts) -> Inside:
    return Inside(exposed.bucket, exposed.look, exposed.count, carrying)


def by_profile(
    exposed: Exposed, sets: Sequence[AttributeSet], carriers: Counts | Floats
) -> tuple[Exposed, tuple[AttributeSet, ...], Counts | Floats]:
    """Let one distinct row stand for all that no set tells apart."""
    looks = exposed.looks
    profile, n_profiles = profiles(tuple(sets), looks.n_cells)
    first = np.unique(profile, return_index=True)[1]
    counts = np.bincount(profile, looks.counts, n_profiles).astype(np.int64)
    alike = replace(exposed, looks=Cells(looks.domains, looks.codes[first], counts))
    alike = replace(alike, look=profile[exposed.look])
    own = [np.bincount(profile, each, n_profiles) for each in carriers]
    kept = tuple(replace(one, class_of_look=one.class_of_look[first]) for one in sets)
    # Rows of one bucket and profile become one entry.
    same = merged_release(alike, np.arange(alike.buckets.n_buckets))
    return same, kept, np.array(own).reshape(len(own), n_profiles)
