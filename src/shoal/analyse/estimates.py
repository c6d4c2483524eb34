"""What the kit answers: estimates with their standard error, bounds, and tables of them.

All are about the linkings of one release: the standard error is what the unknown linking alone
leaves open. It says nothing of the people the table was drawn from.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Bounds", "ContingencyTable", "Estimate", "Value"]

Value = int | float | str | bool | dt.date | None
"""A value as Python has it; None where it is missing."""


@dataclass(frozen=True)
class Estimate:
    """What a query comes to over all linkings.

    Parameters
    ----------
    value
        The expected value.
    standard_error
        The standard deviation over the linkings; 0 where they all agree.

    Examples
    --------
    >>> Estimate(12.5, 1.2)
    Estimate(12.5, standard error 1.2)
    """

    value: float
    standard_error: float

    def to_dict(self) -> dict[str, float]:
        """Give the estimate as plain numbers."""
        return {"value": self.value, "standard_error": self.standard_error}

    def __repr__(self) -> str:
        return f"Estimate({self.value:g}, standard error {self.standard_error:g})"


@dataclass(frozen=True)
class Bounds:
    """Between what the least (or the largest) value of the chosen rows lies.

    Parameters
    ----------
    possible
        The least (largest) value that it has in some linking; None where no linking has such a row.
    guaranteed
        In every linking it is at most (at least) this; None where some linking has no such row.

    Examples
    --------
    >>> Bounds(17, 23).to_dict()
    {'possible': 17, 'guaranteed': 23}
    """

    possible: Value
    guaranteed: Value

    def to_dict(self) -> dict[str, Value]:
        """Give both bounds as plain values."""
        return {"possible": self.possible, "guaranteed": self.guaranteed}


@dataclass(frozen=True, eq=False, repr=False)
class ContingencyTable:
    """How many rows are expected in each combination of some attributes' values.

    Parameters
    ----------
    attributes
        The attributes, one an axis.
    values
        The values along each axis.
    expected
        The expected number of rows.
    standard_error
        Of each expected number.
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    expected: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]

    def to_dict(self) -> dict[str, object]:
        """Give the table as nested lists."""
        return {
            "attributes": list(self.attributes),
            "values": [list(axis) for axis in self.values],
            "expected": self.expected.tolist(),
            "standard_error": self.standard_error.tolist(),
        }

    def __repr__(self) -> str:
        shape = " x ".join(
            f"{name} ({size})"
            for name, size in zip(self.attributes, self.expected.shape, strict=True)
        )
        return f"ContingencyTable({shape}: {self.expected.sum():g} rows)"
