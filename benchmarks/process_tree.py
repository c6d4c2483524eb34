"""Measure a command with all the processes that it starts, and servers that work for it.

Spark works in a Java process that Python starts, Postgres in processes of a server that is already
running. CPU seconds are those that the system counted for the command and all its children, from
start to end, plus those of the server's processes meanwhile. Memory and disk are sampled several
times per second, and the largest sample counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from measure import BYTES_A_MEGABYTE, UNITS_A_MEGABYTE, Outcome, failure, worker_environment

_PROCESSES = Path("/proc")
_SECONDS_BETWEEN_LOOKS = 0.25
_SECONDS_TO_NOTICE = 0.01
_LOOKS_A_LOOK_AT_DISK = 2
_SECONDS_TO_END = 30.0


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The surroundings of a command."""

    folder: Path  # The current folder, also for temporary files; its growth counts as disk space.
    seconds: float  # The command is ended after this many wall-clock seconds.
    # The process of a server that works for the command; its tree counts, too.
    server: int | None = None
    folders: tuple[Path, ...] = ()  # Further folders whose growth counts.


def can_watch() -> bool:
    """Return whether this system allows other processes to be watched, as Linux does."""
    return (_PROCESSES / "self" / "stat").exists()


def measure_tree(command: Sequence[str], surroundings: Surroundings) -> Outcome:
    """Run a command once, to its end, and return its cost.

    The answer is the JSON document that it wrote to its standard output.
    """
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        watch = _Watch(surroundings)
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complained,
            cwd=surroundings.folder,
            env=worker_environment() | {"TMPDIR": str(surroundings.folder)},
            start_new_session=True,
        )
        try:
            used = _wait(process, watch, started + surroundings.seconds)
        finally:
            _end_group(process)
        wall = time.perf_counter() - started
        if used is None:
            return Outcome(problem=f"> {surroundings.seconds:g} s by the clock")
        if process.returncode:
            return Outcome(problem=_problem(process.returncode, _text(said), _text(complained)))
        # The system does not count a process that its parent did not wait for.
        cpu = max(used.ru_utime + used.ru_stime, watch.cpu) + watch.server_cpu()
        return Outcome(
            cpu=(cpu,),
            wall=(wall,),
            peak=max(used.ru_maxrss / UNITS_A_MEGABYTE, watch.peak / BYTES_A_MEGABYTE),
            disk=watch.disk / BYTES_A_MEGABYTE,
            answer=json.loads(_text(said) or "null"),
        )


def _text(stream: IO[str]) -> str:
    stream.seek(0)
    return stream.read()


def _problem(code: int, said: str, complained: str) -> str:
    """Return why a command failed; with --json Shoal reports it on its standard output."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return f"failed: {json.loads(said)['error']['fact']}"
    return failure(code, complained)


def _wait(process: subprocess.Popen[Any], watch: _Watch, deadline: float) -> Any:
    """Watch a process until it ends; return its resource usage, None if it takes too long."""
    next_look = time.perf_counter()
    while True:
        found, status, used = os.wait4(process.pid, os.WNOHANG)
        if found:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used
        if time.perf_counter() > deadline:
            return None
        if time.perf_counter() >= next_look:
            watch.look(process.pid)
            next_look = time.perf_counter() + _SECONDS_BETWEEN_LOOKS
        # The end is noticed at once, so that a short command is not timed by the looks.
        time.sleep(_SECONDS_TO_NOTICE)


def _end_group(process: subprocess.Popen[Any]) -> None:
    """End the rest of a command, which is the leader of its own process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.wait(timeout=_SECONDS_TO_END)


@dataclass
class _Watch:
    """The largest samples of CPU seconds, and of bytes in memory and on disk."""

    surroundings: Surroundings
    cpu: float = 0.0
    peak: int = 0
    disk: int = 0
    n_looks: int = field(default=0, init=False)
    server_before: float = field(init=False)
    disk_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.server_before = self._server_seconds()
        self.disk_before = self._room()

    def look(self, process: int) -> None:
        """Sample the processes and, now and then, the disk."""
        tree = list(_tree(process))
        self.cpu = max(self.cpu, _seconds(tree))
        server = self.surroundings.server
        self.peak = max(self.peak, _memory([*tree, *(_tree(server) if server else ())]))
        if self.n_looks % _LOOKS_A_LOOK_AT_DISK == 0:
            self.disk = max(self.disk, self._room() - self.disk_before)
        self.n_looks += 1

    def server_cpu(self) -> float:
        """Return the CPU seconds that the server has used since the beginning."""
        return self._server_seconds() - self.server_before

    def _server_seconds(self) -> float:
        server = self.surroundings.server
        return 0.0 if server is None else _seconds(_tree(server))

    def _room(self) -> int:
        return sum(map(_size, (self.surroundings.folder, *self.surroundings.folders)))


@dataclass(frozen=True)
class _Process:
    """A process as the system shows it; its CPU seconds include children that have ended."""

    number: int
    parent: int
    seconds: float


def _tree(root: int) -> Iterator[_Process]:
    """Yield a process and all its descendants that still exist."""
    known = {process.number: process for process in _processes()}
    children: dict[int, list[int]] = {}
    for process in known.values():
        children.setdefault(process.parent, []).append(process.number)
    waiting = [root]
    while waiting:
        number = waiting.pop()
        waiting += children.get(number, [])
        if number in known:
            yield known[number]


def _processes() -> Iterator[_Process]:
    a_second = os.sysconf("SC_CLK_TCK")
    for entry in _PROCESSES.glob("[0-9]*/stat"):
        # It may have ended meanwhile.
        with contextlib.suppress(OSError):
            # The name of the program is in parentheses and may contain anything.
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            ticks = sum(map(int, fields[11:15]))
            yield _Process(int(entry.parent.name), int(fields[1]), ticks / a_second)


def _seconds(processes: Iterator[_Process] | Sequence[_Process]) -> float:
    return sum(process.seconds for process in processes)


def _memory(processes: Sequence[_Process]) -> int:
    """Return the bytes that processes hold in memory; shared memory counts once."""
    held = [_held(process.number) for process in processes]
    own = sum(entry.get("RssAnon", 0) + entry.get("RssFile", 0) for entry in held)
    return own + max((entry.get("RssShmem", 0) for entry in held), default=0)


def _held(process: int) -> Mapping[str, int]:
    with contextlib.suppress(OSError):
        lines = (_PROCESSES / str(process) / "status").read_text(errors="replace").splitlines()
        named = (line.split() for line in lines if line.startswith("Rss"))
        return {name.rstrip(":"): 1024 * int(size) for name, size, *_ in named}
    return {}


def _size(folder: Path) -> int:
    """Return the bytes that files below a folder take on disk; links are not followed."""
    total = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    total += _size(Path(entry.path))
                else:
                    total += 512 * entry.stat(follow_symlinks=False).st_blocks
    return total
