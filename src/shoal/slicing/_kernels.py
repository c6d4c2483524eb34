"""How many tuples match how many of a few buckets, by inclusion and exclusion.

The plain twin is the enumeration in the property tests of fake tuples. Written for Cython's pure
Python mode: compiled when the package is built, otherwise run as plain Python. Arrays are
contiguous and writable, and allocated by the caller.

Numbers of tuples may exceed 64 bits. All are taken modulo a prime below 2^31, so that products of
two fit; the caller reconstructs them from several primes.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["count_in_sets"]


def count_in_sets(
    modulus: cython.longlong,
    first_column: cython.Py_ssize_t,
    starts: cython.longlong[::1],
    members: cython.longlong[::1],
    weight: cython.longlong[::1],
    value_starts: cython.longlong[:, ::1],
    values: cython.longlong[::1],
    marks: cython.longlong[::1],
    touched: cython.longlong[::1],
    held: cython.longlong[::1],
    product: cython.longlong[::1],
    tally: cython.longlong[::1],
) -> None:
    """Add to `tally[m]` the weighted number of tuples that match m buckets of a set, for all sets.

    Set t consists of the buckets `members[starts[t]], ..., members[starts[t + 1] - 1]`, at least
    one, and counts `weight[t]` times. Tuples have a value for each column from `first_column` on;
    the values of column i in bucket b are `values[value_starts[i, b]], ...`, each once.

    `marks` and `touched` have room for one entry per value; `marks` is all 0 before and after.
    `held` and `product` have room for 2^j entries each, where j is the size of the largest set. A
    subset of a set's buckets is a number with one bit per bucket.
    """
    n_columns: cython.Py_ssize_t = value_starts.shape[0]
    n_sets: cython.Py_ssize_t = weight.shape[0]
    t: cython.Py_ssize_t
    column: cython.Py_ssize_t
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n_touched: cython.Py_ssize_t
    subset: cython.Py_ssize_t
    n_subsets: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    bucket: cython.longlong
    value: cython.longlong
    n_bits: cython.Py_ssize_t
    rest: cython.Py_ssize_t

    for t in range(n_sets):
        j = starts[t + 1] - starts[t]
        n_subsets = cython.cast(cython.Py_ssize_t, 1) << j
        for subset in range(n_subsets):
            product[subset] = weight[t]
        for column in range(first_column, n_columns):
            n_touched = 0
            for at in range(j):
                bucket = members[starts[t] + at]
                bit = cython.cast(cython.Py_ssize_t, 1) << at
                for i in range(value_starts[column, bucket], value_starts[column, bucket + 1]):
                    value = values[i]
                    if marks[value] == 0:
                        touched[n_touched] = value
                        n_touched += 1
                    marks[value] |= bit
            for subset in range(n_subsets):
                held[subset] = 0
            for i in range(n_touched):
                value = touched[i]
                held[marks[value]] += 1
                marks[value] = 0
            # `held` counts values by the exact set of buckets that hold them. Summed over supersets
            # it counts the values that all buckets of a subset hold.
            for at in range(j):
                bit = cython.cast(cython.Py_ssize_t, 1) << at
                for subset in range(n_subsets):
                    if subset & bit == 0:
                        held[subset] += held[subset | bit]
            for subset in range(1, n_subsets):
                product[subset] = product[subset] * held[subset] % modulus
        # Inclusion and exclusion: from tuples that all buckets of a subset match to those that
        # no other bucket matches.
        for at in range(j):
            bit = cython.cast(cython.Py_ssize_t, 1) << at
            for subset in range(1, n_subsets):
                if subset & bit == 0:
                    product[subset] -= product[subset | bit]
                    if product[subset] < 0:
                        product[subset] += modulus
        for subset in range(1, n_subsets):
            n_bits = 0
            rest = subset
            while rest:
                rest &= rest - 1
                n_bits += 1
            tally[n_bits] = (tally[n_bits] + product[subset]) % modulus
