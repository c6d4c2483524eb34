"""Comparing the six usual methods on one table, with every attack and measure that applies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import tables
from context import Context
from measure import Limits, run_command
from report import Line, Sheet

import shoal

_AIM = 25.0
"""The wall-clock seconds that a comparison on OCC-7 of Adult should not exceed."""
_LIMIT = 900.0


def run(context: Context) -> Iterator[Sheet]:
    """Measure `shoal.compare`, reading the table included."""
    adult = context.table.adult
    what = f"compare, six methods, {context.table.n_rows:,} rows"
    context.say(what)
    # One comparison takes long, so it is not repeated.
    limits = Limits(repeat=1, seconds=max(context.limits.seconds, _LIMIT))
    script = str(Path(__file__).resolve())
    outcome = run_command((sys.executable, script, *([] if adult is None else [adult])), limits)
    wall = outcome.wall_seconds
    found = "" if wall is None else f"{wall:.1f} s wall"
    remarks = []
    if wall is not None:
        reached = "reached" if wall < _AIM else "missed"
        remarks.append(f"{what}: aim less than {_AIM:g} s wall on an idle machine; {reached}.")
    line = Line(what=what, outcome=outcome, found=found, n_rows=context.table.n_rows)
    yield Sheet(title="Comparing methods", lines=(line,), remarks=tuple(remarks))


def _compare(adult: str | None) -> None:
    print(shoal.compare(shoal.read(tables.load(adult))))


if __name__ == "__main__":
    _compare(sys.argv[1] if len(sys.argv) > 1 else None)
