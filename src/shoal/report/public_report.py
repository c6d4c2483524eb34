"""The public report, `report.html`: what a release is, on one page, and what it means for people.

It contains what the manifest, the labels and the codebook contain, and nothing else: no finding of
an attack, no mined rule, no value that the labels do not name.

Singling out, linkability and inference are the risks that European data protection authorities ask
about: Article 29 Working Party, Opinion 05/2014 on anonymisation techniques, section 2.2.
Membership is added: that somebody is in the table may be all there is to know. Each attack class
declares the risks that it shows; an attack that declares none is listed separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.display import chance
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import KAnonymity
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.report.codebook import (
    ENCODING,
    MOST_LABELS,
    TEST_RELEASE,
    counted_at,
    describe,
    first_labels,
    headline,
    left_out,
    level_labels,
    published_as,
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
    Risk.SINGLING_OUT: "Can a person be singled out in the release?",
    Risk.LINKABILITY: "Can the data about a person be linked to another source about them?",
    Risk.INFERENCE: "Can something be inferred about a person with more certainty than before?",
    Risk.MEMBERSHIP: "Can anyone tell whether a person is in the table?",
}
# The heading of attacks whose class does not declare a risk.
NOT_STATED = "Not stated"
_MORE = "An adversary who compares buckets, or who knows more, may infer more."


def public_report(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    bucket_sizes: npt.ArrayLike = (),
) -> str:
    """Return the public report, one HTML page.

    `bucket_sizes` has the number of rows of each bucket, which any reader can count, for a drawing.
    Default: no drawing.
    """
    chapters = [
        Chapter(
            "What was changed",
            [
                element("p", *_marked(manifest.reading)),
                column_table(manifest, meanings),
                *_slices(manifest),
                *_drawn(manifest, bucket_sizes),
            ],
        ),
        Chapter(
            "How to analyse the data",
            [
                element("p", *_marked(manifest.shape.words.analysing)),
                element("p", *_marked(ENCODING)),
            ],
        ),
        Chapter("What is guaranteed and what is not", guarantee_parts(manifest)),
        Chapter("What this means for people", risk_parts(manifest)),
    ]
    if manifest.remarks:
        told = listed(map(value_of_remark, manifest.remarks))
        chapters.append(Chapter("Further remarks", [told]))
    if meanings:
        chapters.append(Chapter("Meaning of the labels", _labels(manifest, meanings)))
    return report_page("Report on a release", _in_short(manifest, meanings), chapters)


def _in_short(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> list[Child]:
    """Return one paragraph on what the release is and what it guarantees."""
    changes = [published_as(manifest, column, meanings) for column in manifest.columns]
    n_labelled = changes.count("labels")
    names = " and ".join(guarantee.name for guarantee in manifest.guarantees)
    told = [
        headline(manifest),
        f"Labels replace the values of {n_labelled} of {len(changes)} columns."
        if n_labelled
        else "",
        f"It guarantees {names}, and nothing beyond that." if names else "It guarantees nothing.",
        (
            "The sections below state what this covers, what it does not cover, and what it means "
            "for people in terms of singling out, linkability, inference and membership."
        ),
    ]
    said: list[Child] = [element("p", " ".join(filter(None, told)), class_="short")]
    said += _about(manifest)
    return [*said, element("p", TEST_RELEASE, class_="note")] if manifest.is_test else said


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
            element("span", published_as(manifest, column, meanings)),
            column.n_suppressed,
        )
        for column in manifest.columns
    ]
    names = ("column", "role", "type", "published as", "cells suppressed")
    if manifest.shape.hides_cells:
        return table(names, rows, "Columns")
    return table(names[:-1], [row[:-1] for row in rows], "Columns")


def _slices(manifest: Manifest) -> list[Markup]:
    if not manifest.slices:
        return []
    rows = [
        (element("code", f"column_{number}"), name_list(names))
        for number, names in enumerate(manifest.slices, start=1)
    ]
    return [table(("file", "its attributes"), rows, "Columns of attributes")]


def guarantee_parts(manifest: Manifest) -> list[Markup]:
    """List the guarantees, and the levels that they count in the place of sensitive values."""
    told = [guarantee_list(manifest)]
    for level in manifest.levels:
        told.append(element("p", element("strong", value(level.column)), ": ", counted_at(level)))
        labels = level_labels(manifest, level)
        if labels:
            told.append(table(("level",), [(label,) for label in labels], "Levels"))
    return told


def name_list(names: Sequence[str]) -> Markup:
    """Return names of columns, separated by commas."""
    parts: list[Child] = []
    for name in names:
        parts += [", ", value(name)] if parts else [value(name)]
    return joined(parts)


def _drawn(manifest: Manifest, bucket_sizes: npt.ArrayLike) -> list[Markup]:
    drawn = []
    if np.size(bucket_sizes) and not manifest.shape.hides_cells:
        title, told = "Number of buckets, by their size in rows", "buckets"
        drawn.append(drawing(histogram(bucket_sizes, title=title, unit=told)))
    hidden = [column for column in manifest.columns if column.n_suppressed]
    if hidden:
        names = [column.name for column in hidden]
        counts = [column.n_suppressed for column in hidden]
        drawn.append(drawing(bars(names, counts, title="Suppressed cells", unit="cells")))
    return drawn


def guarantee_list(manifest: Manifest) -> Markup:
    """List the guarantees with the limits of each."""
    return listed(
        joined(
            (
                element("strong", guarantee.name),
                ": ",
                value_of_remark(guarantee.statement),
                ".",
                element("p", element("em", "Limits: "), guarantee.limits),
            )
        )
        for guarantee in manifest.guarantees
    )


def risk_parts(manifest: Manifest, findings: Sequence[Findings] | None = None) -> list[Markup]:
    """Return what a release means for people, risk by risk.

    `findings` are added for the internal report. Default: none, as in the public report.
    """
    promised, found = promised_about(manifest), found_about(findings or ())
    parts: list[Markup] = []
    for risk, question in RISKS.items():
        parts += [element("h3", risk), element("p", element("em", question))]
        parts.append(element("p", promised[risk]))
        if found[risk]:
            parts.append(listed(map(value_of_remark, found[risk])))
        elif findings is not None:
            parts.append(element("p", "No attack was run against this risk."))
    if NOT_STATED in found:
        told = "These attacks do not declare which risk they show."
        parts += [element("h3", NOT_STATED), element("p", told)]
        parts.append(listed(map(value_of_remark, found[NOT_STATED])))
    return parts


def _labels(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> list[Markup]:
    parts = []
    orders = {column.name: column.order or () for column in manifest.columns}
    for column, labels in meanings.items():
        order = orders.get(column, ())
        rows = [(label, describe(meaning, order)) for label, meaning in first_labels(labels, order)]
        caption = joined(("Labels of ", value(column)))
        parts.append(table(("label", "meaning"), rows, caption))
        if len(labels) > MOST_LABELS:
            parts.append(element("p", left_out(len(labels), manifest)))
    return parts


def _marked(text: str) -> list[Child]:
    """Read the backquotes of Markdown as marks of code."""
    return [
        element("code", part) if place % 2 else part for place, part in enumerate(text.split("`"))
    ]


def promised_about(manifest: Manifest) -> dict[str, str]:
    """Return for each risk what follows from the shape and the guarantees alone.

    It contains no finding of an attack.

    Examples
    --------
    >>> from shoal.core.guarantees import FrequencyDiversity
    >>> from shoal.core.shapes import Shape
    >>> manifest = Manifest(shape=Shape.BUCKETIZED, method="anatomy", parameters={},
    ...     guarantees=(FrequencyDiversity(ell=4),), columns=(), n_rows=8, n_buckets=2)
    >>> print(promised_about(manifest)["Inference"])
    An adversary who relies only on what the guarantees cover cannot assign any sensitive value a
    probability above 1 in 4. An adversary who compares buckets, or who knows more, may infer more.
    """
    k = max((one.k for one in manifest.guarantees if isinstance(one, KAnonymity)), default=0)
    alike = f" Every combination of quasi-identifiers is shared by at least {k} rows." if k else ""
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
            "An adversary who relies only on what the guarantees cover cannot assign any "
            f"{kind} value a probability above {chance(bound)}. {_MORE}"
        )
    if any(one.is_about_sensitive for one in manifest.guarantees):
        return (
            "The guarantees limit what can be inferred about sensitive values, but they set no "
            f"upper bound on the probability of a single value. {_MORE}"
        )
    if manifest.shape.hides_cells:
        return (
            "The guarantees cover the suppressed cells only: every other value can be read as it "
            f"is. {_MORE}"
        )
    return (
        "No guarantee covers sensitive values: if all people who look alike share a value, it is "
        "known about all of them."
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
    name = found.attack.replace("_", " ").capitalize()
    return f"{name}. The adversary knows {found.knows}. {_finding(found)}"


def _finding(found: Findings) -> str:
    limit = "" if found.limit is None else f"Limit: {chance(found.limit)}. "
    if found.figure or found.limit is not None:
        return f"{limit}Finding: {found.line}."
    most = f"Strongest belief about anyone: {chance(found.worst)}"
    return f"{most}; there is no limit to judge it by."
