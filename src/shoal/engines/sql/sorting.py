"""Write the data files of a release again, from what they hold: they must come out byte for byte.

A file can hold what no count sees: the order of its lines, a byte order mark, blank lines, the
metadata, unused dictionary entries and gaps of a Parquet file. Lines have one order and files one
form, so a file that was written from its content alone is the file that was published.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from shoal.core.domain import ColumnType
from shoal.core.method import Shape
from shoal.core.release import BUCKET, Manifest, Meaning, PublishedColumn
from shoal.core.schema import Role
from shoal.engines.assembling import domain_of
from shoal.engines.paths import pattern
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.published import PublishedFiles
from shoal.engines.sorting import carried_text, label_place
from shoal.engines.texts import texts_of

__all__ = ["are_written_alike", "parquet_faults", "rewritten_digest", "write_again"]

_DUCKDB = re.compile(r"DuckDB version v[0-9A-Za-z.+-]{1,30} \(build [0-9a-f]{1,40}\)")

Meanings = Mapping[str, Mapping[str, Meaning]]


def rewritten_digest(
    files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings
) -> str:
    """Return the SHA-256 of a data file as it is written from its own content.

    Parameters
    ----------
    files
        The data files.
    name
        The file, without its ending.
    manifest, meanings
        What the release says of itself, and of its labels: the order of lines follows from both.
    """
    directory = PrivateDirectory()
    path = directory.path / f"{name}.{manifest.format}"
    try:
        write_again(files, name, manifest, meanings, path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        directory.remove()


def write_again(
    files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings, path: Path
) -> None:
    """Write a data file to a path, from its own content; see `rewritten_digest`."""
    order = _Order(files, name, manifest, meanings)
    keys = ", ".join(f"{key} NULLS LAST" for key in order.keys)
    listed = ", ".join(f"f.{files.engine.quote(column)}" for column in files.columns(name))
    query = f"SELECT {listed} FROM ({files.queries[name]}) f{order.joins} ORDER BY {keys}"
    files.engine.write(query, path, manifest.format)
    for table in order.tables:
        files.engine.drop(table)


class _Order:
    """What the lines of a file are sorted by.

    Parameters
    ----------
    files, name, manifest, meanings
        As for `rewritten_digest`.
    """

    def __init__(
        self, files: PublishedFiles, name: str, manifest: Manifest, meanings: Meanings
    ) -> None:
        self._files, self._name = files, name
        self._manifest, self._meanings = manifest, meanings
        self.keys: list[str] = []
        self.joins = ""
        self.tables: list[str] = []
        held = files.columns(name)
        if manifest.shape in (Shape.BUCKETIZED, Shape.SLICED):
            self.keys.append(files.engine.cast(self._quoted(BUCKET), "BIGINT"))
        stated = {column.name: column for column in manifest.columns}
        coded = [one for one in held if one in stated and stated[one].role is not Role.INSENSITIVE]
        carried = [one for one in held if one in stated and one not in coded]
        for place, one in enumerate(coded):
            self._add_coded(place, stated[one])
        kinds = files.engine.types_of(files.queries[name]) if carried else {}
        texts = [carried_text(files.engine, self._quoted(one), kinds[one]) for one in carried]
        self.keys += [*texts, *map(self._quoted, carried)]

    def _quoted(self, column: str) -> str:
        return f"f.{self._files.engine.quote(column)}"

    def _add_coded(self, place: int, column: PublishedColumn) -> None:
        """Sort by a column: as text, or by the places of its texts where their order is another."""
        text = self._files.text_of(self._name, column.name, "f.")
        if self._is_sorted_as_text(column):
            self.keys.append(text)
            return
        engine, table = self._files.engine, f"order_of_{place}"
        found = engine.rows(
            f"SELECT DISTINCT {text} AS v FROM ({self._files.queries[self._name]}) f"
        )
        texts = [one for one in texts_of(found["v"]) if one is not None]
        given = np.array([*texts, None], dtype=object)[:-1]
        engine.push(table, {"v": given, "place": np.array(self._places(column, texts), np.int64)})
        self.keys.append(f"o{place}.place")
        self.joins += f" LEFT JOIN {table} o{place} ON o{place}.v = {text}"
        self.tables.append(table)

    def _is_sorted_as_text(self, column: PublishedColumn) -> bool:
        if self._manifest.shape is Shape.SUPPRESSED:
            return True
        is_text = column.type in (ColumnType.CATEGORICAL, ColumnType.ORDERED)
        return is_text and not column.is_recoded

    def _places(self, column: PublishedColumn, texts: Sequence[str]) -> list[int]:
        if not column.is_recoded:
            return [int(code) for code in domain_of(self._manifest, column.name, texts)[1]]
        labels = self._meanings.get(column.name, {})
        intervals = [labels[text].interval if text in labels else None for text in texts]
        keys = [label_place(text, one) for text, one in zip(texts, intervals, strict=True)]
        rank = {key: number for number, key in enumerate(sorted(set(keys)))}
        return [rank[key] for key in keys]


def parquet_faults(files: PublishedFiles, path: Path) -> list[str]:
    """Return what a Parquet file holds beside its columns, whichever DuckDB wrote it."""
    query = f"SELECT count(*) AS n FROM parquet_kv_metadata({pattern(path)})"
    faults = []
    if int(files.engine.rows(query)["n"][0]):
        faults.append(f"{path.name} has metadata beside its columns")
    if not _DUCKDB.fullmatch(_writer_of(files, path)):
        faults.append(f"{path.name} was not written by DuckDB, which Shoal writes with")
    return faults


def are_written_alike(files: PublishedFiles, paths: Sequence[Path]) -> bool:
    """Whether Parquet files were written by the version of DuckDB that runs here."""
    directory = PrivateDirectory()
    own = directory.path / "own.parquet"
    try:
        files.engine.write("SELECT 1 AS n", own, "parquet")
        return {_writer_of(files, path) for path in paths} <= {_writer_of(files, own)}
    finally:
        directory.remove()


def _writer_of(files: PublishedFiles, path: Path) -> str:
    """Return what a Parquet file says that it was written by."""
    query = f"SELECT created_by AS c FROM parquet_file_metadata({pattern(path)})"
    return str(files.engine.rows(query)["c"][0])
