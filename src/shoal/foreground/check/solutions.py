"""The solutions of the foreground equations, by a search of the checker's own.

Which of several solutions a search finds depends on where it starts, so the starts are published
and are computed here from the names and values in the release: equal probabilities, each class
raised in turn, and eight pseudo-random points from SHA-256. From every start the search iterates
the equations, and Newton's method finds the last digits. An end that is not a maximum is left;
distinct maxima are weighted by their likelihood.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Counts, Flags, Floats
from shoal.core.progress import Work
from shoal.foreground.check.model import Model

_N_WORDS = 8
_N_RAISED = 32
_TENFOLD = 10.0
_HUNDREDTH = 0.01
_LEAST = 1e-9
"""Probabilities stay this far from 0 and 1."""
_SETTLED = 1e-7
_MOST_STEPS = 400
_LONGEST, _FARTHEST = 32.0, 0.25
"""The most steps that a stride covers, and the farthest it goes in log odds."""
_DISTINCT = 1e-6
_SAME_RIDGE = 1e-2
_HIGHER = 1e-7
_ASIDE = 0.05
_BOWL = 1.0
_CURVED = 1e-6
_FALLING = 1e-5
_MOST_MAXIMA = 200
_MOST_NEWTON = 30
_STILL = 1e-9
_NEAR_BOUND = 1e-4
_OFTEN, _EVERY, _SLOW = 8, 32, 5e-3
_CLOSE_CALL = 2.0
_PER_STEP = 20_000
"""The overhead of a step, however small the release is, in operations."""


def seed_numbers(
    columns: list[str], values: list[str | None], signatures: list[list[str | None] | None]
) -> Floats:
    """Return the eight published pseudo-random numbers of each class.

    `values` count as one. `signatures` are the texts of each signature, in the order of `columns`;
    None for all that are too rare.
    """
    order = sorted(range(len(columns)), key=lambda place: columns[place])
    by_name = [columns[place] for place in order]
    ordered = sorted(values, key=lambda text: (text is not None, text or ""))
    numbers = []
    for texts in signatures:
        own = None if texts is None else [texts[place] for place in order]
        stated = json.dumps(
            ["shoal foreground start", by_name, ordered, own],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        digest = hashlib.sha256(stated.encode("utf-8")).digest()
        numbers.append(
            [
                (int.from_bytes(digest[4 * word : 4 * word + 4], "big") + 0.5) / 2**32
                for word in range(_N_WORDS)
            ]
        )
    return np.array(numbers)


def starting_chances(numbers: Floats, rows: Counts, rate: float) -> Floats:
    """Return the starts, one row each."""
    level = np.log(rate / (1 - rate))
    alike = level + _HUNDREDTH * (2 * numbers[:, 0] - 1)
    logs = [alike]
    fewest = sorted(range(len(rows)), key=lambda place: (rows[place], numbers[place, 0]))
    for place in fewest[:_N_RAISED]:
        raised = alike.copy()
        raised[place] += np.log(_TENFOLD)
        logs.append(raised)
    chances = [1 / (1 + np.exp(-one)) for one in logs]
    return np.array([*chances, *(numbers[:, word] for word in range(_N_WORDS))])


@dataclass(frozen=True, eq=False)
class Solutions:
    """The distinct maxima, one row of `chances` each.

    `weights` are their likelihoods, as shares of the sum; `is_close` says that the log-likelihood
    is within 2 of the highest.
    """

    chances: Floats
    weights: Floats
    is_close: Flags


def solve(model: Model, numbers: Floats, fixed: Floats, work: Work) -> Solutions:
    """Search from every listed start; raises `TooMuchWork` if that takes more than `work` has.

    `numbers` are those of `seed_numbers`, and `fixed` the probabilities that are given; NaN for
    those that are sought.
    """
    rate = model.total / float(model.rows.sum())
    search = _Search.of(model, fixed, rate, work)
    if 0 < rate < 1 and len(search.sought):
        starts = starting_chances(numbers, model.rows, rate)
        search.climb(starts[:1])
        search.climb(starts[1:])
    else:
        point = search.inside(np.full((1, len(fixed)), rate))[0]
        search.maxima.append(_Maximum.doubtful(point, 0.0))
    heights = np.array([one.height for one in search.maxima])
    weights = np.exp(heights - heights.max())
    return Solutions(
        np.array([one.chances for one in search.maxima]),
        weights / weights.sum(),
        heights >= heights.max() - _CLOSE_CALL,
    )


@dataclass(frozen=True, eq=False)
class _Maximum:
    """A maximum and its log-likelihood.

    `is_certain` says that its curvature is clear. Only then are there `slope`, the slopes there,
    `moving`, the classes that no slope holds at a bound, and `bends`, minus the second derivatives
    along these.
    """

    chances: Floats
    height: float
    is_certain: bool
    slope: Floats
    moving: npt.NDArray[np.intp]
    bends: Floats

    @classmethod
    def doubtful(cls, chances: Floats, height: float) -> _Maximum:
        """Return an end whose curvature is not known."""
        nothing = np.zeros(0, dtype=np.intp)
        return cls(chances, height, False, np.zeros(0), nothing, np.zeros((0, 0)))

    def fall(self, points: Floats) -> Floats:
        """Return how far the likelihood should fall from here to other points."""
        away = points - self.chances
        found: Floats = -(away * self.slope).sum(axis=1)
        inner = away[:, self.moving]
        found += (inner * self.slope[self.moving]).sum(axis=1)
        found += np.einsum("pi,ij,pj->p", inner, self.bends, inner) / 2
        return found


@dataclass(eq=False)
class _Search:
    """Climbs, and the maxima that they ended at.

    `rate` is the share of carriers in the whole release. `reached` are the heights of known maxima
    that climbs arrived at, `doubtful` the ends so far whose curvature is not clear.
    """

    model: Model
    fixed: Floats
    rate: float
    work: Work
    maxima: list[_Maximum] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    doubtful: list[Floats] = field(default_factory=list)

    @classmethod
    def of(cls, model: Model, fixed: Floats, rate: float, work: Work) -> _Search:
        """Set the search up; the probabilities of some classes follow from the release at once.

        Those classes never share a bucket with a carrier, or all their rows are carriers.
        """
        work.spend(model.n_operations)
        share = model.step(np.full((1, len(fixed)), 0.5))[0][0]
        is_known = np.isnan(fixed) & ((share <= 0) | (share >= 1 - 1e-12) | (model.rows == 0))
        return cls(model, np.where(is_known, share, fixed), rate, work)

    @property
    def sought(self) -> npt.NDArray[np.intp]:
        """The classes whose probabilities are sought."""
        return np.flatnonzero(np.isnan(self.fixed))

    def inside(self, chances: Floats) -> Floats:
        """Keep probabilities off the bounds, and those that are given as they are."""
        found: Floats = np.where(np.isnan(self.fixed), chances, self.fixed)
        return np.clip(found, _LEAST, 1 - _LEAST)

    def step(self, chances: Floats) -> tuple[Floats, Floats]:
        """Apply the equations once, and count the work."""
        self.work.spend(_PER_STEP + len(chances) * self.model.n_operations)
        return self.model.step(chances)

    def climb(self, starts: Floats) -> None:
        """Climb from some starts, and keep every maximum that is new."""
        queue = self._ends(starts)
        while queue and len(self.maxima) < _MOST_MAXIMA:
            found = self._refine(queue.pop(0))
            if self._is_known(found.chances):
                continue
            if not found.is_certain:
                near = [*self.doubtful, *(one.chances for one in self.maxima)]
                if any(np.abs(found.chances - one).max() <= _SAME_RIDGE for one in near):
                    continue
                self.doubtful.append(found.chances)
                if self._rises(found.chances):
                    is_left, higher = self._leave(found.chances, found.height)
                    queue.extend(higher)
                    if is_left:
                        continue
            self.maxima.append(found)

    def _is_known(self, point: Floats) -> bool:
        return any(np.abs(point - one.chances).max() <= _DISTINCT for one in self.maxima)

    def _rises(self, point: Floats) -> bool:
        """Return whether the likelihood curves upwards in some direction."""
        slope = self._slopes(point[np.newaxis])[0][0]
        moving = self.sought[~self._held(point, slope)[self.sought]]
        bends = self._bends(point, moving)
        return _least_curved(point[moving], bends, self.model.rows[moving]) < -_CURVED

    def _leave(self, point: Floats, height: float) -> tuple[bool, list[Floats]]:
        """Climb from points next to a given one, class by class.

        Returns whether some climb ended higher, so that the point is not a maximum, and the higher
        ends that are not known yet.
        """
        sought = self.sought
        rate = float(point[sought].mean())
        beside = []
        for place in sought.tolist():
            up, down = point.copy(), point.copy()
            up[place] += _ASIDE * min(rate, 1 - rate) * (1 - point[place])
            down[place] *= 1 - _ASIDE
            beside += [up, down]
        self.reached.clear()
        ends = self._ends(np.array(beside))
        heights = self.step(np.array(ends))[1].tolist() if ends else []
        higher = [
            end
            for end, one in zip(ends, heights, strict=True)
            if one > height + _HIGHER and np.abs(end - point).max() > _SAME_RIDGE
        ]
        is_left = bool(higher) or max(self.reached, default=-np.inf) > height + _HIGHER
        return is_left, higher

    def _ends(self, starts: Floats) -> list[Floats]:
        """Iterate the equations, in longer and longer strides, until nothing moves."""
        ends: list[Floats] = []
        now = self.inside(starts)
        share, height = self._apply(now)
        stride = np.ones(len(now))
        for count in range(_MOST_STEPS):
            goes_on = self._goes_on(now, share, height, ends)
            if (count + 1) % (_OFTEN if count < _EVERY else _EVERY) == 0:
                goes_on &= ~self._arrive(now, share, goes_on)
            if not goes_on.any():
                return ends
            now, share, height, stride = self._stride(
                now[goes_on], share[goes_on], height[goes_on], stride[goes_on]
            )
        return [*ends, *now]

    def _apply(self, points: Floats) -> tuple[Floats, Floats]:
        """Apply the equations once, within the bounds."""
        found, height = self.step(points)
        return self.inside(found), height

    def _stride(
        self, now: Floats, share: Floats, height: Floats, stride: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Continue along the last change of the log odds, farther as long as that leads up.

        Nothing moves by more than a quarter in log odds: the path is that of single steps.
        """
        sought = self.sought
        odds = np.log(now[:, sought] / (1 - now[:, sought]))
        change = np.log(share[:, sought] / (1 - share[:, sought])) - odds
        room = _FARTHEST / np.maximum(np.abs(change).max(axis=1), 1e-12)
        stride = np.maximum(np.minimum(stride, room), 1.0)
        ahead, is_long = share.copy(), stride > 1
        farther = odds[is_long] + stride[is_long, np.newaxis] * change[is_long]
        ahead[np.ix_(is_long, sought)] = 1 / (1 + np.exp(-farther))
        ahead = self.inside(ahead)
        following, above = self._apply(ahead)
        is_lower = is_long & (above < height)
        if is_lower.any():
            ahead[is_lower] = share[is_lower]
            following[is_lower], above[is_lower] = self._apply(share[is_lower])
        return ahead, following, above, np.where(is_lower, 1.0, np.minimum(2 * stride, _LONGEST))

    def _goes_on(self, now: Floats, share: Floats, height: Floats, ends: list[Floats]) -> Flags:
        """Return which climbs go on; those that ended somewhere new are added to the ends."""
        room = np.minimum(now, 1 - now)
        is_still = np.all(np.abs(share - now) <= _SETTLED * room, axis=1)
        ends.extend(now[is_still])
        goes_on: Flags = ~is_still
        for one in self.maxima:
            if one.is_certain:
                # In the bowl of a maximum the likelihood is lower by what curvature predicts.
                fall = one.fall(now)
                is_there = (fall <= _BOWL) & (
                    np.abs(one.height - height - fall) <= fall / 10 + 1e-9
                )
                goes_on &= ~is_there
                self.reached.extend([one.height] * bool(is_there.any()))
        return goes_on

    def _arrive(self, now: Floats, share: Floats, goes_on: Flags) -> Flags:
        """Refine climbs that have become slow; return which of them were at a maximum."""
        has_arrived = np.zeros(len(now), dtype=bool)
        own, after = now[:, self.sought], share[:, self.sought]
        room = np.maximum(np.minimum(own, 1 - own), 0.1 * own.mean(axis=1, keepdims=True))
        is_slow = goes_on & np.all(np.abs(after - own) <= _SLOW * room, axis=1)
        for place in np.flatnonzero(is_slow).tolist():
            found = self._refine(now[place])
            has_arrived[place] = found.is_certain
            if found.is_certain:
                self.reached.append(found.height)
                if not self._is_known(found.chances):
                    self.maxima.append(found)
        return has_arrived

    def _slopes(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the slope of the log-likelihood along every probability, and the height."""
        share, height = self.step(points)
        return self.model.rows * (share - points) / (points * (1 - points)), height

    def _refine(self, point: Floats) -> _Maximum:
        """Take Newton's steps while they lead up and the likelihood is curved as at a maximum."""
        slopes, heights = self._slopes(point[np.newaxis])
        slope, height = slopes[0], float(heights[0])
        last = np.inf
        for _ in range(_MOST_NEWTON):
            held = self._held(point, slope)
            moving = self.sought[~held[self.sought]]
            bends = self._bends(point, moving)
            if not _is_curved(point[moving], bends, self.model.rows[moving]):
                break
            if last <= _STILL:
                return _Maximum(point, height, True, slope, moving, bends)
            tried = self._newton(point, slope, moving, bends)
            tried[held] = np.where(tried[held] < 0.5, _LEAST, 1 - _LEAST)
            slopes, heights = self._slopes(tried[np.newaxis])
            if heights[0] < height - 1e-10 * (1 + abs(height)):
                break
            last = float(np.abs(tried - point).max())
            point, slope, height = tried, slopes[0], float(heights[0])
        return _Maximum.doubtful(point, height)

    def _held(self, point: Floats, slope: Floats) -> Flags:
        """Return which probabilities are near a bound that their slope leads to."""
        steep = _FALLING * self.model.rows
        held = (point <= _NEAR_BOUND) & (slope < -steep)
        held |= (1 - point <= _NEAR_BOUND) & (slope > steep)
        found: Flags = held & np.isnan(self.fixed)
        return found

    def _bends(self, point: Floats, moving: npt.NDArray[np.intp]) -> Floats:
        """Return minus the second derivatives along some classes."""
        room = np.minimum(point, 1 - point)[moving]
        width = 1e-4 * np.maximum(room, 0.01 * min(self.rate, 1 - self.rate))
        above = np.minimum(point[moving] + width, 1 - _LEAST)
        below = np.maximum(point[moving] - width, _LEAST)
        points = np.repeat(point[np.newaxis], 2 * len(moving), axis=0)
        for place, one in enumerate(moving.tolist()):
            points[2 * place, one], points[2 * place + 1, one] = above[place], below[place]
        slopes = self._slopes(points)[0][:, moving] if len(moving) else np.zeros((0, 0))
        bends = (slopes[1::2] - slopes[0::2]) / (above - below)[:, np.newaxis]
        found: Floats = (bends + bends.T) / 2
        return found

    def _newton(
        self, point: Floats, slope: Floats, moving: npt.NDArray[np.intp], bends: Floats
    ) -> Floats:
        """Return where one step leads, at most a twentieth away and within the bounds."""
        kept = np.ones(len(moving), dtype=bool)
        change = np.zeros(len(moving))
        while kept.any():
            change[:] = 0.0
            change[kept] = np.linalg.solve(bends[np.ix_(kept, kept)], slope[moving][kept])
            leaves = (point[moving] <= 2 * _LEAST) & (change < 0)
            leaves |= (1 - point[moving] <= 2 * _LEAST) & (change > 0)
            if not leaves.any():
                break
            kept &= ~leaves
            change[:] = 0.0
        change /= max(1.0, float(np.abs(change).max(initial=0.0)) / _ASIDE)
        following = point.copy()
        following[moving] += change
        found: Floats = self.inside(following[np.newaxis])[0]
        return found


def _is_curved(chances: Floats, bends: Floats, rows: Counts) -> bool:
    """Return whether the likelihood clearly falls in every direction."""
    return _least_curved(chances, bends, rows) > _CURVED


def _least_curved(chances: Floats, bends: Floats, rows: Counts) -> float:
    """Return how much the likelihood falls in the direction in which it falls least."""
    if not len(chances):
        return 1.0
    spread = chances * (1 - chances)
    scale = np.sqrt(np.maximum(spread, 0.01 * spread.max()) / rows)
    return float(np.linalg.eigvalsh(bends * np.outer(scale, scale)).min())
