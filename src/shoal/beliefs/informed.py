"""Beliefs of an adversary who also knows rules and statistics.

An adversary may know that one in fifty people under 30 has cancer (a statistic, or a positive rule
with its confidence), or the mean salary of nurses. Of all beliefs that agree with that, the ones
nearest to the previous beliefs are taken: within the group, the odds of every value are multiplied
by the same factor for all people. Values that certain negative rules exclude get no belief at all;
uncertain ones change how likely a value is.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section VIII: positive association rules, summary statistics, probable knowledge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.beliefs.beliefs import Beliefs, estimate_beliefs
from shoal.core.arrays import Counts, Flags, Floats, Integers
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, whole
from shoal.core.guarantees import BANDWIDTH
from shoal.core.levelled import protected
from shoal.core.release import Published
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.injector.association_rules import PositiveRule
from shoal.injector.known import Knowledge
from shoal.injector.miners import sensitive_of
from shoal.injector.resolving import Resolution, Setting, resolve

_AGREES = 1e-9
"""Tolerance of a condition, relative to the largest difference of values."""
_EDGE = 1e-12
"""A mean this close to the lowest or highest possible one counts as equal to it."""
_MOST_STEPS = 200
_MOST_TILT = 2.0**60


def prior_beliefs(
    table: Table,
    bandwidth: Number | Mapping[str, Number] = BANDWIDTH,
    knowledge: Knowledge | None = None,
) -> Beliefs:
    """Estimate what an adversary with similar data believes about everybody in the table.

    Parameters
    ----------
    table
        The table, as returned by `shoal.read`.
    bandwidth
        How different people may be to count, from 0 to 1, for all columns or by column; with 0 only
        people with the same value count. The smaller it is, the more the adversary knows. Default:
        0.3.
    knowledge
        Rules and statistics that the adversary knows too. Default: none.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> prior_beliefs(table, 0.2)
    Beliefs(zip_code, age, sex: 9 different people, 4 values of disease)
    """
    table, sensitive = protected(table), sensitive_of(table.schema)
    cells = table.counts((*table.schema.quasi, sensitive))
    beliefs = estimate_beliefs(cells, sensitive, table.trees, bandwidth)
    return beliefs if knowledge is None else inform(beliefs, knowledge, table.trees)


def overall_of_release(published: Published, buckets: Buckets) -> Beliefs:
    """Return the beliefs in which everybody has the distribution of the whole release."""
    looks, _ = published.looks
    shares = buckets.totals / max(buckets.n_rows, 1)
    return Beliefs(looks, np.tile(shares, (looks.n_cells, 1)), buckets.domain)


def inform(
    beliefs: Beliefs, knowledge: Knowledge, trees: Mapping[str, Tree] | None = None
) -> Beliefs:
    """Return the nearest beliefs that agree with rules and statistics.

    `trees` are hierarchies for nodes that do not define their values themselves. Raises
    `ParameterError` if the knowledge names a column, node or value that the people do not have, or
    if no beliefs agree with all of it.
    """
    setting = Setting(beliefs.cells, beliefs.domain, trees or {})
    return inform_by(beliefs, resolve(knowledge, setting).confirm())


def inform_by(beliefs: Beliefs, found: Resolution) -> Beliefs:
    """Return the nearest beliefs that agree with the resolved rules and statistics."""
    sets = found.certain_sets
    return reweigh(beliefs, _conditions(beliefs, found), forbidden=sets.sets[sets.which])


def _conditions(beliefs: Beliefs, found: Resolution) -> list[Share | Mean]:
    rules = found.knowledge.negative
    holds = found.holding() if np.any(rules.confidences < 1) else np.zeros((0, 0), dtype=bool)
    # A negative rule with exceptions does not forbid its value, but leaves it a small share.
    stated: list[tuple[Flags, int, float | None, float | None]] = [
        (holds[number], int(found.values[number]), 1 - float(rules.confidences[number]), None)
        for number in np.flatnonzero(found.is_known & (rules.confidences < 1)).tolist()
    ]
    for entry, cells in found.conditions:
        code = int(beliefs.domain.codes_of([entry.value])[0])
        if isinstance(entry, PositiveRule):
            stated.append((cells, code, entry.confidence, None))
        else:
            stated.append((cells, code, entry.share, entry.mean))
    conditions: list[Share | Mean] = []
    for cells, code, share, mean in stated:
        if not cells.any():
            continue
        if mean is not None:
            conditions.append(Mean(cells, mean))
        elif code >= 0 and share is not None:
            conditions.append(Share(cells, code, share))
    return conditions


# --- the nearest beliefs that agree with conditions ----------------------------------------------


@dataclass(frozen=True, eq=False)
class Share:
    """The share of the people in some cells who have a value: a positive rule or a statistic.

    `cells` marks the cells of the beliefs whose people are meant.
    """

    cells: Flags
    value: int
    share: float


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of a numeric sensitive column over the people in some cells.

    `cells` marks the cells of the beliefs whose people are meant; missing values do not count.
    """

    cells: Flags
    mean: float


def reweigh(
    beliefs: Beliefs,
    conditions: Sequence[Share | Mean] = (),
    *,
    forbidden: Flags | None = None,
    n_rounds: int = 1000,
) -> Beliefs:
    """Return the nearest beliefs for which conditions hold.

    Nearest means the least relative entropy, summed over people. `forbidden` marks for each cell
    and value whether it is impossible. Raises `ParameterError` if no value is left for somebody, or
    no beliefs agree with the conditions.

    Each condition in turn is met exactly, which violates the ones before it by less and less
    (iterative proportional fitting). The loop ends when all hold to within 1e-9 (shares; a mean is
    measured in units of the largest difference from it), and fails after `n_rounds` rounds, because
    contradictory conditions never converge. A value that is believed impossible stays impossible.

    Examples
    --------
    >>> from shoal.core.cells import Cells
    >>> from shoal.beliefs.beliefs import overall_beliefs
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


def _without(prior: Floats, forbidden: Flags) -> Floats:
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
            hint="use fewer rules, or a larger bandwidth.",
        )
    renewed: Floats = allowed / total
    return renewed


@dataclass(frozen=True, eq=False)
class _Tilt:
    """A condition in the form that the mean of a score over some people is 0.

    `places` are the cells of these people and `weight` the share of each cell among them. `score`
    is the score of each value, from -1 to 1; the mean is taken over the values in `is_counted`.
    """

    places: Integers
    weight: Floats
    score: Floats
    is_counted: Flags

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
        """Return the mean of the score."""
        return float(self.weight @ (prior[self.places] @ self.score))

    def apply(self, prior: Floats) -> None:
        """Meet the condition, in place."""
        own = prior[self.places]
        is_possible = own > 0
        highest = np.where(is_possible, self.score, -np.inf).max(axis=1)
        lowest = np.where(is_possible, self.score, np.inf).min(axis=1)
        most, least = float(self.weight @ highest), float(self.weight @ lowest)
        # If the mean is 0 only at an extreme, all belief moves to the values with that score.
        if most <= _EDGE:
            own = np.where(self.score == highest[:, np.newaxis], own, 0.0)
        elif least >= -_EDGE:
            own = np.where(self.score == lowest[:, np.newaxis], own, 0.0)
        else:
            own = self._tilted(own, highest, lowest)
        if most < -_AGREES or least > _AGREES or not own[:, self.is_counted].any():
            raise ParameterError(
                "A condition requires a share or a mean that the beliefs rule out.",
                hint="use a larger bandwidth, so that more values are believed possible.",
            )
        prior[self.places] = own / own.sum(axis=1, keepdims=True)

    def _tilted(self, own: Floats, highest: Floats, lowest: Floats) -> Floats:
        """Multiply by exp(theta * score), with the theta that makes the mean 0.

        Newton's method, with bisection if a step would leave the bracket.
        """
        low, high, theta = -_MOST_TILT, _MOST_TILT, 0.0
        for _ in range(_MOST_STEPS):
            # Relative to the score that grows most, nothing overflows.
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
    """Return a number between two: their geometric mean, or a quarter of the sum if one is 0."""
    if min(abs(low), abs(high)) == 0:
        return (low + high) / 4
    return float(np.sign(low + high) * np.sqrt(abs(low)) * np.sqrt(abs(high)))


def _people(cells: Flags, counts: Counts) -> tuple[Integers, Floats]:
    if cells.shape != counts.shape or cells.dtype != np.bool_:
        raise ParameterError(
            f"A condition must mark the {len(counts)} cells of the beliefs; got {len(cells)} marks."
        )
    places = np.flatnonzero(cells)
    if not len(places):
        raise ParameterError("A condition applies to nobody.", hint="leave it out.")
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
            f"Column {domain.column!r} is not numeric and has no mean.", hint="give shares instead."
        )
    if not np.isfinite(condition.mean):
        raise ParameterError(f"A mean must be a finite number, not {condition.mean!r}.")
    # A missing value does not move the mean.
    return np.append(domain.numbers - condition.mean, [0.0] * domain.has_missing)
