"""The scan with sets finds what a plain scan of one piece and one value at a time finds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from shoal.core.display import printable, shortened
from shoal.report import leak_scan
from shoal.report.leak_scan import Unpublishable, leaks, pieces
from shoal.report.markup import element, page, table

FIELDS = {
    "identifying": "the name of an identifying column",
    "values": "a value of an identifying column",
    "rare": "a value that too few people carry",
    "absent": "a value that is suppressed wherever it stands",
    "keys": "the key of a row",
    "findings": "what an attack found",
}
WORDS = ["Ann", "ann", "Lee", "12", "-7", "[20, 30[", "a&b", '"', "é", "<b>", "\\", "x" * 130, "\n"]
words = st.sampled_from(WORDS) | st.text(max_size=3)
texts = st.lists(words, max_size=4).map(" ".join) | st.lists(words, max_size=4).map(", ".join)
some = st.lists(texts, max_size=4)


def of_html(shown: list[str]) -> str:
    rows = [(text, text.upper()) for text in shown]
    return page(
        "Labels", table(("label", "meaning"), rows), element("p", "x", title=" ".join(shown))
    )


def of_markup(shown: list[str]) -> str:
    """Mix tags that Shoal does not write with its own."""
    return "".join(f"<p>{escape(text)}</p><!--{text}--> < {text}" for text in shown)


def of_json(shown: list[str]) -> str:
    return json.dumps({text: {"members": [*shown, 3, True]} for text in shown}, indent=2)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.found += [text.strip() for _, text in attrs if text]

    def handle_data(self, data: str) -> None:
        self.found.append(data.strip())

    def handle_comment(self, data: str) -> None:
        self.found.append(data.strip())


def plain_pieces(text: str) -> list[str]:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return [piece for piece in reader.found if piece]


def plain_strings(stated: object) -> Iterator[str]:
    if isinstance(stated, str):
        yield stated
    elif isinstance(stated, dict):
        for name, entry in stated.items():
            yield name
            yield from plain_strings(entry)
    elif isinstance(stated, list):
        for entry in stated:
            yield from plain_strings(entry)


def plain_forms(text: str) -> set[str]:
    is_cut = len(text) > 120 or not text.isprintable()
    return {text, text.strip(), *([shortened(printable(text), 120)] if is_cut else [])}


def plainly_found(
    shown: list[str], sought: dict[str, list[str]], expected: list[str]
) -> tuple[str, ...]:
    """Look for every form of every term in what is left of every piece."""
    known = {form for one in expected for form in plain_forms(one)}
    rest = [part.lower() for piece in shown for part in leak_scan._unexpected(piece, known) if part]
    runs, entries = leak_scan._runs(rest), leak_scan._entries(rest)
    return tuple(
        kind
        for field, kind in FIELDS.items()
        if any(
            form.lower() in (entries if re.fullmatch(r"\d{1,5}", form) else runs)
            for term in sought[field]
            for form in plain_forms(term)
            if form.strip()
        )
    )


@given(shown=some)
def test_markup_is_split_as_a_parser_of_html_splits_it(shown):
    for text in (of_html(shown), of_markup(shown)):
        assert list(pieces(text, "report.html")) == plain_pieces(text)


@given(shown=some)
def test_json_is_split_into_its_strings(shown):
    text = of_json(shown)
    assert set(pieces(text, "labels.json")) == set(plain_strings(json.loads(text)))
    plain = json.dumps(shown, ensure_ascii=False)
    assert set(pieces(plain, "labels.json")) == set(shown)


terms = st.sampled_from(["Ann", "ann Lee", "12", "lee", "[20, 30[", "x" * 130, "", " "]) | texts


@given(
    shown=some,
    expected=st.lists(terms, max_size=3),
    sought=st.fixed_dictionaries({field: st.lists(terms, max_size=2) for field in FIELDS}),
)
def test_what_is_found_is_what_a_look_at_every_term_finds(shown, expected, sought):
    text = json.dumps(shown)
    found = leaks(text, Unpublishable(**sought), expected, name="labels.json")
    assert tuple(kind for kind in found if kind in FIELDS.values()) == plainly_found(
        shown, sought, expected
    )
