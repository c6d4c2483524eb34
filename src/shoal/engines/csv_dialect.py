"""Find out how a CSV file is written: encoding, delimiter, quote, header.

What can be told from the file is found; what cannot (an encoding without a mark) is an error
that asks for it, never a guess.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from shoal.core.errors import DataError, ParameterError

__all__ = ["Dialect", "check_kind", "find_dialect"]

_SAMPLE_BYTES = 1 << 20
_DELIMITERS = (",", ";", "\t", "|")
_QUOTES = ('"', "'")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
)


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str
    quote: str
    encoding: str
    columns: tuple[str, ...]
    is_compressed: bool


def check_kind(path: Path, magic: bytes, offset: int, kind: str) -> None:
    """Refuse a file that does not begin as its name says it should."""
    with path.open("rb") as file:
        head = file.read(offset + len(magic))
    if head[offset:] != magic:
        raise DataError(
            f"{path.name} is not {kind}, although its name says so"
            + (": it is empty." if not head else "."),
            hint="was it renamed, or written only in part?",
        )


def find_dialect(
    path: Path, *, delimiter: str | None, quote: str | None, encoding: str | None
) -> Dialect:
    """Read the beginning of a CSV file and tell how it is written.

    Raises
    ------
    DataError
        Where the file is empty, not text, or its header cannot be used.
    """
    sample, is_compressed, is_whole = _read_sample(path)
    if not sample:
        raise DataError(f"{path.name} is empty.", hint="a CSV file begins with a header line.")
    found = _encoding(path, sample, encoding)
    text = _decode(path, sample, found, is_whole=is_whole)
    if "\x00" in text:
        raise DataError(
            f"{path.name} holds NUL characters, which no text has.",
            hint="is it a binary file, or UTF-16 without a mark (say encoding='utf-16-le')?",
        )
    if not is_whole:
        text = text[: text.rfind("\n") + 1] or text
    quotes = (quote,) if quote is not None else _QUOTES
    delimiters = (delimiter,) if delimiter is not None else _DELIMITERS
    best = max(
        ((d, q) for q in quotes for d in delimiters),
        key=lambda pair: _consistency(text, *pair),
    )
    header = next(csv.reader(io.StringIO(text, newline=""), delimiter=best[0], quotechar=best[1]))
    _check_header(path, header)
    return Dialect(best[0], best[1], found, tuple(header), is_compressed)


def _read_sample(path: Path) -> tuple[bytes, bool, bool]:
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
    is_compressed = head.startswith(b"\x1f\x8b") and path.suffix == ".gz"
    if is_compressed:
        try:
            with gzip.open(path) as file:
                head = file.read(_SAMPLE_BYTES)
        except (OSError, EOFError):
            raise DataError(f"{path.name} is not a whole gzip file.") from None
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise DataError(
                f"{path.name} is not a CSV file: it is {kind}.",
                hint="give it its proper ending, or export it as CSV.",
            )
    return head, is_compressed, len(head) < _SAMPLE_BYTES


def _encoding(path: Path, sample: bytes, given: str | None) -> str:
    if given is not None:
        try:
            codecs.lookup(given)
        except LookupError:
            raise ParameterError(
                f"encoding {given!r} is not known.", hint="for example utf-8, cp1252 or utf-16."
            ) from None
        return given
    return next((name for mark, name in _MARKS if sample.startswith(mark)), "utf-8")


def _decode(path: Path, sample: bytes, encoding: str, *, is_whole: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=is_whole)
    except UnicodeDecodeError as error:
        line = sample.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path.name} is not valid {encoding}: line {line} holds a byte sequence that means "
            "nothing there.",
            hint="say how it is encoded, for example encoding='cp1252'.",
        ) from None


def _consistency(text: str, delimiter: str, quote: str) -> tuple[float, int, int]:
    """Score a reading: do lines agree on a number of fields above one, and on how many?"""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    widths: list[int] = []
    try:
        for record in lines:
            if record:
                widths.append(len(record))
            if len(widths) >= 200:
                break
    except csv.Error:
        return (0.0, 0, 0)
    if not widths:
        return (0.0, 0, 0)
    width, n_agreeing = Counter(widths).most_common(1)[0]
    if width == 1:
        return (0.0, 1, quote == '"')
    return (n_agreeing / len(widths), width, quote == '"')


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise DataError(f"{path.name} has no header line.", hint="its first line is empty.")
    nameless = [number for number, name in enumerate(header, start=1) if not name.strip()]
    if nameless:
        raise DataError(
            f"{path.name} has columns without a name: number "
            f"{', '.join(map(str, nameless[:10]))} of {len(header)}.",
            hint="name every column in the header line.",
        )
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise DataError(
            f"{path.name} has columns of one name: {', '.join(map(repr, twice[:10]))}.",
            hint="rename all but one of them.",
        )
