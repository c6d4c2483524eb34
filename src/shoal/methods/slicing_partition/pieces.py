"""Who is in which bucket, as counts of rows of each cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Cells, Codes, Counts, group
from shoal.core.plan import Segments
from shoal.core.sliced import Layout, Sliced

__all__ = ["TuplePartition"]


@dataclass(frozen=True, eq=False)
class TuplePartition:
    """Which rows of each cell go to which bucket, sorted by cell, then bucket.

    Parameters
    ----------
    cells
        The table.
    n_buckets
        The number of buckets; each has a row.
    cell, bucket, count
        So many rows of this cell are in this bucket, each pair once.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> cells = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0], [0], [1]]))
    >>> partition = TuplePartition.of_pieces(
    ...     cells, np.array([1, 0, 0]), np.array([1, 1, 0]), np.array([1, 1, 1]))
    >>> partition, partition.sizes.tolist()
    (TuplePartition(3 rows of 2 cells in 2 buckets), [1, 2])
    """

    cells: Cells
    n_buckets: int
    cell: Codes
    bucket: Codes
    count: Counts

    @classmethod
    def of_pieces(cls, cells: Cells, cell: Codes, bucket: Codes, count: Counts) -> TuplePartition:
        """Sort pieces, and add up those of one cell in one bucket."""
        n_buckets = int(bucket.max(initial=-1)) + 1
        first, inverse = group([cell, bucket], [cells.n_cells, n_buckets], len(cell))
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, inverse, count)
        return cls(cells, n_buckets, cell[first], bucket[first], total)

    @property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        sizes = np.zeros(self.n_buckets, dtype=np.int64)
        np.add.at(sizes, self.bucket, self.count)
        return sizes

    def segments(self) -> Segments:
        """Give the rows of each cell to its buckets, by rank where it has several.

        Examples
        --------
        >>> from shoal.core.domain import Domain
        >>> cells = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0], [0], [1]]))
        >>> pieces = TuplePartition.of_pieces(
        ...     cells, np.array([1, 0, 0]), np.array([1, 1, 0]), np.array([1, 1, 1]))
        >>> [array.tolist() for array in pieces.segments().expand()]
        [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
        """
        before = np.cumsum(self.count) - self.count
        first = before - (np.cumsum(self.cells.counts) - self.cells.counts)[self.cell]
        zero = np.zeros(len(self.cell), dtype=np.int64)
        return Segments(self.cell, first, first + self.count, self.bucket, zero, zero)

    def sliced(self, layout: Layout) -> Sliced:
        """Give what the release says where columns are sliced so."""
        return Sliced.of_pieces(self.cells, layout, self.cell, self.bucket, self.count)

    def __repr__(self) -> str:
        return (
            f"TuplePartition({self.cells.n_rows} rows of {self.cells.n_cells} cells "
            f"in {self.n_buckets} buckets)"
        )
