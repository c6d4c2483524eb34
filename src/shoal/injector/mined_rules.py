"""The parts that negative rules are made of, the rows that a rule needs, and the rules as arrays.

A rule may name a value of a quasi-identifier or any node above it but the root. Nodes are compared
by the values of the table that they hold: a node that holds all of them says nothing, like the
root; a node that holds none has no rows; and of nodes that hold the same values only the highest is
used, because it covers the most values of other tables.

A frequent value is expected among few rows already, a rare one only among many. The expectation of
a rule is the probability that its value occurs at least once among as many random rows as its
antecedent has; a rule counts if that is at least `min_exp`. This becomes a least number of rows per
value, decided exactly.

If antecedents may name any number of columns, rules grow exponentially with the columns: a table
may have hundreds of thousands, so each of their parts is an array. The memory budget does not
depend on the machine, so a request is feasible everywhere or nowhere.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section
IV-A.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats, Integers, Small
from shoal.core.cells import Cells, lexicographic_order
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact
from shoal.core.tree import Tree
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.locating.location import spread

_NEARLY = 1e-9
"""Thresholds this close to an integer, relative to it, are decided exactly."""


def read_min_exp(value: Number) -> Fraction:
    """Return a minimum expectation, which must lie between 0 and 1, as an exact number."""
    min_exp = exact("min_exp", value)
    if not 0 <= min_exp <= 1:
        raise ParameterError(
            f"min_exp must lie between 0 and 1; got {value}.", hint="for example 0.9."
        )
    return min_exp


def read_min_conf(value: Number) -> Fraction:
    """Return a minimum confidence, above 0 and at most 1, as an exact number."""
    min_conf = exact("min_conf", value)
    if not 0 < min_conf <= 1:
        raise ParameterError(
            f"min_conf must be above 0 and at most 1; got {value}.",
            hint="1 finds rules without exception.",
        )
    return min_conf


def least_counts(totals: Counts, min_exp: Fraction) -> Counts:
    """Return the fewest rows for which a rule about each value has the minimum expectation.

    For a value that occurs `totals` times that is the least integer c with (1 - P(s))**c <= 1 -
    min_exp. If a value does not occur, or no part of the table is large enough, it is the number of
    rows plus one.

    Examples
    --------
    >>> least_counts(np.array([5, 5, 0]), Fraction(3, 4)).tolist()
    [2, 2, 11]
    """
    n_rows = int(totals.sum())
    real = least_supports(totals, min_exp)
    counts = np.where(real > n_rows, n_rows + 1, np.ceil(np.minimum(real, n_rows)))
    least = counts.astype(np.int64)
    if min_exp > 0:
        # 0**0 is 1: even a value that every row has needs one row.
        least = np.maximum(least, 1)
    nearest = np.round(np.minimum(real, 2.0 * n_rows))
    is_close = (totals > 0) & (nearest > 0) & (np.abs(real - nearest) <= _NEARLY * nearest)
    for place in np.flatnonzero(is_close).tolist():
        count = int(nearest[place])
        share = Fraction(int(totals[place]), n_rows)
        is_enough = _is_power_at_most(1 - share, count, 1 - min_exp)
        least[place] = min(count if is_enough else count + 1, n_rows + 1)
    return least


def least_supports(totals: Counts, min_exp: Fraction) -> Floats:
    """Return the real threshold of each value, log(1 - min_exp) to the base 1 - P(s).

    It is infinite if a value does not occur or no number of rows is enough, and 0 if any row is.
    """
    n_rows = int(totals.sum())
    supports = np.full(len(totals), np.inf)
    if min_exp == 0:
        supports[totals > 0] = 0.0
        return supports
    supports[(totals > 0) & (totals == n_rows)] = 0.0
    if min_exp < 1:
        is_between = (totals > 0) & (totals < n_rows)
        wanted = float(_logarithm(1 - min_exp, Context(prec=60)))
        supports[is_between] = wanted / np.log1p(-totals[is_between] / n_rows)
    return supports


def _is_power_at_most(base: Fraction, exponent: int, bound: Fraction) -> bool:
    """Return whether base**exponent <= bound, for a base and a bound between 0 and 1."""
    if base == 0 or bound in (0, 1):
        return base == 0 or bound == 1
    if exponent <= bound.denominator.bit_length():
        return base**exponent <= bound
    # A reduced fraction's power is reduced: its denominator, at least 2**exponent, is larger than
    # the bound's, so the two differ and enough digits tell which is smaller.
    digits = 30
    while True:
        context = Context(prec=digits)
        power = context.multiply(Decimal(exponent), _logarithm(base, context))
        difference = context.subtract(power, _logarithm(bound, context))
        if abs(difference) > Decimal(10) ** (len(str(exponent)) + len(str(bound)) - digits):
            return difference < 0
        digits *= 2


def _logarithm(value: Fraction, context: Context) -> Decimal:
    """Return the natural logarithm; its error is that of the logarithms of the two numbers."""
    numerator, denominator = Decimal(value.numerator), Decimal(value.denominator)
    return context.subtract(context.ln(numerator), context.ln(denominator))


MEMORY = 2 * 10**9
"""The memory, in bytes, that rules may take while they are mined."""
_BYTES_PER_RULE = 100
_BYTES_PER_COLUMN = 24
"""Peak memory of a rule in arrays; measured: 264 bytes with 10 columns, 336 with 14."""
_BYTES_PER_OBJECT = 1_000
"""Memory of a rule as a Python object, with its antecedent."""

T = TypeVar("T")


def most_rules(n_columns: int) -> int:
    """Return how many rules over `n_columns` columns fit into the memory budget."""
    return MEMORY // (_BYTES_PER_RULE + _BYTES_PER_COLUMN * n_columns)


def bounded(found: Iterable[T], hint: str, most: int = MEMORY // _BYTES_PER_OBJECT) -> Iterator[T]:
    """Yield rules or statistics; raise `ParameterError` once there are more than `most`."""
    for number, one in enumerate(found):
        if number == most:
            raise too_many_rules(most, hint)
        yield one


def too_many_rules(most: int, hint: str) -> ParameterError:
    """Return the error for more rules than fit into the memory budget."""
    return ParameterError(
        f"There are more than {most} rules, too many to keep in {MEMORY // 10**9} GB.",
        hint=hint,
    )


Numbers = Integers | Floats

NO_NODE = -1
"""Stands for a column that an antecedent does not name."""


@dataclass(frozen=True, eq=False)
class Items:
    """The nodes of one column that rules may use.

    Nodes with one leaf of the table come first, in the order of leaves; then the others, from
    lower levels to higher ones.

    Examples
    --------
    >>> work = Domain.of_texts("work", ["Federal", "Private", "State", "Unpaid"])
    >>> groups = ["Government", "Other", "Government", "Other"]
    >>> tree = Hierarchy.from_rows(zip(work.texts, groups)).over(work)
    >>> items = Items.of_tree(tree, np.array([0, 1, 2]))
    >>> tree.labels[items.node].tolist()
    ['Federal', 'State', 'Other', 'Government']
    """

    tree: Tree
    # The number of each item's node: the highest of those that hold the same leaves.
    node: Integers
    # The slice of each item among the leaves that occur in the table, half open.
    first: Integers
    last: Integers
    # The place of each code's leaf among those; -1 if it does not occur.
    leaf: Integers

    @classmethod
    def of_tree(cls, tree: Tree, codes: Codes) -> Items:
        """Return the items of a column, given the codes that occur in the table."""
        is_there = np.zeros(tree.n_leaves, dtype=np.int64)
        is_there[tree.position[codes]] = 1
        before = np.append(0, np.cumsum(is_there))
        first, last = before[tree.first], before[tree.last]
        n_leaves = int(before[-1])
        says_something = (first < last) & (last - first < n_leaves)
        nodes = np.flatnonzero(says_something)
        slices = first[nodes] * (n_leaves + 1) + last[nodes]
        _, lowest, inverse = np.unique(slices, return_index=True, return_inverse=True)
        highest = np.zeros(len(lowest), dtype=np.int64)
        np.maximum.at(highest, inverse, nodes)
        # A parent has a higher number than its children, so this is the order of the leaves.
        kept = highest[np.argsort(lowest)]
        leaf = np.where(is_there, before[:-1], -1)[tree.position]
        return cls(tree, kept, first[kept], last[kept], leaf)

    @property
    def n_leaves(self) -> int:
        """The number of leaves that occur in the table."""
        return int(self.leaf.max(initial=-1)) + 1

    def paths(self) -> tuple[Integers, Integers]:
        """Return the items that hold each leaf, highest first, and where those of a leaf start."""
        item, leaf = spread(self.first, self.last - self.first)
        order = np.lexsort((self.first[item] - self.last[item], leaf))
        start = np.searchsorted(leaf[order], np.arange(self.n_leaves + 1))
        return item[order], start.astype(np.int64)


def tree_of(domain: Domain, trees: Mapping[str, Tree]) -> Tree:
    """Return the hierarchy of a column; a flat one if none was given."""
    return trees[domain.column] if domain.column in trees else Hierarchy.flat().over(domain)


def items_of(cells: Cells, columns: Sequence[str], trees: Mapping[str, Tree]) -> list[Items]:
    """Return the items of some columns."""
    return [
        Items.of_tree(tree_of(cells.domain(column), trees), np.unique(cells.column(column)))
        for column in columns
    ]


def extents_of(tree: Tree) -> Flags:
    """Mark for each node (row) the codes (column) that it holds."""
    position = tree.position[np.newaxis, :]
    is_held = (tree.first[:, np.newaxis] <= position) & (position < tree.last[:, np.newaxis])
    return np.asarray(is_held, dtype=bool)


@dataclass(frozen=True, eq=False)
class RawRules:
    """Rules in the order in which they were found.

    `item` has one row per rule: for each column the place of the node among its `Items`, or -1. The
    other fields are those of `MinedRules`.
    """

    item: Small
    value: Codes
    count: Numbers
    hits: Numbers
    n_itemsets: int

    @classmethod
    def none(cls, n_columns: int, dtype: npt.DTypeLike = np.int64) -> RawRules:
        """Return no rules, with counts of some type."""
        empty = np.empty(0, dtype=dtype)
        item = np.empty((0, n_columns), dtype=np.int32)
        return cls(item, np.empty(0, dtype=np.int64), empty, empty, 0)

    @classmethod
    def joined(cls, parts: Sequence[RawRules]) -> RawRules:
        """Return the rules of all parts, one after the other."""
        return cls(
            np.concatenate([part.item for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.hits for part in parts]),
            sum(part.n_itemsets for part in parts),
        )


@dataclass(frozen=True, eq=False)
class MinedRules:
    """Negative rules: people for whom the antecedent is true do not have the value.

    They are sorted by the number of columns they name, then by nodes, then by value.
    """

    # The names of the quasi-identifiers.
    columns: tuple[str, ...]
    # One row per rule, one column per quasi-identifier: the number of the node in its hierarchy,
    # or -1 if the rule does not name the column.
    nodes: Small
    # The code of the sensitive value that each rule excludes.
    value: Small
    # The number of rows for which each antecedent is true, a sum of memberships if these are
    # fuzzy, and the number of these rows that have the value nevertheless.
    count: Numbers
    hits: Numbers
    # The number of antecedents with enough rows for a rule about some value.
    n_itemsets: int

    @classmethod
    def of_raw(cls, columns: Sequence[Items], raw: RawRules) -> MinedRules:
        """Sort rules that were found in any order."""
        nodes = np.empty((len(raw.value), len(columns)), dtype=np.int32)
        for place, items in enumerate(columns):
            # The last entry is the one that -1 takes.
            nodes[:, place] = np.append(items.node, NO_NODE)[raw.item[:, place]]
        n_named = (nodes != NO_NODE).sum(axis=1)
        sizes = [items.tree.n_nodes + 1 for items in columns]
        places = range(len(columns))
        keys = [n_named, *(nodes[:, place] + np.int64(1) for place in places), raw.value]
        n_values = int(raw.value.max(initial=0)) + 1
        order = lexicographic_order(keys, [len(columns) + 1, *sizes, n_values])
        names = tuple(items.tree.column for items in columns)
        value = raw.value.astype(np.int32)
        rules = cls(names, nodes, value, raw.count, raw.hits, raw.n_itemsets)
        return rules if order is None else rules.take(order)

    def take(self, which: npt.NDArray[np.integer[Any]] | Flags) -> MinedRules:
        """Return some of the rules, in the order given; a mask of booleans selects."""
        return MinedRules(
            self.columns,
            self.nodes[which],
            self.value[which],
            self.count[which],
            self.hits[which],
            self.n_itemsets,
        )

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return (
            f"MinedRules({len(self)} rules over {len(self.columns)} columns, "
            f"{self.n_itemsets} itemsets)"
        )
