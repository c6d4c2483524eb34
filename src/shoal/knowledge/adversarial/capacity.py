"""How much is held at most: rules, and rows that rules appear in.

Both grow exponentially with the columns where thresholds are low. What is refused here would be of
no use to anybody, and would take more memory than most machines have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shoal.core.errors import ParameterError

__all__ = ["MOST_MEMBERS", "most_rules", "refuse_more_members", "refuse_more_rules"]

_MOST_RULES = 2**22
_MOST_ITEMS = 2**27
MOST_MEMBERS = 2**29
"""Rows in which antecedents appear, added up over all antecedents."""


def most_rules(n_columns: int) -> int:
    """Give the number of rules that are kept at most; each takes room for every column.

    Examples
    --------
    >>> most_rules(10), most_rules(64)
    (4194304, 2097152)
    """
    return min(_MOST_RULES, _MOST_ITEMS // max(n_columns, 1))


@contextmanager
def refuse_more_rules(n_columns: int, hint: str) -> Iterator[None]:
    """Say what to do where a kernel finds more rules than are kept.

    Parameters
    ----------
    n_columns
        The columns of the table.
    hint
        What to do.

    Raises
    ------
    ParameterError
        In place of the kernel's OverflowError.
    """
    try:
        yield
    except OverflowError:
        raise ParameterError(
            f"There are more than {most_rules(n_columns)} adversarial rules, too many to be kept.",
            hint=hint,
        ) from None


@contextmanager
def refuse_more_members() -> Iterator[None]:
    """Say what to do where rules appear in more rows than can be followed."""
    try:
        yield
    except OverflowError:
        raise ParameterError(
            f"The adversarial rules appear in more than {MOST_MEMBERS} rows, added up over all "
            "rules, too many to be followed.",
            hint="raise gamma or delta, or leave out columns.",
        ) from None
