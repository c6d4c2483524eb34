"""Replacing the staged texts of a table by codes.

The time that DuckDB needs to plan a statement grows with the cube of its joins: three hundred take
half a minute, however few rows there are. So the columns of a wide table are coded a few at a
time and put side by side afterwards, which takes a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Engine, Scan

__all__ = ["count_times_of_day", "stage_coded"]

_MOST_JOINS = 20


def stage_coded(
    engine: Engine, codes: Mapping[int, str], joined_on: str, carried: Sequence[str] = ()
) -> None:
    """Make `coded` of the staged `source`, which is forgotten.

    Parameters
    ----------
    engine
        The engine. It has the texts ``c`` of every place, and a dictionary of them.
    codes
        The places, and for each how its code is found in the dictionary ``d``.
    joined_on
        How a dictionary is joined, with ``{place}`` for the place.
    carried
        The columns that stay what they are.
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
    """Give the statement that codes some columns."""
    columns = [
        *(f"s.{column}" for column in carried),
        *(f"{codes[place]} AS c{place}" for place in places),
    ]
    joins = "".join(f" {joined_on.format(place=place)}" for place in places)
    # Also without a column there is a line for every row.
    return f"SELECT {', '.join(columns) or '0 AS nothing'} FROM {source} s{joins}"


def count_times_of_day(engine: Engine, scan: Scan, column: str) -> int:
    """Count the values of a column that are not a plain date but a moment of the day."""
    if not scan.types[column].startswith("TIMESTAMP"):
        return 0
    name = engine.quote(column)
    fetched = engine.rows(
        f"SELECT count(*) AS n FROM {scan.relation} "
        f"WHERE {name} <> {engine.cast(engine.cast(name, 'DATE'), 'TIMESTAMP')}"
    )
    return int(fetched["n"][0])
