"""What is wrong with the form of a release's files: they are written again, and compared.

What can be counted in a file is not all that it holds. Lines have one order and files one form, so
every file follows, byte for byte, from what can be read in it.
"""

from __future__ import annotations

import json
from pathlib import Path

from shoal.core.release import FORMAT_VERSION, Manifest
from shoal.engines.rewriting import is_written_alike, rewritten_digest
from shoal.pipeline.document_faults import are_documents_checked, document_faults
from shoal.pipeline.documents import MANIFEST
from shoal.pipeline.label_faults import hierarchy_faults
from shoal.pipeline.release import Release

__all__ = ["form_faults", "written_faults"]


def form_faults(folder: Path, manifest: Manifest) -> list[str]:
    """Compare the bytes of a manifest with what it states."""
    given = (folder / MANIFEST).read_bytes()
    if given == manifest.to_json().encode():
        return []
    known = json.loads(manifest.to_json())
    unknown = _unknown(json.loads(given.decode("utf-8-sig")), known)
    if unknown:
        return [f"{MANIFEST} has entries that no manifest has: {', '.join(unknown[:5])}"]
    fault = (
        f"{MANIFEST} is not written as Shoal writes it: an entry stands there twice or has another "
        "form, or the file has other line ends"
    )
    return [fault]


def _unknown(stated: object, known: object, within: str = "") -> list[str]:
    """Name the entries of one object that another does not have; names are shown as ASCII."""
    if isinstance(stated, dict) and isinstance(known, dict):
        own = [ascii(f"{within}{name}") for name in stated if name not in known]
        pairs = [
            (stated[name], known[name], f"{within}{name}.") for name in stated if name in known
        ]
        return own + [one for pair in pairs for one in _unknown(*pair)]
    if isinstance(stated, list) and isinstance(known, list):
        pairs = [(a, b, within) for a, b in zip(stated, known, strict=False)]
        return [one for pair in pairs for one in _unknown(*pair)]
    return []


def written_faults(release: Release, folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Write the files of a release again, and compare them with what is there.

    Returns
    -------
    faults
        What is wrong.
    notes
        What could not be compared, because another version wrote it.
    """
    manifest = release.manifest
    faults = document_faults(folder, release.published)
    faults += hierarchy_faults(folder, release.published)
    notes = []
    if not are_documents_checked(manifest):
        notes.append(f"documents not checked (version {manifest.documents})")
    if manifest.version < FORMAT_VERSION:
        notes.append(f"order and form of lines not checked (format version {manifest.version})")
    elif manifest.format == "parquet" and not _is_written_alike(release, folder):
        notes.append("form of Parquet files not checked (written by another version of DuckDB)")
    else:
        faults += _changed(release)
    return faults, tuple(notes)


def _is_written_alike(release: Release, folder: Path) -> bool:
    paths = [folder / f"{name}.parquet" for name in release.manifest.data_files]
    return all(is_written_alike(release.files, path) for path in paths)


def _changed(release: Release) -> list[str]:
    """Find data files that hold more than their content, or hold it in another order."""
    manifest = release.manifest
    faults = []
    for name in manifest.data_files:
        file = f"{name}.{manifest.format}"
        digest = rewritten_digest(release.files, name, manifest, release.meanings)
        if digest != manifest.files[file]:
            faults.append(
                f"{file} is not written as Shoal writes it: its lines have another order, or it "
                "holds more than its lines"
            )
    return faults
