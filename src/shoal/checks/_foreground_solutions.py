"""The solutions of the foreground equations, by a checker's own search.

Which of several solutions a search finds depends on where it begins, so the starts are published,
and this module makes them anew from the names and values in the release: chances that are all
alike, each class raised in turn, and eight from SHA-256. Every start is climbed from by iterating
the equations, with longer strides while they lead up. An end that is no maximum is left; distinct
maxima are weighed by their likelihood.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.checks._foreground_buckets import Floats, Model
from shoal.core.cells import Counts
from shoal.core.work import Work

__all__ = ["Solutions", "seed_numbers", "solve"]

Flags = npt.NDArray[np.bool_]

_N_WORDS = 8
_N_RAISED = 32
_TENFOLD = 10.0
_HUNDREDTH = 0.01
_LEAST = 1e-9
"""The least chance, and the least chance of the contrary, that the search goes to."""
_AT_BOUND = 1e-7
_SETTLED = 1e-7
_PLAIN_STEPS = 400
_MOST_STEPS = 1_500
_LONGER = 1.4
_DISTINCT = 1e-6
_SAME_RIDGE, _SAME_HEIGHT = 1e-2, 1e-7
_HIGHER = 1e-7
_ASIDE = 0.05
_ARRIVED = 0.02
_CURVED = 1e-4
_FALLING = 1e-3
_WELL_KNOWN = 8.0
_MOST_MAXIMA = 200
_CLOSE_CALL = 2.0


@dataclass(frozen=True, eq=False)
class Solutions:
    """The distinct maxima.

    Parameters
    ----------
    chances
        One row per maximum, one column per class.
    weights
        Their likelihoods, as shares of the sum.
    is_close
        Whether the log-likelihood is within 2 of the highest.
    """

    chances: Floats
    weights: Floats
    is_close: Flags


def seed_numbers(
    columns: list[str], values: list[str | None], signatures: list[list[str | None] | None]
) -> Floats:
    """Return the eight published pseudo-random numbers of each class.

    Parameters
    ----------
    columns
        The names of the attribute set.
    values
        The values that count as one.
    signatures
        The texts of each signature, in the order of `columns`; None for all that are too rare.
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


def _starts(numbers: Floats, rows: Counts, rate: float) -> Floats:
    """List the starts, one row each."""
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


def solve(model: Model, numbers: Floats, fixed: Floats, work: Work) -> Solutions:
    """Search from every listed start.

    Parameters
    ----------
    model
        The likelihood.
    numbers
        See `seed_numbers`.
    fixed
        The chances that are given; not a number for those that are sought.
    work
        What may be spent.

    Raises
    ------
    TooMuchWork
        If the search would take more.
    """
    rate = model.total / float(model.rows.sum())
    search = _Search.of(model, fixed, rate, work)
    if 0 < rate < 1 and len(search.sought):
        starts = _starts(numbers, model.rows, rate)
        search.climb(starts[:1])
        if not search.is_well_known:
            search.climb(starts[1:])
    else:
        point = search.inside(np.full((1, len(fixed)), rate))[0]
        search.maxima.append(_Maximum(point, 0.0, is_certain=True, knowledge=np.inf))
    heights = np.array([one.height for one in search.maxima])
    weights = np.exp(heights - heights.max())
    return Solutions(
        np.array([one.chances for one in search.maxima]),
        weights / weights.sum(),
        heights >= heights.max() - _CLOSE_CALL,
    )


@dataclass(frozen=True, eq=False)
class _Maximum:
    """A maximum.

    Parameters
    ----------
    chances, height
        The point and its log-likelihood.
    is_certain
        Whether its curvature leaves no doubt.
    knowledge
        How well it is known: the precision of the worst known combination of log-odds, and for a
        chance at a bound the log-likelihood that is lost where it is that of everybody.
    """

    chances: Floats
    height: float
    is_certain: bool
    knowledge: float


@dataclass(eq=False)
class _Search:
    """Climbs, and the maxima that they ended at.

    Parameters
    ----------
    model
        The likelihood.
    fixed
        The chances that are given.
    rate
        The share of carriers in the whole release.
    work
        What may be spent.
    """

    model: Model
    fixed: Floats
    rate: float
    work: Work
    maxima: list[_Maximum] = field(default_factory=list)

    @classmethod
    def of(cls, model: Model, fixed: Floats, rate: float, work: Work) -> _Search:
        """Set the search up: classes that are never beside a carrier, or always one, are known."""
        work.spend(model.n_operations)
        share = model.step(np.full((1, len(fixed)), 0.5))[0][0]
        is_known = np.isnan(fixed) & ((share <= 0) | (share >= 1 - 1e-12) | (model.rows == 0))
        return cls(model, np.where(is_known, share, fixed), rate, work)

    @property
    def sought(self) -> npt.NDArray[np.intp]:
        """The classes whose chances are sought."""
        return np.flatnonzero(np.isnan(self.fixed))

    @property
    def is_well_known(self) -> bool:
        """Whether the only maximum so far is known so well that no other counts."""
        (first, *others) = self.maxima
        return not others and first.is_certain and first.knowledge >= _WELL_KNOWN

    def inside(self, chances: Floats) -> Floats:
        """Keep chances off the bounds, and those that are given as they are."""
        found: Floats = np.where(np.isnan(self.fixed), chances, self.fixed)
        return np.clip(found, _LEAST, 1 - _LEAST)

    def step(self, chances: Floats) -> tuple[Floats, Floats]:
        """Apply the equations once, and count it."""
        self.work.spend(len(chances) * self.model.n_operations)
        return self.model.step(chances)

    def climb(self, starts: Floats) -> None:
        """Climb from some starts, and keep every maximum that is new."""
        queue = self._ends(starts)
        while queue and len(self.maxima) < _MOST_MAXIMA:
            point = self._refine(queue.pop(0))
            if any(np.abs(point - one.chances).max() <= _DISTINCT for one in self.maxima):
                continue
            height = float(self.step(point[np.newaxis])[1][0])
            is_certain, knowledge = self._curvature(point)
            if not is_certain:
                higher = self._leave(point, height)
                queue.extend(higher)
                if higher or self._is_on_ridge(point, height):
                    continue
            self.maxima.append(_Maximum(point, height, is_certain, knowledge))

    def _is_on_ridge(self, point: Floats, height: float) -> bool:
        return any(
            not one.is_certain
            and abs(one.height - height) <= _SAME_HEIGHT
            and np.abs(one.chances - point).max() <= _SAME_RIDGE
            for one in self.maxima
        )

    def _leave(self, point: Floats, height: float) -> list[Floats]:
        """Climb from beside a point, class by class, and return the ends that are higher."""
        sought = self.sought
        rate = float(point[sought].mean())
        beside = []
        for place in sought.tolist():
            up, down = point.copy(), point.copy()
            up[place] += _ASIDE * min(rate, 1 - rate) * (1 - point[place])
            down[place] *= 1 - _ASIDE
            beside += [up, down]
        ends = self._ends(np.array(beside))
        if not ends:
            return []
        heights = self.step(np.array(ends))[1]
        return [end for end, one in zip(ends, heights, strict=True) if one > height + _HIGHER]

    def _ends(self, starts: Floats) -> list[Floats]:
        """Iterate the equations, with longer strides while they lead up, until nothing moves."""
        ends: list[Floats] = []
        now = self.inside(starts)
        share, height = self._equations(now)
        stride = np.ones(len(now))
        for count in range(_MOST_STEPS):
            goes_on = self._goes_on(now, share, ends)
            now, share = now[goes_on], share[goes_on]
            height, stride = height[goes_on], stride[goes_on]
            if not len(now):
                return ends
            logs, after = _logit(now), _logit(share)
            tried = self.inside(_chance(logs + stride[:, np.newaxis] * (after - logs)))
            found, above = self._equations(tried)
            fails = ~(above >= height - 1e-12 * np.abs(height))
            if fails.any():
                tried[fails] = share[fails]
                found[fails], above[fails] = self._equations(tried[fails])
            stride = np.where(fails | (count < _PLAIN_STEPS), 1.0, stride * _LONGER)
            now, share, height = tried, found, above
        return [*ends, *now]

    def _equations(self, chances: Floats) -> tuple[Floats, Floats]:
        share, height = self.step(chances)
        return self.inside(share), height

    def _goes_on(self, now: Floats, share: Floats, ends: list[Floats]) -> Flags:
        """Say which climbs go on; those that ended somewhere new are added to the ends."""
        room = np.minimum(now, 1 - now)
        is_still = np.all(np.abs(share - now) <= _SETTLED * room, axis=1)
        ends.extend(now[is_still])
        goes_on = ~is_still
        for one in self.maxima:
            if one.is_certain:
                near = _ARRIVED * np.minimum(one.chances, 1 - one.chances) + _DISTINCT
                goes_on &= ~np.all(np.abs(now - one.chances) <= near, axis=1)
        return goes_on

    def _inner(self, point: Floats) -> npt.NDArray[np.intp]:
        own = point[self.sought]
        return self.sought[(own > _AT_BOUND) & (1 - own > _AT_BOUND)]

    def _jacobian(self, point: Floats, inner: npt.NDArray[np.intp]) -> Floats:
        """Return how the excess of expected carriers falls along the log-odds of inner classes."""
        width = 1e-4
        points = np.repeat(point[np.newaxis], 2 * len(inner), axis=0)
        logs = _logit(point[inner])
        places = np.arange(len(inner))
        points[2 * places, inner] = _chance(logs + width)
        points[2 * places + 1, inner] = _chance(logs - width)
        share = self.step(points)[0]
        excess = (self.model.rows * (share - points))[:, inner]
        falls: Floats = -(excess[0::2] - excess[1::2]) / (2 * width)
        return falls

    def _refine(self, point: Floats) -> Floats:
        """Take Newton's steps along the classes that are off the bounds, while they are short."""
        begin = point
        inner = self._inner(point)
        for _ in range(12):
            if not len(inner):
                break
            share = self.step(point[np.newaxis])[0][0]
            falls = self._jacobian(point, inner)
            excess = (self.model.rows * (share - point))[inner]
            if np.linalg.eigvalsh((falls + falls.T) / 2).min() <= 0:
                return begin
            change = np.linalg.solve(falls.T, excess)
            if not np.all(np.abs(change) < 0.5):
                return begin
            following = point.copy()
            following[inner] = _chance(_logit(point[inner]) + change)
            point = self.inside(following[np.newaxis])[0]
            if np.abs(change).max() < 1e-11:
                break
        before, after = self.step(np.array([begin, point]))[1]
        return point if after >= before - 1e-9 else begin

    def _curvature(self, point: Floats) -> tuple[bool, float]:
        """Say whether a point is a maximum beyond doubt, and how well it is known."""
        share = self.step(point[np.newaxis])[0][0]
        rows, own = self.model.rows, np.isnan(self.fixed)
        low, high = own & (point <= _AT_BOUND), own & (1 - point <= _AT_BOUND)
        falls_low = (1 - share / point)[low]
        falls_high = (1 - (1 - share) / (1 - point))[high]
        is_held = min([1.0, *falls_low, *falls_high]) >= _FALLING
        loss = [*rows[low] * self.rate * falls_low, *rows[high] * (1 - self.rate) * falls_high]
        inner = self._inner(point)
        if not len(inner):
            return is_held, min([np.inf, *loss])
        falls = self._jacobian(point, inner)
        falls = (falls + falls.T) / 2
        scale = 1 / np.sqrt((rows * point * (1 - point))[inner])
        least = np.linalg.eigvalsh(falls * np.outer(scale, scale)).min()
        knowledge = min([float(np.linalg.eigvalsh(falls).min()), *loss])
        return bool(is_held and least > _CURVED), knowledge


def _logit(chances: Floats) -> Floats:
    logs: Floats = np.log(chances) - np.log1p(-chances)
    return logs


def _chance(logs: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-logs))
    return chances
