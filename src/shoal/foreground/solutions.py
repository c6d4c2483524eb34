"""All maxima that the search reaches from a list of starting points.

The equations of [Wong11] have saddle points and, on small releases, more than one maximum. None of
the maxima is the truth, so the adversary weighs them by their likelihood. The search climbs from
every listed start, leaves points that are not maxima, and counts maxima as distinct if some
probability differs by more than one millionth.

The starts are published so that everyone finds the same maxima: equal probabilities; these with the
odds of one signature raised, each signature in turn; and eight pseudo-random points. The random
numbers come from SHA-256 of the names and values in question, without a secret, so anyone with the
release starts from the same points.

A climb ends as soon as it is in the bowl of a known maximum: where the likelihood is lower by a
little, and by just as much as the curvature at that maximum predicts. On a large release with one
dominant maximum, most climbs end after a few steps.

References
----------
[Wong11] (see `shoal.foreground`) Section 4.1, Equation (4).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.foreground._kernels import climb
from shoal.foreground._kernels import search as search_alone
from shoal.foreground.attribute_sets import AttributeSet
from shoal.foreground.expectation_maximization import TOLERANCE, Fit, Likelihood, Mixed
from shoal.foreground.optimization import FLOOR, NEWTON, Curvature, Refinement, refine

N_RANDOM = 8
"""The number of pseudo-random starts; SHA-256 yields eight numbers."""
RAISED_AT_MOST = 32
"""The number of signatures that are raised in turn: those with the fewest rows."""
_RAISED = 10.0
"""The factor by which the odds of a raised signature are multiplied."""
_TILT = 0.01
"""How far apart equal log odds are set, at most: exact symmetry would lead to a saddle point."""
WITHIN = 2.0
"""A maximum can be reported as the worst if its log-likelihood is within this of the highest."""
_DISTINCT = 1e-6
_ALIKE = 1e-2
"""Ends that are not clearly maxima, and are this close in probability, count as one."""
_HIGHER = 1e-7
"""A point is left if a climb from next to it ends higher by this in log-likelihood."""
_BESIDE = 0.05
_BOWL, _AS_PREDICTED = 1.0, 0.1
"""A climb ends at a known maximum if it is lower by no more than the first, and by as much as
predicted to within the second, as a fraction."""
_MAX_STEPS = 400
"""The most steps of a climb: only ridges and degenerate saddle points take longer."""
_LONGEST, _FARTHEST, _TINY = 32.0, 0.25, 1e-12
"""The most steps that a stride covers, and the farthest it goes in log odds: longer strides could
lead to other maxima than the equations do."""
_EVERY, _OFTEN, _SLOW, _SMALL = 8, 64, 5e-3, 0.1
"""Newton's steps are tried every 8 steps, and later every 64, once probabilities change by no more
than the third, relatively; smaller ones than this fraction of the mean count as that."""
_SAME = 1e-10
_CLIMB = (TOLERANCE, _FARTHEST, _TINY, _LONGEST, FLOOR, _BOWL, _AS_PREDICTED, _SAME)
_LIMITS = np.array([*_CLIMB, _SLOW, _SMALL, _DISTINCT, *NEWTON[1:]])
"""What the kernels have to know of these, in their order."""
_INTERVALS = np.array([_EVERY, _OFTEN, _MAX_STEPS, NEWTON[0]], dtype=np.int64)
_GOES_ON, _ARRIVED = -1, -2
"""A climb that has not ended, and one that ended at a known maximum."""
_MAX_MAXIMA = 200
_NEGLIGIBLE = 1e-12


def numbers_of(
    looks: Cells, attributes: AttributeSet, domain: Domain, values: Sequence[int]
) -> Floats:
    """Return the pseudo-random numbers of the classes of an attribute set, eight per class.

    `values` are the codes of the sensitive values in `domain` that count as one.
    """
    # Sorted by name, so that the order of the columns in a file does not matter.
    order = sorted(range(len(attributes.columns)), key=lambda place: attributes.columns[place])
    columns = [attributes.columns[place] for place in order]
    named = sorted((domain.text(int(code)) for code in values), key=_missing_first)
    signatures: list[list[str | None] | None] = [
        [looks.domain(attributes.columns[place]).text(int(row[place])) for place in order]
        for row in attributes.signatures
    ]
    if attributes.has_rare:
        signatures.append(None)
    head = ["shoal foreground start", columns, named]
    return np.array([_eight_numbers([*head, one]) for one in signatures]).reshape(-1, N_RANDOM)


def _missing_first(text: str | None) -> tuple[bool, str]:
    return text is not None, text or ""


def _eight_numbers(stated: list[object]) -> Floats:
    """Return the eight words of SHA-256 of a JSON text, as numbers between 0 and 1."""
    text = json.dumps(stated, ensure_ascii=False, separators=(",", ":"))
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=">u4")
    numbers: Floats = (words.astype(np.float64) + 0.5) / 2.0**32
    return numbers


def starting_points(numbers: Floats, n_rows: Counts, rate: float) -> Floats:
    """Return the starts, one row each.

    `numbers` are those of `numbers_of`, `n_rows` the number of rows of each class, and `rate` the
    share of carriers in the whole release, strictly between 0 and 1.
    """
    even = np.log(rate) - np.log1p(-rate) + _TILT * (2 * numbers[:, 0] - 1)
    fewest = np.lexsort((numbers[:, 0], n_rows))[:RAISED_AT_MOST]
    logs = np.repeat(even[np.newaxis], 1 + len(fewest), axis=0)
    logs[1 + np.arange(len(fewest)), np.sort(fewest)] += np.log(_RAISED)
    points: Floats = np.concatenate([1 / (1 + np.exp(-logs)), numbers.T])
    return points


def solve(likelihood: Likelihood, numbers: Floats) -> Fit:
    """Find the maxima that are reached from the listed starts.

    `numbers` are the pseudo-random numbers of the classes; see `numbers_of`.

    Examples
    --------
    A bucket of one row of each of two classes and one carrier: it is the one or the other.

    >>> from shoal.foreground.shapes import Shapes
    >>> shapes, _ = Shapes.of_buckets(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]),
    ...                               np.array([1]), 2)
    >>> numbers = np.random.default_rng(1).random((2, 8))
    >>> found = solve(Likelihood(shapes, np.array([1, 1]), np.full(2, np.nan)), numbers)
    >>> sorted(found.maxima.round(6).tolist()), found.weights.round(6).tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5])
    """
    search = _Search.of(likelihood)
    shapes = likelihood.shapes
    carriers, n_rows = float(shapes.multiplicity @ shapes.n_carrying), likelihood.n_rows.sum()
    if not search.is_free.any() or not 0 < carriers < n_rows:
        return search.summed(search.settled[np.newaxis])
    rate = carriers / float(n_rows)
    points = np.where(
        search.is_free, starting_points(numbers, likelihood.n_rows, rate), search.settled
    )
    if (found := search.alone(points)) is not None:
        return found
    # Most climbs from the other starts end early, in the bowl of the maximum found first.
    search.climb(points[:1])
    search.climb(points[1:])
    return search.summed()


@dataclass(eq=False)
class _Maximum:
    """A point that no climb from next to it leaves, its log-likelihood, and the curvature there.

    `is_definite` says that it is clearly a maximum and not on a ridge.
    """

    f: Floats
    height: float
    curvature: Curvature
    is_definite: bool


@dataclass(frozen=True, eq=False)
class _Climbs:
    """Points on their way up: where one step leads from each, their log-likelihoods and strides.

    `end` is the number of the step after which a point did not move, `_GOES_ON` or `_ARRIVED`.
    """

    f: Floats
    following: Floats
    height: Floats
    stride: Floats
    end: Codes


@dataclass(eq=False)
class _Search:
    """Climbs from many points, and the maxima found so far.

    `settled` are the probabilities that are fixed or follow directly from the release; the other
    classes are free. `reached` are the heights of known maxima that climbs arrived at, and
    `doubtful` the ends so far that are not clearly maxima. `n_left` counts ends that were left
    because they are not maxima, `n_cut_short` climbs that did not come to an end.
    """

    likelihood: Likelihood
    settled: Floats
    is_free: Flags
    maxima: list[_Maximum] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    doubtful: list[Floats] = field(default_factory=list)
    n_starts: int = 0
    n_steps: int = 0
    n_left: int = 0
    n_cut_short: int = 0

    @classmethod
    def of(cls, likelihood: Likelihood) -> _Search:
        even = likelihood.even()
        # Rows that never share a bucket with a carrier have probability 0; certain carriers have 1.
        is_free = np.isnan(likelihood.fixed) & (even > 0) & (even < 1)
        settled = np.where(np.isnan(likelihood.fixed), even, likelihood.fixed)
        return cls(likelihood, np.where(settled < 1, settled, 1 - FLOOR), is_free)

    def alone(self, points: Floats) -> Fit | None:
        """Find the one maximum that all points lead to; None if anything else is met."""
        mixed, n_classes = self._mixed, len(self.settled)
        found, heights = np.empty((2, n_classes)), np.empty(4)
        n_steps = search_alone(
            *(*mixed.arrays, mixed.pure, mixed.constant),
            self.likelihood.n_rows.astype(np.float64),
            self.is_free.astype(np.uint8),
            self.settled,
            _LIMITS,
            _INTERVALS,
            np.ascontiguousarray(points),
            found,
            heights,
            np.empty((12, n_classes)),
            np.empty((3, n_classes, n_classes)),
            np.empty((3, n_classes), dtype=np.uint8),
            np.empty(1, dtype=np.int64),
            np.empty((3, 1, n_classes)),
            *self.likelihood.room,
        )
        if n_steps < 0:
            return None
        f, height = found[0], float(heights[0])
        return Fit(
            f=f,
            log_likelihood=height,
            n_steps=n_steps,
            is_converged=True,
            residual=float(np.abs(found[1] - f)[self.is_free].max(initial=0.0)),
            is_maximum=True,
            n_at_bound=self._n_at_bound(f),
            n_starts=len(points),
            n_saddles_left=0,
            is_certain=True,
            maxima=f[np.newaxis],
            weights=np.ones(1),
            heights=heights[:1],
        )

    def _n_at_bound(self, f: Floats) -> int:
        return int(np.count_nonzero(((f <= 1e-8) | (1 - f <= 1e-8)) & self.is_free))

    def climb(self, points: Floats) -> None:
        """Climb from some points, and keep the maxima that are new."""
        self.n_starts += len(points)
        waiting = list(self._ends(points))
        while waiting and len(self.maxima) < _MAX_MAXIMA:
            f = waiting.pop(0)
            if self._is_known(f):
                continue
            waiting.extend(self._take(f))

    def _take(self, f: Floats) -> list[Floats]:
        """Keep the end of a climb if it is a maximum; otherwise return where it leads."""
        found = refine(self.likelihood, f, self.is_free)
        if found.is_exact:
            self._keep(found)
            return []
        # Climbs end at different places of a ridge; one of them stands for all.
        near = [*self.doubtful, *(one.f for one in self.maxima)]
        if any(np.abs(found.f - one).max() <= _ALIKE for one in near):
            return []
        self.doubtful.append(found.f)
        if found.curvature.bends_up:
            is_left, higher = self._ends_above(found.f, found.height)
            if is_left:
                self.n_left += 1
                return higher
        self.maxima.append(_Maximum(found.f, found.height, found.curvature, is_definite=False))
        return []

    def _keep(self, found: Refinement) -> None:
        """Keep a clear maximum if it is new."""
        if not self._is_known(found.f):
            self.maxima.append(_Maximum(found.f, found.height, found.curvature, is_definite=True))

    def _is_known(self, f: Floats) -> bool:
        return any(np.abs(f - one.f).max() <= _DISTINCT for one in self.maxima)

    def _ends_above(self, f: Floats, height: float) -> tuple[bool, list[Floats]]:
        """Climb from points next to a given one; return whether some climb ended higher.

        Then the point is not a maximum. Also returns the higher ends that are not known yet.
        """
        free = np.flatnonzero(self.is_free)
        rate = float(np.mean(f[free]))
        # Two points for each free class: one with a higher and one with a lower probability.
        beside = np.repeat(f[np.newaxis], 2 * len(free), axis=0)
        number = np.arange(len(free))
        beside[2 * number, free] += _BESIDE * min(rate, 1 - rate) * (1 - f[free])
        beside[2 * number + 1, free] *= 1 - _BESIDE
        self.reached.clear()
        ends = self._ends(beside)
        heights = self.likelihood.steps(ends)[1]
        is_elsewhere = np.abs(ends - f).max(axis=1) > _ALIKE
        higher = list(ends[is_elsewhere & (heights > height + _HIGHER)])
        return bool(higher) or max(self.reached, default=-np.inf) > height + _HIGHER, higher

    def _ends(self, points: Floats) -> Floats:
        """Climb until nothing moves; leave out climbs that arrive at a known maximum.

        Maxima that Newton's steps find on the way are kept at once.
        """
        f = np.ascontiguousarray(self._within(points))
        climbs = _Climbs(f, *self._step(f), np.ones(len(f)), np.full(len(f), -1, dtype=np.int64))
        first = 0
        while first <= _MAX_STEPS and np.any(climbs.end == _GOES_ON):
            # Up to the next attempt at Newton's steps.
            every = _EVERY if first < _OFTEN else _OFTEN
            last = min(first + every - 1, _MAX_STEPS)
            self._climb_on(climbs, first, last)
            if last < _MAX_STEPS:
                left = np.flatnonzero(climbs.end == _GOES_ON)
                own, height = climbs.f[left], climbs.height[left]
                has_arrived = self._jump(own, height, self._is_slow(own, climbs.following[left]))
                climbs.end[left[has_arrived]] = _ARRIVED
            first = last + 1
        self.n_cut_short += int(np.count_nonzero(climbs.end == _GOES_ON))
        # In the order in which the climbs ended; those that were cut short come last.
        end = np.where(climbs.end == _GOES_ON, _MAX_STEPS, climbs.end)
        order = np.argsort(end, kind="stable")
        return climbs.f[order[end[order] >= 0]]

    def _climb_on(self, climbs: _Climbs, first: int, last: int) -> None:
        """Take some steps of all climbs that have not ended."""
        known = [one for one in self.maxima if one.is_definite]
        n_classes = len(self.settled)
        tops = np.array([one.curvature.f for one in known]).reshape(-1, n_classes)
        slopes = np.array([one.curvature.held_slope for one in known]).reshape(-1, n_classes)
        matrices = np.zeros((len(known), n_classes, n_classes))
        for matrix, one in zip(matrices, known, strict=True):
            matrix[np.ix_(one.curvature.is_open, one.curvature.is_open)] = one.curvature.matrix
        heights = np.array([one.height for one in known], dtype=np.float64)
        is_reached = np.zeros(len(known), dtype=np.uint8)
        mixed = self._mixed
        self.n_steps += climb(
            *mixed.arrays,
            mixed.pure,
            mixed.constant,
            self.likelihood.n_rows.astype(np.float64),
            self.is_free.astype(np.uint8),
            self.settled,
            _LIMITS,
            np.array([first, last, _MAX_STEPS]),
            climbs.f,
            climbs.following,
            climbs.height,
            climbs.stride,
            climbs.end,
            tops,
            slopes,
            matrices,
            heights,
            is_reached,
            np.empty((3, 1, n_classes)),
            *self.likelihood.room,
        )
        self.reached.extend(heights[is_reached > 0].tolist())

    @cached_property
    def _mixed(self) -> Mixed:
        mixed, shapes = self.likelihood.mixed, self.likelihood.shapes
        is_possible = bool(np.all((self.settled > 0) | self.is_free | (mixed.pure == 0)))
        return mixed if is_possible else Mixed.whole(shapes, len(self.settled))

    def _is_slow(self, f: Floats, following: Floats) -> Flags:
        """Return at which points probabilities hardly change; small ones may still do."""
        free, after = f[:, self.is_free], following[:, self.is_free]
        low, high = free.mean(axis=1, keepdims=True), 1 - free.mean(axis=1, keepdims=True)
        room = np.maximum(np.minimum(free, 1 - free), _SMALL * np.minimum(low, high))
        found: Flags = np.all(np.abs(after - free) <= _SLOW * room, axis=1)
        return found

    def _jump(self, f: Floats, height: Floats, chosen: Flags) -> Flags:
        """Try Newton's steps from some points; return from which they led to a maximum."""
        has_arrived = np.zeros(len(f), dtype=bool)
        for place in np.flatnonzero(chosen).tolist():
            # A maximum may have been found since the last step.
            if self._is_in_known_bowl(f[[place]], height[[place]])[0]:
                has_arrived[place] = True
                continue
            found = refine(self.likelihood, f[place], self.is_free)
            has_arrived[place] = found.is_exact
            if found.is_exact:
                self.reached.append(found.height)
                self._keep(found)
        return has_arrived

    def _step(self, f: Floats) -> tuple[Floats, Floats]:
        self.n_steps += len(f)
        following, heights = self.likelihood.steps(f)
        return self._within(following), heights

    def _within(self, f: Floats) -> Floats:
        return np.where(self.is_free, np.clip(f, FLOOR, 1 - FLOOR), self.settled)

    def _is_in_known_bowl(self, f: Floats, height: Floats) -> Flags:
        """Return which points are as much lower than a known maximum as its curvature predicts."""
        is_in_bowl = np.zeros(len(f), dtype=bool)
        for one in self.maxima:
            if one.is_definite:
                predicted = one.curvature.fall(f)
                room = _AS_PREDICTED * predicted + _SAME
                is_near = (predicted <= _BOWL) & (np.abs(one.height - height - predicted) <= room)
                is_in_bowl |= is_near
                self.reached.extend([one.height] * bool(is_near.any()))
        return is_in_bowl

    def summed(self, points: Floats | None = None) -> Fit:
        """Weigh the maxima by their likelihood, and summarize the search."""
        if points is None:
            points = np.array([one.f for one in self.maxima])
        following, heights = self.likelihood.steps(points)
        weights = np.exp(heights - heights.max())
        kept = np.flatnonzero(weights > _NEGLIGIBLE)
        kept = kept[np.argsort(-weights[kept], kind="stable")]
        best = kept[0]
        moved = np.abs(following[best] - points[best])[self.is_free]
        return Fit(
            f=points[best],
            log_likelihood=float(heights[best]),
            n_steps=self.n_steps,
            is_converged=self.n_cut_short == 0,
            residual=float(moved.max(initial=0.0)),
            is_maximum=True,
            n_at_bound=self._n_at_bound(points[best]),
            n_starts=max(self.n_starts, 1),
            n_saddles_left=self.n_left,
            is_certain=all(one.is_definite for one in self.maxima),
            maxima=points[kept],
            weights=weights[kept] / weights[kept].sum(),
            heights=heights[kept],
        )
