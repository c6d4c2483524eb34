"""What is wrong with the documents of a release: that they are there, can be read, and do nothing.

A page or an XML file of strangers could run a script, or ask for something over the network and so
tell who reads it. Those that Shoal writes hold no such thing; one that does was not written by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree.ElementTree import ParseError, fromstring

from shoal.core.release import BUCKET, COUNT, Manifest
from shoal.pipeline.documents import CODEBOOK, DDI, REPORT
from shoal.report.ddi import DDI_NAMESPACE
from shoal.report.texts import printable

__all__ = ["document_faults"]

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
        *("lang", "charset", "content", "name", "http-equiv", "class", "id", "href", "scope"),
        *("xmlns", "viewbox", "width", "height", "role", "d", "x", "y", "cx", "cy", "r"),
        *("fill", "stroke", "stroke-width", "stroke-dasharray", "transform", "text-anchor"),
        *("font-family", "font-size", "font-weight", "shape-rendering", "aria-labelledby"),
    )
)
_FETCHING = re.compile(r"url\s*\(|@import|expression\s*\(|javascript:", re.IGNORECASE)
_PROLOG = b'<?xml version="1.0" encoding="UTF-8"?>'
_POLICY = "default-src 'none'"


def document_faults(folder: Path, manifest: Manifest) -> list[str]:
    """Say what is wrong with the documents that the manifest names, and which it lacks."""
    wanted = (CODEBOOK, DDI, REPORT)
    faults = [f"{name} is missing" for name in wanted if name not in manifest.files]
    if faults:
        return faults
    return [*_report_faults(folder / REPORT), *_codebook_faults(folder / DDI, manifest)]


def _report_faults(path: Path) -> Iterator[str]:
    try:
        reader = _Reader(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        yield f"{REPORT} is not UTF-8"
        return
    if reader.is_active:
        yield f"{REPORT} holds a script, a link out of it, or an element that Shoal does not write"
    if not reader.has_policy:
        yield f"{REPORT} does not forbid itself to load or run anything"


class _Reader(HTMLParser):
    """Looks for what could run or be fetched."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.is_active = False
        self.has_policy = False
        self._is_style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._is_style = tag == "style"
        is_known = tag in _TAGS and set(given) <= _ATTRIBUTES
        is_outside = not given.get("href", "#").startswith("#")
        if tag == "meta" and "http-equiv" in given:
            is_policy = given["http-equiv"].lower() == "content-security-policy"
            self.has_policy |= is_policy and given.get("content", "").startswith(_POLICY)
            is_known &= is_policy
        if not is_known or is_outside:
            self.is_active = True

    def handle_endtag(self, tag: str) -> None:
        self._is_style &= tag != "style"

    def handle_data(self, data: str) -> None:
        if self._is_style and _FETCHING.search(data):
            self.is_active = True

    def unknown_decl(self, data: str) -> None:  # noqa: ARG002
        self.is_active = True

    def handle_pi(self, data: str) -> None:  # noqa: ARG002
        self.is_active = True


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
