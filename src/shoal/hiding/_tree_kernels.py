"""Gradient boosting of trees over features of few bins ([Friedman01], grown as in [Ke17]).

Computes an additive model of the logarithms of the probabilities of classes. Every round grows one
tree per class on the derivatives of the likelihood, the leaf with the largest gain first. A split
says which bins of a feature go left. The bins of a feature are its values, and after these two
more, *missing* and *blank*. An ordered feature is split after a value, with these two on either
side; a categorical one after a bin in the order of their mean gradients; both also into *blank* and
everything else.

Invariant: the histogram of a leaf has for each bin the sum of the gradients of its cells, and in
one number how many these are and the sum of their second derivatives. Derivatives are rounded to
multiples of 2**-30 and 2**-20. So sums do not depend on their order, and the histogram of one child
is that of the parent less that of the other child.

Plain twin: `PlainTrees` in tests/property/test_boosted_trees.py tries every split as it is defined.

Written for Cython's pure Python mode: compiled when the package is built, otherwise run as plain
Python. There are fewer than 2**22 cells, so that both parts of a number have room.

References
----------
[Friedman01] J. H. Friedman: Greedy Function Approximation: A Gradient Boosting Machine. The Annals
of Statistics 29(5), 2001; algorithm 6.
[Ke17] G. Ke et al.: LightGBM: A Highly Efficient Gradient Boosting Decision Tree. NIPS 2017.
"""

from __future__ import annotations

import numpy as np

from shoal.core.pausing import pause

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import exp, floor
else:
    from math import exp, floor

__all__ = ["Booster"]

_MOST_BINS = 256


@cython.cclass
class Booster:
    """Boosted trees for cells of `n_classes`; takes their bins, features, labels and limits.

    `bins` has one row per cell; a feature with `n_values` has bins up to `n_values + 1`.
    """

    n_cells: cython.Py_ssize_t
    n_features: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t
    n_rounds: cython.Py_ssize_t
    n_leaves: cython.Py_ssize_t
    # The fewest cells of a leaf; those of a category that may go left; and its smoothing.
    fewest: cython.longlong
    supported: cython.longlong
    smoothing: cython.double
    rate: cython.double
    penalty: cython.double
    bins: cython.const[cython.uchar][:, ::1]
    n_values: cython.const[cython.longlong][::1]
    is_ordered: cython.const[cython.uchar][::1]
    label: cython.const[cython.longlong][::1]
    # Where the bins of each feature start in a histogram.
    start: cython.longlong[::1]
    # For each cell its scores and probabilities, and its derivatives for the current class: the
    # gradient, and 1 and the second derivative in one number.
    score: cython.double[:, ::1]
    probability: cython.double[:, ::1]
    derivative: cython.longlong[:, ::1]
    # The cells leaf by leaf; for each leaf of the tree where its cells start and end, its node and
    # the sums over its cells.
    cell: cython.int[::1]
    moved: cython.int[::1]
    first: cython.longlong[::1]
    last: cython.longlong[::1]
    node_of: cython.longlong[::1]
    total: cython.longlong[:, ::1]
    histogram: cython.longlong[:, ::1]
    # The best split of each leaf: its gain, its feature, and which bins go left.
    gain: cython.double[::1]
    best: cython.longlong[::1]
    best_left: cython.uchar[:, ::1]
    # The bins of a categorical feature, in the order of their mean gradients.
    order: cython.longlong[::1]
    mean: cython.double[::1]
    # The nodes of all trees: feature or -1, which bins go left, the left child, the right one
    # beside it, and the value that a leaf adds. Each tree starts at a node of `root`.
    n_nodes: cython.Py_ssize_t
    root: cython.longlong[::1]
    feature: cython.longlong[::1]
    left: cython.uchar[:, ::1]
    child: cython.longlong[::1]
    value: cython.double[::1]
    prior: cython.double[::1]

    def __init__(
        self,
        bins: object,
        n_values: object,
        is_ordered: object,
        label: object,
        n_classes: object,
        limits: object,
    ) -> None:
        f: cython.Py_ssize_t
        self.bins, self.n_values, self.is_ordered, self.label = bins, n_values, is_ordered, label
        self.n_cells, self.n_features = bins.shape
        self.n_classes = n_classes
        self.n_rounds, self.n_leaves = limits.n_rounds, limits.n_leaves
        self.fewest, self.supported = limits.fewest_cells, limits.fewest_of_category
        self.smoothing, self.rate, self.penalty = limits.smoothing, limits.rate, limits.penalty
        self.start = np.zeros(self.n_features + 1, dtype=np.int64)
        for f in range(self.n_features):
            self.start[f + 1] = self.start[f] + self.n_values[f] + 2
        n_trees = self.n_rounds * self.n_classes
        n_nodes = n_trees * (2 * self.n_leaves - 1)
        self.score = np.zeros((self.n_cells, self.n_classes))
        self.probability = np.zeros((self.n_cells, self.n_classes))
        self.derivative = np.zeros((self.n_cells, 2), dtype=np.int64)
        self.cell = np.zeros(self.n_cells, dtype=np.int32)
        self.moved = np.zeros(self.n_cells, dtype=np.int32)
        self.first = np.zeros(self.n_leaves, dtype=np.int64)
        self.last = np.zeros(self.n_leaves, dtype=np.int64)
        self.node_of = np.zeros(self.n_leaves, dtype=np.int64)
        self.total = np.zeros((self.n_leaves, 2), dtype=np.int64)
        self.histogram = np.zeros((self.n_leaves, 2 * self.start[self.n_features]), dtype=np.int64)
        self.gain = np.zeros(self.n_leaves)
        self.best = np.zeros(self.n_leaves, dtype=np.int64)
        self.best_left = np.zeros((self.n_leaves, _MOST_BINS), dtype=np.uint8)
        self.order = np.zeros(_MOST_BINS, dtype=np.int64)
        self.mean = np.zeros(_MOST_BINS)
        self.n_nodes = 0
        self.root = np.zeros(n_trees, dtype=np.int64)
        self.feature = np.full(n_nodes, -1, dtype=np.int64)
        self.left = np.zeros((n_nodes, _MOST_BINS), dtype=np.uint8)
        self.child = np.zeros(n_nodes, dtype=np.int64)
        self.value = np.zeros(n_nodes)
        self.prior = np.log(np.bincount(label, minlength=n_classes) / self.n_cells)

    def fit(self) -> None:
        """Grow the trees."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        turn: cython.Py_ssize_t
        for i in range(self.n_cells):
            for k in range(self.n_classes):
                self.score[i, k] = self.prior[k]
        for turn in range(self.n_rounds):
            pause()
            with cython.nogil:
                self._find_probabilities()
                for k in range(self.n_classes):
                    self._derive(k)
                    self._grow(turn * self.n_classes + k)
                    self._add(k)

    def add_scores(
        self,
        bins: cython.const[cython.uchar][:, ::1],
        used: cython.const[cython.uchar][::1],
        out: cython.double[:, ::1],
    ) -> None:
        """Add the values of the trees that are used to the scores of cells in `out`."""
        i: cython.Py_ssize_t
        tree: cython.Py_ssize_t
        node: cython.Py_ssize_t
        for tree in range(self.n_rounds * self.n_classes):
            if not used[tree]:
                continue
            for i in range(bins.shape[0]):
                node = self.root[tree]
                while self.feature[node] >= 0:
                    node = self.child[node] + 1 - self.left[node, bins[i, self.feature[node]]]
                out[i, tree % self.n_classes] += self.value[node]

    def features_of_trees(self) -> object:
        """Return which features each tree asks for, one row per tree."""
        asked = np.zeros((self.n_rounds * self.n_classes, self.n_features), dtype=bool)
        tree: cython.Py_ssize_t = -1
        node: cython.Py_ssize_t
        for node in range(self.n_nodes):
            if tree + 1 < len(asked) and node == self.root[tree + 1]:
                tree += 1
            if self.feature[node] >= 0:
                asked[tree, self.feature[node]] = True
        return asked

    @property
    def priors(self) -> object:
        """The scores before the first tree."""
        return np.asarray(self.prior)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _find_probabilities(self) -> cython.void:
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        highest: cython.double
        total: cython.double
        for i in range(self.n_cells):
            highest = self.score[i, 0]
            for k in range(1, self.n_classes):
                highest = max(highest, self.score[i, k])
            total = 0.0
            for k in range(self.n_classes):
                self.probability[i, k] = exp(self.score[i, k] - highest)
                total += self.probability[i, k]
            for k in range(self.n_classes):
                self.probability[i, k] /= total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _derive(self, k: cython.Py_ssize_t) -> cython.void:
        """Find the derivatives for a class, and put all cells into one leaf."""
        i: cython.Py_ssize_t
        p: cython.double
        one: cython.longlong = 1
        one <<= 40
        gradients: cython.longlong = 0
        others: cython.longlong = 0
        for i in range(self.n_cells):
            p = self.probability[i, k]
            self.derivative[i, 1] = one + cython.cast(
                cython.longlong, floor(p * (1.0 - p) * 1048576.0 + 0.5)
            )
            if self.label[i] == k:
                p -= 1.0
            self.derivative[i, 0] = cython.cast(cython.longlong, floor(p * 1073741824.0 + 0.5))
            gradients += self.derivative[i, 0]
            others += self.derivative[i, 1]
            self.cell[i] = i
        self.first[0], self.last[0] = 0, self.n_cells
        self.total[0, 0], self.total[0, 1] = gradients, others

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _grow(self, tree: cython.Py_ssize_t) -> cython.void:
        """Grow a tree; its leaves are in `first`, `last`, and `node_of`."""
        n_leaves: cython.Py_ssize_t = 1
        leaf: cython.Py_ssize_t
        one: cython.Py_ssize_t
        self.root[tree] = self.n_nodes
        self.node_of[0] = self.n_nodes
        self.n_nodes += 1
        if self.n_leaves > 1:
            self._count(0)
            self._choose(0)
        while n_leaves < self.n_leaves:
            leaf = 0
            for one in range(1, n_leaves):
                if self.gain[one] > self.gain[leaf]:
                    leaf = one
            if self.gain[leaf] <= 0.0:
                break
            self._split(leaf, n_leaves)
            n_leaves += 1
            if n_leaves < self.n_leaves:
                self._look_at_children(leaf, n_leaves - 1)
        for leaf in range(n_leaves, self.n_leaves):
            self.first[leaf] = self.last[leaf] = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _look_at_children(self, left: cython.Py_ssize_t, right: cython.Py_ssize_t) -> cython.void:
        """Find the best splits of two new leaves; `left` still has the histogram of both."""
        b: cython.Py_ssize_t
        n_left: cython.longlong = self.last[left] - self.first[left]
        n_right: cython.longlong = self.last[right] - self.first[right]
        if max(n_left, n_right) < 2 * self.fewest:
            self.gain[left] = self.gain[right] = 0.0
            return
        if n_left < n_right:
            # The smaller child is counted, the larger one is what remains.
            for b in range(self.histogram.shape[1]):
                self.histogram[right, b] = self.histogram[left, b]
            self._count(left)
            for b in range(self.histogram.shape[1]):
                self.histogram[right, b] -= self.histogram[left, b]
        else:
            self._count(right)
            for b in range(self.histogram.shape[1]):
                self.histogram[left, b] -= self.histogram[right, b]
        self._choose(left)
        self._choose(right)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count(self, leaf: cython.Py_ssize_t) -> cython.void:
        """Sum the derivatives of the cells of a leaf by bin."""
        b: cython.Py_ssize_t
        f: cython.Py_ssize_t
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        gradient: cython.longlong
        other: cython.longlong
        # Views of its own: the compiler cannot know that no write changes those of the object.
        sums: cython.longlong[::1] = self.histogram[leaf]
        bins: cython.const[cython.uchar][:, ::1] = self.bins
        start: cython.longlong[::1] = self.start
        cell: cython.int[::1] = self.cell
        derivative: cython.longlong[:, ::1] = self.derivative
        n_features: cython.Py_ssize_t = self.n_features
        for b in range(sums.shape[0]):
            sums[b] = 0
        for i in range(self.first[leaf], self.last[leaf]):
            row = cell[i]
            gradient, other = derivative[row, 0], derivative[row, 1]
            for f in range(n_features):
                b = 2 * (start[f] + bins[row, f])
                sums[b] += gradient
                sums[b + 1] += other

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _choose(self, leaf: cython.Py_ssize_t) -> cython.void:
        """Find the split of a leaf with the largest gain; 0 if none gains anything."""
        f: cython.Py_ssize_t
        blank: cython.Py_ssize_t
        self.gain[leaf] = 0.0
        if self.total[leaf, 1] >> 40 < 2 * self.fewest:
            return
        for f in range(self.n_features):
            blank = self.start[f + 1] - 1
            if self._number(leaf, blank) > 0:
                self.order[0] = blank - self.start[f]
                self._try(leaf, f, 1, self._gradient(leaf, blank), self._other(leaf, blank))
            if self.is_ordered[f]:
                self._try_values(leaf, f)
            else:
                self._try_categories(leaf, f)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _gradient(self, leaf: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.longlong:
        return self.histogram[leaf, 2 * b]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _other(self, leaf: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.longlong:
        return self.histogram[leaf, 2 * b + 1]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _number(self, leaf: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.longlong:
        return self.histogram[leaf, 2 * b + 1] >> 40

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _try_values(self, leaf: cython.Py_ssize_t, f: cython.Py_ssize_t) -> cython.void:
        """Try to split an ordered feature after each value, without hidden cells and with them."""
        v: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.n_values[f]
        begin: cython.Py_ssize_t = self.start[f]
        hidden_gradient: cython.longlong = self._gradient(leaf, begin + n)
        hidden_other: cython.longlong = self._other(leaf, begin + n)
        gradient: cython.longlong = 0
        other: cython.longlong = 0
        hidden_gradient += self._gradient(leaf, begin + n + 1)
        hidden_other += self._other(leaf, begin + n + 1)
        for v in range(n):
            self.order[v] = v
        for v in range(n):
            gradient += self._gradient(leaf, begin + v)
            other += self._other(leaf, begin + v)
            self._try(leaf, f, v + 1, gradient, other)
        if not hidden_other:
            return
        # The same once more, with the hidden cells at the front.
        self.order[0], self.order[1] = n, n + 1
        for v in range(n):
            self.order[v + 2] = v
        gradient, other = hidden_gradient, hidden_other
        for v in range(n - 1):
            gradient += self._gradient(leaf, begin + v)
            other += self._other(leaf, begin + v)
            self._try(leaf, f, v + 3, gradient, other)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _try_categories(self, leaf: cython.Py_ssize_t, f: cython.Py_ssize_t) -> cython.void:
        """Try the bins with enough cells in the order of their mean gradients."""
        b: cython.Py_ssize_t
        place: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        begin: cython.Py_ssize_t = self.start[f]
        gradient: cython.longlong = 0
        other: cython.longlong = 0
        mean: cython.double
        for b in range(self.n_values[f] + 2):
            if self._number(leaf, begin + b) < self.supported:
                continue
            mean = self._gradient(leaf, begin + b) / 1073741824.0
            mean /= self._second(self._other(leaf, begin + b)) + self.smoothing
            place = n
            while place > 0 and self.mean[place - 1] > mean:
                self.mean[place], self.order[place] = self.mean[place - 1], self.order[place - 1]
                place -= 1
            self.mean[place], self.order[place] = mean, b
            n += 1
        for place in range(n):
            gradient += self._gradient(leaf, begin + self.order[place])
            other += self._other(leaf, begin + self.order[place])
            self._try(leaf, f, place + 1, gradient, other)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _second(self, other: cython.longlong) -> cython.double:
        """Return the sum of second derivatives without the number of cells beside it."""
        return (other - ((other >> 40) << 40)) / 1048576.0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _merit(self, gradient: cython.longlong, other: cython.longlong) -> cython.double:
        g: cython.double = gradient / 1073741824.0
        return g * g / (self._second(other) + self.penalty)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _try(
        self,
        leaf: cython.Py_ssize_t,
        f: cython.Py_ssize_t,
        n_first: cython.Py_ssize_t,
        gradient: cython.longlong,
        other: cython.longlong,
    ) -> cython.void:
        """Keep a split if it is the best so far: the first bins of `order` go left."""
        place: cython.Py_ssize_t
        gain: cython.double
        rest: cython.longlong = self.total[leaf, 1] - other
        if other >> 40 < self.fewest or rest >> 40 < self.fewest:
            return
        gain = self._merit(gradient, other)
        gain += self._merit(self.total[leaf, 0] - gradient, rest)
        gain -= self._merit(self.total[leaf, 0], self.total[leaf, 1])
        if gain <= self.gain[leaf]:
            return
        self.gain[leaf] = gain
        self.best[leaf] = f
        for place in range(self.n_values[f] + 2):
            self.best_left[leaf, place] = 0
        for place in range(n_first):
            self.best_left[leaf, self.order[place]] = 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _split(self, leaf: cython.Py_ssize_t, right: cython.Py_ssize_t) -> cython.void:
        """Move the cells that go right into a new leaf, both in their order."""
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        row: cython.Py_ssize_t
        f: cython.Py_ssize_t = self.best[leaf]
        node: cython.Py_ssize_t = self.node_of[leaf]
        place: cython.Py_ssize_t = self.first[leaf]
        n_moved: cython.Py_ssize_t = 0
        gradient: cython.longlong = 0
        other: cython.longlong = 0
        self.feature[node] = f
        self.child[node] = self.n_nodes
        for b in range(self.n_values[f] + 2):
            self.left[node, b] = self.best_left[leaf, b]
        for i in range(self.first[leaf], self.last[leaf]):
            row = self.cell[i]
            if self.best_left[leaf, self.bins[row, f]]:
                self.cell[place] = row
                place += 1
                gradient += self.derivative[row, 0]
                other += self.derivative[row, 1]
            else:
                self.moved[n_moved] = row
                n_moved += 1
        for i in range(n_moved):
            self.cell[place + i] = self.moved[i]
        self.first[right], self.last[right] = place, self.last[leaf]
        self.last[leaf] = place
        self.total[right, 0] = self.total[leaf, 0] - gradient
        self.total[right, 1] = self.total[leaf, 1] - other
        self.total[leaf, 0], self.total[leaf, 1] = gradient, other
        self.node_of[leaf], self.node_of[right] = self.n_nodes, self.n_nodes + 1
        self.n_nodes += 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add(self, k: cython.Py_ssize_t) -> cython.void:
        """Add the values of the leaves of the tree to the scores of a class."""
        leaf: cython.Py_ssize_t
        i: cython.Py_ssize_t
        value: cython.double
        for leaf in range(self.n_leaves):
            if self.first[leaf] == self.last[leaf]:
                continue
            value = self.total[leaf, 0] / 1073741824.0
            value = -self.rate * value / (self._second(self.total[leaf, 1]) + self.penalty)
            self.value[self.node_of[leaf]] = value
            for i in range(self.first[leaf], self.last[leaf]):
                self.score[self.cell[i], k] += value
