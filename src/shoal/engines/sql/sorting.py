"""The order of published lines, and the test that files were written in it, byte by byte.

The order follows from the content of the lines, so that any reader can find it. Numbers, dates and
truth values are sorted by value. Labels are sorted by the lower bound of their interval, then as
texts. Everything else is sorted as text, including ordered values, whose order is not always
published. Missing values come last.

A file can hold information that no count shows: the order of its lines, a byte order mark, blank
lines, and in Parquet metadata, unused dictionary entries and gaps. Lines have one order and files
one form, so a file that equals the one written from its content is the file that was published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from shoal.core.arrays import Small
from shoal.core.domain import SUPPRESSED, ColumnType, Role
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.plan import Plan, Recode
from shoal.core.shapes import BUCKET, Shape
from shoal.engines.engine import Engine
from shoal.engines.files import digest, pattern
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sql.domains import text_array, texts_of
from shoal.engines.sql.kept_lines import digest_of_kept
from shoal.engines.sql.line_counts import domain_of
from shoal.engines.sql.published_files import PublishedFiles
from shoal.engines.sql.table import EngineTable


def text_place(text: str | None) -> tuple[bool, str]:
    """Return the sort key of a text: by code points, the missing value last."""
    return (text is None, text or "")


def label_place(text: str | None, interval: tuple[str, str] | None) -> tuple[bool, float, str]:
    """Return the sort key of a label: by the lower bound of its interval, then as text.

    Examples
    --------
    >>> label_place("[9, 10[", ("9", "10")) < label_place("[10, 20[", ("10", "20"))
    True
    """
    low = float("inf") if interval is None else _beginning(interval[0])
    return (text is None, low, text or "")


def _beginning(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        # A date. Dates sort as texts, after an interval without a lower bound.
        return 0.0


def carried_text(engine: Engine, expression: str, kind: str) -> str:
    """Return the expression of the text that a CSV file holds for an insensitive value."""
    if kind in ("DOUBLE", "FLOAT"):
        return engine.text(expression, kind)
    return engine.cast(expression, "VARCHAR")


def rank_of_labels(recode: Recode) -> Small:
    """Return the rank of each label by its content; equal texts have equal ranks."""
    texts = [label.text for label in recode.labels]
    intervals = [label.interval for label in recode.labels]
    return np.array(_ranks(texts, intervals), dtype=np.int32)


def _ranks(texts: Sequence[str | None], intervals: Sequence[tuple[str, str] | None]) -> list[int]:
    places = [label_place(text, one) for text, one in zip(texts, intervals, strict=True)]
    rank = {place: number for number, place in enumerate(sorted(set(places)))}
    return [rank[place] for place in places]


def shown_texts(table: EngineTable, plan: Plan, column: str) -> list[str | None]:
    """Return the text of every code of a column in `published_N`; the last is that of -1."""
    recode = next((recode for recode in plan.recode if recode.column == column), None)
    if recode is None:
        return [*table.domains[column].labels(), SUPPRESSED]
    rank = rank_of_labels(recode)
    texts: list[str | None] = [None] * (int(rank.max(initial=-1)) + 1)
    for label, number in zip(recode.labels, rank.tolist(), strict=True):
        texts[number] = label.text
    return [*texts, SUPPRESSED]


def push_text_orders(table: EngineTable, plan: Plan, shape: Shape, release: int) -> None:
    """Push the text order of the columns that are sorted as text and not by code."""
    for place, column in enumerate(table.schema.coded):
        if not _is_sorted_as_text(table, plan, shape, column):
            continue
        texts = shown_texts(table, plan, column)
        order = sorted(range(len(texts)), key=lambda code: text_place(texts[code]))
        rank = np.empty(len(texts), dtype=np.int64)
        rank[order] = np.arange(len(texts))
        # The code of a blank is -1, and its text the last.
        code = np.append(np.arange(len(texts) - 1, dtype=np.int64), -1)
        table.engine.publisher.push(_order_table(release, place), {"code": code, "rank": rank})


def _is_sorted_as_text(table: EngineTable, plan: Plan, shape: Shape, column: str) -> bool:
    if shape.hides_cells:
        return True
    is_recoded = any(recode.column == column for recode in plan.recode)
    return table.domains[column].type is ColumnType.ORDERED and not is_recoded


def sort_keys(
    table: EngineTable, plan: Plan, shape: Shape, release: int, columns: Sequence[str]
) -> tuple[list[str], str]:
    """Return the sort keys of some columns of a relation `p`, and the joins that they take."""
    keys, joins = [], ""
    for column in columns:
        place = table.schema.coded.index(column)
        if _is_sorted_as_text(table, plan, shape, column):
            keys.append(f"o{place}.rank")
            joins += f" JOIN {_order_table(release, place)} o{place} ON o{place}.code = p.p{place}"
        else:
            keys.append(f"p.p{place}")
    return keys, joins


def _order_table(release: int, place: int) -> str:
    return f"text_order_{release}_{place}"


_DUCKDB = re.compile(r"DuckDB version v[0-9A-Za-z.+-]{1,30} \(build [0-9a-f]{1,40}\)")

Meanings = Mapping[str, Mapping[str, Meaning]]


def rewritten_digest(
    files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings
) -> str:
    """Return the SHA-256 of a data file written again from its own content.

    `name` has no extension. The order of lines follows from the manifest and the label meanings.
    Lines that are in this order already are not sorted, which for a large file takes longest, and
    if they were kept, nothing is parsed again.
    """
    digest_of_lines = _digest_from_codes(files, name, manifest, meanings)
    if digest_of_lines is not None:
        return digest_of_lines
    directory = PrivateDirectory()
    path = directory.path / f"{name}.{manifest.format}"
    try:
        order = _Order(files, name, manifest, meanings)
        order.write(path, is_sorted=order.is_staged and order.is_kept())
        return digest(path)
    finally:
        directory.remove()


def write_again(
    files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings, path: Path
) -> None:
    """Write a data file again, from its own content, to a path."""
    _Order(files, name, manifest, meanings).write(path, is_sorted=False)


def _digest_from_codes(
    files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings
) -> str | None:
    """Return the digest that kept lines lead to; None if they are not kept or not in order."""
    kept = files.keeper.find(name)
    if kept is None:
        return None
    stated = {column.name: column for column in manifest.columns}
    is_carried = {one: column.role is Role.INSENSITIVE for one, column in stated.items()}
    texts = [one for one in kept.columns if one.texts is not None]
    keys = [one.short for one in kept.columns if one.name == BUCKET and one.texts is None]
    ranks = {}
    for one in sorted(texts, key=lambda one: is_carried[one.name]):
        given = [text for text in one.texts or () if text is not None]
        places = _places(manifest, meanings, stated[one.name], given)
        # The last text is the missing one.
        ranks[one.short] = np.array([*places, len(given)], dtype=np.int64)
        keys.append(one.short)
    return digest_of_kept(files.engine, kept, keys, ranks)


def _places(
    manifest: Manifest, meanings: Meanings, column: PublishedColumn, texts: Sequence[str]
) -> list[int]:
    """Return the place of different texts of a column in the order of lines."""
    if column.role is Role.INSENSITIVE or _is_published_as_text(manifest, column):
        return _ranks(texts, [None] * len(texts))
    if not column.is_recoded:
        return [int(code) for code in domain_of(manifest, column.name, texts)[1]]
    labels = meanings.get(column.name, {})
    intervals = [labels[text].interval if text in labels else None for text in texts]
    return _ranks(texts, intervals)


def _is_published_as_text(manifest: Manifest, column: PublishedColumn) -> bool:
    if manifest.shape.hides_cells:
        return True
    is_text = column.type in (ColumnType.CATEGORICAL, ColumnType.ORDERED)
    return is_text and not column.is_recoded


class _Order:
    """The sort keys of the lines of a file, and the joins and staged tables that they take."""

    def __init__(
        self, files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings
    ) -> None:
        self._files, self._name = files, name
        self._manifest, self._meanings = manifest, meanings
        self._keys: list[str] = []
        self._joins = ""
        self._tables: list[str] = []
        self._source = f"({files.queries[name]}) f"
        held = files.columns(name)
        has_bucket = manifest.data_file(name).has_bucket
        # Sorting by a bucket first is as fast as comparing lines; and the parts of a Parquet file
        # that is not sorted would depend on the number of threads.
        self.is_staged = manifest.format == "csv" and not has_bucket
        if self.is_staged:
            # The text is then parsed only once. Of a staged table the engine also knows the number
            # of lines, and joins it so that their order remains.
            files.engine.stage("again", f"SELECT * FROM {self._source}")
            self._source, self._tables = "again f", ["again"]
        if has_bucket:
            self._keys.append(files.engine.cast(self._quoted(BUCKET), "BIGINT"))
        stated = {column.name: column for column in manifest.columns}
        coded = [one for one in held if one in stated and stated[one].role is not Role.INSENSITIVE]
        carried = [one for one in held if one in stated and one not in coded]
        for place, one in enumerate(coded):
            self._add_coded(place, stated[one])
        kinds = files.engine.types_of(files.queries[name]) if carried else {}
        texts = [carried_text(files.engine, self._quoted(one), kinds[one]) for one in carried]
        self._keys += [*texts, *map(self._quoted, carried)]

    def is_kept(self) -> bool:
        """Return whether staged lines are in this order, each compared with the one before."""
        terms = ", ".join(f"{key}, 'ASC NULLS LAST'" for key in self._keys)
        key = f"SELECT create_sort_key({terms}) AS k FROM {self._lines}"
        pairs = f"SELECT k, lag(k) OVER () AS before FROM ({key}) s"
        found = self._files.engine.rows(f"SELECT count(*) AS n FROM ({pairs}) p WHERE k < before")
        return int(found["n"][0]) == 0

    def write(self, path: Path, *, is_sorted: bool) -> None:
        """Write the lines in this order, in which they may be already, and drop what was staged."""
        engine, columns = self._files.engine, self._files.columns(self._name)
        listed = ", ".join(map(self._quoted, columns))
        keys = ", ".join(f"{key} NULLS LAST" for key in self._keys)
        sorted_lines = f"{self._lines} ORDER BY {keys}"
        query = f"SELECT {listed} FROM {self._source if is_sorted else sorted_lines}"
        engine.write(query, path, self._manifest.format)
        for table in self._tables:
            engine.drop(table)

    @property
    def _lines(self) -> str:
        return f"{self._source}{self._joins}"

    def _quoted(self, column: str) -> str:
        return f"f.{self._files.engine.quote(column)}"

    def _add_coded(self, place: int, column: PublishedColumn) -> None:
        """Add a column to the sort keys: as text, or by the rank of its text."""
        text = self._files.text_of(self._name, column.name, "f.")
        if _is_published_as_text(self._manifest, column):
            self._keys.append(text)
            return
        engine, table = self._files.engine, f"order_of_{place}"
        found = engine.rows(f"SELECT DISTINCT {text} AS v FROM {self._source}")
        texts = [one for one in texts_of(found["v"]) if one is not None]
        places = _places(self._manifest, self._meanings, column, texts)
        engine.push(table, {"v": text_array(texts), "place": np.array(places, np.int64)})
        self._keys.append(f"o{place}.place")
        self._joins += f" LEFT JOIN {table} o{place} ON o{place}.v = {text}"
        self._tables.append(table)


def parquet_faults(files: PublishedFiles, path: Path) -> list[str]:
    """Return the flaws of a Parquet file outside its columns."""
    query = f"SELECT count(*) AS n FROM parquet_kv_metadata({pattern(path)})"
    faults = []
    if int(files.engine.rows(query)["n"][0]):
        faults.append(f"{path.name} has metadata beside its columns")
    if not _DUCKDB.fullmatch(_writer_of(files, path)):
        faults.append(f"{path.name} was not written by DuckDB, which Shoal uses")
    return faults


def are_written_alike(files: PublishedFiles, paths: Sequence[Path]) -> bool:
    """Return whether Parquet files were written by the version of DuckDB that runs here."""
    directory = PrivateDirectory()
    own = directory.path / "own.parquet"
    try:
        files.engine.write("SELECT 1 AS n", own, "parquet")
        return {_writer_of(files, path) for path in paths} <= {_writer_of(files, own)}
    finally:
        directory.remove()


def _writer_of(files: PublishedFiles, path: Path) -> str:
    """Return the writer that a Parquet file names."""
    query = f"SELECT created_by AS c FROM parquet_file_metadata({pattern(path)})"
    return str(files.engine.rows(query)["c"][0])
