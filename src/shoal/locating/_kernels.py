"""Groups of rows that agree in some columns, split further by the values of another column.

A group is a run of `rows`: group g is ``rows[starts[g]], ..., rows[starts[g + 1] - 1]``. `weights`
says for how many people a row stands. A row is alone if it stands for one person and no other row
agrees with it; such rows are in no group. The plain twins are in the property tests of row groups.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["count_alone", "count_right", "split"]


def split(
    n_groups: cython.Py_ssize_t,
    starts: cython.int[::1],
    rows: cython.int[::1],
    codes: cython.int[::1],
    weights: cython.longlong[::1],
    n_with: cython.int[::1],
    n_people: cython.longlong[::1],
    values: cython.int[::1],
    split_starts: cython.int[::1],
    split_rows: cython.int[::1],
) -> int:
    """Split every group by the values of a column, and leave out rows that are alone then.

    Returns the number of groups, which are written into `split_starts` and `split_rows`. The order
    of rows within a group is kept. `n_with` and `n_people` have one entry per value, all 0 before
    and after; `values` has room for one entry per value.
    """
    g: cython.Py_ssize_t
    at: cython.Py_ssize_t
    v: cython.Py_ssize_t
    n_values: cython.Py_ssize_t
    n_split: cython.Py_ssize_t = 0
    place: cython.int = 0
    size: cython.int
    code: cython.int

    split_starts[0] = 0
    for g in range(n_groups):
        n_values = 0
        for at in range(starts[g], starts[g + 1]):
            code = codes[rows[at]]
            if n_with[code] == 0:
                values[n_values] = code
                n_values += 1
            n_with[code] += 1
            n_people[code] += weights[rows[at]]
        # From here on, n_with holds the next place of each value, or -1 for a row that is alone.
        for v in range(n_values):
            code = values[v]
            size = n_with[code]
            if n_people[code] == 1:
                n_with[code] = -1
            else:
                n_with[code] = place
                place += size
                n_split += 1
                split_starts[n_split] = place
        for at in range(starts[g], starts[g + 1]):
            code = codes[rows[at]]
            if n_with[code] >= 0:
                split_rows[n_with[code]] = rows[at]
                n_with[code] += 1
        for v in range(n_values):
            n_with[values[v]] = 0
            n_people[values[v]] = 0
    return n_split


def count_alone(
    n_groups: cython.Py_ssize_t,
    starts: cython.int[::1],
    rows: cython.int[::1],
    codes: cython.int[::1],
    weights: cython.longlong[::1],
    seen: cython.longlong[::1],
) -> int:
    """Count the rows that are alone once every group is split by the values of a column.

    `seen` has one entry per value, all 0 before.
    """
    g: cython.Py_ssize_t
    at: cython.Py_ssize_t
    n_alone: cython.longlong = 0
    row: cython.int
    code: cython.int

    for g in range(n_groups):
        for at in range(starts[g], starts[g + 1]):
            row = rows[at]
            code = codes[row]
            # 2g + 1: one person of this group so far has the value; 2g + 2: several.
            if seen[code] < 2 * g + 1:
                if weights[row] == 1:
                    seen[code] = 2 * g + 1
                    n_alone += 1
                else:
                    seen[code] = 2 * g + 2
            elif seen[code] == 2 * g + 1:
                seen[code] = 2 * g + 2
                n_alone -= 1
    return n_alone


def count_right(
    n_groups: cython.Py_ssize_t,
    starts: cython.int[::1],
    rows: cython.int[::1],
    codes: cython.int[::1],
    weights: cython.longlong[::1],
    most_wrong: cython.longlong,
    n_with: cython.longlong[::1],
) -> int:
    """Count the people for whom the most frequent value of their group is right.

    -1 if it is wrong for more than `most_wrong`; the rest is not looked at then. `n_with` has one
    entry per value, all 0 before and after.
    """
    g: cython.Py_ssize_t
    at: cython.Py_ssize_t
    n_right: cython.longlong = 0
    n_wrong: cython.longlong = 0
    most: cython.longlong
    size: cython.longlong
    code: cython.int

    for g in range(n_groups):
        most = 0
        size = 0
        for at in range(starts[g], starts[g + 1]):
            code = codes[rows[at]]
            n_with[code] += weights[rows[at]]
            size += weights[rows[at]]
            if n_with[code] > most:
                most = n_with[code]
        for at in range(starts[g], starts[g + 1]):
            n_with[codes[rows[at]]] = 0
        n_right += most
        n_wrong += size - most
        if n_wrong > most_wrong:
            return -1
    return n_right
