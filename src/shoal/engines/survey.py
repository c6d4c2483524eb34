"""A table before any column has a role: its values counted, its combinations too.

The source is staged once, as canonical texts. Columns of interest are coded (`dictionary_0`, ...,
and the table `coded`), so that grouping by several of them compares numbers, not texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Counts
from shoal.core.domain import ColumnType, Texts
from shoal.core.errors import DataError
from shoal.engines.coding import count_times_of_day, stage_coded
from shoal.engines.domains import infer_type, type_of_engine
from shoal.engines.engine import Engine, Scan
from shoal.engines.table import canonical_text
from shoal.engines.texts import texts_of

__all__ = ["Survey", "Values"]


@dataclass(frozen=True, eq=False)
class Values:
    """The different values of a column and how many rows have each.

    Parameters
    ----------
    column
        The column's name.
    type
        The type as Shoal reads it; None where the column holds no plain value.
    texts
        The different texts, in no order; missing ones aside.
    counts
        How many rows have each.
    n_missing
        How many rows have none.
    n_timed
        How many values are not a plain date but a moment of the day.
    """

    column: str
    type: ColumnType | None
    texts: Texts
    counts: Counts
    n_missing: int
    n_timed: int

    @property
    def n_distinct(self) -> int:
        """The number of different values, missing ones aside."""
        return len(self.texts)

    @property
    def n_present(self) -> int:
        """The number of rows that have a value."""
        return int(self.counts.sum())

    @property
    def sizes(self) -> Counts:
        """How many rows share each value; missing is a value like any other."""
        return np.append(self.counts, self.n_missing) if self.n_missing else self.counts


class Survey:
    """A source that an engine has staged, to be counted without roles.

    Parameters
    ----------
    engine
        The engine.
    scan
        The source, as the engine can read it.
    """

    def __init__(self, engine: Engine, scan: Scan) -> None:
        self.engine = engine
        self.scan = scan
        self.columns = tuple(scan.types)
        self._n_timed = {column: count_times_of_day(engine, scan, column) for column in scan.types}
        texts = ", ".join(
            f"{self._text_expression(column)} AS c{place}"
            for place, column in enumerate(self.columns)
        )
        with scan.unchanged():
            engine.stage("source", f"SELECT {texts} FROM {scan.relation}")
        self.n_rows = int(engine.rows("SELECT count(*) AS n FROM source")["n"][0])
        if self.n_rows == 0:
            raise DataError(f"The table {scan.name} has no rows.")

    def _text_expression(self, column: str) -> str:
        kind = self.scan.types[column]
        if self._n_timed[column]:
            return self.engine.text(self.engine.quote(column), kind)
        return canonical_text(self.engine, column, kind)

    def values(self, column: str) -> Values:
        """Count the values of a column."""
        place = self.columns.index(column)
        self.engine.stage(
            f"dictionary_{place}",
            f"SELECT v, n, row_number() OVER (ORDER BY n DESC) - 1 AS code FROM "
            f"(SELECT c{place} AS v, count(*) AS n FROM source GROUP BY c{place}) d",
        )
        fetched = self.engine.rows(f"SELECT v, n FROM dictionary_{place}")
        texts = texts_of(fetched["v"])
        counts = fetched["n"].astype(np.int64)
        is_present = np.array([text is not None for text in texts], dtype=bool)
        present = np.array([*texts, None], dtype=object)[:-1][is_present]
        return Values(
            column=column,
            type=self._type(column, present),
            texts=present,
            counts=counts[is_present],
            n_missing=int(counts[~is_present].sum()),
            n_timed=self._n_timed[column],
        )

    def _type(self, column: str, texts: Texts) -> ColumnType | None:
        if self.scan.is_text:
            return infer_type(texts)
        if column in self.scan.orders:
            return ColumnType.ORDERED
        try:
            return type_of_engine(column, self.scan.types[column])
        except DataError:
            return None

    def code(self, columns: Sequence[str]) -> None:
        """Code some columns whose values have been counted; the staged texts are forgotten."""
        places = (self.columns.index(column) for column in columns)
        joined_on = "JOIN dictionary_{place} d{place} ON s.c{place} IS NOT DISTINCT FROM d{place}.v"
        stage_coded(self.engine, {place: f"d{place}.code" for place in places}, joined_on)

    def count_unique(self, columns: Sequence[str]) -> int:
        """Count the rows whose combination of values in coded columns nobody else has."""
        listed = ", ".join(f"c{self.columns.index(column)}" for column in columns)
        fetched = self.engine.rows(
            "SELECT count(*) AS n FROM "
            f"(SELECT 1 AS one FROM coded GROUP BY {listed} HAVING count(*) = 1) single"
        )
        return int(fetched["n"][0])
