"""Work on several things at once: threads for kernels that run without Python's lock.

Results come in the order of the items and do not depend on the number of threads, so functions must
not share anything that they change. There are never more threads than cores that the process may
use, or than its share of them if it works beside others, and none inside of each other.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from shoal.core.progress import following

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 2
"""How many results per thread may wait to be taken: they need memory."""
_here = threading.local()
_sharing: list[Callable[[], int]] = []
"""If this process works beside others: returns the number of processes that are at work."""


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    share = core_share()
    return _n_all() if share is None else share


def _n_all() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def core_share() -> int | None:
    """Return the cores for each of the processes at work, at least 1; None if there are no others.

    The share grows as the other processes end.
    """
    return max(1, _n_all() // max(1, _sharing[-1]())) if _sharing else None


def share_cores(n_processes: Callable[[], int]) -> None:
    """Share the cores with other processes from now on.

    `n_processes` returns how many of them are at work, this one included.
    """
    _sharing.append(n_processes)


def each_of(
    function: Callable[[Item], Result], items: Sequence[Item], *, n_threads: int | None = None
) -> Iterator[Result]:
    """Yield the result of a function for each item, in order, and tell the share that is done.

    `n_threads` defaults to the number of cores; inside a thread of this module, there is only one.

    Examples
    --------
    >>> list(each_of(str.upper, ["a", "b", "c"]))
    ['A', 'B', 'C']
    """
    n_used = min(n_cores() if n_threads is None else n_threads, len(items))
    if n_used < 2 or getattr(_here, "is_thread", False):
        yield from (function(item) for item in following(items))
        return
    pool = ThreadPoolExecutor(n_used, initializer=_enter)
    waiting: deque[Future[Result]] = deque()
    try:
        n_begun = 0
        for _ in following(items):
            while n_begun < len(items) and len(waiting) < _AHEAD * n_used:
                waiting.append(pool.submit(function, items[n_begun]))
                n_begun += 1
            yield waiting.popleft().result()
    finally:
        # After an error or an interrupt, nothing new is begun.
        pool.shutdown(wait=True, cancel_futures=True)


def _enter() -> None:
    _here.is_thread = True
