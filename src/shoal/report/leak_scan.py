"""Look through a public text for what must not be in it, before it is written.

A document is split into pieces: texts between tags and values of attributes, cells and lines of
Markdown, strings of JSON, names and literals of SQL, cells of CSV. Pieces that the same document
would hold for any table are allowed, and so are published names and values. The rest is cut into
runs of words, which are looked up among the values that would betray somebody. Both can be many,
so each distinct piece is looked at once, and looked up in sets. Secrets, names of internal files
and paths are searched for everywhere. A find is reported by its kind, never by its text.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser

from shoal.core.display import printable, shortened
from shoal.core.errors import GuaranteeError

_FEWEST_DIGITS = 32
_HEX = re.compile(rf"(?<![0-9a-fA-F])[0-9a-fA-F]{{{_FEWEST_DIGITS},}}(?![0-9a-fA-F])")
_SEPARATORS = re.compile(r"(?<!\\)\||\n")
# A dash is a mark only before a space: "-7" is a number.
_MARKS = re.compile(r"^(#+|-(?=\s)|\*\*)\s*")
_SQL = re.compile(r'"((?:[^"]|"")*)"|\'((?:[^\']|\'\')*)\'|\n')
# A sign belongs to its number, but the dash of "20-29" is none.
_WORDS = re.compile(r"(?<!\w)-\d\w*|\w+")
_TOKENS = re.compile(r"\S+")
_PATH = re.compile(
    r"(?<![\w/.])/(?:home|root|Users|tmp|var|mnt|media|opt|srv)/[\w.-]+|\b[A-Z]:\\\w"
)
_COUNT = re.compile(r"(?<![\w.,])(\d+) (?:people|persons?|rows?|lines?)\b")
_SHOWN_LETTERS = 120
_MOST_COMMAS = 6
_MOST_WORDS = 8
_FEWEST_LETTERS = 4
_FEWEST_OF_A_NUMBER = 6
# What `shoal.report.markup` and the DDI file are made of: a comment, a tag that has no texts, a tag
# and its attributes, and a text. The last group is the beginning of anything else.
_MARKUP = re.compile(
    r"<!--(?!-?>)((?:(?!--).)*)-->|<(?:/[A-Za-z][\w:-]*|!DOCTYPE [^<>\"]*|\?[^<>]*)>"
    r'|<[A-Za-z][\w:-]*((?:[ \n]+[A-Za-z_][\w:-]*="[^"]*")*) ?/?>|([^<]+)|(<)',
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'"([^"]*)"')
# References are no references in these elements; there are none in ours.
_RAW = re.compile(r"<(?:style|script)\b", re.IGNORECASE)
_RAW_WITHOUT = re.compile(r"<(style|script)>[^<&]*</\1>")
_JSON_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_COUNTS_THINGS = re.compile(rf"\d{{1,{_FEWEST_OF_A_NUMBER - 1}}}")


@dataclass(frozen=True, kw_only=True, repr=False)
class Unpublishable:
    """What a public file must not hold."""

    # The names of identifying columns, and their values.
    identifying: Collection[str] = ()
    values: Collection[str] = ()
    # Values that fewer people carry than the guarantee allows to be named.
    rare: Collection[str] = ()
    # Values of the table that the release shows nowhere: suppressed, or in rows left out.
    absent: Collection[str] = ()
    # Keys of rows.
    keys: Collection[str] = ()
    # Secrets and keys derived from them, in hexadecimal; the digest of the table.
    secrets: Collection[str] = ()
    # Names and paths of internal files, of the table and of its folder.
    internal: Collection[str] = ()
    # Findings of attacks, as a report would word them.
    findings: Collection[str] = ()
    # The fewest people that a public file may count.
    fewest: int = 0

    def __repr__(self) -> str:
        return f"Unpublishable({len(self.identifying)} columns, {len(self.rare)} rare values)"

    @cached_property
    def forms(self) -> Mapping[str, frozenset[str]]:
        """What words of a document are looked up in, in lower case, by the kind of thing."""
        kinds = {
            "the name of an identifying column": self.identifying,
            "a value of an identifying column": self.values,
            "a value that too few people carry": self.rare,
            "a value that is suppressed wherever it stands": self.absent,
            "the key of a row": self.keys,
            "what an attack found": self.findings,
        }
        return {kind: frozenset(map(str.lower, forms(terms))) for kind, terms in kinds.items()}


_NOTHING = Unpublishable()


@dataclass(frozen=True, kw_only=True, repr=False)
class Remainder:
    """A text and what is left of it without the pieces that may stand there."""

    text: str
    rest: tuple[str, ...]


def leaks(
    text: str,
    unpublishable: Unpublishable,
    expected: Collection[str] = (),
    digests: Collection[str] = (),
    name: str = "",
) -> tuple[str, ...]:
    """Return the kinds of things in a text that must not be published.

    The text is HTML, XML, Markdown, JSON, SQL or CSV; the ending of the file name gives its format,
    which is otherwise guessed from the beginning. Pieces in `expected` are allowed whatever they
    hold: our own sentences, published names and values. So are long hexadecimal numbers in
    `digests`.

    Examples
    --------
    >>> leaks("<p><bdi>Ann Lee</bdi></p>", Unpublishable(values=["Ann Lee"]))
    ('a value of an identifying column',)
    >>> leaks("<p>The name is gone.</p>", Unpublishable(identifying=["name"]),
    ...     expected=["The name is gone."])
    ()
    """
    return _leaks_of(remainder(text, forms(expected), name), unpublishable, digests)


def _leaks_of(
    left: Remainder,
    unpublishable: Unpublishable,
    digests: Collection[str],
    held: Unpublishable = _NOTHING,
) -> tuple[str, ...]:
    rest = left.rest
    lowered = [piece.lower() for piece in rest]
    runs, entries = _runs(lowered), _entries(lowered)
    found = [
        kind
        for kind, terms in unpublishable.forms.items()
        if any(_holds_any(runs, entries, given) for given in (terms, held.forms[kind]))
    ]
    if any(_is_told_of_few(piece, unpublishable.fewest) for piece in rest):
        found.append("a count of too few people")
    return (*found, *_found_anywhere(left, unpublishable, digests))


def _found_anywhere(
    left: Remainder, unpublishable: Unpublishable, digests: Collection[str]
) -> Iterator[str]:
    whole = html.unescape(left.text)
    lowered = whole.lower()
    if any(secret and secret.lower() in lowered for secret in unpublishable.secrets):
        yield "a secret"
    else:
        long = {number.group() for number in _HEX.finditer(whole)} - set(digests)
        if any(map(str.isdecimal, long)):
            yield f"a number of {_FEWEST_DIGITS} or more digits"
        if not all(map(str.isdecimal, long)):
            yield "a long hexadecimal number that is no digest of a file"
    if any(name and name in whole for name in unpublishable.internal):
        yield "the name or path of an internal file"
    elif any(_PATH.search(piece) for piece in left.rest):
        yield "a path of this machine"


def remainder(text: str, known: Collection[str], name: str = "") -> Remainder:
    """Return what is left of a document without the pieces that are known, each once.

    `known` are the `forms` of what is expected. The name of the file gives its format.
    """
    return _without(known, set(pieces(text, name)), text)


def remainder_of_texts(texts: Collection[str], known: Collection[str]) -> Remainder:
    """Return what is left of a table of texts without those that are known."""
    return _without(known, set(texts), "\n".join(texts))


def _without(known: Collection[str], found: set[str], text: str) -> Remainder:
    unknown = found.difference(known)
    parts = {part for piece in unknown for part in _unexpected(piece, known) if part}
    return Remainder(text=text, rest=tuple(parts))


def candidates(left: Remainder) -> frozenset[str]:
    """Return the runs of words of a text that could be a value of a table, also in lower case.

    Examples
    --------
    >>> sorted(candidates(remainder("<p>to Ann Lee</p>", ())))
    ['Ann Lee', 'ann lee', 'to Ann', 'to Ann Lee', 'to ann', 'to ann lee']
    """
    runs = _runs(left.rest) | _runs(map(str.lower, left.rest))
    return frozenset(run for run in runs if is_distinctive(run))


def is_distinctive(text: str) -> bool:
    """Return whether a text is long enough to be searched for: no short word, no short number.

    Examples
    --------
    >>> [is_distinctive(text) for text in ("Lee", "12345", "A-17", "Anne", "123456")]
    [False, False, True, True, True]
    """
    if len(text) < _FEWEST_LETTERS:
        return False
    has_letter = any(letter.isalpha() for letter in text)
    return has_letter or sum(map(str.isdigit, text)) >= _FEWEST_OF_A_NUMBER


def refuse_leaks(
    name: str,
    left: Remainder,
    unpublishable: Unpublishable,
    digests: Collection[str] = (),
    held: Unpublishable = _NOTHING,
) -> None:
    """Raise `GuaranteeError` if a public file would hold something that must not be published.

    The error names the file and the kinds of things, never the things. `left` is the `remainder` of
    the file, and `held` are those of its candidates that the table holds; the other parameters are
    those of `leaks`.
    """
    found = _leaks_of(left, unpublishable, digests, held)
    if found:
        raise GuaranteeError(
            f"{name} would hold {', '.join(found)}; nothing was sealed.",
            hint="rename a column or label that says too much, or take it out of the hierarchy; "
            "where there is none, this is a bug in Shoal.",
        )


def pieces(text: str, name: str = "") -> tuple[str, ...]:
    """Split a document into the pieces that a text of a table could be.

    Examples
    --------
    >>> pieces('<p title="a">b<bdi>c</bdi></p>'), pieces("| age | from 3 |")
    (('a', 'b', 'c'), ('age', 'from 3'))
    >>> pieces('SELECT "age" FROM t -- b', "views.sql"), pieces("x;y", "x.csv")
    (('SELECT', 'age', 'FROM t -- b'), ('x', 'y'))
    """
    kind = name.rpartition(".")[2] or {"<": "html", "{": "json"}.get(text.lstrip()[:1], "md")
    if kind in ("html", "xml"):
        return _pieces_of_markup(text)
    if kind == "json":
        return tuple(map(_unescaped, dict.fromkeys(_JSON_STRING.findall(text))))
    if kind == "csv":
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=";")
        return tuple(cell for row in rows for cell in row if cell)
    if kind == "sql":
        parts = (part.strip() for part in _SQL.split(text) if part)
        return tuple(part.replace('""', '"').replace("''", "'") for part in parts if part)
    cells = (_MARKS.sub("", part.strip()) for part in _SEPARATORS.split(text))
    return tuple(html.unescape(cell).replace("\\|", "|") for cell in cells if cell.strip("- "))


def _unescaped(literal: str) -> str:
    return str(json.loads(f'"{literal}"')) if "\\" in literal else literal


def _pieces_of_markup(text: str) -> tuple[str, ...]:
    """Return the texts and the values of attributes of HTML or XML, without empty ones.

    Our own documents consist of few kinds of parts, which one expression tells apart. A document
    that has any other part is left to a parser of HTML.
    """
    parts = _MARKUP.findall(text)
    is_ours = not any(odd for _, _, _, odd in parts)
    if not is_ours or len(_RAW.findall(text)) != len(_RAW_WITHOUT.findall(text)):
        reader = _Reader()
        reader.feed(text)
        reader.close()
        return tuple(filter(None, reader.pieces))
    found: list[str] = []
    for comment, attributes, shown, _ in parts:
        if attributes:
            found += map(html.unescape, _ATTRIBUTE.findall(attributes))
        else:
            # References mean nothing in a comment.
            found.append(comment or html.unescape(shown))
    return tuple(filter(None, map(str.strip, found)))


def forms(texts: Iterable[str]) -> frozenset[str]:
    """Return texts as they are, and as a page shows them.

    Examples
    --------
    >>> sorted(forms([" a", "b"]))
    [' a', 'a', 'b']
    """
    known = set(texts)
    cut = [text for text in known if len(text) > _SHOWN_LETTERS or not text.isprintable()]
    known.update([text.strip() for text in known])
    known.update(shortened(printable(text), _SHOWN_LETTERS) for text in cut)
    return frozenset(known)


def _unexpected(piece: str, known: Collection[str]) -> Iterator[str]:
    """Yield what is left of a piece; of a list, neighbouring unknown entries stay together."""
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


def _runs(rest: Iterable[str]) -> frozenset[str]:
    """Return whole pieces, and the runs of up to eight words or tokens in them."""
    runs: set[str] = set()
    for piece in rest:
        runs |= {piece, piece.strip()}
        for pattern in (_WORDS, _TOKENS):
            places = [word.span() for word in pattern.finditer(piece)]
            for first, (begin, _) in enumerate(places):
                ends = places[first : first + _MOST_WORDS]
                runs.update(piece[begin:end] for _, end in ends)
    return frozenset(runs)


def _entries(rest: Iterable[str]) -> frozenset[str]:
    """Return whole pieces, and the entries of those that are lists."""
    return frozenset(entry.strip(" .") for piece in rest for entry in (piece, *piece.split(", ")))


def _holds_any(runs: frozenset[str], entries: frozenset[str], terms: frozenset[str]) -> bool:
    """Return whether a term is a piece, or a run of whole words of one.

    A short number counts only if it is a whole entry: sentences count many things.
    """
    met = (runs & terms) | (entries & terms)
    return any(
        form in (entries if _COUNTS_THINGS.fullmatch(form) else runs)
        for form in met
        if form.strip()
    )


def _is_told_of_few(piece: str, fewest: int) -> bool:
    """Return whether a piece counts fewer people than may be counted."""
    return any(0 < int(number) < fewest for number in _COUNT.findall(piece))


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
