"""What an adversary knows about the rows of buckets before she sees the release.

Many rows have the same prior belief or the same set of forbidden values, so each belief and each
set is kept once and entries refer to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells, count_pairs, total_by
from shoal.core.errors import DataError


@dataclass(frozen=True, eq=False)
class BelievedRows:
    """How many rows of each bucket have each prior belief, sorted by bucket, then prior.

    Each entry states that `count` rows, at least one, of a bucket have a prior.

    Examples
    --------
    >>> priors = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> BelievedRows.of_pairs(np.array([1, 0, 1]), np.array([1, 0, 1]), priors)
    BelievedRows(3 rows in 2 buckets, 2 priors)
    """

    bucket: Codes
    prior: Codes
    count: Counts
    # One row per prior, one column per code of the sensitive domain: the probability of each
    # value. A row may add up to less than 1 if she considers values that the domain lacks.
    priors: Floats

    @classmethod
    def of_pairs(
        cls,
        bucket: Codes,
        prior: Codes,
        priors: Floats,
        count: Counts | None = None,
    ) -> BelievedRows:
        """Count pairs of a bucket and a prior; the counts of equal pairs are added up."""
        n_buckets = int(bucket.max(initial=-1)) + 1
        return cls(*count_pairs(bucket, prior, (n_buckets, len(priors)), count), priors)

    @property
    def n_entries(self) -> int:
        """The number of entries."""
        return len(self.bucket)

    @cached_property
    def n_buckets(self) -> int:
        """The number of buckets, each of which must hold a row."""
        return int(self.bucket.max(initial=-1)) + 1

    @cached_property
    def starts(self) -> Codes:
        """The place of the first entry of each bucket, and the number of entries at the end."""
        return np.searchsorted(self.bucket, np.arange(self.n_buckets + 1)).astype(np.int64)

    @cached_property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        return total_by(self.bucket, self.count, self.n_buckets)

    def confirm_sizes(self, sizes: Counts) -> None:
        """Raise a DataError unless each bucket has as many rows with a prior as it has rows."""
        if not np.array_equal(self.sizes, sizes):
            raise DataError(
                "Every bucket must have as many rows with a prior belief as rows; there are "
                f"{self.sizes.sum()} in {self.n_buckets} buckets, and {sizes.sum()} in "
                f"{len(sizes)}."
            )

    def __repr__(self) -> str:
        return (
            f"BelievedRows({self.count.sum()} rows in {self.n_buckets} buckets, "
            f"{len(self.priors)} priors)"
        )


@dataclass(frozen=True, eq=False)
class ForbiddenSets:
    """The distinct sets of forbidden values, and which of them each row has.

    Examples
    --------
    >>> found = ForbiddenSets.of_marks(np.array([[True, False], [False, False], [True, False]]))
    >>> found.which.tolist(), found.sets.tolist()
    ([1, 0, 1], [[False, False], [True, False]])
    """

    # For each row (or cell, or line) the place of its set in `sets`.
    which: Codes
    # One row per set, all distinct, one column per code of the sensitive domain.
    sets: Flags

    @classmethod
    def of_marks(cls, marks: Flags) -> ForbiddenSets:
        """Find the distinct rows of a matrix with one line per row of the table."""
        n_rows, n_values = marks.shape
        if n_rows == 0 or n_values == 0:
            return cls(np.zeros(n_rows, dtype=np.int64), marks[: min(n_rows, 1)])
        packed = np.ascontiguousarray(np.packbits(marks, axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return cls(which.astype(np.int64, copy=False), marks[first])

    @property
    def n_forbidden(self) -> Counts:
        """The number of values that each set forbids."""
        counts: Counts = self.sets.sum(axis=1, dtype=np.int64)
        return counts

    def __repr__(self) -> str:
        return f"ForbiddenSets({len(self.which)} rows, {len(self.sets)} different sets)"


class Forbidden(Mapping[tuple[str | None, ...], frozenset[str | None]]):
    """The values that each distinct row of a table cannot take.

    A mapping from the texts of a row's quasi-identifiers, in their order, to the texts of the
    values; None is the missing value. `values` holds the texts of the sensitive values, one per
    code.
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
