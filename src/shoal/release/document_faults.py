"""Faults in how a release is written: every file is made again, and compared byte by byte.

What can be counted in a file is not all that it holds. Lines have one order and files one form, so
every data file follows, byte for byte, from what can be read in it; and public documents follow
from the manifest and the public files. A foreign page could run a script, load something over the
network and so reveal its readers, or simply lie; a document that differs from what follows was not
written by Shoal. Documents of another version of the renderer cannot be made again: they are held
to one policy, one style sheet and the elements that Shoal writes, and `verify` says that it did not
check what they say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import ParseError, fromstring

from shoal.core.display import printable
from shoal.core.manifest import FORMAT_VERSION, Manifest
from shoal.core.release import Published
from shoal.core.shapes import BUCKET, COUNT
from shoal.engines.sql.sorting import are_written_alike, parquet_faults, rewritten_digest
from shoal.release.content_faults import hierarchy_faults
from shoal.release.documents import (
    CODEBOOK,
    DDI,
    DOCUMENTS_VERSION,
    LABELS,
    MANIFEST,
    REPORT,
    count_of,
    documents_of,
)
from shoal.release.opened import Release
from shoal.release.views import DUCKDB_VIEWS, POSTGRES_VIEWS, view_files
from shoal.report.codebook import DDI_NAMESPACE
from shoal.report.markup import POLICY, STYLE


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
    """Return the entries of one object that another lacks, as ASCII."""
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
    """Write the files of a release again, and compare them with those in its folder.

    Returns the faults, and notes on what could not be compared because another version wrote it.
    """
    published = release.published
    faults = [*document_faults(folder, published), *hierarchy_faults(folder, published)]
    further, unlike = _form_of_data(release, folder)
    version = release.manifest.documents
    unchecked = () if are_documents_checked(release.manifest) else (version,)
    notes = [f"documents not checked (version {one})" for one in unchecked]
    return faults + further, (*notes, *unlike)


def _form_of_data(release: Release, folder: Path) -> tuple[list[str], list[str]]:
    """Compare the form of data files with the form that this version writes."""
    manifest, faults = release.manifest, []
    if manifest.version < FORMAT_VERSION:
        return [], [f"order and form of lines not checked (format version {manifest.version})"]
    if manifest.format == "parquet":
        paths = [folder / f"{name}.parquet" for name in manifest.data_names]
        faults = [fault for path in paths for fault in parquet_faults(release.files, path)]
        if faults or not are_written_alike(release.files, paths):
            return faults, ["form of Parquet files not checked (written by another DuckDB)"]
    return _changed(release), []


def _changed(release: Release) -> list[str]:
    """Find data files that hold more than their content, or hold it in another order."""
    manifest = release.manifest
    faults = []
    for name in manifest.data_names:
        file = f"{name}.{manifest.format}"
        digest = rewritten_digest(release.files, name, manifest, release.meanings)
        if digest != manifest.files[file]:
            faults.append(
                f"{file} is not written as Shoal writes it: its lines have another order, or it "
                "holds more than its lines"
            )
    return faults


_DOCUMENTS = (CODEBOOK, DDI, LABELS, REPORT, DUCKDB_VIEWS, POSTGRES_VIEWS)
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
_PROLOG = b'<?xml version="1.0" encoding="UTF-8"?>'


def are_documents_checked(manifest: Manifest) -> bool:
    """Return whether the documents were made by this version of the renderer."""
    return manifest.documents == DOCUMENTS_VERSION


def document_faults(folder: Path, published: Published) -> list[str]:
    """List the faults in the documents of a public folder."""
    manifest = published.manifest
    if are_documents_checked(manifest):
        made = documents_of(manifest, published.meanings, count_of(published))
        return [*_differing(folder, made, manifest)]
    faults = [
        f"{name} is missing" for name in (CODEBOOK, DDI, REPORT) if name not in manifest.files
    ]
    if faults:
        return faults
    views = view_files(manifest)
    return [
        *_differing(folder, views, manifest, (DUCKDB_VIEWS, POSTGRES_VIEWS)),
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
    style = f"<style>{STYLE}</style>"
    if rest.count(style) != 1 or not all(map(_is_known, _pieces(rest.replace(style, "")))):
        yield (
            f"{REPORT} holds another style, a comment, a link out of it, or an element that Shoal "
            "does not write"
        )


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
