"""A bound on work that is counted in operations, not in seconds.

Some questions take exponential time on a badly chosen release, and a stranger may choose it badly
on purpose. Code that answers such a question spends from a `Work`; once the bound is passed it
raises `TooMuchWork`, and the caller reports *not checked: too large*. The count depends on the
input alone, so the same release gets the same answer on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.core.errors import ParameterError

__all__ = ["DEFAULT_MAX_WORK", "TooMuchWork", "Work"]

DEFAULT_MAX_WORK = 2_000_000_000
"""The default of ``--max-work``: a few seconds to a minute, depending on what is counted."""


class TooMuchWork(Exception):  # noqa: N818 - it is an answer, not a fault of anybody's
    """A computation would take more operations than it was allowed."""


@dataclass
class Work:
    """Counts operations against a bound.

    Parameters
    ----------
    limit
        How many operations may be spent; default 2e9.

    Examples
    --------
    >>> work = Work(10)
    >>> work.spend(7)
    >>> work.left
    3
    >>> work.spend(4)
    Traceback (most recent call last):
    ...
    shoal.core.work.TooMuchWork: more than 10 operations
    """

    limit: int = DEFAULT_MAX_WORK
    spent: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ParameterError(f"max_work must be at least 0, not {self.limit}.")

    @property
    def left(self) -> int:
        """The number of operations that may still be spent."""
        return self.limit - self.spent

    def spend(self, n_operations: int) -> None:
        """Count operations before they are done.

        Raises
        ------
        TooMuchWork
            If they would exceed the limit. They still count as spent, so every later request
            fails as well.
        """
        self.spent += n_operations
        if self.spent > self.limit:
            raise TooMuchWork(f"more than {self.limit} operations")
