"""How much memory a run may take, and how much of it is the engine's."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.core.errors import ParameterError
from shoal.engines.limits import bytes_of

__all__ = ["engine_memory", "free_memory", "memory_beside"]

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_LEAST = 256 * 2**20
"""What DuckDB needs to do anything at all."""
_PERCENT_OF_THE_REST = 85
"""DuckDB holds some more than it is allowed, and so does Python before it holds any array."""


def free_memory() -> int | None:
    """Give the bytes of memory that are free on this machine; None where it does not say.

    A container has what its group is allowed, however much the machine has.
    """
    found = [amount for amount in (_available(), _allowed()) if amount is not None]
    return min(found, default=None)


def engine_memory(memory: str | None) -> int | None:
    """Give the bytes that an engine may hold before it spills.

    Half of what the whole run is to stay within; the other half is for what leaves the engine:
    counts, plans and what attacks find, as arrays.

    Parameters
    ----------
    memory
        What the run is to stay within, such as ``"4GB"``; half of what is free where None.
    """
    if memory is not None:
        try:
            return max(bytes_of(memory) // 2, _LEAST)
        except ParameterError as error:
            raise ParameterError("memory is not an amount of memory.", hint=error.hint) from None
    free = free_memory()
    return None if free is None else max(free // 4, _LEAST)


def memory_beside(limit: int, n_bytes: int) -> int:
    """Give the bytes that an engine may hold beside arrays that are larger than their half.

    Parameters
    ----------
    limit
        What it may usually hold, which is half of what the whole run is to stay within.
    n_bytes
        What the arrays take.

    Examples
    --------
    >>> memory_beside(4 * 10**9, 10**9), memory_beside(4 * 10**9, 5 * 10**9)
    (4000000000, 2550000000)
    """
    rest = _PERCENT_OF_THE_REST * (2 * limit - n_bytes) // 100
    return min(limit, max(rest, _LEAST))


def _available() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _allowed() -> int | None:
    try:
        limit = (_GROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit == "max":
            return None
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        lines = (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        # What was read from files counts as used, but makes room for anybody who asks.
        cached = next((int(x.split()[1]) for x in lines if x.startswith("inactive_file ")), 0)
        return max(int(limit) - used + cached, 0)
    except (OSError, ValueError):
        return None
