"""What each column adds to the risk: who would not be at risk if the adversary did not know it.

Without a column she cannot tell apart people who agree in all others. What she believes of each of
them is then the mean of what she believes of all, by the law of total probability. Of every kind of
people the findings tell the value that she believes most, and how much; her belief in another value
is at most that, and at most what is left. So her belief without the column lies between two bounds,
which agree where all of a group are believed to have the same value, or are certain. An attack that
picks somebody's line is exact: without the column the classes of lines that fit add up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Findings
from shoal.core.cells import Cells, Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import exact

__all__ = ["contributions"]

_LINKING = ("linkage",)
"""Attacks whose belief is one over the number of lines that fit."""
_ROUNDING = 1e-9

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


def contributions(found: Findings, quasi: Cells) -> dict[str, tuple[int, int]]:
    """Count the people at risk who would not be, if the adversary did not know a column.

    Parameters
    ----------
    found
        What an attack found.
    quasi
        The quasi-identifiers of the people attacked, one cell an entry of the findings.

    Returns
    -------
    For each column the fewest and the most that can be; they agree where what was found tells it
    exactly. Nothing where nobody is at risk, or where more than a belief in a sensitive value, or
    in a line, decides who is.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> age, sex = Domain.of_texts("age", ["20", "30"]), Domain.of_texts("sex", ["f", "m"])
    >>> quasi = Cells((age, sex), np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 1, 3]))
    >>> found = Findings("linkage", "who is in it", quasi.counts, np.array([-1, -1, -1]),
    ...     np.array([1, 1, 1 / 3]), np.array([True, True, False]), "1/2", {})
    >>> contributions(found, quasi)
    {'age': (1, 1), 'sex': (2, 2)}
    """
    is_linking = found.attack in _LINKING
    if not found.breached.any() or not (is_linking or bool(np.all(found.value >= 0))):
        return {}
    limit = _limit(found)
    if limit is None or not np.array_equal(found.breached, found.posterior > limit):
        return {}
    believed = _linked if is_linking else _inferred
    told = {}
    for column in quasi.columns:
        group = _alike(quasi, column)
        low, high = believed(found, quasi, group)
        told[column] = (_count(found, high[group] <= limit), _count(found, low[group] <= limit))
    return told


def _limit(found: Findings) -> float | None:
    """Give the belief above which somebody is at risk; rounding is not above it."""
    if found.limit is None:
        return None
    try:
        return float(exact("limit", found.limit)) + _ROUNDING
    except ParameterError:
        # Anything short of certainty is allowed.
        return 1 - _ROUNDING


def _alike(quasi: Cells, column: str) -> Codes:
    """Number the groups of entries that agree in all columns but one."""
    others = [name for name in quasi.columns if name != column]
    return quasi.select_with_inverse(others)[1]


def _count(found: Findings, is_safe: Marks) -> int:
    return int(found.counts[found.breached & is_safe].sum())


def _linked(found: Findings, quasi: Cells, group: Codes) -> tuple[Floats, Floats]:
    """Add up the classes that fit: she picks the right line with one over their size."""
    looks, look = quasi.select_with_inverse(quasi.columns)
    first = np.zeros(looks.n_cells, dtype=np.int64)
    first[look] = np.arange(len(look))
    with np.errstate(divide="ignore"):
        size = 1 / found.posterior[first]
    total = np.bincount(group[first], size, int(group.max()) + 1)
    return 1 / total, 1 / total


def _inferred(found: Findings, quasi: Cells, group: Codes) -> tuple[Floats, Floats]:  # noqa: ARG001
    """Bound the largest mean belief in one value over each group."""
    n_groups = int(group.max()) + 1
    people = np.bincount(group, found.counts, n_groups)
    n_values = int(found.value.max()) + 1
    pairs, pair = np.unique(group * n_values + found.value, return_inverse=True)
    owner = pairs // n_values
    believed = np.bincount(pair, found.counts * found.posterior)
    # What she may believe of a value that is not the one she believes most.
    spare = found.counts * np.minimum(found.posterior, 1 - found.posterior)
    others = np.bincount(group, spare, n_groups)[owner] - np.bincount(pair, spare)
    low, high = np.zeros(n_groups), np.zeros(n_groups)
    np.maximum.at(low, owner, believed / people[owner])
    np.maximum.at(high, owner, (believed + np.maximum(others, 0)) / people[owner])
    return low, high
