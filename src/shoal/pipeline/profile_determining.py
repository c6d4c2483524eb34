"""Columns that tell others, as `shoal profile` finds and shows them.

A column that tells a quasi-identifier or a sensitive value is refused as insensitive later on
(`shoal.pipeline.confirming`); the steward is told before any column has a role, by the same count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.core.attack import Section
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType
from shoal.engines.survey import Survey
from shoal.engines.survey_rows import MOST_CODES, survey_rows
from shoal.knowledge.insensitive_columns import DETERMINED, Exposure, find_determining

__all__ = ["TellingColumns", "find_telling_columns"]

_MOST_COLUMNS = 30
_N_LISTED = 20


@dataclass(frozen=True)
class TellingColumns:
    """The columns that determine another one.

    Parameters
    ----------
    found
        The columns, what they determine, and for how many rows.
    left_out
        What was not looked at and why, in words.
    """

    found: tuple[Exposure, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> list[dict[str, object]]:
        """Return the columns as JSON holds them."""
        return [
            {"columns": list(one.columns), "determine": one.target, "rows": one.n_people}
            for one in self.found
        ]

    def section(self, n_rows: int) -> Section:
        """Return the columns as a small table, those that determine most rows first."""
        ranked = sorted(self.found, key=lambda one: (len(one.columns), -one.n_people))
        return Section(
            f"Columns that determine others (for {DETERMINED} % of the rows or more): published as "
            "they are, they tell what a release hides",
            ("columns", "determine", "rows", "share"),
            tuple(
                (
                    ", ".join(one.columns),
                    str(one.target),
                    one.n_people,
                    f"{100 * one.n_people / n_rows:.1f} %",
                )
                for one in ranked[:_N_LISTED]
            ),
            holds_values=False,
        )


def find_telling_columns(survey: Survey, types: Mapping[str, ColumnType]) -> TellingColumns:
    """Find the columns, alone and in pairs, that determine another one.

    Parameters
    ----------
    survey
        The table, whose columns have been coded.
    types
        The columns, and the type of each.
    """
    if len(types) < 2:
        return TellingColumns()
    if survey.n_rows * len(types) > MOST_CODES:
        reason = f"{survey.n_rows} rows of {len(types)} columns are more than are compared"
        return TellingColumns((), (f"columns that determine others: {reason}",))
    rows = survey_rows(survey, types)
    counts = np.ones(rows.n_rows, dtype=np.int64)
    cells = Cells(rows.domains, rows.codes.astype(np.int64), counts)
    by_values = sorted(types, key=lambda name: -cells.domain(name).size)
    columns = [name for name in types if name in by_values[:_MOST_COLUMNS]]
    search = find_determining(cells, columns, columns, ())
    left_out = []
    if len(columns) < len(types):
        left_out.append(
            f"{len(types) - len(columns)} of {len(types)} columns where columns that determine "
            "others were looked for; those with the most different values were taken"
        )
    if search.n_skipped:
        left_out.append(f"{search.n_skipped} pairs of columns that may determine others")
    return TellingColumns(search.found, tuple(left_out))
