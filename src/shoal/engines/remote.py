"""What engines have in common that hold rows elsewhere: in a server, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

__all__ = ["RemoteEngine", "decoding_join"]


def decoding_join(dictionary: str, number: str, expression: str) -> tuple[str, str]:
    """Give the expression of the text for a code, and the join that leads to it."""
    alias = f"v_{dictionary}"
    return f"{alias}.v", f" LEFT JOIN {dictionary} {alias} ON {alias}.{number} = {expression}"


class RemoteEngine(ABC):
    """An engine whose rows have no order but the one that a query asks for."""

    @property
    def keeps_order(self) -> bool:
        """Rows have no order but the one that a query asks for."""
        return False

    @abstractmethod
    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and fetch its result by column."""

    def arrays(self, query: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Run a query whose result may be as long as the table, and fetch columns of numbers."""
        fetched = self.rows(query)
        return {name: fetched.pop(name).astype(kind, copy=False) for name, kind in types.items()}

    def columns(self, name: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Fetch columns of numbers of a staged table."""
        return self.arrays(f"SELECT {', '.join(types)} FROM {name}", types)

    def decode(
        self,
        dictionary: str,
        number: str,
        expression: str,
        n_texts: int,  # noqa: ARG002 - a join is as good for few texts as for many
    ) -> tuple[str, str]:
        """Give the expression of the text for a code, and the join that it takes."""
        return decoding_join(dictionary, number, expression)
