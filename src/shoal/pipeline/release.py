"""A release: in the engine before it is written, or opened from its folder."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.about import About
from shoal.core.attack import Findings
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.hierarchy import Hierarchy
from shoal.core.measure import Measured
from shoal.core.method import Method
from shoal.core.plan import Plan
from shoal.core.reading import parse_json, read_whole, read_whole_text
from shoal.core.release import INTERNAL_SUFFIX, Manifest, Meaning, Published
from shoal.core.secret import Secret
from shoal.core.vocabulary import Vocabulary
from shoal.core.work import DEFAULT_MAX_WORK
from shoal.engines.duckdb import DuckDB
from shoal.engines.duckdb_errors import guarded
from shoal.engines.published import PublishedFiles, open_files
from shoal.engines.table import EngineTable

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["PLACEMENT", "Making", "Release", "hierarchy_file", "open_release"]

PLACEMENT = "placement.parquet"
"""The internal file that says which row stands in which bucket and line."""


@dataclass(frozen=True, eq=False)
class Making:
    """What only the maker of a release knows: most of it is written to the internal folder.

    Parameters
    ----------
    table, method, secret
        What was anonymized, how, and where draws came from.
    plan, number
        What the method planned, and the number under which the engine holds it.
    timings
        When each step began.
    hierarchies
        Those that a reader needs, as leaf-first rows.
    configuration
        What the configuration file said, where there was one.
    repairs
        What was done to the buckets after the method: the parameters of each `shoal.repair`.
    replayed_from
        The name of the release that this one is a replay of.
    max_work
        The operations that verifying the release may take; default 2e9.
    """

    table: EngineTable
    method: Method
    plan: Plan
    number: int
    secret: Secret
    timings: Mapping[str, float]
    hierarchies: Mapping[str, list[list[str | None]]]
    configuration: Mapping[str, object] = field(default_factory=dict)
    repairs: tuple[Mapping[str, object], ...] = ()
    replayed_from: str | None = None
    max_work: int = DEFAULT_MAX_WORK


class Release:
    """What is published of a table.

    Made by `shoal.anonymize` or opened by `shoal.open_release`.

    Parameters
    ----------
    manifest
        What the release says of itself.
    meanings
        What the labels of recoded columns stand for.
    files
        The data files.
    published
        What can be counted in the data files, where it is known already.
    making
        What only its maker knows; None for an opened release.
    folder, internal
        Where it stands on disk, and its internal folder where there is one.
    """

    def __init__(
        self,
        *,
        manifest: Manifest,
        meanings: Mapping[str, Mapping[str, Meaning]],
        files: PublishedFiles,
        published: Published | None = None,
        making: Making | None = None,
        folder: Path | None = None,
        internal: Path | None = None,
    ) -> None:
        self.manifest = manifest
        self.meanings = meanings
        self.files = files
        self._published = published
        self.making = making
        self.folder = folder
        self.internal = internal
        self._vocabulary: Vocabulary | None = None
        self.findings: tuple[Findings, ...] = ()
        """What attacks on the people of the table have found so far; goes to the risk file."""
        self.measured: tuple[Measured, ...] = ()
        """What was measured for the internal record."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the data files, without their endings."""
        return tuple(self.files.queries)

    @property
    def published(self) -> Published:
        """What any reader can count in the data files."""
        if self._published is None:
            self._published = self.files.published(self.manifest, self.meanings)
        if self._published.vocabulary is None:
            vocabulary = self._words(self._published)
            self._published = replace(self._published, vocabulary=vocabulary)
        return self._published

    def read_words_of(self, table: EngineTable) -> None:
        """Read knowledge about the release by the values and hierarchies of its table."""
        self._vocabulary = Vocabulary.of_table(table)
        if self._published is not None:
            self._published = replace(self._published, vocabulary=self._vocabulary)

    def _words(self, published: Published) -> Vocabulary:
        """Return the words of the table where it is at hand, else the published hierarchies."""
        if self._vocabulary is None and self.making is not None:
            return Vocabulary.of_table(self.making.table)
        if self._vocabulary is not None or self.folder is None:
            return self._vocabulary or Vocabulary()
        trees = {}
        for domain in published.quasi:
            # Where a node stands beside its own ancestor the rows are no hierarchy.
            with contextlib.suppress(SchemaError):
                hierarchy = read_hierarchy(self.folder, domain.column)
                if hierarchy is not None:
                    trees[domain.column] = hierarchy.over(domain)
        return Vocabulary(trees=trees)

    def forget_counts(self) -> None:
        """Free what was counted; it is counted again when it is asked for."""
        self._published = None
        self.files.engine.make_room(0)

    def to_arrow(self, name: str) -> pyarrow.Table:
        """Give a data file as an Arrow table (extra `arrow`)."""
        with guarded():
            table: pyarrow.Table = self._relation(name, "arrow").to_arrow_table()
        return table

    def to_pandas(self, name: str) -> pandas.DataFrame:
        """Give a data file as a pandas frame (extra `pandas`)."""
        with guarded():
            frame: pandas.DataFrame = self._relation(name, "pandas").df()
        return frame

    def to_polars(self, name: str) -> polars.DataFrame:
        """Give a data file as a polars frame (extra `polars`)."""
        with guarded():
            frame: polars.DataFrame = self._relation(name, "polars").pl()
        return frame

    def _relation(self, name: str, extra: str) -> Any:
        if name not in self.files.queries:
            raise ParameterError(
                f"The release has no file {name!r}.", hint=f"its files: {', '.join(self.names)}."
            )
        try:
            __import__({"arrow": "pyarrow"}.get(extra, extra))
        except ImportError:
            raise ParameterError(
                f"This needs the extra {extra!r}.", hint=f"pip install 'shoal-privacy[{extra}]'"
            ) from None
        return self.files.engine.relation(self.files.typed_query(name, self.manifest))

    def write(
        self,
        path: str | os.PathLike[str],
        format: str = "csv",  # noqa: A002 - the word of the design
        *,
        replace: bool = False,
        accept_risk: str | None = None,
        about: About | None = None,
    ) -> Path:
        """Write the release: a public folder, and an internal one beside it.

        Nothing is there until all of it is: the files are written elsewhere, verified from what
        was written, and then moved.

        Parameters
        ----------
        path
            The public folder; the internal one has `.internal` at the end of its name.
        format
            Of the data files: csv or parquet.
        replace
            Whether a release that stands there already is replaced.
        accept_risk
            Why a test release may be sealed all the same; kept in the internal record.
        about
            What its documents say about it: title, institution and so on. Default: nothing.

        Returns
        -------
        The public folder.
        """
        from shoal.pipeline.seal import write_release  # noqa: PLC0415 - seal needs this module

        folder = path_of(path).resolve()
        if not folder.name:
            raise ParameterError(
                "A release cannot be the root of a disk.", hint="name a folder of its own."
            )
        self.tell(About() if about is None else about)
        return write_release(self, folder, format, replace=replace, accept_risk=accept_risk)

    def tell(self, about: About) -> None:
        """Let the public documents say what a release is about."""
        self.manifest = replace(self.manifest, about=about)

    def __repr__(self) -> str:
        stated = self.manifest
        test = ", test" if stated.is_test else ""
        return f"Release({stated.shape} by {stated.method}: {stated.extent}{test})"


def hierarchy_file(column: str) -> str:
    """Name the file of a column's hierarchy so that any column name makes a safe file name."""
    safe = "".join(c if c.isalnum() or c in "-_ " else f"%{ord(c):06x}" for c in column)
    return f"hierarchies/{safe}.csv"


def open_release(
    path: str | os.PathLike[str],
    *,
    internal: str | os.PathLike[str] | None = None,
    memory: str | None = None,
    engine: DuckDB | None = None,
) -> Release:
    """Open a release folder.

    Parameters
    ----------
    path
        The public folder.
    internal
        The internal folder; the one beside the public folder where it is there.
    memory
        The memory that counting is to stay within, such as ``"4GB"``; half of what is free where
        none is given.
    engine
        The engine that just made and wrote the files and reads them again; where none is given
        they may be anybody's.

    Raises
    ------
    DataError
        Where the folder is not a release.
    """
    folder = path_of(path)
    manifest = read_manifest(folder)
    is_trusted = engine is not None
    engine = DuckDB(memory) if engine is None else engine
    names = manifest.data_files
    files = open_files(engine, folder, names, manifest.format, is_trusted=is_trusted)
    beside = folder.parent / (folder.resolve().name + INTERNAL_SUFFIX)
    found = path_of(internal) if internal is not None else beside
    if internal is not None and not found.is_dir():
        raise DataError(f"There is no internal folder {found}.")
    return Release(
        manifest=manifest,
        meanings=_read_meanings(folder),
        files=files,
        folder=folder,
        internal=found if found.is_dir() else None,
    )


def path_of(given: object) -> Path:
    """Read the path of a folder.

    Raises
    ------
    ParameterError
        Where it is none, or no folder can have it.
    """
    try:
        path = Path(given)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"A release is named by the path of its folder, not by a {type(given).__name__}."
        ) from None
    try:
        path.stat()
    except (OSError, ValueError) as error:
        # Whether the folder is there, and may be used, is for others to say.
        if not isinstance(error, OSError) or error.errno == errno.ENAMETOOLONG:
            raise ParameterError(
                "No folder can have the path given.",
                hint="it is too long, or holds a NUL or another character that no name has.",
            ) from None
    return path


def read_manifest(folder: Path) -> Manifest:
    """Read `manifest.json` of a release folder."""
    path = path_of(folder) / "manifest.json"
    try:
        return Manifest.from_json(read_whole_text(path))
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"{folder} is not a release: it has no manifest.json that can be read.",
            hint="name the folder that `shoal publish` or Release.write made.",
        ) from None


def _read_meanings(folder: Path) -> dict[str, dict[str, Meaning]]:
    path = folder / "labels.json"
    if not path.exists():
        return {}
    try:
        stated = parse_json(read_whole(path))
        return {
            column: {label: Meaning.from_dict(meaning) for label, meaning in labels.items()}
            for column, labels in stated.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        raise DataError(
            "labels.json cannot be read.", hint="was it changed after it was sealed?"
        ) from None


def read_hierarchy(folder: Path, column: str) -> Hierarchy | None:
    """Read the published hierarchy of a column, where the release has one."""
    path = folder / hierarchy_file(column)
    return Hierarchy.from_csv(path, column=column) if path.exists() else None
