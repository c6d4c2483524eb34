"""Write a text file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from shoal.core.errors import EngineError

__all__ = ["write_whole"]


def write_whole(target: Path, lines: Iterable[str]) -> None:
    r"""Write lines to a file that only its owner may read.

    A crash leaves the old file, or none.

    Raises
    ------
    EngineError
        Where the file system refuses.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "rules.csv"), ["a,b\n"])
    ...     Path(folder, "rules.csv").read_text()
    'a,b\n'
    """
    try:
        _write(target, lines)
    except OSError as error:
        raise EngineError(
            f"The file {str(target)!r} could not be written: {error.strerror}.",
            hint="see that its folder exists and has room.",
        ) from None


def _write(target: Path, lines: Iterable[str]) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.writelines(lines)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
