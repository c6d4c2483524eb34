"""A release: in the engine before it is written, or opened from its folder, file by file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shoal.core.display import Displayed, Section
from shoal.core.documents import read_whole_text
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.findings import Findings
from shoal.core.levelled import at_levels
from shoal.core.manifest import INTERNAL_SUFFIX, About, Manifest
from shoal.core.meaning import Meaning
from shoal.core.measure import Measured
from shoal.core.method import Method
from shoal.core.plan import Plan
from shoal.core.progress import DEFAULT_MAX_WORK
from shoal.core.release import Published, Vocabulary
from shoal.core.secret import Secret
from shoal.engines.duckdb.connection import guarded
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.published_files import PublishedFiles, open_files
from shoal.engines.sql.table import EngineTable
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.levels import attacked_at_levels
from shoal.release.labels import read_meanings

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# The internal file with the bucket and the line of every row.
PLACEMENT = "placement.parquet"


class Writer(Protocol):
    """Writes the two folders of a release; see `Release.write`."""

    def __call__(
        self,
        release: Release,
        path: str | os.PathLike[str],
        ending: str,
        *,
        replace: bool,
        accept_risk: str | None,
        findings: Iterable[Findings],
        measured: Iterable[Measured],
    ) -> Path:
        """Write a release and return its public folder."""


@dataclass(frozen=True, eq=False)
class Making:
    """What only the maker of a release knows; most of it is written to the internal folder."""

    table: EngineTable
    method: Method
    plan: Plan
    # The number under which the engine holds the plan.
    number: int
    secret: Secret
    # When each step began.
    timings: Mapping[str, float]
    # The hierarchies that a reader needs, as leaf-first rows.
    hierarchies: Mapping[str, list[list[str | None]]]
    # A release knows its writer, and does not import it.
    writer: Writer = field(repr=False)
    # The content of the configuration file, if there was one.
    configuration: Mapping[str, object] = field(default_factory=dict)
    # The parameters of each `shoal.repair` after the method.
    repairs: tuple[Mapping[str, object], ...] = ()
    # The name of the release that this one is a replay of.
    replayed_from: str | None = None
    # The most operations that verifying the release may take.
    max_work: int = DEFAULT_MAX_WORK


class Counts:
    """The counts taken from the data files of a release, kept until their memory is needed."""

    def __init__(
        self, published: Published | None = None, vocabulary: Vocabulary | None = None
    ) -> None:
        # None if nothing has been counted yet, or it was forgotten.
        self.published = published
        # The same with levels in the place of sensitive values; None until it is asked for.
        self.levelled: Published | None = None
        # The words by which knowledge is read; None for those of the release's own table or, if
        # that is not available, of its published hierarchies.
        self.vocabulary = vocabulary


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Displayed):
    """A release of a table: made by `shoal.anonymize`, or opened by `shoal.open_release`.

    It is frozen: attacking, measuring and writing it return objects of their own.

    Parameters
    ----------
    manifest
        What the release says of itself: its shape, method, guarantees and columns.
    meanings
        What the labels of recoded columns stand for.
    files
        The data files.
    making
        What only its maker knows; None for an opened release.
    folder, internal
        The public folder that it was opened from, and its internal folder. Default: None.
    counts
        What was counted in the data files so far. Default: nothing.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> release
    Release(bucketized by anatomy: 9 rows in 4 buckets, test)
    >>> release.names
    ('quasi', 'sensitive')
    """

    manifest: Manifest
    meanings: Mapping[str, Mapping[str, Meaning]]
    files: PublishedFiles
    making: Making | None = None
    folder: Path | None = None
    internal: Path | None = None
    counts: Counts = field(default_factory=Counts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the data files, without their endings."""
        return self.files.names

    @property
    def published(self) -> Published:
        """The counts that any reader can take from the data files."""
        counts = self.counts
        if counts.published is None:
            counts.published = self.files.published(self.manifest, self.meanings)
        if counts.published.vocabulary is None:
            words = _words_of(self) if counts.vocabulary is None else counts.vocabulary
            counts.published = replace(counts.published, vocabulary=words)
        return counts.published

    @property
    def levelled(self) -> Published:
        """The counts with sensitive columns at their levels, as attacks see them."""
        published, counts = self.published, self.counts
        if self.manifest.levels and counts.levelled is None:
            counts.levelled = attacked_at_levels(published, self.hierarchy)
        return counts.levelled or published

    def hierarchy(self, column: str) -> Hierarchy | None:
        """Return the hierarchy of a column as it is published; None if it is not."""
        if self.making is not None:
            rows = self.making.hierarchies.get(column)
            return None if rows is None else Hierarchy.from_rows(rows, column=column)
        return None if self.folder is None else read_hierarchy(self.folder, column)

    def to_arrow(self, name: str | None = None) -> pyarrow.Table:
        """Return a data file, by default the only one, as an Arrow table (extra `arrow`)."""
        with guarded():
            table: pyarrow.Table = self._relation(name, "arrow").to_arrow_table()
        return table

    def to_pandas(self, name: str | None = None) -> pandas.DataFrame:
        """Return a data file, by default the only one, as a pandas frame (extra `pandas`)."""
        with guarded():
            frame: pandas.DataFrame = self._relation(name, "pandas").df()
        return frame

    def to_polars(self, name: str | None = None) -> polars.DataFrame:
        """Return a data file, by default the only one, as a polars frame (extra `polars`)."""
        with guarded():
            frame: polars.DataFrame = self._relation(name, "polars").pl()
        return frame

    def _relation(self, name: str | None, extra: str) -> Any:
        if name is None and len(self.names) == 1:
            (name,) = self.names
        if name is None or name not in self.names:
            fact = "has several files" if name is None else f"has no file {name!r}"
            raise ParameterError(
                f"The release {fact}.", hint=f"name one of its files: {', '.join(self.names)}."
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
        findings: Iterable[Findings] = (),
        measured: Iterable[Measured] = (),
    ) -> Path:
        """Write the release: a public folder, and an internal one beside it.

        The release appears whole or not at all: its files are written elsewhere, verified, and then
        moved into place.

        Parameters
        ----------
        path
            The public folder; the internal one has `.internal` at the end of its name.
        format
            The format of the data files, csv or parquet. Default: csv.
        replace
            Whether to replace a release that is there already. Default: False.
        accept_risk
            The reason to seal a test release anyway; kept in the internal record. Default: a test
            release is written but not sealed.
        about
            What its documents say about it: title, institution and so on. Default: nothing.
        findings
            What attacks found, such as the report of `shoal.attack`, for the risk file, the record
            and the internal report. Default: nothing.
        measured
            What was measured, such as the report of `shoal.measure`, for the record and the
            internal report. Default: nothing.

        Returns
        -------
        The public folder.

        Raises
        ------
        ParameterError
            If the release was opened from a folder: it is written already.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import shoal
        >>> table = shoal.read(shoal.datasets.papers.injector_patients())
        >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2))
        >>> report = shoal.attack(release, shoal.attacks.Homogeneity())
        >>> with tempfile.TemporaryDirectory() as place:
        ...     folder = release.write(pathlib.Path(place, "patients"), findings=report)
        ...     shoal.open_release(folder)
        Release(bucketized by anatomy: 9 rows in 4 buckets)
        """
        if self.making is None:
            raise ParameterError(
                "An opened release is written already.", hint="copy its folder instead."
            )
        return self.making.writer(
            told(self, About() if about is None else about),
            path,
            format,
            replace=replace,
            accept_risk=accept_risk,
            findings=findings,
            measured=measured,
        )

    def __dir__(self) -> list[str]:
        """List what users of a release need; the rest is for Shoal itself."""
        return [name for name in super().__dir__() if name not in _INSIDE]

    def _overview(self) -> Section:
        stated = self.manifest
        promised = ", ".join(str(one.name) for one in stated.guarantees)
        rows = tuple((one.name, str(one.role), str(one.type)) for one in stated.columns)
        title = f"{self!r}: {promised}" if promised else repr(self)
        return Section(title, ("column", "role", "type"), rows, holds_values=False)

    def __repr__(self) -> str:
        stated = self.manifest
        test = ", test" if stated.is_test else ""
        return f"Release({stated.shape} by {stated.method}: {stated.extent}{test})"


# The attributes of a release that only Shoal itself uses.
_INSIDE = frozenset({"making", "files", "counts", "levelled", "hierarchy"})


def told(release: Release, about: About) -> Release:
    """Return a release whose public documents say what it is about."""
    return replace(release, manifest=replace(release.manifest, about=about))


def forget_counts(release: Release) -> None:
    """Free the counts of a release; they are taken again when needed."""
    release.counts.published = release.counts.levelled = None
    release.files.engine.make_room(0)


def _words_of(release: Release) -> Vocabulary:
    """Return the words of the table if it is available, otherwise of the published hierarchies."""
    if release.making is not None:
        return Vocabulary.of_table(at_levels(release.making.table, release.manifest.levels))
    if release.folder is None or release.counts.published is None:
        return Vocabulary()
    trees = {}
    for domain in release.counts.published.quasi:
        # If a label is shown together with its own ancestor, the rows are no hierarchy.
        with contextlib.suppress(SchemaError):
            hierarchy = read_hierarchy(release.folder, domain.column)
            if hierarchy is not None:
                trees[domain.column] = hierarchy.over(domain)
    return Vocabulary(trees=trees)


@contextlib.contextmanager
def opened(release: Release | str | os.PathLike[str]) -> Iterator[Release]:
    """Yield a release; one that is given by its folder is opened, and closed afterwards."""
    if isinstance(release, Release):
        yield release
        return
    found = open_release(release)
    with contextlib.closing(found.files.engine):
        yield found


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
        The internal folder. Default: the one beside the public folder, if there is one.
    memory
        The memory limit of counting, such as ``"4GB"``. Default: half the free memory.
    engine
        The engine that just made and wrote the files and reads them again. Default: a new one,
        which trusts none of the files.

    Raises
    ------
    DataError
        If the folder is not a release.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     shoal.open_release(release.write(pathlib.Path(place, "patients")))
    Release(bucketized by anatomy: 9 rows in 4 buckets)
    """
    folder = path_of(path)
    manifest = read_manifest(folder)
    is_trusted = engine is not None
    engine = DuckDB(memory) if engine is None else engine
    names = manifest.data_names
    files = open_files(engine, folder, names, manifest.format, is_trusted=is_trusted)
    beside = folder.parent / (folder.resolve().name + INTERNAL_SUFFIX)
    found = path_of(internal) if internal is not None else beside
    if internal is not None and not found.is_dir():
        raise DataError(f"There is no internal folder {found}.")
    return Release(
        manifest=manifest,
        meanings=read_meanings(folder, manifest, engine, is_trusted=is_trusted),
        files=files,
        folder=folder,
        internal=found if found.is_dir() else None,
    )


# Files of the folder ----------------------------------------------------------------------


def path_of(given: object) -> Path:
    """Return the path of a folder; raise `ParameterError` if no folder can have it."""
    try:
        path = Path(given)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"A release is named by the path of its folder, not by a {type(given).__name__}."
        ) from None
    try:
        path.stat()
    except (OSError, ValueError) as error:
        # The caller decides whether the folder must exist and may be used.
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


def read_hierarchy(folder: Path, column: str) -> Hierarchy | None:
    """Read the published hierarchy of a column; None if the release has none."""
    path = folder / hierarchy_file(column)
    return Hierarchy.from_csv(path, column=column) if path.exists() else None


def hierarchy_file(column: str) -> str:
    """Return the file name of a column's hierarchy; it is safe whatever the column is called."""
    safe = "".join(c if c.isalnum() or c in "-_ " else f"%{ord(c):06x}" for c in column)
    return f"hierarchies/{safe}.csv"
