"""Posterior beliefs: what an adversary believes about every person after seeing a release.

The adversary knows whose rows are in a bucket, has a prior belief about each, and sees the
sensitive values of the bucket. An assignment of the values to the rows is as likely as the product
of the prior beliefs in it, and the posterior belief about a row sums over all assignments. That is
exact for small buckets; for large ones the Omega estimate takes the rows one by one. The belief
gain is the distance between the prior and the posterior belief.

References
----------
[LiLZ09] T. Li, N. Li, J. Zhang: Modeling and Integrating Background Knowledge in Data
Anonymization. ICDE 2009: exact inference, the Omega estimate, Jensen-Shannon divergence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.beliefs.assignments import MAX_STEPS, exact_shares, find_small
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets
from shoal.core.prior_knowledge import BelievedRows
from shoal.locating.location import chunks, spread

_CHUNK = 2**22
"""The number of pairs of a row and a value that are held in memory at a time."""
_ROUNDING = 1e-14
"""A smaller rest of a distribution is a rounding error."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """The prior and posterior beliefs about each entry of `BelievedRows`, value by value.

    The values of entry i, those that its bucket holds, are `value[start[i]:start[i + 1]]`.
    """

    start: Codes
    value: Codes
    prior: Floats
    posterior: Floats
    # By entry: whether its posterior is exact rather than the Omega estimate.
    is_exact: Flags
    # By entry: whether its bucket holds values that its rows were believed not to have. The prior
    # beliefs are then dropped, and all assignments count as equally likely.
    is_contradicted: Flags

    @property
    def entry(self) -> Codes:
        """The entry that each value belongs to."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def distances(self) -> Floats:
        """Return the Jensen-Shannon distance between prior and posterior of each entry."""
        parts = _divergence(self.prior, self.posterior)
        believed = _add_up(self.prior, self.start)
        # A value that the bucket lacks adds half of its prior.
        lacking = np.where(1 - believed > _ROUNDING, 1 - believed, 0.0)
        return np.sqrt(np.minimum(_add_up(parts, self.start) + lacking / 2, 1.0))

    def strongest(self) -> tuple[Codes, Floats]:
        """Return the most believed value of each entry, the first of equals, and its belief."""
        if not len(self.value):
            return np.empty(0, dtype=np.int64), np.empty(0)
        length = np.diff(self.start)
        highest = np.maximum.reduceat(self.posterior, self.start[:-1])
        top = np.flatnonzero(self.posterior == np.repeat(highest, length))
        entry = self.entry[top]
        first = top[np.r_[True, entry[1:] != entry[:-1]]]
        return self.value[first], highest

    def __repr__(self) -> str:
        return (
            f"Posteriors({len(self.start) - 1} entries, {np.count_nonzero(self.is_exact)} exact, "
            f"{np.count_nonzero(self.is_contradicted)} contradicted)"
        )


@dataclass(frozen=True, eq=False)
class Gains:
    """How much the adversary has learned about each entry of `BelievedRows`.

    `value` is the value that is believed most, and `distance` the Jensen-Shannon distance between
    the prior and the posterior belief; `is_exact` and `is_contradicted` are as in `Posteriors`.
    """

    value: Codes
    posterior: Floats
    distance: Floats
    is_exact: Flags
    is_contradicted: Flags

    def __repr__(self) -> str:
        worst = float(self.distance.max(initial=0.0))
        return f"Gains({len(self.distance)} entries, worst gain {worst:.3g})"


def jensen_shannon(prior: npt.ArrayLike, posterior: npt.ArrayLike) -> Floats:
    """Return the Jensen-Shannon distance between distributions along the last axis.

    It is the square root of the Jensen-Shannon divergence in bits: a metric that is 0 for equal
    distributions and 1 for those that have nothing in common.

    Examples
    --------
    >>> jensen_shannon([[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]).tolist()
    [0.0, 1.0]
    """
    first, second = np.asarray(prior, np.float64), np.asarray(posterior, np.float64)
    distance: Floats = np.sqrt(np.minimum(_divergence(first, second).sum(axis=-1), 1.0))
    return distance


def _divergence(prior: Floats, posterior: Floats) -> Floats:
    """Return what each value adds to the divergence, without cancellation if both are close."""
    total = prior + posterior
    skew = (prior - posterior) / np.where(total > 0, total, 1.0)
    parts: Floats = total / 4 * (_weighed_log(skew) + _weighed_log(-skew)) / np.log(2)
    # Only rounding makes a part negative.
    return np.maximum(parts, 0.0)


def _weighed_log(skew: Floats) -> Floats:
    """Return (1 + skew) log(1 + skew), which is 0 at -1."""
    logs: Floats = (1 + skew) * np.log1p(np.where(skew > -1, skew, 0.0))
    return logs


def posteriors(
    buckets: Buckets, occupants: BelievedRows, *, max_steps: int = MAX_STEPS
) -> Posteriors:
    """Return the posterior beliefs about everybody in a release.

    A bucket is computed exactly if the product over values of their counts plus 1, times the rows,
    is at most `max_steps`; and always if all its rows have the same prior, or the same value. For
    other buckets, the Omega estimate of the belief that row j has s is proportional to n_s P(s|j)
    divided by the sum of P(s|j') over the rows j' of the bucket, where n_s rows of the bucket have
    s ([LiLZ09]).

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> priors = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> occupants = BelievedRows.of_pairs(np.array([0, 0]), np.array([0, 1]), priors)
    >>> posteriors(buckets, occupants).posterior.round(3).tolist()
    [0.1, 0.9, 0.9, 0.1]
    >>> posteriors(buckets, occupants, max_steps=0).posterior.round(3).tolist()
    [0.3, 0.7, 0.794, 0.206]
    """
    occupants.confirm_sizes(buckets.sizes)
    return _posteriors_of(buckets, occupants, slice(0, buckets.n_buckets), max_steps)


def omega_distances(priors: Floats, n_rows: Counts, counts: Counts) -> Floats:
    """Return the belief gain for the rows of one bucket, by the Omega estimate.

    `priors` has one row per kind of row and one column per value; there are `n_rows` rows of each
    kind, and `counts` rows with each value.
    """
    held = np.flatnonzero(counts)
    believed = priors[:, held]
    expected = n_rows @ believed
    is_contradicted = not expected.all()
    odds = believed * (counts[held] / np.where(expected > 0, expected, 1.0))
    total = odds.sum(axis=1, keepdims=True)
    if is_contradicted or not total.all():
        posterior = np.broadcast_to(counts[held] / counts.sum(), believed.shape)
    else:
        posterior = odds / total
    lacking = np.delete(priors, held, axis=1).sum(axis=1)
    divergence = _divergence(believed, posterior).sum(axis=1) + lacking / 2
    distances: Floats = np.sqrt(np.minimum(divergence, 1.0))
    return distances


def gains(buckets: Buckets, occupants: BelievedRows, *, max_steps: int = MAX_STEPS) -> Gains:
    """Return how much is learned about everybody, some buckets at a time; see `posteriors`."""
    occupants.confirm_sizes(buckets.sizes)
    found = [
        _gains_of(_posteriors_of(buckets, occupants, part, max_steps))
        for part in _parts(buckets, occupants)
    ]
    if not found:
        none, no = np.empty(0), np.empty(0, dtype=bool)
        return Gains(np.empty(0, dtype=np.int64), none, none, no, no)
    joined = {name: np.concatenate([vars(one)[name] for one in found]) for name in vars(found[0])}
    return Gains(**joined)


def _gains_of(found: Posteriors) -> Gains:
    value, posterior = found.strongest()
    return Gains(value, posterior, found.distances(), found.is_exact, found.is_contradicted)


def _parts(buckets: Buckets, occupants: BelievedRows) -> Iterator[slice]:
    """Split the buckets into parts of bounded work."""
    n_values = np.diff(np.append(buckets.starts, len(buckets.value)))
    return chunks(n_values * np.diff(occupants.starts), _CHUNK)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of an entry and a value of its bucket, for some buckets.

    `entry`, `place` (in `Buckets`) and `bucket` (of each entry) are counted within the part; pairs
    are sorted. `start` is where the pairs of each entry begin, and where the last ends. `believed`
    is the prior of each pair.
    """

    entry: Codes
    place: Codes
    start: Codes
    bucket: Codes
    believed: Floats

    @classmethod
    def of(cls, buckets: Buckets, occupants: BelievedRows) -> _Pairs:
        starts = np.append(buckets.starts, len(buckets.value))
        length = np.diff(starts)[occupants.bucket]
        entry, place = spread(starts[occupants.bucket], length)
        believed = occupants.priors[occupants.prior[entry], buckets.value[place]]
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        return cls(entry, place, start, occupants.bucket, believed)


def _posteriors_of(
    buckets: Buckets, occupants: BelievedRows, part: slice, max_steps: int
) -> Posteriors:
    own_buckets, own = _cut_buckets(buckets, part), _cut_occupants(occupants, part)
    pairs = _Pairs.of(own_buckets, own)
    shares, is_contradicted = _omega(pairs, own_buckets, own)
    is_alike = np.diff(own.starts) == 1
    has_one_value = np.diff(np.append(own_buckets.starts, len(own_buckets.value))) == 1
    # If all rows have the same prior, or the same value, the estimate is exact.
    is_exact = is_alike | has_one_value
    small = np.flatnonzero(~is_exact & find_small(own_buckets, max_steps))
    for chosen, exact, is_possible in exact_shares(own_buckets, own, small):
        _, entries = spread(own.starts[chosen], np.diff(own.starts)[chosen])
        _, places = spread(pairs.start[entries], np.diff(pairs.start)[entries])
        shares[places] = exact
        is_exact[chosen] = True
        is_contradicted[chosen] = ~is_possible
    even = (own_buckets.count / own_buckets.sizes[own_buckets.bucket])[pairs.place]
    shares = np.where(is_contradicted[pairs.bucket[pairs.entry]], even, shares)
    return Posteriors(
        pairs.start,
        own_buckets.value[pairs.place],
        pairs.believed,
        shares,
        is_exact[pairs.bucket],
        is_contradicted[pairs.bucket],
    )


def _omega(pairs: _Pairs, buckets: Buckets, occupants: BelievedRows) -> tuple[Floats, Flags]:
    """Return the Omega estimate of each pair, and mark the buckets that contradict the priors."""
    rows = occupants.count[pairs.entry]
    expected = np.bincount(pairs.place, rows * pairs.believed, len(buckets.value))
    is_unforeseen = expected == 0
    ratio = buckets.count / np.where(is_unforeseen, 1.0, expected)
    odds = pairs.believed * ratio[pairs.place]
    total = _add_up(odds, pairs.start)
    is_contradicted = np.zeros(buckets.n_buckets, dtype=bool)
    is_contradicted[buckets.bucket[is_unforeseen]] = True
    is_contradicted[occupants.bucket[total == 0]] = True
    return odds / np.where(total > 0, total, 1.0)[pairs.entry], is_contradicted


def _add_up(numbers: Floats, start: Codes) -> Floats:
    """Sum the numbers of each entry; none is empty."""
    if not len(numbers):
        return np.empty(0)
    sums: Floats = np.add.reduceat(numbers, start[:-1])
    return sums


def _cut_buckets(buckets: Buckets, part: slice) -> Buckets:
    starts = np.append(buckets.starts, len(buckets.value))
    own = slice(starts[part.start], starts[part.stop])
    return Buckets(
        part.stop - part.start,
        buckets.bucket[own] - part.start,
        buckets.value[own],
        buckets.count[own],
        buckets.domain,
    )


def _cut_occupants(occupants: BelievedRows, part: slice) -> BelievedRows:
    own = slice(occupants.starts[part.start], occupants.starts[part.stop])
    return BelievedRows(
        occupants.bucket[own] - part.start,
        occupants.prior[own],
        occupants.count[own],
        occupants.priors,
    )
