"""Which columns, alone and together, single people out.

A combination of columns *singles out* a row if no other row has the same values there. One that
singles out more than half of the rows needs no further column, so combinations that contain it are
neither counted nor listed. All other pairs and triples are counted if that takes about a second;
otherwise the most promising ones, and the result says what was left out. One curve goes further:
the column that singles out most rows, then the one that adds most to it, and so on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from shoal.core.display import Section
from shoal.core.progress import Progress
from shoal.engines.sql.survey import Survey
from shoal.locating.row_groups import CodedColumns, RowGroups
from shoal.workflow.profile_columns import percent

# The cost of a combination grows with its rows: a hundred million rows take half a second in
# memory, and ten seconds in an engine.
_MOST_ROWS_IN_MEMORY = 150_000_000
_MOST_ROWS_VISITED = 100_000_000
_FEWEST_COMBINATIONS = 40
_MOST_COMBINATIONS = 2000
_MOST_IN_MEMORY = 20_000
_MOST_COLUMNS = 200
_LONGEST_CURVE = 10
_ENOUGH = 0.99
_STEP_OF_PROGRESS = 100
THRESHOLDS = (0.05, 0.5)
_SINGLES_OUT = max(THRESHOLDS)
"""A combination that singles out a larger share of the rows is not extended."""
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

    # Single columns, pairs and triples; of each size, those that single out most rows first. None
    # contains another one that singles out more than half of the rows.
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
                "Rows that one, two or three columns single out (nothing is added to columns that "
                "single out more than half)",
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
        """Return the fewest columns that single out more than a share of the rows, up to half."""
        return next((one for one in (*self.counted, *self.curve) if one.share > share), None)


class Counts(Protocol):
    """Counts how many rows a combination of columns singles out."""

    n_rows: int
    # The number of combinations that can be counted in about a second.
    budget: int

    def count(self, columns: Sequence[str]) -> int:
        """Count the rows that some columns single out."""


class CountsInEngine:
    """Counts in the engine, one pass over the rows for each combination."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.n_rows = survey.n_rows
        self.budget = _budget(survey.n_rows, _MOST_ROWS_VISITED, _MOST_COMBINATIONS)

    def count(self, columns: Sequence[str]) -> int:
        """Count the rows that some columns single out."""
        return self.survey.count_unique(columns)


class CountsInMemory:
    """Counts over codes: what the first columns group together is split by the last one."""

    def __init__(self, table: CodedColumns) -> None:
        self.table = table
        self.n_rows = table.n_rows
        self.budget = _budget(table.n_rows, _MOST_ROWS_IN_MEMORY, _MOST_IN_MEMORY)
        # The groups by the first column, by the first two, and so on, of the last combination.
        self._path: list[tuple[str, RowGroups]] = []

    def count(self, columns: Sequence[str]) -> int:
        """Count the rows that some columns single out."""
        *first, last = columns
        self._path = self._path[: _n_common([name for name, _ in self._path], first)]
        groups = self._path[-1][1] if self._path else self.table.group(())
        for name in first[len(self._path) :]:
            groups = groups.split(name)
            self._path.append((name, groups))
        return groups.count_alone_with(last)


def _n_common(ones: Sequence[str], others: Sequence[str]) -> int:
    """Return how many names two sequences begin with in common."""
    pairs = zip(ones, others, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _budget(n_rows: int, most_rows: int, most_combinations: int) -> int:
    return min(max(most_rows // n_rows, _FEWEST_COMBINATIONS), most_combinations)


def count_combinations(
    counts: Counts, columns: Mapping[str, tuple[int, int]], progress: Progress
) -> Combinations:
    """Count the rows that combinations of columns single out.

    `columns` gives, for each column, its number of values and of rows that it singles out by
    itself.
    """
    search = _Search(counts, columns, progress)
    curve = search.curve()
    search.count_pairs()
    search.count_triples()
    order = {column: place for place, column in enumerate(columns)}

    def rank(one: Combination) -> tuple[int, int, list[int]]:
        return len(one.columns), -one.n_unique, [order[column] for column in one.columns]

    return Combinations(
        tuple(sorted(search.counted, key=rank)), tuple(curve), tuple(search.left_out)
    )


@dataclass(eq=False)
class _Search:
    """Counts combinations from the smallest on, no more of them than the budget allows."""

    counts: Counts
    columns: Mapping[str, tuple[int, int]]
    progress: Progress
    counted: list[Combination] = field(init=False)
    left_out: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        n_rows = self.counts.n_rows
        self.left = self.counts.budget
        self.counted = [
            Combination((column,), n_unique, n_rows)
            for column, (_, n_unique) in self.columns.items()
        ]
        # What single columns leave to be combined; of equals, the first comes first.
        open_columns = [one.columns[0] for one in self.counted if one.share <= _SINGLES_OUT]
        self.open = sorted(open_columns, key=self._n_values, reverse=True)
        # The pairs that single out enough, so that no triple contains them.
        self.enough: set[frozenset[str]] = set()

    def count_pairs(self) -> None:
        """Count the pairs with most values."""
        number = math.comb(len(self.open), 2)
        pairs = itertools.combinations(self.open[:_MOST_COLUMNS], 2)
        taken = list(pairs) if number <= self.left else self._most_cells(pairs, self.left // 2)
        for one in self._count(taken, "pairs of columns"):
            if one.share > _SINGLES_OUT:
                self.enough.add(frozenset(one.columns))
        self._leave_out(number - len(taken), number, "pairs")

    def count_triples(self) -> None:
        """Count triples that extend the pairs which single out most rows."""
        number = self._n_triples()
        pairs = [one for one in self.counted if len(one.columns) == 2]
        pairs = [one for one in pairs if one.share <= _SINGLES_OUT]
        # If all are counted, those with the same first columns follow each other.
        if number > self.left:
            pairs.sort(key=lambda one: -one.n_unique)
        triples = self._extensions(pairs, self.open[:_MOST_COLUMNS])
        taken = list(itertools.islice(triples, self.left))
        for _ in self._count(taken, "triples of columns"):
            pass
        self._leave_out(number - len(taken), number, "triples")

    def curve(self) -> list[Combination]:
        """Add columns one by one, each time the one that singles out most further rows."""
        left = sorted(self.columns, key=self._n_values, reverse=True)
        most = max(self.counts.budget // _LONGEST_CURVE, 1)
        if len(left) > most:
            self.left_out.append(
                f"{len(left) - most} of {len(left)} columns where they are added one by one; "
                "those with the most different values were tried"
            )
            left = left[:most]
        curve: list[Combination] = []
        chosen: tuple[str, ...] = ()
        while left and len(chosen) < _LONGEST_CURVE:
            self.progress(f"columns added one by one: {len(chosen) + 1}")
            tried = {
                column: self.counts.count((*chosen, column)) if chosen else self.columns[column][1]
                for column in left
            }
            # Of equals, the first has the most values.
            best = max(left, key=tried.__getitem__)
            chosen = (*chosen, best)
            left.remove(best)
            curve.append(Combination(chosen, tried[best], self.counts.n_rows))
            if curve[-1].share >= _ENOUGH:
                break
        n_unique = [one.n_unique for one in curve]
        # Columns at the end that single out no further rows say nothing.
        return curve[: n_unique.index(max(n_unique)) + 1] if any(n_unique) else []

    def _count(self, taken: Sequence[Sequence[str]], what: str) -> Iterator[Combination]:
        """Count combinations one after the other."""
        order = {column: place for place, column in enumerate(self.columns)}
        for done, columns in enumerate(taken):
            if done % _STEP_OF_PROGRESS == 0:
                self.progress(f"{what}: {done} of {len(taken)}")
            ordered = tuple(sorted(columns, key=order.__getitem__))
            one = Combination(ordered, self.counts.count(columns), self.counts.n_rows)
            self.counted.append(one)
            yield one
        self.left -= len(taken)

    def _extensions(
        self, pairs: Iterable[Combination], columns: Sequence[str]
    ) -> Iterator[tuple[str, ...]]:
        """Add a column to every pair, once per triple, unless a part singles out enough."""
        seen: set[frozenset[str]] = set()
        for pair in pairs:
            first, second = pair.columns
            for column in columns:
                parts = frozenset((first, column)), frozenset((second, column))
                triple = parts[0] | parts[1]
                if len(triple) < 3 or triple in seen or not self.enough.isdisjoint(parts):
                    continue
                seen.add(triple)
                yield first, second, column

    def _n_triples(self) -> int:
        """Return the number of triples without a pair that is known to single out enough."""
        place = {column: number for number, column in enumerate(self.open)}
        is_open = 1.0 - np.eye(len(place))
        for pair in self.enough:
            first, second = (place[column] for column in pair)
            is_open[first, second] = is_open[second, first] = 0
        return round(float((is_open @ is_open * is_open).sum()) / 6)

    def _most_cells(
        self, combinations: Iterable[tuple[str, ...]], number: int
    ) -> list[tuple[str, ...]]:
        """Return the combinations with the most possible cells, up to one per row."""
        n_rows = self.counts.n_rows
        by_cells = sorted(
            combinations, key=lambda one: -min(math.prod(map(self._n_values, one)), n_rows)
        )
        return by_cells[:number]

    def _leave_out(self, n_left: int, number: int, what: str) -> None:
        if n_left:
            self.left_out.append(
                f"{n_left} of {number} {what} of columns, without those that contain columns which "
                "single out more than half of the rows; those with the most different values were "
                "counted"
            )

    def _n_values(self, column: str) -> int:
        return self.columns[column][0]
