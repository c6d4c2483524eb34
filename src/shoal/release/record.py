"""The internal record of a release: its table, method and secret, so that it can be made again.

Most of it is for people. The section `replay` is for `shoal replay`: the location of the table and
its hash, the schema, the method with all its parameters, the repairs, and the hash of every public
file. Nothing in it refers to a file of the configuration, which may have changed since; only the
private cells of a suppressed release are read from their witness beside it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shoal.core.adversary_guarantees import JointSafety
from shoal.core.documents import parse_json, read_whole
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError
from shoal.core.findings import Findings
from shoal.core.levels import EVERY_VALUE
from shoal.core.manifest import INTERNAL_SUFFIX, Manifest
from shoal.core.measure import Measured
from shoal.core.private_cells import HiddenCells
from shoal.core.registry import snake_case
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.version import __version__
from shoal.engines.engine import Engine, Scan
from shoal.engines.limits import Limits
from shoal.engines.sql.survey import content_digest
from shoal.engines.sql.table import EngineTable
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.known import Knowledge
from shoal.release.opened import Making, Release, path_of

RECORD = "record.json"
# The version of the section `replay`.
_VERSION = 1
_HINT = "name the record.json that Shoal wrote into the internal folder of a release."
_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class GateRecord:
    """The verdict of the gate, as internal files state it."""

    # The outcome of each attack, by its name.
    verdicts: Mapping[str, str] = field(default_factory=dict)
    # The attacks that the configuration leaves out, each with its reason.
    not_run: Mapping[str, str] = field(default_factory=dict)
    # The warnings about the gate that the steward saw.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Audit:
    """The results of attacks and measures on a release before it is sealed; all are internal."""

    # Of attacks on everybody in the release.
    findings: tuple[Findings, ...] = ()
    measured: tuple[Measured, ...] = ()
    # Why a risk was accepted; None if there was none to accept.
    accepted: str | None = None
    gate: GateRecord = field(default_factory=GateRecord)


# Nothing was attacked, measured or accepted.
NO_AUDIT = Audit()


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


_Limit = Literal["max_columns", "max_line", "max_expanded", "max_ratio", "lock_timeout"]


class RecordedTable(_Part):
    """The location of the table, how it was read, and how it is recognized.

    A file is recognized by its own hash, everything else by the hash of its content.
    """

    address: str | None
    engine: Literal["duckdb", "spark", "postgres"]
    options: dict[Literal["table", "delimiter", "quote", "encoding"], str]
    limits: dict[_Limit, int]
    sha256: _Digest | None
    content: _Digest | None
    rows: int

    @property
    def allowed(self) -> Limits:
        """The limits within which the table was read."""
        return Limits(**cast("dict[str, int]", self.limits))


class RecordedSchema(_Part):
    """The schema."""

    identifying: list[str]
    quasi: list[str]
    sensitive: list[str]
    insensitive: list[str]
    nearly_unique: list[str]
    # Records of earlier versions have neither: at that time every spelling was a value of its own.
    meant: list[list[str]] = []
    variants: dict[str, str] | None = None
    # In a record of an earlier version, which has none, every value counts.
    levels: dict[str, Any] | None = None
    key: str | None
    person: str | None
    types: dict[str, str | list[str]]
    hierarchies: dict[str, dict[str, Any]]

    def schema_of(self) -> Schema:
        """Return the schema."""
        stated = self.model_dump()
        stated["hierarchies"] = {
            column: Hierarchy.from_config(given, column=column)
            for column, given in self.hierarchies.items()
        }
        if self.variants is None:
            stated["variants"] = dict.fromkeys(self.sensitive, "distinct")
        if self.levels is None:
            hidden = [column for column in self.sensitive if column not in self.quasi]
            stated["levels"] = dict.fromkeys(hidden, EVERY_VALUE)
        return Schema(**stated)


class RecordedMethod(_Part):
    """The method: parameters, knowledge as the text of its file, the hash of private cells."""

    name: str
    parameters: dict[str, Any]
    knowledge: dict[str, str]
    private: _Digest | None


class RecordedRepair(_Part):
    """The parameters of a `shoal.repair`."""

    belief_gain: str | None = None
    bandwidth: str | None = None
    foreground: dict[str, Any] | None = None


class Recipe(_Part):
    """Everything that `shoal replay` needs, except the secret."""

    version: int
    table: RecordedTable
    columns: RecordedSchema
    method: RecordedMethod
    repairs: list[RecordedRepair]
    earlier: list[_Digest] = []
    format: Literal["csv", "parquet"]
    versions: dict[str, str]
    files: dict[str, _Digest]
    about: dict[str, str] = {}
    # The version of the renderer that made the documents.
    documents: int = 1


class Record(BaseModel):
    """The part of a record from which its release can be made again."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    format_version: int = 1
    secret: Annotated[_Digest, Field(repr=False)]
    test: bool
    versions: dict[str, str]
    configuration: dict[str, Any] = Field(repr=False)
    accepted_risks: list[str]
    replay: Recipe = Field(repr=False)

    @property
    def bits(self) -> Secret:
        """The secret itself."""
        return Secret.from_hex(self.secret, is_test=self.test)


def record_of(
    release: Release,
    making: Making,
    ending: str,
    files: Mapping[str, str],
    audit: Audit,
) -> str:
    """Return the record of a release as JSON.

    `ending` is the format of its data files, and `files` the SHA-256 of every public file.
    """
    manifest, scan = release.manifest, making.table.scan
    record = {
        "format_version": manifest.version,
        "secret": making.secret.reveal(),
        "test": making.secret.is_test,
        "source": {"name": scan.name, "sha256": scan.digest, "rows": making.table.n_rows},
        "method": {"name": manifest.method, "parameters": dict(manifest.parameters)},
        "configuration": dict(making.configuration),
        "versions": dict(manifest.versions),
        "seconds": {step: round(at, 6) for step, at in making.timings.items()},
        "dropped": {"rows": making.plan.drop.n_rows, "reason": making.plan.drop.reason},
        **making.plan.notes,
        "attacks": {found.attack: dict(found.headline) for found in audit.findings},
        "attack_sections": {
            found.attack: [section.to_dict() for section in found.sections]
            for found in audit.findings
        },
        "attack_scales": {found.attack: found.scale() for found in audit.findings},
        "gate": asdict(audit.gate),
        "measures": {one.measure: one.to_dict() for one in audit.measured},
        "accepted_risks": [] if audit.accepted is None else [audit.accepted],
        "replayed_from": making.replayed_from,
        "replay": {
            "version": _VERSION,
            "table": _stated_table(making.table),
            "columns": _stated_schema(making.table.schema),
            "method": _stated_method(making),
            "repairs": list(making.repairs),
            "earlier": earlier_digests(manifest),
            "format": ending,
            "versions": versions_of(making.table.engine),
            "files": dict(files),
            "about": manifest.about.to_dict(),
            "documents": manifest.documents,
        },
    }
    return json.dumps(record, indent=2, ensure_ascii=False, default=_plain) + "\n"


def earlier_digests(manifest: Manifest) -> list[str]:
    """Return the digests of the earlier releases that a release stays safe beside."""
    joint = [one for one in manifest.guarantees if isinstance(one, JointSafety)]
    return [digest for one in joint for digest in one.earlier]


def _stated_table(table: EngineTable) -> dict[str, object]:
    scan, origin = table.scan, table.scan.origin
    return {
        "address": origin.address,
        "engine": origin.engine,
        "options": dict(origin.options),
        "limits": asdict(origin.limits),
        "sha256": scan.digest,
        "content": content_digest(table) if scan.digest is None else None,
        "rows": table.n_rows,
    }


def _stated_schema(schema: Schema) -> dict[str, object]:
    types = {
        column: one.order if one.type is ColumnType.ORDERED else str(one.type)
        for column, one in schema.types.items()
    }
    return {name: getattr(schema, name) for name in RecordedSchema.model_fields} | {
        "variants": dict(schema.variants),
        "levels": {name: one.to_config() for name, one in schema.levels.items()},
        "types": types,
        "hierarchies": {name: one.to_config() for name, one in schema.hierarchies.items()},
    }


def _stated_method(making: Making) -> dict[str, object]:
    method, private = making.method, making.plan.witnesses.get(HiddenCells.FILE)
    internal = {name: getattr(method, name) for name in method.internal_parameters}
    return {
        "name": snake_case(type(method).__name__),
        "parameters": method.parameters(),
        "knowledge": {
            name: value.to_toml()
            for name, value in internal.items()
            if isinstance(value, Knowledge)
        },
        "private": None if private is None else hashlib.sha256(private).hexdigest(),
    }


def versions_of(engine: Engine) -> dict[str, str]:
    """Return the programs, with versions, that determine the result of an engine and a method."""
    return {
        "shoal": __version__,
        "engine": engine.name,
        "publisher": engine.publisher.name,
        "numpy": np.__version__,
        "scipy": version("scipy"),
    }


def _plain(value: object) -> object:
    """Return a computed parameter in a form that JSON holds."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    # Fractions and decimals as texts, which are exact.
    return float(value) if isinstance(value, np.floating) else str(value)


def read_record(path: Path) -> tuple[Path, Record]:
    """Read a record, given by its own path or that of its internal folder.

    Returns the internal folder and the record. Raises `DataError` if it is no record, or if no
    release can be made from it.
    """
    given = path_of(path)
    file = (given / RECORD if given.is_dir() else given).absolute()
    try:
        stated = parse_json(read_whole(file))
        recipe = stated.get("replay")
        found = None if recipe is None else recipe.get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        raise DataError(
            f"{file.name} cannot be read as the record of a release.", hint=_HINT
        ) from None
    if found is None:
        raise DataError(
            f"{file.name} does not say enough to make its release again.",
            hint="it was written before Shoal could replay; publish the table anew, and ship only "
            "one of the two.",
        )
    if type(found) is not int or found != _VERSION:
        raise DataError(
            f"{file.name} has a section `replay` of another version; this Shoal reads version "
            f"{_VERSION}.",
            hint="replay with the version of Shoal that wrote it.",
        )
    try:
        return file.parent, Record.model_validate(stated)
    except ValidationError as error:
        place = [str(part) for part in error.errors(include_input=False)[0]["loc"][:3]]
        # If somebody changed the file, names in it may be anything.
        where = ".".join(part for part in place if re.fullmatch(r"[a-z0-9_]{1,40}", part))
        raise DataError(
            f"{file.name} lacks an entry or misstates one: {where}.",
            hint="was it changed after it was written?",
        ) from None


def public_name(internal: Path) -> str | None:
    """Return the name of the release of an internal folder; None if its name does not tell."""
    name = internal.name.removesuffix(INTERNAL_SUFFIX)
    return name if name and name != internal.name else None


def earlier_releases(folder: Path, scan: Scan) -> tuple[str, ...]:
    """Return the names of the releases beside a folder that were made from the same source.

    The release in `folder` itself counts. A file is recognized by its digest, whatever its name; a
    source without a digest, such as a table of a database, by its name. A replay counts as the
    release that it repeats.
    """
    own = {"sha256": scan.digest} if scan.digest is not None else {"name": scan.name}
    records = sorted(folder.parent.glob(f"*{INTERNAL_SUFFIX}/{RECORD}"))
    return tuple(
        record.parent.name.removesuffix(INTERNAL_SUFFIX)
        for record in records
        if own.items() <= _source_of(record).items()
    )


def _source_of(record: Path) -> dict[str, object]:
    """Read the source of a release; empty if it only repeats another one beside it."""
    try:
        stated = parse_json(read_whole(record))
        repeated = stated.get("replayed_from")
        if repeated is not None and (record.parents[1] / f"{repeated}{INTERNAL_SUFFIX}").exists():
            return {}
        return dict(stated["source"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
