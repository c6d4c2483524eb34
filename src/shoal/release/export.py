"""Load a sealed release into a Postgres database, all of it or nothing.

Only the public data files are loaded, never an internal one. They are verified first, and counted
before the transaction is committed. The comment of every table states what the release promises.
Bucketized and sliced releases also get the views of the analyst's kit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from shoal.core.domain import ColumnType, Role
from shoal.core.errors import GuaranteeError, InternalError, ParameterError, SchemaError
from shoal.core.manifest import Manifest
from shoal.core.method import Method
from shoal.core.shapes import Contents
from shoal.engines.duckdb.connection import guarded
from shoal.engines.engine import is_postgres_address
from shoal.engines.files import quoted
from shoal.engines.limits import LOCK_TIMEOUT, Limits
from shoal.engines.postgres.connection import Connection, lock_setting
from shoal.engines.postgres.types import copy_into, server_type
from shoal.engines.private_directory import PrivateDirectory
from shoal.release.opened import Release, open_release, path_of, read_manifest
from shoal.release.replacing import Destination, find_destination
from shoal.release.verify import verify
from shoal.utility.views import column_tables, expected_views

_MARK = "Release of Shoal"
_DEFAULT_SCHEMA = "public"
_MOST_BYTES_OF_NAME = 63
_COLLATION = ' COLLATE "C"'
_KINDS = {
    ColumnType.INTEGER: ("BIGINT",),
    ColumnType.REAL: ("DOUBLE",),
    ColumnType.DATE: ("DATE", "TIMESTAMP"),
    ColumnType.BOOLEAN: ("BOOLEAN",),
    # A timestamp is not a date, and Shoal has no type of its own for it.
    ColumnType.CATEGORICAL: ("TIMESTAMP",),
}


@dataclass(frozen=True)
class Export:
    """The tables and views that were written to a database.

    `tables` has the number of rows of each new table, by name.
    """

    schema: str
    tables: dict[str, int]
    views: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the export as JSON holds it."""
        return {"schema": self.schema, "tables": dict(self.tables), "views": list(self.views)}


def export_release(
    release: Release | str | os.PathLike[str],
    address: str,
    *,
    schema: str | None = None,
    name: str | None = None,
    replace: bool = False,
    lock_timeout: int = LOCK_TIMEOUT,
) -> Export:
    """Load the data files of a sealed release as tables of a Postgres database.

    Parameters
    ----------
    release
        A release that was written, or the path of its public folder.
    address
        ``postgresql://...``; keep the password in ``~/.pgpass`` or ``PGPASSWORD``.
    schema
        The schema to make the tables in; it must exist. Default: ``public``.
    name
        The prefix of the table names. Default: the name of the folder.
    replace
        Whether to replace the tables of an earlier release; other tables are never replaced. Who
        may read them stays as it is. Default: False.
    lock_timeout
        The number of seconds to wait for a lock on the tables. Default: 30.

    Returns
    -------
    The new tables, with their numbers of rows, and the views of them.

    Raises
    ------
    GuaranteeError
        If the release fails its verification, or is not sealed.

    Examples
    --------
    >>> import shoal
    >>> shoal.export_release("release", "postgresql://host/open_data")  # doctest: +SKIP
    >>> shoal.export_release("release", "mysql://host/open_data")
    Traceback (most recent call last):
    ...
    shoal.core.errors.ParameterError: A release is written to the address of a Postgres database.
    <BLANKLINE>
    Hint: for example postgresql://host/database.
    """
    _check_address(address)
    folder = release.folder if isinstance(release, Release) else path_of(release)
    if folder is None:
        raise ParameterError(
            "The release is not written yet.",
            hint="write it first, and export the folder: release.write(...).",
        )
    folder = folder.resolve()
    manifest = read_manifest(folder)
    _check_release(folder, manifest)
    name = folder.name if name is None else name
    names = table_names(manifest.data_names, name)
    tables = column_tables(manifest, f"{name}_")
    views = expected_views(tables, f"{name}_") if tables else {}
    comment = _comment(manifest, (folder / "manifest.json").read_bytes())
    opened = open_release(folder)
    with (
        contextlib.closing(opened.files.engine),
        _destination(
            address,
            schema,
            [*names.values(), *views],
            replace=replace,
            lock_timeout=lock_timeout,
        ) as destination,
    ):
        counts = {
            table: _load(destination, opened, file, table, comment) for file, table in names.items()
        }
        _make_views(destination, views, comment)
        destination.connection.commit()
    return Export(destination.schema, counts, tuple(views))


def check_destination(
    address: str,
    tables: Sequence[str],
    *,
    schema: str | None,
    replace: bool,
    lock_timeout: int = LOCK_TIMEOUT,
) -> None:
    """Check before any other work whether the tables can be made in the database.

    Raises `ParameterError`, `SchemaError` or `EngineError` if the schema does not exist, tables are
    in the way, or the database refuses.
    """
    with _destination(address, schema, tables, replace=replace, lock_timeout=lock_timeout):
        pass


def planned_names(method: Method, name: str) -> list[str]:
    """Return the names of the tables for a release of a method; `name` is their prefix."""
    columns = getattr(method, "columns", ())
    n_slices = columns if isinstance(columns, int) else len(columns)
    files = method.shape.files(Contents(slices=((),) * n_slices))
    return list(table_names([file.name for file in files], name).values())


def table_names(files: Sequence[str], name: str) -> dict[str, str]:
    """Return the table name of every data file of a release.

    Examples
    --------
    >>> table_names(["table"], "release")
    {'table': 'release_table'}
    """
    return {file: f"{name}_{file}" for file in files}


def _check_address(address: str) -> None:
    if not is_postgres_address(address):
        raise ParameterError(
            "A release is written to the address of a Postgres database.",
            hint="for example postgresql://host/database.",
        )


def _check_release(folder: os.PathLike[str], manifest: Manifest) -> None:
    if not manifest.is_sealed:
        raise GuaranteeError(
            "The release is not sealed, so it is not meant for others.",
            hint="a test release is sealed only with an accepted risk.",
        )
    verification = verify(folder)
    if not verification.holds:
        raise GuaranteeError(
            "The release fails its verification; nothing was written to the database.",
            hint="; ".join((*verification.problems, *verification.unchecked)),
        )


@contextlib.contextmanager
def _destination(
    address: str, schema: str | None, names: Sequence[str], *, replace: bool, lock_timeout: int
) -> Iterator[Destination]:
    """Yield the tables and views of that name, in a transaction that is rolled back by default."""
    _check_address(address)
    _check_names(names, "tables")
    place = schema or _DEFAULT_SCHEMA
    settings = lock_setting(Limits(lock_timeout=lock_timeout).lock_timeout)
    # A later statement has to see what others committed before it got its lock.
    with contextlib.closing(Connection(address, settings, isolation="READ COMMITTED")) as opened:
        found = opened.run("SELECT oid FROM pg_namespace WHERE nspname = %s", (place,))
        if not found:
            raise SchemaError(
                f"The database has no schema {place!r}.", hint="create it first: CREATE SCHEMA."
            )
        yield find_destination(opened, int(found[0][0]), place, names, mark=_MARK, replace=replace)


def _make_views(destination: Destination, views: Mapping[str, str], comment: str) -> None:
    connection = destination.connection
    connection.run(f"SET LOCAL search_path TO {quoted(destination.schema)}")
    for name, statement in views.items():
        destination.make_view(name, statement)
        connection.run(f"COMMENT ON VIEW {quoted(name)} IS {connection.literal(comment)}")


@guarded()
def _load(destination: Destination, release: Release, file: str, name: str, comment: str) -> int:
    """Make and fill the table of one data file; return its number of rows."""
    files, manifest = release.files, release.manifest
    relation = _typed(files.engine.relation(files.typed_query(file, manifest)), manifest)
    _check_names(relation.columns, "columns")
    columns = [
        (column, server_type(str(kind)).removesuffix(_COLLATION))
        for column, kind in zip(relation.columns, relation.types, strict=True)
    ]
    destination.make_table(name, columns)
    connection, table = destination.connection, destination.place(name)
    directory = PrivateDirectory()
    try:
        copy_into(connection, table, relation, directory.path)
    finally:
        directory.remove()
    connection.run(f"COMMENT ON TABLE {table} IS {connection.literal(comment)}")
    ((n_loaded,),) = connection.run(f"SELECT count(*) FROM {table}")
    ((n_written,),) = relation.aggregate("count(*) AS n").fetchall()
    if n_written != n_loaded:
        raise InternalError("The database holds another number of rows than the release.")
    return int(n_loaded)


def _typed(relation: duckdb.DuckDBPyRelation, manifest: Manifest) -> duckdb.DuckDBPyRelation:
    """Cast insensitive columns, which CSV holds as text, to their types if no text changes."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    stated = {column.name: column for column in manifest.columns}
    selected = []
    for column, kind in kinds.items():
        name = quoted(column)
        entry = stated.get(column)
        if entry is not None and entry.role is Role.INSENSITIVE and kind == "VARCHAR":
            candidates = _KINDS.get(entry.type, ())
            fitting = next((k for k in candidates if _fits(relation, name, k)), None)
            selected.append(f"CAST({name} AS {fitting}) AS {name}" if fitting else name)
        else:
            selected.append(name)
    return relation.project(", ".join(selected))


def _fits(relation: duckdb.DuckDBPyRelation, name: str, kind: str) -> bool:
    changed = f"CAST(TRY_CAST({name} AS {kind}) AS VARCHAR) IS DISTINCT FROM {name}"
    ((n_changed,),) = relation.aggregate(f"count(*) FILTER (WHERE {changed}) AS n").fetchall()
    return bool(n_changed == 0)


def _comment(manifest: Manifest, stated: bytes) -> str:
    promises = " ".join(
        f"{guarantee.name}: {guarantee.statement}. {guarantee.limits}"
        for guarantee in manifest.guarantees
    )
    test = " It is a test release." if manifest.is_test else ""
    return (
        f"{_MARK}: {manifest.extent}, {manifest.shape} by "
        f"{manifest.method}.{test} {promises} SHA-256 of manifest.json: "
        f"{hashlib.sha256(stated).hexdigest()}"
    )


def _check_names(names: Sequence[str], what: str) -> None:
    too_long = [name for name in names if len(name.encode()) > _MOST_BYTES_OF_NAME]
    if too_long:
        raise ParameterError(
            f"{len(too_long)} {what} would have names of more than {_MOST_BYTES_OF_NAME} bytes, "
            "which Postgres cuts.",
            hint="choose a shorter name.",
        )
