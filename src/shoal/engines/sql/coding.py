"""Canonical texts of a source, the codes that replace them, and the parts of a coded table.

The time that DuckDB needs to plan a statement grows with the cube of its joins: three hundred take
half a minute, however few rows there are. So the columns of a wide table are coded a few at a
time and put side by side afterwards, which takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.core.arrays import Codes, Texts
from shoal.core.domain import NumberedDomain
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Engine, Scan
from shoal.engines.sql.domains import text_array, texts_of

if TYPE_CHECKING:
    from shoal.engines.sql.table import EngineTable

PART = "\x00part"
"""The name of the column that says which part of the table a row is in; no other can have it."""
_MOST_JOINS = 20


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
    if len(codes) <= _MOST_JOINS or not isinstance(engine, DuckDB):
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
