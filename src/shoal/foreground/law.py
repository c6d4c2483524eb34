"""p(t:x): the probability that a row of a bucket carries a value, given how many of its rows do.

Each row carries x with its own probability f, independently of the others. Given that n of the N
rows carry x, the rows follow the conditional Bernoulli law: the weight of a world is the product of
the odds f/(1-f) of its carriers. `weigh_worlds` lists the worlds, as the paper does; everything
else here avoids listing them.

Multiplying all odds by one factor does not change the law, so they are scaled until the
probabilities sum to n; then nothing underflows. Tables over the rows from either end give every
p(t:x) in O(N n). In large buckets whose number of carriers varies a lot, an integral around the
unit circle gives it in O(N): the probability that n rows carry x is the integral of a product with
one factor per row, which is nearly 0 outside a short arc. At most 51 evenly spaced points on
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

from shoal.core.arrays import Counts, Floats, Integers
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.foreground._kernels import weigh_each
from shoal.foreground.shapes import Shapes

Room = tuple[Counts, Floats, Floats, Floats]
"""The work space of a kernel."""
_WIDEST, _MOST_CELLS = 1 << 14, 1 << 22
"""The most numbers in the tables of the kernels: wider buckets are summed by the integral."""
EXACT, ROUGH = 36.0, 20.0
"""The integral is off by a fraction of about e to minus this: by rounding, or by a billionth."""


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


def condition(shapes: Shapes, odds: Floats, sure: float = EXACT) -> tuple[Floats, Floats]:
    """Condition the rows of buckets on how many of them carry a value.

    `odds` are the odds that a row of each class carries the value, from 0 to infinity. The first
    result has, for each entry of the shapes, the probability that one of its rows carries the
    value; 0 if the bucket is impossible. The second has, for each shape, the logarithm of the sum,
    over all worlds, of the product of the odds of the carriers, leaving out rows with infinite
    odds; minus infinity if the bucket is impossible. `sure` is `EXACT` or `ROUGH`, for large
    buckets; default: exact.
    """
    share, log = np.empty(len(shapes.which)), np.empty(shapes.n_shapes)
    weigh_each(
        shapes.start,
        shapes.which,
        shapes.count,
        shapes.n_carrying,
        odds,
        share,
        log,
        *room_for(shapes.start, shapes.rarer),
        sure,
    )
    return share, log


_POINTS = 64
"""More than the points on the circle that the integral uses: 25 at most."""


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
