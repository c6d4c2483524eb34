"""Faults of a release whatever it guarantees: in its manifest, and in the files of its folder.

A guarantee is derived anew from what can be counted. These are the ways in which a release could
hold more than is counted, or be read differently from how it is counted. Messages name files and
columns, never a value.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

from shoal.core import registry
from shoal.core.declared import parameters_of
from shoal.core.domain import Role
from shoal.core.guarantees import Guarantee, MConfidentiality
from shoal.core.manifest import FORMATS, Manifest, PublishedColumn
from shoal.release.documents import CODEBOOK, DDI, LABELS, MANIFEST, REPORT
from shoal.release.folder import hierarchy_file
from shoal.release.views import DUCKDB_VIEWS, POSTGRES_VIEWS

# A file that is not named here is not published.
_DOCUMENTS = (LABELS, CODEBOOK, DDI, REPORT)
_WITNESS = re.compile(r"[a-z_]{1,40}\.(json|parquet|toml)")
_DIGEST = re.compile("[0-9a-f]{64}")
_VERSION = re.compile(r"(shoal|engine) (?=.*\d)[0-9A-Za-z.+!_ ()-]{1,60}")


def manifest_faults(manifest: Manifest) -> list[str]:
    """List what a manifest states that no release can have."""
    faults = []
    if manifest.format not in FORMATS:
        faults.append("the manifest states a format that is neither csv nor parquet")
    else:
        allowed = _public_names(manifest)
        faults += [
            f"{_shown(name)} is not a file that a {manifest.shape} release has"
            for name in sorted(set(manifest.files) - allowed)
        ]
    if not manifest.guarantees:
        faults.append("the manifest states no guarantee")
    if manifest.statements != tuple(guarantee.statement for guarantee in manifest.guarantees):
        faults.append("the manifest says in words what its guarantees do not promise")
    if manifest.columns_of(Role.IDENTIFYING):
        faults.append("the manifest states an identifying column")
    faults += manifest.shape.faults(manifest)
    faults += [*_parameter_faults(manifest), *_entry_faults(manifest)]
    insensitive = manifest.columns_of(Role.INSENSITIVE)
    if any(column not in insensitive for columns in manifest.meant for column in columns):
        faults.append("meant names columns that are not insensitive")
    if _is_silent_about_distortion(manifest):
        faults.append("m-confidentiality is promised without saying that values were distorted")
    return faults + [_recoding_fault(column) for column in _wrongly_recoded(manifest)]


def _is_silent_about_distortion(manifest: Manifest) -> bool:
    promises = any(isinstance(one, MConfidentiality) for one in manifest.guarantees)
    sensitive = [column for column in manifest.columns if column.role is Role.SENSITIVE]
    return promises and not all(column.is_distorted for column in sensitive)


def _parameter_faults(manifest: Manifest) -> list[str]:
    """Compare the parameters of the method with the guarantees, and with its known parameters.

    Nothing is known of a method that does not come with Shoal: no plug-in is loaded here.
    """
    faults = [
        f"the parameters of the method contradict {guarantee.name}"
        for guarantee in manifest.guarantees
        if _is_contradicted(guarantee, manifest.parameters)
    ]
    if manifest.method not in registry.names("shoal.methods"):
        return faults
    known = parameters_of(registry.find("shoal.methods", manifest.method))
    unknown = sorted(set(manifest.parameters) - set(known))
    return faults + [f"the method has no parameter {_shown(name)}" for name in unknown[:5]]


def _is_contradicted(guarantee: Guarantee, parameters: Mapping[str, object]) -> bool:
    if parameters.get("on_infeasible", "error") != "error":
        # A guarantee that could not be reached is not promised.
        return False
    stated = guarantee.to_dict()
    shared = [name for name in stated if parameters.get(name) is not None]
    return any(_exact(parameters[name]) != _exact(stated[name]) for name in shared)


def _exact(stated: object) -> object:
    """Return a number as a fraction, however it is written."""
    try:
        return Fraction(str(stated))
    except (ValueError, ZeroDivisionError):
        return stated


def _entry_faults(manifest: Manifest) -> list[str]:
    """Find entries that are no version, no digest, or no name of a witness."""
    faults = []
    digests = [*manifest.files.values(), *manifest.witnesses.values()]
    if not all(_DIGEST.fullmatch(str(one)) for one in digests):
        faults.append("the manifest states a digest that is none")
    if not all(map(_WITNESS.fullmatch, manifest.witnesses)):
        faults.append("the manifest names a witness as no file is named")
    versions = manifest.versions.items()
    if not all(_VERSION.fullmatch(f"{name} {version}") for name, version in versions):
        faults.append("the manifest states a version of something else than software")
    return faults


def _public_names(manifest: Manifest) -> set[str]:
    """Return every file name that a release with these columns may have beside its manifest."""
    columns = (*manifest.columns_of(Role.QUASI), *manifest.columns_of(Role.SENSITIVE))
    if manifest.shape.hides_cells:
        # Labels of intervals follow no hierarchy.
        columns = ()
    data = {f"{name}.{manifest.format}" for name in manifest.data_names}
    data |= {DUCKDB_VIEWS, POSTGRES_VIEWS} if manifest.shape.numbers_buckets else set()
    return data | set(_DOCUMENTS) | {hierarchy_file(column) for column in columns}


def _wrongly_recoded(manifest: Manifest) -> list[PublishedColumn]:
    if manifest.shape.hides_cells:
        return []
    return [
        column
        for column in manifest.columns
        if column.is_recoded and column.role in (Role.SENSITIVE, Role.INSENSITIVE)
    ]


def _recoding_fault(column: PublishedColumn) -> str:
    return f"the {column.role} column {column.name!r} is recoded, which only a quasi-identifier is"


def file_faults(folder: Path, manifest: Manifest) -> list[str]:
    """Compare the files of a folder with those in the manifest."""
    stated = set(manifest.files) | {MANIFEST}
    folders = {str(Path(name).parent) for name in manifest.files}
    found = dict(_entries(folder, folders))
    faults = [f"{_shown(name)} is missing" for name in sorted(stated - set(found))]
    for name, mode in sorted(found.items()):
        fault = _kind_fault(mode, is_stated=name in stated, is_folder_of_stated=name in folders)
        if fault is None and name in manifest.files:
            fault = _digest_fault(folder / name, manifest.files[name])
        if fault is not None:
            faults.append(f"{_shown(name)} {fault}")
    return faults


def _entries(folder: Path, known: set[str], within: str = "") -> Iterator[tuple[str, int]]:
    """Yield every file and folder below a folder, with its mode.

    Links are not followed, and folders that are not known are not entered.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            name = f"{within}{entry.name}"
            yield name, mode
            if stat.S_ISDIR(mode) and name in known:
                yield from _entries(folder / entry.name, known, f"{name}/")


def _kind_fault(mode: int, *, is_stated: bool, is_folder_of_stated: bool) -> str | None:
    if stat.S_ISLNK(mode):
        return "is a link; a release holds files"
    if stat.S_ISDIR(mode) and is_folder_of_stated and not is_stated:
        return None
    if not is_stated:
        return "is not in the manifest"
    return None if stat.S_ISREG(mode) else "is not a file"


def _digest_fault(path: Path, stated: str) -> str | None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "cannot be read"
    return None if digest == stated else "was changed after it was sealed"


def _shown(name: str) -> str:
    """Return a name that somebody else chose so that it cannot pass for a line of ours."""
    return name if name.isprintable() else ascii(name)
