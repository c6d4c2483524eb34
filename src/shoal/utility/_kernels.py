"""Counts and sums over all linkings of a release, for up to 64 queries at a time.

Written for Cython's pure Python mode. The idea: bit q of a label's word says that query q chooses
some of what the label stands for. The intersection of the words of an entry's labels says which of
64 queries choose the entry, and only those cost anything, so an entry that nobody asks for costs a
few instructions for all queries together. The plain twin is ``answer_plainly`` in
``tests/property/test_query_answers.py``; ``tests/unit/utility/test_queries.py`` derives answers
from all linkings.

`add_tables` adds up the expected rows of every pair of labels of two attributes, for all features
of a column at once; its plain twin is ``plain_tables`` in ``tests/property/test_learners.py``.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Adder", "add_tables"]


@cython.cclass
class Adder:
    """Adds up the entries of columns that are linked at random within buckets.

    Parameters
    ----------
    sizes
        The number of rows in each bucket, at least 1.
    ends
        Column c has its entries of bucket b from ``ends[c, b]`` to ``ends[c, b + 1]``. Entries are
        numbered through, column after column.
    counts
        The number of rows of each entry.
    moments, n_moments, first_moment
        Numbers to add up: ``n_moments[c]`` for each entry of column c, entry after entry. Those of
        entry e begin at ``first_moment[c] + n_moments[c] * (e - ends[c, 0])``.
    """

    sizes: cython.const[cython.double][::1]
    ends: cython.const[cython.longlong][:, ::1]
    counts: cython.const[cython.double][::1]
    moments: cython.const[cython.double][::1]
    n_moments: cython.const[cython.longlong][::1]
    first_moment: cython.const[cython.longlong][::1]
    # The queries at hand; see `add_up`.
    columns: cython.const[cython.longlong][::1]
    rows: cython.const[cython.longlong][::1]
    starts: cython.const[cython.longlong][::1]
    owned: cython.const[cython.longlong][::1]
    bits: cython.const[cython.ulonglong][::1]
    weights: cython.const[cython.double][:, ::1]
    shifts: cython.const[cython.longlong][::1]
    is_partial: cython.const[cython.uchar][::1]
    varied: cython.const[cython.longlong][:, ::1]
    ratios: cython.const[cython.double][:, ::1]
    # The queries that choose each entry, the bucket's sums by column and query (all 0 between two
    # buckets), and the place of the single bit in a power of two: 2 is a generator modulo 67.
    chosen: cython.ulonglong[::1]
    part: cython.double[:, :, ::1]
    place: cython.longlong[::1]

    def __init__(
        self,
        sizes: cython.const[cython.double][::1],
        ends: cython.const[cython.longlong][:, ::1],
        counts: cython.const[cython.double][::1],
        moments: cython.const[cython.double][::1],
        n_moments: cython.const[cython.longlong][::1],
        first_moment: cython.const[cython.longlong][::1],
    ) -> None:
        self.sizes = sizes
        self.ends = ends
        self.counts = counts
        self.moments = moments
        self.n_moments = n_moments
        self.first_moment = first_moment
        self.chosen = np.zeros(counts.shape[0], dtype=np.uint64)
        place = np.zeros(67, dtype=np.int64)
        self.place = place
        power: cython.longlong = 1
        bit: cython.Py_ssize_t
        for bit in range(64):
            self.place[power] = bit
            power = power * 2 % 67

    def add_up(
        self,
        columns: cython.const[cython.longlong][::1],
        rows: cython.const[cython.longlong][::1],
        starts: cython.const[cython.longlong][::1],
        owned: cython.const[cython.longlong][::1],
        bits: cython.const[cython.ulonglong][::1],
        weights: cython.const[cython.double][:, ::1],
        shifts: cython.const[cython.longlong][::1],
        is_partial: cython.const[cython.uchar][::1],
        varied: cython.const[cython.longlong][:, ::1],
        ratios: cython.const[cython.double][:, ::1],
        of_bucket: cython.const[cython.double][:, ::1],
        out: cython.double[:, ::1],
    ) -> None:
        """Add the expected count and sums of each query to its line of ``out``.

        Parameters
        ----------
        columns
            The columns that the queries are about.
        rows, starts, owned
            The i-th of them has the attributes from ``owned[i]`` to ``owned[i + 1]``, at least one.
            In entry e attribute j has the label ``rows[starts[j] + e]``, a row of ``bits``.
        bits
            Bit q: query q chooses some of the label.
        weights, shifts, is_partial
            How much of it: ``weights[row + shifts[j], q]``; all of it if not ``is_partial[j]``.
        varied, ratios
            A line (i, j, shift) asks for the sum over the i-th column of ``ratios[row + shift, q]``
            of the labels of attribute j. Lines are sorted.
        of_bucket
            Totals of whole buckets, of attributes that are in none of the columns.
        out
            Per query: the count; by column its moments, then what varies; totals of buckets.
        """
        b: cython.Py_ssize_t
        active: cython.ulonglong
        self.columns, self.rows, self.starts, self.owned = columns, rows, starts, owned
        self.bits, self.weights, self.shifts, self.is_partial = bits, weights, shifts, is_partial
        self.varied, self.ratios = varied, ratios
        width = 1 + max(self.n_moments) + varied.shape[0]
        self.part = np.zeros((columns.shape[0], 64, width))
        for b in range(self.sizes.shape[0]):
            active = self.choose(b)
            if active != 0:
                self.add_bucket(b, active)
                self.combine(b, active, of_bucket, out)

    @cython.cfunc
    @cython.exceptval(check=False)
    def choose(self, b: cython.Py_ssize_t) -> cython.ulonglong:
        """Return the queries that choose an entry of the bucket in every column."""
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        e: cython.Py_ssize_t
        j: cython.Py_ssize_t
        word: cython.ulonglong
        some: cython.ulonglong
        active: cython.ulonglong = 0
        for i in range(self.columns.shape[0]):
            c = self.columns[i]
            some = 0
            for e in range(self.ends[c, b], self.ends[c, b + 1]):
                word = self.bits[self.rows[self.starts[self.owned[i]] + e]]
                for j in range(self.owned[i] + 1, self.owned[i + 1]):
                    word = word & self.bits[self.rows[self.starts[j] + e]]
                self.chosen[e] = word
                some = some | word
            active = some if i == 0 else active & some
            if active == 0:
                return active
        return active

    @cython.cfunc
    @cython.exceptval(check=False)
    def add_bucket(self, b: cython.Py_ssize_t, active: cython.ulonglong) -> cython.void:
        """Add up the bucket's entries, column by column, for the queries that choose them."""
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        e: cython.Py_ssize_t
        q: cython.Py_ssize_t
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t
        at_row: cython.Py_ssize_t
        v: cython.Py_ssize_t
        j: cython.Py_ssize_t
        n_moments: cython.Py_ssize_t
        left: cython.ulonglong
        lowest: cython.ulonglong
        n_rows: cython.double
        for i in range(self.columns.shape[0]):
            c = self.columns[i]
            n_moments = self.n_moments[c]
            for e in range(self.ends[c, b], self.ends[c, b + 1]):
                left = self.chosen[e] & active
                at = self.first_moment[c] + n_moments * (e - self.ends[c, 0])
                while left != 0:
                    lowest = left & (~left + 1)
                    left = left ^ lowest
                    q = self.place[cython.cast(cython.longlong, lowest % 67)]
                    n_rows = self.counts[e]
                    for j in range(self.owned[i], self.owned[i + 1]):
                        if self.is_partial[j]:
                            at_row = self.rows[self.starts[j] + e] + self.shifts[j]
                            n_rows *= self.weights[at_row, q]
                    self.part[i, q, 0] += n_rows
                    for k in range(n_moments):
                        self.part[i, q, 1 + k] += n_rows * self.moments[at + k]
                    k = 1 + n_moments
                    for v in range(self.varied.shape[0]):
                        if self.varied[v, 0] == i:
                            j = self.varied[v, 1]
                            at_row = self.rows[self.starts[j] + e] + self.varied[v, 2]
                            self.part[i, q, k] += n_rows * self.ratios[at_row, q]
                            k += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def combine(
        self,
        b: cython.Py_ssize_t,
        active: cython.ulonglong,
        of_bucket: cython.const[cython.double][:, ::1],
        out: cython.double[:, ::1],
    ) -> cython.void:
        """Multiply the columns: n rows have on average n times the product of the means."""
        i: cython.Py_ssize_t
        other: cython.Py_ssize_t
        k: cython.Py_ssize_t
        q: cython.Py_ssize_t
        v: cython.Py_ssize_t
        column: cython.Py_ssize_t
        width: cython.Py_ssize_t
        left: cython.ulonglong = active
        lowest: cython.ulonglong
        n_columns: cython.Py_ssize_t = self.columns.shape[0]
        others: cython.double
        expected: cython.double
        while left != 0:
            lowest = left & (~left + 1)
            left = left ^ lowest
            q = self.place[cython.cast(cython.longlong, lowest % 67)]
            # Of a single column nothing is divided, so that whole numbers stay exact.
            expected = self.part[0, q, 0]
            for i in range(1, n_columns):
                expected *= self.part[i, q, 0] / self.sizes[b]
            out[q, 0] += expected
            column = 1
            for i in range(n_columns):
                width = self.n_moments[self.columns[i]]
                for v in range(self.varied.shape[0]):
                    if self.varied[v, 0] == i:
                        width += 1
                if width > 0:
                    others = 1.0
                    for other in range(n_columns):
                        if other != i:
                            others *= self.part[other, q, 0] / self.sizes[b]
                    for k in range(1, width + 1):
                        out[q, column] += self.part[i, q, k] * others
                        self.part[i, q, k] = 0.0
                        column += 1
            for k in range(of_bucket.shape[1]):
                out[q, column + k] += expected * (of_bucket[b, k] / self.sizes[b])
            for i in range(n_columns):
                self.part[i, q, 0] = 0.0


def add_tables(
    codes: cython.const[cython.longlong][::1, :],
    attributes: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    bucket: cython.const[cython.longlong][::1],
    weight: cython.const[cython.double][::1],
    starts: cython.const[cython.longlong][::1],
    label: cython.const[cython.longlong][::1],
    share: cython.const[cython.double][::1],
    out: cython.double[:, ::1],
) -> None:
    """Add the rows of each entry of a column to the tables of its attributes and the target.

    Entry e has the labels ``codes[e]`` and ``weight[e]`` rows, which its bucket b divides among the
    target's ``label[t]`` by ``share[t]``, where t is from ``starts[b]`` to ``starts[b + 1]``. Line
    ``first[j] + c`` of ``out`` is about label c of attribute number ``attributes[j]``.
    """
    e: cython.Py_ssize_t
    j: cython.Py_ssize_t
    t: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for e in range(weight.shape[0]):
        if weight[e] == 0:
            continue
        for j in range(attributes.shape[0]):
            row = first[j] + codes[e, attributes[j]]
            for t in range(starts[bucket[e]], starts[bucket[e] + 1]):
                out[row, label[t]] += weight[e] * share[t]
