"""Count what is published, from a release still in the engine or from its files.

The same statements read both, so that what is verified is what was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, Codes, group
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError
from shoal.core.method import Shape
from shoal.core.release import BUCKET, COUNT, FORMATS, Manifest, Meaning, Published
from shoal.core.schema import Role
from shoal.engines.domains import build_domain
from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Engine
from shoal.engines.table import texts_of

__all__ = ["PublishedFiles", "open_files"]

_SQL_TYPES: Mapping[ColumnType, str] = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.REAL: "DOUBLE",
    ColumnType.DATE: "DATE",
    ColumnType.BOOLEAN: "BOOLEAN",
}

_PLAIN_NUMBER = re.compile("[1-9][0-9]{0,17}")
"""A positive whole number that fits 64 bits, in the one way that it is written."""


class PublishedFiles:
    """The data files of a release, readable by an engine.

    Parameters
    ----------
    engine
        The engine.
    queries
        For every data file, without its ending, the query that gives its lines in order.
    """

    def __init__(self, engine: Engine, queries: Mapping[str, str]) -> None:
        self.engine = engine
        self.queries = dict(queries)

    def columns(self, name: str) -> tuple[str, ...]:
        """Name the columns of a file."""
        return tuple(self.engine.rows(f"SELECT * FROM ({self.queries[name]}) f LIMIT 0"))

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
        quasi = manifest.columns_of(Role.QUASI)
        sensitive = manifest.columns_of(Role.SENSITIVE)
        if manifest.shape is Shape.SLICED:
            raise DataError("This version of Shoal cannot count a sliced release.")
        self._check_columns(manifest)
        if len(sensitive) > 1:
            raise DataError(f"The release has {len(sensitive)} sensitive columns, not one.")
        if manifest.shape is Shape.BUCKETIZED:
            if not sensitive:
                raise DataError("A bucketized release needs a sensitive column; this has none.")
            for name, column in (("quasi", BUCKET), ("sensitive", BUCKET), ("sensitive", COUNT)):
                self._check_numbers(name, column, manifest.format)
            lines = self._count("quasi", [BUCKET, *quasi])
            values = self._count("sensitive", [BUCKET, *sensitive], weight=COUNT)
            _check_counts(lines, values)
            return _bucketized(manifest, lines, values, meanings)
        counted = self._count("table", [*quasi, *sensitive])
        return _generalized(manifest, counted, meanings)

    def _count(
        self, name: str, columns: Sequence[str], weight: str | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        quote = self.engine.quote
        texts = ", ".join(
            f"CAST({quote(column)} AS VARCHAR) AS v{i}" for i, column in enumerate(columns)
        )
        names = ", ".join(f"v{i}" for i in range(len(columns)))
        total = "count(*)" if weight is None else f"sum(CAST({quote(weight)} AS BIGINT))"
        weighted = "" if weight is None else f", {quote(weight)}"
        return self.engine.rows(
            f"SELECT {names}, CAST({total} AS BIGINT) AS n, count(*) AS times FROM "
            f"(SELECT {texts}{weighted} FROM ({self.queries[name]}) f) g GROUP BY {names}"
        )

    def _check_columns(self, manifest: Manifest) -> None:
        for name in self.queries:
            expected = _expected_columns(manifest, name)
            found = self.columns(name)
            if found != expected:
                stray = [column for column in found if column not in expected]
                raise DataError(
                    f"The file {name} does not have the columns that the manifest states"
                    + (f": it also has {', '.join(map(repr, stray))}." if stray else "."),
                    hint="was it changed after it was sealed?",
                )

    def _check_numbers(self, name: str, column: str, ending: str) -> None:
        """Refuse what a cast would round, or what two readers could read differently."""
        quoted = self.engine.quote(column)
        found = self.engine.rows(
            f"SELECT DISTINCT {quoted} AS n, CAST({quoted} AS VARCHAR) AS v "
            f"FROM ({self.queries[name]}) f"
        )
        texts = texts_of(found["v"])
        is_typed = ending != "parquet" or found["n"].dtype.kind in "iu"
        if not is_typed or not all(text and _PLAIN_NUMBER.fullmatch(text) for text in texts):
            raise DataError(
                f"The column {column!r} of {name} holds other than plain positive whole numbers.",
                hint="was it changed after it was sealed?",
            )

    def stage_lines(self, published: Published, name: str) -> None:
        """Stage which distinct line (`cell`) each line number of the file shows."""
        quote = self.engine.quote
        lines = published.lines
        # The number of a bucket stands in the file only where the release is bucketized.
        shown = range(0 if published.manifest.shape is Shape.BUCKETIZED else 1, len(lines.domains))
        pushed: dict[str, npt.NDArray[Any]] = {"cell": np.arange(lines.n_cells)}
        for place in shown:
            texts = np.array([*lines.domains[place].labels(), None], dtype=object)[:-1]
            pushed[f"v{place}"] = texts[lines.codes[:, place]]
        self.engine.push("distinct_line", pushed)
        numbered = "".join(
            f", CAST({quote(lines.domains[place].column)} AS VARCHAR) AS v{place}"
            for place in shown
        )
        same = " AND ".join(f"d.v{place} IS NOT DISTINCT FROM f.v{place}" for place in shown)
        self.engine.stage(
            "line_cell",
            f"SELECT f.line, d.cell FROM (SELECT row_number() OVER () AS line{numbered} FROM "
            f"({self.queries[name]}) q) f JOIN distinct_line d ON {same}",
        )
        self.engine.drop("distinct_line")


def _expected_columns(manifest: Manifest, name: str) -> tuple[str, ...]:
    quasi = manifest.columns_of(Role.QUASI)
    insensitive = manifest.columns_of(Role.INSENSITIVE)
    sensitive = manifest.columns_of(Role.SENSITIVE)
    if name == "quasi":
        return (BUCKET, *quasi, *insensitive)
    if name == "sensitive":
        return (BUCKET, *sensitive, COUNT)
    return (*quasi, *insensitive, *sensitive)


def _check_counts(lines: dict[str, npt.NDArray[Any]], values: dict[str, npt.NDArray[Any]]) -> None:
    if np.any(values["times"] > 1):
        raise DataError(
            "sensitive has several lines for one value of one bucket.",
            hint="was it changed after it was sealed?",
        )
    # Sums of counts that are no larger than this cannot pass 64 bits unseen.
    if np.any(values["n"] > lines["n"].sum()):
        raise DataError(
            "sensitive counts a value more often than quasi has lines.",
            hint="was a file changed after it was sealed?",
        )


def open_files(engine: DuckDB, folder: Path, names: Sequence[str], ending: str) -> PublishedFiles:
    """Make the data files of a release folder readable."""
    if ending not in FORMATS:
        raise DataError(f"The data files of a release are {' or '.join(FORMATS)}, nothing else.")
    queries = {}
    for name in names:
        path = folder / f"{name}.{ending}"
        if not path.exists():
            raise DataError(f"The release lacks its file {path.name}.")
        scan = (
            engine.scan(path, delimiter=",", quote='"', encoding="utf-8")
            if (ending == "csv")
            else engine.scan(path)
        )
        queries[name] = f"SELECT * FROM {scan.relation}"
    return PublishedFiles(engine, queries)


def _factorize(
    column: str, column_type: ColumnType, fetched: object, order: Sequence[str] | None = None
) -> tuple[Domain, Codes]:
    """Give the domain of fetched values and the code of each."""
    texts = texts_of(fetched)
    distinct: dict[str | None, int] = {}
    first = np.array([distinct.setdefault(text, len(distinct)) for text in texts], dtype=np.int64)
    domain, codes = build_domain(column, column_type, list(distinct), order=order)
    return domain, codes[first] if len(first) else first


def _buckets_domain(fetched: object) -> tuple[Domain, Codes]:
    return _factorize(BUCKET, ColumnType.INTEGER, fetched)


def _typed(manifest: Manifest, column: str) -> tuple[ColumnType, tuple[str, ...] | None]:
    """Give the type of a published column's texts: labels are categorical."""
    stated = next(entry for entry in manifest.columns if entry.name == column)
    if stated.is_recoded or (stated.type is ColumnType.ORDERED and stated.order is None):
        return ColumnType.CATEGORICAL, None
    return stated.type, stated.order


def _bucketized(
    manifest: Manifest,
    lines: dict[str, npt.NDArray[Any]],
    values: dict[str, npt.NDArray[Any]],
    meanings: Mapping[str, Mapping[str, Meaning]],
) -> Published:
    bucket, bucket_codes = _buckets_domain(lines["v0"])
    quasi = [
        _factorize(column, kind, lines[f"v{i}"], order)
        for i, column in enumerate(manifest.columns_of(Role.QUASI), start=1)
        for kind, order in [_typed(manifest, column)]
    ]
    domains = (bucket, *(domain for domain, _ in quasi))
    codes = np.column_stack([bucket_codes, *(codes for _, codes in quasi)])
    cells = Cells(domains, codes, lines["n"].astype(np.int64)).select([d.column for d in domains])
    (sensitive,) = manifest.columns_of(Role.SENSITIVE)
    kind, order = _typed(manifest, sensitive)
    domain, value_codes = _factorize(sensitive, kind, values["v1"], order)
    held = bucket.codes_of(texts_of(values["v0"]))
    if np.any(held < 0):
        raise DataError(
            "sensitive names buckets that quasi does not have.",
            hint="was a file changed after it was sealed?",
        )
    buckets = Buckets.of_pairs(held, value_codes, domain, values["n"].astype(np.int64))
    return Published(manifest, cells, buckets, meanings)


def _generalized(
    manifest: Manifest,
    counted: dict[str, npt.NDArray[Any]],
    meanings: Mapping[str, Mapping[str, Meaning]],
) -> Published:
    quasi = manifest.columns_of(Role.QUASI)
    sensitive = manifest.columns_of(Role.SENSITIVE)
    factors = [
        _factorize(column, kind, counted[f"v{i}"], order)
        for i, column in enumerate((*quasi, *sensitive))
        for kind, order in [_typed(manifest, column)]
    ]
    counts = counted["n"].astype(np.int64)
    columns = [codes for _, codes in factors[: len(quasi)]]
    sizes = [domain.size for domain, _ in factors[: len(quasi)]]
    first, bucket = group(columns, sizes, len(counts))
    n_buckets = len(first)
    numbers = Domain.of_texts(
        BUCKET,
        [str(number) for number in range(1, n_buckets + 1)],
        type=ColumnType.INTEGER,
        numbers=[float(number) for number in range(1, n_buckets + 1)],
    )
    total = np.zeros(n_buckets, dtype=np.int64)
    np.add.at(total, bucket, counts)
    codes = np.column_stack([np.arange(n_buckets), *(column[first] for column in columns)])
    lines = Cells((numbers, *(domain for domain, _ in factors[: len(quasi)])), codes, total)
    buckets = None
    if sensitive:
        domain, values = factors[len(quasi)]
        buckets = Buckets.of_pairs(bucket, values, domain, counts)
    return Published(manifest, lines, buckets, meanings)
