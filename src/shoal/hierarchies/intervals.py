"""Hierarchies of half-open intervals over numbers and dates.

The lowest level has given cuts, one width, or equal shares of the rows. Each further level merges
neighbours as long as more than one interval would remain; above them is the root. An interval is
written ``[20, 30[``: it contains 20 but not 30. A label of any hierarchy that reads like an
interval is published as one.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from itertools import pairwise
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Floats, Integers, Texts
from shoal.core.cells import total_by
from shoal.core.domain import ColumnType, Domain, date_of_day, day_of_date, iso_date
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.plan import Label, Recode
from shoal.core.tree import Level, Tree
from shoal.hierarchies.rules import (
    LARGEST_EXACT_FLOAT,
    Rule,
    as_list,
    check_n_levels,
    check_whole,
    days_of,
    numbers_of,
)

Bound = int | float | dt.date
"""The start or the end of an interval."""

_Numbers = Floats | Texts

_LARGEST_NUMBER = 1_000_000
_LARGEST_INDEX = 2**62
# Enough digits for the exact difference and quotient of any two floats.
_EXACT = Context(prec=1000)
_HALF_OPEN = re.compile(r"[\[\]]([^ ,]+), ([^ ,]+)\[")
_CLOSED = re.compile(r"(-?\d{1,15})-(-?\d{1,15})")
_OPEN_ENDS = ("-inf", "+inf")


@dataclass(frozen=True)
class Merging:
    """The merging of intervals, level by level: `merge` neighbours become one at the next level.

    There are at most `most` levels of intervals; None means no maximum.
    """

    merge: int = 2
    most: int | None = None

    def __post_init__(self) -> None:
        check_whole("merge", self.merge, 2, _LARGEST_NUMBER)
        if self.most is not None:
            check_whole("levels", self.most, 1, None)

    def levels(self, index: Integers, label: Callable[[int, int], str]) -> list[Level]:
        """Merge numbered intervals; `index` has the interval of each value.

        `label(n, span)` returns the label of group n, which is `span` of the lowest intervals wide.

        Examples
        --------
        >>> levels = Merging().levels(np.array([0, 1, 4]), "{} of {}".format)
        >>> [level.labels for level in levels]
        [['0 of 1', '1 of 1', '4 of 1'], ['0 of 2', '2 of 2'], ['0 of 4', '1 of 4']]
        """
        levels: list[Level] = []
        span = 1
        while True:
            groups, inverse = np.unique(index, return_inverse=True)
            levels.append(Level(inverse, [label(group, span) for group in groups.tolist()]))
            wider = index // self.merge
            # The two intervals beside the origin never merge, since -1 // 2 is -1.
            is_last = np.array_equal(wider, index) or len(np.unique(wider)) == 1
            if is_last or len(levels) == self.most:
                return levels
            index, span = wider, span * self.merge

    def to_config(self) -> dict[str, object]:
        """Return the settings that differ from the default."""
        config: dict[str, object] = {} if self.merge == Merging.merge else {"merge": self.merge}
        return config if self.most is None else {**config, "levels": self.most}


@dataclass(frozen=True)
class Cuts(Rule):
    """Intervals between given cuts, which ascend; the finest level is first.

    If `merging` is None, the cuts of every level are given; otherwise there is one level of cuts,
    whose intervals are merged.
    """

    cuts: tuple[tuple[Bound, ...], ...]
    merging: Merging | None

    kind: ClassVar[str] = "intervals"

    @classmethod
    def checked(cls, cuts: object, merge: int, levels: int | None) -> Cuts:
        """Create the rule from the caller's list of cuts, or list of such lists."""
        given = as_list("cuts", cuts)
        if not any(isinstance(item, list | tuple | range | np.ndarray) for item in given):
            return cls((_as_cuts(given),), Merging(merge, levels))
        if levels is not None:
            raise ParameterError(
                "levels must not be given if every level has its own cuts.",
                hint="leave out levels, or give one list of cuts.",
            )
        check_n_levels("cuts", len(given))
        by_level = tuple(_as_cuts(item) for item in given)
        for number, coarser in enumerate(by_level[1:], start=2):
            n_others = len(set(coarser) - set(by_level[number - 2]))
            if n_others:
                raise SchemaError(
                    "The cuts of each level of intervals must be among those of the level below; "
                    f"level {number} has {n_others} that are not.",
                    hint="give the finest level first, then only remove cuts.",
                )
        return cls(by_level, None)

    @property
    def height(self) -> int | None:
        """The level of the root; None if it depends on the values."""
        return len(self.cuts) + 1 if self.merging is None else None

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Return the levels between the leaves and the root over a domain."""
        is_date = isinstance(self.cuts[0][0], dt.date)
        values = days_of(domain) if is_date else numbers_of(domain)
        merging = Merging(most=1) if self.merging is None else self.merging
        return [level for cuts in self.cuts for level in _cut_and_merge(values, cuts, merging)]

    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""
        plain = [
            [cut.isoformat() if isinstance(cut, dt.date) else cut for cut in cuts]
            for cuts in self.cuts
        ]
        if self.merging is None:
            return {"intervals": plain}
        return {"intervals": plain[0], **self.merging.to_config()}


@dataclass(frozen=True)
class Quantiles(Rule):
    """Intervals that hold about the same number of rows or, without counts, of distinct values.

    A cut is the roundest number strictly between two neighbouring values, or the first day of a
    decade, year or month. A rule has no secret from which to draw it, so the cuts disclose where
    the shares of the table lie; the roundest number in a gap bounds the gap, since rounder numbers
    lie outside; and if nothing lies strictly between (neighbouring integers, for example), the cut
    is the upper value itself. If this discloses too much, give cuts instead. There are fewer than
    `number` intervals if there are too few values.

    Examples
    --------
    >>> domain = Domain.of_texts("age", ["17", "18", "64", "99"])
    >>> rule = Quantiles(2, Merging())
    >>> rule.levels(domain, None)[0].labels
    [']-inf, 50[', '[50, +inf[']
    >>> rule.levels(domain, np.array([9, 1, 1, 1]))[0].labels
    [']-inf, 18[', '[18, +inf[']
    """

    number: int
    merging: Merging

    kind: ClassVar[str] = "quantiles"

    def __post_init__(self) -> None:
        check_whole("quantiles", self.number, 2, _LARGEST_NUMBER)

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:
        """Return the levels between the leaves and the root over a domain."""
        is_date = domain.type is ColumnType.DATE
        values = days_of(domain) if is_date else numbers_of(domain)
        weights = np.ones(len(values), dtype=np.int64) if counts is None else counts[: len(values)]
        points, inverse = np.unique(values, return_inverse=True)
        in_point = total_by(inverse, weights, len(points))
        starts = self._starts(np.cumsum(in_point))
        between = _cut_between_dates if is_date else _cut_between_numbers
        if not is_date and domain.type is not ColumnType.REAL and all(points == np.floor(points)):
            between = _cut_between_whole_numbers
        gaps = zip(points[starts - 1].tolist(), points[starts].tolist(), strict=True)
        cuts = tuple(between(below, above) for below, above in gaps)
        return _cut_and_merge(values, cuts, self.merging) if cuts else []

    def _starts(self, cumulated: Integers) -> Integers:
        """Return the points at which intervals after the first begin, nearest to equal shares."""
        if len(cumulated) <= 1:
            return np.empty(0, dtype=np.int64)
        before = cumulated[:-1] * self.number
        targets = cumulated[-1] * np.arange(1, self.number)
        above = np.minimum(np.searchsorted(before, targets), len(before) - 1)
        below = np.maximum(above - 1, 0)
        is_below_nearer = np.abs(before[below] - targets) < np.abs(before[above] - targets)
        return np.unique(np.where(is_below_nearer, below, above)) + 1

    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""
        return {"quantiles": self.number, **self.merging.to_config()}


@dataclass(frozen=True)
class Widths(Rule):
    """Intervals of the same width; at every level, one of them begins at `origin`."""

    width: float
    origin: float
    merging: Merging

    kind: ClassVar[str] = "width"

    def __post_init__(self) -> None:
        for name, value in (("width", self.width), ("origin", self.origin)):
            if not _is_finite_number(value):
                raise ParameterError(
                    f"{name} must be a finite number; got {value!r}.",
                    hint="for dates, use Hierarchy.dates or cuts.",
                )
        if self.width <= 0:
            raise ParameterError(
                f"width must be greater than 0; got {self.width!r}.",
                hint="give the width of an interval, such as 5.",
            )

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Return the levels between the leaves and the root over a domain."""
        values = numbers_of(domain).tolist()
        # Decimals as typed: 0.3 starts an interval of width 0.1, but 0.3 / 0.1 < 3 in floats.
        with localcontext(_EXACT):
            width, origin = Decimal(str(self.width)), Decimal(str(self.origin))
            index = [_floor_divide(Decimal(repr(value)) - origin, width) for value in values]
            if any(abs(number) >= _LARGEST_INDEX for number in index):
                raise SchemaError(
                    f"The width is too small for column {domain.column!r}: there would be more "
                    f"than {_LARGEST_INDEX} intervals.",
                    hint="give a larger width, or use quantiles.",
                )

            def label(group: int, span: int) -> str:
                lower = origin + group * span * width
                return f"[{_plain(lower)}, {_plain(lower + span * width)}["

            return self.merging.levels(np.array(index, dtype=np.int64), label)

    def to_config(self) -> dict[str, object]:
        """Return the rule as it is written in a configuration."""
        origin: dict[str, object] = {"origin": self.origin} if self.origin else {}
        return {"width": self.width, **origin, **self.merging.to_config()}


def round_between(below: int, above: int) -> int:
    """Return the roundest integer above `below` and at most `above`.

    It is the multiple of the largest possible step among 1, 2, 5, 10, 20, 50, ...

    Examples
    --------
    >>> round_between(17, 18), round_between(17, 23), round_between(36, 71), round_between(-3, 8)
    (18, 20, 50, 0)
    """
    power: int = 10 ** len(str(above - below))
    while True:
        for step in (power, power // 2, power // 5):
            bound = above // step * step
            if bound > below:
                return bound
        power //= 10


def _cut_between_whole_numbers(below: float, above: float) -> Bound:
    return round_between(int(below), max(int(above) - 1, int(below) + 1))


def _cut_between_numbers(below: float, above: float) -> Bound:
    with localcontext(_EXACT):
        low, high = Decimal(repr(below)), Decimal(repr(above))
        # With one more decimal than they have, at least one number lies strictly between.
        exponents = [number.normalize().as_tuple().exponent for number in (low, high)]
        decimals = 1 + max(0, *(-exponent for exponent in exponents if isinstance(exponent, int)))
        scaled = round_between(int(low.scaleb(decimals)), int(high.scaleb(decimals)) - 1)
        cut = float(Decimal(scaled).scaleb(-decimals))
    return cut if below < cut < above else above


def _cut_between_dates(below: float, above: float) -> Bound:
    if above - below <= 1:
        return date_of_day(above)
    last = date_of_day(above - 1)
    month = last.replace(day=1)
    year = month.replace(month=1)
    decade = year.replace(year=max(year.year // 10 * 10, 1))
    rounded = (start for start in (decade, year, month) if day_of_date(start) > below)
    return next(rounded, date_of_day(round_between(int(below), int(above) - 1)))


def _cut_and_merge(values: _Numbers, cuts: tuple[Bound, ...], merging: Merging) -> list[Level]:
    ends = [day_of_date(cut) if isinstance(cut, dt.date) else cut for cut in cuts]
    is_exact = values.dtype != object and all(abs(end) <= LARGEST_EXACT_FLOAT for end in ends)
    # Python compares integers with floats exactly; numpy rounds the integers first.
    kind = np.float64 if is_exact else np.object_
    index = np.searchsorted(np.array(ends, dtype=kind), values.astype(kind), side="right")
    # The interval below the first cut is numbered only if it holds a value, so that cuts of
    # ages from 0 on merge to 0 to 30, 30 to 65.
    base = 0 if len(index) and index.min() == 0 else 1

    def label(group: int, span: int) -> str:
        start = base + group * span
        stop = start + span
        lower = "]-inf" if start == 0 else f"[{_plain(cuts[start - 1])}"
        upper = "+inf" if stop > len(cuts) else _plain(cuts[stop - 1])
        return f"{lower}, {upper}["

    return merging.levels(index - base, label)


def _floor_divide(dividend: Decimal, divisor: Decimal) -> int:
    quotient, remainder = divmod(dividend, divisor)
    return int(quotient) - (remainder < 0)


def _plain(bound: Bound | Decimal) -> str:
    if isinstance(bound, dt.date):
        return bound.isoformat()
    if isinstance(bound, Decimal):
        text = f"{bound:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(int(bound)) if bound == int(bound) else repr(bound)


def _is_finite_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _as_cuts(given: object) -> tuple[Bound, ...]:
    cuts = tuple(_as_bound(cut) for cut in as_list("cuts", given))
    n_dates = len([cut for cut in cuts if isinstance(cut, dt.date)])
    if n_dates not in (0, len(cuts)):
        raise ParameterError(
            f"cuts must be all numbers or all dates; got {n_dates} dates among {len(cuts)} cuts.",
            hint="give them like [0, 18, 30, 45, 65].",
        )
    is_ascending = all(a < b for a, b in pairwise(cuts))  # type: ignore[operator]
    if not is_ascending:
        raise ParameterError(
            "cuts must be strictly ascending.",
            hint="sort them and remove repeated ones.",
        )
    return cuts


def _as_bound(given: object) -> Bound:
    bound = iso_date(given) if isinstance(given, str) else given
    if isinstance(bound, dt.date) and not isinstance(bound, dt.datetime):
        return bound
    if _is_finite_number(bound):
        return float(bound) if isinstance(bound, float) else int(bound)  # type: ignore[call-overload]
    raise ParameterError(
        "A cut must be a finite number or a date; got something else.",
        hint="write dates like 2024-05-17.",
    )


# Labels that are intervals -----------------------------------------------------------------


def recode_to_level(domain: Domain, tree: Tree, level: int) -> Recode:
    """Return the recoding of every value to its label at a level; level 0 has the values."""
    nodes, first, index = np.unique(
        tree.ancestors_at(level), return_index=True, return_inverse=True
    )
    # In the order of their first values, so that the missing value comes last if it is alone.
    order = np.argsort(first)
    labels = tuple(label_node(tree, domain, node) for node in nodes[order].tolist())
    return Recode(domain.column, "value", np.argsort(order)[index], labels)


def label_node(tree: Tree, domain: Domain, node: int, members: Codes | None = None) -> Label:
    """Return the label of a node of a hierarchy, as an interval if its text is one.

    `members` are the codes that it stands for; by default all codes under it. An interval names no
    value of the table, and a reader can tell for every number whether it is inside. A list of
    members would have to omit rare values, which could then be behind any label of the column.

    Examples
    --------
    >>> from shoal.hierarchies.hierarchy import Hierarchy
    >>> ages = Domain.of_texts("age", ["17", "23"], type=ColumnType.INTEGER, numbers=[17, 23])
    >>> tree = Hierarchy.intervals(cuts=[0, 20, 40]).over(ages)
    >>> label_node(tree, ages, int(tree.ancestors_at(1)[0]))
    Label(text='[0, 20[', interval=('0', '20'), members=None, has_missing=False)
    """
    under = np.sort(tree.members(node))
    interval = _interval(tree.labels[node] or "", domain, under[under < len(domain.texts)])
    members = under if members is None else members
    present = members[members < len(domain.texts)]
    return Label(
        tree.labels[node],
        interval=interval,
        members=tuple(present.tolist()) if interval is None else None,
        has_missing=len(present) < len(members),
    )


def _interval(text: str, domain: Domain, members: Codes) -> tuple[str, str] | None:
    """Parse the interval in a label; None unless the members are the numbers inside it."""
    ends = _ends(text, domain) if domain.type.is_numeric else None
    if ends is None or domain.numbers is None:
        return None
    try:
        low, high = (_number(end, domain) for end in ends)
    except ValueError:
        return None
    is_within = (domain.numbers >= low) & (domain.numbers < high)
    return ends if np.array_equal(np.flatnonzero(is_within), members) else None


def _ends(text: str, domain: Domain) -> tuple[str, str] | None:
    """Parse both ends of ``[20, 30[``, or of ``20-29`` if all values are integers."""
    half_open = _HALF_OPEN.fullmatch(text)
    if half_open is not None:
        return half_open[1], half_open[2]
    closed = _CLOSED.fullmatch(text) if domain.type is ColumnType.INTEGER else None
    return None if closed is None else (str(int(closed[1])), str(int(closed[2]) + 1))


def _number(end: str, domain: Domain) -> float:
    if domain.type is not ColumnType.DATE or end in _OPEN_ENDS:
        return float(end)
    date = iso_date(end)
    if date is None:
        raise ValueError
    return day_of_date(date)
