"""The internal report: how a release was made, who is still at risk, and what analysts keep.

It shows values of the table and findings of attacks, says so at its top, and belongs in the
internal folder. Everything that it shows is passed in: it reads no file and uses no engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shoal.core.calibration import Calibration, Estimate
from shoal.core.display import Section, chance, number, shown_list
from shoal.core.findings import Findings
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.measure import Measured
from shoal.injector.known import Knowledge
from shoal.report.codebook import TEST_RELEASE, headline
from shoal.report.markup import (
    Chapter,
    Markup,
    drawing,
    element,
    joined,
    listed,
    report_page,
    table,
    value,
)
from shoal.report.plots import bars, heat_map, measure_plots
from shoal.report.public_report import (
    column_table,
    guarantee_parts,
    name_list,
    risk_parts,
    value_of_remark,
)
from shoal.report.risk import BY_COLUMN
from shoal.slicing.correlation import Correlations

_WARNING = (
    "Internal: this page shows values of the original table and the findings of attacks. Do not "
    "publish it with the release."
)
_MOST_RULES = 30
_MOST_ROWS = 40
_FEWEST_BARS = 2
_MOST_BARS = 40
# A longer name is cut beside a bar, so the table is needed as well.
_MOST_LETTERS = 26
_NOTHING_MEASURED = (
    "Nothing was measured. By default, loss and queries are measured when a table of up to 100,000 "
    "rows is published. To measure more, add sections [measures.NAME] to the configuration, or "
    "call shoal.measure at any time."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What the internal report shows besides the release itself."""

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
        Chapter("Attacks at a glance", _summary(evidence)),
        Chapter("Decisions and accepted risks", _decisions(evidence)),
        Chapter("What this means for people", risk_parts(manifest, evidence.findings)),
        Chapter("Roles of the columns", _roles(manifest, meanings, evidence)),
        Chapter("How the release was made", _done(manifest, evidence)),
        Chapter("What is guaranteed and what is not", guarantee_parts(manifest)),
        Chapter("The attacks one by one", _attacks(evidence)),
        Chapter("What an adversary is assumed to know", _known(evidence)),
        Chapter("What analysts can still do", _utility(evidence)),
    ]
    lead = [
        element("p", _WARNING, class_="note"),
        element("div", *_verdict(manifest, evidence), class_="short"),
    ]
    return report_page("Internal report on a release", lead, chapters)


def _verdict(manifest: Manifest, evidence: Evidence) -> list[Markup]:
    """Return a few short paragraphs on the outcome."""
    names = " and ".join(guarantee.name for guarantee in manifest.guarantees)
    kept = [line for one in evidence.measured for line in one.words]
    said = [
        headline(manifest),
        f"Verified from the written files: {names}." if names else "It guarantees nothing.",
        *_attacked(evidence),
        f"For analysts: {'; '.join(kept)}." if kept else "",
        'A risk was accepted; see "Decisions and accepted risks".' if evidence.accepted else "",
        TEST_RELEASE if manifest.is_test else "",
    ]
    return [element("p", sentence) for sentence in said if sentence]


def _attacked(evidence: Evidence) -> list[str]:
    if not evidence.findings:
        return ["No attack was run."]
    verdicts = [evidence.verdicts.get(found.attack, "") for found in evidence.findings]
    n_passed = sum(verdict.startswith("passed") for verdict in verdicts)
    n_failed = sum(verdict.startswith("failed") for verdict in verdicts)
    judged = f"{n_passed + n_failed} ({n_passed} passed, {n_failed} failed)"
    told = f"Attacks run: {len(verdicts)}. "
    told += f"Judged by the gate: {judged if n_passed + n_failed else 'none'}. "
    if evidence.not_run:
        told += f"Not run, for a stated reason: {', '.join(map(_spaced, evidence.not_run))}. "
    telling = [found for found in evidence.findings if found.figure]
    figures = [f"{_spaced(found.attack).capitalize()}: {found.figure}." for found in telling]
    return [told + _strongest(evidence), *figures]


def _strongest(evidence: Evidence) -> str:
    """Return a sentence on the strongest of the attacks that count people by a limit."""
    counting = [
        found for found in evidence.findings if found.limit is not None and not found.figure
    ]
    if not counting:
        return "None of them has a limit above which a person counts as at risk."
    strongest = max(counting, key=lambda found: (found.n_at_risk or 0) / max(found.n_all, 1))
    if not strongest.n_at_risk:
        return "No attack that counts people puts anyone at risk at its limit."
    return f"The strongest is {_spaced(strongest.attack)}: {strongest.line}."


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
            element("span", chance(found.worst)),
            element("span", "none" if found.limit is None else chance(found.limit)),
            element("span", evidence.verdicts.get(found.attack, "reported, not judged")),
        )
        for found in evidence.findings
    ]
    for attack, reason in evidence.not_run.items():
        told = joined((element("span", "not run: "), value_of_remark(reason)))
        rows.append((_spaced(attack), *[element("span", "")] * 4, told))
    names = ("attack", "the adversary knows", "finding", "strongest belief", "limit", "verdict")
    counted = [found for found in evidence.findings if found.n_at_risk is not None]
    if not counted:
        return [table(names, rows)]
    attacks = [_spaced(found.attack) for found in counted]
    counts = [found.n_at_risk or 0 for found in counted]
    most = float(max(found.n_all for found in counted))
    picture = bars(attacks, counts, title="People at risk by attack", unit="people", most=most)
    return [table(names, rows), drawing(picture)]


def _roles(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], evidence: Evidence
) -> list[Markup]:
    parts = []
    if evidence.roles:
        rows = [
            (element("span", role), name_list(columns))
            for role, columns in evidence.roles.items()
            if columns
        ]
        parts.append(table(("role", "columns of the original table"), rows))
    return [*parts, column_table(manifest, meanings)]


def _done(manifest: Manifest, evidence: Evidence) -> list[Markup]:
    n_dropped, reason = evidence.dropped
    parts = [
        element(
            "p",
            f"The method {manifest.method} made a {manifest.shape} release that keeps the "
            "guarantees below.",
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
        parts.append(table(("step", "seconds"), rows, "Duration of each step"))
    return parts


def _durations(began: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the duration of each step from when each began; the last one only ends the others."""
    for (step, first), (_, last) in pairwise(began.items()):
        yield step, round(last - first, 2)


def _attacks(evidence: Evidence) -> list[Markup]:
    parts = [] if evidence.findings else [element("p", "No attack was run.")]
    for found in evidence.findings:
        parts += [
            element("h3", _spaced(found.attack).capitalize()),
            element("p", f"The adversary knows {found.knows}."),
            element("p", f"Finding: {found.line}."),
            *([element("p", "Attacked: ", value(found.levels), ".")] if found.levels else []),
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
    if found.sampled is not None:
        sample = found.sampled
        said.append(
            f"The attack looked at a sample: {number(sample.n_people)} of {number(sample.n_all)} "
            f"people, in the buckets of {number(sample.n_draws)} people drawn at random. From "
            f"{number(int(sample.at_risk.low))} to {number(int(sample.at_risk.high))} of all "
            "people are at risk (95 % interval), and the gate judges the upper end. The figures "
            "below are about the sample."
        )
    if found.cut_short:
        said.append(f"The attack was cut short: {found.cut_short}.")
    if found.meaningless:
        said.append(f"The limit is meaningless here: {found.meaningless}.")
    if found.unresolved:
        listed_parts = "; ".join(found.unresolved)
        said.append(f"Parts of the adversary's knowledge could not be resolved: {listed_parts}.")
    return [element("p", value_of_remark(one)) for one in said]


def _scale_table(scale: Calibration) -> Markup:
    """Show how beliefs compare with the table."""
    figures: dict[str, object] = {
        "people about whom something is believed above the limit": scale.believed,
        "share of these beliefs that are true": _with_interval(scale.right),
        "share that a naive guess gets right": scale.baseline,
        "people about whom something false is believed": scale.wrongly_believed,
        "people exposed": scale.exposed,
        "of these, exposed because their band of belief is often right": scale.n_in_bands,
        "calibration slope (1: beliefs are as right as they are strong; 0: worthless)": (
            _with_interval(scale.slope)
        ),
        "people who carry information about the slope": scale.n_informative,
    }
    for name, one in scale.slopes.items():
        figures[f"calibration slope of {name}"] = _with_interval(one)
    return figure_table(figures, "Beliefs compared with the original table")


def _with_interval(estimate: Estimate | None) -> str | None:
    if estimate is None:
        return None
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"


def _known(evidence: Evidence) -> list[Markup]:
    known = evidence.knowledge
    if known is None:
        return [element("p", "No knowledge was mined or provided.")]
    parts = [element("p", f"{len(known)} negative rules and {len(known.facts)} facts.")]
    shown = known.strongest(_MOST_RULES) if len(known) > _MOST_RULES else known
    parts.append(listed(value_of_remark(known.explain(rule)) for rule in shown))
    if len(known) > _MOST_RULES:
        parts.append(element("p", f"{len(known) - _MOST_RULES} more rules are in knowledge.toml."))
    return parts


def _utility(evidence: Evidence) -> list[Markup]:
    parts = [] if evidence.measured else [element("p", _NOTHING_MEASURED)]
    for one in evidence.measured:
        parts += [
            element("h3", _spaced(one.measure).capitalize()),
            *map(drawing, measure_plots(one)),
            figure_table(one.headline, "Figures"),
        ]
        for section in one.sections:
            parts += section_parts(section)
    if evidence.correlations is not None and evidence.correlations.columns:
        parts += [
            element("h3", "Correlation of the columns of the original table"),
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


# --- tables of figures ----------------------------------------------------------------------------


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
