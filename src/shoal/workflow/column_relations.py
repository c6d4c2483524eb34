"""How columns go together: which determine others, and which are correlated.

A column that determines a quasi-identifier or a sensitive value is refused as insensitive later on
(`shoal.workflow.confirming`); the profile tells the steward before any column has a role, by the
same count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes
from shoal.core.display import Section
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError
from shoal.engines.sql.domains import build_domain
from shoal.engines.sql.survey import Values
from shoal.locating.insensitive_columns import DETERMINED, Exposure, find_determining
from shoal.locating.row_groups import CodedColumns
from shoal.slicing.correlation import N_BINS, Correlations, correlations_of_codes, equal_bins

_MOST_DETERMINING = 30
_N_LISTED = 20


@dataclass(frozen=True)
class DeterminingColumns:
    """The columns that determine another one, and what was left out."""

    found: tuple[Exposure, ...] = ()
    # What was not searched and why, in words.
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


def find_determining_columns(table: CodedColumns) -> DeterminingColumns:
    """Find the columns, alone and in pairs, that determine another one."""
    names = list(table.codes)
    by_values = sorted(names, key=lambda name: -table.n_values[name])[:_MOST_DETERMINING]
    columns = [name for name in names if name in by_values]
    search = find_determining(table, columns, columns, ())
    left_out = []
    if len(columns) < len(names):
        left_out.append(
            f"{len(names) - len(columns)} of {len(names)} columns where columns that determine "
            "others were looked for; those with the most different values were taken"
        )
    if search.n_skipped:
        left_out.append(f"{search.n_skipped} pairs of columns that may determine others")
    return DeterminingColumns(search.found, tuple(left_out))


_N_PAIRS = 10
_MOST_IN_MATRIX = 12
"""The matrix of more columns does not fit on a terminal."""


def correlate(
    table: CodedColumns, levels: Mapping[str, Codes | None]
) -> tuple[Correlations | None, tuple[str, ...]]:
    """Correlate columns, given the value or interval of each code.

    A column without `levels` is left out: most rows are alone with their value. Returns the
    correlations, or None of fewer than two columns; and what is left out and why, in words.
    """
    left_out = tuple(
        f"correlations of {name}: most rows are alone with their value, so that it would "
        "seem to be correlated with every other column"
        for name, of_codes in levels.items()
        if of_codes is None
    )
    kept = {name: of_codes for name, of_codes in levels.items() if of_codes is not None}
    if len(kept) < 2:
        return None, left_out
    return correlations_of_codes({name: table.codes[name] for name in kept}, kept), left_out


def levels_of(values: Values) -> Codes | None:
    """Return the value or, for numbers and dates, the interval that each code belongs to.

    None if most rows are alone with a value that has no interval.
    """
    assert values.type is not None
    if values.type.is_numeric:
        found = _intervals(values, values.type)
    elif 2 * int((values.sizes == 1).sum()) > values.n_rows:
        return None
    else:
        found = None
    return np.arange(values.n_codes) if found is None else found


def _intervals(values: Values, kind: ColumnType) -> Codes | None:
    try:
        domain, place = build_domain(values.column, kind, values.texts.tolist())
    except DataError:
        # Times of day, and texts that are not numbers: reported to the steward elsewhere.
        return None
    bins = equal_bins(domain, np.full(domain.size, True), N_BINS)
    found = np.full(values.n_codes, N_BINS, dtype=np.int64)
    found[values.codes] = bins[place]
    return found


def correlation_sections(found: Correlations) -> tuple[Section, ...]:
    """Return the strongest pairs, and the whole matrix if it fits on a terminal."""
    pairs = Section(
        "Columns that are correlated (phi-squared, 0 to 1), the strongest pairs",
        ("column", "and", "phi-squared"),
        tuple((*pair, f"{value:.3f}") for *pair, value in found.strongest(_N_PAIRS)),
        holds_values=False,
    )
    if not 2 < len(found.columns) <= _MOST_IN_MATRIX:
        return (pairs,)
    numbers = tuple(str(number) for number in range(1, len(found.columns)))
    rows = []
    for place, name in enumerate(found.columns):
        values = [f"{value:.2f}" for value in found.matrix[place, :place].tolist()]
        rows.append((f"{place + 1} {name}", *values, *[""] * (len(numbers) - place)))
    return pairs, Section(
        "Correlation of every pair", ("column", *numbers), tuple(rows), holds_values=False
    )
