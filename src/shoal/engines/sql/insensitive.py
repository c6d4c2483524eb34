"""Insensitive columns: carried along with the rows, and published as they are.

They are neither coded nor planned for, so nothing that a method does hides them. Here they are
refused where no release could hold them or where hardly two rows agree in one, and counted beside
coded columns, so that `shoal.knowledge.insensitive_columns` finds what they tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells
from shoal.core.domain import SUPPRESSED, ColumnType, NumberedDomain, Texts
from shoal.core.errors import DataError
from shoal.core.schema import Schema
from shoal.core.toml_text import text
from shoal.engines.domains import build_domain, infer_type, type_of_engine
from shoal.engines.engine import Engine, Scan
from shoal.engines.texts import texts_of

if TYPE_CHECKING:
    from shoal.engines.table import EngineTable

__all__ = [
    "carried_expression",
    "carried_kind",
    "carried_type",
    "check_declared",
    "count_beside_carried",
    "count_published",
    "count_table",
    "refuse_reserved_carried",
    "refuse_unique",
]

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


def refuse_reserved_carried(engine: Engine, name: str, column: str, kind: str) -> None:
    """Refuse an insensitive column of texts that no release could hold.

    Parameters
    ----------
    engine
        The engine, in which the column is staged.
    name, column, kind
        What the column is called there and in the table, and its type.
    """
    if kind != "VARCHAR" and not _is_enumeration(kind):
        return
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


def refuse_unique(engine: Engine, name: str, column: str, n_rows: int) -> None:
    """Refuse an insensitive column in which hardly two rows agree.

    Parameters
    ----------
    engine
        The engine, in which the column is staged.
    name, column
        What the column is called there and in the table.
    n_rows
        The number of rows.
    """
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
        hint="give it the role identifying or quasi; or, if nobody can know it of others, confirm "
        f"it in [columns]: meant = [[{text(column)}]]",
    )


def count_table(table: EngineTable, columns: Sequence[str]) -> Cells:
    """Count the combinations of some coded columns and all insensitive ones, in the whole table.

    Parameters
    ----------
    table
        The table.
    columns
        The coded columns, with their original values.

    Returns
    -------
    The cells: the coded columns, then the insensitive ones by numbers that mean nothing.
    """
    names = {column: table.code_name(column) for column in columns}
    return count_beside_carried(table.engine, "coded", names, _names(table))


def count_published(table: EngineTable, number: int, columns: Sequence[str]) -> Cells:
    """Count the combinations of some coded columns and all insensitive ones, as published.

    Parameters
    ----------
    table
        The table.
    number
        The number under which the engine keeps the release.
    columns
        The coded columns; equal numbers mean that the release shows the same.
    """
    names = {column: f"p{table.schema.coded.index(column)}" for column in columns}
    engine = table.engine.publisher
    return count_beside_carried(engine, f"published_{number}", names, _names(table))


def _names(table: EngineTable) -> dict[str, str]:
    return {column: f"x{place}" for place, column in enumerate(table.schema.insensitive)}


def count_beside_carried(
    engine: Engine, relation: str, coded: Mapping[str, str], carried: Mapping[str, str]
) -> Cells:
    """Count the combinations of columns of whole numbers and of columns of anything.

    Parameters
    ----------
    engine, relation
        Where they are staged.
    coded, carried
        The columns of codes and the others, each with its name there.

    Returns
    -------
    The cells. Equal values of a column have equal numbers, which mean nothing else.
    """
    kinds: dict[str, npt.DTypeLike] = dict.fromkeys(coded.values(), np.int32)
    joins, selected = "", [f"t.{name}" for name in coded.values()]
    for place, name in enumerate(carried.values()):
        engine.stage(
            f"seen_{place}",
            "SELECT v, row_number() OVER (ORDER BY n DESC) - 1 AS code FROM "
            f"(SELECT {name} AS v, count(*) AS n FROM {relation} GROUP BY {name}) d",
        )
        joins += f" JOIN seen_{place} d{place} ON t.{name} IS NOT DISTINCT FROM d{place}.v"
        selected.append(f"d{place}.code AS s{place}")
        kinds[f"s{place}"] = np.int32
    listed = ", ".join(kinds)
    fetched = engine.arrays(
        f"SELECT {listed}, count(*) AS n FROM (SELECT {', '.join(selected)} FROM {relation} t"
        f"{joins}) g GROUP BY {listed} ORDER BY {listed}",
        kinds | {"n": np.int64},
    )
    for place in range(len(carried)):
        engine.drop(f"seen_{place}")
    domains = tuple(
        NumberedDomain(column, np.arange(1, int(fetched[name].max(initial=-1)) + 2))
        for column, name in zip((*coded, *carried), kinds, strict=True)
    )
    codes = np.empty((len(fetched["n"]), len(kinds)), dtype=np.int64, order="F")
    for place, name in enumerate(kinds):
        codes[:, place] = fetched.pop(name)
    return Cells(domains, codes, fetched["n"])


def check_declared(engine: Engine, name: str, column: str, kind: str, schema: Schema) -> None:
    """Refuse an insensitive column whose values are not of the type that is declared.

    Parameters
    ----------
    engine
        The engine that has staged the table as `source`.
    name, column
        The name of the column there, and its own.
    kind
        The type that it is staged with.
    schema
        The declared types of the columns.
    """
    declared = schema.types.get(column)
    if declared is None:
        return
    values = _distinct(engine, f"SELECT DISTINCT {engine.text(name, kind)} AS v FROM source")
    build_domain(column, declared.type, values.tolist(), order=declared.order)


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
