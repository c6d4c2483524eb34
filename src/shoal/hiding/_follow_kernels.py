"""The rows of known rules: where antecedents appear, and what each rule counts there.

Computes for given antecedents the rows in which they publicly appear, the same table by row, and
the four counts of every rule: |pub|, the hits in it, |hid|, and the hits in it.

Invariant: in `find_members`, `rows[depth, :n_shown[depth]]` holds exactly the rows that show the
first `depth` items of the current antecedent. An antecedent reuses the levels of its longest
common prefix with the one before.

Plain twins: `define_members` in tests/property/test_adversarial_members.py compares every row with
every antecedent, and `define_counts` there counts every rule row by row.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable. Cells are packed as `shoal.hiding.cells` describes.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["count_rules", "find_members", "index_by_row"]


def post_rows(code: cython.int[:, ::1], n_values: cython.int[::1]) -> tuple:
    """Return for each column where the rows of its values start, and these rows, ascending."""
    n_columns: cython.Py_ssize_t = code.shape[0]
    n_rows: cython.Py_ssize_t = code.shape[1]
    most = int(np.max(n_values, initial=0)) + 1
    start_array = np.zeros((n_columns, most + 1), dtype=np.int32)
    start: cython.int[:, ::1] = start_array
    posted: cython.int[:, ::1] = np.empty((n_columns, n_rows), dtype=np.int32)
    column: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for column in range(n_columns):
        for row in range(n_rows):
            if code[column, row] < n_values[column]:
                start[column, code[column, row] + 1] += 1
    np.cumsum(start_array, axis=1, out=start_array)
    place: cython.int[:, ::1] = start_array.copy()
    for column in range(n_columns):
        for row in range(n_rows):
            if code[column, row] < n_values[column]:
                posted[column, place[column, code[column, row]]] = row
                place[column, code[column, row]] += 1
    return start_array, np.asarray(posted)


def list_items(n_rows_of: object, antecedent: object) -> tuple:
    """Return the items of each antecedent, the rarest first, and the antecedents sorted by them.

    Rare items first: sorted neighbours then share a prefix that few rows show. An item is column
    times the number of values plus value; -1 fills up. `n_rows_of` has the rows of each value of
    each column.
    """
    rarest = np.argsort(n_rows_of, axis=None, kind="stable")
    rank = np.empty_like(rarest)
    rank[rarest] = np.arange(len(rarest))
    first = np.arange(len(n_rows_of)) * n_rows_of.shape[1]
    ranks = np.where(antecedent >= 0, rank[first + np.maximum(antecedent, 0)], len(rarest))
    ranks.sort(axis=1)
    # A table without columns has no keys to sort by.
    order = np.lexsort(ranks.T[::-1]) if ranks.size else np.arange(len(ranks))
    return np.append(rarest, -1)[ranks], order


def find_members(
    code: cython.int[:, ::1],
    n_values: cython.int[::1],
    antecedent: cython.int[:, ::1],
    most_members: cython.Py_ssize_t = 2**62,
) -> tuple:
    """Return where the rows of each antecedent start, and the rows in which it publicly appears.

    Antecedents are taken in an order in which neighbours share their rarest items, so the rows
    that show these are found once. Rows are ascending. Raises OverflowError if there are more than
    `most_members` in total.
    """
    post_array, posted_array = post_rows(code, n_values)
    listed_array, order_array = list_items(np.diff(post_array, axis=1), np.asarray(antecedent))
    post: cython.int[:, ::1] = post_array
    posted: cython.int[:, ::1] = posted_array
    listed: cython.longlong[:, ::1] = listed_array
    order: cython.longlong[::1] = order_array
    n_columns: cython.Py_ssize_t = code.shape[0]
    n_rows: cython.Py_ssize_t = code.shape[1]
    n_antecedents: cython.Py_ssize_t = antecedent.shape[0]
    n_of_column: cython.longlong = post.shape[1] - 1
    # Indexed by depth: the rows that show the first `depth` items of the antecedent.
    rows: cython.int[:, ::1] = np.empty((n_columns + 1, n_rows), dtype=np.int32)
    n_shown: cython.longlong[::1] = np.zeros(n_columns + 1, dtype=np.int64)
    member: cython.int[::1] = np.empty(min(max(64, n_rows), most_members), dtype=np.int32)
    begin: cython.longlong[::1] = np.zeros(n_antecedents, dtype=np.int64)
    length: cython.longlong[::1] = np.zeros(n_antecedents, dtype=np.int64)
    n_members: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t
    a: cython.Py_ssize_t
    last: cython.Py_ssize_t = 0
    column: cython.Py_ssize_t
    value: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for i in range(n_antecedents):
        a = order[i]
        depth = 0
        while (
            i > 0
            and depth < n_columns
            and listed[a, depth] >= 0
            and listed[a, depth] == listed[last, depth]
        ):
            depth += 1
        while depth < n_columns and listed[a, depth] >= 0:
            column = listed[a, depth] // n_of_column
            value = listed[a, depth] % n_of_column
            n = 0
            if depth == 0:
                for j in range(post[column, value], post[column, value + 1]):
                    rows[1, n] = posted[column, j]
                    n += 1
            else:
                for j in range(n_shown[depth]):
                    rows[depth + 1, n] = rows[depth, j]
                    n += code[column, rows[depth, j]] == value
            depth += 1
            n_shown[depth] = n
        n = n_shown[depth]
        if n > most_members - n_members:
            raise OverflowError
        if n_members + n > member.shape[0]:
            larger = np.empty(min(2 * (n_members + n), most_members), dtype=np.int32)
            larger[:n_members] = member[:n_members]
            member = larger
        for j in range(n):
            member[n_members + j] = rows[depth, j]
        begin[a] = n_members
        length[a] = n
        n_members += n
        last = a
    return in_order(member, begin, length)


def in_order(
    member: cython.int[::1], begin: cython.longlong[::1], length: cython.longlong[::1]
) -> tuple:
    """Concatenate pieces of a list; return where each then starts, and the list."""
    start_array = np.append(0, np.cumsum(length)).astype(np.int64)
    start: cython.longlong[::1] = start_array
    sorted_array = np.empty(np.sum(length), dtype=np.int32)
    put: cython.int[::1] = sorted_array
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    for a in range(length.shape[0]):
        for i in range(length[a]):
            put[start[a] + i] = member[begin[a] + i]
    return start_array, sorted_array


def index_by_row(
    member_start: cython.longlong[::1], member: cython.int[::1], n_rows: cython.Py_ssize_t
) -> tuple:
    """Return where the antecedents of each row start, and these antecedents, ascending."""
    start_array = np.append(0, np.cumsum(np.bincount(member, minlength=n_rows))).astype(np.int64)
    place: cython.longlong[::1] = start_array.copy()
    of_row_array = np.empty(member.shape[0], dtype=np.int32)
    of_row: cython.int[::1] = of_row_array
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for a in range(member_start.shape[0] - 1):
        for i in range(member_start[a], member_start[a + 1]):
            row = member[i]
            of_row[place[row]] = a
            place[row] += 1
    return start_array, of_row_array


def count_rules(packed: object, followed: object) -> object:
    """Return |pub|, its hits, |hid| and its hits: one row each, one column per rule.

    A row in which the antecedent appears no more, because a cell of it was blanked, counts for
    nothing.
    """
    code: cython.int[:, ::1] = packed.code
    n_values: cython.int[::1] = packed.n_values
    antecedent: cython.int[:, ::1] = followed.antecedent
    named_start: cython.longlong[::1] = followed.named_start
    named: cython.longlong[::1] = followed.named
    member_start: cython.longlong[::1] = followed.member_start
    member: cython.int[::1] = followed.member
    rule_start: cython.longlong[::1] = followed.rule_start
    column: cython.longlong[::1] = followed.column
    value: cython.longlong[::1] = followed.value
    count_array = np.zeros((4, len(followed.column)), dtype=np.int64)
    count: cython.longlong[:, ::1] = count_array
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    rule: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    first_private: cython.Py_ssize_t
    appears: cython.bint
    for a in range(antecedent.shape[0]):
        for i in range(member_start[a], member_start[a + 1]):
            row = member[i]
            appears = True
            for j in range(named_start[a], named_start[a + 1]):
                if code[named[j], row] != antecedent[a, named[j]]:
                    appears = False
                    break
            if not appears:
                continue
            for rule in range(rule_start[a], rule_start[a + 1]):
                cell = code[column[rule], row]
                first_private = n_values[column[rule]] + 2
                if cell < first_private - 1:
                    count[0, rule] += 1
                    count[1, rule] += cell == value[rule]
                elif cell >= first_private:
                    count[2, rule] += 1
                    count[3, rule] += cell - first_private == value[rule]
    return count_array
