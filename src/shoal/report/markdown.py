"""Texts and small tables as Markdown, where nothing that a stranger wrote becomes markup."""

from __future__ import annotations

from html import escape

from shoal.core.attack import Section
from shoal.report.texts import printable

__all__ = ["as_markdown", "inert", "markdown_text"]

_MARKDOWN = "\\`*_[]|"


def inert(text: str) -> str:
    r"""Write a text so that it stays inside its line or cell, and inert.

    Examples
    --------
    >>> print(inert("a|b <c>"))
    a\|b &lt;c&gt;
    """
    escaped = escape(text, quote=False)
    return escaped.replace("|", "\\|").replace("\n", " ").replace("\r", " ")


def markdown_text(text: str) -> str:
    r"""Give a text as Markdown holds it, also in a table: what looks like markup in it is text.

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
    return f"| {' | '.join(map(_cell, values))} |"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else inert(printable(str(value)))
