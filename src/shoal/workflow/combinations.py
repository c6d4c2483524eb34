"""How columns go together: which single people out, determine others, or are correlated.

All pairs and triples are counted if that takes a few seconds; otherwise the most promising ones,
and the result says what was left out. One curve goes further: the column that singles out most
rows, then the one that adds most to it, and so on.

A column that determines a quasi-identifier or a sensitive value is refused as insensitive later on
(`shoal.workflow.confirming`); the profile tells the steward before any column has a role, by the
same count.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Cells
from shoal.core.display import Section
from shoal.core.domain import ColumnType
from shoal.core.progress import Progress
from shoal.engines.sql.survey import MOST_CODES, Survey, survey_rows
from shoal.locating.insensitive_columns import DETERMINED, Exposure, find_determining
from shoal.slicing.correlation import Correlations, correlations_of_rows
from shoal.workflow.profile_columns import percent

# The cost of a combination grows with its rows; a hundred million rows take about ten seconds.
_MOST_ROWS_VISITED = 100_000_000
_FEWEST_COMBINATIONS = 40
_MOST_COMBINATIONS = 2000
_MOST_COLUMNS = 100
_LONGEST_CURVE = 10
_ENOUGH = 0.99
_STEP_OF_PROGRESS = 25
THRESHOLDS = (0.05, 0.5)
_N_SHOWN = 5


@dataclass(frozen=True)
class Combination:
    """Some columns, and the number of rows that they single out."""

    columns: tuple[str, ...]
    n_unique: int
    n_rows: int

    @property
    def share(self) -> float:
        """The share of rows whose combination of values no other row has."""
        return self.n_unique / self.n_rows

    def to_dict(self) -> dict[str, object]:
        """Return the combination as JSON holds it."""
        return {"columns": list(self.columns), "rows": self.n_unique, "share": self.share}


@dataclass(frozen=True)
class Combinations:
    """The combinations that were counted."""

    # Single columns, pairs and triples; of each size, those that single out most rows first.
    counted: tuple[Combination, ...]
    # Columns added one by one, each time the one that singles out most further rows.
    curve: tuple[Combination, ...]
    # What was not counted, in words.
    left_out: tuple[str, ...] = ()

    def most_identifying(self, size: int, number: int) -> tuple[Combination, ...]:
        """Return the combinations of `size` columns that single out most rows."""
        of_size = (one for one in self.counted if len(one.columns) == size)
        return tuple(itertools.islice(of_size, number))

    def sections(self) -> tuple[Section, ...]:
        """Return what single people out as small tables."""
        few = tuple(
            (", ".join(one.columns), one.n_unique, percent(one.share))
            for size in (1, 2, 3)
            for one in self.most_identifying(size, _N_SHOWN)
            if one.n_unique
        )
        fewest = tuple(
            (
                f"more than {threshold:.0%}",
                "no combination that was counted" if found is None else ", ".join(found.columns),
                "" if found is None else percent(found.share),
            )
            for threshold in THRESHOLDS
            for found in [self.smallest_above(threshold)]
        )
        added = tuple(
            (len(one.columns), f"+ {one.columns[-1]}", one.n_unique, percent(one.share))
            for one in self.curve
        )
        return (
            Section(
                "Rows that one, two or three columns single out",
                ("columns", "rows", "share"),
                few,
                holds_values=False,
            ),
            Section(
                "The fewest columns that single people out",
                ("to single out", "it takes", "share"),
                fewest,
                holds_values=False,
            ),
            Section(
                "Columns added one by one, the most identifying first",
                ("columns", "added", "rows", "share"),
                added,
                holds_values=False,
            ),
        )

    def smallest_above(self, share: float) -> Combination | None:
        """Return the fewest columns that single out more than a share of the rows."""
        return next((one for one in (*self.counted, *self.curve) if one.share > share), None)


def count_combinations(
    survey: Survey, columns: Mapping[str, tuple[int, int]], progress: Progress
) -> Combinations:
    """Count the rows that combinations of columns single out.

    `columns` gives, for each column, its number of values and of rows that it singles out by
    itself.
    """
    progress("code the columns")
    survey.code(list(columns))
    counter = _Counter(survey, columns, progress)
    n_pairs, n_triples = math.comb(len(columns), 2), math.comb(len(columns), 3)
    if n_pairs + n_triples <= counter.budget:
        counter.count_all(itertools.combinations(columns, 2), "pairs of columns", n_pairs)
        counter.count_all(itertools.combinations(columns, 3), "triples of columns", n_triples)
        curve = counter.curve()
    else:
        curve = counter.curve()
        counter.count_promising(n_pairs, n_triples)
    order = {column: place for place, column in enumerate(columns)}

    def rank(one: Combination) -> tuple[int, int, list[int]]:
        return len(one.columns), -one.n_unique, [order[column] for column in one.columns]

    small = (one for one in counter.found.values() if len(one.columns) <= 3)
    return Combinations(tuple(sorted(small, key=rank)), curve, tuple(counter.left_out))


class _Counter:
    """Counts each combination once, and no more of them than the size of the table allows."""

    def __init__(
        self, survey: Survey, columns: Mapping[str, tuple[int, int]], progress: Progress
    ) -> None:
        self.survey = survey
        self.progress = progress
        self.n_values = {column: n_values for column, (n_values, _) in columns.items()}
        self.order = {column: place for place, column in enumerate(columns)}
        self.budget = min(
            max(_MOST_ROWS_VISITED // survey.n_rows, _FEWEST_COMBINATIONS), _MOST_COMBINATIONS
        )
        self.left_out: list[str] = []
        self.found = {
            frozenset([column]): Combination((column,), n_unique, survey.n_rows)
            for column, (_, n_unique) in columns.items()
        }

    def count(self, columns: Iterable[str]) -> Combination:
        """Count the rows that some columns single out."""
        key = frozenset(columns)
        if key not in self.found:
            ordered = tuple(sorted(key, key=self.order.__getitem__))
            n_unique = self.survey.count_unique(ordered)
            self.found[key] = Combination(ordered, n_unique, self.survey.n_rows)
        return self.found[key]

    def count_all(self, combinations: Iterable[Iterable[str]], what: str, number: int) -> None:
        """Count combinations one after the other."""
        for done, columns in enumerate(combinations):
            if done % _STEP_OF_PROGRESS == 0:
                self.progress(f"{what}: {done} of {number}")
            self.count(columns)

    def count_promising(self, n_pairs: int, n_triples: int) -> None:
        """Count the pairs with most values, then triples that extend the best of them."""
        by_values = self._by_number_of_values()[:_MOST_COLUMNS]
        pairs = sorted(itertools.combinations(by_values, 2), key=self._n_cells, reverse=True)
        half = self.budget // 2
        self.count_all(pairs[:half], "pairs of columns", min(half, len(pairs)))
        best = sorted(self._of_size(2), key=lambda one: -one.n_unique)
        triples = dict.fromkeys(
            frozenset((*one.columns, column))
            for one in best
            for column in by_values
            if column not in one.columns
        )
        self.count_all(list(triples)[:half], "triples of columns", min(half, len(triples)))
        for size, number, what in ((2, n_pairs, "pairs"), (3, n_triples, "triples")):
            n_counted = len(self._of_size(size))
            if n_counted < number:
                self.left_out.append(
                    f"{number - n_counted} of {number} {what} of columns; those with the most "
                    "different values were counted"
                )

    def curve(self) -> tuple[Combination, ...]:
        """Add columns one by one, each time the one that singles out most further rows."""
        left = self._by_number_of_values()
        most = max(self.budget // _LONGEST_CURVE, 1)
        if len(left) > most:
            self.left_out.append(
                f"{len(left) - most} of {len(left)} columns where they are added one by one; "
                "those with the most different values were tried"
            )
            left = left[:most]
        chosen: list[str] = []
        curve: list[Combination] = []
        while left and len(chosen) < _LONGEST_CURVE:
            self.progress(f"columns added one by one: {len(chosen) + 1}")
            tried = {column: self.count([*chosen, column]).n_unique for column in left}
            # Of equals, the first has the most values.
            best = max(left, key=tried.__getitem__)
            chosen.append(best)
            left.remove(best)
            curve.append(Combination(tuple(chosen), tried[best], self.survey.n_rows))
            if curve[-1].share >= _ENOUGH:
                break
        n_unique = [one.n_unique for one in curve]
        # Columns at the end that single out no further rows say nothing.
        return tuple(curve[: n_unique.index(max(n_unique)) + 1]) if any(n_unique) else ()

    def _by_number_of_values(self) -> list[str]:
        return sorted(self.n_values, key=self.n_values.__getitem__, reverse=True)

    def _of_size(self, size: int) -> list[Combination]:
        return [one for one in self.found.values() if len(one.columns) == size]

    def _n_cells(self, columns: Iterable[str]) -> int:
        return min(math.prod(self.n_values[c] for c in columns), self.survey.n_rows)


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


def find_determining_columns(survey: Survey, types: Mapping[str, ColumnType]) -> DeterminingColumns:
    """Find the columns, alone and in pairs, that determine another one."""
    if len(types) < 2:
        return DeterminingColumns()
    if survey.n_rows * len(types) > MOST_CODES:
        reason = f"{survey.n_rows} rows of {len(types)} columns are more than are compared"
        return DeterminingColumns((), (f"columns that determine others: {reason}",))
    rows = survey_rows(survey, types)
    counts = np.ones(rows.n_rows, dtype=np.int64)
    cells = Cells(rows.domains, rows.codes.astype(np.int64), counts)
    by_values = sorted(types, key=lambda name: -cells.domain(name).size)
    columns = [name for name in types if name in by_values[:_MOST_DETERMINING]]
    search = find_determining(cells, columns, columns, ())
    left_out = []
    if len(columns) < len(types):
        left_out.append(
            f"{len(types) - len(columns)} of {len(types)} columns where columns that determine "
            "others were looked for; those with the most different values were taken"
        )
    if search.n_skipped:
        left_out.append(f"{search.n_skipped} pairs of columns that may determine others")
    return DeterminingColumns(search.found, tuple(left_out))


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
