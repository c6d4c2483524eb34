"""Paths of files: whether they can be read, and how DuckDB's SQL writes them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from pathlib import Path

from shoal.core.errors import DataError, EngineError

__all__ = ["check_readable", "digest", "literal", "pattern"]


def check_readable(path: Path) -> None:
    """Refuse a path that leads to nothing that may be read."""
    try:
        path.stat()
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
