"""What engines have in common that hold rows elsewhere: in a server, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    from shoal.engines.duckdb import DuckDB

__all__ = ["RemoteEngine"]


class RemoteEngine(ABC):
    """An engine that hands over what is published to an embedded DuckDB, which writes files."""

    _embedded: DuckDB

    @property
    def publisher(self) -> DuckDB:
        """The DuckDB that lays out and writes what is published."""
        return self._embedded

    @abstractmethod
    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and fetch its result by column."""

    def arrays(self, query: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Run a query whose result may be as long as the table, and fetch columns of numbers."""
        fetched = self.rows(query)
        return {name: fetched.pop(name).astype(kind, copy=False) for name, kind in types.items()}
