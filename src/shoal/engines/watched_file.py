"""Notice that a source changes while it is read.

A file is read several times: for its digest, for its dialect, for its rows. A release must be of
one table, the one whose digest is on record, so a file that another process writes meanwhile is
refused. Its size, its time of change and its identity on the disk tell.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from shoal.core.errors import DataError
from shoal.engines.parquet_sources import list_parquet

__all__ = ["WatchedFile"]

_TICK = 0.02
"""Two changes within one tick of the kernel's clock, which is shorter, have the same time."""

_State = tuple[tuple[str, int, int, int, int], ...]


class WatchedFile:
    """A file, or a folder of Parquet files, as it is when the reading begins.

    Parameters
    ----------
    path
        The file or the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,sex")
    ...     watched = WatchedFile(path)
    ...     watched.check()
    ...     _ = path.write_text("age")
    ...     watched.check()
    Traceback (most recent call last):
    ...
    shoal.core.errors.DataError: people.csv changed while it was read.
    <BLANKLINE>
    Hint: wait until nobody writes to it, or read a copy.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = self._look()
        latest = max((changed for *_, changed in self._state), default=0) / 1e9
        if 0 <= time.time() - latest < _TICK:
            # A change that follows at once would leave the time as it is.
            time.sleep(_TICK)
            self._state = self._look()

    def check(self) -> None:
        """Refuse a file that is no longer what it was.

        Raises
        ------
        DataError
            Where it changed or vanished.
        """
        state = self._look()
        if state != self._state:
            raise DataError(
                f"{self.path.name} changed while it was read.",
                hint="wait until nobody writes to it, or read a copy.",
            )

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check at the end, and also before an error gets out, which the change may explain."""
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()

    def _look(self) -> _State:
        try:
            is_folder = self.path.is_dir()
            files = list_parquet(self.path) if is_folder else [self.path]
            return tuple(_state_of(file) for file in files)
        except OSError:
            raise DataError(
                f"{self.path.name} vanished while it was read.",
                hint="is its disk still there, and does nobody move it?",
            ) from None


def _state_of(path: Path) -> tuple[str, int, int, int, int]:
    found = path.stat()
    return (str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
