"""Measure what an analyst can still do with a release."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from shoal import measures as all_measures
from shoal.core.arrays import Codes
from shoal.core.cells import Cells
from shoal.core.display import Section, Tabular
from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError
from shoal.core.measure import Fold, FoldedMeasure, Measure, Measured, draw_folds
from shoal.core.progress import Progress, silent
from shoal.core.registry import snake_case
from shoal.core.release import Published
from shoal.core.sharing import once
from shoal.core.table import MOST_ROWS, Rows, Table
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Making, Release, opened
from shoal.workflow.rerun import publish_part

_MOST_ROWS = 100_000
"""Up to this many rows, the default measures take a few seconds."""
_N_QUERIES = 200


@dataclass(frozen=True)
class MeasureReport(Tabular):
    """The results of each measure, in the order in which the measures ran."""

    measured: tuple[Measured, ...]

    def __iter__(self) -> Iterator[Measured]:
        """Iterate over the results."""
        return iter(self.measured)

    def __getitem__(self, name: str) -> Measured:
        """Return the results of a measure by its name."""
        for one in self.measured:
            if one.measure == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON holds it."""
        return {"measures": [one.to_dict() for one in self.measured]}

    def _overview(self) -> Section:
        # Figures that are texts may quote the table, so only `to_dict` has them.
        rows = tuple(
            (one.measure, name, value)
            for one in self.measured
            for name, value in one.headline.items()
            if isinstance(value, int | float)
        )
        return Section("Measures", ("measure", "figure", "value"), rows, holds_values=False)

    def __repr__(self) -> str:
        shown = "; ".join(repr(one)[len("Measured(") : -1] for one in self.measured)
        return f"MeasureReport({shown})"


def measure(
    release: Release | str | os.PathLike[str],
    *measures: Measure,
    table: Table | None = None,
    progress: Progress = silent,
) -> MeasureReport:
    """Compare a release with the table that it was made from.

    Parameters
    ----------
    release
        A release, or the path of its public folder.
    measures
        The measures to take. Default: every measure that makes sense on the release.
    table
        The table that the release was made from. Default: the table of a release just made.
    progress
        Called with the name of each step. Default: nothing is reported.

    Notes
    -----
    A measure that is tested on held-out rows publishes parts of the table by the method of the
    release, the same parts for every method. If the method is not available, or cannot publish a
    part, the release is tested on the rows that it was made from; the measure says so.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> shoal.measure(release, shoal.measures.Loss())
    MeasureReport(loss: generalized loss 0)
    """
    with opened(release) as held:
        return _measure(held, measures, table, progress)


def _measure(
    release: Release, measures: tuple[Measure, ...], table: Table | None, progress: Progress
) -> MeasureReport:
    published = release.published
    confirm_measures(measures, published)
    truth = _truth(release, table)
    measured = []
    for one in measures or measures_that_apply(published):
        progress(f"measure {snake_case(type(one).__name__)}")
        folds = _folds(release, one) if isinstance(one, FoldedMeasure) and table is None else []
        if isinstance(one, FoldedMeasure) and folds:
            measured.append(one.judge(folds))
        else:
            measured.append(one.run(published, truth))
    return MeasureReport(tuple(measured))


def measures_that_apply(published: Published) -> list[Measure]:
    """Return every measure that makes sense on a release, with default parameters."""
    known: list[Measure] = [getattr(all_measures, name)() for name in all_measures.__all__]
    return [one for one in known if one.fits(published)]


def default_measures(published: Published) -> list[Measure]:
    """Return the measures of every publication that names none; none for large releases."""
    if published.lines.n_rows > _MOST_ROWS:
        return []
    # Sums and averages take longer than everything else together.
    known = [all_measures.Loss(), all_measures.Queries(number=_N_QUERIES, numbers=())]
    return [one for one in known if one.fits(published)]


def confirm_measures(measures: Sequence[Measure], published: Published) -> None:
    """Refuse measures that make no sense on a release."""
    for one in measures:
        if not isinstance(one, Measure):
            raise ParameterError(
                "A measure must be an object such as shoal.measures.Loss(), not a "
                f"{type(one).__name__}."
            )
        one.confirm_fits(published)


def _truth(release: Release, table: Table | None) -> Cells:
    """Count the table that a release was made from."""
    if table is None and release.making is None:
        raise ParameterError(
            "A release from disk is compared with its table, which is not at hand.",
            hint="give it: table=shoal.read(source, schema).",
        )
    source = table if table is not None or release.making is None else release.making.table
    assert source is not None
    wanted = [column.name for column in release.manifest.columns]
    lacking = [name for name in wanted if name not in source.schema.published]
    if lacking:
        raise SchemaError(
            f"The table lacks the column {lacking[0]!r} of the release.",
            hint="give the table that the release was made from.",
        )
    return source.counts(source.schema.coded)


def _folds(release: Release, one: FoldedMeasure) -> Sequence[Fold]:
    """Publish the table without each of its folds; return nothing if that cannot be done."""
    making = release.making
    if making is None or making.repairs or making.table.n_rows > MOST_ROWS:
        return ()
    if making.table.n_rows < one.folds:
        return ()
    try:
        return _published_folds(making, one)
    except (DataError, InfeasibleError, ParameterError, SchemaError):
        # A part of the table may be too small for what the whole could keep.
        return ()


def _published_folds(making: Making, one: FoldedMeasure) -> list[Fold]:
    table: EngineTable = making.table
    method = making.method.settled(making.plan.notes)
    rows = table.row_codes(MOST_ROWS)
    counted = once((rows,), (one.folds, one.seed), partial(_counted_folds, rows, one))
    return [
        Fold(publish_part(making, rows, members, method), train, test)
        for members, train, test in counted
    ]


def _counted_folds(rows: Rows, one: FoldedMeasure) -> list[tuple[Codes, Cells, Cells]]:
    """Return for each fold the rows outside of it, their counts, and the counts of its own rows."""
    fold = draw_folds(rows.n_rows, one.folds, one.seed)
    found = []
    for number in range(one.folds):
        members = np.flatnonzero(fold != number)
        train, test = (
            Cells.of_rows(rows.domains, rows.codes[chosen].astype(np.int64))
            for chosen in (members, np.flatnonzero(fold == number))
        )
        found.append((members, train, test))
    return found
