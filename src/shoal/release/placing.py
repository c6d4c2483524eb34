"""Hold the place of a release, and move the two folders of a new release into it.

One process at a time writes a release: it locks `.NAME.lock` beside the folder, and the kernel
frees that lock when the process dies. Every folder that it makes or moves aside carries its mark,
so the next process, once it has the lock, can tell from the names alone how far a killed one came,
and undo it. With P, I for the public and internal folder, N for new ones and O for old ones, these
are all the states between two system calls of a replacement, in their order:

    P I               nothing was made yet
    P I NI            the new internal folder is made first,
    P I NI NP         then the new public one; both are filled, verified, synced
    - I NI NP OP      the old public folder steps aside first,
    - - NI NP OP OI   then the old internal one
    - I -  NP OP OI   the new internal folder is in place
    P I -  -  OP OI   the new public folder is in place: from here on the new release counts
    P I -  -  -  OI   the old public folder is removed first, then the old internal one

A public folder exists only in rows in which the internal one belongs to it. While NP exists the
release is not in place, and if NI is not beside it, I is the new one. So NP decides whether to go
back (up, row by row, which is safe to interrupt: each step leads to a row above) or forward. New
folders are removed in the reverse order of their creation, so that NP exists without NI in that one
row only. A first publication has the same rows without the old folders.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from shoal.core.documents import sync
from shoal.core.errors import EngineError, ParameterError
from shoal.core.manifest import INTERNAL_SUFFIX
from shoal.engines.private_directory import FileLock, persistently


def internal_folder(folder: Path) -> Path:
    """Return the internal folder that belongs to a public one."""
    return folder.with_name(folder.name + INTERNAL_SUFFIX)


@dataclass(frozen=True)
class Place:
    """The place of a release, held by this process; `claimed` yields one."""

    folder: Path
    lock: FileLock
    # The end of the names of this process's temporary folders.
    mark: str = field(default_factory=partial(secrets.token_hex, 4))

    @property
    def internal(self) -> Path:
        """The internal folder."""
        return internal_folder(self.folder)

    def _beside(self, path: Path, word: str) -> Path:
        return path.with_name(f".{path.name}.{word}-{self.mark}")

    @property
    def _new_public(self) -> Path:
        return self._beside(self.folder, "new")

    @property
    def _new_internal(self) -> Path:
        return self._beside(self.internal, "new")

    @property
    def _old_public(self) -> Path:
        return self._beside(self.folder, "old")

    @property
    def _old_internal(self) -> Path:
        return self._beside(self.internal, "old")

    @contextlib.contextmanager
    def new_folders(self) -> Iterator[tuple[Path, Path]]:
        """Make a new public and a new internal folder; neither is left behind, whatever happens."""
        try:
            self._refuse_lost()
            for path in (self._new_internal, self._new_public):
                path.mkdir(mode=0o700)
            yield self._new_public, self._new_internal
        except OSError as error:
            raise _refused(error, self.folder) from None
        finally:
            persistently(self.tidy)

    def move_in(self) -> None:
        """Move the new folders into place; the public one is last, and makes the release."""
        self._refuse_lost()
        self._set_modes()
        for path, old in (
            (self.folder, self._old_public),
            (self.internal, self._old_internal),
        ):
            if _is_there(path):
                path.rename(old)
        self._new_internal.rename(self.internal)
        sync(self.folder.parent)
        self._new_public.rename(self.folder)
        # The release is in place; a file system that cannot sync folders is no reason to undo it.
        with contextlib.suppress(OSError):
            sync(self.folder.parent)

    def _set_modes(self) -> None:
        """Keep the internal files to their owner; open the public folder as the umask says."""
        for path in self._new_internal.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        # Reading the umask would change it for other threads meanwhile.
        probe = self._new_public / f".{self.mark}"
        probe.mkdir()
        mode = stat.S_IMODE(probe.stat().st_mode)
        probe.rmdir()
        self._new_public.chmod(mode)

    def tidy(self) -> None:
        """Undo an unfinished replacement, and remove what is left of it.

        Raises `EngineError` if an old release is left and somebody else changed what is beside it,
        so that it is not clear what belongs together.
        """
        if _is_there(self._new_public):
            if not _is_there(self._new_internal) and _is_there(self.internal):
                self.internal.rename(self._new_internal)
            for old, path in (
                (self._old_internal, self.internal),
                (self._old_public, self.folder),
            ):
                if _is_there(old) and not _is_there(path):
                    old.rename(path)
            self._refuse_left_over()
        elif not _is_there(self.folder):
            self._refuse_left_over()
        for paths in (
            (self._old_public, self._old_internal),
            (self._new_public, self._new_internal),
        ):
            for path in paths:
                _remove(path)
                if _is_there(path):
                    break

    def _refuse_left_over(self) -> None:
        left = [path for path in (self._old_public, self._old_internal) if _is_there(path)]
        if left:
            raise EngineError(
                "An earlier replacement of the release was cut off, and what it left was changed "
                f"since: {' and '.join(path.name for path in left)} beside {self.folder}.",
                hint="keep what you need of it under another name, and remove the rest.",
            )

    def _refuse_lost(self) -> None:
        if not self.lock.is_in_place:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def recover(self) -> None:
        """Tidy up after every process that was killed here; needs a lock that works."""
        if not self.lock.is_exclusive:
            return
        names = "|".join(re.escape(path.name) for path in (self.folder, self.internal))
        pattern = re.compile(rf"\.(?:{names})\.(?:new|old)-([0-9a-f]{{8}})")
        found = (pattern.fullmatch(entry.name) for entry in os.scandir(self.folder.parent))
        for mark in sorted({match.group(1) for match in found if match is not None}):
            Place(self.folder, self.lock, mark).tidy()


@contextlib.contextmanager
def claimed(folder: Path, *, replace: bool) -> Iterator[Place]:
    """Hold the place of a release, so that no other process writes it.

    `folder` is the resolved public folder. What a killed process left is undone first. Raises
    `EngineError` if another process is writing this release or nothing can be written there, and
    `ParameterError` if something is there that may not be replaced.
    """
    _check_name(folder)
    missing: list[Path] = []
    lock: FileLock | None = None
    try:
        try:
            missing += [path for path in folder.parents if not path.exists()]
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock.take(folder.with_name(f".{folder.name}.lock"))
            if lock is None:
                raise EngineError(
                    f"Another process is writing the release {folder}.",
                    hint="wait until it is done, or choose another name.",
                )
            place = Place(folder, lock)
            place.recover()
            _refuse_existing(place, replace=replace)
        except OSError as error:
            raise _refused(error, folder) from None
        yield place
    finally:
        persistently(lambda: _leave(folder, lock, missing))


def _leave(folder: Path, lock: FileLock | None, made: list[Path]) -> None:
    if lock is not None:
        lock.release()
    if not folder.exists():
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()


def _check_name(folder: Path) -> None:
    if not folder.name:
        raise ParameterError(
            "A release cannot be the root of a disk.", hint="name a folder of its own."
        )
    if folder.name.endswith(INTERNAL_SUFFIX):
        raise ParameterError(
            f"The name of a release cannot end in {INTERNAL_SUFFIX}: that of the internal folder "
            "beside it does.",
            hint="choose another name.",
        )


def _refuse_existing(place: Place, *, replace: bool) -> None:
    """Refuse a place that is taken, unless by a release that may be replaced."""
    for path in (place.folder, place.internal):
        if path.exists() and not replace:
            raise ParameterError(
                f"{path} already exists.",
                hint="choose another name, or replace the release: --replace (in Python: "
                "replace=True). Publishing a table again with fresh randomness gives an adversary "
                "two views to compare; `shoal replay` makes the same release again.",
            )
    for path, mark in ((place.folder, "manifest.json"), (place.internal, "record.json")):
        is_empty = path.is_dir() and not any(path.iterdir())
        if path.exists() and not (path / mark).exists() and not is_empty:
            raise ParameterError(
                f"{path} is not a release, so it is not replaced.", hint="choose another name."
            )


def _refused(error: OSError, folder: Path) -> EngineError:
    reason = os.strerror(error.errno) if error.errno else "unknown reason"
    no_space = "free some space, or choose another disk."
    hints = {
        errno.EACCES: "choose a folder that you may write to.",
        errno.EPERM: "choose a folder that you may write to.",
        errno.EROFS: "choose a folder that you may write to.",
        errno.ENOSPC: no_space,
        errno.EDQUOT: no_space,
        errno.EFBIG: "the system limits the size of files (ulimit -f): raise that.",
        errno.ENOENT: "was the folder moved or removed meanwhile?",
        errno.ENOTDIR: "a part of the path is a file.",
        errno.ENAMETOOLONG: "choose a shorter name: the internal folder's is longer still.",
    }
    return EngineError(
        f"The release cannot be written to {folder}: {reason}. Nothing was left behind.",
        hint=hints.get(error.errno or 0),
    )


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
