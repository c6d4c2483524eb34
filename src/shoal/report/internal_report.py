"""The internal report: what was done and why, who is still at risk, and what is still to be had.

It shows values of the table and findings of attacks, and says so at its top; it belongs into the
internal folder. Everything that it shows is given: it reads no file and knows no engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.core.attack import Findings, Section
from shoal.core.measure import Measured
from shoal.core.release import Manifest, Meaning
from shoal.knowledge.correlation import Correlations
from shoal.knowledge.known import Knowledge
from shoal.report.heat_map import heat_map
from shoal.report.html import Child, Markup, drawing, element, joined, listed, page, table, value
from shoal.report.plain_words import RISKS, found_about, promised_about
from shoal.report.plots import bars
from shoal.report.public_report import column_table, guarantee_list, value_of_remark
from shoal.report.risk import BY_COLUMN

__all__ = ["Evidence", "internal_report"]

_WARNING = (
    "Internal: this page shows values of the table and what attacks found. It must not be shipped "
    "with the release."
)
_MOST_ROWS = 200
_MOST_RULES = 100
_FEWEST_BARS = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What the internal report is made of, beside the release itself.

    Parameters
    ----------
    roles
        The columns of the table by role, those that are not published among them.
    findings
        What each attack found.
    risks
        For each attack, by its name, the people at risk by what they have in common.
    verdicts
        What the gate said of each attack, by its name.
    knowledge
        What the release was made against, or was mined; None where nothing was.
    measured
        What measures say of the release.
    correlations
        Of the table's columns.
    dropped
        How many rows were left out, and why.
    accepted
        The risks that were accepted, and why.
    warnings, remarks
        What the steward, and what every reader, was told.
    notes
        Figures of the method, by name.
    seconds
        How long each step took.
    """

    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    findings: Sequence[Findings] = ()
    risks: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    knowledge: Knowledge | None = None
    measured: Sequence[Measured] = ()
    correlations: Correlations | None = None
    dropped: tuple[int, str] = (0, "")
    accepted: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()
    notes: Mapping[str, object] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)


def internal_report(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], evidence: Evidence
) -> str:
    """Write the internal report, one HTML file.

    Parameters
    ----------
    manifest
        What the release says of itself.
    meanings
        What the labels of recoded columns stand for.
    evidence
        What else there is to show; what is not there is said not to have been done.
    """
    return page(
        "Internal report on a release",
        element("p", _WARNING, class_="note"),
        element("p", f"{manifest.extent}, published {manifest.shape} by {manifest.method}."),
        *_summary(evidence),
        *_roles(manifest, meanings, evidence),
        *_done(manifest, evidence),
        element("h2", "What is guaranteed, and what is not"),
        guarantee_list(manifest),
        *_meaning(manifest, evidence),
        *_attacks(evidence),
        *_known(evidence),
        *_utility(evidence),
        *_decisions(evidence),
    )


def _summary(evidence: Evidence) -> list[Markup]:
    if not evidence.findings:
        return [element("p", "No attack was run.")]
    rows = [
        (
            found.attack,
            element("span", found.knows),
            found.n_people,
            found.n_breached,
            found.worst,
            found.limit or element("em", "none"),
            element("span", evidence.verdicts.get(found.attack, "reported, not judged")),
        )
        for found in evidence.findings
    ]
    names = ("attack", "knows", "people", "at risk", "worst posterior", "limit", "verdict")
    attacks = [found.attack for found in evidence.findings]
    counts = [found.n_breached for found in evidence.findings]
    most = float(max(found.n_people for found in evidence.findings))
    picture = bars(attacks, counts, title="People at risk by attack", unit="people", most=most)
    return [table(names, rows, "Attacks in short"), drawing(picture)]


def _roles(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], evidence: Evidence
) -> list[Markup]:
    parts = [element("h2", "Roles of columns")]
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
        element("h2", "What was done, and why"),
        element(
            "p",
            f"The method {manifest.method} made a {manifest.shape} release, so that what is "
            "guaranteed below holds.",
        ),
        _figures({**manifest.parameters}, "Parameters of the method"),
    ]
    if n_dropped:
        parts.append(element("p", f"{n_dropped} rows were left out: ", value_of_remark(reason)))
    if evidence.remarks:
        parts.append(listed(map(value_of_remark, evidence.remarks)))
    if evidence.notes:
        parts.append(_figures(evidence.notes, "Figures of the method"))
    if evidence.seconds:
        parts.append(_figures(evidence.seconds, "Seconds by step"))
    return parts


def _figures(figures: Mapping[str, object], caption: str) -> Markup:
    rows = [(name, _shown(figure)) for name, figure in figures.items()]
    return table(("name", "value"), rows, caption)


def _shown(figure: object) -> object:
    if figure is None:
        return element("em", "none")
    return figure if isinstance(figure, (int, float, Markup)) else str(figure)


def _meaning(manifest: Manifest, evidence: Evidence) -> list[Markup]:
    promised, found = promised_about(manifest), found_about(evidence.findings)
    parts = [element("h2", "What that means for people")]
    for risk, question in RISKS.items():
        parts += [
            element("h3", risk),
            element("p", element("em", question)),
            element("p", promised[risk]),
            listed(map(value_of_remark, found[risk]))
            if found[risk]
            else element("p", "No attack tried it."),
        ]
    return parts


def _attacks(evidence: Evidence) -> list[Markup]:
    parts = [element("h2", "Attacks")] if evidence.findings else []
    for found in evidence.findings:
        parts += [
            element("h3", found.attack.replace("_", " ")),
            element("p", f"The adversary knows {found.knows}."),
        ]
        parts += [_figures(found.headline, "Figures")] if found.headline else []
        for section in (*evidence.risks.get(found.attack, ()), *found.sections):
            parts += _section(section)
    return parts


def _section(section: Section) -> list[Markup]:
    rows = [tuple(map(_shown_cell, row)) for row in section.rows[:_MOST_ROWS]]
    parts = [table(list(map(_heading, section.columns)), rows, section.title)]
    if len(section.rows) > _MOST_ROWS:
        parts.append(element("p", f"{len(section.rows) - _MOST_ROWS} more are not shown."))
    drawn = _picture(section)
    return parts if drawn is None else [drawn, *parts]


def _heading(name: str) -> Markup:
    return value(name)


def _shown_cell(entry: object) -> object:
    return entry if entry is None else _shown(entry)


def _picture(section: Section) -> Markup | None:
    """Draw the first numbers of a section whose rows have a name and a number."""
    if len(section.columns) not in (2, 3) or len(section.rows) < _FEWEST_BARS:
        return None
    numbers = [row[1] for row in section.rows]
    if not all(isinstance(one, (int, float)) and one >= 0 for one in numbers):
        return None
    labels = ["missing" if row[0] is None else str(row[0]) for row in section.rows]
    floats = [float(one) for one in numbers if isinstance(one, (int, float))]
    most = 1.0 if section.title == BY_COLUMN else 0.0
    return drawing(bars(labels, floats, title=section.title, unit=section.columns[1], most=most))


def _known(evidence: Evidence) -> list[Markup]:
    parts = [element("h2", "What an adversary is taken to know")]
    known = evidence.knowledge
    if known is None:
        return [*parts, element("p", "No knowledge was mined or given.")]
    parts.append(element("p", f"{len(known)} negative rules, {len(known.facts)} facts."))
    shown = known.strongest(_MOST_RULES) if len(known) > _MOST_RULES else known
    parts.append(listed(value_of_remark(known.explain(rule)) for rule in shown))
    if len(known) > _MOST_RULES:
        parts.append(element("p", f"{len(known) - _MOST_RULES} more rules are in knowledge.toml."))
    return parts


def _utility(evidence: Evidence) -> list[Markup]:
    parts = [element("h2", "What an analyst can still do")]
    if not evidence.measured:
        parts.append(element("p", "Nothing was measured."))
    for one in evidence.measured:
        parts += [element("h3", one.measure.replace("_", " ")), _figures(one.headline, "Figures")]
        for section in one.sections:
            parts += _section(section)
    if evidence.correlations is not None and evidence.correlations.columns:
        parts += [
            element("h3", "Correlation of the table's columns"),
            drawing(heat_map(evidence.correlations)),
        ]
    return parts


def _decisions(evidence: Evidence) -> list[Markup]:
    parts = [element("h2", "Decisions and accepted risks")]
    if evidence.accepted:
        parts.append(listed(map(value_of_remark, evidence.accepted)))
    else:
        parts.append(element("p", "No risk was accepted."))
    if evidence.warnings:
        parts += [element("h3", "Warnings"), listed(map(value_of_remark, evidence.warnings))]
    return parts
