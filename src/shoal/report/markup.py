"""Text, Markdown and pages of HTML, in which no foreign text becomes markup.

A page is one file: its style is in it, it has no script, and a content security policy forbids it
to load or run anything. It is made of elements, in which every text is escaped unless it was made
here. Texts from a table go through `value`, which isolates their direction and shortens long ones,
so that a cell that is HTML, or is written from right to left, is shown as text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from shoal.core.display import Section, printable, shortened

_MOST_LETTERS = 120
# Longer words are broken, so that a table stays within its page.
_LONG_WORD = 24
# Smaller numbers are shown as "less than this".
_SMALLEST = 0.0001
_LARGE = 1000
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.2; break-after: avoid; }
h2 { margin-top: 2.5rem; border-bottom: 2px solid #1b1b1b; }
table { border-collapse: collapse; margin: 1rem 0; max-width: 100%; }
caption { text-align: start; font-weight: 600; padding: .25rem 0; min-width: 18rem; }
th, td { border: 1px solid #767676; padding: .2rem .6rem; text-align: start;
  vertical-align: top; }
th { background: #f0f0f0; vertical-align: bottom; }
.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { white-space: normal; }
.wide { overflow-x: auto; }
.long { overflow-wrap: anywhere; }
.short { border: 2px solid #1b1b1b; padding: .25rem 1rem; break-inside: avoid; }
.short p { margin: .5rem 0; }
nav ol { columns: 2 18rem; }
a { color: inherit; }
svg { max-width: 100%; height: auto; }
figure { margin: 1rem 0; break-inside: avoid; overflow-x: auto; }
body:has(.beside) { max-width: 90rem; }
.beside { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; overflow-x: auto; }
.beside > * { flex: 1 1 40rem; margin: 0; }
.beside > figure { flex: 0 1 34rem; }
.beside td:first-child { min-width: 9rem; }
.beside td:last-child { min-width: 14rem; }
.note { border-inline-start: 4px solid #1b1b1b; padding: .25rem 1rem; }
code { overflow-wrap: anywhere; }
@page { margin: 18mm 16mm; }
@media screen and (max-width: 42rem) { svg { max-width: none; } }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 10pt; }
  tr, figure, li { break-inside: avoid; } thead { display: table-header-group; }
  h2 { margin-top: 1.5rem; } p { orphans: 3; widows: 3; } caption { break-after: avoid; }
  table { font-size: 9pt; } figure { margin: .5rem 0; } .wide { overflow: visible; } }
"""


@dataclass(frozen=True)
class Markup:
    """HTML that is safe to place in a page as it is."""

    text: str

    def __str__(self) -> str:
        return self.text


# The content of an element; anything but markup is escaped.
Child = Markup | str | int | float


def element(name: str, *children: Child, **attributes: str) -> Markup:
    """Make an element; ``class_`` is the attribute ``class``.

    Examples
    --------
    >>> print(element("p", "a < b", class_="note"))
    <p class="note">a &lt; b</p>
    """
    stated = "".join(
        f' {key.rstrip("_")}="{escape(printable(text))}"' for key, text in attributes.items()
    )
    return Markup(f"<{name}{stated}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Join pieces."""
    return Markup("".join(map(_inner, children)))


def _inner(child: Child) -> str:
    if isinstance(child, Markup):
        return child.text
    return escape(printable(child if isinstance(child, str) else shown_number(child)))


def value(text: str | None, most: int = _MOST_LETTERS) -> Markup:
    """Show a text of the table, or a name of a column: isolated, shortened, and inert.

    Examples
    --------
    >>> print(value("<script>"))
    <bdi>&lt;script&gt;</bdi>
    >>> print(value(None), value(""))
    <em>missing</em> <em>empty text</em>
    """
    if text is None:
        return element("em", "missing")
    if not text:
        return element("em", "empty text")
    shown = shortened(text, most)
    is_long = any(len(word) > _LONG_WORD for word in shown.split())
    return element("bdi", shown, class_="long") if is_long else element("bdi", shown)


def listed(items: Iterable[Child]) -> Markup:
    """Make a list of points."""
    return element("ul", *(element("li", item) for item in items))


def table(
    columns: Sequence[Child], rows: Iterable[Sequence[object]], caption: Child | None = None
) -> Markup:
    """Make a table; numbers are aligned to the right, and texts go through `value`.

    Examples
    --------
    >>> made = str(table(["size", "value"], [[3, "<b>"]]))
    >>> '<td class="number">3</td><td><bdi>&lt;b&gt;</bdi></td>' in made
    True
    """
    held = list(rows)
    numeric = [
        bool(held) and all(_is_number(row[place]) for row in held) for place in range(len(columns))
    ]
    named = (
        element("th", one, scope="col", class_="number")
        if is_numeric
        else element("th", one, scope="col")
        for one, is_numeric in zip(columns, numeric, strict=True)
    )
    head = element("thead", element("tr", *named))
    body = element("tbody", *(element("tr", *map(_cell, row)) for row in held))
    parts = [head, body] if caption is None else [element("caption", caption), head, body]
    return element("div", element("table", *parts), class_="wide")


def _is_number(entry: object) -> bool:
    return isinstance(entry, (int, float)) and not isinstance(entry, bool)


def _cell(entry: object) -> Markup:
    if isinstance(entry, Markup):
        return element("td", entry)
    if isinstance(entry, bool):
        return element("td", "yes" if entry else "no")
    if isinstance(entry, (int, float)):
        return element("td", shown_number(entry), class_="number")
    return element("td", value(None if entry is None else str(entry)))


def shown_number(number: int | float) -> str:  # noqa: PYI041 - they are written differently
    """Return a number as pages show it: with three digits, and whole from 1,000 on.

    Examples
    --------
    >>> [shown_number(one) for one in (0.33333, 2.0, 1e-9, 0.0, 1234.5)]
    ['0.333', '2', '< 0.0001', '0', '1\N{THIN SPACE}234']
    """
    if isinstance(number, int):
        return f"{number:,}".replace(",", "\N{THIN SPACE}")
    if not math.isfinite(number):
        return str(number)
    if 0 < abs(number) < _SMALLEST:
        return f"< {_SMALLEST}" if number > 0 else f"> -{_SMALLEST}"
    if abs(number) >= _LARGE:
        return shown_number(round(number))
    return f"{number:.3g}"


def drawing(svg: str) -> Markup:
    """Place a drawing of `shoal.report.plots`, which escapes its own texts."""
    return element("figure", Markup(svg))


def page(title: str, *children: Child) -> str:
    """Write a whole page; its title is also its first heading."""
    head = "".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            str(element("title", title)),
            f"<style>{STYLE}</style>",
        )
    )
    body = element("body", element("main", element("h1", title), *children))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


@dataclass(frozen=True)
class Chapter:
    """A part of a report with a heading of its own."""

    title: str
    parts: Sequence[Child]


def report_page(title: str, lead: Sequence[Child], chapters: Sequence[Chapter]) -> str:
    """Write a page of chapters, with a table of contents after the lead.

    Examples
    --------
    >>> text = report_page("Report", ["In short."], [Chapter("What changed", ["Much."])])
    >>> '<a href="#part-1">What changed</a>' in text, '<h2 id="part-1">What changed</h2>' in text
    (True, True)
    """
    numbered = [(f"part-{number}", chapter) for number, chapter in enumerate(chapters, start=1)]
    entries = (
        element("li", element("a", chapter.title, href=f"#{name}")) for name, chapter in numbered
    )
    contents = element("nav", element("h2", "Contents"), element("ol", *entries))
    said: list[Child] = [*lead, contents]
    for name, chapter in numbered:
        said += [element("h2", chapter.title, id=name), *chapter.parts]
    return page(title, *said)


# --- Markdown -------------------------------------------------------------------------------------


_MARKDOWN = "\\`*_[]|"


def inert(text: str) -> str:
    r"""Escape a text so that it stays inside its line or cell.

    Examples
    --------
    >>> print(inert("a|b <c>"))
    a\|b &lt;c&gt;
    """
    escaped = escape(text, quote=False)
    return escaped.replace("|", "\\|").replace("\n", " ").replace("\r", " ")


def markdown_text(text: str) -> str:
    r"""Escape a text for Markdown, also in a table.

    Examples
    --------
    >>> print(markdown_text("<b>|[x](y)"))
    &lt;b&gt;\|\[x\](y)
    """
    escaped = escape(printable(text), quote=False)
    return "".join(f"\\{letter}" if letter in _MARKDOWN else letter for letter in escaped)


def as_markdown(section: Section) -> str:
    """Write a small table under its title.

    Examples
    --------
    >>> print(as_markdown(Section("methods", ("method", "risk"), (("a", 0.25), ("b", None)))))
    ## methods
    <BLANKLINE>
    | method | risk |
    |---|---:|
    | a | 0.25 |
    | b | - |
    """
    are_numbers = [
        all(isinstance(row[place], int | float | None) for row in section.rows)
        for place in range(len(section.columns))
    ]
    return "\n".join(
        [
            f"## {inert(section.title)}",
            "",
            _line(section.columns),
            f"|{'|'.join('---:' if one else '---' for one in are_numbers)}|",
            *map(_line, section.rows),
        ]
    )


def _line(values: tuple[object, ...]) -> str:
    return f"| {' | '.join(map(_markdown_cell, values))} |"


def _markdown_cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else inert(printable(str(value)))


# --- texts ----------------------------------------------------------------------------------------


def svg_text(text: str) -> str:
    """Escape a text for a drawing.

    Examples
    --------
    >>> svg_text("<script>") + svg_text(chr(0))
    '&lt;script&gt;�'
    """
    return escape(printable(text))
