"""Phi-squared of every pair of attributes, from codes.

The plain twin is the definition in fractions in the property tests of correlations. Written for
Cython's pure Python mode: compiled when the package is built, otherwise run as plain Python. Arrays
are contiguous and writable, and allocated by the caller. `weights` has the people of each row; it
is empty if each row is one person.

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

__all__ = ["add_up_blocks", "add_up_contingency"]


@cython.cfunc
@cython.exceptval(check=False)
def _take_sum(
    table: cython.longlong[::1],
    n_lines: cython.longlong,
    n_values: cython.longlong,
    totals: cython.double[::1],
    at_lines: cython.longlong,
    at_values: cython.longlong,
) -> cython.double:
    """Return the sum of ``n_ij^2 / (n_i n_j)`` over a table of counts, and set the counts to 0."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    count: cython.double
    term: cython.double
    raised: cython.double
    total: cython.double = 0.0
    lost: cython.double = 0.0
    for i in range(n_lines):
        for j in range(n_values):
            if table[i * n_values + j] != 0:
                count = cython.cast(cython.double, table[i * n_values + j])
                table[i * n_values + j] = 0
                term = count * count / (totals[at_lines + i] * totals[at_values + j])
                raised = total + term
                # Both are positive: the smaller one lost its last bits.
                if total >= term:
                    lost += (total - raised) + term
                else:
                    lost += (term - raised) + total
                total = raised
    return total + lost


def add_up_blocks(
    first: cython.Py_ssize_t,
    codes: cython.const[cython.uchar][:, ::1],
    n_cells: cython.longlong[::1],
    begins: cython.longlong[::1],
    digits: cython.const[cython.uchar][:, ::1],
    sizes: cython.longlong[::1],
    weights: cython.longlong[::1],
    total_starts: cython.longlong[::1],
    totals: cython.double[::1],
    table: cython.longlong[::1],
    part: cython.longlong[::1],
    pair: cython.longlong[::1],
    sums: cython.double[:, ::1],
) -> None:
    """Write the sums of the attributes of block `first` with those of it and of later blocks.

    Block b consists of the attributes from ``begins[b]`` up to ``begins[b + 1]``. Its cells are the
    combinations of their values: ``codes[b, r]`` is the cell of row r, below ``n_cells[b]``, and
    ``digits[a, c]`` the value of attribute a in cell c of its block. So one pass over the rows
    counts all pairs of attributes of two blocks: the counts of cells are added up to counts of the
    values of one attribute and the cells of the other block (`part`), and these to counts of the
    values of both (`pair`). These three arrays have room for all cells of two blocks; `table` and
    `pair` are all 0 before and after. ``sums[a, b]`` is written for a < b.
    """
    n_rows: cython.Py_ssize_t = codes.shape[1]
    second: cython.Py_ssize_t
    one: cython.Py_ssize_t
    other: cython.Py_ssize_t
    row: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    held: cython.Py_ssize_t
    i: cython.Py_ssize_t
    width: cython.longlong
    size: cython.longlong
    is_weighted: cython.bint = weights.shape[0] > 0

    for second in range(first, begins.shape[0] - 1):
        width = n_cells[second]
        if is_weighted:
            for row in range(n_rows):
                table[codes[first, row] * width + codes[second, row]] += weights[row]
        else:
            for row in range(n_rows):
                table[codes[first, row] * width + codes[second, row]] += 1
        for one in range(begins[first], begins[first + 1]):
            for cell in range(sizes[one] * width):
                part[cell] = 0
            for held in range(n_cells[first]):
                i = digits[one, held]
                for cell in range(width):
                    part[i * width + cell] += table[held * width + cell]
            for other in range(begins[second], begins[second + 1]):
                if other <= one:
                    continue
                size = sizes[other]
                for i in range(sizes[one]):
                    for cell in range(width):
                        pair[i * size + digits[other, cell]] += part[i * width + cell]
                sums[one, other] = _take_sum(
                    pair, sizes[one], size, totals, total_starts[one], total_starts[other]
                )
        for cell in range(n_cells[first] * width):
            table[cell] = 0


def add_up_contingency(
    first: cython.Py_ssize_t,
    others: cython.longlong[::1],
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
    """Write the sum of ``n_ij^2 / (n_i n_j)`` of attribute `first` with each of `others` to `sums`.

    ``codes[a, r]`` is the value of attribute a in row r, below ``sizes[a]``, and the value i of it
    has ``totals[total_starts[a] + i]`` people. `order` lists the rows by the value of `first`.

    Up to `most_pairs` pairs of values are counted in one table. Of more, the rows with one value
    of `first` are counted after those with another. `table` has room for `most_pairs` entries and
    for one per value of any attribute; it is all 0 before and after.
    """
    n_rows: cython.Py_ssize_t = codes.shape[1]
    place: cython.Py_ssize_t
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

    is_weighted: cython.bint = weights.shape[0] > 0

    for place in range(others.shape[0]):
        other = others[place]
        n_values = sizes[other]
        total = 0.0
        lost = 0.0
        if sizes[first] * n_values <= most_pairs:
            if is_weighted:
                for row in range(n_rows):
                    table[codes[first, row] * n_values + codes[other, row]] += weights[row]
            else:
                for row in range(n_rows):
                    table[codes[first, row] * n_values + codes[other, row]] += 1
            total = _take_sum(
                table, sizes[first], n_values, totals, total_starts[first], total_starts[other]
            )
        else:
            begin = 0
            while begin < n_rows:
                i = codes[first, order[begin]]
                end = begin
                while end < n_rows and codes[first, order[end]] == i:
                    table[codes[other, order[end]]] += weights[order[end]] if is_weighted else 1
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
        sums[place] = total + lost
