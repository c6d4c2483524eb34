"""One coherent adversary: the probability of a person by all quasi-identifiers together.

The largest p(t:x) over many attribute sets is not a probability. This adversary has one model of
everybody, an additive logit: the odds of carrying x are a product of factors, one for each value of
each quasi-identifier and one for each group of related values. Her p(t:x) sum to the number of
carriers in every bucket. Prior beliefs are an offset: without any effect her probabilities are
those of the prior, so the release can only add to her knowledge.

The parameters maximize the same likelihood that EM climbs. Its gradient follows from the E-step:
the expected carriers of each value, given the buckets, minus those that the model predicts. A
normal prior shrinks effects towards 0, and those of neighbouring numbers towards each other (see
`shoal.foreground.effects`).

The adversary can find out without the truth how strong that prior should be. An adversary who
believes every accident of a small release is wrong more often than she thinks, so she leaves out a
fifth of the buckets, fits the model to the others, and computes how likely it makes the number of
carriers in those left out. She uses the penalty that does best over all fifths; if none beats equal
probabilities, she distinguishes nobody. (On 2,000 rows of the census, the strongest penalty within
one standard error of the best serves her worse: her beliefs are off by .096 on average, those by
the best penalty by .055.)

The number of carriers is all that a bucket says about one value. The carriers themselves stay
hidden: if the people of a bucket are similar, a model can predict buckets well and people badly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.core.arrays import Codes, Floats, Words
from shoal.foreground.additive_problem import AdditiveProblem
from shoal.foreground.effects import Relation, relate
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import Exposure

PENALTY = 1.0
"""The penalty if there are too few buckets to choose one: factors beyond e^2 are surprising."""
_FLAT = 1e-6
"""The fraction of the carriers by which expected and predicted carriers may differ at the end."""
PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""The penalties that are tried, in this order, after the infinite one."""
_N_FOLDS = 5
_MANY, _MANY_LOOKS, _N_FOLDS_OF_MANY = 500, 5000, 3
"""With this many buckets that hold a carrier, fewer folds say as much; with this many distinct
rows, more would take long."""
_PATIENCE = 2
"""The search ends after this many penalties in a row that predict worse than the best."""
_ENOUGH, _ENOUGH_OF_ALL = 0.1, 1e-3
"""Steps that promise to raise the log-likelihood by less, or by a smaller fraction of it, are not
worth taking."""
_FEWEST_FOLDS = 2
_MAX_STEPS = 200
_LOWEST = -1e9
"""Stands for the logarithm of the probability of what a model considers impossible."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples are scattered over all 64 bits."""


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """The probability of everybody by an additive logit.

    `level` is the log odds of a person all of whose factors are 1. `effects` has, for each
    quasi-identifier, the logarithm of the factor of each of its codes, including that of the groups
    it belongs to. `f` is the probability of each distinct row, before conditioning on the counts of
    the buckets. `penalty` is the precision of the prior of effects; infinite if there are none.
    `cross_validation` is None if the penalty was given or there were too few buckets to choose one.
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
        """Whether the model distinguishes nobody beyond the prior."""
        return bool(np.isinf(self.penalty))


def fit_additive(
    target: Target,
    *,
    prior: Floats | None = None,
    penalty: float | None = None,
    relations: Sequence[Relation] | None = None,
) -> tuple[AdditiveModel, Exposure]:
    """Fit the additive logit to a release; return the model and p(t:x) by it.

    `prior` has, for each distinct row of the release, the prior probability that people who look
    like it have the value; the model then says how the release departs from that. Rows with a prior
    of 0 cannot have the value, except in buckets that contradict it. `penalty` is the precision of
    the prior of effects; infinity makes everybody alike. Default: the one that predicts held-out
    buckets best. `relations` say how the values of each quasi-identifier resemble one another.
    Default: numbers and ordered values by their order, others not at all.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.locating.exposed import Exposed
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
        return _without_carriers(problem), problem.expose(np.zeros(len(problem.offset)))
    begin, table = problem.alike(), None
    if penalty is None:
        begin, table = choose_penalty(problem, begin)
        penalty = PENALTY if table is None else table.penalty
    parameters, n_steps, is_converged = problem.solve(
        penalty, begin, tolerance=_FLAT * max(float(target.n_carrying.sum()), 1.0)
    )
    (f,), (height,) = problem.chances(parameters), problem.log_likelihoods(parameters)
    model = AdditiveModel(
        float(parameters[0, 0]),
        problem.effects.by_column(parameters[0]),
        f,
        float(height),
        n_steps,
        is_converged,
        float(penalty),
        table,
    )
    return model, problem.expose(f)


def _without_carriers(problem: AdditiveProblem) -> AdditiveModel:
    """Return the model of a value that nobody carries."""
    none = np.zeros(problem.effects.n_parameters)
    f = np.zeros(len(problem.offset))
    effects = problem.effects.by_column(none)
    return AdditiveModel(-np.inf, effects, f, 0.0, 0, is_converged=True, penalty=np.inf)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How well each penalty predicted the held-out buckets.

    The first penalty is infinite: all alike. `gains` are the excess of the log-likelihood of
    held-out buckets over that of all alike; `standard_errors` are those of the gains, over the
    folds.
    """

    penalties: tuple[float, ...]
    gains: tuple[float, ...]
    standard_errors: tuple[float, ...]
    n_folds: int

    @property
    def penalty(self) -> float:
        """The penalty that predicted best; infinite if none predicted better than all alike."""
        return self.penalties[int(np.argmax(self.gains))]

    @property
    def gain(self) -> float:
        """How much better the best penalty predicted than all alike."""
        return max(self.gains)

    @property
    def standard_error(self) -> float:
        """The standard error of that gain."""
        return self.standard_errors[int(np.argmax(self.gains))]

    def to_dict(self) -> dict[str, object]:
        """Return the table as JSON-compatible values; the infinite penalty is None."""
        return {
            "penalties": [one if np.isfinite(one) else None for one in self.penalties],
            "gains": list(self.gains),
            "standard_errors": list(self.standard_errors),
            "folds": self.n_folds,
        }


def fold_buckets(target: Target, n_folds: int) -> Codes:
    """Divide buckets into folds that hold about as many carriers each.

    The folds depend on the people in a bucket and not on its number, which is drawn at random: the
    same buckets are always divided in the same way.
    """
    exposed = target.exposed
    # Sums and products of 64-bit integers wrap around, as in a hash.
    look = np.zeros(exposed.looks.n_cells, dtype=np.uint64)
    for column in exposed.looks.codes.T:
        look = _scatter(look * _MIXER + column.astype(np.uint64) + np.uint64(1))
    inside = np.zeros(len(target.n_carrying), dtype=np.uint64)
    np.add.at(inside, exposed.bucket, look[exposed.look] * exposed.count.astype(np.uint64))
    order = np.lexsort((_scatter(inside), target.n_carrying))
    fold = np.empty(len(order), dtype=np.int64)
    # Buckets with most carriers are dealt first, so that every fold has a carrier.
    fold[order[::-1]] = np.arange(len(order)) % n_folds
    return fold


def _scatter(numbers: Words) -> Words:
    """Scatter numbers over all 64 bits."""
    mixed = (numbers ^ (numbers >> np.uint64(32))) * _MIXER
    scattered: Words = mixed ^ (mixed >> np.uint64(29))
    return scattered


def choose_penalty(
    problem: AdditiveProblem, start: Floats
) -> tuple[Floats, CrossValidation | None]:
    """Find the penalty that predicts held-out buckets best.

    Returns parameters close to those by that penalty, and how well each penalty predicted: None if
    fewer than two buckets hold a carrier. `start` are the parameters without any effect.
    """
    n_carrying = len(problem.target.carrying_buckets)
    is_large = n_carrying >= _MANY or len(problem.offset) >= _MANY_LOOKS
    n_folds = min(_N_FOLDS_OF_MANY if is_large else _N_FOLDS, n_carrying)
    if n_folds < _FEWEST_FOLDS:
        return start, None
    is_held_out = fold_buckets(problem.target, n_folds) == np.arange(n_folds)[:, np.newaxis]
    fits, held_out = problem.take(~is_held_out), problem.take(is_held_out)
    at = fits.alike()
    alike = _predict(held_out, at)
    enough = min(_ENOUGH, _ENOUGH_OF_ALL * abs(float(alike.sum())))
    penalties, gains, best, best_at = [np.inf], [np.zeros(n_folds)], 0, start
    for penalty in PENALTIES:
        # The penalties decrease, so each fit starts where the previous one ended.
        divide = problem.divisor(at.mean(axis=0, keepdims=True), share=1 - 1 / n_folds)
        at, _, _ = fits.solve(
            penalty,
            at,
            tolerance=0.0,
            divide=divide(penalty),
            max_steps=_MAX_STEPS,
            enough=enough,
        )
        penalties.append(penalty)
        gains.append(_predict(held_out, at) - alike)
        if gains[-1].sum() > gains[best].sum():
            best, best_at = len(gains) - 1, at
        elif len(gains) - 1 - best >= _PATIENCE + (best == 0):
            break
    table = CrossValidation(
        tuple(penalties),
        tuple(float(one.sum()) for one in gains),
        tuple(float(one.std(ddof=1)) * n_folds**0.5 for one in gains),
        n_folds,
    )
    return best_at.mean(axis=0, keepdims=True), table


def _predict(held_out: AdditiveProblem, parameters: Floats) -> Floats:
    """Return the log-likelihood of the buckets of each fold by parameters of its own."""
    return np.maximum(held_out.log_likelihoods(parameters), _LOWEST)
