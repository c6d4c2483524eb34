"""Faults of a release whatever it guarantees: in its manifest, its folder, and how it is written.

A guarantee is derived anew from what can be counted. These are the ways in which a release could
hold more than is counted, or be read differently from how it is counted. Messages name files and
columns, never a value.

Lines have one order and files one form, so every data file follows, byte for byte, from what can be
read in it; and public documents follow from the manifest and the public files. Each file is written
again and compared. A foreign page could run a script, load something over the network and so reveal
its readers, or simply lie. Documents of another version of the renderer cannot be made again: they
are held to one policy, one style sheet and the elements that Shoal writes, and `verify` says that
it did not check what they say.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import ParseError, fromstring

from shoal.core import registry
from shoal.core.declared import parameters_of
from shoal.core.display import printable
from shoal.core.domain import Role
from shoal.core.guarantees import Guarantee, MConfidentiality
from shoal.core.manifest import FORMATS, LABELS_IN_PARQUET, PLAIN_VERSION, Manifest
from shoal.core.release import Published
from shoal.core.shapes import BUCKET, COUNT
from shoal.engines.files import digest
from shoal.engines.sql.sorting import are_written_alike, parquet_faults, rewritten_digest
from shoal.release.content_faults import hierarchy_faults
from shoal.release.documents import (
    CODEBOOK,
    DDI,
    DOCUMENTS_VERSION,
    DUCKDB_VIEWS,
    LABELS,
    MANIFEST,
    POSTGRES_VIEWS,
    REPORT,
    count_of,
    documents_of,
    view_files,
)
from shoal.release.labels import labels_digest, version_for
from shoal.release.opened import Release, hierarchy_file
from shoal.report.codebook import DDI_NAMESPACE
from shoal.report.markup import POLICY, STYLE

_VIEWS = (DUCKDB_VIEWS, POSTGRES_VIEWS)
_DOCUMENTS = (LABELS, CODEBOOK, DDI, REPORT, *_VIEWS)
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
    if manifest.version == LABELS_IN_PARQUET and manifest.labels_file not in manifest.files:
        faults.append(f"format version {manifest.version} is that of releases with labels.parquet")
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
    return faults + _recoding_faults(manifest)


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
    """Find digests, versions and names of witnesses that do not look like any."""
    faults = []
    digests = [*manifest.files.values(), *manifest.witnesses.values()]
    if not all(_DIGEST.fullmatch(str(one)) for one in digests):
        faults.append("the manifest states a digest that is not a SHA-256")
    if not all(map(_WITNESS.fullmatch, manifest.witnesses)):
        faults.append("the manifest names a witness that no file can be called")
    versions = manifest.versions.items()
    if not all(_VERSION.fullmatch(f"{name} {version}") for name, version in versions):
        faults.append("the manifest states a version of something other than software")
    return faults


def _public_names(manifest: Manifest) -> set[str]:
    """Return every file name that a release with these columns may have beside its manifest."""
    columns = (*manifest.columns_of(Role.QUASI), *manifest.columns_of(Role.SENSITIVE))
    if manifest.shape.hides_cells:
        # Labels of intervals follow no hierarchy.
        columns = ()
    data = {f"{name}.{manifest.format}" for name in manifest.data_names}
    views = _VIEWS if manifest.shape.numbers_buckets else ()
    documents = {CODEBOOK, DDI, REPORT, manifest.labels_file, *views}
    return data | documents | {hierarchy_file(column) for column in columns}


def _recoding_faults(manifest: Manifest) -> list[str]:
    if manifest.shape.hides_cells:
        return []
    return [
        f"the {column.role} column {column.name!r} is recoded, which only a quasi-identifier is"
        for column in manifest.columns
        if column.is_recoded and column.role in (Role.SENSITIVE, Role.INSENSITIVE)
    ]


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
        return None if digest(path) == stated else "was changed after it was sealed"
    except OSError:
        return "cannot be read"


def _shown(name: str) -> str:
    """Return a name that somebody else chose so that it cannot pass for a line of ours."""
    return name if name.isprintable() else ascii(name)


# How files are written ---------------------------------------------------------------------


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
        f"{MANIFEST} is not written as Shoal writes it: an entry occurs twice or has another form, "
        "or the file has other line ends"
    )
    return [fault]


def _unknown(stated: object, known: object, within: str = "") -> list[str]:
    """Return the entries of one object that another lacks, as ASCII."""
    if isinstance(stated, dict) and isinstance(known, dict):
        own = [ascii(f"{within}{name}") for name in stated if name not in known]
        shared = [name for name in stated if name in known]
        inner = [_unknown(stated[name], known[name], f"{within}{name}.") for name in shared]
        return own + list(chain.from_iterable(inner))
    if isinstance(stated, list) and isinstance(known, list):
        pairs = zip(stated, known, strict=False)
        return [name for one, other in pairs for name in _unknown(one, other, within)]
    return []


def written_faults(release: Release, folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Write the files of a release again, and compare them with those in its folder.

    Returns the faults, and notes on what could not be compared because another version wrote it.
    """
    published = release.published
    faults = [*_document_faults(folder, published), *hierarchy_faults(folder, published)]
    further, notes = _form_of_tables(release, folder)
    manifest = release.manifest
    if manifest.documents != DOCUMENTS_VERSION:
        notes.insert(0, f"documents not checked (version {manifest.documents})")
    elif manifest.version != version_for(release.meanings):
        faults.append(f"{manifest.labels_file} is not the form for as many labels as there are")
    return faults + further, tuple(notes)


def _form_of_tables(release: Release, folder: Path) -> tuple[list[str], list[str]]:
    """Compare the form of data files, and of labels in Parquet, with what this version writes."""
    manifest = release.manifest
    if manifest.version < PLAIN_VERSION:
        return [], [f"order and form of lines not checked (format version {manifest.version})"]
    tables = {f"{name}.{manifest.format}": name for name in manifest.data_names}
    names = [*tables, *([manifest.labels_file] if manifest.version == LABELS_IN_PARQUET else [])]
    paths = [folder / name for name in names if name.endswith(".parquet")]
    faults = [fault for path in paths for fault in parquet_faults(release.files, path)]
    notes = []
    if paths and (faults or not are_written_alike(release.files, paths)):
        names = [name for name in names if not name.endswith(".parquet")]
        notes = ["form of Parquet files not checked (written by another DuckDB)"]
    return faults + list(_changed(release, {name: tables.get(name) for name in names})), notes


def _changed(release: Release, names: Mapping[str, str | None]) -> Iterator[str]:
    """Find files that hold more than their content, or hold it in another order.

    `names` has the name of the data file without its ending, or None for the labels.
    """
    manifest, meanings = release.manifest, release.meanings
    for file, name in names.items():
        if name is None:
            written = labels_digest(release.files.engine, meanings)
        else:
            written = rewritten_digest(release.files, name, manifest, meanings)
        if written != manifest.files[file]:
            yield (
                f"{file} is not written as Shoal writes it: its lines have another order, or it "
                "holds more than its lines"
            )


_TAGS = frozenset(
    (
        *("html", "head", "meta", "title", "style", "body", "main", "nav", "h1", "h2", "h3"),
        *("p", "ul", "ol", "li", "a", "div", "bdi", "em", "strong", "code", "span", "figure"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("svg", "desc", "rect", "text", "circle", "path", "g"),
    )
)
_ATTRIBUTES = frozenset(
    (
        *("class", "id", "href", "scope", "lang", "xmlns", "viewBox", "width", "height", "role"),
        *("d", "x", "y", "cx", "cy", "r", "fill", "stroke", "stroke-width", "stroke-dasharray"),
        *("transform", "text-anchor", "font-family", "font-size", "font-weight"),
        *("shape-rendering", "aria-labelledby"),
    )
)
_BEGINNING = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="referrer" content="no-referrer">'
)
_ELEMENT = re.compile(r'<(/?)([a-z][a-z0-9]*)((?:[ \n]+[A-Za-z-]+="[^"<>]*")*)/?>')
_ATTRIBUTE = re.compile(r'[ \n]([A-Za-z-]+)="([^"<>]*)"')
_MARKUP = re.compile(r"<[A-Za-z!/?]")
# The digests of the style sheets of earlier versions of the renderer.
_EARLIER_STYLES = frozenset(
    ("d8a8c8dc1c26b252f1200001298d84699d2464aebc96ecce22bf1b88e5d48074",)  # version 1
)
_PROLOG = b'<?xml version="1.0" encoding="UTF-8"?>'


def _document_faults(folder: Path, published: Published) -> list[str]:
    """List the faults in the documents of a public folder."""
    manifest = published.manifest
    if manifest.documents == DOCUMENTS_VERSION:
        made = documents_of(manifest, published.meanings, count_of(published))
        return list(_differing(folder, made, manifest))
    faults = [
        f"{name} is missing" for name in (CODEBOOK, DDI, REPORT) if name not in manifest.files
    ]
    if faults:
        return faults
    return [
        *_differing(folder, view_files(manifest), manifest, _VIEWS),
        *_report_faults(folder / REPORT),
        *_codebook_faults(folder / DDI, manifest),
        *_markdown_faults(folder / CODEBOOK),
    ]


def _differing(
    folder: Path, made: dict[str, str], manifest: Manifest, names: tuple[str, ...] = _DOCUMENTS
) -> Iterator[str]:
    """Compare files with what follows from the rest of the release."""
    for name in names:
        if name not in made and name not in manifest.files:
            continue
        if name not in manifest.files:
            yield f"{name} is missing"
        elif name not in made or made[name].encode() != (folder / name).read_bytes():
            yield f"{name} is not what follows from the manifest and the data files"


def _report_faults(path: Path) -> Iterator[str]:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        yield f"{REPORT} is not UTF-8"
        return
    if not text.startswith(_BEGINNING):
        yield f"{REPORT} does not forbid itself, in the words of Shoal, to load or run anything"
        return
    rest = text.removeprefix(_BEGINNING)
    before, _, styled = rest.partition("<style>")
    style, _, after = styled.partition("</style>")
    if not _is_own(style) or not all(map(_is_known, _pieces(before + after))):
        yield (
            f"{REPORT} holds another style, a comment, a link out of it, or an element that Shoal "
            "does not write"
        )


def _is_own(style: str) -> bool:
    """Return whether a style sheet is that of this version of the renderer or of an earlier one."""
    return style == STYLE or hashlib.sha256(style.encode()).hexdigest() in _EARLIER_STYLES


def _pieces(text: str) -> Iterator[str]:
    """Split a page where an element begins; no browser sees another element in between."""
    first, *others = text.split("<")
    yield first
    yield from (f"<{piece}" for piece in others)


def _is_known(piece: str) -> bool:
    if not piece.startswith("<"):
        return True
    found = _ELEMENT.match(piece)
    if found is None or found[2] not in _TAGS - {"meta", "style"} or (found[1] and found[3]):
        return False
    given = dict(_ATTRIBUTE.findall(found[3]))
    return set(given) <= _ATTRIBUTES and given.get("href", "#").startswith("#")


def _markdown_faults(path: Path) -> Iterator[str]:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        yield f"{CODEBOOK} is not UTF-8"
        return
    if _MARKUP.search(text) or "](" in text:
        yield f"{CODEBOOK} holds HTML or a link, which Shoal does not write"


def _codebook_faults(path: Path, manifest: Manifest) -> Iterator[str]:
    content = path.read_bytes()
    # Entities could grow without end, or name files; a style sheet could be anywhere.
    if not content.startswith(_PROLOG) or b"<!" in content or content.count(b"<?") > 1:
        yield f"{DDI} declares more than a codebook needs"
        return
    try:
        root = fromstring(content)  # noqa: S314 - nothing is declared in it
    except (ParseError, ValueError, LookupError):
        yield f"{DDI} is not well-formed XML"
        return
    inside = f"{{{DDI_NAMESPACE}}}"
    if root.tag != f"{inside}codeBook" or any(
        not one.tag.startswith(inside) for one in root.iter()
    ):
        yield f"{DDI} is not a DDI codebook"
        return
    own = {BUCKET, COUNT}
    named = {one.get("name") for one in root.iter(f"{inside}var")}
    if named | own != {printable(one.name) for one in manifest.columns} | own:
        yield f"{DDI} does not describe the columns of the manifest"
