"""The penalized likelihood of an additive logit, and how to maximize it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats
from shoal.foreground.effects import Effects, Relation
from shoal.foreground.expectation_maximization import Likelihood, Target
from shoal.foreground.law import log_odds
from shoal.foreground.mining import Exposure
from shoal.foreground.optimization import Divide, descend, information, invert, is_worthwhile

_MAX_STEPS = 500
_RARE = 1e-6
"""Prior beliefs are kept this far from impossible and certain."""
_HUGE = 500.0
"""The largest log odds."""
_LEAST = 1e-9
"""The least growth of the slope of the level that is assumed."""


@dataclass(frozen=True, eq=False)
class AdditiveProblem:
    """The objective to minimize: the penalty minus the log-likelihood.

    Every distinct row is a class. `n_rows` is the number of rows of each, without excluded ones,
    and `offset` is added to its log odds. `effects` are the parameters, and the prior that ties
    them.
    """

    target: Target
    likelihood: Likelihood
    of_bucket: Codes
    class_of_entry: Codes
    n_rows: Floats
    effects: Effects
    offset: Floats

    @classmethod
    def of(
        cls, target: Target, prior: Floats | None, relations: Sequence[Relation]
    ) -> AdditiveProblem:
        """Set up the problem; see `fit_additive`."""
        looks = target.exposed.looks
        n_looks = looks.n_cells
        which = target.classes(np.arange(n_looks), n_looks)
        likelihood, of_bucket = target.likelihood(which, np.full(n_looks, np.nan), is_shared=False)
        rows = likelihood.n_rows[:-1].astype(np.float64)
        offset = np.zeros(n_looks)
        if prior is not None:
            offset = log_odds(np.clip(prior, _RARE, 1 - _RARE))
        effects = Effects.of(looks, relations)
        return cls(target, likelihood, of_bucket, which, rows, effects, offset)

    def take(self, is_chosen: Flags) -> AdditiveProblem:
        """Return the problem of some buckets of the release."""
        exposed = self.target.exposed
        kept = is_chosen[exposed.bucket]
        n_rows = np.bincount(
            self.class_of_entry[kept], exposed.count[kept], len(self.n_rows) + 1
        ).astype(np.int64)
        carrying = np.flatnonzero(is_chosen[self.target.carrying_buckets])
        shapes, _ = self.likelihood.shapes.take(carrying)
        likelihood = Likelihood(shapes, n_rows, self.likelihood.fixed)
        return replace(self, likelihood=likelihood, n_rows=n_rows[:-1].astype(np.float64))

    def chances(self, parameters: Floats) -> Floats:
        """Return the probability of each distinct row; one row per set of parameters."""
        logs = self.offset + parameters[..., :1] + self.effects.totals(parameters)
        f: Floats = 1 / (1 + np.exp(-np.clip(logs, -_HUGE, _HUGE)))
        return f

    def log_likelihood(self, parameters: Floats) -> float:
        """Return the logarithm of the probability of the buckets' numbers of carriers."""
        return self.likelihood.step(np.append(self.chances(parameters), 0.0))[1]

    def objective(self, parameters: Floats, penalty: float) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        f = self.chances(parameters)
        share, log_likelihood = self.likelihood.step(np.append(f, 0.0))
        form, half = self.effects.form(parameters)
        slope = penalty * half + self.effects.collect(self.n_rows * (f - share[:-1]))
        return penalty / 2 * form - log_likelihood, slope

    def alike(self) -> Floats:
        """Return the parameters without any effect: the level alone fits the carriers."""
        start = np.zeros(self.effects.n_parameters)
        shapes = self.likelihood.shapes
        n_carriers = float((shapes.multiplicity * shapes.n_carrying).sum())
        share = (n_carriers + 0.5) / (float(self.n_rows.sum()) + 1)
        start[0] = np.log(share / (1 - share)) if not self.offset.any() else 0.0
        return self._fit_level(start, tolerance=1e-6 * max(n_carriers, 1.0))[0]

    def _fit_level(self, start: Floats, *, tolerance: float) -> tuple[Floats, int, bool]:
        """Fit the level alone."""

        def objective(level: Floats) -> tuple[float, Floats]:
            height, slope = self.objective(np.append(level, start[1:]), 0.0)
            return height, slope[:1]

        f = self.chances(start)
        growth = max(float((self.n_rows * f * (1 - f)).sum()), _LEAST)
        level, n_steps, is_converged = descend(
            objective,
            start[:1],
            lambda slope: slope / growth,
            tolerance=tolerance,
            max_steps=_MAX_STEPS,
        )
        return np.append(level, start[1:]), n_steps, is_converged

    def solve(
        self, penalty: float, start: Floats, *, tolerance: float, divide: Divide | None = None
    ) -> tuple[Floats, int, bool]:
        """Find the parameters by a penalty; returns what `descend` returns.

        `penalty` is the precision of the prior; if infinite, there are no effects. `divide`
        defaults to the most precise divisor that is worthwhile here.
        """
        if np.isinf(penalty):
            return self._fit_level(np.append(start[:1], 0 * start[1:]), tolerance=tolerance)
        return descend(
            lambda parameters: self.objective(parameters, penalty),
            start,
            self.divisor(start, penalty) if divide is None else divide,
            tolerance=tolerance,
            max_steps=_MAX_STEPS,
        )

    def divisor(self, parameters: Floats, penalty: float) -> Divide:
        """Return the function that divides a slope by about how fast slopes grow there."""
        f = self.chances(parameters)
        shapes, effects = self.likelihood.shapes, self.effects
        if not is_worthwhile(shapes, effects.place, effects.n_parameters):
            return self.plain_divisor(f, penalty)
        matrix = information(shapes, effects.place, f, self.n_rows, effects.n_parameters)
        matrix[-1], matrix[:, -1] = 0.0, 0.0
        matrix += penalty * effects.matrix()
        matrix[0, 0] += _LEAST
        inverse = invert(matrix)
        return lambda slope: np.asarray((inverse * slope).sum(axis=1), dtype=np.float64)

    def plain_divisor(self, f: Floats, penalty: float, share: float = 1.0) -> Divide:
        """Return a divisor that takes parameters one by one, except those along an order.

        `share` is the fraction of the rows that the likelihood counts.
        """
        from scipy import linalg  # noqa: PLC0415 - it takes long to import

        effects = self.effects
        growth = share * effects.collect(self.n_rows * f * (1 - f))
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
        p[self.target.entry] = self.target.posteriors(
            self.likelihood, self.of_bucket, self.class_of_entry, np.append(f, 0.0)
        )
        return Exposure.known(self.target, p)
