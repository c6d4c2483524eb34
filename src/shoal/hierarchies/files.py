"""The files that hold the rows of a hierarchy.

The format is ARX's: no header, ``;`` between labels, the leaf first and ``*`` last, double quotes
if a label needs them. An empty leaf without quotes is the missing value, ``""`` the empty text.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from shoal.core.documents import read_whole
from shoal.core.errors import EngineError, ParameterError, SchemaError
from shoal.core.tree import Label

_BYTE_ORDER_MARK = "\ufeff"


def read_rows(path: str | os.PathLike[str], delimiter: str, encoding: str) -> list[list[Label]]:
    """Read the rows of a file, skipping a byte order mark; `Hierarchy.from_rows` checks them."""
    _check_format(delimiter, encoding)
    try:
        content = read_whole(path)
    except OSError as error:
        raise EngineError(
            f"The hierarchy file {os.fspath(path)!r} cannot be read: {error.strerror}.",
            hint="check the path, which is relative to the working folder, and its permissions.",
        ) from None
    subject = f"The hierarchy file {os.fspath(path)!r}"
    return _parse(_decode(content, encoding, subject), delimiter, subject)


def rows_text(rows: Iterable[Sequence[Label]], delimiter: str = ";") -> str:
    r"""Return the content of a file that holds the given rows.

    Examples
    --------
    >>> rows_text([["a;b", "*"], [None, "*"]])
    '"a;b";*\n;*\n'
    """
    return "".join(delimiter.join(_field(label, delimiter) for label in row) + "\n" for row in rows)


def write_rows(
    path: str | os.PathLike[str],
    rows: Iterable[Sequence[Label]],
    delimiter: str = ";",
    encoding: str = "utf-8",
) -> None:
    """Write rows to a file, completely or not at all, replacing an older file.

    None, the missing value, is written as nothing.
    """
    _check_format(delimiter, encoding)
    content = _encode(
        rows_text(rows, delimiter), encoding, f"The hierarchy file {os.fspath(path)!r}"
    )
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        _write_synced(temporary, content)
        temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise EngineError(
            f"The hierarchy file {os.fspath(path)!r} cannot be written: {error.strerror}.",
            hint="check that the folder exists, its permissions and the free space.",
        ) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _check_format(delimiter: str, encoding: str) -> None:
    if len(delimiter) != 1 or delimiter in '"\r\n*':
        raise ParameterError(
            "delimiter must be one character other than a quote, a star or a line break; "
            f"got {delimiter!r}.",
            hint="hierarchies of ARX use a semicolon.",
        )
    try:
        "".encode(encoding)
    except LookupError:
        raise ParameterError(
            f"encoding must be one that Python knows; got {encoding!r}.", hint="try utf-8."
        ) from None


def _decode(content: bytes, encoding: str, subject: str) -> str:
    try:
        return content.decode(encoding).removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    # Raised outside the handler, because the decoder's error holds the whole file.
    raise SchemaError(
        f"{subject} must be {encoding} throughout; line {line} is not.",
        hint="save it as UTF-8, or give its encoding.",
    )


def _encode(text: str, encoding: str, subject: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
    raise SchemaError(
        f"{subject} has characters that {encoding} cannot encode, the first in line {line}.",
        hint="write it as utf-8.",
    )


def _parse(text: str, delimiter: str, subject: str) -> list[list[Label]]:
    mark = re.escape(delimiter)
    field = re.compile(
        rf'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?P<bare>(?!")[^{mark}\r\n]*))(?P<end>{mark}|\r\n?|\n|\Z)'
    )
    rows: list[list[Label]] = []
    row: list[Label] = []
    start = 0
    while start < len(text) or row:
        match = field.match(text, start)
        if match is None:
            raise SchemaError(
                f"{subject} must close a quote at the end of its label; row {len(rows) + 1} "
                "does not.",
                hint='double a quote within a label, and put the label in quotes: "5"" pipe".',
            )
        quoted, bare, end = match.groups()
        row.append((bare or None) if quoted is None else quoted.replace('""', '"'))
        start = match.end()
        if end != delimiter:
            rows.append(row)
            row = []
    while rows and rows[-1] == [None]:
        rows.pop()
    return rows


def _field(label: Label, delimiter: str) -> str:
    if label is None:
        return ""
    needs_quotes = not label or label.startswith(_BYTE_ORDER_MARK)
    if needs_quotes or any(character in label for character in (delimiter, '"', "\r", "\n")):
        return '"' + label.replace('"', '""') + '"'
    return label


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    # The new name survives a power cut only if the folder is synced; Windows has no such call.
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
