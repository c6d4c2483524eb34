"""A directory for what an engine spills: rows as they are, so nobody else may read it.

Its owner holds a lock on a file in it for as long as it lives, and removes the directory at its
end. One that was killed cannot: so every process, before it makes its first directory, removes
those whose lock is free. A directory that was just made and is not locked yet may be removed by
that too; its maker notices and makes another.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

from shoal.core.errors import EngineError
from shoal.engines.file_lock import FileLock

__all__ = ["PrivateDirectory"]

_PREFIX = "shoal-"
_NAME = re.compile(r"shoal-[a-z0-9_]{8}")
_LOCK = ".shoal-lock"
_ATTEMPTS = 10
_swept: set[tuple[int, str]] = set()


class PrivateDirectory:
    """A directory that only its owner can read and that does not outlive the process.

    Examples
    --------
    >>> directory = PrivateDirectory()
    >>> directory.path.name.startswith("shoal-")
    True
    >>> directory.remove()
    >>> directory.path.exists()
    False
    """

    def __init__(self) -> None:
        try:
            folder = Path(tempfile.gettempdir())
            _sweep_once(folder)
            self.path, lock = _make(folder)
        except OSError:
            raise EngineError(
                "There is no folder for temporary files that can be written to.",
                hint="set TMPDIR to a folder that is yours and has space left.",
            ) from None
        self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def remove(self) -> None:
        """Remove the directory and all that is in it; a forked child leaves it to its parent."""
        self._remove()


def _make(folder: Path) -> tuple[Path, FileLock]:
    """Make a directory and lock it; another where somebody swept it away before it was locked."""
    for _ in range(_ATTEMPTS):
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        try:
            lock = FileLock.take(path / _LOCK)
        except FileNotFoundError:
            continue
        except BaseException:
            with contextlib.suppress(OSError):
                path.rmdir()
            raise
        if lock is not None:
            return path, lock
    raise OSError


def _remove(path: Path, lock: FileLock, owner: int) -> None:
    if os.getpid() != owner:
        return
    try:
        _remove_all(path, lock)
    except (KeyboardInterrupt, SystemExit):
        # A signal came amid it; nobody else will do the rest.
        _remove_all(path, lock)
        raise


def _remove_all(path: Path, lock: FileLock) -> None:
    _empty(path)
    lock.release()
    with contextlib.suppress(OSError):
        path.rmdir()


def _empty(path: Path) -> None:
    """Remove all but the lock, which goes last: it says that the directory may be removed."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(path)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != _LOCK:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def _sweep_once(folder: Path) -> None:
    """Remove, once a process, what killed processes of the same user left behind."""
    process = (os.getpid(), str(folder))
    if process in _swept:
        return
    _swept.add(process)
    # What cannot be looked at or removed is not worth an error: somebody else may be at it.
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_stale(Path(entry.path))


def _remove_if_stale(path: Path) -> None:
    found = path.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
    if not is_private or not hasattr(os, "geteuid") or found.st_uid != os.geteuid():
        return
    try:
        lock = FileLock.take(path / _LOCK, create=False)
    except FileNotFoundError:
        path.rmdir()  # which an empty directory alone allows
        return
    if lock is None:
        return
    if not lock.is_exclusive:
        lock.close()
        return
    _remove(path, lock, os.getpid())
