"""What a reader of a release sees.

`Published` is what any reader can count in the published files: attacks and measures work on it and
on nothing else. `shoal.core.manifest` has what the release says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from shoal.core.cells import Buckets, Cells, Codes, Counts, smallest_type
from shoal.core.domain import Domain
from shoal.core.manifest import (
    BUCKET,
    COUNT,
    FORMAT_VERSION,
    FORMATS,
    INTERNAL_SUFFIX,
    Manifest,
    Meaning,
    PublishedColumn,
    data_files,
)
from shoal.core.people import People
from shoal.core.rows import Rows
from shoal.core.sliced import Sliced
from shoal.core.vocabulary import Vocabulary

__all__ = [
    "BUCKET",
    "COUNT",
    "FORMATS",
    "FORMAT_VERSION",
    "INTERNAL_SUFFIX",
    "Manifest",
    "Meaning",
    "People",
    "Published",
    "PublishedColumn",
    "data_files",
]


@dataclass(frozen=True, eq=False)
class Published:
    """What any reader can count in the published files.

    Parameters
    ----------
    manifest
        What the release says of itself.
    lines
        The distinct published lines: column `bucket`, then the quasi-identifiers as published.
        Where the release is generalized, a bucket is one combination of quasi-identifiers.
    buckets
        The sensitive values of each bucket; None where no column is sensitive.
    meanings
        What the labels of a recoded column stand for, by column and label.
    rows
        The lines one by one, where the release is suppressed: its quasi-identifiers, then its
        sensitive columns.
    sliced
        The counts of column values, where the release is sliced; `lines` has buckets alone then.
    vocabulary
        The values and hierarchies of the table, where somebody has it: attacks read knowledge by
        them, and use them for nothing else.
    """

    manifest: Manifest
    lines: Cells
    buckets: Buckets | None
    meanings: Mapping[str, Mapping[str, Meaning]] = field(default_factory=dict, repr=False)
    rows: Rows | None = None
    sliced: Sliced | None = None
    vocabulary: Vocabulary | None = field(default=None, repr=False)

    @property
    def quasi(self) -> tuple[Domain, ...]:
        """The published values of the quasi-identifiers."""
        return self.lines.domains[1:]

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The published values of the quasi-identifying and sensitive columns."""
        if self.rows is not None:
            return self.rows.domains
        if self.sliced is not None:
            return tuple(map(self.sliced.domain, self.sliced.layout.attributes))
        return (*self.quasi, *(() if self.buckets is None else (self.buckets.domain,)))

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return self.lines.domains[0].size

    @property
    def bucket_sizes(self) -> Counts:
        """The number of rows in each bucket."""
        sizes = np.zeros(self.n_buckets, dtype=np.int64)
        np.add.at(sizes, self.lines.codes[:, 0], self.lines.counts)
        return sizes

    @cached_property
    def looks(self) -> tuple[Cells, Codes]:
        """The different combinations of quasi-identifiers, and which of them each line shows."""
        looks, look = self.lines.select_with_inverse([domain.column for domain in self.quasi])
        # Half the room: there is one entry a line.
        return looks, cast("Codes", look.astype(smallest_type(looks.n_cells)))

    @property
    def fewest_alike(self) -> Counts:
        """For each bucket, how many rows of the release look like its rarest one.

        Rows look alike where they show the same quasi-identifiers, in whichever bucket they are.
        """
        looks, look = self.looks
        alike = looks.counts
        fewest = np.full(self.n_buckets, self.lines.n_rows, dtype=np.int64)
        np.minimum.at(fewest, self.lines.codes[:, 0], alike[look])
        return fewest
