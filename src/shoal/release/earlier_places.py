"""The places of people in earlier releases: the witness of joint safety.

`earlier.parquet` has one line per person of the earlier releases, with their bucket in each, and
`earlier_values.parquet` the sensitive values of these buckets. Both are internal. Together with
the placement of the release itself they show whether its buckets lie within the earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.adversary_guarantees import JointSafety
from shoal.core.arrays import Codes, Counts, Texts
from shoal.core.cells import group
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.release import Published
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sources import columns_of_parquet, parquet_of_columns
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.staged_files import StagedFiles
from shoal.grouping.check.joint_safety import EarlierBuckets
from shoal.release.opened import PLACEMENT, Release

# The internal files with the buckets of people in earlier releases, and with the sensitive values
# of these buckets.
EARLIER = "earlier.parquet"
EARLIER_VALUES = "earlier_values.parquet"
_CHANGED = "is it the internal folder of this release, and was nothing changed in it?"


@dataclass(frozen=True, eq=False)
class EarlierPlaces:
    """The places of people in earlier releases, and what these publish."""

    # The keys of everybody who is in any of them, sorted.
    keys: Texts
    # One row per person, one column per release: the bucket, or -1 if the person is not in it. A
    # sliced release has one column for each of its columns that holds the sensitive attribute.
    places: Codes
    # What the releases publish: this value so many times in this bucket.
    release: Codes
    place: Codes
    value: Texts
    count: Counts
    # The SHA-256 of the manifest of each release.
    manifests: tuple[str, ...] = ()
    # The quasi-identifiers that any of them publishes; no internal file has them.
    quasi: frozenset[str] = frozenset()

    @property
    def n_views(self) -> int:
        """The number of columns of places."""
        return int(self.places.shape[1])

    def of_keys(self, keys: Texts) -> Codes:
        """Return the places of people; -1 for those who are in no earlier release."""
        at_key = {key: at for at, key in enumerate(self.keys.tolist())}
        at = np.array([at_key.get(key, -1) for key in keys.tolist()], dtype=np.int64)
        found = np.full((len(keys), self.n_views), -1, dtype=np.int64)
        found[at >= 0] = self.places[at[at >= 0]]
        return found

    def to_witnesses(self, engine: DuckDB) -> dict[str, bytes]:
        """Return the internal files."""
        # All numbers have one type, so that a file that is read and written again stays the same.
        places = {
            f"place_{number}": self.places[:, number].astype(np.int64)
            for number in range(self.n_views)
        }
        values = {
            "release": self.release.astype(np.int64),
            "place": self.place.astype(np.int64),
            "value": self.value,
            "count": self.count.astype(np.int64),
        }
        return {
            EARLIER: parquet_of_columns(engine, {"row_key": self.keys, **places}),
            EARLIER_VALUES: parquet_of_columns(engine, values),
        }

    @classmethod
    def from_witnesses(
        cls, engine: DuckDB, witnesses: Mapping[str, bytes], manifests: tuple[str, ...] = ()
    ) -> EarlierPlaces:
        """Read the internal files; raise `DataError` if they are not such files."""
        people = _read(engine, witnesses, EARLIER)
        values = _read(engine, witnesses, EARLIER_VALUES)
        names = [f"place_{number}" for number in range(len(people) - 1)]
        if {*people} != {"row_key", *names} or {*values} != {"release", "place", "value", "count"}:
            raise DataError(f"{EARLIER} or {EARLIER_VALUES} has other columns.", hint=_CHANGED)
        try:
            numbers = [values[name].astype(np.int64) for name in ("release", "place", "count")]
            places = np.column_stack([people[name].astype(np.int64) for name in names])
        except (ValueError, TypeError):
            raise DataError(
                f"{EARLIER} holds something that is not a place.", hint=_CHANGED
            ) from None
        release, place, count = numbers
        return cls(people["row_key"], places, release, place, values["value"], count, manifests)


def _read(engine: DuckDB, witnesses: Mapping[str, bytes], name: str) -> dict[str, Any]:
    if name not in witnesses:
        raise DataError(f"The internal folder lacks the witness {name}.")
    return columns_of_parquet(engine, witnesses[name], name)


def earlier_evidence(
    release: Release, published: Published, witnesses: Mapping[str, bytes]
) -> EarlierBuckets:
    """Return the evidence for the check of joint safety.

    Raises `DataError` if the internal files are not about the people of this release.
    """
    earlier = EarlierPlaces.from_witnesses(release.files.engine, witnesses)
    assert published.buckets is not None
    keys, bucket = _own_buckets(release, published)
    at_key = {key: at for at, key in enumerate(earlier.keys.tolist())}
    at = np.array([at_key.get(key, -1) for key in keys.tolist()], dtype=np.int64)
    own = np.full(len(earlier.keys), -1, dtype=np.int64)
    own[at[at >= 0]] = bucket[at >= 0]
    strangers = np.full((int(np.count_nonzero(at < 0)), earlier.n_views), -1, dtype=np.int64)
    return EarlierBuckets(
        np.concatenate([own, bucket[at < 0]]),
        np.concatenate([earlier.places, strangers]),
        earlier.release,
        earlier.place,
        _codes(published.buckets.domain, earlier.value),
        earlier.count,
        [one for one in release.manifest.guarantees if not isinstance(one, JointSafety)],
    )


def _codes(domain: Domain, values: Texts) -> Codes:
    """Return the codes of values; values that the release lacks get codes after its own."""
    code = {text: number for number, text in enumerate(domain.labels())}
    return np.array([code.setdefault(text, len(code)) for text in values.tolist()], dtype=np.int64)


def _own_buckets(release: Release, published: Published) -> tuple[Texts, Codes]:
    """Return the key and the published bucket of everybody in the release."""
    files = release.files
    if not isinstance(files, StagedFiles):
        if release.internal is None:
            raise DataError("The internal folder, which has the places of people, is missing.")
        engine = files.engine
        relation = engine.scan_own(release.internal / PLACEMENT, is_trusted=False).relation
        fetched = engine.rows(f"SELECT row_key, line FROM {relation}")
        line, cell = fetched["line"].astype(np.int64), files.cell_of_lines(published)
        if np.any(line < 1) or np.any(line > len(cell)):
            raise DataError(f"{PLACEMENT} is not about this release.", hint=_CHANGED)
        return _texts(fetched["row_key"]), published.lines.codes[cell[line - 1], 0]
    keys, shown = files.shown_of_everybody()
    lines = published.lines
    names = [name for name in lines.columns if name in shown]
    stacked, sizes = [], []
    for name in names:
        domain, (code, texts) = lines.domain(name), shown[name]
        stacked.append(np.concatenate([lines.column(name), domain.codes_of(texts)[code]]))
        sizes.append(domain.size)
    first, number = group(stacked, sizes, len(stacked[0]))
    # Lines come before people, so the first of a group is its line.
    return keys, lines.codes[first[number[lines.n_cells :]], 0]


def _texts(column: npt.NDArray[Any]) -> Texts:
    keys: Texts = np.array([*texts_of(column), None], dtype=object)[:-1]
    return keys
