"""What a source may cost before it is refused: a file is not always what its name promises.

A header with a million columns, a line of two gigabytes or an archive of a megabyte that holds a
terabyte would fill memory and disk long before anything is said about them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.core.errors import DataError, ParameterError

__all__ = ["Limits", "bytes_of", "size_of"]

_DECIMAL = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_UNITS = _DECIMAL | _BINARY
_SIZE = re.compile(r"\s*([0-9]{1,15})(?:\.([0-9]{1,9}))?\s*([A-Za-z]{0,3})\s*")
_FREELY_EXPANDED = 64 * 10**6
"""What may come out of a file however small it is: small files compress very well or not at all."""
_BYTES_PER_NAME = 100
_LEAST_HEADER = 2**20
_LEAST_BUFFER = 32 * 10**6


def bytes_of(size: str | int) -> int:
    """Read an amount of bytes, in the units of `memory`.

    Parameters
    ----------
    size
        A number of bytes, or a text such as ``"64MB"`` (millions) or ``"2GiB"`` (powers of two).

    Raises
    ------
    ParameterError
        Where it is no amount, or none at all.

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
    """Write an amount of bytes as `bytes_of` reads it.

    Examples
    --------
    >>> size_of(16_000_000), size_of(1_500), size_of(64 * 10**9)
    ('16MB', '1500B', '64GB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if n_bytes % _UNITS[unit] == 0:
            return f"{n_bytes // _UNITS[unit]}{unit}"
    return f"{n_bytes}B"


@dataclass(frozen=True)
class Limits:
    """What a source may cost; every limit can be raised.

    Parameters
    ----------
    max_columns
        How many columns it may have. A CSV file's header may have 100 bytes for each of them, and
        a mebibyte at least.
    max_line
        How many bytes a line of a CSV file may have.
    max_expanded
        How many bytes may come out of a compressed file. Of a Parquet file every cell counts as
        one byte at least: a run of equal values takes no room in the file, but in memory.
    max_ratio
        How many bytes may come out of each byte of it, after the first 64 MB. Tables of few
        distinct values reach 50; an archive that is made to burst has 1000.
    """

    max_columns: int = 10_000
    max_line: int = 16 * 10**6
    max_expanded: int = 64 * 10**9
    max_ratio: int = 200

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1.")

    @property
    def max_header(self) -> int:
        """How many bytes the header of a CSV file may have."""
        return max(_LEAST_HEADER, _BYTES_PER_NAME * self.max_columns)

    @property
    def line_buffer(self) -> int:
        """How many bytes DuckDB reads at a time: it must be able to hold a whole line."""
        return max(_LEAST_BUFFER, 2 * self.max_line)

    def check_columns(self, source: str, n_columns: int) -> None:
        """Refuse a source with too many columns.

        Raises
        ------
        DataError
            Which names the limit and how to raise it.
        """
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
        """Refuse a file out of which too much comes.

        Parameters
        ----------
        source
            What the file is called.
        n_bytes
            How much came out of it so far, or will at least.
        n_file_bytes
            How large the file itself is.
        """
        if n_bytes > self.max_expanded:
            raise DataError(
                f"{source} expands to more than {size_of(self.max_expanded)}, the limit.",
                hint=_raising(f'max_expanded = "{size_of(4 * self.max_expanded)}"'),
            )
        if n_bytes > max(_FREELY_EXPANDED, self.max_ratio * n_file_bytes):
            raise DataError(
                f"{source} expands to more than {self.max_ratio} times its size, the limit.",
                hint="where it is to be trusted, unpack it first, or "
                + _raising(f"max_ratio = {5 * self.max_ratio}"),
            )


def _raising(setting: str) -> str:
    return f"raise the limit: {setting} under [engine] (in Python: limits=shoal.Limits(...))."
