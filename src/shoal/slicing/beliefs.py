"""The belief p(t, s) that a sliced release supports about a person.

A person t is in one of the matching buckets: in B with a probability proportional to |B| f(t, B),
the mean number of rows t in a random linking of its columns. Within B the sensitive value is one of
D(t, B), those linked with the known part of t in the sensitive column. Columns that share
attributes are linked only where these agree: the mean number of rows (t, s) is then the product of
the columns' counts divided by the counts of the attributes that they share.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 4.3 (Figure 2) and, for overlapping columns, 7.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Flags
from shoal.core.cells import Cells, group, total_by
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.sliced import Layout, Link, Sliced, SlicedColumn
from shoal.locating.location import spread

Diversity = Literal["frequency", "distinct"]
# The relative error of sums of fewer than 2**30 positive terms, each a product of a few counts, is
# smaller than this.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class SlicedBeliefs:
    """Beliefs about some tuples, one term per tuple, bucket and value, sorted in that order.

    Each term says that a tuple matches a bucket, in which it may have this value. `amount` is the
    mean number of rows with that tuple and that value over all linkings of the bucket; `sizes`
    counts the rows of each bucket.
    """

    domain: Domain
    n_tuples: int
    tuple_: Codes
    bucket: Codes
    value: Codes
    amount: Amounts
    sizes: Codes

    @cached_property
    def totals(self) -> Amounts:
        """For each tuple, the mean number of its rows over all linkings; 0 if no bucket matches."""
        return _sum_by(self.tuple_, self.amount, self.n_tuples)

    @cached_property
    def shares(self) -> tuple[Codes, Codes, Amounts]:
        """p(t, s) if it is above 0, as tuple, value and p."""
        first, inverse = group(
            [self.tuple_, self.value], [self.n_tuples, self.domain.size], len(self.tuple_)
        )
        shares = _sum_by(inverse, self.amount, len(first))
        owner = self.tuple_[first]
        return owner, self.value[first], shares / self.totals[owner]

    @property
    def n_values(self) -> Codes:
        """For each tuple, the number of values with a p(t, s) above 0."""
        return np.bincount(self.shares[0], minlength=self.n_tuples).astype(np.int64)

    @property
    def largest(self) -> Amounts:
        """For each tuple, its largest p(t, s); 0 if no bucket matches."""
        owner, _, share = self.shares
        largest: Amounts = np.zeros(self.n_tuples, dtype=share.dtype)
        np.maximum.at(largest, owner, share)
        return largest

    @cached_property
    def matches(self) -> tuple[Codes, Codes, Amounts]:
        """The matching buckets, as tuple, bucket and f(t, B)."""
        first, inverse = group(
            [self.tuple_, self.bucket], [self.n_tuples, len(self.sizes)], len(self.tuple_)
        )
        found = _sum_by(inverse, self.amount, len(first))
        bucket = self.bucket[first]
        return self.tuple_[first], bucket, found / _numbers(self.sizes[bucket], found.dtype)

    def candidates(self, tuple_: int, bucket: int) -> dict[int, Any]:
        """Return D(t, B), the probability of each value in one bucket; empty if t is not in it."""
        is_here = (self.tuple_ == tuple_) & (self.bucket == bucket)
        amounts = self.amount[is_here]
        total = amounts.sum()
        pairs = zip(self.value[is_here].tolist(), amounts.tolist(), strict=True)
        return {value: amount / total for value, amount in pairs}

    def distribution(self, tuple_: int) -> dict[int, Any]:
        """Return p(t, .) of one tuple, without the values that have 0."""
        owner, value, share = self.shares
        is_own = owner == tuple_
        return dict(zip(value[is_own].tolist(), share[is_own].tolist(), strict=True))

    def __repr__(self) -> str:
        n_matching = int(np.count_nonzero(np.bincount(self.tuple_, minlength=self.n_tuples)))
        return f"SlicedBeliefs({self.domain.column}: {n_matching} of {self.n_tuples} tuples match)"


def sliced_beliefs(sliced: Sliced, tuples: Cells, sensitive: str | None = None) -> SlicedBeliefs:
    """Compute p(t, s) of each tuple in floats.

    The tuples have every attribute that the layout calls known, except the sensitive one itself. A
    value that the release does not have matches nothing. `sensitive` may be left out if the layout
    has only one.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> sliced_beliefs(release, cells.select(["sex"])).distribution(0)
    {0: 0.5, 1: 0.5}
    """
    return _find_beliefs(sliced, tuples, sensitive, np.dtype(np.float64))


def exact_sliced_beliefs(
    sliced: Sliced, tuples: Cells, sensitive: str | None = None
) -> SlicedBeliefs:
    """Compute p(t, s) of each tuple in fractions; slow, so for few tuples only."""
    return _find_beliefs(sliced, tuples, sensitive, np.dtype(object))


def _find_beliefs(
    sliced: Sliced, tuples: Cells, sensitive: str | None, number: Numbers
) -> SlicedBeliefs:
    joining = Joining.of_release(sliced, tuples, _only(sliced.layout, sensitive))
    parts = [joining.join(chunk, number) for chunk in joining.chunks()]
    owner, bucket, value, amount = (
        np.concatenate([part[place] for part in parts]) for place in range(4)
    )
    domain = sliced.domain(joining.sensitive)
    return SlicedBeliefs(domain, tuples.n_cells, owner, bucket, value, amount, sliced.sizes)


def find_exceeding(
    sliced: Sliced,
    tuples: Cells,
    sensitive: str,
    ell: Fraction,
    diversity: Diversity = "frequency",
) -> Flags:
    """Return, without rounding, which tuples violate sliced l-diversity.

    A tuple violates it if a p(t, s) is above 1/ell (``frequency``), or if fewer than `ell` values
    have one above 0 (``distinct``). A tuple that matches no bucket does not.
    """
    beliefs = sliced_beliefs(sliced, tuples, sensitive)
    if diversity == "distinct":
        return np.asarray((beliefs.n_values > 0) & (beliefs.n_values < math.ceil(ell)))
    # Floats decide unless they are close to the bound.
    distance = beliefs.largest.astype(np.float64) * float(ell) - 1
    fails = distance > 0
    close = np.flatnonzero(np.abs(distance) < _CLOSE)
    if close.size:
        fails[close] = _exact_largest(sliced, tuples, close, sensitive) * ell > 1
    return np.asarray(fails)


def largest_belief(sliced: Sliced, tuples: Cells, sensitive: str | None = None) -> Fraction:
    """Return the largest p(t, s) of all tuples and values, exactly; 0 if nothing matches."""
    name = _only(sliced.layout, sensitive)
    largest = sliced_beliefs(sliced, tuples, name).largest
    if not largest.size or largest.max() == 0:
        return Fraction(0)
    close = np.flatnonzero(largest > largest.max() * (1 - _CLOSE))
    return Fraction(_exact_largest(sliced, tuples, close, name).max())


def _exact_largest(sliced: Sliced, tuples: Cells, chosen: Codes, sensitive: str) -> Amounts:
    few = Cells(tuples.domains, tuples.codes[chosen], tuples.counts[chosen])
    return exact_sliced_beliefs(sliced, few, sensitive).largest


def _only(layout: Layout, sensitive: str | None) -> str:
    if sensitive is None and len(layout.sensitive) == 1:
        return layout.sensitive[0]
    if sensitive is None or sensitive not in layout.sensitive:
        raise ParameterError(
            "Name the sensitive attribute to infer, one of "
            f"{', '.join(layout.sensitive) or 'none'}; got {sensitive!r}."
        )
    return sensitive


# --- columns joined with tuples of known values ---------------------------------------------------


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

    def chunks(self) -> Iterator[Codes]:
        """Split the tuples so that the terms of each part fit into memory."""
        column = self.sliced.columns[self.links[0].column]
        names = [name for name in column.attributes if name in self.known]
        everyone = np.arange(self.n_tuples)
        owner, _ = self._match(everyone, names, column, [], [])
        n_hidden = max(self.sliced.domain(name).size for name in self.hidden)
        n_terms = np.bincount(owner, minlength=self.n_tuples) * n_hidden
        part = np.cumsum(n_terms) // _MOST_TERMS
        # A tuple begins a new part when the running sum of terms enters another range.
        opens = np.flatnonzero(part[1:] != part[:-1]) + 1
        for begin, end in itertools.pairwise([0, *opens.tolist(), self.n_tuples]):
            yield everyone[begin:end]

    def join(self, tuples: Codes, number: Numbers) -> tuple[Codes, Codes, Codes, Amounts]:
        """Return the terms of some tuples: tuple, bucket, sensitive value, amount."""
        state = _Terms.nothing(tuples, number)
        for link in self.links:
            state = self._extend(state, link, number)
        bucket, value = state.columns[""], state.columns[self.sensitive]
        n_buckets, n_values = self.sliced.n_buckets, self.sliced.domain(self.sensitive).size
        first, inverse = group(
            [state.tuple_, bucket, value], [self.n_tuples, n_buckets, n_values], len(bucket)
        )
        amount = _sum_by(inverse, state.amount, len(first))
        return state.tuple_[first], bucket[first], value[first], amount

    def _extend(self, state: _Terms, link: Link, number: Numbers) -> _Terms:
        """Link one more column, if the bucket and all shared attributes agree."""
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
class _Terms:
    """Partly linked rows: tuple, bucket (under the empty name) and hidden attributes."""

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


def _numbers(counts: Codes, number: Numbers) -> Amounts:
    if number.hasobject:
        fractions = np.empty(len(counts), dtype=object)
        fractions[:] = [Fraction(count) for count in counts.tolist()]
        return fractions
    return counts.astype(np.float64)


def _sum_by(owner: Codes, amounts: Amounts, n_owners: int) -> Amounts:
    """Add up the amounts of each owner."""
    if amounts.dtype == np.float64:
        return np.bincount(owner, weights=amounts, minlength=n_owners)
    totals = np.zeros(n_owners, dtype=amounts.dtype)
    np.add.at(totals, owner, amounts)
    return totals
