"""Counts of distinct cells: all that methods, attacks and measures see of a table.

A cell is a distinct combination of codes with the number of rows that have it. However many rows a
table has, the pure layers work on its cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.core._cell_kernels import number_keys
from shoal.core.arrays import Codes, Counts
from shoal.core.domain import Domain

_KEYS_A_ROW = 8
_FEW_KEYS = 1 << 12
_ROWS_A_KEY = 8
"""From so many rows per different key on, keys are numbered instead of sorted."""
_WORD = 63
"""The bits of a number that is not negative."""


def group(columns: Sequence[Codes], sizes: Sequence[int], n_rows: int) -> tuple[Codes, Codes]:
    """Group equal combinations of codes.

    `sizes` holds the number of codes that each column can have; `n_rows` is given as well because
    there may be no columns. Returns for each group, in lexicographic order, the position of its
    first member, and for each position its group.

    Examples
    --------
    >>> first, inverse = group([np.array([1, 0, 1]), np.array([0, 0, 0])], [2, 1], 3)
    >>> first.tolist(), inverse.tolist()
    ([1, 0], [1, 0, 1])
    """
    room = max(_KEYS_A_ROW * n_rows, _FEW_KEYS)
    key, n_keys = _key(columns, sizes, n_rows, room)
    if n_keys > room:
        return _group_few(key) or _group_sorted(key)
    # If there is room for all combinations, those that occur are numbered without sorting.
    there, inverse = _renumbered(key, n_keys)
    first = np.empty(len(there), dtype=np.int64)
    # Of several assignments to one place the last one remains: in reverse order, the first member.
    first[inverse[::-1]] = np.arange(n_rows - 1, -1, -1)
    return first, inverse


def _group_few(key: Codes) -> tuple[Codes, Codes] | None:
    """Group equal keys, sorting only the different ones; None if there are too many of those."""
    codes = np.empty(len(key), dtype=np.int32)
    first = np.empty(len(key) // _ROWS_A_KEY + 1, dtype=np.int64)
    n_found = number_keys(key, codes, first)
    if n_found < 0:
        return None
    first = first[:n_found]
    order = np.argsort(key[first])
    rank = np.empty(n_found, dtype=np.int64)
    rank[order] = np.arange(n_found)
    return first[order], rank[codes]


def total_by(owner: Codes, counts: Counts, n_owners: int) -> Counts:
    """Add up the counts of each owner, in whole numbers.

    Examples
    --------
    >>> total_by(np.array([1, 0, 1]), np.array([2, 3, 4]), 3).tolist()
    [3, 6, 0]
    """
    totals = np.zeros(n_owners, dtype=np.int64)
    np.add.at(totals, owner, counts)
    return totals


def _group_sorted(key: Codes) -> tuple[Codes, Codes]:
    """Group equal keys; `np.unique` would need half as much memory again."""
    order, in_order = _sorted_with_order(key)
    opens = np.ones(len(key), dtype=bool)
    np.not_equal(in_order[1:], in_order[:-1], out=opens[1:])
    del in_order
    inverse = np.empty(len(key), dtype=np.int64)
    inverse[order] = np.cumsum(opens, dtype=smallest_type(len(key))) - 1
    return order[opens].astype(np.int64, copy=False), inverse


def _sorted_with_order(key: Codes) -> tuple[Codes, Codes]:
    """Return the stable order of keys that are not negative, and the keys in that order."""
    n_bits = len(key).bit_length()
    if int(key.max(initial=0)).bit_length() + n_bits > _WORD:
        order = np.argsort(key, kind="stable")
        return order, key[order]
    # A key and its place in one number: numbers alone are sorted nine times as fast as places.
    packed = key << n_bits
    packed |= np.arange(len(key))
    packed.sort()
    in_order = packed >> n_bits
    packed &= (1 << n_bits) - 1
    return packed, in_order


def count_pairs(
    bucket: Codes, value: Codes, sizes: tuple[int, int], count: Counts | None = None
) -> tuple[Codes, Codes, Counts]:
    """Return the distinct pairs of a bucket and a value, sorted, and how often each occurs.

    `sizes` are the numbers of buckets and of values. By default each pair given counts once.

    Examples
    --------
    >>> bucket, value, count = count_pairs(np.array([1, 0, 1]), np.array([2, 0, 2]), (2, 3))
    >>> bucket.tolist(), value.tolist(), count.tolist()
    ([0, 1], [0, 2], [1, 2])
    """
    first, inverse = group([bucket, value], sizes, len(bucket))
    count = np.ones(len(bucket), dtype=np.int64) if count is None else count
    return bucket[first], value[first], total_by(inverse, count, len(first))


def smallest_type(n_codes: int) -> type[np.signedinteger[Any]]:
    """Return the smaller of the 32-bit and 64-bit types that holds the codes 0, ..., n_codes - 1.

    Examples
    --------
    >>> smallest_type(9).__name__, smallest_type(2**40).__name__
    ('int32', 'int64')
    """
    return np.int32 if n_codes < 2**31 else np.int64


def lexicographic_order(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes | None:
    """Return the order of distinct combinations of codes; None if they are sorted already.

    Examples
    --------
    >>> lexicographic_order([np.array([1, 0, 1]), np.array([0, 0, 1])], [2, 2]).tolist()
    [1, 0, 2]
    """
    key, _ = _key(columns, sizes, len(columns[0]))
    if np.all(key[1:] > key[:-1]):
        return None
    order: Codes = np.argsort(key)
    return order


def _key(
    columns: Sequence[Codes], sizes: Sequence[int], n_rows: int, room: int = 0
) -> tuple[Codes, int]:
    """Number combinations of codes: equal ones have one number, in lexicographic order.

    Returns the numbers, and how many there can be. Those that do not occur are closed up whenever
    the next column would make them more than `room`, for as long as that takes no sorting.
    """
    key: Codes = np.zeros(n_rows, dtype=np.int64)
    n_keys = 1
    for codes, size in zip(columns, sizes, strict=True):
        if 1 < n_keys <= room < n_keys * size:
            there, key = _renumbered(key, n_keys)
            n_keys = len(there)
        elif n_keys * max(size, 1) > 2**62:
            # Renumbering what has been seen keeps the mixed-radix key within 64 bits.
            _, key = np.unique(key, return_inverse=True)
            n_keys = int(key.max(initial=0)) + 1
        key *= size
        key += codes
        n_keys *= max(size, 1)
    return key, n_keys


def _renumbered(key: Codes, n_keys: int) -> tuple[Codes, Codes]:
    """Return the keys that occur, in order, and the place of each key among them.

    There must be room for an entry per possible key; nothing is sorted.
    """
    is_there = np.zeros(n_keys, dtype=bool)
    is_there[key] = True
    there = np.flatnonzero(is_there)
    number = np.empty(n_keys, dtype=np.int64)
    number[there] = np.arange(len(there))
    return there, number[key]


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct combinations of the codes of some columns, in lexicographic order."""

    domains: tuple[Domain, ...]
    # One row per cell, one column per domain.
    codes: Codes
    # The number of rows of the table with each cell; at least 1.
    counts: Counts

    @classmethod
    def of_rows(cls, domains: Sequence[Domain], rows: Codes) -> Cells:
        """Count the distinct rows of an array of codes, one row per person.

        Examples
        --------
        >>> sex = Domain.of_texts("sex", ["F", "M"])
        >>> Cells.of_rows([sex], np.array([[1], [0], [1]])).counts.tolist()
        [1, 2]
        """
        rows = np.asarray(rows, dtype=np.int64).reshape(-1, len(domains))
        whole = cls(tuple(domains), rows, np.ones(len(rows), dtype=np.int64))
        return whole.select([domain.column for domain in domains])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(domain.column for domain in self.domains)

    @property
    def n_cells(self) -> int:
        """The number of distinct cells."""
        return len(self.counts)

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return int(self.counts.sum())

    def domain(self, column: str) -> Domain:
        """Return the domain of a column."""
        return self.domains[self.columns.index(column)]

    def column(self, column: str) -> Codes:
        """Return the codes of a column, one per cell."""
        return self.codes[:, self.columns.index(column)]

    def select(self, columns: Sequence[str]) -> Cells:
        """Keep some columns, in the order given, and count their distinct cells."""
        return self.select_with_inverse(columns)[0]

    def select_with_inverse(self, columns: Sequence[str]) -> tuple[Cells, Codes]:
        """Do as `select` does, and also return the new cell of each of these cells."""
        places = [self.columns.index(column) for column in columns]
        domains = tuple(self.domains[place] for place in places)
        kept = [self.codes[:, place] for place in places]
        first, inverse = group(kept, [domain.size for domain in domains], self.n_cells)
        counts = total_by(inverse, self.counts, len(first))
        # One column at a time saves memory: there may be as many cells as rows.
        codes = np.empty((len(first), len(places)), dtype=self.codes.dtype, order="F")
        for target, place in enumerate(places):
            codes[:, target] = self.codes[first, place]
        return Cells(domains, codes, counts), inverse

    def __repr__(self) -> str:
        return f"Cells({', '.join(self.columns)}: {self.n_cells} cells, {self.n_rows} rows)"


@dataclass(frozen=True, eq=False)
class Buckets:
    """How often each sensitive value occurs in each bucket, sorted by bucket, then value.

    Every bucket has at least one entry, and every count is at least 1.

    Examples
    --------
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]), flu)
    >>> buckets.sizes.tolist()
    [2, 1]
    """

    n_buckets: int
    bucket: Codes
    value: Codes
    count: Counts
    domain: Domain

    @classmethod
    def of_pairs(
        cls, bucket: Codes, value: Codes, domain: Domain, count: Counts | None = None
    ) -> Buckets:
        """Count pairs of a bucket and a value; the counts of equal pairs are added up."""
        n_buckets = int(bucket.max(initial=-1)) + 1
        pairs = count_pairs(bucket, value, (n_buckets, domain.size), count)
        return cls(n_buckets, *pairs, domain)

    @cached_property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        return total_by(self.bucket, self.count, self.n_buckets)

    @cached_property
    def starts(self) -> Codes:
        """The place of the first entry of each bucket."""
        return np.searchsorted(self.bucket, np.arange(self.n_buckets)).astype(np.int64)

    @cached_property
    def totals(self) -> Counts:
        """How often each value occurs in the whole release, one entry per code."""
        return total_by(self.value, self.count, self.domain.size)

    @property
    def n_rows(self) -> int:
        """The number of rows in all buckets."""
        return int(self.count.sum())

    def __repr__(self) -> str:
        return f"Buckets({self.domain.column}: {self.n_buckets} buckets, {self.n_rows} rows)"
