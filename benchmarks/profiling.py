"""Profiling tables of many columns from the command line, with all that starting takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from context import Context
from measure import Limits, run_command
from report import Line, Sheet
from wide_tables import write_wide

_SIZES = ((50_000, 70, 3.0), (5_000, 1_000, 60.0))
_LARGE_SIZES = ((50_000, 1_000, 60.0),)
"""Rows, columns, and the seconds that a profile should not exceed."""


def run(context: Context) -> Iterator[Sheet]:
    """Measure `shoal profile` on tables of mixed types."""
    lines: list[Line] = []
    remarks: list[str] = []
    for n_rows, n_columns, aim in (*_SIZES, *(_LARGE_SIZES * context.is_large)):
        what = f"shoal profile, {n_rows:,} rows, {n_columns:,} columns"
        context.say(what)
        path = context.folder / f"wide-{n_rows}-{n_columns}.csv"
        write_wide(path, n_rows, n_columns)
        limits = Limits(repeat=min(context.limits.repeat, 3), seconds=context.limits.seconds)
        outcome = run_command((sys.executable, "-m", "shoal", "profile", str(path)), limits)
        path.unlink()
        lines.append(Line(what=what, outcome=outcome, n_rows=n_rows))
        if outcome.seconds is not None:
            reached = "reached" if outcome.seconds < aim else "missed"
            remarks.append(f"{what}: aim less than {aim:g} CPU seconds; {reached}.")
    yield Sheet(title="Profiling wide tables", lines=tuple(lines), remarks=tuple(remarks))
