"""The small regression trees that gradient boosting adds up.

Written for Cython's pure Python mode. First and second derivatives of the loss are added up by bin
of every feature; the sums of the larger child of a split are those of its parent minus those of the
smaller child [Ke17]. The leaf with the largest gain is split next. Invariants: the rows of a node
are ``order[begin:end]``, the children of a node follow one another, and ``histograms`` of an open
node are the sums over its rows. The plain twin is ``plain_boosting_tree`` in
``tests/property/test_learners.py``.

References
----------
[Ke17] G. Ke et al.: LightGBM: A Highly Efficient Gradient Boosting Decision Tree. NeurIPS 2017.
[Fisher58] W. Fisher: On Grouping for Maximum Homogeneity. 1958: unordered values are sorted by the
ratio of their sums.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["BoostingGrower", "add_scores"]


@cython.cclass
class BoostingGrower:
    """Grows one small tree after another on the same rows.

    Parameters
    ----------
    places
        The bin of each feature in each distinct row. Bins are numbered through; those of feature f
        begin at ``first[f]``.
    is_unordered
        Whether the bins of a feature are divided into two sets, instead of at a threshold.
    rows
        How many rows each distinct row stands for.
    limits
        The fewest rows of a leaf, the smallest sum of second derivatives of a leaf, what is added
        to that sum, the rows that a value needs to be among those that are sorted, the smallest
        gain and difference of ratios, and the learning rate.
    order, spare
        Room for two numbers per distinct row.
    histograms
        Room for first derivative, second derivative and rows of each bin, for each node of a tree.
    ranked, ratio
        Room for two numbers per bin of a feature.
    spans
        Room for each node: its begin and end, its histogram, and its feature.
    sums
        Room for each node: first and second derivative, rows, value; its gain, and the first three
        for the left child of its best split.
    """

    places: cython.const[cython.int][:, ::1]
    first: cython.const[cython.longlong][::1]
    is_unordered: cython.const[cython.uchar][::1]
    rows: cython.const[cython.double][::1]
    limits: cython.const[cython.double][::1]
    order: cython.int[::1]
    spare: cython.int[::1]
    histograms: cython.double[:, :, ::1]
    ranked: cython.longlong[::1]
    ratio: cython.double[::1]
    spans: cython.longlong[:, ::1]
    sums: cython.double[:, ::1]
    # Of the feature at hand: how many of `ranked` go left, and from which end they are taken.
    n_left: cython.longlong
    step: cython.longlong

    def __init__(
        self,
        places: cython.const[cython.int][:, ::1],
        first: cython.const[cython.longlong][::1],
        is_unordered: cython.const[cython.uchar][::1],
        rows: cython.const[cython.double][::1],
        limits: cython.const[cython.double][::1],
        order: cython.int[::1],
        spare: cython.int[::1],
        histograms: cython.double[:, :, ::1],
        ranked: cython.longlong[::1],
        ratio: cython.double[::1],
        spans: cython.longlong[:, ::1],
        sums: cython.double[:, ::1],
    ) -> None:
        self.places = places
        self.first = first
        self.is_unordered = is_unordered
        self.rows = rows
        self.limits = limits
        self.order = order
        self.spare = spare
        self.histograms = histograms
        self.ranked = ranked
        self.ratio = ratio
        self.spans = spans
        self.sums = sums

    def grow(
        self,
        first_derivative: cython.const[cython.double][::1],
        second_derivative: cython.const[cython.double][::1],
        feature: cython.int[::1],
        child: cython.int[::1],
        is_unseen_left: cython.uchar[::1],
        goes_left: cython.ulonglong[:, ::1],
        value: cython.double[::1],
        scores: cython.double[::1],
    ) -> None:
        """Write a tree, one entry per node, and add the values of its leaves to the scores.

        A node sends the bins of its feature whose bits are set in ``goes_left`` to its left child,
        number ``child``; -1 is the feature of a leaf. A value that was not seen in training goes to
        the child with more rows. The length of the arrays limits the number of nodes.
        """
        i: cython.longlong
        n_nodes: cython.longlong = 1
        node: cython.longlong
        best: cython.longlong
        for i in range(self.order.shape[0]):
            self.order[i] = i
        self._open_root(first_derivative, second_derivative)
        self._find_split(0, goes_left)
        while n_nodes + 2 <= feature.shape[0]:
            best = -1
            for node in range(n_nodes):
                if self.sums[node, 4] > 0 and (
                    best < 0 or self.sums[node, 4] > self.sums[best, 4] + self.limits[4]
                ):
                    best = node
            if best < 0:
                break
            feature[best] = self.spans[best, 3]
            child[best] = n_nodes
            self._divide(best, n_nodes, goes_left)
            is_unseen_left[best] = self.sums[n_nodes, 2] > self.sums[n_nodes + 1, 2]
            self.sums[best, 4] = 0.0
            n_nodes += 2
            if n_nodes + 2 <= feature.shape[0]:
                self._open_children(best, n_nodes - 2, first_derivative, second_derivative)
                self._find_split(n_nodes - 2, goes_left)
                self._find_split(n_nodes - 1, goes_left)
            else:
                self.sums[n_nodes - 2, 4] = 0.0
                self.sums[n_nodes - 1, 4] = 0.0
        for node in range(n_nodes):
            value[node] = self.sums[node, 3] * self.limits[5]
            if child[node] < 0:
                for i in range(self.spans[node, 0], self.spans[node, 1]):
                    scores[self.order[i]] += value[node]

    @cython.cfunc
    @cython.exceptval(check=False)
    def _open_root(
        self,
        first_derivative: cython.const[cython.double][::1],
        second_derivative: cython.const[cython.double][::1],
    ) -> cython.void:
        b: cython.longlong
        j: cython.longlong
        self.spans[0, 0] = 0
        self.spans[0, 1] = self.order.shape[0]
        self.spans[0, 2] = 0
        self._add_up(0, first_derivative, second_derivative)
        for j in range(4):
            self.sums[0, j] = 0.0
        for b in range(self.first[0], self.first[1]):
            for j in range(3):
                self.sums[0, j] += self.histograms[0, b, j]

    @cython.cfunc
    @cython.exceptval(check=False)
    def _add_up(
        self,
        node: cython.longlong,
        first_derivative: cython.const[cython.double][::1],
        second_derivative: cython.const[cython.double][::1],
    ) -> cython.void:
        """Add up the rows of a node by bin."""
        slot: cython.longlong = self.spans[node, 2]
        b: cython.longlong
        i: cython.longlong
        f: cython.longlong
        row: cython.longlong
        one: cython.double
        two: cython.double
        n: cython.double
        for b in range(self.histograms.shape[1]):
            self.histograms[slot, b, 0] = 0.0
            self.histograms[slot, b, 1] = 0.0
            self.histograms[slot, b, 2] = 0.0
        for i in range(self.spans[node, 0], self.spans[node, 1]):
            row = self.order[i]
            one = first_derivative[row]
            two = second_derivative[row]
            n = self.rows[row]
            for f in range(self.places.shape[1]):
                b = self.places[row, f]
                self.histograms[slot, b, 0] += one
                self.histograms[slot, b, 1] += two
                self.histograms[slot, b, 2] += n

    @cython.cfunc
    @cython.exceptval(check=False)
    def _divide(
        self,
        node: cython.longlong,
        left: cython.longlong,
        goes_left: cython.ulonglong[:, ::1],
    ) -> cython.void:
        """Divide the rows of a node among its children, and set their sums."""
        feature: cython.longlong = self.spans[node, 3]
        n_left: cython.longlong = self.spans[node, 0]
        n_right: cython.longlong = 0
        i: cython.longlong
        j: cython.longlong
        b: cython.longlong
        for i in range(self.spans[node, 0], self.spans[node, 1]):
            b = self.places[self.order[i], feature] - self.first[feature]
            if goes_left[node, b >> 6] >> cython.cast(cython.int, b & 63) & 1:
                self.order[n_left] = self.order[i]
                n_left += 1
            else:
                self.spare[n_right] = self.order[i]
                n_right += 1
        for i in range(n_right):
            self.order[n_left + i] = self.spare[i]
        self.spans[left, 0] = self.spans[node, 0]
        self.spans[left, 1] = n_left
        self.spans[left + 1, 0] = n_left
        self.spans[left + 1, 1] = self.spans[node, 1]
        for j in range(3):
            self.sums[left, j] = self.sums[node, 5 + j]
            self.sums[left + 1, j] = self.sums[node, j] - self.sums[node, 5 + j]
        self.sums[left, 3] = self._value(self.sums[left, 0], self.sums[left, 1])
        self.sums[left + 1, 3] = self._value(self.sums[left + 1, 0], self.sums[left + 1, 1])

    @cython.cfunc
    @cython.exceptval(check=False)
    def _open_children(
        self,
        node: cython.longlong,
        left: cython.longlong,
        first_derivative: cython.const[cython.double][::1],
        second_derivative: cython.const[cython.double][::1],
    ) -> cython.void:
        """Add up the rows of the smaller child; the rest of its parent's are the other's."""
        small: cython.longlong = left
        large: cython.longlong = left + 1
        b: cython.longlong
        j: cython.longlong
        slot: cython.longlong = self.spans[node, 2]
        if self.spans[left, 1] - self.spans[left, 0] > self.spans[large, 1] - self.spans[large, 0]:
            small = left + 1
            large = left
        # Nodes come in pairs, so each pair needs one histogram beside that of its parent.
        self.spans[small, 2] = (left + 1) // 2
        self.spans[large, 2] = slot
        self._add_up(small, first_derivative, second_derivative)
        for b in range(self.histograms.shape[1]):
            for j in range(3):
                self.histograms[slot, b, j] -= self.histograms[self.spans[small, 2], b, j]

    @cython.cfunc
    @cython.exceptval(check=False)
    def _find_split(
        self, node: cython.longlong, goes_left: cython.ulonglong[:, ::1]
    ) -> cython.void:
        """Find the best split of a node; its gain is 0 if there is none."""
        f: cython.longlong
        i: cython.longlong
        b: cython.longlong
        n_ranked: cython.longlong
        half: cython.longlong
        self.sums[node, 4] = 0.0
        if self.sums[node, 2] < 2 * self.limits[0] or self.sums[node, 1] < self.limits[1]:
            return
        for f in range(self.places.shape[1]):
            self.n_left = 0
            if self.is_unordered[f]:
                n_ranked = self._rank_values(node, f)
                half = (n_ranked + 1) // 2
                self._try_prefixes(node, f, n_ranked, half, 1)
                self._try_prefixes(node, f, n_ranked, half - 1, -1)
            else:
                n_ranked = self._rank_in_order(node, f)
                self._try_prefixes(node, f, n_ranked, n_ranked - 1, 1)
            if not self.n_left:
                continue
            for i in range(4):
                goes_left[node, i] = 0
            for i in range(self.n_left):
                b = self.ranked[i if self.step > 0 else n_ranked - 1 - i] - self.first[f]
                goes_left[node, b >> 6] |= cython.cast(cython.ulonglong, 1) << cython.cast(
                    cython.int, b & 63
                )
            if not self.is_unordered[f]:
                # A bin that is empty here belongs below the threshold as well.
                for b in range(self.ranked[self.n_left - 1] - self.first[f]):
                    goes_left[node, b >> 6] |= cython.cast(cython.ulonglong, 1) << cython.cast(
                        cython.int, b & 63
                    )

    @cython.cfunc
    @cython.exceptval(check=False)
    def _rank_in_order(self, node: cython.longlong, f: cython.longlong) -> cython.longlong:
        """List the bins of an ordered feature that have rows, and return their number."""
        slot: cython.longlong = self.spans[node, 2]
        n_ranked: cython.longlong = 0
        b: cython.longlong
        for b in range(self.first[f], self.first[f + 1]):
            if self.histograms[slot, b, 2] > 0:
                self.ranked[n_ranked] = b
                n_ranked += 1
        return n_ranked

    @cython.cfunc
    @cython.exceptval(check=False)
    def _rank_values(self, node: cython.longlong, f: cython.longlong) -> cython.longlong:
        """List the values with enough rows by the ratio of their sums, and return their number."""
        slot: cython.longlong = self.spans[node, 2]
        support: cython.double = self.sums[node, 2] / self.sums[node, 1]
        n_ranked: cython.longlong = 0
        i: cython.longlong
        b: cython.longlong
        ratio: cython.double
        for b in range(self.first[f], self.first[f + 1]):
            if (
                self.histograms[slot, b, 2] > 0
                # In the first round these are whole numbers of rows but for rounding.
                and self.histograms[slot, b, 1] * support >= self.limits[3] - self.limits[4]
            ):
                ratio = self.histograms[slot, b, 0] / (self.histograms[slot, b, 1] + self.limits[3])
                i = n_ranked
                # Ratios that differ only by rounding are tied; the first value comes first.
                while i > 0 and self.ratio[i - 1] > ratio + self.limits[4]:
                    self.ratio[i] = self.ratio[i - 1]
                    self.ranked[i] = self.ranked[i - 1]
                    i -= 1
                self.ratio[i] = ratio
                self.ranked[i] = b
                n_ranked += 1
        return n_ranked

    @cython.cfunc
    @cython.exceptval(check=False)
    def _try_prefixes(
        self,
        node: cython.longlong,
        f: cython.longlong,
        n_ranked: cython.longlong,
        n_tries: cython.longlong,
        step: cython.longlong,
    ) -> cython.void:
        """Try to send the first 1 to `n_tries` of `ranked` to the left, or the last ones."""
        slot: cython.longlong = self.spans[node, 2]
        i: cython.longlong
        b: cython.longlong
        one: cython.double = 0.0
        two: cython.double = 0.0
        n: cython.double = 0.0
        gain: cython.double
        kept: cython.double = self.sums[node, 0] * self.sums[node, 3]
        for i in range(n_tries):
            b = self.ranked[i if step > 0 else n_ranked - 1 - i]
            one += self.histograms[slot, b, 0]
            two += self.histograms[slot, b, 1]
            n += self.histograms[slot, b, 2]
            if n < self.limits[0] or two < self.limits[1]:
                continue
            if self.sums[node, 2] - n < self.limits[0] or self.sums[node, 1] - two < self.limits[1]:
                break
            gain = (
                kept
                - one * self._value(one, two)
                - (self.sums[node, 0] - one)
                * self._value(self.sums[node, 0] - one, self.sums[node, 1] - two)
            )
            # Gains that differ only by rounding are tied; the first one wins.
            if gain > self.sums[node, 4] + self.limits[4]:
                self.sums[node, 4] = gain
                self.sums[node, 5] = one
                self.sums[node, 6] = two
                self.sums[node, 7] = n
                self.spans[node, 3] = f
                self.n_left = i + 1
                self.step = step

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _value(self, one: cython.double, two: cython.double) -> cython.double:
        """Return the value of a leaf, one Newton step with shrinkage."""
        return -one / (two + self.limits[2])


def add_scores(
    bins: cython.const[cython.int][:, ::1],
    feature: cython.const[cython.int][::1],
    child: cython.const[cython.int][::1],
    is_unseen_left: cython.const[cython.uchar][::1],
    goes_left: cython.const[cython.ulonglong][:, ::1],
    value: cython.const[cython.double][::1],
    scores: cython.double[::1],
) -> None:
    """Add to the score of each row the value of the leaf that it reaches; -1 is an unseen value."""
    row: cython.Py_ssize_t
    node: cython.longlong
    b: cython.longlong
    is_left: cython.bint
    for row in range(bins.shape[0]):
        node = 0
        while feature[node] >= 0:
            b = bins[row, feature[node]]
            if b < 0:
                is_left = is_unseen_left[node] != 0
            else:
                is_left = (goes_left[node, b >> 6] >> cython.cast(cython.int, b & 63) & 1) != 0
            node = child[node] + (not is_left)
        scores[row] += value[node]
