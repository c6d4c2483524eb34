"""Witnesses: internal files that a guarantee is checked with, beside the published files.

The internal folder holds them. The manifest states the name of each with an HMAC of its content, so
that nobody can check a release against other knowledge than it was made with.

The witness of joint safety has two files: `earlier.parquet` with one line per person of the earlier
releases, and their bucket in each; and `earlier_values.parquet` with the sensitive values of these
buckets. Together with the placement of the release itself they show whether its buckets lie within
the earlier ones.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.beliefs.priors import BELIEFS, beliefs_from_json, occupants_of_release
from shoal.core.adversary_guarantees import JointSafety
from shoal.core.arrays import Codes, Counts, Flags, Texts
from shoal.core.cells import group
from shoal.core.documents import parse_json, read_whole
from shoal.core.domain import Domain, Role
from shoal.core.errors import DataError, ParameterError
from shoal.core.manifest import Manifest
from shoal.core.plan import Plan
from shoal.core.private_cells import HiddenCells
from shoal.core.release import Published
from shoal.core.secret import Secret
from shoal.core.sliced import Sliced
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sources import columns_of_parquet, parquet_of_columns
from shoal.engines.sql.domains import build_domain, text_array, texts_of
from shoal.engines.sql.staged_files import StagedFiles
from shoal.grouping.check.joint_safety import EarlierBuckets
from shoal.hiding.check import Witnessed
from shoal.injector.check.known_rules import excluded_by_facts, forbidden_by_rules
from shoal.injector.check.matching_diversity import Witness
from shoal.injector.known import Knowledge
from shoal.release.checked_levels import place_values
from shoal.release.opened import PLACEMENT, Release
from shoal.release.people import (
    OTHER_FOLDER,
    TUPLES,
    Kinds,
    Placed,
    kinds_of,
    lines_of_keys,
    place_kinds,
    placement_relation,
    uncover,
)

# The internal file with what the adversary is assumed to know.
KNOWLEDGE = "knowledge.toml"
# The name that guarantees have for the cells to hide.
PRIVATE_CELLS = "private cells"
# The internal files with the buckets of people in earlier releases, and with the sensitive values
# of these buckets.
EARLIER = "earlier.parquet"
EARLIER_VALUES = "earlier_values.parquet"


def with_tables_written(plan: Plan, engine: DuckDB) -> Plan:
    """Return a plan whose internal tables are serialized as witnesses."""
    if not plan.tables:
        return plan
    written = {name: parquet_of_columns(engine, table) for name, table in plan.tables.items()}
    return replace(plan, witnesses={**plan.witnesses, **written}, tables={})


def seal_witnesses(secret: Secret, witnesses: Mapping[str, bytes]) -> dict[str, str]:
    """Return the HMAC of each witness, as the manifest states it."""
    key = secret.derive("witnesses")
    return {
        name: hmac.new(key, name.encode() + b"\x00" + content, hashlib.sha256).hexdigest()
        for name, content in witnesses.items()
    }


def read_witnesses(internal: Path, manifest: Manifest) -> dict[str, bytes]:
    """Read the witnesses of a release from its internal folder, and check that they are its own.

    Raises `DataError` if the manifest names none although the release needs one, or if a witness is
    missing or is not the one that the release was made with.
    """
    needed = {guarantee.needs_witness for guarantee in manifest.guarantees}
    for need, name in (
        ("forbidden", KNOWLEDGE),
        (PRIVATE_CELLS, HiddenCells.FILE),
        (PRIVATE_CELLS, PLACEMENT),
        (JointSafety.needs_witness, EARLIER),
        (JointSafety.needs_witness, EARLIER_VALUES),
        (JointSafety.needs_witness, PLACEMENT),
    ):
        if need in needed and name not in manifest.witnesses:
            raise DataError(f"The manifest does not name the witness {name} that it needs.")
    if not manifest.witnesses:
        return {}
    if not all(name.isprintable() and Path(name).name == name for name in manifest.witnesses):
        raise DataError("The manifest names a witness that is not a file of the internal folder.")
    secret = _secret_of(internal)
    found: dict[str, bytes] = {}
    for name in manifest.witnesses:
        try:
            found[name] = read_whole(internal / name, max_bytes=None)
        except OSError:
            raise DataError(f"The internal folder lacks the witness {name}.") from None
    sealed = seal_witnesses(secret, found)
    for name, code in manifest.witnesses.items():
        if not hmac.compare_digest(sealed[name].encode(), str(code).encode()):
            raise DataError(
                f"The witness {name} is not the one that the release was made with.",
                hint=OTHER_FOLDER,
            )
    return found


def _secret_of(internal: Path) -> Secret:
    try:
        record = parse_json(read_whole(internal / "record.json"))
        return Secret.from_hex(record["secret"], is_test=bool(record["test"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise DataError(
            "The internal folder has no record.json that can be read.",
            hint="name the internal folder that was written with this release.",
        ) from None


def known_to_maker(release: Release) -> Knowledge | None:
    """Return the knowledge that a release was made against; None if it is not available."""
    if release.making is not None:
        witnesses: Mapping[str, bytes] = release.making.plan.witnesses
    elif release.internal is not None and KNOWLEDGE in release.manifest.witnesses:
        witnesses = read_witnesses(release.internal, release.manifest)
    else:
        return None
    return _knowledge(witnesses[KNOWLEDGE]) if KNOWLEDGE in witnesses else None


def evidence_of(
    release: Release, published: Published, witnesses: Mapping[str, bytes]
) -> dict[str, object]:
    """Return what checkers need, by the names that guarantees have for it."""
    if HiddenCells.FILE in witnesses and published.rows is not None:
        uncovered = uncover(release, published, witnesses[HiddenCells.FILE])
        return {PRIVATE_CELLS: Witnessed(uncovered.codes, uncovered.is_private)}
    if published.sliced is not None:
        return _kinds(release, published.sliced, witnesses)
    if published.buckets is None:
        return {}
    found: dict[str, object] = {}
    if KNOWLEDGE in witnesses:
        found["forbidden"] = _forbidden(release, published, witnesses[KNOWLEDGE])
    if BELIEFS in witnesses:
        beliefs = beliefs_from_json(witnesses[BELIEFS])
        occupants = occupants_of_release(published, published.buckets, beliefs)
        # If labels leave open who is in which bucket, the claim stays unconfirmed.
        if occupants is not None:
            found["beliefs"] = occupants
    if EARLIER in witnesses:
        found[JointSafety.needs_witness] = earlier_evidence(release, published, witnesses)
    return found


def _kinds(release: Release, sliced: Sliced, witnesses: Mapping[str, bytes]) -> dict[str, object]:
    """Return what is known of the people of a sliced release, if it is available."""
    if TUPLES not in witnesses and release.making is None:
        return {}
    return {"tuples": kinds_of(release, sliced, witnesses.get(TUPLES)).people}


def kinds_of_release(release: Release, sliced: Sliced) -> Kinds:
    """Return the kinds of people of a sliced release, from its maker or its internal folder.

    Raises `DataError` if neither is available, or the internal folder belongs to another release.
    """
    content = None
    if release.making is None and release.internal is not None:
        content = read_witnesses(release.internal, release.manifest).get(TUPLES)
    return kinds_of(release, sliced, content)


def place_people(release: Release) -> Placed | None:
    """Return everybody in a sliced release, each in their own bucket; None if people have lines.

    Raises `DataError` as `kinds_of_release` does.
    """
    sliced = release.published.sliced
    if sliced is None:
        return None
    return place_kinds(release, release.published, kinds_of_release(release, sliced))


def _knowledge(content: bytes) -> Knowledge:
    try:
        return Knowledge.from_toml(content.decode("utf-8"))
    except (ParameterError, UnicodeDecodeError):
        raise DataError(f"The witness {KNOWLEDGE} cannot be read.") from None


def _forbidden(release: Release, published: Published, content: bytes) -> Witness:
    """Return what the people of every bucket cannot have, by rules and by facts about them."""
    buckets = published.buckets
    assert buckets is not None
    if published.meanings:
        raise DataError("Rules are checked on quasi-identifiers that are published as they are.")
    looks, look = published.looks
    marks = forbidden_by_rules(content, looks, buckets.domain)
    bucket = published.lines.codes[:, 0]
    excluded = excluded_by_facts(content, buckets.domain)
    if not excluded:
        return Witness(bucket, look, published.lines.counts, marks)
    return _with_facts(release, published, excluded, bucket, marks[look])


def _with_facts(
    release: Release,
    published: Published,
    excluded: Mapping[str, Sequence[int]],
    bucket: Codes,
    marks: Flags,
) -> Witness:
    """Take each person of a fact out of their line, and mark the values that they lack."""
    count = published.lines.counts.copy()
    line_of = lines_of_keys(release, published, list(excluded))
    own = {person: marks[line].copy() for person, line in line_of.items()}
    for person, line in line_of.items():
        own[person][list(excluded[person])] = True
        count[line] -= 1
    kept = count > 0
    lines = np.array(list(line_of.values()), dtype=np.int64)
    rows = np.concatenate([marks[kept], np.array(list(own.values())).reshape(-1, marks.shape[1])])
    return Witness(
        np.concatenate([bucket[kept], bucket[lines]]),
        np.arange(len(rows)),
        np.concatenate([count[kept], np.ones(len(lines), dtype=np.int64)]),
        rows.astype(bool),
    )


# Earlier releases --------------------------------------------------------------------------


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
            raise DataError(f"{EARLIER} or {EARLIER_VALUES} has other columns.", hint=OTHER_FOLDER)
        try:
            numbers = [values[name].astype(np.int64) for name in ("release", "place", "count")]
            places = np.column_stack([people[name].astype(np.int64) for name in names])
        except (ValueError, TypeError):
            raise DataError(
                f"{EARLIER} holds something that is not a place.", hint=OTHER_FOLDER
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
        _codes(published.buckets.domain, _at_levels(release, earlier.value)),
        earlier.count,
        [one for one in release.manifest.guarantees if not isinstance(one, JointSafety)],
    )


def _at_levels(release: Release, values: Texts) -> Texts:
    """Return values of earlier releases at the levels of this one."""
    sensitive = {c.name: c.type for c in release.manifest.columns if c.role is Role.SENSITIVE}
    for level in release.manifest.levels:
        distinct = list(dict.fromkeys(values.tolist()))
        domain, codes = build_domain(level.column, sensitive[level.column], distinct)
        placed = place_values(level, domain, release.hierarchy)
        labels = text_array(placed.labels())[placed.level_of[codes]]
        label_of = dict(zip(distinct, labels.tolist(), strict=True))
        values = text_array(label_of[value] for value in values.tolist())
    return values


def _codes(domain: Domain, values: Texts) -> Codes:
    """Return the codes of values; values that the release lacks get codes after its own."""
    code = {text: number for number, text in enumerate(domain.labels())}
    return np.array([code.setdefault(text, len(code)) for text in values.tolist()], dtype=np.int64)


def _own_buckets(release: Release, published: Published) -> tuple[Texts, Codes]:
    """Return the key and the published bucket of everybody in the release."""
    files = release.files
    if not isinstance(files, StagedFiles):
        query = f"SELECT row_key, line FROM {placement_relation(release)}"
        fetched = files.engine.rows(query)
        line, cell = fetched["line"].astype(np.int64), files.cell_of_lines(published)
        if np.any(line < 1) or np.any(line > len(cell)):
            raise DataError(f"{PLACEMENT} is not about this release.", hint=OTHER_FOLDER)
        return text_array(texts_of(fetched["row_key"])), published.lines.codes[cell[line - 1], 0]
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
