"""The public report: what changed, what is promised, and how to analyse the release.

It says what the manifest, the labels and the codebook say, and no more: no finding of an attack, no
mined rule, no value that `labels.json` does not name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.method import Shape
from shoal.core.release import Manifest, Meaning
from shoal.report.codebook import (
    ANALYSING,
    ENCODING,
    READING,
    describe,
    labels_in_order,
    stated_role,
)
from shoal.report.html import (
    Chapter,
    Child,
    Markup,
    drawing,
    element,
    joined,
    listed,
    report_page,
    table,
    value,
)
from shoal.report.plain_words import RISKS, promised_about
from shoal.report.plots import bars, histogram

__all__ = ["column_table", "guarantee_list", "public_report"]

_MOST_LABELS = 500
_ONE_LINE = {
    Shape.GENERALIZED: (
        "Count, tabulate and model the lines as they are. A label stands for a range or for "
        "several values: treat it as a category, or take the middle of an interval as an estimate "
        "and say so."
    ),
    Shape.SUPPRESSED: (
        "Count, tabulate and model the lines as they are. Treat a suppressed cell as unknown: it "
        "is not missing at random, for what is hidden was chosen by what it would betray."
    ),
}


def public_report(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    bucket_sizes: npt.ArrayLike = (),
) -> str:
    """Write the public report, one HTML file.

    Parameters
    ----------
    manifest
        What the release says of itself.
    meanings
        What the labels of recoded columns stand for.
    bucket_sizes
        How many rows each bucket has, which any reader can count; they are drawn.
    """
    chapters = [
        Chapter(
            "What changed",
            [
                element("p", *_marked(READING[manifest.shape])),
                column_table(manifest, meanings),
                *_slices(manifest),
                *_drawn(manifest, bucket_sizes),
            ],
        ),
        Chapter(
            "How to analyse it",
            [
                element("p", *_marked(_ONE_LINE.get(manifest.shape, ANALYSING))),
                element("p", *_marked(ENCODING)),
            ],
        ),
        Chapter("What is guaranteed, and what is not", [guarantee_list(manifest)]),
        Chapter("What that means for people", _risks(manifest)),
    ]
    if manifest.remarks:
        told = listed(map(value_of_remark, manifest.remarks))
        chapters.append(Chapter("What else is known", [told]))
    if meanings:
        chapters.append(Chapter("What labels stand for", _labels(manifest, meanings)))
    return report_page("Report on a release", _in_short(manifest), chapters)


def _in_short(manifest: Manifest) -> list[Child]:
    """Say in one paragraph what the release is and what it promises."""
    n_recoded = sum(column.is_recoded for column in manifest.columns)
    names = " and ".join(guarantee.name for guarantee in manifest.guarantees)
    told = (
        f"{manifest.extent}, published {manifest.shape} by {manifest.method}. "
        + (f"Labels stand in place of the values of {n_recoded} columns. " if n_recoded else "")
        + f"It promises {names or 'nothing'}, and nothing beyond that: what this covers and what "
        "not is said below, also in terms of singling out, linkability, inference and membership."
    )
    said: list[Child] = [element("p", told, class_="short"), *_about(manifest)]
    if manifest.is_test:
        warned = "This is a test release, made from a seed that others may guess."
        said.append(element("p", warned, class_="note"))
    return said


def _about(manifest: Manifest) -> list[Markup]:
    stated = manifest.about.to_dict()
    entries = (
        joined((element("strong", name), ": ", value_of_remark(text)))
        for name, text in stated.items()
    )
    return [listed(entries)] if stated else []


def value_of_remark(remark: str) -> Markup:
    """Show a whole sentence, however long."""
    return value(remark, 2000)


def column_table(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> Markup:
    """List the published columns and what became of each."""
    rows = [
        (
            column.name,
            element("span", stated_role(column)),
            element("span", str(column.type)),
            element("span", _became(manifest, column.name, meanings)),
            column.n_suppressed,
        )
        for column in manifest.columns
    ]
    names = ("column", "role", "type", "published as", "cells suppressed")
    if manifest.shape is Shape.SUPPRESSED:
        return table(names, rows, "Columns")
    return table(names[:-1], [row[:-1] for row in rows], "Columns")


def _became(manifest: Manifest, name: str, meanings: Mapping[str, Mapping[str, Meaning]]) -> str:
    (column,) = [one for one in manifest.columns if one.name == name]
    if column.is_distorted:
        return "values, some of which may have been changed on purpose"
    return "labels" if name in meanings or column.is_recoded else "values as they were"


def _slices(manifest: Manifest) -> list[Markup]:
    if not manifest.slices:
        return []
    rows = [
        (element("code", f"column_{number}"), joined(_separated(names)))
        for number, names in enumerate(manifest.slices, start=1)
    ]
    return [table(("file", "its attributes"), rows, "Columns of attributes")]


def _separated(names: Sequence[str]) -> list[Child]:
    parts: list[Child] = []
    for name in names:
        parts += [value(name)] if not parts else [", ", value(name)]
    return parts


def _drawn(manifest: Manifest, bucket_sizes: npt.ArrayLike) -> list[Markup]:
    drawn = []
    if np.size(bucket_sizes) and manifest.shape is not Shape.SUPPRESSED:
        told = "buckets by their number of rows"
        drawn.append(drawing(histogram(bucket_sizes, title="Sizes of buckets", unit=told)))
    hidden = [column for column in manifest.columns if column.n_suppressed]
    if hidden:
        names = [column.name for column in hidden]
        counts = [column.n_suppressed for column in hidden]
        drawn.append(drawing(bars(names, counts, title="Cells suppressed", unit="cells")))
    return drawn


def guarantee_list(manifest: Manifest) -> Markup:
    """List what is promised, with the limits of each promise."""
    return listed(
        joined(
            (
                element("strong", guarantee.name),
                ": ",
                value_of_remark(guarantee.statement),
                ".",
                element("p", element("em", "What it does not cover: "), guarantee.limits),
            )
        )
        for guarantee in manifest.guarantees
    )


def _risks(manifest: Manifest) -> list[Markup]:
    said = promised_about(manifest)
    return [
        part
        for risk, question in RISKS.items()
        for part in (element("h3", risk), element("p", element("em", question)), _text(said[risk]))
    ]


def _text(sentence: str) -> Markup:
    return element("p", sentence)


def _labels(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> list[Markup]:
    parts = []
    orders = {column.name: column.order or () for column in manifest.columns}
    for column, labels in meanings.items():
        order = orders.get(column, ())
        shown = labels_in_order(labels, order)
        rows = [(label, describe(meaning, order)) for label, meaning in shown[:_MOST_LABELS]]
        caption = joined(("Labels of ", value(column)))
        parts.append(table(("label", "stands for"), rows, caption))
        if len(shown) > _MOST_LABELS:
            told = f"{len(shown) - _MOST_LABELS} more labels are in labels.json."
            parts.append(element("p", told))
    return parts


def _marked(text: str) -> list[Child]:
    """Read the backquotes of Markdown as marks of code."""
    return [
        element("code", part) if place % 2 else part for place, part in enumerate(text.split("`"))
    ]
