"""What measures say of a release, drawn: losses, errors of queries, accuracies beside the table's.

Every measure is shown by its figures and sections; those that Shoal knows are drawn as well. A loss
or an error is 0 where nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.core.attack import Section
from shoal.core.measure import Measured
from shoal.report.html import Markup, drawing, element
from shoal.report.plots import Estimate, bars, estimates
from shoal.report.tables import figure_table, section_parts

__all__ = ["kept", "utility_parts"]

_COUNTED = ("discernibility", "class size", "cells suppressed", "rows left out", "queries")
_IN_SHORT = {
    "generalized loss": "labels lose {:.0%} of the detail of quasi-identifiers",
    "mean relative error": "counts of several columns are off by {:.0%} on average",
    "accuracy lost": "models trained on it lose {:.1%} of accuracy",
    "confidence error": "confidences of rules are off by {:.2f}",
}


def kept(measured: Sequence[Measured]) -> str:
    """Say in one sentence what was measured; an empty text where nothing was."""
    told = [
        _IN_SHORT[name].format(figure)
        for one in measured
        for name, figure in one.headline.items()
        # What is not even touched needs no word.
        if name in _IN_SHORT and isinstance(figure, float) and figure
    ]
    return f"Of its use: {'; '.join(told)}." if told else ""


def utility_parts(one: Measured) -> list[Markup]:
    """Show what a measure says: its pictures, its figures, its sections."""
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
    title = "What is lost: 0 is nothing, 1 is everything"
    return [bars(list(shares), list(shares.values()), title=title, unit="share lost", most=1.0)]


def _errors(section: Section | None) -> list[str]:
    if section is None or not section.rows:
        return []
    figures = []
    for row in section.rows:
        told = dict(zip(section.columns, row, strict=True))
        label = f"{told['aggregate']} {told['column']}".strip()
        figures.append(Estimate(label, *(_float(told[name]) for name in _MEAN)))
    title = "Relative errors of queries: mean, with its interval of 95 %"
    return [estimates(figures, title=title, unit="relative error")]


_MEAN = ("mean", "mean from", "mean to")


def _accuracies(section: Section | None) -> list[str]:
    if section is None or not section.rows:
        return []
    figures = []
    for row in section.rows:
        told = dict(zip(section.columns, row, strict=True))
        label = f"{told['target']}: {told['model']}, {told['training']}"
        own = _float(told["of the table"])
        # The interval is that of what is lost beside the table.
        low, high = own - _float(told["to"]), own - _float(told["from"])
        figures.append(Estimate(label, _float(told["accuracy"]), low, high, own))
    title = "Accuracy of models trained on the release"
    return [estimates(figures, title=title, unit="accuracy", compared="trained on the table")]


def _float(entry: object) -> float:
    return float(entry) if isinstance(entry, (int, float)) else float("nan")
