"""A private directory for the files that an engine spills, and the lock that protects it.

Spilled files hold rows as they are, so nobody else may read them. The owner of a directory holds
a lock on a file in it for as long as it lives, and removes the directory at the end. A process that
was killed cannot do so; therefore every process, before it makes its first directory, removes those
whose lock is free. That may also hit a directory that was just made and is not locked yet; its
maker notices and makes another.

The kernel frees a lock when its holder dies, however it dies. The holder removes the file while it
still holds the lock, so no file is left behind; a process that opened the file in the meantime
finds that it is no longer at its path, and tries again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

from shoal.core.errors import EngineError

if sys.platform != "win32":
    import fcntl

_BUSY = (errno.EACCES, errno.EAGAIN)
_PREFIX = "shoal-"
_NAME = re.compile(r"shoal-[a-z0-9_]{8}")
_LOCK = ".shoal-lock"
_ATTEMPTS = 10
_swept: set[tuple[int, str]] = set()


class FileLock:
    """A lock that this process holds on a file; made by `take`.

    If the file system does not support locks, `is_exclusive` is false and nobody is kept out.
    """

    def __init__(self, path: Path, descriptor: int, *, is_exclusive: bool) -> None:
        self.path = path
        self.is_exclusive = is_exclusive
        self._descriptor: int | None = descriptor
        self._owner = os.getpid()

    @classmethod
    def take(cls, path: Path, *, create: bool = True) -> FileLock | None:
        """Take the lock; return None if another process holds it.

        Raises an OSError if the file cannot be opened: if it is a symbolic link, or if it does not
        exist and `create` is false.
        """
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | (os.O_CREAT if create else 0)
        while True:
            descriptor = os.open(path, flags, 0o600)
            try:
                is_exclusive = _lock(descriptor)
                if is_exclusive is not None and _is_at(path, descriptor):
                    return cls(path, descriptor, is_exclusive=is_exclusive)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            if is_exclusive is None:
                return None

    @property
    def is_in_place(self) -> bool:
        """True if the file is still where other processes look for it."""
        return self._descriptor is not None and _is_at(self.path, self._descriptor)

    def release(self) -> None:
        """Remove the file and free the lock; does nothing in a forked child."""
        if os.getpid() != self._owner:
            return
        if self.is_in_place:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self.close()

    def close(self) -> None:
        """Free the lock and leave the file."""
        if self._descriptor is not None and os.getpid() == self._owner:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file; False if the file system cannot lock, None if another process holds the lock."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return None if error.errno in _BUSY else False
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


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
                "There is no writable folder for temporary files.",
                hint="set TMPDIR to a folder of yours that has space left.",
            ) from None
        self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def remove(self) -> None:
        """Remove the directory with its content; a forked child leaves it to its parent."""
        self._remove()


def _make(folder: Path) -> tuple[Path, FileLock]:
    """Make a directory and lock it; try again if it was swept away before it was locked."""
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


def persistently(clean: Callable[[], None]) -> None:
    """Clean up; if a signal interrupts it, start again, because nobody else will finish it."""
    try:
        clean()
    except (KeyboardInterrupt, SystemExit):
        clean()
        raise


def _remove(path: Path, lock: FileLock, owner: int) -> None:
    if os.getpid() == owner:
        persistently(partial(_remove_all, path, lock))


def _remove_all(path: Path, lock: FileLock) -> None:
    _empty(path)
    lock.release()
    with contextlib.suppress(OSError):
        path.rmdir()


def _empty(path: Path) -> None:
    """Remove everything but the lock, which goes last: it says that the rest may be removed."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(path)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != _LOCK:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def _sweep_once(folder: Path) -> None:
    """Remove, once per process, what killed processes of the same user left behind."""
    process = (os.getpid(), str(folder))
    if process in _swept:
        return
    _swept.add(process)
    # A directory that cannot be read or removed is not worth an error: it may be in use.
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
        path.rmdir()  # succeeds only for an empty directory
        return
    if lock is None:
        return
    if not lock.is_exclusive:
        lock.close()
        return
    _remove(path, lock, os.getpid())
