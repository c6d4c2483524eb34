"""Expected carriers of each class in a bucket, given how many rows of it carry a value.

Written in Cython's pure Python mode: compiled when the package is built, and otherwise run as plain
Python. Arrays are contiguous, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import exp, log, log1p
else:
    from math import exp, log, log1p

__all__ = ["share_out"]


def share_out(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    rows: cython.longlong[::1],
    carriers: cython.longlong[::1],
    logs: cython.double[:, ::1],
    factorials: cython.double[::1],
    expected: cython.double[:, ::1],
    height: cython.double[:, ::1],
    law: cython.double[:, ::1],
    before: cython.double[::1],
    after: cython.double[:, ::1],
) -> None:
    """Compute the expected carriers of each class of each bucket, at several points.

    The classes of bucket b are the entries `start[b], ..., start[b + 1] - 1`, of `rows` rows each;
    a point is a row of `logs`, the log odds of every class. The carriers of a class are binomial,
    given that they sum to `carriers[b]`, which is at least 1 and less than the number of rows.
    `expected` receives a number per point and entry; `height`, per point and bucket, the logarithm
    of the sum, over all worlds, of the product of the odds of the carriers. The invariant is that
    `expected` sums to `carriers[b]` in every bucket; the plain twin is `Mixed`.

    `factorials` are the logarithms of 0!, 1!, ... up to the most rows of an entry. Work space:
    `law` and `after` have w + 1 numbers per class of a bucket and for one more class, `before` has
    w + 1, where w is the largest number of carriers.
    """
    n_points: cython.Py_ssize_t = logs.shape[0]
    n_buckets: cython.Py_ssize_t = carriers.shape[0]
    p: cython.Py_ssize_t
    b: cython.Py_ssize_t
    c: cython.Py_ssize_t
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    n: cython.Py_ssize_t
    most: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t
    shift: cython.double
    one: cython.double
    yes: cython.double
    no: cython.double
    lacking: cython.double
    weight: cython.double
    total: cython.double
    mean: cython.double

    for p in range(n_points):
        for b in range(n_buckets):
            n = carriers[b]
            n_classes = start[b + 1] - start[b]
            shift = find_shift(start[b], start[b + 1], which, rows, n, logs, p)
            lacking = 0.0
            for c in range(n_classes):
                e = start[b] + c
                one = logs[p, which[e]] + shift
                # The logarithms of the probabilities of carrying the value and of lacking it.
                if one < 0:
                    no = -log1p(exp(one))
                    yes = one + no
                else:
                    yes = -log1p(exp(-one))
                    no = yes - one
                lacking += rows[e] * no
                most = min(n, rows[e])
                for k in range(most + 1):
                    law[c, k] = exp(
                        factorials[rows[e]] - factorials[k] - factorials[rows[e] - k]
                        + k * yes + (rows[e] - k) * no
                    )  # fmt: skip
            for i in range(n + 1):
                after[n_classes, i] = 0.0
                before[i] = 0.0
            after[n_classes, 0] = 1.0
            before[0] = 1.0
            for c in range(n_classes - 1, -1, -1):
                most = min(n, rows[start[b] + c])
                for i in range(n + 1):
                    total = 0.0
                    for k in range(min(most, i) + 1):
                        total += law[c, k] * after[c + 1, i - k]
                    after[c, i] = total
            for c in range(n_classes):
                most = min(n, rows[start[b] + c])
                total = 0.0
                mean = 0.0
                for k in range(most + 1):
                    weight = 0.0
                    for i in range(n - k + 1):
                        weight += before[i] * after[c + 1, n - k - i]
                    weight *= law[c, k]
                    total += weight
                    mean += k * weight
                expected[p, start[b] + c] = mean / total
                # From the end, so that the values read do not yet include this class.
                for i in range(n, -1, -1):
                    weight = 0.0
                    for k in range(min(most, i) + 1):
                        weight += law[c, k] * before[i - k]
                    before[i] = weight
            height[p, b] = log(after[0, n]) - lacking - n * shift


@cython.cfunc
def find_shift(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    which: cython.longlong[::1],
    rows: cython.longlong[::1],
    n: cython.Py_ssize_t,
    logs: cython.double[:, ::1],
    p: cython.Py_ssize_t,
) -> cython.double:
    """Return what to add to the log odds so that the expected number of carriers is about right.

    It changes only how small the terms are, so halving an interval a few times is enough.
    """
    e: cython.Py_ssize_t
    n_rows: cython.double = 0.0
    least: cython.double = logs[p, which[first]]
    most: cython.double = logs[p, which[first]]
    for e in range(first, last):
        n_rows += rows[e]
        least = min(least, logs[p, which[e]])
        most = max(most, logs[p, which[e]])
    even: cython.double = log(n / (n_rows - n + 0.5))
    low: cython.double = even - most
    high: cython.double = even - least
    middle: cython.double = (low + high) / 2
    excess: cython.double
    for _ in range(60):
        middle = (low + high) / 2
        excess = -n
        for e in range(first, last):
            excess += rows[e] / (1 + exp(-logs[p, which[e]] - middle))
        if -0.5 <= excess <= 0.5:
            break
        if excess < 0:
            low = middle
        else:
            high = middle
    return middle
