"""Requirements as numbers and arrays, in the form in which the kernel compares them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
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
from shoal.core.tree import Tree
from shoal.methods.requirements.thresholds import (
    highest_at_most,
    is_entropy_at_least,
    lowest_at_least,
)

__all__ = ["CloseCalls", "Limits", "distance_between"]

Floats = npt.NDArray[np.float64]

_LARGEST_EXACT_FLOAT = 2**53
_LARGEST_TABLE = 2**16


def _no_codes() -> Codes:
    return np.empty(0, dtype=np.int64)


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(eq=False)
class Limits:
    """What a bucket's sensitive values are compared with; at first nothing is required.

    Parameters
    ----------
    n_rows
        The rows of the whole table.
    reference
        How many of them carry each value.
    value, count
        Where the values of a bucket and their counts are put to be judged.
    distinct
        The fewest different values.
    share
        The largest share of a value, as numerator and denominator.
    n_bounded
        How many values, the first ones, are bounded by `share`; all where it is 0.
    recursive, ratio
        The rank from which on values are added up to the rest, 0 where there is no such
        requirement, and what the share of the largest among the largest and the rest must be
        below.
    has_entropy, log_ell, times_log
        Whether the entropy must be at least `log_ell`; n log n for small n.
    distance, t, scale
        The ground distance (0 none, 1 equal, 2 ordered, 3 hierarchical), the largest distance,
        and what distances are multiplied by, beside both numbers of rows, to be whole.
    cumulated, area
        For the ordered distance: the rows up to each value, and the sum of these before it.
    node, parent, level, node_reference
        For the hierarchical distance: the leaf of each value, and of each node its parent, its
        level and how many rows of the table lie under it.
    """

    n_rows: int
    reference: Floats
    value: Codes
    count: Counts
    distinct: int = 0
    share: tuple[int, int] = (1, 1)
    n_bounded: int = 0
    recursive: int = 0
    ratio: tuple[int, int] = (1, 1)
    has_entropy: bool = False
    log_ell: float = 0.0
    times_log: Floats = field(default_factory=_no_floats)
    distance: int = 0
    t: float = 0.0
    scale: int = 1
    cumulated: Floats = field(default_factory=_no_floats)
    area: Floats = field(default_factory=_no_floats)
    node: Codes = field(default_factory=_no_codes)
    parent: Codes = field(default_factory=_no_codes)
    level: Floats = field(default_factory=_no_floats)
    node_reference: Floats = field(default_factory=_no_floats)

    @classmethod
    def of_guarantees(
        cls, guarantees: Sequence[Guarantee], reference: Counts, tree: Tree | None, leaf: Codes
    ) -> Limits:
        """Translate what guarantees say about sensitive values.

        Parameters
        ----------
        guarantees
            What every bucket must keep.
        reference
            How many rows of the table carry each value.
        tree, leaf
            The hierarchy over the values, and the leaf of each.
        """
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
                # r_1 < c rest says the same as r_1 / (r_1 + rest) < c / (1 + c).
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
        # A reader's hierarchy has the values that are published: all of them may be suppressed
        # at a lower level than some value that is not.
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
    """Decides exactly what floats leave open; the kernel calls it.

    Parameters
    ----------
    limits
        Where the kernel has put the values of the bucket and their counts.
    ell
        The bound of the entropy is its logarithm.
    t
        The largest distance.
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
        """Whether the entropy is at least log(ell)."""
        return is_entropy_at_least(self.limits.count[:n_values].tolist(), self.ell)

    def keeps_distance(self, moved: float, n_values: int, size: int) -> bool:
        """Whether the distance is at most t; `moved` is whole where floats can hold it."""
        limits = self.limits
        unit = limits.scale * size * limits.n_rows
        if limits.scale * limits.n_rows**2 <= _LARGEST_EXACT_FLOAT:
            return int(moved) <= self.t * unit
        counts = np.zeros(len(limits.reference), dtype=np.int64)
        counts[limits.value[:n_values]] = limits.count[:n_values]
        return distance_between(limits, counts.tolist()) <= self.t


def distance_between(limits: Limits, counts: Sequence[int]) -> Fraction:
    """Give the earth mover's distance of some counts from the whole table's, exactly.

    Notes
    -----
    The hierarchical distance is the sum over inner nodes of their level times the smaller of
    what their children have too much and too little, divided by the height.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, t-closeness, 2007, Section 4.

    Examples
    --------
    >>> from shoal.core.guarantees import TCloseness
    >>> limits = Limits.of_guarantees(
    ...     [TCloseness(t=0, distance="ordered")], np.array([1, 1, 1]), None, np.empty(0, int))
    >>> distance_between(limits, [1, 0, 0])
    Fraction(1, 2)
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
