"""Search every public text for leaks, with the knowledge that only the maker of a release has.

Data files are left out: the guarantees are about their content. Every other public file is searched
for secrets, identifying values and keys, values that nobody may be shown to have, paths of the
machine, and findings of attacks. A file that holds any of these is not written.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shoal.core.findings import Findings
from shoal.core.manifest import INTERNAL_SUFFIX, Manifest
from shoal.engines.sql.survey import texts_in_source
from shoal.release.labels import label_texts
from shoal.release.opened import PLACEMENT, Making, Release
from shoal.release.record import earlier_digests
from shoal.report.codebook import describe, left_out, level_labels
from shoal.report.leak_scan import (
    Remainder,
    Unpublishable,
    candidates,
    forms,
    pieces,
    refuse_leaks,
    remainder,
    remainder_of_texts,
)
from shoal.report.risk import (
    BELIEFS_BY_BUCKET,
    BELIEFS_BY_SUBGROUP,
    BY_BUCKET,
    BY_COLUMN,
    BY_SUBGROUP,
)

_INTERNAL = ("record.json", "risk.parquet", PLACEMENT, f"{INTERNAL_SUFFIX}/")
# A figure of fewer digits is not distinctive: other numbers are equal to it by chance.
_FEWEST_DIGITS = 3


class LeakScan:
    """The search of the public files of one release.

    Parameters
    ----------
    release, making
        The release as it is about to be written, and what only its maker knows.
    values
        The number of rows of the release that carry each value, by column.
    findings
        What attacks found.
    """

    def __init__(
        self,
        release: Release,
        making: Making,
        values: Mapping[str, Mapping[str, int]],
        findings: Sequence[Findings],
    ) -> None:
        manifest = release.manifest
        self._making, self._meanings = making, release.meanings
        rare, frequent = _rare_and_frequent(manifest, release, making)
        told = frozenset(figure for found in findings for figure in _told(found))
        self._unpublishable = _unpublishable(manifest, release, making, values, rare, told)
        self._known = forms(_expected(manifest, release, making, values, frequent))

    def refuse_leaking(
        self, manifest: Manifest, texts: Mapping[str, str], bare: Mapping[str, str]
    ) -> None:
        """Raise `GuaranteeError` if a public file would hold something that must not be published.

        `texts` are public files that are text, by name, and the manifest may state digests. `bare`
        are the same files of a release in which names and labels mean nothing: what these hold is
        ours. The error names the file and the kinds of things, never the things.
        """
        left = {
            name: remainder(text, self._known | forms(pieces(bare.get(name, ""), name)), name)
            for name, text in texts.items()
        }
        self._refuse(manifest, left)

    def refuse_labels(self, manifest: Manifest) -> None:
        """Raise `GuaranteeError` if labels that are no text would hold such a thing."""
        texts = label_texts(self._meanings)
        self._refuse(manifest, {manifest.labels_file: remainder_of_texts(texts, self._known)})

    def _refuse(self, manifest: Manifest, left: Mapping[str, Remainder]) -> None:
        wanted = frozenset().union(*map(candidates, left.values()))
        keys, identifying = _held(self._making, manifest, wanted)
        held = Unpublishable(keys=keys, values=identifying)
        stated = (*manifest.files.values(), *manifest.witnesses.values())
        digests = {*stated, *earlier_digests(manifest)}
        for name, one in left.items():
            refuse_leaks(name, one, self._unpublishable, digests, held)


def _held(
    making: Making, manifest: Manifest, texts: Collection[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the texts that are keys of rows, or values of identifying columns."""
    table, schema = making.table, making.table.schema
    shown = {column.name for column in manifest.columns}
    keys = {schema.key, schema.person} - {None} - shown
    identifying = set(schema.identifying) - shown - keys

    def held(columns: Collection[str | None]) -> frozenset[str]:
        named = sorted(name for name in columns if name is not None)
        return texts_in_source(table.engine, table.scan, named, texts)

    return held(keys), held(identifying)


def _unpublishable(
    manifest: Manifest,
    release: Release,
    making: Making,
    values: Mapping[str, Mapping[str, int]],
    rare: Collection[str],
    findings: Collection[str],
) -> Unpublishable:
    schema, scan = making.table.schema, making.table.scan
    shown = {column.name for column in manifest.columns}
    digest = () if scan.digest is None else (scan.digest,)
    return Unpublishable(
        identifying=set(schema.identifying) - shown,
        rare=rare,
        absent=_absent(release, making, values),
        secrets=(making.secret.reveal(), *digest),
        # The manifest names witnesses, with their digests.
        internal=(*(set(_INTERNAL) - set(manifest.witnesses)), *_paths(scan.name)),
        findings=findings,
        fewest=manifest.least_named,
    )


def _paths(name: str) -> tuple[str, ...]:
    """Return the path of the table as it was given, and its absolute path."""
    if os.sep not in name or "://" in name:
        return (name,) if "://" in name else ()
    return name, str(Path(name).resolve())


def _told(found: Findings) -> Iterator[str]:
    """Yield what a report would say of findings: titles, counts, and distinctive figures."""
    yield from (BY_BUCKET, BY_COLUMN, BY_SUBGROUP, BELIEFS_BY_BUCKET, BELIEFS_BY_SUBGROUP)
    yield from ("worst posterior", found.line, f"{found.n_breached} of {found.n_people} people")
    for figure in (found.worst, *_scale_figures(found), *found.headline.values()):
        if isinstance(figure, float):
            told = {repr(figure), f"{figure:.4g}", f"{figure:.3g}"}
            yield from (one for one in told if len(one.strip("0.")) >= _FEWEST_DIGITS)


def _scale_figures(found: Findings) -> Iterator[object]:
    """Yield every figure that compares beliefs with the truth, which no reader can know."""
    scale = found.calibration
    if scale is None:
        return
    yield scale.baseline
    for one in (scale.right, scale.slope, *scale.slopes.values()):
        yield from () if one is None else (one.value, one.low, one.high)


def _rare_and_frequent(
    manifest: Manifest, release: Release, making: Making
) -> tuple[set[str], set[str]]:
    """Split the values of recoded columns by whether enough rows carry them to be named."""
    least = manifest.least_named
    rare: set[str] = set()
    frequent: set[str] = set()
    for column in set(release.meanings) & set(making.table.domains):
        cells = making.table.counts([column])
        texts = cells.domains[0].texts.tolist()
        # The missing value has no text.
        for text, count in zip(texts, cells.counts.tolist(), strict=False):
            (rare if count < least else frequent).add(text)
    return rare - frequent, frequent


def _absent(
    release: Release, making: Making, values: Mapping[str, Mapping[str, int]]
) -> frozenset[str]:
    """Return the values of unrecoded columns that no line of the release shows."""
    domains = making.table.domains
    shown = frozenset(text for held in values.values() for text, count in held.items() if count)
    lost = (
        frozenset(domains[column].texts.tolist())
        for column in values
        if column in domains and column not in release.meanings
    )
    return frozenset().union(*lost) - shown


def _expected(
    manifest: Manifest,
    release: Release,
    making: Making,
    values: Mapping[str, Mapping[str, int]],
    frequent: Collection[str],
) -> set[str]:
    """Return names, labels and values that may occur: published ones, or frequent enough."""
    # The steward's own words are meant to be read.
    least = manifest.least_named
    expected = {*frequent, *making.plan.remarks, *manifest.about.to_dict().values(), "*"}
    for column in manifest.columns:
        expected |= {column.name, f"Labels of {column.name}"}
    for level in manifest.levels:
        # Bounds are declared, or so round that they name nobody.
        expected |= {f"Levels of {level.column}", *level.bounds, *level_labels(manifest, level)}
    for labels in release.meanings.values():
        expected.add(left_out(len(labels), manifest))
        for label, meaning in labels.items():
            unnamed = replace(meaning, members=frozenset()) if meaning.members else meaning
            told = describe(unnamed)
            expected |= {label, told, *told.split(", ")}
            expected |= {*(meaning.interval or ()), f"and {len(meaning.members) - 20} more"}
    for held in values.values():
        expected |= {text for text, count in held.items() if count >= least}
    return expected
