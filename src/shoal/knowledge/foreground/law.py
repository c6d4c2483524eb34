"""p(t:x): how likely a row of a bucket carries a value, given how many of its rows do.

Each row carries x with its own chance f, independently. Given that n of the N rows carry it, the
rows follow the conditional Bernoulli law: a world's weight is the product of the odds f/(1-f) of
those who carry x in it. The law is not changed when all odds are multiplied by one number; they
are scaled so that the chances sum to n, and nothing underflows. Tables over the rows from either
end then give every p(t:x) in O(N n), where the worlds are as many as n out of N. In very large
buckets an integral gives it in O(N).

References
----------
[Wong11] R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of Anonymized Data
be used for Privacy Breaches? TKDD 5(3), 2011: Section 3, Equations (1) to (3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.knowledge.foreground._kernels import include
from shoal.knowledge.foreground.shapes import Shapes
from shoal.knowledge.foreground.wide_buckets import include_wide, is_wide

__all__ = ["condition", "odds_of", "posterior"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

_N_ROUNDS = 80
_HUGE = 700.0
"""The largest logarithm whose exponential is taken."""
_NEAR = 0.1
"""How near to n the scaled chances must sum; nearer would change nothing but rounding."""


def posterior(f: Sequence[float] | Floats, n: int) -> list[float]:
    """Give p(t:x) of every row of a bucket.

    Parameters
    ----------
    f
        The chance of each row to carry x, from 0 to 1, as its signature has it in the whole table.
    n
        How many rows of the bucket carry x.

    Raises
    ------
    DataError
        Where the bucket is impossible: more than n rows carry x for sure, or fewer can.

    Examples
    --------
    [Wong11] Example 1, where rounded terms make .72 of it:

    >>> p = posterior([0.5, 0.5, 0.2, 0.2], 2)
    >>> p[0] - 8 / 11 < 1e-15, [round(share, 4) for share in p]
    (True, [0.7273, 0.7273, 0.2727, 0.2727])
    """
    chances = np.asarray(f, dtype=np.float64)
    if chances.ndim != 1 or not np.all((chances >= 0) & (chances <= 1)):
        raise ParameterError("f must be a sequence of chances from 0 to 1.")
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
            f"The bucket is impossible: {n} of its {n_rows} rows carry the value; {n_sure} carry "
            f"it for sure and {n_able} can.",
        )
    share: list[float] = condition(bucket, odds_of(chances))[0].tolist()
    return share


def odds_of(f: Floats) -> Floats:
    """Give f/(1-f), infinite where f is 1."""
    with np.errstate(divide="ignore"):
        odds: Floats = f / (1 - f)
    return odds


def condition(shapes: Shapes, odds: Floats) -> tuple[Floats, Floats]:
    """Condition the rows of buckets on how many of them carry a value.

    Parameters
    ----------
    shapes
        The buckets.
    odds
        The odds of each class to carry the value, from 0 to infinity.

    Returns
    -------
    share
        For each entry of the shapes how likely one of its rows carries the value; 0 where the
        bucket is impossible.
    log
        For each shape the logarithm of the sum, over all worlds, of the product of the odds of
        those who carry the value; those who do for sure are left out. It is minus infinity where
        the bucket is impossible.

    Examples
    --------
    >>> bucket = np.zeros(2, dtype=np.int64)
    >>> shapes, _ = Shapes.of_buckets(bucket, np.array([0, 1]), np.array([1, 1]), np.array([1]), 2)
    >>> share, log = condition(shapes, np.array([1.0, 3.0]))
    >>> share.tolist(), np.exp(log).round(12).tolist()
    ([0.25, 0.75], [4.0])
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


def _add_up(numbers: Numbers, shapes: Shapes) -> Numbers:
    return np.bincount(shapes.shape, numbers, shapes.n_shapes).astype(np.int64)


def _condition_all(
    shapes: Shapes, own: Floats, is_open: Flags, chosen: Flags, share: Floats, log: Floats
) -> None:
    """Treat buckets where everybody who can carry the value does."""
    here = is_open & chosen[shapes.shape]
    share[here] = 1.0
    terms = shapes.count[here] * np.log(own[here])
    log += np.bincount(shapes.shape[here], terms, shapes.n_shapes)


def _condition_one(
    shapes: Shapes, own: Floats, is_open: Flags, chosen: Flags, share: Floats, log: Floats
) -> None:
    """Treat buckets with one carrier: everybody is as likely as their odds say."""
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
    chosen: Numbers,
    left: Numbers,
    share: Floats,
    log: Floats,
) -> None:
    """Treat buckets with several carriers, and others who might be."""
    is_chosen = np.zeros(shapes.n_shapes, dtype=bool)
    is_chosen[chosen] = True
    here = np.flatnonzero(is_open & is_chosen[shapes.shape])
    shape = np.searchsorted(chosen, shapes.shape[here])
    start = np.searchsorted(shape, np.arange(len(chosen) + 1)).astype(np.int64)
    count, n_carrying = shapes.count[here], np.ascontiguousarray(left[chosen])
    n_rows = np.add.reduceat(count, start[:-1])
    logs = np.log(own[here])
    shift = _find_shift(logs, count, shape, start, n_rows, n_carrying)
    # Products keep digits that logarithms of very small odds lose.
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
    start: Numbers, count: Numbers, n_carrying: Numbers, carry: Floats, lack: Floats
) -> tuple[Floats, Floats]:
    """Find how likely a row of each class carries the value by tables; see `include_wide`."""
    n_rows = np.add.reduceat(count, start[:-1])
    found, total = np.empty(len(count)), np.empty(len(n_carrying))
    width = int(np.minimum(n_carrying, n_rows - n_carrying).max()) + 1
    most_classes = int(np.diff(start).max()) + 1
    room = np.empty(width), np.empty(width * most_classes), np.empty(width)
    include(start, count, n_rows, n_carrying, carry, lack, found, total, *room)
    return found, total


def _chances(odds: Floats) -> tuple[Floats, Floats]:
    """Give the chances of odds, and those of the contrary, each to its last digit."""
    small = np.minimum(odds, 1 / np.maximum(odds, 1.0))
    low, high = small / (1 + small), 1 / (1 + small)
    return np.where(odds > 1, high, low), np.where(odds > 1, low, high)


def _find_shift(
    logs: Floats,
    count: Numbers,
    shape: Numbers,
    start: Numbers,
    n_rows: Numbers,
    n_carrying: Numbers,
) -> Floats:
    """Find for each bucket what to add to its logarithms of odds so that chances sum to n."""
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
        # A step of Newton that leaves the interval is replaced by its middle.
        shift = np.where((step > low) & (step < high), step, (low + high) / 2)
    return np.clip(shift, -_HUGE, _HUGE)
