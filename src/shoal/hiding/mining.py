"""FAiR: all rules by which hidden cells can be guessed from the visible ones.

A rule says that rows which show X have the value y in column Y. It is adversarial if at least gamma
rows show X and Y (the public set), and y has a share of at least delta both among these and among
the rows that show X and whose Y is private (the hidden set): a reader of the table finds the rule,
and is right with it. If hidden values must not matter, it is enough that the hidden set is not
empty. `shoal.hiding._search_kernels` searches all antecedents depth first; `categorize` says
which of the paper's five categories an itemset belongs to.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 3 and 4, Figure 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Bytes, Codes, Counts, Flags, Small
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, whole
from shoal.core.progress import Work
from shoal.hiding._search_kernels import Searcher
from shoal.hiding.cells import NO_ITEM, PRIVATE, VISIBLE, HiddenTable, Limits, Packed, pack
from shoal.hiding.row_sets import RowSets, RowSetSearch
from shoal.hiding.rules import (
    MOST_STEPS,
    CodedRules,
    PackedRules,
    most_rules,
    refuse_more_rules,
    refuse_more_steps,
)

_FEWER = "raise gamma or delta, or let antecedents name fewer columns (max_len)."
_CHEAPER = "raise gamma or delta, let antecedents name fewer columns (max_len), or raise max_work."
_REPEATED, _MANY = 8, 2**20


def mine(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    gamma: Number = 1,
    max_len: int | None = None,
    use_hidden: bool = True,
    max_work: int = MOST_STEPS,
) -> CodedRules:
    """Find all adversarial rules of a table.

    `codes` and `state` are as in `shoal.hiding.cells.HiddenTable`. `delta` is the minimum
    confidence, public and hidden; a tie is adversarial. `gamma` is the fewest rows of a public set:
    a count if it is an integer, otherwise a share of the rows. `max_len` limits the columns that an
    antecedent names; default: None, all of them. Without `use_hidden`, any private cell that a rule
    fires at is enough. `max_work` limits the cells that a search looks at; default: 2e11.

    Raises
    ------
    ParameterError
        If a parameter is out of range, there are more rules than can be kept, or the search would
        take too long.
    DataError
        If the table has too many rows to be counted.

    Notes
    -----
    The empty antecedent is left out: see `base_rates`. The support of a rule is the size of its
    public set, as [Aggarwal06], Example 1, prints it; that of the antecedent, which Figure 1 tests
    in line 3, only serves to leave out longer ones.

    Two lines of Figure 1 lose rules if taken literally. Line 5 drops an antecedent, with all longer
    ones, if it is non-discriminative for some column; it may still predict other columns. Line 7
    removes columns that can no longer be predicted from the projected table; a longer antecedent
    may still name them. Here a column that cannot be predicted is dropped as a consequent only, and
    an antecedent when no consequent is left. Antecedents that appear in the same rows are searched
    once; if columns repeat one another, `mine_condensed` finds one rule instead of many.

    Examples
    --------
    Two of three rows show that 0 goes with 1; the third hides it.

    >>> codes = np.array([[0, 1], [0, 1], [0, 1]])
    >>> rules = mine(codes, np.array([[0, 0], [0, 0], [0, 1]]), delta=0.8, gamma=2)
    >>> list(rules)
    [CodedRule(column 0 -> column 1, public 2 of 2, hidden 1 of 1)]
    """
    table = HiddenTable(codes, state)
    longest = table.n_columns if max_len is None else whole("max_len", max_len, least=1)
    search = _Search(table, Limits.of(delta, gamma, table.n_rows, use_hidden=use_hidden), max_work)
    with search.refusing():
        found = (
            search.limited(longest)
            if longest < table.n_columns
            else search.sets().listed(most_rules(table.n_columns))
        )
    return search.unpacked(found)


class _Search:
    """A search for the rules of a table within limits."""

    def __init__(self, table: HiddenTable, limits: Limits, max_work: int) -> None:
        self.limits = limits
        self.packed = pack(table, limits)
        self.work = Work(max_work)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Raise `ParameterError` if there are too many rules, or the search takes too long."""
        with refuse_more_rules(self.packed.n_columns, _FEWER), refuse_more_steps(_CHEAPER):
            yield

    def sets(self) -> RowSets:
        return RowSetSearch(self.packed, self.limits, self.work).all()

    def limited(self, max_len: int) -> PackedRules:
        most = most_rules(self.packed.n_columns)
        return PackedRules(*Searcher(self.packed, self.limits, max_len, most).search())

    def unpacked(self, rules: PackedRules) -> CodedRules:
        """Return rules in the codes of the table, in their order."""
        unpacked = self.in_codes(rules)
        return unpacked.take(unpacked.order)

    def condensed(self, sets: RowSets) -> CondensedRules:
        shortest, closed = self.in_codes(sets.condensed()), self.in_codes(sets.closed())
        order = shortest.order
        return CondensedRules(shortest.take(order), closed.take(order))

    def in_codes(self, rules: PackedRules) -> CodedRules:
        use_hidden = self.limits.use_hidden
        return CodedRules.of_packed(
            self.packed, rules.antecedent, rules.found, use_hidden=use_hidden
        )


@dataclass(frozen=True, eq=False)
class CondensedRules:
    """Adversarial rules, one for each set of rows, column and value.

    `shortest` names a minimal antecedent of the set of rows, and `closed` the longest one, all
    items that these rows share. Every other antecedent between the two that appears in the same
    rows makes a rule with the same counts. Both have the same rules in the same order.
    """

    shortest: CodedRules
    closed: CodedRules


def mine_condensed(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    gamma: Number = 1,
    use_hidden: bool = True,
    max_work: int = MOST_STEPS,
) -> CondensedRules:
    """Find one adversarial rule for each set of rows in which antecedents appear.

    Parameters and errors are those of `mine`, which lists every rule. Columns that repeat others
    multiply these, and change nothing here. Both predict the same cells.

    Examples
    --------
    The first two columns say the same.

    >>> codes = np.array([[0, 5, 1], [0, 5, 1], [0, 5, 1], [1, 6, 0]])
    >>> state = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
    >>> len(mine(codes, state, delta=0.8, gamma=2))
    3
    >>> rules = mine_condensed(codes, state, delta=0.8, gamma=2)
    >>> dict(rules.shortest[0].antecedent), dict(rules.closed[0].antecedent)
    ({0: 0}, {0: 0, 1: 5})
    """
    table = HiddenTable(codes, state)
    search = _Search(table, Limits.of(delta, gamma, table.n_rows, use_hidden=use_hidden), max_work)
    with search.refusing():
        return search.condensed(search.sets())


def mine_or_condense(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    gamma: Number,
    max_len: int | None,
    max_work: int,
) -> CodedRules | CondensedRules:
    """Mine as `mine` does; condense the rules if there are too many that are alike.

    That is, more than a million of them, and on average more than eight for each that differs.
    """
    table = HiddenTable(codes, state)
    if max_len is not None and max_len < table.n_columns:
        return mine(codes, state, delta=delta, gamma=gamma, max_len=max_len, max_work=max_work)
    search = _Search(table, Limits.of(delta, gamma, table.n_rows, use_hidden=True), max_work)
    with search.refusing():
        sets = search.sets()
        most, n_few = most_rules(table.n_columns), max(_MANY, _REPEATED * len(sets.found))
        try:
            return search.unpacked(sets.listed(min(most, n_few)))
        except OverflowError:
            return search.condensed(sets)


@dataclass(frozen=True, eq=False)
class BestRules:
    """Hidden cells at which some public rule fires, row by row, and the best such rule of each.

    `value` is the code that the rule predicts. `named` has one row per cell: the columns that the
    rule names, ascending, filled up with -1.
    """

    row: Codes
    column: Codes
    value: Codes
    hits: Counts
    n_public: Counts
    named: Small


def find_best_rules(codes: Small, is_hidden: Flags, limits: Limits, max_len: int) -> BestRules:
    """Find the public rule that an adversary believes most, for every hidden cell.

    That is the rule of the highest confidence, then of the largest public set, then of the shortest
    antecedent, then of the columns and of the value that come first. Rules are searched as in
    `mine`, but never listed, so there may be any number of them.
    """
    state = np.where(is_hidden, PRIVATE, VISIBLE).astype(np.uint8)
    # The codes of hidden cells are unknown, and do not matter.
    packed = pack(HiddenTable(np.where(is_hidden, 0, codes), state), limits)
    row, column = np.nonzero(is_hidden)
    cell = np.full(is_hidden.shape, -1, dtype=np.int64)
    cell[row, column] = np.arange(len(row))
    searcher = Searcher(packed, limits, max_len, 0)
    of_packed = np.ascontiguousarray(cell[packed.order].T)
    best, named = searcher.search_best(of_packed, len(row), _implied(packed))
    found = np.flatnonzero(best[:, 2])
    hits, n_public, _, value = best[found].T
    row, column = row[found], column[found]
    predicted = packed.unpack_value(column, value).astype(np.int64)
    return BestRules(row, column, predicted, hits, n_public, named[found])


_MOST_COMPARED = 2**28


def _implied(packed: Packed) -> Small:
    """Return for each column and value what all rows with it show in each column, or -1.

    It is empty for tables in which finding that would take too long.
    """
    code, n_values = packed.code, packed.n_values
    n_columns, n_rows = code.shape
    n_each = int(n_values.max(initial=0))
    if not n_rows or not n_each or max(n_rows, n_each) * n_columns**2 > _MOST_COMPARED:
        return np.empty((0, 0, 0), dtype=np.int32)
    implied = np.full((n_columns, n_each, n_columns), -1, dtype=np.int32)
    for column in range(n_columns):
        order = np.argsort(code[column], kind="stable")
        values, start = np.unique(code[column, order], return_index=True)
        some = code[:, order]
        least, most = (reduce.reduceat(some, start, axis=1) for reduce in (np.minimum, np.maximum))
        is_shared = (least == most) & (least < n_values[:, np.newaxis])
        is_shared[column] = False
        is_item = values < n_values[column]
        implied[column, values[is_item]] = np.where(is_shared, least, -1).T[is_item]
    return implied


def base_rates(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    use_hidden: bool = True,
) -> CodedRules:
    """Find the columns with private cells in which a value has a share of delta or more.

    They are returned as rules without an antecedent, whatever their hidden confidence. Such a value
    is the best guess for everybody; hiding other columns does not protect against it. The
    parameters are those of `mine`; `hidden_hits` is None unless `use_hidden`.

    Examples
    --------
    >>> codes, state = np.array([[0, 1], [1, 1], [2, 1]]), np.array([[0, 0], [0, 0], [0, 1]])
    >>> list(base_rates(codes, state, delta=0.8))
    [CodedRule(nothing -> column 1, public 2 of 2, hidden 1 of 1)]
    """
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, 1, table.n_rows, use_hidden=use_hidden)
    found = [
        _base_rates_of(table, column, limits)
        for column in range(table.n_columns)
        if (table.state[:, column] == PRIVATE).any()
    ]
    counted = np.concatenate([np.empty((0, 6), dtype=np.int64), *found])
    return CodedRules(
        np.full((len(counted), table.n_columns), NO_ITEM, dtype=np.int32),
        counted[:, 0].astype(np.int32),
        counted[:, 1].astype(np.int32),
        counted[:, 2],
        counted[:, 3],
        counted[:, 4],
        counted[:, 5] if use_hidden else None,
    )


def _base_rates_of(table: HiddenTable, column: int, limits: Limits) -> Codes:
    """Return column, value and counts of each value that is frequent enough."""
    codes, states = table.codes[:, column], table.state[:, column]
    values, hits = np.unique(codes[states == VISIBLE], return_counts=True)
    n_public = int(hits.sum())
    is_frequent = hits * limits.denominator >= limits.numerator * n_public
    values, hits = values[is_frequent], hits[is_frequent]
    hidden = codes[states == PRIVATE]
    hidden_hits = (hidden == values[:, np.newaxis]).sum(axis=1)
    same = np.ones(len(values), dtype=np.int64)
    rates: Codes = np.column_stack(
        [column * same, values, n_public * same, hits, len(hidden) * same, hidden_hits]
    ).astype(np.int64)
    return rates


class Category(StrEnum):
    """The category of an itemset; the first that fits counts."""

    PRIVACY_FREE = "privacy-free"
    """Its projected table has no private cell."""

    DISCRIMINATIVE = "discriminative"
    """It is the antecedent of an adversarial rule."""

    NON_DISCRIMINATIVE = "non-discriminative"
    """No column of its projected table that has private cells has a visible cell."""

    CONTRAST = "contrast"
    """No private cell of its projected table has a value that is visible in the same column."""

    UNDETERMINED = "undetermined"
    """None of these; larger itemsets may be discriminative."""


def categorize(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    itemset: Mapping[int, int],
    *,
    delta: Number,
    gamma: Number = 1,
) -> Category:
    """Return the category of an itemset: by the place of a column, the code of its value.

    The other parameters are those of `mine`. By the paper's wording an itemset is
    non-discriminative as soon as one column is hidden in all its rows. It may still predict another
    column, so here all columns with private cells must be hidden.

    Examples
    --------
    >>> codes, state = np.array([[0, 1], [0, 1], [1, 1]]), np.array([[0, 0], [0, 1], [0, 1]])
    >>> [str(categorize(codes, state, {0: code}, delta=0.8)) for code in (0, 1, 2)]
    ['discriminative', 'non-discriminative', 'privacy-free']
    """
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, gamma, table.n_rows, use_hidden=True)
    if not all(0 <= column < table.n_columns for column in itemset):
        raise ParameterError(
            f"An itemset names columns 0 to {table.n_columns - 1}; this one names others."
        )
    appears = np.ones(table.n_rows, dtype=bool)
    for column, code in itemset.items():
        appears &= (table.state[:, column] == VISIBLE) & (table.codes[:, column] == code)
    others = [column for column in range(table.n_columns) if column not in itemset]
    columns = [
        _Column(table.codes[appears, column], table.state[appears, column])
        for column in others
        if (table.state[appears, column] == PRIVATE).any()
    ]
    if not columns:
        return Category.PRIVACY_FREE
    if any(column.is_predicted(limits) for column in columns):
        return Category.DISCRIMINATIVE
    if not any(len(column.public) for column in columns):
        return Category.NON_DISCRIMINATIVE
    if not any(np.isin(column.hidden, column.public).any() for column in columns):
        return Category.CONTRAST
    return Category.UNDETERMINED


class _Column:
    """The values of one column of a projected table, public and hidden."""

    def __init__(self, codes: Small, state: Bytes) -> None:
        self.public, self.hidden = codes[state == VISIBLE], codes[state == PRIVATE]

    def is_predicted(self, limits: Limits) -> bool:
        """Return whether some value has enough support and both confidences."""
        return len(self.public) >= limits.gamma and any(
            limits.is_confident(int((self.public == value).sum()), len(self.public))
            and limits.is_confident(int((self.hidden == value).sum()), len(self.hidden))
            for value in np.unique(self.hidden).tolist()
        )
