"""Coding the columns of a wide survey in parts.

To order hundreds of joins of one statement takes DuckDB minutes, however few rows there are. In
parts of a few joins each, put side by side afterwards, it takes a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.engines.duckdb import DuckDB
from shoal.engines.survey import Survey

__all__ = ["code_columns"]

_MOST_JOINS = 20


def code_columns(survey: Survey, columns: Sequence[str]) -> None:
    """Code columns whose values have been counted, as `Survey.code` does.

    Parameters
    ----------
    survey
        The table.
    columns
        The columns that combinations are made of.
    """
    engine = survey.engine
    if len(columns) <= _MOST_JOINS or not isinstance(engine, DuckDB):
        survey.code(columns)
        return
    places = [survey.columns.index(column) for column in columns]
    engine.stage("numbered", "SELECT *, row_number() OVER () AS line FROM source")
    engine.drop("source")
    parts = [places[at : at + _MOST_JOINS] for at in range(0, len(places), _MOST_JOINS)]
    for number, part in enumerate(parts):
        codes = ", ".join(f"d{place}.code AS c{place}" for place in part)
        joins = "".join(
            f" LEFT JOIN dictionary_{place} d{place} ON s.c{place} IS NOT DISTINCT FROM d{place}.v"
            for place in part
        )
        engine.stage(f"part_{number}", f"SELECT s.line, {codes} FROM numbered s{joins}")
    engine.drop("numbered")
    listed = ", ".join(f"c{place}" for place in places)
    others = "".join(f" JOIN part_{number} USING (line)" for number in range(1, len(parts)))
    engine.stage("coded", f"SELECT {listed} FROM part_0{others}")
    for number in range(len(parts)):
        engine.drop(f"part_{number}")
