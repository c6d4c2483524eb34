"""Anatomy's draw, which goes one bucket after the other.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["draw_buckets"]


def draw_buckets(
    left: cython.longlong[::1],
    group: cython.longlong[::1],
    ell: cython.Py_ssize_t,
    numbers: cython.ulonglong[::1],
    latest: cython.longlong[::1],
    run: cython.longlong[::1],
    run_group: cython.longlong[::1],
    run_bucket: cython.longlong[::1],
    run_length: cython.longlong[::1],
) -> tuple:
    """Draw one row from each of the `ell` largest classes while there are that many.

    `left` holds how many rows each class has left, largest first, and `group` which class that is.
    Among classes as large as the smallest one drawn from, chance decides, by the next of
    `numbers`. The chosen ones move to the end of their equals, which keeps `left` sorted at a
    cost of O(ell + log classes) a bucket.

    Rows of one class in consecutive buckets are a run: its class, first bucket and length. By
    class, `latest` is the last bucket with a row of it (at first -2) and `run` its last run.

    Returns the number of buckets and that of runs.
    """
    n_classes: cython.Py_ssize_t = left.shape[0]
    n_buckets: cython.longlong = 0
    n_runs: cython.longlong = 0
    n_used: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    upper: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    chosen: cython.Py_ssize_t
    place: cython.Py_ssize_t
    i: cython.Py_ssize_t
    smallest: cython.longlong
    which: cython.longlong

    while n_classes >= ell and left[ell - 1] > 0:
        # Classes start, ..., stop - 1 are as large as the smallest one to be drawn from.
        smallest = left[ell - 1]
        start = ell - 1
        while start > 0 and left[start - 1] == smallest:
            start -= 1
        stop = ell
        upper = n_classes
        while stop < upper:
            middle = (stop + upper) // 2
            if left[middle] == smallest:
                stop = middle + 1
            else:
                upper = middle
        place = stop
        for i in range(start, ell):
            chosen = start + cython.cast(
                cython.Py_ssize_t, numbers[n_used] % cython.cast(cython.ulonglong, place - start)
            )
            n_used += 1
            place -= 1
            which = group[chosen]
            group[chosen] = group[place]
            group[place] = which
        for i in range(ell):
            chosen = i if i < start else place + i - start
            left[chosen] -= 1
            which = group[chosen]
            if latest[which] == n_buckets - 1:
                run_length[run[which]] += 1
            else:
                run[which] = n_runs
                run_group[n_runs] = which
                run_bucket[n_runs] = n_buckets
                run_length[n_runs] = 1
                n_runs += 1
            latest[which] = n_buckets
        n_buckets += 1
    return n_buckets, n_runs
