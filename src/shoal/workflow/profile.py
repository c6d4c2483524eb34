"""Profile a table: what each column could betray, before any column has a role.

For every column its type, how many values are missing, different or had by one row alone; for
combinations of columns, how many rows they single out; for pairs, how strongly they are correlated.
Values themselves are never shown.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.core.attack import Section
from shoal.core.domain import ColumnType
from shoal.core.errors import ParameterError
from shoal.core.progress import Progress, silent
from shoal.datasets.dataset import Dataset
from shoal.engines.opening import is_postgres_address, open_engine
from shoal.engines.postgres_connection import without_password
from shoal.engines.survey import Survey, Values
from shoal.knowledge.correlation import Correlations
from shoal.pipeline import hints as suggest
from shoal.pipeline.combinations import Combination, Combinations, count_combinations
from shoal.pipeline.drafting import ColumnDraft, draft, suggested_hierarchy
from shoal.pipeline.estimate import Estimate, estimate
from shoal.pipeline.profile_correlations import correlate, correlation_sections
from shoal.pipeline.profile_determining import TellingColumns, find_telling_columns
from shoal.report.heat_map import heat_map

__all__ = ["ColumnProfile", "Combination", "Estimate", "Profile", "estimate", "profile"]

_THRESHOLDS = (0.05, 0.5)
_N_LISTED = 5
_N_STATED = 25


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """What is known of one column.

    Parameters
    ----------
    name
        The column's name.
    type
        The type as Shoal reads it; None where the column holds no plain value.
    n_rows, n_missing, n_distinct
        How many rows there are, how many have no value, and how many different values there are.
    n_unique
        How many rows have a value that nobody else has. Missing is a value like any other.
    largest, smallest
        How many rows have the most common and the rarest value.
    hints
        What is remarkable about the values, in words.
    identity
        Why the column looks as if it named people; None where it does not.
    is_key
        Whether it tells all rows apart and no value is missing.
    may_name_person
        Whether it may say whose row it is.
    hierarchy
        A hierarchy to begin with, as the configuration holds it; None where none suggests itself.
    """

    name: str
    type: ColumnType | None
    n_rows: int
    n_missing: int
    n_distinct: int
    n_unique: int
    largest: int
    smallest: int
    hints: tuple[str, ...] = ()
    identity: str | None = None
    is_key: bool = False
    may_name_person: bool = False
    hierarchy: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def unique_share(self) -> float:
        """The share of rows whose value nobody else has."""
        return self.n_unique / self.n_rows

    @property
    def is_identifier_like(self) -> bool:
        """Whether the column looks as if it named people."""
        return self.identity is not None

    def to_dict(self) -> dict[str, object]:
        """Give the column as JSON holds it."""
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


@dataclass(frozen=True, kw_only=True, repr=False)
class Profile:
    """What a table could betray, by column and by combination of columns.

    Parameters
    ----------
    name
        What the source is called.
    source
        The path or the address as it was given, but without a password; None where it is neither.
    options
        How the source is read, as far as that differs from the default.
    n_rows
        The number of rows.
    columns
        What is known of each column, in the order of the table.
    combinations
        How many rows combinations of columns single out. Columns that look like identifiers and
        constant ones are left aside.
    correlations
        Phi-squared of every pair of these columns, numbers and dates in ten intervals each; also
        without columns in which most rows are alone with their value, which would seem to be
        correlated with all others. None where the table is too large, or fewer than two are left.
    not_correlated
        Why columns, or all of them, have no correlation, in words.
    determining
        The columns, alone and in pairs, that determine another one for 95 % of the rows or more.
    """

    name: str
    source: str | None
    options: Mapping[str, str]
    n_rows: int
    columns: tuple[ColumnProfile, ...]
    combinations: Combinations
    correlations: Correlations | None = None
    not_correlated: tuple[str, ...] = ()
    determining: TellingColumns = field(default_factory=TellingColumns)

    def column(self, name: str) -> ColumnProfile:
        """Give what is known of a column."""
        return next(column for column in self.columns if column.name == name)

    @property
    def identifier_like(self) -> tuple[str, ...]:
        """The columns that look as if they named people."""
        return tuple(column.name for column in self.columns if column.is_identifier_like)

    def draft(self, folder: str | os.PathLike[str] | None = None) -> str:
        """Draft a configuration to edit.

        It is TOML, but no valid configuration before the steward has given every column a role.

        Parameters
        ----------
        folder
            Where the file will stand: the path of the source is written relative to it. Without
            one it is written as it was given.
        """
        source = self.source
        if source is not None and folder is not None and Path(source).exists():
            source = Path(os.path.relpath(source, folder)).as_posix()
        columns = [
            ColumnDraft(
                name=column.name,
                type=column.type,
                remarks=_draft_remarks(column),
                identity=column.identity,
                is_key=column.is_key,
                may_name_person=column.may_name_person,
                n_distinct=column.n_distinct,
                hierarchy=column.hierarchy,
            )
            for column in self.columns
        ]
        return draft(self.name, source, self.options, columns)

    def to_dict(self) -> dict[str, object]:
        """Give the profile as JSON holds it."""
        counted = self.combinations
        return {
            "source": self.name,
            "rows": self.n_rows,
            "columns": [column.to_dict() for column in self.columns],
            "combinations": [
                one.to_dict()
                for size in (1, 2, 3)
                for one in counted.most_identifying(size, _N_STATED)
            ],
            "smallest": [
                {"above": threshold, **(found.to_dict() if found else {"columns": None})}
                for threshold in _THRESHOLDS
                for found in [counted.smallest_above(threshold)]
            ],
            "curve": [one.to_dict() for one in counted.curve],
            "correlations": None if self.correlations is None else self.correlations.to_dict(),
            "determining": self.determining.to_dict(),
            "left_out": list(self.left_out),
        }

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was not counted, in words."""
        counted = self.combinations.left_out
        return (*counted, *self.not_correlated, *self.determining.left_out)

    def sections(self) -> tuple[Section, ...]:
        """Give the profile as small tables."""
        sections = [
            self._section_of_columns(),
            self._section_of_identifiers(),
            self._section_of_combinations(),
            self._section_of_thresholds(),
            self._section_of_curve(),
            *(() if self.correlations is None else correlation_sections(self.correlations)),
            self.determining.section(self.n_rows),
            Section(
                "Not counted",
                ("what",),
                tuple((text,) for text in self.left_out),
                holds_values=False,
            ),
        ]
        return tuple(section for section in sections if section.rows)

    def _section_of_columns(self) -> Section:
        names = ("column", "type", "missing", "different", "alone", "largest", "rarest", "remarks")
        rows = tuple(
            (
                column.name,
                "none" if column.type is None else str(column.type),
                column.n_missing,
                column.n_distinct,
                _percent(column.unique_share),
                column.largest,
                column.smallest,
                "; ".join(column.hints),
            )
            for column in self.columns
        )
        return Section(
            f"{self.n_rows} rows, {len(self.columns)} columns", names, rows, holds_values=False
        )

    def _section_of_identifiers(self) -> Section:
        rows = tuple((c.name, c.identity) for c in self.columns if c.is_identifier_like)
        return Section(
            "Columns that look like identifiers", ("column", "why"), rows, holds_values=False
        )

    def _section_of_combinations(self) -> Section:
        rows = tuple(
            (", ".join(one.columns), one.n_unique, _percent(one.share))
            for size in (1, 2, 3)
            for one in self.combinations.most_identifying(size, _N_LISTED)
            if one.n_unique
        )
        return Section(
            "Rows that few columns single out",
            ("columns", "rows", "share"),
            rows,
            holds_values=False,
        )

    def _section_of_thresholds(self) -> Section:
        rows = []
        for threshold in _THRESHOLDS:
            found = self.combinations.smallest_above(threshold)
            columns = (
                "no combination that was counted" if found is None else ", ".join(found.columns)
            )
            share = "" if found is None else _percent(found.share)
            rows.append((f"more than {threshold:.0%}", columns, share))
        names = ("to single out", "it takes", "share")
        return Section(
            "The fewest columns that single people out", names, tuple(rows), holds_values=False
        )

    def _section_of_curve(self) -> Section:
        rows = tuple(
            (len(one.columns), f"+ {one.columns[-1]}", one.n_unique, _percent(one.share))
            for one in self.combinations.curve
        )
        names = ("columns", "added", "rows", "share")
        return Section(
            "Columns added one by one, the most identifying first", names, rows, holds_values=False
        )

    def heat_map(self) -> str:
        """Draw the correlations, as the text of an SVG file.

        Raises
        ------
        ParameterError
            Where there are none.
        """
        if self.correlations is None:
            raise ParameterError(
                "There are no correlations to draw.",
                hint="; ".join(self.not_correlated) or "the table has too few columns for that.",
            )
        return heat_map(self.correlations, title=f"Correlation of the columns of {self.name}")

    def __repr__(self) -> str:
        found = "".join(
            f", {len(most.columns)} columns single out {most.share:.0%}"
            for most in self.combinations.curve[-1:]
        )
        return (
            f"Profile({self.name}: {self.n_rows} rows, {len(self.columns)} columns, "
            f"{len(self.identifier_like)} like identifiers{found})"
        )


def profile(
    source: Any,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    engine: Any = None,
    memory: str | None = None,
    progress: Progress = silent,
) -> Profile:
    """Say what a table could betray, before any column has a role.

    Parameters
    ----------
    source
        Whatever `shoal.read` reads.
    table
        Which table of a DuckDB file or a database.
    delimiter, quote, encoding
        How a CSV file is written, where it is not to be found out.
    engine, memory
        As for `shoal.read`.
    progress
        Called with the name of each step.

    Examples
    --------
    >>> columns = {"age": [29, 22, 27, 22], "sex": ["F", "M", "M", "M"]}
    >>> profile(columns)
    Profile(columns: 4 rows, 2 columns, 0 like identifiers, 1 columns single out 50%)
    """
    if isinstance(source, Dataset):
        source = source.columns
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    opened = open_engine(source, engine, memory=memory)
    try:
        progress("read")
        scan = opened.scan(source, **{k: v for k, v in options.items() if v is not None})
        survey = Survey(opened, scan)
        columns = []
        for number, name in enumerate(survey.columns, start=1):
            progress(f"column {number} of {len(survey.columns)}")
            columns.append(_column_profile(survey.values(name), survey.n_rows))
        considered = _considered(columns)
        combinations = count_combinations(survey, considered, progress)
        progress("correlations")
        typed = _typed(columns, considered)
        found, not_correlated = correlate(survey, typed)
        progress("columns that determine others")
        telling = find_telling_columns(survey, {name: kind for name, (kind, _) in typed.items()})
    finally:
        opened.close()
    return Profile(
        name=scan.name,
        source=_stated(source),
        options={k: v for k, v in scan.options.items() if options[k] or _DEFAULTS.get(k) != v},
        n_rows=survey.n_rows,
        columns=tuple(columns),
        combinations=combinations,
        correlations=found,
        not_correlated=not_correlated,
        determining=telling,
    )


def _stated(source: object) -> str | None:
    """Give what a configuration names the source by; never a password."""
    if is_postgres_address(source):
        return without_password(str(source))
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


_DEFAULTS = {"delimiter": ",", "quote": '"', "encoding": "utf-8"}


def _column_profile(values: Values, n_rows: int) -> ColumnProfile:
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
        hierarchy=suggested_hierarchy(values),
    )


def _considered(columns: list[ColumnProfile]) -> dict[str, tuple[int, int]]:
    """Give for each column that combinations are made of its number of values and lone rows."""
    return {
        column.name: (column.n_distinct + bool(column.n_missing), column.n_unique)
        for column in columns
        if not column.is_identifier_like and column.largest < column.n_rows
    }


def _typed(
    columns: Sequence[ColumnProfile], considered: Collection[str]
) -> dict[str, tuple[ColumnType, int]]:
    """Give for each column that has a type, and combinations are made of, what correlating asks."""
    return {
        column.name: (column.type, column.n_unique)
        for column in columns
        if column.name in considered and column.type is not None
    }


def _draft_remarks(column: ColumnProfile) -> tuple[str, ...]:
    alone = f"{_percent(column.unique_share)} of the rows alone with theirs"
    missing = f"{column.n_missing} missing"
    parts = [f"{column.n_distinct} values", alone * bool(column.n_unique)]
    return (*(part for part in (*parts, missing * bool(column.n_missing)) if part), *column.hints)


def _percent(share: float) -> str:
    """Write a share, so that a few people among many are not shown as none."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.1f} %"
