"""Limits of a run: the size of a source before it is refused, and memory before it spills.

A file is not always what its name promises. A header with a million columns, a line of two
gigabytes or a one-megabyte archive that holds a terabyte would fill memory and disk before anything
could be said about them.

Half the memory of a run goes to the engine; the other half is for what leaves the engine as arrays:
counts, plans and the findings of attacks.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from shoal.core.errors import DataError, ParameterError

LOCK_TIMEOUT = 30
"""The seconds to wait for a lock that another session of a database holds, by default."""
_DECIMAL = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_UNITS = _DECIMAL | _BINARY
_SIZE = re.compile(r"\s*([0-9]{1,15})(?:\.([0-9]{1,9}))?\s*([A-Za-z]{0,3})\s*")
_FREELY_EXPANDED = 64 * 10**6
"""Any file may expand to this: small files compress very well or not at all."""
_BYTES_PER_NAME = 100
_LEAST_HEADER = 2**20
_LEAST_BUFFER = 32 * 10**6
_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_LEAST_MEMORY = 256 * 2**20
"""DuckDB needs this much to do anything at all."""
_PERCENT_OF_THE_REST = 85
"""DuckDB exceeds its limit by a little, and Python takes memory before it holds any array."""


# Amounts -----------------------------------------------------------------------------------


def bytes_of(size: str | int) -> int:
    """Return an amount in bytes: a number, or a text in decimal or binary units.

    Examples
    --------
    >>> bytes_of("64MB"), bytes_of("1.5 GiB"), bytes_of(4096)
    (64000000, 1610612736, 4096)
    """
    if isinstance(size, int) and not isinstance(size, bool):
        amount = size
    else:
        amount = _amount(size) if isinstance(size, str) else 0
    if amount < 1:
        raise ParameterError(
            "An amount of bytes must be a number and a unit, and at least one byte.",
            hint='for example "64MB", "2GB" or "1.5GiB".',
        )
    return amount


def _amount(size: str) -> int:
    found = _SIZE.fullmatch(size)
    unit = None if found is None else _UNITS.get(found.group(3).upper())
    if found is None or unit is None:
        return 0
    decimals = found.group(2) or ""
    n_parts = int(found.group(1) + decimals) * unit
    return n_parts // int(10 ** len(decimals))


def size_of(n_bytes: int) -> str:
    """Return an amount of bytes as `bytes_of` reads it.

    Examples
    --------
    >>> size_of(16_000_000), size_of(1_500), size_of(64 * 10**9)
    ('16MB', '1500B', '64GB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if n_bytes % _UNITS[unit] == 0:
            return f"{n_bytes // _UNITS[unit]}{unit}"
    return f"{n_bytes}B"


# Sources -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """The limits beyond which a source is refused; every limit can be raised.

    Parameters
    ----------
    max_columns
        The largest number of columns; 10,000 by default. The header of a CSV file may have 100
        bytes per column, and at least one mebibyte.
    max_line
        The largest number of bytes in a line of a CSV file; 16 MB by default.
    max_expanded
        The largest number of bytes that a compressed file may expand to; 64 GB by default. Every
        cell of a Parquet file counts as at least one byte: a run of equal values takes no space in
        the file, but it does in memory.
    max_ratio
        The largest ratio of expanded to compressed size, after the first 64 MB; 200 by default.
        Tables with few distinct values reach 50, an archive built to exhaust memory 1000.
    lock_timeout
        The largest number of seconds to wait for a lock on a table of a database; 30 by default.
    """

    max_columns: int = 10_000
    max_line: int = 16 * 10**6
    max_expanded: int = 64 * 10**9
    max_ratio: int = 200
    lock_timeout: int = LOCK_TIMEOUT

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1.")

    @property
    def max_header(self) -> int:
        """The largest number of bytes in the header of a CSV file."""
        return max(_LEAST_HEADER, _BYTES_PER_NAME * self.max_columns)

    @property
    def line_buffer(self) -> int:
        """The number of bytes that DuckDB reads at a time; a whole line must fit."""
        return max(_LEAST_BUFFER, 2 * self.max_line)

    def check_columns(self, source: str, n_columns: int) -> None:
        """Refuse a source with too many columns."""
        if n_columns > self.max_columns:
            raise DataError(
                f"{source} has more than {self.max_columns} columns, the limit.",
                hint=_raising(f"max_columns = {n_columns}"),
            )

    def check_line(self, source: str, n_bytes: int) -> None:
        """Refuse a line that is too long."""
        if n_bytes > self.max_line:
            raise DataError(
                f"{source} has a line of more than {size_of(self.max_line)}, the limit.",
                hint="does it end its lines as text files do? "
                + _raising(f'max_line = "{size_of(4 * self.max_line)}"'),
            )

    def check_expanded(self, source: str, n_bytes: int, n_file_bytes: int) -> None:
        """Refuse a file of `n_file_bytes` that has expanded, or will expand, to `n_bytes`."""
        if n_bytes > self.max_expanded:
            raise DataError(
                f"{source} expands to more than {size_of(self.max_expanded)}, the limit.",
                hint=_raising(f'max_expanded = "{size_of(4 * self.max_expanded)}"'),
            )
        if n_bytes > max(_FREELY_EXPANDED, self.max_ratio * n_file_bytes):
            raise DataError(
                f"{source} expands to more than {self.max_ratio} times its size, the limit.",
                hint="if you trust it, unpack it first, or "
                + _raising(f"max_ratio = {5 * self.max_ratio}"),
            )


DEFAULT_LIMITS = Limits()


def _raising(setting: str) -> str:
    in_python = "limits=shoal.config.Limits(...)"
    return f"raise the limit: {setting} under [engine] (in Python: {in_python})."


# Memory ------------------------------------------------------------------------------------


def free_memory() -> int | None:
    """Return the bytes of free memory; None if the machine does not say.

    In a container this is what its control group allows, however much the machine has.
    """
    found = [amount for amount in (_available(), _allowed()) if amount is not None]
    return min(found, default=None)


def engine_memory(memory: str | None) -> int | None:
    """Return the bytes that an engine may hold before it spills: half the memory of the run.

    A run may take what `memory` says, such as ``"4GB"``, or by default half the free memory.
    """
    if memory is not None:
        try:
            return max(bytes_of(memory) // 2, _LEAST_MEMORY)
        except ParameterError as error:
            raise ParameterError("memory is not an amount of memory.", hint=error.hint) from None
    free = free_memory()
    return None if free is None else max(free // 4, _LEAST_MEMORY)


def memory_beside(limit: int, n_bytes: int) -> int:
    """Return the bytes that an engine may hold beside arrays of `n_bytes`.

    This is `limit`, half the memory of the run, unless the arrays outgrow the other half.

    Examples
    --------
    >>> memory_beside(4 * 10**9, 10**9), memory_beside(4 * 10**9, 5 * 10**9)
    (4000000000, 2550000000)
    """
    rest = _PERCENT_OF_THE_REST * (2 * limit - n_bytes) // 100
    return min(limit, max(rest, _LEAST_MEMORY))


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
        # Cached file content counts as used, but is freed when a process needs the memory.
        cached = next((int(x.split()[1]) for x in lines if x.startswith("inactive_file ")), 0)
        return max(int(limit) - used + cached, 0)
    except (OSError, ValueError):
        return None
