"""Mining negative rules in which a number belongs to a node to a degree.

Where few people of 21 years but many of 20 and 22 earn much, a rule about 21 alone would be an
accident. So numbers near a node belong to it in part: wholly within the node's interval, less with
the distance from it, not at all from a given width on. A row supports an antecedent by the product
or the minimum of its memberships, and counts become sums of supports.

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
import numpy.typing as npt

from shoal.core.cells import Cells, Codes
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact
from shoal.core.tree import Integers, Tree
from shoal.knowledge.mining.capacity import most_rules, too_many_rules
from shoal.knowledge.mining.crisp import FEWER
from shoal.knowledge.mining.items import Flags, Items, extents_of
from shoal.knowledge.mining.rules import NO_NODE, MinedRules

__all__ = ["Fuzzy", "FuzzyRows", "memberships", "mine_fuzzy", "read_widths"]

Floats = npt.NDArray[np.float64]
Fuzzy = Literal["product", "minimum"]

_NEARLY = 1e-9
"""Sums of supports this close to a bound, relative to it, are taken to keep it."""
_NARROWEST, _WIDEST = Fraction(1, 10**300), 10**300
_CHUNK = 2**22
"""How many pairs of a node and a row are held at a time."""


def read_widths(
    fuzzy: str | None, width: Mapping[str, Number], domains: Sequence[Domain]
) -> dict[str, float]:
    """Read the widths of fuzzy columns, none where rules are crisp."""
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
    """Say for some nodes (rows) of a numeric column how far each code (column) belongs to them.

    Within the interval of a node's numbers a number belongs to it wholly, beyond it less and less
    until, at the given width, not at all. A missing value belongs to its own leaf and no other
    node.

    Examples
    --------
    >>> from shoal.core.hierarchy import Hierarchy
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
    # A node of no number at all is infinitely far away, and so may be what is very far.
    with np.errstate(over="ignore"):
        distance = np.maximum(np.maximum(lowest - numbers, numbers - highest), 0.0)
        degrees[:, : len(numbers)] = np.maximum(0.0, 1.0 - distance / width)
    if domain.has_missing:
        degrees[:, -1] = is_held[:, -1] & ~member.any(axis=1)
    return degrees


def memberships_of(
    columns: Sequence[Items], domains: Sequence[Domain], widths: Mapping[str, float]
) -> list[Floats]:
    """Give the memberships in the items of every column; 0 and 1 where it has no width."""
    return [
        memberships(items.tree, domain, widths[domain.column], items.node)
        if domain.column in widths
        else extents_of(items.tree)[items.node].astype(np.float64)
        for items, domain in zip(columns, domains, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class FuzzyRows:
    """The distinct rows of a table in the order of their values, and what rules need of these.

    Parameters
    ----------
    codes
        One array a quasi-identifier: for each row its code.
    value
        For each row its sensitive value.
    count
        How often each row occurs.
    threshold
        For each value the least support of a rule about it.
    slack
        The largest share of hits in the support of an antecedent.
    """

    codes: Sequence[Codes]
    value: Codes
    count: Floats
    threshold: Floats
    slack: Fraction

    @classmethod
    def of_cells(
        cls, cells: Cells, sensitive: str, threshold: Floats, slack: Fraction
    ) -> FuzzyRows:
        """Put the cells of a table in the order of their sensitive values."""
        order = np.argsort(cells.column(sensitive), kind="stable")
        return cls(
            [cells.column(name)[order] for name in cells.columns if name != sensitive],
            cells.column(sensitive)[order],
            cells.counts[order].astype(np.float64),
            threshold,
            slack,
        )

    def is_enough(self, support: Floats, threshold: Floats | float) -> Flags:
        """Say which supports reach a threshold; none does that is 0."""
        is_enough: Flags = (support > 0) & (support >= threshold * (1 - _NEARLY))
        return is_enough

    def is_rare(self, hits: Floats, support: Floats) -> Flags:
        """Say which hits are few enough; without slack, which are none."""
        # As a quotient, so that whole numbers are compared as they are.
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
    parts = [_Part.none(len(columns)), *_within_budget(found, most_rules(len(columns)))]
    return MinedRules.of_items(
        columns,
        np.concatenate([part.item for part in parts]),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.hits for part in parts]),
        sum(part.n_itemsets for part in parts),
    )


def _within_budget(parts: Iterator[_Part], most: int) -> Iterator[_Part]:
    """Yield parts, and refuse more rules than fit into the budget; empty ones only count."""
    n_rules = n_itemsets = 0
    for part in parts:
        n_rules += len(part.value)
        n_itemsets += part.n_itemsets
        if n_rules > most:
            raise too_many_rules(most, FEWER)
        if len(part.value):
            yield replace(part, n_itemsets=0)
    if n_itemsets:
        yield replace(_Part.none(part.item.shape[1]), n_itemsets=n_itemsets)


@dataclass(frozen=True, eq=False)
class _Part:
    """Rules whose antecedents differ in the last column they name only."""

    item: npt.NDArray[np.int32]
    value: Codes
    count: Floats
    hits: Floats
    n_itemsets: int

    @classmethod
    def none(cls, n_columns: int) -> _Part:
        empty = np.empty(0, dtype=np.float64)
        return cls(
            np.empty((0, n_columns), dtype=np.int32), empty.astype(np.int64), empty, empty, 0
        )


@dataclass(frozen=True, eq=False)
class _Search:
    """The search, depth first, for antecedents and their supports."""

    rows: FuzzyRows
    memberships: Sequence[Floats]
    fuzzy: Fuzzy
    max_len: int

    def visit(
        self, column: int, named: tuple[tuple[int, int], ...], row: Codes, support: Floats
    ) -> Iterator[_Part]:
        """Name every item of every column from one on, beside those that are named already.

        `row` are the rows that support the antecedent at all, and `support` how much each does.
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
        """Give for each item how much each row supports the antecedent that names it too."""
        degrees = self.memberships[place][items][:, self.rows.codes[place][row]]
        combine = np.multiply if self.fuzzy == "product" else np.minimum
        combined: Floats = combine(degrees, support, out=degrees)
        return combined

    def _report(
        self, named: tuple[tuple[int, int], ...], row: Codes, supports: Floats
    ) -> tuple[_Part, Codes]:
        """Give the rules of each item, the first of which is the last one named."""
        rows, n_items = self.rows, len(supports)
        hits = np.zeros((n_items, len(rows.threshold)))
        value = rows.value[row]
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
        rules = _Part(
            item,
            found.astype(np.int64),
            count[frequent[which]],
            hits[frequent[which], found],
            len(frequent),
        )
        return rules, frequent
