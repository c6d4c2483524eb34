"""Where the intervals of a continuous column begin and end.

Intervals have equal widths or hold equal shares of the rows, or their width or their cuts are
given. Everything is computed exactly, in decimals, and dates are days since 1970-01-01. Bounds that
follow from the values are as round as possible, so that they reveal little about single values.
"""

from __future__ import annotations

import datetime as dt
import numbers
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property
from typing import ClassVar, Protocol, cast

from shoal.core.arrays import Integers
from shoal.core.domain import ColumnType, Domain, date_of_day, day_of_date, iso_date
from shoal.core.errors import ParameterError, SchemaError, ShoalError
from shoal.hierarchies.intervals import Bound, Cuts, Merging, Quantiles, round_between
from shoal.hierarchies.rules import check_whole, days_of, numbers_of

Interval = tuple[Decimal | None, Decimal | None]
"""Lower bound (inclusive) and upper bound (exclusive); None if it is open."""

OPEN_BELOW, OPEN_ABOVE = "-inf", "+inf"
"""How the ends of open intervals are written."""

_MOST_INTERVALS = 1_000_000
_DAYS_OF_MONTH = Decimal(31)
_FIRST_DAY, _LAST_DAY = day_of_date(dt.date.min), day_of_date(dt.date.max)


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column (integers, reals or dates) as exact numbers.

    `counts` are the rows of each code; None if every value counts once.
    """

    domain: Domain
    counts: Integers | None

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.domain.column

    @property
    def is_date(self) -> bool:
        """Whether the numbers are days."""
        return self.domain.type is ColumnType.DATE

    @property
    def is_whole(self) -> bool:
        """Whether no value lies between two whole numbers."""
        return self.domain.type is not ColumnType.REAL

    @cached_property
    def exact(self) -> list[Decimal]:
        """Every value that is not missing; dates as days since 1970-01-01."""
        found = days_of(self.domain) if self.is_date else numbers_of(self.domain)
        # As written: the float 0.1 is 0.1 here, not the binary fraction next to it.
        return [Decimal(repr(value)) for value in found.tolist()]

    @cached_property
    def least(self) -> Decimal:
        """The least value."""
        return min(self.exact)

    @cached_property
    def largest(self) -> Decimal:
        """The largest value."""
        return max(self.exact)

    def roundest(self, below: Decimal, last: Decimal) -> Decimal:
        """Return the roundest bound that is above `below` and at most `last`."""
        if self.is_date and last >= _FIRST_DAY:
            month = date_of_day(min(int(last), _LAST_DAY)).replace(day=1)
            year = month.replace(month=1)
            decade = year.replace(year=max(year.year // 10 * 10, 1))
            for start in map(day_of_date, (decade, year, month)):
                if start > below:
                    return Decimal(start)
        return _roundest_number(below, last)

    def width_of_one(self) -> Decimal:
        """Return the width of an interval if all values are the same."""
        if self.is_date:
            return _DAYS_OF_MONTH
        return Decimal(1).scaleb(self.least.adjusted()) if self.least else Decimal(1)

    def bound_texts(self, interval: Interval) -> tuple[str, str]:
        """Write the bounds of an interval."""
        low, high = interval
        return (
            OPEN_BELOW if low is None else self._text(low),
            OPEN_ABOVE if high is None else self._text(high),
        )

    def midpoint_text(self, interval: Interval) -> str:
        """Write the middle of a bounded interval."""
        low, high = interval
        assert low is not None
        assert high is not None
        middle = (low + high) / 2
        if not self.is_date:
            return self._text(middle)
        day = int(middle.to_integral_value(ROUND_FLOOR))
        # No date lies beyond the ends of the calendar.
        return date_of_day(min(max(day, _FIRST_DAY), _LAST_DAY)).isoformat()

    def _text(self, bound: Decimal) -> str:
        if not self.is_date:
            # Adding 0 takes the sign off a negative zero.
            return f"{(bound + 0).normalize():f}"
        if _FIRST_DAY <= bound <= _LAST_DAY:
            return date_of_day(int(bound)).isoformat()
        return OPEN_BELOW if bound < _FIRST_DAY else OPEN_ABOVE


def _roundest_number(below: Decimal, last: Decimal) -> Decimal:
    # A multiple of the power of ten that is no longer than the range lies in it for certain.
    power = (last - below).adjusted()
    first, final = (int(end.scaleb(-power).to_integral_value(ROUND_FLOOR)) for end in (below, last))
    return Decimal(round_between(first, final)).scaleb(power)


# --- intervals --------------------------------------------------------------------------------


class Grid(Protocol):
    """Disjoint intervals."""

    def around(self, value: Decimal) -> Interval:
        """Return the interval that a value lies in."""


class Rule(Protocol):
    """Finds the intervals of a column; `key` is its name in a configuration."""

    key: ClassVar[str]

    @classmethod
    def read(cls, column: str, given: object) -> Rule:
        """Read the rule of a column from a configuration."""

    def grid(self, values: Values) -> Grid:
        """Return the intervals; the outermost may be open."""

    def bounded_grid(self, values: Values) -> Grid:
        """Return the intervals, bounded if the rule can bound them."""
        return self.grid(values)

    def to_config(self) -> dict[str, object]:
        """Return the rule as a configuration file has it."""
        (given,) = vars(self).values()
        return {self.key: given}


@dataclass(frozen=True)
class _Steps:
    """Intervals of one width, one of which begins at `start`."""

    start: Decimal
    width: Decimal

    def around(self, value: Decimal) -> Interval:
        rest = (value - self.start) % self.width
        # The remainder of Decimal has the sign of what is divided.
        low = value - rest if rest >= 0 else value - rest - self.width
        return low, low + self.width


@dataclass(frozen=True)
class _Gaps:
    """Intervals between bounds, open at both ends."""

    bounds: tuple[Decimal, ...]

    def around(self, value: Decimal) -> Interval:
        place = bisect_right(self.bounds, value)
        return (
            self.bounds[place - 1] if place > 0 else None,
            self.bounds[place] if place < len(self.bounds) else None,
        )


@dataclass(frozen=True)
class _BoundedGaps:
    """Intervals between bounds; beyond the outermost ones, intervals of one width."""

    gaps: _Gaps
    width: Decimal

    def around(self, value: Decimal) -> Interval:
        first, last = self.gaps.bounds[0], self.gaps.bounds[-1]
        if first <= value < last:
            return self.gaps.around(value)
        return _Steps(first if value < first else last, self.width).around(value)


@dataclass(frozen=True)
class EqualWidths(Rule):
    """A number of intervals of equal width."""

    key = "bins"
    number: int

    @classmethod
    def read(cls, column: str, given: object) -> EqualWidths:
        """Read the number of bins."""
        check_whole(f"bins of column {column!r}", given, 1, _MOST_INTERVALS)
        return cls(int(cast("int", given)))

    def grid(self, values: Values) -> _Steps:
        """Place the intervals so that the first holds the least value and the last the largest.

        The width is such that together they are longer than the spread by half a width or more,
        which leaves a range of at least half a width to choose the roundest start from.
        """
        if not values.is_date and 0 <= values.least * self.number < values.largest:
            # Values near 0 get intervals from 0 on: nobody is -5 years old.
            largest = values.largest
            return _Steps(Decimal(0), self._width(values, largest, largest / self.number))
        spread = values.largest - values.least
        below = 2 * spread / (2 * self.number - 1)
        width = self._width(values, spread, below) if spread else values.width_of_one()
        number, rest = divmod(2 * spread + width, 2 * width)
        number += rest > 0
        below = max(values.largest - number * width, values.least - width)
        last = min(values.least, values.largest - (number - 1) * width)
        return _Steps(values.roundest(below, last), width)

    def _width(self, values: Values, spread: Decimal, below: Decimal) -> Decimal:
        """Return the roundest width above `below` with which the intervals cover no more."""
        last = spread / (self.number - 1) if self.number > 1 else 2 * below
        if values.is_whole:
            below //= 1
            last = max(last // 1, below + 1)
        return _roundest_number(below, last)


@dataclass(frozen=True)
class GivenWidth(Rule):
    """Intervals of a given width."""

    key = "width"
    width: float

    @classmethod
    def read(cls, column: str, given: object) -> GivenWidth:
        """Read the width, a finite number above 0."""
        is_number = isinstance(given, numbers.Integral | float) and not isinstance(given, bool)
        if not is_number or not 0 < cast("float", given) <= sys.float_info.max:
            raise ParameterError(
                f"width of column {column!r} must be a finite number above 0; got something else.",
                hint="give the width of an interval, such as 5; that of dates is in days.",
            )
        return cls(float(given) if isinstance(given, float) else int(cast("int", given)))

    def grid(self, values: Values) -> _Steps:
        """Return intervals one of which begins at 0."""
        width = Decimal(str(self.width))
        if values.is_date and width % 1:
            raise ParameterError(
                f"width of column {values.column!r} must be a whole number of days; "
                f"got {self.width}.",
                hint="the column has dates; a week is 7.",
            )
        return _Steps(Decimal(0), width)


@dataclass(frozen=True)
class EqualShares(Rule):
    """Intervals with about equal numbers of rows."""

    key = "quantiles"
    number: int

    @classmethod
    def read(cls, column: str, given: object) -> EqualShares:
        """Read the number of quantiles, at least 2."""
        check_whole(f"quantiles of column {column!r}", given, 2, _MOST_INTERVALS)
        return cls(int(cast("int", given)))

    def grid(self, values: Values) -> _Gaps:
        """Return the intervals between the quantiles, open at both ends."""
        return _Gaps(self._cuts(values))

    def bounded_grid(self, values: Values) -> Grid:
        """End the outer intervals at round bounds.

        These lie no further beyond the extreme values than the outermost cuts lie within, or than
        half an average interval. Values beyond them lie in intervals of average width.
        """
        cuts = self._cuts(values)
        if not cuts:
            return EqualWidths(1).grid(values)
        least, largest = values.least, values.largest
        half = (largest - least) / self.number / 2
        half = max(half // 1, Decimal(1)) if values.is_whole else half
        low = values.roundest(least - max(cuts[0] - least, half), least)
        high = values.roundest(largest, largest + max(largest - cuts[-1], half))
        return _BoundedGaps(_Gaps((low, *cuts, high)), 2 * half)

    def _cuts(self, values: Values) -> tuple[Decimal, ...]:
        """Return the cuts between the shares, from the labels of the hierarchy of quantiles."""
        levels = Quantiles(self.number, Merging(most=1)).levels(values.domain, values.counts)
        labels = cast("Sequence[str]", levels[0].labels) if levels else ()
        texts = {text for label in labels for text in label[1:-1].split(", ")}
        cuts = sorted(map(_number_of_text, texts - {OPEN_BELOW, OPEN_ABOVE}))
        # A float above 2**53 is written there with all its digits, and may so exceed its value.
        return tuple(cut for cut in cuts if values.least < cut <= values.largest)


@dataclass(frozen=True)
class GivenCuts(Rule):
    """Intervals between given cuts."""

    key = "cuts"
    cuts: tuple[Bound, ...]

    @classmethod
    def read(cls, column: str, given: object) -> GivenCuts:
        """Read one list of numbers or dates."""
        try:
            rule = Cuts.checked(given, Merging.merge, None)
        except ShoalError as error:
            raise ParameterError(
                f"The discretisation of column {column!r}: {error.fact}", hint=error.hint
            ) from None
        if rule.merging is None:
            raise ParameterError(
                f"cuts of column {column!r} must be one list of numbers or dates; got several.",
                hint="give them like [0, 18, 30, 45, 65].",
            )
        return cls(rule.cuts[0])

    def grid(self, values: Values) -> _Gaps:
        """Return the intervals between the cuts, open at both ends."""
        if isinstance(self.cuts[0], dt.date) != values.is_date:
            raise SchemaError(
                f"cuts of column {values.column!r} must be of its type, which is "
                f"{values.domain.type}; got {'numbers' if values.is_date else 'dates'}.",
                hint="give dates like 2024-05-17, or declare the column otherwise.",
            )
        return _Gaps(tuple(map(_number_of_bound, self.cuts)))

    def to_config(self) -> dict[str, object]:
        """Return the rule as a configuration file has it."""
        plain = [cut.isoformat() if isinstance(cut, dt.date) else cut for cut in self.cuts]
        return {self.key: plain}


def _number_of_text(text: str) -> Decimal:
    date = iso_date(text)
    return Decimal(text) if date is None else Decimal(day_of_date(date))


def _number_of_bound(bound: Bound) -> Decimal:
    return Decimal(day_of_date(bound)) if isinstance(bound, dt.date) else Decimal(str(bound))


RULE_BY_KEY: dict[str, type[Rule]] = {
    rule.key: rule for rule in (EqualWidths, GivenWidth, EqualShares, GivenCuts)
}
"""The rules, by the key of a configuration that gives one."""
