"""The error of mined probabilities that no method of mining can avoid.

A release of Anatomy does not show who in a bucket has x. Even an adversary who knew every
probability could only guess the carriers of a signature, because each bucket that the signature
shares with others is a random draw. The release does not determine the shares of the table any
better than that.

References
----------
[Wong11] (see `reproduction.foreground_trials`) Section 5.1: the average relative error of
global probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproduction.foreground_trials import Attacked
from shoal.core.arrays import Floats
from shoal.foreground.mining import GlobalDistribution, mine

_OF_A_NORMAL = float(np.sqrt(2 / np.pi))
"""The mean absolute deviation of a normal variable, in standard deviations."""


def least_error(one: Attacked) -> float:
    """Return the mean relative error that remains if buckets hold at most one carrier.

    Whether the carrier of a bucket belongs to a signature is a random draw; the draws of all
    buckets add up to the carriers of the signature.
    """
    target = one.target
    errors = []
    sets = [found.attributes for found in one.distributions]
    for found, p in mine(target, sets):
        classes = found.attributes.class_of_look[target.exposed.look[target.entry]]
        n_classes = found.attributes.n_signatures + 1
        key = target.bucket * n_classes + classes
        weight = target.exposed.count[target.entry] * p
        chance = np.bincount(key, weight, len(target.carrying_buckets) * n_classes)
        chance = chance.reshape(-1, n_classes)
        spread = np.sqrt((chance * (1 - chance)).sum(axis=0))[:-1]
        carriers = _carriers(one, found)
        errors.append(float(np.mean(spread[carriers > 0] / carriers[carriers > 0])))
    return _OF_A_NORMAL * float(np.mean(errors))


def signed_error(one: Attacked) -> float:
    """Return the mean relative error in which positive and negative errors cancel out."""
    return float(np.mean([np.mean(relative) for relative in _relative_errors(one)]))


def _relative_errors(one: Attacked) -> Iterator[Floats]:
    for found in one.distributions:
        carriers = _carriers(one, found)
        truth = carriers / found.attributes.counts
        told = carriers > 0
        yield (found.f[: len(truth)][told] - truth[told]) / truth[told]


def _carriers(one: Attacked, found: GlobalDistribution) -> Floats:
    """Count the rows of each signature that carry x."""
    which, n_classes = found.attributes.class_of_look, found.attributes.n_signatures + 1
    return np.bincount(which, one.carriers_of_look, n_classes)[:-1].astype(np.float64)
