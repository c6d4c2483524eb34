"""One coherent adversary: the chance of a person by all quasi-identifiers together.

The largest p(t:x) over many attribute sets is no probability. This adversary has one model of
everybody, an additive logit: the odds to carry x are a product of factors, one for each value of
each quasi-identifier and one for each group of values that belong together. Her p(t:x) sum to the
carriers in every bucket.

The parameters maximise the same likelihood that EM climbs. Its gradient is what EM expects: the
expected carriers of each value, given the buckets, less those that the model predicts. A normal
prior draws effects to 0, and those of neighbouring numbers together (see
`shoal.knowledge.foreground.relations`). How strongly it does so is what the adversary can find out
without the truth: she fits the model to some buckets and takes the penalty that predicts the
others best. Where none predicts them better than chances that are all alike, nobody is told from
anybody else.

What she believed before she saw the release is an offset: without any effect her chances are
those of the prior, so the release can only add to what she knew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.knowledge.foreground.additive_problem import AdditiveProblem
from shoal.knowledge.foreground.cross_validation import CrossValidation, choose_penalty
from shoal.knowledge.foreground.mining import Exposure, Target
from shoal.knowledge.foreground.relations import Relation, relate

__all__ = ["AdditiveModel", "fit_additive"]

Floats = npt.NDArray[np.float64]

PENALTY = 1.0
"""The penalty where there are too few buckets to choose one: factors beyond e^2 are surprising."""
_FLAT = 1e-6
"""The part of the carriers by which expected and predicted ones may still differ at the end."""


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """The chance of everybody by an additive logit.

    Parameters
    ----------
    level
        The logarithm of the odds of somebody whose every factor is 1.
    effects
        For each quasi-identifier the logarithm of the factor of each of its codes, that of the
        groups it belongs to included.
    f
        The chance of each distinct row of the release, before the counts of the buckets are
        conditioned on.
    log_likelihood
        The logarithm of the likelihood.
    n_steps, is_converged
        How many steps it took, and whether another would change nothing.
    penalty
        The precision of the prior of effects; infinite if there are none.
    cross_validation
        How well each penalty predicted buckets that were held out; None if the penalty was given
        or there were too few buckets to choose one.
    """

    level: float
    effects: tuple[Floats, ...] = field(repr=False)
    f: Floats = field(repr=False)
    log_likelihood: float
    n_steps: int
    is_converged: bool
    penalty: float = PENALTY
    cross_validation: CrossValidation | None = field(default=None, repr=False)

    @property
    def is_all_alike(self) -> bool:
        """Whether the model tells nobody from anybody else, beyond what the prior says."""
        return bool(np.isinf(self.penalty))


def fit_additive(
    target: Target,
    *,
    prior: Floats | None = None,
    penalty: float | None = None,
    relations: Sequence[Relation] | None = None,
) -> tuple[AdditiveModel, Exposure]:
    """Fit the additive logit to a release, and return p(t:x) by it.

    Parameters
    ----------
    target
        The value and the release.
    prior
        For each distinct row of the release how likely whoever looks so was believed to have the
        value; the model then says how the release departs from that. Rows with a prior of 0
        cannot have the value, except in buckets that contradict it.
    penalty
        The precision of the prior of effects; infinity leaves everybody alike. By default the one
        that predicts held-out buckets best.
    relations
        How the values of each quasi-identifier resemble one another. By default numbers and
        ordered values by their order, others not at all.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.exposed import Exposed
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0], [1], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    >>> target = Target.of(exposed, [1])
    >>> model, found = fit_additive(target, penalty=1)
    >>> model.is_converged, (found.p[0] > 0.5 > found.p[1]).item()
    (True, True)
    >>> fit_additive(target, penalty=np.inf)[1].p.tolist()
    [0.5, 0.5, 0.5, 0.0]
    """
    if prior is not None:
        target = target.without_impossible(prior)
    if relations is None:
        relations = relate(target.exposed.looks, {})
    problem = AdditiveProblem.of(target, prior, relations)
    if not len(target.carrying_buckets):
        return _without_carriers(problem), problem.expose(np.zeros(len(problem.n_rows)))
    begin, table = problem.alike(), None
    if penalty is None:
        begin, table = choose_penalty(problem, begin)
        penalty = PENALTY if table is None else table.penalty
    parameters, n_steps, is_converged = problem.solve(
        penalty, begin, tolerance=_FLAT * max(float(target.n_carrying.sum()), 1.0)
    )
    f = problem.chances(parameters)
    model = AdditiveModel(
        float(parameters[0]),
        problem.effects.by_column(parameters),
        f,
        problem.log_likelihood(parameters),
        n_steps,
        is_converged,
        float(penalty),
        table,
    )
    return model, problem.expose(f)


def _without_carriers(problem: AdditiveProblem) -> AdditiveModel:
    """Return the model of a value that nobody carries."""
    none = np.zeros(problem.effects.n_parameters)
    f = np.zeros(len(problem.n_rows))
    effects = problem.effects.by_column(none)
    return AdditiveModel(-np.inf, effects, f, 0.0, 0, is_converged=True, penalty=np.inf)
