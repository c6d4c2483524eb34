"""Write a release whole or not at all.

Both folders are made under temporary names beside their places, synced to disk, and verified from
what was written. Then the old folders step aside, the internal folder takes its place and, last,
the public one: whenever the machine stops, the old release stands there, or none, or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shoal.core.errors import DataError, EngineError, GuaranteeError, ParameterError
from shoal.core.hierarchy_file import write_rows
from shoal.core.release import FORMAT_VERSION, FORMATS, INTERNAL_SUFFIX
from shoal.pipeline.attack import write_risk
from shoal.pipeline.release import Making, Release, hierarchy_file
from shoal.pipeline.verify import verify
from shoal.report.codebook import codebook

__all__ = ["refuse_existing", "write_release"]


def write_release(
    release: Release,
    folder: Path,
    ending: str,
    *,
    replace: bool,
    accept_risk: str | None,
) -> Path:
    """Write the two folders of a release; see `Release.write`."""
    if ending not in FORMATS:
        raise ParameterError(f"format must be csv or parquet, not {ending!r}.")
    if accept_risk is not None and not accept_risk.strip():
        raise ParameterError("accept_risk must say why the risk is accepted.")
    if release.making is None:
        raise ParameterError(
            "An opened release is written already.", hint="copy its folder instead."
        )
    internal = folder.with_name(folder.name + INTERNAL_SUFFIX)
    refuse_existing(folder, internal, replace=replace)
    with _temporary_folders(folder, internal) as (new_public, new_internal):
        _write_internal(release, release.making, new_internal, accept_risk)
        _write_public(
            release, release.making, new_public, ending, is_accepted=accept_risk is not None
        )
        verification = verify(new_public)
        if not verification.holds:
            raise GuaranteeError(
                "What was written fails the check of its own guarantee; nothing was sealed.",
                hint="; ".join(verification.problems),
            )
        write_risk(new_public, new_internal, release.findings)
        for path in (*new_public.rglob("*"), *new_internal.rglob("*"), new_public, new_internal):
            _sync(path)
        _move_into_place(((new_internal, internal), (new_public, folder)))
    release.folder, release.internal = folder, internal
    return folder


def refuse_existing(folder: Path, internal: Path, *, replace: bool) -> None:
    """Refuse a place where something stands, unless it is a release that may be replaced."""
    try:
        _refuse_existing(folder, internal, replace=replace)
    except OSError as error:
        raise _refused(error, folder) from None


def _refuse_existing(folder: Path, internal: Path, *, replace: bool) -> None:
    for path in (folder, internal):
        if path.exists() and not replace:
            raise ParameterError(
                f"{path} is there already.",
                hint="choose another name, or replace the release: --replace (in Python: "
                "replace=True). Publishing a table again with fresh randomness gives an adversary "
                "two views to compare.",
            )
    for path, mark in ((folder, "manifest.json"), (internal, "record.json")):
        if path.exists() and not (path / mark).exists() and any(_entries(path)):
            raise ParameterError(
                f"{path} is not a release, so it is not replaced.", hint="choose another name."
            )


def _entries(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        yield folder
        return
    yield from folder.iterdir()


@contextlib.contextmanager
def _temporary_folders(folder: Path, internal: Path) -> Iterator[tuple[Path, Path]]:
    """Make two private folders beside their later places; remove what is left of them."""
    mark = secrets.token_hex(4)
    temporary = tuple(path.with_name(f".{path.name}.new-{mark}") for path in (folder, internal))
    parents = [path for path in folder.parents if not path.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for path in temporary:
            path.mkdir(mode=0o700)
        yield temporary[0], temporary[1]
    except OSError as error:
        raise _refused(error, folder) from None
    finally:
        for path in temporary:
            shutil.rmtree(path, ignore_errors=True)
        if not folder.exists():
            for path in parents:
                with contextlib.suppress(OSError):
                    path.rmdir()


def _refused(error: OSError, folder: Path) -> EngineError:
    reason = os.strerror(error.errno) if error.errno else "unknown reason"
    hints = {
        errno.EACCES: "choose a folder that you may write to.",
        errno.EPERM: "choose a folder that you may write to.",
        errno.EROFS: "choose a folder that you may write to.",
        errno.ENOSPC: "free some space, or choose another disk.",
        errno.ENOTDIR: "a part of the path is a file.",
        errno.ENAMETOOLONG: "choose a shorter name: the internal folder's is longer still.",
    }
    return EngineError(
        f"The release cannot be written to {folder}: {reason}. Nothing was left behind.",
        hint=hints.get(error.errno or 0),
    )


def _write_internal(
    release: Release, making: Making, folder: Path, accept_risk: str | None
) -> None:
    manifest = release.manifest
    record = {
        "format_version": FORMAT_VERSION,
        "secret": making.secret.reveal(),
        "test": making.secret.is_test,
        "source": {
            "name": making.table.scan.name,
            "sha256": making.table.scan.digest,
            "rows": making.table.n_rows,
        },
        "method": {"name": manifest.method, "parameters": dict(manifest.parameters)},
        "configuration": dict(making.configuration),
        "versions": dict(manifest.versions),
        "seconds": {step: round(at, 6) for step, at in making.timings.items()},
        "dropped": {"rows": making.plan.drop.n_rows, "reason": making.plan.drop.reason},
        "accepted_risks": [] if accept_risk is None else [accept_risk],
    }
    _write_text(folder / "record.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    making.table.engine.write(
        f"SELECT row_key, bucket, line FROM published_{making.number} ORDER BY line",
        folder / "placement.parquet",
        "parquet",
    )


def _write_public(
    release: Release,
    making: Making,
    folder: Path,
    ending: str,
    *,
    is_accepted: bool,
) -> None:
    files = release.files
    for name, query in files.queries.items():
        written = files.typed_query(name, release.manifest) if ending == "parquet" else query
        files.engine.write(written, folder / f"{name}.{ending}", ending)
    if release.meanings:
        stated = {
            column: {label: meaning.to_dict() for label, meaning in labels.items()}
            for column, labels in release.meanings.items()
        }
        text = json.dumps(stated, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        _write_text(folder / "labels.json", text)
    for column, rows in making.hierarchies.items():
        path = folder / hierarchy_file(column)
        path.parent.mkdir(exist_ok=True)
        write_rows(path, rows)
    manifest = replace(
        release.manifest,
        format=ending,
        is_sealed=is_accepted or not release.manifest.is_test,
    )
    _write_text(folder / "codebook.md", codebook(manifest, release.meanings))
    _refuse_identifying(making, folder, ending)
    digests = {
        path.relative_to(folder).as_posix(): _digest(path)
        for path in folder.rglob("*")
        if path.is_file()
    }
    release.manifest = replace(manifest, files=digests)
    _write_text(folder / "manifest.json", release.manifest.to_json())


def _refuse_identifying(making: Making, folder: Path, ending: str) -> None:
    """Look once more whether an identifying column reached a data file."""
    identifying = set(making.table.schema.identifying)
    for path in folder.glob(f"*.{ending}"):
        columns = set(making.table.engine.scan(path).types)
        if columns & identifying:
            raise DataError(
                f"{path.name} holds an identifying column; nothing was sealed.",
                hint="this is a bug in Shoal.",
            )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move_into_place(moves: tuple[tuple[Path, Path], ...]) -> None:
    """Move the new folders into place; the public one, named last, makes the release appear."""
    mark = secrets.token_hex(4)
    aside = [(place, place.with_name(f".{place.name}.old-{mark}")) for _, place in reversed(moves)]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in (*aside, *moves):
            if source.exists():
                # Noted first: an interruption may come right after the move.
                done.append((source, target))
                source.rename(target)
        moves[-1][1].chmod(0o755)
        _sync(moves[-1][1].parent)
    except BaseException:
        for source, target in reversed(done):
            if target.exists() and not source.exists():
                target.rename(source)
        raise
    for _, old in aside:
        shutil.rmtree(old, ignore_errors=True)
