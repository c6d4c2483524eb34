"""The time and the memory of each stage of publishing one generated census.

``python benchmarks/stages.py ROWS [--method anatomy] [--memory 4GB] [--work 30s]`` publishes from a
CSV file within a memory limit, and prints one line per stage: CPU seconds of all threads, elapsed
seconds, and the most memory in megabytes. Each line is also printed to stderr when its stage ends.
On systems other than Linux the memory is the most so far. ``--profile STAGE`` also prints where the
Python of one stage spends its time, and ``--source`` names a census that was written before.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from large_census import write_in_a_process
from measure import UNITS_A_MEGABYTE
from rich.console import Console
from rich.table import Table

import shoal

METHODS = {
    "anatomy": shoal.Anatomy(ell=5),
    "ring": shoal.Anatomy(ell=5, draw="ring"),
    "mondrian": shoal.Mondrian(k=5, ell=3),
}
_PEAK = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


@dataclass
class Stages:
    """The stages so far, each with its CPU seconds, elapsed seconds and megabytes."""

    profiled: str
    lines: list[tuple[str, float, float, float]] = field(default_factory=list)
    profile: cProfile.Profile = field(default_factory=cProfile.Profile)
    _stage: str = ""
    _cpu: float = 0.0
    _wall: float = 0.0

    def begin(self, stage: str) -> None:
        """End a stage, and begin the next one."""
        cpu, wall = time.process_time(), time.perf_counter()
        if self._stage:
            self.lines.append((self._stage, cpu - self._cpu, wall - self._wall, _peak()))
            print(*_row(*self.lines[-1]), sep="\t", file=sys.stderr, flush=True)
            if self._stage == self.profiled:
                self.profile.disable()
        if _PEAK.exists():
            # From here on, the system looks for a new peak.
            _PEAK.write_text("5")
        self._stage, self._cpu, self._wall = stage, time.process_time(), time.perf_counter()
        if stage == self.profiled:
            self.profile.enable()

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the lines as texts, with the sums at the end."""
        attacks = [line for line in self.lines if _is_of_attacks(line[0])]
        for line in self.lines:
            yield _row(*line)
        yield _row("all attacks", *_together(attacks))
        yield _row("all others", *_together([line for line in self.lines if line not in attacks]))
        yield _row("all", *_together(self.lines))


def _is_of_attacks(stage: str) -> bool:
    return stage.startswith("attack: ") or stage == "write who is at risk"


def _together(lines: list[tuple[str, float, float, float]]) -> tuple[float, float, float]:
    _, cpu, wall, peak = zip(*lines, strict=True)
    return sum(cpu), sum(wall), max(peak)


def _row(stage: str, cpu: float, wall: float, peak: float) -> tuple[str, str, str, str]:
    return stage, f"{cpu:.1f}", f"{wall:.1f}", f"{peak:,.0f}"


def _peak() -> float:
    if _PEAK.exists():
        lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return float(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNITS_A_MEGABYTE


def main() -> None:
    """Publish, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("--method", choices=METHODS, default="anatomy")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--work", default="30s")
    parser.add_argument("--source", type=Path, help="the census as CSV, if it is there already")
    parser.add_argument("--profile", default="", metavar="STAGE")
    given = parser.parse_args()
    stages = Stages(given.profile)
    with tempfile.TemporaryDirectory(prefix="shoal-stages-") as folder:
        source = given.source or Path(folder, "census.csv")
        if given.source is None:
            write_in_a_process(given.rows, source)
        published = shoal.publish(
            source,
            schema=shoal.datasets.census(rows=1).schema,
            method=METHODS[given.method],
            folder=Path(folder, "release"),
            attack_work=given.work,
            memory=given.memory,
            progress=stages.begin,
        )
        stages.begin("")
    title = f"{given.method}, {given.rows:,} rows, --memory {given.memory}"
    table = Table("stage", "CPU s", "elapsed s", "MB", title=f"{title}, --attack-work {given.work}")
    for row in stages.rows():
        table.add_row(*row)
    console = Console()
    console.print(table)
    for judged in published.judgements:
        console.print(
            f"{judged.attack}: {judged.line}", *judged.remarks, highlight=False, markup=False
        )
    if given.profile:
        pstats.Stats(stages.profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
