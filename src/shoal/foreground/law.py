"""p(t:x): the probability that a row of a bucket carries a value, given how many of its rows do.

Each row carries x with its own probability f, independently of the others. Given that n of the N
rows carry x, the rows follow the conditional Bernoulli law: the weight of a world is the product of
the odds f/(1-f) of its carriers. `weigh_worlds` lists the worlds, as the paper does; everything
else here avoids listing them.

Multiplying all odds by one factor does not change the law, so they are scaled until the
probabilities sum to n; then nothing underflows. Tables over the rows from either end give every
p(t:x) in O(N n). In large buckets whose number of carriers varies a lot, an integral around the
unit circle gives it in O(N): the probability that n rows carry x is the integral of a product with
one factor per row, which is nearly 0 outside a short arc. Twenty to forty evenly spaced points on
that arc suffice, whatever the size of the bucket.

References
----------
[Wong11] (see `shoal.foreground`) Section 3, Equations (1) to (3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import prod

import numpy as np

from shoal.core.arrays import Flags, Floats, Integers
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.foreground._kernels import include
from shoal.foreground.shapes import Shapes

_N_ROUNDS = 80
_HUGE = 700.0
"""The largest argument passed to the exponential function."""
_NEAR = 0.1
"""How close to n the scaled probabilities must sum; being closer changes only the rounding."""


def weigh_worlds(f: Sequence[float], n: int) -> tuple[list[float], float]:
    """Return p(t_j : x) of every tuple of a bucket, and the probability of the bucket.

    This is [Wong11] as printed: it lists all worlds. `posterior` and `condition` compute the same
    without listing them, and the tests compare them with this function.
    """
    bucket: float = 0
    linked: list[float] = [0] * len(f)
    for world in combinations(range(len(f)), n):
        # Equation (1): the weight p(w) of a world is a product over the tuples.
        weight = prod(f_j if j in world else 1 - f_j for j, f_j in enumerate(f))
        bucket += weight
        for j in world:
            linked[j] += weight
    # Equations (2) and (3): the share of the worlds in which t_j is linked to x.
    return [one / bucket for one in linked] if bucket else linked, bucket


def posterior(f: Sequence[float] | Floats, n: int) -> list[float]:
    """Return p(t:x) of every row of a bucket of which `n` rows carry x.

    `f` holds the probability that each row carries x, from 0 to 1.

    Examples
    --------
    [Wong11] Example 1, where rounded terms make .72 of it:

    >>> p = posterior([0.5, 0.5, 0.2, 0.2], 2)
    >>> p[0] - 8 / 11 < 1e-15, [round(share, 4) for share in p]
    (True, [0.7273, 0.7273, 0.2727, 0.2727])
    """
    chances = np.asarray(f, dtype=np.float64)
    if chances.ndim != 1 or not np.all((chances >= 0) & (chances <= 1)):
        raise ParameterError("f must be a sequence of probabilities from 0 to 1.")
    whole("n", n, least=0)
    n_rows = len(chances)
    if not n_rows and n == 0:
        return []
    rows = np.arange(n_rows, dtype=np.int64)
    ones = np.ones(n_rows, dtype=np.int64)
    one = np.array([1], dtype=np.int64)
    bucket = Shapes(np.array([0, n_rows], dtype=np.int64), rows, ones, n * one, one)
    n_sure = int(np.count_nonzero(chances == 1))
    n_able = int(np.count_nonzero(chances))
    if n_sure > n or n_able < n:
        raise DataError(
            f"The bucket is impossible: {n} of its {n_rows} rows carry the value, but f "
            f"allows {n_sure} to {n_able}.",
        )
    share: list[float] = condition(bucket, odds_of(chances))[0].tolist()
    return share


def odds_of(f: Floats) -> Floats:
    """Return f/(1-f), which is infinite if f is 1."""
    with np.errstate(divide="ignore"):
        odds: Floats = f / (1 - f)
    return odds


def log_odds(f: Floats) -> Floats:
    """Return the logarithms of the odds; infinite if f is 0 or 1."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(f) - np.log1p(-f)
    return logs


def condition(shapes: Shapes, odds: Floats) -> tuple[Floats, Floats]:
    """Condition the rows of buckets on how many of them carry a value.

    `odds` are the odds that a row of each class carries the value, from 0 to infinity. The first
    result has, for each entry of the shapes, the probability that one of its rows carries the
    value; 0 if the bucket is impossible. The second has, for each shape, the logarithm of the sum,
    over all worlds, of the product of the odds of the carriers, leaving out rows with infinite
    odds; minus infinity if the bucket is impossible.
    """
    own = odds[shapes.which]
    is_sure = np.isinf(own)
    is_open = (own > 0) & ~is_sure
    n_open = _add_up(np.where(is_open, shapes.count, 0), shapes)
    left = shapes.n_carrying - _add_up(np.where(is_sure, shapes.count, 0), shapes)
    is_possible = (left >= 0) & (left <= n_open)
    share = np.where(is_sure & is_possible[shapes.shape], 1.0, 0.0)
    log = np.where(is_possible, 0.0, -np.inf)
    _condition_all(shapes, own, is_open, is_possible & (left == n_open), share, log)
    _condition_one(shapes, own, is_open, is_possible & (left == 1) & (n_open > 1), share, log)
    several = np.flatnonzero(is_possible & (left > 1) & (left < n_open))
    if len(several):
        _condition_several(shapes, own, is_open, several, left, share, log)
    return share, log


def _add_up(numbers: Integers, shapes: Shapes) -> Integers:
    return np.bincount(shapes.shape, numbers, shapes.n_shapes).astype(np.int64)


def _condition_all(
    shapes: Shapes, own: Floats, is_open: Flags, chosen: Flags, share: Floats, log: Floats
) -> None:
    """Handle buckets in which every row that can carry the value does."""
    here = is_open & chosen[shapes.shape]
    share[here] = 1.0
    terms = shapes.count[here] * np.log(own[here])
    log += np.bincount(shapes.shape[here], terms, shapes.n_shapes)


def _condition_one(
    shapes: Shapes, own: Floats, is_open: Flags, chosen: Flags, share: Floats, log: Floats
) -> None:
    """Handle buckets with one carrier: each row carries the value in proportion to its odds."""
    here = np.flatnonzero(is_open & chosen[shapes.shape])
    if not len(here):
        return
    shape = shapes.shape[here]
    most = np.zeros(shapes.n_shapes)
    np.maximum.at(most, shape, own[here])
    relative = own[here] / most[shape]
    total = np.bincount(shape, shapes.count[here] * relative, shapes.n_shapes)
    share[here] = relative / total[shape]
    log[chosen] = np.log(total[chosen]) + np.log(most[chosen])


def _condition_several(
    shapes: Shapes,
    own: Floats,
    is_open: Flags,
    chosen: Integers,
    left: Integers,
    share: Floats,
    log: Floats,
) -> None:
    """Handle buckets with several carriers in which other rows could be carriers as well."""
    is_chosen = np.zeros(shapes.n_shapes, dtype=bool)
    is_chosen[chosen] = True
    here = np.flatnonzero(is_open & is_chosen[shapes.shape])
    shape = np.searchsorted(chosen, shapes.shape[here])
    start = np.searchsorted(shape, np.arange(len(chosen) + 1)).astype(np.int64)
    count, n_carrying = shapes.count[here], np.ascontiguousarray(left[chosen])
    n_rows = np.add.reduceat(count, start[:-1])
    logs = np.log(own[here])
    shift = _find_shift(logs, count, shape, start, n_rows, n_carrying)
    # Products keep digits that the logarithms of very small odds lose.
    with np.errstate(over="ignore"):
        carry, lack = _chances(own[here] * np.exp(shift)[shape])
    found, total = np.empty(len(here)), np.empty(len(chosen))
    wide = is_wide(start, count, n_carrying, carry, lack)
    for way, some in ((_include_narrow, ~wide), (include_wide, wide)):
        if some.any():
            entry = some[shape]
            begin = np.concatenate([[0], np.cumsum(np.diff(start)[some])]).astype(np.int64)
            found[entry], total[some] = way(
                begin, count[entry], n_carrying[some], carry[entry], lack[entry]
            )
    share[here] = found
    rest = np.add.reduceat(count * np.logaddexp(0.0, logs + shift[shape]), start[:-1])
    log[chosen] = np.log(total) + rest - n_carrying * shift


def _include_narrow(
    start: Integers, count: Integers, n_carrying: Integers, carry: Floats, lack: Floats
) -> tuple[Floats, Floats]:
    """Compute what `include_wide` computes, by tables over the rows."""
    n_rows = np.add.reduceat(count, start[:-1])
    found, total = np.empty(len(count)), np.empty(len(n_carrying))
    width = int(np.minimum(n_carrying, n_rows - n_carrying).max()) + 1
    most_classes = int(np.diff(start).max()) + 1
    room = np.empty(width), np.empty(width * most_classes), np.empty(width)
    include(start, count, n_rows, n_carrying, carry, lack, found, total, *room)
    return found, total


def _chances(odds: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities p and 1 - p of odds, both to full precision."""
    small = np.minimum(odds, 1 / np.maximum(odds, 1.0))
    low, high = small / (1 + small), 1 / (1 + small)
    return np.where(odds > 1, high, low), np.where(odds > 1, low, high)


def _find_shift(
    logs: Floats,
    count: Integers,
    shape: Integers,
    start: Integers,
    n_rows: Integers,
    n_carrying: Integers,
) -> Floats:
    """Find what to add to the log odds of each bucket so that its probabilities sum to n."""
    even = np.log(n_carrying / (n_rows - n_carrying))
    low = even - np.maximum.reduceat(logs, start[:-1])
    high = even - np.minimum.reduceat(logs, start[:-1])
    shift = even - np.add.reduceat(count * logs, start[:-1]) / n_rows
    for _ in range(_N_ROUNDS):
        carry, lack = _chances(np.exp(np.clip(logs + shift[shape], -_HUGE, _HUGE)))
        excess = np.add.reduceat(count * carry, start[:-1]) - n_carrying
        if np.abs(excess).max() <= _NEAR:
            break
        low = np.where(excess < 0, np.maximum(low, shift), low)
        high = np.where(excess > 0, np.minimum(high, shift), high)
        slope = np.add.reduceat(count * carry * lack, start[:-1])
        step = shift - excess / np.maximum(slope, 1e-300)
        # A Newton step that leaves the interval is replaced by its middle.
        shift = np.where((step > low) & (step < high), step, (low + high) / 2)
    return np.clip(shift, -_HUGE, _HUGE)


# --- large buckets, by an integral around the circle ---

_LEAST_VARIANCE = 25.0
"""With at least this variance of the number of carriers, the arc is much shorter than half the
circle."""
_WORTH = 600
"""The cost of one class here, in steps of a table over the rows."""
_NOTHING = 45.0
"""Terms below e to the minus this are negligible compared with 1."""
_A_TIME = 1 << 20
"""How many pairs of a class and a point are computed at a time."""


def is_wide(
    start: Integers, count: Integers, n_carrying: Integers, carry: Floats, lack: Floats
) -> Flags:
    """Return for which buckets `include_wide` is accurate and faster than tables over the rows."""
    n_rows = np.add.reduceat(count, start[:-1])
    rarer = np.minimum(n_carrying, n_rows - n_carrying)
    variance = np.add.reduceat(count * carry * lack, start[:-1])
    wide: Flags = variance >= _LEAST_VARIANCE
    return wide & (n_rows * rarer > _WORTH * np.diff(start))


def include_wide(
    start: Integers, count: Integers, n_carrying: Integers, carry: Floats, lack: Floats
) -> tuple[Floats, Floats]:
    """Compute the probability that a row of each class carries a value, given the carriers.

    `start` is where the classes of each bucket begin; one more number than there are buckets. A row
    of a class carries the value with probability `carry` and lacks it with `lack`; in every bucket
    `carry` sums to about `n_carrying`, with a variance as `is_wide` requires. Returns that
    probability for each class, and for each bucket the probability of its number of carriers.
    """
    share, total = np.empty(len(count)), np.empty(len(n_carrying))
    variance = np.add.reduceat(count * carry * lack, start[:-1])
    # By Bernstein's inequality the sum deviates more than this with probability e**-45 at most, so
    # this many points around the circle do not confuse it with another sum.
    n_points = np.ceil(_NOTHING / 3 + np.sqrt(_NOTHING**2 / 9 + 2 * _NOTHING * variance))
    # Beyond this angle the product is below e**-45.
    widest = np.arccos(1 - _NOTHING / variance)
    n_used = np.ceil(widest * n_points / (2 * np.pi)).astype(np.int64)
    for first, last in _batches(np.diff(start), n_used):
        entries = slice(start[first], start[last])
        own = np.repeat(np.arange(last - first), np.diff(start)[first:last])
        share[entries], total[first:last] = _integrate(
            own,
            start[first:last] - start[first],
            count[entries],
            n_carrying[first:last],
            carry[entries],
            lack[entries],
            n_points[first:last],
            n_used[first:last],
        )
    return share, total


def _batches(n_classes: Integers, n_used: Integers) -> Iterator[tuple[int, int]]:
    """Split buckets into runs that are small enough to compute at once."""
    run = np.cumsum(n_classes * n_used) // _A_TIME
    border = np.r_[0, np.flatnonzero(np.diff(run)) + 1, len(run)].tolist()
    yield from pairwise(border)


def _integrate(
    own: Integers,
    begin: Integers,
    count: Integers,
    n_carrying: Integers,
    carry: Floats,
    lack: Floats,
    n_points: Floats,
    n_used: Integers,
) -> tuple[Floats, Floats]:
    """Sum the product over the points of the arc; see `include_wide`.

    A factor is lack + carry e^(i angle), and the product is rotated by minus n times the angle. The
    half of the arc below 0 mirrors the half above and has the same real part.
    """
    point = np.arange(1, int(n_used.max()) + 1)
    angle = 2 * np.pi * point / n_points[:, np.newaxis]
    # 1 - cos(angle), without cancellation.
    drop = 2 * np.sin(angle / 2) ** 2
    log_length = np.log1p(-2 * (carry * lack)[:, np.newaxis] * drop[own]) / 2
    turn = np.arctan2(
        carry[:, np.newaxis] * np.sin(angle)[own], 1 - carry[:, np.newaxis] * drop[own]
    )
    many = count[:, np.newaxis]
    whole_length = np.add.reduceat(many * log_length, begin)
    whole_turn = np.add.reduceat(many * turn, begin) - n_carrying[:, np.newaxis] * angle
    # Some buckets of a batch need fewer points than the one that needs most.
    weight = np.where(point <= n_used[:, np.newaxis], 2.0, 0.0)
    mass = 1 + (weight * np.exp(whole_length) * np.cos(whole_turn)).sum(axis=1)
    # Without one row of the class, and with one carrier fewer.
    length = whole_length[own] - log_length
    turned = (whole_turn + angle)[own] - turn
    others = 1 + (weight[own] * np.exp(length) * np.cos(turned)).sum(axis=1)
    share: Floats = np.clip(carry * others / mass[own], 0.0, 1.0)
    total: Floats = mass / n_points
    return share, total
