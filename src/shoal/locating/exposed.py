"""A release as the attack sees it: who is in which bucket, and which values the buckets hold.

In a bucketized release the quasi-identifiers of a bucket's rows are published. In a generalized or
sliced one they are not; in the worst case, which the literature assumes, the adversary knows from
elsewhere who is in which bucket. Both come to the same: the rows of buckets, and their values.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, Codes, Counts, group
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.release import People, Published

__all__ = ["Exposed"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Exposed:
    """The rows of each bucket by their quasi-identifiers, and the values of each bucket.

    Parameters
    ----------
    looks
        The distinct quasi-identifiers.
    bucket, look, count
        The entries, sorted by bucket: so many rows of this bucket look like that.
    buckets
        The sensitive values of each bucket.

    Raises
    ------
    DataError
        Where a bucket does not have as many rows as values.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]), np.array([0, 1]), disease)
    Exposed(2 rows in 1 buckets, 2 different ones)
    """

    looks: Cells
    bucket: Codes
    look: Codes
    count: Counts
    buckets: Buckets

    def __post_init__(self) -> None:
        sizes = np.bincount(self.bucket, self.count, self.buckets.n_buckets)
        if not np.array_equal(sizes, self.buckets.sizes):
            raise DataError(
                "Every bucket must have as many rows as sensitive values; there are "
                f"{int(self.count.sum())} rows and {self.buckets.n_rows} values in "
                f"{self.buckets.n_buckets} buckets."
            )

    @classmethod
    def of_published(cls, published: Published) -> Exposed:
        """Take the published lines for the rows: of a bucketized release, or of labels.

        Entry by entry they are the lines of the release.
        """
        assert published.buckets is not None
        looks, look = published.looks
        lines = published.lines
        return cls(looks, lines.codes[:, 0], look, lines.counts, published.buckets)

    @classmethod
    def of_people(cls, people: People, buckets: Buckets) -> tuple[Exposed, Codes]:
        """Take people whose buckets are known for the rows.

        Returns
        -------
        exposed
            The release with them in it.
        entry
            The entry of each cell of people.
        """
        assert people.bucket is not None
        looks, look = people.quasi.select_with_inverse(people.quasi.columns)
        sizes = [buckets.n_buckets, looks.n_cells]
        first, entry = group([people.bucket, look], sizes, len(look))
        count = np.bincount(entry, people.counts, len(first)).astype(np.int64)
        return cls(looks, people.bucket[first], look[first], count, buckets), entry

    @classmethod
    def of_rows(
        cls, domains: Sequence[Domain], rows: Codes, bucket: Codes, value: Codes, domain: Domain
    ) -> Exposed:
        """Put the rows of a table, one a person, into buckets.

        Parameters
        ----------
        domains, rows
            The quasi-identifiers, and their codes.
        bucket, value
            The bucket and the sensitive value of each row.
        domain
            The sensitive values.
        """
        cells = Cells(tuple(domains), rows, np.ones(len(rows), dtype=np.int64))
        buckets = Buckets.of_pairs(bucket, value, domain)
        return cls.of_people(People(cells, bucket), buckets)[0]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.buckets.n_rows

    @cached_property
    def starts(self) -> Codes:
        """Where the entries of each bucket begin; one number more than there are buckets."""
        numbers = np.arange(self.buckets.n_buckets + 1)
        return np.searchsorted(self.bucket, numbers).astype(np.int64)

    def n_carrying(self, values: Sequence[int] | Codes) -> Counts:
        """Count, for each bucket, the rows that carry any of some values."""
        is_chosen = np.zeros(self.buckets.domain.size, dtype=bool)
        is_chosen[np.asarray(values, dtype=np.int64)] = True
        chosen = is_chosen[self.buckets.value]
        counts = np.bincount(
            self.buckets.bucket[chosen], self.buckets.count[chosen], self.buckets.n_buckets
        )
        return counts.astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Exposed({self.n_rows} rows in {self.buckets.n_buckets} buckets, "
            f"{self.looks.n_cells} different ones)"
        )
