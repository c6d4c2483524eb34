"""The law of independent draws given their sum, one bucket after the other.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["include"]


def include(
    start: cython.longlong[::1],
    count: cython.longlong[::1],
    n_rows: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    carry: cython.double[::1],
    lack: cython.double[::1],
    share: cython.double[::1],
    total: cython.double[::1],
    prefix: cython.double[::1],
    suffix: cython.double[::1],
    terms: cython.double[::1],
) -> None:
    """Find how likely a row of each class carries a value, given how many rows of its bucket do.

    The classes of bucket b are the entries `start[b], ..., start[b + 1] - 1`: `count` rows each,
    which carry the value with chance `carry` and lack it with chance `lack`, independently.
    `share` becomes the chance given that `n_carrying[b]` of the `n_rows[b]` rows carry it, and
    `total` the chance of that, which must not be 0. `prefix` and `terms` are room for w + 1
    numbers, and `suffix` for (c + 1) (w + 1), in a bucket of c classes where w rows carry the
    value, or lack it, whichever are fewer.
    """
    n_buckets: cython.Py_ssize_t = n_rows.shape[0]
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    first: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t
    width: cython.Py_ssize_t
    stride: cython.Py_ssize_t
    at: cython.Py_ssize_t
    target: cython.Py_ssize_t
    counts_carriers: cython.bint
    hit: cython.double
    miss: cython.double
    ways: cython.double

    for b in range(n_buckets):
        first = start[b]
        n_classes = start[b + 1] - first
        # The tables count the rarer of those who carry the value and those who lack it.
        counts_carriers = 2 * n_carrying[b] <= n_rows[b]
        width = n_carrying[b] if counts_carriers else n_rows[b] - n_carrying[b]
        stride = width + 1
        at = n_classes * stride
        for j in range(stride):
            suffix[at + j] = 0.0
            prefix[j] = 0.0
        suffix[at] = 1.0
        prefix[0] = 1.0
        for i in range(n_classes - 1, -1, -1):
            e = first + i
            hit = carry[e] if counts_carriers else lack[e]
            miss = lack[e] if counts_carriers else carry[e]
            at = i * stride
            for j in range(stride):
                suffix[at + j] = suffix[at + stride + j]
            add_rows(suffix, at, width, hit, miss, count[e], terms)
        total[b] = suffix[width]
        # Who carries the value leaves one carrier fewer to the others, and as many who lack it.
        target = width - 1 if counts_carriers else width
        for i in range(n_classes):
            e = first + i
            hit = carry[e] if counts_carriers else lack[e]
            miss = lack[e] if counts_carriers else carry[e]
            add_rows(prefix, 0, width, hit, miss, count[e] - 1, terms)
            at = (i + 1) * stride
            ways = 0.0
            for j in range(target + 1):
                ways += prefix[j] * suffix[at + target - j]
            share[e] = carry[e] * ways / total[b]
            add_rows(prefix, 0, width, hit, miss, 1, terms)


@cython.cfunc
def add_rows(
    table: cython.double[::1],
    at: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    hit: cython.double,
    miss: cython.double,
    n_copies: cython.longlong,
    terms: cython.double[::1],
) -> cython.void:
    """Add rows that are alike to a table of how likely 0, 1, ... of the rows so far count."""
    i: cython.longlong
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    none: cython.double = 0.0
    ways: cython.double

    if n_copies > width:
        none = miss**n_copies
    # All at once where they are many; the first term must not underflow.
    if none > 1e-250:
        terms[0] = none
        for j in range(width):
            terms[j + 1] = terms[j] * (n_copies - j) / (j + 1) * hit / miss
        for j in range(width, -1, -1):
            ways = 0.0
            for k in range(j + 1):
                ways += terms[k] * table[at + j - k]
            table[at + j] = ways
        return
    for i in range(n_copies):
        for j in range(width, 0, -1):
            table[at + j] = table[at + j] * miss + table[at + j - 1] * hit
        table[at] = table[at] * miss
