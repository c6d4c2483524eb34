"""The documents of a release: codebook, DDI, reports and SQL, and the scan before they are written.

What a public document may show is decided here, from counts taken before anything is written. Each
document is made twice: from the release, and from a skeleton in which names and labels mean
nothing. Text that occurs in both is ours; `shoal.release.scanning` searches the rest for anything
that would reveal something about a person.

The SQL files have the data files as tables, and the analyst's kit as views of them. One is for
DuckDB, which reads the data files in place; the other is for Postgres, into which `psql` loads them
if they are CSV. Both are made only of the names and types in the manifest, so they reveal nothing
that it does not state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.domain import Domain, Role
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import Published
from shoal.core.shapes import BUCKET, COUNT
from shoal.engines.csv_files import Dialect, csv_relation
from shoal.engines.files import literal
from shoal.engines.limits import Limits
from shoal.engines.sql.domains import SQL_TYPES
from shoal.engines.sql.staged_files import StagedFiles
from shoal.hierarchies.rows import rows_text
from shoal.release.labels import labels_text
from shoal.release.opened import Making, Release, hierarchy_file
from shoal.release.people_at_risk import AtRisk
from shoal.release.record import Audit
from shoal.release.scanning import LeakScan
from shoal.release.witnesses import known_to_maker
from shoal.report.codebook import codebook, ddi_codebook
from shoal.report.internal_report import Evidence, internal_report
from shoal.report.public_report import public_report
from shoal.slicing.correlation import Correlations, correlations
from shoal.utility.views import ColumnTable, column_tables, quoted, views_text

CODEBOOK = "codebook.md"
DDI = "codebook.xml"
REPORT = "report.html"
LABELS = "labels.json"
MANIFEST = "manifest.json"
DUCKDB_VIEWS = "views.duckdb.sql"
POSTGRES_VIEWS = "views.postgres.sql"
# The version of the renderer of public documents; another version may write other bytes.
DOCUMENTS_VERSION = 4
_MOST_CORRELATED = 100_000

_POSTGRES_TYPES = {
    "BIGINT": "bigint",
    "DOUBLE": "double precision",
    "DATE": "date",
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
}
_MOST_BYTES_OF_NAME = 63
_MOST_COLUMNS = 1600
_IN_DUCKDB = "-- For DuckDB, run in this folder: duckdb -init {file}"
_IN_POSTGRES = """-- For Postgres, run in this folder: psql -f {file}
-- Tables of these names are made in the first schema of the search path."""
_NOT_LOADED = """-- The data files are Parquet, which psql cannot load: fill the tables otherwise.
-- `shoal publish --to-database` loads a release and makes these views by itself."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What documents show of a release, counted before it is written."""

    # The number of rows of each bucket.
    bucket_sizes: Counts
    # The number of rows that carry each value, by column.
    values: Mapping[str, Mapping[str, int]] = field(repr=False)


def count_for_documents(release: Release, ending: str) -> Counted:
    """Count what documents show, while the counts of the release are still in memory.

    `ending` is the format of the data files, by which the texts of numbers may differ.
    """
    counted = count_of(release.published)
    if ending != "parquet":
        return counted
    assert isinstance(release.files, StagedFiles)
    values = {}
    for column in release.manifest.columns:
        carried = counted.values.get(column.name, {})
        texts = release.files.parquet_texts(column, list(carried))
        values[column.name] = Counter[str]()
        for text, n_rows in zip(texts, carried.values(), strict=True):
            values[column.name][text] += n_rows
    return replace(counted, values=values)


def count_of(published: Published) -> Counted:
    """Count what documents show, in the data files."""
    values = {domain.column: _carried(domain, *shown) for domain, *shown in published.columns()}
    return Counted(published.bucket_sizes, values)


def _carried(domain: Domain, codes: Codes, counts: Counts) -> dict[str, int]:
    carried = np.bincount(codes, counts, domain.size).astype(np.int64)
    return dict(zip(domain.texts.tolist(), carried.tolist(), strict=False))


def public_documents(
    release: Release, making: Making, counted: Counted, scan: LeakScan
) -> dict[str, str]:
    """Return every public file that is text, by its name, except the manifest.

    Raises `GuaranteeError` if one of them would hold something that must not be published, such as
    what an attack found.
    """
    manifest = release.manifest
    texts = documents_of(manifest, release.meanings, counted)
    texts |= {
        hierarchy_file(column): rows_text(rows) for column, rows in making.hierarchies.items()
    }
    bare = documents_of(*_skeleton(manifest, release.meanings), replace(counted, values={}))
    scan.refuse_leaking(manifest, texts, bare)
    return texts


def manifest_text(release: Release, scan: LeakScan) -> str:
    """Return the manifest, once it states the digests of all other files.

    Raises `GuaranteeError` as `public_documents` does.
    """
    manifest = release.manifest
    bare, _ = _skeleton(manifest, release.meanings)
    text = manifest.to_json()
    scan.refuse_leaking(manifest, {MANIFEST: text}, {MANIFEST: bare.to_json()})
    return text


def documents_of(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], counted: Counted
) -> dict[str, str]:
    """Return the public documents, made only of what is public."""
    names = [column.name for column in manifest.columns if column.name in meanings]
    told = {name: meanings[name] for name in names}
    has_text = meanings and manifest.labels_file == LABELS
    return {
        **({LABELS: labels_text(meanings)} if has_text else {}),
        CODEBOOK: codebook(manifest, told),
        DDI: ddi_codebook(manifest, told, counted.values),
        REPORT: public_report(manifest, told, counted.bucket_sizes),
        **view_files(manifest),
    }


def _skeleton(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
) -> tuple[Manifest, dict[str, dict[str, Meaning]]]:
    """Return a manifest and labels of the same form in which no name means anything."""
    names = {column.name: f"x{place}" for place, column in enumerate(manifest.columns)}
    columns = tuple(replace(column, name=names[column.name]) for column in manifest.columns)
    slices = tuple(tuple(names[name] for name in one) for one in manifest.slices)
    meaning = Meaning(("0", "1"), frozenset("x"), has_other=True, has_missing=True)
    told = {names[column]: {"x": meaning} for column in meanings}
    levels = tuple(replace(level, column=names[level.column]) for level in manifest.levels)
    skeleton = replace(manifest, columns=columns, slices=slices, levels=levels, remarks=())
    return skeleton, told


def steward_report(
    release: Release, making: Making, risks: Mapping[str, AtRisk], audit: Audit
) -> str:
    """Return the internal report; `risks` are the people at risk, by attack."""
    schema, plan, gate = making.table.schema, making.plan, audit.gate
    roles = {
        Role.IDENTIFYING: schema.identifying,
        Role.QUASI: schema.quasi,
        Role.SENSITIVE: schema.sensitive,
        Role.INSENSITIVE: schema.insensitive,
    }
    evidence = Evidence(
        roles={str(role): columns for role, columns in roles.items()},
        findings=audit.findings,
        risks={attack: one.sections for attack, one in risks.items()},
        unsaid={attack: one.unsaid for attack, one in risks.items()},
        verdicts=gate.verdicts,
        not_run=gate.not_run,
        knowledge=known_to_maker(release),
        measured=audit.measured,
        correlations=_correlations(making),
        dropped=(plan.drop.n_rows, plan.drop.reason),
        accepted=() if audit.accepted is None else (audit.accepted,),
        warnings=(*gate.warnings, *plan.warnings),
        remarks=plan.remarks,
        notes=plan.notes,
        seconds=making.timings,
    )
    return internal_report(release.manifest, release.meanings, evidence)


def _correlations(making: Making) -> Correlations | None:
    """Correlate the columns of a table, unless it is too large for that."""
    table = making.table
    if table.n_rows > _MOST_CORRELATED or len(table.schema.coded) < 2:
        return None
    return correlations(table.counts(table.schema.coded))


# SQL ---------------------------------------------------------------------------------------


def view_files(manifest: Manifest) -> dict[str, str]:
    """Return the SQL files of a release, by name; none for a release whose lines are people.

    The file for Postgres is left out if Postgres has no room for as many columns, or would cut the
    names of two columns to the same one.
    """
    tables = column_tables(manifest)
    if not tables:
        return {}
    files = {DUCKDB_VIEWS: _duckdb_text(manifest, tables)}
    if _fits_postgres(manifest):
        files[POSTGRES_VIEWS] = _postgres_text(manifest, tables)
    return files


def _columns(manifest: Manifest) -> dict[str, dict[str, str]]:
    """Return the columns of each data file and their types, by DuckDB's names."""
    kinds = {BUCKET: "BIGINT", COUNT: "BIGINT"}
    for column in manifest.columns:
        # Labels are texts; insensitive columns may be of any type.
        is_text = column.is_recoded or column.role is Role.INSENSITIVE
        kinds[column.name] = "VARCHAR" if is_text else SQL_TYPES.get(column.type, "VARCHAR")
    return {file.name: {name: kinds[name] for name in file.header} for file in manifest.data_files}


def _cast(column: str, kind: str) -> str:
    name = quoted(column)
    return name if kind == "VARCHAR" else f"CAST({name} AS {kind}) AS {name}"


def _duckdb_text(manifest: Manifest, tables: Sequence[ColumnTable]) -> str:
    parts = [_IN_DUCKDB.format(file=DUCKDB_VIEWS)]
    for name, columns in _columns(manifest).items():
        path = Path(f"{name}.{manifest.format}")
        if manifest.format == "csv":
            dialect = Dialect(",", '"', "utf-8", tuple(columns), is_compressed=False)
            source = csv_relation(path, dialect, Limits())
            selected = ", ".join(map(_cast, columns, columns.values()))
        else:
            source, selected = f"read_parquet({literal(path)})", "*"
        parts.append(f"CREATE OR REPLACE VIEW {quoted(name)} AS\nSELECT {selected}\nFROM {source};")
    return "\n\n".join([*parts, views_text(tables)])


def _postgres_text(manifest: Manifest, tables: Sequence[ColumnTable]) -> str:
    parts = [_IN_POSTGRES.format(file=POSTGRES_VIEWS)]
    is_loaded = manifest.format == "csv"
    if not is_loaded:
        parts.append(_NOT_LOADED)
    for name, columns in _columns(manifest).items():
        listed = ", ".join(
            f"{quoted(column)} {_POSTGRES_TYPES[kind]}" for column, kind in columns.items()
        )
        parts.append(f"CREATE TABLE {quoted(name)} ({listed});")
        if is_loaded:
            file = literal(f"{name}.csv")
            parts.append(
                f"\\copy {quoted(name)} FROM {file} (FORMAT csv, HEADER true, ENCODING 'UTF8')"
            )
    return "\n\n".join([*parts, views_text(tables)])


def _fits_postgres(manifest: Manifest) -> bool:
    names = [BUCKET, COUNT, *(column.name for column in manifest.columns)]
    cut = {name.encode()[:_MOST_BYTES_OF_NAME].decode(errors="ignore") for name in names}
    return len(names) <= _MOST_COLUMNS and len(cut) == len(names)
