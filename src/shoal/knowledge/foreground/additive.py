"""One coherent adversary: the chance of a person by all quasi-identifiers together.

The largest p(t:x) over many attribute sets is no probability. This adversary has one model of
everybody, an additive logit: the odds to carry x are a product of one factor for each value of each
quasi-identifier. Her p(t:x) sum to the carriers in every bucket, and are calibrated as far as the
model is right.

The parameters maximise the same likelihood that EM climbs. Its gradient is what EM expects: the
expected carriers of each value, given the buckets, less those that the model predicts. A weak
normal prior on the parameters keeps values without a carrier from infinity.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.knowledge.foreground.descent import Divide, descend
from shoal.knowledge.foreground.fitting import Likelihood
from shoal.knowledge.foreground.information import information, invert, is_worthwhile
from shoal.knowledge.foreground.mining import Exposure, Target

__all__ = ["AdditiveModel", "fit_additive"]

Floats = npt.NDArray[np.float64]

PENALTY = 1.0
"""The precision of the prior of each parameter: factors beyond e^2 either way are surprising."""
_MAX_STEPS = 500
_FLAT = 1e-6
"""The part of the carriers by which expected and predicted ones may still differ at the end."""
_RARE = 1e-6
"""A prior belief is no nearer than this to what is impossible or certain."""
_HUGE = 500.0
"""The largest logarithm of odds."""
_LEAST = 1e-9
"""The least that the slope of the level is taken to grow by."""


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """The chance of everybody by an additive logit.

    Parameters
    ----------
    level
        The logarithm of the odds of somebody whose every factor is 1.
    effects
        For each quasi-identifier the logarithm of the factor of each of its codes.
    f
        The chance of each distinct row of the release.
    log_likelihood
        The logarithm of the likelihood.
    n_steps, is_converged
        How many steps it took, and whether another would change nothing.
    """

    level: float
    effects: tuple[Floats, ...] = field(repr=False)
    f: Floats = field(repr=False)
    log_likelihood: float
    n_steps: int
    is_converged: bool


def fit_additive(
    target: Target, *, prior: Floats | None = None, penalty: float = PENALTY
) -> tuple[AdditiveModel, Exposure]:
    """Fit the additive logit to a release, and give p(t:x) by it.

    Parameters
    ----------
    target
        The value and the release.
    prior
        For each distinct row of the release how likely whoever looks so was believed to have the
        value; the model then says how the release departs from that.
    penalty
        The precision of the normal prior of the parameters.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.exposed import Exposed
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0], [1], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    >>> model, found = fit_additive(Target.of(exposed, [1]))
    >>> model.is_converged, (found.p[0] > 0.5 > found.p[1]).item()
    (True, True)
    """
    problem = _Problem.of(target, prior, penalty)
    begin = np.zeros(problem.n_parameters)
    if prior is None and 0 < target.rate < 1:
        begin[0] = np.log(target.rate / (1 - target.rate))
    if len(target.carrying_buckets):
        parameters, n_steps, is_converged = descend(
            problem.objective,
            begin,
            problem.divisor(begin),
            tolerance=_FLAT * max(float(target.n_carrying.sum()), 1.0),
            max_steps=_MAX_STEPS,
        )
    else:
        begin[0] = -np.inf
        parameters, n_steps, is_converged = begin, 0, True
    f = problem.chances(parameters)
    model = AdditiveModel(
        float(parameters[0]),
        tuple(np.split(parameters[1:], problem.borders)),
        f,
        problem.likelihood.step(np.append(f, 0.0))[1],
        n_steps,
        is_converged,
    )
    return model, problem.expose(f)


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is made as small as possible: the penalty less the log-likelihood.

    Parameters
    ----------
    target
        The value and the release.
    likelihood, of_bucket, class_of_entry
        Its likelihood, where every distinct row is a class; see `Target`.
    n_rows
        How many rows look like each distinct one, but for those excluded.
    place, borders
        The places of the parameters of each distinct row, beside the level, which is the first;
        where those of each quasi-identifier end.
    offset
        What is added to the logarithm of the odds of each distinct row.
    penalty
        The precision of the normal prior of the parameters.
    """

    target: Target
    likelihood: Likelihood
    of_bucket: Codes
    class_of_entry: Codes
    n_rows: Floats
    place: Codes
    borders: Codes
    n_parameters: int
    offset: Floats
    penalty: float

    @classmethod
    def of(cls, target: Target, prior: Floats | None, penalty: float) -> _Problem:
        looks = target.exposed.looks
        n_looks = looks.n_cells
        which = target.classes(np.arange(n_looks), n_looks)
        likelihood, of_bucket = target.likelihood(which, np.full(n_looks, np.nan), is_shared=False)
        rows = np.bincount(which, target.exposed.count, n_looks + 1)[:-1].astype(np.float64)
        ends = np.cumsum([domain.size for domain in looks.domains]).astype(np.int64)
        place = looks.codes + 1 + np.concatenate([[0], ends[:-1]]).astype(np.int64)
        offset = np.zeros(n_looks)
        if prior is not None:
            likely = np.clip(prior, _RARE, 1 - _RARE)
            offset = np.log(likely) - np.log1p(-likely)
        size = 1 + int(ends[-1])
        return cls(
            target, likelihood, of_bucket, which, rows, place, ends[:-1], size, offset, penalty
        )

    def chances(self, parameters: Floats) -> Floats:
        """Give the chance of each distinct row."""
        logs = self.offset + parameters[0] + parameters[self.place].sum(axis=1)
        f: Floats = 1 / (1 + np.exp(-np.clip(logs, -_HUGE, _HUGE)))
        return f

    def divisor(self, parameters: Floats) -> Divide:
        """Give what divides a slope by about how fast slopes grow there."""
        f = self.chances(parameters)
        shapes = self.likelihood.shapes
        if not is_worthwhile(shapes, self.place, self.n_parameters):
            stiffness = self._stiffness(f)
            return lambda slope: slope / stiffness
        matrix = information(shapes, self.place, f, self.n_rows, self.n_parameters)
        matrix[np.arange(1, len(matrix)), np.arange(1, len(matrix))] += self.penalty
        matrix[0, 0] += _LEAST
        inverse = invert(matrix)
        return lambda slope: np.asarray((inverse * slope).sum(axis=1), dtype=np.float64)

    def _stiffness(self, f: Floats) -> Floats:
        """Give about how fast the slope of each parameter grows with it alone."""
        weights = self.n_rows * f * (1 - f)
        every = np.repeat(weights, self.place.shape[1])
        stiffness: Floats = np.full(self.n_parameters, self.penalty)
        stiffness += np.bincount(self.place.ravel(), every, self.n_parameters)
        stiffness[0] = max(float(weights.sum()), _LEAST)
        return stiffness

    def objective(self, parameters: Floats) -> tuple[float, Floats]:
        """Give what is to be made small, and its gradient."""
        f = self.chances(parameters)
        share, log_likelihood = self.likelihood.step(np.append(f, 0.0))
        excess: Floats = self.n_rows * (f - share[:-1])
        weights: Floats = np.repeat(excess, self.place.shape[1])
        slope: Floats = self.penalty * parameters
        slope += np.bincount(self.place.ravel(), weights, len(parameters))
        slope[0] = excess.sum()
        effects = parameters[1:]
        return self.penalty / 2 * float((effects * effects).sum()) - log_likelihood, slope

    def expose(self, f: Floats) -> Exposure:
        """Give p(t:x) by chances."""
        p = np.zeros(len(self.target.exposed.look))
        p[self.target.entry] = self.target.posteriors(
            self.likelihood, self.of_bucket, self.class_of_entry, np.append(f, 0.0)
        )
        return Exposure(self.target, p, np.full(len(p), -1, dtype=np.int64))
