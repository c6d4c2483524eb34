"""Chances that say how a release departs from what was believed before.

An adversary with prior beliefs does not forget them when she mines a release. The odds of a person
are the prior odds, times one factor for the person's signature; the factors are found from the
release, under a normal prior on their logarithms that holds them at 1. So the prior is part of the
likelihood: where the release tells nothing, what is believed is the prior's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, group
from shoal.knowledge.foreground.attribute_sets import AttributeSet
from shoal.knowledge.foreground.descent import descend
from shoal.knowledge.foreground.fitting import Fit
from shoal.knowledge.foreground.likelihood import Likelihood
from shoal.knowledge.foreground.target import Target

__all__ = ["fit_to_prior"]

Floats = npt.NDArray[np.float64]

_PRECISION = 1.0
"""The precision of the logarithms of factors: beyond e^2 either way they are surprising."""
_RARE = 1e-9
"""A prior belief is no nearer than this to what is impossible or certain."""
_FLAT = 1e-9
"""The part of the carriers by which expected and predicted ones may still differ at the end."""
_MAX_STEPS = 500


def fit_to_prior(
    target: Target, attributes: AttributeSet, fixed: Floats, prior: Floats
) -> tuple[Fit, Floats]:
    """Find the chances of the signatures of a set, given what was believed before.

    Parameters
    ----------
    target
        The value and the release.
    attributes
        The set.
    fixed
        The chances that are given, one per class; not a number for those that are sought.
    prior
        For each distinct row of the release how likely whoever looks so was believed to have the
        value.

    Returns
    -------
    fit
        The mean chance of each class, those excluded last.
    p
        p(t:x) of the entries `target.entry`.

    Examples
    --------
    In buckets of one signature the release tells people apart by nothing but the prior.

    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.attribute_sets import usable_sets
    >>> from shoal.knowledge.foreground.exposed import Exposed
    >>> sex, job = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("job", ["clerk", "nurse"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0, 0], [0, 1], [1, 0], [1, 0]]), np.array([0, 0, 1, 1])
    >>> exposed = Exposed.of_rows([sex, job], rows, bucket, np.array([0, 1, 0, 0]), disease)
    >>> by_sex = usable_sets(exposed.looks, 2)[0]
    >>> prior = np.array([0.2, 0.5, 0.1])
    >>> _, p = fit_to_prior(Target.of(exposed, [1]), by_sex, np.full(2, np.nan), prior)
    >>> p.round(6).tolist()
    [0.2, 0.8]
    """
    target = target.without_impossible(prior)
    problem = _Problem.of(target, attributes, fixed, prior)
    begin = np.zeros(attributes.n_classes)
    logs, n_steps, is_converged = descend(
        problem.objective,
        begin,
        lambda slope: slope / problem.stiffness,
        tolerance=_FLAT * max(float(target.n_carrying.sum()), 1.0),
        max_steps=_MAX_STEPS,
    )
    f = problem.chances(logs)
    height = -problem.objective(logs)[0]
    means = problem.means(f)
    fit = Fit(
        f=means,
        log_likelihood=height,
        n_steps=n_steps,
        is_converged=is_converged,
        residual=float(np.abs(problem.objective(logs)[1]).max(initial=0.0)),
        is_maximum=is_converged,
        n_at_bound=0,
        n_starts=1,
        n_saddles_left=0,
        is_certain=is_converged,
        maxima=means[np.newaxis],
        weights=np.ones(1),
        heights=np.array([height]),
    )
    kind_of_entry = problem.kind_of_entry
    return fit, target.posteriors(problem.likelihood, problem.of_bucket, kind_of_entry, f)


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is made as small as possible: the penalty less the log-likelihood.

    Parameters
    ----------
    likelihood, of_bucket, kind_of_entry
        The likelihood by kinds of rows: those of one class and one prior belief. The last kind is
        that of rows that are excluded.
    of_kind
        The class of each kind.
    offset
        The logarithm of the prior odds of each kind.
    fixed
        The chance of each kind whose class has a given one; not a number elsewhere.
    """

    likelihood: Likelihood
    of_bucket: Codes
    kind_of_entry: Codes
    of_kind: Codes
    offset: Floats
    fixed: Floats

    @classmethod
    def of(cls, target: Target, attributes: AttributeSet, fixed: Floats, prior: Floats) -> _Problem:
        n_classes = attributes.n_classes
        class_of_look = attributes.class_of_look.astype(np.int64)
        different, level = np.unique(np.clip(prior, _RARE, 1 - _RARE), return_inverse=True)
        sizes = [n_classes, len(different)]
        first, kind = group([class_of_look, level], sizes, len(class_of_look))
        kind_of_entry = target.classes(kind, len(first))
        likelihood, of_bucket = target.likelihood(kind_of_entry, np.full(len(first), np.nan))
        believed = different[level[first]]
        offset = np.log(believed) - np.log1p(-believed)
        n_rows = likelihood.n_rows[:-1].astype(np.float64)
        # Whatever the level, the law of a bucket is the same; factors should not make up for it.
        offset += _level(offset, n_rows, float(target.n_carrying.sum()))
        of_kind = class_of_look[first]
        return cls(likelihood, of_bucket, kind_of_entry, of_kind, offset, fixed[of_kind])

    def chances(self, logs: Floats) -> Floats:
        """Return the chance of each kind, by the logarithms of the factors."""
        odds = np.clip(self.offset + logs[self.of_kind], -500, 500)
        found = np.where(np.isnan(self.fixed), 1 / (1 + np.exp(-odds)), self.fixed)
        return np.append(found, 0.0)

    @property
    def stiffness(self) -> Floats:
        """About how fast the slope of each factor grows with it."""
        f = self.chances(np.zeros(int(self.of_kind.max(initial=-1)) + 1))[:-1]
        rows = self.likelihood.n_rows[:-1]
        return _PRECISION + np.bincount(self.of_kind, rows * f * (1 - f)).astype(np.float64)

    def objective(self, logs: Floats) -> tuple[float, Floats]:
        """Return what is to be made small, and its gradient."""
        f = self.chances(logs)
        share, height = self.likelihood.step(f)
        excess = np.where(np.isnan(self.fixed), self.likelihood.n_rows[:-1] * (f - share)[:-1], 0.0)
        slope: Floats = _PRECISION * logs + np.bincount(self.of_kind, excess, len(logs))
        return _PRECISION / 2 * float((logs * logs).sum()) - height, slope

    def means(self, f: Floats) -> Floats:
        """Return the mean chance of each class, that of excluded rows last."""
        rows = self.likelihood.n_rows[:-1]
        n_rows = np.bincount(self.of_kind, rows)
        total = np.bincount(self.of_kind, rows * f[:-1])
        return np.append(total / np.maximum(n_rows, 1), 0.0)


def _level(offset: Floats, n_rows: Floats, n_carrying: float) -> float:
    """Return what to add to log-odds so that as many carriers are expected as there are."""
    if not 0 < n_carrying < n_rows.sum():
        return 0.0
    low, high = -40.0 - float(offset.max()), 40.0 - float(offset.min())
    for _ in range(100):
        middle = (low + high) / 2
        expected = float((n_rows / (1 + np.exp(-np.clip(offset + middle, -500, 500)))).sum())
        low, high = (middle, high) if expected < n_carrying else (low, middle)
    return (low + high) / 2
