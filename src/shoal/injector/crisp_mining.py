"""Mining negative rules whose antecedents either hold for a row or do not.

Antecedents of one column are counted at once: rows by leaf and value, summed along the leaves, so
that every node is a difference of two sums. Longer antecedents are searched depth first. The search
never returns to the rows: it needs only their distinct suffixes, column by column.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section
IV-C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Small, Words
from shoal.core.cells import group, total_by
from shoal.core.errors import ParameterError
from shoal.core.exact import highest_at_most
from shoal.injector._mining_kernels import Miner
from shoal.injector.mined_rules import (
    MEMORY,
    NO_NODE,
    Items,
    RawRules,
    most_rules,
    too_many_rules,
)

_CHUNK = 2**22
"""The number of pairs of a node and a value that are counted at a time."""
_WORD = 64
FEWER = "let antecedents name fewer columns (max_len), or raise min_exp."
"""The hint for too many rules."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The distinct rows of a table, and the thresholds of rules about their values."""

    # One array per column: the place of each row's leaf in the column's `Items`.
    leaves: Sequence[Codes]
    # The value of each row: a place in `threshold`, or `n_values` if no rule is about it.
    value: Codes
    count: Counts
    # The least count of each value that rules may be about, ascending.
    threshold: Counts
    # The largest share of hits among the rows of an antecedent.
    slack: Fraction

    @property
    def n_values(self) -> int:
        """The number of values that rules may be about."""
        return len(self.threshold)

    @property
    def least(self) -> int:
        """The fewest rows of an antecedent for which there can be a rule."""
        return max(1, int(self.threshold[0]))

    @property
    def ratio(self) -> tuple[int, int]:
        """The slack as a quotient of numbers small enough to multiply by counts."""
        return highest_at_most(self.slack, int(self.count.sum())).as_integer_ratio()


def mine_single(rows: CountedRows, columns: Sequence[Items]) -> RawRules:
    """Find the rules whose antecedents name one column."""
    parts = [RawRules.none(len(columns))]
    for place, items in enumerate(columns):
        # As many values at a time as fit into the chunk.
        n_together = max(1, _CHUNK // max(len(items.node), 1))
        parts.extend(
            _mine_column(rows, columns, place, slice(first, first + n_together))
            for first in range(0, rows.n_values, n_together)
        )
    return RawRules.joined(parts)


def _mine_column(
    rows: CountedRows, columns: Sequence[Items], place: int, values: slice
) -> RawRules:
    items, leaf = columns[place], rows.leaves[place]
    count = _roll_up(items, leaf, np.zeros_like(leaf), rows.count, 1)[:, 0]
    threshold = rows.threshold[values]
    is_asked = (rows.value >= values.start) & (rows.value < values.start + len(threshold))
    hits = _roll_up(
        items,
        leaf[is_asked],
        rows.value[is_asked] - values.start,
        rows.count[is_asked],
        len(threshold),
    )
    numerator, denominator = rows.ratio
    is_rare = hits * denominator <= numerator * count[:, np.newaxis]
    which, value = np.nonzero(is_rare & (count[:, np.newaxis] >= threshold))
    item = np.full((len(which), len(columns)), NO_NODE, dtype=np.int32)
    item[:, place] = which
    # Values come in parts; antecedents are counted with the first part.
    n_itemsets = int((count >= rows.least).sum()) if values.start == 0 else 0
    return RawRules(item, value + values.start, count[which], hits[which, value], n_itemsets)


def _roll_up(items: Items, leaf: Codes, value: Codes, count: Counts, n_values: int) -> Counts:
    """Count the rows of every item by value."""
    sums = np.zeros((items.n_leaves + 1, n_values), dtype=np.int64)
    np.add.at(sums, (leaf + 1, value), count)
    np.cumsum(sums, axis=0, out=sums)
    counts: Counts = sums[items.last] - sums[items.first]
    return counts


@dataclass(frozen=True, eq=False)
class Suffixes:
    """The distinct ends of rows, from each column on, as the kernel reads them.

    A suffix of a column is a leaf of that column and a suffix of the next; the suffixes of a column
    are numbered in that order. The last column is followed by the value if hits are counted,
    otherwise by nothing.
    """

    # The first suffix of each column, and the number of all suffixes at the end.
    start: Codes
    # The leaf of each suffix, the number of the suffix without it, and its value if hits are
    # counted.
    leaf: Small
    rest: Small
    value: Small
    # For each suffix of the first column its rows, and their values as bits, `n_words` words per
    # suffix (none if hits are counted).
    count: Counts
    seen: Words
    n_words: int
    # The first leaf of each column in `path_start`.
    leaf_start: Codes
    # The items that hold each leaf, highest first, and the leaf after the last of each item.
    path_start: Codes
    path: Small
    path_last: Small

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.start) - 1

    @property
    def n_most(self) -> int:
        """The largest number of suffixes of a column after the first."""
        return int(np.diff(self.start)[1:].max(initial=1))

    @property
    def height(self) -> int:
        """The largest number of items that hold one leaf."""
        return int(np.diff(self.path_start).max(initial=1))

    @classmethod
    def of_rows(cls, rows: CountedRows, columns: Sequence[Items]) -> Suffixes:
        """Number the suffixes of a table."""
        counts_hits = rows.slack > 0
        n_rows, n_ends = len(rows.count), rows.n_values + 1 if counts_hits else 1
        number = rows.value if counts_hits else np.zeros(n_rows, dtype=np.int64)
        leaves, rests, values, n_suffixes = [], [], [], [0]
        # From the last column to the first: rows that agree from a column on share a number.
        for leaf, items in zip(rows.leaves[::-1], columns[::-1], strict=True):
            first, inverse = group([leaf, number], [items.n_leaves, n_ends], n_rows)
            leaves.append(leaf[first])
            rests.append(number[first])
            values.append(rows.value[first])
            n_suffixes.append(len(first))
            number, n_ends = inverse, len(first)
        count = total_by(number, rows.count, n_ends)
        n_words = 0 if counts_hits else rows.n_values // _WORD + 1
        _refuse_wide(sum(n_suffixes), n_words)
        return cls(
            np.append(0, np.cumsum(n_suffixes[:0:-1])),
            _small(leaves[::-1]),
            _small(rests[::-1]),
            _small(values[::-1]),
            count,
            _seen(number, rows.value, n_ends, n_words),
            n_words,
            *_paths(columns),
        )


def _refuse_wide(n_suffixes: int, n_words: int) -> None:
    """Raise `ParameterError` if the search alone would exceed the memory budget."""
    # Leaf, rest and value, the list of the search with the rows before each, and the values seen.
    n_bytes = n_suffixes * (3 * 4 + 4 + 8 + 2 * 8 * n_words)
    if n_bytes > MEMORY:
        raise ParameterError(
            f"The search for rules of several columns would take {n_bytes // 10**9} GB; the limit "
            f"is {MEMORY // 10**9} GB.",
            hint="let antecedents name one column (max_len = 1), or leave out columns.",
        )


def _small(arrays: Sequence[Codes]) -> Small:
    return np.concatenate(arrays).astype(np.int32)


def _seen(number: Codes, value: Codes, n_suffixes: int, n_words: int) -> Words:
    """Return the values of each suffix as bits."""
    seen = np.zeros(n_suffixes * n_words, dtype=np.uint64)
    if n_words:
        bits = np.uint64(1) << (value % _WORD).astype(np.uint64)
        np.bitwise_or.at(seen, number * n_words + value // _WORD, bits)
    return seen


def _paths(columns: Sequence[Items]) -> tuple[Codes, Codes, Small, Small]:
    leaf_starts, path_starts, paths, lasts = [0], [np.zeros(1, dtype=np.int64)], [], []
    for items in columns:
        path, start = items.paths()
        leaf_starts.append(leaf_starts[-1] + items.n_leaves)
        path_starts.append(path_starts[-1][-1] + start[1:])
        paths.append(path)
        lasts.append(items.last[path])
    return (
        np.array(leaf_starts, dtype=np.int64),
        np.concatenate(path_starts),
        _small(paths),
        _small(lasts),
    )


def mine_long(rows: CountedRows, columns: Sequence[Items], max_len: int) -> RawRules:
    """Find the rules whose antecedents name up to `max_len` columns."""
    # The more a column splits, the fewer rows are left to those after it.
    order = sorted(range(len(columns)), key=lambda place: -columns[place].n_leaves)
    used = [place for place in order if len(columns[place].node)]
    if not used:
        return RawRules.none(len(columns))
    ordered = CountedRows(
        [rows.leaves[place] for place in used], rows.value, rows.count, rows.threshold, rows.slack
    )
    suffixes = Suffixes.of_rows(ordered, [columns[place] for place in used])
    most = most_rules(len(columns))
    miner = Miner(suffixes, rows.threshold, *rows.ratio, max_len, most)
    try:
        found, count, start, value, hits, n_itemsets = miner.mine()
    except OverflowError:
        raise too_many_rules(most, FEWER) from None
    itemset = np.repeat(np.arange(len(count)), np.diff(start))
    item = np.full((len(count), len(columns)), NO_NODE, dtype=np.int32)
    item[:, used] = found
    return RawRules(item[itemset], value.astype(np.int64), count[itemset], hits, n_itemsets)
