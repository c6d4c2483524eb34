"""Queries, tables and samples from a bucketized or sliced release.

Every answer is an expectation over all possible linkings of the release's columns, each equally
likely, with the standard error that the unknown linking leaves. The least value of the chosen rows
has bounds instead. The possible one is that of an entry which a row can link with entries that meet
the conditions of the other columns. The guaranteed one follows from counting: in a bucket, at most
as many rows escape the other conditions as there are entries that miss one of them, so of the rows
with the least values, one more than that cannot all escape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import group, total_by
from shoal.core.domain import ColumnType
from shoal.core.errors import ParameterError
from shoal.core.release import Published
from shoal.core.table import Rows
from shoal.utility.conditions import Box, Reader, Selection, Spread, Where, named_in, values_of
from shoal.utility.estimates import (
    Bounds,
    ContingencyTable,
    Estimate,
    Factor,
    expected_table,
    moments_of_product,
    moments_of_tensor,
)
from shoal.utility.linked import (
    Linked,
    LinkedColumn,
    columns_for,
    columns_of,
    confirm_attributes,
    draw_linking,
    is_evenly_shared,
)

_MOST_NUMBERS = 1 << 22
"""The most combinations of buckets and groups that are examined at a time."""


@runtime_checkable
class HasPublished(Protocol):
    """A release, in the engine or opened from its folder."""

    @property
    def published(self) -> Published:
        """The counts that any reader can take from it."""


class Analyst:
    """Answers queries about a release whose columns are linked at random.

    Parameters
    ----------
    release
        A bucketized, generalized or sliced release, or columns that are linked.

    Notes
    -----
    Every method takes `where`: a mapping of attributes to conditions, which rows must all meet, or
    an SQL condition such as ``"age > 60 OR disease = 'flu'"``. By default all rows are chosen. The
    condition on an attribute is

    - a value, as ``{"sex": "F"}``;
    - a list or set of values, as ``{"disease": ["flu", "cold"]}``;
    - a range ``(low, high)``, as ``{"age": (20, 40)}``: low belongs to it and high does not, and
      None leaves it open;
    - None for the missing value.

    If attributes are published as labels, these are their values. If some columns of a sliced
    release share attributes and others do not, a query is answered by the columns that it needs,
    and refused if these still share attributes unevenly.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.slicing_patients())
    >>> columns = [["age", "sex"], ["zipcode", "disease"]]
    >>> release = shoal.anonymize(table, shoal.Slicing(ell=2, columns=columns), seed=1)
    >>> analyst = Analyst(release)
    >>> analyst.count({"age": (20, 60), "disease": "flu"})
    Estimate(2.25, standard error 0.433013)
    >>> analyst.average("age", "disease = 'flu'")
    Estimate(41.3333, standard error 3.38296)
    >>> analyst.least("age", {"disease": "dyspepsia"})
    Bounds(possible=22, guaranteed=22)
    """

    def __init__(self, release: Linked | Published | HasPublished) -> None:
        if isinstance(release, HasPublished):
            release = release.published
        if not isinstance(release, Published | Linked):
            raise ParameterError(
                f"Analyst takes a release, not a {type(release).__name__}.",
                hint="pass what shoal.anonymize or shoal.open_release returned.",
            )
        self._columns = release.columns if isinstance(release, Linked) else columns_of(release)
        self._moments: dict[tuple[int, ...], _Moments] = {}
        if is_evenly_shared(self._attributes):
            # Faulty columns are reported here, not by the first query.
            linked = release if isinstance(release, Linked) else Linked.of_columns(self._columns)
            self._moments[()] = _Moments(linked)

    @cached_property
    def _attributes(self) -> tuple[tuple[str, ...], ...]:
        return tuple(column.attributes for column in self._columns)

    @property
    def linked(self) -> Linked:
        """The release as columns that are linked at random.

        Raises
        ------
        DataError
            If some columns share attributes and others do not.
        """
        everything = self._moments.get(())
        return Linked.of_columns(self._columns) if everything is None else everything.linked

    def count(self, where: Where = None) -> Estimate:
        """Count rows; mean and standard error are exact."""
        return _estimate(*self._about((), where).moments_of_count(where))

    def sum(self, attribute: str, where: Where = None) -> Estimate:
        """Add up a number over rows; missing ones count as 0. Mean and standard error are exact."""
        about = self._about([attribute], where)
        numbers, _ = about.numbers(attribute)
        return _estimate(*about.moments_of_sum(attribute, numbers, about.reader.read(where)))

    def average(self, attribute: str, where: Where = None) -> Estimate:
        """Average a number over the rows that have it.

        The value is the expected sum over the expected number of rows. If all linkings choose
        equally many rows, it is the exact mean over linkings, and the standard error is exact too;
        otherwise the standard error is that of the delta method. NaN if no linking chooses a row.
        """
        about = self._about([attribute], where)
        numbers, is_there = about.numbers(attribute)
        selection = about.reader.read(where)
        n_rows, _ = about.moments_of_sum(attribute, is_there, selection)
        if n_rows == 0:
            return Estimate(math.nan, math.nan)
        total, _ = about.moments_of_sum(attribute, numbers, selection)
        value = total / n_rows
        # The ratio varies, to first order, as the sum of each row's distance from it does.
        _, variance = about.moments_of_sum(attribute, (numbers - value) * is_there, selection)
        return Estimate(value, math.sqrt(variance) / n_rows)

    def least(self, attribute: str, where: Where = None) -> Bounds:
        """Bound the least value of an attribute with an order.

        An expression that joins columns other than by ``and`` gets no guaranteed bound.
        """
        return self._about([attribute], where).bounds(attribute, where, is_largest=False)

    def largest(self, attribute: str, where: Where = None) -> Bounds:
        """Bound the largest value of an attribute with an order, as `least` does."""
        return self._about([attribute], where).bounds(attribute, where, is_largest=True)

    def table(self, *attributes: str, where: Where = None) -> ContingencyTable:
        """Count the rows of every combination of some attributes' values, in expectation."""
        about = self._about(attributes, where)
        domains = [about.linked.domain(attribute) for attribute in attributes]
        if not attributes or len(set(attributes)) < len(attributes):
            raise ParameterError("A table needs attributes, each of them once.")
        selection = about.reader.read(where)
        if isinstance(selection, Spread):
            raise ParameterError(
                "The condition of a table must be one for each column of the release.",
                hint="join conditions on attributes of different columns by `and` only.",
            )
        expected, variance = expected_table(about.linked, attributes, selection.marks)
        values = tuple(tuple(values_of(domain)) for domain in domains)
        return ContingencyTable(tuple(attributes), values, expected, np.sqrt(variance))

    def sample(self, generator: np.random.Generator) -> Rows:
        """Draw one linking: rows as they might have been, in the order of the buckets."""
        return draw_linking(self._columns, generator)

    def _about(self, attributes: Iterable[str], where: Where) -> _Moments:
        """Return the moments of the columns that a query needs."""
        everything = self._moments.get(())
        if everything is not None:
            return everything
        asked = [*attributes, *named_in(where)]
        confirm_attributes(asked, tuple(dict.fromkeys(sum(self._attributes, ()))))
        places = columns_for(self._attributes, asked)
        if not is_evenly_shared([self._attributes[place] for place in places]):
            raise ParameterError(
                f"The query needs {len(places)} columns, of which some share attributes and others "
                "do not.",
                hint="name fewer attributes: those of two columns are always answered.",
            )
        if places not in self._moments:
            linked = Linked.of_columns([self._columns[place] for place in places])
            self._moments[places] = _Moments(linked)
        return self._moments[places]


class _Moments:
    """Means and variances of sums over rows, and bounds, for columns that are linked at random."""

    def __init__(self, linked: Linked) -> None:
        self.linked = linked
        self.reader = Reader(linked)
        self._starts = [
            np.searchsorted(column.bucket, np.arange(linked.n_buckets)) for column in linked.columns
        ]

    def moments_of_count(self, where: Where) -> tuple[float, float]:
        """Return mean and variance of the number of chosen rows."""
        selection = self.reader.read(where)
        if isinstance(selection, Spread):
            return self._moments_of_spread(selection, selection.truth.astype(float))
        mean, variance = moments_of_product(self._factors(selection), self.linked.sizes)
        return float(mean.sum()), float(variance.sum())

    def _n_marked(self, at: int, marks: Flags) -> Counts:
        """Count the rows of each bucket whose entry of a column is marked."""
        n_marked: Counts = np.add.reduceat(self.linked.columns[at].count * marks, self._starts[at])
        return n_marked

    def _factors(self, selection: Box, without: int | None = None) -> list[Factor]:
        return [
            Factor.of_marks(self._n_marked(at, marks), self.linked.sizes)
            for at, marks in selection.marks.items()
            if at != without
        ]

    def moments_of_sum(
        self, attribute: str, numbers: Floats, selection: Selection
    ) -> tuple[float, float]:
        """Return mean and variance of the sum of a number for each code of an attribute."""
        at = self.linked.place_of[attribute]
        column = self.linked.columns[at]
        number = numbers[column.code_of(attribute)]
        if isinstance(selection, Spread):
            return self._moments_of_spread_sum(attribute, numbers, selection)
        if at in selection.marks:
            number = number * selection.marks[at]
        own = Factor.of_numbers(number, column.bucket, column.count, self.linked.sizes)
        factors = [own, *self._factors(selection, without=at)]
        mean, variance = moments_of_product(factors, self.linked.sizes)
        return float(mean.sum()), float(variance.sum())

    def _moments_of_spread(self, selection: Spread, tensor: Floats) -> tuple[float, float]:
        columns = [
            (self.linked.columns[at].bucket, self.linked.columns[at].count)
            for at in selection.columns
        ]
        return moments_of_tensor(tensor, selection.groups, columns, self.linked.sizes)

    def _moments_of_spread_sum(
        self, attribute: str, numbers: Floats, selection: Spread
    ) -> tuple[float, float]:
        parted, code = self._parted_by(attribute, selection)
        axis = parted.columns.index(self.linked.place_of[attribute])
        shape = [-1 if other == axis else 1 for other in range(parted.truth.ndim)]
        tensor = parted.truth * numbers[code].reshape(shape)
        return self._moments_of_spread(parted, tensor)

    def _parted_by(self, attribute: str, selection: Spread) -> tuple[Spread, Codes]:
        """Split the groups of an attribute's column by its values, and return the code of each.

        The sum and the bounds of an attribute then depend on the groups alone.
        """
        at = self.linked.place_of[attribute]
        column = self.linked.columns[at]
        codes = column.code_of(attribute)
        columns, groups, truth = selection.columns, selection.groups, selection.truth
        if at not in columns:
            columns = (*columns, at)
            groups = (*groups, np.zeros(len(codes), dtype=np.int64))
            truth = truth[..., np.newaxis]
        axis = columns.index(at)
        sizes = [truth.shape[axis], self.linked.domain(attribute).size]
        first, inverse = group([groups[axis], codes], sizes, len(codes))
        truth = truth.take(groups[axis][first], axis=axis)
        groups = (*groups[:axis], inverse, *groups[axis + 1 :])
        return Spread(columns, groups, truth), codes[first]

    def numbers(self, attribute: str) -> tuple[Floats, Floats]:
        """Return the number of each code, 0 if it is missing, and whether it is there."""
        domain = self.linked.domain(attribute)
        is_number = domain.type in (ColumnType.INTEGER, ColumnType.REAL)
        if not is_number or domain.numbers is None:
            raise ParameterError(
                f"The values of {attribute!r} are not published as numbers, so they have no sum.",
                hint="count rows, or ask for a table.",
            )
        numbers, is_there = np.zeros(domain.size), np.zeros(domain.size)
        numbers[: len(domain.numbers)] = domain.numbers
        is_there[: len(domain.numbers)] = 1
        return numbers, is_there

    def bounds(self, attribute: str, where: Where, *, is_largest: bool) -> Bounds:
        """Bound the least or the largest value of an attribute with an order."""
        domain = self.linked.domain(attribute)
        if not domain.type.has_order:
            raise ParameterError(
                f"The values of {attribute!r} have no order, as published.",
                hint="least and largest need numbers, dates or ordered values.",
            )
        selection = self.reader.read(where)
        at = self.linked.place_of[attribute]
        codes = self.linked.columns[at].code_of(attribute)
        is_there = codes < len(domain.texts)
        if isinstance(selection, Spread):
            selection, _ = self._parted_by(attribute, selection)
        # The largest value is the least one of the negated codes.
        found = _least_codes(self.linked, at, -codes if is_largest else codes, is_there, selection)
        values = values_of(domain)
        possible, guaranteed = (None if code is None else values[abs(code)] for code in found)
        return Bounds(possible, guaranteed)


def _estimate(mean: float, variance: float) -> Estimate:
    return Estimate(mean, math.sqrt(variance))


def _least_codes(
    linked: Linked, at: int, codes: Codes, is_there: Flags, selection: Selection
) -> tuple[int | None, int | None]:
    """Return the least possible and the guaranteed least code of an attribute.

    `at` is the column of the attribute, `codes` its code in each entry, and `is_there` flags the
    entries with a value. A selection that joins columns has to include this column.
    """
    if isinstance(selection, Spread):
        return _least(codes, is_there & _can_meet(linked, at, selection)), None
    column = linked.columns[at]
    is_met = is_there & selection.marks.get(at, True)
    can_be, n_escaping = _others(linked, at, selection)
    possible = _least(codes, is_met & can_be[column.bucket])
    return possible, _guaranteed(column, codes, is_met, n_escaping)


def _least(codes: Codes, among: Flags) -> int | None:
    return int(codes[among].min()) if among.any() else None


def _others(linked: Linked, at: int, selection: Box) -> tuple[Flags, Counts]:
    """Return whether each bucket can meet all other conditions, and the most rows that miss one.

    Entries that miss different conditions may fall on different rows, so their counts add up.
    """
    can_be = np.ones(linked.n_buckets, dtype=bool)
    n_escaping = np.zeros(linked.n_buckets, dtype=np.int64)
    for other, marks in selection.marks.items():
        if other != at:
            column = linked.columns[other]
            n_met = total_by(column.bucket[marks], column.count[marks], linked.n_buckets)
            can_be &= n_met > 0
            n_escaping += linked.sizes - n_met
    return can_be, n_escaping


def _guaranteed(
    column: LinkedColumn, codes: Codes, is_met: Flags, n_escaping: Counts
) -> int | None:
    """Return the least code such that a chosen row of some bucket has it or a lower one.

    That holds once more rows have such a code than can escape the other conditions.
    """
    entries = np.flatnonzero(is_met)
    order = entries[np.lexsort((codes[entries], column.bucket[entries]))]
    bucket = column.bucket[order]
    n_so_far = np.cumsum(column.count[order])
    before = n_so_far - column.count[order]
    starts = np.searchsorted(bucket, bucket)
    within = n_so_far - before[starts]
    return _least(codes[order], within > n_escaping[bucket])


def _can_meet(linked: Linked, at: int, selection: Spread) -> Flags:
    """Mark the entries of a column that are part of a chosen row in some linking."""
    axis = selection.columns.index(at)
    n_groups = selection.truth.shape
    can_meet = np.zeros(len(linked.columns[at].count), dtype=bool)
    step = max(1, _MOST_NUMBERS // selection.truth.size)
    for start in range(0, linked.n_buckets, step):
        stop = min(start + step, linked.n_buckets)
        chosen = np.broadcast_to(selection.truth, (stop - start, *n_groups))
        for other, place in enumerate(selection.columns):
            bucket, low, high = _within(linked.columns[place], start, stop)
            holds = np.zeros((stop - start, n_groups[other]), dtype=bool)
            holds[bucket, selection.groups[other][low:high]] = True
            shape = [1] * (len(n_groups) + 1)
            shape[0], shape[other + 1] = holds.shape
            chosen = chosen & holds.reshape(shape)
        rest = tuple(other + 1 for other in range(len(n_groups)) if other != axis)
        bucket, low, high = _within(linked.columns[at], start, stop)
        by_group = np.asarray(chosen.any(axis=rest))
        can_meet[low:high] = by_group[bucket, selection.groups[axis][low:high]]
    return can_meet


def _within(column: LinkedColumn, start: int, stop: int) -> tuple[Codes, int, int]:
    """Return the entries of a range of buckets, and their buckets counted from its first."""
    low, high = np.searchsorted(column.bucket, (start, stop)).tolist()
    return column.bucket[low:high] - start, low, high
