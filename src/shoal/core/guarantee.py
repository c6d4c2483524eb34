"""What every guarantee says of itself: its promise, its limits, and what its checker needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from shoal.core.errors import ParameterError
from shoal.core.exact import as_text

__all__ = ["BANDWIDTH", "NOT_MEMBERSHIP", "Guarantee", "protected_values"]

BANDWIDTH = "0.3"
"""How unlike people may be to count for what is believed of somebody, where nobody says."""

NOT_MEMBERSHIP = "It does not hide who is in the table"
"""What no guarantee about buckets covers."""


def protected_values(protect: Sequence[str | None]) -> tuple[str | None, ...]:
    """Read the values that a guarantee protects; one by itself is a list of one, not letters.

    Examples
    --------
    >>> protected_values("flu"), protected_values(["flu", None])
    (('flu',), ('flu', None))
    """
    values = (protect,) if isinstance(protect, str) else tuple(protect)
    if not all(value is None or isinstance(value, str) for value in values):
        raise ParameterError("protect must list texts, or None for the missing value.")
    return values


@dataclass(frozen=True, kw_only=True)
class Guarantee(ABC):
    """The base of every guarantee."""

    name: ClassVar[str]
    limits: ClassVar[str]
    """What the guarantee does not cover, in a sentence or two."""
    is_about_sensitive: ClassVar[bool] = True
    """Whether it needs a sensitive column."""
    needs_witness: ClassVar[str | None] = None
    """The name of what its checker needs beside the published files, where it needs anything."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """What is promised, in words."""

    @property
    @abstractmethod
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have where the guarantee holds."""

    @property
    def posterior_bound(self) -> Fraction | None:
        """The largest share that one sensitive value can have in a bucket, where it is bounded."""
        return None

    def to_dict(self) -> dict[str, object]:
        """Give the guarantee as the manifest states it."""
        parameters = {one.name: getattr(self, one.name) for one in fields(self)}
        written = {
            name: as_text(value) if isinstance(value, Fraction) else value
            for name, value in parameters.items()
            if value != ()
        }
        return {"name": self.name} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in written.items()
        }
