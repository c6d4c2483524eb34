"""Which values an assignment can give to which rows, one bucket after the other.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable. Sets of values are the bits of words.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Matcher"]


@cython.cclass
class Matcher:
    """Finds the valid values of each group of a bucket: its rows with the same forbidden values.

    First it finds one assignment, as a flow from groups to values [Li08, Section V-B]. Then,
    instead of another assignment for every pair, it closes the swaps that this one allows: a row
    can have another value if a holder of that value can take a third, and so on, until someone can
    take the row's own. `shoal.injector.plain_bucketization.valid_values` states the result.

    The parameters are the groups of all buckets (set and number of rows), their values (code and
    number of rows), and the sets as a matrix of marks with one column per code.
    """

    which: cython.longlong[::1]
    n_rows: cython.longlong[::1]
    code: cython.longlong[::1]
    n_copies: cython.longlong[::1]
    sets: cython.uchar[:, ::1]
    bit: cython.ulonglong[::1]
    # The current bucket: where its groups and values begin, and how many it has.
    first_group: cython.Py_ssize_t
    first_value: cython.Py_ssize_t
    n_groups: cython.Py_ssize_t
    n_values: cython.Py_ssize_t
    n_words: cython.Py_ssize_t
    # By group: the values it can take, in words, and how many of its rows have no value yet.
    allowed: cython.ulonglong[::1]
    is_bound: cython.uchar[::1]
    left: cython.longlong[::1]
    # By value: how many copies are free, and the values that its holders can swap it for.
    room: cython.longlong[::1]
    reach: cython.ulonglong[::1]
    # How many rows of each group have each value, group after group within a value.
    flow: cython.longlong[::1]
    # The search for a chain: values in the order found, who takes each, and what they give up.
    seen: cython.ulonglong[::1]
    queue: cython.longlong[::1]
    taker: cython.longlong[::1]
    given_up: cython.longlong[::1]

    def __init__(
        self,
        which: cython.longlong[::1],
        n_rows: cython.longlong[::1],
        code: cython.longlong[::1],
        n_copies: cython.longlong[::1],
        sets: cython.uchar[:, ::1],
    ) -> None:
        self.which = which
        self.n_rows = n_rows
        self.code = code
        self.n_copies = n_copies
        self.sets = sets
        self.bit = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))

    def mark_valid(
        self,
        group_start: object,
        value_start: object,
        words: cython.ulonglong[:, ::1],
    ) -> None:
        """Set the bits of the valid values in the words of every group, which must be 0.

        `group_start` and `value_start` hold one pair per bucket: where its entries begin and end.
        The words of a bucket without any assignment stay 0.
        """
        groups: cython.longlong[:, ::1] = group_start
        values: cython.longlong[:, ::1] = value_start
        i: cython.Py_ssize_t
        self.make_room(group_start[:, 1] - group_start[:, 0], value_start[:, 1] - value_start[:, 0])
        for i in range(groups.shape[0]):
            self.first_group = groups[i, 0]
            self.n_groups = groups[i, 1] - groups[i, 0]
            self.first_value = values[i, 0]
            self.n_values = values[i, 1] - values[i, 0]
            self.n_words = (self.n_values + 63) // 64
            self.read_bucket()
            if self.assign():
                self.close_reach()
                self.write_valid(words)

    def make_room(self, n_groups: object, n_values: object) -> None:
        """Allocate arrays for the largest bucket."""
        most_groups = n_groups.max(initial=0)
        most_values = n_values.max(initial=0)
        n_words = (n_values + 63) // 64
        self.allowed = np.empty((n_groups * n_words).max(initial=0), dtype=np.uint64)
        self.is_bound = np.empty(most_groups, dtype=np.uint8)
        self.left = np.empty(most_groups, dtype=np.int64)
        self.room = np.empty(most_values, dtype=np.int64)
        self.reach = np.empty((n_values * n_words).max(initial=0), dtype=np.uint64)
        self.flow = np.empty((n_groups * n_values).max(initial=0), dtype=np.int64)
        self.seen = np.empty(n_words.max(initial=0), dtype=np.uint64)
        self.queue = np.empty(most_values, dtype=np.int64)
        self.taker = np.empty(most_values, dtype=np.int64)
        self.given_up = np.empty(most_values, dtype=np.int64)

    @cython.cfunc
    def read_bucket(self) -> cython.void:
        """Find what each group can take; no row has a value yet."""
        group: cython.Py_ssize_t
        value: cython.Py_ssize_t
        place: cython.Py_ssize_t
        which: cython.longlong
        for value in range(self.n_values):
            self.room[value] = self.n_copies[self.first_value + value]
        for place in range(self.n_values * self.n_groups):
            self.flow[place] = 0
        for place in range(self.n_groups * self.n_words):
            self.allowed[place] = 0
        for group in range(self.n_groups):
            self.left[group] = self.n_rows[self.first_group + group]
            self.is_bound[group] = 0
            which = self.which[self.first_group + group]
            for value in range(self.n_values):
                if self.sets[which, self.code[self.first_value + value]]:
                    self.is_bound[group] = 1
                else:
                    place = group * self.n_words + (value >> 6)
                    self.allowed[place] |= self.bit[value & 63]

    @cython.cfunc
    def assign(self) -> cython.bint:
        """Give every row a value; return whether that was possible."""
        group: cython.Py_ssize_t
        last: cython.Py_ssize_t
        # Groups that can take everything come last.
        for group in range(self.n_groups):
            if self.is_bound[group]:
                self.take_what_is_there(group)
        for group in range(self.n_groups):
            if not self.is_bound[group]:
                self.take_what_is_there(group)
        for group in range(self.n_groups):
            while self.left[group] > 0:
                last = self.find_chain(group)
                if last < 0:
                    return False
                self.pass_on(group, last)
        return True

    @cython.cfunc
    def take_what_is_there(self, group: cython.Py_ssize_t) -> cython.void:
        """Give the rows of a group values that are still free."""
        value: cython.Py_ssize_t
        amount: cython.longlong
        for value in range(self.n_values):
            if self.left[group] == 0:
                return
            amount = min(self.left[group], self.room[value])
            if amount > 0 and self.can_take(group, value):
                self.flow[value * self.n_groups + group] += amount
                self.left[group] -= amount
                self.room[value] -= amount

    @cython.cfunc
    def can_take(self, group: cython.Py_ssize_t, value: cython.Py_ssize_t) -> cython.bint:
        """Tell whether a group may have a value."""
        return (self.allowed[group * self.n_words + (value >> 6)] & self.bit[value & 63]) != 0

    @cython.cfunc
    def find_chain(self, group: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find the shortest chain from a group to a value with room; return that value or -1.

        The group takes a value, whose holder takes another, and so on; the last takes the value
        returned.
        """
        n_found: cython.Py_ssize_t
        place: cython.Py_ssize_t
        other: cython.Py_ssize_t
        value: cython.Py_ssize_t
        for place in range(self.n_words):
            self.seen[place] = 0
        n_found = self.extend(group, -1, 0)
        place = 0
        while place < n_found:
            value = self.queue[place]
            if self.room[value] > 0:
                return value
            for other in range(self.n_groups):
                if self.flow[value * self.n_groups + other] > 0:
                    n_found = self.extend(other, value, n_found)
            place += 1
        return -1

    @cython.cfunc
    def extend(
        self, group: cython.Py_ssize_t, given_up: cython.Py_ssize_t, n_found: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Queue the values not yet found that a group can take; return how many are found."""
        word: cython.Py_ssize_t
        value: cython.Py_ssize_t
        new: cython.ulonglong
        for word in range(self.n_words):
            new = self.allowed[group * self.n_words + word]
            new = (new | self.seen[word]) ^ self.seen[word]
            if new == 0:
                continue
            self.seen[word] |= new
            for value in range(64 * word, min(64 * word + 64, self.n_values)):
                if new & self.bit[value & 63]:
                    self.queue[n_found] = value
                    self.taker[value] = group
                    self.given_up[value] = given_up
                    n_found += 1
        return n_found

    @cython.cfunc
    def pass_on(self, group: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.void:
        """Move as many rows as possible along the chain found."""
        value: cython.Py_ssize_t = last
        given_up: cython.Py_ssize_t = self.given_up[last]
        amount: cython.longlong = min(self.left[group], self.room[last])
        while given_up >= 0:
            amount = min(amount, self.flow[given_up * self.n_groups + self.taker[value]])
            value = given_up
            given_up = self.given_up[value]
        self.left[group] -= amount
        self.room[last] -= amount
        value = last
        while value >= 0:
            given_up = self.given_up[value]
            self.flow[value * self.n_groups + self.taker[value]] += amount
            if given_up >= 0:
                self.flow[given_up * self.n_groups + self.taker[value]] -= amount
            value = given_up

    @cython.cfunc
    def close_reach(self) -> cython.void:
        """Find for each value all values in which a chain of swaps by its holders can end."""
        n_words: cython.Py_ssize_t = self.n_words
        value: cython.Py_ssize_t
        other: cython.Py_ssize_t
        word: cython.Py_ssize_t
        for value in range(self.n_values):
            for word in range(n_words):
                self.reach[value * n_words + word] = 0
            for other in range(self.n_groups):
                if self.flow[value * self.n_groups + other] > 0:
                    for word in range(n_words):
                        self.reach[value * n_words + word] |= self.allowed[other * n_words + word]
        # Warshall's transitive closure: chains through the values 0, ..., other.
        for other in range(self.n_values):
            for value in range(self.n_values):
                if self.reach[value * n_words + (other >> 6)] & self.bit[other & 63]:
                    for word in range(n_words):
                        self.reach[value * n_words + word] |= self.reach[other * n_words + word]

    @cython.cfunc
    def write_valid(self, words: cython.ulonglong[:, ::1]) -> cython.void:
        """Mark the values a group has, and those it can take whose holders reach one of these."""
        n_words: cython.Py_ssize_t = self.n_words
        group: cython.Py_ssize_t
        value: cython.Py_ssize_t
        word: cython.Py_ssize_t
        code: cython.longlong
        for group in range(self.n_groups):
            # What the group has.
            for word in range(n_words):
                self.seen[word] = 0
            for value in range(self.n_values):
                if self.flow[value * self.n_groups + group] > 0:
                    self.seen[value >> 6] |= self.bit[value & 63]
            for value in range(self.n_values):
                if not self.can_take(group, value):
                    continue
                for word in range(n_words):
                    if self.reach[value * n_words + word] & self.seen[word]:
                        code = self.code[self.first_value + value]
                        words[self.first_group + group, code >> 6] |= self.bit[code & 63]
                        break
