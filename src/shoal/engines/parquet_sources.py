"""Parquet files as a source: one file, a folder of them, or a folder in Hive's layout.

In Hive's layout the names of folders state the values of columns, as in ``year=2020/part.parquet``.
A table of Delta Lake, Iceberg or Hudi looks much alike, but a log beside its files says which of
them count. Whoever reads the files and not the log reads deleted people too, so such a table is
refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from shoal.core.errors import DataError
from shoal.engines.paths import check_readable, literal, pattern

__all__ = [
    "LAKE_HINT",
    "LAKE_MARKS",
    "ParquetFiles",
    "find_parquet",
    "list_parquet",
    "refuse_lake_table",
    "schema_query",
]

LAKE_HINT = "export the table as it is now to plain Parquet, or read it with Spark by its name."
LAKE_MARKS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", ".hoodie_partition_metadata": "Hudi"}
"""What lies in the folder of such a table, and whose it is. Iceberg has no name of its own for it:
there it is a folder `metadata` with files that end in `.metadata.json`."""
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_MOST_LEVELS = 32
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class ParquetFiles:
    """The Parquet files of a source.

    Parameters
    ----------
    paths
        The files, in the order of their names.
    partitions
        The columns that the names of their folders state, with their types.
    foreign
        Names of columns that folders above the source state; none of them is a column of it.
    """

    paths: tuple[Path, ...]
    partitions: Mapping[str, str] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()

    @property
    def listed(self) -> str:
        """The files as DuckDB's SQL lists them."""
        return f"[{', '.join(map(pattern, self.paths))}]"

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def relation(self) -> str:
        """What stands behind FROM.

        DuckDB by itself takes every folder of a path for one of Hive's, and 01 for the number 1.
        """
        if not self.partitions:
            return f"read_parquet({self.listed}, hive_partitioning = false)"
        types = ", ".join(f"{literal(name)}: {kind}" for name, kind in self.partitions.items())
        read = (
            f"read_parquet({self.listed}, hive_partitioning = true, "
            f"hive_types_autocast = false, hive_types = {{{types}}})"
        )
        if not self.foreign:
            return f"(SELECT * FROM {read})"
        left_out = ", ".join('"' + name.replace('"', '""') + '"' for name in self.foreign)
        return f"(SELECT * EXCLUDE ({left_out}) FROM {read})"


def find_parquet(path: Path) -> ParquetFiles:
    """Find the Parquet files of a source.

    Parameters
    ----------
    path
        A file or a folder.

    Raises
    ------
    DataError
        If it is part of a table with a log, holds no Parquet file, or is a folder whose layout
        does not say which column is where.
    """
    refuse_lake_table(path)
    if not path.is_dir():
        return ParquetFiles((path,))
    paths = tuple(list_parquet(path))
    if not paths:
        raise DataError(
            f"The folder {path.name} holds no Parquet file.",
            hint="Parquet files end in .parquet, and lie in the folder itself or in folders such "
            "as year=2020.",
        )
    for folder in dict.fromkeys(file.parent for file in paths):
        refuse_lake_table(folder)
    for file in paths:
        check_readable(file)
    stated = [_stated(file.relative_to(path).parts[:-1]) for file in paths]
    if any(list(one) != list(stated[0]) for one in stated):
        raise DataError(
            f"The folder {path.name} holds Parquet files in folders that do not state the same "
            "columns.",
            hint="every file must lie in folders of one form, such as year=2020/month=1.",
        )
    partitions = {name: _type_of({one[name] for one in stated}) for name in stated[0]}
    foreign = tuple(dict.fromkeys(_stated(path.absolute().parts))) if partitions else ()
    if set(map(str.lower, foreign)) & set(map(str.lower, partitions)):
        raise DataError(
            f"The folder {path.name} lies in a folder that states one of its own columns.",
            hint="name the outer folder as the source, or rename it.",
        )
    return ParquetFiles(paths, partitions, foreign)


def list_parquet(folder: Path) -> list[Path]:
    """List the Parquet files in a folder and in its folders of Hive's layout, sorted."""
    return sorted(_walk(folder, _MOST_LEVELS))


def _walk(folder: Path, n_levels: int) -> Iterator[Path]:
    yield from folder.glob("*.parquet")
    for inner in folder.glob("*=*/") if n_levels else ():
        # Spark and Hive pass over names that begin so: work that is not finished.
        if not inner.name.startswith((".", "_")) and inner.is_dir():
            yield from _walk(inner, n_levels - 1)


def _stated(folders: Sequence[str]) -> dict[str, str]:
    """Read the columns and values that the names of folders state."""
    found = (_PARTITION.fullmatch(name) for name in folders)
    return {unquote(match[1]): unquote(match[2]) for match in found if match}


def _type_of(values: set[str]) -> str:
    """Return the type of a column that folders state: a number or a date only if all are."""
    present = values - {_MISSING}
    if present and all(map(_INTEGER.fullmatch, present)):
        return "BIGINT"
    if present and all(map(_is_date, present)):
        return "DATE"
    return "VARCHAR"


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def schema_query(files: ParquetFiles) -> str:
    """Return the query for the columns on which the files do not agree, or that folders state too.

    DuckDB would read all files with the types of the first, and round what does not fit.
    """
    names = ", ".join(literal(name.lower()) for name in files.partitions) or "''"
    return (
        "SELECT name, bool_or(is_stated) AS is_stated FROM ("
        f"SELECT name, lower(name) IN ({names}) AS is_stated, "
        "concat_ws('/', type, converted_type, logical_type, scale, precision, num_children) AS kind"
        f" FROM parquet_schema({files.listed}) WHERE column_id > 0) "
        "GROUP BY name HAVING bool_or(is_stated) OR count(DISTINCT kind) > 1 "
        f"OR count(*) % {len(files.paths)} > 0 ORDER BY name"
    )


def refuse_lake_table(path: Path) -> None:
    """Refuse what belongs to a table of Delta Lake, Iceberg or Hudi.

    A file below such a table may be one that the table's log has removed, so the folders above
    count as well.

    Raises
    ------
    DataError
        If it does.
    """
    place = path.absolute()
    for folder in (place, *place.parents):
        kind = _lake_kind(folder)
        if kind is not None:
            raise DataError(
                f"{path.name} belongs to a table of {kind}, whose log says which of its files "
                "count; Shoal reads no such log, and deleted rows would come back.",
                hint=LAKE_HINT,
            )


def _lake_kind(folder: Path) -> str | None:
    for mark, kind in LAKE_MARKS.items():
        if (folder / mark).exists():
            return kind
    return "Iceberg" if any((folder / "metadata").glob("*.metadata.json")) else None
