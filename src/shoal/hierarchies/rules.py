"""Hierarchies given as a rule rather than as rows.

A rule is written down before anyone has seen the values, in a configuration file, say. Applied to a
domain it gives the levels between the leaves and the root. Intervals have a module of their own.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.tree import MOST_LEVELS, Integers, Level, unplaced_values

__all__ = [
    "CUT_OFF",
    "DATE_LEVELS",
    "Dates",
    "Flat",
    "Prefixes",
    "Rule",
    "ValueRule",
    "as_list",
    "check_n_levels",
    "check_whole",
    "date_of_day",
    "day_of_date",
    "days_of",
    "iso_date",
    "numbers_of",
]

CUT_OFF = "…"
"""What a prefix is followed by where something was cut off."""

_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST_DAY = dt.date.min.toordinal() - _EPOCH
_LAST_DAY = dt.date.max.toordinal() - _EPOCH
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LARGEST_EXACT_FLOAT = 2.0**53


class Rule(Protocol):
    """What a hierarchy is made from."""

    @property
    def kind(self) -> str:
        """The key that names the rule in a configuration."""

    @property
    def height(self) -> int | None:
        """The level of the root; None where it depends on the values."""

    @property
    def n_leaves(self) -> int | None:
        """The number of leaves; None where the values decide it."""

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:
        """Give the levels between the leaves and the root over a domain."""

    def to_config(self) -> dict[str, object]:
        """Give the rule as a configuration file has it."""


class ValueRule:
    """A rule whose height and leaves are known only once it is applied."""

    @property
    def height(self) -> int | None:
        """The level of the root; None where it depends on the values."""
        return None

    @property
    def n_leaves(self) -> int | None:
        """The number of leaves; None, for the values decide it."""
        return None


@dataclass(frozen=True)
class Flat(ValueRule):
    """Every value straight under the root.

    Examples
    --------
    >>> Flat().levels(Domain.of_texts("sex", ["F", "M"]), None)
    []
    """

    kind: ClassVar[str] = "flat"

    @property
    def height(self) -> int:
        """The level of the root."""
        return 1

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Give no level: there is none between the leaves and the root."""
        return []

    def to_config(self) -> dict[str, object]:
        """Give the rule as a configuration file has it."""
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
    # From a year that ends in 00, for only so do decades lie within centuries.
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
"""The levels of dates, finest first, and the label that each gives to a date."""


@dataclass(frozen=True)
class Dates(ValueRule):
    """Dates by month, quarter, year and so on.

    Parameters
    ----------
    names
        Some of `DATE_LEVELS`, finest first.

    Examples
    --------
    >>> domain = Domain.of_texts("born", ["1899-12-31", "2024-05-17"])
    >>> [level.labels for level in Dates(("quarter", "decade")).levels(domain, None)]
    [['1899-Q4', '2024-Q2'], ['1890-1899', '2020-2029']]
    """

    names: tuple[str, ...]

    kind: ClassVar[str] = "dates"

    def __post_init__(self) -> None:
        known = list(DATE_LEVELS)
        if any(name not in known for name in self.names):
            raise ParameterError(
                f"levels of dates must be some of {', '.join(known)}; got others.",
                hint="weeks are not among them, for they do not lie within months.",
            )
        order = [known.index(name) for name in self.names]
        if order != sorted(set(order)):
            raise ParameterError(
                "levels of dates must go from the finest to the coarsest, each once; "
                "got another order.",
                hint=f"the order is {', '.join(known)}.",
            )

    @property
    def height(self) -> int:
        """The level of the root."""
        return 1 + len([name for name in self.names if name != "day"])

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Give the levels between the leaves and the root over a domain."""
        dates = [date_of_day(day) for day in days_of(domain).tolist()]
        return _levels_of_labels(
            domain, ([DATE_LEVELS[name](date) for date in dates] for name in self.names)
        )

    def to_config(self) -> dict[str, object]:
        """Give the rule as a configuration file has it."""
        return {"dates": list(self.names)}


@dataclass(frozen=True)
class Prefixes(ValueRule):
    """Texts by their first characters.

    Parameters
    ----------
    lengths
        How many characters each level keeps, longest first.

    Examples
    --------
    >>> domain = Domain.of_texts("postcode", ["10115", "10117", "9"])
    >>> [level.labels for level in Prefixes((5, 3, 1)).levels(domain, None)]
    [['101…', '9'], ['1…', '9']]
    """

    lengths: tuple[int, ...]

    kind: ClassVar[str] = "prefix"

    def __post_init__(self) -> None:
        check_n_levels("prefix lengths", len(self.lengths))
        for length in self.lengths:
            check_whole("prefix lengths", length, 1, None)
        if list(self.lengths) != sorted(set(self.lengths), reverse=True):
            raise ParameterError(
                "prefix lengths must fall from level to level; got another order.",
                hint="give the longest prefix first, such as [5, 3, 1].",
            )

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Give the levels between the leaves and the root over a domain."""
        texts: list[str] = domain.texts.tolist()
        return _levels_of_labels(
            domain, ([_prefix(text, length) for text in texts] for length in self.lengths)
        )

    def to_config(self) -> dict[str, object]:
        """Give the rule as a configuration file has it."""
        return {"prefix": list(self.lengths)}


def _prefix(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    if text.isascii():
        return text[:length] + CUT_OFF
    end = _end_of_characters(text, length)
    return text if end == len(text) else text[:end] + CUT_OFF


def _end_of_characters(text: str, number: int) -> int:
    """Give where the first so many characters end; a letter's combining marks belong to it."""
    n_seen = 0
    for index, character in enumerate(text):
        if not unicodedata.category(character).startswith("M"):
            n_seen += 1
            if n_seen > number:
                return index
    return len(text)


def _levels_of_labels(domain: Domain, labels_by_level: Iterable[list[str]]) -> list[Level]:
    """Make levels from the label of every value; one that repeats the level below is left out."""
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
    """Give what a caller passed as a list, and refuse what is none or empty.

    Examples
    --------
    >>> as_list("cuts", range(0, 30, 10))
    [0, 10, 20]
    """
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    items = list(values) if is_list else []  # type: ignore[call-overload]
    if not items:
        raise ParameterError(
            f"{name} must be a list of at least one item; got none or something else.",
            hint="write it in square brackets.",
        )
    return items


def check_n_levels(name: str, n_levels: int) -> None:
    """Refuse more levels than a hierarchy may have.

    Examples
    --------
    >>> check_n_levels("prefix lengths", 3)
    """
    if n_levels > MOST_LEVELS:
        raise ParameterError(
            f"{name} must state at most {MOST_LEVELS} levels; got {n_levels}.",
            hint="leave levels out: analysts seldom use more than five.",
        )


def check_whole(name: str, value: object, least: int, most: int | None) -> None:
    """Refuse what is not a whole number within its bounds.

    Examples
    --------
    >>> check_whole("merge", 3, 2, None)
    """
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_whole and least <= value and (most is None or value <= most):  # type: ignore[operator]
        return
    limit = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ParameterError(
        f"{name} must be a whole number {limit}; got {value!r}.",
        hint="write it without quotes and without a decimal point.",
    )


def iso_date(text: str) -> dt.date | None:
    """Read a date written like 2024-05-17; None where the text is no such date.

    Examples
    --------
    >>> iso_date("2024-05-17")
    datetime.date(2024, 5, 17)
    """
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def date_of_day(day: float) -> dt.date:
    """Give the date of a number of days since 1970-01-01."""
    return dt.date.fromordinal(int(day) + _EPOCH)


def day_of_date(date: dt.date) -> int:
    """Give the number of days since 1970-01-01."""
    return date.toordinal() - _EPOCH


def days_of(domain: Domain) -> npt.NDArray[np.float64]:
    """Give every value of a domain as days since 1970-01-01, or refuse those that are no dates."""
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
            f"{np.count_nonzero(~is_date)} of its {len(days)} distinct values are none.",
        )
    return days


def numbers_of(domain: Domain) -> npt.NDArray[np.float64] | npt.NDArray[np.object_]:
    """Give every value of a domain as a number, or refuse those that are none.

    Whole numbers that a float cannot hold exactly are given as Python integers.
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
            f"{np.count_nonzero(~is_number)} of its {len(values)} distinct values are none.",
        )
    is_large = len(values) and np.abs(values).max() >= _LARGEST_EXACT_FLOAT
    if is_large and domain.type is ColumnType.INTEGER:
        return np.array([int(text) for text in domain.texts.tolist()], dtype=object)
    return values


def _parsed(texts: list[str]) -> Iterator[float]:
    for text in texts:
        yield float(text) if _NUMBER.fullmatch(text) else math.nan
