"""How figures and results are shown to people: in plain words, in notebooks and as data frames.

An object that notebooks show, or that becomes a pandas frame, returns its table from `_overview`.
An overview holds names of columns, counts and shares, and never a value of the original table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from shoal.core.errors import ParameterError

if TYPE_CHECKING:
    import pandas


_NEARLY_ALL = 0.95


def number(count: int) -> str:
    """Return a count with a thousands separator.

    Examples
    --------
    >>> number(30162)
    '30,162'
    """
    return f"{count:,}"


def of_all(count: int, n_people: int) -> str:
    """Return a count together with the number of all people.

    Examples
    --------
    >>> of_all(57, 30162)
    '57 of 30,162'
    """
    return f"{number(count)} of {number(n_people)}"


def percent(share: float) -> str:
    """Return a share in percent, with at most three digits.

    Examples
    --------
    >>> percent(0.2751), percent(0.004), percent(1.0)
    ('28 %', '0.4 %', '100 %')
    """
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def in_words(share: float) -> str:
    """Return a share in words, such as "1 in 4".

    Examples
    --------
    >>> [in_words(share) for share in (0.0, 0.23, 0.001, 0.52, 0.72, 0.97, 0.999, 1.0)]
    ['never', '1 in 4', '1 in 1,000', '1 in 2', '7 in 10', '97 in 100', 'over 99 in 100', 'always']
    """
    if share <= 0:
        return "never"
    if share < 0.55:
        return f"1 in {number(round(1 / share))}"
    if share < _NEARLY_ALL:
        return f"{round(10 * share)} in 10"
    if share < 0.995:
        return f"{round(100 * share)} in 100"
    return "over 99 in 100" if share < 1 else "always"


def chance(share: float | Fraction | str) -> str:
    """Return a probability in words, such as "1 in 4"; a text that is no number stays as it is.

    Examples
    --------
    >>> [chance(share) for share in (0.0, 0.23, "1/3", "0.35", 1.0, "anything")]
    ['0', '1 in 4', '1 in 3', '7 in 20', 'certainty', 'anything']
    """
    if isinstance(share, str):
        try:
            return chance(Fraction(share))
        except (ValueError, ZeroDivisionError):
            return share
    if share <= 0:
        return "0"
    if isinstance(share, Fraction) and share < 1 and share.denominator <= 100:
        return f"{share.numerator} in {share.denominator}"
    words = in_words(float(share))
    return "certainty" if words == "always" else words


def shown_list(entries: Sequence[object]) -> str:
    """Write a list as text: two floats as an interval, lists inside it in brackets.

    Examples
    --------
    >>> shown_list([0.059708, 0.25]), shown_list(["age", 3]), shown_list([("a", "b"), ("c",)])
    ('0.05971 to 0.25', 'age, 3', '[a, b], [c]')
    """
    told = [
        f"[{shown_list(entry)}]" if isinstance(entry, list | tuple) else _shown(entry)
        for entry in entries
    ]
    is_interval = len(entries) == 2 and all(isinstance(entry, float) for entry in entries)
    return (" to " if is_interval else ", ").join(told)


def _shown(entry: object) -> str:
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


_MOST_ROWS = 30
_MOST_LETTERS = 120
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""They are part of the spelling in several scripts, and do not change the direction of text."""


@dataclass(frozen=True, eq=False)
class Section:
    """A small table of results: a title, column names and rows of texts and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    # Whether it may contain values of the table: a section that does not deny it stays internal.
    holds_values: bool = True
    # Whether it is only for a reader without the truth, and is dropped once the findings are
    # scored.
    is_provisional: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the section in its JSON form."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }


class Displayed:
    """Base class of everything that notebooks show as a table."""

    def _overview(self) -> Section:
        """Return the table that a notebook shows; it holds no value of the original table."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return the overview as HTML."""
        return _html(self._overview())


class Tabular(Displayed):
    """Base class of results that can also be converted to a pandas frame."""

    def _frame(self) -> Mapping[str, object]:
        """Return the columns of the frame. Default: those of the overview."""
        shown = self._overview()
        columns = list(zip(*shown.rows, strict=True)) or [()] * len(shown.columns)
        return dict(zip(shown.columns, columns, strict=True))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the result as a pandas frame, one row per entry (extra `pandas`).

        Raises
        ------
        ParameterError
            If pandas is not installed.
        """
        try:
            import pandas  # noqa: PLC0415 - an extra that the core does not depend on
        except ImportError:
            raise ParameterError(
                "This needs the extra 'pandas'.", hint="pip install 'shoal-privacy[pandas]'"
            ) from None
        return pandas.DataFrame(self._frame())


def _html(shown: Section) -> str:
    """Return a table in HTML; every text in it is escaped."""
    head = "".join(f"<th>{_text(name)}</th>" for name in shown.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(entry)}</td>' for entry in row)}</tr>"
        for row in shown.rows[:_MOST_ROWS]
    )
    n_more = len(shown.rows) - _MOST_ROWS
    more = f"<p>and {n_more} more</p>" if n_more > 0 else ""
    caption = f'<caption style="text-align: left">{_text(shown.title)}</caption>'
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(entry: object) -> str:
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, float):
        return f"{entry:.3g}"
    return "" if entry is None else _text(str(entry))


def _text(text: str) -> str:
    """Return a text that is displayed literally and cannot reverse the text around it."""
    return f"<bdi>{escape(printable(shortened(text, _MOST_LETTERS)))}</bdi>"


def printable(text: str) -> str:
    r"""Return a text that XML can hold and that cannot reverse the direction of its neighbours.

    Line breaks and tabs become spaces; other characters that are not printable, direction marks
    included, become the replacement character.

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
    """Cut a text to `most` characters; an ellipsis marks the cut.

    Examples
    --------
    >>> shortened("abcdef", 4), shortened("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= most else text[: most - 1] + "…"
