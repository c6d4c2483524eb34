"""Hierarchies given as a rule rather than as rows.

A rule is written before the values are known, for example in a configuration file. Applied to a
domain, it returns the levels between the leaves and the root. Intervals are in a module of their
own.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.core.arrays import Floats, Integers, Texts
from shoal.core.domain import ColumnType, Domain, date_of_day, day_of_date, iso_date
from shoal.core.errors import ParameterError
from shoal.core.tree import MOST_LEVELS, Level, unplaced_values

CUT_OFF = "…"
"""Marks a prefix after which something was cut off."""

_FIRST_DAY, _LAST_DAY = day_of_date(dt.date.min), day_of_date(dt.date.max)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
LARGEST_EXACT_FLOAT = 2**53
"""Up to here a float holds every integer exactly."""


class Rule(ABC):
    """The source of a hierarchy."""

    kind: ClassVar[str]
    """The key that names the rule in a configuration."""

    @property
    def height(self) -> int | None:
        """The level of the root; None if it depends on the values."""
        return None

    @property
    def n_leaves(self) -> int | None:
        """The number of leaves; None if it depends on the values."""
        return None

    @abstractmethod
    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:
        """Return the levels between the leaves and the root over a domain.

        `counts` are the numbers of rows with each code, if they are known.
        """

    @abstractmethod
    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""


@dataclass(frozen=True)
class Flat(Rule):
    """Every value directly under the root."""

    kind: ClassVar[str] = "flat"

    @property
    def height(self) -> int:
        """The level of the root."""
        return 1

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Return no level: there is none between the leaves and the root."""
        return []

    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""
        return {"flat": True}


def _month(date: dt.date) -> str:
    return f"{date.year:04}-{date.month:02}"


def _quarter(date: dt.date) -> str:
    return f"{date.year:04}-Q{(date.month + 2) // 3}"


def _year(date: dt.date) -> str:
    return f"{date.year:04}"


def _decade(date: dt.date) -> str:
    return _years(date.year // 10 * 10, 10)


def _century(date: dt.date) -> str:
    # Starts in a year that ends in 00, since only then does each decade lie within a century.
    return _years(date.year // 100 * 100, 100)


def _years(start: int, number: int) -> str:
    return f"{max(start, 1):04}-{start + number - 1:04}"


DATE_LEVELS: dict[str, Callable[[dt.date], str]] = {
    "day": dt.date.isoformat,
    "month": _month,
    "quarter": _quarter,
    "year": _year,
    "decade": _decade,
    "century": _century,
}
"""The levels of dates, finest first, and the label of a date at each."""


@dataclass(frozen=True)
class Dates(Rule):
    """Dates by month, quarter, year and so on: some of `DATE_LEVELS`, finest first."""

    names: tuple[str, ...]

    kind: ClassVar[str] = "dates"

    def __post_init__(self) -> None:
        known = list(DATE_LEVELS)
        if any(name not in known for name in self.names):
            raise ParameterError(
                f"levels of dates must be some of {', '.join(known)}; got others.",
                hint="weeks are not supported, because they do not lie within months.",
            )
        order = [known.index(name) for name in self.names]
        if order != sorted(set(order)):
            raise ParameterError(
                "levels of dates must go from the finest to the coarsest, each once.",
                hint=f"the order is {', '.join(known)}.",
            )

    @property
    def height(self) -> int:
        """The level of the root."""
        return 1 + len([name for name in self.names if name != "day"])

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Return the levels between the leaves and the root over a domain."""
        dates = [date_of_day(day) for day in days_of(domain).tolist()]
        return _levels_of_labels(
            domain, ([DATE_LEVELS[name](date) for date in dates] for name in self.names)
        )

    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""
        return {"dates": list(self.names)}


@dataclass(frozen=True)
class Prefixes(Rule):
    """Texts by their first characters; each level keeps some `lengths`, longest first."""

    lengths: tuple[int, ...]

    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        check_n_levels("prefix lengths", len(self.lengths))
        for length in self.lengths:
            check_whole("prefix lengths", length, 1, None)
        if list(self.lengths) != sorted(set(self.lengths), reverse=True):
            raise ParameterError(
                "prefix lengths must be strictly descending.",
                hint="give the longest prefix first, such as [5, 3, 1].",
            )

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Return the levels between the leaves and the root over a domain."""
        texts: list[str] = domain.texts.tolist()
        return _levels_of_labels(
            domain, ([_prefix(text, length) for text in texts] for length in self.lengths)
        )

    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""
        return {"prefix": list(self.lengths)}


def _prefix(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    if text.isascii():
        return text[:length] + CUT_OFF
    end = _end_of_characters(text, length)
    return text if end == len(text) else text[:end] + CUT_OFF


def _end_of_characters(text: str, number: int) -> int:
    """Return where the first `number` characters end; a letter's combining marks belong to it."""
    n_seen = 0
    for index, character in enumerate(text):
        if not unicodedata.category(character).startswith("M"):
            n_seen += 1
            if n_seen > number:
                return index
    return len(text)


def _levels_of_labels(domain: Domain, labels_by_level: Iterable[list[str]]) -> list[Level]:
    """Return levels made from the labels of all values; a level that changes nothing is skipped."""
    levels = []
    labels_below: list[str] = domain.texts.tolist()
    for labels in labels_by_level:
        if labels != labels_below:
            group_of: dict[str, int] = {}
            groups = [group_of.setdefault(label, len(group_of)) for label in labels]
            levels.append(Level(np.array(groups, dtype=np.int64), list(group_of)))
        labels_below = labels
    return levels


def as_list(name: str, values: object) -> list[Any]:
    """Return a caller's argument as a list; reject it if it is not a list, or empty."""
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    items = list(values) if is_list else []  # type: ignore[call-overload]
    if not items:
        raise ParameterError(
            f"{name} must be a list with at least one item.",
            hint="write it in square brackets.",
        )
    return items


def check_n_levels(name: str, n_levels: int) -> None:
    """Reject more levels than a hierarchy may have."""
    if n_levels > MOST_LEVELS:
        raise ParameterError(
            f"{name} must define at most {MOST_LEVELS} levels; got {n_levels}.",
            hint="leave some levels out: analysts seldom use more than five.",
        )


def check_whole(name: str, value: object, least: int, most: int | None) -> None:
    """Reject anything but an integer within the bounds."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_whole and least <= value and (most is None or value <= most):  # type: ignore[operator]
        return
    limit = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ParameterError(
        f"{name} must be a whole number {limit}; got {value!r}.",
        hint="write it without quotes and without a decimal point.",
    )


def days_of(domain: Domain) -> Floats:
    """Return every value of a domain as days since 1970-01-01; reject values that are not dates."""
    if domain.type is ColumnType.DATE and domain.numbers is not None:
        days = domain.numbers
    else:
        dates = (iso_date(text) for text in domain.texts.tolist())
        days = np.array([math.nan if date is None else day_of_date(date) for date in dates])
    is_date = (days >= _FIRST_DAY) & (days <= _LAST_DAY)
    if not is_date.all():
        raise unplaced_values(
            domain,
            np.flatnonzero(~is_date),
            f"The hierarchy of column {domain.column!r} needs dates from 0001-01-01 to 9999-12-31; "
            f"{np.count_nonzero(~is_date)} of its {len(days)} distinct values are not.",
        )
    return days


def numbers_of(domain: Domain) -> Floats | Texts:
    """Return every value of a domain as a number; reject values that are not numbers.

    Integers that a float cannot hold exactly are returned as Python integers.
    """
    if domain.numbers is not None and domain.type is not ColumnType.DATE:
        values = domain.numbers
    else:
        values = np.array(list(_parsed(domain.texts.tolist())), dtype=np.float64)
    is_number = np.isfinite(values)
    if not is_number.all():
        raise unplaced_values(
            domain,
            np.flatnonzero(~is_number),
            f"The hierarchy of column {domain.column!r} needs numbers; "
            f"{np.count_nonzero(~is_number)} of its {len(values)} distinct values are not.",
        )
    is_large = len(values) and np.abs(values).max() >= LARGEST_EXACT_FLOAT
    if is_large and domain.type is ColumnType.INTEGER:
        return np.array([int(text) for text in domain.texts.tolist()], dtype=object)
    return values


def _parsed(texts: list[str]) -> Iterator[float]:
    for text in texts:
        yield float(text) if _NUMBER.fullmatch(text) else math.nan
