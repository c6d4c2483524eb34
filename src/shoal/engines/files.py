"""The files of a source: access, formats, and changes while they are read.

Parquet may come as one file, a folder of files, or a folder in Hive's layout, where folder names
state the values of columns (``year=2020/part.parquet``). A Delta Lake, Iceberg or Hudi table looks
much the same, but a log beside its files says which of them count. Reading the files without the
log would bring deleted people back, so such a table is refused.

A file is read several times: for its digest, its dialect and its rows. A release must describe one
table, the one whose digest is on record, so `WatchedFile` refuses a file that another process
changes in the meantime.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from shoal.core.documents import kind_of_special_file
from shoal.core.errors import DataError, EngineError

LAKE_HINT = "export the table as it is now to plain Parquet, or read it with Spark by its name."
LAKE_MARKS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", ".hoodie_partition_metadata": "Hudi"}
"""Entries that mark the folder of a lake table. Iceberg has no name of its own: it keeps files that
end in `.metadata.json` in a folder `metadata`."""
_PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_MOST_LEVELS = 32
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TICK = 0.02
"""Seconds; longer than a tick of the kernel's clock, within which changes get the same time."""

_State = tuple[tuple[str, int, int, int, int], ...]


# Paths -------------------------------------------------------------------------------------


def check_readable(path: Path) -> None:
    """Refuse a path that does not exist, may not be read, or is neither a file nor a folder.

    Reading a named pipe, a socket or a device might never end.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            raise _forbidden(path) from None
        raise DataError(
            "The path given cannot be the path of a file.",
            hint="it is too long, goes through a file, or contains a NUL or another character that "
            "file names cannot have.",
        ) from None
    kind = kind_of_special_file(mode)
    if kind is not None:
        raise DataError(
            f"{path.name} is {kind}, not a file.",
            hint="save its output as a file, and name that.",
        )
    if not os.access(path, os.R_OK):
        raise _forbidden(path)


def _forbidden(path: Path) -> EngineError:
    return EngineError(f"{path.name} may not be read.", hint="ask for permission to read it.")


def check_kind(path: Path, magic: bytes, offset: int, kind: str) -> None:
    """Refuse a file that does not have the magic bytes that its name promises."""
    with path.open("rb") as file:
        head = file.read(offset + len(magic))
    if head[offset:] != magic:
        raise DataError(
            f"{path.name} is not {kind}, although its name says so"
            + (": it is empty." if not head else "."),
            hint="was it renamed, or written only in part?",
        )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def literal(text: object) -> str:
    """Return a text as an SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted(identifier: str) -> str:
    """Return an identifier in the double quotes of standard SQL, so that any name is safe."""
    return '"' + identifier.replace('"', '""') + '"'


def pattern(path: Path) -> str:
    """Return a path as an SQL literal in which DuckDB sees no wildcards."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path)))


# Parquet -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParquetFiles:
    """The Parquet files of a source, sorted by name."""

    paths: tuple[Path, ...]
    # The columns that the folder names state, with their types.
    partitions: Mapping[str, str] = field(default_factory=dict)
    # The columns that folders above the source state; they are not columns of the source.
    foreign: tuple[str, ...] = ()

    @property
    def listed(self) -> str:
        """The files as a list in DuckDB's SQL."""
        return f"[{', '.join(map(pattern, self.paths))}]"

    @property
    def n_bytes(self) -> int:
        """The size of all files together."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def relation(self) -> str:
        """The relation to write after FROM.

        Left to itself, DuckDB takes every folder of a path for one of Hive's, and 01 for the
        number 1.
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
        return f"(SELECT * EXCLUDE ({', '.join(map(quoted, self.foreign))}) FROM {read})"


def find_parquet(path: Path) -> ParquetFiles:
    """Return the Parquet files of a file or folder.

    A lake table is refused, and so is a folder without Parquet files, or one whose layout does not
    say which column is where.
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
    """Return the Parquet files in a folder and in its Hive partitions, sorted."""
    return sorted(_walk(folder, _MOST_LEVELS))


def _walk(folder: Path, n_levels: int) -> Iterator[Path]:
    yield from folder.glob("*.parquet")
    for inner in folder.glob("*=*/") if n_levels else ():
        # Spark and Hive skip names that begin like this: they mark unfinished work.
        if not inner.name.startswith((".", "_")) and inner.is_dir():
            yield from _walk(inner, n_levels - 1)


def _stated(folders: Sequence[str]) -> dict[str, str]:
    """Return the columns and values that folder names state."""
    found = (_PARTITION.fullmatch(name) for name in folders)
    return {unquote(match[1]): unquote(match[2]) for match in found if match}


def _type_of(values: set[str]) -> str:
    """Return the type of a partition column: a number or a date only if all values are."""
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
    """Return the query for columns on which the files disagree, or that folders state as well.

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
    """Refuse a path that belongs to a Delta Lake, Iceberg or Hudi table.

    The folders above count as well: a file below such a table may be one that its log has removed.
    """
    place = path.absolute()
    for folder in (place, *place.parents):
        kind = _lake_kind(folder)
        if kind is not None:
            raise DataError(
                f"{path.name} belongs to a {kind} table, whose log says which of its files count; "
                "Shoal does not read the log, and deleted rows would come back.",
                hint=LAKE_HINT,
            )


def _lake_kind(folder: Path) -> str | None:
    for mark, kind in LAKE_MARKS.items():
        if (folder / mark).exists():
            return kind
    return "Iceberg" if any((folder / "metadata").glob("*.metadata.json")) else None


# Changes while reading ---------------------------------------------------------------------


class WatchedFile:
    """A file, or a folder of Parquet files, as it is when reading begins.

    Size, time of change and inode tell whether it is still the same.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,sex")
    ...     watched = WatchedFile(path)
    ...     watched.check()
    ...     _ = path.write_text("age")
    ...     watched.check()
    Traceback (most recent call last):
    ...
    shoal.core.errors.DataError: people.csv changed while it was read.
    <BLANKLINE>
    Hint: wait until nobody writes to it, or read a copy.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = self._look()
        latest = max((changed for *_, changed in self._state), default=0) / 1e9
        if 0 <= time.time() - latest < _TICK:
            # A change that follows at once would not change the time.
            time.sleep(_TICK)
            self._state = self._look()

    def check(self) -> None:
        """Raise a DataError if the file has changed or vanished."""
        state = self._look()
        if state != self._state:
            raise DataError(
                f"{self.path.name} changed while it was read.",
                hint="wait until nobody writes to it, or read a copy.",
            )

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check at the end, and also before an error escapes: the change may explain it."""
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()

    def _look(self) -> _State:
        try:
            is_folder = self.path.is_dir()
            files = list_parquet(self.path) if is_folder else [self.path]
            return tuple(_state_of(file) for file in files)
        except OSError:
            raise DataError(
                f"{self.path.name} vanished while it was read.",
                hint="is its disk still there, and does nobody move it?",
            ) from None


def _state_of(path: Path) -> tuple[str, int, int, int, int]:
    found = path.stat()
    return (str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
