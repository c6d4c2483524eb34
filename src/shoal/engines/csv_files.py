"""Find out how a CSV file is written: encoding, delimiter, quote, header.

What can be told from the file is found; what cannot (an encoding without a mark) is an error
that asks for it, never a guess.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.core.errors import DataError, ParameterError
from shoal.engines.limits import Limits, size_of
from shoal.engines.paths import literal, pattern

__all__ = [
    "Dialect",
    "check_kind",
    "csv_relation",
    "find_dialect",
    "refuse_like_names",
    "unusable_names",
]

_BLANK = " \t\r\n"
_SAMPLE_RECORDS = 200
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

    @property
    def options(self) -> dict[str, str]:
        """What was given or found out, as `shoal.read` takes it."""
        return {"delimiter": self.delimiter, "quote": self.quote, "encoding": self.encoding}


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
    path: Path,
    *,
    delimiter: str | None,
    quote: str | None,
    encoding: str | None,
    limits: Limits | None = None,
) -> Dialect:
    """Read the beginning of a CSV file and tell how it is written.

    Parameters
    ----------
    path
        The file.
    delimiter, quote, encoding
        What is known of it already.
    limits
        How long its header may be and how many columns it may have; the usual ones by default.

    Raises
    ------
    DataError
        Where the file is empty, not text, or its header cannot be used.
    """
    limits = Limits() if limits is None else limits
    sample, is_compressed, is_whole = _read_sample(path, limits.max_header)
    if not sample:
        raise DataError(f"{path.name} is empty.", hint="a CSV file begins with a header line.")
    found = _encoding(sample, encoding)
    text = _decode(path, sample, found, is_whole=is_whole).removeprefix("\ufeff")
    if "\x00" in text:
        raise DataError(
            f"{path.name} holds NUL characters, which no text has.",
            hint="is it a binary file, or UTF-16 without a mark (say encoding='utf-16-le')?",
        )
    if not is_whole:
        text = _whole_lines(path, text, limits)
    quotes = (quote,) if quote is not None else _QUOTES
    delimiters = (delimiter,) if delimiter is not None else _DELIMITERS
    readings = [(d, q) for q in quotes for d in delimiters if q == quotes[0] or _quotes(text, d, q)]
    best = max(readings, key=lambda reading: _consistency(text, *reading))
    header = _read_header(path, text, best, None if is_whole else limits)
    limits.check_columns(path.name, len(header))
    _check_header(path, header)
    return Dialect(best[0], best[1], found, tuple(header), is_compressed)


def _read_sample(path: Path, n_bytes: int) -> tuple[bytes, bool, bool]:
    with path.open("rb") as file:
        head = file.read(n_bytes)
    is_compressed = head.startswith(b"\x1f\x8b") and path.suffix == ".gz"
    if is_compressed:
        try:
            with gzip.open(path) as file:
                head = file.read(n_bytes)
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{path.name} is not a whole gzip file.") from None
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise DataError(
                f"{path.name} is not a CSV file: it is {kind}.",
                hint="give it its proper ending, or export it as CSV.",
            )
    return head, is_compressed, len(head) < n_bytes


def _whole_lines(path: Path, text: str, limits: Limits) -> str:
    """Cut a sample off after its last line that is whole."""
    end = max(text.rfind("\n"), text.rfind("\r")) + 1
    if not end:
        # Which delimiter it is cannot be told, but any of them as often is too often.
        n_columns = 1 + max(map(text.count, _DELIMITERS))
        limits.check_columns(path.name, n_columns)
        raise _too_long(path, limits)
    return text[:end]


def _too_long(path: Path, limits: Limits) -> DataError:
    return DataError(
        f"{path.name} has a header line of more than {size_of(limits.max_header)}, the limit.",
        hint="is it a CSV file with a line for every row? If so, raise max_columns under [engine]: "
        "the header may have 100 bytes for each of them.",
    )


def _read_header(
    path: Path, text: str, reading: tuple[str, str], limits: Limits | None
) -> list[str]:
    """Read the first record; limits are given where the text is only the beginning of the file."""
    # A line of our own at the end shows whether a quote is still open there.
    lines = itertools.chain(io.StringIO(text, newline=""), () if limits is None else ("end",))
    records = csv.reader(lines, delimiter=reading[0], quotechar=reading[1])
    try:
        header = next(records)
        is_closed = limits is None or next(records, None) is not None
    except (csv.Error, StopIteration):
        raise DataError(
            f"{path.name} has a header that cannot be read.",
            hint="is a quote left open, or a name longer than any name is?",
        ) from None
    if limits is not None and not is_closed:
        raise _too_long(path, limits)
    return header


def _encoding(sample: bytes, given: str | None) -> str:
    if given is not None:
        try:
            # The wrapper, unlike the lookup, takes codecs of texts alone: not rot13, not hex.
            io.TextIOWrapper(io.BytesIO(), encoding=given)
            is_utf8 = codecs.lookup(given).name == "utf-8"
        except (LookupError, ValueError):
            raise ParameterError(
                f"encoding {given!r} is not known.", hint="for example utf-8, cp1252 or utf-16."
            ) from None
        return "utf-8-sig" if is_utf8 and sample.startswith(codecs.BOM_UTF8) else given
    return next((name for mark, name in _MARKS if sample.startswith(mark)), "utf-8")


def _decode(path: Path, sample: bytes, encoding: str, *, is_whole: bool) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample, final=is_whole)
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = sample.count(b"\n", 0, start) + 1
        raise DataError(
            f"{path.name} is not valid {encoding}: line {line} holds a byte sequence that means "
            "nothing there.",
            hint="say how it is encoded, for example encoding='cp1252'.",
        ) from None


def _quotes(text: str, delimiter: str, quote: str) -> bool:
    """Tell whether a character stands around whole fields, as a quote does."""
    d, q = re.escape(delimiter), re.escape(quote)
    field = rf"(?m)(?:^|{d}){q}(?:[^{q}\r\n]|{q}{q})*{q}(?:{d}|\r?$)"
    return re.search(field, text) is not None


def _consistency(text: str, delimiter: str, quote: str) -> tuple[float, int, bool, bool]:
    """Score a reading by how many lines agree on a number of fields above one, and on how many.

    Of two that score alike, the one loses that leaves the other quote around fields.
    """
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    other = next(q for q in _QUOTES if q != quote)
    try:
        records = list(itertools.islice(filter(None, lines), _SAMPLE_RECORDS))
    except csv.Error:
        records = []
    if not records:
        return (0.0, 0, False, quote == _QUOTES[0])
    width, n_agreeing = Counter(map(len, records)).most_common(1)[0]
    n_quoted = sum(any(_is_wrapped(field, other) for field in record) for record in records)
    is_rid_of_quotes = 2 * n_quoted < len(records)
    agreement = n_agreeing / len(records) if width > 1 else 0.0
    return (agreement, width, is_rid_of_quotes, quote == _QUOTES[0])


def _is_wrapped(field: str, quote: str) -> bool:
    return len(field) > 1 and field.startswith(quote) and field.endswith(quote)


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise DataError(f"{path.name} has no header line.", hint="its first line is empty.")
    nameless = [number for number, name in enumerate(header, start=1) if not name.strip(_BLANK)]
    if nameless:
        raise DataError(
            f"{path.name} has columns without a name: number "
            f"{', '.join(map(str, nameless[:10]))} of {len(header)}.",
            hint="name every column in the header line.",
        )
    unusable = unusable_names(header)
    if unusable:
        raise DataError(
            f"{path.name} has column names that cannot be written as CSV again: number "
            f"{', '.join(map(str, unusable[:10]))} of {len(header)}.",
            hint="take carriage returns, byte order marks and line ends at the edges out of the "
            "header line.",
        )
    refuse_like_names(path.name, header)


def unusable_names(names: Sequence[str]) -> list[int]:
    r"""Give the positions, from 1, of the names that a CSV file cannot carry there and back.

    Examples
    --------
    >>> unusable_names(["age", "", "a\rb", "first\nsecond"])
    [2, 3]
    """
    return [number for number, name in enumerate(names, start=1) if not _is_usable(name)]


def _is_usable(name: str) -> bool:
    is_text = not any("\ud800" <= character <= "\udfff" for character in name)
    is_whole = not name.startswith("\ufeff") and name == name.strip("\r\n")
    return is_text and is_whole and bool(name.strip(_BLANK)) and not {"\r", "\x00"} & set(name)


def refuse_like_names(source: str, names: Iterable[str]) -> None:
    """Refuse columns whose names agree but for upper and lower case: SQL takes them for one."""
    listed = list(names)
    times = Counter(name.lower() for name in listed)
    alike = [number for number, name in enumerate(listed, 1) if times[name.lower()] > 1]
    if alike:
        # Not their names: in a file without a header those would be somebody's values.
        raise DataError(
            f"{source} has columns of one name (upper and lower case are not told apart): number "
            f"{', '.join(map(str, alike[:10]))} of {len(listed)}.",
            hint="rename all but one of them; the first line must hold the names.",
        )


def csv_relation(path: Path, dialect: Dialect, limits: Limits) -> str:
    """Give what stands behind FROM for a CSV file in UTF-8, all its values texts."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in dialect.columns)
    return (
        f"read_csv({pattern(path)}, auto_detect = false, "
        f"header = true, delim = {literal(dialect.delimiter)}, "
        f"quote = {literal(dialect.quote)}, escape = {literal(dialect.quote)}, "
        f"nullstr = '', allow_quoted_nulls = false, columns = {{{columns}}}, "
        f"max_line_size = {limits.max_line}, buffer_size = {limits.line_buffer})"
    )
