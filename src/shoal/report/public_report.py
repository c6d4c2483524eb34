"""The public report, `report.html`: what a release is, on one page, and what it means for people.

It says what the manifest, the labels and the codebook say, and no more: no finding of an attack, no
mined rule, no value that `labels.json` does not name.

Singling out, linkability and inference are the risks that European data protection authorities
ask about: Article 29 Working Party, Opinion 05/2014 on anonymisation techniques, section 2.2.
Membership stands beside them: that somebody is in the table may be all there is to know. Each
attack class declares which risks it tries; an attack that declares none is listed apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.display import number
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import KAnonymity
from shoal.core.manifest import Manifest, Meaning
from shoal.report.codebook import (
    ENCODING,
    describe,
    labels_in_order,
    stated_role,
)
from shoal.report.markup import (
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
from shoal.report.plots import bars, histogram

# The risks, and the question that each asks.
RISKS: dict[str, str] = {
    Risk.SINGLING_OUT: "Can somebody be picked out of the release?",
    Risk.LINKABILITY: "Can what is published of somebody be joined to another source about them?",
    Risk.INFERENCE: "Can something be concluded about somebody with more certainty than before?",
    Risk.MEMBERSHIP: "Can it be told whether somebody is in the table?",
}
# The heading of attacks whose class does not declare a risk.
NOT_STATED = "Not stated"
_MOST_LABELS = 500


def public_report(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    bucket_sizes: npt.ArrayLike = (),
) -> str:
    """Return the public report, one HTML page.

    `bucket_sizes` has the number of rows of each bucket, which any reader can count; they are
    drawn.
    """
    chapters = [
        Chapter(
            "What changed",
            [
                element("p", *_marked(manifest.shape.words.reading)),
                column_table(manifest, meanings),
                *_slices(manifest),
                *_drawn(manifest, bucket_sizes),
            ],
        ),
        Chapter(
            "How to analyse it",
            [
                element("p", *_marked(manifest.shape.words.analysing)),
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
    """Return one paragraph on what the release is and what it promises."""
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
    if manifest.shape.hides_cells:
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
    if np.size(bucket_sizes) and not manifest.shape.hides_cells:
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


def promised_about(manifest: Manifest) -> dict[str, str]:
    """Return for each risk what follows from the shape and the guarantees alone.

    Nothing that an attack found is in it.

    Examples
    --------
    >>> from shoal.core.guarantees import FrequencyDiversity
    >>> from shoal.core.shapes import Shape
    >>> manifest = Manifest(shape=Shape.BUCKETIZED, method="anatomy", parameters={},
    ...     guarantees=(FrequencyDiversity(ell=4),), columns=(), n_rows=8, n_buckets=2)
    >>> print(promised_about(manifest)["Inference"])
    Who goes by what the guarantees speak of, and by nothing else, believes no sensitive value
    with a probability above 1/4. Who compares buckets, or knows more, may conclude more.
    """
    k = max((one.k for one in manifest.guarantees if isinstance(one, KAnonymity)), default=0)
    alike = f" At least {k} rows share every combination." if k else ""
    words = manifest.shape.words
    return {
        Risk.SINGLING_OUT: words.singled_out + alike,
        Risk.LINKABILITY: words.linked,
        Risk.INFERENCE: _inferred(manifest),
        Risk.MEMBERSHIP: words.membership,
    }


def _inferred(manifest: Manifest) -> str:
    bounds = [
        (one.posterior_bound, bool(getattr(one, "protect", ())))
        for one in manifest.guarantees
        if one.posterior_bound is not None
    ]
    if bounds:
        bound, is_of_some = min(bounds)
        kind = "protected" if is_of_some else "sensitive"
        return (
            f"Who goes by what the guarantees speak of, and by nothing else, believes no {kind} "
            f"value with a probability above {bound}. Who compares buckets, or knows more, may "
            "conclude more."
        )
    if any(one.is_about_sensitive for one in manifest.guarantees):
        return (
            "The guarantees say how far sensitive values are hidden; they bound no single belief "
            "beyond what they state. Who compares buckets, or knows more, may conclude more."
        )
    return (
        "No guarantee is about sensitive values: where those who look alike share a value, it is "
        "known of all of them."
    )


def found_about(findings: Sequence[Findings]) -> dict[str, list[str]]:
    """Return for each risk what the attacks found about it; an empty list if none tried.

    Attacks that declare no risk are listed under `NOT_STATED`, which is a key only if there are
    any.
    """
    said: dict[str, list[str]] = {risk: [] for risk in RISKS}
    for found in findings:
        for risk in found.risks or (NOT_STATED,):
            said.setdefault(risk, []).append(_sentence(found))
    return said


def _sentence(found: Findings) -> str:
    name = found.attack.replace("_", " ")
    if found.figure:
        return f"{name}, by an adversary who knows {found.knows}: {found.figure}."
    if found.is_belief and found.limit is not None:
        by_limit = f"by the limit {found.limit}, {found.line}"
        return f"{name}, by an adversary who knows {found.knows}: {by_limit}."
    begin = f"{name}: an adversary who knows {found.knows}"
    if found.limit is None:
        return (
            f"{begin} believes what she believes most of anybody with probability "
            f"{found.worst:.3g}. There is no limit to judge that by."
        )
    counted = "none" if not found.n_breached else number(found.n_breached)
    return (
        f"{begin} puts {counted} of {number(found.n_people)} people at risk by the limit "
        f"{found.limit}; the most that she believes of anybody has probability {found.worst:.3g}."
    )
