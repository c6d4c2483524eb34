"""The antecedents of a set of rows: the parts of its closure that appear in no other row.

`AntecedentLister` returns all antecedents of given sets of rows, or one minimal antecedent of each,
none of whose items can be left out without gaining rows.

Invariant: the items kept always appear together in exactly the rows of the set. Leaving out an item
never loses rows, so leaving out items in the order of their columns reaches every antecedent, and
all parts on the way are antecedents too.

Plain twin: `define_classes` in tests/property/test_closed_rules.py collects all antecedents by
their rows.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. Arrays are contiguous and writable. A row is one bit of the words of an item.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause
from shoal.hiding.cells import grown

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["AntecedentLister"]

_SETS = 256
"""The listing can be stopped after every so many sets of rows."""


@cython.cclass
class AntecedentLister:
    """Lists antecedents of sets of rows; takes their closures, the numbers of items, and words.

    `word[item_of[column, value]]` marks the rows that show an item.
    """

    n_columns: cython.Py_ssize_t
    n_words: cython.Py_ssize_t
    closure: cython.int[:, ::1]
    item_of: cython.int[:, ::1]
    word: cython.ulonglong[:, ::1]
    # The items of the current closure: their columns, and which of them are kept.
    n_items: cython.Py_ssize_t
    column: cython.int[::1]
    item: cython.int[::1]
    is_kept: cython.uchar[::1]
    n_kept: cython.Py_ssize_t
    # The rows of the current set.
    shared: cython.ulonglong[::1]
    # The antecedents listed, with the number of the set of each.
    most: cython.Py_ssize_t
    n_listed: cython.Py_ssize_t
    listed: cython.int[::1]
    of_set: cython.int[::1]

    def __init__(self, closure: object, item_of: object, word: object) -> None:
        self.n_columns = closure.shape[1]
        self.n_words = word.shape[1]
        self.closure = closure
        self.item_of = item_of
        self.word = word
        self.column = np.empty(self.n_columns, dtype=np.int32)
        self.item = np.empty(self.n_columns, dtype=np.int32)
        self.is_kept = np.empty(self.n_columns, dtype=np.uint8)
        self.shared = np.empty(self.n_words, dtype=np.uint64)
        self.listed = np.empty(64 * self.n_columns, dtype=np.int32)
        self.of_set = np.empty(64, dtype=np.int32)

    def list_all(self, most: cython.Py_ssize_t) -> tuple:
        """Return all antecedents of the sets, and the set of each; OverflowError beyond `most`."""
        place: cython.Py_ssize_t
        self.most = most
        self.n_listed = 0
        for place in range(self.closure.shape[0]):
            self.take(place)
            self.leave_out(0, place)
        return self.answer()

    def shorten(self) -> tuple:
        """Return a minimal antecedent of each set; later columns are left out first."""
        place: cython.Py_ssize_t
        i: cython.Py_ssize_t
        self.most = self.closure.shape[0]
        self.n_listed = 0
        for place in range(self.closure.shape[0]):
            self.take(place)
            for i in range(self.n_items - 1, -1, -1):
                if self.is_needless(i):
                    self.is_kept[i] = 0
                    self.n_kept -= 1
            self.add(place)
        return self.answer()

    @cython.cfunc
    def answer(self) -> object:
        return (
            np.asarray(self.listed)[: self.n_listed * self.n_columns]
            .reshape(self.n_listed, self.n_columns)
            .copy(),
            np.asarray(self.of_set)[: self.n_listed].copy(),
        )

    @cython.cfunc
    def take(self, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Begin a set: keep all items of its closure."""
        i: cython.Py_ssize_t
        w: cython.Py_ssize_t
        if place % _SETS == 0:
            pause(1.0)
        self.n_items = 0
        for i in range(self.n_columns):
            if self.closure[place, i] >= 0:
                self.column[self.n_items] = i
                self.item[self.n_items] = self.item_of[i, self.closure[place, i]]
                self.is_kept[self.n_items] = 1
                self.n_items += 1
        self.n_kept = self.n_items
        for w in range(self.n_words):
            self.shared[w] = self.word[self.item[0], w]
        for i in range(1, self.n_items):
            for w in range(self.n_words):
                self.shared[w] &= self.word[self.item[i], w]
        return 0

    @cython.cfunc
    def is_needless(self, left_out: cython.Py_ssize_t) -> cython.bint:
        """Return whether the other items kept, at least one, appear in no further row."""
        i: cython.Py_ssize_t
        w: cython.Py_ssize_t
        first: cython.Py_ssize_t = 0
        both: cython.ulonglong
        if self.n_kept < 2:
            return False
        while first == left_out or not self.is_kept[first]:
            first += 1
        for w in range(self.n_words):
            both = self.word[self.item[first], w]
            for i in range(first + 1, self.n_items):
                if self.is_kept[i] and i != left_out:
                    both &= self.word[self.item[i], w]
            if both != self.shared[w]:
                return False
        return True

    @cython.cfunc
    def leave_out(self, first: cython.Py_ssize_t, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Add the items kept, then leave out each needless one from the first on."""
        i: cython.Py_ssize_t
        self.add(place)
        for i in range(first, self.n_items):
            if self.is_needless(i):
                self.is_kept[i] = 0
                self.n_kept -= 1
                self.leave_out(i + 1, place)
                self.is_kept[i] = 1
                self.n_kept += 1
        return 0

    @cython.cfunc
    def add(self, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Append the items kept to the antecedents listed."""
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t = self.n_listed * self.n_columns
        if self.n_listed == self.most:
            raise OverflowError
        if start == self.listed.shape[0]:
            self.listed = grown(self.listed)
            self.of_set = grown(self.of_set)
        for i in range(self.n_columns):
            self.listed[start + i] = -1
        for i in range(self.n_items):
            if self.is_kept[i]:
                self.listed[start + self.column[i]] = self.closure[place, self.column[i]]
        self.of_set[self.n_listed] = place
        self.n_listed += 1
        return 0
