"""The sensitive values that rows cannot take, by what an adversary knows.

Many rows share few different sets, so the sets are kept once and rows point to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes

__all__ = ["Forbidden", "ForbiddenSets", "Marks"]

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ForbiddenSets:
    """The different sets of forbidden values, and which of them each row has.

    Parameters
    ----------
    which
        For each row (or cell, or line) the place of its set in `sets`.
    sets
        One row a set, all different, one column a code of the sensitive domain; true where the
        value is forbidden.

    Examples
    --------
    >>> found = ForbiddenSets.of_marks(np.array([[True, False], [False, False], [True, False]]))
    >>> found.which.tolist(), found.sets.tolist()
    ([1, 0, 1], [[False, False], [True, False]])
    """

    which: Codes
    sets: Marks

    @classmethod
    def of_marks(cls, marks: Marks) -> ForbiddenSets:
        """Find the different rows of a matrix with one row a row of the table."""
        n_rows, n_values = marks.shape
        if n_rows == 0 or n_values == 0:
            return cls(np.zeros(n_rows, dtype=np.int64), marks[: min(n_rows, 1)])
        packed = np.ascontiguousarray(np.packbits(marks, axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return cls(which.astype(np.int64, copy=False), marks[first])

    @property
    def n_forbidden(self) -> npt.NDArray[np.int64]:
        """How many values each set forbids."""
        counts: npt.NDArray[np.int64] = self.sets.sum(axis=1, dtype=np.int64)
        return counts

    def __repr__(self) -> str:
        return f"ForbiddenSets({len(self.which)} rows, {len(self.sets)} different sets)"


class Forbidden(Mapping[tuple[str | None, ...], frozenset[str | None]]):
    """The values that each distinct row of a table cannot take.

    A mapping from the texts of a row's quasi-identifiers, in their order, to the texts of the
    values; None is the missing value.

    Parameters
    ----------
    cells
        The distinct rows.
    sets
        What each of them cannot take.
    values
        The texts of the sensitive values, one a code.
    """

    def __init__(self, cells: Cells, sets: ForbiddenSets, values: tuple[str | None, ...]) -> None:
        self.cells = cells
        self.sets = sets
        self._values = values

    @cached_property
    def _texts(self) -> tuple[frozenset[str | None], ...]:
        return tuple(
            frozenset(self._values[code] for code in np.flatnonzero(marks).tolist())
            for marks in self.sets.sets
        )

    @cached_property
    def _places(self) -> dict[tuple[str | None, ...], int]:
        labels = [domain.labels() for domain in self.cells.domains]
        rows = zip(
            *(
                [label[code] for code in codes]
                for label, codes in zip(labels, self.cells.codes.T.tolist(), strict=True)
            ),
            strict=True,
        )
        return {row: place for place, row in enumerate(rows)}

    def __getitem__(self, row: tuple[str | None, ...]) -> frozenset[str | None]:
        return self._texts[int(self.sets.which[self._places[row]])]

    def __iter__(self) -> Iterator[tuple[str | None, ...]]:
        return iter(self._places)

    def __len__(self) -> int:
        return self.cells.n_cells

    def __repr__(self) -> str:
        return f"Forbidden({self.cells.n_cells} different rows, {len(self.sets.sets)} sets)"
