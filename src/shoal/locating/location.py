"""Where in a release a person may be.

Every attack on a person begins with finding them. The adversary knows the quasi-identifiers of
the people she looks for; the release shows lines, whose values are either published as they are
or recoded to labels that stand for several values. A person may be any row whose line admits all
of their values, and each such row is equally likely: that gives the buckets they may be in, with
weights.

A column that is published as it is takes a join on its values: on numbers where both sides have
them, however they are spelled, else on texts. For recoded columns, every value of
the people gets the set of lines that admit it, as bits, and a person's lines are the intersection
of the sets of their values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts, group
from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.hierarchy_rules import day_of_date, iso_date
from shoal.core.release import Meaning, People, Published
from shoal.knowledge.naming import named_pairs

__all__ = ["Locations", "Matches", "labels_of_values", "match_lines", "matching_buckets", "spread"]

_Flags = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]
_Words = npt.NDArray[np.uint64]
_Labels = Mapping[str, Meaning]

_WORD = 64
_CHUNK = 2**25
"""How many pairs of a person and a line are held as bits at a time."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The published lines that each cell of people may be.

    Parameters
    ----------
    start
        Where the lines of each cell begin in `line`; one entry more than there are cells.
    line
        The positions of the lines, ascending for each cell.
    """

    start: Codes
    line: Codes

    @property
    def person(self) -> Codes:
        """The cell of people that each entry of `line` is about."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def rows_of(self, counts: Counts) -> Counts:
        """Add up, for each cell of people, the rows of the lines that they may be."""
        total = _offsets(counts[self.line])[self.start]
        return np.diff(total)

    def __repr__(self) -> str:
        return f"Matches({len(self.start) - 1} different people, {len(self.line)} matching lines)"


@dataclass(frozen=True, eq=False)
class Locations:
    """The buckets that each cell of people may be in, sorted by person, then bucket.

    Parameters
    ----------
    n_people
        The number of cells of people; those found nowhere have no entry.
    person, bucket
        The entries: this cell of people may be in this bucket.
    n_rows
        How many rows of the bucket they may be; 1 where the bucket is known.
    """

    n_people: int
    person: Codes
    bucket: Codes
    n_rows: Counts

    @cached_property
    def totals(self) -> Counts:
        """How many rows of the release each cell of people may be."""
        totals = np.zeros(self.n_people, dtype=np.int64)
        np.add.at(totals, self.person, self.n_rows)
        return totals

    @cached_property
    def weight(self) -> npt.NDArray[np.float64]:
        """How likely each entry is; the entries of a person add up to 1."""
        return self.n_rows / self.totals[self.person]

    @cached_property
    def n_buckets_of(self) -> Counts:
        """How many buckets each cell of people may be in."""
        return np.bincount(self.person, minlength=self.n_people)

    def __repr__(self) -> str:
        return f"Locations({self.n_people} different people, {len(self.person)} places)"


def matching_buckets(published: Published, people: People) -> Locations:
    """Find the buckets that people may be in.

    Where the bucket of each is known, it is that one (and none where it is below 0); else every
    bucket that holds a line which admits all their values, weighted by the rows that do.

    Parameters
    ----------
    published
        The release as any reader sees it.
    people
        The quasi-identifiers of the people; a column that they lack is one the adversary does
        not know.

    Examples
    --------
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket = Domain.of_texts("bucket", ["7", "9"])
    >>> age = Domain.of_texts("age", ["[20, 30[", "[25, 40["])
    >>> lines = Cells((bucket, age), np.array([[0, 0], [1, 1]]), np.array([3, 1]))
    >>> meanings = {"age": {"[20, 30[": Meaning(("20", "30")), "[25, 40[": Meaning(("25", "40"))}}
    >>> manifest = Manifest(
    ...     shape=Shape.GENERALIZED, method="mondrian", parameters={}, guarantees=(), columns=(),
    ...     n_rows=4, n_buckets=2,
    ... )
    >>> ages = Domain.of_texts("age", ["21", "27", "40"], numbers=[21, 27, 40])
    >>> people = People(Cells.of_rows([ages], np.array([[0], [1], [2]])))
    >>> found = matching_buckets(Published(manifest, lines, None, meanings), people)
    >>> list(zip(found.person.tolist(), found.bucket.tolist(), found.weight.tolist()))
    [(0, 0, 1.0), (1, 0, 0.75), (1, 1, 0.25)]
    """
    if people.bucket is not None:
        person = np.flatnonzero(people.bucket >= 0)
        ones = np.ones(len(person), dtype=np.int64)
        return Locations(people.quasi.n_cells, person, people.bucket[person], ones)
    lines = published.lines
    order = np.argsort(lines.codes[:, 0], kind="stable")
    quasi = Cells(published.quasi, lines.codes[order, 1:], lines.counts[order])
    matches = match_lines(quasi, published.meanings, people.quasi)
    return _add_up(matches, lines.codes[order, 0], quasi.counts)


def _add_up(matches: Matches, bucket_of_line: Codes, counts: Counts) -> Locations:
    """Add up the lines of each person that lie in one bucket; lines are sorted by bucket."""
    person, bucket = matches.person, bucket_of_line[matches.line]
    is_first = np.ones(len(person), dtype=bool)
    is_first[1:] = (person[1:] != person[:-1]) | (bucket[1:] != bucket[:-1])
    first = np.flatnonzero(is_first)
    rows = np.add.reduceat(counts[matches.line], first) if len(first) else counts[:0]
    return Locations(len(matches.start) - 1, person[first], bucket[first], rows)


def match_lines(lines: Cells, meanings: Mapping[str, _Labels], people: Cells) -> Matches:
    """Find the published lines that people may be.

    A value that is not recoded matches the same number, where both are numbers, or the same text,
    and a missing value a missing one. A label admits what its meaning says: numbers within its
    interval, its members, with `has_other` every value that the release names nowhere, with
    `has_missing` the missing value. A label without a meaning stands for itself; a suppressed
    value without one may be any.

    Parameters
    ----------
    lines
        Published quasi-identifiers.
    meanings
        What the labels of a column stand for, by column and label.
    people
        The quasi-identifiers of people. Only columns that both have are compared.

    Examples
    --------
    >>> job = Domain.of_texts("job", ["clerk", "nurse"])
    >>> lines = Cells.of_rows([job], np.array([[0], [1]]))
    >>> other = Domain.of_texts("job", ["baker", "nurse"])
    >>> found = match_lines(lines, {}, Cells.of_rows([other], np.array([[0], [1]])))
    >>> found.start.tolist(), found.line.tolist()
    ([0, 0, 1], [1])
    """
    shared = [column for column in lines.columns if column in people.columns]
    columns = [_Column.of(lines, meanings.get(column, {}), people, column) for column in shared]
    if all(column.is_plain for column in columns):
        return _match_texts(columns, lines.n_cells, people.n_cells)
    return _match_labels(columns, lines.n_cells, people.n_cells)


def labels_of_values(domain: Domain, meanings: _Labels, values: Domain) -> tuple[Codes, Codes]:
    """Give the labels that admit each value.

    Parameters
    ----------
    domain
        The published labels.
    meanings
        What the labels stand for.
    values
        The values of people.

    Returns
    -------
    start
        Where the labels of each value begin in `label`; one entry more than there are values.
    label
        The labels. Most values have one; several admit a value that is too rare to be named.

    Examples
    --------
    >>> ages = Domain.of_texts("age", ["20", "41"], numbers=[20, 41])
    >>> labels = {"[20, 40[": Meaning(("20", "40"))}
    >>> start, label = labels_of_values(Domain.of_texts("age", ["[20, 40["]), labels, ages)
    >>> start.tolist(), label.tolist()
    ([0, 1, 1], [0])
    """
    ones = np.ones(max(domain.size, values.size), dtype=np.int64)
    every = np.arange(len(ones))[:, np.newaxis]
    lines = Cells((domain,), every[: domain.size], ones[: domain.size])
    people = Cells((values,), every[: values.size], ones[: values.size])
    column = _Column.of(lines, meanings, people, domain.column)
    value, label = np.nonzero(column.admits(np.arange(values.size)))
    return np.searchsorted(value, np.arange(values.size + 1)).astype(np.int64), label


def spread(start: Codes, length: Counts) -> tuple[Codes, Codes]:
    """Lay ranges one behind the other.

    Returns
    -------
    source
        For each element, the range that it comes from.
    position
        For each element, its place.

    Examples
    --------
    >>> source, position = spread(np.array([5, 0, 2]), np.array([2, 0, 1]))
    >>> source.tolist(), position.tolist()
    ([0, 0, 2], [5, 6, 2])
    """
    source = np.repeat(np.arange(len(length)), length)
    before = np.cumsum(length) - length
    return source, np.arange(len(source)) - before[source] + start[source]


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as the people have it and as it is published, and which value fits which label.

    Parameters
    ----------
    line, person
        The label of every line and the value of every person, as codes.
    n_labels
        The number of labels.
    lower, upper
        The interval of each label; not a number where it has none.
    numbers
        The number of each value; not a number where it is none.
    is_open
        Whether each label admits everything.
    start, label
        The labels that name each value: those of value v are `label[start[v]:start[v + 1]]`.
    is_plain
        Whether every label stands for itself alone, so that a value has at most one.
    """

    line: Codes
    person: Codes
    n_labels: int
    lower: _Floats
    upper: _Floats
    numbers: _Floats
    is_open: _Flags
    start: Codes
    label: Codes
    is_plain: bool

    @classmethod
    def of(cls, lines: Cells, meanings: _Labels, people: Cells, name: str) -> _Column:
        domain, values = lines.domain(name), people.domain(name)
        labels = domain.labels()
        intervals = [_interval_of(label, meanings) for label in labels]
        bounds = np.array(intervals, dtype=np.float64).reshape(-1, 2)
        is_open = np.array([_is_open(label, meanings) for label in labels], dtype=bool)
        value, named = named_pairs(domain, meanings, values)
        return cls(
            line=lines.column(name),
            person=people.column(name),
            n_labels=len(labels),
            lower=bounds[:, 0],
            upper=bounds[:, 1],
            numbers=_numbers_of(values),
            is_open=is_open,
            start=np.searchsorted(value, np.arange(values.size + 1)).astype(np.int64),
            label=named,
            is_plain=not is_open.any() and not any(label in meanings for label in labels),
        )

    def admits(self, values: Codes) -> _Flags:
        """Say for each value, one a row, which labels admit it."""
        admitted = np.repeat(self.is_open[np.newaxis], len(values), axis=0)
        ranges = np.flatnonzero(self.lower < self.upper)
        numbers = self.numbers[values][:, np.newaxis]
        admitted[:, ranges] |= (self.lower[ranges] <= numbers) & (numbers < self.upper[ranges])
        row, place = spread(self.start[values], self.start[values + 1] - self.start[values])
        admitted[row, self.label[place]] = True
        return admitted

    def translate(self) -> Codes:
        """Give the label of every person where every label stands for itself; -1 for none."""
        label_of_value = np.full(len(self.start) - 1, -1, dtype=np.int64)
        is_named = np.diff(self.start) > 0
        label_of_value[is_named] = self.label[self.start[:-1][is_named]]
        return label_of_value[self.person]


def _interval_of(label: str | None, meanings: _Labels) -> tuple[float, float]:
    meaning = None if label is None else meanings.get(label)
    if meaning is None or meaning.interval is None:
        return math.nan, math.nan
    return _number_of(meaning.interval[0]), _number_of(meaning.interval[1])


def _is_open(label: str | None, meanings: _Labels) -> bool:
    # `*` matches only itself when lines are compared; a reader knows that it hides some value.
    return label == SUPPRESSED and label not in meanings


def _numbers_of(values: Domain) -> _Floats:
    """Give the number of every value; not a number where it is none, or missing."""
    numbers = np.full(values.size, math.nan)
    known = values.numbers
    if known is None:
        known = np.array([_number_of(text) for text in values.texts.tolist()], dtype=np.float64)
    numbers[: len(known)] = known
    return numbers


def _number_of(text: str) -> float:
    """Read a number, or a date as days since 1970-01-01; not a number where it is neither."""
    date = iso_date(text)
    if date is not None:
        return float(day_of_date(date))
    try:
        return float(text)
    except ValueError:
        return math.nan


def _match_texts(columns: Sequence[_Column], n_lines: int, n_people: int) -> Matches:
    """Join lines and people whose values are equal in every column."""
    translated = [column.translate() for column in columns]
    is_known = np.ones(n_people, dtype=bool)
    for codes in translated:
        is_known &= codes >= 0
    known = np.flatnonzero(is_known)
    both = [
        np.concatenate([column.line, codes[known]])
        for column, codes in zip(columns, translated, strict=True)
    ]
    sizes = [column.n_labels for column in columns]
    first, inverse = group(both, sizes, n_lines + len(known))
    of_line, of_person = inverse[:n_lines], inverse[n_lines:]
    length_of_group = np.bincount(of_line, minlength=len(first))
    start_of_group = np.cumsum(length_of_group) - length_of_group
    length = np.zeros(n_people, dtype=np.int64)
    length[known] = length_of_group[of_person]
    start = np.zeros(n_people, dtype=np.int64)
    start[known] = start_of_group[of_person]
    _, place = spread(start, length)
    return Matches(_offsets(length), np.argsort(of_line, kind="stable")[place])


def _match_labels(columns: Sequence[_Column], n_lines: int, n_people: int) -> Matches:
    """Intersect the lines that admit each value of a person, as bits, for some people at a time."""
    step = max(1, _CHUNK // max(n_lines, 1))
    persons, lines = [], []
    for first in range(0, n_people, step):
        chunk = slice(first, min(first + step, n_people))
        person, line = _set_bits(_admitting_lines(columns, chunk))
        persons.append(person + first)
        lines.append(line)
    if not persons:
        return Matches(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))
    length = np.bincount(np.concatenate(persons), minlength=n_people)
    return Matches(_offsets(length), np.concatenate(lines))


def _admitting_lines(columns: Sequence[_Column], people: slice) -> _Words:
    """Give the lines that admit all values of each person, one bit a line."""
    admitting = None
    for column in columns:
        values, inverse = np.unique(column.person[people], return_inverse=True)
        words = _pack(column.admits(values)[:, column.line])[inverse]
        admitting = words if admitting is None else admitting & words
    assert admitting is not None
    return admitting


def _pack(flags: _Flags) -> _Words:
    """Pack rows of flags into words of 64 bits."""
    n_rows, n_flags = flags.shape
    packed = np.zeros((n_rows, -(-n_flags // _WORD) * (_WORD // 8)), dtype=np.uint8)
    packed[:, : -(-n_flags // 8)] = np.packbits(flags, axis=1, bitorder="little")
    return packed.view(np.uint64)


def _set_bits(words: _Words) -> tuple[Codes, Codes]:
    """Give the row and the position of every bit that is set."""
    n_words = words.shape[1]
    flat = words.reshape(-1)
    # Most words are empty: a person fits few of the lines.
    filled = np.flatnonzero(flat)
    bits = np.unpackbits(flat[filled].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    place, bit = np.nonzero(bits)
    row, word = np.divmod(filled[place], max(n_words, 1))
    return row, word * _WORD + bit


def _offsets(length: Counts) -> Codes:
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
