"""The small tables of attacks and measures as parts of a page, with drawings where they help.

Every measure is shown by its figures and sections; those that Shoal knows are drawn as well:
losses, errors of queries, accuracies beside those of the table. A loss or an error is 0 if nothing
is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shoal.core.display import Section, shown_list
from shoal.core.measure import Measured
from shoal.report.markup import Markup, drawing, element, table, value
from shoal.report.plots import Estimate, bars, estimates

_MOST_ROWS = 40
_FEWEST_BARS = 2
_MOST_BARS = 40
# A longer name is cut beside a bar, so the table is needed as well.
_MOST_LETTERS = 26


def figure_table(figures: Mapping[str, object], caption: str) -> Markup:
    """List figures by name; those of a mapping follow its name."""
    rows = [(name, _shown(figure)) for name, figure in _flat(figures)]
    return table(("name", "value"), rows, caption)


def _flat(figures: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, figure in figures.items():
        if isinstance(figure, Mapping) and figure:
            yield from ((f"{name}: {inner}", one) for inner, one in _flat(figure))
        else:
            yield name, figure


def _shown(figure: object) -> object:
    if figure is None or figure in ({}, [], ()):
        return element("em", "none")
    if isinstance(figure, bool):
        return element("span", "yes" if figure else "no")
    if isinstance(figure, list | tuple):
        return shown_list(figure)
    return figure if isinstance(figure, (int, float, Markup)) else str(figure)


def section_parts(section: Section, most: float = 0.0) -> list[Markup]:
    """Show a section as a table, as bars, or as both if bars do not show all of it.

    `most` is the number that a full bar stands for, if no value is larger.
    """
    if not section.rows:
        return [element("p", f"{_capitalised(section.title)}: none.")]
    drawn = _picture(section, most)
    if drawn is not None and _is_told_by_bars(section):
        return [drawn]
    columns = zip(*section.rows[:_MOST_ROWS], strict=True)
    rows = list(zip(*(_shown_column(section, entries) for entries in columns), strict=True))
    names = [value(name) for name in section.columns]
    parts = [table(names, rows, _capitalised(section.title))]
    if len(section.rows) > _MOST_ROWS:
        parts.append(element("p", f"{len(section.rows) - _MOST_ROWS} more are in record.json."))
    return parts if drawn is None else [drawn, *parts]


def _shown_column(section: Section, entries: Sequence[object]) -> list[object]:
    """Show the entries of a column; None is a missing value only among values of the table."""
    holds_texts = section.holds_values and any(isinstance(entry, str) for entry in entries)
    blanks = () if holds_texts else (None, "")
    return [
        element("span", "\N{EN DASH}")
        if entry in blanks
        else entry
        if entry is None
        else _shown(entry)
        for entry in entries
    ]


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


# --- what measures say ----------------------------------------------------------------------------


_COUNTED = ("discernibility", "class size", "cells suppressed", "rows left out", "queries")


def kept(measured: Sequence[Measured]) -> str:
    """Return one sentence on what analysts keep; an empty text if nothing was measured."""
    told = [line for one in measured for line in one.words]
    return f"For analysts: {'; '.join(told)}." if told else ""


def utility_parts(one: Measured) -> list[Markup]:
    """Show the pictures, the figures and the sections of a measure."""
    titled = {section.title: section for section in one.sections}
    drawn = [
        *_losses(one.headline),
        *_errors(titled.get("relative errors")),
        *_accuracies(titled.get("accuracy")),
    ]
    parts = [element("h3", one.measure.replace("_", " ").capitalize()), *map(drawing, drawn)]
    parts.append(figure_table(one.headline, "Figures"))
    for section in one.sections:
        parts += section_parts(section)
    return parts


def _losses(headline: Mapping[str, object]) -> list[str]:
    """Draw the figures that are shares."""
    shares = {
        name: figure
        for name, figure in headline.items()
        if name not in _COUNTED and isinstance(figure, float) and 0 <= figure <= 1
    }
    if len(shares) < 2 or "generalized loss" not in shares:
        return []
    title = "What is lost, from 0 (nothing) to 1 (everything)"
    return [
        bars(
            list(shares),
            list(shares.values()),
            title=title,
            unit="the share that is lost",
            most=1.0,
        )
    ]


def _errors(section: Section | None) -> list[str]:
    if section is None or not section.rows:
        return []
    figures = []
    for row in section.rows:
        told = dict(zip(section.columns, row, strict=True))
        label = f"{told['aggregate']} {told['column']}".strip()
        figures.append(Estimate(label, *(_float(told[name]) for name in _MEAN)))
    title = "Relative errors of queries: the mean and its 95 % interval"
    return [estimates(figures, title=title, unit="relative errors")]


_MEAN = ("mean", "mean from", "mean to")


def _accuracies(section: Section | None) -> list[str]:
    if section is None or not section.rows:
        return []
    figures = []
    for row in section.rows:
        told = dict(zip(section.columns, row, strict=True))
        label = f"{told['target']}: {told['model']}, {told['training']}"
        own = _float(told["of the table"])
        # The interval is that of the loss compared with the table.
        low, high = own - _float(told["to"]), own - _float(told["from"])
        figures.append(Estimate(label, _float(told["accuracy"]), low, high, own))
    title = "Accuracy of models trained on the release"
    return [
        estimates(figures, title=title, unit="accuracies", compared="trained on the original table")
    ]


def _float(entry: object) -> float:
    return float(entry) if isinstance(entry, (int, float)) else float("nan")
