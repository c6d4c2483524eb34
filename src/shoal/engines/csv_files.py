"""CSV files: the dialect of a file, and its text in chunks of fixed size.

Encoding, delimiter, quote and header are detected if the file shows them. An encoding that it does
not show, for lack of a byte order mark, is never guessed: an error asks for it.

Compressed files and other encodings are converted to plain UTF-8, and the lines of a file are
measured. No step holds more than one chunk, so neither an endless line nor an endless archive fills
memory.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shoal.core.errors import DataError, EngineError, ParameterError
from shoal.engines.files import literal, pattern
from shoal.engines.limits import DEFAULT_LIMITS, Limits, size_of

_BLANK = " \t\r\n"
_CHUNK = 1 << 20
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
    """The dialect of a CSV file."""

    delimiter: str
    quote: str
    encoding: str
    columns: tuple[str, ...]
    is_compressed: bool

    @property
    def options(self) -> dict[str, str]:
        """The options of `shoal.read` that read the file like this."""
        return {"delimiter": self.delimiter, "quote": self.quote, "encoding": self.encoding}


def find_dialect(
    path: Path,
    *,
    delimiter: str | None,
    quote: str | None,
    encoding: str | None,
    limits: Limits = DEFAULT_LIMITS,
) -> Dialect:
    """Return the dialect of a CSV file from its beginning; options that are given are kept.

    A file that is empty, not text, or without a usable header is refused.
    """
    sample, is_compressed, is_whole = _read_sample(path, limits.max_header)
    if not sample:
        raise DataError(f"{path.name} is empty.", hint="a CSV file begins with a header line.")
    found = _encoding(sample, encoding)
    text = _decode(path, sample, found, is_whole=is_whole).removeprefix("\ufeff")
    if "\x00" in text:
        raise DataError(
            f"{path.name} contains NUL characters, so it is not a text file.",
            hint="is it a binary file, or UTF-16 without a byte order mark (encoding='utf-16-le')?",
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
            raise _broken_archive(path) from None
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            raise DataError(
                f"{path.name} is not a CSV file: it is {kind}.",
                hint="give it its proper ending, or export it as CSV.",
            )
    return head, is_compressed, len(head) < n_bytes


def _whole_lines(path: Path, text: str, limits: Limits) -> str:
    """Return a sample up to its last complete line."""
    end = max(text.rfind("\n"), text.rfind("\r")) + 1
    if not end:
        # The delimiter is unknown, but whichever it is, it occurs too often.
        n_columns = 1 + max(map(text.count, _DELIMITERS))
        limits.check_columns(path.name, n_columns)
        raise _too_long(path, limits)
    return text[:end]


def _too_long(path: Path, limits: Limits) -> DataError:
    return DataError(
        f"{path.name} has a header line of more than {size_of(limits.max_header)}, the limit.",
        hint="is it a CSV file with one line per row? If so, raise max_columns under [engine]: the "
        "header may have 100 bytes per column.",
    )


def _read_header(
    path: Path, text: str, reading: tuple[str, str], limits: Limits | None
) -> list[str]:
    """Return the first record; `limits` is given if the text is only the beginning of a file."""
    # An extra line at the end shows whether a quote is still open there.
    lines = itertools.chain(io.StringIO(text, newline=""), () if limits is None else ("end",))
    records = csv.reader(lines, delimiter=reading[0], quotechar=reading[1])
    try:
        header = next(records)
        is_closed = limits is None or next(records, None) is not None
    except (csv.Error, StopIteration):
        raise DataError(
            f"{path.name} has a header that cannot be read.",
            hint="is a quote left open, or a name extremely long?",
        ) from None
    if limits is not None and not is_closed:
        raise _too_long(path, limits)
    return header


def _encoding(sample: bytes, given: str | None) -> str:
    if given is not None:
        try:
            # Unlike the lookup, the wrapper accepts text encodings only: not rot13, not hex.
            io.TextIOWrapper(io.BytesIO(), encoding=given)
            is_utf8 = codecs.lookup(given).name == "utf-8"
        except (LookupError, ValueError):
            raise ParameterError(
                f"The encoding {given!r} is not known.", hint="for example utf-8, cp1252 or utf-16."
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
            f"{path.name} is not valid {encoding}: line {line} contains an invalid byte sequence.",
            hint="give its encoding, for example encoding='cp1252'.",
        ) from None


def _quotes(text: str, delimiter: str, quote: str) -> bool:
    """Return whether a character encloses whole fields, as a quote does."""
    if quote not in text:
        return False
    d, q = re.escape(delimiter), re.escape(quote)
    field = rf"(?m)(?:^|{d}){q}(?:[^{q}\r\n]|{q}{q})*{q}(?:{d}|\r?$)"
    return quote in text and re.search(field, text) is not None


def _consistency(text: str, delimiter: str, quote: str) -> tuple[float, int, bool, bool]:
    """Score a reading by how many lines agree on a number of fields above one, and on how many.

    Ties are lost by a reading that leaves the other quote around fields.
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
    n_quoted = 0
    if other in text:
        n_quoted = sum(any(_is_wrapped(field, other) for field in record) for record in records)
    is_rid_of_quotes = 2 * n_quoted < len(records)
    agreement = n_agreeing / len(records) if width > 1 else 0.0
    return (agreement, width, is_rid_of_quotes, quote == _QUOTES[0])


def _is_wrapped(field: str, quote: str) -> bool:
    return len(field) > 1 and field.startswith(quote) and field.endswith(quote)


def _check_header(path: Path, header: list[str]) -> None:
    if not header:
        raise DataError(
            f"{path.name} has no header line.",
            hint="its first line is empty; put the column names there.",
        )
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
            f"{path.name} has column names that cannot be written to CSV again: number "
            f"{', '.join(map(str, unusable[:10]))} of {len(header)}.",
            hint="remove carriage returns, byte order marks, and line ends at the edges of names.",
        )
    refuse_like_names(path.name, header)


def unusable_names(names: Sequence[str]) -> list[int]:
    """Return the positions, from 1, of the names that do not survive a CSV file."""
    return [number for number, name in enumerate(names, start=1) if not _is_usable(name)]


def _is_usable(name: str) -> bool:
    is_text = not any("\ud800" <= character <= "\udfff" for character in name)
    is_whole = not name.startswith("\ufeff") and name == name.strip("\r\n")
    return is_text and is_whole and bool(name.strip(_BLANK)) and not {"\r", "\x00"} & set(name)


def refuse_like_names(source: str, names: Iterable[str]) -> None:
    """Refuse column names that differ at most in case: SQL does not tell them apart."""
    listed = list(names)
    times = Counter(name.lower() for name in listed)
    alike = [number for number, name in enumerate(listed, 1) if times[name.lower()] > 1]
    if alike:
        # The message must not show the names: without a header they would be values of a person.
        raise DataError(
            f"{source} has several columns of the same name (case is ignored): number "
            f"{', '.join(map(str, alike[:10]))} of {len(listed)}.",
            hint="rename all but one of them; the first line of a file must hold the names.",
        )


def csv_relation(path: Path, dialect: Dialect, limits: Limits) -> str:
    """Return the relation of a CSV file in UTF-8, with all values as texts."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in dialect.columns)
    return (
        f"read_csv({pattern(path)}, auto_detect = false, "
        f"header = true, delim = {literal(dialect.delimiter)}, "
        f"quote = {literal(dialect.quote)}, escape = {literal(dialect.quote)}, "
        f"nullstr = '', allow_quoted_nulls = false, columns = {{{columns}}}, "
        f"max_line_size = {limits.max_line}, buffer_size = {limits.line_buffer})"
    )


def is_plain_utf8(dialect: Dialect) -> bool:
    """Return whether an engine can read the file itself, without a copy."""
    encoding = dialect.encoding.lower().replace("_", "-")
    return encoding in ("utf-8", "utf-8-sig", "utf8") and not dialect.is_compressed


def copy_as_utf8(
    path: Path, dialect: Dialect, target: Path, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Write a copy of a CSV file in plain UTF-8; an unfinished copy is removed."""
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


def digest_of_lines(path: Path, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the SHA-256 of a file in plain UTF-8, and refuse it if a line is too long.

    DuckDB skips a line that is longer than its buffer, sometimes silently, so lines have to be
    measured before DuckDB sees them.
    """
    lines = _Lines(path.name, limits)
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
    """Measures the lines of a file that arrives in chunks."""

    def __init__(self, source: str, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._n_open = 0

    def measure(self, chunk: bytes) -> None:
        # Lines that begin and end within a chunk are too short to matter, unless the limit is.
        step = self._limits.max_line
        for start in range(0, len(chunk), step):
            self._measure(chunk[start : start + step])

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
            hint="give its encoding, for example encoding='cp1252'.",
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
        raise _broken_archive(path) from None
    except OSError:
        raise _unreadable(path) from None


def _opened(target: Path) -> IO[bytes]:
    try:
        # Without a buffer, a full disk shows where the bytes are written.
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


def _broken_archive(path: Path) -> DataError:
    return DataError(
        f"{path.name} is not a complete gzip file.", hint="was it written only in part?"
    )


def _unreadable(path: Path) -> EngineError:
    return EngineError(
        f"{path.name} cannot be read to its end.", hint="is its disk still there, and intact?"
    )


def _full() -> EngineError:
    return EngineError(
        "There is no room for a copy of the table in the folder for temporary files.",
        hint="free some space there, or set TMPDIR to a folder on a larger disk.",
    )
