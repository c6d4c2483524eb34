"""Global distributions: how likely each kind of person is to have a value, as a release shows.

For every set of quasi-identifiers with enough rows, the probabilities of its signatures are
estimated from the whole release, and from them p(t:x) of everybody. The adversary of [Wong11]
believes the largest p(t:x) over all sets. If there are several solutions, p(t:x) is the mean over
them, weighted by likelihood. For signatures with too few rows the paper says that "uniform
distribution will be assumed"; three readings of that are offered as policies.

An adversary with prior beliefs does not forget them when mining a release (`fit_to_prior`). The
odds of a person are the prior odds times one factor for the person's signature. The factors are
estimated from the release, under a normal prior on their logarithms with mean 0. So the prior is
part of the likelihood: if the release tells nothing, the posterior is the prior.

References
----------
[Wong11] (see `shoal.foreground`) Section 4.3, Algorithm 1; Delta: Section 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import group
from shoal.core.errors import ParameterError
from shoal.core.threads import each_of
from shoal.foreground.attribute_sets import AttributeSet
from shoal.foreground.expectation_maximization import Fit, Likelihood, Target
from shoal.foreground.law import condition, log_odds, odds_of
from shoal.foreground.optimization import descend
from shoal.foreground.shapes import Composition
from shoal.foreground.solutions import N_RANDOM, WITHIN, numbers_of, solve
from shoal.locating.exposed import Exposed

_ON_RIDGE = 0.01
"""How far beliefs may be off if a maximum is on a ridge, along which the likelihood is flat."""

_TIED = 1e-7
"""Attribute sets whose beliefs differ by no more are tied, and the first of them counts."""

Policy = Literal["pool", "prior", "half"]
"""The probability of signatures with too few rows: one that they share, estimated with the others
(`pool`); that of the whole table (`prior`); or one half (`half`)."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How close mined probabilities come to the shares in the original table.

    The relative error is over the `n_signatures` with enough rows and a carrier; the mean and the
    worst absolute error are over all signatures with enough rows.
    """

    n_signatures: int
    mean_relative_error: float
    mean_error: float
    worst_error: float


@dataclass(frozen=True, eq=False)
class GlobalDistribution:
    """How likely each signature of a set of quasi-identifiers is to have the value.

    `f` is the probability of each signature, at the highest maximum, followed by that of the rare
    ones together, if there are any. `rate` is the share of the value in the whole release, and
    `delta` the mean, over all buckets, of the largest difference between probabilities in the
    bucket.
    """

    attributes: AttributeSet
    f: Floats
    rate: float
    delta: float
    fit: Fit = field(repr=False)

    @property
    def lift(self) -> Floats:
        """How many times as likely as everybody each class is to have the value."""
        lift: Floats = self.f / self.rate if self.rate else np.ones_like(self.f)
        return lift

    def accuracy(self, carriers_of_look: Counts, rows_of_look: Counts) -> Accuracy:
        """Compare with the truth: the carriers and rows of the original per distinct row."""
        which, n_classes = self.attributes.class_of_look, self.attributes.n_signatures + 1
        carriers = np.bincount(which, carriers_of_look, n_classes)[:-1]
        rows = np.bincount(which, rows_of_look, n_classes)[:-1]
        truth = carriers / np.maximum(rows, 1)
        error = np.abs(self.f[: len(truth)] - truth)
        relative = error[truth > 0] / truth[truth > 0]
        return Accuracy(
            len(relative),
            float(relative.mean()) if len(relative) else 0.0,
            float(error.mean()),
            float(error.max(initial=0.0)),
        )

    def __repr__(self) -> str:
        return f"GlobalDistribution({', '.join(self.attributes.columns)}: {len(self.f)} chances)"


@dataclass(frozen=True, eq=False)
class Exposure:
    """p(t:x) of everybody in a release, one number per entry.

    `by` is the first attribute set with the probability `p`; -1 if there is none. `at_most` is an
    upper limit of p(t:x) over the sets by which the rows of the entry's bucket differ, allowing for
    numerical error; 0 if they differ by none. By other sets p(t:x) is the share of the bucket,
    whatever is mined. `worst` is the largest p(t:x) by a single solution whose log-likelihood is
    within 2 of the highest.
    """

    target: Target
    p: Floats
    by: Codes
    at_most: Floats = field(repr=False)
    worst: Floats = field(repr=False)

    @classmethod
    def known(cls, target: Target, p: Floats) -> Exposure:
        """Return beliefs that do not come from attribute sets."""
        return cls(target, p, np.full(len(p), -1, dtype=np.int64), np.zeros(len(p)), p)

    def __repr__(self) -> str:
        return f"Exposure({self.target!r}, largest {self.p.max(initial=0.0):.3g})"


def mine(
    target: Target,
    sets: Sequence[AttributeSet],
    *,
    policy: Policy = "pool",
    prior: Floats | None = None,
) -> Iterator[tuple[GlobalDistribution, Floats]]:
    """Yield the global distribution of each set, and p(t:x) of the entries `target.entry` by it.

    `policy` says what is assumed of signatures with too few rows. With a `prior`, one probability
    per distinct row of the release, the result says how the release departs from it.
    """
    for found in _mine(target, sets, policy, prior):
        yield found.distribution, found.p


@dataclass(frozen=True, eq=False)
class _Finding:
    """What one attribute set says about the entries `target.entry`.

    `p` is the mean over all solutions, and `worst` the largest by one that is about as likely as
    the best. `is_pure` says that all rows of an entry's bucket are the same by this set.
    """

    distribution: GlobalDistribution
    p: Floats
    worst: Floats
    is_pure: Flags


def _mine(
    target: Target,
    sets: Sequence[AttributeSet],
    policy: Policy,
    prior: Floats | None,
    made: Sequence[Composition] | None = None,
) -> Iterator[_Finding]:
    if policy not in get_args(Policy):
        raise ParameterError(f"policy must be one of {', '.join(get_args(Policy))}.")

    if made is None or target.is_excluded.any():
        made = []

    def look_at(number: int) -> _Finding:
        one = sets[number]
        fixed = np.full(one.n_classes, np.nan)
        # Section 4.2 assumes a "uniform distribution" if the sample is too small.
        if one.has_rare and policy != "pool":
            fixed[-1] = target.rate if policy == "prior" else 0.5
        if prior is None:
            return _mine_set(target, one, fixed, made[number] if made else None)
        return _mine_with_prior(target, one, fixed, prior)

    # [Wong11] Algorithm 1, Step 2: one global distribution per attribute set.
    yield from each_of(look_at, range(len(sets)))


def _mine_with_prior(target: Target, one: AttributeSet, fixed: Floats, prior: Floats) -> _Finding:
    """Estimate how the release departs from a prior; there is one maximum."""
    found, p = fit_to_prior(target, one, fixed, prior)
    class_of_entry = target.classes(one.class_of_look, one.n_classes)
    delta = _delta(target.exposed, found.f[class_of_entry])
    distribution = GlobalDistribution(one, found.f[:-1], target.rate, delta, found)
    return _Finding(distribution, p, p, np.zeros(len(p), dtype=bool))


def _mine_set(
    target: Target, one: AttributeSet, fixed: Floats, made: Composition | None
) -> _Finding:
    exposed = target.exposed
    if made is None:
        class_of_entry = target.classes(one.class_of_look, one.n_classes)
        likelihood, place = target.likelihood(class_of_entry, fixed)
    else:
        likelihood, place = target.likelihood_in(made, fixed)
    numbers = numbers_of(exposed.looks, one, exposed.buckets.domain, target.values)
    # Excluded rows have no numbers of their own: their probability is 0.
    found = solve(likelihood, np.concatenate([numbers, np.full((1, N_RANDOM), 0.5)]))
    shapes = likelihood.shapes
    p, worst = np.zeros((2, len(shapes.which)))
    for f, weight, height in zip(found.maxima, found.weights, found.heights, strict=True):
        share, _ = condition(shapes, odds_of(f))
        p += weight * share
        if height >= found.log_likelihood - WITHIN:
            worst = np.maximum(worst, share)
    n_rows = np.bincount(shapes.shape, shapes.count, shapes.n_shapes)
    is_pure = (np.diff(shapes.start) == 1) | (shapes.n_carrying == n_rows)
    delta = made.mean_spread(found.f) if made else _delta(exposed, found.f[class_of_entry])
    distribution = GlobalDistribution(one, found.f[:-1], target.rate, delta, found)
    return _Finding(distribution, p[place], worst[place], is_pure[shapes.shape][place])


def compositions(exposed: Exposed, sets: Sequence[AttributeSet]) -> list[Composition]:
    """Return what the buckets of a release consist of, by each set.

    `expose` needs it for every value, and finds it out by itself unless it is given.
    """
    n_buckets, bucket = exposed.buckets.n_buckets, exposed.bucket.astype(np.int64)

    def compose(one: AttributeSet) -> Composition:
        which = one.class_of_look[exposed.look].astype(np.int64)
        # The last class is that of excluded rows, of which there are none.
        return Composition.of(bucket, which, exposed.count, n_buckets, one.n_classes + 1)

    return list(each_of(compose, sets))


def expose(
    target: Target,
    sets: Sequence[AttributeSet],
    *,
    policy: Policy = "pool",
    prior: Floats | None = None,
    made: Sequence[Composition] | None = None,
) -> tuple[Exposure, tuple[GlobalDistribution, ...]]:
    """Return the largest p(t:x) over all sets, and the distribution of each set; see `mine`.

    Without any set, all worlds of a bucket are equally likely. `made` are the `compositions`, if
    they are known.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.foreground.attribute_sets import usable_sets
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0], [1], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    >>> found, (by_sex,) = expose(Target.of(exposed, [1]), usable_sets(exposed.looks, 3))
    >>> by_sex.f.round(6).tolist(), found.p.round(6).tolist()
    ([0.666667, 0.0], [1.0, 0.0, 0.5, 0.0])
    """
    n_entries, entry = len(target.exposed.look), target.entry
    p, by = expose_by(target, 0.5).p, np.full(n_entries, -1, dtype=np.int64)
    at_most, worst = np.zeros(n_entries), p.copy()
    distributions = []
    # What is known of `entry` so far.
    largest = np.full(len(entry), -1.0) if sets else p[entry]
    number_of, limit, worst_of = by[entry], at_most[entry], worst[entry]
    for number, found in enumerate(_mine(target, sets, policy, prior, made)):
        number_of[found.p > largest + _TIED] = number
        np.maximum(largest, found.p, out=largest)
        # On a ridge, another search may end a little farther along.
        high = found.p + (0.0 if found.distribution.fit.is_certain else _ON_RIDGE)
        np.maximum(limit, np.where(found.is_pure, 0.0, high), out=limit)
        np.maximum(worst_of, found.worst, out=worst_of)
        distributions.append(found.distribution)
    p[entry], by[entry], at_most[entry], worst[entry] = largest, number_of, limit, worst_of
    return Exposure(target, p, by, at_most, worst), tuple(distributions)


def expose_by(target: Target, chance_of_look: Floats | float) -> Exposure:
    """Return p(t:x) by probabilities that are known beforehand, per distinct row or one for all."""
    different, which = np.unique(
        np.broadcast_to(np.asarray(chance_of_look, np.float64), target.exposed.looks.n_cells),
        return_inverse=True,
    )
    class_of_entry = target.classes(which, len(different))
    likelihood, place = target.likelihood(class_of_entry, different)
    p = np.zeros(len(target.exposed.look))
    p[target.entry] = condition(likelihood.shapes, odds_of(likelihood.fixed))[0][place]
    return Exposure.known(target, p)


def _delta(exposed: Exposed, f: Floats) -> float:
    """Return the mean of the largest difference between probabilities in a bucket."""
    if not len(f):
        return 0.0
    start = exposed.starts[:-1]
    spread = np.maximum.reduceat(f, start) - np.minimum.reduceat(f, start)
    return float(spread.mean())


# --- departures from a prior belief ---------------------------------------------------------------


_PRECISION = 1.0
"""The precision of the logarithms of factors: factors beyond e^2 either way are surprising."""
_RARE = 1e-9
"""Prior beliefs are kept this far from impossible and certain."""
_FLAT = 1e-9
"""The fraction of the carriers by which expected and predicted ones may differ at the end."""
_MAX_STEPS = 500


def fit_to_prior(
    target: Target, attributes: AttributeSet, fixed: Floats, prior: Floats
) -> tuple[Fit, Floats]:
    """Estimate the probabilities of the signatures of a set, given prior beliefs.

    `fixed` are the probabilities that are given, one per class; NaN for those that are sought.
    `prior` has one probability per distinct row of the release. Returns the mean probability of
    each class, that of excluded rows last, and p(t:x) of the entries `target.entry`.

    Examples
    --------
    In buckets of one signature the release tells people apart by nothing but the prior.

    >>> from shoal.core.domain import Domain
    >>> from shoal.foreground.attribute_sets import usable_sets
    >>> from shoal.locating.exposed import Exposed
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
    return fit, condition(problem.likelihood.shapes, odds_of(f))[0][problem.place]


@dataclass(frozen=True, eq=False)
class _Problem:
    """The objective to minimize: the penalty minus the log-likelihood.

    A kind of rows has one class (`of_kind`) and one prior belief (`offset`, its log odds); excluded
    rows are the last kind. `fixed` is the probability of each kind if that of its class is given;
    otherwise NaN.
    """

    likelihood: Likelihood
    place: Codes
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
        likelihood, place = target.likelihood(kind_of_entry, np.full(len(first), np.nan))
        offset = log_odds(different[level[first]])
        n_rows = likelihood.n_rows[:-1].astype(np.float64)
        # The level does not change the law of a bucket; factors should not make up for it.
        offset += _level(offset, n_rows, float(target.n_carrying.sum()))
        of_kind = class_of_look[first]
        return cls(likelihood, place, of_kind, offset, fixed[of_kind])

    def chances(self, logs: Floats) -> Floats:
        """Return the probability of each kind, given the logarithms of the factors."""
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
        """Return the objective and its gradient."""
        f = self.chances(logs)
        share, height = self.likelihood.step(f)
        excess = np.where(np.isnan(self.fixed), self.likelihood.n_rows[:-1] * (f - share)[:-1], 0.0)
        slope: Floats = _PRECISION * logs + np.bincount(self.of_kind, excess, len(logs))
        return _PRECISION / 2 * float((logs * logs).sum()) - height, slope

    def means(self, f: Floats) -> Floats:
        """Return the mean probability of each class, that of excluded rows last."""
        rows = self.likelihood.n_rows[:-1]
        n_rows = np.bincount(self.of_kind, rows)
        total = np.bincount(self.of_kind, rows * f[:-1])
        return np.append(total / np.maximum(n_rows, 1), 0.0)


def _level(offset: Floats, n_rows: Floats, n_carrying: float) -> float:
    """Return what to add to log odds so that the expected number of carriers is right."""
    if not 0 < n_carrying < n_rows.sum():
        return 0.0
    low, high = -40.0 - float(offset.max()), 40.0 - float(offset.min())
    for _ in range(100):
        middle = (low + high) / 2
        expected = float((n_rows / (1 + np.exp(-np.clip(offset + middle, -500, 500)))).sum())
        low, high = (middle, high) if expected < n_carrying else (low, middle)
    return (low + high) / 2
