"""The columns of a source as they are staged: coded, or carried along as they are.

The time that DuckDB needs to plan a statement grows with the cube of its joins: three hundred take
half a minute, however few rows there are. So the columns of a wide table are coded a few at a
time and put side by side afterwards, which takes a second.

Insensitive columns are neither coded nor planned for, so no method hides them, and they are
published as they are. Here they are refused if no release can hold them or if hardly two rows agree
in one, and counted together with coded columns, so that `shoal.locating.insensitive_columns` finds
what they reveal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Texts
from shoal.core.cells import Cells
from shoal.core.documents import toml_text
from shoal.core.domain import SUPPRESSED, ColumnType, Domain, NumberedDomain
from shoal.core.errors import DataError
from shoal.core.schema import Schema
from shoal.engines.engine import Columns, Engine, Scan
from shoal.engines.sql.domains import (
    build_domain,
    infer_type,
    plain_type,
    reserved_error,
    text_array,
    texts_of,
)

if TYPE_CHECKING:
    from shoal.engines.sql.table import EngineTable

PART = "\x00part"
"""The name of the column that says which part of the table a row is in; no other can have it."""
_MOST_JOINS = 20
_FEW = 3
"""A value shared by fewer rows than this singles people out nearly as well as a unique one."""


# Texts -------------------------------------------------------------------------------------


def canonical_text(engine: Engine, column: str, kind: str) -> str:
    """Return the expression of a column's canonical text; for a timestamp, that of its date."""
    name = engine.quote(column)
    if kind.startswith("TIMESTAMP"):
        return engine.text(engine.cast(name, "DATE"), "DATE")
    return engine.text(name, kind)


def count_times_of_day(engine: Engine, scan: Scan, column: str) -> int:
    """Count the values of a column that are not plain dates but have a time of day."""
    if not scan.types[column].startswith("TIMESTAMP"):
        return 0
    name = engine.quote(column)
    fetched = engine.rows(
        f"SELECT count(*) AS n FROM {scan.relation} "
        f"WHERE {name} <> {engine.cast(engine.cast(name, 'DATE'), 'TIMESTAMP')}"
    )
    return int(fetched["n"][0])


def whole_row(engine: Engine, scan: Scan) -> str:
    """Return the expression of a text that differs for rows of different content.

    Every value is preceded by its length, so that different rows never give the same text.
    """
    parts = [
        long_text(engine, engine.text(engine.quote(column), kind))
        for column, kind in scan.types.items()
    ]
    return f"concat({', '.join(parts)})"


def long_text(engine: Engine, text: str) -> str:
    """Return the expression of a text preceded by its length; a dash if it is missing."""
    length = engine.cast(f"length({text})", "VARCHAR")
    # Engines differ in how they concatenate missing values.
    return f"CASE WHEN {text} IS NULL THEN '-' ELSE concat({length}, ':', {text}) END"


# Codes -------------------------------------------------------------------------------------


def stage_coded(
    engine: Engine, codes: Mapping[int, str], joined_on: str, carried: Sequence[str] = ()
) -> None:
    """Make the table `coded` from the staged `source`, which is dropped.

    `source` has a column of texts, ``c0``, ``c1``, ..., for every place. `codes` has, for every
    place, the expression of its code in the dictionary ``d0``, ``d1``, ..., and `joined_on` is the
    join of a dictionary, with ``{place}`` for the place. Columns of `carried` are kept unchanged.
    """
    if len(codes) <= _MOST_JOINS or engine.publisher is not engine:
        engine.stage("coded", _coding("source", list(codes), codes, joined_on, carried))
        engine.drop("source")
        return
    engine.stage("numbered", "SELECT *, row_number() OVER () AS line FROM source")
    engine.drop("source")
    places = list(codes)
    parts = [places[at : at + _MOST_JOINS] for at in range(0, len(places), _MOST_JOINS)]
    for number, part in enumerate(parts):
        kept = ["line", *carried] if number == 0 else ["line"]
        engine.stage(f"part_{number}", _coding("numbered", part, codes, joined_on, kept))
    engine.drop("numbered")
    others = "".join(f" JOIN part_{number} USING (line)" for number in range(1, len(parts)))
    engine.stage("coded", f"SELECT * EXCLUDE (line) FROM part_0{others}")
    for number in range(len(parts)):
        engine.drop(f"part_{number}")


def _coding(
    source: str,
    places: Sequence[int],
    codes: Mapping[int, str],
    joined_on: str,
    carried: Sequence[str],
) -> str:
    """Return the query that codes some columns."""
    columns = [
        *(f"s.{column}" for column in carried),
        *(f"{codes[place]} AS c{place}" for place in places),
    ]
    joins = "".join(f" {joined_on.format(place=place)}" for place in places)
    # Without any column there is still one line per row.
    return f"SELECT {', '.join(columns) or '0 AS nothing'} FROM {source} s{joins}"


# Parts, which methods plan one by one ------------------------------------------------------


def keys_of_rows(table: EngineTable) -> Texts:
    """Return the keys of all rows, in no particular order."""
    return text_array(texts_of(table.engine.rows("SELECT row_key FROM coded")["row_key"]))


def part_rows(table: EngineTable, keys: Texts, part: Codes) -> None:
    """Divide a table into parts, which `coded` holds in the column `part` and `PART` counts.

    `part` is the part of each of the keys, numbered from 0 without gaps; `keys` are those of all
    rows, in any order. An earlier division is replaced.
    """
    engine = table.engine
    n_parts = int(part.max(initial=-1)) + 1
    table.parts = NumberedDomain(PART, np.arange(1, n_parts + 1))
    own = ", ".join(f"t.{name}" for name in ["row_key", *table.value_names])
    engine.push("part", {"row_key": keys, "part": part.astype(np.int32)})
    engine.stage(
        "parted", f"SELECT {own}, p.part FROM coded t JOIN part p ON p.row_key = t.row_key"
    )
    engine.stage("coded", "SELECT * FROM parted")
    engine.drop("parted")
    engine.drop("part")


# Insensitive columns -----------------------------------------------------------------------


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
        f"confirm it in [columns]: meant = [[{toml_text(column)}]]",
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
    return count_beside_carried(engine, table.published_name(number), names, _names(table))


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
            "SELECT v, row_number() OVER (ORDER BY n DESC) AS code FROM "
            f"(SELECT {name} AS v, count(*) AS n FROM {relation} WHERE {name} IS NOT NULL "
            f"GROUP BY {name}) d",
        )
        # Missing values have the code 0. A join by IS NOT DISTINCT FROM would find them as well,
        # but on Postgres it compares every row with every value.
        joins += f" LEFT JOIN seen_{place} d{place} ON d{place}.v = t.{name}"
        selected.append(f"coalesce(d{place}.code, 0) AS s{place}")
        kinds[f"s{place}"] = np.int32
    listed = ", ".join(kinds)
    fetched = engine.arrays(
        f"SELECT {listed}, count(*) AS n FROM (SELECT {', '.join(selected)} FROM {relation} t"
        f"{joins}) g GROUP BY {listed} ORDER BY {listed}",
        kinds | {"n": np.int64},
    )
    for place in range(len(carried)):
        engine.drop(f"seen_{place}")
        # Codes begin at 0, whether values are missing or not.
        fetched[f"s{place}"] -= fetched[f"s{place}"].min(initial=1)
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
    return plain_type(kind) or ColumnType.CATEGORICAL


def _distinct(engine: Engine, query: str) -> Texts:
    return text_array(texts_of(engine.rows(query)["v"]))


@dataclass(frozen=True, eq=False)
class Waiting:
    """A release that is planned and counted, and whose rows are not laid out yet."""

    lay_out: Callable[[], None]
    # The distinct lines: the codes that the coded columns show, by the names that they will have in
    # `published_N`, and the number of rows `n`.
    lines: Columns


def dictionary_of(domain: Domain, texts: Sequence[str | None], codes: Codes) -> Columns:
    """Return texts with their codes, as engines hold them, without missing ones."""
    is_text = codes < len(domain.texts)
    code_type = np.int16 if domain.size < 2**15 else np.int32
    return {"code": codes[is_text].astype(code_type), "v": text_array(texts)[is_text]}
