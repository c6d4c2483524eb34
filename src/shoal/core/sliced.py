"""A sliced release as counts: for each bucket and each column how often a column value occurs.

A column of a sliced release is a set of attributes whose values stay together; within a bucket the
columns are not linked. So the release publishes only counts of (bucket, column value), and this
model holds nothing else: no rows and no order.

References
----------
[Slicing] Shaik Mahammad Rafi, P. Venkata Ramanaiah: Protecting Attribute Disclosure for High
Dimensionality and Preserving Publishing of Microdata (a shortened variant of T. Li, N. Li,
J. Zhang, I. Molloy: Slicing: a new approach for privacy preserving data publishing, 2012).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import attrs
import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Cells, count_pairs, total_by
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError


@dataclass(frozen=True)
class Link:
    """How a column is linked to the columns before it."""

    # The place of the column.
    column: int
    # The attributes that it shares with one of the columns before it: rows are linked only if
    # these agree. Empty if it shares none, and for the first column.
    separator: tuple[str, ...]


def _tuples(columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, columns))


def _texts(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names)


@attrs.frozen
class Layout:
    """The attributes of each column, and which attributes are sensitive and which are known.

    The values of each sensitive attribute are bounded separately. By default the adversary knows
    all attributes that are not sensitive. An attribute may be both: the adversary knows it unless
    it is the one to be inferred. Raises a ParameterError if a column is empty or names an attribute
    twice, if a sensitive or known attribute is in no column, or if columns overlap in a ring, so
    that they cannot be linked one after the other.

    Examples
    --------
    >>> layout = Layout((("age", "sex"), ("zipcode", "disease")), ("disease",))
    >>> layout.known, layout.sensitive_columns, layout.outside_attributes
    (('age', 'sex', 'zipcode'), (1,), ('age', 'sex'))
    """

    columns: tuple[tuple[str, ...], ...] = attrs.field(converter=_tuples)
    sensitive: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    known: tuple[str, ...] = attrs.field(converter=_texts)

    @known.default
    def _not_sensitive(self) -> Sequence[str]:
        return [name for name in self.attributes if name not in self.sensitive]

    def __attrs_post_init__(self) -> None:
        empty = [str(number) for number, column in enumerate(self.columns, start=1) if not column]
        if empty or not self.columns:
            which = f"column {', '.join(empty)} is empty" if empty else "there is none"
            raise ParameterError(
                f"Slicing needs at least one column, and attributes in each; {which}.",
                hint="for example columns=[['age', 'sex'], ['zipcode', 'disease']].",
            )
        twice = {name for column in self.columns for name in column if column.count(name) > 1}
        if twice:
            raise ParameterError(
                f"A column names an attribute twice: {', '.join(sorted(twice))}.",
                hint="name every attribute of a column once.",
            )
        absent = {*self.sensitive, *self.known}.difference(self.attributes)
        if absent:
            raise ParameterError(f"No column holds {', '.join(sorted(absent))}.")
        n_shared = sum(map(len, self.columns)) - len(self.attributes)
        # Links of largest overlap fit all columns together if and only if every attribute that
        # occurs in m columns is in m - 1 separators.
        if sum(len(link.separator) for link in self.links()) != n_shared:
            raise ParameterError(
                "The columns overlap in a ring, so that no order links them one after the other.",
                hint="take the shared attributes of one column out of it.",
            )

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes, each once, in the order of the columns."""
        return tuple(dict.fromkeys(name for column in self.columns for name in column))

    @property
    def shared(self) -> tuple[str, ...]:
        """The attributes that are in several columns."""
        n_columns = Counter(name for column in self.columns for name in column)
        return tuple(name for name, n in n_columns.items() if n > 1)

    @property
    def is_overlapping(self) -> bool:
        """Whether an attribute is in several columns."""
        return bool(self.shared)

    @property
    def sensitive_columns(self) -> tuple[int, ...]:
        """The places of the columns with a sensitive attribute."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if not set(column).isdisjoint(self.sensitive)
        )

    @property
    def outside_attributes(self) -> tuple[str, ...]:
        """The known attributes that are in no sensitive column: rows are cut on these."""
        inside = {name for place in self.sensitive_columns for name in self.columns[place]}
        return tuple(name for name in self.attributes if name in self.known and name not in inside)

    def known_for(self, sensitive: str | None) -> tuple[str, ...]:
        """Return the attributes that are known if one sensitive attribute is to be inferred."""
        return tuple(name for name in self.known if name != sensitive)

    def hidden_for(self, sensitive: str | None) -> tuple[str, ...]:
        """Return the unknown attributes that matter: the one to be inferred, and shared ones."""
        known, shared = self.known_for(sensitive), self.shared
        return tuple(
            name
            for name in self.attributes
            if name not in known and (name == sensitive or name in shared)
        )

    def is_linked_by_unknown(self, sensitive: str | None) -> bool:
        """Return whether columns share an attribute that the adversary does not know."""
        return not set(self.shared).isdisjoint(self.hidden_for(sensitive))

    def links(self, first: int = 0) -> tuple[Link, ...]:
        """Return the columns in an order in which they can be linked, beginning at place `first`.

        Sensitive columns come late. By default the order begins at the first column.

        Examples
        --------
        >>> Layout((("age", "sex"), ("sex", "disease")), ("disease",)).links()
        (Link(column=0, separator=()), Link(column=1, separator=('sex',)))
        """
        found = [Link(first, ())]
        waiting = [place for place in range(len(self.columns)) if place != first]
        # The sort is stable, so ties are resolved by place.
        waiting.sort(key=self.sensitive_columns.__contains__)
        while waiting:
            shared = {place: self._largest_overlap(place, found) for place in waiting}
            best = max(waiting, key=lambda place: len(shared[place]))
            found.append(Link(best, shared[best]))
            waiting.remove(best)
        return tuple(found)

    def _largest_overlap(self, place: int, links: Sequence[Link]) -> tuple[str, ...]:
        overlaps = [
            tuple(name for name in self.columns[place] if name in self.columns[link.column])
            for link in links
        ]
        return max(overlaps, key=len)


@dataclass(frozen=True, eq=False)
class SlicedColumn:
    """How often each value of one column occurs in each bucket, sorted by bucket, then value."""

    # The values of the column: codes of its attributes, with their counts in the whole release.
    values: Cells
    bucket: Codes
    # A cell of `values`.
    value: Codes
    count: Counts

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the column's attributes."""
        return self.values.columns

    def codes(self, attribute: str) -> Codes:
        """Return the code of an attribute, one per entry."""
        return self.values.column(attribute)[self.value]

    def __repr__(self) -> str:
        return f"SlicedColumn({', '.join(self.attributes)}: {self.values.n_cells} values)"


@dataclass(frozen=True, eq=False)
class Sliced:
    """A sliced release as counts; `sizes` holds the number of rows in each bucket.

    Raises a DataError if the columns do not have the attributes of the layout, or if a column does
    not hold as many values in every bucket as the bucket has rows.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> Sliced.of_pieces(cells, layout, np.arange(4), np.array([0, 0, 1, 1]), cells.counts)
    Sliced(sex | disease: 2 buckets, 4 rows, disease sensitive)
    """

    layout: Layout
    columns: tuple[SlicedColumn, ...]
    sizes: Counts

    def __post_init__(self) -> None:
        if tuple(column.attributes for column in self.columns) != self.layout.columns:
            raise DataError("The columns of a sliced release must be those of its layout.")
        for column in self.columns:
            is_inside = (column.bucket >= 0) & (column.bucket < self.n_buckets)
            held = total_by(column.bucket[is_inside], column.count[is_inside], self.n_buckets)
            if not is_inside.all() or not np.array_equal(held, self.sizes):
                raise DataError(
                    "Every column of a sliced release must hold as many values in a bucket as the "
                    f"bucket has rows; {', '.join(column.attributes)} does not."
                )

    @classmethod
    def of_pieces(
        cls, cells: Cells, layout: Layout, cell: Codes, bucket: Codes, count: Counts
    ) -> Sliced:
        """Slice a table; for each entry, `count` rows of the cell `cell` are in `bucket`.

        The cells have all attributes of the layout.
        """
        sizes = total_by(bucket, count, int(bucket.max(initial=-1)) + 1)
        columns = tuple(
            _slice_column(cells, names, cell, bucket, count) for names in layout.columns
        )
        return cls(layout, columns, sizes)

    def only(self, buckets: Codes) -> Sliced:
        """Return the release restricted to some distinct buckets, which are numbered anew."""
        number = np.full(self.n_buckets, -1, dtype=np.int64)
        number[buckets] = np.arange(len(buckets))
        columns = []
        for column in self.columns:
            kept = np.flatnonzero(number[column.bucket] >= 0)
            kept = kept[np.argsort(number[column.bucket[kept]], kind="stable")]
            columns.append(
                SlicedColumn(
                    column.values,
                    number[column.bucket[kept]],
                    column.value[kept],
                    column.count[kept],
                )
            )
        return Sliced(self.layout, tuple(columns), self.sizes[buckets])

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The values of every attribute, each once, in the order of the columns."""
        return tuple(map(self.domain, self.layout.attributes))

    def shown(self) -> Iterator[tuple[Domain, Codes, Counts]]:
        """Yield each attribute's domain with codes and the number of rows that show each."""
        for column in self.columns:
            for domain in column.values.domains:
                yield domain, column.values.column(domain.column), column.values.counts

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return len(self.sizes)

    @cached_property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def sensitive_texts(self) -> list[str | None]:
        """All sensitive values; with the name of their attribute if there are several attributes.

        `first_sensitive` returns the place of the first value of an attribute.
        """
        several = len(self.layout.sensitive) > 1
        return [
            f"{name}: {'missing' if text is None else text}" if several else text
            for name in self.layout.sensitive
            for text in self.domain(name).labels()
        ]

    def first_sensitive(self, attribute: str) -> int:
        """Return the place of the first value of a sensitive attribute in `sensitive_texts`."""
        before = self.layout.sensitive[: self.layout.sensitive.index(attribute)]
        return sum(len(self.domain(name).labels()) for name in before)

    def domain(self, attribute: str) -> Domain:
        """Return the domain of an attribute."""
        for column in self.columns:
            if attribute in column.attributes:
                return column.values.domain(attribute)
        raise ParameterError(f"The sliced release has no attribute {attribute!r}.")

    def __repr__(self) -> str:
        names = " | ".join(", ".join(column) for column in self.layout.columns)
        about = ", ".join(self.layout.sensitive) or "nothing"
        return f"Sliced({names}: {self.n_buckets} buckets, {self.n_rows} rows, {about} sensitive)"


def _slice_column(
    cells: Cells, names: Sequence[str], cell: Codes, bucket: Codes, count: Counts
) -> SlicedColumn:
    values, value_of_cell = cells.select_with_inverse(names)
    n_buckets = int(bucket.max(initial=-1)) + 1
    pairs = count_pairs(bucket, value_of_cell[cell], (n_buckets, values.n_cells), count)
    return SlicedColumn(values, *pairs)
