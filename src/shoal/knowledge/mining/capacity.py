"""How many rules are kept: as many as fit into a fixed amount of memory.

Where antecedents may name any number of columns, rules grow exponentially with the columns. The
budget does not depend on the machine, so that a request is feasible everywhere or nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from shoal.core.errors import ParameterError

__all__ = ["MEMORY", "bounded", "most_rules", "too_many_rules"]

MEMORY = 2 * 10**9
"""The memory, in bytes, that rules may take while they are mined."""
_BYTES_PER_RULE = 100
_BYTES_PER_COLUMN = 24
"""What a rule takes in arrays, at the peak; measured as 264 bytes with 10 columns, 336 with 14."""
_BYTES_PER_OBJECT = 1_000
"""What a rule takes that is an object of Python, with its antecedent."""

T = TypeVar("T")


def most_rules(n_columns: int) -> int:
    """Return how many rules over some columns fit into the budget.

    Examples
    --------
    >>> most_rules(10), most_rules(64)
    (5882352, 1222493)
    """
    return MEMORY // (_BYTES_PER_RULE + _BYTES_PER_COLUMN * n_columns)


def bounded(found: Iterable[T], hint: str, most: int = MEMORY // _BYTES_PER_OBJECT) -> Iterator[T]:
    """Yield what was found, and refuse it once there is more than fits into the budget.

    Parameters
    ----------
    found
        Rules or statistics, one object each.
    hint
        Which parameters to change.
    most
        How many of them fit, 2,000,000 by default.

    Raises
    ------
    ParameterError
        If there are more.

    Examples
    --------
    >>> list(bounded([1, 2], "raise min_support.", most=2))
    [1, 2]
    """
    for number, one in enumerate(found):
        if number == most:
            raise too_many_rules(most, hint)
        yield one


def too_many_rules(most: int, hint: str) -> ParameterError:
    """Return the error for more rules than fit into the budget."""
    return ParameterError(
        f"There are more than {most} rules, too many to be kept in {MEMORY // 10**9} GB and of use "
        "to nobody.",
        hint=hint,
    )
