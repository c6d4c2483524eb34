"""The command line of Shoal: the program `shoal`.

Modules are imported when they are needed, so that help and completion appear at once. A signal
that asks the program to stop becomes an exception, so that every `finally` runs and nothing is left
behind.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""With the usual 700, Python would search what is imported for garbage hundreds of times."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_received: list[int] = []


def main() -> None:
    """Run the command line; the entry point of the program `shoal`."""
    try:
        handle_signals()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        from shoal.core.version import refuse_namesake  # noqa: PLC0415 - stays cheap to import

        # Checked again: the other package may have overwritten the `__init__` that refuses it.
        refuse_namesake()
        from shoal.cli.app import app  # noqa: PLC0415

        for stream in (sys.stdout, sys.stderr):
            # A terminal that lacks a character must not turn a result into an error.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        app(prog_name="shoal")
    except KeyboardInterrupt:
        sys.exit(130)


def handle_signals() -> None:
    """Turn the signals that ask a program to stop into exceptions."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        # Signals that the caller ignores (nohup) stay ignored.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


@contextlib.contextmanager
def signals_postponed() -> Iterator[None]:
    """Take signals later: some libraries abort if a signal arrives while they are imported."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    numbers = {getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def signal_code() -> int | None:
    """Return the exit code of the signal that was received; None if there was none.

    An engine in the middle of a query reports a signal as an error of its own; this tells the two
    apart.
    """
    return 128 + _received[-1] if _received else None


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
    _received.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
