"""The classes that Injector plans on: rows with one value and one set of forbidden values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Codes, Counts, group
from shoal.core.domain import Domain
from shoal.core.forbidden import ForbiddenSets
from shoal.knowledge.matching import Occupants, Words, count_values, matching_values, words_of

__all__ = ["Classes", "Grouping"]

Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that are interchangeable: the same value, the same forbidden values.

    Parameters
    ----------
    value
        The sensitive value of each class, ascending.
    which
        The place of its set of forbidden values in `sets`.
    counts
        How many rows it has.
    sets
        The different sets, one row a set, one column a code.
    domain
        What the codes stand for.
    """

    value: Codes
    which: Codes
    counts: Counts
    sets: Marks
    domain: Domain

    @classmethod
    def of_cells(
        cls, value: Codes, forbidden: ForbiddenSets, counts: Counts, domain: Domain
    ) -> tuple[Classes, Codes]:
        """Group cells into classes; gives the class of each cell too."""
        sizes = [domain.size, len(forbidden.sets)]
        first, inverse = group([value, forbidden.which], sizes, len(value))
        total = np.zeros(len(first), dtype=np.int64)
        np.add.at(total, inverse, counts)
        which = forbidden.which[first]
        return cls(value[first], which, total, forbidden.sets, domain), inverse

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.value)

    @property
    def words(self) -> Words:
        """What each class forbids, in words of 64 bits."""
        words: Words = np.ascontiguousarray(words_of(self.sets)[self.which])
        return words

    @property
    def forbids_own(self) -> Marks:
        """Whether a class forbids the value that its rows have: the knowledge is wrong there."""
        return self.sets[self.which, self.value]

    def clash(self, one: int) -> Marks:
        """Mark the classes that are incompatible with one [Li08, Definition 2]."""
        marks: Marks = (
            (self.value == self.value[one])
            | self.sets[self.which[one], self.value]
            | self.sets[self.which, self.value[one]]
        )
        return marks


@dataclass(frozen=True, eq=False)
class Grouping:
    """How many rows of each class each bucket holds.

    Parameters
    ----------
    n_buckets
        The number of buckets; each holds a row.
    bucket, row_class
        The bucket and the class of every placed row.
    """

    n_buckets: int
    bucket: Codes
    row_class: Codes

    def valid_values(self, classes: Classes) -> tuple[Occupants, Words]:
        """Give who is in which bucket, and which values each may have by matching."""
        values = Buckets.of_pairs(self.bucket, classes.value[self.row_class], classes.domain)
        occupants = Occupants.of_rows(
            self.bucket, classes.which[self.row_class], self.n_buckets, len(classes.sets)
        )
        return occupants, matching_values(occupants, classes.sets, values)

    def failing(self, classes: Classes, ell: int) -> Codes:
        """List the buckets in which somebody has fewer than `ell` valid values."""
        occupants, words = self.valid_values(classes)
        return np.unique(occupants.bucket[count_values(words) < ell])
