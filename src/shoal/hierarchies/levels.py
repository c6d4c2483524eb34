"""From declared levels to the levels of a table; levels for columns of many values.

A bound drawn from a table is public, so it must not betray anybody. It is the roundest number, or
the first day of the longest calendar period, among all bounds that part the people almost as well;
and at least k people are between two bounds, and beyond the outermost ones.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np

from shoal.core.arrays import Counts
from shoal.core.domain import ColumnType, Domain, date_of_day
from shoal.core.errors import SchemaError
from shoal.core.levelled import domains_of_levels, published_at_levels
from shoal.core.levels import LEAST_PEOPLE, Level, LevelDeclaration
from shoal.core.release import Published
from shoal.core.schema import Schema
from shoal.core.tree import Tree
from shoal.hierarchies.hierarchy import Hierarchy

MOST_VALUES = 100
"""A sensitive column with more values than that has levels even if none are declared."""
DRAFTED_QUANTILES = 20
"""The number of levels that are drafted for a column of numbers or dates."""
_FINER_STEPS = 3
"""How many finer steps are tried before a bound may be a number that few people have."""
_MOST_CANDIDATES = 50


def levels_of_table(
    schema: Schema,
    domains: Mapping[str, Domain],
    counts_of: Callable[[str], Counts],
    trees: Mapping[str, Tree],
) -> tuple[Level, ...]:
    """Return the levels of the sensitive columns of a table: declared, or drafted.

    `counts_of` returns the number of rows with each code of a column. A column that is also
    quasi-identifying has none, because an adversary may know its values exactly.
    """
    found = []
    for column in schema.sensitive:
        if column in schema.quasi:
            continue
        declared, domain, tree = schema.levels.get(column), domains[column], trees.get(column)
        if declared is None:
            level = drafted_level(domain, counts_of(column), tree)
        else:
            level = _declared_level(declared, domain, counts_of(column), tree)
        found += [] if level is None else [level]
    return tuple(found)


def drafted_level(domain: Domain, counts: Counts, tree: Tree | None) -> Level | None:
    """Return levels for a column of more than a hundred values; None if it needs or allows none.

    These are the lowest nodes of its hierarchy that are at most a hundred, or else intervals of
    numbers or dates. Values without an order and without a hierarchy have no levels.
    """
    if len(domain.texts) <= MOST_VALUES:
        return None
    if tree is not None:
        for height in range(1, tree.height):
            if len(np.unique(tree.ancestors_at(height))) <= MOST_VALUES:
                return Level(domain.column, node_level=height, is_drafted=True)
    if not domain.type.is_numeric:
        return None
    bounds = quantile_bounds(domain, counts, DRAFTED_QUANTILES, LEAST_PEOPLE)
    return Level(domain.column, bounds=bounds, is_drafted=True) if bounds else None


def _declared_level(
    declared: LevelDeclaration, domain: Domain, counts: Counts, tree: Tree | None
) -> Level | None:
    """Return the levels that a declaration means for a column; a SchemaError if it cannot."""
    column = domain.column
    if declared.is_every_value:
        return None
    if declared.node_level is not None:
        _check_hierarchy(column, declared.node_level, tree)
        return Level(column, node_level=declared.node_level, is_drafted=declared.is_drafted)
    if declared.intervals is not None:
        level = Level(column, bounds=declared.intervals, is_drafted=declared.is_drafted)
        if not level.fits(domain.type):
            raise SchemaError(
                f"The levels of column {column!r} are intervals of numbers or of dates, and its "
                f"values are {domain.type}.",
                hint="give numbers for a column of numbers, dates for one of dates; other columns "
                "have levels by a hierarchy: { node_level = 1 }.",
            )
        return level
    assert declared.quantiles is not None
    if not domain.type.is_numeric:
        raise SchemaError(
            f"The levels of column {column!r} are quantiles, and its values are {domain.type}, not "
            "numbers or dates.",
            hint="declare its type, or give it a hierarchy and { node_level = 1 }.",
        )
    bounds = quantile_bounds(domain, counts, declared.quantiles, declared.k)
    if not bounds:
        raise SchemaError(
            f"The levels of column {column!r} need a bound with at least {declared.k} people on "
            "either side, and there is none.",
            hint="give the intervals themselves, or fewer people (k).",
        )
    return Level(column, bounds=bounds)


def _check_hierarchy(column: str, node_level: int, tree: Tree | None) -> None:
    if tree is None:
        raise SchemaError(
            f"The levels of column {column!r} are nodes of its hierarchy, and it has none.",
            hint=f"give it one under [hierarchies], or intervals: [levels] {column} = "
            "{ intervals = [...] }.",
        )
    if node_level >= tree.height:
        raise SchemaError(
            f"node_level of column {column!r} must be below {tree.height}, the level of * in its "
            f"hierarchy; got {node_level}.",
            hint="level 1 has the nodes above the values.",
        )


def attacked_at_levels(
    published: Published, hierarchies: Callable[[str], Hierarchy | None]
) -> Published:
    """Return the counts of a release with its sensitive columns at levels, as attacks see them.

    `hierarchies` returns the published hierarchy of a column. Raises a DataError if the levels of
    the manifest do not fit the published values.
    """
    levels, trees = published.manifest.levels, {}
    for domain in published.sensitive:
        needed = any(one.column == domain.column and one.node_level for one in levels)
        hierarchy = hierarchies(domain.column) if needed else None
        if hierarchy is not None:
            trees[domain.column] = hierarchy.over(domain)
    return published_at_levels(published, domains_of_levels(levels, published.sensitive, trees))


def quantile_bounds(domain: Domain, counts: Counts, number: int, k: int) -> tuple[str, ...]:
    """Return the bounds between `number` intervals of about equally many people, as texts.

    There are fewer if at least `k` people are to be in each. A bound may lie a quarter of an
    interval, or `k` people, off its quantile if it is rounder there. It equals a value that fewer
    than `k` people have only if all numbers as round as that, and those of the next finer steps,
    are such values.

    Examples
    --------
    >>> pay = [900 + 37 * place for place in range(100)]
    >>> domain = Domain.of_texts("pay", [*map(str, pay)], type=ColumnType.INTEGER, numbers=pay)
    >>> quantile_bounds(domain, np.ones(100, dtype=np.int64), 4, 10)
    ('2000', '3000', '4000')
    """
    counts = counts[: len(domain.texts)]
    # The number of people below each value, which is where a bound may part them.
    below = np.cumsum(counts) - counts
    n_people = int(counts.sum())
    slack = max(k, n_people // (4 * number))
    found: list[str] = []
    n_below = 0
    for place in range(1, number):
        first, last = _splits(below, n_people, place * n_people / number, slack, n_below + k, k)
        if first > last:
            continue
        bound = _roundest(domain, counts, first, last, k)
        n_below = int(below[_split_of(domain, bound, first, last)])
        found.append(bound)
    return tuple(found)


def _splits(
    below: Counts, n_people: int, target: float, slack: int, least: int, k: int
) -> tuple[int, int]:
    """Return the first and the last value at which an interval may begin; none if first > last."""
    lowest = int(np.searchsorted(below, least))
    highest = int(np.searchsorted(below, n_people - k, side="right")) - 1
    first = max(int(np.searchsorted(below, target - slack)), lowest)
    last = min(int(np.searchsorted(below, target + slack, side="right")) - 1, highest)
    if first <= last:
        return first, last
    # Many people have one value: the interval begins at the value nearest to the quantile.
    near = [at for at in (first - 1, last + 1) if lowest <= at <= highest]
    best = min(near, key=lambda at: abs(below[at] - target), default=None)
    return (1, 0) if best is None else (best, best)


def _split_of(domain: Domain, bound: str, first: int, last: int) -> int:
    """Return the first value from a bound on, which lies between the values `first` and `last`."""
    places = [_number(domain, code) for code in range(first, last + 1)]
    start = _as_number(bound)
    return next(at for at, value in enumerate(places, start=first) if value >= start)


def _number(domain: Domain, code: int) -> Decimal:
    assert domain.numbers is not None
    if domain.type is ColumnType.DATE:
        return Decimal(int(domain.numbers[code]))
    return Decimal(str(domain.texts[code]))


def _as_number(bound: str) -> Decimal:
    if "-" in bound[1:]:
        return Decimal((dt.date.fromisoformat(bound) - dt.date(1970, 1, 1)).days)
    return Decimal(bound)


def _roundest(domain: Domain, counts: Counts, first: int, last: int, k: int) -> str:
    """Return the roundest bound above the value before `first`, up to the value `last`."""
    low, high = _number(domain, first - 1), _number(domain, last)
    few = {_number(domain, at) for at in range(first, last + 1) if counts[at] < k}
    is_date = domain.type is ColumnType.DATE
    is_whole = domain.type is ColumnType.INTEGER
    steps = _rounds_of_days(low, high) if is_date else _rounds(low, high, is_whole=is_whole)
    coarsest: Decimal | None = None
    n_tried = 0
    for candidates in steps:
        if not candidates:
            continue
        middle = (low + high) / 2
        ordered = sorted(candidates, key=lambda one: (abs(one - middle), one))
        coarsest = ordered[0] if coarsest is None else coarsest
        chosen = next((one for one in ordered if one not in few), None)
        n_tried += 1
        if chosen is not None or n_tried > _FINER_STEPS:
            return _text(coarsest if chosen is None else chosen, is_date=is_date)
    return _text(high if coarsest is None else coarsest, is_date=is_date)


def _text(number: Decimal, *, is_date: bool) -> str:
    if is_date:
        return date_of_day(float(number)).isoformat()
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _rounds(low: Decimal, high: Decimal, *, is_whole: bool) -> Iterator[list[Decimal]]:
    """Yield the multiples of 5, 2 and 1 times each power of ten in ]low, high], coarsest first.

    The last power is 1 for whole numbers, otherwise one digit below the last of both ends.
    """
    digits = min(int(number.as_tuple().exponent) for number in (low, high))
    last = 0 if is_whole else min(digits, 0) - 1
    for power in range(max(high.adjusted(), low.adjusted()) + 1, last - 1, -1):
        for factor in (5, 2, 1):
            step = Decimal(factor).scaleb(power)
            start = (low / step).to_integral_value(rounding="ROUND_FLOOR") + 1
            stop = (high / step).to_integral_value(rounding="ROUND_FLOOR")
            count = min(int(stop - start) + 1, _MOST_CANDIDATES)
            yield [(start + place) * step for place in range(max(count, 0))]


def _rounds_of_days(low: Decimal, high: Decimal) -> Iterator[list[Decimal]]:
    """Yield the first days of decades, years, half years, quarters and months, then all days."""
    first, last = date_of_day(float(low)), date_of_day(float(high))
    months = [
        dt.date(month // 12, month % 12 + 1, 1)
        for month in range(12 * first.year + first.month - 1, 12 * last.year + last.month)
    ]
    inside = [day for day in months if first < day <= last]
    for length in (120, 12, 6, 3, 1):
        starts = [day for day in inside if (12 * day.year + day.month - 1) % length == 0]
        yield _days(starts[:_MOST_CANDIDATES])
    n_days = min(int(high - low), _MOST_CANDIDATES)
    yield [low + 1 + place for place in range(n_days)]


def _days(dates: Sequence[dt.date]) -> list[Decimal]:
    return [Decimal((day - dt.date(1970, 1, 1)).days) for day in dates]
