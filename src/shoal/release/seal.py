"""Write a release whole or not at all.

Both folders are made under temporary names beside their places, synced to disk, and verified from
what was written. Only then are they moved into place: whenever the machine stops, the old release
stands there, or none, or the new one (see `shoal.pipeline.placing`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from shoal.core.errors import DataError, GuaranteeError, ParameterError
from shoal.core.hidden_cells import HiddenCells
from shoal.core.method import Shape
from shoal.core.release import FORMATS
from shoal.engines.laid_out import LaidOut
from shoal.pipeline.documents import (
    DOCUMENTS_VERSION,
    MANIFEST,
    REPORT,
    Counted,
    count_for_documents,
    manifest_text,
    public_documents,
    steward_report,
)
from shoal.pipeline.earlier_places import EARLIER
from shoal.pipeline.people_at_risk import AtRisk, people_at_risk
from shoal.pipeline.placing import Place, claimed
from shoal.pipeline.record import RECORD, GateRecord, record_of
from shoal.pipeline.release import PLACEMENT, Making, Release, open_release
from shoal.pipeline.risk_file import write_risk
from shoal.pipeline.sliced_people import TUPLES
from shoal.pipeline.syncing import sync
from shoal.pipeline.verify import Status, too_large, verify_opened
from shoal.pipeline.witnesses import seal_witnesses

__all__ = ["check_writing", "digests_of", "seal", "write_release"]


def write_release(
    release: Release,
    folder: Path,
    ending: str,
    *,
    replace: bool,
    accept_risk: str | None,
) -> Path:
    """Write the two folders of a release; see `Release.write`."""
    check_writing(ending, accept_risk)
    with claimed(folder, replace=replace) as place:
        return seal(release, place, ending, accept_risk=accept_risk)


def check_writing(ending: str, accept_risk: str | None) -> None:
    """Refuse a format that does not exist, and a reason that says nothing."""
    if ending not in FORMATS:
        raise ParameterError(f"format must be csv or parquet, not {ending!r}.")
    if accept_risk is not None and not accept_risk.strip():
        raise ParameterError("accept_risk must say why the risk is accepted.")


def seal(
    release: Release,
    place: Place,
    ending: str,
    *,
    accept_risk: str | None,
    gate: GateRecord | None = None,
    confirm: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> Path:
    """Write the two folders of a release into a place that this process holds.

    Parameters
    ----------
    release
        What is written.
    place
        Where to.
    ending
        The format of the data files.
    accept_risk
        Why a test release may be sealed all the same.
    gate
        What the gate said, for the internal files; default: it was not asked.
    confirm
        Called with the SHA-256 of every public file before anything is moved into place; what it
        raises leaves nothing behind.

    Returns
    -------
    The public folder.
    """
    if release.making is None:
        raise ParameterError(
            "An opened release is written already.", hint="copy its folder instead."
        )
    counted = count_for_documents(release)
    # The same is counted again from what is written; there is no room for both.
    release.forget_counts()
    with place.new_folders() as (new_public, new_internal):
        _write_internal(release, release.making, new_internal)
        is_accepted = accept_risk is not None
        _write_public(release, release.making, new_public, ending, counted, is_accepted=is_accepted)
        # Data files may be large: they were hashed for the manifest.
        files = {**release.manifest.files, MANIFEST: _digest(new_public / MANIFEST)}
        said = GateRecord() if gate is None else gate
        record = record_of(release, release.making, ending, files, accept_risk, said)
        _write_text(new_internal / RECORD, record)
        risks = _examine(release, release.making, new_public, new_internal)
        report = steward_report(
            *(release.manifest, release, release.making, risks),
            accepted=accept_risk,
            gate=said,
        )
        _write_text(new_internal / REPORT, report)
        confirm(files)
        for path in (*new_public.rglob("*"), *new_internal.rglob("*"), new_public, new_internal):
            sync(path)
        place.move_in()
    release.folder, release.internal = place.folder, place.internal
    return place.folder


def _examine(release: Release, making: Making, folder: Path, internal: Path) -> dict[str, AtRisk]:
    """Verify what was written, from the files, and write down who is at risk."""
    # Raises an error of the system where the folder vanished meanwhile.
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
            "What was written fails the check of its own guarantee; nothing was sealed.",
            hint="; ".join(verification.problems),
        )
    risks = people_at_risk(written, release.findings)
    write_risk(written, internal, release.findings)
    written.forget_counts()
    return risks


def _write_internal(release: Release, making: Making, folder: Path) -> None:
    manifest = release.manifest
    for name, content in making.plan.witnesses.items():
        (folder / name).write_bytes(content)
    assert isinstance(release.files, LaidOut)
    placement = folder / PLACEMENT
    release.files.engine.write(release.files.placement_query, placement, "parquet")
    written: dict[str, Path] = {}
    if HiddenCells.FILE in manifest.witnesses or EARLIER in manifest.witnesses:
        # Which line a private cell, or a person of an earlier release, stands in, it says alone.
        written[PLACEMENT] = placement
    if manifest.shape is Shape.SLICED:
        written[TUPLES] = folder / TUPLES
        release.files.engine.write(release.files.tuple_query, written[TUPLES], "parquet")
    contents = {name: path.read_bytes() for name, path in written.items()}
    sealed = seal_witnesses(making.secret, contents)
    release.manifest = replace(manifest, witnesses={**manifest.witnesses, **sealed})


def _write_public(
    release: Release,
    making: Making,
    folder: Path,
    ending: str,
    counted: Counted,
    *,
    is_accepted: bool,
) -> None:
    files = release.files
    for name in release.names:
        written = files.written_query(name, release.manifest, ending)
        files.engine.write(written, folder / f"{name}.{ending}", ending)
    manifest = replace(
        release.manifest,
        format=ending,
        is_sealed=is_accepted or not release.manifest.is_test,
        documents=DOCUMENTS_VERSION,
        remarks=making.plan.remarks,
    )
    for name, text in public_documents(manifest, release, making, counted).items():
        (folder / name).parent.mkdir(exist_ok=True)
        _write_text(folder / name, text)
    release.manifest = replace(manifest, files=digests_of(folder))
    _write_text(folder / MANIFEST, manifest_text(release.manifest, release, making, counted))


def _refuse_identifying(making: Making, written: Release) -> None:
    """Look once more whether an identifying column reached a data file."""
    for name in written.names:
        if set(written.files.columns(name)) & set(making.table.schema.identifying):
            raise DataError(
                f"{name} holds an identifying column; nothing was sealed.",
                hint="this is a bug in Shoal.",
            )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def digests_of(folder: Path) -> dict[str, str]:
    """Give the SHA-256 of every file in a folder, by its name there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _digest(path) for path in files}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
