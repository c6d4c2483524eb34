"""Rows one by one, as codes: what work that cannot do with counts asks for.

Hiding single cells, and attacking them, goes by rows. Whoever asks for them says how many are too
many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.domain import Domain, Texts

__all__ = ["HIDDEN", "MOST_ROWS", "RowCodes", "Rows"]

RowCodes = npt.NDArray[np.int32]

HIDDEN = -1
"""Stands in the place of a suppressed cell's code."""

MOST_ROWS = 1_000_000
"""The most rows that work row by row is done for."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table or of a release.

    Parameters
    ----------
    domains
        The values of each column.
    codes
        One row a row, one column a column; `HIDDEN` where a cell is suppressed.
    keys
        The key of each row; None in a release, where nobody can tell whose row it is.
    is_typed
        Whether texts were written from typed values; else they are as somebody wrote them.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> Rows((sex,), np.array([[0], [1], [HIDDEN]], dtype=np.int32))
    Rows(3 rows, 1 columns, 1 cells suppressed)
    """

    domains: tuple[Domain, ...]
    codes: RowCodes
    keys: Texts | None = None
    is_typed: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(domain.column for domain in self.domains)

    @property
    def is_hidden(self) -> npt.NDArray[np.bool_]:
        """Which cells are suppressed."""
        hidden: npt.NDArray[np.bool_] = self.codes == HIDDEN
        return hidden

    def __repr__(self) -> str:
        return (
            f"Rows({self.n_rows} rows, {len(self.domains)} columns, "
            f"{np.count_nonzero(self.is_hidden)} cells suppressed)"
        )
