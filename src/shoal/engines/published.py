"""Count what is published, from any queries that give the lines of a release's files.

Texts are coded inside the engine, so that what is fetched is numbers, one line a distinct line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, Codes, Counts, group, lexicographic_order
from shoal.core.domain import ColumnType, Domain, NumberedDomain
from shoal.core.errors import DataError
from shoal.core.method import Shape
from shoal.core.release import BUCKET, COUNT, FORMATS, Manifest, Meaning, Published
from shoal.core.schema import Role
from shoal.engines.domains import build_domain
from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Engine
from shoal.engines.table import texts_of

__all__ = ["Coded", "Counted", "PublishedFiles", "assemble", "open_files", "recoded"]

_SQL_TYPES: Mapping[ColumnType, str] = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.REAL: "DOUBLE",
    ColumnType.DATE: "DATE",
    ColumnType.BOOLEAN: "BOOLEAN",
}

_PLAIN_NUMBER = "[1-9][0-9]{0,17}"
"""A positive whole number that fits 64 bits, in the one way that it is written."""

_FEW_GAPS = 4

_CHANGED = "was it changed after it was sealed?"

Coded = tuple[Domain, Codes]
"""A column: its domain, and the code of every entry."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The distinct lines of a file.

    Parameters
    ----------
    bucket
        The published number of the bucket of each, where the file has one.
    columns
        The columns that were counted; `assemble` takes them over.
    n
        How many rows each stands for.
    first
        The first of the lines that are alike; None where lines have no numbers.
    """

    bucket: Codes | None
    columns: list[Coded]
    n: Counts
    first: Codes | None = None


class PublishedFiles:
    """The data files of a release, readable by an engine.

    Parameters
    ----------
    engine
        The engine.
    queries
        For every data file, without its ending, the query that gives its lines in order.
    is_on_disk
        Whether they are files, whose lines are numbered as they stand there.
    """

    def __init__(
        self, engine: Engine, queries: Mapping[str, str], *, is_on_disk: bool = False
    ) -> None:
        self.engine = engine
        self.queries = dict(queries)
        self._is_on_disk = is_on_disk
        self._first_lines: Codes | None = None

    def columns(self, name: str) -> tuple[str, ...]:
        """Name the columns of a file."""
        return tuple(self._nothing(name))

    def _nothing(self, name: str) -> dict[str, npt.NDArray[Any]]:
        return self.engine.rows(f"SELECT * FROM ({self.queries[name]}) f LIMIT 0")

    def typed_query(self, name: str, manifest: Manifest) -> str:
        """Give the query of a file with numbers, dates and booleans as such, not as texts."""
        quote = self.engine.quote
        kinds = {BUCKET: "BIGINT", COUNT: "BIGINT"} if manifest.shape is Shape.BUCKETIZED else {}
        for column in manifest.columns:
            kind = _SQL_TYPES.get(column.type)
            # Insensitive columns have the type of the source, whatever that is.
            if kind and not column.is_recoded and column.role is not Role.INSENSITIVE:
                kinds[column.name] = kind
        selected = ", ".join(
            f"{self.engine.cast(quote(column), kinds[column])} AS {quote(column)}"
            if column in kinds
            else quote(column)
            for column in self.columns(name)
        )
        return f"SELECT {selected} FROM ({self.queries[name]}) f"

    def published(
        self, manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
    ) -> Published:
        """Count lines and buckets as any reader of the files can."""
        if manifest.shape is Shape.SLICED:
            raise DataError("This version of Shoal cannot count a sliced release.")
        self._check_columns(manifest)
        _check_sensitive(manifest)
        if manifest.shape is Shape.BUCKETIZED:
            quasi = self._count("quasi", manifest, Role.QUASI)
            values = self._count("sensitive", manifest, Role.SENSITIVE, weight=COUNT)
            # Sums of counts that are no larger than this cannot pass 64 bits unseen.
            if np.any(values.n > quasi.n.sum()):
                raise DataError(
                    "sensitive counts a value more often than quasi has lines.", hint=_CHANGED
                )
            published, self._first_lines = assemble(manifest, meanings, quasi, values)
            return published
        lines = self._count("table", manifest, Role.QUASI, Role.SENSITIVE)
        published, self._first_lines = assemble(manifest, meanings, lines)
        return published

    def cell_of_lines(self, published: Published) -> Codes:
        """Give for every line of the file, in its order, the cell of `published.lines` it shows.

        Raises
        ------
        DataError
            Where equal lines do not stand together, as they do in every release.
        """
        first, counts = self._first_lines, published.lines.counts
        assert first is not None
        order = np.arange(len(first)) if np.all(first[1:] > first[:-1]) else np.argsort(first)
        ends = np.cumsum(counts[order])
        if not np.array_equal(first[order][1:], ends[:-1] + 1):
            raise DataError("The lines are not sorted by what they hold.", hint=_CHANGED)
        return np.repeat(order, counts[order])

    def _count(
        self, name: str, manifest: Manifest, *roles: Role, weight: str | None = None
    ) -> Counted:
        columns = [column for role in roles for column in manifest.columns_of(role)]
        has_bucket = manifest.shape is Shape.BUCKETIZED
        numbers = ([(BUCKET, "b")] if has_bucket else []) + ([(weight, "w")] if weight else [])
        self._stage_texts(name, columns, numbers, may_be_texts=manifest.format != "parquet")
        domains, codes, joins = [], [], []
        for place, column in enumerate(columns):
            domain, missing = self._push_dictionary(place, manifest, column)
            domains.append(domain)
            codes.append(f"coalesce(d{place}.code, {missing}) AS c{place}")
            joins.append(f" LEFT JOIN seen_{place} d{place} ON d{place}.v = t.v{place}")
        coded = ", ".join([*codes, *(f"t.{short}" for _, short in numbers)])
        coded += ", t.line" if self._is_on_disk else ""
        names = (["b"] if has_bucket else []) + [f"c{place}" for place in range(len(columns))]
        total = "count(*) AS n"
        if weight:
            total = f"{self.engine.cast('sum(w)', 'BIGINT')} AS n, count(*) AS times"
        has_lines = self._is_on_disk and not weight
        listed = ", ".join(names)
        # Sorted inside the engine, which has the memory for it, or the disk.
        kinds: dict[str, npt.DTypeLike] = {**dict.fromkeys(names, np.int32), "n": np.int64}
        kinds |= {"b": np.int64} if has_bucket else {}
        kinds |= {"times": np.int32} if weight else {}
        kinds |= {"first": np.uint32} if has_lines else {}
        fetched = self.engine.arrays(
            f"SELECT {listed}, {total}{', min(line) AS first' if has_lines else ''} FROM "
            f"(SELECT {coded} FROM file_text t{''.join(joins)}) g "
            f"GROUP BY {listed} ORDER BY {listed}",
            kinds,
        )
        self.engine.drop("file_text")
        if weight and np.any(fetched.pop("times") > 1):
            raise DataError(f"{name} has several lines for one value of one bucket.", hint=_CHANGED)
        return Counted(
            bucket=fetched["b"] if has_bucket else None,
            columns=[(domain, fetched.pop(f"c{place}")) for place, domain in enumerate(domains)],
            n=fetched["n"],
            first=fetched["first"] if has_lines else None,
        )

    def _stage_texts(
        self,
        name: str,
        columns: Sequence[str],
        numbers: Sequence[tuple[str, str]],
        *,
        may_be_texts: bool,
    ) -> None:
        """Stage the columns of a file as texts, and those of positive whole numbers as such.

        What a cast would round, or what two readers could read differently, is refused.
        """
        quote, cast = self.engine.quote, self.engine.cast
        selected = ["row_number() OVER () AS line"] if self._is_on_disk else []
        for place, column in enumerate(columns):
            selected.append(f"{cast(quote(column), 'VARCHAR')} AS v{place}")
        kinds = self._nothing(name)
        plain = "iuO" if may_be_texts else "iu"
        is_plain = all(kinds[column].dtype.kind in plain for column, _ in numbers)
        for column, short in numbers:
            # Texts come from CSV files alone, which the embedded engine reads.
            is_text = kinds[column].dtype.kind == "O"
            given = quote(column)
            test = f"regexp_full_match({given}, '{_PLAIN_NUMBER}')" if is_text else f"{given} > 0"
            selected.append(f"CASE WHEN {test} THEN {cast(given, 'BIGINT')} END AS {short}")
        self.engine.stage(
            "file_text", f"SELECT {', '.join(selected)} FROM ({self.queries[name]}) f"
        )
        for column, short in numbers:
            found = self.engine.rows(f"SELECT count(*) - count({short}) AS n FROM file_text")
            if not is_plain or int(found["n"][0]):
                raise DataError(
                    f"The column {column!r} of {name} holds other than plain positive whole "
                    "numbers.",
                    hint=_CHANGED,
                )

    def _push_dictionary(self, place: int, manifest: Manifest, column: str) -> tuple[Domain, int]:
        """Push the codes of a column's texts; give its domain and the code of missing ones."""
        fetched = self.engine.rows(f"SELECT v{place} AS v FROM file_text GROUP BY v{place}")
        domain, codes = _domain_of(manifest, column, texts_of(fetched["v"]))
        texts: npt.NDArray[np.object_] = np.array([*texts_of(fetched["v"]), None], dtype=object)
        is_text = codes < len(domain.texts)
        pushed = {"code": codes[is_text].astype(np.int32), "v": texts[:-1][is_text]}
        self.engine.push(f"seen_{place}", pushed)
        return domain, len(domain.texts)

    def _check_columns(self, manifest: Manifest) -> None:
        for name in self.queries:
            expected = _expected_columns(manifest, name)
            found = self.columns(name)
            if found != expected:
                stray = [column for column in found if column not in expected]
                raise DataError(
                    f"The file {name} does not have the columns that the manifest states"
                    + (f": it also has {', '.join(map(repr, stray))}." if stray else "."),
                    hint=_CHANGED,
                )


def _expected_columns(manifest: Manifest, name: str) -> tuple[str, ...]:
    quasi = manifest.columns_of(Role.QUASI)
    insensitive = manifest.columns_of(Role.INSENSITIVE)
    sensitive = manifest.columns_of(Role.SENSITIVE)
    if name == "quasi":
        return (BUCKET, *quasi, *insensitive)
    if name == "sensitive":
        return (BUCKET, *sensitive, COUNT)
    return (*quasi, *insensitive, *sensitive)


def _check_sensitive(manifest: Manifest) -> None:
    sensitive = manifest.columns_of(Role.SENSITIVE)
    if len(sensitive) > 1:
        raise DataError(f"The release has {len(sensitive)} sensitive columns, not one.")
    if not sensitive and manifest.shape is Shape.BUCKETIZED:
        raise DataError("A bucketized release needs a sensitive column; this has none.")


def open_files(engine: DuckDB, folder: Path, names: Sequence[str], ending: str) -> PublishedFiles:
    """Make the data files of a release folder readable."""
    if ending not in FORMATS:
        raise DataError(f"The data files of a release are {' or '.join(FORMATS)}, nothing else.")
    queries = {}
    for name in names:
        path = folder / f"{name}.{ending}"
        if not path.exists():
            raise DataError(f"The release lacks its file {path.name}.")
        queries[name] = f"SELECT * FROM {engine.scan_own(path).relation}"
    return PublishedFiles(engine, queries, is_on_disk=True)


def _domain_of(
    manifest: Manifest, column: str, texts: Sequence[str | None]
) -> tuple[Domain, Codes]:
    """Give the domain of a published column's different texts, and the code of each."""
    stated = next(entry for entry in manifest.columns if entry.name == column)
    if stated.is_recoded or (stated.type is ColumnType.ORDERED and stated.order is None):
        # Labels are no numbers.
        return build_domain(column, ColumnType.CATEGORICAL, texts)
    return build_domain(column, stated.type, texts, order=stated.order)


def recoded(manifest: Manifest, column: str, codes: Codes, texts: Sequence[str | None]) -> Coded:
    """Give a column by its published texts where the text of every code is known."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    domain, code = _domain_of(manifest, column, [texts[place] for place in used.tolist()])
    new_code = np.zeros(len(texts), dtype=codes.dtype)
    new_code[used] = code
    return domain, new_code[codes]


def assemble(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    lines: Counted,
    values: Counted | None = None,
) -> tuple[Published, Codes | None]:
    """Put together what was counted, in the order of cells.

    Parameters
    ----------
    lines
        The distinct lines: of `quasi` where the release is bucketized, of `table` where not, the
        sensitive column last.
    values
        The lines of `sensitive` where the release is bucketized.

    Returns
    -------
    published
        What any reader can count.
    first
        Of each entry of `published.lines` the first line that shows it, where that is known.
    """
    if values is None:
        return _generalized(manifest, meanings, lines)
    assert lines.bucket is not None
    assert values.bucket is not None
    numbers = _numbers(lines.bucket)
    domains = (numbers, *(domain for domain, _ in lines.columns))
    columns = [_places(numbers, lines.bucket), *(codes for _, codes in lines.columns)]
    lines.columns.clear()
    order = lexicographic_order(columns, [domain.size for domain in domains])
    cells = Cells(domains, _matrix(columns, order), _taken(lines.n, order))
    held = _places(numbers, values.bucket)
    if np.any(held < 0):
        raise DataError("sensitive names buckets that quasi does not have.", hint=_CHANGED)
    ((domain, value),) = values.columns
    rank = lexicographic_order([held, value], [numbers.size, domain.size])
    n_buckets = int(held.max(initial=-1)) + 1
    buckets = Buckets(
        n_buckets, _taken(held, rank), _taken(value, rank), _taken(values.n, rank), domain
    )
    first = None if lines.first is None else _taken(lines.first, order)
    return Published(manifest, cells, buckets, meanings), first


def _numbers(bucket: Codes) -> NumberedDomain:
    """Give the different numbers of buckets."""
    largest = int(bucket.max(initial=0))
    if largest <= _FEW_GAPS * len(bucket):
        is_used = np.zeros(largest + 1, dtype=bool)
        is_used[bucket] = True
        return NumberedDomain(BUCKET, np.flatnonzero(is_used))
    return NumberedDomain(BUCKET, np.unique(bucket).astype(np.int64))


def _places(numbers: NumberedDomain, bucket: Codes) -> Codes:
    """Give the code of each bucket's number; -1 where there is no such bucket."""
    whole = numbers.whole
    if len(whole) and whole[0] == 1 and whole[-1] == len(whole):
        # As in every release that Shoal makes: 1, 2, 3, ...
        places = np.where(bucket <= len(whole), bucket - 1, -1)
    else:
        places = np.minimum(np.searchsorted(whole, bucket), max(len(whole) - 1, 0))
        places = np.where(whole[places] == bucket, places, -1) if len(whole) else places - 1
    return cast("Codes", places.astype(np.int32))


def _taken(array: npt.NDArray[Any], order: Codes | None) -> npt.NDArray[Any]:
    return array if order is None else array[order]


def _matrix(columns: list[Codes], order: Codes | None) -> Codes:
    """Put columns beside one another, in half the room of 64 bits: there is one row a line.

    Each column is freed as soon as it is copied, for there may be as many lines as rows.
    """
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.int32, order="F")
    for place in reversed(range(len(columns))):
        codes[:, place] = _taken(columns.pop(), order)
    return cast("Codes", codes)


def _generalized(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], counted: Counted
) -> tuple[Published, Codes | None]:
    n_quasi = len(manifest.columns_of(Role.QUASI))
    quasi = counted.columns[:n_quasi]
    columns = [codes for _, codes in quasi]
    start, bucket = group(columns, [domain.size for domain, _ in quasi], len(counted.n))
    n_buckets = len(start)
    total = np.zeros(n_buckets, dtype=np.int64)
    np.add.at(total, bucket, counted.n)
    domains = (
        NumberedDomain(BUCKET, np.arange(1, n_buckets + 1)),
        *(domain for domain, _ in quasi),
    )
    looks = [np.arange(n_buckets), *(codes[start] for codes in columns)]
    first = None
    if counted.first is not None:
        first = np.full(n_buckets, np.iinfo(np.int64).max)
        np.minimum.at(first, bucket, counted.first)
    buckets = None
    if len(counted.columns) > n_quasi:
        domain, value = counted.columns[n_quasi]
        buckets = Buckets.of_pairs(bucket, value, domain, counted.n)
    return Published(
        manifest, Cells(domains, _matrix(looks, None), total), buckets, meanings
    ), first
