"""Write a folder of results completely or not at all.

The folder is filled under a temporary name next to its final place and synced to disk. Then the
folder that it replaces, if any, is moved aside, the new one is moved into place, and the old one is
removed. One process at a time does so: it holds the lock `.NAME.lock`. The remains of a killed
process are cleaned up by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from shoal.core.documents import sync
from shoal.core.errors import EngineError, ParameterError
from shoal.engines.private_directory import FileLock


def refuse_foreign(target: Path, is_own: Callable[[Path], bool]) -> None:
    """Check that a folder can be written, before any other work; see `whole_folder`."""
    place = target.resolve()
    if not place.name:
        raise ParameterError("Results cannot be written to the root of a disk.")
    with _explained(target):
        if place.exists() and not _is_replaceable(place, is_own):
            raise ParameterError(
                f"{target} holds something else, so it is not replaced.",
                hint="choose another folder.",
            )
        above = next(path for path in place.parents if path.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def whole_folder(target: Path, is_own: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield a new folder to fill; it is moved into place if no error is raised meanwhile.

    `is_own` returns whether a folder that is not empty was written like this one, so that it may be
    replaced. Raises `ParameterError` if anything else is in the place, and `EngineError` if another
    process is writing there or the file system refuses.
    """
    place = target.resolve()
    refuse_foreign(target, is_own)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_explained(target))
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock.take(place.with_name(f".{place.name}.lock"))
        if lock is None:
            raise EngineError(
                f"Another process is writing {target}.",
                hint="wait until it is done, or choose another folder.",
            )
        stack.callback(lock.release)
        if lock.is_exclusive:
            _recover(place)
        new = _beside(place, "new")
        stack.callback(shutil.rmtree, new, ignore_errors=True)
        new.mkdir()
        yield new
        refuse_foreign(target, is_own)
        _move_in(new, place)


@contextlib.contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"{target} could not be written: {error.strerror}.",
            hint="see that you may write there and that there is room.",
        ) from None


def _is_replaceable(place: Path, is_own: Callable[[Path], bool]) -> bool:
    return place.is_dir() and (not any(place.iterdir()) or is_own(place))


def _beside(place: Path, word: str) -> Path:
    return place.with_name(f".{place.name}.{word}-{secrets.token_hex(4)}")


def _recover(place: Path) -> None:
    """Restore an old folder that a killed process moved aside, and remove its other remains."""
    pattern = re.compile(rf"\.{re.escape(place.name)}\.(new|old)-[0-9a-f]{{8}}")
    for path in list(place.parent.iterdir()):
        found = pattern.fullmatch(path.name)
        if found is None:
            continue
        if found.group(1) == "old" and not place.exists():
            path.rename(place)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _move_in(new: Path, place: Path) -> None:
    for path in (*new.rglob("*"), new):
        sync(path)
    old = _beside(place, "old")
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        if old.exists() and not place.exists():
            old.rename(place)
        raise
    with contextlib.suppress(OSError):
        sync(place.parent)
    shutil.rmtree(old, ignore_errors=True)
