"""The derivatives of a logistic regression, and sums by code.

Written in Cython's pure Python mode: compiled when the package is built, and otherwise run as plain
Python. Arrays are contiguous and writable, and allocated by the caller; the plain twin is in the
property tests of calibration.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import exp, fabs, log1p
else:
    from math import exp, fabs, log1p

__all__ = ["derive", "total"]


def derive(
    place: cython.longlong[:, ::1],
    n_rows: cython.double[::1],
    n_carrying: cython.double[::1],
    parameters: cython.double[::1],
    most: cython.double,
    slope: cython.double[::1],
    matrix: cython.double[:, ::1],
) -> float:
    """Return the log-likelihood of a logistic regression, and add up its derivatives.

    The log odds of a kind of people, kept within `most` of 0, are the sum of the parameters
    `place[kind]`, which are in ascending order; `n_carrying` of its `n_rows` people have the value.
    `slope` receives the gradient, and the upper triangle of `matrix` minus the second derivatives;
    both must be 0 before.
    """
    n_kinds: cython.Py_ssize_t = place.shape[0]
    width: cython.Py_ssize_t = place.shape[1]
    kind: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.longlong
    logs: cython.double
    power: cython.double
    chance: cython.double
    excess: cython.double
    weight: cython.double
    height: cython.double = 0.0

    with cython.nogil:
        for kind in range(n_kinds):
            logs = 0.0
            for i in range(width):
                logs += parameters[place[kind, i]]
            logs = min(max(logs, -most), most)
            power = exp(-fabs(logs))
            chance = 1.0 / (1.0 + power) if logs > 0 else power / (1.0 + power)
            height += n_carrying[kind] * logs
            height -= n_rows[kind] * (log1p(power) + max(logs, 0.0))
            excess = n_carrying[kind] - n_rows[kind] * chance
            weight = n_rows[kind] * chance * (1.0 - chance)
            for i in range(width):
                row = place[kind, i]
                slope[row] += excess
                for j in range(i, width):
                    matrix[row, place[kind, j]] += weight
    return height


def total(
    code: cython.longlong[::1],
    first: cython.double[::1],
    second: cython.double[::1],
    totals: cython.double[:, ::1],
) -> None:
    """Add up two weights of kinds of people by their codes.

    `totals` has two numbers per code, which must be 0 before. The plain twin is `numpy.bincount`.
    """
    kind: cython.Py_ssize_t
    with cython.nogil:
        for kind in range(code.shape[0]):
            totals[code[kind], 0] += first[kind]
            totals[code[kind], 1] += second[kind]
