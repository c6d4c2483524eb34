"""Paths of files: whether they can be read, and how DuckDB's SQL writes them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from pathlib import Path

from shoal.core.errors import DataError, EngineError
from shoal.core.reading import kind_of_special_file

__all__ = ["check_readable", "digest", "literal", "pattern"]


def check_readable(path: Path) -> None:
    """Refuse a path that leads to nothing that may be read, or to neither a file nor a folder.

    Raises
    ------
    DataError
        If there is nothing, or a named pipe, a socket or a device: reading it might never end.
    EngineError
        If it may not be read.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            raise EngineError(
                f"{path.name} may not be read.", hint="ask for the permission."
            ) from None
        raise DataError(
            "There is no such file: no path can be like the one given.",
            hint="it is too long, goes through a file, or holds a NUL or another character that "
            "no name has.",
        ) from None
    kind = kind_of_special_file(mode)
    if kind is not None:
        raise DataError(
            f"{path.name} is {kind}, not a file.",
            hint="save what comes out of it as a file, and name that.",
        )
    if not os.access(path, os.R_OK):
        raise EngineError(f"{path.name} may not be read.", hint="ask for the permission.")


def literal(text: object) -> str:
    """Write a text as SQL does."""
    return "'" + str(text).replace("'", "''") + "'"


def pattern(path: Path) -> str:
    """Write a path so that DuckDB takes its characters as they are, not as a pattern."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path)))


def digest(path: Path) -> str:
    """Give the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
