"""A decision tree by the Gini index, grown until its leaves are pure or too small to split.

Written for Cython's pure Python mode. The entries, distinct rows with a class and a count, stay
sorted by every feature while they are divided, as in [Breiman84], so that the best split of a node
is found in one pass per feature, in whole numbers, however many classes there are. Invariant: the
entries of a node are those from ``begin`` to ``end`` in every line of ``order``, and its children
follow one another. The plain twin is ``plain_tree`` in ``tests/property/test_learners.py``.

References
----------
[Breiman84] L. Breiman et al.: Classification and Regression Trees. 1984.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["GiniGrower", "find_leaves"]


@cython.cclass
class GiniGrower:
    """Grows a tree of pure nodes, as long as every leaf has enough rows.

    Parameters
    ----------
    codes
        The code of each feature in each entry, one line per feature.
    label, count
        The class of each entry, and its number of rows.
    is_apart
        Whether a feature is split into one value and the rest, instead of at a threshold.
    least
        The fewest rows of a leaf.
    order
        The entries sorted by each feature, one line per feature; they are reordered.
    goes_left, spare
        Room for a mark and a number per entry.
    held, left
        A number per class, all 0.
    """

    codes: cython.const[cython.int][:, ::1]
    label: cython.const[cython.int][::1]
    count: cython.const[cython.longlong][::1]
    is_apart: cython.const[cython.uchar][::1]
    least: cython.longlong
    order: cython.int[:, ::1]
    goes_left: cython.uchar[::1]
    spare: cython.int[::1]
    held: cython.longlong[::1]
    left: cython.longlong[::1]
    # The best split so far of the node at hand: the larger the purity, the smaller the Gini index.
    purity: cython.double
    feature: cython.int
    cut: cython.longlong

    def __init__(
        self,
        codes: cython.const[cython.int][:, ::1],
        label: cython.const[cython.int][::1],
        count: cython.const[cython.longlong][::1],
        is_apart: cython.const[cython.uchar][::1],
        least: cython.longlong,
        order: cython.int[:, ::1],
        goes_left: cython.uchar[::1],
        spare: cython.int[::1],
        held: cython.longlong[::1],
        left: cython.longlong[::1],
    ) -> None:
        self.codes = codes
        self.label = label
        self.count = count
        self.is_apart = is_apart
        self.least = least
        self.order = order
        self.goes_left = goes_left
        self.spare = spare
        self.held = held
        self.left = left

    def grow(
        self,
        begin: cython.longlong[::1],
        end: cython.longlong[::1],
        feature: cython.int[::1],
        cut: cython.longlong[::1],
        child: cython.longlong[::1],
        majority: cython.int[::1],
    ) -> cython.longlong:
        """Write a tree, one entry per node, and return the number of nodes.

        A node sends to its left child, number ``child``, the rows whose doubled code of ``feature``
        is at most ``cut``, or equals it if the feature is apart; -1 is the feature of a leaf.
        """
        n_nodes: cython.longlong = 1
        node: cython.longlong = 0
        middle: cython.longlong
        begin[0] = 0
        end[0] = self.order.shape[1]
        while node < n_nodes:
            majority[node] = self._find_split(begin[node], end[node])
            feature[node] = self.feature
            cut[node] = self.cut
            child[node] = -1
            if self.feature >= 0:
                middle = self._divide(begin[node], end[node])
                child[node] = n_nodes
                begin[n_nodes] = begin[node]
                end[n_nodes] = middle
                begin[n_nodes + 1] = middle
                end[n_nodes + 1] = end[node]
                n_nodes += 2
            node += 1
        return n_nodes

    @cython.cfunc
    @cython.exceptval(check=False)
    def _find_split(self, begin: cython.longlong, end: cython.longlong) -> cython.int:
        """Find the best split of a node, and return its most frequent class."""
        i: cython.longlong
        k: cython.int
        f: cython.int
        n_rows: cython.longlong = 0
        squares: cython.longlong = 0
        majority: cython.int = self.label[self.order[0, begin]]
        self.purity = -1.0
        self.feature = -1
        self.cut = 0
        for i in range(begin, end):
            k = self.label[self.order[0, i]]
            n_rows += self.count[self.order[0, i]]
            self.held[k] += self.count[self.order[0, i]]
        for i in range(begin, end):
            k = self.label[self.order[0, i]]
            # The classes are visited once per entry: what is counted is marked by `left`.
            if self.left[k] == 0:
                self.left[k] = 1
                squares += self.held[k] * self.held[k]
            if self.held[k] > self.held[majority] or (
                self.held[k] == self.held[majority] and k < majority
            ):
                majority = k
        for i in range(begin, end):
            self.left[self.label[self.order[0, i]]] = 0
        if squares < n_rows * n_rows and n_rows >= 2 * self.least:
            for f in range(self.order.shape[0]):
                if self.is_apart[f]:
                    self._try_values(f, begin, end, n_rows, squares)
                else:
                    self._try_thresholds(f, begin, end, n_rows, squares)
        for i in range(begin, end):
            self.held[self.label[self.order[0, i]]] = 0
        return majority

    @cython.cfunc
    @cython.exceptval(check=False)
    def _try_thresholds(
        self,
        f: cython.int,
        begin: cython.longlong,
        end: cython.longlong,
        n_rows: cython.longlong,
        squares: cython.longlong,
    ) -> cython.void:
        """Try to split between any two codes of a feature that follow one another in the node."""
        i: cython.longlong = begin
        e: cython.int
        k: cython.int
        c: cython.longlong
        code: cython.int
        n_left: cython.longlong = 0
        left: cython.longlong = 0
        right: cython.longlong = squares
        while i < end:
            code = self.codes[f, self.order[f, i]]
            while i < end and self.codes[f, self.order[f, i]] == code:
                e = self.order[f, i]
                k = self.label[e]
                c = self.count[e]
                left += c * (2 * self.left[k] + c)
                right -= c * (2 * (self.held[k] - self.left[k]) - c)
                self.left[k] += c
                n_left += c
                i += 1
            if i == end or n_rows - n_left < self.least:
                break
            if n_left >= self.least:
                self._keep_better(
                    f, code + self.codes[f, self.order[f, i]], left, n_left, right, n_rows
                )
        while i > begin:
            i -= 1
            self.left[self.label[self.order[f, i]]] = 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def _try_values(
        self,
        f: cython.int,
        begin: cython.longlong,
        end: cython.longlong,
        n_rows: cython.longlong,
        squares: cython.longlong,
    ) -> cython.void:
        """Try to part each value of a feature from the rest."""
        i: cython.longlong = begin
        first: cython.longlong
        e: cython.int
        k: cython.int
        c: cython.longlong
        code: cython.int
        n_here: cython.longlong
        here: cython.longlong
        both: cython.longlong
        while i < end:
            first = i
            code = self.codes[f, self.order[f, i]]
            n_here = 0
            here = 0
            both = 0
            while i < end and self.codes[f, self.order[f, i]] == code:
                e = self.order[f, i]
                k = self.label[e]
                c = self.count[e]
                here += c * (2 * self.left[k] + c)
                both += c * self.held[k]
                self.left[k] += c
                n_here += c
                i += 1
            if n_here >= self.least and n_rows - n_here >= self.least:
                self._keep_better(f, 2 * code, here, n_here, squares - 2 * both + here, n_rows)
            while first < i:
                self.left[self.label[self.order[f, first]]] = 0
                first += 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _keep_better(
        self,
        f: cython.int,
        cut: cython.longlong,
        left: cython.longlong,
        n_left: cython.longlong,
        right: cython.longlong,
        n_rows: cython.longlong,
    ) -> cython.void:
        purity: cython.double = cython.cast(cython.double, left) / n_left + cython.cast(
            cython.double, right
        ) / (n_rows - n_left)
        # Splits that differ only by rounding are tied; the first one wins.
        if purity > self.purity * (1.0 + 1e-12):
            self.purity = purity
            self.feature = f
            self.cut = cut

    @cython.cfunc
    @cython.exceptval(check=False)
    def _divide(self, begin: cython.longlong, end: cython.longlong) -> cython.longlong:
        """Divide the entries of a node, sorted by every feature, and return the middle."""
        f: cython.int
        i: cython.longlong
        e: cython.int
        doubled: cython.longlong
        n_left: cython.longlong = begin
        n_right: cython.longlong
        is_apart: cython.uchar = self.is_apart[self.feature]
        for i in range(begin, end):
            e = self.order[0, i]
            doubled = 2 * cython.cast(cython.longlong, self.codes[self.feature, e])
            self.goes_left[e] = doubled == self.cut if is_apart else doubled <= self.cut
        for f in range(self.order.shape[0]):
            n_left = begin
            n_right = 0
            for i in range(begin, end):
                e = self.order[f, i]
                if self.goes_left[e]:
                    self.order[f, n_left] = e
                    n_left += 1
                else:
                    self.spare[n_right] = e
                    n_right += 1
            for i in range(n_right):
                self.order[f, n_left + i] = self.spare[i]
        return n_left


def find_leaves(
    rows: cython.const[cython.int][:, ::1],
    is_apart: cython.const[cython.uchar][::1],
    feature: cython.const[cython.int][::1],
    cut: cython.const[cython.longlong][::1],
    child: cython.const[cython.longlong][::1],
    out: cython.longlong[::1],
) -> None:
    """Write for each row of codes the leaf of a tree of `GiniGrower` that it reaches."""
    row: cython.Py_ssize_t
    node: cython.longlong
    doubled: cython.longlong
    for row in range(rows.shape[0]):
        node = 0
        while feature[node] >= 0:
            doubled = 2 * cython.cast(cython.longlong, rows[row, feature[node]])
            if is_apart[feature[node]]:
                node = child[node] + (doubled != cut[node])
            else:
                node = child[node] + (doubled > cut[node])
        out[row] = node
