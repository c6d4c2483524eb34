"""Texts of strangers, made fit to be shown: no control characters, and not too long."""

from __future__ import annotations

from html import escape

__all__ = ["printable", "shortened", "svg_text"]

_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""They belong to the spelling of words in several scripts, and turn nothing around."""


def printable(text: str) -> str:
    r"""Give a text that XML can hold and that cannot turn the text around it around.

    Line breaks and tabulators become spaces; other characters that are not printed, marks of
    direction among them, become the replacement character.

    Examples
    --------
    >>> printable("a\nb"), printable("a\x00b") == "a\N{REPLACEMENT CHARACTER}b"
    ('a b', True)
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter in _JOINERS
        else " "
        if letter.isspace()
        else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )


def shortened(text: str, most: int) -> str:
    """Cut a text to a number of letters; the last one says that it was cut.

    Examples
    --------
    >>> shortened("abcdef", 4), shortened("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def svg_text(text: str) -> str:
    """Give a text as a drawing holds it: markup in it is text.

    Examples
    --------
    >>> svg_text("<script>") + svg_text(chr(0))
    '&lt;script&gt;�'
    """
    return escape(printable(text))
