"""Say what went wrong in DuckDB without repeating what it stumbled over: its errors quote data."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import duckdb

from shoal.core.errors import DataError, EngineError
from shoal.core.log import internal_log

__all__ = ["guarded"]

_FAULTS = (
    (
        "No space left on device",
        "The disk is full.",
        "free some space, or choose another disk; TMPDIR says where temporary files go.",
    ),
    (
        "File too large",
        "A file would grow larger than the system allows.",
        "raise the limit (ulimit -f), or choose another disk.",
    ),
    (
        "max_temp_directory_size",
        "The folder for temporary files is full.",
        "free some space there, or set TMPDIR to a folder on a larger disk.",
    ),
    (
        "Out of Memory Error",
        "There is not enough memory for this table.",
        'give more (--memory 8GB, or [engine] memory = "8GB"), or publish fewer columns.',
    ),
    (
        "Could not read enough bytes",
        "A file became shorter while it was read.",
        "wait until nobody writes to it, or read a copy.",
    ),
    (
        "No files found that match",
        "A file vanished before it was read.",
        "is its disk still there, and does nobody move it?",
    ),
    (
        "does not support a full read",
        "The CSV file has a line that is longer than the limit.",
        'raise it: max_line = "64MB" under [engine].',
    ),
)
"""What DuckDB says when a machine is at its end, and what is told of it: what happened, and why."""


_CSV_FAULTS = (
    (
        "unicode",
        "is not valid UTF-8.",
        "say how the file is encoded, for example encoding='cp1252'.",
    ),
    (
        "Maximum line size",
        "is longer than the limit.",
        'raise it: max_line = "64MB" under [engine].',
    ),
    (
        "Number of Columns",
        "has another number of fields than the header.",
        "is a delimiter or a newline inside a value left without quotes?",
    ),
    (
        "",
        "cannot be read.",
        "is a quote left open, or a line too long? Delimiter and quote can be given.",
    ),
)
"""What DuckDB says of a line of a CSV file, and what is told of it."""


@contextlib.contextmanager
def guarded(statement: str = "") -> Iterator[None]:
    """Turn errors of DuckDB into Shoal's own; its words go to the internal log."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        internal_log.info("%s\n%s", error, statement)
        raise _translated(str(error)) from None
    except RuntimeError as error:
        if "interrupt" in str(error).lower():
            raise KeyboardInterrupt from None
        raise


def _translated(message: str) -> EngineError | DataError:
    """Give the error of Shoal for an error of DuckDB."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if line is not None:
        _, fact, hint = next(fault for fault in _CSV_FAULTS if fault[0] in message)
        return DataError(f"Line {line.group(1)} of the CSV file {fact}", hint=hint)
    if "CSV Parser" in message:
        return DataError(
            "The CSV file cannot be read.",
            hint="do all its lines end alike, and is every quote closed?",
        )
    for mark, fact, hint in _FAULTS:
        if mark in message:
            return EngineError(fact, hint=hint)
    kind = re.match(r"[A-Z][A-Za-z ]{1,40} Error(?=:)", message)
    return EngineError(
        f"DuckDB refused ({kind.group() if kind else 'no reason that can be shown'}).",
        hint="run again with --log FILE (in Python: shoal.log_to(FILE)) to see its own words.",
    )
