"""The small tables of attacks and measures as parts of a page, drawn where that tells more."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.core.attack import Section
from shoal.core.shown import shown_list
from shoal.report.html import Markup, drawing, element, table, value
from shoal.report.plots import bars

__all__ = ["figure_table", "section_parts"]

_MOST_ROWS = 40
_FEWEST_BARS = 2
_MOST_BARS = 40
_MOST_LETTERS = 26
"""A longer name is cut beside a bar, so that the table is needed as well."""


def figure_table(figures: Mapping[str, object], caption: str) -> Markup:
    """List figures by name."""
    rows = [(name, _shown(figure)) for name, figure in figures.items()]
    return table(("name", "value"), rows, caption)


def _shown(figure: object) -> object:
    if figure is None:
        return element("em", "none")
    if isinstance(figure, bool):
        return element("span", "yes" if figure else "no")
    if isinstance(figure, list | tuple):
        return shown_list(figure)
    return figure if isinstance(figure, (int, float, Markup)) else str(figure)


def section_parts(section: Section, most: float = 0.0) -> list[Markup]:
    """Show a section as a table, as bars, or as both where bars do not tell all of it.

    Parameters
    ----------
    section
        What is shown.
    most
        The number that a full bar stands for, where it is not the largest one.
    """
    drawn = _picture(section, most)
    if drawn is not None and _is_told_by_bars(section):
        return [drawn]
    rows = [tuple(map(_shown_cell, row)) for row in section.rows[:_MOST_ROWS]]
    names = [value(name) for name in section.columns]
    parts = [table(names, rows, _capitalised(section.title))]
    if len(section.rows) > _MOST_ROWS:
        parts.append(element("p", f"{len(section.rows) - _MOST_ROWS} more are in record.json."))
    return parts if drawn is None else [drawn, *parts]


def _shown_cell(entry: object) -> object:
    return entry if entry is None else _shown(entry)


def _is_told_by_bars(section: Section) -> bool:
    has_room = len(section.rows) <= _MOST_BARS
    return has_room and all(len(str(row[0])) <= _MOST_LETTERS for row in section.rows)


def _picture(section: Section, most: float) -> Markup | None:
    """Draw the first numbers of a section whose rows have a name and a number."""
    if len(section.columns) != 2 or len(section.rows) < _FEWEST_BARS:
        return None
    numbers = [row[1] for row in section.rows]
    if not all(isinstance(one, (int, float)) and one >= 0 for one in numbers):
        return None
    if not all(row[0] is None or isinstance(row[0], str) for row in section.rows):
        return None
    labels = ["missing" if row[0] is None else str(row[0]) for row in section.rows]
    floats = [float(one) for one in numbers if isinstance(one, (int, float))]
    title = _capitalised(section.title)
    return drawing(bars(labels, floats, title=title, unit=section.columns[1], most=most))


def _capitalised(title: str) -> str:
    return title[:1].upper() + title[1:]
