"""What is wrong with the form of a release's files: they are written again, and compared.

What can be counted in a file is not all that it holds. Lines have one order and files one form, so
every file follows, byte for byte, from what can be read in it.
"""

from __future__ import annotations

import json
from pathlib import Path

from shoal.core.release import FORMAT_VERSION, Manifest
from shoal.engines.rewriting import are_written_alike, parquet_faults, rewritten_digest
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
    published = release.published
    faults = [*document_faults(folder, published), *hierarchy_faults(folder, published)]
    further, unlike = _form_of_data(release, folder)
    version = release.manifest.documents
    unchecked = () if are_documents_checked(release.manifest) else (version,)
    notes = [f"documents not checked (version {one})" for one in unchecked]
    return faults + further, (*notes, *unlike)


def _form_of_data(release: Release, folder: Path) -> tuple[list[str], list[str]]:
    """Compare the form of data files with the one that this version gives them."""
    manifest, faults = release.manifest, []
    if manifest.version < FORMAT_VERSION:
        return [], [f"order and form of lines not checked (format version {manifest.version})"]
    if manifest.format == "parquet":
        paths = [folder / f"{name}.parquet" for name in manifest.data_files]
        faults = [fault for path in paths for fault in parquet_faults(release.files, path)]
        if faults or not are_written_alike(release.files, paths):
            return faults, ["form of Parquet files not checked (written by another DuckDB)"]
    return _changed(release), []


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
