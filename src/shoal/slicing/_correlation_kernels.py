"""Phi-squared of one attribute with many others, from codes.

The plain twin is the definition in fractions in the property tests of correlations. Written for
Cython's pure Python mode: compiled when the package is built, otherwise run as plain Python. Arrays
are contiguous and writable, and allocated by the caller.

The sum of ``n_ij^2 / (n_i n_j)`` is compensated, so that it does not depend on the order of its
terms, and equal correlations are equal to the last of the decimals that are kept.

References
----------
A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54,
1974, algorithm IV.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["add_up_contingency"]


def add_up_contingency(
    first: cython.Py_ssize_t,
    codes: cython.int[:, ::1],
    sizes: cython.longlong[::1],
    weights: cython.longlong[::1],
    total_starts: cython.longlong[::1],
    totals: cython.double[::1],
    order: cython.int[::1],
    most_pairs: cython.longlong,
    table: cython.longlong[::1],
    sums: cython.double[::1],
) -> None:
    """Write the sum of ``n_ij^2 / (n_i n_j)`` of attribute `first` with every later one to `sums`.

    ``codes[a, r]`` is the value of attribute a in row r, below ``sizes[a]``, and the value i of it
    has ``totals[total_starts[a] + i]`` people. `order` lists the rows by the value of `first`.

    Up to `most_pairs` pairs of values are counted in one table. Of more, the rows with one value
    of `first` are counted after those with another. `table` has room for `most_pairs` entries and
    for one per value of any attribute; it is all 0 before and after.
    """
    n_attributes: cython.Py_ssize_t = codes.shape[0]
    n_rows: cython.Py_ssize_t = codes.shape[1]
    other: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    i: cython.longlong
    j: cython.longlong
    n_values: cython.longlong
    n_i: cython.double
    count: cython.double
    term: cython.double
    total: cython.double
    lost: cython.double
    raised: cython.double

    for other in range(first + 1, n_attributes):
        n_values = sizes[other]
        total = 0.0
        lost = 0.0
        if sizes[first] * n_values <= most_pairs:
            for row in range(n_rows):
                table[codes[first, row] * n_values + codes[other, row]] += weights[row]
            for i in range(sizes[first]):
                n_i = totals[total_starts[first] + i]
                for j in range(n_values):
                    if table[i * n_values + j] != 0:
                        count = cython.cast(cython.double, table[i * n_values + j])
                        table[i * n_values + j] = 0
                        term = count * count / (n_i * totals[total_starts[other] + j])
                        raised = total + term
                        # Both are positive: the smaller one lost its last bits.
                        if total >= term:
                            lost += (total - raised) + term
                        else:
                            lost += (term - raised) + total
                        total = raised
        else:
            begin = 0
            while begin < n_rows:
                i = codes[first, order[begin]]
                end = begin
                while end < n_rows and codes[first, order[end]] == i:
                    table[codes[other, order[end]]] += weights[order[end]]
                    end += 1
                n_i = totals[total_starts[first] + i]
                for at in range(begin, end):
                    j = codes[other, order[at]]
                    if table[j] != 0:
                        count = cython.cast(cython.double, table[j])
                        table[j] = 0
                        term = count * count / (n_i * totals[total_starts[other] + j])
                        raised = total + term
                        if total >= term:
                            lost += (total - raised) + term
                        else:
                            lost += (term - raised) + total
                        total = raised
                begin = end
        sums[other] = total + lost
