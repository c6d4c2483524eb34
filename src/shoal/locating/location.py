"""The rows of a release that may belong to a person.

Every attack on a person begins by finding them. The adversary knows the quasi-identifiers of the
people she looks for; the release shows lines whose values are either published as they are or
recoded to labels that stand for several values. Any row whose line admits all values of a person
may be theirs, and all such rows are equally likely. The result is the buckets that the person may
be in, with weights.

A column that is published unchanged needs a join on its values: on numbers, however they are
spelled, if both sides have them (20 names 20.0), and on texts otherwise. For recoded columns, each
value of the people has the set of lines that admit it, as bits, and the lines of a person are the
intersection of the sets of their values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats, Words, words_of
from shoal.core.cells import Cells, group, total_by
from shoal.core.domain import SUPPRESSED, ColumnType, Domain, day_of_date, iso_date
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published

_Labels = Mapping[str, Meaning]
_Key = str | int | float | Decimal | None


def named_pairs(domain: Domain, meanings: _Labels, values: Domain) -> tuple[Codes, Codes]:
    """Return the pairs of a value and a label that admits it by name, sorted by value.

    `meanings` says what the labels in `domain` stand for; `values` are those of the people.
    """
    labels = domain.labels()
    keys = _Keys.of(domain, meanings, values)
    others = _unnamed(labels, meanings, keys)
    pairs = [
        (code, place)
        for place, label in enumerate(labels)
        for code in _named_codes(label, meanings, keys, others)
    ]
    named = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return named[:, 0], named[:, 1]


@dataclass(frozen=True, eq=False)
class _Keys:
    """The keys by which the values of people are compared: numbers, or texts if `type` is None.

    `of_value` has the key of each value; None stands for the missing value.
    """

    type: ColumnType | None
    of_value: tuple[_Key, ...]

    @classmethod
    def of(cls, labels: Domain, meanings: _Labels, values: Domain) -> _Keys:
        # Labels are not numbers, but the values that they stand for may be.
        is_numeric = values.numbers is not None and (labels.numbers is not None or bool(meanings))
        kind = labels.type if labels.numbers is not None else values.type
        unread = cls(kind if is_numeric else None, ())
        return replace(unread, of_value=tuple(map(unread.of_text, values.labels())))

    def of_text(self, text: str | None) -> _Key:
        """Return the key of a text, such that equal numbers have equal keys."""
        if self.type is None or text is None:
            return text
        if self.type is ColumnType.DATE:
            date = iso_date(text)
            return text if date is None else day_of_date(date)
        try:
            # Integers are compared exactly: from 2**53 on, several of them share one float.
            number = Decimal(text) if self.type is ColumnType.INTEGER else float(text)
        except (InvalidOperation, ValueError):
            return text
        return number if math.isfinite(number) else text

    @cached_property
    def codes(self) -> Mapping[_Key, list[int]]:
        """The values that have each key; people may spell one number in several ways."""
        codes: dict[_Key, list[int]] = {}
        for code, key in enumerate(self.of_value):
            codes.setdefault(key, []).append(code)
        return codes


def _named_codes(
    label: str | None, meanings: _Labels, keys: _Keys, others: Sequence[int]
) -> set[int]:
    """Return the codes of the values that a label admits by name."""
    meaning = None if label is None else meanings.get(label)
    if meaning is None:
        return set(keys.codes.get(keys.of_text(label), ()))
    codes = {code for text in meaning.members for code in keys.codes.get(keys.of_text(text), ())}
    if meaning.has_missing:
        codes.update(keys.codes.get(None, ()))
    return codes.union(others) if meaning.has_other else codes


def _unnamed(labels: Sequence[str | None], meanings: _Labels, keys: _Keys) -> list[int]:
    """Return the codes of the values that the release does not name because they are too rare."""
    if not any(meaning.has_other for meaning in meanings.values()):
        return []
    named: set[_Key] = {keys.of_text(label) for label in labels if label not in meanings}
    for meaning in meanings.values():
        named.update(map(keys.of_text, meaning.members))
    named.add(None)
    return [code for code, key in enumerate(keys.of_value) if key not in named]


_WORD = 64
_CHUNK = 2**25
"""The number of pairs, as of a person and a line, that are held as marks at a time."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The published lines that may belong to each cell of people.

    Those of cell i are `line[start[i]:start[i + 1]]`, in ascending order.
    """

    start: Codes
    line: Codes

    @property
    def person(self) -> Codes:
        """The cell of people to which each entry of `line` belongs."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def rows_of(self, counts: Counts) -> Counts:
        """Return, for each cell of people, the number of rows of its lines."""
        total = _offsets(counts[self.line])[self.start]
        return np.diff(total)

    def __repr__(self) -> str:
        return f"Matches({len(self.start) - 1} different people, {len(self.line)} matching lines)"


@dataclass(frozen=True, eq=False)
class Locations:
    """The buckets that each cell of people may be in, sorted by person, then bucket.

    A cell that is found nowhere has no entry. `n_rows` is the number of rows of the bucket that the
    cell may be; 1 if the bucket is known.
    """

    n_people: int
    person: Codes
    bucket: Codes
    n_rows: Counts

    @cached_property
    def totals(self) -> Counts:
        """The number of rows of the release that each cell of people may be."""
        return total_by(self.person, self.n_rows, self.n_people)

    @cached_property
    def weight(self) -> Floats:
        """The probability of each entry; the entries of a person add up to 1."""
        return self.n_rows / self.totals[self.person]

    @cached_property
    def n_buckets_of(self) -> Counts:
        """The number of buckets that each cell of people may be in."""
        return np.bincount(self.person, minlength=self.n_people)

    def __repr__(self) -> str:
        return f"Locations({self.n_people} different people, {len(self.person)} places)"


def matching_buckets(published: Published, people: People) -> Locations:
    """Find the buckets that people may be in.

    If the bucket of each person is known, it is that one (none if it is below 0). Otherwise it is
    every bucket with a line that admits all values of the person, weighted by the rows of such
    lines. A column that `people` lacks is one that the adversary does not know.
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
    """Add up the lines of each person that are in the same bucket; lines are sorted by bucket."""
    person, bucket = matches.person, bucket_of_line[matches.line]
    is_first = np.ones(len(person), dtype=bool)
    is_first[1:] = (person[1:] != person[:-1]) | (bucket[1:] != bucket[:-1])
    first = np.flatnonzero(is_first)
    rows = np.add.reduceat(counts[matches.line], first) if len(first) else counts[:0]
    return Locations(len(matches.start) - 1, person[first], bucket[first], rows)


def match_lines(lines: Cells, meanings: Mapping[str, _Labels], people: Cells) -> Matches:
    """Find the published lines that may belong to people, comparing the columns that both have.

    A value that is not recoded matches the same number, if both are numbers, or the same text, and
    a missing value matches a missing one. A label admits what its meaning says: the numbers within
    its interval, its members, every value that the release does not name if `has_other`, and the
    missing value if `has_missing`. A label without a meaning stands for itself; a suppressed value
    without a meaning may be any value.
    """
    shared = [column for column in lines.columns if column in people.columns]
    columns = [_Column.of(lines, meanings.get(column, {}), people, column) for column in shared]
    if all(column.is_plain for column in columns):
        return _match_texts(columns, lines.n_cells, people.n_cells)
    return _match_labels(columns, lines.n_cells, people.n_cells)


def labels_of_values(domain: Domain, meanings: _Labels, values: Domain) -> tuple[Codes, Codes]:
    """Return the labels that admit each value: those of v are `label[start[v]:start[v + 1]]`.

    Most values have one label; a value that is too rare to be named may have several.
    """
    labels = domain.labels()
    bounds = np.array([_interval_of(label, meanings) for label in labels], dtype=np.float64)
    within = _pairs_within(bounds.reshape(-1, 2), _numbers_of(values))
    is_open = np.flatnonzero([_is_open(label, meanings) for label in labels])
    every = np.repeat(np.arange(values.size), len(is_open)), np.tile(is_open, values.size)
    named = named_pairs(domain, meanings, values)
    value, label = np.concatenate([named, within, every], axis=1)
    # A label may admit a value by its interval and by name.
    value, label = np.divmod(np.unique(value * len(labels) + label), max(len(labels), 1))
    return np.searchsorted(value, np.arange(values.size + 1)).astype(np.int64), label


def _pairs_within(bounds: Floats, numbers: Floats) -> tuple[Codes, Codes]:
    """Return the pairs of a number and an interval that it is in; NaN is in none."""
    lower, upper = bounds.T
    # Comparisons with NaN are false: labels without an interval and texts never match here.
    ranges = np.flatnonzero(lower < upper)
    order = np.argsort(numbers, kind="stable")[: np.count_nonzero(~np.isnan(numbers))]
    first = np.searchsorted(numbers[order], lower[ranges])
    last = np.searchsorted(numbers[order], upper[ranges])
    interval, place = spread(first, last - first)
    return order[place], ranges[interval]


def spread(start: Codes, length: Counts) -> tuple[Codes, Codes]:
    """Concatenate ranges; return for each element the range that it comes from, and its position.

    Examples
    --------
    >>> source, position = spread(np.array([5, 0, 2]), np.array([2, 0, 1]))
    >>> source.tolist(), position.tolist()
    ([0, 0, 2], [5, 6, 2])
    """
    source = np.repeat(np.arange(len(length)), length)
    before = np.cumsum(length) - length
    return source, np.arange(len(source)) - before[source] + start[source]


def chunks(work: Counts, most: int) -> Iterator[slice]:
    """Split tasks, in their order, into parts of at most `most` work, or of one task.

    Examples
    --------
    >>> [(part.start, part.stop) for part in chunks(np.array([2, 2, 9, 1]), 4)]
    [(0, 2), (2, 3), (3, 4)]
    """
    done = np.cumsum(work)
    first = 0
    while first < len(done):
        before = int(done[first - 1]) if first else 0
        last = max(int(np.searchsorted(done, before + most, side="right")), first + 1)
        yield slice(first, last)
        first = last


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as the people have it and as it is published, and which label admits which value.

    `line` and `person` have the label of each line and the value of each person. The labels that
    admit value v are `label[start[v]:start[v + 1]]`; if `is_plain`, every label stands for itself
    alone, so a value has at most one.
    """

    line: Codes
    person: Codes
    n_labels: int
    start: Codes
    label: Codes
    is_plain: bool

    @classmethod
    def of(cls, lines: Cells, meanings: _Labels, people: Cells, name: str) -> _Column:
        domain = lines.domain(name)
        labels = domain.labels()
        return cls(
            lines.column(name),
            people.column(name),
            len(labels),
            *labels_of_values(domain, meanings, people.domain(name)),
            not any(label in meanings or _is_open(label, meanings) for label in labels),
        )

    @cached_property
    def kinds(self) -> tuple[Words, Codes] | None:
        """The lines that values admit, as bits, for each kind of values; and the kind of each.

        Values that the same labels admit are of one kind. None if there are too many kinds.
        """
        n_values = len(self.start) - 1
        if not 0 < n_values * self.n_labels <= _CHUNK:
            return None
        admitted = np.zeros((n_values, self.n_labels), dtype=bool)
        admitted[np.repeat(np.arange(n_values), np.diff(self.start)), self.label] = True
        different, kind = np.unique(np.packbits(admitted, axis=1), axis=0, return_inverse=True)
        if len(different) * len(self.line) > _CHUNK:
            return None
        labels = np.unpackbits(different, axis=1, count=self.n_labels).view(bool)
        return words_of(labels[:, self.line]), kind.reshape(-1)

    @cached_property
    def lines_by_label(self) -> tuple[Codes, Codes]:
        """The lines with each label l: `line[start[l]:start[l + 1]]`."""
        n_lines = np.bincount(self.line, minlength=self.n_labels)
        return _offsets(n_lines), np.argsort(self.line, kind="stable")

    def lines_of(self, people: slice) -> Words:
        """Return, with one row per person, the lines that admit the person's value, as bits."""
        if self.kinds is not None:
            words, kind = self.kinds
            return words[kind[self.person[people]]]
        values, inverse = np.unique(self.person[people], return_inverse=True)
        row, place = spread(self.start[values], self.start[values + 1] - self.start[values])
        label = self.label[place]
        start, lines = self.lines_by_label
        entry, place = spread(start[label], start[label + 1] - start[label])
        admitted = np.zeros((len(values), len(self.line)), dtype=bool)
        admitted[row[entry], lines[place]] = True
        return words_of(admitted)[inverse]

    def translate(self) -> Codes:
        """Return the label of each person in a plain column; -1 for none."""
        label_of_value = np.full(len(self.start) - 1, -1, dtype=np.int64)
        is_named = np.diff(self.start) > 0
        label_of_value[is_named] = self.label[self.start[:-1][is_named]]
        return label_of_value[self.person]


def _interval_of(label: str | None, meanings: _Labels) -> tuple[float, float]:
    meaning = None if label is None else meanings.get(label)
    lower, upper = (meaning and meaning.interval) or ("", "")
    return _number_of(lower), _number_of(upper)


def _is_open(label: str | None, meanings: _Labels) -> bool:
    # Between lines, `*` matches only itself; but a reader knows that it hides some value.
    return label == SUPPRESSED and label not in meanings


def _numbers_of(values: Domain) -> Floats:
    """Return the number of each value; NaN if it is not a number, or missing."""
    numbers = np.full(values.size, math.nan)
    known = values.numbers
    if known is None:
        known = np.array([_number_of(text) for text in values.texts.tolist()], dtype=np.float64)
    numbers[: len(known)] = known
    return numbers


def _number_of(text: str) -> float:
    """Parse a number, or a date as days since 1970-01-01; NaN if the text is neither."""
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
    # People with a value that no line shows match nothing.
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
    """Intersect the lines that admit each value of a person, as bits; chunk by chunk."""
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


def _admitting_lines(columns: Sequence[_Column], people: slice) -> Words:
    """Return the lines that admit all values of each person, one bit per line."""
    admitting = None
    for column in columns:
        words = column.lines_of(people)
        admitting = words if admitting is None else admitting & words
    assert admitting is not None
    return admitting


def _set_bits(words: Words) -> tuple[Codes, Codes]:
    """Return the row and the position of every bit that is set."""
    n_words = words.shape[1]
    flat = words.reshape(-1)
    # Most words are 0, since few lines match a person.
    filled = np.flatnonzero(flat)
    bits = np.unpackbits(flat[filled].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    place, bit = np.nonzero(bits)
    row, word = np.divmod(filled[place], max(n_words, 1))
    return row, word * _WORD + bit


def _offsets(length: Counts) -> Codes:
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
