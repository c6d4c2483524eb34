"""Publish some rows of a table, apart from the others.

Rows are held as codes and staged in an engine of their own; nothing of them is ever written. They
keep their keys, and their private cells are those of the table, whose filters may go by columns
that are not at hand any more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import ColumnType, Domain, Texts
from shoal.core.method import Method
from shoal.core.private_cells import Marks, PrivateCells
from shoal.core.release import Published
from shoal.core.rows import MOST_ROWS, Rows
from shoal.core.schema import ColumnDeclaration, Schema
from shoal.core.secret import Secret
from shoal.engines.duckdb import DuckDB
from shoal.engines.marking import mark_cells
from shoal.engines.table import EngineTable
from shoal.pipeline.anonymize import made_release, problem_of
from shoal.pipeline.release import Making

__all__ = ["publish_part", "schema_of_rows", "table_of_rows"]


def publish_part(making: Making, rows: Rows, members: Codes, method: Method) -> Published:
    """Publish a part of a table.

    Parameters
    ----------
    making
        What only the maker of a release of the whole table knows.
    rows, members
        Rows of that table, and the places of those that are published.
    method
        How.
    """
    secret = making.secret
    own = Secret(secret.derive("held-out release"), is_test=secret.is_test)
    with table_of_rows(rows, members, schema_of_rows(making.table)) as table:
        cells = method.private_cells
        private = None if cells is None else _marked(making.table, cells)
        problem = problem_of(table, method, own, private)
        return made_release(table, method, problem).published


@contextlib.contextmanager
def table_of_rows(rows: Rows, members: Codes | slice, schema: Schema) -> Iterator[EngineTable]:
    """Give some rows as a table of an engine of its own.

    Parameters
    ----------
    rows, members
        Rows of a table, and the places of those that are taken.
    schema
        What `schema_of_rows` gave for that table.
    """
    assert rows.keys is not None
    assert schema.key is not None
    columns: dict[str, Texts] = {
        domain.column: _texts(domain)[rows.codes[members, place]]
        for place, domain in enumerate(rows.domains)
    }
    engine = DuckDB()
    try:
        scan = engine.scan({schema.key: rows.keys[members], **columns})
        yield EngineTable(engine, scan, schema)
    finally:
        engine.close()


def schema_of_rows(table: EngineTable) -> Schema:
    """Give the roles of the columns that guarantees are about, and the types that they have."""
    schema, coded = table.schema, table.schema.coded
    return Schema(
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        hierarchies={name: one for name, one in schema.hierarchies.items() if name in coded},
        types={name: _declaration(table, name) for name in coded},
        key=_free_name(coded),
        # The spellings that are left are those that the steward keeps apart.
        variants=dict.fromkeys(schema.sensitive, "distinct"),
    )


def _marked(table: EngineTable, cells: PrivateCells) -> Callable[[Rows], Marks]:
    """Mark the private cells of a part as they are marked in the table."""
    rows = table.row_codes(MOST_ROWS)
    assert rows.keys is not None
    marks = mark_cells(table, cells, rows)
    place_of = {key: place for place, key in enumerate(rows.keys.tolist())}

    def marked(part: Rows) -> Marks:
        assert part.keys is not None
        chosen: Marks = marks[[place_of[key] for key in part.keys.tolist()]]
        return chosen

    return marked


def _texts(domain: Domain) -> Texts:
    texts: Texts = np.array([*domain.labels(), None], dtype=object)[:-1]
    return texts


def _free_name(columns: Sequence[str]) -> str:
    """Give a name for the key that no column has, whatever the case."""
    taken = {column.lower() for column in columns}
    name = "row_key"
    while name in taken:
        name += "_"
    return name


def _declaration(table: EngineTable, column: str) -> ColumnDeclaration:
    domain = table.domains[column]
    is_ordered = domain.type is ColumnType.ORDERED
    return ColumnDeclaration(domain.type, tuple(domain.texts.tolist()) if is_ordered else None)
