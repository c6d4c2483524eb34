"""Profile a table: what each column could reveal, before any column has a role.

For every column its type and the numbers of values that are missing, different or unique; for
combinations of columns, the number of rows they single out; for pairs, their correlation. Values
themselves are never shown.

The cost of publishing can be estimated before a table is read. The constants were measured with
`shoal.datasets.census` on two cores: 200,000 and 1,000,000 rows of 4 to 16 columns, from a CSV file
to the sealed release with every attack, in CPU seconds and as the largest resident set. Both grow
with the number of rows and of cells; what that leaves out (the numbers of values and of buckets) is
worth a factor of two at most.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from shoal.core.display import Section, Tabular
from shoal.core.domain import ColumnType
from shoal.core.errors import ParameterError
from shoal.core.kernels import find_kernels, is_compiled
from shoal.core.method import Method
from shoal.core.progress import Progress, silent
from shoal.core.registry import snake_case
from shoal.datasets.dataset import Dataset
from shoal.engines.engine import is_postgres_address, open_engine
from shoal.engines.postgres.connection import without_password
from shoal.engines.sql.survey import Survey
from shoal.engines.sql.table import EngineTable
from shoal.report.plots import heat_map
from shoal.slicing.correlation import Correlations
from shoal.workflow.combinations import (
    Combinations,
    DeterminingColumns,
    count_combinations,
    find_determining_columns,
)
from shoal.workflow.drafting import draft
from shoal.workflow.profile_columns import (
    ColumnProfile,
    column_profile,
    correlate,
    correlation_sections,
    percent,
)

_THRESHOLDS = (0.05, 0.5)
_N_LISTED = 5
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
        """Return the profile as small tables."""
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
                percent(column.unique_share),
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
            (", ".join(one.columns), one.n_unique, percent(one.share))
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
            share = "" if found is None else percent(found.share)
            rows.append((f"more than {threshold:.0%}", columns, share))
        names = ("to single out", "it takes", "share")
        return Section(
            "The fewest columns that single people out", names, tuple(rows), holds_values=False
        )

    def _section_of_curve(self) -> Section:
        rows = tuple(
            (len(one.columns), f"+ {one.columns[-1]}", one.n_unique, percent(one.share))
            for one in self.combinations.curve
        )
        names = ("columns", "added", "rows", "share")
        return Section(
            "Columns added one by one, the most identifying first", names, rows, holds_values=False
        )

    def heat_map(self) -> str:
        """Return the correlations as an SVG picture; raise ParameterError if there are none."""
        if self.correlations is None:
            raise ParameterError(
                "There are no correlations to draw.",
                hint="; ".join(self.not_correlated) or "the table has too few columns for that.",
            )
        return heat_map(self.correlations, title=f"Correlation of the columns of {self.name}")

    def _overview(self) -> Section:
        return self._section_of_columns()

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
        for number, name in enumerate(survey.columns, start=1):
            progress(f"column {number} of {len(survey.columns)}")
            columns.append(column_profile(survey.values(name), survey.n_rows))
        considered = _considered(columns)
        combinations = count_combinations(survey, considered, progress)
        progress("correlations")
        typed = _typed(columns, considered)
        found, not_correlated = correlate(survey, typed)
        progress("columns that determine others")
        determining = find_determining_columns(
            survey, {name: kind for name, (kind, _) in typed.items()}
        )
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
        determining=determining,
    )


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


def _considered(columns: list[ColumnProfile]) -> dict[str, tuple[int, int]]:
    """Return the columns of combinations, with their numbers of values and of unique rows."""
    return {
        column.name: (column.n_distinct + bool(column.n_missing), column.n_unique)
        for column in columns
        if not column.is_identifier_like and column.largest < column.n_rows
    }


def _typed(
    columns: Sequence[ColumnProfile], considered: Collection[str]
) -> dict[str, tuple[ColumnType, int]]:
    """Return the columns of combinations that have a type, with their type and unique rows."""
    return {
        column.name: (column.type, column.n_unique)
        for column in columns
        if column.name in considered and column.type is not None
    }


_SECONDS_TO_START = 0.5
_BYTES_TO_START = 110_000_000


class Estimate(NamedTuple):
    """An estimate of time and memory."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class _Cost:
    """The cost of each row and cell of a table, and of each row if kernels are not compiled."""

    seconds_a_row: float
    seconds_a_cell: float
    bytes_a_row: int
    bytes_a_cell: int
    seconds_a_row_if_plain: float = 0.0


_COSTS = {
    "anatomy": _Cost(3.5e-6, 2.6e-6, 300, 140),
    "mondrian": _Cost(0.0, 2.2e-6, 0, 140, seconds_a_row_if_plain=1.2e-4),
}
# A method that has not been measured is assumed to be as slow as all of them.
_UNKNOWN = _Cost(3.5e-6, 2.6e-6, 300, 140, seconds_a_row_if_plain=1.2e-4)


def estimate(n_rows: int, n_columns: int, method: str | Method) -> Estimate:
    """Estimate the time and memory of publishing a table.

    Examples
    --------
    >>> estimate(1_000_000, 9, "anatomy")
    Estimate(seconds=27.4, memory_bytes=1670000000)
    """
    name = method if isinstance(method, str) else snake_case(type(method).__name__)
    cost = _COSTS.get(name, _UNKNOWN)
    n_cells = n_rows * n_columns
    seconds = _SECONDS_TO_START + cost.seconds_a_row * n_rows + cost.seconds_a_cell * n_cells
    if cost.seconds_a_row_if_plain and not all(map(is_compiled, find_kernels())):
        seconds += cost.seconds_a_row_if_plain * n_rows
    memory = _BYTES_TO_START + cost.bytes_a_row * n_rows + cost.bytes_a_cell * n_cells
    return Estimate(round(seconds, 2), memory)


_ATTACK_SECONDS = {
    "background": (0.05, 1e-5),
    "belief": (0.1, 1e-5),
    "foreground": (2.5, 2.1e-3),
    "homogeneity": (0.01, 4e-7),
    "linkage": (0.01, 2.5e-6),
    "membership": (0.2, 2.3e-5),
}
"""CPU seconds of each attack, fixed and per row: measured on releases of `census` by Mondrian,
Anatomy and Injector with 4,000 and 16,000 rows of seven quasi-identifiers."""
_UNKNOWN_ATTACK = (0.5, 5e-5)


def estimate_attack(attack: str, n_rows: int) -> float:
    """Estimate the seconds that an attack takes on the release of a table.

    Examples
    --------
    >>> estimate_attack("homogeneity", 1_000_000) < estimate_attack("foreground", 1_000_000)
    True
    """
    at_least, per_row = _ATTACK_SECONDS.get(attack, _UNKNOWN_ATTACK)
    return round(at_least + per_row * n_rows, 2)
