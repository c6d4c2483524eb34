"""The documents of a release: codebook, DDI, reports and SQL, and the scan before they are written.

What a public document may show is decided here, from what is counted before anything is written. A
document is made twice: of the release, and of a skeleton in which names and labels stand for
nothing. What both hold is ours; the rest is looked through for what would betray somebody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.core.attack import Section
from shoal.core.cells import Codes, Counts
from shoal.core.domain import Domain
from shoal.core.release import INTERNAL_SUFFIX, Manifest, Meaning, Published
from shoal.core.schema import Role
from shoal.pipeline.release import PLACEMENT, Making, Release
from shoal.pipeline.views import view_files
from shoal.pipeline.witnesses import kinds_of_release, known_to_maker
from shoal.report.codebook import codebook, describe
from shoal.report.ddi import ddi_codebook
from shoal.report.internal_report import Evidence, internal_report
from shoal.report.leak_scan import Unpublishable, pieces, refuse_leaks
from shoal.report.public_report import public_report
from shoal.report.risk import risk_sections

__all__ = [
    "CODEBOOK",
    "DDI",
    "REPORT",
    "Counted",
    "count_for_documents",
    "public_documents",
    "steward_report",
]

CODEBOOK = "codebook.md"
DDI = "codebook.xml"
REPORT = "report.html"
_INTERNAL = ("record.json", "risk.parquet", PLACEMENT, f"{INTERNAL_SUFFIX}/")


@dataclass(frozen=True, eq=False)
class Counted:
    """What documents show of a release, counted before it is written.

    Parameters
    ----------
    bucket_sizes
        How many rows each bucket has.
    values
        How many rows carry each value, by column.
    risks
        The people at risk by what they have in common, by attack.
    """

    bucket_sizes: Counts
    values: Mapping[str, Mapping[str, int]] = field(repr=False)
    risks: Mapping[str, Sequence[Section]] = field(default_factory=dict, repr=False)


def count_for_documents(release: Release) -> Counted:
    """Count what documents show, while what was counted of the release is still at hand."""
    published = release.published
    return Counted(published.bucket_sizes, _values(published), _risks(release, published))


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


def _risks(release: Release, published: Published) -> dict[str, tuple[Section, ...]]:
    if not release.findings:
        return {}
    if published.sliced is not None:
        quasi, bucket = kinds_of_release(release, published.sliced).people, None
    else:
        lines = published.lines
        quasi = replace(lines, domains=lines.domains[1:], codes=lines.codes[:, 1:])
        bucket = lines.codes[:, 0]
    return {found.attack: risk_sections(found, quasi, bucket) for found in release.findings}


def public_documents(
    manifest: Manifest, release: Release, making: Making, counted: Counted
) -> dict[str, str]:
    """Write the public documents, by their names.

    Raises
    ------
    GuaranteeError
        Where one of them would hold what must not be there.
    """
    meanings, remarks = release.meanings, making.plan.remarks
    texts = _documents(manifest, meanings, remarks, counted)
    bare = _documents(*_skeleton(manifest, meanings), (), replace(counted, values={}))
    unpublishable = _unpublishable(manifest, release, making)
    expected = _expected(manifest, release, making, counted)
    for name, text in texts.items():
        refuse_leaks(name, text, unpublishable, {*expected, *pieces(bare[name])})
    views = view_files(manifest)
    everywhere = replace(unpublishable, identifying=(), rare=())
    for name, text in views.items():
        refuse_leaks(name, text, everywhere)
    return {**texts, **views}


def _documents(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    remarks: Sequence[str],
    counted: Counted,
) -> dict[str, str]:
    sizes = counted.bucket_sizes
    return {
        CODEBOOK: codebook(manifest, meanings, remarks),
        DDI: ddi_codebook(manifest, meanings, remarks, counted.values),
        REPORT: public_report(manifest, meanings, remarks, sizes),
    }


def _skeleton(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
) -> tuple[Manifest, dict[str, dict[str, Meaning]]]:
    """Give a manifest and labels of the same form in which no name means anything."""
    names = {column.name: f"x{place}" for place, column in enumerate(manifest.columns)}
    columns = tuple(replace(column, name=names[column.name]) for column in manifest.columns)
    slices = tuple(tuple(names[name] for name in one) for one in manifest.slices)
    told = {names[column]: {"x": Meaning(has_other=True)} for column in meanings}
    return replace(manifest, columns=columns, slices=slices), told


def _unpublishable(manifest: Manifest, release: Release, making: Making) -> Unpublishable:
    schema, name = making.table.schema, making.table.scan.name
    published = {column.name for column in manifest.columns}
    rare, _ = _rare_and_frequent(manifest, release, making)
    return Unpublishable(
        identifying=set(schema.identifying) - published,
        rare=rare,
        secrets=(making.secret.reveal(),),
        internal=(*_INTERNAL, *((name,) if os.sep in name else ())),
    )


def _rare_and_frequent(
    manifest: Manifest, release: Release, making: Making
) -> tuple[set[str], set[str]]:
    """Part the values of recoded columns by whether enough rows carry them to be named."""
    rare: set[str] = set()
    frequent: set[str] = set()
    for column in set(release.meanings) & set(making.table.domains):
        cells = making.table.counts([column])
        texts = cells.domains[0].texts.tolist()
        # The missing value has no text.
        for text, count in zip(texts, cells.counts.tolist(), strict=False):
            (rare if count < manifest.least_named else frequent).add(text)
    return rare - frequent, frequent


def _expected(manifest: Manifest, release: Release, making: Making, counted: Counted) -> set[str]:
    """Give names, labels and values that may be there: each is published, or enough carry it."""
    _, frequent = _rare_and_frequent(manifest, release, making)
    expected = {*frequent, *making.plan.remarks}
    for column in manifest.columns:
        expected |= {column.name, f"Labels of {column.name}"}
    for labels in release.meanings.values():
        for label, meaning in labels.items():
            unnamed = replace(meaning, members=frozenset())
            expected |= {label, describe(unnamed), *describe(unnamed).split(", ")}
            expected.add(f"and {len(meaning.members) - 20} more")
    for values in counted.values.values():
        expected |= {text for text, count in values.items() if count >= manifest.least_named}
    return expected


def steward_report(
    manifest: Manifest,
    release: Release,
    making: Making,
    counted: Counted,
    *,
    accepted: str | None,
    verdicts: Mapping[str, str],
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
        risks=counted.risks,
        verdicts=verdicts,
        knowledge=known_to_maker(release),
        dropped=(plan.drop.n_rows, plan.drop.reason),
        accepted=() if accepted is None else (accepted,),
        warnings=plan.warnings,
        remarks=plan.remarks,
        notes=plan.notes,
        seconds=making.timings,
    )
    return internal_report(manifest, release.meanings, evidence)
