"""Beliefs that agree with what else is known about groups of people.

An adversary may know that of the people under 30 one in fifty has cancer (a statistic, or a
positive rule with its confidence), or how much nurses earn on the average. Of all beliefs that
agree with that, those nearest to what she believed before are taken: within the group, the odds
of every value are multiplied by one factor for all people. What she knows to be impossible (a
negative rule) gets no belief at all.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section VIII: positive association rules, summary statistics, probable knowledge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.knowledge.beliefs import Beliefs, Floats

__all__ = ["Mean", "Share", "reweigh"]

Marks = npt.NDArray[np.bool_]

_AGREES = 1e-9
"""A condition holds where it is missed by no more, relative to the largest difference of values."""
_EDGE = 1e-12
"""A mean this close to the lowest or highest possible is taken for that."""
_MOST_STEPS = 200
_MOST_TILT = 2.0**60


@dataclass(frozen=True, eq=False)
class Share:
    """The share of the people in some cells who have a value.

    A positive rule with its confidence, or a statistic.

    Parameters
    ----------
    cells
        For each cell of the beliefs whether its people are meant.
    value
        The code of the value.
    share
        The share, from 0 to 1.
    """

    cells: Marks
    value: int
    share: float


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of a numeric sensitive column over the people in some cells.

    Parameters
    ----------
    cells
        For each cell of the beliefs whether its people are meant; those whose value is missing
        do not count.
    mean
        The mean.
    """

    cells: Marks
    mean: float


def reweigh(
    beliefs: Beliefs,
    conditions: Sequence[Share | Mean] = (),
    *,
    forbidden: Marks | None = None,
    n_rounds: int = 1000,
) -> Beliefs:
    """Change beliefs as little as possible, so that conditions hold.

    Parameters
    ----------
    beliefs
        What was believed before.
    conditions
        What is known about groups of people.
    forbidden
        For each cell and value whether it is impossible.
    n_rounds
        How often to go through the conditions at most.

    Returns
    -------
    The beliefs nearest to those given (with the least relative entropy, people added up) among
    all that agree with the conditions.

    Raises
    ------
    ParameterError
        Where nothing is left for somebody to have, or no beliefs agree with the conditions.

    Notes
    -----
    Each condition is met in its turn, exactly, and that spoils the ones before it by less and less
    (iterative proportional fitting). It ends where all hold to within 1e-9 (shares; a mean is
    measured in units of the largest difference from it), and fails after `n_rounds` rounds:
    conditions that contradict each other never end otherwise. A value that is believed impossible
    stays so.

    Examples
    --------
    >>> from shoal.core.cells import Cells
    >>> from shoal.knowledge.beliefs import overall_beliefs
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells((sex, disease), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> women = Share(np.array([True, False]), value=0, share=0.5)
    >>> reweigh(overall_beliefs(cells, "disease"), [women]).prior.round(3).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    whole("n_rounds", n_rounds, least=1)
    prior = beliefs.prior.copy()
    if forbidden is not None:
        prior = _without(prior, forbidden)
    tilts = [_Tilt.of(condition, beliefs) for condition in conditions]
    for _ in range(n_rounds):
        for tilt in tilts:
            tilt.apply(prior)
        if all(abs(tilt.miss(prior)) <= _AGREES for tilt in tilts):
            return replace(beliefs, prior=prior)
    raise ParameterError(
        f"No beliefs that agree with all {len(tilts)} conditions were found in {n_rounds} rounds.",
        hint="they may contradict each other: leave some out, or allow more rounds.",
    )


def _without(prior: Floats, forbidden: Marks) -> Floats:
    if forbidden.shape != prior.shape:
        raise ParameterError(
            f"Forbidden values must be a matrix of {prior.shape[0]} cells and {prior.shape[1]} "
            f"values; got one of shape {forbidden.shape}."
        )
    allowed = np.where(forbidden, 0.0, prior)
    total = allowed.sum(axis=1, keepdims=True)
    n_empty = int(np.count_nonzero(total == 0))
    if n_empty:
        raise ParameterError(
            f"All values are impossible for {n_empty} of {len(prior)} combinations of "
            "quasi-identifiers.",
            hint="the rules say too much, or the beliefs are too narrow: take a larger bandwidth.",
        )
    renewed: Floats = allowed / total
    return renewed


@dataclass(frozen=True, eq=False)
class _Tilt:
    """A condition in the form that the mean of a score over some people is 0.

    Parameters
    ----------
    places
        The cells of these people.
    weight
        Their share among these people.
    score
        The score of each value, at most 1 and at least -1.
    is_counted
        Whether each value counts; the mean is one of those that do.
    """

    places: npt.NDArray[np.int64]
    weight: Floats
    score: Floats
    is_counted: Marks

    @classmethod
    def of(cls, condition: Share | Mean, beliefs: Beliefs) -> _Tilt:
        domain = beliefs.domain
        places, weight = _people(condition.cells, beliefs.cells.counts)
        is_counted = np.ones(domain.size, dtype=bool)
        if isinstance(condition, Share):
            score = _score_of_share(condition, domain)
        else:
            score = _score_of_mean(condition, domain)
            is_counted[len(domain.texts) :] = False
        return cls(places, weight, score / (float(np.abs(score).max()) or 1.0), is_counted)

    def miss(self, prior: Floats) -> float:
        """Give the mean of the score."""
        return float(self.weight @ (prior[self.places] @ self.score))

    def apply(self, prior: Floats) -> None:
        """Meet the condition, in place."""
        own = prior[self.places]
        is_possible = own > 0
        highest = np.where(is_possible, self.score, -np.inf).max(axis=1)
        lowest = np.where(is_possible, self.score, np.inf).min(axis=1)
        most, least = float(self.weight @ highest), float(self.weight @ lowest)
        if most <= _EDGE:
            own = np.where(self.score == highest[:, np.newaxis], own, 0.0)
        elif least >= -_EDGE:
            own = np.where(self.score == lowest[:, np.newaxis], own, 0.0)
        else:
            own = self._tilted(own, highest, lowest)
        if most < -_AGREES or least > _AGREES or not own[:, self.is_counted].any():
            raise ParameterError(
                "A condition asks for a share or a mean that the beliefs rule out.",
                hint="take a larger bandwidth, so that more values are believed possible.",
            )
        prior[self.places] = own / own.sum(axis=1, keepdims=True)

    def _tilted(self, own: Floats, highest: Floats, lowest: Floats) -> Floats:
        """Multiply by exp(theta * score), with the theta that makes the mean 0.

        Newton's steps, and the middle of what is left where one would leave it.
        """
        low, high, theta = -_MOST_TILT, _MOST_TILT, 0.0
        for _ in range(_MOST_STEPS):
            # Measured from the score that grows most, nothing overflows.
            top = (highest if theta >= 0 else lowest)[:, np.newaxis]
            tilted = own * np.exp(np.minimum(theta * (self.score - top), 0.0))
            tilted /= tilted.sum(axis=1, keepdims=True)
            means = tilted @ self.score
            miss = float(self.weight @ means)
            if abs(miss) <= _EDGE:
                break
            low, high = (theta, high) if miss < 0 else (low, theta)
            spread = float(self.weight @ (tilted @ self.score**2 - means**2))
            step = theta - miss / spread if spread > 0 else np.inf
            theta = step if low < step < high else _between(low, high)
        return tilted


def _between(low: float, high: float) -> float:
    """Give a number between two: by magnitudes where they are far apart, else the middle."""
    if min(abs(low), abs(high)) == 0:
        return (low + high) / 4
    return float(np.sign(low + high) * np.sqrt(abs(low)) * np.sqrt(abs(high)))


def _people(cells: Marks, counts: Counts) -> tuple[npt.NDArray[np.int64], Floats]:
    if cells.shape != counts.shape or cells.dtype != np.bool_:
        raise ParameterError(
            f"A condition must mark the {len(counts)} cells of the beliefs; got {len(cells)} marks."
        )
    places = np.flatnonzero(cells)
    if not len(places):
        raise ParameterError("A condition is about nobody.", hint="leave it out.")
    return places, counts[places] / counts[places].sum()


def _score_of_share(condition: Share, domain: Domain) -> Floats:
    if not 0 <= condition.share <= 1:
        raise ParameterError(f"A share must lie between 0 and 1, not {condition.share!r}.")
    if not 0 <= condition.value < domain.size:
        raise ParameterError(
            f"The value of a share must be a code below {domain.size}, the number of values of "
            f"column {domain.column!r}."
        )
    score = np.full(domain.size, -float(condition.share))
    score[condition.value] += 1
    return score


def _score_of_mean(condition: Mean, domain: Domain) -> Floats:
    if domain.numbers is None:
        raise ParameterError(
            f"Column {domain.column!r} has no numbers, and so no mean.", hint="give shares instead."
        )
    if not np.isfinite(condition.mean):
        raise ParameterError(f"A mean must be a finite number, not {condition.mean!r}.")
    # A missing value does not move the mean.
    return np.append(domain.numbers - condition.mean, [0.0] * domain.has_missing)
