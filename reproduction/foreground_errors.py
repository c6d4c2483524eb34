"""How far mined chances must be from the shares of a table, however they are mined.

A release of Anatomy does not say who of a bucket has x. Somebody who knew every chance would still
know the carriers of a signature only up to the draws of all buckets that it shares with others;
shares of the table cannot be told better from the release than that.

References
----------
[Wong11] (see `shoal.pipeline.papers.foreground_trials`) Section 5.1: the average relative error of
global probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shoal.knowledge.foreground import GlobalDistribution, mine
from shoal.pipeline.papers.foreground_trials import Attacked

__all__ = ["least_error", "signed_error"]

Floats = npt.NDArray[np.float64]

_OF_A_NORMAL = float(np.sqrt(2 / np.pi))
"""The mean distance of a normal number from its mean, in standard deviations."""


def least_error(one: Attacked) -> float:
    """Give the mean relative error that stays where buckets hold one carrier at most.

    Whether the carrier of a bucket is of a signature is a draw; the draws of all buckets add up to
    the carriers of the signature.
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
    """Give the mean relative error where what is too much makes up for what is too little."""
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
