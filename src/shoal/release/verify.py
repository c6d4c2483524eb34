"""Derive the guarantees of a release anew from its published files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from shoal import checks
from shoal.core.display import Section, Tabular
from shoal.core.domain import ColumnType, Role
from shoal.core.errors import DataError, GuaranteeError, ParameterError, SchemaError, ShoalError
from shoal.core.guarantees import AlphaK, Guarantee, KAnonymity
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.progress import DEFAULT_MAX_WORK, Work
from shoal.core.release import Published
from shoal.core.schema import Schema
from shoal.core.shapes import Model, Shape
from shoal.core.tree import Tree
from shoal.core.verdict import Evidence, Verdict
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.frames import code_frame
from shoal.engines.limits import engine_memory
from shoal.engines.sql.domains import infer_type, text_array, texts_of
from shoal.engines.sql.published_files import PublishedFiles
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.release.checked_levels import checked_at_levels, file_at_levels, tree_above
from shoal.release.content_faults import content_faults
from shoal.release.faults import file_faults, form_faults, manifest_faults, written_faults
from shoal.release.opened import Release, open_release, path_of, read_manifest
from shoal.release.published_columns import spelling_notes
from shoal.release.witnesses import evidence_of, read_witnesses

_CHECKED_ROLES = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)


class Status(StrEnum):
    """The result of a verification."""

    VERIFIED = "verified"
    FAILED = "failed"
    PARTLY = "partly verified"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, repr=False)
class Verification(Tabular):
    """The result of verifying a release or a file.

    Parameters
    ----------
    status
        Verified; failed; partly verified if an internal witness was not given, or if files of
        another version could not be made again; not checked if a check would take too many
        operations.
    verdicts
        The verdict of the checker of each guarantee.
    problems
        Everything that is wrong, in words; empty if nothing is.
    unchecked
        Everything that was not checked because it is too large, in words.
    notes
        Everything that was not checked for another reason, and what a reader should know, in words.
    unread
        Of a file that is no release, the columns that no guarantee was checked for.
    is_test, is_sealed
        Whether the release is marked as a test, and whether it is sealed. Both are None for a
        file that is no release.
    n_rows, n_buckets
        The number of rows and of buckets that were checked.
    n_suppressed
        The number of suppressed cells; None if the release has another shape.
    roles
        The columns that were checked as quasi-identifying, sensitive and insensitive, as the
        manifest states them: no checker can see whether a column has the right role.
    """

    status: Status
    verdicts: tuple[Verdict, ...]
    problems: tuple[str, ...]
    n_rows: int
    n_buckets: int
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    n_suppressed: int | None = None
    unchecked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    is_test: bool | None = None
    is_sealed: bool | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong, and nothing was left unchecked because it is too large."""
        return self.status not in (Status.FAILED, Status.NOT_CHECKED)

    @property
    def is_for_others(self) -> bool:
        """Whether the release is sealed and no test; True for a file that is no release."""
        return self.is_test is not True and self.is_sealed is not False

    def to_dict(self) -> dict[str, object]:
        """Return the verification as JSON holds it."""
        return {
            "status": str(self.status),
            "rows": self.n_rows,
            "buckets": self.n_buckets,
            "roles": {str(role): list(columns) for role, columns in self.roles.items()},
            "guarantees": [verdict.to_dict() for verdict in self.verdicts],
            "problems": list(self.problems),
            "unchecked": list(self.unchecked),
            "notes": list(self.notes),
            "columns_not_looked_at": list(self.unread),
            "test": self.is_test,
            "sealed": self.is_sealed,
        }

    def _overview(self) -> Section:
        rows = [(str(one.guarantee.name), _outcome(one), one.detail) for one in self.verdicts]
        rows += [("release", "problem", text) for text in self.problems]
        rows += [("release", "not checked", text) for text in self.unchecked]
        columns = ("guarantee", "result", "detail")
        return Section(repr(self)[len("Verification(") : -1], columns, tuple(rows))

    def __repr__(self) -> str:
        checked = f"{len(self.verdicts)} guarantee{'s' * (len(self.verdicts) != 1)}"
        found = "".join(f"; {text}" for text in self.problems[:1])
        extent = f"{self.n_rows} rows in {self.n_buckets} buckets"
        return f"Verification({self.status}: {checked} of {extent}{found})"


def _outcome(verdict: Verdict) -> str:
    """Return the verdict of a checker in one or two words."""
    if not verdict.is_checked:
        return "not checked"
    if not verdict.holds:
        return "fails"
    return "partly checked" if verdict.is_partial else "holds"


def verify(
    release: Release | str | os.PathLike[str],
    *,
    internal: str | os.PathLike[str] | None = None,
    memory: str | None = None,
    max_work: int = DEFAULT_MAX_WORK,
) -> Verification:
    """Check a release against its own manifest, from the published files.

    If the manifest can be read, whatever is wrong with the folder is part of the result, not an
    error. A guarantee about protected values fails if one of them occurs nowhere in the release,
    because it would hold for any table.

    Parameters
    ----------
    release
        A release, or the path of its public folder.
    internal
        The internal folder, for guarantees whose witnesses are internal. Default: None.
    memory
        The memory limit of counting, such as ``"4GB"``. Default: half the free memory.
    max_work
        The most operations that checking may take, over all guarantees; a guarantee that would
        take more is *not checked*. Default: 2e9.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> str(shoal.verify(shoal.anonymize(table, shoal.Anatomy(ell=2))).status)
    'verified'
    """
    if not isinstance(release, Release):
        return _verify_folder(path_of(release), internal, memory, max_work)
    if release.making is None and release.folder is not None:
        return _verify_folder(release.folder, internal, memory, max_work)
    try:
        making = release.making
        witnesses = {} if making is None else making.plan.witnesses
        return _verify_content(release, witnesses, max_work)
    except (DataError, ParameterError, SchemaError) as error:
        # The manifest claims what its own columns or hierarchies cannot bear out.
        return _failed(release.manifest, error.fact)


def _verify_folder(
    folder: Path, internal: str | os.PathLike[str] | None, memory: str | None, max_work: int
) -> Verification:
    """Verify a folder, whatever was done to it, once its manifest can be read."""
    if internal is not None and not path_of(internal).is_dir():
        raise DataError(f"There is no internal folder {Path(internal)}.")
    manifest = read_manifest(folder)
    try:
        faults = manifest_faults(manifest) or file_faults(folder, manifest)
        faults = faults or form_faults(folder, manifest)
        if faults:
            return _failed(manifest, *faults)
        release = open_release(folder, internal=internal, memory=memory)
        with contextlib.closing(release.files.engine):
            witnesses = {} if internal is None else read_witnesses(path_of(internal), manifest)
            return _verify_content(release, witnesses, max_work)
    except ShoalError as error:
        return _failed(manifest, error.fact)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        return _failed(manifest, f"the release cannot be read: {reason}")


def verify_opened(
    release: Release, internal: Path, max_work: int = DEFAULT_MAX_WORK
) -> Verification:
    """Check an opened release, whose digests were just taken, from its files."""
    try:
        faults = manifest_faults(release.manifest)
        if faults:
            return _failed(release.manifest, *faults)
        witnesses = read_witnesses(internal, release.manifest)
        return _verify_content(release, witnesses, max_work)
    except (DataError, ParameterError, SchemaError) as error:
        return _failed(release.manifest, error.fact)


def _verify_content(
    release: Release, witnesses: Mapping[str, bytes], max_work: int
) -> Verification:
    notes: tuple[str, ...] = ()
    with release.files.keeper.keeping():
        published = release.published
        levelled = checked_at_levels(published, release.hierarchy)
        faults = content_faults(published, levelled)
        if release.folder is not None and not faults:
            faults, notes = written_faults(release, release.folder)
    if faults:
        return _failed(release.manifest, *faults)
    evidence = evidence_of(release, levelled, witnesses)
    found = _judge(
        levelled,
        release.manifest.guarantees,
        _tree(release, levelled),
        evidence,
        Work(max_work),
    )
    manifest = release.manifest
    status = Status.PARTLY if notes and found.status is Status.VERIFIED else found.status
    return replace(
        found,
        status=status,
        notes=(*notes, *found.notes),
        is_test=manifest.is_test,
        is_sealed=manifest.is_sealed,
    )


def _failed(manifest: Manifest, *problems: str) -> Verification:
    return Verification(
        Status.FAILED,
        (),
        problems,
        0,
        0,
        _roles(manifest),
        is_test=manifest.is_test,
        is_sealed=manifest.is_sealed,
    )


def _roles(manifest: Manifest) -> dict[Role, tuple[str, ...]]:
    return {role: manifest.columns_of(role) for role in _CHECKED_ROLES}


def verify_file(
    source: Any,
    *,
    quasi: Sequence[str],
    sensitive: str | None = None,
    guarantees: Sequence[Guarantee],
    hierarchy: Hierarchy | None = None,
    order: Sequence[str] | None = None,
    levels: Mapping[str, object] | None = None,
    memory: str | None = None,
    max_work: int = DEFAULT_MAX_WORK,
) -> Verification:
    """Check any table of named columns, whoever made it, for guarantees.

    The source is the path of a CSV, Parquet or Arrow file, or a frame, with one line per person;
    rows with equal quasi-identifiers are a bucket. A frame of usual size is counted without an
    engine. Guarantees have their plain meaning here: one about protected values that the file
    does not hold is true of it. Hierarchical t-closeness needs the `hierarchy` of the sensitive
    column; ordered t-closeness needs the `order` of its values unless they are numbers or dates.
    With `levels`, as in `shoal.Schema`, guarantees count levels of the sensitive column in place of
    values. A guarantee whose check would exceed `max_work` operations in all is *not checked*.
    """
    # The schema checks that there are quasi-identifiers, that no column is named twice and that
    # the order is sound.
    types = {} if order is None or sensitive is None else {sensitive: order}
    schema = Schema(quasi=quasi, sensitive=sensitive, types=types, levels=levels)
    if not schema.quasi or not guarantees:
        raise ParameterError(
            "A file is checked for guarantees about quasi-identifiers; "
            + ("no column is named." if not schema.quasi else "no guarantee is named.")
        )
    if memory is not None:
        engine_memory(memory)  # A wrong amount is refused, whether or not an engine is needed.
    frame = code_frame(source, schema.coded)
    if frame is not None:
        kind = None if sensitive is None else _type_of(frame.coded[sensitive].texts, order)
        published = frame.published(_manifest(schema, kind, order, guarantees))
        return _judge_file(published, frame.columns, schema, guarantees, hierarchy, max_work)
    engine = DuckDB(memory)
    try:
        scan = engine.scan(source)
        schema.check_names(tuple(scan.types))
        names = ", ".join(map(engine.quote, schema.coded))
        engine.stage("checked", f"SELECT {names} FROM {scan.relation}")
        files = PublishedFiles(engine, {"table": f"SELECT {names} FROM checked"})
        kind = None if sensitive is None else _type_of(_texts_in(engine, sensitive), order)
        published = files.published(_manifest(schema, kind, order, guarantees), {})
        return _judge_file(published, scan.types, schema, guarantees, hierarchy, max_work)
    finally:
        engine.close()


def _texts_in(engine: DuckDB, column: str) -> list[str | None]:
    """Return the different texts of a staged column."""
    name = engine.quote(column)
    kind = engine.types_of(f"SELECT {name} FROM checked")[column]
    query = f"SELECT DISTINCT {engine.text(name, kind)} AS v FROM checked"
    return texts_of(engine.rows(query)["v"])


def _type_of(texts: Sequence[str | None], order: Sequence[str] | None) -> ColumnType:
    if order:
        return ColumnType.ORDERED
    return infer_type(text_array(text for text in texts if text is not None))


def _manifest(
    schema: Schema,
    kind: ColumnType | None,
    order: Sequence[str] | None,
    guarantees: Sequence[Guarantee],
) -> Manifest:
    """Describe a file as a generalized release; `kind` is the type of the sensitive column."""
    columns = [PublishedColumn(name, Role.QUASI, ColumnType.CATEGORICAL) for name in schema.quasi]
    if kind is not None:
        given = None if order is None else tuple(order)
        columns.append(PublishedColumn(schema.sensitive[0], Role.SENSITIVE, kind, order=given))
    return Manifest(
        shape=Shape.GENERALIZED,
        method="unknown",
        parameters={},
        guarantees=tuple(guarantees),
        columns=tuple(columns),
        n_rows=0,
        n_buckets=0,
    )


def _judge_file(
    published: Published,
    columns: Iterable[str],
    schema: Schema,
    guarantees: Sequence[Guarantee],
    hierarchy: Hierarchy | None,
    max_work: int,
) -> Verification:
    if published.lines.n_rows == 0:
        raise DataError("The file has no rows.")
    published, tree = file_at_levels(published, schema, hierarchy)
    found = _judge(published, guarantees, tree, {}, Work(max_work))
    return replace(found, unread=tuple(name for name in columns if name not in schema.coded))


def _judge(
    published: Published,
    guarantees: Sequence[Guarantee],
    tree: Tree | None,
    witnesses: Mapping[str, object],
    work: Work,
) -> Verification:
    # Here the rows of a bucket differ in their quasi-identifiers.
    is_bucketized = published.manifest.shape.model is Model.BUCKETS
    # Other guarantees do not ask for it, and it takes room.
    needs_alike = any(isinstance(guarantee, KAnonymity | AlphaK) for guarantee in guarantees)
    alike = published.fewest_alike if is_bucketized and needs_alike else None
    evidence = Evidence(
        published.buckets,
        published.bucket_sizes,
        tree,
        witnesses,
        alike,
        published.rows,
        published.sliced,
        published.lines if is_bucketized else None,
        work,
    )
    verdicts = tuple(checks.check(guarantee, evidence) for guarantee in guarantees)
    failed = [verdict for verdict in verdicts if verdict.is_checked and not verdict.holds]
    unchecked = [verdict for verdict in verdicts if not verdict.is_checked]
    return Verification(
        _status(verdicts),
        verdicts,
        _details(failed),
        published.lines.n_rows,
        published.n_buckets,
        _roles(published.manifest),
        None if published.rows is None else int(published.rows.is_hidden.sum()),
        _details(unchecked),
        notes=spelling_notes(published),
    )


def _details(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(f"{verdict.guarantee.name}: {verdict.detail}" for verdict in verdicts)


def too_large(verification: Verification) -> GuaranteeError:
    """Return the error for a new release that cannot be verified within the bound."""
    return GuaranteeError(
        "The release was not checked within max_work: " + "; ".join(verification.unchecked) + ".",
        hint="allow more operations (max_work, or [release] max_work), or promise less.",
    )


def _status(verdicts: Sequence[Verdict]) -> Status:
    """Sum up verdicts: failed outweighs not checked, which outweighs partly verified."""
    if any(verdict.is_checked and not verdict.holds for verdict in verdicts):
        return Status.FAILED
    if not all(verdict.is_checked for verdict in verdicts):
        return Status.NOT_CHECKED
    is_partial = any(verdict.is_partial for verdict in verdicts)
    return Status.PARTLY if is_partial else Status.VERIFIED


def _tree(release: Release, published: Published) -> Tree | None:
    """Return the hierarchy over the published sensitive values; None if there is none."""
    if published.buckets is None:
        return None
    domain = published.buckets.domain
    level = next((one for one in release.manifest.levels if one.column == domain.column), None)
    if level is not None:
        return tree_above(level, domain, release.hierarchy) if level.node_level else None
    hierarchy = release.hierarchy(domain.column)
    return None if hierarchy is None else hierarchy.over(domain)
