"""Sliced l-diversity of the two sides of a cut.

`DiverseSide` judges strict cuts and `SignatureSums` relaxed ones; the plain twin of both is
`shoal.slicing.plain_partition.diversity_check`. Written for Cython's pure Python mode: compiled
when the package is built, otherwise run as plain Python. Arrays are contiguous and writable. Counts
of rows stay below 2**31, so that products of two of them fit 64 bits.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["DiverseSide", "SignatureSums"]


@cython.cclass
class DiverseSide:
    """Whether a side of a strict cut is diverse; its rows match no other bucket.

    Invariant: `in_pair` and `in_known` are all 0 between calls.

    Parameters
    ----------
    n_targets
        The number of sensitive attributes.
    pair, known
        For each profile (a value of all sensitive columns together) and each sensitive attribute:
        the number of the pair (u, s), and that of u.
    n_pairs, n_known
        How many of these numbers there are.
    numerator, denominator
        The largest share of a value s among the rows of one u.
    least_values
        The fewest values among the rows of one u; 0 if shares are bounded instead.
    side_profile, side_count
        The buffers that hold the side to judge: its profiles, and how many rows have each.
    """

    n_targets: cython.Py_ssize_t
    pair: cython.longlong[::1]
    known: cython.longlong[::1]
    numerator: cython.longlong
    denominator: cython.longlong
    least_values: cython.longlong
    side_profile: cython.longlong[::1]
    side_count: cython.longlong[::1]
    in_pair: cython.longlong[::1]
    in_known: cython.longlong[::1]

    def __init__(
        self,
        n_targets: cython.Py_ssize_t,
        pair: cython.longlong[::1],
        known: cython.longlong[::1],
        n_pairs: cython.Py_ssize_t,
        n_known: cython.Py_ssize_t,
        numerator: cython.longlong,
        denominator: cython.longlong,
        least_values: cython.longlong,
        side_profile: cython.longlong[::1],
        side_count: cython.longlong[::1],
    ) -> None:
        self.n_targets = n_targets
        self.pair = pair
        self.known = known
        self.numerator = numerator
        self.denominator = denominator
        self.least_values = least_values
        self.side_profile = side_profile
        self.side_count = side_count
        self.in_pair = np.zeros(n_pairs, dtype=np.int64)
        self.in_known = np.zeros(n_known, dtype=np.int64)

    def keep(self, n_profiles: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:  # noqa: ARG002 - as the partitioner calls
        """Return whether the side is diverse in every sensitive attribute."""
        is_distinct: cython.bint = self.least_values > 0
        is_kept: cython.bint = True
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        place: cython.Py_ssize_t
        pair: cython.longlong
        # Count rows (or, for distinct diversity, different values) by u, and rows by (u, s).
        for i in range(n_profiles):
            place = self.side_profile[i] * self.n_targets
            for j in range(self.n_targets):
                pair = self.pair[place + j]
                if is_distinct:
                    self.in_known[self.known[place + j]] += self.in_pair[pair] == 0
                else:
                    self.in_known[self.known[place + j]] += self.side_count[i]
                self.in_pair[pair] += self.side_count[i]
        for i in range(n_profiles):
            place = self.side_profile[i] * self.n_targets
            for j in range(self.n_targets):
                if is_distinct:
                    is_kept = self.in_known[self.known[place + j]] >= self.least_values
                else:
                    is_kept = (
                        self.in_pair[self.pair[place + j]] * self.denominator
                        <= self.in_known[self.known[place + j]] * self.numerator
                    )
                if not is_kept:
                    break
            if not is_kept:
                break
        # Clear only what was touched: sides are small, tables are not.
        for i in range(n_profiles):
            place = self.side_profile[i] * self.n_targets
            for j in range(self.n_targets):
                self.in_pair[self.pair[place + j]] = 0
                self.in_known[self.known[place + j]] = 0
        return is_kept


@cython.cclass
class SignatureSums:
    """p(t, s) of every distinct signature, kept up to date as buckets are cut in two.

    A signature is what is known of a row, as the values of some features (the known part of a
    column, or of what two columns share). For each signature it keeps F, the sum over buckets of
    |B| f(t, B), and for each s that occurs with its u the sum N of |B| f(t, B) D(t, B)[s], so that
    p(t, s) = N / F. Only signatures that match the bucket to be cut change. The sums are floats
    with a bound on their error (`slack`); if that leaves a comparison open, `decide` is called. A
    value whose share is too large in no matching bucket needs no comparison, which settles the
    common ties in whole numbers.

    Parameters
    ----------
    layout
        The `shoal.slicing.relaxed.Signatures`.
    numerator, denominator
        The largest share of a value within a bucket, for quotients of counts.
    share
        The same for sums over buckets, rounded.
    least_values
        The fewest values with a share above 0; 0 if shares are bounded instead.
    decide
        Called with a signature and a pair (u, s); returns whether the share is small enough.
    """

    decide: object
    n_features: cython.Py_ssize_t
    n_targets: cython.Py_ssize_t
    numerator: cython.longlong
    denominator: cython.longlong
    least_values: cython.longlong
    share: cython.double
    feature: cython.longlong[::1]
    pair: cython.longlong[::1]
    target: cython.longlong[::1]
    signature: cython.longlong[::1]
    multiplied: cython.longlong[::1]
    divided: cython.longlong[::1]
    part_start: cython.longlong[::1]
    known: cython.longlong[::1]
    pair_start: cython.longlong[::1]
    group: cython.longlong[::1]
    main_start: cython.longlong[::1]
    by_main: cython.longlong[::1]
    sum_start: cython.longlong[::1]
    total: cython.double[::1]
    slack: cython.double[::1]
    amount: cython.double[::1]
    n_above: cython.int[::1]
    # The two sides of the cut: rows by value of a feature, and by pair.
    left: cython.longlong[::1]
    right: cython.longlong[::1]
    left_pair: cython.longlong[::1]
    right_pair: cython.longlong[::1]
    n_seen: cython.Py_ssize_t
    seen: cython.longlong[::1]
    n_seen_pairs: cython.Py_ssize_t
    seen_pair: cython.longlong[::1]

    def __init__(
        self,
        layout: object,
        numerator: cython.longlong,
        denominator: cython.longlong,
        share: cython.double,
        least_values: cython.longlong,
        decide: object,
    ) -> None:
        n_values: cython.Py_ssize_t = layout.n_values
        n_pairs: cython.Py_ssize_t = layout.n_pairs
        n_signatures: cython.Py_ssize_t = len(layout.target)
        self.decide = decide
        self.n_features = layout.n_features
        self.n_targets = layout.n_targets
        self.numerator = numerator
        self.denominator = denominator
        self.least_values = least_values
        self.share = share
        self.feature = layout.feature
        self.pair = layout.pair
        self.target = layout.target
        self.signature = layout.signature
        self.multiplied = layout.multiplied
        self.divided = layout.divided
        self.part_start = layout.part_start
        self.known = layout.known
        self.pair_start = layout.pair_start
        self.group = layout.group
        self.main_start = layout.main_start
        self.by_main = layout.by_main
        self.sum_start = layout.sum_start
        self.total = np.zeros(n_signatures)
        self.slack = np.zeros(n_signatures)
        self.amount = np.zeros(layout.sum_start[n_signatures])
        self.n_above = np.zeros(layout.sum_start[n_signatures], dtype=np.int32)
        self.left = np.zeros(n_values, dtype=np.int64)
        self.right = np.zeros(n_values, dtype=np.int64)
        self.left_pair = np.zeros(n_pairs, dtype=np.int64)
        self.right_pair = np.zeros(n_pairs, dtype=np.int64)
        self.seen = np.empty(n_values, dtype=np.int64)
        self.seen_pair = np.empty(n_pairs, dtype=np.int64)
        self.n_seen = 0
        self.n_seen_pairs = 0

    def open(self, cell: cython.longlong[::1], count: cython.longlong[::1]) -> None:
        """Start with the whole table as one bucket."""
        self.count_side(cell, count, False)
        self.go_through(False, True)
        self.clear()

    def cut(
        self,
        left_cell: cython.longlong[::1],
        left_count: cython.longlong[::1],
        right_cell: cython.longlong[::1],
        right_count: cython.longlong[::1],
    ) -> cython.bint:
        """Cut a bucket in two if every signature stays diverse; return whether it did."""
        is_kept: cython.bint
        self.count_side(left_cell, left_count, False)
        self.count_side(right_cell, right_count, True)
        is_kept = self.go_through(True, False)
        if is_kept:
            self.go_through(True, True)
        self.clear()
        return is_kept

    @cython.cfunc
    def count_side(
        self, cell: cython.longlong[::1], count: cython.longlong[::1], is_right: cython.bint
    ) -> cython.void:
        """Count the rows of a side by value and by pair."""
        here: cython.longlong[::1] = self.right if is_right else self.left
        here_pair: cython.longlong[::1] = self.right_pair if is_right else self.left_pair
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        place: cython.longlong
        for i in range(cell.shape[0]):
            for j in range(self.n_features):
                place = self.feature[cell[i] * self.n_features + j]
                if self.left[place] == 0 and self.right[place] == 0:
                    self.seen[self.n_seen] = place
                    self.n_seen += 1
                here[place] += count[i]
            for j in range(self.n_targets):
                place = self.pair[cell[i] * self.n_targets + j]
                if self.left_pair[place] == 0 and self.right_pair[place] == 0:
                    self.seen_pair[self.n_seen_pairs] = place
                    self.n_seen_pairs += 1
                here_pair[place] += count[i]

    @cython.cfunc
    def clear(self) -> cython.void:
        """Reset the counts of both sides to 0."""
        i: cython.Py_ssize_t
        for i in range(self.n_seen):
            self.left[self.seen[i]] = 0
            self.right[self.seen[i]] = 0
        for i in range(self.n_seen_pairs):
            self.left_pair[self.seen_pair[i]] = 0
            self.right_pair[self.seen_pair[i]] = 0
        self.n_seen = 0
        self.n_seen_pairs = 0

    @cython.cfunc
    def go_through(self, is_cut: cython.bint, is_final: cython.bint) -> cython.bint:
        """Judge or update all signatures that match the bucket."""
        i: cython.Py_ssize_t
        place: cython.longlong
        k: cython.longlong
        for i in range(self.n_seen):
            place = self.seen[i]
            for k in range(self.main_start[place], self.main_start[place + 1]):
                if not self.visit(self.by_main[k], is_cut, is_final):
                    return False
        return True

    @cython.cfunc
    def weigh(self, signature: cython.longlong, side: cython.int) -> cython.double:
        """Return |B| f(t, B) of the left side (0), the right side (1) or both together (2)."""
        target: cython.longlong = self.target[signature]
        first: cython.longlong = signature * self.n_features
        weight: cython.double = 1
        i: cython.longlong
        above: cython.longlong
        below: cython.longlong
        for i in range(self.part_start[target], self.part_start[target + 1]):
            above = self.count_of(self.signature[first + self.multiplied[i]], side)
            if above == 0:
                return 0
            weight *= above
            # The first column is linked to none before it.
            if i > self.part_start[target]:
                below = self.count_of(self.signature[first + self.divided[i]], side)
                weight /= below
        return weight

    @cython.cfunc
    def count_of(self, value: cython.longlong, side: cython.int) -> cython.longlong:
        """Count the rows of a side that have a value of a feature."""
        if side == 0:
            return self.left[value]
        if side == 1:
            return self.right[value]
        return self.left[value] + self.right[value]

    @cython.cfunc
    def visit(
        self, signature: cython.longlong, is_cut: cython.bint, is_final: cython.bint
    ) -> cython.bint:
        """Judge one signature as if the bucket were cut, or update its sums."""
        both: cython.double = self.weigh(signature, 2)
        if both == 0:
            return True
        if self.least_values > 0:
            return self.visit_values(signature, is_cut, is_final)
        return self.visit_shares(signature, both, is_cut, is_final)

    @cython.cfunc
    def visit_shares(
        self,
        signature: cython.longlong,
        both: cython.double,
        is_cut: cython.bint,
        is_final: cython.bint,
    ) -> cython.bint:
        """Do as `visit` does if shares are bounded."""
        left: cython.double = self.weigh(signature, 0)
        right: cython.double = self.weigh(signature, 1)
        gone: cython.double = both if is_cut else 0.0
        known: cython.longlong = self.known[signature]
        first_pair: cython.longlong = self.pair_start[self.group[signature]]
        last_pair: cython.longlong = self.pair_start[self.group[signature] + 1]
        start: cython.longlong = self.sum_start[signature]
        n_left: cython.longlong = self.left[known]
        n_right: cython.longlong = self.right[known]
        total: cython.double = self.total[signature] - gone + left + right
        # A few roundings of numbers, none of which exceeds the sum of these.
        slack: cython.double = self.slack[signature] + 4e-15 * (
            self.total[signature] + gone + left + right
        )
        excess: cython.double
        amount: cython.double
        n_above: cython.longlong
        in_left: cython.longlong
        in_right: cython.longlong
        pair: cython.longlong
        k: cython.longlong
        for pair in range(first_pair, last_pair):
            k = start + pair - first_pair
            in_left = self.left_pair[pair]
            in_right = self.right_pair[pair]
            n_above = self.n_above[k]
            amount = self.amount[k]
            if in_left + in_right > 0:
                if is_cut:
                    n_above -= self.is_above(in_left + in_right, n_left + n_right)
                    amount -= gone * (in_left + in_right) / (n_left + n_right)
                if left > 0:
                    n_above += self.is_above(in_left, n_left)
                    amount += left * in_left / n_left
                if right > 0:
                    n_above += self.is_above(in_right, n_right)
                    amount += right * in_right / n_right
            if is_final:
                self.n_above[k] = n_above
                self.amount[k] = amount
            elif n_above > 0:
                excess = amount - self.share * total
                if excess > 2 * slack:
                    return False
                if excess >= -2 * slack and not self.decide(signature, pair):
                    return False
        if is_final:
            self.total[signature] = total
            self.slack[signature] = slack
        return True

    @cython.cfunc
    def visit_values(
        self, signature: cython.longlong, is_cut: cython.bint, is_final: cython.bint
    ) -> cython.bint:
        """Do as `visit` does if values are counted: N is the number of buckets with s."""
        is_left: cython.bint = self.weigh(signature, 0) > 0
        is_right: cython.bint = self.weigh(signature, 1) > 0
        first_pair: cython.longlong = self.pair_start[self.group[signature]]
        last_pair: cython.longlong = self.pair_start[self.group[signature] + 1]
        start: cython.longlong = self.sum_start[signature]
        n_values: cython.longlong = 0
        n_buckets: cython.longlong
        pair: cython.longlong
        k: cython.longlong
        for pair in range(first_pair, last_pair):
            k = start + pair - first_pair
            n_buckets = self.n_above[k]
            if is_cut and self.left_pair[pair] + self.right_pair[pair] > 0:
                n_buckets -= 1
            if is_left and self.left_pair[pair] > 0:
                n_buckets += 1
            if is_right and self.right_pair[pair] > 0:
                n_buckets += 1
            if is_final:
                self.n_above[k] = n_buckets
            n_values += n_buckets > 0
        return is_final or n_values >= self.least_values

    @cython.cfunc
    def is_above(self, count: cython.longlong, size: cython.longlong) -> cython.longlong:
        """Return 1 if a share is above the largest one allowed, otherwise 0."""
        return 1 if count * self.denominator > size * self.numerator else 0
