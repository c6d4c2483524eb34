"""Which buckets of a sliced release people match, and how many rows there are like them.

A person matches a bucket that holds their value in every column. Values are compared as a reader
would: a label stands for what it says it does. Where a value may be behind several labels, as one
that is too rare to be named, each is as likely. Where columns share attributes, they are linked
where these agree. People who would be published alike are looked at once, and all is joined as
arrays; no loop goes over people or buckets.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts, group
from shoal.core.release import Meaning
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.knowledge.location import Matches, labels_of_values, match_lines, spread
from shoal.knowledge.sliced_beliefs import sliced_beliefs

__all__ = ["Labels", "SlicedMatches", "Term", "match_sliced"]

Labels = Mapping[str, Mapping[str, Meaning]]
Term = tuple[Codes, Codes, npt.NDArray[np.float64]]
_Floats = npt.NDArray[np.float64]

_MOST_PAIRS = 1 << 22
"""How many pairs of a person and a bucket are looked at together."""


@dataclass(frozen=True, eq=False)
class SlicedMatches:
    """Which buckets people match; those who match alike are of one kind.

    Parameters
    ----------
    kind
        The kind of each cell of people.
    n_kinds
        How many kinds there are.
    terms
        Gives, in parts, the pairs of a kind and a bucket that it matches, with the number of rows
        like it that the bucket has on average over all linkings, which is |B| f(t, B).
    """

    kind: Codes
    n_kinds: int
    terms: Callable[[], Iterator[Term]]

    def __repr__(self) -> str:
        return f"SlicedMatches({len(self.kind)} different people of {self.n_kinds} kinds)"


def match_sliced(sliced: Sliced, people: Cells, labels: Labels) -> SlicedMatches:
    """Find the buckets that people match.

    Parameters
    ----------
    sliced
        The release.
    people
        What is known of people, as values or as published labels.
    labels
        What the labels of the release stand for, by attribute and label.

    Raises
    ------
    DataError, ParameterError
        Where columns are linked by an attribute that is not sensitive, and it or something else
        that is known to the adversary is not given of the people.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = Cells.of_rows([sex, city], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout, bucket = Layout([["sex"], ["city"]]), np.array([0, 0, 1])
    >>> release = Sliced.of_pieces(rows, layout, np.arange(3), bucket, rows.counts)
    >>> found = match_sliced(release, rows, {})
    >>> kind, bucket, n_rows = next(found.terms())
    >>> kind.tolist(), bucket.tolist(), n_rows.tolist()
    ([0, 1, 2], [0, 0, 1], [1.0, 1.0, 1.0])
    """
    places = Counter(name for column in sliced.layout.columns for name in column)
    linking = [name for name, n in places.items() if n > 1 and name not in people.columns]
    if linking:
        return _match_joined(sliced, people, labels, linking[0])
    return _match_product(sliced, people, labels)


def _match_joined(sliced: Sliced, people: Cells, labels: Labels, linking: str) -> SlicedMatches:
    """Match people where columns are linked by what is not known of them."""
    known = [name for name in sliced.layout.known if name in people.columns]
    domains = tuple(sliced.domain(name) for name in known)
    codes = [_published_code(sliced, people, labels, name) for name in known]
    # What is published nowhere has a code of its own, one above those of all values.
    sizes = [domain.size + 1 for domain in domains]
    first, kind = group([code % size for code, size in zip(codes, sizes, strict=True)], sizes,
                        people.n_cells)  # fmt: skip
    looks = np.column_stack(codes)[first]
    place: Codes = np.flatnonzero((looks >= 0).all(axis=1)).astype(np.int64)
    tuples = Cells(domains, looks[place], np.ones(len(place), dtype=np.int64))
    tuple_, bucket, share = sliced_beliefs(sliced, tuples, linking).matches
    amount: _Floats = share.astype(np.float64) * sliced.sizes[bucket]
    term = place[tuple_], bucket, amount
    return SlicedMatches(kind, len(first), lambda: iter([term]))


def _published_code(sliced: Sliced, people: Cells, labels: Labels, name: str) -> Codes:
    """Give the label under which a value is published, the first that admits it; -1 for none."""
    values = people.domain(name)
    start, label = labels_of_values(sliced.domain(name), labels.get(name, {}), values)
    code = np.full(values.size, -1, dtype=np.int64)
    is_named = np.diff(start) > 0
    code[is_named] = label[start[:-1][is_named]]
    return code[people.column(name)]


def _match_product(sliced: Sliced, people: Cells, labels: Labels) -> SlicedMatches:
    """Match people whose values are known wherever columns share them.

    Of a bucket B the rows like them are |B| times the product over columns of the share of rows
    with their value, among all rows of B or, where the column is linked by attributes that it
    shares with those before it, among the rows that agree with them in these.
    """
    factors: list[_Factor] = []
    divisors: list[_Factor | None] = []
    for link in sliced.layout.links():
        column = sliced.columns[link.column]
        names = [name for name in column.attributes if name in people.columns]
        if names:
            factors.append(_Factor.of(sliced, column, names, people, labels))
            shared = link.separator
            divisors.append(_Factor.of(sliced, column, shared, people, labels) if shared else None)
    every = [factor for factor in (*factors, *divisors) if factor is not None]
    first, kind = group(
        [factor.kind for factor in every], [factor.n_kinds for factor in every], people.n_cells
    )
    product = _Product(
        sliced.sizes,
        [factor.of_people(first) for factor in factors],
        [None if divisor is None else divisor.of_people(first) for divisor in divisors],
        len(first),
    )
    return SlicedMatches(kind, len(first), product.terms)


@dataclass(frozen=True, eq=False)
class _Factor:
    """How many rows of each bucket have a person's values of some attributes.

    Parameters
    ----------
    kind
        For each person, of which kind they are by what their values may be published as.
    start, bucket, count
        The buckets that hold kind k, and how many rows of them: the entries from `start[k]` to
        `start[k + 1]`, sorted by bucket.
    n_buckets
        The number of buckets of the release.
    """

    kind: Codes
    start: Codes
    bucket: Codes
    count: _Floats
    n_buckets: int

    @classmethod
    def of(
        cls,
        sliced: Sliced,
        column: SlicedColumn,
        names: Sequence[str],
        people: Cells,
        labels: Labels,
    ) -> _Factor:
        looks, look = people.select_with_inverse(names)
        values, of_value = column.values.select_with_inverse(names)
        matches = match_lines(values, labels, looks)
        first_look, kind_of_look = _alike(matches, values.n_cells)
        n_values_of = np.diff(matches.start)[first_look]
        owner, place = spread(matches.start[first_look], n_values_of)
        matched = matches.line[place]
        value = of_value[column.value]
        by_value = np.argsort(value, kind="stable")
        first = np.searchsorted(value[by_value], np.arange(values.n_cells + 1))
        source, place = spread(first[matched], np.diff(first)[matched])
        entry = by_value[place]
        owner, bucket = owner[source], column.bucket[entry]
        n_kinds, n_buckets = len(first_look), sliced.n_buckets
        chosen, inverse = group([owner, bucket], [n_kinds, n_buckets], len(owner))
        # Of several values of the column that may be a person's, one is.
        n_rows = column.count[entry] / n_values_of[owner]
        count: _Floats = np.zeros(len(chosen))
        np.add.at(count, inverse, n_rows)
        start = np.searchsorted(owner[chosen], np.arange(n_kinds + 1)).astype(np.int64)
        return cls(kind_of_look[look], start, bucket[chosen], count, n_buckets)

    @property
    def n_kinds(self) -> int:
        """The number of kinds."""
        return len(self.start) - 1

    def of_people(self, places: Codes) -> _Factor:
        """Give the factor of some of the people."""
        return replace(self, kind=self.kind[places])

    @property
    def n_buckets_of(self) -> Counts:
        """How many buckets hold the values of each person."""
        return np.diff(self.start)[self.kind]

    def entries_of(self, people: Codes) -> tuple[Codes, Codes]:
        """Give the pairs of a person and a bucket that holds their values."""
        kind = self.kind[people]
        source, entry = spread(self.start[kind], self.start[kind + 1] - self.start[kind])
        return people[source], self.bucket[entry]

    def count_of(self, person: Codes, bucket: Codes) -> _Floats:
        """Count, for pairs of a person and a bucket, its rows with the person's values."""
        asked = self.kind[person] * self.n_buckets + bucket
        place = np.searchsorted(self._pairs, asked)
        is_held = place < len(self._pairs)
        is_held[is_held] = self._pairs[place[is_held]] == asked[is_held]
        count = np.zeros(len(asked))
        count[is_held] = self.count[place[is_held]]
        return count

    @cached_property
    def _pairs(self) -> Codes:
        """A number for each pair of a kind and a bucket that holds it, ascending."""
        owner = np.repeat(np.arange(self.n_kinds), np.diff(self.start))
        return owner * self.n_buckets + self.bucket


def _alike(matches: Matches, n_values: int) -> tuple[Codes, Codes]:
    """Find who matches the same values: give one of each kind, and the kind of everybody."""
    n_matched = np.diff(matches.start)
    mark = np.full(len(n_matched), n_values, dtype=np.int64)
    is_one = n_matched == 1
    mark[is_one] = matches.line[matches.start[:-1][is_one]]
    seen: dict[bytes, int] = {}
    # Few may be behind several labels: those whose values are too rare to be named.
    for place in np.flatnonzero(n_matched > 1).tolist():
        matched = matches.line[matches.start[place] : matches.start[place + 1]].tobytes()
        mark[place] = n_values + 1 + seen.setdefault(matched, len(seen))
    _, first, kind = np.unique(mark, return_index=True, return_inverse=True)
    return first, kind


@dataclass(frozen=True, eq=False)
class _Product:
    """The columns of a release as factors, each with what it is a share of.

    Parameters
    ----------
    sizes
        The rows of each bucket.
    factors
        One a column of which anything is known.
    divisors
        For each of them the rows that agree in what is shared; None for all rows of the bucket.
    n_people
        The number of people.
    """

    sizes: Counts
    factors: Sequence[_Factor]
    divisors: Sequence[_Factor | None]
    n_people: int

    def terms(self) -> Iterator[Term]:
        """Give, in parts, who matches which bucket, and how many rows of it are like them."""
        if not self.factors:
            # Of whom nothing is known fits every row.
            person = np.repeat(np.arange(self.n_people), len(self.sizes))
            bucket = np.tile(np.arange(len(self.sizes)), self.n_people)
            yield person, bucket, self.sizes[bucket].astype(np.float64)
            return
        n_buckets_of = np.column_stack([factor.n_buckets_of for factor in self.factors])
        # Only the buckets that hold a person's rarest value have to be looked at.
        rarest = n_buckets_of.argmin(axis=1)
        for at, factor in enumerate(self.factors):
            chosen = np.flatnonzero(rarest == at)
            ends = np.cumsum(n_buckets_of[chosen, at])
            cuts = np.flatnonzero(np.diff(ends // _MOST_PAIRS)) + 1
            for part in np.split(chosen, cuts):
                yield self._matching(*factor.entries_of(part))

    def _matching(self, person: Codes, bucket: Codes) -> Term:
        """Keep the pairs that match in all columns; give what the bucket has of the person."""
        amount = self.sizes[bucket].astype(np.float64)
        for factor, divisor in zip(self.factors, self.divisors, strict=True):
            count = factor.count_of(person, bucket)
            among = self.sizes[bucket] if divisor is None else divisor.count_of(person, bucket)
            held = count > 0
            amount = amount[held] * count[held] / among[held]
            person, bucket = person[held], bucket[held]
        return person, bucket, amount
