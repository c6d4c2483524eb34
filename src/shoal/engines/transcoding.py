"""Read CSV files in chunks of fixed size: unpack and recode them, and measure their lines.

No step holds more than a chunk, whatever the file does: neither a line that never ends nor an
archive that never ends is read into memory.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from shoal.core.errors import DataError, EngineError
from shoal.engines.csv_dialect import Dialect
from shoal.engines.limits import Limits

__all__ = ["copy_as_utf8", "digest_of_lines", "is_plain_utf8"]

_CHUNK = 1 << 20


def is_plain_utf8(dialect: Dialect) -> bool:
    """Tell whether an engine can read the file itself, without a copy."""
    encoding = dialect.encoding.lower().replace("_", "-")
    return encoding in ("utf-8", "utf-8-sig", "utf8") and not dialect.is_compressed


def copy_as_utf8(path: Path, dialect: Dialect, target: Path, limits: Limits | None = None) -> None:
    """Write a copy of a CSV file that is plain UTF-8.

    Parameters
    ----------
    path, dialect
        The file, and how it is written.
    target
        The copy; it is removed again where it cannot be finished.
    limits
        What the file may expand to, and how long its lines may be; the usual ones by default.

    Raises
    ------
    DataError
        Where the file is not what the dialect says, or goes beyond a limit.
    EngineError
        Where there is no space for the copy.
    """
    limits = Limits() if limits is None else limits
    lines = _Lines(path.name, limits)
    try:
        with _opened(target) as copy:
            for chunk in _recoded(path, dialect, limits):
                lines.measure(chunk)
                _write(copy, chunk)
            lines.finish()
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def digest_of_lines(path: Path, limits: Limits | None = None) -> str:
    """Give the SHA-256 of a file that is plain UTF-8, and refuse it where a line is too long.

    DuckDB reads past a line that is longer than its buffer, at times without a word, so the lines
    have to be measured before it sees them.

    Parameters
    ----------
    path
        The file.
    limits
        How long its lines may be; the usual ones by default.
    """
    lines = _Lines(path.name, Limits() if limits is None else limits)
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                lines.measure(chunk)
    except OSError:
        raise _unreadable(path) from None
    lines.finish()
    return digest.hexdigest()


class _Lines:
    """The lengths of the lines of a file that comes in chunks."""

    def __init__(self, source: str, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._n_open = 0

    def measure(self, chunk: bytes) -> None:
        step = self._limits.max_line
        # Lines that begin and end within a chunk are too short to matter, unless the limit is.
        for start in range(0, len(chunk), step) if step < len(chunk) else (0,):
            self._measure(chunk[start : start + step] if step < len(chunk) else chunk)

    def _measure(self, chunk: bytes) -> None:
        ends = [chunk.find(end) for end in (b"\n", b"\r")]
        first = min((end for end in ends if end >= 0), default=-1)
        if first < 0:
            self._n_open += len(chunk)
            self.finish()
            return
        self._limits.check_line(self._source, self._n_open + first)
        self._n_open = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))

    def finish(self) -> None:
        self._limits.check_line(self._source, self._n_open)


def _recoded(path: Path, dialect: Dialect, limits: Limits) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(dialect.encoding)()
    try:
        for chunk in _unpacked(path, dialect, limits):
            yield decoder.decode(chunk).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise DataError(
            f"{path.name} cannot be read to its end as {dialect.encoding}.",
            hint="say how it is encoded, for example encoding='cp1252'.",
        ) from None


def _unpacked(path: Path, dialect: Dialect, limits: Limits) -> Iterator[bytes]:
    n_expanded = 0
    try:
        with gzip.open(path) if dialect.is_compressed else path.open("rb") as file:
            n_file_bytes = path.stat().st_size
            while chunk := file.read(_CHUNK):
                n_expanded += len(chunk)
                if dialect.is_compressed:
                    limits.check_expanded(path.name, n_expanded, n_file_bytes)
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(
            f"{path.name} is not a whole gzip file.", hint="was it written only in part?"
        ) from None
    except OSError:
        raise _unreadable(path) from None


def _opened(target: Path) -> IO[bytes]:
    try:
        # Every byte goes to the disk when it is written, so that a failure shows there.
        return target.open("wb", buffering=0)
    except OSError:
        raise _full() from None


def _write(copy: IO[bytes], chunk: bytes) -> None:
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[copy.write(rest) :]
    except OSError:
        raise _full() from None


def _unreadable(path: Path) -> EngineError:
    return EngineError(
        f"{path.name} cannot be read to its end.", hint="is its disk still there, and sound?"
    )


def _full() -> EngineError:
    return EngineError(
        "The folder for temporary files cannot take a copy of the table.",
        hint="free some space there, or set TMPDIR to a folder on a larger disk.",
    )
