"""Estimate what publishing a table would take, before it is read.

The constants were measured with `shoal.datasets.census` on two cores: 200,000 and 1,000,000 rows
of 4 to 16 columns, from a CSV file to the sealed release with every attack, in CPU seconds and as
the largest resident set. Both grow with the number of rows and of cells; what that leaves out
(how many values differ, how many buckets a method makes) is worth a factor of two at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from shoal.core.kernels import find_kernels, is_compiled
from shoal.core.method import Method
from shoal.core.registry import snake_case

__all__ = ["Estimate", "estimate"]

_SECONDS_TO_START = 0.5
_BYTES_TO_START = 110_000_000


class Estimate(NamedTuple):
    """About how long it takes, and how much memory."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class _Cost:
    """What a row and a cell of the table cost, and a row where kernels are not compiled."""

    seconds_a_row: float
    seconds_a_cell: float
    bytes_a_row: int
    bytes_a_cell: int
    seconds_a_row_if_plain: float = 0.0


_COSTS = {
    "anatomy": _Cost(3.5e-6, 2.6e-6, 300, 140),
    "mondrian": _Cost(0.0, 2.2e-6, 0, 140, seconds_a_row_if_plain=1.2e-4),
}
# A method that nobody has measured yet is taken to be as slow as all of them.
_UNKNOWN = _Cost(3.5e-6, 2.6e-6, 300, 140, seconds_a_row_if_plain=1.2e-4)


def estimate(n_rows: int, n_columns: int, method: str | Method) -> Estimate:
    """Estimate what publishing a table would take.

    Parameters
    ----------
    n_rows, n_columns
        The size of the table.
    method
        The method, or its name.

    Examples
    --------
    >>> estimate(1_000_000, 9, "anatomy")
    Estimate(seconds=27.4, memory_bytes=1670000000)
    """
    name = method if isinstance(method, str) else snake_case(type(method).__name__)
    cost = _COSTS.get(name, _UNKNOWN)
    n_cells = n_rows * n_columns
    seconds = _SECONDS_TO_START + cost.seconds_a_row * n_rows + cost.seconds_a_cell * n_cells
    if cost.seconds_a_row_if_plain and not all(map(is_compiled, find_kernels())):
        seconds += cost.seconds_a_row_if_plain * n_rows
    memory = _BYTES_TO_START + cost.bytes_a_row * n_rows + cost.bytes_a_cell * n_cells
    return Estimate(round(seconds, 2), memory)
