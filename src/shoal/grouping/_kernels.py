"""The sequential steps of the methods that group rows: Anatomy's draw, and the test of buckets.

`draw_buckets` draws Anatomy's buckets one after the other; `drop_failing` decides which groups of a
generalized table break a requirement; `Rules` tests the requirements on the sensitive values of one
bucket. The cuts of Mondrian are in `shoal.grouping._partition_kernels`.

Written in Cython's pure Python mode: compiled if the package is built, otherwise the same file runs
as plain Python. Arrays are contiguous and writable, and allocated by the caller. Counts of rows
stay below 2**31, so products of two of them fit into 64 bits.
"""

from __future__ import annotations

import math

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["Rules", "draw_buckets", "drop_failing"]


def draw_buckets(
    left: cython.longlong[::1],
    group: cython.longlong[::1],
    ell: cython.Py_ssize_t,
    numbers: cython.ulonglong[::1],
    latest: cython.longlong[::1],
    run: cython.longlong[::1],
    run_group: cython.longlong[::1],
    run_bucket: cython.longlong[::1],
    run_length: cython.longlong[::1],
) -> tuple:
    """Draw one row from each of the `ell` largest classes while there are that many.

    `left` has the number of rows left in each class, largest first, and `group` the class. Among
    classes as large as the smallest one drawn from, chance decides, by the next of `numbers`. The
    chosen ones move to the end of their equals, which keeps `left` sorted at a cost of O(ell + log
    classes) per bucket.

    Rows of one class in consecutive buckets are a run: its class, first bucket and length. By
    class, `latest` is the last bucket with a row of it (initially -2) and `run` its last run.

    Returns the number of buckets and the number of runs.
    """
    n_classes: cython.Py_ssize_t = left.shape[0]
    n_buckets: cython.longlong = 0
    n_runs: cython.longlong = 0
    n_used: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    upper: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    chosen: cython.Py_ssize_t
    place: cython.Py_ssize_t
    i: cython.Py_ssize_t
    smallest: cython.longlong
    which: cython.longlong

    while n_classes >= ell and left[ell - 1] > 0:
        # Classes start, ..., stop - 1 are as large as the smallest one to be drawn from.
        smallest = left[ell - 1]
        start = ell - 1
        while start > 0 and left[start - 1] == smallest:
            start -= 1
        stop = ell
        upper = n_classes
        while stop < upper:
            middle = (stop + upper) // 2
            if left[middle] == smallest:
                stop = middle + 1
            else:
                upper = middle
        place = stop
        for i in range(start, ell):
            chosen = start + cython.cast(
                cython.Py_ssize_t, numbers[n_used] % cython.cast(cython.ulonglong, place - start)
            )
            n_used += 1
            place -= 1
            which = group[chosen]
            group[chosen] = group[place]
            group[place] = which
        for i in range(ell):
            chosen = i if i < start else place + i - start
            left[chosen] -= 1
            which = group[chosen]
            if latest[which] == n_buckets - 1:
                run_length[run[which]] += 1
            else:
                run[which] = n_runs
                run_group[n_runs] = which
                run_bucket[n_runs] = n_buckets
                run_length[n_runs] = 1
                n_runs += 1
            latest[which] = n_buckets
        n_buckets += 1
    return n_buckets, n_runs


def drop_failing(
    keeps: object,
    asked_value: cython.longlong[::1],
    asked_count: cython.longlong[::1],
    starts: cython.longlong[::1],
    value: cython.longlong[::1],
    count: cython.longlong[::1],
    sizes: cython.longlong[::1],
    number: cython.longlong[::1],
    kept: cython.uchar[::1],
    n_dropped: cython.longlong,
    limit: cython.longlong,
) -> int:
    """Unmark in `kept` the groups that fail, until more than `limit` rows are dropped.

    `keeps` judges a group by its values, as `number` numbers them, and their counts, which are put
    into `asked_value` and `asked_count`. Returns `n_dropped` plus the rows of the groups that fail.
    The slow twin is in `tests/property/test_full_domain.py`.
    """
    place: cython.Py_ssize_t
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t
    for place in range(sizes.shape[0]):
        if kept[place] == 0:
            continue
        n = 0
        for i in range(starts[place], starts[place + 1]):
            asked_value[n] = number[value[i]]
            asked_count[n] = count[i]
            n += 1
        if not keeps(n, sizes[place]):
            kept[place] = 0
            n_dropped += sizes[place]
            if n_dropped > limit:
                break
    return n_dropped


@cython.cfunc
def sort_pairs(
    keys: cython.longlong[::1], others: cython.longlong[::1], n_pairs: cython.Py_ssize_t
) -> cython.void:
    """Sort the first keys of an array ascending, and the others along with them (Shell)."""
    gap: cython.Py_ssize_t = 1
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    key: cython.longlong
    other: cython.longlong
    while gap < n_pairs // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_pairs):
            key = keys[i]
            other = others[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                others[j] = others[j - gap]
                j -= gap
            keys[j] = key
            others[j] = other
        gap //= 3


@cython.cclass
class Rules:
    """The requirements on the sensitive values of a bucket.

    `limits` is a `shoal.grouping.requirements.Limits`, which explains the fields. The bucket
    is the first entries of `value` and `count`. Counts are compared exactly; entropy and distances
    are floats, and whatever comes close to its limit is left to `decide`. The slow twin is
    `Twin` in `tests/property/test_mondrian.py`.
    """

    n_rows: cython.double
    distinct: cython.Py_ssize_t
    share: cython.longlong
    of_share: cython.longlong
    n_bounded: cython.longlong
    recursive: cython.Py_ssize_t
    ratio: cython.longlong
    of_ratio: cython.longlong
    has_entropy: cython.bint
    log_ell: cython.double
    distance: cython.Py_ssize_t
    t: cython.double
    scale: cython.double
    decide: object
    value: cython.longlong[::1]
    count: cython.longlong[::1]
    descending: cython.longlong[::1]
    unused: cython.longlong[::1]
    times_log: cython.double[::1]
    reference: cython.double[::1]
    cumulated: cython.double[::1]
    area: cython.double[::1]
    node: cython.longlong[::1]
    parent: cython.longlong[::1]
    level: cython.double[::1]
    node_reference: cython.double[::1]
    node_count: cython.double[::1]
    node_gain: cython.double[::1]
    touched: cython.longlong[::1]

    def __init__(self, limits: object, decide: object) -> None:
        self.n_rows = float(limits.n_rows)
        self.distinct = limits.distinct
        self.share, self.of_share = limits.share
        self.n_bounded = limits.n_bounded
        self.recursive = limits.recursive
        self.ratio, self.of_ratio = limits.ratio
        self.has_entropy = limits.has_entropy
        self.log_ell = limits.log_ell
        self.distance = limits.distance
        self.t = limits.t
        self.scale = float(limits.scale)
        self.decide = decide
        self.value = limits.value
        self.count = limits.count
        self.descending = np.zeros(len(limits.value), dtype=np.int64)
        self.unused = np.zeros(len(limits.value), dtype=np.int64)
        self.times_log = limits.times_log
        self.reference = limits.reference
        self.cumulated = limits.cumulated
        self.area = limits.area
        self.node = limits.node
        self.parent = limits.parent
        self.level = limits.level
        self.node_reference = limits.node_reference
        self.node_count = np.zeros(len(limits.parent))
        self.node_gain = np.zeros(len(limits.parent))
        self.touched = np.zeros(len(limits.parent), dtype=np.int64)

    @cython.ccall
    def keep(self, n_values: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:
        """Return whether a bucket of `size` rows and `n_values` values keeps all rules."""
        if n_values < self.distinct:
            return False
        if self.share < self.of_share and not self.keeps_share(n_values, size):
            return False
        if self.recursive > 0 and not self.keeps_ratio(n_values, size):
            return False
        if self.has_entropy and not self.keeps_entropy(n_values, size):
            return False
        return self.distance == 0 or self.keeps_distance(n_values, size)

    @cython.cfunc
    def keeps_share(self, n_values: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:
        """Return whether no value, or none of the first ones, has too large a share."""
        i: cython.Py_ssize_t
        for i in range(n_values):
            if self.count[i] * self.of_share > self.share * size:
                if self.n_bounded == 0 or self.value[i] < self.n_bounded:
                    return False
        return True

    @cython.cfunc
    def keeps_ratio(self, n_values: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:
        """Return whether r_1 / (r_1 + r_ell + ... + r_m) is below its limit."""
        i: cython.Py_ssize_t
        largest: cython.longlong
        rest: cython.longlong = size
        for i in range(n_values):
            self.descending[i] = -self.count[i]
        sort_pairs(self.descending, self.unused, n_values)
        largest = -self.descending[0]
        for i in range(min(self.recursive - 1, n_values)):
            rest += self.descending[i]
        return largest * self.of_ratio < self.ratio * (largest + rest)

    @cython.cfunc
    def times_its_log(self, number: cython.longlong) -> cython.double:
        """Return n log n, from a table if n is small."""
        if number < self.times_log.shape[0]:
            return self.times_log[number]
        return number * math.log(number)

    @cython.cfunc
    def keeps_entropy(self, n_values: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:
        """Return whether the entropy, times size, is at least log ell, times size."""
        i: cython.Py_ssize_t
        whole: cython.double = self.times_its_log(size)
        excess: cython.double = whole - size * self.log_ell
        for i in range(n_values):
            excess -= self.times_its_log(self.count[i])
        if abs(excess) <= 1e-9 * (whole + size):
            return self.decide.keeps_entropy(n_values, size)
        return excess > 0

    @cython.cfunc
    def keeps_distance(self, n_values: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:
        """Return whether the earth mover's distance from the whole table is at most t."""
        # In units of 1 / (scale * size * n_rows), distances are whole numbers.
        unit: cython.double = self.scale * size * self.n_rows
        moved: cython.double
        if self.distance == 1:
            moved = self.move_equal(n_values, size)
        elif self.distance == 2:
            moved = self.move_ordered(n_values, size)
        else:
            moved = self.move_hierarchical(n_values, size)
        if abs(moved - self.t * unit) <= 1e-9 * unit:
            return self.decide.keeps_distance(moved, n_values, size)
        return moved < self.t * unit

    @cython.cfunc
    def move_equal(self, n_values: cython.Py_ssize_t, size: cython.double) -> cython.double:
        """Add up the surplus of values with too many rows; the deficit of the others is equal."""
        i: cython.Py_ssize_t
        surplus: cython.double
        moved: cython.double = 0
        for i in range(n_values):
            surplus = self.count[i] * self.n_rows - self.reference[self.value[i]] * size
            if surplus > 0:
                moved += surplus
        return moved

    @cython.cfunc
    def move_ordered(self, n_values: cython.Py_ssize_t, size: cython.double) -> cython.double:
        """Add up the differences between the cumulated counts."""
        i: cython.Py_ssize_t
        start: cython.longlong = 0
        cumulated: cython.double = 0
        moved: cython.double = 0
        sort_pairs(self.value, self.count, n_values)
        for i in range(n_values):
            moved += self.stretch(start, self.value[i], cumulated, size)
            start = self.value[i]
            cumulated += self.count[i]
        return moved + self.stretch(start, self.reference.shape[0], cumulated, size)

    @cython.cfunc
    def stretch(
        self,
        start: cython.longlong,
        stop: cython.longlong,
        cumulated: cython.double,
        size: cython.double,
    ) -> cython.double:
        """Add up |cumulated n_rows - self.cumulated[i] size| for start <= i < stop."""
        turn: cython.longlong = start
        upper: cython.longlong = stop
        middle: cython.longlong
        own: cython.double = cumulated * self.n_rows
        # The table's counts overtake at most once; prefix sums cover both sides of that point.
        while turn < upper:
            middle = (turn + upper) // 2
            if self.cumulated[middle] * size <= own:
                turn = middle + 1
            else:
                upper = middle
        return ((turn - start) * own - size * (self.area[turn] - self.area[start])) + (
            size * (self.area[stop] - self.area[turn]) - (stop - turn) * own
        )

    @cython.cfunc
    def move_hierarchical(self, n_values: cython.Py_ssize_t, size: cython.double) -> cython.double:
        """Add up, over all nodes, the level times the amount that moves between its children."""
        i: cython.Py_ssize_t
        n_touched: cython.Py_ssize_t = 0
        node: cython.longlong
        surplus: cython.double
        moved: cython.double = 0
        # Nothing moves within a node that has none of the bucket's values: no child has a surplus.
        for i in range(n_values):
            node = self.node[self.value[i]]
            while node >= 0:
                if self.node_count[node] == 0:
                    self.touched[n_touched] = node
                    n_touched += 1
                self.node_count[node] += self.count[i]
                node = self.parent[node]
        for i in range(n_touched):
            node = self.touched[i]
            surplus = self.node_count[node] * self.n_rows - self.node_reference[node] * size
            if surplus > 0:
                self.node_gain[node] -= surplus
                if self.parent[node] >= 0:
                    self.node_gain[self.parent[node]] += surplus
        # The surplus of the children minus that of the node is the smaller of the children's total
        # surplus and total deficit.
        for i in range(n_touched):
            node = self.touched[i]
            moved += self.level[node] * self.node_gain[node]
            self.node_gain[node] = 0
            self.node_count[node] = 0
        return moved
