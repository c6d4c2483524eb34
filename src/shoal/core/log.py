"""The internal log: the only place where Shoal writes values of the table, on request.

Errors name columns and counts. What lies behind them (the values that a hierarchy lacks, the
text of an engine's own error) goes to the logger `shoal.internal`, which drops everything until
the steward names a file for it.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import TextIO

__all__ = ["internal_log", "log_to"]

internal_log = logging.getLogger("shoal.internal")
internal_log.addHandler(logging.NullHandler())
internal_log.propagate = False


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines, and stays silent where it cannot."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Say nothing: logging would print the values it failed to write on the console."""


def log_to(path: str | os.PathLike[str]) -> None:
    """Write the internal log to a file that only its owner can read.

    Parameters
    ----------
    path
        The file; what is there already is kept, and new lines are added.
    """
    descriptor = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # A file that is there already may be open to others.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        Path(path).chmod(0o600)
    handler = _Handler(os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace"))
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    internal_log.addHandler(handler)
    internal_log.setLevel(logging.INFO)
