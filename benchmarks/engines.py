"""The same table published on DuckDB, Spark and Postgres: cost and agreement.

Every engine places every row in the same way, so with one seed the data files have the same bytes.
CPU seconds and memory are those of all processes, including Spark's Java and Postgres' server.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from context import Context
from large_census import write_in_a_process
from measure import HERE, Outcome
from postgres_server import Server, find_programs, private_server
from process_tree import Surroundings, can_watch, measure_tree
from report import Line, Sheet

_SIZE = 4_500_000
_SECONDS = 2 * 3600.0
_MEMORY = "4GB"
_AIM_SPARK = 150
# The source, a copy of it in a database, and the data that engines stage and spill.
_BYTES_A_ROW = 1500


@dataclass(frozen=True, kw_only=True)
class _Engine:
    """An engine with a number of cores."""

    name: str
    cores: int
    what: str


_ENGINES = (
    _Engine(name="duckdb", cores=1, what="DuckDB, 1 thread"),
    _Engine(name="duckdb", cores=2, what="DuckDB, 2 threads"),
    _Engine(name="spark", cores=1, what="Spark, local[1]"),
    _Engine(name="spark", cores=2, what="Spark, local[2]"),
    _Engine(name="postgres", cores=1, what="Postgres"),
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure every engine at each size."""
    for n_rows in sorted(context.rows or (_SIZE,)):
        needed, free = _BYTES_A_ROW * n_rows, shutil.disk_usage(context.folder).free
        if free < needed:
            problem = f"needs {needed / 1e9:.0f} GB of free disk; there are {free / 1e9:.0f}"
            lines = [Line(what="a census to publish", outcome=Outcome(problem=problem))]
        else:
            lines = _measure_size(context, n_rows)
        yield Sheet(
            title=f"Publishing {n_rows:,} rows of a generated census, Anatomy, l = 5, ring",
            lines=tuple(lines),
            ratio="ratio to DuckDB, 1 thread",
            remarks=tuple(_judge(n_rows, lines)),
        )


# --- measuring --------------------------------------------------------------------------------


def _measure_size(context: Context, n_rows: int) -> list[Line]:
    folder = context.folder / "engines"
    folder.mkdir()
    lines: list[Line] = []
    try:
        context.say(f"generating {n_rows:,} rows")
        write_in_a_process(n_rows, folder / "census")
        for engine in _ENGINES:
            context.say(f"{engine.what}, {n_rows:,} rows")
            outcome = _measure(engine, folder)
            found = _describe(outcome, n_rows, engine.cores)
            against = lines[0].outcome if lines else None
            lines.append(
                Line(what=engine.what, outcome=outcome, against=against, found=found, n_rows=n_rows)
            )
    finally:
        shutil.rmtree(folder)
    return lines


def _measure(engine: _Engine, folder: Path) -> Outcome:
    lacking = _lacking(engine.name)
    if lacking is not None:
        return Outcome(problem=lacking)
    source = str(folder / "census")
    options: dict[str, object] = {"source": source, "cores": engine.cores, "memory": _MEMORY}
    with contextlib.ExitStack() as stack:
        server: Server | None = None
        if engine.name == "postgres":
            programs = find_programs()
            assert programs is not None
            server = stack.enter_context(private_server(programs))
            loaded = _ask("load", {"source": source, "address": server.address}, folder, None)
            if loaded.problem is not None:
                return loaded
            options["source"] = server.address
        return _ask(engine.name, options, folder, server)


def _lacking(engine: str) -> str | None:
    """Return what an engine needs that is not installed."""
    if engine == "spark":
        if find_spec("pyspark") is None:
            return "pyspark is not installed"
        return None if shutil.which("java") or os.environ.get("JAVA_HOME") else "no Java"
    if engine == "postgres":
        if find_spec("psycopg") is None:
            return "psycopg is not installed"
        if find_programs() is None:
            return "no initdb and pg_ctl"
        return None if can_watch() else "a server's CPU seconds need Linux"
    return None


def _ask(
    engine: str, options: Mapping[str, object], folder: Path, server: Server | None
) -> Outcome:
    """Run the worker in a new folder, which is deleted afterwards."""
    run_folder = folder / "run"
    run_folder.mkdir()
    request = json.dumps({"engine": engine, "options": options})
    try:
        return measure_tree(
            [sys.executable, str(HERE / "engines_worker.py"), request],
            Surroundings(
                folder=run_folder,
                seconds=_SECONDS,
                server=None if server is None else server.process,
                folders=() if server is None else (server.folder,),
            ),
        )
    finally:
        shutil.rmtree(run_folder, ignore_errors=True)


def _describe(outcome: Outcome, n_rows: int, cores: int) -> str:
    """Describe the rows per second: per core by wall-clock time, and by CPU time."""
    if outcome.answer is None or outcome.wall_seconds is None or outcome.seconds is None:
        return ""
    by_clock, by_cpu = n_rows / outcome.wall_seconds / cores, n_rows / outcome.seconds
    return (
        f"{outcome.answer['engine']}: {by_clock:,.0f} rows a second and core, {by_cpu:,.0f} rows a "
        f"CPU second; {outcome.answer['buckets']:,} buckets"
    )


# --- judging ----------------------------------------------------------------------------------


def _judge(n_rows: int, lines: list[Line]) -> Iterator[str]:
    made = {line.what: line.outcome.answer for line in lines if line.outcome.answer is not None}
    if len(made) > 1:
        digests = [answer["digests"] for answer in made.values()]
        is_same = bool(digests[0]) and all(digest == digests[0] for digest in digests)
        verdict = "the same bytes in every data file" if is_same else "DATA FILES DIFFER"
        yield f"{', '.join(made)}: {verdict}."
    for line in lines:
        seconds = line.outcome.seconds
        if line.what.startswith("Spark") and seconds is not None and n_rows == _SIZE:
            reached = "reached" if seconds <= _AIM_SPARK else "missed"
            yield f"{line.what}: aim at most {_AIM_SPARK} CPU seconds; {reached} ({seconds:.0f})."
