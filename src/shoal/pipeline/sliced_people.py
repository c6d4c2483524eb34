"""Who is in a sliced release: what its files do not say, and its maker knows.

Columns of a sliced release are not linked, so nobody has a line in it. People with the same known
values are of one kind: the internal file `tuples.parquet` has one line a kind, and
`placement.parquet` says of which kind each row is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, group
from shoal.core.errors import DataError
from shoal.core.release import COUNT, People, Published
from shoal.core.sliced import Sliced
from shoal.engines.laid_out import LaidOut
from shoal.engines.parquet_bytes import columns_of_parquet
from shoal.engines.texts import texts_of
from shoal.pipeline.release import PLACEMENT, Release

__all__ = ["TUPLES", "Kinds", "Placed", "kinds_of", "place_kinds", "placement_relation"]

TUPLES = "tuples.parquet"
"""The internal file with what is known of the people of a sliced release."""
_HINT = "is it the internal folder of this release, and was nothing changed in it?"


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of people in a sliced release.

    Parameters
    ----------
    people
        What is known of them in the release's own codes, in the order of cells.
    entry
        The cell of each kind, in the order of their numbers.
    """

    people: Cells
    entry: Codes


def kinds_of(release: Release, sliced: Sliced, content: bytes | None) -> Kinds:
    """Give the kinds of people of a release: from its engine, or from the internal file.

    Parameters
    ----------
    release, sliced
        The release, and what it shows.
    content
        The bytes of the internal file; None where the release is still with its maker.

    Raises
    ------
    DataError
        Where the file is not about this release.
    """
    engine = release.files.engine
    if isinstance(release.files, LaidOut):
        columns: Mapping[str, npt.NDArray[Any]] = engine.rows(release.files.tuple_query)
    elif content is not None:
        columns = columns_of_parquet(engine, content, TUPLES)
    else:
        raise DataError(
            "Who is in a sliced release, its own files do not say.",
            hint="name its internal folder, or the people to attack.",
        )
    return _read(columns, sliced)


@dataclass(frozen=True, eq=False)
class Placed:
    """Everybody in a sliced release, each in their own bucket.

    Parameters
    ----------
    people
        One cell a kind and bucket.
    kind, bucket
        The numbers of kinds and of buckets, as they are written, sorted by kind, then bucket.
    entry
        The cell of people that each pair of both is.
    cell
        The cell of `Kinds.people` that each cell of people is.
    """

    people: People
    kind: Codes
    bucket: Codes
    entry: Codes
    cell: Codes

    def entry_of(self, kind: Codes, bucket: Codes) -> Codes:
        """Give the cell of people with numbers of kinds and buckets, all of which there are."""
        n_buckets = int(self.bucket.max(initial=0)) + 1
        found = np.searchsorted(self.kind * n_buckets + self.bucket, kind * n_buckets + bucket)
        return self.entry[found]


def place_kinds(release: Release, published: Published, kinds: Kinds) -> Placed:
    """Find in which buckets the people of each kind are, as only the maker knows.

    Raises
    ------
    DataError
        Where neither the maker nor the internal folder says it, or not of this release.
    """
    relation = placement_relation(release)
    fetched = release.files.engine.rows(
        f"SELECT kind, bucket, count(*) AS n FROM {relation} p "
        "GROUP BY kind, bucket ORDER BY kind, bucket"
    )
    kind, bucket = fetched["kind"].astype(np.int64), fetched["bucket"].astype(np.int64)
    place = published.lines.domains[0].codes_of([str(number) for number in bucket.tolist()])
    if np.any(place < 0) or np.any(kind < 1) or np.any(kind > len(kinds.entry)):
        raise DataError(f"{PLACEMENT} is not about this release.", hint=_HINT)
    cell = kinds.entry[kind - 1]
    first, entry = group([cell, place], [kinds.people.n_cells, published.n_buckets], len(cell))
    counts = np.bincount(entry, fetched["n"], len(first)).astype(np.int64)
    cells = Cells(kinds.people.domains, kinds.people.codes[cell[first]], counts)
    return Placed(People(cells, place[first]), kind, bucket, entry, cell[first])


def placement_relation(release: Release) -> str:
    """Give what says where everybody is; it stands behind FROM."""
    if isinstance(release.files, LaidOut):
        return f"({release.files.placement_query})"
    if release.internal is None:
        raise DataError("Where people are says the internal folder, which is not there.")
    engine = release.files.engine
    return engine.scan_own(release.internal / PLACEMENT, is_trusted=False).relation


def _read(columns: Mapping[str, npt.NDArray[Any]], sliced: Sliced) -> Kinds:
    known = sliced.layout.known
    if {*columns} != {*known, COUNT} or columns[COUNT].dtype.kind not in "iu":
        raise DataError(f"{TUPLES} has not the columns that are known of people.", hint=_HINT)
    domains = tuple(sliced.domain(name) for name in known)
    codes = np.empty((len(columns[COUNT]), len(known)), dtype=np.int64)
    for place, domain in enumerate(domains):
        codes[:, place] = domain.codes_of(texts_of(columns[domain.column]))
    counts = columns[COUNT].astype(np.int64)
    if np.any(codes < 0) or np.any(counts < 1) or int(counts.sum()) != sliced.n_rows:
        raise DataError(f"{TUPLES} is not about the people of this release.", hint=_HINT)
    people, entry = Cells(domains, codes, counts).select_with_inverse(known)
    return Kinds(people, entry)
