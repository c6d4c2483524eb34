"""Where the same people are in several releases, by the keys of their rows.

Only the internal folders tell who is where. A person is recognized by the key of their row: a
column that the steward named, or the line number if both releases were made from the very same
file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import group
from shoal.core.documents import parse_json, read_whole
from shoal.core.domain import Domain, Role
from shoal.core.errors import DataError, ParameterError
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.engines.duckdb.engine import DuckDB
from shoal.intersection.worlds import Partition
from shoal.release.opened import PLACEMENT, Release, opened
from shoal.release.witnesses import kinds_of_release

_OTHER_FOLDER = "is it the internal folder of this release, and was nothing changed in it?"


@dataclass(frozen=True)
class Source:
    """What decides whether the keys of two releases name the same people."""

    # The key column; None if the line number is the key.
    key: str | None
    # The hash of the file that the table was read from; None if it was not a file.
    digest: str | None


def source_of_release(release: Release) -> Source:
    """Read the key and the file hash of a release from its internal record."""
    try:
        record = parse_json(read_whole(internal_of(release) / "record.json"))
        return Source(record["replay"]["columns"]["key"], record["source"]["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            "An internal folder has no record.json that says what its release was made of.",
            hint="name the folder that Shoal wrote beside the release.",
        ) from None


def refuse_other_keys(one: Source, other: Source) -> None:
    """Refuse releases that have neither the same key column nor the same file."""
    is_same_key = one.key is not None and one.key == other.key
    is_same_file = one.key is None and other.key is None and one.digest == other.digest
    if not is_same_key and not is_same_file:
        raise DataError(
            "The two releases do not name their people by the same key.",
            hint="name one column as the key of both tables: key = ... under [table].",
        )


def common_sensitive(releases: Sequence[Release]) -> tuple[str, ...]:
    """Return the sensitive columns that all releases publish value by value.

    Raises ParameterError if there is none, or a release suppresses cells.
    """
    if any(release.manifest.shape.hides_cells for release in releases):
        raise ParameterError(
            "Releases with suppressed cells have no buckets and cannot be compared with others.",
            hint="compare bucketized, generalized or sliced releases.",
        )
    first, *others = (release.manifest for release in releases)
    shared = [
        name
        for name in first.columns_of(Role.SENSITIVE)
        if all(name in other.columns_of(Role.SENSITIVE) for other in others)
    ]
    if not shared:
        raise ParameterError("The releases have no sensitive column in common.")
    changed = {
        column.name
        for manifest in (first, *others)
        for column in manifest.columns
        if column.is_distorted or column.is_recoded
    }
    plain = tuple(name for name in shared if name not in changed)
    if not plain:
        raise ParameterError(
            "The sensitive column that the releases share is distorted or recoded in one of them.",
            hint="nothing follows by elimination from values that may be wrong or coarser.",
        )
    return plain


def internal_of(release: Release) -> Path:
    """Return the internal folder of a release, or raise DataError."""
    if release.internal is None:
        raise DataError(
            "Only the internal folder of a release says who is where, and one is missing.",
            hint="name a public folder that has its internal folder beside it.",
        )
    return release.internal


def placement_of(release: Release, engine: DuckDB) -> str:
    """Return the SQL relation that tells where everybody is in a release."""
    return engine.scan_own(internal_of(release) / PLACEMENT, is_trusted=False).relation


def join_placements(engine: DuckDB, releases: Sequence[Release]) -> list[Codes]:
    """Find the published place of everybody who is in any of some releases.

    Returns one array per release with one row per person: the line, or the kind and the bucket if
    the release is sliced; 0 if the person is not in it. Raises DataError if the first release has
    nobody in common with another one.
    """
    names = [columns_of_placement(release) for release in releases]
    relations = [placement_of(release, engine) for release in releases]
    listed = ", ".join(
        f"coalesce(r{which}.{name}, 0) AS {name}_{which}"
        for which, columns in enumerate(names)
        for name in columns
    )
    joined = f"{relations[0]} r0" + "".join(
        f" FULL JOIN {relation} r{which} USING (row_key)"
        for which, relation in enumerate(relations[1:], start=1)
    )
    fetched = engine.rows(f"SELECT {listed} FROM {joined}")
    found = [
        np.column_stack([fetched[f"{name}_{which}"].astype(np.int64) for name in columns])
        for which, columns in enumerate(names)
    ]
    for other in found[1:]:
        if not np.any((found[0][:, 0] > 0) & (other[:, 0] > 0)):
            raise DataError(
                "Nobody is in both releases by the keys of their rows.",
                hint="were they made of the same table, with the same key?",
            )
    return found


def columns_of_placement(release: Release) -> tuple[str, ...]:
    """Return the columns of a placement that tell where a person is."""
    return ("kind", "bucket") if release.manifest.slices else ("line",)


def partitions_of(
    release: Release, found: Codes, sensitive: str, labels: dict[str | None, int]
) -> list[tuple[Partition, Codes]]:
    """Return what a release shows of a sensitive column, and the place of each person in it.

    `found` comes from `join_placements`. `labels` numbers the values of all releases alike, and new
    ones are added to it. There is one partition with the place of each person, -1 for people who
    are not in the release. A sliced release has one per column that holds the sensitive attribute:
    its buckets, split by the attributes of the column that are known of people.
    """
    published = release.published
    if published.sliced is not None:
        return _sliced_partitions(release, published.sliced, found, sensitive, labels)
    buckets = published.buckets
    assert buckets is not None
    # The lines of a release that was just written are those of its files.
    written = release if release.making is None else release.folder
    assert written is not None
    with opened(written) as on_disk:
        bucket = published.lines.codes[on_disk.files.cell_of_lines(on_disk.published), 0]
    line = found[:, 0]
    if np.any(line > len(bucket)):
        raise DataError(f"{PLACEMENT} is not about this release.", hint=_OTHER_FOLDER)
    place = np.full(len(line), -1, dtype=np.int64)
    place[line > 0] = bucket[line[line > 0] - 1]
    value = _numbered(buckets.domain, labels)[buckets.value]
    partition = Partition.of_pairs(buckets.bucket, value, buckets.n_buckets, buckets.count)
    return [(partition, place)]


def _numbered(domain: Domain, labels: dict[str | None, int]) -> Codes:
    """Return the common number of every code of a domain."""
    return np.array(
        [labels.setdefault(text, len(labels)) for text in domain.labels()], dtype=np.int64
    )


def _sliced_partitions(
    release: Release,
    sliced: Sliced,
    found: Codes,
    sensitive: str,
    labels: dict[str | None, int],
) -> list[tuple[Partition, Codes]]:
    kinds = kinds_of_release(release, sliced)
    inside = np.flatnonzero(found[:, 0] > 0)
    kind, number = found[inside, 0], found[inside, 1]
    used, which = np.unique(number, return_inverse=True)
    bucket = release.published.lines.domains[0].codes_of([str(one) for one in used.tolist()])
    if np.any(kind > len(kinds.entry)) or np.any(bucket < 0):
        raise DataError(f"{PLACEMENT} is not about this release.", hint=_OTHER_FOLDER)
    known = kinds.people.codes[kinds.entry[kind - 1]]
    parts = []
    for column in sliced.columns:
        if sensitive not in column.attributes:
            continue
        names = [name for name in sliced.layout.known_for(sensitive) if name in column.attributes]
        own = known[:, [kinds.people.columns.index(name) for name in names]]
        entries, place = _parted(sliced, column, names, bucket[which], own)
        value = _numbered(sliced.domain(sensitive), labels)[column.codes(sensitive)]
        everybody = np.full(len(found), -1, dtype=np.int64)
        everybody[inside] = place
        n_places = int(max(entries.max(initial=-1), place.max(initial=-1))) + 1
        counts: Counts = column.count
        parts.append((Partition.of_pairs(entries, value, n_places, counts), everybody))
    return parts


def _parted(
    sliced: Sliced, column: SlicedColumn, names: Sequence[str], bucket: Codes, own: Codes
) -> tuple[Codes, Codes]:
    """Number the pairs of a bucket and known values, for a column's entries and for people."""
    stacked = [np.concatenate([column.bucket, bucket])]
    stacked += [
        np.concatenate([column.codes(name), own[:, place]]) for place, name in enumerate(names)
    ]
    sizes = [sliced.n_buckets, *(sliced.domain(name).size for name in names)]
    _, number = group(stacked, sizes, len(stacked[0]))
    return number[: len(column.bucket)], number[len(column.bucket) :]
