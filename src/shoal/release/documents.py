"""The documents of a release: codebook, DDI, reports and SQL, and the scan before they are written.

What a public document may show is decided here, from what is counted before anything is written. A
document is made twice: of the release, and of a skeleton in which names and labels stand for
nothing. What both hold is ours; the rest is looked through for what would betray somebody, by
`shoal.pipeline.scanning`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.domain import Domain
from shoal.core.hierarchy_file import rows_text
from shoal.core.release import Manifest, Meaning, Published
from shoal.core.schema import Role
from shoal.knowledge.correlation import Correlations, correlations
from shoal.pipeline.people_at_risk import AtRisk
from shoal.pipeline.record import GateRecord
from shoal.pipeline.release import Making, Release, hierarchy_file
from shoal.pipeline.scanning import refuse_leaking
from shoal.pipeline.views import view_files
from shoal.pipeline.witnesses import known_to_maker
from shoal.report.codebook import codebook
from shoal.report.ddi import ddi_codebook
from shoal.report.internal_report import Evidence, internal_report
from shoal.report.public_report import public_report

__all__ = [
    "CODEBOOK",
    "DDI",
    "DOCUMENTS_VERSION",
    "LABELS",
    "MANIFEST",
    "REPORT",
    "Counted",
    "count_for_documents",
    "count_of",
    "documents_of",
    "manifest_text",
    "public_documents",
    "steward_report",
]

CODEBOOK = "codebook.md"
DDI = "codebook.xml"
REPORT = "report.html"
LABELS = "labels.json"
MANIFEST = "manifest.json"
DOCUMENTS_VERSION = 1
"""The version of what writes public documents: another one may write other bytes."""
_MOST_CORRELATED = 100_000


@dataclass(frozen=True, eq=False)
class Counted:
    """What documents show of a release, counted before it is written.

    Parameters
    ----------
    bucket_sizes
        How many rows each bucket has.
    values
        How many rows carry each value, by column.
    """

    bucket_sizes: Counts
    values: Mapping[str, Mapping[str, int]] = field(repr=False)


def count_for_documents(release: Release) -> Counted:
    """Count what documents show, while what was counted of the release is still at hand."""
    return count_of(release.published)


def count_of(published: Published) -> Counted:
    """Count what documents show, in the data files."""
    return Counted(published.bucket_sizes, _values(published))


def _values(published: Published) -> dict[str, dict[str, int]]:
    shown: dict[str, dict[str, int]] = {}
    if published.rows is not None:
        for domain, codes in zip(published.rows.domains, published.rows.codes.T, strict=True):
            is_shown = codes >= 0
            shown[domain.column] = _carried(domain, codes[is_shown], np.ones(is_shown.sum()))
        return shown
    if published.sliced is not None:
        for column in published.sliced.columns:
            cells = column.values
            for domain in cells.domains:
                shown[domain.column] = _carried(domain, cells.column(domain.column), cells.counts)
        return shown
    for domain in published.quasi:
        codes = published.lines.column(domain.column)
        shown[domain.column] = _carried(domain, codes, published.lines.counts)
    if published.buckets is not None:
        held = published.buckets
        shown[held.domain.column] = _carried(held.domain, held.value, held.count)
    return shown


def _carried(domain: Domain, codes: Codes, counts: Counts) -> dict[str, int]:
    carried = np.bincount(codes, counts, domain.size).astype(np.int64)
    return dict(zip(domain.texts.tolist(), carried.tolist(), strict=False))


def public_documents(
    manifest: Manifest, release: Release, making: Making, counted: Counted
) -> dict[str, str]:
    """Write every public file that is text, by its name, but the manifest.

    Raises
    ------
    GuaranteeError
        Where one of them would hold what must not be there.
    """
    texts = documents_of(manifest, release.meanings, counted)
    texts |= {
        hierarchy_file(column): rows_text(rows) for column, rows in making.hierarchies.items()
    }
    bare = documents_of(*_skeleton(manifest, release.meanings), replace(counted, values={}))
    refuse_leaking(texts, bare, manifest, release, making, counted.values)
    return texts


def manifest_text(manifest: Manifest, release: Release, making: Making, counted: Counted) -> str:
    """Write the manifest, once it states the digests of all other files.

    Raises
    ------
    GuaranteeError
        Where it would hold what must not be there.
    """
    bare, _ = _skeleton(manifest, release.meanings)
    text = manifest.to_json()
    texts, ours = {MANIFEST: text}, {MANIFEST: bare.to_json()}
    refuse_leaking(texts, ours, manifest, release, making, counted.values)
    return text


def documents_of(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], counted: Counted
) -> dict[str, str]:
    """Write the public documents, from what is public alone.

    Parameters
    ----------
    manifest, meanings
        What the release says of itself and of its labels.
    counted
        What can be counted in the data files.
    """
    names = [column.name for column in manifest.columns if column.name in meanings]
    told = {name: meanings[name] for name in names}
    return {
        **({LABELS: _labels(meanings)} if meanings else {}),
        CODEBOOK: codebook(manifest, told),
        DDI: ddi_codebook(manifest, told, counted.values),
        REPORT: public_report(manifest, told, counted.bucket_sizes),
        **view_files(manifest),
    }


def _labels(meanings: Mapping[str, Mapping[str, Meaning]]) -> str:
    stated = {
        column: {label: meaning.to_dict() for label, meaning in labels.items()}
        for column, labels in meanings.items()
    }
    return json.dumps(stated, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _skeleton(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
) -> tuple[Manifest, dict[str, dict[str, Meaning]]]:
    """Give a manifest and labels of the same form in which no name means anything."""
    names = {column.name: f"x{place}" for place, column in enumerate(manifest.columns)}
    columns = tuple(replace(column, name=names[column.name]) for column in manifest.columns)
    slices = tuple(tuple(names[name] for name in one) for one in manifest.slices)
    meaning = Meaning(("0", "1"), frozenset("x"), has_other=True, has_missing=True)
    told = {names[column]: {"x": meaning} for column in meanings}
    return replace(manifest, columns=columns, slices=slices, remarks=()), told


def steward_report(
    manifest: Manifest,
    release: Release,
    making: Making,
    risks: Mapping[str, AtRisk],
    *,
    accepted: str | None,
    gate: GateRecord,
) -> str:
    """Write the internal report."""
    schema, plan = making.table.schema, making.plan
    roles = {
        Role.IDENTIFYING: schema.identifying,
        Role.QUASI: schema.quasi,
        Role.SENSITIVE: schema.sensitive,
        Role.INSENSITIVE: schema.insensitive,
    }
    evidence = Evidence(
        roles={str(role): columns for role, columns in roles.items()},
        findings=release.findings,
        risks={attack: one.sections for attack, one in risks.items()},
        unsaid={attack: one.unsaid for attack, one in risks.items()},
        verdicts=gate.verdicts,
        not_run=gate.not_run,
        knowledge=known_to_maker(release),
        measured=release.measured,
        correlations=_correlations(making),
        dropped=(plan.drop.n_rows, plan.drop.reason),
        accepted=() if accepted is None else (accepted,),
        warnings=(*gate.warnings, *plan.warnings),
        remarks=plan.remarks,
        notes=plan.notes,
        seconds=making.timings,
    )
    return internal_report(manifest, release.meanings, evidence)


def _correlations(making: Making) -> Correlations | None:
    """Correlate the columns of a table that is not too large for it to be done at once."""
    table = making.table
    if table.n_rows > _MOST_CORRELATED or len(table.schema.coded) < 2:
        return None
    return correlations(table.counts(table.schema.coded))
