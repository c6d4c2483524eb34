"""The additive logit: the odds of every distinct row, its gradient, and what buckets tell of it.

Written in Cython's pure Python mode: compiled when the package is built, and otherwise run as plain
Python. Arrays are contiguous and allocated by the caller. In all kernels `place` has the parameters
of each distinct row besides the first, the level, and the last parameter is none: it stands for a
group that a value lacks.
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

__all__ = ["collect", "inform", "weigh_rows"]


def weigh_rows(
    place: cython.longlong[:, ::1],
    offset: cython.double[::1],
    parameters: cython.double[:, ::1],
    n_rows: cython.double[:, ::1],
    pure: cython.double[:, ::1],
    most: cython.double,
    odds: cython.double[:, ::1],
    height: cython.double[::1],
) -> None:
    """Write the odds of each distinct row by each set of parameters, and a part of the height.

    Log odds are kept within `most` of 0. A set of parameters counts `n_rows` of each distinct row;
    where it counts none, the odds are written as 0. `height` receives the logarithm of how likely
    all of these rows are to lack the value, plus the log odds of the `pure` carriers, who are
    certain. The plain twin, in the property tests of the additive adversary, adds logarithms row by
    row.
    """
    width: cython.Py_ssize_t = place.shape[1]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    copies: cython.Py_ssize_t
    logs: cython.double
    lacking: cython.double
    product: cython.double
    with cython.nogil:
        for k in range(parameters.shape[0]):
            height[k] = 0.0
            product = 1.0
            for i in range(place.shape[0]):
                if n_rows[k, i] <= 0:
                    odds[k, i] = 0.0
                    continue
                logs = offset[i] + parameters[k, 0]
                for j in range(width):
                    logs += parameters[k, place[i, j]]
                logs = min(max(logs, -most), most)
                odds[k, i] = exp(logs)
                if pure[k, i] > 0:
                    height[k] += pure[k, i] * logs
                lacking = 1 + odds[k, i]
                if n_rows[k, i] > 4 or lacking > 1e6:
                    height[k] -= n_rows[k, i] * log1p(odds[k, i])
                    continue
                # A logarithm of a product costs less than one of each factor.
                for copies in range(cython.cast(cython.Py_ssize_t, n_rows[k, i])):
                    product *= lacking
                if product > 1e270:
                    height[k] -= log(product)
                    product = 1.0
            height[k] -= log(product)


def collect(
    place: cython.longlong[:, ::1],
    n_rows: cython.double[:, ::1],
    odds: cython.double[:, ::1],
    expected: cython.double[:, ::1],
    pure: cython.double[:, ::1],
    slope: cython.double[:, ::1],
) -> None:
    """Add to the slope of each parameter how many carriers are predicted beyond those expected.

    The odds of a distinct row predict carriers among its `n_rows`; given the buckets, `expected`
    and `pure` are expected. The plain twin is `Effects.collect`.
    """
    width: cython.Py_ssize_t = place.shape[1]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    excess: cython.double
    with cython.nogil:
        for k in range(slope.shape[0]):
            for i in range(place.shape[0]):
                if n_rows[k, i] <= 0:
                    continue
                excess = (
                    n_rows[k, i] * (odds[k, i] / (1 + odds[k, i])) - expected[k, i] - pure[k, i]
                )
                slope[k, 0] += excess
                for j in range(width):
                    slope[k, place[i, j]] += excess
            slope[k, slope.shape[1] - 1] = 0.0


def inform(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    variance: cython.double[::1],
    weight: cython.double[::1],
    place: cython.longlong[:, ::1],
    rest: cython.double[::1],
    covariance: cython.double[::1],
    touched: cython.longlong[::1],
    matrix: cython.double[:, ::1],
) -> None:
    """Add up what buckets and rows tell about pairs of parameters.

    Entry e of a bucket is of the distinct row `which[e]`, one after the last for rows that cannot
    be carriers, and its number of carriers has the `variance[e]`; that of a row outside these
    buckets, whose value is known, is `rest`. A bucket adds, for each pair, `weight` times the
    product of their covariances with its number of carriers. A pair is written on either side of
    the diagonal, so that the information is `matrix` plus its transpose, the diagonal counted once.

    `matrix` and `covariance`, one number per parameter, must be 0 before. The plain twin is in the
    property tests: sums of products over independent rows.
    """
    n_looks: cython.Py_ssize_t = place.shape[0]
    width: cython.Py_ssize_t = place.shape[1]
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n_touched: cython.Py_ssize_t
    own: cython.longlong
    part: cython.double
    with cython.nogil:
        for b in range(weight.shape[0]):
            n_touched = 0
            for e in range(start[b], start[b + 1]):
                if which[e] >= n_looks or variance[e] <= 0:
                    continue
                for j in range(width + 1):
                    own = 0 if j == 0 else place[which[e], j - 1]
                    if covariance[own] == 0:
                        touched[n_touched] = own
                        n_touched += 1
                    covariance[own] += variance[e]
            for i in range(n_touched):
                part = weight[b] * covariance[touched[i]]
                for j in range(i, n_touched):
                    matrix[touched[i], touched[j]] += part * covariance[touched[j]]
            for i in range(n_touched):
                covariance[touched[i]] = 0.0
        for i in range(n_looks):
            if rest[i] <= 0:
                continue
            matrix[0, 0] += rest[i]
            for b in range(width):
                matrix[0, place[i, b]] += rest[i]
                for j in range(b, width):
                    matrix[place[i, b], place[i, j]] += rest[i]
