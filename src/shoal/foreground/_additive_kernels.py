"""The additive logit: the odds of every distinct row, its gradient, and what buckets tell of it.

Written in Cython's pure Python mode: compiled when the package is built, and otherwise run as plain
Python. Arrays are contiguous and allocated by the caller. The first parameter is the level, and the
last is none: it stands for a group that a value lacks. A code is one of a column; `codes` are those
of each distinct row, and `of_code` the parameters of each code. `place` has all parameters of each
distinct row but the level.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import exp, fabs, log, log1p
else:
    from math import exp, fabs, log, log1p

__all__ = ["collect", "inform", "weigh_rows"]


def weigh_rows(
    codes: cython.int[:, ::1],
    of_code: cython.longlong[:, ::1],
    offset: cython.double[::1],
    parameters: cython.double[:, ::1],
    n_rows: cython.double[:, ::1],
    pure: cython.double[:, ::1],
    most: cython.double,
    room: cython.double[:, ::1],
    odds: cython.double[:, ::1],
    height: cython.double[::1],
) -> None:
    """Write the odds of each distinct row by each set of parameters, and a part of the height.

    Log odds are kept within `most` of 0. A set of parameters counts `n_rows` of each distinct row;
    where it counts none, the odds are written as 0. `height` receives the logarithm of how likely
    all of these rows are to lack the value, plus the log odds of the `pure` carriers, who are
    certain. `room` is work space: two numbers per code. The plain twin, in the property tests of
    the additive adversary, adds logarithms row by row.
    """
    width: cython.Py_ssize_t = codes.shape[1]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    copies: cython.Py_ssize_t
    logs: cython.double
    own: cython.double
    level: cython.double
    lacking: cython.double
    product: cython.double
    farthest: cython.double
    is_shifted: cython.bint = False
    is_near: cython.bint
    total: cython.double[::1] = room[0]
    factor: cython.double[::1] = room[1]
    with cython.nogil:
        for i in range(offset.shape[0]):
            if offset[i] != 0:
                is_shifted = True
                break
        for k in range(parameters.shape[0]):
            farthest = 0.0
            for i in range(of_code.shape[0]):
                total[i] = 0.0
                for j in range(of_code.shape[1]):
                    total[i] += parameters[k, of_code[i, j]]
                farthest = max(farthest, fabs(total[i]))
            # Near 0, odds are products of factors, and no row needs an exponential of its own.
            is_near = not is_shifted and fabs(parameters[k, 0]) + width * farthest < most
            if is_near:
                for i in range(of_code.shape[0]):
                    factor[i] = exp(total[i])
            level = exp(parameters[k, 0]) if is_near else 0.0
            height[k] = 0.0
            product = 1.0
            for i in range(codes.shape[0]):
                if n_rows[k, i] <= 0:
                    odds[k, i] = 0.0
                    continue
                logs = 0.0
                if not is_near or pure[k, i] > 0:
                    logs = offset[i] + parameters[k, 0]
                    for j in range(width):
                        logs += total[codes[i, j]]
                    logs = min(max(logs, -most), most)
                if is_near:
                    own = level
                    for j in range(width):
                        own *= factor[codes[i, j]]
                else:
                    own = exp(logs)
                odds[k, i] = own
                if pure[k, i] > 0:
                    height[k] += pure[k, i] * logs
                lacking = 1 + own
                if n_rows[k, i] > 16 or lacking > 50:
                    height[k] -= n_rows[k, i] * log1p(own)
                    continue
                # A logarithm of a product costs less than one of each factor.
                for copies in range(cython.cast(cython.Py_ssize_t, n_rows[k, i])):
                    product *= lacking
                if product > 1e270:
                    height[k] -= log(product)
                    product = 1.0
            height[k] -= log(product)


def collect(
    codes: cython.int[:, ::1],
    of_code: cython.longlong[:, ::1],
    n_rows: cython.double[:, ::1],
    odds: cython.double[:, ::1],
    expected: cython.double[:, ::1],
    pure: cython.double[:, ::1],
    room: cython.double[:, ::1],
    slope: cython.double[:, ::1],
) -> None:
    """Add to the slope of each parameter how many carriers are predicted beyond those expected.

    The odds of a distinct row predict carriers among its `n_rows`; given the buckets, `expected`
    and `pure` are expected. `room` is work space: a number per code. The plain twin is
    `Effects.collect`.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    excess: cython.double
    total: cython.double[::1] = room[0]
    with cython.nogil:
        for k in range(slope.shape[0]):
            for i in range(of_code.shape[0]):
                total[i] = 0.0
            for i in range(codes.shape[0]):
                if n_rows[k, i] <= 0:
                    continue
                excess = (
                    n_rows[k, i] * (odds[k, i] / (1 + odds[k, i])) - expected[k, i] - pure[k, i]
                )
                slope[k, 0] += excess
                for j in range(codes.shape[1]):
                    total[codes[i, j]] += excess
            for i in range(of_code.shape[0]):
                for j in range(of_code.shape[1]):
                    slope[k, of_code[i, j]] += total[i]
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
