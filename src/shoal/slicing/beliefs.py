"""The columns of a sliced release joined with tuples of known values, one column after the other.

A term is a tuple, a bucket that matches it and a value of what is hidden, with the mean number of
such rows over all linkings of the bucket. Terms are arrays: no loop goes over tuples or buckets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, group
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.sliced import Link, Sliced, SlicedColumn

__all__ = ["Amounts", "Joining", "Numbers", "numbers_like", "sum_by"]

Amounts = npt.NDArray[Any]
"""Floats, or fractions as objects."""
Numbers = np.dtype[Any]
"""The type of floats, or that of objects where amounts are fractions."""

_MOST_TERMS = 1 << 21


@dataclass(frozen=True, eq=False)
class Joining:
    """A release and tuples to be joined with it.

    Parameters
    ----------
    sliced
        The release.
    sensitive
        The attribute to infer.
    known
        The release's codes of what is known, one a tuple; -1 where it does not have the value.
    hidden
        The unknown attributes that matter.
    links
        The columns in the order in which they are joined.
    n_tuples
        The number of tuples.
    """

    sliced: Sliced
    sensitive: str
    known: Mapping[str, Codes]
    hidden: tuple[str, ...]
    links: tuple[Link, ...]
    n_tuples: int

    @classmethod
    def of_release(cls, sliced: Sliced, tuples: Cells, sensitive: str) -> Joining:
        """Translate the tuples, and choose an order of the columns.

        Raises
        ------
        DataError
            Where the tuples lack a known attribute.
        """
        layout = sliced.layout
        known = layout.known_for(sensitive)
        absent = set(known).difference(tuples.columns)
        if absent:
            raise DataError(f"The tuples lack what is known: {', '.join(sorted(absent))}.")
        codes = {
            name: _translate(tuples.domain(name), sliced.domain(name), tuples.column(name))
            for name in known
        }
        # Few rows are matched first where the column with the most values comes first.
        n_values = [
            column.values.select([name for name in column.attributes if name in known]).n_cells
            for column in sliced.columns
        ]
        links = layout.links(int(np.argmax(n_values)))
        hidden = layout.hidden_for(sensitive)
        return cls(sliced, sensitive, codes, hidden, links, tuples.n_cells)

    def chunks(self) -> Iterator[Codes]:
        """Part the tuples so that the terms of each part fit into memory."""
        column = self.sliced.columns[self.links[0].column]
        names = [name for name in column.attributes if name in self.known]
        everyone = np.arange(self.n_tuples)
        owner, _ = self._match(everyone, names, column, [], [])
        n_terms = np.bincount(owner, minlength=self.n_tuples) * self._n_hidden()
        part = np.cumsum(n_terms) // _MOST_TERMS
        # A tuple begins a part where the sum of terms enters another range.
        opens = np.flatnonzero(part[1:] != part[:-1]) + 1
        for begin, end in itertools.pairwise([0, *opens.tolist(), self.n_tuples]):
            yield everyone[begin:end]

    def _n_hidden(self) -> int:
        return max(self.sliced.domain(name).size for name in self.hidden)

    def join(self, tuples: Codes, number: Numbers) -> tuple[Codes, Codes, Codes, Amounts]:
        """Give the terms of some tuples: tuple, bucket, sensitive value, amount."""
        state = _Terms.nothing(tuples, number)
        for link in self.links:
            state = self._extend(state, link, number)
        bucket, value = state.columns[""], state.columns[self.sensitive]
        n_buckets, n_values = self.sliced.n_buckets, self.sliced.domain(self.sensitive).size
        first, inverse = group(
            [state.tuple_, bucket, value], [self.n_tuples, n_buckets, n_values], len(bucket)
        )
        amount = sum_by(inverse, state.amount, len(first))
        return state.tuple_[first], bucket[first], value[first], amount

    def _extend(self, state: _Terms, link: Link, number: Numbers) -> _Terms:
        """Link one more column, where the bucket and all that is shared agree."""
        column = self.sliced.columns[link.column]
        known = [name for name in column.attributes if name in self.known]
        hidden = [name for name in column.attributes if name in self.hidden]
        bound = [name for name in hidden if name in state.columns]
        view = _count_by(column, [*known, *hidden], self.sliced)
        shared = [state.columns[name] for name in ["", *bound] if name in state.columns]
        names = ["", *bound] if "" in state.columns else []
        left, right = self._match(state.tuple_, known, view, shared, names)
        extended = state.take(left)
        extended.columns[""] = view.bucket[right]
        for name in hidden:
            extended.columns[name] = view.codes(name)[right]
        amount = extended.amount * _numbers(view.count[right], number)
        if names:
            amount = amount / _numbers(self._count_shared(extended, link.separator), number)
        return _Terms(extended.tuple_, extended.columns, amount)

    def _match(
        self,
        tuples: Codes,
        known: Sequence[str],
        view: SlicedColumn | _View,
        shared: Sequence[Codes],
        names: Sequence[str],
    ) -> tuple[Codes, Codes]:
        """Pair terms with the entries of a column that agree with them."""
        theirs = [self.known[name][tuples] for name in known] + list(shared)
        ours = [view.codes(name) for name in known]
        ours += [view.codes(name) if name else view.bucket for name in names]
        sizes = [self.sliced.domain(name).size for name in known]
        sizes += [
            self.sliced.domain(name).size if name else self.sliced.n_buckets for name in names
        ]
        is_there = np.ones(len(tuples), dtype=bool)
        for codes in theirs:
            is_there &= codes >= 0
        place = np.flatnonzero(is_there)
        theirs = [codes[place] for codes in theirs]
        left, right = _pair(theirs, ours, sizes, (len(place), len(view.bucket)))
        return place[left], right

    def _count_shared(self, terms: _Terms, separator: Sequence[str]) -> Codes:
        """Count the rows of each term's bucket that agree with it in what columns share."""
        if not separator:
            return self.sliced.sizes[terms.columns[""]]
        column = next(
            column for column in self.sliced.columns if set(separator) <= set(column.attributes)
        )
        view = _count_by(column, separator, self.sliced)
        theirs = [terms.columns[""]] + [
            self.known[name][terms.tuple_] if name in self.known else terms.columns[name]
            for name in separator
        ]
        ours = [view.bucket, *(view.codes(name) for name in separator)]
        sizes = [self.sliced.n_buckets, *(self.sliced.domain(name).size for name in separator)]
        left, right = _pair(theirs, ours, sizes, (len(terms.tuple_), len(view.bucket)))
        found = np.zeros(len(terms.tuple_), dtype=np.int64)
        found[left] = view.count[right]
        return found


@dataclass(frozen=True, eq=False)
class _Terms:
    """Partly linked rows: the tuple, the bucket (named by the empty text) and what is hidden."""

    tuple_: Codes
    columns: dict[str, Codes]
    amount: Amounts

    @classmethod
    def nothing(cls, tuples: Codes, number: Numbers) -> _Terms:
        return cls(tuples, {}, _numbers(np.ones(len(tuples), dtype=np.int64), number))

    def take(self, places: Codes) -> _Terms:
        columns = {name: codes[places] for name, codes in self.columns.items()}
        return _Terms(self.tuple_[places], columns, self.amount[places])


@dataclass(frozen=True, eq=False)
class _View:
    """A column's entries, added up over the attributes that do not matter."""

    bucket: Codes
    count: Codes
    by_name: Mapping[str, Codes]

    def codes(self, name: str) -> Codes:
        return self.by_name[name]


def _count_by(column: SlicedColumn, names: Sequence[str], sliced: Sliced) -> _View:
    if set(names) == set(column.attributes):
        by_name = {name: column.codes(name) for name in names}
        return _View(column.bucket, column.count, by_name)
    codes = [column.bucket, *(column.codes(name) for name in names)]
    sizes = [sliced.n_buckets, *(sliced.domain(name).size for name in names)]
    first, inverse = group(codes, sizes, len(column.bucket))
    count = np.zeros(len(first), dtype=np.int64)
    np.add.at(count, inverse, column.count)
    chosen = {name: code[first] for name, code in zip(names, codes[1:], strict=True)}
    return _View(column.bucket[first], count, chosen)


def _pair(
    theirs: Sequence[Codes], ours: Sequence[Codes], sizes: Sequence[int], lengths: tuple[int, int]
) -> tuple[Codes, Codes]:
    """Give all pairs of places at which two lists of codes agree; of no codes, all pairs."""
    n_theirs, n_ours = lengths
    joined = [np.concatenate(both) for both in zip(theirs, ours, strict=True)]
    first, number = group(joined, sizes, n_theirs + n_ours)
    wanted, held = number[:n_theirs], number[n_theirs:]
    order = np.argsort(held, kind="stable")
    n_held = np.bincount(held, minlength=len(first))
    starts = np.cumsum(n_held) - n_held
    repeats = n_held[wanted]
    left = np.repeat(np.arange(n_theirs), repeats)
    offset = np.arange(len(left)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return left, order[np.repeat(starts[wanted], repeats) + offset].astype(np.int64)


def _translate(theirs: Domain, ours: Domain, codes: Codes) -> Codes:
    """Give the release's codes of values; -1 where it does not have them."""
    if theirs is ours:
        return codes
    return ours.codes_of(theirs.labels())[codes]


def _numbers(counts: Codes, number: Numbers) -> Amounts:
    if number.hasobject:
        fractions = np.empty(len(counts), dtype=object)
        fractions[:] = [Fraction(count) for count in counts.tolist()]
        return fractions
    return counts.astype(np.float64)


def numbers_like(amounts: Amounts, counts: Codes) -> Amounts:
    """Give counts as numbers of the type of some amounts."""
    return _numbers(counts, amounts.dtype)


def sum_by(owner: Codes, amounts: Amounts, n_owners: int) -> Amounts:
    """Add up the amounts of each owner."""
    if amounts.dtype == np.float64:
        return np.bincount(owner, weights=amounts, minlength=n_owners)
    totals = np.zeros(n_owners, dtype=amounts.dtype)
    np.add.at(totals, owner, amounts)
    return totals
