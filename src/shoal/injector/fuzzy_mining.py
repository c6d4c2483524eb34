"""Mining negative rules in which a number belongs to a node to a degree.

If few people aged 21 but many aged 20 and 22 earn a lot, a rule about 21 alone would be an
accident. So numbers near a node belong to it in part: fully within the node's interval, less with
the distance from it, and not at all from a given width on. A row supports an antecedent by the
product or the minimum of its memberships, and counts become sums of supports.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section
IV-B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats, Integers
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact
from shoal.core.tree import Tree
from shoal.injector.crisp_mining import FEWER
from shoal.injector.mined_rules import (
    NO_NODE,
    Items,
    MinedRules,
    RawRules,
    extents_of,
    most_rules,
    too_many_rules,
)

Fuzzy = Literal["product", "minimum"]

_NEARLY = 1e-9
"""Sums of supports this close to a bound, relative to it, count as within it."""
_NARROWEST, _WIDEST = Fraction(1, 10**300), 10**300
_CHUNK = 2**22
"""The number of pairs of a node and a row that are held in memory at a time."""


def read_widths(
    fuzzy: str | None, width: Mapping[str, Number], domains: Sequence[Domain]
) -> dict[str, float]:
    """Return the widths of fuzzy columns; empty if rules are crisp."""
    if fuzzy is not None and fuzzy not in get_args(Fuzzy):
        raise ParameterError(f"fuzzy must be one of {', '.join(get_args(Fuzzy))}, or None.")
    if (fuzzy is None) != (not width):
        raise ParameterError(
            "fuzzy and width must be given together; got one of them.",
            hint="for example fuzzy='product', width={'age': 5}.",
        )
    numeric = {domain.column for domain in domains if domain.numbers is not None}
    return {column: _read_width(column, value, numeric) for column, value in width.items()}


def _read_width(column: str, value: Number, numeric: set[str]) -> float:
    if column not in numeric:
        raise ParameterError(
            f"A width is given for {column!r}, which is not a numeric quasi-identifier.",
            hint=f"the numeric ones are {', '.join(sorted(numeric)) or 'none'}.",
        )
    read = exact(f"The width of column {column!r}", value)
    if not _NARROWEST <= read <= _WIDEST:
        raise ParameterError(
            f"The width of column {column!r} must be a number of moderate size above 0; got "
            f"{value}.",
            hint="for example 5.",
        )
    return float(read)


def memberships(tree: Tree, domain: Domain, width: float, nodes: Integers) -> Floats:
    """Return the degree to which each code (column) of a numeric column belongs to nodes (rows).

    A number within the interval of a node's numbers belongs to it fully; beyond it, membership
    falls linearly to 0 at the given width. A missing value belongs to its own leaf and to no other
    node.

    Examples
    --------
    >>> from shoal.hierarchies.hierarchy import Hierarchy
    >>> age = Domain.of_texts("age", ["20", "21", "23"], numbers=[20, 21, 23])
    >>> tree = Hierarchy.intervals([20, 22]).over(age)
    >>> memberships(tree, age, 4, np.arange(tree.n_nodes - 1)).tolist()
    [[1.0, 0.75, 0.25], [0.75, 1.0, 0.5], [0.25, 0.5, 1.0], [1.0, 1.0, 0.5], [0.25, 0.5, 1.0]]
    """
    numbers = np.asarray(domain.numbers, dtype=np.float64)
    is_held = extents_of(tree)[nodes]
    member = is_held[:, : len(numbers)]
    lowest = np.where(member, numbers, np.inf).min(axis=1, initial=np.inf)[:, np.newaxis]
    highest = np.where(member, numbers, -np.inf).max(axis=1, initial=-np.inf)[:, np.newaxis]
    degrees = np.zeros(is_held.shape)
    # A node without any number is infinitely far away; very distant numbers may overflow too.
    with np.errstate(over="ignore"):
        distance = np.maximum(np.maximum(lowest - numbers, numbers - highest), 0.0)
        degrees[:, : len(numbers)] = np.maximum(0.0, 1.0 - distance / width)
    if domain.has_missing:
        degrees[:, -1] = is_held[:, -1] & ~member.any(axis=1)
    return degrees


def memberships_of(
    columns: Sequence[Items], domains: Sequence[Domain], widths: Mapping[str, float]
) -> list[Floats]:
    """Return the memberships in the items of every column; 0 or 1 if it has no width."""
    return [
        memberships(items.tree, domain, widths[domain.column], items.node)
        if domain.column in widths
        else extents_of(items.tree)[items.node].astype(np.float64)
        for items, domain in zip(columns, domains, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class FuzzyRows:
    """The distinct rows of a table, sorted by sensitive value, and the thresholds of rules."""

    # One array per quasi-identifier.
    codes: Sequence[Codes]
    value: Codes
    count: Floats
    # The minimum support of a rule about each value.
    threshold: Floats
    # The largest share of hits in the support of an antecedent.
    slack: Fraction

    @classmethod
    def of_cells(
        cls, cells: Cells, sensitive: str, threshold: Floats, slack: Fraction
    ) -> FuzzyRows:
        """Sort the cells of a table by their sensitive values."""
        order = np.argsort(cells.column(sensitive), kind="stable")
        return cls(
            [cells.column(name)[order] for name in cells.columns if name != sensitive],
            cells.column(sensitive)[order],
            cells.counts[order].astype(np.float64),
            threshold,
            slack,
        )

    def is_enough(self, support: Floats, threshold: Floats | float) -> Flags:
        """Return which supports reach a threshold; a support of 0 never does."""
        is_enough: Flags = (support > 0) & (support >= threshold * (1 - _NEARLY))
        return is_enough

    def is_rare(self, hits: Floats, support: Floats) -> Flags:
        """Return which hits are few enough; without slack, which are 0."""
        # As a quotient, so that integers are compared exactly.
        numerator, denominator = self.slack.limit_denominator(2**52).as_integer_ratio()
        is_rare: Flags = hits * denominator <= numerator * support * (1 + _NEARLY)
        return is_rare


def mine_fuzzy(
    rows: FuzzyRows,
    columns: Sequence[Items],
    memberships: Sequence[Floats],
    fuzzy: Fuzzy,
    max_len: int,
) -> MinedRules:
    """Find the rules whose antecedents name up to `max_len` columns."""
    search = _Search(rows, memberships, fuzzy, max_len)
    everything = np.arange(len(rows.value))
    found = search.visit(0, (), everything, np.ones(len(everything)))
    parts = [
        RawRules.none(len(columns), np.float64),
        *_within_budget(found, most_rules(len(columns))),
    ]
    return MinedRules.of_raw(columns, RawRules.joined(parts))


def _within_budget(parts: Iterator[RawRules], most: int) -> Iterator[RawRules]:
    """Yield the parts that have rules; raise `ParameterError` if they exceed the memory budget."""
    n_rules = n_itemsets = 0
    for part in parts:
        n_rules += len(part.value)
        n_itemsets += part.n_itemsets
        if n_rules > most:
            raise too_many_rules(most, FEWER)
        if len(part.value):
            yield replace(part, n_itemsets=0)
    if n_itemsets:
        yield replace(RawRules.none(part.item.shape[1], np.float64), n_itemsets=n_itemsets)


@dataclass(frozen=True, eq=False)
class _Search:
    """The depth-first search for antecedents and their supports."""

    rows: FuzzyRows
    memberships: Sequence[Floats]
    fuzzy: Fuzzy
    max_len: int

    def visit(
        self, column: int, named: tuple[tuple[int, int], ...], row: Codes, support: Floats
    ) -> Iterator[RawRules]:
        """Name every item of every column from `column` on, in addition to those in `named`.

        `row` holds the rows that support the antecedent at all, and `support` how much each does.
        """
        n_columns = len(self.memberships)
        for place in range(column, n_columns):
            n_together = max(1, _CHUNK // max(len(row), 1))
            for first in range(0, len(self.memberships[place]), n_together):
                items = slice(first, first + n_together)
                supports = self._supports(place, items, row, support)
                part, frequent = self._report((*named, (place, first)), row, supports)
                yield part
                if len(named) + 1 == self.max_len or place + 1 == n_columns:
                    continue
                for item in frequent.tolist():
                    is_left = supports[item] > 0
                    yield from self.visit(
                        place + 1,
                        (*named, (place, first + item)),
                        row[is_left],
                        supports[item][is_left],
                    )

    def _supports(self, place: int, items: slice, row: Codes, support: Floats) -> Floats:
        """Return for each item how much each row supports the antecedent extended by it."""
        degrees = self.memberships[place][items][:, self.rows.codes[place][row]]
        combine = np.multiply if self.fuzzy == "product" else np.minimum
        combined: Floats = combine(degrees, support, out=degrees)
        return combined

    def _report(
        self, named: tuple[tuple[int, int], ...], row: Codes, supports: Floats
    ) -> tuple[RawRules, Codes]:
        """Return the rules of each item from the last one named on, and the frequent items."""
        rows, n_items = self.rows, len(supports)
        hits = np.zeros((n_items, len(rows.threshold)))
        value = rows.value[row]
        # Rows are sorted by value, so the hits of a value are the sum of one run.
        start = np.flatnonzero(np.r_[True, value[1:] != value[:-1]])
        hits[:, value[start]] = np.add.reduceat(supports * rows.count[row], start, axis=1)
        count = hits.sum(axis=1)
        frequent = np.flatnonzero(rows.is_enough(count, rows.threshold.min()))
        total = count[frequent, np.newaxis]
        is_rule = rows.is_enough(total, rows.threshold) & rows.is_rare(hits[frequent], total)
        which, found = np.nonzero(is_rule)
        item = np.full((len(which), len(self.memberships)), NO_NODE, dtype=np.int32)
        for place, number in named[:-1]:
            item[:, place] = number
        place, first = named[-1]
        item[:, place] = first + frequent[which]
        rules = RawRules(
            item,
            found.astype(np.int64),
            count[frequent[which]],
            hits[frequent[which], found],
            len(frequent),
        )
        return rules, frequent
