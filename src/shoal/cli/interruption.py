"""Run every `finally` when a signal asks the program to stop, so that nothing is left behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_received: list[int] = []


def install() -> None:
    """Turn the signals that ask a program to stop into exceptions."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        # Signals that the caller ignores (nohup) stay ignored.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


@contextlib.contextmanager
def postponed() -> Iterator[None]:
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


def exit_code() -> int | None:
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
