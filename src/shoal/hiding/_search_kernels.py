"""The search for adversarial rules: FAiR ([Aggarwal06] Figure 1).

Computes all rules X -> Y = y with |pub| >= gamma, public confidence >= delta and a hidden set that
is not empty; if hidden values matter, hidden confidence >= delta as well. `search` lists them for
the publisher; `search_best` returns for each private cell the best one that fires at it, which is
what an adversary wants to know.

Invariant: on entry to `visit`, `rows[n_named, low:high]` holds exactly the rows in which the chosen
antecedent publicly appears, ascending. Rows with private cells have the smallest numbers, so they
come first, and an antecedent whose first row has none appears in no private row.

Plain twins: `define_rules` in tests/property/test_adversarial_rules.py tries every antecedent, and
`shoal.hiding.check` counts the same rules by code of its own. `define_best` in
tests/property/test_cell_attacks.py does the same for the best rules.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable. Cells are packed as `shoal.hiding.cells` describes.
Row counts stay below 2**31, so products of two of them fit 64 bits.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 4, Figure 1.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause
from shoal.hiding.cells import grown

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Searcher"]

_VISITS = 1024
"""The search can be stopped after every so many antecedents."""


@cython.cclass
class Searcher:
    """A depth-first search of all antecedents, with the rows in which each publicly appears.

    Takes the packed table, the limits, the most columns that an antecedent names, and the most
    rules to keep; raises OverflowError if there are more.
    """

    n_columns: cython.Py_ssize_t
    n_private: cython.Py_ssize_t
    max_len: cython.Py_ssize_t
    gamma: cython.longlong
    least_hits: cython.longlong
    numerator: cython.longlong
    denominator: cython.longlong
    use_hidden: cython.bint
    code: cython.int[:, ::1]
    n_values: cython.int[::1]
    private_start: cython.int[::1]
    private_column: cython.int[::1]
    # Indexed by depth, the number of columns named: the rows, the consequents still possible, and
    # where the rows of each value of the next column begin and end.
    rows: cython.int[:, ::1]
    is_left: cython.uchar[:, ::1]
    begin: cython.int[:, ::1]
    end: cython.int[:, ::1]
    chosen: cython.int[::1]
    n_hidden: cython.longlong[::1]
    count: cython.longlong[::1]
    # If only the best rule of each private cell is kept: the number of the cell by column and row;
    # hits, |pub|, length and value of its best rule; and the columns that this names.
    is_best_kept: cython.bint
    # `implied` has, for an item, the value that all of its rows show in every other column, or -1.
    implied: cython.int[:, :, ::1]
    cell: cython.longlong[:, ::1]
    best: cython.longlong[:, ::1]
    best_named: cython.int[:, ::1]
    # The rules found: antecedents, and six numbers per rule.
    most_rules: cython.Py_ssize_t
    n_rules: cython.Py_ssize_t
    n_visits: cython.Py_ssize_t
    share: cython.double
    antecedent: cython.int[::1]
    found: cython.longlong[::1]

    def __init__(
        self,
        packed: object,
        limits: object,
        max_len: cython.Py_ssize_t,
        most_rules: cython.Py_ssize_t,
    ) -> None:
        n_columns, n_rows = packed.code.shape
        most = int(packed.n_values.max(initial=0)) + 1
        self.n_columns = n_columns
        self.n_private = len(packed.private_start) - 1
        self.max_len = min(max_len, self.n_columns)
        self.most_rules = most_rules
        self.gamma = limits.gamma
        self.least_hits = limits.least_hits
        self.numerator = limits.numerator
        self.denominator = limits.denominator
        self.use_hidden = limits.use_hidden
        self.code = packed.code
        self.n_values = packed.n_values
        self.private_start = packed.private_start
        self.private_column = packed.private_column
        shape = (self.max_len + 1, most)
        self.rows = np.empty((self.max_len + 1, n_rows), dtype=np.int32)
        self.is_left = np.empty((self.max_len + 2, n_columns), dtype=np.uint8)
        self.begin = np.empty(shape, dtype=np.int32)
        self.end = np.empty(shape, dtype=np.int32)
        self.chosen = np.full(n_columns, -1, dtype=np.int32)
        self.n_hidden = np.zeros(n_columns, dtype=np.int64)
        self.count = np.zeros(2 * most + 1, dtype=np.int64)
        self.antecedent = np.empty(64 * n_columns, dtype=np.int32)
        self.found = np.empty(64 * 6, dtype=np.int64)

    def search(self) -> tuple:
        """Return the antecedents of all rules, and the column, value and counts of each.

        The counts are |pub|, the hits in it, |hid|, and the hits in it.
        """
        self.is_best_kept = False
        return self.start()

    def search_best(
        self,
        cell: cython.longlong[:, ::1],
        n_cells: cython.Py_ssize_t,
        implied: cython.int[:, :, ::1],
    ) -> tuple:
        """Return hits, |pub|, length and value of each cell's best rule, and the columns it names.

        `cell` numbers the private cells by column and row. The best rule has the highest
        confidence, then the largest public set, then the shortest antecedent, then the columns and
        the value that come first. Its length is 0 if no rule fires; -1 fills up its columns.
        `implied` has, for each column and value, what all rows with it show in each column, or -1.
        """
        self.is_best_kept = True
        self.cell = cell
        self.implied = implied
        self.best = np.repeat(np.array([[0, 1, 0, -1]], dtype=np.int64), n_cells, axis=0)
        self.best_named = np.full((n_cells, self.max_len), -1, dtype=np.int32)
        self.start()
        return np.asarray(self.best), np.asarray(self.best_named)

    @cython.cfunc
    def start(self) -> object:
        """Search from the empty antecedent ([Aggarwal06] Fig. 1, lines 1 and 2)."""
        n_rows: cython.Py_ssize_t = self.code.shape[1]
        i: cython.Py_ssize_t
        self.n_rules = 0
        self.n_visits = 0
        self.share = 0
        for i in range(n_rows):
            self.rows[0, i] = i
        for i in range(self.n_columns):
            self.is_left[0, i] = 1
        if n_rows >= self.gamma and self.n_private > 0:
            self.visit(0, 0, n_rows, 0)
        return (
            np.asarray(self.antecedent)[: self.n_rules * self.n_columns]
            .reshape(self.n_rules, self.n_columns)
            .copy(),
            np.asarray(self.found)[: self.n_rules * 6].reshape(self.n_rules, 6).copy(),
        )

    @cython.cfunc
    def visit(
        self,
        n_named: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
        next_column: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Keep the rules of the chosen antecedent, then extend it by every later column."""
        column: cython.Py_ssize_t
        value: cython.Py_ssize_t
        start: cython.Py_ssize_t
        n_left: cython.Py_ssize_t
        self.n_visits += 1
        if self.n_visits % _VISITS == 0:
            pause(self.share)
        n_left = self.find_consequents(n_named, low, high)
        if n_left == 0 or n_named == self.max_len:
            return 0
        for column in range(next_column, self.n_columns):
            if n_left == 1 and self.is_left[n_named + 1, column]:
                # A rule cannot name the only column that it could still predict.
                continue
            if not self.split(n_named, column, low, high):
                continue
            for value in range(self.n_values[column]):
                start = self.begin[n_named, value]
                if start < 0 or self.rows[n_named + 1, start] >= self.n_private:
                    continue
                if self.is_best_kept and (
                    (n_named > 0 and self.end[n_named, value] - start == high - low)
                    or self.is_needless(column, value)
                ):
                    continue
                self.chosen[column] = value
                if n_named == 0:
                    self.share = self.share_before(column, value)
                self.visit(
                    n_named + 1,
                    start,
                    self.end[n_named, value],
                    column + 1,
                )
            self.chosen[column] = -1
        return 0

    @cython.cfunc
    def is_needless(self, column: cython.Py_ssize_t, value: cython.Py_ssize_t) -> cython.bint:
        """Whether a better antecedent appears in the same rows: a shorter one, or an earlier one.

        All rows with the item may show a value that the antecedent names, which then is needless,
        or be the rows with an item of an earlier column.
        """
        other: cython.Py_ssize_t
        shown: cython.int
        for other in range(self.n_columns if self.implied.shape[0] > 0 else 0):
            shown = self.implied[column, value, other]
            if shown >= 0 and (
                self.chosen[other] >= 0
                or (other < column and self.implied[other, shown, column] == value)
            ):
                return True
        return False

    @cython.cfunc
    def share_before(self, column: cython.Py_ssize_t, value: cython.Py_ssize_t) -> cython.double:
        """Return about how much of the search comes before antecedents that start with a value.

        Later columns have fewer columns after them, so that their antecedents are fewer.
        """
        within: cython.double = value
        left: cython.double = self.n_columns - column - within / self.n_values[column]
        return 1 - left * left / (self.n_columns * self.n_columns)

    @cython.cfunc
    def split(
        self,
        n_named: cython.Py_ssize_t,
        column: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
    ) -> cython.bint:
        """Split rows by the frequent values of a column; return whether there is such a value."""
        n_values: cython.Py_ssize_t = self.n_values[column]
        value: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_placed: cython.int = 0
        for value in range(n_values):
            self.end[n_named, value] = 0
        for i in range(low, high):
            value = self.code[column, self.rows[n_named, i]]
            if value < n_values:
                self.end[n_named, value] += 1
        for value in range(n_values):
            # [Aggarwal06] Fig. 1 line 3.
            if self.end[n_named, value] >= self.gamma:
                self.begin[n_named, value] = n_placed
                n_placed += self.end[n_named, value]
                self.end[n_named, value] = self.begin[n_named, value]
            else:
                self.begin[n_named, value] = -1
        if n_placed == 0:
            return False
        for i in range(low, high):
            value = self.code[column, self.rows[n_named, i]]
            if value < n_values and self.begin[n_named, value] >= 0:
                self.rows[n_named + 1, self.end[n_named, value]] = self.rows[n_named, i]
                self.end[n_named, value] += 1
        return True

    @cython.cfunc
    def find_consequents(
        self, n_named: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Keep the rules about each possible consequent; return how many stay possible.

        A column drops out as a consequent only: by [Aggarwal06] Fig. 1 line 7 it leaves the
        projected table, but longer antecedents may still name it.
        """
        column: cython.Py_ssize_t
        row: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        n_left: cython.Py_ssize_t = 0
        for column in range(self.n_columns):
            self.n_hidden[column] = 0
        for i in range(low, high):
            row = self.rows[n_named, i]
            if row >= self.n_private:
                break
            for j in range(self.private_start[row], self.private_start[row + 1]):
                self.n_hidden[self.private_column[j]] += 1
        for column in range(self.n_columns):
            self.is_left[n_named + 1, column] = 0
            if (
                self.is_left[n_named, column]
                and self.chosen[column] < 0
                and self.n_hidden[column] > 0
                and high - low - self.n_hidden[column] >= self.gamma
                and self.examine(column, n_named, low, high)
            ):
                self.is_left[n_named + 1, column] = 1
                n_left += 1
        return n_left

    @cython.cfunc
    def examine(
        self,
        column: cython.Py_ssize_t,
        n_named: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
    ) -> cython.bint:
        """Keep the rules about a column; return whether longer antecedents may have any.

        They have none if fewer than gamma of the rows show the column, if none hides it, or if no
        hidden value has as many public rows as a rule needs hits. No longer antecedent makes any
        of these numbers grow.
        """
        n_values: cython.Py_ssize_t = self.n_values[column]
        first_hidden: cython.Py_ssize_t = n_values + 2
        value: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_hidden: cython.longlong = self.n_hidden[column]
        n_public: cython.longlong
        hits: cython.longlong
        hidden_hits: cython.longlong
        is_left: cython.bint = False
        for value in range(2 * n_values + 3):
            self.count[value] = 0
        for i in range(low, high):
            self.count[self.code[column, self.rows[n_named, i]]] += 1
        n_public = high - low - n_hidden - self.count[n_values + 1]
        if n_public < self.gamma:
            return False
        for value in range(n_values):
            hits = self.count[value]
            hidden_hits = self.count[first_hidden + value]
            if hits < self.least_hits or (self.use_hidden and hidden_hits == 0):
                continue
            is_left = True
            if (
                n_named > 0
                and hits * self.denominator >= self.numerator * n_public
                and (
                    not self.use_hidden
                    or hidden_hits * self.denominator >= self.numerator * n_hidden
                )
            ):
                if self.is_best_kept:
                    self.improve(column, value, n_public, n_named, low, high)
                    if hits == n_public:
                        # No rule is better than one without exception and with more rows.
                        return False
                else:
                    self.add_rule(column, value, n_public, n_hidden)
        return is_left

    @cython.cfunc
    def improve(
        self,
        column: cython.Py_ssize_t,
        value: cython.Py_ssize_t,
        n_public: cython.longlong,
        n_named: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Let the private cells at which a rule fires have it, if it is better than their best."""
        hits: cython.longlong = self.count[value]
        new: cython.longlong
        old: cython.longlong
        row: cython.Py_ssize_t
        one: cython.Py_ssize_t
        place: cython.Py_ssize_t
        c: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for i in range(low, high):
            row = self.rows[n_named, i]
            if row >= self.n_private:
                break
            one = self.cell[column, row]
            if one < 0:
                continue
            new, old = hits * self.best[one, 1], self.best[one, 0] * n_public
            # Antecedents of one length come in the order of their columns: the first stays.
            if new < old or (
                new == old
                and (
                    n_public < self.best[one, 1]
                    or (n_public == self.best[one, 1] and n_named >= self.best[one, 2])
                )
            ):
                continue
            self.best[one, 0] = hits
            self.best[one, 1] = n_public
            self.best[one, 2] = n_named
            self.best[one, 3] = value
            place = 0
            for c in range(self.n_columns):
                if self.chosen[c] >= 0:
                    self.best_named[one, place] = c
                    place += 1
            for place in range(n_named, self.max_len):
                self.best_named[one, place] = -1
        return 0

    @cython.cfunc
    def add_rule(
        self,
        column: cython.Py_ssize_t,
        value: cython.Py_ssize_t,
        n_public: cython.longlong,
        n_hidden: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Append a rule with the chosen antecedent to those found."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t = 6 * self.n_rules
        if self.n_rules == self.most_rules:
            raise OverflowError
        if place == self.found.shape[0]:
            self.antecedent = grown(self.antecedent)
            self.found = grown(self.found)
        for i in range(self.n_columns):
            self.antecedent[self.n_rules * self.n_columns + i] = self.chosen[i]
        self.found[place] = column
        self.found[place + 1] = value
        self.found[place + 2] = n_public
        self.found[place + 3] = self.count[value]
        self.found[place + 4] = n_hidden
        self.found[place + 5] = self.count[self.n_values[column] + 2 + value]
        self.n_rules += 1
        return 0
