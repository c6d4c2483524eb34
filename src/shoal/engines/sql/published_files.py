"""Count what is published, from any queries that give the lines of a release's files.

Texts are coded inside the engine, so that what is fetched is numbers, one line a distinct line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts, smallest_type
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.method import Shape
from shoal.core.people import Company
from shoal.core.release import (
    BUCKET,
    COUNT,
    FORMATS,
    Manifest,
    Meaning,
    Published,
    PublishedColumn,
)
from shoal.core.rows import MOST_ROWS
from shoal.core.schema import Role
from shoal.engines.assembling import (
    CHANGED,
    Coded,
    Counted,
    assemble,
    count_runs,
    domain_of,
    room_for,
    sliced_release,
    suppressed,
)
from shoal.engines.domains import SQL_TYPES, type_of_engine
from shoal.engines.duckdb import DuckDB
from shoal.engines.texts import texts_of

__all__ = ["PublishedFiles", "open_files", "parquet_type"]


_PLAIN_NUMBER = "[1-9][0-9]{0,17}"
"""A positive whole number that fits 64 bits, in the one way that it is written."""


_STABLE_TYPES = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG)?INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\([0-9,]+\)|DATE|TIME|"
    r"TIMESTAMP(_NS)?|TIMESTAMP WITH TIME ZONE|BLOB|JSON"
)
"""Types that DuckDB reads from a Parquet file as it wrote them."""


class PublishedFiles:
    """The data files of a release, readable by DuckDB.

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
        self, engine: DuckDB, queries: Mapping[str, str], *, is_on_disk: bool = False
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
        has_bucket = manifest.shape in (Shape.BUCKETIZED, Shape.SLICED)
        kinds = {BUCKET: "BIGINT", COUNT: "BIGINT"} if has_bucket else {}
        for column in manifest.columns:
            kind = SQL_TYPES.get(column.type)
            if kind and not column.is_recoded and self._has_type(column):
                kinds[column.name] = kind
        return self._cast_query(self.queries[name], self.columns(name), kinds)

    def _cast_query(self, query: str, columns: Sequence[str], kinds: Mapping[str, str]) -> str:
        quote = self.engine.quote
        selected = ", ".join(
            f"{self.engine.cast(quote(column), kinds[column])} AS {quote(column)}"
            if column in kinds
            else quote(column)
            for column in columns
        )
        return f"SELECT {selected} FROM ({query}) f"

    def _has_type(self, column: PublishedColumn) -> bool:
        """Tell whether the values of a column are given as its type has them.

        Insensitive columns have the type of the source, whatever that is.
        """
        return column.role is not Role.INSENSITIVE

    def written_query(self, name: str, manifest: Manifest, ending: str) -> str:
        """Return the query of a file as it is written in a format.

        In Parquet, types that are read otherwise than they are written become texts.
        """
        if ending != "parquet":
            return self.queries[name]
        query = self.typed_query(name, manifest)
        types = self.engine.types_of(query)
        kinds = {name: parquet_type(kind) for name, kind in types.items()}
        kinds = {name: kind for name, kind in kinds.items() if kind != types[name]}
        return self._cast_query(query, self.columns(name), kinds) if kinds else query

    def published(
        self, manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
    ) -> Published:
        """Count lines and buckets as any reader of the files can."""
        self._check_columns(manifest)
        _check_sensitive(manifest)
        self.engine.make_room(room_for(manifest))
        if manifest.shape is Shape.SLICED:
            slices = [
                self._count(f"column_{number}", manifest, names, weight=COUNT)
                for number, names in enumerate(manifest.slices, start=1)
            ]
            self._check_linking(manifest)
            return sliced_release(manifest, meanings, slices)
        quasi_columns = manifest.columns_of(Role.QUASI)
        sensitive_columns = manifest.columns_of(Role.SENSITIVE)
        if manifest.shape is Shape.BUCKETIZED:
            quasi = self._count("quasi", manifest, quasi_columns)
            values = self._count("sensitive", manifest, sensitive_columns, weight=COUNT)
            # Sums of counts that are no larger than this cannot pass 64 bits unseen.
            if np.any(values.n > quasi.n.sum()):
                raise DataError(
                    "sensitive counts a value more often than quasi has lines.", hint=CHANGED
                )
            published, self._first_lines = assemble(manifest, meanings, quasi, values)
            return published
        if manifest.shape is Shape.SUPPRESSED:
            columns = self._lines("table", manifest, (*quasi_columns, *sensitive_columns))
            published, self._first_lines = suppressed(manifest, meanings, columns)
            return published
        lines = self._count("table", manifest, (*quasi_columns, *sensitive_columns))
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
        order = np.arange(len(first), dtype=smallest_type(len(first)))
        if not np.all(first[1:] > first[:-1]):
            order = np.argsort(first).astype(order.dtype)
            first, counts = first[order], counts[order]
        if not np.array_equal(first[1:], np.cumsum(counts[:-1]) + 1):
            raise DataError("The lines are not sorted by what they hold.", hint=CHANGED)
        return cast("Codes", np.repeat(order, counts))

    def company(self, manifest: Manifest) -> Company | None:
        """Count for every line, in their order, those that look like it by insensitive columns.

        Returns
        -------
        The counts; None where the release shows no insensitive column line by line.
        """
        confirmed = {column for columns in manifest.meant for column in columns}
        insensitive = manifest.columns_of(Role.INSENSITIVE)
        if not insensitive or manifest.shape is Shape.SLICED:
            return None
        quasi = manifest.columns_of(Role.QUASI)
        known = [column for column in insensitive if column not in confirmed]
        whole = self._count_alike(manifest, (*quasi, *insensitive))
        if len(known) == len(insensitive):
            return Company(whole, whole)
        return Company(self._count_alike(manifest, (*quasi, *known)) if known else None, whole)

    def _count_alike(self, manifest: Manifest, columns: Sequence[str]) -> Counts:
        """Count for every line, in their order, those that agree with it in some columns."""
        name = manifest.data_files[0]
        names = [f"v{place}" for place in range(len(columns))]
        selected = ", ".join(
            f"{self.engine.quote(column)} AS {short}"
            for column, short in zip(columns, names, strict=True)
        )
        lines = f"SELECT {selected}, row_number() OVER () AS line FROM ({self.queries[name]}) f"
        return self._alike_in(f"({lines}) f", names)

    def _alike_in(self, relation: str, names: Sequence[str]) -> Counts:
        counted = f"SELECT line, count(*) OVER (PARTITION BY {', '.join(names)}) AS n"
        query = f"SELECT n FROM ({counted} FROM {relation}) a ORDER BY line"
        return self.engine.arrays(query, {"n": np.int64})["n"]

    def _check_linking(self, manifest: Manifest) -> None:
        """Refuse a linking that is none of the columns beside it."""
        quote = self.engine.quote
        for number, names in enumerate(manifest.slices, start=1):
            listed = ", ".join(map(quote, (BUCKET, *names)))
            counted = f"SELECT {listed}, count(*) AS n FROM ({self.queries['sliced']}) f"
            linked = f"{counted} GROUP BY {listed}"
            stated = (
                f"SELECT {listed}, {quote(COUNT)} AS n FROM ({self.queries[f'column_{number}']}) f"
            )
            for one, other in ((linked, stated), (stated, linked)):
                found = self.engine.rows(f"SELECT count(*) AS n FROM ({one} EXCEPT {other}) e")
                if int(found["n"][0]):
                    raise DataError(
                        f"sliced does not link what column_{number} holds.", hint=CHANGED
                    )

    def _count(
        self, name: str, manifest: Manifest, columns: Sequence[str], weight: str | None = None
    ) -> Counted:
        has_bucket = manifest.shape in (Shape.BUCKETIZED, Shape.SLICED)
        numbers = ([(BUCKET, "b")] if has_bucket else []) + ([(weight, "w")] if weight else [])
        self._stage_texts(name, columns, numbers, may_be_texts=manifest.format != "parquet")
        domains, codes, joins = [], [], []
        for place, column in enumerate(columns):
            domain, missing = self._push_dictionary(place, manifest, column)
            domains.append(domain)
            codes.append(f"coalesce(d{place}.code, {missing}) AS c{place}")
            joins.append(f" LEFT JOIN seen_{place} d{place} ON d{place}.v = t.v{place}")
        coded = ", ".join([*codes, *(f"t.{short}" for _, short in numbers)])
        coded += ", t.line" if self._is_on_disk and not weight else ""
        names = (["b"] if has_bucket else []) + [f"c{place}" for place in range(len(columns))]
        lines = f"(SELECT {coded} FROM file_text t{''.join(joins)}) g"
        listed = ", ".join(names)
        kinds: dict[str, npt.DTypeLike] = dict.fromkeys(names, np.int32)
        kinds |= {"b": self._type_of_buckets()} if has_bucket else {}
        if weight:
            # A value has one line a bucket, with its count.
            query = f"SELECT {listed}, w AS n FROM {lines} ORDER BY {listed}"
            fetched = self.engine.arrays(query, kinds | {"n": np.int64})
            _refuse_repeated(name, [fetched[short] for short in names])
        elif has_bucket and self._is_on_disk:
            # Nearly as many different lines as lines, and equal ones stand together.
            fetched = self.engine.arrays(f"SELECT {listed} FROM {lines} ORDER BY line", kinds)
            fetched = count_runs(fetched)
        else:
            first = ", min(line) AS first" if self._is_on_disk else ""
            kinds |= {"n": np.int64} | ({"first": np.uint32} if first else {})
            fetched = self.engine.arrays(
                f"SELECT {listed}, count(*) AS n{first} FROM {lines} "
                f"GROUP BY {listed} ORDER BY {listed}",
                kinds,
            )
        self.engine.drop("file_text")
        return Counted(
            bucket=fetched["b"] if has_bucket else None,
            columns=[(domain, fetched.pop(f"c{place}")) for place, domain in enumerate(domains)],
            n=fetched["n"],
            first=fetched.get("first"),
        )

    def _lines(self, name: str, manifest: Manifest, columns: Sequence[str]) -> list[Coded]:
        """Give some columns of a file, line by line."""
        _refuse_many(manifest)
        self._stage_texts(name, columns, (), may_be_texts=True)
        coded: list[Coded] = []
        for place, column in enumerate(columns):
            domain, missing = self._push_dictionary(place, manifest, column)
            query = (
                f"SELECT coalesce(d.code, {missing}) AS c FROM file_text t "
                f"LEFT JOIN seen_{place} d ON d.v = t.v{place} ORDER BY t.line"
            )
            coded.append((domain, self.engine.arrays(query, {"c": np.int32})["c"]))
        self.engine.drop("file_text")
        return coded

    def _type_of_buckets(self) -> type[np.signedinteger[Any]]:
        found = self.engine.rows("SELECT coalesce(max(b), 0) AS n FROM file_text")
        return smallest_type(int(found["n"][0]) + 1)

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
        has_line = self._is_on_disk and COUNT not in dict(numbers)
        selected = ["row_number() OVER () AS line"] if has_line else []
        for place, column in enumerate(columns):
            selected.append(f"{self.text_of(name, column)} AS v{place}")
        kinds = self._nothing(name)
        plain = "iuO" if may_be_texts else "iu"
        is_plain = all(kinds[column].dtype.kind in plain for column, _ in numbers)
        for column, short in numbers:
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
                    hint=CHANGED,
                )

    def text_of(self, name: str, column: str, alias: str = "") -> str:
        """Return the canonical text of a column, so that different values have different texts."""
        quoted = self.engine.quote(column)
        kind = self.engine.types_of(f"SELECT {quoted} FROM ({self.queries[name]}) f")[column]
        type_of_engine(column, kind)
        return self.engine.text(f"{alias}{quoted}", kind)

    def _push_dictionary(self, place: int, manifest: Manifest, column: str) -> tuple[Domain, int]:
        """Push the codes of a column's texts; give its domain and the code of missing ones."""
        fetched = self.engine.rows(f"SELECT v{place} AS v FROM file_text GROUP BY v{place}")
        domain, codes = domain_of(manifest, column, texts_of(fetched["v"]))
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
                    hint=CHANGED,
                )


def parquet_type(kind: str) -> str:
    """Return the type that a column has in a Parquet file, by the one that it has in DuckDB.

    Examples
    --------
    >>> parquet_type("BIGINT"), parquet_type("TIMESTAMP_MS"), parquet_type("INTEGER[]")
    ('BIGINT', 'TIMESTAMP', 'VARCHAR')
    """
    if kind in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return "TIMESTAMP"
    return kind if _STABLE_TYPES.fullmatch(kind) else "VARCHAR"


def _refuse_repeated(name: str, columns: Sequence[Codes]) -> None:
    """Refuse sorted lines of which two say the same."""
    if np.logical_and.reduce([column[1:] == column[:-1] for column in columns]).any():
        raise DataError(f"{name} has several lines for one value of one bucket.", hint=CHANGED)


def _expected_columns(manifest: Manifest, name: str) -> tuple[str, ...]:
    quasi = manifest.columns_of(Role.QUASI)
    insensitive = manifest.columns_of(Role.INSENSITIVE)
    sensitive = manifest.columns_of(Role.SENSITIVE)
    if name == "quasi":
        return (BUCKET, *quasi, *insensitive)
    if name == "sensitive":
        return (BUCKET, *sensitive, COUNT)
    if name == "sliced":
        return (BUCKET, *dict.fromkeys(one for names in manifest.slices for one in names))
    if name.startswith("column_"):
        return (BUCKET, *manifest.slices[int(name.removeprefix("column_")) - 1], COUNT)
    return (*quasi, *insensitive, *sensitive)


def _refuse_many(manifest: Manifest) -> None:
    if manifest.n_rows > MOST_ROWS:
        raise DataError(
            f"The release has {manifest.n_rows} rows; a suppressed one is read line by line, up to "
            f"{MOST_ROWS}."
        )


def _check_sensitive(manifest: Manifest) -> None:
    sensitive = manifest.columns_of(Role.SENSITIVE)
    if len(sensitive) > 1 and manifest.shape not in (Shape.SUPPRESSED, Shape.SLICED):
        raise DataError(f"The release has {len(sensitive)} sensitive columns, not one.")
    if not sensitive and manifest.shape is Shape.BUCKETIZED:
        raise DataError("A bucketized release needs a sensitive column; this has none.")


def open_files(
    engine: DuckDB, folder: Path, names: Sequence[str], ending: str, *, is_trusted: bool = False
) -> PublishedFiles:
    """Make the data files of a release folder readable.

    Parameters
    ----------
    is_trusted
        Whether they were just written here.
    """
    if ending not in FORMATS:
        raise DataError(f"The data files of a release are {' or '.join(FORMATS)}, nothing else.")
    queries = {}
    for name in names:
        path = folder / f"{name}.{ending}"
        if not path.exists():
            raise DataError(f"The release lacks its file {path.name}.")
        queries[name] = f"SELECT * FROM {engine.scan_own(path, is_trusted=is_trusted).relation}"
    return PublishedFiles(engine, queries, is_on_disk=True)
