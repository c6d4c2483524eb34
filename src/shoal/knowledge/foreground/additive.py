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
from scipy.optimize import minimize

from shoal.core.cells import Codes
from shoal.knowledge.foreground.mining import Exposure, Target

__all__ = ["AdditiveModel", "fit_additive"]

Floats = npt.NDArray[np.float64]

PENALTY = 1.0
"""The precision of the prior of each parameter: factors beyond e^2 either way are surprising."""
_MAX_STEPS = 500


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
    exposed = target.exposed
    looks = exposed.looks
    n_looks = looks.n_cells
    which = target.classes(np.arange(n_looks), n_looks)
    likelihood, of_bucket = target.likelihood(which, np.full(n_looks, np.nan), is_shared=False)
    rows = np.bincount(which, exposed.count, n_looks + 1)[:-1]
    sizes = [domain.size for domain in looks.domains]
    place = _places(looks.codes, sizes)
    offset = np.zeros(n_looks) if prior is None else _logit(np.clip(prior, 1e-6, 1 - 1e-6))

    def chances(parameters: Floats) -> Floats:
        logs = offset + parameters[0] + parameters[place].sum(axis=1)
        return 1 / (1 + np.exp(-np.clip(logs, -500, 500)))

    def objective(parameters: Floats) -> tuple[float, Floats]:
        f = chances(parameters)
        share, log_likelihood = likelihood.step(np.append(f, 0.0))
        excess = rows * (f - share[:-1])
        slope = np.bincount(place.ravel(), np.repeat(excess, place.shape[1]), len(parameters))
        slope[0] = excess.sum()
        slope[1:] += penalty * parameters[1:]
        return penalty / 2 * float(parameters[1:] @ parameters[1:]) - log_likelihood, slope

    begin = np.zeros(1 + sum(sizes))
    if prior is None and 0 < target.rate < 1:
        begin[0] = np.log(target.rate / (1 - target.rate))
    if not len(target.carrying_buckets):
        begin[0] = -np.inf
        f, n_steps, is_converged, height = np.zeros(n_looks), 0, True, 0.0
    else:
        found = minimize(
            objective, begin, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_STEPS}
        )
        begin, n_steps, is_converged = found.x, int(found.nit), bool(found.success)
        f = chances(begin)
        height = likelihood.step(np.append(f, 0.0))[1]
    p = np.zeros(len(exposed.look))
    p[target.entry] = target.posteriors(likelihood, of_bucket, which, np.append(f, 0.0))
    effects = tuple(np.split(begin[1:], np.cumsum(sizes)[:-1]))
    model = AdditiveModel(float(begin[0]), effects, f, height, n_steps, is_converged)
    return model, Exposure(target, p, np.full(len(p), -1, dtype=np.int64))


def _places(codes: Codes, sizes: list[int]) -> Codes:
    """Give for each distinct row the places of its parameters; the first is the level's."""
    before = 1 + np.cumsum([0, *sizes])[:-1]
    return np.ascontiguousarray(codes + before.astype(np.int64))


def _logit(f: Floats) -> Floats:
    logs: Floats = np.log(f) - np.log1p(-f)
    return logs
