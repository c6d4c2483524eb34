"""Long work: the step it is at, the share that is done, and how much of it is allowed.

The workflow calls a `Progress` with the name of each step. Algorithms have no function to call:
they call `tell_share(0.4)`, or loop over `following(items)`, and the function given to `watching`
is called with the share. Without a watcher both cost next to nothing. A loop inside a loop counts
as a part of its turn.

Some questions take exponential time on a badly chosen release, and a stranger may choose it badly
on purpose. Code that answers such a question spends operations from a `Work`; once the limit is
passed it raises `TooMuchWork`, and the caller reports *not checked: too large*. Operations are
counted rather than seconds, so the same release gets the same answer on every machine.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from shoal.core.errors import ParameterError

Progress = Callable[[str], None]
"""Called with the name of each step when it begins."""
Item = TypeVar("Item")

_MOMENT = 0.1
"""The least number of seconds between two calls of a watcher."""


def silent(step: str) -> None:
    """Ignore the name of a step."""


@dataclass(eq=False)
class _Watch:
    """A watcher, and the part of the step in progress: where it starts, and its length."""

    tell: Callable[[float], None]
    start: float = 0.0
    length: float = 1.0
    told_at: float = 0.0

    def share(self, share: float) -> None:
        now = time.monotonic()
        if now - self.told_at >= _MOMENT:
            self.told_at = now
            self.tell(self.start + self.length * min(max(share, 0.0), 1.0))


_watched: ContextVar[_Watch | None] = ContextVar("watched", default=None)


@contextlib.contextmanager
def watching(tell: Callable[[float], None]) -> Iterator[None]:
    """Call `tell` with the share of the current step that is done, from 0 to 1.

    It is called at most ten times per second.
    """
    token = _watched.set(_Watch(tell))
    try:
        yield
    finally:
        _watched.reset(token)


def tell_share(share: float) -> None:
    """Report the share of the current work that is done, from 0 to 1."""
    watch = _watched.get()
    if watch is not None:
        watch.share(share)


def following(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items, and report before each the share of them that is done.

    Examples
    --------
    >>> list(following("abc"))
    ['a', 'b', 'c']
    """
    watch = _watched.get()
    if watch is None or not items:
        yield from items
        return
    start, length = watch.start, watch.length
    try:
        for place, item in enumerate(items):
            watch.start, watch.length = start + length * place / len(items), length / len(items)
            watch.share(0.0)
            yield item
    finally:
        watch.start, watch.length = start, length


DEFAULT_MAX_WORK = 2_000_000_000
"""The default of ``--max-work``: a few seconds to a minute, depending on the operations."""


class TooMuchWork(Exception):  # noqa: N818 - it is an answer, not an error
    """A computation would take more operations than allowed."""


@dataclass
class Work:
    """Counts operations against a limit (default 2e9).

    Examples
    --------
    >>> work = Work(10)
    >>> work.spend(7)
    >>> work.left
    3
    >>> work.spend(4)
    Traceback (most recent call last):
    ...
    shoal.core.progress.TooMuchWork: more than 10 operations
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
        """Count operations before they are done; raise `TooMuchWork` if they exceed the limit.

        They still count as spent, so every later request fails as well.
        """
        self.spent += n_operations
        if self.spent > self.limit:
            raise TooMuchWork(f"more than {self.limit} operations")
