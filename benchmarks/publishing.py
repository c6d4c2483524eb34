"""From a large CSV file to a sealed release, compared with the bare work in DuckDB.

`shoal publish` is run as a user runs it: it reads, plans, places, verifies, attacks, writes, and
verifies the written files once more. Every attack that applies runs, with the work that it is
allowed by default. The bare work reads the file, counts the distinct cells and
writes the columns sorted: no tool that publishes a sorted table can do less.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from context import Context
from large_census import write_in_a_process
from measure import BYTES_A_MEGABYTE, HERE, Outcome
from process_tree import Surroundings, measure_tree
from report import Line, Sheet

import shoal
from shoal.engines.limits import bytes_of, engine_memory

_SIZES = (1_000_000, 10_000_000)
_HUGE = 45_000_000
_SECONDS = 6 * 3600.0
_METHODS: Mapping[str, Mapping[str, object]] = {
    "Anatomy, l = 5": {"name": "anatomy", "ell": 5},
    "Anatomy, l = 5, ring": {"name": "anatomy", "ell": 5, "draw": "ring"},
    "Mondrian, k = 5, l = 3": {"name": "mondrian", "k": 5, "ell": 3},
}
# The source, the release with its internal folder, and spilled data.
_BYTES_A_ROW = 600
# Three for anonymizing, and as much for all attacks; `stages.py` shows each by itself.
_AIM_RATIO = 6
_AIM_RATIO_ROWS = 10_000_000
_AIM_GROWTH = 1.2
_MEMORY = "4GB"
_MEMORY_OF_HUGE = "8GB"


def run(context: Context) -> Iterator[Sheet]:
    """Measure each size, from the smallest."""
    usual = (*_SIZES, _HUGE) if context.is_huge else _SIZES
    smaller: dict[str, Line] = {}
    for n_rows in sorted(context.rows or usual):
        lines = _measure_size(context, n_rows)
        yield Sheet(
            title=f"Publishing a generated census, {n_rows:,} rows, --memory {_memory(n_rows)}",
            lines=tuple(lines.values()),
            ratio="ratio to bare DuckDB",
            remarks=tuple(_judge(n_rows, lines, smaller)),
        )
        smaller = smaller or lines


def _memory(n_rows: int) -> str:
    return _MEMORY if n_rows <= _AIM_RATIO_ROWS else _MEMORY_OF_HUGE


# --- measuring --------------------------------------------------------------------------------


def _measure_size(context: Context, n_rows: int) -> dict[str, Line]:
    needed, free = _BYTES_A_ROW * n_rows, shutil.disk_usage(context.folder).free
    if free < needed:
        problem = f"needs {needed / 1e9:.0f} GB of free disk; there are {free / 1e9:.0f}"
        return {"": Line(what="a census to publish", outcome=Outcome(problem=problem))}
    context.say(f"generating {n_rows:,} rows; {free / 1e9:.0f} GB of disk are free")
    folder = context.folder / "publishing"
    folder.mkdir()
    try:
        job = _Job(folder=folder, n_rows=n_rows)
        write_in_a_process(n_rows, job.source)
        return _lines(context, job)
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A census on disk, to be published within a memory limit."""

    folder: Path
    n_rows: int
    schema: shoal.Schema = field(default_factory=lambda: shoal.datasets.census(rows=1).schema)

    @property
    def source(self) -> Path:
        return self.folder / "census.csv"

    def run(self, command: list[str]) -> Outcome:
        """Run a command in a new folder, which is deleted afterwards."""
        folder = self.folder / "run"
        folder.mkdir()
        try:
            return measure_tree(
                [sys.executable, *command], Surroundings(folder=folder, seconds=_SECONDS)
            )
        finally:
            shutil.rmtree(folder)


def _lines(context: Context, job: _Job) -> dict[str, Line]:
    context.say(f"DuckDB alone, {job.n_rows:,} rows")
    bare = _publish_bare(job)
    found = "" if bare.answer is None else "{rows:,} rows, {cells:,} cells".format(**bare.answer)
    lines = {"bare": Line(what="DuckDB alone", outcome=bare, found=found, n_rows=job.n_rows)}
    for what, method in _METHODS.items():
        context.say(f"Shoal, {what}, {job.n_rows:,} rows")
        outcome = _publish(job, method)
        lines[what] = Line(
            what=f"shoal publish: {what}",
            outcome=outcome,
            against=bare,
            found=_describe(outcome.answer),
            n_rows=job.n_rows,
        )
    return lines


def _publish_bare(job: _Job) -> Outcome:
    schema = job.schema
    request = {
        "source": str(job.source),
        "target": "sorted.csv",
        "quasi": schema.quasi,
        "sensitive": schema.sensitive[0],
        "others": schema.insensitive,
        "identifying": [name for name in schema.identifying if name != schema.key],
        # DuckDB's share of the memory that Shoal is given.
        "memory": engine_memory(_memory(job.n_rows)),
    }
    return job.run([str(HERE / "bare_duckdb.py"), json.dumps(request)])


def _publish(job: _Job, method: Mapping[str, object]) -> Outcome:
    configuration = job.folder / "shoal.toml"
    configuration.write_text("\n".join(_configuration(job, method)), encoding="utf-8")
    options = ["--memory", _memory(job.n_rows), "--out", "release", "--json"]
    return job.run(["-m", "shoal", "publish", str(configuration), *options])


def _configuration(job: _Job, method: Mapping[str, object]) -> Iterator[str]:
    schema = job.schema
    rules = {column: rule.to_config() for column, rule in schema.hierarchies.items()}
    sections: dict[str, Mapping[str, object]] = {
        "table": {"source": job.source.name, "key": schema.key},
        "columns": {
            "identifying": schema.identifying,
            "quasi": schema.quasi,
            "sensitive": schema.sensitive,
            "insensitive": schema.insensitive,
            "meant": schema.meant,
        },
        "types": {"postcode": "categorical"},
        "hierarchies": rules,
        "method": method,
    }
    for section, entries in sections.items():
        yield f"[{section}]"
        yield from (f"{key} = {toml(value)}" for key, value in entries.items())


def toml(value: object) -> str:
    """Write texts, numbers and lists, which TOML writes as JSON does, and inline tables."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {toml(entry)}' for key, entry in value.items())} }}"
    return json.dumps(value)


def _describe(answer: Mapping[str, object] | None) -> str:
    """Describe the release; if it is sealed, the written files were verified."""
    if not answer:
        return ""
    verdict = "verified and sealed" if answer["sealed"] else "not sealed"
    attacks = [f"{a['attack']} {a['worst_posterior']:.3g}" for a in answer["gate"]]
    return (
        f"{answer['rows']:,} rows, {answer['buckets']:,} buckets, {verdict}; "
        f"worst posterior: {', '.join(attacks)}"
    )


# --- judging ----------------------------------------------------------------------------------


def _judge(n_rows: int, lines: Mapping[str, Line], smaller: Mapping[str, Line]) -> Iterator[str]:
    """Compare the figures with the aims, at the sizes for which there are aims."""
    for what in (name for name in _METHODS if name in lines):
        line = lines[what]
        if line.ratio is not None:
            is_judged = n_rows == _AIM_RATIO_ROWS
            aim = _aim(f"at most {_AIM_RATIO}", line.ratio <= _AIM_RATIO) if is_judged else ""
            yield f"{what}: {line.ratio:.2f} times the bare work{aim}."
        if line.outcome.peak is not None:
            n_bytes, most = line.outcome.peak * BYTES_A_MEGABYTE, _memory(n_rows)
            is_judged = n_rows in (_AIM_RATIO_ROWS, _HUGE)
            aim = _aim(f"at most {most}", n_bytes <= bytes_of(most)) if is_judged else ""
            yield f"{what}: {n_bytes / 1e9:.2f} GB of memory{aim}."
        if what in smaller:
            yield from _judge_growth(what, line, smaller[what])


def _judge_growth(what: str, line: Line, before: Line) -> Iterator[str]:
    now, then = line.microseconds_a_row, before.microseconds_a_row
    if now is None or then is None:
        return
    is_judged = (before.n_rows, line.n_rows) == _SIZES
    aim = _aim(f"at most {_AIM_GROWTH}", now <= _AIM_GROWTH * then) if is_judged else ""
    yield f"{what}: a row costs {now / then:.2f} times what it did at {before.n_rows:,} rows{aim}."


def _aim(aim: str, is_reached: bool) -> str:
    return f"; aim {aim}: {'reached' if is_reached else 'missed'}"
