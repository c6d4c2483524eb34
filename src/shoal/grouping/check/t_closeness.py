"""t-closeness: the values of every bucket are distributed as in the whole release, within t.

The distance between two distributions is the earth mover's distance, with one of three ground
distances. Let p be the shares of the values in a bucket and q those in the whole release:

equal
    All values are equally far apart. The distance is half the sum of |p_i - q_i|, which is the sum
    of the positive p_i - q_i, so values that a bucket lacks need not be visited.
ordered
    Values i and j are |i - j| / (m - 1) apart, where m is the size of the domain. The distance is
    the sum of |(p_1 - q_1) + ... + (p_i - q_i)| over i, divided by m - 1.
hierarchical
    The distance between values is the level of their lowest common ancestor, divided by the height.

All distances are computed as integers over one denominator, so a tie at t is a tie.

Notes
-----
The paper gives the hierarchical distance as a sum over inner nodes N of level(N) / height times
min(pos(N), neg(N)), where pos and neg add up the positive and the negative surpluses p - q of its
children. Since min(pos, neg) is half the excess of the children's absolute surpluses over that of
N, the sum telescopes to the mean, over the levels below the root, of the equal distance of the
values generalized to that level.

References
----------
N. Li, T. Li, S. Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, 2007,
Section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import Buckets, total_by
from shoal.core.errors import ParameterError
from shoal.core.exact import Numerators, as_text, greatest, is_at_most
from shoal.core.guarantees import TCloseness
from shoal.core.tree import Tree
from shoal.core.verdict import Evidence, Verdict, confirm_occupied, mark_protected

_FITS = 2**62
"""Products up to this bound fit into 64 bits, and so do the sum and difference of two of them."""


def check(guarantee: TCloseness, evidence: Evidence) -> Verdict:
    """Check the distance between every bucket and the whole release.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> salary = Domain.of_texts("salary", ["3k", "4k", "5k"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), salary)
    >>> check(TCloseness(t=0.2, distance="ordered"), Evidence.of_buckets(buckets))
    Verdict(t-closeness fails in 2 of 2 buckets, reached t=0.25)
    """
    buckets = evidence.buckets_for(guarantee)
    # The hierarchical distance visits all entries once per level.
    n_levels = evidence.tree.height if evidence.tree is not None else 1
    evidence.work.spend(n_levels * (len(buckets.value) + buckets.domain.size))
    distances = _distances(buckets, guarantee.distance, evidence.tree, guarantee.protect)
    return Verdict.of_failures(
        guarantee,
        ~is_at_most(distances.numerators, buckets.sizes, guarantee.t * distances.denominator),
        f"are farther than {as_text(guarantee.t)} from the whole release ({guarantee.distance} "
        "distance)",
        {"t": as_text(distances.largest())} if buckets.n_buckets else {},
    )


def closeness(
    buckets: Buckets,
    distance: str = "equal",
    *,
    tree: Tree | None = None,
    protect: Sequence[str | None] = (),
) -> Fraction:
    """Return the smallest t: the largest distance between a bucket and the whole release.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    distance
        The ground distance: equal (default), ordered or hierarchical.
    tree
        The hierarchy over the sensitive values, for the hierarchical distance. Default: none.
    protect
        Values to be counted as one, and all others as another; None is the missing value.
        Default: none.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> salary = Domain.of_texts("salary", ["3k", "4k", "5k"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), salary)
    >>> closeness(buckets), closeness(buckets, "ordered"), closeness(buckets, protect=["5k"])
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4))
    """
    # The guarantee validates the parameters.
    asked = TCloseness(t=0, distance=distance, protect=protect)
    return _distances(confirm_occupied(buckets), asked.distance, tree, asked.protect).largest()


@dataclass(frozen=True, eq=False)
class _Distances:
    """The distance of bucket b is numerators[b] / (sizes[b] denominator)."""

    numerators: Numerators
    sizes: Counts
    denominator: int

    def largest(self) -> Fraction:
        return greatest(self.numerators, self.sizes) / self.denominator


@dataclass(frozen=True, eq=False)
class _Entries:
    """The entries of some buckets, sorted by bucket, beside the counts of the whole release."""

    bucket: Codes
    starts: Codes
    value: Codes
    count: Counts
    sizes: Counts
    totals: Counts
    n_rows: int

    def only(self, chosen: Flags) -> _Entries:
        """Keep the chosen buckets."""
        kept = chosen[self.bucket]
        bucket = (np.cumsum(chosen) - 1)[self.bucket[kept]]
        return replace(
            self,
            bucket=bucket,
            starts=np.searchsorted(bucket, np.arange(np.count_nonzero(chosen))),
            value=self.value[kept],
            count=self.count[kept],
            sizes=self.sizes[chosen],
        )

    def sorted_by(self, position: Codes) -> _Entries:
        """Sort the entries of each bucket by the position of their value."""
        if np.all(position[1:] >= position[:-1]):
            return self
        # Sorting numbers is several times faster than sorting pairs.
        key = self.bucket.astype(np.int64) * (position.max() + 1) + position[self.value]
        order = np.argsort(key, kind="stable")
        return replace(self, value=self.value[order], count=self.count[order])

    def grouped(self, group: Codes, n_groups: int) -> _Entries:
        """Replace each value by its group; in a bucket, values of a group are already adjacent."""
        groups = group[self.value]
        opens = np.ones(len(groups), dtype=bool)
        opens[1:] = (groups[1:] != groups[:-1]) | (self.bucket[1:] != self.bucket[:-1])
        first = np.flatnonzero(opens)
        totals = total_by(group, self.totals, n_groups)
        return replace(
            self,
            bucket=self.bucket[first],
            starts=(np.cumsum(opens) - 1)[self.starts],
            value=groups[first],
            count=np.add.reduceat(self.count, first),
            totals=totals,
        )


_Kernel = Callable[[_Entries, npt.DTypeLike], Numerators]
"""Computes the numerators of distances in numbers of a given type."""


def _distances(
    buckets: Buckets, distance: str, tree: Tree | None, protect: Sequence[str | None]
) -> _Distances:
    entries = _Entries(
        bucket=buckets.bucket,
        starts=buckets.starts,
        value=buckets.value,
        count=buckets.count,
        sizes=buckets.sizes,
        totals=buckets.totals,
        n_rows=buckets.n_rows,
    )
    kernel, scale, growth = _equal, 1, 1
    if protect:
        group = mark_protected(buckets, protect).astype(np.int64)
        entries = entries.sorted_by(group).grouped(group, 2)
    elif distance == "ordered":
        kernel, scale, growth = _ordered, buckets.domain.size - 1, 4 * buckets.domain.size
    elif distance == "hierarchical":
        fitting = _fitting_tree(buckets, tree)
        kernel, scale, growth = partial(_hierarchical, fitting), fitting.height, fitting.height
    numerators = _without_overflow(kernel, entries, growth)
    return _Distances(numerators, buckets.sizes, max(scale, 1) * entries.n_rows)


def _fitting_tree(buckets: Buckets, tree: Tree | None) -> Tree:
    column = buckets.domain.column
    if tree is None:
        raise ParameterError(
            f"The hierarchical distance needs a hierarchy of column {column!r}; got none."
        )
    if tree.n_leaves != buckets.domain.size:
        raise ParameterError(
            f"The hierarchy must cover the {buckets.domain.size} published values of column "
            f"{column!r}; it has {tree.n_leaves} leaves."
        )
    return tree


def _without_overflow(kernel: _Kernel, entries: _Entries, growth: int) -> Numerators:
    """Compute numerators in 64 bits, and with Python's integers if a bucket is too large.

    No intermediate number of the kernel exceeds `growth` times the rows of the bucket times the
    rows of the release.
    """
    is_large = entries.sizes > _FITS // max(growth * entries.n_rows, 1)
    if not is_large.any():
        return kernel(entries, np.int64)
    numerators = np.empty(len(entries.sizes), dtype=object)
    for chosen, dtype in ((is_large, object), (~is_large, np.int64)):
        if chosen.any():
            numerators[chosen] = kernel(entries.only(chosen), dtype)
    return numerators


def _equal(entries: _Entries, dtype: npt.DTypeLike) -> Numerators:
    """Sum the positive surpluses p - q, times the rows of bucket and release."""
    sizes = entries.sizes.astype(dtype)[entries.bucket]
    expected = entries.totals.astype(dtype)[entries.value] * sizes
    surplus = entries.count.astype(dtype) * entries.n_rows - expected
    return np.add.reduceat(np.maximum(surplus, 0), entries.starts)


def _ordered(entries: _Entries, dtype: npt.DTypeLike) -> Numerators:
    """Sum the absolute running surpluses, times the rows of bucket and release.

    Between one value of a bucket and the next, its running count C is constant, while that of the
    release, S, grows: the surplus C - S, each over its rows, changes sign at most once. Prefix sums
    of S on both sides of that turn replace the values in between, so none of them is visited.
    """
    running = np.cumsum(entries.totals)
    below = np.concatenate(([0], np.cumsum(running.astype(dtype))))
    sizes = entries.sizes.astype(dtype)[entries.bucket]
    reached = _running_counts(entries).astype(dtype) * entries.n_rows
    first, last = entries.value, _next_values(entries)
    turn = np.searchsorted(running, (reached // sizes).astype(np.int64), side="right")
    turn = np.clip(turn, first, last)
    between = reached * (2 * turn - first - last)
    between += sizes * (below[first] + below[last] - 2 * below[turn])
    before = entries.sizes.astype(dtype) * below[first[entries.starts]]
    return before + np.add.reduceat(between, entries.starts)


def _running_counts(entries: _Entries) -> Counts:
    """Return the number of rows of a bucket up to each of its values."""
    running = np.cumsum(entries.count)
    before = running[entries.starts] - entries.count[entries.starts]
    return running - before[entries.bucket]


def _next_values(entries: _Entries) -> Codes:
    """Return the value that follows each one in its bucket; for the last, that of the domain."""
    following = np.full(len(entries.value), len(entries.totals) - 1)
    is_followed = entries.bucket[1:] == entries.bucket[:-1]
    following[:-1][is_followed] = entries.value[1:][is_followed]
    return following


def _hierarchical(tree: Tree, entries: _Entries, dtype: npt.DTypeLike) -> Numerators:
    """Sum the equal distances at every level below the root, times the rows of both."""
    leaf = tree.leaf_node[tree.position]
    entries = entries.sorted_by(tree.position).grouped(leaf, tree.n_nodes)
    total = _equal(entries, dtype)
    for level in range(1, tree.height):
        entries = entries.grouped(_raised(tree, level), tree.n_nodes)
        total = total + _equal(entries, dtype)
    return total


def _raised(tree: Tree, level: int) -> Codes:
    """Return the parent of each node if it is not above the level, otherwise the node itself."""
    # The root's parent, -1, happens to index the root itself, whose level is above all others.
    return np.where(tree.level[tree.parent] <= level, tree.parent, np.arange(tree.n_nodes))
