"""Read small files from outside: whole, bounded, and only if they are regular files.

Opening a named pipe waits for somebody to write to it, and a device such as ``/dev/zero`` never
ends. A document that is nested thousands of levels deep, or that states a number of thousands of
digits, is refused here, before code that trusts its types meets it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from typing import Any

__all__ = [
    "DocumentLimitError",
    "kind_of_special_file",
    "parse_json",
    "parse_toml",
    "read_whole",
    "read_whole_text",
]

MAX_BYTES = 512 * 10**6
"""The size up to which a document is read into memory."""
_BINARY: int = getattr(os, "O_BINARY", 0)
_MAX_DEPTH = 100
_MAX_BITS = 1000
"""Numbers beyond it do not fit into a float."""
_TOML_INTEGERS = range(-(2**63), 2**63)
"""The integers that TOML 1.0 requires; it demands an error for those that a parser cannot hold."""
_KEY_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"""(?<![\w"'-]){_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART}){{{_MAX_DEPTH}}}""")
_TOO_DEEP = f"it is nested more than {_MAX_DEPTH} levels deep"
_TOO_LARGE = "it states an integer of more than 64 bits"
_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class DocumentLimitError(ValueError):
    """A document is nested too deeply, or states too large a number; it quotes nothing of it."""


def kind_of_special_file(mode: int) -> str | None:
    """Name what a path leads to if it is neither a file nor a folder; otherwise return None.

    Parameters
    ----------
    mode
        The mode that `os.stat` reports.

    Examples
    --------
    >>> kind_of_special_file(os.stat(os.devnull).st_mode)
    'a device'
    """
    return next((kind for is_kind, kind in _SPECIAL_KINDS if is_kind(mode)), None)


def read_whole(path: str | os.PathLike[str], *, max_bytes: int | None = MAX_BYTES) -> bytes:
    """Return the content of a regular file.

    Parameters
    ----------
    path
        The file.
    max_bytes
        The size up to which it is read, 512 MB by default; None for any size.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or is too large; `strerror` says which.

    Examples
    --------
    >>> read_whole(os.devnull)
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] it is a device, not a file
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    try:
        _check_regular(os.fstat(descriptor), max_bytes)
    except OSError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _check_regular(found: os.stat_result, max_bytes: int | None) -> None:
    kind = "a folder" if stat.S_ISDIR(found.st_mode) else kind_of_special_file(found.st_mode)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")
    if max_bytes is not None and found.st_size > max_bytes:
        raise OSError(errno.EFBIG, f"it has more than {max_bytes // 10**6} MB")


def read_whole_text(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> str:
    r"""Return the text of a regular file, with every line end as ``\n``.

    Raises
    ------
    OSError
        As `read_whole` does.
    UnicodeDecodeError
        If it is not encoded so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.json")
    ...     _ = path.write_text("{}")
    ...     read_whole_text(path)
    '{}'
    """
    text = read_whole(path).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, with bounded depth and integers of 64 bits.

    Raises
    ------
    tomllib.TOMLDecodeError
        If it is no TOML.
    DocumentLimitError
        If it is nested too deeply, or states too large a number.

    Examples
    --------
    >>> parse_toml("k = 5")
    {'k': 5}
    >>> parse_toml("k = " + "9" * 5000)
    Traceback (most recent call last):
    ...
    shoal.core.reading.DocumentLimitError: it states an integer of more than 64 bits
    """
    # Python's parser takes time that grows with the square of a key's length.
    if _LONG_KEY.search(text):
        raise DocumentLimitError(_TOO_DEEP)
    try:
        stated = tomllib.loads(text)
    except RecursionError:
        raise DocumentLimitError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, OverflowError):
        # Python itself refuses to read an integer of more than 4300 digits.
        raise DocumentLimitError(_TOO_LARGE) from None
    for value in _values(stated):
        if isinstance(value, int) and value not in _TOML_INTEGERS:
            raise DocumentLimitError(_TOO_LARGE)
    return stated


def parse_json(text: str | bytes) -> Any:
    """Parse JSON, with bounded depth and numbers that fit into a float.

    Raises
    ------
    ValueError
        If it is no JSON or no text, and a `DocumentLimitError` if it is nested too deeply or states
        too large a number.

    Examples
    --------
    >>> parse_json('{"rows": 5}')
    {'rows': 5}
    >>> parse_json("[" * 5000 + "]" * 5000)
    Traceback (most recent call last):
    ...
    shoal.core.reading.DocumentLimitError: it is nested more than 100 levels deep
    """
    try:
        stated = json.loads(text)
    except RecursionError:
        raise DocumentLimitError(_TOO_DEEP) from None
    for value in _values(stated):
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise DocumentLimitError(f"it states an integer of more than {_MAX_BITS} bits")
    # Half of a character, which JSON can state, is no text: nothing could be written about it.
    json.dumps(stated, ensure_ascii=False).encode()
    return stated


def _values(stated: object) -> Iterator[object]:
    """Yield the values of a document, level by level: recursion would fail where this refuses."""
    level = [stated]
    for _ in range(_MAX_DEPTH + 1):
        yield from level
        inner = [value.values() if isinstance(value, dict) else value
                 for value in level if isinstance(value, dict | list)]  # fmt: skip
        level = [value for values in inner for value in values]
        if not level:
            return
    raise DocumentLimitError(_TOO_DEEP)
