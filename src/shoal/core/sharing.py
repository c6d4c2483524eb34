"""Results that follow from one table alone, worked out once for all releases of it.

Methods that are compared are attacked and measured on the same table. What follows from the table
alone, such as its rules, the true answers to queries and the models trained on it, is worked out
for the first method and kept for the others. Nothing is kept outside of `sharing`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

Result = TypeVar("Result")

_kept: ContextVar[dict[tuple[Hashable, ...], tuple[object, Any]] | None] = ContextVar(
    "_kept", default=None
)


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """Keep what `once` works out until the context ends."""
    before = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(before)


def once(owners: tuple[object, ...], key: Hashable, compute: Callable[[], Result]) -> Result:
    """Return the result of a computation, which is not done again for the same owners and key.

    The result depends on the owners, which are told apart by identity, and on `key`, and on nothing
    else. Nobody may change it.

    Examples
    --------
    >>> table = [3, 4]
    >>> with sharing():
    ...     first, again = (once((table,), "total", lambda: [sum(table)]) for _ in range(2))
    >>> first, first is again
    ([7], True)
    """
    kept = _kept.get()
    if kept is None:
        return compute()
    place = (*map(id, owners), key)
    if place not in kept:
        # The owners are kept as well, so that their identities are not given to other objects.
        kept[place] = owners, compute()
    found: Result = kept[place][1]
    return found
