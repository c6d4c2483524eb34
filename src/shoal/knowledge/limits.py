"""Limits that every release of a table exceeds, whatever the method.

Within a bucket the beliefs in a value add up to the number of its people who have it. If a value
is more frequent in the table than the limit allows, no grouping of people keeps everybody below
the limit; if a column has fewer values than one over the limit, some value exceeds it in every
bucket. Such a limit says nothing about a release, and the steward has to ask for something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.cells import Buckets
from shoal.core.exact import as_text
from shoal.core.risk_words import number, percent

__all__ = ["Excess", "exact_threshold", "find_excess"]


@dataclass(frozen=True)
class Excess:
    """How far every release of a table exceeds a limit.

    Parameters
    ----------
    n_people
        The least number of people above the limit, in any release of the table.
    reason
        Why the limit means nothing, in words; empty if it means something.
    """

    n_people: int = 0
    reason: str = ""


def exact_threshold(limit: Fraction) -> Fraction:
    """Return the belief above which people count as exposed, as `shoal.knowledge.calibration` does.

    Examples
    --------
    >>> exact_threshold(Fraction(1, 2)), exact_threshold(Fraction(9, 10))
    (Fraction(3, 5), Fraction(19, 20))
    """
    return min(limit * Fraction(6, 5), (1 + limit) / 2)


def find_excess(
    buckets: Buckets,
    aims: Sequence[tuple[int, ...]],
    bound: Fraction,
    *,
    is_belief: bool,
    counted_from: Fraction | None = None,
) -> Excess:
    """Return how many people are above a limit in every release of the same table.

    Parameters
    ----------
    buckets
        The sensitive values of a release; only their totals count.
    aims
        The codes of the values that are attacked; those of one entry count as one value.
    bound
        The largest belief that is allowed.
    is_belief
        Whether the adversary tells people of one bucket apart. One of m values is then believed
        above 1/m by whatever she finds out, so that a limit of exactly 1/m means nothing either.
    counted_from
        The belief above which people are counted, if that is larger than the bound.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> answer = Domain.of_texts("answer", ["no", "yes"])
    >>> held = Buckets.of_pairs(np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1]), answer)
    >>> find_excess(held, [(0,), (1,)], Fraction(1, 2), is_belief=False).n_people
    2
    >>> find_excess(held, [(1,)], Fraction(1, 2), is_belief=False)
    Excess(n_people=0, reason='')
    """
    threshold = bound if counted_from is None else counted_from
    if not aims or not buckets.n_rows:
        return Excess()
    n_values = _n_values_if_all(buckets, aims)
    n_people, share = _least_above(buckets, aims, threshold, n_values)
    limit = as_text(bound)
    if n_values and bound * n_values < 1:
        return Excess(n_people, _few_values(n_values, f"exceeds the limit {limit} in every bucket"))
    if n_people:
        return Excess(n_people, _frequent_value(share, n_people, as_text(threshold)))
    if n_values and is_belief and bound * n_values == 1:
        return Excess(0, _few_values(n_values, f"is always believed at the limit {limit} or above"))
    return Excess()


def _n_values_if_all(buckets: Buckets, aims: Sequence[tuple[int, ...]]) -> int:
    """Count the values of the column; 0 if not each of them is attacked by itself."""
    n_values = int(np.count_nonzero(buckets.totals))
    alone = {values[0] for values in aims if len(values) == 1 and buckets.totals[values[0]]}
    return n_values if len(alone) == n_values else 0


def _least_above(
    buckets: Buckets, aims: Sequence[tuple[int, ...]], bound: Fraction, n_values: int
) -> tuple[int, float]:
    """Return the least number of people above a bound, and the share of the most frequent value."""
    n_rows = buckets.n_rows
    largest = max(int(buckets.totals[list(values)].sum()) for values in aims)
    if bound >= 1:
        return 0, largest / n_rows
    if n_values and bound * n_values < 1:
        return n_rows, largest / n_rows
    # Buckets within the bound hold the value for at most that share of their people, others for
    # all of theirs: largest <= n_above + bound * (n_rows - n_above).
    least = math.ceil((largest - bound * n_rows) / (1 - bound))
    return max(least, 0), largest / n_rows


def _few_values(n_values: int, what: str) -> str:
    return f"the column has {n_values} values, so one of them {what}"


def _frequent_value(share: float, least: int, limit: str) -> str:
    return (
        f"one value makes up {percent(share)} of the table, so every release puts at least "
        f"{number(least)} people above the limit {limit}"
    )
