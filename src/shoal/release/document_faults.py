"""What is wrong with the documents of a release: they are made again, and compared byte by byte.

A page of strangers could run a script, ask for something over the network and so tell who reads it,
or simply lie. Public documents follow from the manifest and the public files, so one that differs
from what follows was not written by Shoal. Documents of another version of the renderer cannot be
made again: they are held to one policy, one style sheet and the elements that Shoal writes, and
`verify` says that it did not check what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import ParseError, fromstring

from shoal.core.release import BUCKET, COUNT, Manifest, Published
from shoal.pipeline.documents import (
    CODEBOOK,
    DDI,
    DOCUMENTS_VERSION,
    LABELS,
    REPORT,
    count_of,
    documents_of,
)
from shoal.pipeline.views import DUCKDB_VIEWS, POSTGRES_VIEWS, view_files
from shoal.report.ddi import DDI_NAMESPACE
from shoal.report.html import POLICY, STYLE
from shoal.report.texts import printable

__all__ = ["are_documents_checked", "document_faults"]

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
    """Whether the documents were made by the version of the renderer that runs here."""
    return manifest.documents == DOCUMENTS_VERSION


def document_faults(folder: Path, published: Published) -> list[str]:
    """Return what is wrong with the documents of a release folder.

    Parameters
    ----------
    folder
        The public folder.
    published
        What can be counted in its data files, with the manifest and the labels.
    """
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
    """Split a page where an element begins: no browser can see another one in between."""
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
