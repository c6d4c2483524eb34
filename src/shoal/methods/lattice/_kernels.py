"""Which groups break a requirement, decided one after the other.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["drop_failing"]


def drop_failing(
    keeps: object,
    asked_value: cython.longlong[::1],
    asked_count: cython.longlong[::1],
    starts: cython.longlong[::1],
    value: cython.longlong[::1],
    count: cython.longlong[::1],
    sizes: cython.longlong[::1],
    number: cython.longlong[::1],
    kept: cython.uchar[::1],
    n_dropped: cython.longlong,
    limit: cython.longlong,
) -> int:
    """Unmark in `kept` the groups that fail, until more than `limit` rows are dropped.

    A group is put to `keeps` by its values, as `number` numbers them, and their counts in
    `asked_value` and `asked_count`. Returns `n_dropped` and the rows of the groups that fail.
    """
    place: cython.Py_ssize_t
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t
    for place in range(sizes.shape[0]):
        if kept[place] == 0:
            continue
        n = 0
        for i in range(starts[place], starts[place + 1]):
            asked_value[n] = number[value[i]]
            asked_count[n] = count[i]
            n += 1
        if not keeps(n, sizes[place]):
            kept[place] = 0
            n_dropped += sizes[place]
            if n_dropped > limit:
                break
    return n_dropped
