"""Write a release whole or not at all.

Both folders are made under temporary names beside their places, verified from the written files,
and synced to disk. Only then are they moved into place: whenever the machine stops, the old release
is there, or none, or the new one (see `shoal.release.placing`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from shoal.core.documents import sync
from shoal.core.errors import DataError, GuaranteeError, ParameterError
from shoal.core.findings import Findings, about_everybody
from shoal.core.manifest import FORMATS, LABELS_IN_PARQUET
from shoal.core.measure import Measured
from shoal.core.private_cells import HiddenCells
from shoal.core.progress import Progress, silent
from shoal.engines.files import digest
from shoal.engines.sql.staged_files import StagedFiles
from shoal.release.documents import (
    DOCUMENTS_VERSION,
    MANIFEST,
    REPORT,
    Counted,
    count_for_documents,
    manifest_text,
    public_documents,
    steward_report,
)
from shoal.release.labels import version_for, write_labels
from shoal.release.opened import PLACEMENT, Making, Release, forget_counts, open_release, path_of
from shoal.release.people import TUPLES
from shoal.release.people_at_risk import people_at_risk, write_risk
from shoal.release.placing import Place, claimed
from shoal.release.record import NO_AUDIT, RECORD, Audit, record_of
from shoal.release.scanning import LeakScan
from shoal.release.verify import Status, too_large, verify_opened
from shoal.release.witnesses import EARLIER, seal_witnesses


def write_release(
    release: Release,
    path: str | os.PathLike[str],
    ending: str,
    *,
    replace: bool,
    accept_risk: str | None,
    findings: Iterable[Findings] = (),
    measured: Iterable[Measured] = (),
) -> Path:
    """Write the two folders of a release; see `Release.write`."""
    folder = path_of(path).resolve()
    check_writing(ending, accept_risk)
    audit = Audit(about_everybody(findings), tuple(measured), accept_risk)
    with claimed(folder, replace=replace) as place:
        seal(release, place, ending, audit)
    return folder


def check_writing(ending: str, accept_risk: str | None) -> None:
    """Refuse an unknown format, and an empty reason to accept a risk."""
    if ending not in FORMATS:
        raise ParameterError(f"format must be csv or parquet, not {ending!r}.")
    if accept_risk is not None and not accept_risk.strip():
        raise ParameterError("accept_risk must say why the risk is accepted.")


def seal(
    release: Release,
    place: Place,
    ending: str,
    audit: Audit = NO_AUDIT,
    *,
    confirm: Callable[[Mapping[str, str]], None] = lambda _: None,
    progress: Progress = silent,
) -> Release:
    """Write the two folders of a release into a place that this process holds.

    The release is still with its maker; `ending` is the format of the data files. `confirm` is
    called with the SHA-256 of every public file before anything is moved into place; if it raises,
    nothing is left behind. `progress` is called with the name of each step. Returns the sealed
    release, with its folders and final manifest.
    """
    making = release.making
    if making is None:
        raise ParameterError(
            "An opened release is written already.", hint="copy its folder instead."
        )
    progress("write")
    counted = count_for_documents(release, ending)
    # The written files are counted again; there may be no memory for both counts.
    forget_counts(release)
    with place.new_folders() as (new_public, new_internal):
        sealed = _write_internal(release, making, new_internal, ending)
        sealed = _write_data(sealed, making, new_public, ending, audit)
        progress("make the documents")
        sealed = _write_documents(sealed, making, new_public, counted, audit)
        # Data files may be large: they were hashed for the manifest.
        files = {**sealed.manifest.files, MANIFEST: digest(new_public / MANIFEST)}
        _write_text(new_internal / RECORD, record_of(sealed, making, ending, files, audit))
        progress("verify what was written")
        written = _examine(sealed, making, new_public, new_internal)
        progress("write who is at risk")
        risks = people_at_risk(written, audit.findings)
        write_risk(written, new_internal, audit.findings)
        forget_counts(written)
        _write_text(new_internal / REPORT, steward_report(sealed, making, risks, audit))
        confirm(files)
        progress("seal")
        for path in (*new_public.rglob("*"), *new_internal.rglob("*"), new_public, new_internal):
            sync(path)
        place.move_in()
    return replace(sealed, folder=place.folder, internal=place.internal)


def _examine(release: Release, making: Making, folder: Path, internal: Path) -> Release:
    """Open the release as it was written, and verify it."""
    # Raises an OSError if the folder vanished meanwhile.
    (folder / MANIFEST).stat()
    # Within the memory of the engine that wrote it.
    written = open_release(folder, internal=internal, engine=release.files.engine)
    _refuse_identifying(making, written)
    verification = verify_opened(written, internal, making.max_work)
    if not verification.holds:
        (folder / MANIFEST).stat()
        if verification.status is Status.NOT_CHECKED:
            raise too_large(verification)
        raise GuaranteeError(
            "The written files fail the check of their own guarantee; nothing was sealed.",
            hint="; ".join(verification.problems),
        )
    return written


def _write_internal(release: Release, making: Making, folder: Path, ending: str) -> Release:
    """Write witnesses and placement; return the release with their digests in its manifest."""
    manifest = release.manifest
    for name, content in making.plan.witnesses.items():
        (folder / name).write_bytes(content)
    assert isinstance(release.files, StagedFiles)
    placement = folder / PLACEMENT
    release.files.engine.write(release.files.placement_query, placement, "parquet")
    written: dict[str, Path] = {}
    if HiddenCells.FILE in manifest.witnesses or EARLIER in manifest.witnesses:
        # Only the placement has the line of a private cell, or of a person of an earlier release.
        written[PLACEMENT] = placement
    if not manifest.shape.has_lines:
        written[TUPLES] = folder / TUPLES
        kinds = release.files.written_tuples(manifest, ending)
        release.files.engine.write(kinds, written[TUPLES], "parquet")
    contents = {name: path.read_bytes() for name, path in written.items()}
    sealed = seal_witnesses(making.secret, contents)
    return replace(release, manifest=replace(manifest, witnesses={**manifest.witnesses, **sealed}))


def _write_data(
    release: Release, making: Making, folder: Path, ending: str, audit: Audit
) -> Release:
    """Write the data files; return the release as its documents state it."""
    files = release.files
    for name in release.names:
        written = files.written_query(name, release.manifest, ending)
        files.engine.write(written, folder / f"{name}.{ending}", ending)
    manifest = replace(
        release.manifest,
        format=ending,
        is_sealed=audit.accepted is not None or not release.manifest.is_test,
        version=version_for(release.meanings),
        documents=DOCUMENTS_VERSION,
        remarks=making.plan.remarks,
    )
    return replace(release, manifest=manifest)


def _write_documents(
    release: Release, making: Making, folder: Path, counted: Counted, audit: Audit
) -> Release:
    """Write all other public files; return the release with all digests in its manifest."""
    manifest = release.manifest
    scan = LeakScan(release, making, counted.values, audit.findings)
    for name, text in public_documents(release, making, counted, scan).items():
        (folder / name).parent.mkdir(exist_ok=True)
        _write_text(folder / name, text)
    if manifest.version == LABELS_IN_PARQUET:
        scan.refuse_labels(manifest)
        write_labels(release.files.engine, release.meanings, folder / manifest.labels_file)
    stated = replace(release, manifest=replace(manifest, files=digests_of(folder)))
    text = manifest_text(stated, scan)
    _write_text(folder / MANIFEST, text)
    return stated


def _refuse_identifying(making: Making, written: Release) -> None:
    """Check once more that no identifying column reached a data file."""
    for name in written.names:
        if set(written.files.columns(name)) & set(making.table.schema.identifying):
            raise DataError(
                f"{name} holds an identifying column; nothing was sealed.",
                hint="this is a bug in Shoal.",
            )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def digests_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder, by its relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): digest(path) for path in files}
