"""The penalized likelihood of an additive logit, and how to maximize it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.foreground._additive_kernels import collect, weigh_rows
from shoal.foreground._kernels import expect
from shoal.foreground._linear_kernels import factorize, solve
from shoal.foreground.effects import Effects, Relation
from shoal.foreground.expectation_maximization import Likelihood, Mixed, Target
from shoal.foreground.law import EXACT, ROUGH, condition, log_odds, odds_of
from shoal.foreground.mining import Exposure
from shoal.foreground.optimization import Divide, descend, information, is_worthwhile

_MAX_STEPS = 500
_RARE = 1e-6
"""Prior beliefs are kept this far from impossible and certain."""
_HUGE = 500.0
"""The largest log odds."""
_LEAST = 1e-9
"""The least growth of the slope of the level that is assumed."""
_SURE = 1e-6
"""Without a prior, the level is fitted so that expected and predicted carriers differ by no more
than this fraction of those who could be either, even if everybody or nobody carries the value."""

DivideBy = Callable[[float], Divide]
"""Divides a slope, given the penalty."""


@dataclass(frozen=True, eq=False)
class AdditiveProblem:
    """The objective to minimize: the penalty minus the log-likelihood.

    Every distinct row is a class; `place` is that of each entry of buckets with a carrier in the
    shapes. There may be several sets of parameters, each for some buckets of
    the release, all fitted at once; parameters and slopes have one row per set. `weights` says how
    often a set counts each bucket with a carrier, and `n_rows` how many rows of each class it
    counts, without excluded ones. `offset` is added to the log odds of a class. `effects` are the
    parameters, and the prior that ties them. `sure` says how exactly worlds are summed.
    """

    target: Target
    likelihood: Likelihood
    place: Codes
    class_of_entry: Codes
    n_rows: Floats
    weights: Counts
    effects: Effects
    offset: Floats
    sure: float = EXACT

    @classmethod
    def of(
        cls, target: Target, prior: Floats | None, relations: Sequence[Relation]
    ) -> AdditiveProblem:
        """Set up the problem of the whole release; see `fit_additive`."""
        looks = target.exposed.looks
        n_looks = looks.n_cells
        which = target.classes(np.arange(n_looks), n_looks)
        likelihood, place = target.likelihood(which, np.full(n_looks, np.nan), is_shared=False)
        rows = likelihood.n_rows[np.newaxis, :-1].astype(np.float64)
        offset = np.zeros(n_looks)
        if prior is not None:
            offset = log_odds(np.clip(prior, _RARE, 1 - _RARE))
        weights = likelihood.shapes.multiplicity[np.newaxis]
        effects = Effects.of(looks, relations)
        return cls(target, likelihood, place, which, rows, weights, effects, offset)

    def take(self, is_chosen: Flags) -> AdditiveProblem:
        """Return the problem of some buckets of the release, one set of parameters per row.

        Its worlds are summed roughly, since it serves to choose a penalty.
        """
        exposed, n_looks = self.target.exposed, len(self.offset)
        kept = is_chosen[:, exposed.bucket]
        rows = [
            np.bincount(self.class_of_entry[own], exposed.count[own], n_looks + 1)[:-1]
            for own in kept
        ]
        weights = is_chosen[:, self.target.carrying_buckets].astype(np.int64)
        n_rows = np.array(rows, dtype=np.float64)
        return replace(self, n_rows=n_rows, weights=weights, sure=ROUGH)

    @cached_property
    def _mixed(self) -> tuple[tuple[Codes, Codes, Counts, Counts], Counts, Floats, Floats]:
        """The buckets of several classes, and for each set how often each of them counts.

        Also the carriers of each class in other buckets, and the logarithm of how many worlds these
        have.
        """
        shapes, n_classes = self.likelihood.shapes, len(self.offset) + 1
        found = [Mixed.of(replace(shapes, multiplicity=own), n_classes) for own in self.weights]
        weights = np.stack([one.arrays[4] for one in found])
        pure = np.stack([one.pure[:-1] for one in found])
        return found[0].arrays[:4], weights, pure, np.array([one.constant for one in found])

    def chances(self, parameters: Floats) -> Floats:
        """Return the probability of each distinct row; one row per set of parameters."""
        logs = self.offset + parameters[..., :1] + self.effects.totals(parameters)
        f: Floats = 1 / (1 + np.exp(-np.clip(logs, -_HUGE, _HUGE)))
        return f

    def log_likelihoods(self, parameters: Floats) -> Floats:
        """Return the logarithms of the probability of the buckets' numbers of carriers, by set."""
        return self._slopes(parameters)[0]

    def objective(self, parameters: Floats, penalty: float) -> tuple[float, Floats]:
        """Return the objective, summed over all sets, and its gradient."""
        heights, slopes = self._slopes(parameters)
        form, half = self.effects.form(parameters)
        return penalty / 2 * form - float(heights.sum()), penalty * half + slopes

    def _slopes(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return the log-likelihood by each set of parameters, and minus its gradient."""
        latest = self._latest
        # A fit by the next penalty starts where the last one ended.
        if not latest or not np.array_equal(latest[0][0], parameters):
            latest[:] = [(parameters.copy(), self._evaluated(parameters))]
        return latest[0][1]

    @cached_property
    def _latest(self) -> list[tuple[Floats, tuple[Floats, Floats]]]:
        """The last parameters that were asked for, with the answer; nothing before the first."""
        return []

    def _evaluated(self, parameters: Floats) -> tuple[Floats, Floats]:
        arrays, weights, pure, constant = self._mixed
        n_sets, n_looks = self.n_rows.shape
        # The last class is that of rows that cannot be carriers.
        odds, expected = np.zeros((2, n_sets, n_looks + 1))
        own, heights = np.empty(n_sets), np.empty(n_sets)
        slopes = np.zeros(parameters.shape)
        codes, of_code = self.effects.codes, self.effects.of_any_code
        room, n_rows = np.empty((2, len(of_code))), self.n_rows
        weigh_rows(codes, of_code, self.offset, parameters, n_rows, pure, _HUGE, room, odds, own)
        expect(*arrays, weights, odds, expected, heights, *self.likelihood.room, self.sure)
        collect(codes, of_code, n_rows, odds, expected, pure, room, slopes)
        return own + heights + constant, slopes

    def alike(self) -> Floats:
        """Return the parameters without any effect: the level alone fits the carriers."""
        start = np.zeros((len(self.n_rows), self.effects.n_parameters))
        n_carriers = (self.weights * self.likelihood.shapes.n_carrying).sum(axis=1)
        n_rows = np.maximum(self.n_rows.sum(axis=1), 1.0)
        if self.offset.any():
            return self._fit_level(start, tolerance=_SURE * max(float(n_carriers.min()), 1.0))[0]
        share = np.clip(n_carriers / n_rows, _SURE / n_rows, 1 - _SURE)
        start[:, 0] = np.log(share) - np.log1p(-share)
        return start

    def _fit_level(self, start: Floats, *, tolerance: float) -> tuple[Floats, int, bool]:
        """Fit the levels alone."""

        def at(levels: Floats) -> Floats:
            return np.column_stack([levels, start[:, 1:]])

        def objective(levels: Floats) -> tuple[float, Floats]:
            height, slope = self.objective(at(levels), 0.0)
            return height, slope[:, 0]

        f = self.chances(start)
        growth = np.maximum((self.n_rows * f * (1 - f)).sum(axis=1), _LEAST)
        levels, n_steps, is_converged = descend(
            objective,
            start[:, 0],
            lambda slope: slope / growth,
            tolerance=tolerance,
            max_steps=_MAX_STEPS,
        )
        return at(levels), n_steps, is_converged

    def solve(
        self,
        penalty: float,
        start: Floats,
        *,
        tolerance: float,
        divide: Divide | None = None,
        max_steps: int = _MAX_STEPS,
        enough: float = 0.0,
    ) -> tuple[Floats, int, bool]:
        """Find the parameters by a penalty; returns what `descend` returns.

        `penalty` is the precision of the prior; if infinite, there are no effects. `divide`
        defaults to the most precise divisor that is worthwhile here. `max_steps` and `enough` are
        those of `descend`.
        """
        if np.isinf(penalty):
            levels = np.column_stack([start[:, 0], np.zeros_like(start[:, 1:])])
            return self._fit_level(levels, tolerance=tolerance)
        return descend(
            lambda parameters: self.objective(parameters, penalty),
            start,
            self.divisor(start)(penalty) if divide is None else divide,
            tolerance=tolerance,
            max_steps=max_steps,
            enough=enough,
        )

    def divisor(self, parameters: Floats, share: float = 1.0) -> DivideBy:
        """Return the function that divides a slope by about how fast slopes grow there.

        `share` is the fraction of the rows that the likelihood counts.
        """
        shapes, effects = self.likelihood.shapes, self.effects
        f = self.chances(parameters).mean(axis=0)
        rows = self.likelihood.n_rows[:-1].astype(np.float64)
        if not is_worthwhile(shapes, effects.place, effects.n_parameters):
            return lambda penalty: self._plain_divisor(share * rows * f * (1 - f), penalty)
        known = share * information(shapes, effects.place, f, rows, effects.n_parameters)
        known[-1], known[:, -1] = 0.0, 0.0
        known[0, 0] += _LEAST
        return lambda penalty: _dividing_by(known + penalty * effects.matrix())

    def _plain_divisor(self, growth_of_look: Floats, penalty: float) -> Divide:
        """Return a divisor that takes parameters one by one, except those along an order."""
        from scipy import linalg  # noqa: PLC0415 - it takes long to import

        effects = self.effects
        growth = effects.collect(growth_of_look)
        growth = np.maximum(growth + penalty * effects.diagonal(), _LEAST)
        chains = []
        for first, last, weight in effects.chains():
            bands = np.stack([np.append(0.0, -penalty * weight), growth[first:last]])
            inverse = linalg.solveh_banded(bands, np.eye(last - first))
            chains.append((first, last, inverse))

        def divide(slope: Floats) -> Floats:
            found: Floats = slope / growth
            for first, last, inverse in chains:
                found[..., first:last] = (slope[..., np.newaxis, first:last] * inverse).sum(axis=-1)
            return found

        return divide

    def expose(self, f: Floats) -> Exposure:
        """Return p(t:x) by probabilities."""
        p = np.zeros(len(self.target.exposed.look))
        share, _ = condition(self.likelihood.shapes, odds_of(np.append(f, 0.0)))
        p[self.target.entry] = share[self.place]
        return Exposure.known(self.target, p)


def _dividing_by(matrix: Floats) -> Divide:
    """Return the function that solves the equations of a positive definite matrix."""
    factor = np.array(matrix, order="C")
    factorize(factor)

    def divide(slope: Floats) -> Floats:
        found = slope.copy()
        for own in found:
            solve(factor, own)
        return found

    return divide
