"""The columns of a sliced release, joined with tuples of known values.

A term is a tuple, a bucket that holds its known values in every column, and values of the hidden
attributes that matter, with the mean number of rows like that over all linkings of the bucket. The
columns are linked one after the other: the counts multiply, divided by the number of rows that a
column is linked among.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3 and 7.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes
from shoal.core.cells import Cells, count_pairs, group, total_by
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.sliced import Link, Sliced, SlicedColumn
from shoal.locating.location import spread
from shoal.slicing.held import Held, matched_pairs

Amounts = npt.NDArray[Any]
"""Floats, or fractions as objects."""
Numbers = np.dtype[Any]
"""The dtype of amounts: float64, or object for fractions."""

_MOST_TERMS = 1 << 21


@dataclass(frozen=True, eq=False)
class Joining:
    """A release and the tuples to be joined with it.

    `known` has the release's code of each tuple's value, for each known attribute; -1 if the
    release does not have the value. `hidden` lists the unknown attributes that matter, and `links`
    the columns in the order in which they are joined.
    """

    sliced: Sliced
    sensitive: str
    known: Mapping[str, Codes]
    hidden: tuple[str, ...]
    links: tuple[Link, ...]
    n_tuples: int

    @classmethod
    def of_release(cls, sliced: Sliced, tuples: Cells, sensitive: str) -> Joining:
        """Translate the tuples into the release's codes, and choose an order of the columns."""
        layout = sliced.layout
        known = layout.known_for(sensitive)
        absent = set(known).difference(tuples.columns)
        if absent:
            raise DataError(f"The tuples lack known attributes: {', '.join(sorted(absent))}.")
        codes = {
            name: _translate(tuples.domain(name), sliced.domain(name), tuples.column(name))
            for name in known
        }
        # The column with the most values comes first, so that few rows match early on.
        n_values = [
            column.values.select([name for name in column.attributes if name in known]).n_cells
            for column in sliced.columns
        ]
        links = layout.links(int(np.argmax(n_values)))
        hidden = layout.hidden_for(sensitive)
        return cls(sliced, sensitive, codes, hidden, links, tuples.n_cells)

    def chunks(self) -> Iterator[tuple[Codes, Codes]]:
        """Yield pairs of a tuple and a bucket that holds its values, by tuple, in parts.

        The pairs of a tuple are all in one part, and the terms of a part fit into memory.
        """
        found = [self._held(column) for column in self.sliced.columns]
        columns, kinds = [held for held, _ in found], [kind for _, kind in found]
        n_hidden = max(self.sliced.domain(name).size for name in self.hidden)
        for found_tuples, found_buckets in matched_pairs(columns, kinds):
            order = np.argsort(found_tuples * self.sliced.n_buckets + found_buckets)
            tuples, buckets = found_tuples[order], found_buckets[order]
            part = np.arange(len(tuples)) * n_hidden // _MOST_TERMS
            # A part ends with the last pair of a tuple.
            is_last = np.append(tuples[1:] != tuples[:-1], True)
            ends = np.flatnonzero(is_last)
            ends = ends[np.append(part[ends[1:]] != part[ends[:-1]], True)] + 1
            for begin, end in itertools.pairwise([0, *(ends.tolist() or [0])]):
                yield tuples[begin:end], buckets[begin:end]

    def _held(self, column: SlicedColumn) -> tuple[Held, Codes]:
        """Return which buckets hold the known values of tuples in a column, and their kinds."""
        names = [name for name in column.attributes if name in self.known]
        values, value = column.values.select_with_inverse(names)
        # A value that the release does not have is -1.
        both = [np.concatenate([values.column(name), self.known[name]]) + 1 for name in names]
        sizes = [self.sliced.domain(name).size + 1 for name in names]
        first, number = group(both, sizes, values.n_cells + self.n_tuples)
        kind = number[: values.n_cells][value][column.value]
        kinds, buckets, _ = count_pairs(kind, column.bucket, (len(first), self.sliced.n_buckets))
        start = np.searchsorted(kinds, np.arange(len(first) + 1))
        return Held(start, buckets, self.sliced.n_buckets), number[values.n_cells :]

    def join(
        self, tuples: Codes, buckets: Codes, number: Numbers
    ) -> tuple[Codes, Codes, Codes, Amounts]:
        """Return the terms of matching pairs: tuple, bucket, sensitive value, amount."""
        state = self.link(tuples, buckets, number)
        bucket, value = state.columns[""], state.columns[self.sensitive]
        n_buckets, n_values = self.sliced.n_buckets, self.sliced.domain(self.sensitive).size
        first, inverse = group(
            [state.tuple_, bucket, value], [self.n_tuples, n_buckets, n_values], len(bucket)
        )
        amount = sum_by(inverse, state.amount, len(first))
        return state.tuple_[first], bucket[first], value[first], amount

    def link(self, tuples: Codes, buckets: Codes, number: Numbers) -> Terms:
        """Link the columns of matching pairs one after the other."""
        state = Terms.unlinked(tuples, buckets, number)
        for link in self.links:
            state = self._extend(state, link, number)
        return state

    def _extend(self, state: Terms, link: Link, number: Numbers) -> Terms:
        """Link one more column, if the bucket and all shared attributes agree."""
        column = self.sliced.columns[link.column]
        known = [name for name in column.attributes if name in self.known]
        hidden = [name for name in column.attributes if name in self.hidden]
        names = ["", *(name for name in hidden if name in state.columns)]
        view = self._views[link.column]
        left, right = self._match(state, known, view, names)
        extended = state.take(left)
        for name in hidden:
            extended.columns[name] = view.codes(name)[right]
        amount = extended.amount * numbers_of(view.count[right], number)
        if link is not self.links[0]:
            amount = amount / numbers_of(self._count_shared(extended, link.separator), number)
        return Terms(extended.tuple_, extended.columns, amount)

    @cached_property
    def _views(self) -> tuple[_View, ...]:
        """Each column, by its known attributes and the hidden ones that matter."""
        of_interest = {*self.known, *self.hidden}
        return tuple(
            _count_by(column, [n for n in column.attributes if n in of_interest], self.sliced)
            for column in self.sliced.columns
        )

    def _match(
        self, state: Terms, known: Sequence[str], view: _View, names: Sequence[str]
    ) -> tuple[Codes, Codes]:
        """Pair terms with the entries of a column that agree in the bucket and all attributes."""
        theirs = [self.known[name][state.tuple_] for name in known]
        theirs += [state.columns[name] for name in names]
        ours = [view.codes(name) for name in known]
        ours += [view.codes(name) if name else view.bucket for name in names]
        sizes = [
            self.sliced.domain(name).size if name else self.sliced.n_buckets
            for name in [*known, *names]
        ]
        return _pair(theirs, ours, sizes, (len(state.tuple_), len(view.bucket)))

    def _count_shared(self, terms: Terms, separator: Sequence[str]) -> Codes:
        """Count the rows of each term's bucket that agree with it in the shared attributes."""
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
class Terms:
    """Partly linked rows: tuple, bucket (under the empty name) and hidden attributes."""

    tuple_: Codes
    columns: dict[str, Codes]
    amount: Amounts

    @classmethod
    def unlinked(cls, tuples: Codes, buckets: Codes, number: Numbers) -> Terms:
        """Return a term for each pair of a tuple and a bucket."""
        ones = np.ones(len(tuples), dtype=np.int64)
        return cls(tuples, {"": buckets}, numbers_of(ones, number))

    def take(self, places: Codes) -> Terms:
        """Return some of the terms."""
        columns = {name: codes[places] for name, codes in self.columns.items()}
        return Terms(self.tuple_[places], columns, self.amount[places])


@dataclass(frozen=True, eq=False)
class _View:
    """A column's entries, summed over the attributes that do not matter."""

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
    count = total_by(inverse, column.count, len(first))
    chosen = {name: code[first] for name, code in zip(names, codes[1:], strict=True)}
    return _View(column.bucket[first], count, chosen)


def _pair(
    theirs: Sequence[Codes], ours: Sequence[Codes], sizes: Sequence[int], lengths: tuple[int, int]
) -> tuple[Codes, Codes]:
    """Return all pairs of places at which two lists of codes agree; with no codes, all pairs."""
    n_theirs, n_ours = lengths
    joined = [np.concatenate(both) for both in zip(theirs, ours, strict=True)]
    first, number = group(joined, sizes, n_theirs + n_ours)
    wanted, held = number[:n_theirs], number[n_theirs:]
    order = np.argsort(held, kind="stable")
    n_held = np.bincount(held, minlength=len(first))
    starts = np.cumsum(n_held) - n_held
    left, place = spread(starts[wanted], n_held[wanted])
    return left, order[place].astype(np.int64)


def _translate(theirs: Domain, ours: Domain, codes: Codes) -> Codes:
    """Return the release's codes of values; -1 if it does not have them."""
    return codes if theirs is ours else ours.codes_of(theirs.labels())[codes]


def numbers_of(counts: Codes, number: Numbers) -> Amounts:
    """Return counts as floats or as fractions."""
    if number.hasobject:
        fractions = np.empty(len(counts), dtype=object)
        fractions[:] = [Fraction(count) for count in counts.tolist()]
        return fractions
    return counts.astype(np.float64)


def sum_by(owner: Codes, amounts: Amounts, n_owners: int) -> Amounts:
    """Add up the amounts of each owner."""
    if amounts.dtype == np.float64:
        return np.bincount(owner, weights=amounts, minlength=n_owners)
    totals = np.zeros(n_owners, dtype=amounts.dtype)
    np.add.at(totals, owner, amounts)
    return totals
