"""All maxima that the search reaches from a list of starts.

The equations of [Wong11] have saddles and, on small releases, more than one maximum. None of them
is the truth: an adversary who knows that weighs them by their likelihood. So every listed start is
climbed from; a point that is no maximum is left; and maxima that differ in some chance by more than
a millionth count as distinct.

A climb is over as soon as it is in the bowl of a maximum that is known already: where the
likelihood is lower by little, and by just as much as the curvature at that maximum foretells. On a
large release, where one maximum stands out, most climbs end after a few steps.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 4.1, Equation (4).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.knowledge.foreground.curvature import FLOOR, Curvature, Polished, polish
from shoal.knowledge.foreground.fitting import TOLERANCE, Fit
from shoal.knowledge.foreground.likelihood import Likelihood
from shoal.knowledge.foreground.starts import starting_points

__all__ = ["WITHIN", "solve"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WITHIN = 2.0
"""A maximum is reported as the worst where its log-likelihood is within this of the highest."""
_DISTINCT = 1e-6
_ALIKE = 1e-2
"""Ends that are no maxima beyond doubt, and so near in chances, are one."""
_HIGHER = 1e-7
"""A point is left where a climb from beside it ends higher by this in log-likelihood."""
_BESIDE = 0.05
_BOWL, _AS_FORETOLD = 1.0, 0.1
"""A climb that is lower than a known maximum by so little, and by as much as foretold to within
this part, ends there."""
_MAX_STEPS = 400
"""A climb that has not come to an end by then is taken for ended: only ridges and degenerate
saddles take longer."""
_LONGEST, _FARTHEST, _TINY = 32.0, 0.25, 1e-12
"""A stride is at most so many times what one step changes, and this far in log-odds: farther ones
could lead to other maxima than the equations do."""
_EVERY, _OFTEN, _SLOW, _SMALL = 8, 64, 5e-3, 0.1
"""Every 8 steps, and later every 64, where chances move by no more than this part of themselves,
Newton's steps are tried; chances below this part of the mean count as that."""
_SAME = 1e-10
_MAX_MAXIMA = 200
_NEGLIGIBLE = 1e-12


def solve(likelihood: Likelihood, numbers: Floats) -> Fit:
    """Find the maxima that are reached from the listed starts.

    Parameters
    ----------
    likelihood
        What is to be made as large as possible.
    numbers
        The pseudo-random numbers of the classes; see `shoal.knowledge.foreground.starts`.

    Examples
    --------
    A bucket of one row of each of two classes and one carrier: it is the one or the other.

    >>> from shoal.knowledge.foreground.shapes import Shapes
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
    search.climb(points[:1])
    search.climb(points[1:])
    return search.summed()


@dataclass(eq=False)
class _Maximum:
    """A point that no climb from beside it leaves.

    Parameters
    ----------
    f, height
        The point and its log-likelihood.
    curvature
        The curvature there.
    is_definite
        Whether it is a maximum beyond doubt, not a ridge.
    """

    f: Floats
    height: float
    curvature: Curvature
    is_definite: bool


@dataclass(eq=False)
class _Search:
    """Climbs from many points, and the maxima found so far.

    Parameters
    ----------
    likelihood
        What is to be made as large as possible.
    settled
        The chances that are fixed, or that follow from the release at once.
    is_free
        The classes whose chances are sought.
    maxima
        The maxima so far.
    reached
        The heights of known maxima that climbs came to.
    doubtful
        The ends so far that are no maxima beyond doubt.
    n_starts, n_steps
        How many starts were climbed from, and in how many steps.
    n_left
        How many ends were left because they were no maxima.
    n_cut_short
        How many climbs did not come to an end.
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
        # Who is never beside a carrier has chance 0, and who always is one has chance 1.
        is_free = np.isnan(likelihood.fixed) & (even > 0) & (even < 1)
        settled = np.where(np.isnan(likelihood.fixed), even, likelihood.fixed)
        return cls(likelihood, np.where(settled < 1, settled, 1 - FLOOR), is_free)

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
        found = polish(self.likelihood, f, self.is_free)
        if found.is_exact:
            self._keep(found)
            return []
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

    def _keep(self, found: Polished) -> None:
        """Keep a maximum beyond doubt, if it is new."""
        if not self._is_known(found.f):
            self.maxima.append(_Maximum(found.f, found.height, found.curvature, is_definite=True))

    def _is_known(self, f: Floats) -> bool:
        return any(np.abs(f - one.f).max() <= _DISTINCT for one in self.maxima)

    def _ends_above(self, f: Floats, height: float) -> tuple[bool, list[Floats]]:
        """Climb from points beside one.

        Returns
        -------
        is_left
            Whether some climb ended higher, so that the point is no maximum.
        ends
            The higher ends that are not known yet.
        """
        free = np.flatnonzero(self.is_free)
        rate = float(np.mean(f[free]))
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
        """Climb until nothing moves; leave out those that come to a known maximum.

        Maxima that Newton's steps find on the way are kept at once.
        """
        ends: list[Floats] = []
        f = self._within(points)
        following, height = self._step(f)
        stride = np.ones(len(f))
        for count in range(_MAX_STEPS):
            is_settled = _moves_by_less(f, following, self.is_free, TOLERANCE)
            ends.extend(f[is_settled])
            goes_on = ~is_settled & ~self._is_in_known_bowl(f, height)
            if (count + 1) % (_EVERY if count < _OFTEN else _OFTEN) == 0:
                goes_on &= ~self._jump(f, height, goes_on & self._is_slow(f, following))
            if not goes_on.any():
                break
            f, following, height, stride = self._stride(
                f[goes_on], following[goes_on], height[goes_on], stride[goes_on]
            )
        else:
            self.n_cut_short += len(f)
            ends.extend(f)
        return np.array(ends).reshape(-1, len(self.settled))

    def _is_slow(self, f: Floats, following: Floats) -> Flags:
        """Say at which points chances move by little, but for those that are small already."""
        free, after = f[:, self.is_free], following[:, self.is_free]
        low, high = free.mean(axis=1, keepdims=True), 1 - free.mean(axis=1, keepdims=True)
        room = np.maximum(np.minimum(free, 1 - free), _SMALL * np.minimum(low, high))
        found: Flags = np.all(np.abs(after - free) <= _SLOW * room, axis=1)
        return found

    def _jump(self, f: Floats, height: Floats, chosen: Flags) -> Flags:
        """Try Newton's steps from some points; say from which they led to a maximum."""
        has_arrived = np.zeros(len(f), dtype=bool)
        for place in np.flatnonzero(chosen).tolist():
            if self._is_in_known_bowl(f[[place]], height[[place]])[0]:
                has_arrived[place] = True
                continue
            found = polish(self.likelihood, f[place], self.is_free)
            has_arrived[place] = found.is_exact
            if found.is_exact:
                self.reached.append(found.height)
                self._keep(found)
        return has_arrived

    def _step(self, f: Floats) -> tuple[Floats, Floats]:
        self.n_steps += len(f)
        following, heights = self.likelihood.steps(f)
        return self._within(following), heights

    def _stride(
        self, f: Floats, following: Floats, height: Floats, stride: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Go as many times as far as one step leads; where that leads down, take the step alone.

        Returns
        -------
        f, following, height
            The points, where one step leads from each, and their log-likelihoods.
        stride
            How far to go next: twice as far, or as far as one step where that led down.
        """
        ahead = following.copy()
        before, after = f[:, self.is_free], following[:, self.is_free]
        logit = np.log(before) - np.log1p(-before)
        change = np.log(after) - np.log1p(-after) - logit
        most = np.abs(change).max(axis=1)
        stride = np.maximum(np.minimum(stride, _FARTHEST / np.maximum(most, _TINY)), 1.0)
        is_long = stride > 1
        ahead[np.ix_(is_long, self.is_free)] = (
            1 / (1 + np.exp(-logit - stride[:, np.newaxis] * change))[is_long]
        )
        ahead = self._within(ahead)
        beyond, above = self._step(ahead)
        is_lower = is_long & (above < height)
        if is_lower.any():
            ahead[is_lower] = following[is_lower]
            beyond[is_lower], above[is_lower] = self._step(following[is_lower])
        return ahead, beyond, above, np.where(is_lower, 1.0, np.minimum(2 * stride, _LONGEST))

    def _within(self, f: Floats) -> Floats:
        return np.where(self.is_free, np.clip(f, FLOOR, 1 - FLOOR), self.settled)

    def _is_in_known_bowl(self, f: Floats, height: Floats) -> Flags:
        """Say which points are as much lower than a known maximum as its curvature foretells."""
        is_in_bowl = np.zeros(len(f), dtype=bool)
        for one in self.maxima:
            if one.is_definite:
                foretold = one.curvature.fall(f)
                room = _AS_FORETOLD * foretold + _SAME
                is_near = (foretold <= _BOWL) & (np.abs(one.height - height - foretold) <= room)
                is_in_bowl |= is_near
                self.reached.extend([one.height] * bool(is_near.any()))
        return is_in_bowl

    def summed(self, points: Floats | None = None) -> Fit:
        """Weigh the maxima by their likelihood, and sum the search up."""
        if points is None:
            points = np.array([one.f for one in self.maxima])
        following, heights = self.likelihood.steps(points)
        weights = np.exp(heights - heights.max())
        kept = np.flatnonzero(weights > _NEGLIGIBLE)
        kept = kept[np.argsort(-weights[kept], kind="stable")]
        best = kept[0]
        moved = np.abs(following[best] - points[best])[self.is_free]
        low, high = points[best] <= 1e-8, 1 - points[best] <= 1e-8
        return Fit(
            f=points[best],
            log_likelihood=float(heights[best]),
            n_steps=self.n_steps,
            is_converged=self.n_cut_short == 0,
            residual=float(moved.max(initial=0.0)),
            is_maximum=True,
            n_at_bound=int(np.count_nonzero((low | high) & self.is_free)),
            n_starts=max(self.n_starts, 1),
            n_saddles_left=self.n_left,
            is_certain=all(one.is_definite for one in self.maxima),
            maxima=points[kept],
            weights=weights[kept] / weights[kept].sum(),
            heights=heights[kept],
        )


def _moves_by_less(f: Floats, following: Floats, is_free: Flags, part: float) -> Flags:
    """Say at which points no chance moves by more than a part of itself."""
    is_still = np.abs(following - f) <= part * np.minimum(f, 1 - f) + 1e-17
    found: Flags = np.all(is_still | ~is_free, axis=1)
    return found
