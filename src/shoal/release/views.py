"""The SQL files of a release: its data files as tables, and the analyst's kit as views of them.

One for DuckDB, which reads the data files where they are, and one for Postgres, into which `psql`
loads them where they are CSV. Both are made of the names and types of the manifest alone, so they
say nothing that it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.analyse.column_tables import ColumnTable, bucketized_tables, quoted, sliced_tables
from shoal.analyse.views import views_text
from shoal.core.domain import ColumnType
from shoal.core.method import Shape
from shoal.core.release import BUCKET, COUNT, Manifest
from shoal.core.schema import Role
from shoal.engines.csv_dialect import Dialect, csv_relation
from shoal.engines.domains import SQL_TYPES
from shoal.engines.limits import Limits
from shoal.engines.paths import literal

__all__ = ["DUCKDB_VIEWS", "POSTGRES_VIEWS", "column_tables", "view_files"]

DUCKDB_VIEWS = "views.duckdb.sql"
POSTGRES_VIEWS = "views.postgres.sql"

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


def column_tables(manifest: Manifest, prefix: str = "") -> tuple[ColumnTable, ...]:
    """Describe the tables that hold the columns of a release; none where it has no such columns.

    Parameters
    ----------
    manifest
        What the release says of itself.
    prefix
        What the names of the tables begin with.
    """
    if manifest.shape is Shape.SLICED:
        tables = sliced_tables(manifest.slices)
    elif manifest.shape is Shape.BUCKETIZED:
        quasi = (*manifest.columns_of(Role.QUASI), *manifest.columns_of(Role.INSENSITIVE))
        tables = bucketized_tables(quasi, manifest.columns_of(Role.SENSITIVE))
    else:
        tables = ()
    return tuple(
        ColumnTable(f"{prefix}{table.name}", table.attributes, table.has_count) for table in tables
    )


def view_files(manifest: Manifest) -> dict[str, str]:
    """Write the SQL files of a release, by their names.

    Parameters
    ----------
    manifest
        What the release says of itself.

    Returns
    -------
    Nothing for a release whose lines are people. The file for Postgres is left out where that has
    no room for as many columns, or cuts the names of two to the same one.
    """
    tables = column_tables(manifest)
    if not tables:
        return {}
    files = {DUCKDB_VIEWS: _duckdb_text(manifest, tables)}
    if _fits_postgres(manifest):
        files[POSTGRES_VIEWS] = _postgres_text(manifest, tables)
    return files


def _columns(manifest: Manifest, tables: Sequence[ColumnTable]) -> dict[str, dict[str, str]]:
    """Give for each data file its columns and their types, as DuckDB names these."""
    kinds = {column.name: _type_of(column.type) for column in manifest.columns}
    for column in manifest.columns:
        # Labels are texts; insensitive columns are whatever they were.
        if column.is_recoded or column.role is Role.INSENSITIVE:
            kinds[column.name] = "VARCHAR"
    columns = {
        table.name: {BUCKET: "BIGINT"}
        | {name: kinds[name] for name in table.attributes}
        | ({COUNT: "BIGINT"} if table.has_count else {})
        for table in tables
    }
    if manifest.shape is Shape.SLICED:
        every = {name: kinds[name] for table in tables for name in table.attributes}
        columns["sliced"] = {BUCKET: "BIGINT"} | every
    return columns


def _type_of(kind: ColumnType) -> str:
    return SQL_TYPES.get(kind, "VARCHAR")


def _cast(column: str, kind: str) -> str:
    name = quoted(column)
    return name if kind == "VARCHAR" else f"CAST({name} AS {kind}) AS {name}"


def _duckdb_text(manifest: Manifest, tables: Sequence[ColumnTable]) -> str:
    parts = [_IN_DUCKDB.format(file=DUCKDB_VIEWS)]
    for name, columns in _columns(manifest, tables).items():
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
    for name, columns in _columns(manifest, tables).items():
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
