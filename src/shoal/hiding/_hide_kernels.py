"""The choice of cells to blank: GraDeS ([Aggarwal06] Figure 2), without summing all weights anew.

Computes which cells to blank, in order, until none of the given rules is adversarial. Each round
blanks the heaviest cells; a cell weighs 1 / |pub(R)| for each rule R that it helps to find and
1 / |hid(R)| for each that it helps to fire.

Invariant: between rounds, `bound[row]` is at least the weight of every cell of the row, and
`block` holds the largest bound of each 128 rows. So only rows with the largest bounds have to be
summed. A bound falls when its row is summed. It rises when a rule has lost so many rows that its
weight exceeds `public_limit` or `hidden_limit`; these anticipate that one row in 16 leaves, so
that bounds rarely rise. Weights are multiples of 1 / unit, so sums do not depend on their order.

Plain twin: `shoal.hiding.grades.grades`; tests/property/test_adversarial_rules.py compares the two
(`hide_plainly`), and both with `define_hiding`, which follows the definition cell by cell.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable. Cells are packed as `shoal.hiding.cells` describes.
Row counts stay below 2**31, so products of two of them fit 64 bits.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 5, Figure 2.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause
from shoal.hiding.cells import grown

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Hider"]

_ROUNDS = 1024
"""Blanking can be stopped after every so many rounds."""


@cython.cclass
class Hider:
    """GraDeS over a set of rules; takes packed table, followed rules, limits and cells per round.

    Blanks cells in `packed.code` itself.
    """

    n_columns: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t
    n_private: cython.Py_ssize_t
    gamma: cython.longlong
    numerator: cython.longlong
    denominator: cython.longlong
    use_hidden: cython.bint
    code: cython.int[:, ::1]
    n_values: cython.int[::1]
    # The values that each antecedent names, the columns that it names, its rows and its rules.
    antecedent: cython.int[:, ::1]
    named_start: cython.longlong[::1]
    named: cython.longlong[::1]
    member_start: cython.longlong[::1]
    member: cython.int[::1]
    rule_start: cython.longlong[::1]
    # The antecedents of each row; those from `last` on have no rule left, or appear no more.
    first: cython.longlong[::1]
    last: cython.longlong[::1]
    of_row: cython.int[::1]
    # For each rule its column, its value, and its counts.
    column: cython.longlong[::1]
    value: cython.longlong[::1]
    n_public: cython.longlong[::1]
    public_hits: cython.longlong[::1]
    n_hidden: cython.longlong[::1]
    hidden_hits: cython.longlong[::1]
    n_left: cython.Py_ssize_t
    unit: cython.longlong
    # For each antecedent how many of its rules are adversarial still; for each rule its antecedent
    # and whether it is among these.
    n_left_of: cython.longlong[::1]
    of_rule: cython.longlong[::1]
    is_left: cython.uchar[::1]
    # The rules that lost a row in this round.
    n_touched: cython.Py_ssize_t
    touched: cython.longlong[::1]
    is_touched: cython.uchar[::1]
    # For each rule its weight in a public and in a hidden row, and the upper limit of these
    # weights that the bounds of its rows include.
    public_weight: cython.longlong[::1]
    hidden_weight: cython.longlong[::1]
    public_limit: cython.longlong[::1]
    hidden_limit: cython.longlong[::1]
    # For each row a bound on the weights of its cells; for each 128 rows the largest bound.
    bound: cython.longlong[::1]
    block: cython.longlong[::1]
    # The weights of the cells of the current row, and the bounds on them.
    weight: cython.longlong[::1]
    high: cython.longlong[::1]
    # The heaviest cells so far, as a heap with the lightest on top.
    n_chosen: cython.Py_ssize_t
    chosen_weight: cython.longlong[::1]
    chosen_cell: cython.longlong[::1]
    n_seen: cython.Py_ssize_t
    seen: cython.int[::1]
    n_blanked: cython.Py_ssize_t
    blanked: cython.longlong[::1]
    round_of: cython.longlong[::1]

    def __init__(
        self, packed: object, followed: object, limits: object, n_together: object
    ) -> None:
        row: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        n_rules = len(followed.column)
        self.n_columns, self.n_rows = packed.code.shape
        self.n_private = len(packed.private_start) - 1
        self.gamma = limits.gamma
        self.numerator = limits.numerator
        self.denominator = limits.denominator
        self.use_hidden = limits.use_hidden
        self.code = packed.code
        self.n_values = packed.n_values
        self.antecedent = followed.antecedent
        self.named_start = followed.named_start
        self.named = followed.named
        self.member_start = followed.member_start
        self.member = followed.member
        self.rule_start = followed.rule_start
        row_start, self.of_row = followed.by_row(self.n_rows)
        self.first, self.last = row_start[: self.n_rows], row_start[1:].copy()
        self.column = followed.column
        self.value = followed.value
        self.n_public, self.public_hits, self.n_hidden, self.hidden_hits = followed.count(packed)
        n_left_of = np.diff(followed.rule_start)
        self.n_left = n_rules
        self.n_left_of = n_left_of
        self.of_rule = np.repeat(np.arange(len(n_left_of)), n_left_of)
        self.is_left = np.ones(n_rules, dtype=np.uint8)
        self.n_touched = 0
        self.touched = np.zeros(n_rules, dtype=np.int64)
        self.is_touched = np.zeros(n_rules, dtype=np.uint8)
        # A cell weighs at most one unit per rule, so sums stay below 2**62.
        self.unit = 2**62 // max(n_rules, 2**22)
        self.public_weight = self.unit // np.asarray(self.n_public)
        self.hidden_weight = self.unit // np.asarray(self.n_hidden)
        self.public_limit = np.zeros(n_rules, dtype=np.int64)
        self.hidden_limit = np.zeros(n_rules, dtype=np.int64)
        for rule in range(n_rules):
            self.public_limit[rule] = self.foresee(self.n_public[rule])
            self.hidden_limit[rule] = self.foresee(self.n_hidden[rule])
        self.bound = np.zeros(self.n_rows, dtype=np.int64)
        self.block = np.zeros((self.n_rows >> 7) + 1, dtype=np.int64)
        self.weight = np.zeros(self.n_columns, dtype=np.int64)
        self.high = np.zeros(self.n_columns, dtype=np.int64)
        self.chosen_weight = np.zeros(n_together, dtype=np.int64)
        self.chosen_cell = np.zeros(n_together, dtype=np.int64)
        self.seen = np.zeros(self.n_rows, dtype=np.int32)
        self.blanked = np.zeros(64, dtype=np.int64)
        self.round_of = np.zeros(64, dtype=np.int64)
        for row in range(self.n_rows):
            self.raise_bound(row, self.weigh(row))

    def hide(self) -> tuple:
        """Blank cells until no rule is adversarial; return the cells in order, and their rounds.

        A cell is column times number of rows plus row.
        """
        n_rounds: cython.longlong = 0
        first: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_rules: cython.double = max(self.n_left, 1)
        self.n_blanked = 0
        # [Aggarwal06] Fig. 2, lines 2 to 7.
        while self.n_left > 0:
            self.choose()
            first = self.n_blanked
            self.keep_chosen(n_rounds)
            for i in range(first, self.n_blanked):
                self.blank(self.blanked[i] % self.n_rows, self.blanked[i] // self.n_rows)
            self.settle()
            n_rounds += 1
            if n_rounds % _ROUNDS == 0:
                pause(1 - self.n_left / n_rules)
        return (
            np.asarray(self.blanked)[: self.n_blanked].copy(),
            np.asarray(self.round_of)[: self.n_blanked].copy(),
        )

    @cython.cfunc
    def foresee(self, count: cython.longlong) -> cython.longlong:
        """Return the weight of a rule once one in 16 of its rows has left."""
        return self.unit // (count - (count >> 4))

    @cython.cfunc
    def raise_bound(self, row: cython.Py_ssize_t, by: cython.longlong) -> cython.Py_ssize_t:
        """Raise the bound of a row, and the largest of its block."""
        self.bound[row] += by
        if self.bound[row] > self.block[row >> 7]:
            self.block[row >> 7] = self.bound[row]
        return 0

    @cython.cfunc
    def weigh(self, row: cython.Py_ssize_t) -> cython.longlong:
        """Sum the weights of a row's cells (Fig. 2, lines 3 to 5); return a bound on them."""
        i: cython.Py_ssize_t = self.first[row]
        j: cython.Py_ssize_t
        c: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        a: cython.Py_ssize_t
        y: cython.Py_ssize_t
        code: cython.Py_ssize_t
        weight: cython.longlong
        high: cython.longlong
        largest: cython.longlong = 0
        for c in range(self.n_columns):
            self.weight[c] = 0
            self.high[c] = 0
        while i < self.last[row]:
            a = self.of_row[i]
            if self.n_left_of[a] == 0:
                self.last[row] -= 1
                self.of_row[i] = self.of_row[self.last[row]]
                continue
            i += 1
            weight = 0
            high = 0
            for rule in range(self.rule_start[a], self.rule_start[a + 1]):
                if not self.is_left[rule]:
                    continue
                y = self.column[rule]
                code = self.code[y, row]
                if code == self.value[rule]:
                    self.weight[y] += self.public_weight[rule]
                    weight += self.public_weight[rule]
                    self.high[y] += self.public_limit[rule]
                    high += self.public_limit[rule]
                elif code > self.n_values[y] + 1:
                    weight += self.hidden_weight[rule]
                    high += self.hidden_limit[rule]
            if high > 0:
                for j in range(self.named_start[a], self.named_start[a + 1]):
                    c = self.named[j]
                    self.weight[c] += weight
                    self.high[c] += high
        for c in range(self.n_columns):
            largest = max(largest, self.high[c])
        return largest

    @cython.cfunc
    def choose(self) -> cython.Py_ssize_t:
        """Choose the heaviest cells (Fig. 2, line 6): look at rows until no bound is larger."""
        n_together: cython.Py_ssize_t = self.chosen_cell.shape[0]
        b: cython.Py_ssize_t
        row: cython.Py_ssize_t
        c: cython.Py_ssize_t
        best: cython.Py_ssize_t
        largest: cython.longlong
        self.n_chosen = 0
        self.n_seen = 0
        while True:
            best = 0
            for b in range(self.block.shape[0]):
                if self.block[b] > self.block[best]:
                    best = b
            largest = self.block[best]
            if largest <= 0 or (self.n_chosen == n_together and largest < self.chosen_weight[0]):
                break
            for row in range(best << 7, min(self.n_rows, (best + 1) << 7)):
                if self.bound[row] == largest:
                    # Negative: this row has been looked at in this round.
                    self.bound[row] = -self.weigh(row)
                    self.seen[self.n_seen] = row
                    self.n_seen += 1
                    for c in range(self.n_columns):
                        if self.weight[c] > 0:
                            self.offer(self.weight[c], c * self.n_rows + row)
            self.block[best] = 0
            for row in range(best << 7, min(self.n_rows, (best + 1) << 7)):
                self.block[best] = max(self.block[best], self.bound[row])
        for b in range(self.n_seen):
            row = self.seen[b]
            self.bound[row] = -self.bound[row]
            self.raise_bound(row, 0)
        return 0

    @cython.cfunc
    def is_lighter(self, i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.bint:
        """Whether a chosen cell gives way to heavier ones before another does.

        Among equals the first column stays: cells of one row often weigh the same because of the
        same rules, and blanking one of them is enough.
        """
        if self.chosen_weight[i] != self.chosen_weight[j]:
            return self.chosen_weight[i] < self.chosen_weight[j]
        return self.chosen_cell[i] > self.chosen_cell[j]

    @cython.cfunc
    def swap(self, i: cython.Py_ssize_t, j: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Exchange two chosen cells."""
        weight: cython.longlong = self.chosen_weight[i]
        cell: cython.longlong = self.chosen_cell[i]
        self.chosen_weight[i] = self.chosen_weight[j]
        self.chosen_cell[i] = self.chosen_cell[j]
        self.chosen_weight[j] = weight
        self.chosen_cell[j] = cell
        return 0

    @cython.cfunc
    def offer(self, weight: cython.longlong, cell: cython.longlong) -> cython.Py_ssize_t:
        """Choose a cell; if enough are chosen, only in place of a lighter one."""
        i: cython.Py_ssize_t
        if self.n_chosen < self.chosen_cell.shape[0]:
            i = self.n_chosen
            self.n_chosen += 1
            self.chosen_weight[i] = weight
            self.chosen_cell[i] = cell
            while i > 0 and self.is_lighter(i, (i - 1) // 2):
                self.swap(i, (i - 1) // 2)
                i = (i - 1) // 2
        elif weight > self.chosen_weight[0] or (
            weight == self.chosen_weight[0] and cell < self.chosen_cell[0]
        ):
            self.chosen_weight[0] = weight
            self.chosen_cell[0] = cell
            self.sink()
        return 0

    @cython.cfunc
    def sink(self) -> cython.Py_ssize_t:
        """Move the top of the heap down to its place."""
        i: cython.Py_ssize_t = 0
        child: cython.Py_ssize_t = 1
        while child < self.n_chosen:
            if child + 1 < self.n_chosen and self.is_lighter(child + 1, child):
                child += 1
            if not self.is_lighter(child, i):
                break
            self.swap(i, child)
            i = child
            child = 2 * i + 1
        return 0

    @cython.cfunc
    def keep_chosen(self, number: cython.longlong) -> cython.Py_ssize_t:
        """Append the cells chosen in a round to the cells blanked, heaviest first."""
        i: cython.Py_ssize_t
        n_blanked: cython.Py_ssize_t = self.n_blanked + self.n_chosen
        while n_blanked > self.blanked.shape[0]:
            self.blanked = grown(self.blanked)
            self.round_of = grown(self.round_of)
        for i in range(n_blanked - 1, self.n_blanked - 1, -1):
            self.blanked[i] = self.chosen_cell[0]
            self.round_of[i] = number
            self.n_chosen -= 1
            self.swap(0, self.n_chosen)
            self.sink()
        self.n_blanked = n_blanked
        return 0

    @cython.cfunc
    def blank(self, row: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Blank a cell: its row leaves the public or hidden sets of rules that need the cell."""
        i: cython.Py_ssize_t = self.first[row]
        a: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        is_named: cython.bint
        while i < self.last[row]:
            a = self.of_row[i]
            is_named = self.antecedent[a, column] >= 0
            for rule in range(self.rule_start[a], self.rule_start[a + 1]):
                if self.is_left[rule] and (is_named or self.column[rule] == column):
                    if not self.is_touched[rule]:
                        self.is_touched[rule] = True
                        self.touched[self.n_touched] = rule
                        self.n_touched += 1
                    self.remove_row(rule, self.code[self.column[rule], row])
            if is_named:
                self.last[row] -= 1
                self.of_row[i] = self.of_row[self.last[row]]
            else:
                i += 1
        self.code[column, row] = self.n_values[column] + 1
        return 0

    @cython.cfunc
    def settle(self) -> cython.Py_ssize_t:
        """Drop the rules that are adversarial no more (Fig. 2, line 7); reweigh the others."""
        i: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        for i in range(self.n_touched):
            rule = self.touched[i]
            if not self.is_adversarial(rule):
                self.is_left[rule] = 0
                self.n_left -= 1
                self.n_left_of[self.of_rule[rule]] -= 1
            else:
                self.reweigh(rule)
            self.is_touched[rule] = False
        self.n_touched = 0
        return 0

    @cython.cfunc
    def reweigh(self, rule: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Update the weights of a rule; raise the bounds of its rows if they fall short."""
        a: cython.Py_ssize_t = self.of_rule[rule]
        y: cython.Py_ssize_t = self.column[rule]
        i: cython.Py_ssize_t
        by: cython.longlong
        self.public_weight[rule] = self.unit // self.n_public[rule]
        self.hidden_weight[rule] = self.unit // self.n_hidden[rule]
        if self.public_weight[rule] > self.public_limit[rule]:
            by = self.foresee(self.n_public[rule]) - self.public_limit[rule]
            self.public_limit[rule] += by
            for i in range(self.member_start[a], self.member_start[a + 1]):
                if self.code[y, self.member[i]] == self.value[rule]:
                    self.raise_bound(self.member[i], by)
        if self.hidden_weight[rule] > self.hidden_limit[rule]:
            by = self.foresee(self.n_hidden[rule]) - self.hidden_limit[rule]
            self.hidden_limit[rule] += by
            for i in range(self.member_start[a], self.member_start[a + 1]):
                if self.member[i] >= self.n_private:
                    break
                if self.code[y, self.member[i]] > self.n_values[y] + 1:
                    self.raise_bound(self.member[i], by)
        return 0

    @cython.cfunc
    def remove_row(self, rule: cython.Py_ssize_t, code: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Subtract from a rule's counts a row that has a code in its column."""
        n_values: cython.Py_ssize_t = self.n_values[self.column[rule]]
        if code <= n_values:
            self.n_public[rule] -= 1
            self.public_hits[rule] -= code == self.value[rule]
        elif code > n_values + 1:
            self.n_hidden[rule] -= 1
            self.hidden_hits[rule] -= code - n_values - 2 == self.value[rule]
        return 0

    @cython.cfunc
    def is_adversarial(self, rule: cython.Py_ssize_t) -> cython.bint:
        """Whether a rule is adversarial by its counts; `Restorer` has to ask the same."""
        if self.n_public[rule] < self.gamma or self.n_hidden[rule] == 0:
            return False
        if self.public_hits[rule] * self.denominator < self.numerator * self.n_public[rule]:
            return False
        if not self.use_hidden:
            return True
        return self.hidden_hits[rule] * self.denominator >= self.numerator * self.n_hidden[rule]
