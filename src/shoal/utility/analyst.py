"""Queries, tables and samples from a bucketized or sliced release.

Every answer is an expectation over all possible linkings of the release's columns, each equally
likely, with the standard error that the unknown linking leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from shoal.core.errors import ParameterError
from shoal.core.release import Published
from shoal.core.table import Rows
from shoal.utility.answers import Answers
from shoal.utility.conditions import Where, named_in
from shoal.utility.estimates import Bounds, ContingencyTable, Estimate
from shoal.utility.linked import (
    Linked,
    columns_for,
    columns_of,
    confirm_attributes,
    draw_linking,
    is_evenly_shared,
)


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
                f"An analyst asks a release, not a {type(release).__name__}.",
                hint="give what shoal.anonymize or shoal.open_release gave.",
            )
        self._columns = release.columns if isinstance(release, Linked) else columns_of(release)
        self._answers: dict[tuple[int, ...], Answers] = {}
        if is_evenly_shared(self._attributes):
            # Faulty columns are reported here, not by the first query.
            linked = release if isinstance(release, Linked) else Linked.of_columns(self._columns)
            self._answers[()] = Answers(linked)

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
        everything = self._answers.get(())
        return Linked.of_columns(self._columns) if everything is None else everything.linked

    def count(self, where: Where = None) -> Estimate:
        """Count rows; mean and standard error are exact."""
        return self._about((), where).count(where)

    def sum(self, attribute: str, where: Where = None) -> Estimate:
        """Add up a number over rows; missing ones count as 0. Mean and standard error are exact."""
        return self._about([attribute], where).sum(attribute, where)

    def average(self, attribute: str, where: Where = None) -> Estimate:
        """Average a number over the rows that have it.

        The value is the expected sum over the expected number of rows. If all linkings choose
        equally many rows it is the exact mean over linkings, and so is the standard error;
        otherwise that is the delta method's. NaN if no linking chooses a row.
        """
        return self._about([attribute], where).average(attribute, where)

    def least(self, attribute: str, where: Where = None) -> Bounds:
        """Bound the least value of an attribute with an order.

        An expression that joins columns other than by ``and`` gets no guaranteed bound.
        """
        return self._about([attribute], where).least(attribute, where)

    def largest(self, attribute: str, where: Where = None) -> Bounds:
        """Bound the largest value of an attribute with an order, as `least` does."""
        return self._about([attribute], where).largest(attribute, where)

    def table(self, *attributes: str, where: Where = None) -> ContingencyTable:
        """Count the rows of every combination of some attributes' values, in expectation."""
        return self._about(attributes, where).table(*attributes, where=where)

    def sample(self, generator: np.random.Generator) -> Rows:
        """Draw one linking: rows as they might have been, in the order of the buckets."""
        return draw_linking(self._columns, generator)

    def _about(self, attributes: Iterable[str], where: Where) -> Answers:
        """Return the `Answers` over the columns that a query needs."""
        everything = self._answers.get(())
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
        if places not in self._answers:
            linked = Linked.of_columns([self._columns[place] for place in places])
            self._answers[places] = Answers(linked)
        return self._answers[places]
