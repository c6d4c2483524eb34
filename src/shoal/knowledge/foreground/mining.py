"""Global distributions: what a release betrays of how likely each kind of people has a value.

For every set of quasi-identifiers with enough rows the chances of its signatures are found from
the whole release, and with them p(t:x) of everybody. The adversary of [Wong11] believes the
largest p(t:x) over all sets. Where the chances have several solutions, p(t:x) is the mean over
them, weighted by likelihood. Of signatures with too few rows the paper says that a uniform
distribution is assumed; three readings of that are offered as policies.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 4.3, Algorithm 1; Delta: Section 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.errors import ParameterError
from shoal.knowledge.foreground.attribute_sets import AttributeSet
from shoal.knowledge.foreground.exposed import Exposed
from shoal.knowledge.foreground.fitting import Fit
from shoal.knowledge.foreground.informed_chances import fit_to_prior
from shoal.knowledge.foreground.solutions import WITHIN, solve
from shoal.knowledge.foreground.starts import N_RANDOM, numbers_of
from shoal.knowledge.foreground.target import Target

__all__ = [
    "Accuracy",
    "Exposure",
    "GlobalDistribution",
    "Policy",
    "Target",
    "expose",
    "expose_by",
    "mine",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_ON_RIDGE = 0.01
"""How far beliefs may be off where a maximum is on a ridge, along which the likelihood is flat."""

Policy = Literal["pool", "prior", "half"]
"""What is assumed of signatures with too few rows: that they share one chance, which is found with
the others; that of the whole table; or one half."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How near mined chances come to the shares in the original table.

    Parameters
    ----------
    n_signatures
        How many signatures are compared: those with enough rows, and a carrier.
    mean_relative_error
        The mean of the error as a part of the true share.
    mean_error, worst_error
        The mean and the largest error itself, over all signatures with enough rows.
    """

    n_signatures: int
    mean_relative_error: float
    mean_error: float
    worst_error: float


@dataclass(frozen=True, eq=False)
class GlobalDistribution:
    """How likely each signature of a set of quasi-identifiers has the value.

    Parameters
    ----------
    attributes
        The set and its signatures.
    f
        The chance of each signature, at the highest maximum; then that of the rare ones together,
        where there are any.
    rate
        The share of the whole release.
    delta
        The mean, over all buckets, of the largest difference between chances in the bucket.
    fit
        How it was found.
    """

    attributes: AttributeSet
    f: Floats
    rate: float
    delta: float
    fit: Fit = field(repr=False)

    @property
    def lift(self) -> Floats:
        """How many times as likely as everybody each class has the value."""
        lift: Floats = self.f / self.rate if self.rate else np.ones_like(self.f)
        return lift

    def accuracy(self, carriers_of_look: Counts, rows_of_look: Counts) -> Accuracy:
        """Compare with the truth.

        Parameters
        ----------
        carriers_of_look, rows_of_look
            How many rows of the original look like each distinct row of the release, and how
            many of them carry the value.
        """
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
    """p(t:x) of everybody in a release.

    Parameters
    ----------
    target
        The value and the release.
    p
        For each entry of the release how likely its rows carry the value.
    by
        For each entry the attribute set that says so; -1 where none does.
    at_most
        For each entry what p(t:x) is at most over the sets by which the rows of its bucket differ,
        as far as a computation tells; 0 where they differ by none. By other sets p(t:x) is the
        share of the bucket, whatever is mined.
    worst
        For each entry the largest p(t:x) by a single solution whose log-likelihood is within 2 of
        the highest.
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
    """Find the global distribution of each set, and p(t:x) by it.

    Parameters
    ----------
    target
        The value and the release.
    sets
        The sets; see `usable_sets`.
    policy
        What is assumed of signatures with too few rows; default ``"pool"``.
    prior
        For each distinct row of the release how likely whoever looks so was believed to have the
        value. Chances then say how the release departs from it; default none.

    Yields
    ------
    distribution
        The chances of the set's signatures.
    p
        p(t:x) of the entries `target.entry`.
    """
    for found in _mine(target, sets, policy, prior):
        yield found.distribution, found.p


@dataclass(frozen=True, eq=False)
class _Mined:
    """What one attribute set says.

    Parameters
    ----------
    distribution
        The chances of its signatures.
    p, worst
        p(t:x) of the entries `target.entry`: the mean over all solutions, and the largest by one
        that is about as likely as the best.
    is_pure
        Whether all rows of an entry's bucket are the same by this set.
    """

    distribution: GlobalDistribution
    p: Floats
    worst: Floats
    is_pure: Flags


def _mine(
    target: Target, sets: Sequence[AttributeSet], policy: Policy, prior: Floats | None
) -> Iterator[_Mined]:
    if policy not in get_args(Policy):
        raise ParameterError(f"policy must be one of {', '.join(get_args(Policy))}.")
    for one in sets:
        fixed = np.full(one.n_classes, np.nan)
        if one.has_rare and policy != "pool":
            fixed[-1] = target.rate if policy == "prior" else 0.5
        if prior is None:
            yield _mine_set(target, one, fixed)
        else:
            yield _mine_with_prior(target, one, fixed, prior)


def _mine_with_prior(target: Target, one: AttributeSet, fixed: Floats, prior: Floats) -> _Mined:
    """Find how the release departs from a prior; its maximum is the one above the prior."""
    found, p = fit_to_prior(target, one, fixed, prior)
    class_of_entry = target.classes(one.class_of_look, one.n_classes)
    delta = _delta(target.exposed, found.f[class_of_entry])
    distribution = GlobalDistribution(one, found.f[:-1], target.rate, delta, found)
    return _Mined(distribution, p, p, np.zeros(len(p), dtype=bool))


def _mine_set(target: Target, one: AttributeSet, fixed: Floats) -> _Mined:
    class_of_entry = target.classes(one.class_of_look, one.n_classes)
    likelihood, of_bucket = target.likelihood(class_of_entry, fixed)
    exposed = target.exposed
    numbers = numbers_of(exposed.looks, one, exposed.buckets.domain, target.values)
    # Those excluded have no number of their own: their chance is 0.
    found = solve(likelihood, np.concatenate([numbers, np.full((1, N_RANDOM), 0.5)]))
    p, worst = np.zeros(len(target.entry)), np.zeros(len(target.entry))
    for f, weight, height in zip(found.maxima, found.weights, found.heights, strict=True):
        share = target.posteriors(likelihood, of_bucket, class_of_entry, f)
        p += weight * share
        if height >= found.log_likelihood - WITHIN:
            worst = np.maximum(worst, share)
    shapes = likelihood.shapes
    n_rows = np.bincount(shapes.shape, shapes.count, shapes.n_shapes)
    is_pure = (np.diff(shapes.start) == 1) | (shapes.n_carrying == n_rows)
    delta = _delta(exposed, found.f[class_of_entry])
    distribution = GlobalDistribution(one, found.f[:-1], target.rate, delta, found)
    return _Mined(distribution, p, worst, is_pure[of_bucket[target.bucket]])


def expose(
    target: Target,
    sets: Sequence[AttributeSet],
    *,
    policy: Policy = "pool",
    prior: Floats | None = None,
) -> tuple[Exposure, tuple[GlobalDistribution, ...]]:
    """Return the largest p(t:x) over all sets; see `mine`.

    Where there is no set, every world of a bucket is as likely as any other.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.attribute_sets import usable_sets
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
    if sets:
        p[entry] = -1.0
    distributions = []
    for number, found in enumerate(_mine(target, sets, policy, prior)):
        by[entry[found.p > p[entry]]] = number
        p[entry] = np.maximum(p[entry], found.p)
        # On a ridge another search ends a little farther on.
        high = found.p + (0.0 if found.distribution.fit.is_certain else _ON_RIDGE)
        at_most[entry] = np.maximum(at_most[entry], np.where(found.is_pure, 0.0, high))
        worst[entry] = np.maximum(worst[entry], found.worst)
        distributions.append(found.distribution)
    return Exposure(target, p, by, at_most, worst), tuple(distributions)


def expose_by(target: Target, chance_of_look: Floats | float) -> Exposure:
    """Give p(t:x) by chances that are known beforehand, for each distinct row or for all alike.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> exposed = Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]), np.array([0, 1]),
    ...                           disease)
    >>> expose_by(Target.of(exposed, [1]), np.array([0.5, 0.2])).p.round(6).tolist()
    [0.8, 0.2]
    """
    different, which = np.unique(
        np.broadcast_to(np.asarray(chance_of_look, np.float64), target.exposed.looks.n_cells),
        return_inverse=True,
    )
    class_of_entry = target.classes(which, len(different))
    likelihood, of_bucket = target.likelihood(class_of_entry, different)
    p = np.zeros(len(target.exposed.look))
    p[target.entry] = target.posteriors(likelihood, of_bucket, class_of_entry, likelihood.fixed)
    return Exposure.known(target, p)


def _delta(exposed: Exposed, f: Floats) -> float:
    """Average the largest difference between chances in a bucket."""
    if not len(f):
        return 0.0
    start = exposed.starts[:-1]
    spread = np.maximum.reduceat(f, start) - np.minimum.reduceat(f, start)
    return float(spread.mean())
