"""Answers about columns that are linked at random within buckets.

Every answer is an expectation over all linkings of the columns that are possible, each as likely as
any other, with the standard error that not knowing the linking leaves.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.analyse.conditions import Box, Reader, Selection, Spread, Where, values_of
from shoal.analyse.estimates import Bounds, ContingencyTable, Estimate
from shoal.analyse.extremes import least_codes
from shoal.analyse.linked import Linked
from shoal.analyse.moments import Factor, moments_of_product, moments_of_tensor
from shoal.analyse.tables import expected_table
from shoal.core.cells import Codes, Counts, group
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError

__all__ = ["Answers"]

Reals = npt.NDArray[np.float64]


class Answers:
    """Answers queries about columns that are linked at random.

    Parameters
    ----------
    linked
        The columns that queries may be about.

    Notes
    -----
    `shoal.analyse.Analyst` says what is asked and answered.
    """

    def __init__(self, linked: Linked) -> None:
        self._linked = linked
        self._reader = Reader(linked)
        self._starts = [
            np.searchsorted(column.bucket, np.arange(linked.n_buckets)) for column in linked.columns
        ]

    @property
    def linked(self) -> Linked:
        """The columns."""
        return self._linked

    def count(self, where: Where = None) -> Estimate:
        """Count rows; mean and standard error are exact."""
        selection = self._reader.read(where)
        if isinstance(selection, Spread):
            return _estimate(*self._moments_of_spread(selection, selection.truth.astype(float)))
        mean, variance = moments_of_product(self._factors(selection), self._linked.sizes)
        return _estimate(float(mean.sum()), float(variance.sum()))

    def sum(self, attribute: str, where: Where = None) -> Estimate:
        """Add up a number over rows; missing ones count as 0. Mean and standard error are exact."""
        numbers, _ = self._numbers(attribute)
        return _estimate(*self._moments_of_sum(attribute, numbers, self._reader.read(where)))

    def average(self, attribute: str, where: Where = None) -> Estimate:
        """Average a number over the rows that have it.

        The value is the expected sum over the expected number of rows. Where all linkings choose
        equally many rows it is the exact mean over linkings, and so is the standard error;
        elsewhere that is the delta method's. NaN where no linking chooses a row.
        """
        numbers, is_there = self._numbers(attribute)
        selection = self._reader.read(where)
        n_rows, _ = self._moments_of_sum(attribute, is_there, selection)
        if n_rows == 0:
            return Estimate(math.nan, math.nan)
        total, _ = self._moments_of_sum(attribute, numbers, selection)
        value = total / n_rows
        # The ratio varies, to first order, as the sum of each row's distance from it does.
        _, variance = self._moments_of_sum(attribute, (numbers - value) * is_there, selection)
        return Estimate(value, math.sqrt(variance) / n_rows)

    def least(self, attribute: str, where: Where = None) -> Bounds:
        """Bound the least value of an attribute with an order.

        An expression that joins columns otherwise than by ``and`` is answered with no guarantee.
        """
        domain = self._ordered(attribute)
        return self._bounds(attribute, domain, self._reader.read(where), is_largest=False)

    def largest(self, attribute: str, where: Where = None) -> Bounds:
        """Bound the largest value of an attribute with an order, as `least` does."""
        domain = self._ordered(attribute)
        return self._bounds(attribute, domain, self._reader.read(where), is_largest=True)

    def table(self, *attributes: str, where: Where = None) -> ContingencyTable:
        """Count the rows of every combination of some attributes' values, in expectation."""
        domains = [self._linked.domain(attribute) for attribute in attributes]
        if not attributes or len(set(attributes)) < len(attributes):
            raise ParameterError("A table needs attributes, each of them once.")
        selection = self._reader.read(where)
        if isinstance(selection, Spread):
            raise ParameterError(
                "The condition of a table must be one for each column of the release.",
                hint="join conditions on attributes of different columns by `and` only.",
            )
        expected, variance = expected_table(self._linked, attributes, selection.marks)
        values = tuple(tuple(values_of(domain)) for domain in domains)
        return ContingencyTable(tuple(attributes), values, expected, np.sqrt(variance))

    # --- moments ------------------------------------------------------------------------------

    def _n_marked(self, at: int, marks: npt.NDArray[np.bool_]) -> Counts:
        """Count the rows of each bucket whose entry of a column is marked."""
        n_marked: Counts = np.add.reduceat(self._linked.columns[at].count * marks, self._starts[at])
        return n_marked

    def _factors(self, selection: Box, without: int | None = None) -> list[Factor]:
        return [
            Factor.of_marks(self._n_marked(at, marks), self._linked.sizes)
            for at, marks in selection.marks.items()
            if at != without
        ]

    def _moments_of_sum(
        self, attribute: str, numbers: Reals, selection: Selection
    ) -> tuple[float, float]:
        """Give mean and variance of the sum of a number for each code of an attribute."""
        at = self._linked.place_of[attribute]
        column = self._linked.columns[at]
        number = numbers[column.code_of(attribute)]
        if isinstance(selection, Spread):
            return self._moments_of_spread_sum(attribute, numbers, selection)
        if at in selection.marks:
            number = number * selection.marks[at]
        own = Factor.of_numbers(number, column.bucket, column.count, self._linked.sizes)
        factors = [own, *self._factors(selection, without=at)]
        mean, variance = moments_of_product(factors, self._linked.sizes)
        return float(mean.sum()), float(variance.sum())

    def _moments_of_spread(
        self, selection: Spread, tensor: npt.NDArray[np.float64]
    ) -> tuple[float, float]:
        columns = [
            (self._linked.columns[at].bucket, self._linked.columns[at].count)
            for at in selection.columns
        ]
        return moments_of_tensor(tensor, selection.groups, columns, self._linked.sizes)

    def _moments_of_spread_sum(
        self, attribute: str, numbers: Reals, selection: Spread
    ) -> tuple[float, float]:
        parted, code = self._parted_by(attribute, selection)
        axis = parted.columns.index(self._linked.place_of[attribute])
        shape = [-1 if other == axis else 1 for other in range(parted.truth.ndim)]
        tensor = parted.truth * numbers[code].reshape(shape)
        return self._moments_of_spread(parted, tensor)

    def _parted_by(self, attribute: str, selection: Spread) -> tuple[Spread, Codes]:
        """Part the groups of an attribute's column by the attribute; give the code of each."""
        at = self._linked.place_of[attribute]
        column = self._linked.columns[at]
        codes = column.code_of(attribute)
        columns, groups, truth = selection.columns, selection.groups, selection.truth
        if at not in columns:
            columns = (*columns, at)
            groups = (*groups, np.zeros(len(codes), dtype=np.int64))
            truth = truth[..., np.newaxis]
        axis = columns.index(at)
        sizes = [truth.shape[axis], self._linked.domain(attribute).size]
        first, inverse = group([groups[axis], codes], sizes, len(codes))
        truth = truth.take(groups[axis][first], axis=axis)
        groups = (*groups[:axis], inverse, *groups[axis + 1 :])
        return Spread(columns, groups, truth), codes[first]

    def _numbers(self, attribute: str) -> tuple[Reals, Reals]:
        """Give for each code its number, 0 where it is missing, and whether it is there."""
        domain = self._linked.domain(attribute)
        is_number = domain.type in (ColumnType.INTEGER, ColumnType.REAL)
        if not is_number or domain.numbers is None:
            raise ParameterError(
                f"The values of {attribute!r} are no numbers, as published, so they have no sum.",
                hint="count rows, or ask for a table.",
            )
        numbers, is_there = np.zeros(domain.size), np.zeros(domain.size)
        numbers[: len(domain.numbers)] = domain.numbers
        is_there[: len(domain.numbers)] = 1
        return numbers, is_there

    # --- bounds -------------------------------------------------------------------------------

    def _ordered(self, attribute: str) -> Domain:
        domain = self._linked.domain(attribute)
        if not domain.type.has_order:
            raise ParameterError(
                f"The values of {attribute!r} have no order, as published.",
                hint="least and largest are of numbers, dates and ordered attributes.",
            )
        return domain

    def _bounds(
        self, attribute: str, domain: Domain, selection: Selection, *, is_largest: bool
    ) -> Bounds:
        at = self._linked.place_of[attribute]
        codes = self._linked.columns[at].code_of(attribute)
        is_there = codes < len(domain.texts)
        if isinstance(selection, Spread):
            selection, _ = self._parted_by(attribute, selection)
        found = least_codes(self._linked, at, -codes if is_largest else codes, is_there, selection)
        values = values_of(domain)
        possible, guaranteed = (None if code is None else values[abs(code)] for code in found)
        return Bounds(possible, guaranteed)


def _estimate(mean: float, variance: float) -> Estimate:
    return Estimate(mean, math.sqrt(variance))
