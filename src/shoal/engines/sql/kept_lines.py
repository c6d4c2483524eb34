"""Write the lines of a CSV file again from their codes, without parsing the file a second time.

The lines were coded when they were counted. If they are in order, the file that Shoal writes has
the texts of their codes, one after the other. DuckDB writes each text once, which shows that it has
the form given here; the bytes of all lines then follow from their codes.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.domain import Domain
from shoal.core.shapes import BUCKET, COUNT, DataFile
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sql.domains import text_array

_NOTHING = 0xFF
"""A byte that no text in UTF-8 has."""
_PART = 1 << 18
_MOST_BYTES = 1 << 25
"""The most bytes of one part, and of the texts of one column, each as wide as the widest."""
_FIRST_LINES = 10_000
_FEW_TEXTS = 1_000
"""Lines are not kept if an insensitive column has more texts among the first lines."""
_QUOTED = frozenset('",\r\n')

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class KeptColumn:
    """A column of kept lines: numbers, or codes of texts.

    `short` is its name in the table of lines.
    """

    name: str
    short: str
    texts: Sequence[str | None] | None


@dataclass(frozen=True, eq=False)
class KeptLines:
    """The lines of a CSV file, in the order of its own and of a staged table of codes."""

    table: str
    columns: tuple[KeptColumn, ...]


class LineKeeper:
    """Keeps the coded lines of files, if somebody is going to write them again."""

    def __init__(self, engine: DuckDB) -> None:
        self._engine = engine
        self._is_keeping = False
        self._kept: dict[str, KeptLines] = {}

    @contextlib.contextmanager
    def keeping(self) -> Iterator[None]:
        """Keep the lines that are counted meanwhile, until the end."""
        self._is_keeping = True
        try:
            yield
        finally:
            self._is_keeping = False
            for kept in self._kept.values():
                self._engine.drop(kept.table)
            self._kept.clear()

    def wants(self, query: str, texts: Sequence[str]) -> bool:
        """Return whether lines are kept; none of some expressions of texts may have many."""
        first = f"(SELECT * FROM ({query}) f LIMIT {_FIRST_LINES}) f"
        return self._is_keeping and all(
            int(self._engine.rows(f"SELECT count(DISTINCT {text}) AS n FROM {first}")["n"][0])
            <= _FEW_TEXTS
            for text in texts
        )

    def keep(self, file: DataFile, lines: str, domains: Sequence[Domain]) -> str:
        """Keep a relation of lines, each with its number, in their order; return its table.

        Its columns are the codes `c0`, `c1`, ... of domains, the bucket `b` and the count `w`.
        """
        table = f"kept_{len(self._kept)}"
        # Joins leave no order behind.
        self._engine.stage(table, f"SELECT * FROM {lines} ORDER BY line")
        columns = {
            domain.column: KeptColumn(domain.column, f"c{place}", (*domain.texts.tolist(), None))
            for place, domain in enumerate(domains)
        }
        listed = [KeptColumn(BUCKET, "b", None)] * file.has_bucket
        listed += [columns[column] for column in file.columns]
        listed += [KeptColumn(COUNT, "w", None)] * file.has_count
        self._kept[file.name] = KeptLines(table, tuple(listed))
        return table

    def find(self, name: str) -> KeptLines | None:
        """Return the kept lines of a file; None if there are none."""
        return self._kept.get(name)


def type_of_codes(largest: int) -> str:
    """Return DuckDB's smallest type that holds codes.

    Examples
    --------
    >>> type_of_codes(127), type_of_codes(128), type_of_codes(70_000)
    ('TINYINT', 'SMALLINT', 'INTEGER')
    """
    types = (("TINYINT", 7), ("SMALLINT", 15), ("INTEGER", 31))
    return next(kind for kind, n_bits in types if largest >> n_bits == 0)


Ranks = dict[str, npt.NDArray[np.int64]]
"""The place of every code in the order of lines, by the short name of a column."""


def digest_of_kept(
    engine: DuckDB, kept: KeptLines, keys: Sequence[str], ranks: Ranks
) -> str | None:
    """Return the SHA-256 of the file that DuckDB would write of kept lines.

    None if the lines are not sorted by `keys`, short names of columns, if DuckDB gives a text
    another form than this module, or if the texts of a column are too many or too long.
    """
    if any(_n_bytes(one.texts or ()) > _MOST_BYTES for one in kept.columns):
        return None
    forms = [None if one.texts is None else _forms(one, kept) for one in kept.columns]
    if not _is_own_form(engine, kept, forms):
        return None
    n_lines = int(engine.rows(f"SELECT count(*) AS n FROM {kept.table}")["n"][0])
    hashed = hashlib.sha256(_header(kept))
    listed = ", ".join(one.short for one in kept.columns)
    widths = [20 if form is None else form.shape[1] for form in forms]
    step = min(_PART, _MOST_BYTES // sum(widths))
    if step == 0:
        return None
    last: dict[str, npt.NDArray[np.int64]] = {}
    for first in range(0, n_lines, step):
        part = engine.rows(
            f"SELECT {listed} FROM {kept.table} WHERE rowid >= {first} AND rowid < {first + step}"
        )
        placed = {key: ranks[key][part[key]] if key in ranks else part[key] for key in keys}
        before = last or {key: place[:1] for key, place in placed.items()}
        if not _is_in_order([np.append(before[key], placed[key]) for key in keys]):
            return None
        last = {key: place[-1:] for key, place in placed.items()}
        hashed.update(_bytes_of(kept, forms, part))
    return hashed.hexdigest()


def _n_bytes(texts: Sequence[str | None]) -> int:
    """Return about how many bytes texts take, each as wide as the widest."""
    return len(texts) * max((len(text or "") for text in texts), default=0)


def _is_in_order(columns: Sequence[npt.NDArray[np.int64]]) -> bool:
    """Return whether lines are sorted by columns."""
    tied: npt.NDArray[np.bool_] = np.ones(max(len(columns[0]) - 1, 0), dtype=bool)
    for column in columns:
        if np.any(tied & (column[1:] < column[:-1])):
            return False
        tied &= column[1:] == column[:-1]
    return True


def _is_own_form(engine: DuckDB, kept: KeptLines, forms: Sequence[Bytes | None]) -> bool:
    """Return whether DuckDB writes every text, and the header, as they are written here."""
    n_lines = max(1 if one.texts is None else len(one.texts) for one in kept.columns)
    place = np.arange(n_lines)
    sample = {
        one.short: place + 1 if one.texts is None else np.minimum(place, len(one.texts) - 1)
        for one in kept.columns
    }
    pushed = {
        one.short: sample[one.short]
        if one.texts is None
        else text_array([one.texts[code] for code in sample[one.short].tolist()])
        for one in kept.columns
    }
    engine.push("sample_lines", {"place": place, **pushed})
    listed = ", ".join(f"{one.short} AS {engine.quote(one.name)}" for one in kept.columns)
    directory = PrivateDirectory()
    try:
        path = directory.path / "sample.csv"
        engine.write(f"SELECT {listed} FROM sample_lines ORDER BY place", path, "csv")
        return path.read_bytes() == _header(kept) + _bytes_of(kept, forms, sample)
    finally:
        engine.drop("sample_lines")
        directory.remove()


def _header(kept: KeptLines) -> bytes:
    return ",".join(_form(one.name) for one in kept.columns).encode() + b"\n"


def _form(text: str | None) -> str:
    """Return a text as it is in a CSV file.

    Examples
    --------
    >>> _form("[9, 10["), _form('a"b'), _form(""), _form(None)
    ('"[9, 10["', '"a""b"', '""', '')
    """
    if text is None:
        return ""
    if text and not _QUOTED & set(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _end(column: KeptColumn, kept: KeptLines) -> bytes:
    return b"\n" if column is kept.columns[-1] else b","


def _forms(column: KeptColumn, kept: KeptLines) -> Bytes:
    """Return the bytes of each text with the separator behind it, filled up to one width."""
    assert column.texts is not None
    written = [_form(text).encode() + _end(column, kept) for text in column.texts]
    width = max(map(len, written))
    filled = b"".join(one.ljust(width, bytes([_NOTHING])) for one in written)
    return np.frombuffer(filled, dtype=np.uint8).reshape(len(written), width)


def _bytes_of(
    kept: KeptLines, forms: Sequence[Bytes | None], part: dict[str, npt.NDArray[np.int64]]
) -> bytes:
    """Return the bytes of lines, given their codes and numbers."""
    pieces = [
        _digits(part[one.short], _end(one, kept)) if form is None else form[part[one.short]]
        for one, form in zip(kept.columns, forms, strict=True)
    ]
    return np.concatenate(pieces, axis=1).tobytes().translate(None, bytes([_NOTHING]))


def _digits(numbers: npt.NDArray[np.int64], end: bytes) -> Bytes:
    """Return the digits of positive numbers with a separator behind them, filled up in front."""
    width = len(str(int(numbers.max(initial=1))))
    written = np.empty((len(numbers), width + 1), dtype=np.uint8)
    written[:, width] = end[0]
    rest = numbers
    for place in reversed(range(width)):
        further = rest // 10
        written[:, place] = np.where(rest > 0, rest - further * 10 + ord("0"), _NOTHING)
        rest = further
    return written
