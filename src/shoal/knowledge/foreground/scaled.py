"""Chances whose odds are raised to a power: what an adversary believes if she trusts them less.

A model can be right about the direction of every effect and wrong about its size. Raising the odds
of all chances to a power ``a``, before the counts of the buckets are conditioned on, shrinks or
stretches every effect alike: 1 leaves the chances as they are, 0 makes all people of a bucket
alike. Chances of exactly 0 or 1 follow by logic and stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.knowledge.foreground.law import condition
from shoal.knowledge.foreground.mining import Exposure, Target
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["ScaledChances", "expose_scaled", "log_odds"]

Floats = npt.NDArray[np.float64]

_LARGEST = 600.0
"""The largest logarithm of odds, so that odds stay finite after scaling."""


def log_odds(f: Floats) -> Floats:
    """Return the logarithms of the odds of chances; infinite where a chance is 0 or 1."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(f) - np.log1p(-f)
    return logs


@dataclass(frozen=True, eq=False)
class ScaledChances:
    """Chances ready to be scaled by one power after another.

    Parameters
    ----------
    target
        The value and the release.
    logs
        The logarithm of the odds of each distinct row of the release.
    shapes
        The buckets with a carrier, by classes of rows with equal odds.
    place
        The entry of the shapes that each of `target.entry` belongs to.
    class_logs
        The logarithm of the odds of each class; the last class is excluded.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.exposed import Exposed
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> exposed = Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]), np.array([0, 1]),
    ...                           disease)
    >>> chances = ScaledChances.of(Target.of(exposed, [1]), np.array([0.5, 0.2]))
    >>> [chances.expose(a).p.round(6).tolist() for a in (1, 0.5, 0)]
    [[0.8, 0.2], [0.666667, 0.333333], [0.5, 0.5]]
    """

    target: Target
    logs: Floats = field(repr=False)
    shapes: Shapes
    place: Codes = field(repr=False)
    class_logs: Floats = field(repr=False)

    @classmethod
    def of(cls, target: Target, f: Floats) -> ScaledChances:
        """Prepare chances.

        Parameters
        ----------
        target
            The value and the release.
        f
            The chance of each distinct row of the release, for example `AdditiveModel.f`.
        """
        logs = log_odds(np.asarray(f, dtype=np.float64))
        different, which = np.unique(logs, return_inverse=True)
        n_classes = len(different)
        class_of_entry = target.classes(which, n_classes)
        fixed = np.full(n_classes, np.nan)
        likelihood, of_bucket = target.likelihood(class_of_entry, fixed, is_shared=False)
        place = likelihood.shapes.entry_of(
            of_bucket[target.bucket], class_of_entry[target.entry], n_classes + 1
        )
        return cls(target, logs, likelihood.shapes, place, np.append(different, -np.inf))

    def expose(self, a: float) -> Exposure:
        """Return p(t:x) of everybody, with all odds raised to the power `a`."""
        p = np.zeros(len(self.target.exposed.look))
        p[self.target.entry] = self._condition(a)[0][self.place]
        return Exposure.known(self.target, p)

    def log_worlds(self, a: float) -> Floats:
        """Return the logarithm of the total weight of the worlds of each bucket with a carrier.

        The weight of a world is the product of the scaled odds of its carriers. A bucket whose
        true carriers have odds ``o`` therefore has the conditional log-likelihood
        ``a * log(o).sum()`` less what is returned; people with a chance of exactly 1 are left out
        of both.
        """
        return self._condition(a)[1]

    def _condition(self, a: float) -> tuple[Floats, Floats]:
        is_open = np.isfinite(self.class_logs)
        scaled = a * np.where(is_open, self.class_logs, 0.0)
        odds = np.exp(np.clip(scaled, -_LARGEST, _LARGEST))
        sure = np.where(self.class_logs > 0, np.inf, 0.0)
        return condition(self.shapes, np.where(is_open, odds, sure))


def expose_scaled(target: Target, f: Floats, a: float) -> Exposure:
    """Return p(t:x) of everybody by chances whose odds are raised to a power.

    Use `ScaledChances` to try many powers of the same chances.

    Parameters
    ----------
    target
        The value and the release.
    f
        The chance of each distinct row of the release, for example `AdditiveModel.f`.
    a
        The power; 1 leaves the chances as they are, 0 makes everybody who can carry the value
        alike.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.exposed import Exposed
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> exposed = Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]), np.array([0, 1]),
    ...                           disease)
    >>> expose_scaled(Target.of(exposed, [1]), np.array([0.5, 0.2]), 0.5).p.round(6).tolist()
    [0.666667, 0.333333]
    """
    return ScaledChances.of(target, f).expose(a)
