"""A release as an attack sees it: the people in each bucket, and the values that the bucket holds.

A bucketized release publishes the quasi-identifiers of the rows of each bucket. A generalized or
sliced release does not; in the worst case, which the literature assumes, the adversary knows from
another source who is in which bucket. Both reduce to the rows of the buckets and their values.

References
----------
[Wong11] (see `shoal.foreground`) Section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Buckets, Cells, group
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.release import People, Published


@dataclass(frozen=True, eq=False)
class Exposed:
    """The rows of each bucket by their quasi-identifiers, and the sensitive values of each bucket.

    Entries are sorted by bucket: `count` rows of `bucket` have the quasi-identifiers `look`, a
    position in `looks`. `DataError` is raised unless each bucket has as many rows as values.
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
        """Use the published lines of a release as its rows: entry i is line i."""
        assert published.buckets is not None
        looks, look = published.looks
        lines = published.lines
        return cls(looks, lines.codes[:, 0], look, lines.counts, published.buckets)

    @classmethod
    def of_people(cls, people: People, buckets: Buckets) -> tuple[Exposed, Codes]:
        """Use people whose buckets are known as the rows.

        Also return the entry of each cell of people.
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
        """Put the rows of a table, one per person, into buckets.

        `rows` has the codes of the quasi-identifiers; `domain` has the sensitive values.
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
        """The first entry of each bucket, and the number of entries at the end."""
        numbers = np.arange(self.buckets.n_buckets + 1)
        return np.searchsorted(self.bucket, numbers).astype(np.int64)

    def n_carrying(self, values: Sequence[int] | Codes) -> Counts:
        """Return, for each bucket, the number of rows that carry one of the given values."""
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
