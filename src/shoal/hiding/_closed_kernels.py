"""The search for adversarial rules by sets of rows: FAiR ([Aggarwal06] Figure 1), each set once.

Antecedents that publicly appear in the same rows have the same rules. `ClosedSearcher` visits each
set of rows once, as LCM does [Uno04], and returns for each set that has rules the items that all of
its rows show, its closure, with these rules.

Invariant: on entry to `visit`, `rows[depth]` holds from `low[depth]` to `high[depth]` exactly the
rows that show the items on the path, ascending, and `held` what all of them show in the columns up
to the last item's. Rows with private cells have the smallest numbers, so they come first. A set is
visited by the path whose rows come to share, with each item, only items of later columns; any other
path to it is given up at once.

Most sets have few rows. Once a set has so few that they fit a word, the rows of each item become
the bits of one, and everything below is counted in words: `base` is the depth of that set,
`word[depth]` has a bit for each of its rows that is left, and `low` and `high` only say how many.

Plain twins: `define_rules` in tests/property/test_adversarial_rules.py tries every antecedent, and
`define_classes` in tests/property/test_closed_rules.py collects them by their rows.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable. Cells are packed as `shoal.hiding.cells` describes.
Row counts stay below 2**31, so products of two of them fit 64 bits.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 4, Figure 1.

[Knuth75] Knuth: Estimating the Efficiency of Backtrack Programs. Mathematics of Computation 29,
1975; section 2.

[Uno04] Uno, Asai, Uchida, Arimura: An Efficient Algorithm for Enumerating Closed Patterns in
Transaction Databases. Discovery Science 2004; section 3, prefix-preserving closure extension.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause
from shoal.hiding.cells import grown

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["ClosedSearcher"]

_STEPS = 2**22
"""The search can be stopped, and its budget is charged, after every so many steps."""


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def n_bits(word: cython.ulonglong) -> cython.Py_ssize_t:
    """Count the bits of a word that are set: of each 2, 4 and 8 of them, then of all."""
    pairs: cython.ulonglong = 0x5555555555555555
    fours: cython.ulonglong = 0x3333333333333333
    eights: cython.ulonglong = 0x0F0F0F0F0F0F0F0F
    word = word - ((word >> 1) & pairs)
    word = (word & fours) + ((word >> 2) & fours)
    word = (word + (word >> 4)) & eights
    word = word + (word >> 8)
    word = word + (word >> 16)
    word = word + (word >> 32)
    return cython.cast(cython.Py_ssize_t, word & 127)


@cython.cclass
class ClosedSearcher:
    """A depth-first search of all sets of rows in which some antecedent publicly appears.

    Takes the packed table, the limits, the most rules to keep, and a function that is called with
    the numbers of steps taken, and raises an error if they are too many. A step looks at one cell,
    or at one word. Sets of at most `n_narrow` rows, up to 64, are searched in words, unless columns
    have so many values that their words would be mostly empty. Raises OverflowError if there are
    more rules.
    """

    n_columns: cython.Py_ssize_t
    n_private: cython.Py_ssize_t
    gamma: cython.longlong
    least_hits: cython.longlong
    numerator: cython.longlong
    denominator: cython.longlong
    use_hidden: cython.bint
    code: cython.int[:, ::1]
    n_values: cython.int[::1]
    private_start: cython.int[::1]
    private_column: cython.int[::1]
    # Indexed by depth, the number of items on the path: the rows, from `low` to `high`, the
    # consequents still possible, and where the rows of each value of the next column begin and end.
    rows: cython.int[:, ::1]
    low: cython.longlong[::1]
    high: cython.longlong[::1]
    is_left: cython.uchar[:, ::1]
    begin: cython.int[:, ::1]
    end: cython.int[:, ::1]
    # The same for the changed rows, if only their antecedents are searched.
    is_partial: cython.bint
    wide: cython.int[:, ::1]
    changed: cython.int[:, ::1]
    changed_low: cython.longlong[::1]
    changed_high: cython.longlong[::1]
    changed_begin: cython.int[:, ::1]
    changed_end: cython.int[:, ::1]
    # Indexed by depth: the share of the search that comes before, and the share that is below.
    before: cython.double[::1]
    below: cython.double[::1]
    # From `base` on, which is beyond all depths if there is none: the rows of each code of a
    # column, those that show the column, and those that hide it. Indexed by depth: the rows that
    # are left, the first of them, those that hide a possible consequent, and the rows of each
    # value of the next column.
    n_narrow: cython.Py_ssize_t
    base: cython.Py_ssize_t
    mask: cython.ulonglong[:, ::1]
    shown: cython.ulonglong[::1]
    hidden: cython.ulonglong[::1]
    word: cython.ulonglong[::1]
    first: cython.Py_ssize_t[::1]
    hiding: cython.ulonglong[::1]
    word_of: cython.ulonglong[:, ::1]
    # The closure: the value that all rows show, or -1, and the depth at which this was found.
    held: cython.int[::1]
    held_at: cython.int[::1]
    n_held: cython.Py_ssize_t
    n_held_at: cython.Py_ssize_t[::1]
    n_hidden: cython.longlong[::1]
    count: cython.longlong[::1]
    # The sets of rows found, by their closures, and seven numbers per rule.
    most_rules: cython.Py_ssize_t
    n_sets: cython.Py_ssize_t
    n_rules: cython.Py_ssize_t
    closure: cython.int[::1]
    found: cython.longlong[::1]
    n_steps: cython.longlong
    most_steps: cython.longlong
    charge: object

    def __init__(
        self,
        packed: object,
        limits: object,
        most_rules: cython.Py_ssize_t,
        charge: object,
        n_narrow: cython.Py_ssize_t,
    ) -> None:
        n_columns, n_rows = packed.code.shape
        most = int(packed.n_values.max(initial=0)) + 1
        self.n_columns = n_columns
        self.n_private = len(packed.private_start) - 1
        self.most_rules = most_rules
        self.charge = charge
        self.gamma = limits.gamma
        self.least_hits = limits.least_hits
        self.numerator = limits.numerator
        self.denominator = limits.denominator
        self.use_hidden = limits.use_hidden
        self.code = packed.code
        self.n_values = packed.n_values
        self.private_start = packed.private_start
        self.private_column = packed.private_column
        shape = (n_columns + 1, most)
        self.rows = np.empty((n_columns + 1, n_rows), dtype=np.int32)
        self.low, self.high, self.changed_low, self.changed_high = np.zeros(
            (4, n_columns + 1), dtype=np.int64
        )
        self.before, self.below = np.zeros((2, n_columns + 1))
        self.is_left = np.empty((n_columns + 2, n_columns), dtype=np.uint8)
        self.begin = np.empty(shape, dtype=np.int32)
        self.end = np.empty(shape, dtype=np.int32)
        self.changed_begin = np.empty(shape, dtype=np.int32)
        self.changed_end = np.empty(shape, dtype=np.int32)
        n_codes = 2 * int(packed.n_values.sum()) + 3 * n_columns
        self.n_narrow = n_narrow if n_codes <= 64 * n_columns else 0
        self.base = n_columns + 1
        self.mask = np.zeros((n_columns, 2 * most + 1), dtype=np.uint64)
        self.shown, self.hidden = np.zeros((2, n_columns), dtype=np.uint64)
        self.word, self.hiding = np.zeros((2, n_columns + 1), dtype=np.uint64)
        self.first, self.n_held_at = np.zeros((2, n_columns + 1), dtype=np.intp)
        self.word_of = np.zeros(shape, dtype=np.uint64)
        self.held = np.full(n_columns, -1, dtype=np.int32)
        self.held_at = np.full(n_columns, -1, dtype=np.int32)
        self.n_hidden = np.zeros(n_columns, dtype=np.int64)
        self.count = np.zeros(2 * most + 1, dtype=np.int64)
        self.closure = np.empty(64 * n_columns, dtype=np.int32)
        self.found = np.empty(64 * 7, dtype=np.int64)

    def search(self) -> tuple:
        """Return the closure of each set of rows with rules, and the rules.

        A rule is the number of its set, its column, its value, |pub|, the hits in it, |hid|, and
        the hits in it.
        """
        self.is_partial = False
        return self.start(0)

    def search_changed(self, changed: cython.int[::1], wide: cython.int[:, ::1]) -> tuple:
        """Return, as `search` does, the sets of which some antecedent appears in a changed row.

        `wide` holds the codes with more cells visible, before or after the change: a row counts
        as changed for every antecedent that it shows there. All sets are found of which every
        antecedent does, of the others some.
        """
        self.is_partial = True
        self.wide = wide
        self.changed = np.empty((self.n_columns + 1, len(changed)), dtype=np.int32)
        self.changed[0, :] = changed
        return self.start(len(changed))

    def probe(self, draw: cython.double[::1]) -> tuple:
        """Return an unbiased estimate of the steps of `search`, and the steps that it took.

        One path is followed, whose items are chosen by the numbers in `draw`, which are from 0 to
        1, one per column. An item is chosen with a probability in proportion to its rows, and the
        steps below it are divided by that ([Knuth75], section 4).
        """
        self.is_partial = False
        if not self.begin_search(0):
            return 0.0, 0
        estimate: cython.double = self.walk(0, -1, draw)
        return estimate, self.n_steps

    @cython.cfunc
    def begin_search(self, n_changed: cython.Py_ssize_t) -> cython.bint:
        """Forget the last search; return whether there is anything to search."""
        n_rows: cython.Py_ssize_t = self.code.shape[1]
        i: cython.Py_ssize_t
        self.n_sets = 0
        self.n_rules = 0
        self.n_steps, self.most_steps = 0, _STEPS
        self.n_held = 0
        self.base = self.n_columns + 1
        for i in range(self.n_columns + 1):
            self.n_held_at[i] = 0
        for i in range(n_rows):
            self.rows[0, i] = i
        for i in range(self.n_columns):
            self.is_left[0, i] = 1
            self.held[i] = -1
            self.held_at[i] = -1
        self.low[0], self.high[0] = 0, n_rows
        self.changed_low[0], self.changed_high[0] = 0, n_changed
        self.before[0], self.below[0] = 0, 1
        return (
            n_rows >= self.gamma and self.n_private > 0 and (n_changed > 0 or not self.is_partial)
        )

    @cython.cfunc
    def start(self, n_changed: cython.Py_ssize_t) -> object:
        """Search from the empty antecedent ([Aggarwal06] Fig. 1, lines 1 and 2)."""
        if self.begin_search(n_changed):
            with cython.nogil:
                self.visit(0, -1)
        self.charge(self.n_steps)
        return (
            np.asarray(self.closure)[: self.n_sets * self.n_columns]
            .reshape(self.n_sets, self.n_columns)
            .copy(),
            np.asarray(self.found)[: self.n_rules * 7].reshape(self.n_rules, 7).copy(),
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def visit(self, depth: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Keep the rules of a set of rows, then extend the path by items of every later column.

        `last` is the column of the path's last item.
        """
        column: cython.Py_ssize_t
        n_left: cython.Py_ssize_t
        if self.close(depth, last):
            self.n_steps += self.high[depth] - self.low[depth]
            if self.n_steps >= self.most_steps:
                with cython.gil:
                    self.charge(self.n_steps)
                    self.n_steps = 0
                    pause(self.before[depth])
            n_left = self.find_consequents(depth)
            if n_left > 0:
                self.narrow(depth)
                for column in range(last + 1, self.n_columns):
                    if self.is_extended(depth, column, n_left) and self.split(depth, column):
                        self.extend(depth, column, last)
        self.open(depth)
        return 0

    @cython.cfunc
    def walk(
        self, depth: cython.Py_ssize_t, last: cython.Py_ssize_t, draw: cython.double[::1]
    ) -> cython.double:
        """Estimate the steps of `visit` for a set of rows, by one random path below it."""
        at_first: cython.longlong = self.n_steps
        steps: cython.double
        column: cython.Py_ssize_t
        value: cython.Py_ssize_t
        chosen: cython.Py_ssize_t
        n_left: cython.Py_ssize_t = 0
        n_next: cython.Py_ssize_t = 0
        n_rows: cython.Py_ssize_t
        if self.close(depth, last):
            self.n_steps += self.high[depth] - self.low[depth]
            n_left = self.find_consequents(depth)
        if n_left > 0:
            self.narrow(depth)
            for column in range(last + 1, self.n_columns):
                if self.is_extended(depth, column, n_left) and self.split(depth, column):
                    for value in range(self.n_values[column]):
                        if self.begin[depth, value] >= 0:
                            n_next += self.end[depth, value] - self.begin[depth, value]
        steps = self.n_steps - at_first
        chosen = min(cython.cast(cython.Py_ssize_t, draw[depth] * n_next), n_next - 1)
        for column in range(last + 1, self.n_columns):
            if chosen < 0:
                break
            if not self.is_extended(depth, column, n_left) or not self.split(depth, column):
                continue
            for value in range(self.n_values[column]):
                if chosen < 0 or self.begin[depth, value] < 0:
                    continue
                n_rows = self.end[depth, value] - self.begin[depth, value]
                chosen -= n_rows
                if chosen < 0:
                    self.go_down(depth, column, value)
                    steps += self.walk(depth + 1, column, draw) * n_next / n_rows
                    self.go_up(column)
        self.open(depth)
        return steps

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def go_down(
        self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t, value: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Put an item on the path: the rows below are those of a value of the column just split."""
        first: cython.Py_ssize_t
        self.held[column] = value
        self.n_held += 1
        if depth >= self.base:
            self.word[depth + 1] = self.word_of[depth, value]
            first = cython.cast(cython.Py_ssize_t, self.first[depth])
            while not (self.word[depth + 1] >> first) & 1:
                first += 1
            self.first[depth + 1] = first
        self.low[depth + 1] = self.begin[depth, value]
        self.high[depth + 1] = self.end[depth, value]
        self.changed_low[depth + 1] = self.changed_begin[depth, value]
        self.changed_high[depth + 1] = self.changed_end[depth, value]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def go_up(self, column: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take the last item, of a column, from the path."""
        self.held[column] = -1
        self.n_held -= 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_extended(
        self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t, n_left: cython.Py_ssize_t
    ) -> cython.bint:
        """Whether rows are split by a column: a rule cannot name the only one it could predict."""
        return self.held[column] < 0 and not (n_left == 1 and self.is_left[depth + 1, column])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open(self, depth: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take from the closure what was added at a depth, and leave its words."""
        column: cython.Py_ssize_t
        if self.base == depth:
            self.base = self.n_columns + 1
        if self.n_held_at[depth] == 0:
            return 0
        self.n_held_at[depth] = 0
        for column in range(self.n_columns):
            if self.held_at[column] == depth:
                self.held[column] = -1
                self.held_at[column] = -1
                self.n_held -= 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def close(self, depth: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.bint:
        """Return whether no earlier path leads to these rows: one with an item that all show."""
        column: cython.Py_ssize_t
        for column in range(last):
            if self.held[column] < 0 and self.is_shared(depth, column):
                return False
        if depth == 0:
            self.complete(0)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_shared(self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.bint:
        """Whether all rows show one value in a column."""
        i: cython.Py_ssize_t = self.low[depth]
        value: cython.int = self.first_code(depth, column)
        if value >= self.n_values[column]:
            return False
        if depth > self.base:
            self.n_steps += 1
            return self.word[depth] & self.mask[column, value] == self.word[depth]
        while i < self.high[depth] and self.code[column, self.rows[depth, i]] == value:
            i += 1
        self.n_steps += i - self.low[depth]
        return i == self.high[depth]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def first_code(self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.int:
        """Return the code of the first row in a column."""
        if depth > self.base:
            return self.code[column, self.rows[self.base, self.low[self.base] + self.first[depth]]]
        return self.code[column, self.rows[depth, self.low[depth]]]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def complete(self, depth: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Add to the closure what all rows show, if it was not found yet."""
        column: cython.Py_ssize_t
        for column in range(self.n_columns):
            if self.held[column] < 0 and self.is_shared(depth, column):
                self.hold(depth, column, self.first_code(depth, column))
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def hold(
        self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t, value: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Add to the closure what all rows show in a column."""
        self.held[column] = value
        self.held_at[column] = depth
        self.n_held_at[depth] += 1
        self.n_held += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def extend(
        self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t, last: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Visit the rows that show each frequent value of the column just split."""
        value: cython.Py_ssize_t
        # Later columns have fewer columns after them, so that they have less to search.
        n_later: cython.double = self.n_columns - last - 1
        here: cython.double = (self.n_columns - column) / n_later
        after: cython.double = (self.n_columns - column - 1) / n_later
        part: cython.double = (here * here - after * after) / self.n_values[column]
        if self.is_partial:
            self.split_changed(depth, column)
        for value in range(self.n_values[column]):
            if self.begin[depth, value] < 0 or (
                self.is_partial
                and self.changed_begin[depth, value] == self.changed_end[depth, value]
            ):
                continue
            self.before[depth + 1] = self.before[depth] + self.below[depth] * (
                1 - here * here + value * part
            )
            self.below[depth + 1] = self.below[depth] * part
            self.go_down(depth, column, value)
            self.visit(depth + 1, column)
            self.go_up(column)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def split(self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.bint:
        """Split rows by the frequent values of a column that rows with private cells show.

        Return whether there is such a value. One that all rows show joins the closure instead.
        """
        if depth >= self.base:
            return self.split_word(depth, column)
        low: cython.Py_ssize_t = self.low[depth]
        high: cython.Py_ssize_t = self.high[depth]
        n_values: cython.Py_ssize_t = self.n_values[column]
        value: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_placed: cython.int = 0
        self.n_steps += high - low
        for value in range(n_values):
            self.begin[depth, value] = -1
            self.end[depth, value] = 0
        while low < high and self.rows[depth, low] < self.n_private:
            value = self.code[column, self.rows[depth, low]]
            if value < n_values:
                self.begin[depth, value] = 0
                self.end[depth, value] += 1
            low += 1
        for i in range(low, high):
            value = self.code[column, self.rows[depth, i]]
            if value < n_values:
                self.end[depth, value] += 1
        low = self.low[depth]
        for value in range(n_values):
            if self.end[depth, value] == high - low:
                self.hold(depth, column, value)
                return False
            # [Aggarwal06] Fig. 1 line 3.
            if self.begin[depth, value] == 0 and self.end[depth, value] >= self.gamma:
                self.begin[depth, value] = n_placed
                n_placed += self.end[depth, value]
                self.end[depth, value] = self.begin[depth, value]
            else:
                self.begin[depth, value] = -1
        if n_placed == 0:
            return False
        for i in range(low, high):
            value = self.code[column, self.rows[depth, i]]
            if value < n_values and self.begin[depth, value] >= 0:
                self.rows[depth + 1, self.end[depth, value]] = self.rows[depth, i]
                self.end[depth, value] += 1
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def narrow(self, depth: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Turn the rows at a depth into words, if they are few and are none yet."""
        low: cython.Py_ssize_t = self.low[depth]
        n_rows: cython.Py_ssize_t = self.high[depth] - low
        column: cython.Py_ssize_t
        code: cython.Py_ssize_t
        n_values: cython.Py_ssize_t
        i: cython.Py_ssize_t
        bit: cython.ulonglong
        if depth >= self.base or n_rows > self.n_narrow:
            return 0
        self.base = depth
        self.n_steps += n_rows * self.n_columns
        self.word[depth] = 0
        self.hiding[depth] = 0
        self.first[depth] = 0
        for i in range(n_rows):
            self.word[depth] |= cython.cast(cython.ulonglong, 1) << i
        for column in range(self.n_columns):
            n_values = self.n_values[column]
            self.shown[column] = 0
            self.hidden[column] = 0
            for code in range(2 * n_values + 3):
                self.mask[column, code] = 0
            for i in range(n_rows):
                code = self.code[column, self.rows[depth, low + i]]
                bit = cython.cast(cython.ulonglong, 1) << i
                self.mask[column, code] |= bit
                if code <= n_values:
                    self.shown[column] |= bit
                elif code > n_values + 1:
                    self.hidden[column] |= bit
            if self.is_left[depth + 1, column]:
                self.hiding[depth] |= self.hidden[column]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def split_word(self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.bint:
        """Do as `split` for rows in a word; some row must hide a possible consequent.

        Without one, neither the rows nor fewer of them have rules.
        """
        word: cython.ulonglong = self.word[depth]
        part: cython.ulonglong
        value: cython.Py_ssize_t
        n_rows: cython.Py_ssize_t
        is_split: cython.bint = False
        self.n_steps += self.n_values[column]
        for value in range(self.n_values[column]):
            part = word & self.mask[column, value]
            self.begin[depth, value] = -1
            if part == word:
                self.hold(depth, column, value)
                return False
            if part & self.hiding[depth]:
                n_rows = n_bits(part)
                # [Aggarwal06] Fig. 1 line 3.
                if n_rows >= self.gamma:
                    self.word_of[depth, value] = part
                    self.begin[depth, value] = 0
                    self.end[depth, value] = n_rows
                    is_split = True
        return is_split

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def split_changed(
        self, depth: cython.Py_ssize_t, column: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Split the changed rows by the values of a column."""
        low: cython.Py_ssize_t = self.changed_low[depth]
        high: cython.Py_ssize_t = self.changed_high[depth]
        n_values: cython.Py_ssize_t = self.n_values[column]
        value: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_placed: cython.int = 0
        for value in range(n_values):
            self.changed_end[depth, value] = 0
        for i in range(low, high):
            value = self.wide[column, self.changed[depth, i]]
            if value < n_values:
                self.changed_end[depth, value] += 1
        for value in range(n_values):
            self.changed_begin[depth, value] = n_placed
            n_placed += self.changed_end[depth, value]
            self.changed_end[depth, value] = self.changed_begin[depth, value]
        for i in range(low, high):
            value = self.wide[column, self.changed[depth, i]]
            if value < n_values:
                self.changed[depth + 1, self.changed_end[depth, value]] = self.changed[depth, i]
                self.changed_end[depth, value] += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def find_consequents(self, depth: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Keep the rules about each possible consequent; return how many stay possible.

        A column drops out as a consequent only: by [Aggarwal06] Fig. 1 line 7 it leaves the
        projected table, but longer antecedents may still name it.
        """
        low: cython.Py_ssize_t = self.low[depth]
        high: cython.Py_ssize_t = self.high[depth]
        column: cython.Py_ssize_t
        row: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        n_left: cython.Py_ssize_t = 0
        n_before: cython.Py_ssize_t = self.n_rules
        if depth > self.base:
            self.hiding[depth] = 0
            for column in range(self.n_columns):
                if self.is_left[depth, column]:
                    self.n_hidden[column] = n_bits(self.word[depth] & self.hidden[column])
        else:
            for column in range(self.n_columns):
                self.n_hidden[column] = 0
            for i in range(low, high):
                row = self.rows[depth, i]
                if row >= self.n_private:
                    break
                for j in range(self.private_start[row], self.private_start[row + 1]):
                    self.n_hidden[self.private_column[j]] += 1
        for column in range(self.n_columns):
            self.is_left[depth + 1, column] = 0
            if (
                self.is_left[depth, column]
                and self.n_hidden[column] > 0
                and high - low - self.n_hidden[column] >= self.gamma
                and self.examine(column, depth)
            ):
                self.is_left[depth + 1, column] = 1
                n_left += 1
                if depth > self.base:
                    self.hiding[depth] |= self.hidden[column]
        if self.n_rules > n_before:
            self.complete(depth)
            self.add_set()
        return n_left

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def examine(self, column: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.bint:
        """Keep the rules about a column; return whether fewer rows may have any.

        They have none if fewer than gamma of the rows show the column, if none hides it, or if no
        hidden value has as many public rows as a rule needs hits. In fewer rows none of these
        numbers is larger.
        """
        n_values: cython.Py_ssize_t = self.n_values[column]
        first_hidden: cython.Py_ssize_t = n_values + 2
        low: cython.Py_ssize_t = self.low[depth]
        high: cython.Py_ssize_t = self.high[depth]
        value: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_hidden: cython.longlong = self.n_hidden[column]
        n_public: cython.longlong
        hits: cython.longlong
        hidden_hits: cython.longlong
        is_left: cython.bint = False
        if depth > self.base:
            n_public = n_bits(self.word[depth] & self.shown[column])
            if n_public < self.gamma:
                return False
            self.n_steps += 2 * n_values
            for value in range(n_values):
                self.count[value] = n_bits(self.word[depth] & self.mask[column, value])
                self.count[first_hidden + value] = n_bits(
                    self.word[depth] & self.mask[column, first_hidden + value]
                )
        else:
            self.n_steps += high - low
            for value in range(2 * n_values + 3):
                self.count[value] = 0
            for i in range(low, high):
                self.count[self.code[column, self.rows[depth, i]]] += 1
            n_public = high - low - n_hidden - self.count[n_values + 1]
            if n_public < self.gamma:
                return False
        for value in range(n_values):
            hits = self.count[value]
            hidden_hits = self.count[first_hidden + value]
            if hits < self.least_hits or (self.use_hidden and hidden_hits == 0):
                continue
            is_left = True
            # The empty antecedent is left out: rows that have nothing in common have no rules.
            if (
                self.n_held > 0
                and hits * self.denominator >= self.numerator * n_public
                and (
                    not self.use_hidden
                    or hidden_hits * self.denominator >= self.numerator * n_hidden
                )
            ):
                self.add_rule(column, value, n_public, n_hidden)
        return is_left

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add_rule(
        self,
        column: cython.Py_ssize_t,
        value: cython.Py_ssize_t,
        n_public: cython.longlong,
        n_hidden: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Append a rule of the current set of rows to those found."""
        place: cython.Py_ssize_t = 7 * self.n_rules
        if self.n_rules == self.most_rules:
            with cython.gil:
                raise OverflowError
        if place == self.found.shape[0]:
            with cython.gil:
                self.found = grown(self.found)
        self.found[place] = self.n_sets
        self.found[place + 1] = column
        self.found[place + 2] = value
        self.found[place + 3] = n_public
        self.found[place + 4] = self.count[value]
        self.found[place + 5] = n_hidden
        self.found[place + 6] = self.count[self.n_values[column] + 2 + value]
        self.n_rules += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add_set(self) -> cython.Py_ssize_t:
        """Append the closure of the current set of rows to those found."""
        i: cython.Py_ssize_t
        if (self.n_sets + 1) * self.n_columns > self.closure.shape[0]:
            with cython.gil:
                self.closure = grown(self.closure)
        for i in range(self.n_columns):
            self.closure[self.n_sets * self.n_columns + i] = self.held[i]
        self.n_sets += 1
        return 0
