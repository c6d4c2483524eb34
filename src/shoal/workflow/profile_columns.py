"""The profile of each column, and the correlations between columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.core.display import Section
from shoal.core.domain import ColumnType
from shoal.engines.sql.survey import MOST_CODES, Survey, Values, survey_rows
from shoal.slicing.correlation import Correlations, correlations_of_rows
from shoal.workflow import hints as suggest


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """The counts of one column, and what they suggest."""

    name: str
    # None if the column holds no plain value.
    type: ColumnType | None
    n_rows: int
    n_missing: int
    n_distinct: int
    # Rows with a value that no other row has; missing counts as a value here.
    n_unique: int
    # Rows with the most common and with the rarest value.
    largest: int
    smallest: int
    hints: tuple[str, ...] = ()
    # Why the column looks like an identifier; None if it does not.
    identity: str | None = None
    # Whether it tells all rows apart and no value is missing.
    is_key: bool = False
    # Whether it may tell whose row it is.
    may_name_person: bool = False
    # A first hierarchy, as the configuration states it; None without a suggestion.
    hierarchy: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def unique_share(self) -> float:
        """The share of rows with a value that no other row has."""
        return self.n_unique / self.n_rows

    @property
    def is_identifier_like(self) -> bool:
        """Whether the column looks like an identifier."""
        return self.identity is not None

    def to_dict(self) -> dict[str, object]:
        """Return the column as JSON holds it."""
        return {
            "column": self.name,
            "type": None if self.type is None else str(self.type),
            "rows": self.n_rows,
            "missing": self.n_missing,
            "different": self.n_distinct,
            "unique_rows": self.n_unique,
            "unique_share": self.unique_share,
            "largest": self.largest,
            "smallest": self.smallest,
            "identifier_like": self.identity,
            "hints": list(self.hints),
        }


def column_profile(values: Values, n_rows: int) -> ColumnProfile:
    """Return the profile of a column from its counted values."""
    sizes = values.sizes
    return ColumnProfile(
        name=values.column,
        type=values.type,
        n_rows=n_rows,
        n_missing=values.n_missing,
        n_distinct=values.n_distinct,
        n_unique=int((sizes == 1).sum()),
        largest=int(sizes.max()),
        smallest=int(sizes.min()),
        hints=suggest.hints(values),
        identity=suggest.identity(values),
        is_key=values.n_distinct == n_rows,
        may_name_person=suggest.may_name_person(values),
        hierarchy=suggest.suggested_hierarchy(values),
    )


def percent(share: float) -> str:
    """Return a share as text, so that a few people among many do not show as none."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.1f} %"


_N_PAIRS = 10
_MOST_IN_MATRIX = 12
"""The matrix of more columns does not fit on a terminal."""


def correlate(
    survey: Survey, columns: Mapping[str, tuple[ColumnType, int]]
) -> tuple[Correlations | None, tuple[str, ...]]:
    """Correlate columns, given their types and the number of rows that each singles out.

    Returns the correlations, or None if the table is too large or has fewer than two such columns;
    and what is left out and why, in words.
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
