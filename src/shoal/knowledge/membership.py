"""How well people fit a release: what tells an adversary whether somebody is in the table.

She knows what is known of a person and looks for the buckets that hold it. The more rows of the
release are like the person, the likelier one of them is theirs. Where columns are not linked, that
is the number of such rows on average over all linkings, of which a bucket B has |B| f(t, B)
[Slicing, Section 3]; else the rows whose published line admits the person's values.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 5 and 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts, group
from shoal.core.release import Meaning, People, Published
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.knowledge.location import match_lines, matching_buckets, spread
from shoal.knowledge.separation import Separation, separate
from shoal.knowledge.sliced_beliefs import sliced_beliefs

__all__ = ["Fits", "fit_people", "fit_sliced", "split_rows", "tell_apart"]

_Floats = npt.NDArray[np.float64]
_Labels = Mapping[str, Mapping[str, Meaning]]

_MOST_PAIRS = 1 << 22
"""How many pairs of a person and a bucket are looked at together."""


@dataclass(frozen=True, eq=False)
class Fits:
    """How well people fit a release, one entry a cell of people.

    Parameters
    ----------
    n_buckets
        How many buckets they match.
    n_rows
        How many rows of the release are like them, on average over all linkings of columns; above
        0 exactly where they match a bucket.
    """

    n_buckets: Counts
    n_rows: _Floats

    def __repr__(self) -> str:
        n_matching = np.count_nonzero(self.n_buckets)
        return f"Fits({n_matching} of {len(self.n_buckets)} different people match)"


def fit_people(published: Published, people: People) -> Fits:
    """Say how well people fit a release of any shape.

    Parameters
    ----------
    published
        The release as any reader sees it.
    people
        The people. They are found by what is known of them, even where their bucket is given; a
        column that they lack is one that the adversary does not know.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4", "5"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, guarantees=(), columns=(),
    ...     n_rows=4, n_buckets=2,
    ... )
    >>> fits = fit_people(Published(manifest, lines, None), People(lines.select(["sex"])))
    >>> fits.n_buckets.tolist(), fits.n_rows.tolist()
    ([1, 2], [1.0, 3.0])
    """
    if published.sliced is not None:
        return fit_sliced(published.sliced, people.quasi, published.meanings)
    found = matching_buckets(published, People(people.quasi))
    return Fits(found.n_buckets_of, found.totals.astype(np.float64))


def tell_apart(published: Published, members: People, others: People) -> Separation:
    """Measure how well a release tells the people in it from others.

    Parameters
    ----------
    published
        The release.
    members, others
        People who are in its table, and people who are not, by what is known of them.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0]]), np.array([3]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, guarantees=(), columns=(),
    ...     n_rows=3, n_buckets=1,
    ... )
    >>> men = People(Cells.of_rows([sex], np.array([[1]] * 9)))
    >>> tell_apart(Published(manifest, lines, None), People(lines.select(["sex"])), men).auc
    1.0
    """
    return separate(
        fit_people(published, members).n_rows,
        fit_people(published, others).n_rows,
        member_counts=members.counts,
        other_counts=others.counts,
    )


def split_rows(cells: Cells, n_rows: int, generator: np.random.Generator) -> tuple[Cells, Cells]:
    """Draw some rows of a table at random; give these, and the others.

    Parameters
    ----------
    cells
        The table.
    n_rows
        How many rows to draw.
    generator
        The source of chance, such as `shoal.core.secret.Secret.generator`.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> cells = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0]] * 5 + [[1]] * 6))
    >>> drawn, rest = split_rows(cells, 4, np.random.default_rng(1))
    >>> drawn.n_rows, rest.n_rows
    (4, 7)
    """
    drawn = generator.multivariate_hypergeometric(cells.counts, n_rows, method="marginals")
    first, second = (
        Cells(cells.domains, cells.codes[counts > 0], counts[counts > 0])
        for counts in (drawn, cells.counts - drawn)
    )
    return first, second


def fit_sliced(sliced: Sliced, people: Cells, meanings: _Labels | None = None) -> Fits:
    """Say how well people fit a sliced release.

    Parameters
    ----------
    sliced
        The release.
    people
        What is known of people, as values or as published labels; one entry a cell.
    meanings
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
    >>> layout = Layout([["sex"], ["city"]])
    >>> bucket = np.array([0, 0, 0])
    >>> release = Sliced.of_pieces(rows, layout, np.arange(3), bucket, rows.counts)
    >>> fits = fit_sliced(release, rows)
    >>> fits.n_buckets.tolist(), fits.n_rows.round(3).tolist()
    ([1, 1, 1], [0.667, 1.333, 0.667])
    """
    labels = meanings or {}
    places = Counter(name for column in sliced.layout.columns for name in column)
    linking = [name for name, n in places.items() if n > 1 and name not in people.columns]
    if linking:
        return _fit_joined(sliced, people, labels, linking[0])
    return _fit_product(sliced, people, labels)


def _fit_joined(sliced: Sliced, people: Cells, labels: _Labels, linking: str) -> Fits:
    """Fit people where columns are linked by what is not known of them."""
    known = [name for name in sliced.layout.known if name in people.columns]
    kinds, kind_of = people.select_with_inverse(known)
    codes = [_published_code(sliced, kinds, labels, name) for name in known]
    is_there = np.logical_and.reduce([code >= 0 for code in codes])
    place = np.flatnonzero(is_there)
    domains = tuple(sliced.domain(name) for name in known)
    tuples = Cells(domains, np.column_stack(codes)[place], kinds.counts[place])
    beliefs = sliced_beliefs(sliced, tuples, linking)
    n_buckets = np.zeros(kinds.n_cells, dtype=np.int64)
    n_buckets[place] = np.bincount(beliefs.matches[0], minlength=len(place))
    n_rows = np.zeros(kinds.n_cells)
    n_rows[place] = beliefs.totals
    return Fits(n_buckets[kind_of], n_rows[kind_of])


def _published_code(sliced: Sliced, kinds: Cells, labels: _Labels, name: str) -> Codes:
    """Give the label under which a value is published, the first that admits it; -1 for none."""
    domain = sliced.domain(name)
    every = Cells.of_rows([domain], np.arange(domain.size)[:, np.newaxis])
    values, value_of = kinds.select_with_inverse([name])
    matches = match_lines(every, labels, values)
    code = np.full(values.n_cells, -1, dtype=np.int64)
    is_named = np.diff(matches.start) > 0
    code[is_named] = matches.line[matches.start[:-1][is_named]]
    return code[value_of]


def _fit_product(sliced: Sliced, people: Cells, labels: _Labels) -> Fits:
    """Fit people whose values are known wherever columns share them.

    Of a bucket B they are |B| times the product over columns of the share of rows with their
    value, among all rows of B or, where the column is linked by attributes that it shares with
    those before it, among the rows that agree with them in these.
    """
    factors, divisors = [], []
    for link in sliced.layout.links():
        column = sliced.columns[link.column]
        names = [name for name in column.attributes if name in people.columns]
        if names:
            factors.append(_Factor.of(sliced, column, names, people, labels))
            shared = link.separator
            divisors.append(_Factor.of(sliced, column, shared, people, labels) if shared else None)
    return _Product(sliced.sizes, factors, divisors, people.n_cells).fits()


@dataclass(frozen=True, eq=False)
class _Factor:
    """How many rows of each bucket have a person's values of some attributes.

    Parameters
    ----------
    kind
        For each person, the combination of values that they have.
    start, bucket, count
        The buckets that hold combination k, and how many rows of them: the entries from
        `start[k]` to `start[k + 1]`, sorted by bucket.
    n_buckets
        The number of buckets of the release.
    """

    kind: Codes
    start: Codes
    bucket: Codes
    count: Counts
    n_buckets: int

    @classmethod
    def of(
        cls,
        sliced: Sliced,
        column: SlicedColumn,
        names: Sequence[str],
        people: Cells,
        labels: _Labels,
    ) -> _Factor:
        kinds, kind = people.select_with_inverse(names)
        values, of_value = column.values.select_with_inverse(names)
        matches = match_lines(values, labels, kinds)
        value = of_value[column.value]
        by_value = np.argsort(value, kind="stable")
        first = np.searchsorted(value[by_value], np.arange(values.n_cells + 1))
        source, place = spread(first[matches.line], np.diff(first)[matches.line])
        entry = by_value[place]
        owner, bucket = matches.person[source], column.bucket[entry]
        n_kinds, n_buckets = kinds.n_cells, sliced.n_buckets
        chosen, inverse = group([owner, bucket], [n_kinds, n_buckets], len(owner))
        count = np.zeros(len(chosen), dtype=np.int64)
        np.add.at(count, inverse, column.count[entry])
        start = np.searchsorted(owner[chosen], np.arange(n_kinds + 1)).astype(np.int64)
        return cls(kind, start, bucket[chosen], count, n_buckets)

    @property
    def n_buckets_of(self) -> Counts:
        """How many buckets hold the values of each person."""
        return np.diff(self.start)[self.kind]

    def entries_of(self, people: Codes) -> tuple[Codes, Codes]:
        """Give the pairs of a person and a bucket that holds their values."""
        kind = self.kind[people]
        source, entry = spread(self.start[kind], self.start[kind + 1] - self.start[kind])
        return people[source], self.bucket[entry]

    def count_of(self, person: Codes, bucket: Codes) -> Counts:
        """Count, for pairs of a person and a bucket, its rows with the person's values."""
        asked = self.kind[person] * self.n_buckets + bucket
        place = np.searchsorted(self._pairs, asked)
        is_held = place < len(self._pairs)
        is_held[is_held] = self._pairs[place[is_held]] == asked[is_held]
        count = np.zeros(len(asked), dtype=np.int64)
        count[is_held] = self.count[place[is_held]]
        return count

    @cached_property
    def _pairs(self) -> Codes:
        """A number for each pair of a combination and a bucket that holds it, ascending."""
        owner = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        return owner * self.n_buckets + self.bucket


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
        The number of cells of people.
    """

    sizes: Counts
    factors: Sequence[_Factor]
    divisors: Sequence[_Factor | None]
    n_people: int

    def fits(self) -> Fits:
        if not self.factors:
            # Of whom nothing is known fits every row.
            everywhere = np.full(self.n_people, len(self.sizes), dtype=np.int64)
            return Fits(everywhere, np.full(self.n_people, float(self.sizes.sum())))
        n_buckets, n_rows = np.zeros(self.n_people, dtype=np.int64), np.zeros(self.n_people)
        n_buckets_of = np.column_stack([factor.n_buckets_of for factor in self.factors])
        # Only the buckets that hold a person's rarest value have to be looked at.
        rarest = n_buckets_of.argmin(axis=1)
        for at, factor in enumerate(self.factors):
            chosen = np.flatnonzero(rarest == at)
            ends = np.cumsum(n_buckets_of[chosen, at])
            cuts = np.flatnonzero(np.diff(ends // _MOST_PAIRS)) + 1
            for part in np.split(chosen, cuts):
                person, amount = self._matching(*factor.entries_of(part))
                n_buckets += np.bincount(person, minlength=self.n_people)
                n_rows += np.bincount(person, amount, minlength=self.n_people)
        return Fits(n_buckets, n_rows)

    def _matching(self, person: Codes, bucket: Codes) -> tuple[Codes, _Floats]:
        """Keep the pairs that match in all columns; give what the bucket has of the person."""
        amount = self.sizes[bucket].astype(np.float64)
        for factor, divisor in zip(self.factors, self.divisors, strict=True):
            count = factor.count_of(person, bucket)
            among = self.sizes[bucket] if divisor is None else divisor.count_of(person, bucket)
            amount = amount * count / np.maximum(among, 1)
            held = count > 0
            person, bucket, amount = person[held], bucket[held], amount[held]
        return person, amount
