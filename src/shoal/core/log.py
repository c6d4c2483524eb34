"""The internal log: the only place where Shoal writes values of the table, on request.

Errors name columns and counts. The details (the values that a hierarchy lacks, the text of an
engine's own error) go to the logger `shoal.internal`, which drops everything until the steward
names a file for it.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import TextIO

internal_log = logging.getLogger("shoal.internal")
internal_log.addHandler(logging.NullHandler())
internal_log.propagate = False


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines, and ignores failures to write."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Do nothing: logging would print the values that it failed to write on the console."""


def log_to(path: str | os.PathLike[str]) -> None:
    """Write the internal log to a file that only its owner can read.

    Parameters
    ----------
    path
        The file. Existing content is kept, and new lines are appended.
    """
    descriptor = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    # An existing file may be readable by others.
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        Path(path).chmod(0o600)
    handler = _Handler(os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace"))
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    internal_log.addHandler(handler)
    internal_log.setLevel(logging.INFO)
