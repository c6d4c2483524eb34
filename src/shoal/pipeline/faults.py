"""What is wrong with a release whatever it guarantees: its files, its counts, its labels.

A guarantee is re-derived from what can be counted. These are the ways in which a release could be
counted otherwise than its reader reads it, or hold more than is counted. Faults are put in words
that name files and columns, never a value.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal.checks.sliced_diversity import is_matched_twice
from shoal.core import registry
from shoal.core.domain import SUPPRESSED
from shoal.core.guarantees import BucketSize, Guarantee, MConfidentiality
from shoal.core.method import Shape
from shoal.core.release import (
    FORMATS,
    Manifest,
    Published,
    PublishedColumn,
)
from shoal.core.rows import Rows
from shoal.core.schema import Role
from shoal.core.sliced import Sliced
from shoal.pipeline.documents import CODEBOOK, DDI, LABELS, MANIFEST, REPORT
from shoal.pipeline.label_faults import label_faults
from shoal.pipeline.release import hierarchy_file
from shoal.pipeline.views import DUCKDB_VIEWS, POSTGRES_VIEWS

__all__ = ["content_faults", "file_faults", "manifest_faults"]

# What is not named is not published.
_DOCUMENTS = (LABELS, CODEBOOK, DDI, REPORT)
_WITNESS = re.compile(r"[a-z_]{1,40}\.(json|parquet|toml)")
_DIGEST = re.compile("[0-9a-f]{64}")
_VERSION = re.compile(r"(shoal|engine) (?=.*\d)[0-9A-Za-z.+!_ ()-]{1,60}")


def manifest_faults(manifest: Manifest) -> list[str]:
    """Say what a manifest states that no release can have."""
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
    if manifest.shape is Shape.SUPPRESSED:
        faults += _suppressed_faults(manifest)
    faults += [*_slice_faults(manifest), *_parameter_faults(manifest), *_entry_faults(manifest)]
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


def _suppressed_faults(manifest: Manifest) -> list[str]:
    """Find what would keep a checker from looking at all that is published."""
    faults = []
    if manifest.columns_of(Role.INSENSITIVE):
        faults.append("a suppressed release has no insensitive columns: rules may go by them")
    if not any(column.n_suppressed for column in manifest.columns):
        faults.append("nothing is suppressed, so what is guaranteed would hold of anything")
    return faults


def _parameter_faults(manifest: Manifest) -> list[str]:
    """Compare the parameters of the method with the guarantees, and with those that it has.

    Of a method that comes with no version of Shoal, nothing is known: no plug-in is loaded here.
    """
    faults = [
        f"the parameters of the method contradict {guarantee.name}"
        for guarantee in manifest.guarantees
        if _is_contradicted(guarantee, manifest.parameters)
    ]
    if manifest.method not in registry.names("shoal.methods"):
        return faults
    known = {field.name for field in fields(registry.find("shoal.methods", manifest.method))}
    unknown = sorted(set(manifest.parameters) - known)
    return faults + [f"the method has no parameter {_shown(name)}" for name in unknown[:5]]


def _is_contradicted(guarantee: Guarantee, parameters: Mapping[str, object]) -> bool:
    if parameters.get("on_infeasible", "error") != "error":
        # What could not be reached is not promised.
        return False
    stated = guarantee.to_dict()
    shared = [name for name in stated if parameters.get(name) is not None]
    return any(_exact(parameters[name]) != _exact(stated[name]) for name in shared)


def _exact(stated: object) -> object:
    """Return a number as such, however it is written."""
    try:
        return Fraction(str(stated))
    except (ValueError, ZeroDivisionError):
        return stated


def _entry_faults(manifest: Manifest) -> list[str]:
    """Find texts where a version, a digest or the name of a witness is stated."""
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


def _slice_faults(manifest: Manifest) -> list[str]:
    """Compare the columns of attributes with the columns that are published."""
    if manifest.shape is not Shape.SLICED:
        return ["only a sliced release has columns of attributes"] if manifest.slices else []
    if manifest.columns_of(Role.INSENSITIVE):
        return ["a sliced release has no insensitive columns: they would be linked to nobody"]
    named = {name for attributes in manifest.slices for name in attributes}
    if named != {column.name for column in manifest.columns}:
        return ["the columns of attributes do not hold every published column, and these alone"]
    return [
        f"the parameter {name} of the method says otherwise than the release"
        for name in _contradicted(manifest)
    ]


def _contradicted(manifest: Manifest) -> list[str]:
    """Name the parameters of slicing that what else the manifest states does not bear out."""
    stated, slices = manifest.parameters, [list(names) for names in manifest.slices]
    is_shared = sum(map(len, slices)) > len({name for names in slices for name in names})
    columns, frequency = stated.get("columns"), stated.get("min_frequency")
    size = stated.get("bucket_size")
    sizes = [one.k for one in manifest.guarantees if isinstance(one, BucketSize)]
    found = {
        "columns": isinstance(columns, list) and columns != slices,
        "overlap": is_shared and stated.get("overlap") is not True,
        # What is no whole number would not be compared with the data.
        "min_frequency": frequency is not None and type(frequency) is not int,
        "bucket_size": size is not None and sizes != [size],
    }
    return [name for name, is_contradicted in found.items() if is_contradicted]


def _public_names(manifest: Manifest) -> set[str]:
    """Name every file that a release with these columns may have beside its manifest."""
    columns = (*manifest.columns_of(Role.QUASI), *manifest.columns_of(Role.SENSITIVE))
    if manifest.shape is Shape.SUPPRESSED:
        columns = ()
    data = {f"{name}.{manifest.format}" for name in manifest.data_files}
    has_views = manifest.shape in (Shape.BUCKETIZED, Shape.SLICED)
    data |= {DUCKDB_VIEWS, POSTGRES_VIEWS} if has_views else set()
    return data | set(_DOCUMENTS) | {hierarchy_file(column) for column in columns}


def _wrongly_recoded(manifest: Manifest) -> list[PublishedColumn]:
    if manifest.shape is Shape.SUPPRESSED:
        return []
    return [
        column
        for column in manifest.columns
        if column.is_recoded and column.role in (Role.SENSITIVE, Role.INSENSITIVE)
    ]


def _recoding_fault(column: PublishedColumn) -> str:
    return f"the {column.role} column {column.name!r} is recoded, which only a quasi-identifier is"


def file_faults(folder: Path, manifest: Manifest) -> list[str]:
    """Compare the files of a folder with what the manifest says of them."""
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
    """Give every file and folder below a folder, with its mode.

    Links are not followed, and of a folder that is not known nothing more is said than that it is
    there.
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
    """Write a name of somebody else's making so that it cannot pass for a line of ours."""
    return name if name.isprintable() else ascii(name)


def content_faults(published: Published) -> list[str]:
    """Say what the published files hold that their manifest, labels or guarantees do not bear."""
    faults = [*_count_faults(published), *_suppression_faults(published), *label_faults(published)]
    if published.sliced is not None:
        faults += _frequency_faults(published.manifest, published.sliced)
        faults += _cutting_faults(published.manifest, published.sliced)
    return faults + _protection_faults(published)


def _cutting_faults(manifest: Manifest, sliced: Sliced) -> list[str]:
    """Find buckets that strict cuts do not make, where the method's parameters say so."""
    stated = manifest.parameters
    if stated.get("cuts") != "strict" or stated.get("buckets") != "mondrian":
        return []
    inferred: tuple[str | None, ...] = sliced.layout.sensitive or (None,)
    if any(is_matched_twice(sliced, sensitive) for sensitive in inferred):
        return ["cuts are said to be strict, but equal values stand in several buckets"]
    return []


def _frequency_faults(manifest: Manifest, sliced: Sliced) -> list[str]:
    """Find columns whose known values are rarer than the method's parameters say."""
    stated = manifest.parameters.get("min_frequency")
    if not isinstance(stated, int):
        return []
    faults = []
    for place, column in enumerate(sliced.columns, start=1):
        known = [name for name in column.attributes if name in sliced.layout.known]
        rarest = int(column.values.select(known).counts.min(initial=stated)) if known else stated
        if rarest < stated:
            faults.append(f"column_{place} holds a value {rarest} times, not {stated} at least")
    return faults


def _count_faults(published: Published) -> list[str]:
    manifest = published.manifest
    faults = []
    if published.lines.n_rows != manifest.n_rows:
        faults.append(
            f"the manifest states {manifest.n_rows} rows, the data have {published.lines.n_rows}"
        )
    if published.n_buckets != manifest.n_buckets:
        faults.append(
            f"the manifest states {manifest.n_buckets} buckets, the data have {published.n_buckets}"
        )
    if published.lines.n_rows == 0:
        faults.append("the data have no rows, so there is nothing to guarantee")
    if published.buckets is not None and not np.array_equal(
        published.buckets.sizes, published.bucket_sizes
    ):
        faults.append("sensitive does not hold as many values as quasi has lines in each bucket")
    return faults


def _suppression_faults(published: Published) -> list[str]:
    """Find `*` where nothing is suppressed: it would count as one more value."""
    manifest = published.manifest
    if published.rows is not None:
        return _suppressed_cell_faults(manifest, published.rows)
    recoded = {column.name for column in manifest.columns if column.is_recoded}
    return [
        f"the column {domain.column!r} holds {SUPPRESSED!r}, but no value of it is suppressed"
        for domain in published.domains
        if domain.column not in recoded and SUPPRESSED in domain.texts
    ]


def _suppressed_cell_faults(manifest: Manifest, rows: Rows) -> list[str]:
    stated = {column.name: column.n_suppressed for column in manifest.columns}
    counted = dict(zip(rows.columns, rows.is_hidden.sum(axis=0).tolist(), strict=True))
    return [
        f"the manifest states {stated[column]} suppressed cells of column {column!r}, the data "
        f"have {n_suppressed}"
        for column, n_suppressed in counted.items()
        if n_suppressed != stated[column]
    ]


def _protection_faults(published: Published) -> list[str]:
    """Find guarantees about values that occur nowhere: they hold whatever is published."""
    if published.buckets is None:
        return []
    domain = published.buckets.domain
    faults = []
    for guarantee in published.manifest.guarantees:
        protect: tuple[str | None, ...] = getattr(guarantee, "protect", ())
        n_absent = int(np.count_nonzero(domain.codes_of(list(protect)) < 0))
        # What was distorted may have been the last of its kind.
        if n_absent and not isinstance(guarantee, MConfidentiality):
            faults.append(
                f"{guarantee.name}: {n_absent} of the {len(protect)} protected values occur "
                "nowhere in the release"
            )
    return faults
