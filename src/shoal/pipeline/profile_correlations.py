"""The correlations of a table's columns, as `shoal profile` finds and shows them."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.core.attack import Section
from shoal.core.domain import ColumnType
from shoal.engines.survey import Survey
from shoal.engines.survey_rows import MOST_CODES, survey_rows
from shoal.knowledge.correlation import Correlations, correlations_of_rows

__all__ = ["correlate", "correlation_sections"]

_N_PAIRS = 10
_MOST_IN_MATRIX = 12
"""The matrix of more columns than that does not fit on a terminal."""


def correlate(
    survey: Survey, columns: Mapping[str, tuple[ColumnType, int]]
) -> tuple[Correlations | None, tuple[str, ...]]:
    """Correlate columns that were coded.

    Parameters
    ----------
    survey
        The table.
    columns
        For each column its type, and how many rows it singles out by itself.

    Returns
    -------
    correlations
        Of every pair; None where there is none, or the table is too large.
    left_out
        What is left out and why, in words.
    """
    left_out = []
    types = {}
    for name, (kind, n_unique) in columns.items():
        if n_unique > survey.n_rows / 2 and not kind.is_numeric:
            left_out.append(
                f"correlations of {name}: most rows are alone with their value, so that it would "
                "seem to be correlated with every other column"
            )
        else:
            types[name] = kind
    if survey.n_rows * len(types) > MOST_CODES:
        left_out.append(
            f"correlations: {survey.n_rows} rows of {len(types)} columns are more than are compared"
        )
    elif len(types) > 1:
        return correlations_of_rows(survey_rows(survey, types)), tuple(left_out)
    return None, tuple(left_out)


def correlation_sections(found: Correlations) -> tuple[Section, ...]:
    """Give the strongest pairs, and all of them where they fit beside one another."""
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
