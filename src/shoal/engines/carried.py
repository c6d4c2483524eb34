"""Insensitive columns: staged as they are, checked once, and published unchanged."""

from __future__ import annotations

import numpy as np

from shoal.core.domain import SUPPRESSED, ColumnType, Texts
from shoal.core.errors import DataError
from shoal.core.schema import Schema
from shoal.engines.domains import build_domain, infer_type, type_of_engine
from shoal.engines.engine import Engine, Scan
from shoal.engines.texts import texts_of

__all__ = ["carried_expression", "carried_kind", "carried_type", "check_carried"]

_FEW = 3
"""A value that fewer rows than this share singles people out nearly as well as one of their own."""


def carried_expression(engine: Engine, column: str, kind: str) -> str:
    """Return the expression of an insensitive column: itself, but without a list of categories.

    An enumeration brings the categories of all rows that were ever in it, published or not.
    """
    name = engine.quote(column)
    return engine.cast(name, "VARCHAR") if _is_enumeration(kind) else name


def carried_kind(kind: str) -> str:
    """Return the type that an insensitive column is staged with."""
    return "VARCHAR" if _is_enumeration(kind) else kind


def _is_enumeration(engine_type: str) -> bool:
    # Also within a list or a structure.
    return "ENUM(" in engine_type


def check_carried(
    engine: Engine, name: str, column: str, kind: str, schema: Schema, n_rows: int
) -> None:
    """Refuse an insensitive column that no release may hold.

    Parameters
    ----------
    engine
        The engine that has staged the table as `source`.
    name, column
        The name of the column there, and its own.
    kind
        The type that it is staged with.
    schema
        The roles and declared types of the columns.
    n_rows
        The number of rows.

    Raises
    ------
    DataError
        If it holds the mark of suppressed values, NUL characters, values of another type than the
        declared one, or mostly values that few rows share.
    """
    if kind == "VARCHAR":
        _refuse_marks(engine, name, column)
    declared = schema.types.get(column)
    if declared is not None:
        values = _distinct(engine, f"SELECT DISTINCT {engine.text(name, kind)} AS v FROM source")
        build_domain(column, declared.type, values.tolist(), order=declared.order)
    if column not in schema.nearly_unique:
        _refuse_nearly_unique(engine, name, column, n_rows)


def _refuse_marks(engine: Engine, name: str, column: str) -> None:
    query = f"SELECT count(*) AS n FROM source WHERE {name} = '{SUPPRESSED}'"
    if int(engine.rows(query)["n"][0]):
        raise DataError(
            f"Column {column!r} holds the literal value {SUPPRESSED!r}, which means "
            "suppressed in a release.",
            hint="write it otherwise, or leave it empty where it means missing.",
        )
    query = f"SELECT count(*) AS n FROM source WHERE {engine.has_nul(name)}"
    if int(engine.rows(query)["n"][0]):
        raise DataError(
            f"Column {column!r} holds NUL characters.",
            hint="take them out: most readers cut a text off there.",
        )


def _refuse_nearly_unique(engine: Engine, name: str, column: str, n_rows: int) -> None:
    fetched = engine.rows(
        f"SELECT {engine.cast('coalesce(sum(n), 0)', 'BIGINT')} AS n_rare, "
        "count(CASE WHEN n = 1 THEN 1 END) AS n_unique FROM "
        f"(SELECT count(*) AS n FROM source GROUP BY {name} HAVING count(*) < {_FEW}) rare"
    )
    n_unique, n_rare = int(fetched["n_unique"][0]), int(fetched["n_rare"][0])
    if 2 * n_rare <= n_rows:
        return
    found = (
        f"{n_unique} of {n_rows} rows have a value of their own there"
        if 2 * n_unique > n_rows
        else f"{n_rare} of {n_rows} rows have a value there that fewer than {_FEW} share"
    )
    raise DataError(
        f"Column {column!r} is insensitive, so it would be published as it is, but {found}: "
        "it singles people out.",
        hint="give it the role identifying or quasi, or, where it is meant, name it in "
        "nearly_unique.",
    )


def carried_type(engine: Engine, scan: Scan, column: str, name: str, published: str) -> ColumnType:
    """Return the type of the values that a release shows of an undeclared insensitive column.

    Rows that are left out do not count: the type must not tell that one of them had another.

    Parameters
    ----------
    engine
        The engine that has laid out what is published.
    scan
        The source, which may have types of its own.
    column, name
        The column, and its name in what is published.
    published
        What stands behind FROM.
    """
    if scan.is_text:
        values = _distinct(engine, f"SELECT DISTINCT {name} AS v FROM {published}")
        return infer_type(values[values != None])  # noqa: E711 - by element
    kind = carried_kind(scan.types[column])
    if kind.startswith("TIMESTAMP"):
        day = engine.cast(engine.cast(name, "DATE"), "TIMESTAMP")
        found = engine.rows(f"SELECT count(*) AS n FROM {published} WHERE {name} <> {day}")
        # A moment of the day is more than a date, and Shoal has no type for it.
        return ColumnType.CATEGORICAL if int(found["n"][0]) else ColumnType.DATE
    try:
        return type_of_engine(column, kind)
    except DataError:
        return ColumnType.CATEGORICAL


def _distinct(engine: Engine, query: str) -> Texts:
    values: Texts = np.array([*texts_of(engine.rows(query)["v"]), None], dtype=object)[:-1]
    return values
