"""The SQL files of a release: its data files as tables, and the analyst's kit as views of them.

One is for DuckDB, which reads the data files in place; the other is for Postgres, into which `psql`
loads them if they are CSV. Both are made only of the names and types in the manifest, so they
reveal nothing that it does not state.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoal.core.domain import ColumnType, Role
from shoal.core.manifest import Manifest
from shoal.core.shapes import BUCKET, COUNT
from shoal.engines.csv_files import Dialect, csv_relation
from shoal.engines.files import literal
from shoal.engines.limits import Limits
from shoal.engines.sql.domains import SQL_TYPES
from shoal.utility.moment_queries import ColumnTable, column_tables, quoted
from shoal.utility.views import views_text

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
    kinds |= {column.name: _type_of(column.type) for column in manifest.columns}
    for column in manifest.columns:
        # Labels are texts; insensitive columns may be of any type.
        if column.is_recoded or column.role is Role.INSENSITIVE:
            kinds[column.name] = "VARCHAR"
    return {file.name: {name: kinds[name] for name in file.header} for file in manifest.data_files}


def _type_of(kind: ColumnType) -> str:
    return SQL_TYPES.get(kind, "VARCHAR")


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
