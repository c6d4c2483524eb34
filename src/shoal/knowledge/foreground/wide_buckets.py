"""p(t:x) in buckets whose number of carriers varies much, by an integral round the circle.

How likely n of many rows carry x is an integral of a product with one factor a row, and so is how
likely n - 1 of the others do. Where the number of carriers varies much, the product is nearly 0
but for a short arc; evenly spaced points on it, some twenty to forty however large the bucket is,
give the integrals to the last digits. Tables over the rows would take O(N n).

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Equations (1) to (3).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["include_wide", "is_wide"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_LEAST_VARIANCE = 25.0
"""From this variance of the number of carriers on the arc ends well before half of the circle."""
_WORTH = 600
"""What a class costs here, in steps of a table over the rows."""
_NOTHING = 45.0
"""What is e to the minus this is nothing beside one."""
_A_TIME = 1 << 20
"""How many pairs of a class and a point are computed at a time."""


def is_wide(
    start: Numbers, count: Numbers, n_carrying: Numbers, carry: Floats, lack: Floats
) -> npt.NDArray[np.bool_]:
    """Say for which buckets `include_wide` is right, and faster than tables over their rows."""
    n_rows = np.add.reduceat(count, start[:-1])
    rarer = np.minimum(n_carrying, n_rows - n_carrying)
    variance = np.add.reduceat(count * carry * lack, start[:-1])
    wide: npt.NDArray[np.bool_] = variance >= _LEAST_VARIANCE
    return wide & (n_rows * rarer > _WORTH * np.diff(start))


def include_wide(
    start: Numbers, count: Numbers, n_carrying: Numbers, carry: Floats, lack: Floats
) -> tuple[Floats, Floats]:
    """Find how likely a row of each class carries a value, given how many of its bucket do.

    Parameters
    ----------
    start
        Where the classes of each bucket begin; one number more than there are buckets.
    count
        How many rows each class has.
    n_carrying
        How many rows of each bucket carry the value.
    carry, lack
        The chances of each class to carry the value and to lack it, which in every bucket add up
        to about `n_carrying`, with a variance as `is_wide` asks for.

    Returns
    -------
    share
        For each class how likely one of its rows carries the value, given the number.
    total
        For each bucket how likely that number is.

    Examples
    --------
    >>> half = np.array([0.5])
    >>> share, total = include_wide(np.array([0, 1]), np.array([400]), np.array([200]), half, half)
    >>> share.round(12).tolist(), total.round(5).tolist()
    ([0.5], [0.03987])
    """
    share, total = np.empty(len(count)), np.empty(len(n_carrying))
    variance = np.add.reduceat(count * carry * lack, start[:-1])
    # The sum is farther off than this with a chance of e**-45 at most (Bernstein): so many points
    # round the circle do not confuse it with another.
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


def _batches(n_classes: Numbers, n_used: Numbers) -> Iterator[tuple[int, int]]:
    """Part buckets into runs that are not too much at once."""
    run = np.cumsum(n_classes * n_used) // _A_TIME
    border = np.r_[0, np.flatnonzero(np.diff(run)) + 1, len(run)].tolist()
    yield from pairwise(border)


def _integrate(
    own: Numbers,
    begin: Numbers,
    count: Numbers,
    n_carrying: Numbers,
    carry: Floats,
    lack: Floats,
    n_points: Floats,
    n_used: Numbers,
) -> tuple[Floats, Floats]:
    """Add up the product over the points of the arc; see `include_wide`.

    A factor is lack + carry e^(i angle), and the product is turned by minus n times the angle. The
    half of the arc below 0 mirrors that above: it gives the same real part.
    """
    point = np.arange(1, int(n_used.max()) + 1)
    angle = 2 * np.pi * point / n_points[:, np.newaxis]
    # 1 - cos, without its cancellation.
    drop = 2 * np.sin(angle / 2) ** 2
    log_length = np.log1p(-2 * (carry * lack)[:, np.newaxis] * drop[own]) / 2
    turn = np.arctan2(
        carry[:, np.newaxis] * np.sin(angle)[own], 1 - carry[:, np.newaxis] * drop[own]
    )
    many = count[:, np.newaxis]
    whole_length = np.add.reduceat(many * log_length, begin)
    whole_turn = np.add.reduceat(many * turn, begin) - n_carrying[:, np.newaxis] * angle
    # Small buckets of a batch need fewer points than the widest.
    weight = np.where(point <= n_used[:, np.newaxis], 2.0, 0.0)
    mass = 1 + (weight * np.exp(whole_length) * np.cos(whole_turn)).sum(axis=1)
    # Without one row of the class, and with one carrier fewer.
    length = whole_length[own] - log_length
    turned = (whole_turn + angle)[own] - turn
    others = 1 + (weight[own] * np.exp(length) * np.cos(turned)).sum(axis=1)
    share: Floats = np.clip(carry * others / mass[own], 0.0, 1.0)
    total: Floats = mass / n_points
    return share, total
