"""Mondrian's cuts, one part after the other.

Written in Cython's pure Python mode: compiled if the package is built, otherwise the same file runs
as plain Python. Arrays are contiguous and writable. Counts of rows stay below 2**31, so products of
two of them fit into 64 bits. The slow twin is `Twin` in `tests/property/test_mondrian.py`.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["CUT_FIELDS", "Partitioner", "trace_regions"]

CUT_FIELDS = 6
"""The numbers kept for a cut: column, origin, then the positions around the upper bound of its left
part and around the lower bound of its right part; -1 if a bound stays as it was."""


@cython.cclass
class Partitioner:
    """Cuts cells in two, and each part again, as long as both sides keep every requirement.

    A part is a slice of pieces: a cell and a number of its rows. Waiting parts are on a stack, one
    above the other; the one on top is cut or becomes a bucket.

    The parameters are the `shoal.grouping.axes.Axes`, the sensitive value and the count
    of each cell, the `Rules` (None if there are none) with the arrays in which they look for the
    values of a side, the fewest rows of a bucket, whether equal rows may be separated, and a
    further judge of a side by its cells and the number of rows of each (None if there is none).
    """

    keep: object
    judge: object
    has_rules: cython.bint
    is_relaxed: cython.bint
    least: cython.longlong
    n_cells: cython.longlong
    n_columns: cython.Py_ssize_t
    n_cuts: cython.Py_ssize_t
    position: cython.int[::1]
    missing: cython.longlong[::1]
    number: cython.double[::1]
    number_start: cython.longlong[::1]
    span: cython.double[::1]
    tree_start: cython.longlong[::1]
    first: cython.longlong[::1]
    last: cython.longlong[::1]
    parent: cython.longlong[::1]
    value: cython.longlong[::1]
    cell: cython.longlong[::1]
    count: cython.longlong[::1]
    left_cell: cython.longlong[::1]
    left_count: cython.longlong[::1]
    right_cell: cython.longlong[::1]
    right_count: cython.longlong[::1]
    stack_begin: cython.longlong[::1]
    stack_size: cython.longlong[::1]
    stack_origin: cython.longlong[::1]
    cuts: cython.longlong[::1]
    # The current part: a slice of the pieces, and what it holds.
    begin: cython.longlong
    end: cython.longlong
    size: cython.longlong
    low: cython.longlong[::1]
    high: cython.longlong[::1]
    n_missing: cython.longlong[::1]
    width: cython.double[::1]
    dimension: cython.longlong[::1]
    bins: cython.longlong[::1]
    n_seen: cython.Py_ssize_t
    seen: cython.longlong[::1]
    in_part: cython.longlong[::1]
    # The cut that is tried: rows below the edge go left, and `n_going` of the `n_at` rows at it.
    column: cython.Py_ssize_t
    edge: cython.longlong
    n_at: cython.longlong
    n_going: cython.longlong
    size_left: cython.longlong
    in_left: cython.longlong[::1]
    side_value: cython.longlong[::1]
    side_count: cython.longlong[::1]

    def __init__(
        self,
        axes: object,
        value: cython.longlong[::1],
        count: object,
        rules: object,
        side_value: cython.longlong[::1],
        side_count: cython.longlong[::1],
        least: cython.longlong,
        is_relaxed: cython.bint,
        judge: object = None,
    ) -> None:
        n_rows: cython.longlong = count.sum()
        n_values: cython.Py_ssize_t = len(side_value)
        # A piece has at least one row, and a bucket at least one piece.
        n_pieces: cython.longlong = n_rows if is_relaxed else len(count)
        n_parts: cython.longlong = min(n_pieces, n_rows // least)
        self.keep = None if rules is None else rules.keep
        self.judge = judge
        self.has_rules = rules is not None
        self.is_relaxed = is_relaxed
        self.least = least
        self.n_cells = len(count)
        self.n_columns = axes.n_columns
        self.n_cuts = 0
        self.position = axes.position
        self.missing = axes.missing
        self.number = axes.number
        self.number_start = axes.number_start
        self.span = axes.span
        self.tree_start = axes.tree_start
        self.first = axes.first
        self.last = axes.last
        self.parent = axes.parent
        self.value = value
        # Pages that are never written take no memory, so room for every row costs little.
        pieces = np.empty((2, n_pieces), dtype=np.int64)
        pieces[:, : len(count)] = np.arange(len(count)), count
        self.cell, self.count = pieces
        self.left_cell = np.empty(n_pieces, dtype=np.int64)
        self.left_count = np.empty(n_pieces, dtype=np.int64)
        self.right_cell = np.empty(n_pieces, dtype=np.int64)
        self.right_count = np.empty(n_pieces, dtype=np.int64)
        self.stack_begin = np.zeros(n_parts + 1, dtype=np.int64)
        self.stack_size = np.full(n_parts + 1, n_rows, dtype=np.int64)
        self.stack_origin = np.full(n_parts + 1, -1, dtype=np.int64)
        self.cuts = np.empty(CUT_FIELDS * n_parts, dtype=np.int64)
        self.low = np.empty(self.n_columns, dtype=np.int64)
        self.high = np.empty(self.n_columns, dtype=np.int64)
        self.n_missing = np.empty(self.n_columns, dtype=np.int64)
        self.width = np.empty(self.n_columns)
        self.dimension = np.empty(self.n_columns, dtype=np.int64)
        self.bins = np.empty(2 * n_pieces + 64, dtype=np.int64)
        self.seen = np.empty(n_values, dtype=np.int64)
        self.in_part = np.zeros(n_values, dtype=np.int64)
        self.in_left = np.zeros(n_values, dtype=np.int64)
        self.side_value = side_value
        self.side_count = side_count

    def anonymize(
        self,
        piece_cell: cython.longlong[::1],
        piece_count: cython.longlong[::1],
        bucket_begin: cython.longlong[::1],
        bucket_origin: cython.longlong[::1],
    ) -> tuple:
        """Cut until nothing can be cut, left parts first.

        Fills the pieces bucket by bucket, the first piece of each bucket, and the origin of each
        bucket: twice the number of the cut, plus 1 for its right side; -1 for the whole.

        Returns the number of buckets, the number of pieces, and the cuts.
        """
        n_fields: cython.Py_ssize_t = CUT_FIELDS
        depth: cython.Py_ssize_t = 1
        n_buckets: cython.Py_ssize_t = 0
        n_pieces: cython.longlong = 0
        origin: cython.longlong
        i: cython.longlong
        self.end = self.n_cells
        while depth > 0:
            depth -= 1
            self.begin = self.stack_begin[depth]
            self.size = self.stack_size[depth]
            origin = self.stack_origin[depth]
            if self.size >= 2 * self.least and self.cut_part():
                # The right part takes the place of the whole; the left one is on top of it.
                self.cuts[n_fields * self.n_cuts + 1] = origin
                self.stack_size[depth] = self.size - self.size_left
                self.stack_origin[depth] = 2 * self.n_cuts + 1
                self.stack_begin[depth + 1] = self.begin
                self.stack_size[depth + 1] = self.size_left
                self.stack_origin[depth + 1] = 2 * self.n_cuts
                self.n_cuts += 1
                depth += 2
                continue
            bucket_begin[n_buckets] = n_pieces
            bucket_origin[n_buckets] = origin
            n_buckets += 1
            for i in range(self.begin, self.end):
                piece_cell[n_pieces] = self.cell[i]
                piece_count[n_pieces] = self.count[i]
                n_pieces += 1
            self.end = self.begin
        return n_buckets, n_pieces, np.asarray(self.cuts)[: CUT_FIELDS * self.n_cuts]

    @cython.cfunc
    def cut_part(self) -> cython.bint:
        """Make the first allowable cut, in the widest column that has one."""
        i: cython.Py_ssize_t
        is_cut: cython.bint = False
        self.measure()
        if self.has_rules:
            self.count_values()
        for i in range(self.choose_dimensions()):
            self.column = self.dimension[i]
            is_cut = self.cut_column()
            if is_cut:
                break
        if self.has_rules:
            for i in range(self.n_seen):
                self.in_part[self.seen[i]] = 0
        return is_cut

    @cython.cfunc
    def measure(self) -> cython.void:
        """Find the lowest and the highest position and the missing rows, by column."""
        n_columns: cython.Py_ssize_t = self.n_columns
        position: cython.int[::1] = self.position
        missing: cython.longlong[::1] = self.missing
        low: cython.longlong[::1] = self.low
        high: cython.longlong[::1] = self.high
        i: cython.longlong
        j: cython.Py_ssize_t
        first: cython.longlong
        place: cython.longlong
        for j in range(n_columns):
            low[j] = missing[j]
            high[j] = -1
            self.n_missing[j] = 0
        for i in range(self.begin, self.end):
            first = self.cell[i] * n_columns
            for j in range(n_columns):
                place = position[first + j]
                if place == missing[j]:
                    self.n_missing[j] += self.count[i]
                    continue
                if place < low[j]:
                    low[j] = place
                if place > high[j]:
                    high[j] = place

    @cython.cfunc
    def count_values(self) -> cython.void:
        """Count the sensitive values."""
        i: cython.longlong
        value: cython.longlong
        self.n_seen = 0
        for i in range(self.begin, self.end):
            value = self.value[self.cell[i]]
            if self.in_part[value] == 0:
                self.seen[self.n_seen] = value
                self.n_seen += 1
            self.in_part[value] += self.count[i]

    @cython.cfunc
    def choose_dimensions(self) -> cython.Py_ssize_t:
        """Rank the columns with more than one value, widest first, and return their number."""
        n_ranked: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        width: cython.double
        for j in range(self.n_columns):
            if self.n_missing[j] == self.size:
                continue
            if self.n_missing[j] == 0 and self.low[j] == self.high[j]:
                continue
            width = self.measure_width(j)
            i = n_ranked
            while i > 0 and self.width[i - 1] < width:
                self.width[i] = self.width[i - 1]
                self.dimension[i] = self.dimension[i - 1]
                i -= 1
            self.width[i] = width
            self.dimension[i] = j
            n_ranked += 1
        return n_ranked

    @cython.cfunc
    def measure_width(self, column: cython.Py_ssize_t) -> cython.double:
        """Return the width of the part in a column, as a share of the whole table's."""
        start: cython.longlong = self.number_start[column]
        node: cython.longlong
        if self.n_missing[column] > 0:
            return 1
        if self.tree_start[column] >= 0:
            node = self.common_ancestor(column)
            return (self.last[node] - self.first[node] - 1) / self.span[column]
        return (
            self.number[start + self.high[column]] - self.number[start + self.low[column]]
        ) / self.span[column]

    @cython.cfunc
    def common_ancestor(self, column: cython.Py_ssize_t) -> cython.longlong:
        """Return the lowest node above all values in a column with a hierarchy."""
        start: cython.longlong = self.tree_start[column]
        node: cython.longlong = start + self.low[column]
        while self.last[node] <= self.high[column]:
            node = start + self.parent[node]
        return node

    @cython.cfunc
    def cut_column(self) -> cython.bint:
        """Make the first allowable cut in the column: missing from present, then the median."""
        n_missing: cython.longlong = self.n_missing[self.column]
        if n_missing > 0 and self.try_cut(self.missing[self.column], self.size - n_missing, 0, 1):
            return True
        if self.low[self.column] == self.high[self.column]:
            return False
        return self.cut_relaxed() if self.is_relaxed else self.cut_strict()

    @cython.cfunc
    def cut_strict(self) -> cython.bint:
        """Cut at one of the boundaries on both sides of the median, the nearer one first."""
        n_present: cython.longlong = self.size - self.n_missing[self.column]
        start: cython.longlong = self.tree_start[self.column]
        lower: cython.longlong = self.high[self.column]
        upper: cython.longlong
        node: cython.longlong
        ancestor: cython.longlong
        n_lower: cython.longlong
        n_upper: cython.longlong
        if n_present > self.size // 2:
            lower = self.find_median()
        upper = lower + 1
        if start >= 0:
            # Values under one child of the common ancestor stay together.
            ancestor = self.common_ancestor(self.column)
            node = start + lower
            while start + self.parent[node] != ancestor:
                node = start + self.parent[node]
            lower = self.first[node]
            upper = self.last[node]
        n_lower = self.count_below(lower)
        n_upper = self.count_below(upper)
        if n_upper == n_present:
            return self.try_cut(lower, n_lower, 0, 1)
        if 2 * n_upper - self.size < self.size - 2 * n_lower:
            return self.try_cut(upper, n_upper, 0, 1) or self.try_cut(lower, n_lower, 0, 1)
        return self.try_cut(lower, n_lower, 0, 1) or self.try_cut(upper, n_upper, 0, 1)

    @cython.cfunc
    def cut_relaxed(self) -> cython.bint:
        """Cut in half; rows at the median may go either way."""
        half: cython.longlong = self.size // 2
        median: cython.longlong = self.missing[self.column]
        n_at: cython.longlong = self.n_missing[self.column]
        n_below: cython.longlong = self.size - n_at
        if n_below == half:
            return False
        if n_below > half:
            median = self.find_median()
            n_below = self.count_below(median)
            n_at = self.count_below(median + 1) - n_below
        return self.try_cut(median, half, half - n_below, n_at)

    @cython.cfunc
    def find_median(self) -> cython.longlong:
        """Return the lowest position up to which there are more than half of the rows.

        Rows are counted by ranges of positions, then by finer ranges within the one that matters,
        so the work does not depend on the number of values of the column.
        """
        n_columns: cython.Py_ssize_t = self.n_columns
        position: cython.int[::1] = self.position
        cell: cython.longlong[::1] = self.cell
        bins: cython.longlong[::1] = self.bins
        low: cython.longlong = self.low[self.column]
        span: cython.longlong = self.high[self.column] - low + 1
        most: cython.longlong = 2 * (self.end - self.begin) + 64
        half: cython.longlong = self.size // 2
        shift: cython.longlong
        place: cython.longlong
        i: cython.longlong
        while True:
            shift = 0
            while ((span - 1) >> shift) >= most:
                shift += 1
            for i in range(((span - 1) >> shift) + 1):
                bins[i] = 0
            for i in range(self.begin, self.end):
                place = position[cell[i] * n_columns + self.column] - low
                if 0 <= place < span:
                    bins[place >> shift] += self.count[i]
            i = 0
            while bins[i] <= half:
                half -= bins[i]
                i += 1
            low += i << shift
            if shift == 0:
                return low
            span = min(1 << shift, span - (i << shift))

    @cython.cfunc
    def count_below(self, edge: cython.longlong) -> cython.longlong:
        """Count the rows below an edge."""
        i: cython.longlong
        n_below: cython.longlong = 0
        for i in range(self.begin, self.end):
            if self.position[self.cell[i] * self.n_columns + self.column] < edge:
                n_below += self.count[i]
        return n_below

    @cython.cfunc
    def try_cut(
        self,
        edge: cython.longlong,
        size_left: cython.longlong,
        n_going: cython.longlong,
        n_at: cython.longlong,
    ) -> cython.bint:
        """Cut if both sides keep every requirement."""
        if size_left < self.least or self.size - size_left < self.least:
            return False
        self.edge = edge
        self.size_left = size_left
        self.n_going = n_going
        self.n_at = n_at
        if self.has_rules and not self.is_allowed():
            return False
        if self.judge is not None and not self.is_approved():
            return False
        self.divide()
        return True

    @cython.cfunc
    def count_going(self, n_passed: cython.longlong, count: cython.longlong) -> cython.longlong:
        """Return the number of rows of the next piece at the edge that go left.

        Every run of pieces sends the same share, give or take one row, so both sides have the same
        mixture of values.
        """
        return (n_passed + count) * self.n_going // self.n_at - n_passed * self.n_going // self.n_at

    @cython.cfunc
    def is_allowed(self) -> cython.bint:
        """Return whether the sensitive values of both sides keep the rules."""
        n_passed: cython.longlong = 0
        i: cython.longlong
        place: cython.longlong
        is_kept: cython.bint
        for i in range(self.begin, self.end):
            place = self.position[self.cell[i] * self.n_columns + self.column]
            if place < self.edge:
                self.in_left[self.value[self.cell[i]]] += self.count[i]
            elif place == self.edge and self.n_going > 0:
                self.in_left[self.value[self.cell[i]]] += self.count_going(n_passed, self.count[i])
                n_passed += self.count[i]
        is_kept = self.keeps_side(self.size_left, False) and self.keeps_side(
            self.size - self.size_left, True
        )
        for i in range(self.n_seen):
            self.in_left[self.seen[i]] = 0
        return is_kept

    @cython.cfunc
    def keeps_side(self, size: cython.longlong, is_right: cython.bint) -> cython.bint:
        """Return whether the sensitive values of one side keep the rules."""
        n_values: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        count: cython.longlong
        for i in range(self.n_seen):
            count = self.in_left[self.seen[i]]
            if is_right:
                count = self.in_part[self.seen[i]] - count
            if count > 0:
                self.side_value[n_values] = self.seen[i]
                self.side_count[n_values] = count
                n_values += 1
        return self.keep(n_values, size)

    @cython.cfunc
    def is_approved(self) -> cython.bint:
        """Return whether the judge approves of the cells of both sides."""
        n_passed: cython.longlong = 0
        n_left: cython.longlong = 0
        n_right: cython.longlong = 0
        i: cython.longlong
        place: cython.longlong
        count: cython.longlong
        going: cython.longlong
        for i in range(self.begin, self.end):
            place = self.position[self.cell[i] * self.n_columns + self.column]
            count = self.count[i]
            going = 0
            if place < self.edge:
                going = count
            elif place == self.edge and self.n_going > 0:
                going = self.count_going(n_passed, count)
                n_passed += count
            if going > 0:
                self.left_cell[n_left] = self.cell[i]
                self.left_count[n_left] = going
                n_left += 1
            if going < count:
                self.right_cell[n_right] = self.cell[i]
                self.right_count[n_right] = count - going
                n_right += 1
        return self.judge(
            np.asarray(self.left_cell)[:n_left], np.asarray(self.left_count)[:n_left]
        ) and self.judge(
            np.asarray(self.right_cell)[:n_right], np.asarray(self.right_count)[:n_right]
        )

    @cython.cfunc
    def divide(self) -> cython.void:
        """Move the right part to the front of the slice and the left part behind it."""
        below: cython.longlong = -1
        above: cython.longlong = self.missing[self.column]
        n_passed: cython.longlong = 0
        n_left: cython.longlong = 0
        n_right: cython.longlong = self.begin
        i: cython.longlong
        place: cython.longlong
        count: cython.longlong
        going: cython.longlong
        for i in range(self.begin, self.end):
            place = self.position[self.cell[i] * self.n_columns + self.column]
            count = self.count[i]
            going = 0
            if place < self.edge:
                going = count
                below = max(below, place)
            elif place > self.edge or self.n_going == 0:
                above = min(above, place)
            else:
                going = self.count_going(n_passed, count)
                n_passed += count
            if going > 0:
                self.left_cell[n_left] = self.cell[i]
                self.left_count[n_left] = going
                n_left += 1
            if going < count:
                self.cell[n_right] = self.cell[i]
                self.count[n_right] = count - going
                n_right += 1
        for i in range(n_left):
            self.cell[n_right + i] = self.left_cell[i]
            self.count[n_right + i] = self.left_count[i]
        self.begin = n_right
        self.end = n_right + n_left
        self.note_cut(below, above)

    @cython.cfunc
    def note_cut(self, below: cython.longlong, above: cython.longlong) -> cython.void:
        """Note the positions between which the new bounds of both parts lie.

        If both parts have the value at the edge, the left one ends above it and the right one
        begins at it.
        """
        is_shared: cython.bint = self.n_going > 0
        missing: cython.longlong = self.missing[self.column]
        n_fields: cython.Py_ssize_t = CUT_FIELDS
        place: cython.Py_ssize_t = n_fields * self.n_cuts
        i: cython.Py_ssize_t
        self.cuts[place] = self.column
        for i in range(2, n_fields):
            self.cuts[place + i] = -1
        if self.edge == missing:
            return
        if above < missing:
            self.cuts[place + 2] = self.edge if is_shared else below
            self.cuts[place + 3] = above
        if below >= 0:
            self.cuts[place + 4] = below
            self.cuts[place + 5] = self.edge if is_shared else above


def trace_regions(
    column: cython.longlong,
    cuts: cython.longlong[::1],
    bucket_origin: cython.longlong[::1],
    lower: cython.longlong[::1],
    upper: cython.longlong[::1],
) -> None:
    """Find for each bucket the cuts that bound it from below and from above in a column.

    `lower` and `upper` are filled with the number of a cut; -1 if there is none.
    """
    n_fields: cython.Py_ssize_t = CUT_FIELDS
    n_cuts: cython.Py_ssize_t = cuts.shape[0] // n_fields
    # For both sides of each cut; a cut comes after the one within which it lies.
    below: cython.longlong[::1] = np.full(2 * n_cuts + 1, -1, dtype=np.int64)
    above: cython.longlong[::1] = np.full(2 * n_cuts + 1, -1, dtype=np.int64)
    i: cython.Py_ssize_t
    origin: cython.longlong
    for i in range(n_cuts):
        origin = cuts[n_fields * i + 1]
        if origin >= 0:
            below[2 * i] = below[2 * i + 1] = below[origin]
            above[2 * i] = above[2 * i + 1] = above[origin]
        if cuts[n_fields * i] == column:
            if cuts[n_fields * i + 2] >= 0:
                above[2 * i] = i
            if cuts[n_fields * i + 4] >= 0:
                below[2 * i + 1] = i
    for i in range(bucket_origin.shape[0]):
        origin = bucket_origin[i]
        lower[i] = below[origin] if origin >= 0 else -1
        upper[i] = above[origin] if origin >= 0 else -1
