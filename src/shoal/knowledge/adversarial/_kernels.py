"""The search for adversarial rules, the choice of cells to blank, and that of cells to restore.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable. Counts of rows stay below 2**31, so that
products of two of them fit 64 bits.

Cells are packed as `shoal.knowledge.adversarial.packing` says: in a column of F values, 0 to F - 1
are these, visible; F is any other visible value and F + 1 a blank; from F + 2 on come the same
F + 1 values again, private. Rows with private cells come first.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Follower", "Hider", "Restorer", "Searcher", "find_members"]

_VISITS = 1024
"""After so many antecedents, or rounds of blanking, the search can be stopped."""


@cython.cclass
class Searcher:
    """Goes through all antecedents, depth first, with the rows in which each publicly appears.

    Every step splits the rows of an antecedent by the values of one more column, which keeps
    their order: those with private cells stay in front. An antecedent is left, with all longer
    ones, where no column can be predicted any more (`examine`).

    Parameters are the `shoal.knowledge.adversarial.packing.Packed`, the
    `shoal.knowledge.adversarial.thresholds.Limits`, the most columns that an antecedent names, and
    the most rules that are kept: where there are more, OverflowError is raised.
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
    # By the number of columns named: the rows, the consequents that are left, and where the rows
    # of each value of the next column begin and end.
    rows: cython.int[:, ::1]
    is_left: cython.uchar[:, ::1]
    begin: cython.int[:, ::1]
    end: cython.int[:, ::1]
    # The same for the rows that changed, where only what changed is searched.
    is_partial: cython.bint
    wide: cython.int[:, ::1]
    changed: cython.int[:, ::1]
    changed_begin: cython.int[:, ::1]
    changed_end: cython.int[:, ::1]
    chosen: cython.int[::1]
    n_hidden: cython.longlong[::1]
    count: cython.longlong[::1]
    # What was found: antecedents, and six numbers a rule.
    most_rules: cython.Py_ssize_t
    n_rules: cython.Py_ssize_t
    n_visits: cython.Py_ssize_t
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
        self.changed_begin = np.empty(shape, dtype=np.int32)
        self.changed_end = np.empty(shape, dtype=np.int32)
        self.chosen = np.full(n_columns, -1, dtype=np.int32)
        self.n_hidden = np.zeros(n_columns, dtype=np.int64)
        self.count = np.zeros(2 * most + 1, dtype=np.int64)
        self.antecedent = np.empty(64 * n_columns, dtype=np.int32)
        self.found = np.empty(64 * 6, dtype=np.int64)

    def search(self) -> tuple:
        """Find all rules: their antecedents, and for each its column, its value and its counts.

        The counts are the size of the public set and its hits, then those of the hidden set.
        """
        self.is_partial = False
        return self.start(0)

    def search_changed(self, changed: cython.int[::1], wide: cython.int[:, ::1]) -> tuple:
        """Find the rules whose antecedent appears in a row that changed.

        `wide` are the codes, in which these rows show a cell that was or is visible.
        """
        self.is_partial = True
        self.wide = wide
        self.changed = np.empty((self.max_len + 1, len(changed)), dtype=np.int32)
        self.changed[0, :] = changed
        return self.start(len(changed))

    @cython.cfunc
    def start(self, n_changed: cython.Py_ssize_t) -> object:
        """Start from the empty antecedent."""
        n_rows: cython.Py_ssize_t = self.code.shape[1]
        i: cython.Py_ssize_t
        self.n_rules = 0
        self.n_visits = 0
        for i in range(n_rows):
            self.rows[0, i] = i
        for i in range(self.n_columns):
            self.is_left[0, i] = 1
        if n_rows >= self.gamma and self.n_private > 0 and (n_changed or not self.is_partial):
            self.visit(0, 0, n_rows, 0, n_changed, 0)
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
        changed_low: cython.Py_ssize_t,
        changed_high: cython.Py_ssize_t,
        next_column: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Report the rules of the chosen antecedent, then name one more column."""
        column: cython.Py_ssize_t
        value: cython.Py_ssize_t
        start: cython.Py_ssize_t
        n_left: cython.Py_ssize_t
        self.n_visits += 1
        if self.n_visits % _VISITS == 0:
            pause()
        n_left = self.find_consequents(n_named, low, high)
        if n_left == 0 or n_named == self.max_len:
            return 0
        for column in range(next_column, self.n_columns):
            if n_left == 1 and self.is_left[n_named + 1, column]:
                # A rule cannot name the only column that is left to predict.
                continue
            if not self.split(n_named, column, low, high):
                continue
            if self.is_partial:
                self.split_changed(n_named, column, changed_low, changed_high)
            for value in range(self.n_values[column]):
                start = self.begin[n_named, value]
                if start < 0 or self.rows[n_named + 1, start] >= self.n_private:
                    continue
                if (
                    self.is_partial
                    and self.changed_begin[n_named, value] == self.changed_end[n_named, value]
                ):
                    continue
                self.chosen[column] = value
                self.visit(
                    n_named + 1,
                    start,
                    self.end[n_named, value],
                    self.changed_begin[n_named, value] if self.is_partial else 0,
                    self.changed_end[n_named, value] if self.is_partial else 0,
                    column + 1,
                )
            self.chosen[column] = -1
        return 0

    @cython.cfunc
    def split(
        self,
        n_named: cython.Py_ssize_t,
        column: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
    ) -> cython.bint:
        """Split rows by the values of a column that enough of them have; say whether any has."""
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
    def split_changed(
        self,
        n_named: cython.Py_ssize_t,
        column: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Split the rows that changed by the values of a column."""
        n_values: cython.Py_ssize_t = self.n_values[column]
        value: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n_placed: cython.int = 0
        for value in range(n_values):
            self.changed_end[n_named, value] = 0
        for i in range(low, high):
            value = self.wide[column, self.changed[n_named, i]]
            if value < n_values:
                self.changed_end[n_named, value] += 1
        for value in range(n_values):
            self.changed_begin[n_named, value] = n_placed
            n_placed += self.changed_end[n_named, value]
            self.changed_end[n_named, value] = self.changed_begin[n_named, value]
        for i in range(low, high):
            value = self.wide[column, self.changed[n_named, i]]
            if value < n_values:
                self.changed[n_named + 1, self.changed_end[n_named, value]] = self.changed[
                    n_named, i
                ]
                self.changed_end[n_named, value] += 1
        return 0

    @cython.cfunc
    def find_consequents(
        self, n_named: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Report rules about every column that is left; say how many are left for longer ones."""
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
        """Report the rules about a column; say whether longer antecedents may have any.

        They have none where fewer than gamma of the rows show the column, where none hides it, or
        where no value that is hidden has as many public rows as a rule needs hits: by no longer
        antecedent do any of these numbers grow.
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
                self.add_rule(column, value, n_public, n_hidden)
        return is_left

    @cython.cfunc
    def add_rule(
        self,
        column: cython.Py_ssize_t,
        value: cython.Py_ssize_t,
        n_public: cython.longlong,
        n_hidden: cython.longlong,
    ) -> cython.Py_ssize_t:
        """Keep a rule of the chosen antecedent."""
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


def grown(array: object) -> object:
    """Give an array of twice the length that begins like another."""
    old = np.asarray(array)
    new = np.empty(2 * len(old), dtype=old.dtype)
    new[: len(old)] = old
    return new


def post_rows(code: cython.int[:, ::1], n_values: cython.int[::1]) -> tuple:
    """List the rows that show each value of each column.

    Returns for each column where the rows of its values start, and the rows, ascending.
    """
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
    """List the items of each antecedent, the rarest first, and order the antecedents by that.

    What comes first is then common to many antecedents, and has few rows. `n_rows_of` says how
    many rows show each value of each column. Returns the items, column times the number of values
    plus value, behind which comes -1; and the order.
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
    """Find the rows in which each antecedent publicly appears.

    Antecedents whose rarest items are the same come after one another, and the rows that show
    these are found once. Returns where the rows of each antecedent start, and the rows, ascending.
    Raises OverflowError where there are more than `most_members`.
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
    # By the number of items: the rows that show so many of those of the antecedent.
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
    """Put pieces of a list after one another: where each starts then, and the list."""
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


@cython.cclass
class Follower:
    """Holds rules with their counts, and finds those that a row takes part in.

    Parameters are the `shoal.knowledge.adversarial.packing.Packed`, the
    `shoal.knowledge.adversarial.following.Followed`, and the
    `shoal.knowledge.adversarial.thresholds.Limits`.
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
    # The columns that each antecedent names, its rows, the antecedents of each row, of which those
    # before `last` still count, and the rules of each antecedent.
    antecedent: cython.int[:, ::1]
    named_start: cython.longlong[::1]
    named: cython.longlong[::1]
    member_start: cython.longlong[::1]
    member: cython.int[::1]
    first: cython.longlong[::1]
    last: cython.longlong[::1]
    of_row: cython.int[::1]
    rule_start: cython.longlong[::1]
    column: cython.longlong[::1]
    value: cython.longlong[::1]
    n_public: cython.longlong[::1]
    public_hits: cython.longlong[::1]
    n_hidden: cython.longlong[::1]
    hidden_hits: cython.longlong[::1]

    def __init__(self, packed: object, followed: object, limits: object) -> None:
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
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
        which, named = np.nonzero(followed.antecedent >= 0)
        self.named = np.ascontiguousarray(named)
        self.named_start = np.searchsorted(which, np.arange(len(followed.antecedent) + 1))
        self.member_start = followed.member_start
        self.member = followed.member
        ends = np.cumsum(np.bincount(followed.member, minlength=self.n_rows))
        self.last = np.append(0, ends).astype(np.int64)
        self.first = np.append(0, ends).astype(np.int64)
        self.of_row = np.empty(len(followed.member), dtype=np.int32)
        for a in range(self.antecedent.shape[0]):
            for i in range(self.member_start[a], self.member_start[a + 1]):
                row = self.member[i]
                self.of_row[self.last[row]] = a
                self.last[row] += 1
        self.rule_start = followed.rule_start
        self.column = followed.column
        self.value = followed.value
        self.n_public = np.zeros(n_rules, dtype=np.int64)
        self.public_hits = np.zeros(n_rules, dtype=np.int64)
        self.n_hidden = np.zeros(n_rules, dtype=np.int64)
        self.hidden_hits = np.zeros(n_rules, dtype=np.int64)
        for a in range(self.antecedent.shape[0]):
            for i in range(self.member_start[a], self.member_start[a + 1]):
                if self.appears(a, self.member[i]):
                    self.add_member(a, self.member[i])

    def counts(self) -> tuple:
        """Give the four counts of every rule."""
        return (
            np.asarray(self.n_public),
            np.asarray(self.public_hits),
            np.asarray(self.n_hidden),
            np.asarray(self.hidden_hits),
        )

    @cython.cfunc
    def add_member(self, a: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Count a row for all rules of an antecedent."""
        rule: cython.Py_ssize_t
        for rule in range(self.rule_start[a], self.rule_start[a + 1]):
            self.add_row(rule, self.code[self.column[rule], row], 1)
        return 0

    @cython.cfunc
    def add_row(
        self, rule: cython.Py_ssize_t, code: cython.Py_ssize_t, by: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Count a row more, or less, whose cell in the column of a rule has a code."""
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
    def is_adversarial(self, rule: cython.Py_ssize_t) -> cython.bint:
        """Whether a rule is adversarial by its counts."""
        if self.n_public[rule] < self.gamma or self.n_hidden[rule] == 0:
            return False
        if self.public_hits[rule] * self.denominator < self.numerator * self.n_public[rule]:
            return False
        if not self.use_hidden:
            return True
        return self.hidden_hits[rule] * self.denominator >= self.numerator * self.n_hidden[rule]


@cython.cclass
class Hider(Follower):
    """Blanks the cells that weigh most against a set of rules, until none of these is left.

    Weights are whole multiples of 1 / unit, so that a sum does not depend on its order. For each
    row a bound on the weights of its cells is kept, and for each block of rows the largest of
    these bounds; weights are added up only for rows whose bound is among the largest. Bounds fall
    when weights are added up. They rise when a rule weighs more, in steps that foresee some of its
    rows leaving.
    """

    n_left: cython.Py_ssize_t
    unit: cython.longlong
    # For each antecedent how many of its rules are left, and for each rule its antecedent and
    # whether it is left.
    n_left_of: cython.longlong[::1]
    of_rule: cython.longlong[::1]
    is_left: cython.uchar[::1]
    # The rules that lost rows in this round.
    n_touched: cython.Py_ssize_t
    touched: cython.longlong[::1]
    is_touched: cython.uchar[::1]
    # For each rule what it weighs in a public and in a hidden row, and what these were told that
    # it weighs, at most.
    public_weight: cython.longlong[::1]
    hidden_weight: cython.longlong[::1]
    public_told: cython.longlong[::1]
    hidden_told: cython.longlong[::1]
    bound: cython.longlong[::1]
    block: cython.longlong[::1]
    # By column: the weights of the row that is looked at, and the bounds on them.
    weight: cython.longlong[::1]
    high: cython.longlong[::1]
    # The heaviest cells so far, as a heap whose first is the lightest.
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
        Follower.__init__(self, packed, followed, limits)
        row: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        n_rules = len(followed.column)
        n_left_of = np.diff(followed.rule_start)
        self.n_left = n_rules
        self.n_left_of = n_left_of
        self.of_rule = np.repeat(np.arange(len(n_left_of)), n_left_of)
        self.is_left = np.ones(n_rules, dtype=np.uint8)
        self.n_touched = 0
        self.touched = np.zeros(n_rules, dtype=np.int64)
        self.is_touched = np.zeros(n_rules, dtype=np.uint8)
        # A cell's weight is below the number of rules, and so its sum below 2**62.
        self.unit = 2**62 // max(n_rules, 2**22)
        self.public_weight = self.unit // np.asarray(self.n_public)
        self.hidden_weight = self.unit // np.asarray(self.n_hidden)
        self.public_told = np.zeros(n_rules, dtype=np.int64)
        self.hidden_told = np.zeros(n_rules, dtype=np.int64)
        for rule in range(n_rules):
            self.public_told[rule] = self.foresee(self.n_public[rule])
            self.hidden_told[rule] = self.foresee(self.n_hidden[rule])
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
        """Blank cells until no rule is left ([Aggarwal06] Fig. 2).

        Returns the cells in order, as column times number of rows plus row, and their rounds.
        """
        n_rounds: cython.longlong = 0
        first: cython.Py_ssize_t
        i: cython.Py_ssize_t
        self.n_blanked = 0
        while self.n_left > 0:
            self.choose()
            first = self.n_blanked
            self.keep_chosen(n_rounds)
            for i in range(first, self.n_blanked):
                self.blank(self.blanked[i] % self.n_rows, self.blanked[i] // self.n_rows)
            self.settle()
            n_rounds += 1
            if n_rounds % _VISITS == 0:
                pause()
        return (
            np.asarray(self.blanked)[: self.n_blanked].copy(),
            np.asarray(self.round_of)[: self.n_blanked].copy(),
        )

    @cython.cfunc
    def foresee(self, count: cython.longlong) -> cython.longlong:
        """Give what a rule weighs in a row when one in 16 of so many rows will have left."""
        return self.unit // (count - (count >> 4))

    @cython.cfunc
    def raise_bound(self, row: cython.Py_ssize_t, by: cython.longlong) -> cython.Py_ssize_t:
        """Raise the bound of a row, and that of its block."""
        self.bound[row] += by
        if self.bound[row] > self.block[row >> 7]:
            self.block[row >> 7] = self.bound[row]
        return 0

    @cython.cfunc
    def weigh(self, row: cython.Py_ssize_t) -> cython.longlong:
        """Add up the weights of a row's cells (Fig. 2, lines 3 to 5); give a bound on them."""
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
                    self.high[y] += self.public_told[rule]
                    high += self.public_told[rule]
                elif code > self.n_values[y] + 1:
                    weight += self.hidden_weight[rule]
                    high += self.hidden_told[rule]
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
        """Choose the heaviest cells."""
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
                    # Below zero the bound waits for the next round.
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
        """Whether a chosen cell goes before another when a heavier one comes.

        Of equal ones the first column stays: cells of one row tend to weigh the same for the same
        rules, and one of them is enough.
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
        """Choose a cell, in the place of a lighter one where there are enough."""
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
        """Let the first of the heap sink to where it belongs."""
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
        """Write down the chosen cells of a round, heaviest first."""
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
        """Blank a cell: the row leaves the public or hidden sets of the rules it counts for."""
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
                    self.add_row(rule, self.code[self.column[rule], row], -1)
            if is_named:
                self.last[row] -= 1
                self.of_row[i] = self.of_row[self.last[row]]
            else:
                i += 1
        self.code[column, row] = self.n_values[column] + 1
        return 0

    @cython.cfunc
    def settle(self) -> cython.Py_ssize_t:
        """Remove the rules that are adversarial no more (Fig. 2, line 7), and post the others."""
        i: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        for i in range(self.n_touched):
            rule = self.touched[i]
            if not self.is_adversarial(rule):
                self.is_left[rule] = 0
                self.n_left -= 1
                self.n_left_of[self.of_rule[rule]] -= 1
            else:
                self.post(rule)
            self.is_touched[rule] = False
        self.n_touched = 0
        return 0

    @cython.cfunc
    def post(self, rule: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Raise the bounds of the rows in which a rule weighs more than they know."""
        a: cython.Py_ssize_t = self.of_rule[rule]
        y: cython.Py_ssize_t = self.column[rule]
        i: cython.Py_ssize_t
        by: cython.longlong
        self.public_weight[rule] = self.unit // self.n_public[rule]
        self.hidden_weight[rule] = self.unit // self.n_hidden[rule]
        if self.public_weight[rule] > self.public_told[rule]:
            by = self.foresee(self.n_public[rule]) - self.public_told[rule]
            self.public_told[rule] += by
            for i in range(self.member_start[a], self.member_start[a + 1]):
                if self.code[y, self.member[i]] == self.value[rule]:
                    self.raise_bound(self.member[i], by)
        if self.hidden_weight[rule] > self.hidden_told[rule]:
            by = self.foresee(self.n_hidden[rule]) - self.hidden_told[rule]
            self.hidden_told[rule] += by
            for i in range(self.member_start[a], self.member_start[a + 1]):
                if self.member[i] >= self.n_private:
                    break
                if self.code[y, self.member[i]] > self.n_values[y] + 1:
                    self.raise_bound(self.member[i], by)
        return 0


@cython.cclass
class Restorer(Follower):
    """Shows blanked cells again, each where none of a set of rules becomes adversarial by it."""

    def restore(
        self,
        blanked: cython.longlong[::1],
        code: cython.int[::1],
        is_restored: cython.uchar[::1],
    ) -> None:
        """Restore cells from the last to the first, over and over until none can be.

        `blanked` are cells as `Hider.hide` gives them, `code` their codes when visible.
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
        """Show a cell, but blank it again where a rule becomes adversarial."""
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
        """Count what a visible cell adds to the rules; say whether none is adversarial."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        rule: cython.Py_ssize_t
        is_named: cython.bint
        is_safe: cython.bint = True
        for i in range(self.first[row], self.last[row]):
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
