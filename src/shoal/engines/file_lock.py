"""A lock that the kernel frees when its holder dies, however it dies.

The lock is on a file. Its holder removes the file while it still holds the lock, so none is left
behind; who opened the file meanwhile finds that it no longer stands at its path, and tries again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["FileLock"]

_BUSY = (errno.EACCES, errno.EAGAIN)


class FileLock:
    """A lock that this process holds; `take` gives one.

    Parameters
    ----------
    path
        The file.
    descriptor
        The open file that carries the lock.
    is_exclusive
        Whether the file system does lock; without that, nobody is kept out.
    """

    def __init__(self, path: Path, descriptor: int, *, is_exclusive: bool) -> None:
        self.path = path
        self.is_exclusive = is_exclusive
        self._descriptor: int | None = descriptor
        self._owner = os.getpid()

    @classmethod
    def take(cls, path: Path, *, create: bool = True) -> FileLock | None:
        """Take the lock, or give None where another holds it.

        Parameters
        ----------
        path
            The file; a symbolic link is refused.
        create
            Whether the file is made where there is none.

        Raises
        ------
        OSError
            Where the file cannot be opened.
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
        """Whether the file is still where others look for it."""
        return self._descriptor is not None and _is_at(self.path, self._descriptor)

    def release(self) -> None:
        """Remove the file and free the lock; a forked child does neither."""
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
    """Lock a file: True where it is done, False where nothing can be locked, None where it is."""
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
