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

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from shoal.core.arrays import Counts, Flags, Floats, Integers
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.foreground._kernels import weigh_each
from shoal.foreground.shapes import Shapes

Room = tuple[Counts, Floats, Floats, Floats]
"""The work space of a kernel."""
_WIDEST, _MOST_CELLS = 1 << 14, 1 << 22
"""The most numbers in the tables of the kernels: wider buckets are summed by the integral."""


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
    found, logs = np.empty(len(here)), np.empty(len(chosen))
    n_rows = np.add.reduceat(count, start[:-1])
    room = room_for(start, np.minimum(n_carrying, n_rows - n_carrying))
    weigh_each(start, count, n_carrying, own[here], found, logs, *room)
    share[here] = found
    log[chosen] = logs


_POINTS = 64
"""More than the points on the circle that the integral uses: 33 at most."""


def room_for(start: Integers, rarer: Integers) -> Room:
    """Return the work space that the kernels need for some buckets.

    `rarer` is the number of rows of each that carry the value, or lack it, whichever are fewer.
    """
    n_classes = int(np.diff(start).max(initial=0)) + 1
    width = min(max(int(rarer.max(initial=0)) + 1, 1), _WIDEST)
    return (
        np.empty(n_classes, dtype=np.int64),
        np.empty((12, max(n_classes, _POINTS))),
        np.empty(width),
        np.empty(min(width * (n_classes + 2), _MOST_CELLS)),
    )
