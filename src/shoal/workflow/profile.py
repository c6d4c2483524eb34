"""Profile a table: what each column could reveal, before any column has a role.

For every column its type and the numbers of values that are missing, different or unique; for
combinations of columns, the number of rows they single out; for pairs, their correlation. Values
themselves are never shown.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.core.arrays import Codes
from shoal.core.display import Section, Tabular
from shoal.core.errors import ParameterError
from shoal.core.progress import Progress, silent
from shoal.datasets.dataset import Dataset
from shoal.engines.engine import is_postgres_address, open_engine
from shoal.engines.postgres.connection import without_password
from shoal.engines.sql.survey import MOST_CODES, Survey
from shoal.engines.sql.table import EngineTable
from shoal.locating.row_groups import CodedColumns
from shoal.report.plots import heat_map
from shoal.slicing.correlation import Correlations
from shoal.workflow.column_relations import (
    DeterminingColumns,
    correlate,
    correlation_sections,
    find_determining_columns,
    levels_of,
)
from shoal.workflow.combinations import (
    THRESHOLDS,
    Combinations,
    CountsInEngine,
    CountsInMemory,
    count_combinations,
)
from shoal.workflow.drafting import draft
from shoal.workflow.profile_columns import (
    ColumnProfile,
    column_profile,
    section_of_columns,
    with_recognition,
)
from shoal.workflow.recognition import Recognition, find_units

_N_STATED = 25


@dataclass(frozen=True, kw_only=True, repr=False)
class Profile(Tabular):
    """What a table could reveal, by column and by combination of columns."""

    name: str
    # The path or address as given, but without a password; None if it is neither.
    source: str | None
    # The options of reading that differ from the defaults.
    options: Mapping[str, str]
    n_rows: int
    columns: tuple[ColumnProfile, ...]
    # Without constant columns and those that look like identifiers.
    combinations: Combinations
    # Phi-squared of every pair of these columns, with numbers and dates in ten intervals each. Also
    # without columns in which most rows have a value of their own, which would seem correlated with
    # all others. None if the table is too large, or fewer than two columns remain.
    correlations: Correlations | None = None
    # Why columns, or all of them, have no correlation, in words.
    not_correlated: tuple[str, ...] = ()
    # The columns, alone and in pairs, that determine another one for 95 % of the rows or more.
    determining: DeterminingColumns = field(default_factory=DeterminingColumns)

    def column(self, name: str) -> ColumnProfile:
        """Return the profile of a column."""
        return next(column for column in self.columns if column.name == name)

    @property
    def identifier_like(self) -> tuple[str, ...]:
        """The columns that look like identifiers."""
        return tuple(column.name for column in self.columns if column.is_identifier_like)

    def draft(self, folder: str | os.PathLike[str] | None = None) -> str:
        """Return a draft of a configuration, to be edited.

        It is TOML, but not a valid configuration until the steward has given every column a role.
        The path of the source is written relative to `folder`, or as given without one.
        """
        source = self.source
        if source is not None and folder is not None and Path(source).exists():
            source = Path(os.path.relpath(source, folder)).as_posix()
        return draft(self.name, source, self.options, self.columns)

    def to_dict(self) -> dict[str, object]:
        """Return the profile as JSON holds it."""
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
                for threshold in THRESHOLDS
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
        """Return the profile as small tables."""
        sections = [
            self._overview(),
            Section(
                "Columns that look like identifiers",
                ("column", "why"),
                tuple((c.name, c.identity) for c in self.columns if c.is_identifier_like),
                holds_values=False,
            ),
            *self.combinations.sections(),
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

    def heat_map(self) -> str:
        """Return the correlations as an SVG picture; raise ParameterError if there are none."""
        if self.correlations is None:
            raise ParameterError(
                "There are no correlations to draw.",
                hint="; ".join(self.not_correlated) or "the table has too few columns for that.",
            )
        return heat_map(self.correlations, title=f"Correlation of the columns of {self.name}")

    def _overview(self) -> Section:
        return section_of_columns(self.columns, self.n_rows)

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
    """Profile a table: what it could reveal, before any column has a role.

    Parameters
    ----------
    source
        Whatever `shoal.read` reads, or the table that it returned.
    table
        The name of the table in a DuckDB file or a database. Default: the only one.
    delimiter, quote, encoding
        The format of a CSV file. Default: detected from the file.
    engine, memory
        As for `shoal.read`.
    progress
        Called with the name of each step. Default: nothing is reported.

    Examples
    --------
    >>> import shoal
    >>> columns = {"age": [29, 22, 27, 22], "sex": ["F", "M", "M", "M"]}
    >>> shoal.profile(columns)
    Profile(columns: 4 rows, 2 columns, 0 like identifiers, 1 columns single out 50%)
    >>> shoal.profile(shoal.read(columns, quasi=["age", "sex"]))
    Profile(columns: 4 rows, 2 columns, 0 like identifiers, 1 columns single out 50%)
    """
    if isinstance(source, EngineTable):
        origin = source.scan.origin
        return profile(
            _source_of(source), engine=engine, memory=memory, progress=progress, **origin.options
        )
    if isinstance(source, Dataset):
        source = source.columns
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    opened = open_engine(source, engine, memory=memory)
    try:
        progress("read")
        scan = opened.scan(source, **{k: v for k, v in options.items() if v is not None})
        survey = Survey(opened, scan)
        columns = []
        levels: dict[str, Codes | None] = {}
        for number, name in enumerate(survey.columns, start=1):
            progress(f"column {number} of {len(survey.columns)}")
            values = survey.values(name)
            columns.append(column_profile(values, survey.n_rows))
            if _is_considered(columns[-1]) and values.type is not None:
                levels[name] = levels_of(values)
        together = _count_together(survey, columns, levels, progress)
    finally:
        opened.close()
    return Profile(
        name=scan.name,
        source=_stated(source),
        options={k: v for k, v in scan.options.items() if options[k] or _DEFAULTS.get(k) != v},
        n_rows=survey.n_rows,
        columns=tuple(with_recognition(one, together.units.get(one.name)) for one in columns),
        combinations=together.combinations,
        correlations=together.correlations,
        not_correlated=together.not_correlated,
        determining=together.determining,
    )


@dataclass(frozen=True)
class _Together:
    """What columns say together."""

    combinations: Combinations
    correlations: Correlations | None = None
    not_correlated: tuple[str, ...] = ()
    determining: DeterminingColumns = field(default_factory=DeterminingColumns)
    # The columns whose rows belong together.
    units: Mapping[str, Recognition] = field(default_factory=dict)


def _count_together(
    survey: Survey,
    columns: Sequence[ColumnProfile],
    levels: Mapping[str, Codes | None],
    progress: Progress,
) -> _Together:
    """Count combinations of columns; in memory, and with all that follows, if they fit there.

    `levels` has the columns with a type; see `shoal.workflow.column_relations.correlate`.
    """
    considered = {
        column.name: (column.n_distinct + bool(column.n_missing), column.n_unique)
        for column in columns
        if _is_considered(column)
    }
    progress("code the columns")
    if survey.n_rows * len(considered) > MOST_CODES:
        survey.code(list(considered))
        reason = f"{survey.n_rows} rows of {len(considered)} columns are more than are compared"
        return _Together(
            count_combinations(CountsInEngine(survey), considered, progress),
            not_correlated=(f"correlations: {reason}",),
            determining=DeterminingColumns((), (f"columns that determine others: {reason}",)),
        )
    table = CodedColumns.of_rows(survey.fetch_codes(list(considered)), survey.n_rows)
    combinations = count_combinations(CountsInMemory(table), considered, progress)
    progress("correlations")
    correlations, not_correlated = correlate(table, levels)
    progress("columns that determine others")
    determining = find_determining_columns(table.select(list(levels)))
    units = find_units(
        table,
        {column.name: column.type for column in columns if column.name in considered},
        [column.name for column in columns if column.may_name_person],
    )
    return _Together(combinations, correlations, not_correlated, determining, units)


def _source_of(table: EngineTable) -> object:
    """Return the source of a table, which is profiled in an engine of its own."""
    source = table.scan.origin.source
    if source is None:
        raise ParameterError(
            "The source of this table is not at hand.", hint="profile the source itself."
        )
    return source


def _stated(source: object) -> str | None:
    """Return the name of the source in a configuration; never a password."""
    if is_postgres_address(source):
        return without_password(str(source))
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


_DEFAULTS = {"delimiter": ",", "quote": '"', "encoding": "utf-8"}


def _is_considered(column: ColumnProfile) -> bool:
    """Return whether a column is combined with others."""
    return not column.is_identifier_like and column.largest < column.n_rows
