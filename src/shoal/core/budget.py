"""How much work an attack may do, in units that are the same on every machine.

An attack that cannot do everything does the most informative part of it and says what it left out.
A clock would make the answer depend on the machine and on what else it is doing, and a gate must
not. So work is counted in *units*: one unit is what a compiled kernel does in ten nanoseconds,
about ten operations on numbers that are in memory. An attack knows from counts, before it begins,
how many units each piece of its work takes. Seconds are converted by a constant rate, and thus mean
the same work everywhere; on a slower machine they last longer.

The pieces of an attack have a fixed order, and the first ones that fit are done. A larger budget
therefore never attacks less.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from shoal.core.errors import ParameterError

UNITS_PER_SECOND = 100_000_000
"""Units in a CPU second; decision 0015 has the measurement."""
DEFAULT_ATTACK_WORK = 30 * UNITS_PER_SECOND
"""The default of ``[attacks] work``: about half a minute for each attack."""
MOST_WORK = 10**18
"""The most work that can be allowed; nobody can do as much."""

_SECONDS = {"s": 1, "min": 60, "h": 3600}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,2})?)\s*(s|min|h)?\s*")


def read_work(given: object) -> int:
    """Read an amount of work: a number of units, or CPU seconds, minutes or hours.

    Examples
    --------
    >>> read_work(2e9), read_work("2e9"), read_work("30s"), read_work("1.5 min")
    (2000000000, 2000000000, 3000000000, 9000000000)
    """
    units: float | None = None
    if isinstance(given, str) and (found := _AMOUNT.fullmatch(given)):
        rate = 1 if found.group(2) is None else _SECONDS[found.group(2)] * UNITS_PER_SECOND
        units = float(found.group(1)) * rate
    elif isinstance(given, int | float) and not isinstance(given, bool):
        units = float(given)
    # Written so that NaN is refused too.
    if units is None or not 1 <= units <= MOST_WORK:
        raise ParameterError(
            "An amount of work must be a number of units, or of seconds, minutes or hours, and at "
            "least one unit.",
            hint='for example 2e9, "30s" or "5min".',
        )
    return int(units)


def words_of_work(units: int) -> str:
    """Return an amount of work in the CPU seconds or minutes that it stands for.

    Examples
    --------
    >>> words_of_work(6_000_000_000), words_of_work(250_000_000), words_of_work(10)
    ('60 s', '2.5 s', '10 units')
    """
    seconds = units / UNITS_PER_SECOND
    if seconds < 0.1:
        return f"{units} units"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds / 60:.3g} min"


def most_within(units: int, cost: Callable[[int], int], most: int, *, least: int = 1) -> int:
    """Return the largest size from `least` to `most` whose cost is within `units`.

    `cost` must not fall with the size. The result is at least `least`, whatever that costs.

    Examples
    --------
    >>> most_within(100, lambda n: n * n, 50), most_within(3, lambda n: n + 5, 50)
    (10, 1)
    """
    low, high = min(least, most), most
    while low < high:
        middle = math.ceil((low + high) / 2)
        low, high = (middle, high) if cost(middle) <= units else (low, middle - 1)
    return low
