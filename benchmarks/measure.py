"""Measure one call in a process of its own.

Every measurement, of Shoal and of its peers alike, runs in a fresh process: it is not warmed up by
earlier work, its memory is its own, and it can be ended if it takes too long. The runner sends a
request as JSON to the standard input of a worker script; the worker prepares what is not timed,
times the rest and answers as JSON on its standard output. This module serves both sides and imports
only the standard library, since a worker may run in the environment of a peer.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
"""The folder of the benchmarks; workers find this module there."""

BYTES_A_MEGABYTE = 2**20
UNITS_A_MEGABYTE = BYTES_A_MEGABYTE if sys.platform == "darwin" else 2**10
"""The units per megabyte in which the system reports the peak memory."""

# Clocks of CPU time may have a resolution of only ten milliseconds: calls that are shorter than
# this many seconds are timed in batches, up to this size.
_SHORTEST = 0.3
_MOST_CALLS = 20_000
# A waiting process uses no CPU time, and on a busy machine it may have to wait long.
_WALL_A_CPU_SECOND = 10
_SHOWN_OF_AN_ERROR = 200


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a measurement."""

    repeat: int = 5  # The most repetitions; the shortest time counts.
    enough: float = 10.0  # No repetition is added after this many CPU seconds in total.
    seconds: float = 120.0  # A process is ended after this many CPU seconds.


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a measurement."""

    # CPU seconds of all threads, per repetition; empty if there is no time.
    cpu: tuple[float, ...] = ()
    wall: tuple[float, ...] = ()  # Wall-clock seconds per repetition.
    # Peak memory of the process in megabytes, up to the end of the first repetition.
    peak: float | None = None
    # The most disk space of its files in megabytes; None if not measured.
    disk: float | None = None
    answer: Any = None  # The return value of the call.
    # The reason if there is no time: too long, not installed, or an error.
    problem: str | None = None

    @property
    def seconds(self) -> float | None:
        """The CPU seconds that count: the least."""
        return min(self.cpu, default=None)

    @property
    def wall_seconds(self) -> float | None:
        """The least wall-clock seconds."""
        return min(self.wall, default=None)

    def to_dict(self) -> dict[str, object]:
        """Return the outcome as plain values for JSON."""
        return asdict(self)


# --- the worker's side ------------------------------------------------------------------------

Call = Callable[[], object]


def serve(measures: Mapping[str, Callable[..., Call]]) -> None:
    """Answer the request on the standard input.

    Each measure takes the options of a request, prepares, and returns the call to be timed.
    """
    request = json.load(sys.stdin)
    limits = Limits(**request["limits"])
    _end_after(limits.seconds + limits.enough)
    _stay_within_half_the_memory()
    # Some peers print; the answer must stay alone on the standard output.
    with contextlib.redirect_stdout(sys.stderr):
        call = measures[request["measure"]](**request["options"])
        outcome = _time(call, limits)
    json.dump(outcome.to_dict(), sys.stdout)


def _end_after(seconds: float) -> None:
    """Let the system end this process once it has used this many CPU seconds."""
    _, greatest = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), greatest))


def _stay_within_half_the_memory() -> None:
    """Let large allocations fail, before the system ends the largest process that it finds."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    _, greatest = resource.getrlimit(resource.RLIMIT_DATA)
    most = half if greatest == resource.RLIM_INFINITY else min(half, greatest)
    resource.setrlimit(resource.RLIMIT_DATA, (most, greatest))


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """A number of calls timed together, with their total CPU and wall-clock seconds."""

    n_calls: int
    cpu: float
    wall: float
    answer: object

    @property
    def is_long(self) -> bool:
        """True if it is long enough for coarse clocks."""
        return self.wall >= _SHORTEST / 2

    def next_size(self) -> int:
        """The number of calls of the next batch."""
        return min(math.ceil(_SHORTEST * self.n_calls / self.wall), _MOST_CALLS)


def _time(call: Call, limits: Limits) -> Outcome:
    batches = [_time_batch(call, 1)]
    peak = _peak()
    for _ in range(limits.repeat + 1):
        n_long = sum(batch.is_long for batch in batches)
        if n_long >= limits.repeat or sum(batch.cpu for batch in batches) >= limits.enough:
            break
        batches.append(_time_batch(call, batches[-1].next_size()))
    kept = [batch for batch in batches if batch.is_long] or batches
    return Outcome(
        cpu=tuple(batch.cpu / batch.n_calls for batch in kept),
        wall=tuple(batch.wall / batch.n_calls for batch in kept),
        peak=peak,
        answer=batches[-1].answer,
    )


def _peak() -> float:
    """Return the peak memory of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux, ru_maxrss includes the memory of the runner when it started this process.
        lines = status.read_text(encoding="utf-8").splitlines()
        size = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(size) / UNITS_A_MEGABYTE
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNITS_A_MEGABYTE


def _time_batch(call: Call, n_calls: int) -> _Batch:
    answer = None
    gc.collect()
    started, started_wall = time.process_time(), time.perf_counter()
    for _ in range(n_calls):
        answer = call()
    cpu, wall = time.process_time() - started, time.perf_counter() - started_wall
    return _Batch(n_calls=n_calls, cpu=cpu, wall=wall, answer=answer)


# --- the runner's side ------------------------------------------------------------------------


def ask(
    python: Path, worker: str, measure: str, options: Mapping[str, object], limits: Limits
) -> Outcome:
    """Run a measure of a worker script in a fresh process.

    `python` is the interpreter of its environment; the script is relative to the folder of the
    benchmarks.
    """
    request = {"measure": measure, "options": dict(options), "limits": asdict(limits)}
    try:
        finished = subprocess.run(
            [str(python), str(HERE / worker)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=_WALL_A_CPU_SECOND * limits.seconds,
            env=worker_environment(python),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(problem=f"> {limits.seconds:g}")
    if finished.returncode:
        return Outcome(problem=_failure(finished, limits.seconds))
    answered = json.loads(finished.stdout)
    return Outcome(**{**answered, "cpu": tuple(answered["cpu"]), "wall": tuple(answered["wall"])})


def worker_environment(python: Path | None = None) -> dict[str, str]:
    """Return the environment variables of a worker, which has to find this module.

    `python` is its interpreter. Default: this one, which also keeps its own search path.
    """
    paths = [str(HERE)]
    if python in (None, Path(sys.executable)) and os.environ.get("PYTHONPATH"):
        paths.append(os.environ["PYTHONPATH"])
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def run_command(command: Sequence[str], limits: Limits) -> Outcome:
    """Measure a command as a user types it, each time in a new empty folder.

    The CPU seconds are those of the whole process.
    """
    outcomes: list[Outcome] = []
    while len(outcomes) < limits.repeat and sum(o.cpu[0] for o in outcomes) < limits.enough:
        with tempfile.TemporaryDirectory(prefix="shoal-benchmarks-") as folder:
            outcome = _run_once(command, limits.seconds, folder)
        if outcome.problem is not None:
            return outcome
        outcomes.append(outcome)
    return Outcome(
        cpu=tuple(outcome.cpu[0] for outcome in outcomes),
        wall=tuple(outcome.wall[0] for outcome in outcomes),
    )


def _run_once(command: Sequence[str], seconds: float, folder: str) -> Outcome:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    try:
        finished = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_WALL_A_CPU_SECOND * seconds,
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(problem=f"> {seconds:g}")
    except OSError as error:
        return Outcome(problem=f"failed: {error.strerror}")
    wall = time.perf_counter() - started
    if finished.returncode:
        return Outcome(problem=_failure(finished, seconds))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(cpu=(cpu,), wall=(wall,))


def _failure(finished: subprocess.CompletedProcess[str], seconds: float) -> str:
    if finished.returncode == -signal.SIGXCPU:
        return f"> {seconds:g}"
    return failure(finished.returncode, finished.stderr)


def failure(code: int, stderr: str) -> str:
    """Return why a process failed: the last line that it wrote, or its exit code."""
    # Java writes the stack trace after the error.
    written = (line.strip() for line in stderr.splitlines())
    lines = [line for line in written if line and not line.startswith(("at ", "... "))]
    return f"failed: {lines[-1][:_SHOWN_OF_AN_ERROR]}" if lines else f"failed ({code})"
