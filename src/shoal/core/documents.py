"""Read small files from outside, bounded and only if they are regular; write TOML, and files whole.

Opening a named pipe waits for a writer, and a device such as ``/dev/zero`` never ends. A document
that is nested thousands of levels deep, or that states a number of thousands of digits, is refused
here, before it reaches code that trusts its types.
"""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.core.errors import EngineError

MAX_BYTES = 512 * 10**6
"""The largest size of a document that is read into memory."""
_BINARY: int = getattr(os, "O_BINARY", 0)
_MAX_DEPTH = 100
_MAX_BITS = 1000
"""Larger numbers do not fit into a float."""
_TOML_INTEGERS = range(-(2**63), 2**63)
"""The integers that TOML 1.0 requires; a parser that cannot hold a number must report an error."""
_KEY_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"""(?<![\w"'-]){_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART}){{{_MAX_DEPTH}}}""")
_TOO_DEEP = f"it is nested more than {_MAX_DEPTH} levels deep"
_TOO_LARGE = "it states an integer of more than 64 bits"
_ODD_CHARACTERS = "".join(map(chr, [0x7F, *range(0x80, 0xA0), 0x2028, 0x2029]))
_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class DocumentLimitError(ValueError):
    """A document is nested too deeply or states too large a number; nothing of it is quoted."""


def kind_of_special_file(mode: int) -> str | None:
    """Return the kind of a path that is neither a file nor a folder, by its mode; otherwise None.

    Examples
    --------
    >>> kind_of_special_file(os.stat(os.devnull).st_mode)
    'a device'
    """
    return next((kind for is_kind, kind in _SPECIAL_KINDS if is_kind(mode)), None)


def read_whole(path: str | os.PathLike[str], *, max_bytes: int | None = MAX_BYTES) -> bytes:
    """Return the content of a regular file.

    It has at most `max_bytes` (default: 512 MB; None for any size). Raises an OSError if it cannot
    be read, is not a regular file, or is too large; `strerror` says which.

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

    Raises an OSError as `read_whole` does, and a UnicodeDecodeError if the encoding is wrong.

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
    """Parse TOML with bounded depth and 64-bit integers.

    Raises a `tomllib.TOMLDecodeError` if it is not TOML, and a `DocumentLimitError` if it is nested
    too deeply or states too large a number.

    Examples
    --------
    >>> parse_toml("k = 5")
    {'k': 5}
    >>> parse_toml("k = " + "9" * 5000)
    Traceback (most recent call last):
    ...
    shoal.core.documents.DocumentLimitError: it states an integer of more than 64 bits
    """
    # The time that Python's parser takes grows with the square of the length of a key.
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
    """Parse JSON with bounded depth and numbers that fit into a float.

    Raises a ValueError if it is not JSON or not text, and a `DocumentLimitError`, which is one, if
    it is nested too deeply or states too large a number.

    Examples
    --------
    >>> parse_json('{"rows": 5}')
    {'rows': 5}
    >>> parse_json("[" * 5000 + "]" * 5000)
    Traceback (most recent call last):
    ...
    shoal.core.documents.DocumentLimitError: it is nested more than 100 levels deep
    """
    try:
        stated = json.loads(text)
    except RecursionError:
        raise DocumentLimitError(_TOO_DEEP) from None
    for value in _values(stated):
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise DocumentLimitError(f"it states an integer of more than {_MAX_BITS} bits")
    # JSON can state half of a surrogate pair, which no file or message could hold later.
    json.dumps(stated, ensure_ascii=False).encode()
    return stated


def _values(stated: object) -> Iterator[object]:
    """Yield the values of a document level by level: recursion would fail on deep documents."""
    level = [stated]
    for _ in range(_MAX_DEPTH + 1):
        yield from level
        inner = [value.values() if isinstance(value, dict) else value
                 for value in level if isinstance(value, dict | list)]  # fmt: skip
        level = [value for values in inner for value in values]
        if not level:
            return
    raise DocumentLimitError(_TOO_DEEP)


def write_whole(target: Path, lines: Iterable[str]) -> None:
    r"""Write lines to a file that only its owner can read; a crash leaves the old file, or none.

    Raises an EngineError if the file system refuses.

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
            hint="check that its folder exists and has free space.",
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


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, would outlive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- writing TOML ---------------------------------------------------------------------------------


def toml_text(value: str) -> str:
    r"""Return a text as a TOML string.

    Examples
    --------
    >>> print(toml_text('a "b"'))
    "a \"b\""
    """
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(
        f"\\u{ord(letter):04x}" if letter in _ODD_CHARACTERS else letter for letter in quoted
    )


def toml_key(name: str) -> str:
    """Return a key in TOML, bare if possible.

    Examples
    --------
    >>> toml_key("age"), toml_key("née")
    ('age', '"née"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_comment(value: str) -> str:
    """Return a text that stays on one line, for a comment."""
    return toml_text(value)[1:-1].replace('\\"', '"')


def toml_inline(table: Mapping[str, object]) -> str:
    """Return a table of texts, numbers, and lists and tables of them as an inline TOML table.

    Examples
    --------
    >>> toml_inline({"prefix": [5, 3, 1], "flat": True})
    '{ prefix = [5, 3, 1], flat = true }'
    """
    entries = ", ".join(f"{toml_key(name)} = {_toml_value(value)}" for name, value in table.items())
    return f"{{ {entries} }}"


def toml_document(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Return a TOML document of sections; entries that are None are left out.

    Examples
    --------
    >>> print(toml_document({"table": {"source": "people.csv"}, "attacks": {"linkage": {}}}))
    [table]
    source = "people.csv"
    <BLANKLINE>
    [attacks]
    linkage = {  }
    <BLANKLINE>
    """
    written = [
        "\n".join(
            [f"[{toml_key(name)}]"]
            + [
                f"{toml_key(entry)} = {_toml_value(value)}"
                for entry, value in section.items()
                if value is not None
            ]
        )
        for name, section in sections.items()
    ]
    return "\n\n".join(written) + "\n"


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return toml_inline({name: entry for name, entry in value.items() if entry is not None})
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return toml_text(value) if isinstance(value, str) else repr(value)
