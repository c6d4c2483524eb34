"""Look through a public text for what must not be in it, before it is written.

A document is split into pieces: texts between tags and values of attributes, cells and lines of
Markdown, strings of JSON. A piece that the same document would hold for any table is ours, and so
is a name or value that is published. In what is left nothing may be found that would betray
somebody. Secrets, names of internal files and paths are looked for everywhere. What is found is
told by its kind, never by itself.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from shoal.core.errors import GuaranteeError
from shoal.report.texts import printable, shortened

__all__ = ["Unpublishable", "leaks", "pieces", "refuse_leaks"]

_FEWEST_DIGITS = 32
_HEX = re.compile(rf"(?<![0-9a-fA-F])[0-9a-fA-F]{{{_FEWEST_DIGITS},}}(?![0-9a-fA-F])")
_SEPARATORS = re.compile(r"(?<!\\)\||\n")
_MARKS = re.compile(r"^(#+|-|\*\*)\s*")
_SHOWN_LETTERS = 120
_MOST_COMMAS = 6


@dataclass(frozen=True, kw_only=True, repr=False)
class Unpublishable:
    """What a public file must not hold.

    Parameters
    ----------
    identifying
        Names of identifying columns.
    values
        Values of identifying columns.
    rare
        Values that fewer people carry than the guarantee allows to be named.
    keys
        Keys of rows.
    secrets
        Secrets and keys derived from them, in hexadecimal.
    internal
        Names and paths of internal files, of the table and of its folder.
    """

    identifying: Collection[str] = ()
    values: Collection[str] = ()
    rare: Collection[str] = ()
    keys: Collection[str] = ()
    secrets: Collection[str] = ()
    internal: Collection[str] = ()

    def __repr__(self) -> str:
        return f"Unpublishable({len(self.identifying)} columns, {len(self.rare)} rare values)"


def leaks(
    text: str,
    unpublishable: Unpublishable,
    expected: Collection[str] = (),
    digests: Collection[str] = (),
) -> tuple[str, ...]:
    """Say what kinds of things a text holds that must not be there.

    Parameters
    ----------
    text
        What is about to be published: HTML, XML, Markdown or JSON.
    unpublishable
        What must not be there.
    expected
        Pieces that may be there whatever they hold: our own sentences, published names and values.
    digests
        Long hexadecimal numbers that may be there, as the digests of files.

    Examples
    --------
    >>> leaks("<p><bdi>Ann Lee</bdi></p>", Unpublishable(values=["Ann Lee"]))
    ('a value of an identifying column',)
    >>> leaks("<p>The name is gone.</p>", Unpublishable(identifying=["name"]),
    ...     expected=["The name is gone."])
    ()
    """
    known = _as_shown(expected)
    rest = [part for piece in pieces(text) for part in _unexpected(piece, known)]
    kinds = {
        "the name of an identifying column": unpublishable.identifying,
        "a value of an identifying column": unpublishable.values,
        "a value that too few people carry": unpublishable.rare,
        "the key of a row": unpublishable.keys,
    }
    found = [kind for kind, terms in kinds.items() if _holds_any(rest, _as_shown(terms))]
    whole = html.unescape(text)
    lowered = whole.lower()
    if any(secret and secret.lower() in lowered for secret in unpublishable.secrets):
        found.append("a secret")
    elif any(number.group() not in digests for number in _HEX.finditer(whole)):
        found.append("a long hexadecimal number that is no digest of a file")
    if any(name and name in whole for name in unpublishable.internal):
        found.append("the name or path of an internal file")
    return tuple(found)


def refuse_leaks(
    name: str,
    text: str,
    unpublishable: Unpublishable,
    expected: Collection[str] = (),
    digests: Collection[str] = (),
) -> None:
    """Raise where a public file would hold what must not be there.

    Parameters
    ----------
    name
        The name of the file.
    text, unpublishable, expected, digests
        As `leaks` takes them.

    Raises
    ------
    GuaranteeError
        Naming the file and the kinds of things, never the things.
    """
    found = leaks(text, unpublishable, expected, digests)
    if found:
        raise GuaranteeError(
            f"{name} would hold {', '.join(found)}; nothing was sealed.",
            hint="rename a column or label that says too much, or take it out of the hierarchy; "
            "where there is none, this is a bug in Shoal.",
        )


def pieces(text: str) -> tuple[str, ...]:
    """Split a document into the pieces that a text of a table could be.

    Examples
    --------
    >>> pieces('<p title="a">b<bdi>c</bdi></p>'), pieces("| age | from 3 |")
    (('a', 'b', 'c'), ('age', 'from 3'))
    """
    if text.lstrip().startswith("<"):
        reader = _Reader()
        reader.feed(text)
        reader.close()
        return tuple(reader.pieces)
    if text.startswith("{"):
        return tuple(_strings(json.loads(text)))
    cells = (_MARKS.sub("", part.strip()) for part in _SEPARATORS.split(text))
    return tuple(html.unescape(cell).replace("\\|", "|") for cell in cells if cell.strip("- "))


def _strings(stated: object) -> Iterator[str]:
    if isinstance(stated, dict):
        for name, entry in stated.items():
            yield name
            yield from _strings(entry)
    elif isinstance(stated, list):
        for entry in stated:
            yield from _strings(entry)
    elif isinstance(stated, str):
        yield stated


def _as_shown(texts: Collection[str]) -> frozenset[str]:
    """Give texts as they are, and as a page shows them."""
    shown = (shortened(printable(text), _SHOWN_LETTERS) for text in texts)
    return frozenset(texts) | frozenset(shown) | frozenset(text.strip() for text in texts)


def _unexpected(piece: str, known: Collection[str]) -> Iterator[str]:
    """Give what is left of a piece: a list leaves its entries that are not known, side by side."""
    if piece in known:
        return
    parts, place = piece.split(", "), 0
    run: list[str] = []
    while place < len(parts):
        # An entry may itself hold a comma.
        ends = range(min(place + _MOST_COMMAS, len(parts)), place, -1)
        end = next((end for end in ends if ", ".join(parts[place:end]) in known), None)
        if end is None:
            run.append(parts[place])
            place += 1
        else:
            yield ", ".join(run)
            run, place = [], end
    yield ", ".join(run)


def _holds_any(rest: Collection[str], terms: frozenset[str]) -> bool:
    """Whether a term is a piece, or a run of whole words of one."""
    terms = frozenset(term.casefold() for term in terms if term.strip())
    if not terms:
        return False
    most = max(len(_words(term)) for term in terms)
    by_words = {tuple(_words(term)) for term in terms} - {()}
    for piece in rest:
        if piece.casefold() in terms:
            return True
        words = _words(piece.casefold())
        for first in range(len(words)):
            for last in range(first + 1, min(first + most, len(words)) + 1):
                if tuple(words[first:last]) in by_words:
                    return True
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


class _Reader(HTMLParser):
    """Collects the texts and the values of attributes of HTML or XML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.pieces += [text.strip() for _, text in attrs if text and text.strip()]

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.pieces.append(data.strip())

    def handle_comment(self, data: str) -> None:
        self.pieces.append(data.strip())
