"""The rows of each bucket, by what an adversary believes of them before she sees the release.

Many rows have one belief in common, and many buckets hold such rows, so the beliefs are kept once
and entries point to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts, group
from shoal.core.errors import DataError

__all__ = ["BelievedRows"]


@dataclass(frozen=True, eq=False)
class BelievedRows:
    """How many rows of each bucket have each prior belief, sorted by bucket, then prior.

    Parameters
    ----------
    bucket, prior, count
        The entries: so many rows of this bucket, at least one, have this prior.
    priors
        One row a prior, one column a code of the sensitive domain: how likely each value is.
        A row may add up to less than 1, where she thinks of values that the domain lacks.

    Examples
    --------
    >>> priors = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> BelievedRows.of_pairs(np.array([1, 0, 1]), np.array([1, 0, 1]), priors)
    BelievedRows(3 rows in 2 buckets, 2 priors)
    """

    bucket: Codes
    prior: Codes
    count: Counts
    priors: npt.NDArray[np.float64]

    @classmethod
    def of_pairs(
        cls,
        bucket: Codes,
        prior: Codes,
        priors: npt.NDArray[np.float64],
        count: Counts | None = None,
    ) -> BelievedRows:
        """Count pairs of a bucket and a prior; equal pairs are added up."""
        n_buckets = int(bucket.max(initial=-1)) + 1
        first, inverse = group([bucket, prior], [n_buckets, len(priors)], len(bucket))
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, inverse, np.ones(len(bucket), dtype=np.int64) if count is None else count)
        return cls(bucket[first], prior[first], total, priors)

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
        """Where the entries of each bucket begin; one number more than there are buckets."""
        return np.searchsorted(self.bucket, np.arange(self.n_buckets + 1)).astype(np.int64)

    @cached_property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        sizes = np.zeros(self.n_buckets, dtype=np.int64)
        np.add.at(sizes, self.bucket, self.count)
        return sizes

    def confirm_sizes(self, sizes: Counts) -> None:
        """Refuse buckets of other sizes.

        Raises
        ------
        DataError
            Where a bucket has not as many rows with a prior as it has rows.
        """
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
