"""Tables of an earlier release in a Postgres database, replaced where they are.

Analysts have privileges on the tables of a release, and views and policies of their own. A table
therefore stays what it is: its rows are deleted and loaded anew, so that it keeps its owner,
privileges, row security, indexes and comments on columns, and readers see the old rows until the
new ones are committed. Only columns from the first one on that differs are dropped and added again,
with the privileges that they had.

A view of the analyst's kit can only be replaced in place if its columns stay the same. Otherwise it
is made anew, and gets the owner, the options and exactly the privileges of the old one: the default
privileges of a new view would let others read it who could not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.core.errors import ParameterError
from shoal.engines.files import quoted
from shoal.engines.postgres.connection import Connection

_EXISTING = """
    SELECT relname, relkind = 'v', relkind IN ('r', 'v')
        AND coalesce(starts_with(obj_description(oid, 'pg_class'), %s), false),
        pg_has_role(relowner, 'USAGE')
    FROM pg_class WHERE relnamespace = %s AND relname = ANY(%s) ORDER BY relname
"""
_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = CAST(%s AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_GRANTS = """
    SELECT CAST(NULL AS text), r.rolname, a.privilege_type, a.is_grantable
    FROM pg_class c CROSS JOIN aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.oid = CAST(%s AS regclass) AND a.grantee <> c.relowner
    UNION ALL
    SELECT t.attname, r.rolname, a.privilege_type, a.is_grantable
    FROM pg_attribute t CROSS JOIN aclexplode(t.attacl) a JOIN pg_class c ON c.oid = t.attrelid
    LEFT JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.oid = CAST(%s AS regclass) AND a.grantee <> c.relowner AND NOT t.attisdropped
    ORDER BY 1, 2, 3
"""
_OF_VIEW = """
    SELECT r.rolname, coalesce(c.reloptions, CAST('{}' AS text[]))
    FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE c.oid = CAST(%s AS regclass)
"""
_FULL_NAMES = {"timestamp": "timestamp without time zone"}
"""Types whose name in the catalog is longer than the one in statements."""


@dataclass(frozen=True)
class Grant:
    """A privilege of a role on a table or view, or on a column of it."""

    column: str | None
    # None for everybody.
    role: str | None
    privilege: str
    is_grantable: bool

    def statement(self, name: str) -> str:
        """Return the statement that grants the privilege again."""
        column = "" if self.column is None else f" ({quoted(self.column)})"
        option = " WITH GRANT OPTION" if self.is_grantable else ""
        return f"GRANT {self.privilege}{column} ON {name} TO {self.grantee}{option}"

    @property
    def grantee(self) -> str:
        """The role as statements name it."""
        return "PUBLIC" if self.role is None else quoted(self.role)


@dataclass(frozen=True)
class _View:
    """What a view has beside its query."""

    owner: str
    options: Mapping[str, str]
    grants: tuple[Grant, ...]


@dataclass
class Destination:
    """The tables and views of a release in a schema, some of which may be there already."""

    connection: Connection
    schema: str
    # The names of the tables and views of an earlier release.
    tables: frozenset[str]
    views: frozenset[str]
    _dropped: dict[str, _View] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Return the full name of a table or view, quoted."""
        return f"{quoted(self.schema)}.{quoted(name)}"

    def make_table(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Make an empty table with some columns, given with their types; keep one that is there."""
        table, run = self.place(name), self.connection.run
        if name in self.views:
            run(f"DROP VIEW {table}")
        if name not in self.tables:
            run(f"CREATE TABLE {table} ({_listed(columns)})")
            return
        # Readers may go on, but nobody else writes.
        run(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        wanted = [(column, _FULL_NAMES.get(kind, kind)) for column, kind in columns]
        present = [(str(column), str(kind)) for column, kind in run(_COLUMNS, (table,))]
        if present != wanted:
            self._drop_views()
            self._change_columns(table, present, wanted)
        run(f"DELETE FROM {table}")

    def _change_columns(
        self, table: str, present: Sequence[tuple[str, str]], wanted: Sequence[tuple[str, str]]
    ) -> None:
        pairs = zip(present, wanted, strict=False)
        n_same = next((at for at, (old, new) in enumerate(pairs) if old != new), None)
        if n_same is None:
            n_same = min(len(present), len(wanted))
        dropped, added = present[n_same:], wanted[n_same:]
        new = {column for column, _ in added}
        kept = [grant for grant in self._grants(table) if grant.column in new]
        changes = [f"DROP COLUMN {quoted(column)}" for column, _ in dropped]
        changes += [f"ADD COLUMN {_listed([column])}" for column in added]
        # One by one: a name may be dropped and added again.
        for change in changes:
            self.connection.run(f"ALTER TABLE {table} {change}")
        self._grant(table, kept)

    def _drop_views(self) -> None:
        """Drop the views of the earlier release, which read columns that change."""
        for name in sorted(self.views - self._dropped.keys()):
            self._dropped[name] = self._view(name)
        listed = ", ".join(self.place(name) for name in sorted(self._dropped))
        if listed:
            self.connection.run(f"DROP VIEW IF EXISTS {listed}")

    def make_view(self, name: str, statement: str) -> None:
        """Make a view by a statement that replaces one with the same columns."""
        view = self.place(name)
        if name in self.tables:
            self.connection.run(f"DROP TABLE {view}")
        earlier = self._dropped.get(name)
        if earlier is None and name in self.views:
            earlier = self._view(name)
        self.connection.run(statement)
        if earlier is None:
            return
        # A view that is replaced in place keeps its owner and its privileges, but not its options.
        self.connection.run(f"ALTER VIEW {view} OWNER TO {quoted(earlier.owner)}")
        for option, value in earlier.options.items():
            setting = f"{quoted(option)} = {self.connection.literal(value)}"
            self.connection.run(f"ALTER VIEW {view} SET ({setting})")
        for grantee in dict.fromkeys(grant.grantee for grant in self._grants(view)):
            self.connection.run(f"REVOKE ALL ON {view} FROM {grantee}")
        present = {str(column) for column, _ in self.connection.run(_COLUMNS, (view,))}
        self._grant(view, (g for g in earlier.grants if g.column in {None, *present}))

    def _view(self, name: str) -> _View:
        view = self.place(name)
        ((owner, options),) = self.connection.run(_OF_VIEW, (view,))
        pairs = dict(option.split("=", 1) for option in options)
        return _View(str(owner), pairs, tuple(self._grants(view)))

    def _grants(self, name: str) -> list[Grant]:
        return [Grant(*row) for row in self.connection.run(_GRANTS, (name, name))]

    def _grant(self, name: str, grants: Iterable[Grant]) -> None:
        for grant in grants:
            self.connection.run(grant.statement(name))


def find_destination(
    connection: Connection,
    namespace: int,
    schema: str,
    names: Sequence[str],
    *,
    mark: str,
    replace: bool,
) -> Destination:
    """Find which of some tables and views exist, and refuse those that may not be replaced.

    `namespace` is the number of the schema. A release is recognized by its comment, which begins
    with `mark`.
    """
    found: list[Any] = connection.run(_EXISTING, (mark, namespace, list(names)))
    for name, is_view, is_release, is_owned in found:
        if not replace:
            raise ParameterError(
                f"The database has a {'view' if is_view else 'table'} {schema}.{name} already.",
                hint="choose another name or schema, or replace it: --replace (in Python: "
                "replace=True).",
            )
        if not is_release:
            raise ParameterError(
                f"{schema}.{name} is not a release of Shoal, so it is not replaced.",
                hint="choose another name or schema.",
            )
        if not is_owned:
            raise ParameterError(
                f"{schema}.{name} belongs to another role, so it cannot be replaced.",
                hint="connect as its owner, or as a member of that role.",
            )
    views = frozenset(str(name) for name, is_view, *_ in found if is_view)
    tables = frozenset(str(name) for name, is_view, *_ in found if not is_view)
    return Destination(connection, schema, tables, views)


def _listed(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
