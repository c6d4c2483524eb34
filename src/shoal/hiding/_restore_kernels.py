"""The choice of blanks to undo: reverse deletion over the cells that GraDeS blanked.

Computes which blanked cells can be shown again, trying the last first, without making any of the
given rules adversarial. The result is minimal for these rules: showing one more cell would make
one of them adversarial.

Invariant: the counts of every rule are those of the codes as they stand, and no rule is
adversarial by them. A cell is shown on trial, and blanked again if that breaks the invariant.

Plain twin: `define_restoring` in tests/property/test_adversarial_rules.py shows a cell and mines
the whole table again.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable. Cells are packed as `shoal.hiding.cells` describes.
Row counts stay below 2**31, so products of two of them fit 64 bits.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Restorer"]


@cython.cclass
class Restorer:
    """Reverse deletion over a set of rules; takes packed table, followed rules and limits.

    Shows cells in `packed.code` itself.
    """

    n_rows: cython.Py_ssize_t
    gamma: cython.longlong
    numerator: cython.longlong
    denominator: cython.longlong
    use_hidden: cython.bint
    code: cython.int[:, ::1]
    n_values: cython.int[::1]
    # The values that each antecedent names, the columns that it names, and its rules.
    antecedent: cython.int[:, ::1]
    named_start: cython.longlong[::1]
    named: cython.longlong[::1]
    rule_start: cython.longlong[::1]
    # The antecedents of each row, whether or not they appear in it at the moment.
    row_start: cython.longlong[::1]
    of_row: cython.int[::1]
    # For each rule its column, its value, and its counts.
    column: cython.longlong[::1]
    value: cython.longlong[::1]
    n_public: cython.longlong[::1]
    public_hits: cython.longlong[::1]
    n_hidden: cython.longlong[::1]
    hidden_hits: cython.longlong[::1]

    def __init__(self, packed: object, followed: object, limits: object) -> None:
        self.n_rows = packed.code.shape[1]
        self.gamma = limits.gamma
        self.numerator = limits.numerator
        self.denominator = limits.denominator
        self.use_hidden = limits.use_hidden
        self.code = packed.code
        self.n_values = packed.n_values
        self.antecedent = followed.antecedent
        self.named_start = followed.named_start
        self.named = followed.named
        self.rule_start = followed.rule_start
        self.row_start, self.of_row = followed.by_row(self.n_rows)
        self.column = followed.column
        self.value = followed.value
        self.n_public, self.public_hits, self.n_hidden, self.hidden_hits = followed.count(packed)

    def restore(
        self,
        blanked: cython.longlong[::1],
        code: cython.int[::1],
        is_restored: cython.uchar[::1],
    ) -> None:
        """Show cells from the last to the first, over and over until none can be shown.

        `blanked` has the cells as `Hider.hide` returns them, `code` their codes when visible;
        `is_restored` is set to 1 for each that is shown.
        """
        i: cython.Py_ssize_t
        is_any: cython.bint = True
        while is_any:
            is_any = False
            for i in range(blanked.shape[0] - 1, -1, -1):
                if not is_restored[i] and self.show(
                    blanked[i] % self.n_rows, blanked[i] // self.n_rows, code[i]
                ):
                    is_restored[i] = True
                    is_any = True

    @cython.cfunc
    def show(
        self, row: cython.Py_ssize_t, column: cython.Py_ssize_t, code: cython.int
    ) -> cython.bint:
        """Show a cell; blank it again if a rule becomes adversarial. Return whether it stays."""
        self.code[column, row] = code
        if self.add_effects(row, column, 1):
            return True
        self.add_effects(row, column, -1)
        self.code[column, row] = self.n_values[column] + 1
        return False

    @cython.cfunc
    def add_effects(
        self, row: cython.Py_ssize_t, column: cython.Py_ssize_t, by: cython.Py_ssize_t
    ) -> cython.bint:
        """Add a visible cell to the counts, `by` times; return whether no rule is adversarial."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        is_named: cython.bint
        is_safe: cython.bint = True
        for i in range(self.row_start[row], self.row_start[row + 1]):
            a = self.of_row[i]
            if not self.appears(a, row):
                continue
            is_named = self.antecedent[a, column] >= 0
            for rule in range(self.rule_start[a], self.rule_start[a + 1]):
                if is_named or self.column[rule] == column:
                    self.add_row(rule, self.code[self.column[rule], row], by)
                    if self.is_adversarial(rule):
                        is_safe = False
        return is_safe

    @cython.cfunc
    def appears(self, a: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.bint:
        """Whether an antecedent publicly appears in a row."""
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        for i in range(self.named_start[a], self.named_start[a + 1]):
            c = self.named[i]
            if self.antecedent[a, c] != self.code[c, row]:
                return False
        return True

    @cython.cfunc
    def add_row(
        self, rule: cython.Py_ssize_t, code: cython.Py_ssize_t, by: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Add to a rule's counts, `by` times, a row that has a code in its column."""
        n_values: cython.Py_ssize_t = self.n_values[self.column[rule]]
        if code <= n_values:
            self.n_public[rule] += by
            if code == self.value[rule]:
                self.public_hits[rule] += by
        elif code > n_values + 1:
            self.n_hidden[rule] += by
            if code - n_values - 2 == self.value[rule]:
                self.hidden_hits[rule] += by
        return 0

    @cython.cfunc
    def is_adversarial(self, rule: cython.Py_ssize_t) -> cython.bint:
        """Whether a rule is adversarial by its counts; `Hider` has to ask the same."""
        if self.n_public[rule] < self.gamma or self.n_hidden[rule] == 0:
            return False
        if self.public_hits[rule] * self.denominator < self.numerator * self.n_public[rule]:
            return False
        if not self.use_hidden:
            return True
        return self.hidden_hits[rule] * self.denominator >= self.numerator * self.n_hidden[rule]
