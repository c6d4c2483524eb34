"""What an adversary believes of everybody once she has seen a release.

Of a bucket she knows whose rows are in it, with a prior belief about each, and which sensitive
values they have together. An assignment of the values to the rows is as likely as the product of
what she believed of each row, and her new belief about a row adds up all assignments. That is
exact for small buckets; for large ones the Omega estimate takes the rows one by one. How much she
has learned is the distance between both beliefs.

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

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets, Codes, Counts
from shoal.knowledge.assignments import MAX_STEPS, exact_shares, find_small
from shoal.knowledge.location import spread

__all__ = [
    "Gains",
    "Posteriors",
    "gains",
    "jensen_shannon",
    "omega_distances",
    "posteriors",
]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_CHUNK = 2**22
"""How many pairs of a row and a value are held at a time."""
_ROUNDING = 1e-14
"""A smaller rest of a distribution is what rounding leaves of nothing."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What is believed of each entry of `BelievedRows`, value by value.

    Parameters
    ----------
    start
        Where the values of each entry begin; one number more than there are entries.
    value, prior, posterior
        The values that its bucket holds, by code, and how much each was and is believed.
    is_exact
        For each entry whether its posterior is exact, not the Omega estimate.
    is_contradicted
        For each entry whether its bucket holds values that its rows were believed not to have, so
        that she gives up what she believed and takes every assignment as equally likely.
    """

    start: Codes
    value: Codes
    prior: Floats
    posterior: Floats
    is_exact: Flags
    is_contradicted: Flags

    @property
    def entry(self) -> Codes:
        """The entry that each value belongs to."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def distances(self) -> Floats:
        """Give the Jensen-Shannon distance between prior and posterior of each entry."""
        parts = _divergence(self.prior, self.posterior)
        believed = _add_up(self.prior, self.start)
        # Of values that the bucket lacks, half of the prior counts.
        lacking = np.where(1 - believed > _ROUNDING, 1 - believed, 0.0)
        return np.sqrt(np.minimum(_add_up(parts, self.start) + lacking / 2, 1.0))

    def strongest(self) -> tuple[Codes, Floats]:
        """Give the value that is believed most of each entry, the first of equals, and how much."""
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
    """How far she has come with each entry of `BelievedRows`.

    Parameters
    ----------
    value, posterior
        The value that she believes most, and how much.
    distance
        The Jensen-Shannon distance between her prior and her posterior belief.
    is_exact, is_contradicted
        As in `Posteriors`.
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
    """Give the Jensen-Shannon distance between distributions along the last axis.

    It is the square root of the Jensen-Shannon divergence in bits: 0 for equal distributions, 1
    for those that have nothing in common, and a metric.

    Examples
    --------
    >>> jensen_shannon([[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]).tolist()
    [0.0, 1.0]
    """
    first, second = np.asarray(prior, np.float64), np.asarray(posterior, np.float64)
    distance: Floats = np.sqrt(np.minimum(_divergence(first, second).sum(axis=-1), 1.0))
    return distance


def _divergence(prior: Floats, posterior: Floats) -> Floats:
    """Give what each value adds to the divergence, without cancellation where both are near."""
    total = prior + posterior
    skew = (prior - posterior) / np.where(total > 0, total, 1.0)
    parts: Floats = total / 4 * (_weighed_log(skew) + _weighed_log(-skew)) / np.log(2)
    # The sum is never negative but for rounding.
    return np.maximum(parts, 0.0)


def _weighed_log(skew: Floats) -> Floats:
    """Give (1 + skew) log(1 + skew), which is 0 at -1."""
    logs: Floats = (1 + skew) * np.log1p(np.where(skew > -1, skew, 0.0))
    return logs


def posteriors(
    buckets: Buckets, occupants: BelievedRows, *, max_steps: int = MAX_STEPS
) -> Posteriors:
    """Give what is believed of everybody in a release.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    occupants
        The rows of each bucket, by prior belief.
    max_steps
        Buckets are done exactly where the product over values of their counts plus 1, times the
        rows, is at most this; and always where all rows are believed alike, or have one value.
        With 0 nothing else is done exactly.

    Notes
    -----
    The Omega estimate of the belief that row j has s is proportional to n_s P(s|j) divided by the
    sum of P(s|j') over the rows j' of the bucket, where n_s rows of the bucket have s.

    Raises
    ------
    DataError
        Where a bucket has not as many rows with a prior as values.

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
    """Measure how much is learned of the rows of one bucket, by the Omega estimate.

    Parameters
    ----------
    priors
        One row for each kind of rows, one column a value: how likely each value is.
    n_rows
        How many rows there are of each kind.
    counts
        How many rows of the bucket have each value.

    Examples
    --------
    >>> priors = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> omega_distances(priors, np.array([1, 1]), np.array([1, 1])).round(3).tolist()
    [0.174, 0.126]
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
    """Measure how much is learned of everybody, some buckets at a time; see `posteriors`."""
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
    """Cut the buckets into parts of bounded work."""
    n_values = np.diff(np.append(buckets.starts, len(buckets.value)))
    work = np.cumsum(n_values * np.diff(occupants.starts))
    first = 0
    while first < buckets.n_buckets:
        done = int(work[first - 1]) if first else 0
        last = max(int(np.searchsorted(work, done + _CHUNK, side="right")), first + 1)
        yield slice(first, last)
        first = last


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of an entry and a value of its bucket, for some buckets.

    Parameters
    ----------
    entry, place
        The entry and the place in `Buckets` of each pair, sorted, counted within the part.
    start
        Where the pairs of each entry begin, and where the last ends.
    bucket
        The bucket of each entry, counted within the part.
    believed
        The prior of each pair.
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
    # Where rows are believed alike, or their values are, the estimate is exact.
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
    """Give the Omega estimate of each pair, and which buckets contradict what was believed."""
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
    """Add up the numbers of each entry, of which every one has some."""
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
