"""Insensitive columns: carried along with the rows, and published as they are.

They are neither coded nor planned for, so no method hides them. Here they are refused if no release
can hold them or if hardly two rows agree in one, and counted together with coded columns, so that
`shoal.locating.insensitive_columns` finds what they reveal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Texts
from shoal.core.cells import Cells
from shoal.core.domain import SUPPRESSED, ColumnType, NumberedDomain
from shoal.core.errors import DataError
from shoal.core.schema import Schema
from shoal.core.toml_text import text
from shoal.engines.engine import Engine, Scan
from shoal.engines.sql.domains import (
    build_domain,
    infer_type,
    reserved_error,
    text_array,
    texts_of,
    type_of_engine,
)

if TYPE_CHECKING:
    from shoal.engines.sql.table import EngineTable

_FEW = 3
"""A value shared by fewer rows than this singles people out nearly as well as a unique one."""


def carried_expression(engine: Engine, column: str, kind: str) -> str:
    """Return the expression of an insensitive column: itself, but without a list of categories.

    An enumeration has the categories of all rows that were ever in it, published or not.
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
    """Refuse an insensitive column with texts that no release can hold.

    `name` is the name of the staged column, and `kind` its type.
    """
    if kind != "VARCHAR" and not _is_enumeration(kind):
        return
    query = f"SELECT count(*) AS n FROM source WHERE {name} = '{SUPPRESSED}'"
    if int(engine.rows(query)["n"][0]):
        raise reserved_error(column)
    query = f"SELECT count(*) AS n FROM source WHERE {engine.has_nul(name)}"
    if int(engine.rows(query)["n"][0]):
        raise DataError(
            f"Column {column!r} contains NUL characters.",
            hint="remove them: most readers cut a text off there.",
        )


def refuse_unique(engine: Engine, name: str, column: str, n_rows: int) -> None:
    """Refuse an insensitive column, staged under `name`, in which hardly two rows agree."""
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
        else f"{n_rare} of {n_rows} rows have a value there that fewer than {_FEW} rows share"
    )
    raise DataError(
        f"Column {column!r} is insensitive, so it would be published as it is, but {found}: "
        "it singles people out.",
        hint="give it the role identifying or quasi; or, if nobody can know it about others, "
        f"confirm it in [columns]: meant = [[{text(column)}]]",
    )


def count_table(table: EngineTable, columns: Sequence[str]) -> Cells:
    """Count the combinations of some coded columns and all insensitive ones, in the whole table.

    The coded columns come first, then the insensitive ones; see `count_beside_carried`.
    """
    names = {column: table.code_name(column) for column in columns}
    return count_beside_carried(table.engine, "coded", names, _names(table))


def count_published(table: EngineTable, number: int, columns: Sequence[str]) -> Cells:
    """Count the combinations of some coded columns and all insensitive ones, as published.

    `number` is the number of the release. Equal codes mean that the release shows the same.
    """
    names = {column: table.shown_name(column) for column in columns}
    engine = table.engine.publisher
    return count_beside_carried(engine, f"published_{number}", names, _names(table))


def _names(table: EngineTable) -> dict[str, str]:
    return {column: table.shown_name(column) for column in table.schema.insensitive}


def count_beside_carried(
    engine: Engine, relation: str, coded: Mapping[str, str], carried: Mapping[str, str]
) -> Cells:
    """Count the combinations of coded columns and of columns of any type.

    Columns are mapped to their names in the relation. The codes of carried columns are equal for
    equal values, and otherwise arbitrary.
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
    """Refuse an insensitive column whose values are not of its declared type.

    `name` and `kind` are the name and the type of the column in the staged `source`.
    """
    declared = schema.types.get(column)
    if declared is None:
        return
    values = _distinct(engine, f"SELECT DISTINCT {engine.text(name, kind)} AS v FROM source")
    build_domain(column, declared.type, values.tolist(), order=declared.order)


def carried_type(engine: Engine, scan: Scan, column: str, name: str, published: str) -> ColumnType:
    """Return the type of the values that a release shows of an undeclared insensitive column.

    Only published rows count: the type must not reveal a value of a dropped one. `name` is the name
    of the column in the relation `published`.
    """
    if scan.is_text:
        values = _distinct(engine, f"SELECT DISTINCT {name} AS v FROM {published}")
        return infer_type(values[values != None])  # noqa: E711 - by element
    kind = carried_kind(scan.types[column])
    if kind.startswith("TIMESTAMP"):
        day = engine.cast(engine.cast(name, "DATE"), "TIMESTAMP")
        found = engine.rows(f"SELECT count(*) AS n FROM {published} WHERE {name} <> {day}")
        # Shoal has no type for a date with a time of day.
        return ColumnType.CATEGORICAL if int(found["n"][0]) else ColumnType.DATE
    try:
        return type_of_engine(column, kind)
    except DataError:
        return ColumnType.CATEGORICAL


def _distinct(engine: Engine, query: str) -> Texts:
    return text_array(texts_of(engine.rows(query)["v"]))
