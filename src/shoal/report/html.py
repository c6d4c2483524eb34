"""Pages made of elements, in which every text is escaped unless it was made here.

A page is one file: its style is in it, it has no script, and a content security policy forbids it
to load or run anything. Texts from a table go through `value`, which isolates their direction and
shortens long ones, so that a cell that is HTML, or is written from right to left, is shown as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from shoal.report.texts import printable, shortened

__all__ = ["Child", "Markup", "drawing", "element", "joined", "listed", "page", "table", "value"]

_MOST_LETTERS = 120
_LONG_WORD = 24
"""Longer words are broken, so that a table stays within its page."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; break-after: avoid; }
h2 { margin-top: 2.5rem; border-bottom: 2px solid #1b1b1b; }
table { border-collapse: collapse; margin: 1rem 0; max-width: 100%; }
caption { text-align: start; font-weight: 600; padding: .25rem 0; }
th, td { border: 1px solid #767676; padding: .2rem .5rem; text-align: start;
  vertical-align: top; }
th { background: #f0f0f0; }
td.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
.long { overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; }
figure { margin: 1rem 0; break-inside: avoid; overflow-x: auto; }
body:has(.beside) { max-width: 90rem; }
.beside { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.beside > * { flex: 1 1 28rem; margin: 0; }
.note { border-inline-start: 4px solid #1b1b1b; padding: .25rem 1rem; }
code { overflow-wrap: anywhere; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; }
  tr, figure { break-inside: avoid; } thead { display: table-header-group; } }
"""


@dataclass(frozen=True)
class Markup:
    """HTML that is safe to place in a page as it is."""

    text: str

    def __str__(self) -> str:
        return self.text


Child = Markup | str | int | float
"""What an element can hold: what is not markup is escaped."""


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
    """Put pieces behind one another."""
    return Markup("".join(map(_inner, children)))


def _inner(child: Child) -> str:
    if isinstance(child, Markup):
        return child.text
    return escape(printable(child if isinstance(child, str) else _number(child)))


def value(text: str | None, most: int = _MOST_LETTERS) -> Markup:
    """Show a text of the table, or a name of a column: isolated, shortened, and inert.

    Examples
    --------
    >>> print(value("<script>"))
    <bdi>&lt;script&gt;</bdi>
    >>> print(value(None), value(""))
    <em>missing</em> <em>the empty text</em>
    """
    if text is None:
        return element("em", "missing")
    if not text:
        return element("em", "the empty text")
    shown = shortened(text, most)
    is_long = any(len(word) > _LONG_WORD for word in shown.split())
    return element("bdi", shown, class_="long") if is_long else element("bdi", shown)


def listed(items: Iterable[Child]) -> Markup:
    """Make a list of points."""
    return element("ul", *(element("li", item) for item in items))


def table(
    columns: Sequence[Child], rows: Iterable[Sequence[object]], caption: Child | None = None
) -> Markup:
    """Make a table: numbers stand at the right, texts are shown as values of a table are.

    Examples
    --------
    >>> made = str(table(["size", "value"], [[3, "<b>"]]))
    >>> '<td class="number">3</td><td><bdi>&lt;b&gt;</bdi></td>' in made
    True
    """
    head = element("thead", element("tr", *(element("th", one, scope="col") for one in columns)))
    body = element("tbody", *(element("tr", *map(_cell, row)) for row in rows))
    parts = [head, body] if caption is None else [element("caption", caption), head, body]
    return element("table", *parts)


def _cell(entry: object) -> Markup:
    if isinstance(entry, Markup):
        return element("td", entry)
    if isinstance(entry, (int, float)) and not isinstance(entry, bool):
        return element("td", _number(entry), class_="number")
    return element("td", value(None if entry is None else str(entry)))


def _number(number: int | float) -> str:  # noqa: PYI041 - they are written differently
    if not isinstance(number, int):
        return f"{number:.4g}"
    return f"{number:,}".replace(",", "\N{THIN SPACE}")


def drawing(svg: str) -> Markup:
    """Place a drawing of `shoal.report.plots` or `shoal.report.heat_map`, which escape themselves.

    Parameters
    ----------
    svg
        The drawing.
    """
    return element("figure", Markup(svg))


def page(title: str, *children: Child) -> str:
    """Write a whole page.

    Parameters
    ----------
    title
        What it is called; also its first heading.
    children
        What it holds.
    """
    head = "".join(
        (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            str(element("title", title)),
            f"<style>{_STYLE}</style>",
        )
    )
    body = element("body", element("main", element("h1", title), *children))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>{body}</html>\n'
