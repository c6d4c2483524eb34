"""Make a release again from its record: the same public bytes from the same table.

The record holds the secret that all draws came from, so nothing is drawn again, and nobody gets a
second view of the table. The table must be the very same: its hash is compared before any work. The
result is compared with the hashes of the sealed files, and is kept only if all are the same.
Attacks are not run again: their findings about these bytes were recorded on publishing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from shoal.core.arrays import Flags
from shoal.core.documents import read_whole
from shoal.core.errors import DataError, EngineError, GuaranteeError, ParameterError
from shoal.core.manifest import PLAIN_VERSION, About, Manifest
from shoal.core.method import Method
from shoal.core.private_cells import HiddenCells
from shoal.core.progress import Progress, silent
from shoal.core.table import Rows
from shoal.datasets.dataset import Dataset
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Engine, Scan, is_postgres_address
from shoal.engines.sources import columns_of_parquet
from shoal.engines.sql.survey import content_digest
from shoal.engines.sql.table import EngineTable
from shoal.injector.known import Knowledge
from shoal.release.documents import DOCUMENTS_VERSION
from shoal.release.opened import Release, path_of, told
from shoal.release.placing import Place, claimed, internal_folder
from shoal.release.record import (
    Audit,
    Record,
    RecordedMethod,
    RecordedTable,
    public_name,
    read_record,
    versions_of,
)
from shoal.release.seal import digests_of, seal
from shoal.release.witnesses import EARLIER, EARLIER_VALUES, EarlierPlaces
from shoal.workflow.anonymize import anonymize_with
from shoal.workflow.joint import anonymize_beside
from shoal.workflow.make import make
from shoal.workflow.read import scan_source
from shoal.workflow.repair import repair

IDENTICAL, DIFFERENT, MISSING, ADDED = "identical", "different", "missing", "added"
"""How a file compares with the one that was sealed."""
_SUFFIX = "-replayed"
_ANY_WORK = 10**18
"""No limit here: the sealed release was verified within a limit of its own."""
_FORMAT_CHANGES = (
    "The release has format {}, and this Shoal writes format {}: the manifest says more, documents "
    "are made from it, Parquet files allow missing values in every column, and lines that differ "
    "in insensitive, ordered or suppressed columns alone have another order. "
)
_DOCUMENT_CHANGES = (
    "Version {} of the documents was sealed, and this Shoal writes version {}: reports, codebooks "
    "and the manifest, which holds their hashes, differ for that reason. "
)
_CHANGED = "was it changed after it was written?"
_OTHER_TABLE = "The table is not the one that the release was made of: its {} is another."
_FIND_IT = (
    "replay takes the table as it was then: name it with --source (in Python: source=...). To "
    "publish it as it is now, publish it anew, and ship only one of the two."
)


@dataclass(frozen=True)
class Replay:
    """A release that was made again."""

    folder: Path
    internal: Path
    manifest: Manifest
    # By public file, how it compares with the sealed one: always identical, or there is no replay.
    files: Mapping[str, str]
    # The same for the sealed folder beside its record; None if there is no such folder.
    sealed: Mapping[str, str] | None
    warnings: tuple[str, ...]

    @property
    def is_sealed_unchanged(self) -> bool:
        """Whether the sealed folder, if it is there, was not changed."""
        return self.sealed is None or set(self.sealed.values()) <= {IDENTICAL}

    def to_dict(self) -> dict[str, object]:
        """Return the replay as JSON holds it."""
        return {
            "folder": str(self.folder),
            "internal": str(self.internal),
            "rows": self.manifest.n_rows,
            "files": dict(self.files),
            "sealed_folder": None if self.sealed is None else dict(self.sealed),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return f"Replay({self.folder.name}: {len(self.files)} files, identical)"


class ReplayError(GuaranteeError):
    """The replayed files differ from those that were sealed; nothing was written.

    `files` says for each public file whether it is identical, different, missing or added, and
    `warnings` what may be the reason.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        warnings: tuple[str, ...],
        format_version: int = PLAIN_VERSION,
        documents: int = DOCUMENTS_VERSION,
    ) -> None:
        self.files = dict(files)
        self.warnings = warnings
        self.details = {"files": self.files, "warnings": list(warnings)}
        others = [name for name, state in files.items() if state != IDENTICAL]
        why = ""
        if format_version < PLAIN_VERSION:
            why = _FORMAT_CHANGES.format(format_version, PLAIN_VERSION)
        elif documents != DOCUMENTS_VERSION:
            why = _DOCUMENT_CHANGES.format(documents, DOCUMENTS_VERSION)
        super().__init__(
            f"The replay is not what was sealed: {len(others)} of {len(files)} files are not the "
            f"same ({', '.join(others[:5])}{', ...' * (len(others) > 5)}). {why}"
            "Nothing was written.",
            hint="replay with the versions and the engine that the release was made with."
            if warnings or why
            else "was the record changed after it was written? If not, this is a bug in Shoal.",
        )


def replay(
    record: str | os.PathLike[str],
    *,
    source: Any = None,
    to: str | os.PathLike[str] | None = None,
    engine: Any = None,
    memory: str | None = None,
    progress: Progress = silent,
) -> Replay:
    """Make a release again from its record, byte by byte.

    Parameters
    ----------
    record
        The `record.json` of a release, or the internal folder that holds it.
    source
        The table, in any form that `shoal.read` takes, if it was moved or was in memory. It must
        have the hash that is on record. Default: the source named in the record.
    to
        The public folder, which must not exist yet. Default: ``NAME-replayed`` beside the record.
    engine, memory
        As for `shoal.read`. Default: the engine that the release was made with.
    progress
        Called with the name of each step. Default: nothing is reported.

    Returns
    -------
    The folder of the replay, and how it compares with the folder that was sealed.

    Raises
    ------
    DataError
        If the record cannot be read, or the table is not the same as then.
    ReplayError
        If the public files differ from those that were sealed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import shoal
    >>> patients = shoal.datasets.papers.injector_patients()
    >>> release = shoal.anonymize(shoal.read(patients), shoal.Anatomy(ell=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = release.write(pathlib.Path(folder, "patients"))
    ...     shoal.replay(f"{written}.internal", source=patients)
    Replay(patients-replayed: 8 files, identical)
    """
    internal, recorded = read_record(path_of(record))
    name = public_name(internal)
    place = _target(internal, name, to)
    with (
        _claimed(place) as held,
        _opened(recorded, source, engine, memory, progress) as table,
    ):
        warnings = tuple(_version_warnings(recorded, table.engine))
        release = _made_again(recorded, internal, table, progress)
        assert release.making is not None
        release = replace(
            told(release, About.from_dict(recorded.replay.about)),
            making=replace(
                release.making, configuration=recorded.configuration, replayed_from=name
            ),
        )
        # If the bytes come out equal, it is the release that the recorded versions made.
        stated = replace(release.manifest, versions=recorded.versions)
        release = replace(release, manifest=stated)
        files: dict[str, str] = {}

        def confirm(digests: Mapping[str, str]) -> None:
            files.update(_compared(digests, recorded.replay.files))
            if set(files.values()) != {IDENTICAL}:
                raise ReplayError(
                    files, warnings, recorded.format_version, recorded.replay.documents
                )

        progress("write and compare")
        risk = "; ".join(recorded.accepted_risks) or None
        audit = Audit(accepted=risk)
        sealed = seal(release, held, recorded.replay.format, audit, confirm=confirm)
    return Replay(
        folder=place,
        internal=internal_folder(place),
        manifest=sealed.manifest,
        files=files,
        sealed=_sealed_folder(internal, name, recorded.replay.files),
        warnings=warnings,
    )


def _target(internal: Path, name: str | None, to: str | os.PathLike[str] | None) -> Path:
    """Return the public folder to be written."""
    if to is None and name is None:
        raise ParameterError(
            "The folder of the record does not say what its release is called.",
            hint="say where the replay is to be written: --to FOLDER (in Python: to=...).",
        )
    return path_of(internal.with_name(f"{name}{_SUFFIX}") if to is None else to).resolve()


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[Place]:
    """Hold the place of a replay, which must be free."""
    with contextlib.ExitStack() as stack:
        try:
            place = stack.enter_context(claimed(folder, replace=False))
        except ParameterError as error:
            raise ParameterError(
                error.fact,
                hint="a replay replaces nothing: name another folder: --to FOLDER (in Python: "
                "to=...).",
            ) from None
        yield place


@contextlib.contextmanager
def _opened(
    record: Record, source: Any, engine: Any, memory: str | None, progress: Progress
) -> Iterator[EngineTable]:
    """Read the table, and refuse one that is not the same."""
    stated, schema = record.replay.table, record.replay.columns.schema_of()
    given = _located(stated) if source is None else source
    given = given.columns if isinstance(given, Dataset) else given
    if engine is None and is_postgres_address(given) == (stated.engine == "postgres"):
        engine = stated.engine
    progress("read the table")
    options = _options(stated, given)
    opened, scan = scan_source(given, options, engine=engine, memory=memory, limits=stated.allowed)
    try:
        _confirm_file(scan, stated)
        table = EngineTable(opened, scan, schema)
        _confirm_content(table, stated)
        yield table
    finally:
        opened.close()


def _located(stated: RecordedTable) -> Any:
    """Return the place of the table according to the record."""
    if stated.address is None:
        raise ParameterError(
            "The release was made of a table in memory, so the record does not say where it is.",
            hint="give it again: shoal.replay(record, source=frame), or --source FILE with a "
            "Parquet or Arrow file of the same rows in the same order.",
        )
    if not Path(stated.address).is_absolute():
        return stated.address
    path = path_of(stated.address)
    if not path.exists():
        raise EngineError(
            f"The table is not where it was: {path}.",
            hint="say where it is now: --source PATH (in Python: source=...).",
        )
    return path


def _options(stated: RecordedTable, given: Any) -> dict[str, str]:
    """Return the recorded options of reading that apply to the given source."""
    if not isinstance(given, str | Path):
        return {}
    if stated.address is None or Path(str(given)).suffix != Path(stated.address).suffix:
        # The name of a table goes with a database, wherever that is.
        has_tables = is_postgres_address(given) and is_postgres_address(stated.address)
        return dict(stated.options) if has_tables else {}  # type: ignore[arg-type]
    return dict(stated.options)  # type: ignore[arg-type]


def _confirm_file(scan: Scan, stated: RecordedTable) -> None:
    if stated.sha256 is None:
        return
    if scan.digest is None:
        raise DataError(
            "The release was made of a file, and is made again of the same file alone.",
            hint=_FIND_IT,
        )
    if scan.digest != stated.sha256:
        raise DataError(_OTHER_TABLE.format("hash"), hint=_FIND_IT)


def _confirm_content(table: EngineTable, stated: RecordedTable) -> None:
    if table.n_rows != stated.rows:
        raise DataError(_OTHER_TABLE.format("number of rows"), hint=_FIND_IT)
    if stated.sha256 is None and content_digest(table) != stated.content:
        raise DataError(_OTHER_TABLE.format("content"), hint=_FIND_IT)


def _version_warnings(record: Record, engine: Engine) -> Iterator[str]:
    made, here = record.replay.versions, versions_of(engine)
    # The names of engines include their versions.
    own = {name: "" if name in ("engine", "publisher") else f"{name} " for name in here}
    differing = {
        (f"{own[name]}{made[name]}", f"{own[name]}{here[name]}"): None
        for name in here
        if name in made and made[name] != here[name]
    }
    for then, now in differing:
        yield f"The release was made with {then}, and this is {now}: its bytes may differ."


def method_of(recorded: RecordedMethod) -> Method:
    """Make the method of a record again; private cells are read from their own witness."""
    known = {name: Knowledge.from_toml(text) for name, text in recorded.knowledge.items()}
    return cast(Method, make("shoal.methods", recorded.name, {**recorded.parameters, **known}))


def _made_again(record: Record, internal: Path, table: EngineTable, progress: Progress) -> Release:
    recipe = record.replay
    method = method_of(recipe.method)
    private = None
    if recipe.method.private is not None:
        private = _private_cells(internal, recipe.method.private, table.engine.publisher)
    if recipe.earlier:
        places = _places(internal, tuple(recipe.earlier), table.engine.publisher)
        release = anonymize_beside(
            places, record.bits, table, method, max_work=_ANY_WORK, progress=progress
        )
    else:
        release = anonymize_with(
            record.bits, table, method, private=private, max_work=_ANY_WORK, progress=progress
        )
    for stated in recipe.repairs:
        asked = stated.model_dump(exclude_none=True)
        release = repair(release, **asked, progress=progress)
    return release


def _places(internal: Path, earlier: tuple[str, ...], engine: DuckDB) -> EarlierPlaces:
    """Read where people are in earlier releases from the witnesses beside the record."""
    try:
        witnesses = {
            name: read_whole(internal / name, max_bytes=None) for name in (EARLIER, EARLIER_VALUES)
        }
    except OSError:
        raise DataError(
            f"The record goes with {EARLIER} and {EARLIER_VALUES}, which are not beside it.",
            hint="keep the internal folder together.",
        ) from None
    return EarlierPlaces.from_witnesses(engine, witnesses, earlier)


def _private_cells(internal: Path, digest: str, engine: DuckDB) -> Callable[[Rows], Flags]:
    """Return a function that marks the private cells of rows, as listed in the witness."""
    name = HiddenCells.FILE
    try:
        content = read_whole(internal / name, max_bytes=None)
    except OSError:
        raise DataError(
            f"The record goes with {name}, which is not beside it.",
            hint="keep the internal folder together.",
        ) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise DataError(f"{name} is not the one that the release was made with.", hint=_CHANGED)
    columns = columns_of_parquet(engine, content, name)

    def marked(rows: Rows) -> Flags:
        assert rows.keys is not None
        marks = np.zeros(rows.codes.shape, dtype=bool)
        row_of = {key: row for row, key in enumerate(rows.keys.tolist())}
        place_of = {column: place for place, column in enumerate(rows.columns)}
        try:
            cells = HiddenCells.from_columns(columns)
            key, column = cells.key[cells.is_private], cells.column[cells.is_private]
            row = [row_of[one] for one in key.tolist()]
            marks[row, [place_of[one] for one in column.tolist()]] = True
        except KeyError:
            raise DataError(f"{name} does not go with the table.", hint=_CHANGED) from None
        return marks

    return marked


def _compared(found: Mapping[str, str], expected: Mapping[str, str]) -> dict[str, str]:
    """Return for each file how it compares with the one that was sealed."""

    def state(name: str) -> str:
        if name not in expected:
            return ADDED
        if name not in found:
            return MISSING
        return IDENTICAL if found[name] == expected[name] else DIFFERENT

    return {name: state(name) for name in sorted(found.keys() | expected.keys())}


def _sealed_folder(
    internal: Path, name: str | None, files: Mapping[str, str]
) -> dict[str, str] | None:
    folder = None if name is None else internal.with_name(name)
    if folder is None or not folder.is_dir():
        return None
    return _compared(digests_of(folder), files)
