"""Write a folder of results whole or not at all.

It is filled under a temporary name beside its place and synced to disk; then the folder that it
replaces, if there is one, steps aside, it moves in, and the old one is removed. One process at a
time does so: it holds the lock `.NAME.lock`. What a killed one left is undone by the next.
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

from shoal.core.errors import EngineError, ParameterError
from shoal.engines.file_lock import FileLock
from shoal.pipeline.syncing import sync

__all__ = ["refuse_foreign", "whole_folder"]


def refuse_foreign(target: Path, is_own: Callable[[Path], bool]) -> None:
    """Find out before any other work whether a folder can be written.

    Parameters
    ----------
    target, is_own
        As of `whole_folder`.

    Raises
    ------
    ParameterError
        Where something else stands there.
    EngineError
        Where the file system refuses.
    """
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
    """Give a new folder to fill; it is moved into place if nothing is raised meanwhile.

    Parameters
    ----------
    target
        Where it is to stand.
    is_own
        Says of a folder with something in it that it was written like this one, so that it may be
        replaced.

    Raises
    ------
    ParameterError
        Where something else stands there.
    EngineError
        Where another process is writing it, or the file system refuses.
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
    """Put an old folder back that a killed process moved aside, and remove what it left."""
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
