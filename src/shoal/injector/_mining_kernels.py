"""The search for rules of any length, for the most general among them, and for what they exclude.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable. Counts of rows stay below 2**31, so that the
product of two counts fits into 64 bits. `tests/property/test_mining.py` states what each computes.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Finder", "Miner", "mark_cells"]

_VISITS = 1024
"""The search can be stopped after every so many antecedents."""


@cython.cclass
class Miner:
    """Visits all antecedents, column after column, with the rows that each holds for.

    At every column an antecedent names one item or none. The rows it holds for are a list of
    suffixes: the distinct ends of rows from that column on, with their counts. Suffixes are
    numbered in the order of their leaves, so every item holds for a slice of the list, and that
    slice, without the column, becomes the list of the next column.

    The parameters are the `shoal.injector.crisp_mining.Suffixes`; the least count of each value,
    ascending; the numerator and the denominator of the largest share of hits, which is 0 if
    suffixes carry the values seen; the largest number of columns that an antecedent names; and how
    many rules may be found before `mine` raises OverflowError.
    """

    n_columns: cython.Py_ssize_t
    n_words: cython.Py_ssize_t
    n_values: cython.Py_ssize_t
    height: cython.Py_ssize_t
    max_len: cython.Py_ssize_t
    most_rules: cython.Py_ssize_t
    least: cython.longlong
    numerator: cython.longlong
    denominator: cython.longlong
    threshold: cython.longlong[::1]
    start: cython.longlong[::1]
    leaf: cython.int[::1]
    rest: cython.int[::1]
    value: cython.int[::1]
    leaf_start: cython.longlong[::1]
    path_start: cython.longlong[::1]
    path: cython.int[::1]
    path_last: cython.int[::1]
    # The list of every column: suffixes, the rows before each, and the values seen in each.
    listed: cython.int[::1]
    before: cython.longlong[::1]
    seen: cython.ulonglong[::1]
    # The items that hold the current suffix, by column.
    open_item: cython.int[::1]
    open_last: cython.int[::1]
    open_begin: cython.longlong[::1]
    chosen: cython.int[::1]
    # By suffix of the next column, while a slice is summed.
    added: cython.longlong[::1]
    added_seen: cython.ulonglong[::1]
    touched: cython.int[::1]
    hits: cython.longlong[::1]
    words: cython.ulonglong[::1]
    # The rules found.
    n_visits: cython.longlong
    share: cython.double
    n_itemsets: cython.longlong
    n_with_rules: cython.Py_ssize_t
    n_rules: cython.Py_ssize_t
    item: cython.int[::1]
    count: cython.longlong[::1]
    rule_start: cython.longlong[::1]
    rule_value: cython.int[::1]
    rule_hits: cython.longlong[::1]

    def __init__(
        self,
        suffixes: object,
        threshold: cython.longlong[::1],
        numerator: cython.longlong,
        denominator: cython.longlong,
        max_len: cython.Py_ssize_t,
        most_rules: cython.Py_ssize_t,
    ) -> None:
        n_suffixes: cython.Py_ssize_t = len(suffixes.leaf)
        n_first: cython.Py_ssize_t = len(suffixes.count)
        self.n_columns = suffixes.n_columns
        self.n_words = suffixes.n_words
        self.n_values = len(threshold)
        self.height = suffixes.height
        self.max_len = max_len
        self.most_rules = most_rules
        self.least = max(1, threshold[0])
        self.numerator = numerator
        self.denominator = denominator
        self.threshold = threshold
        self.start = suffixes.start
        self.leaf = suffixes.leaf
        self.rest = suffixes.rest
        self.value = suffixes.value
        self.leaf_start = suffixes.leaf_start
        self.path_start = suffixes.path_start
        self.path = suffixes.path
        self.path_last = suffixes.path_last
        listed = np.empty(n_suffixes, dtype=np.int32)
        listed[:n_first] = np.arange(n_first)
        before = np.zeros(n_suffixes + self.n_columns, dtype=np.int64)
        before[1 : n_first + 1] = np.cumsum(suffixes.count)
        seen = np.empty(n_suffixes * self.n_words, dtype=np.uint64)
        seen[: n_first * self.n_words] = suffixes.seen
        self.listed, self.before, self.seen = listed, before, seen
        self.open_item = np.empty(self.n_columns * self.height, dtype=np.int32)
        self.open_last = np.empty(self.n_columns * self.height, dtype=np.int32)
        self.open_begin = np.empty(self.n_columns * self.height, dtype=np.int64)
        self.chosen = np.full(self.n_columns, -1, dtype=np.int32)
        self.added = np.zeros(suffixes.n_most, dtype=np.int64)
        self.added_seen = np.zeros(suffixes.n_most * self.n_words, dtype=np.uint64)
        self.touched = np.empty(suffixes.n_most, dtype=np.int32)
        # The last entry is for values that no rule is about.
        self.hits = np.zeros(self.n_values + 1, dtype=np.int64)
        self.words = np.zeros(self.n_words, dtype=np.uint64)
        self.n_itemsets = 0
        self.n_with_rules = 0
        self.n_rules = 0
        self.item = np.empty(64 * self.n_columns, dtype=np.int32)
        self.count = np.empty(64, dtype=np.int64)
        self.rule_start = np.empty(64, dtype=np.int64)
        self.rule_value = np.empty(64, dtype=np.int32)
        self.rule_hits = np.empty(64, dtype=np.int64)

    def mine(self) -> tuple:
        """Find all rules.

        Returns the items and counts of the antecedents with rules, where the rules of each start,
        the values and hits of the rules, and the number of frequent antecedents.
        """
        self.n_visits = 0
        self.share = 0
        self.visit(0, self.start[1], 0)
        n: cython.Py_ssize_t = self.n_with_rules
        return (
            np.asarray(self.item)[: n * self.n_columns].reshape(n, self.n_columns),
            np.asarray(self.count)[:n],
            np.append(np.asarray(self.rule_start)[:n], self.n_rules),
            np.asarray(self.rule_value)[: self.n_rules],
            np.asarray(self.rule_hits)[: self.n_rules],
            self.n_itemsets,
        )

    @cython.cfunc
    def visit(
        self, column: cython.Py_ssize_t, size: cython.Py_ssize_t, n_named: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Name every item of a column in turn, and finally none."""
        first: cython.Py_ssize_t = self.start[column]
        rows: cython.Py_ssize_t = first + column
        bottom: cython.Py_ssize_t = column * self.height
        top: cython.Py_ssize_t = bottom
        i: cython.Py_ssize_t = 0
        leaf: cython.int
        place: cython.Py_ssize_t
        path: cython.Py_ssize_t
        # About half of what is left after the columns before names this column.
        rest: cython.double = 0.5**column
        self.n_visits += 1
        if self.n_visits % _VISITS == 0:
            pause(self.share)
        while i < size:
            leaf = self.leaf[first + self.listed[first + i]]
            # The open items are the highest ones of the leaf's path.
            place = self.leaf_start[column] + leaf
            for path in range(self.path_start[place] + top - bottom, self.path_start[place + 1]):
                self.open_item[top] = self.path[path]
                self.open_last[top] = self.path_last[path]
                self.open_begin[top] = i
                top += 1
            i += 1
            while i < size and self.leaf[first + self.listed[first + i]] == leaf:
                i += 1
            if i < size:
                leaf = self.leaf[first + self.listed[first + i]]
            while top > bottom and (i == size or self.open_last[top - 1] <= leaf):
                top -= 1
                place = self.open_begin[top]
                if self.before[rows + i] - self.before[rows + place] >= self.least:
                    if n_named == 0:
                        self.share = 1 - rest + rest / 2 * place / size
                    self.chosen[column] = self.open_item[top]
                    self.descend(column, place, i, n_named + 1)
        self.chosen[column] = -1
        return self.descend(column, 0, size, n_named)

    @cython.cfunc
    def descend(
        self,
        column: cython.Py_ssize_t,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        n_named: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Continue with a slice of this column's list in the next column, or report rules."""
        if column + 1 < self.n_columns and n_named < self.max_len:
            return self.visit(column + 1, self.merge(column, begin, end), n_named)
        if n_named > 0:
            if self.n_words > 0:
                return self.report_unseen(column, begin, end)
            return self.report_rare(column, begin, end)
        return 0

    @cython.cfunc
    def merge(
        self, column: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Build the list of the next column from a slice of a column's list; return its length."""
        old: cython.Py_ssize_t = self.start[column]
        new: cython.Py_ssize_t = self.start[column + 1]
        old_rows: cython.Py_ssize_t = old + column
        new_rows: cython.Py_ssize_t = new + column + 1
        n_words: cython.Py_ssize_t = self.n_words
        low: cython.int
        high: cython.int
        suffix: cython.int
        n_touched: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        word: cython.Py_ssize_t
        if self.leaf[old + self.listed[old + begin]] == self.leaf[old + self.listed[old + end - 1]]:
            # Suffixes of one leaf differ in the rest and are in its order.
            for i in range(end - begin):
                self.listed[new + i] = self.rest[old + self.listed[old + begin + i]]
                self.before[new_rows + i + 1] = (
                    self.before[old_rows + begin + i + 1] - self.before[old_rows + begin]
                )
            for i in range((end - begin) * n_words):
                self.seen[new * n_words + i] = self.seen[(old + begin) * n_words + i]
            return end - begin
        low = self.rest[old + self.listed[old + begin]]
        high = low
        for i in range(begin, end):
            suffix = self.rest[old + self.listed[old + i]]
            if self.added[suffix] == 0:
                self.touched[n_touched] = suffix
                n_touched += 1
                low = min(low, suffix)
                high = max(high, suffix)
            self.added[suffix] += self.before[old_rows + i + 1] - self.before[old_rows + i]
            for word in range(n_words):
                self.added_seen[suffix * n_words + word] |= self.seen[(old + i) * n_words + word]
        if high - low < 8 * n_touched:
            n_touched = 0
            for suffix in range(low, high + 1):
                if self.added[suffix] > 0:
                    self.touched[n_touched] = suffix
                    n_touched += 1
        else:
            self.sort_touched(n_touched)
        for i in range(n_touched):
            suffix = self.touched[i]
            self.listed[new + i] = suffix
            self.before[new_rows + i + 1] = self.before[new_rows + i] + self.added[suffix]
            self.added[suffix] = 0
            for word in range(n_words):
                self.seen[(new + i) * n_words + word] = self.added_seen[suffix * n_words + word]
                self.added_seen[suffix * n_words + word] = 0
        return n_touched

    @cython.cfunc
    def sort_touched(self, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Sort the first `size` touched suffixes by insertion over shrinking gaps (Shell sort)."""
        gap: cython.Py_ssize_t = 1
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        suffix: cython.int
        while gap < size // 4:
            gap = 9 * gap // 4 + 1
        while gap > 0:
            for i in range(gap, size):
                suffix = self.touched[i]
                j = i
                while j >= gap and self.touched[j - gap] > suffix:
                    self.touched[j] = self.touched[j - gap]
                    j -= gap
                self.touched[j] = suffix
            gap = 4 * gap // 9
        return size

    @cython.cfunc
    def report_unseen(
        self, column: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Report a rule for every expected value that does not occur in a slice of a list."""
        first: cython.Py_ssize_t = self.start[column]
        count: cython.longlong = (
            self.before[first + column + end] - self.before[first + column + begin]
        )
        i: cython.Py_ssize_t
        word: cython.Py_ssize_t
        value: cython.Py_ssize_t
        is_new: cython.bint = True
        self.n_itemsets += 1
        for word in range(self.n_words):
            self.words[word] = self.seen[(first + begin) * self.n_words + word]
        for i in range(first + begin + 1, first + end):
            for word in range(self.n_words):
                self.words[word] |= self.seen[i * self.n_words + word]
        for value in range(self.n_values):
            if self.threshold[value] > count:
                break
            if (self.words[value >> 6] >> (value & 63)) & 1 == 0:
                self.add_rule(value, 0, count, is_new)
                is_new = False
        return 0

    @cython.cfunc
    def report_rare(
        self, column: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Report a rule for every expected value that is rare in a slice of a list."""
        first: cython.Py_ssize_t = self.start[column]
        rows: cython.Py_ssize_t = first + column
        count: cython.longlong = self.before[rows + end] - self.before[rows + begin]
        i: cython.Py_ssize_t
        value: cython.Py_ssize_t
        is_new: cython.bint = True
        self.n_itemsets += 1
        for i in range(begin, end):
            value = self.value[first + self.listed[first + i]]
            self.hits[value] += self.before[rows + i + 1] - self.before[rows + i]
        for value in range(self.n_values):
            if self.threshold[value] > count:
                break
            if self.hits[value] * self.denominator <= self.numerator * count:
                self.add_rule(value, self.hits[value], count, is_new)
                is_new = False
        for value in range(self.n_values + 1):
            self.hits[value] = 0
        return 0

    @cython.cfunc
    def add_rule(
        self,
        value: cython.Py_ssize_t,
        hits: cython.longlong,
        count: cython.longlong,
        is_new: cython.bint,
    ) -> cython.Py_ssize_t:
        """Keep a rule about the chosen items; keep the items too if it is their first."""
        column: cython.Py_ssize_t
        if self.n_rules == self.most_rules:
            raise OverflowError
        if is_new:
            if self.n_with_rules == self.count.shape[0]:
                self.item = grown(self.item)
                self.count = grown(self.count)
                self.rule_start = grown(self.rule_start)
            for column in range(self.n_columns):
                self.item[self.n_with_rules * self.n_columns + column] = self.chosen[column]
            self.count[self.n_with_rules] = count
            self.rule_start[self.n_with_rules] = self.n_rules
            self.n_with_rules += 1
        if self.n_rules == self.rule_value.shape[0]:
            self.rule_value = grown(self.rule_value)
            self.rule_hits = grown(self.rule_hits)
        self.rule_value[self.n_rules] = value
        self.rule_hits[self.n_rules] = hits
        self.n_rules += 1
        return 0


def grown(array: object) -> object:
    """Return an array of twice the length that begins with the given one."""
    old = np.asarray(array)
    new = np.empty(2 * len(old), dtype=old.dtype)
    new[: len(old)] = old
    return new


@cython.cclass
class Finder:
    """Finds whether a rule is implied by another one, in a trie of all rules.

    The trie's first level holds the values, followed by one level per column, whose labels are the
    nodes and -1; its last level holds the rules, in their order.

    The parameters are the `shoal.injector.consequences.Trie`, and for each label of each
    column the labels that are at least as general.
    """

    n_columns: cython.Py_ssize_t
    level_start: cython.longlong[::1]
    child_start: cython.longlong[::1]
    label: cython.int[::1]
    label_start: cython.longlong[::1]
    general_start: cython.longlong[::1]
    general: cython.int[::1]
    wanted: cython.int[::1]
    rule: cython.Py_ssize_t

    def __init__(self, trie: object) -> None:
        self.n_columns = trie.n_columns
        self.level_start = trie.level_start
        self.child_start = trie.child_start
        self.label = trie.label
        self.label_start = trie.label_start
        self.general_start = trie.general_start
        self.general = trie.general

    def mark_implied(
        self,
        nodes: cython.int[:, ::1],
        value: cython.int[::1],
        is_implied: cython.uchar[::1],
    ) -> None:
        """Mark the rules, those of the trie's last level, that another one implies."""
        rule: cython.Py_ssize_t
        for rule in range(nodes.shape[0]):
            self.rule = rule
            self.wanted = nodes[rule]
            is_implied[rule] = self.find(0, value[rule])

    @cython.cfunc
    def find(self, column: cython.Py_ssize_t, entry: cython.Py_ssize_t) -> cython.bint:
        """Find another rule at least as general as the wanted one, below an entry of the trie."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        low: cython.Py_ssize_t
        high: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        label: cython.int
        if column == self.n_columns:
            return entry != self.rule
        place = self.label_start[column] + self.wanted[column] + 1
        for i in range(self.general_start[place], self.general_start[place + 1]):
            label = self.general[i]
            low = self.child_start[self.level_start[column] + entry]
            high = self.child_start[self.level_start[column] + entry + 1]
            while low < high:
                middle = (low + high) // 2
                if self.label[self.level_start[column + 1] + middle] < label:
                    low = middle + 1
                else:
                    high = middle
            if low == self.child_start[self.level_start[column] + entry + 1]:
                continue
            if self.label[self.level_start[column + 1] + low] != label:
                continue
            if self.find(column + 1, low):
                return True
        return False


def mark_cells(
    cells: cython.ulonglong[:, ::1],
    item: cython.int[:, ::1],
    value: cython.int[::1],
    held: cython.ulonglong[:, ::1],
    marks: cython.ulonglong[:, ::1],
) -> None:
    """Mark for every value the cells to which some rule forbids it.

    `cells` holds the cells of every item as bits, `item` the items of every rule, followed by -1.
    Rules that begin with the same items should be adjacent: `held`, which has one more row than a
    rule has items, keeps the cells that a rule's first items hold for; its first row has all bits
    set.
    """
    n_words: cython.Py_ssize_t = cells.shape[1]
    n_columns: cython.Py_ssize_t = item.shape[1]
    rule: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    word: cython.Py_ssize_t
    which: cython.int
    is_kept: cython.bint
    for rule in range(item.shape[0]):
        is_kept = rule > 0
        depth = 0
        while depth < n_columns and item[rule, depth] >= 0:
            which = item[rule, depth]
            is_kept = is_kept and which == item[rule - 1, depth]
            depth += 1
            if not is_kept:
                for word in range(n_words):
                    held[depth, word] = held[depth - 1, word] & cells[which, word]
        for word in range(n_words):
            marks[value[rule], word] |= held[depth, word]
