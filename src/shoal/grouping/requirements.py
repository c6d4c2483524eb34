"""The requirements of methods on every bucket, and the numbers they compare.

A method that builds buckets one by one often asks whether a bucket keeps its guarantees.
`Requirements` states them for one table: whether the whole table keeps them (otherwise no bucket
does), and the rules by which a compiled kernel decides about a part of it. `Limits` translates them
into whole numbers, floats and arrays; the kernel's `Rules` compare buckets with these, and leave
what floats cannot decide to `CloseCalls`, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.exact import highest_at_most
from shoal.core.guarantees import (
    DISTANCES,
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.method import Problem, confirm_countable, mark_protected
from shoal.core.tree import Tree
from shoal.grouping._kernels import Rules
from shoal.grouping.thresholds import (
    confirm_reachable,
    is_entropy_at_least,
    lowest_at_least,
)

_PROTECTING = (AlphaK, FrequencyDiversity, TCloseness)
_LARGEST_EXACT_FLOAT = 2**53
_LARGEST_TABLE = 2**16


@dataclass(frozen=True, eq=False)
class Requirements:
    """The guarantees that every bucket of a table must keep.

    `value` has the sensitive value of each cell, numbered from 0 in the order of its domain. If
    some values are protected, these come first, as one value (for alpha, each on its own), and all
    others are one value. `reference` has the number of rows of each value, `leaf` its leaf in the
    `tree`.
    """

    guarantees: tuple[Guarantee, ...]
    value: Codes
    reference: Counts
    tree: Tree | None
    leaf: Codes

    @classmethod
    def of_problem(cls, guarantees: Sequence[Guarantee], problem: Problem) -> Requirements:
        """State guarantees for the table of a problem.

        Raises `DataError` if the table has no rows, or more than 32 bits can count, and
        `ParameterError` if a protected value does not occur.
        """
        cells = problem.cells
        confirm_countable(cells)
        sensitive = next(iter(problem.schema.sensitive), None)
        if sensitive is None:
            code, codes = np.zeros(cells.n_cells, dtype=np.int64), np.zeros(1, dtype=np.int64)
        else:
            codes, code = np.unique(cells.column(sensitive), return_inverse=True)
        asked = next((g for g in guarantees if isinstance(g, _PROTECTING) and g.protect), None)
        tree = None if sensitive is None else problem.trees.get(sensitive)
        n_values = 1
        if asked is not None and sensitive is not None:
            is_protected = mark_protected(cells.domain(sensitive), codes, asked.protect)
            number = np.zeros(len(codes), dtype=np.int64)
            if isinstance(asked, AlphaK):
                number = np.cumsum(is_protected) - 1
            n_protected = int(number[is_protected].max()) + 1
            code = np.where(is_protected, number, n_protected)[code]
            tree, n_values = None, n_protected + 1
        reference = np.bincount(code, weights=cells.counts, minlength=n_values)
        return cls(
            guarantees=tuple(guarantees),
            value=code.astype(np.int64),
            reference=np.rint(reference).astype(np.int64),
            tree=tree,
            leaf=np.empty(0, dtype=np.int64) if tree is None else tree.position[codes],
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows of a bucket that keeps every guarantee."""
        return max(guarantee.least_bucket for guarantee in self.guarantees)

    @property
    def is_about_values(self) -> bool:
        """Whether a bucket with enough rows may still break a guarantee."""
        return any(guarantee.is_about_sensitive for guarantee in self.guarantees)

    def confirm_reachable(self) -> None:
        """Raise `InfeasibleError` if not even the whole table keeps the guarantees."""
        confirm_reachable(self.guarantees, self.reference)

    def rules(self) -> tuple[Limits, Rules]:
        """Return the rules for the kernel, and the limits that hold the values to be judged."""
        limits = Limits.of_guarantees(self.guarantees, self.reference, self.tree, self.leaf)
        return limits, Rules(limits, CloseCalls.of_guarantees(limits, self.guarantees))


def _no_codes() -> Codes:
    return np.empty(0, dtype=np.int64)


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(eq=False)
class Limits:
    """The numbers with which a bucket's sensitive values are compared; the defaults allow all."""

    n_rows: int
    # The number of rows of the table with each value.
    reference: Floats
    # The kernel puts the values of a bucket and their counts here.
    value: Codes
    count: Counts
    # The fewest different values.
    distinct: int = 0
    # The largest share of a value, as numerator and denominator. It bounds the first `n_bounded`
    # values; all if 0.
    share: tuple[int, int] = (1, 1)
    n_bounded: int = 0
    # The rank from which on values are added up to the rest (0: no such requirement), and the
    # strict upper bound of largest / (largest + rest).
    recursive: int = 0
    ratio: tuple[int, int] = (1, 1)
    # Whether the entropy must be at least `log_ell`; n log n for small n.
    has_entropy: bool = False
    log_ell: float = 0.0
    times_log: Floats = field(default_factory=_no_floats)
    # The ground distance (0 none, 1 equal, 2 ordered, 3 hierarchical), the largest distance, and
    # the factor that, with both numbers of rows, makes distances integers.
    distance: int = 0
    t: float = 0.0
    scale: int = 1
    # For the ordered distance: the rows up to each value, and the sum of these before it.
    cumulated: Floats = field(default_factory=_no_floats)
    area: Floats = field(default_factory=_no_floats)
    # For the hierarchical distance: the leaf of each value; the parent and level of each node, and
    # the number of rows of the table under it.
    node: Codes = field(default_factory=_no_codes)
    parent: Codes = field(default_factory=_no_codes)
    level: Floats = field(default_factory=_no_floats)
    node_reference: Floats = field(default_factory=_no_floats)

    @classmethod
    def of_guarantees(
        cls, guarantees: Sequence[Guarantee], reference: Counts, tree: Tree | None, leaf: Codes
    ) -> Limits:
        """Translate guarantees about sensitive values; `leaf` has the leaf of each value."""
        n_values = len(reference)
        limits = cls(
            n_rows=int(reference.sum()),
            reference=reference.astype(np.float64),
            value=np.zeros(n_values, dtype=np.int64),
            count=np.zeros(n_values, dtype=np.int64),
        )
        for guarantee in guarantees:
            limits._add(guarantee, tree, leaf)
        return limits

    def _add(self, guarantee: Guarantee, tree: Tree | None, leaf: Codes) -> None:
        match guarantee:
            case DistinctDiversity():
                self.distinct = guarantee.ell
            case FrequencyDiversity():
                self._bound_share(1 / guarantee.ell, 1 if guarantee.protect else 0)
            case AlphaK():
                self._bound_share(guarantee.alpha, len(guarantee.protect))
            case RecursiveDiversity():
                # r_1 < c rest is equivalent to r_1 / (r_1 + rest) < c / (1 + c).
                bound = guarantee.c / (1 + guarantee.c)
                self.recursive = guarantee.ell
                self.ratio = lowest_at_least(bound, self.n_rows).as_integer_ratio()
            case EntropyDiversity():
                self.has_entropy = True
                self.log_ell = math.log(guarantee.ell.numerator) - math.log(
                    guarantee.ell.denominator
                )
                small = np.arange(min(self.n_rows + 1, _LARGEST_TABLE), dtype=np.float64)
                self.times_log = small * np.log(np.maximum(small, 1))
            case TCloseness():
                self.t = float(guarantee.t)
                self.distance = 1 + DISTANCES.index(guarantee.distance)
                if guarantee.distance == "ordered":
                    self._add_order()
                if guarantee.distance == "hierarchical":
                    assert tree is not None
                    self._add_tree(tree, leaf)

    def _bound_share(self, share: Fraction, n_bounded: int) -> None:
        lowest = min(highest_at_most(share, self.n_rows), Fraction(*self.share))
        self.share, self.n_bounded = lowest.as_integer_ratio(), n_bounded

    def _add_order(self) -> None:
        self.scale = max(len(self.reference) - 1, 1)
        self.cumulated = np.cumsum(self.reference)
        self.area = np.concatenate([[0.0], np.cumsum(self.cumulated)])

    def _add_tree(self, tree: Tree, leaf: Codes) -> None:
        # A reader's hierarchy holds only published values, which may all be suppressed at a lower
        # level than some value that is not published.
        is_suppressed = np.all(tree.by_level[:, leaf] == tree.root, axis=1)
        self.scale = int(np.argmax(is_suppressed))
        self.node = leaf.copy()
        self.parent = tree.parent.copy()
        self.level = np.minimum(tree.level, self.scale).astype(np.float64)
        counts = np.zeros(tree.n_leaves)
        np.add.at(counts, leaf, self.reference)
        below = np.concatenate([[0.0], np.cumsum(counts)])
        self.node_reference = below[tree.last] - below[tree.first]


@dataclass(frozen=True, eq=False)
class CloseCalls:
    """Exact decisions about buckets that floats cannot decide; the kernel calls it.

    The entropy is compared with log(`ell`), the distance with `t`.
    """

    limits: Limits
    ell: Fraction = Fraction(1)
    t: Fraction = Fraction(0)

    @classmethod
    def of_guarantees(cls, limits: Limits, guarantees: Sequence[Guarantee]) -> CloseCalls:
        """Take the exact thresholds from guarantees."""
        ell, t = Fraction(1), Fraction(0)
        for guarantee in guarantees:
            if isinstance(guarantee, EntropyDiversity):
                ell = guarantee.ell
            if isinstance(guarantee, TCloseness):
                t = guarantee.t
        return cls(limits, ell, t)

    def keeps_entropy(self, n_values: int, size: int) -> bool:  # noqa: ARG002 - both calls alike
        """Return whether the entropy is at least log(ell)."""
        return is_entropy_at_least(self.limits.count[:n_values].tolist(), self.ell)

    def keeps_distance(self, moved: float, n_values: int, size: int) -> bool:
        """Return whether the distance is at most t; `moved` is whole if floats can hold it."""
        limits = self.limits
        unit = limits.scale * size * limits.n_rows
        if limits.scale * limits.n_rows**2 <= _LARGEST_EXACT_FLOAT:
            return int(moved) <= self.t * unit
        counts = np.zeros(len(limits.reference), dtype=np.int64)
        counts[limits.value[:n_values]] = limits.count[:n_values]
        return distance_between(limits, counts.tolist()) <= self.t


def distance_between(limits: Limits, counts: Sequence[int]) -> Fraction:
    """Return the exact earth mover's distance between some counts and those of the whole table.

    The hierarchical distance is the sum over inner nodes of their level times the smaller of their
    children's total surplus and total deficit, divided by the height (N. Li, T. Li, S.
    Venkatasubramanian, t-closeness, 2007, Section 4).
    """
    n_rows, size = limits.n_rows, sum(counts)
    surplus = [
        own * n_rows - int(whole) * size
        for own, whole in zip(counts, limits.reference.tolist(), strict=True)
    ]
    unit = limits.scale * size * n_rows
    if limits.distance == 1:
        return Fraction(sum(extra for extra in surplus if extra > 0), unit)
    if limits.distance == 2:
        cumulated = np.cumsum(np.array(surplus, dtype=object)).tolist()
        return Fraction(sum(map(abs, cumulated)), unit)
    by_node = [0] * len(limits.parent)
    for node, extra in zip(limits.node.tolist(), surplus, strict=True):
        by_node[node] += extra
    gain = [0] * len(by_node)
    # A parent has a higher number than its children.
    for node, parent in enumerate(limits.parent.tolist()):
        gain[node] -= max(by_node[node], 0)
        if parent >= 0:
            by_node[parent] += by_node[node]
            gain[parent] += max(by_node[node], 0)
    crossing = zip(limits.level.tolist(), gain, strict=True)
    return Fraction(sum(int(level) * amount for level, amount in crossing), unit)
