"""A release as an analyst sees it: buckets whose columns of attributes are linked at random.

A bucketized or a sliced release divides the attributes into columns and states for each bucket how
often it holds each combination of a column's values. It does not state which entry of one column
belongs to which entry of another: within a bucket every one-to-one linking is equally likely. The
analyst's kit computes expectations over all linkings; `draw_linking` draws one of them. Columns are
then linked one after the other, in the order of `shoal.core.sliced.Layout`, and rows are paired at
random among those that agree in the attributes that the columns share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Cells, group, total_by
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.release import Published
from shoal.core.sliced import Layout, SlicedColumn
from shoal.core.table import Rows


@dataclass(frozen=True, eq=False)
class LinkedColumn:
    """A column of attributes: how often each bucket holds each combination of its values.

    Parameters
    ----------
    domains
        The values of each attribute, by code.
    bucket
        The bucket of each entry, from 0.
    codes
        The values of each entry, one row per entry, one column per attribute.
    count
        How often the bucket holds them; at least once.
    """

    domains: tuple[Domain, ...]
    bucket: Codes
    codes: Codes
    count: Counts

    @classmethod
    def of_cells(cls, cells: Cells) -> LinkedColumn:
        """Read counted cells whose first column is the bucket."""
        return cls(cells.domains[1:], cells.codes[:, 0], cells.codes[:, 1:], cells.counts)

    @classmethod
    def of_slice(cls, column: SlicedColumn) -> LinkedColumn:
        """Read a column of a sliced release."""
        values = column.values
        return cls(values.domains, column.bucket, values.codes[column.value], column.count)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(domain.column for domain in self.domains)

    def keep(self, attributes: Sequence[str]) -> LinkedColumn:
        """Keep some attributes; entries that become equal stay apart, which changes no answer."""
        places = [self.attributes.index(attribute) for attribute in attributes]
        domains = tuple(self.domains[place] for place in places)
        return LinkedColumn(domains, self.bucket, self.codes[:, places], self.count)

    def code_of(self, attribute: str) -> Codes:
        """Return the code of an attribute in each entry."""
        return self.codes[:, self.attributes.index(attribute)]

    def __repr__(self) -> str:
        return f"LinkedColumn({', '.join(self.attributes)}: {len(self.count)} entries)"


@dataclass(frozen=True, eq=False)
class Linked:
    """Columns of attributes, linked at random within buckets.

    Parameters
    ----------
    columns
        The columns, their entries sorted by bucket.
    sizes
        The number of rows in each bucket, at least 1; the same in every column.

    Examples
    --------
    >>> sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["flu"])
    >>> bucket, ones = np.array([0, 0]), np.array([1, 1])
    >>> Linked.of_columns(
    ...     [
    ...         LinkedColumn((sex,), bucket, np.array([[0], [1]]), ones),
    ...         LinkedColumn((disease,), np.array([0]), np.array([[0]]), np.array([2])),
    ...     ]
    ... )
    Linked((sex), (disease): 2 rows in 1 buckets)
    """

    columns: tuple[LinkedColumn, ...]
    sizes: Counts

    @classmethod
    def of_columns(cls, columns: Sequence[LinkedColumn]) -> Linked:
        """Link columns at random.

        Parameters
        ----------
        columns
            The columns. Attributes that all of them hold link the entries that agree in them: such
            entries count as buckets of their own. No attribute may be in some columns only.

        Raises
        ------
        DataError
            If a bucket has different numbers of rows in different columns, or some columns share
            an attribute and others do not.
        """
        if not columns:
            raise DataError("A release needs at least one column of attributes.")
        parted, n_buckets = _part_by_shared(columns)
        sizes = [total_by(column.bucket, column.count, n_buckets) for column in parted]
        n_wrong = sum(np.count_nonzero(size != sizes[0]) for size in sizes[1:])
        if n_wrong:
            raise DataError(
                f"{n_wrong} buckets have different numbers of rows in different columns.",
                hint="take all columns of one release, unchanged.",
            )
        is_used = sizes[0] > 0
        number = np.cumsum(is_used) - 1
        return cls(tuple(_sorted(column, number) for column in parted), sizes[0][is_used])

    @classmethod
    def of_published(cls, published: Published) -> Linked:
        """Read a bucketized, generalized or sliced release, all of its columns.

        Insensitive attributes are not counted in a release, so they cannot be asked for.
        """
        return cls.of_columns(columns_of(published))

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of all attributes, column by column."""
        return tuple(name for column in self.columns for name in column.attributes)

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The column that holds each attribute."""
        return {name: at for at, column in enumerate(self.columns) for name in column.attributes}

    def domain(self, attribute: str) -> Domain:
        """Return the domain of an attribute; raises `ParameterError` if there is none."""
        confirm_attributes([attribute], self.attributes)
        column = self.columns[self.place_of[attribute]]
        return column.domains[column.attributes.index(attribute)]

    def __repr__(self) -> str:
        columns = ", ".join(f"({', '.join(column.attributes)})" for column in self.columns)
        return f"Linked({columns}: {self.n_rows} rows in {self.n_buckets} buckets)"


def confirm_attributes(asked: Iterable[str], there: Collection[str]) -> None:
    """Refuse an attribute that a release does not have."""
    for name in asked:
        if name not in there:
            raise ParameterError(
                f"The release has no attribute {name!r}.",
                hint=f"its attributes are {', '.join(there)}.",
            )


def columns_of(published: Published) -> tuple[LinkedColumn, ...]:
    """Return the columns of a release as they are published; a suppressed one has none."""
    if published.sliced is not None:
        return tuple(map(LinkedColumn.of_slice, published.sliced.columns))
    if published.manifest.shape.hides_cells:
        raise ParameterError(
            f"A {published.manifest.shape} release has no buckets of quasi-identifiers and "
            "sensitive values.",
            hint="the kit reads bucketized, generalized and sliced releases.",
        )
    lines = LinkedColumn.of_cells(published.lines)
    buckets = published.buckets
    if buckets is None:
        return (lines,)
    values = buckets.value[:, np.newaxis]
    return lines, LinkedColumn((buckets.domain,), buckets.bucket, values, buckets.count)


def columns_for(columns: Sequence[Sequence[str]], attributes: Collection[str]) -> tuple[int, ...]:
    """Return the places of the columns that a query about some attributes needs, at least one.

    A column is left out if one of the remaining columns holds all of its attributes that the query
    or other columns have: linking it changes nothing about them.

    Examples
    --------
    >>> columns_for([["age", "sex"], ["sex", "zipcode"], ["disease"]], ["age", "disease"])
    (0, 2)
    """
    left = list(range(len(columns)))
    n_before = 0
    # A column that was kept for the sake of another may go once that one is gone.
    while len(left) != n_before:
        n_before = len(left)
        for place in reversed(left.copy()):
            others = [set(columns[other]) for other in left if other != place]
            matters = set(columns[place]) & set(attributes).union(*others)
            if others and (not matters or any(matters <= held for held in others)):
                left.remove(place)
    return tuple(left)


def confirm_same_values(columns: Sequence[LinkedColumn]) -> None:
    """Refuse columns that number the values of an attribute that they share differently."""
    known: dict[str, Domain] = {}
    for domain in (domain for column in columns for domain in column.domains):
        first = known.setdefault(domain.column, domain)
        if first is not domain and first.labels() != domain.labels():
            raise DataError(
                f"Columns that share {domain.column!r} hold different values of it.",
                hint="take all columns of one release, unchanged.",
            )


def _part_by_shared(columns: Sequence[LinkedColumn]) -> tuple[list[LinkedColumn], int]:
    """Divide the buckets by the attributes that all columns hold, and keep these once."""
    n_buckets = max(int(column.bucket.max(initial=-1)) for column in columns) + 1
    shared = _shared(columns)
    if not shared:
        return list(columns), n_buckets
    confirm_same_values(columns)
    domains = [columns[0].domains[columns[0].attributes.index(name)] for name in shared]
    keys = [
        np.concatenate(parts)
        for parts in (
            [column.bucket for column in columns],
            *([column.code_of(name) for column in columns] for name in shared),
        )
    ]
    sizes = [n_buckets, *(domain.size for domain in domains)]
    first, inverse = group(keys, sizes, len(keys[0]))
    ends = np.cumsum([len(column.count) for column in columns])
    parted = []
    for at, (column, bucket) in enumerate(zip(columns, np.split(inverse, ends[:-1]), strict=True)):
        own = [name for name in column.attributes if at == 0 or name not in shared]
        kept = column.keep(own)
        parted.append(LinkedColumn(kept.domains, bucket, kept.codes, kept.count))
    return parted, len(first)


def is_evenly_shared(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether every attribute is in one column, or in all."""
    times = Counter(name for column in columns for name in column)
    return set(times.values()) <= {1, len(columns)}


def _shared(columns: Sequence[LinkedColumn]) -> list[str]:
    """Return the attributes that all columns hold; refuse one that only some of them hold."""
    times = Counter(name for column in columns for name in column.attributes)
    repeated = [name for name, n_times in times.items() if n_times > 1]
    if not is_evenly_shared([column.attributes for column in columns]):
        raise DataError(
            f"Attributes are in several columns, but not in all: {', '.join(repeated)}.",
            hint="ask about fewer columns at a time: two that share them, or those that do not.",
        )
    return repeated


def _sorted(column: LinkedColumn, number: Codes) -> LinkedColumn:
    """Sort a column's entries by bucket, the buckets renumbered."""
    order = np.argsort(column.bucket, kind="stable")
    codes = np.asfortranarray(column.codes[order], dtype=np.int64)
    return LinkedColumn(column.domains, number[column.bucket[order]], codes, column.count[order])


def draw_linking(columns: Sequence[LinkedColumn], generator: np.random.Generator) -> Rows:
    """Draw a linking of all columns of a release.

    Returns one row per person, in the order of the first column's entries, with every attribute
    once. Raises `DataError` if the columns do not hold equally many rows of every bucket, and of
    every value that they share.
    """
    confirm_same_values(columns)
    # A column without attributes of its own links nothing.
    columns = [column for column in columns if column.attributes]
    layout = Layout([column.attributes for column in columns])
    domains = {domain.column: domain for column in columns for domain in column.domains}
    first, *links = layout.links()
    entry = _rows_of(columns[first.column])
    bucket = columns[first.column].bucket[entry]
    drawn = _values(columns[first.column], entry)
    for link in links:
        column = columns[link.column]
        entry = _rows_of(column)
        kept = [bucket, *(drawn[name] for name in link.separator)]
        added = [column.bucket[entry], *(column.code_of(name)[entry] for name in link.separator)]
        sizes = [domains[name].size for name in link.separator]
        drawn = _values(column, entry[_paired(kept, added, sizes, generator)]) | drawn
    codes = np.column_stack([drawn[name] for name in layout.attributes])
    return Rows(tuple(domains[name] for name in layout.attributes), codes.astype(np.int32))


def _rows_of(column: LinkedColumn) -> Codes:
    """Return the entries by bucket, each repeated by its count."""
    entry = np.repeat(np.arange(len(column.count)), column.count)
    return entry[np.argsort(column.bucket[entry], kind="stable")]


def _values(column: LinkedColumn, entry: Codes) -> dict[str, Codes]:
    return {name: column.code_of(name)[entry] for name in column.attributes}


def _paired(
    kept: Sequence[Codes],
    added: Sequence[Codes],
    sizes: Sequence[int],
    generator: np.random.Generator,
) -> Codes:
    """Return, for each row so far, the row of the next column that it is paired with."""
    n_buckets = 1 + max(int(rows[0].max(initial=-1)) for rows in (kept, added))
    keys = [np.concatenate(pair) for pair in zip(kept, added, strict=True)]
    _, cell = group(keys, [n_buckets, *sizes], len(keys[0]))
    before, after = cell[: len(kept[0])], cell[len(kept[0]) :]
    order = np.argsort(before, kind="stable")
    drawn = np.lexsort((generator.random(len(after)), after))
    if not np.array_equal(before[order], after[drawn]):
        raise DataError(
            "Columns hold different numbers of rows of a bucket, or of a value that they share.",
            hint="take all columns of one release, unchanged.",
        )
    paired = np.empty(len(order), dtype=np.int64)
    paired[order] = drawn
    return paired
