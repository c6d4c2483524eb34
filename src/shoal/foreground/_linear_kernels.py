"""Linear systems with a positive definite matrix of a few hundred rows.

Libraries run their linear algebra in threads, which for a few hundred unknowns costs many times
what it saves, and rounds differently with the number of threads. Written in Cython's pure Python
mode: compiled when the package is built, and otherwise run as plain Python. Arrays are contiguous
and writable, and allocated by the caller; the plain twins are in the property tests of calibration.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

__all__ = ["factorize", "invert_upper", "solve", "solve_upper"]


def factorize(matrix: cython.double[:, ::1]) -> bool:
    """Replace the upper triangle of a symmetric matrix A by U with U^T U = A (Cholesky).

    Returns whether A is positive definite; otherwise U is not complete. The lower triangle is
    neither read nor written.
    """
    size: cython.Py_ssize_t = matrix.shape[0]
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    pivot: cython.double
    part: cython.double
    is_definite: cython.bint = True

    with cython.nogil:
        for k in range(size):
            if not matrix[k, k] > 0.0:
                is_definite = False
                break
            pivot = sqrt(matrix[k, k])
            for j in range(k, size):
                matrix[k, j] /= pivot
            for i in range(k + 1, size):
                part = matrix[k, i]
                if part != 0.0:
                    for j in range(i, size):
                        matrix[i, j] -= part * matrix[k, j]
    return is_definite


def solve(factor: cython.double[:, ::1], unknown: cython.double[::1]) -> None:
    """Solve U^T U x = b, given U; `unknown` is b before and x afterwards."""
    size: cython.Py_ssize_t = factor.shape[0]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.double

    with cython.nogil:
        for i in range(size):
            unknown[i] /= factor[i, i]
            for j in range(i + 1, size):
                unknown[j] -= factor[i, j] * unknown[i]
        for i in range(size - 1, -1, -1):
            total = unknown[i]
            for j in range(i + 1, size):
                total -= factor[i, j] * unknown[j]
            unknown[i] = total / factor[i, i]


def solve_upper(factor: cython.double[:, ::1], unknown: cython.double[:, ::1]) -> None:
    """Solve U X = B for several columns, given U; `unknown` is B before and X afterwards."""
    size: cython.Py_ssize_t = factor.shape[0]
    n_columns: cython.Py_ssize_t = unknown.shape[1]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    part: cython.double

    with cython.nogil:
        for i in range(size - 1, -1, -1):
            for k in range(i + 1, size):
                part = factor[i, k]
                if part != 0.0:
                    for j in range(n_columns):
                        unknown[i, j] -= part * unknown[k, j]
            for j in range(n_columns):
                unknown[i, j] /= factor[i, i]


def invert_upper(factor: cython.double[:, ::1], inverse: cython.double[:, ::1]) -> None:
    """Write the inverse of an upper triangular matrix, which is 0 before."""
    size: cython.Py_ssize_t = factor.shape[0]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    part: cython.double

    with cython.nogil:
        for i in range(size - 1, -1, -1):
            inverse[i, i] = 1.0
            for k in range(i + 1, size):
                part = factor[i, k]
                if part != 0.0:
                    for j in range(k, size):
                        inverse[i, j] -= part * inverse[k, j]
            for j in range(i, size):
                inverse[i, j] /= factor[i, i]
