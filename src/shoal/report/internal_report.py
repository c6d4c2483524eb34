"""The internal report: what was done and why, who is still at risk, and what analysts keep.

It shows values of the table and findings of attacks, and says so at its top; it belongs in the
internal folder. Everything that it shows is passed in: it reads no file and knows no engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shoal.core.calibration import Calibration, Estimate
from shoal.core.display import Section
from shoal.core.findings import Findings
from shoal.core.manifest import Manifest, Meaning
from shoal.core.measure import Measured
from shoal.injector.known import Knowledge
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
from shoal.report.plots import bars, heat_map
from shoal.report.public_report import (
    NOT_STATED,
    RISKS,
    column_table,
    found_about,
    guarantee_list,
    promised_about,
    value_of_remark,
)
from shoal.report.risk import BY_COLUMN
from shoal.report.tables import figure_table, kept, section_parts, utility_parts
from shoal.slicing.correlation import Correlations

_WARNING = (
    "Internal: this page shows values of the table and what attacks found. It must not be shipped "
    "with the release."
)
_MOST_RULES = 30
_NOTHING_MEASURED = (
    "Nothing was measured. Loss and queries are measured by default when a table of up to 100,000 "
    "rows is published; the section [measures] of the configuration asks for more, and "
    "shoal.measure does it at any time."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What the internal report shows, beside the release itself."""

    # The columns of the table by role, also those that are not published.
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    findings: Sequence[Findings] = ()
    # By attack: the people at risk by what they have in common, and what of that cannot be counted.
    risks: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    unsaid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # By attack: the verdict of the gate, and the steward's reason to leave an attack out.
    verdicts: Mapping[str, str] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)
    # What the release was made against, or what was mined.
    knowledge: Knowledge | None = None
    measured: Sequence[Measured] = ()
    correlations: Correlations | None = None
    # The number of rows left out, and why.
    dropped: tuple[int, str] = (0, "")
    # The risks that were accepted, and why.
    accepted: Sequence[str] = ()
    # What the steward, and what every reader, was told.
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()
    # Figures of the method, by name.
    notes: Mapping[str, object] = field(default_factory=dict)
    # When each step began; the last entry is the end.
    seconds: Mapping[str, float] = field(default_factory=dict)


def internal_report(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], evidence: Evidence
) -> str:
    """Return the internal report, one HTML page.

    If a part of the evidence is missing, the report says that it was not done.
    """
    chapters = [
        Chapter("Attacks in short", _summary(evidence)),
        Chapter("Decisions and accepted risks", _decisions(evidence)),
        Chapter("What that means for people", _meaning(manifest, evidence)),
        Chapter("Roles of columns", _roles(manifest, meanings, evidence)),
        Chapter("What was done, and why", _done(manifest, evidence)),
        Chapter("What is guaranteed, and what is not", [guarantee_list(manifest)]),
        Chapter("Attacks one by one", _attacks(evidence)),
        Chapter("What an adversary is taken to know", _known(evidence)),
        Chapter("What an analyst can still do", _utility(evidence)),
    ]
    lead = [
        element("p", _WARNING, class_="note"),
        element("p", _verdict(manifest, evidence), class_="short"),
    ]
    return report_page("Internal report on a release", lead, chapters)


def _verdict(manifest: Manifest, evidence: Evidence) -> str:
    """Return one paragraph on the outcome."""
    names = " and ".join(guarantee.name for guarantee in manifest.guarantees)
    said = [
        f"{manifest.extent}, published {manifest.shape} by {manifest.method}.",
        f"What it promises, {names}, was verified from the written files."
        if names
        else "It promises nothing.",
        _attacked(evidence),
        kept(evidence.measured),
        "A risk was accepted: the reason stands under decisions." if evidence.accepted else "",
        "It is a test release, made from a seed that others may guess." if manifest.is_test else "",
    ]
    return " ".join(filter(None, said))


def _attacked(evidence: Evidence) -> str:
    if not evidence.findings:
        return "No attack was run."
    verdicts = [evidence.verdicts.get(found.attack, "") for found in evidence.findings]
    judged = [verdict for verdict in verdicts if verdict.startswith(("passed", "failed"))]
    n_failed = sum(verdict.startswith("failed") for verdict in judged)
    told = f"Attacks tried: {len(verdicts)}; judged by the gate: {len(judged) or 'none'}"
    told += f", of which failed: {n_failed or 'none'}. " if judged else ". "
    if evidence.not_run:
        told += f"Left out with a reason: {', '.join(map(_spaced, evidence.not_run))}. "
    telling = [found for found in evidence.findings if found.figure]
    figures = [f" {_spaced(found.attack).capitalize()}: {found.figure}." for found in telling]
    return told + _strongest(evidence) + "".join(figures)


def _strongest(evidence: Evidence) -> str:
    """Return a sentence on the strongest of the attacks that count people by a limit."""
    counting = [
        found for found in evidence.findings if found.limit is not None and not found.figure
    ]
    if not counting:
        return "None of them has a limit by which people could be counted as at risk."
    strongest = max(counting, key=lambda found: found.n_breached / max(found.n_people, 1))
    if not strongest.n_breached:
        return "No attack that counts people puts anybody at risk by its limit."
    return f"The strongest, {_spaced(strongest.attack)}: {strongest.line}."


def _spaced(attack: str) -> str:
    return attack.replace("_", " ")


def _summary(evidence: Evidence) -> list[Markup]:
    if not evidence.findings and not evidence.not_run:
        return [element("p", "No attack was run.")]
    rows: list[tuple[object, ...]] = [
        (
            _spaced(found.attack),
            element("span", found.knows),
            element("span", found.line),
            found.worst,
            found.limit or element("em", "none"),
            element("span", evidence.verdicts.get(found.attack, "reported, not judged")),
        )
        for found in evidence.findings
    ]
    for attack, reason in evidence.not_run.items():
        told = joined((element("span", "not run: "), value_of_remark(reason)))
        rows.append((_spaced(attack), None, None, None, None, told))
    names = ("attack", "knows", "what she finds", "worst posterior", "limit", "verdict")
    counted = [found for found in evidence.findings if found.n_at_risk is not None]
    if not counted:
        return [table(names, rows)]
    attacks = [_spaced(found.attack) for found in counted]
    counts = [found.n_breached for found in counted]
    most = float(max(found.n_people for found in counted))
    picture = bars(attacks, counts, title="People at risk by attack", unit="people", most=most)
    return [table(names, rows), drawing(picture)]


def _roles(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], evidence: Evidence
) -> list[Markup]:
    parts = []
    if evidence.roles:
        rows = [
            (element("span", role), joined(_names(columns)))
            for role, columns in evidence.roles.items()
            if columns
        ]
        parts.append(table(("role", "columns of the table"), rows))
    return [*parts, column_table(manifest, meanings)]


def _names(columns: Sequence[str]) -> list[Child]:
    parts: list[Child] = []
    for name in columns:
        parts += [", ", value(name)] if parts else [value(name)]
    return parts


def _done(manifest: Manifest, evidence: Evidence) -> list[Markup]:
    n_dropped, reason = evidence.dropped
    parts = [
        element(
            "p",
            f"The method {manifest.method} made a {manifest.shape} release, so that what is "
            "guaranteed below holds.",
        ),
        figure_table({**manifest.parameters}, "Parameters of the method"),
    ]
    if n_dropped:
        parts.append(element("p", f"{n_dropped} rows were left out: ", value_of_remark(reason)))
    if evidence.remarks:
        parts.append(listed(map(value_of_remark, evidence.remarks)))
    if evidence.notes:
        parts.append(figure_table(evidence.notes, "Figures of the method"))
    if evidence.seconds:
        rows = list(_durations(evidence.seconds))
        parts.append(table(("step", "seconds"), rows, "How long each step took"))
    return parts


def _durations(began: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the duration of each step from when each began; the last one only ends the others."""
    for (step, first), (_, last) in pairwise(began.items()):
        yield step, round(last - first, 2)


def _meaning(manifest: Manifest, evidence: Evidence) -> list[Markup]:
    promised, found = promised_about(manifest), found_about(evidence.findings)
    parts: list[Markup] = []
    for risk, question in RISKS.items():
        parts += [
            element("h3", risk),
            element("p", element("em", question)),
            element("p", promised[risk]),
            listed(map(value_of_remark, found[risk]))
            if found[risk]
            else element("p", "No attack tried it."),
        ]
    if NOT_STATED in found:
        told = "These attacks do not declare what they are a risk of."
        parts += [element("h3", NOT_STATED), element("p", told)]
        parts.append(listed(map(value_of_remark, found[NOT_STATED])))
    return parts


def _attacks(evidence: Evidence) -> list[Markup]:
    parts = [] if evidence.findings else [element("p", "No attack was run.")]
    for found in evidence.findings:
        parts += [
            element("h3", found.attack.replace("_", " ").capitalize()),
            element("p", f"The adversary knows {found.knows}."),
            element("p", f"What she finds: {found.line}."),
            *_doubts(found),
        ]
        parts += [] if found.calibration is None else [_scale_table(found.calibration)]
        parts += [figure_table(found.headline, "Figures")] if found.headline else []
        parts += [element("p", said) for said in evidence.unsaid.get(found.attack, ())]
        for section in (*evidence.risks.get(found.attack, ()), *found.sections):
            parts += section_parts(section, most=1.0 if section.title == BY_COLUMN else 0.0)
    return parts


def _doubts(found: Findings) -> list[Markup]:
    """List what the findings do not cover."""
    said = []
    if found.cut_short:
        said.append(f"It was cut short: {found.cut_short}.")
    if found.meaningless:
        said.append(f"Its limit means nothing here: {found.meaningless}.")
    if found.unresolved:
        said.append(f"It could not resolve what is known: {'; '.join(found.unresolved)}.")
    return [element("p", value_of_remark(one)) for one in said]


def _scale_table(scale: Calibration) -> Markup:
    """Show how beliefs compare with the table."""
    figures: dict[str, object] = {
        "people believed above the limit": scale.believed,
        "right about them": _with_interval(scale.right),
        "naive guess about them": scale.baseline,
        "people of whom something false is believed": scale.wrongly_believed,
        "people exposed": scale.exposed,
        "of them by their band of belief": scale.n_in_bands,
        "calibration slope (1: as right as believed, 0: worthless)": _with_interval(scale.slope),
        "people who tell something about the slope": scale.n_informative,
    }
    for name, one in scale.slopes.items():
        figures[f"slope of {name}"] = _with_interval(one)
    return figure_table(figures, "Beliefs compared with the table")


def _with_interval(estimate: Estimate | None) -> str | None:
    if estimate is None:
        return None
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"


def _known(evidence: Evidence) -> list[Markup]:
    known = evidence.knowledge
    if known is None:
        return [element("p", "No knowledge was mined or given.")]
    parts = [element("p", f"{len(known)} negative rules, {len(known.facts)} facts.")]
    shown = known.strongest(_MOST_RULES) if len(known) > _MOST_RULES else known
    parts.append(listed(value_of_remark(known.explain(rule)) for rule in shown))
    if len(known) > _MOST_RULES:
        parts.append(element("p", f"{len(known) - _MOST_RULES} more rules are in knowledge.toml."))
    return parts


def _utility(evidence: Evidence) -> list[Markup]:
    parts = [] if evidence.measured else [element("p", _NOTHING_MEASURED)]
    for one in evidence.measured:
        parts += utility_parts(one)
    if evidence.correlations is not None and evidence.correlations.columns:
        parts += [
            element("h3", "Correlation of the table's columns"),
            drawing(heat_map(evidence.correlations)),
        ]
    return parts


def _decisions(evidence: Evidence) -> list[Markup]:
    if evidence.accepted:
        parts = [listed(map(value_of_remark, evidence.accepted))]
    else:
        parts = [element("p", "No risk was accepted.")]
    if evidence.warnings:
        parts += [element("h3", "Warnings"), listed(map(value_of_remark, evidence.warnings))]
    return parts
