"""The waiting times of a user at the command line: the help, and the demonstration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from context import Context
from measure import HERE, Limits, Outcome, run_command
from report import Line, Sheet


@dataclass(frozen=True, kw_only=True)
class _Command:
    """A command, and the CPU seconds that it should not exceed."""

    what: str
    command: tuple[str, ...]
    aim: float | None = None
    repeat: int | None = None


_SHOAL = (sys.executable, "-m", "shoal")
_COMMANDS = (
    _Command(what="python, doing nothing", command=(sys.executable, "-c", "pass")),
    _Command(what="import shoal", command=(sys.executable, "-c", "import shoal")),
    _Command(what="shoal --help", command=(*_SHOAL, "--help"), aim=0.3),
    _Command(what="shoal --version", command=(*_SHOAL, "--version")),
    _Command(what="shoal demo", command=(*_SHOAL, "demo"), aim=10, repeat=3),
    _Command(
        what="shoal demo, kernels as plain Python",
        command=(sys.executable, str(HERE / "plain_kernels.py"), "demo"),
        aim=10,
        repeat=1,
    ),
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure commands in processes of their own."""
    lines: list[Line] = []
    remarks: list[str] = []
    for entry in _COMMANDS:
        context.say(entry.what)
        outcome = _measure(context, entry)
        lines.append(Line(what=entry.what, outcome=outcome))
        if entry.aim is not None and outcome.seconds is not None:
            reached = "reached" if outcome.seconds < entry.aim else "missed"
            remarks.append(f"{entry.what}: aim less than {entry.aim:g} CPU seconds; {reached}.")
    yield Sheet(title="Starting", lines=tuple(lines), remarks=tuple(remarks))


def _measure(context: Context, entry: _Command) -> Outcome:
    limits = Limits(
        repeat=entry.repeat or context.limits.repeat,
        enough=context.limits.enough,
        seconds=context.limits.seconds,
    )
    return run_command(entry.command, limits)
