"""Tables with private cells, as in the experiments of [Aggarwal06]."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.datasets import adult, zipf
from shoal.datasets.dataset import Encoded
from shoal.hiding.cells import PRIVATE, VISIBLE

Codes = npt.NDArray[np.integer]
States = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class MarkedTable:
    """A table with randomly drawn private cells."""

    # A file with Adult, of which ten columns are used; None for independent Zipf columns of ten
    # values with factor 2.
    adult: str | None
    n_rows: int  # The rows of a Zipf table.
    n_private: int

    def to_dict(self) -> dict[str, object]:
        """Return the table as in a request to a worker."""
        return asdict(self)

    def codes(self) -> Codes:
        """Return the values of all cells as numbers."""
        dataset = zipf(rows=self.n_rows) if self.adult is None else adult(self.adult, "adversarial")
        columns = [
            column.codes
            if isinstance(column, Encoded)
            else np.unique(column, return_inverse=True)[1]
            for column in dataset.columns.values()
        ]
        return np.column_stack(columns)

    def state(self, codes: Codes, seed: int) -> States:
        """Draw the private cells."""
        state = np.full(codes.shape, VISIBLE, dtype=np.uint8)
        drawn = np.random.default_rng(seed).choice(codes.size, self.n_private, replace=False)
        state.ravel()[drawn] = PRIVATE
        return state

    def write_items(self, path: Path, seed: int) -> None:
        """Write the visible cells of every distinct row as a set of items, for the peers."""
        codes = self.codes()
        shown = np.where(self.state(codes, seed) == VISIBLE, codes, -1)
        first = np.append(0, np.cumsum(codes.max(axis=0) + 1))
        names = [
            f"{column}={value}"
            for column in range(codes.shape[1])
            for value in range(first[column + 1] - first[column])
        ]
        distinct, counts = np.unique(shown, axis=0, return_counts=True)
        rows = [(row + first[:-1])[row >= 0].tolist() for row in distinct]
        told = {"items": names, "rows": rows, "counts": counts.tolist()}
        path.write_text(json.dumps(told), encoding="utf-8")
