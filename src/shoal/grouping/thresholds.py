"""Thresholds of guarantees, compared without rounding, and whether a whole table reaches them.

A threshold is replaced by a fraction of small numbers that decides every quotient of counts alike;
entropies are compared by logarithms of many digits or by powers of integers. If one bucket that
holds everybody does not keep a guarantee, no release does, because a union of buckets that keep it
keeps it too.

`Limits` translates guarantees into whole numbers, floats and arrays. The kernel's `Rules` compare
buckets with these, and leave what floats cannot decide to `CloseCalls`, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text, highest_at_most, reachable
from shoal.core.guarantees import (
    DISTANCES,
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.tree import Tree

_LARGEST_POWER = 5000
_LARGEST_EXACT_FLOAT = 2**53
_LARGEST_TABLE = 2**16
_DIGITS = 60
_PERCENT = 100


def lowest_at_least(share: Fraction, limit: int) -> Fraction:
    """Return the lowest fraction with a denominator up to `limit` that is at least a share."""
    return 1 - highest_at_most(1 - share, limit)


def is_entropy_at_least(counts: Sequence[int], ell: Fraction) -> bool:
    """Return whether the entropy of some positive counts is at least log(ell)."""
    divisor = math.gcd(*counts)
    counts = [count // divisor for count in counts]
    total = sum(counts)
    if total > _LARGEST_POWER:
        with localcontext(Context(prec=_DIGITS)):
            excess = _excess(counts, total, ell)
            # The rounding error of the sum is far smaller.
            if abs(excess) > Decimal(10) ** (20 - _DIGITS) * total:
                return excess > 0
    product = math.prod(count**count for count in counts)
    return bool(ell.numerator**total * product <= (total * ell.denominator) ** total)


def _excess(counts: Sequence[int], total: int, ell: Fraction) -> Decimal:
    """Return the entropy minus log(ell), times the total."""
    bound = Decimal(ell.numerator).ln() - Decimal(ell.denominator).ln()
    logarithms = {count: Decimal(count).ln() for count in {*counts, total}}
    spread = sum((count * logarithms[count] for count in counts), Decimal(0))
    return total * logarithms[total] - spread - total * bound


# --- what a whole table reaches ---------------------------------------------------------------


@dataclass(frozen=True)
class Shortfall:
    """The reason why a guarantee is out of reach, and the best reachable parameters, if any."""

    fact: str
    best: dict[str, object]


def confirm_reachable(guarantees: Sequence[Guarantee], counts: Counts) -> None:
    """Raise `InfeasibleError`, with reachable parameters, if the whole table breaks a guarantee.

    `counts` has the number of rows of each sensitive value (or protected and other values); a
    single number if no column is sensitive.
    """
    found = {guarantee: shortfall_of(guarantee, counts) for guarantee in guarantees}
    missed = {guarantee: one for guarantee, one in found.items() if one is not None}
    if not missed:
        return
    short = list(missed.values())
    best = {name: value for shortfall in short for name, value in shortfall.best.items()}
    helps = [one for one in (reachable(best), _other_help(list(missed), counts)) if one]
    raise InfeasibleError(
        " ".join(shortfall.fact for shortfall in short), hint=f"{'; or '.join(helps)}.", best=best
    )


def _other_help(missed: Sequence[Guarantee], counts: Counts) -> str:
    """Return advice other than a smaller parameter: mostly to protect fewer values."""
    n_rows, n_values = int(counts.sum()), int(np.count_nonzero(counts))
    if n_rows < 2:
        return "the table has too few rows to hide anybody"
    about = [one for one in missed if not isinstance(one, KAnonymity | BucketSize)]
    if about and n_values < 2:
        return "the sensitive column has one value only, which no method can hide"
    if any(getattr(one, "protect", ()) for one in about):
        return "protect fewer values, or values that fewer people have"
    if not about or all(isinstance(one, DistinctDiversity) for one in about):
        return ""
    share = math.floor(_PERCENT * int(counts.max()) / n_rows)
    kind = "" if isinstance(about[0], FrequencyDiversity | AlphaK) else " and diversity = frequency"
    return (
        f"protect only the values that need it, with protect = [...]{kind}: the most frequent "
        f"value has {share} % of the rows"
    )


def shortfall_of(guarantee: Guarantee, counts: Counts) -> Shortfall | None:
    """Return why the whole table does not keep a guarantee; None if it does."""
    match guarantee:
        case KAnonymity() | BucketSize():
            found = _of_size(guarantee, counts)
        case AlphaK():
            found = _of_alpha(guarantee, counts)
        case DistinctDiversity():
            found = _of_distinct(guarantee, counts)
        case FrequencyDiversity():
            found = _of_frequency(guarantee, counts)
        case EntropyDiversity():
            found = _of_entropy(guarantee, counts)
        case RecursiveDiversity():
            found = _of_recursive(guarantee, counts)
        case _:
            # t-closeness: a table is at distance 0 from itself.
            found = None
    return found


def _of_size(guarantee: KAnonymity | BucketSize | AlphaK, counts: Counts) -> Shortfall | None:
    n_rows = int(counts.sum())
    if n_rows >= guarantee.k:
        return None
    fact = f"{guarantee.name} with k = {guarantee.k} needs {guarantee.k} rows; the table has"
    return Shortfall(f"{fact} {n_rows}.", {"k": n_rows})


def _of_distinct(guarantee: DistinctDiversity, counts: Counts) -> Shortfall | None:
    n_values = int(np.count_nonzero(counts))
    if n_values >= guarantee.ell:
        return None
    fact = f"{guarantee.name} with ell = {guarantee.ell} needs as many different sensitive values"
    return Shortfall(f"{fact}; the table has {n_values}.", {"ell": n_values})


def _of_frequency(guarantee: FrequencyDiversity, counts: Counts) -> Shortfall | None:
    n_rows = int(counts.sum())
    largest = int(counts[0] if guarantee.protect else counts.max())
    if largest * guarantee.ell <= n_rows:
        return None
    reached = Fraction(n_rows, largest)
    best: object = as_text(reached)
    if guarantee.ell.denominator == 1:
        best = math.floor(reached)
    who = "the protected values" if guarantee.protect else "the most frequent value"
    ell = as_text(guarantee.ell)
    return Shortfall(
        f"{guarantee.name} with ell = {ell} allows {who} at most 1/{ell} of the rows; the table "
        f"has {largest} such rows among {n_rows}.",
        {"ell": best},
    )


def _of_alpha(guarantee: AlphaK, counts: Counts) -> Shortfall | None:
    short = _of_size(guarantee, counts)
    n_rows, n_bounded = int(counts.sum()), len(guarantee.protect) or len(counts)
    # Protected values come first, each on its own.
    largest = int(counts[:n_bounded].max())
    if largest <= guarantee.alpha * n_rows:
        return short
    who = "a protected value" if guarantee.protect else "a value"
    fact = (
        f"{guarantee.name} with alpha = {as_text(guarantee.alpha)} allows {who} at most that share "
        f"of the rows; the table has {largest} rows with the most frequent one among {n_rows}."
    )
    best: dict[str, object] = {"alpha": as_text(Fraction(largest, n_rows))}
    if short is None:
        return Shortfall(fact, best)
    return Shortfall(f"{short.fact} {fact}", short.best | best)


def _of_entropy(guarantee: EntropyDiversity, counts: Counts) -> Shortfall | None:
    positive = counts[counts > 0].tolist()
    if is_entropy_at_least(positive, guarantee.ell):
        return None
    n_rows = sum(positive)
    entropy = math.fsum(count / n_rows * math.log(n_rows / count) for count in positive)
    thousandths = math.floor(math.exp(entropy) * 1000) + 1
    while not is_entropy_at_least(positive, Fraction(thousandths, 1000)):
        thousandths -= 1
    best = as_text(Fraction(thousandths, 1000))
    return Shortfall(
        f"{guarantee.name} asks for an entropy of at least log({as_text(guarantee.ell)}); that of "
        f"the table's sensitive values is about log({best}).",
        {"ell": best},
    )


def _of_recursive(guarantee: RecursiveDiversity, counts: Counts) -> Shortfall | None:
    ordered = -np.sort(-counts[counts > 0])
    largest = int(ordered[0])
    # For each ell from 1, the number of rows with the ell-th most frequent value or a rarer one.
    rest = np.cumsum(ordered[::-1])[::-1].tolist()
    n_rest = rest[guarantee.ell - 1] if guarantee.ell <= len(rest) else 0
    if largest < guarantee.c * n_rest:
        return None
    fact = (
        f"{guarantee.name} with c = {as_text(guarantee.c)} and ell = {guarantee.ell} allows the "
        f"most frequent value fewer than {as_text(guarantee.c)} times the rows of all values from "
        f"rank {guarantee.ell} on; the table has {largest} and {n_rest}."
    )
    kept = [ell for ell in range(2, len(rest) + 1) if largest < guarantee.c * rest[ell - 1]]
    if kept:
        return Shortfall(fact, {"ell": kept[-1]})
    if len(rest) < 2:
        return Shortfall(f"{fact} All rows carry one value.", {})
    # c must exceed the quotient, and the next thousandth does.
    thousandths = 1000 * largest // rest[1] + 1
    return Shortfall(fact, {"c": as_text(Fraction(thousandths, 1000)), "ell": 2})


# --- what a kernel compares -------------------------------------------------------------------


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
