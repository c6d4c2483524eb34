"""Faults in the content of a release: counts, suppressed cells, labels and hierarchies.

They are found whatever the release guarantees, by comparing the data files with the manifest and
with the meanings of labels. An interval is checked against its label, a set against its members,
and a node of a hierarchy against the nodes below it. No reader can see whether the steward filed
the right values under a node. Messages name files and columns, never a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np

from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.errors import ShoalError
from shoal.core.guarantees import MConfidentiality
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import Published
from shoal.core.sliced import Sliced
from shoal.core.table import Rows
from shoal.hierarchies.rows import read_rows, rows_text
from shoal.release.opened import hierarchy_file
from shoal.slicing.check.matching import is_matched_twice


def content_faults(published: Published, levelled: Published) -> list[str]:
    """List what the published files hold that contradicts their manifest, labels or guarantees.

    `levelled` has levels in the place of sensitive values, which guarantees may be about.
    """
    faults = [*_count_faults(published), *_suppression_faults(published), *label_faults(published)]
    if published.sliced is not None:
        faults += _frequency_faults(published.manifest, published.sliced)
        faults += _cutting_faults(published.manifest, published.sliced)
    return faults + _protection_faults(levelled)


def _cutting_faults(manifest: Manifest, sliced: Sliced) -> list[str]:
    """Find buckets that strict cuts cannot make, if the parameters state strict cuts."""
    stated = manifest.parameters
    if stated.get("cuts") != "strict" or stated.get("buckets") != "mondrian":
        return []
    inferred: tuple[str | None, ...] = sliced.layout.sensitive or (None,)
    if any(is_matched_twice(sliced, sensitive) for sensitive in inferred):
        return ["cuts are said to be strict, but equal values stand in several buckets"]
    return []


def _frequency_faults(manifest: Manifest, sliced: Sliced) -> list[str]:
    """Find columns with known values rarer than the parameters of the method state."""
    stated = manifest.parameters.get("min_frequency")
    if not isinstance(stated, int):
        return []
    faults = []
    for place, column in enumerate(sliced.columns, start=1):
        known = [name for name in column.attributes if name in sliced.layout.known]
        rarest = int(column.values.select(known).counts.min(initial=stated)) if known else stated
        if rarest < stated:
            faults.append(f"column_{place} holds a value {rarest} times, fewer than {stated}")
    return faults


def _count_faults(published: Published) -> list[str]:
    manifest = published.manifest
    faults = []
    if published.lines.n_rows != manifest.n_rows:
        faults.append(
            f"the manifest states {manifest.n_rows} rows, the data have {published.lines.n_rows}"
        )
    if published.n_buckets != manifest.n_buckets:
        faults.append(
            f"the manifest states {manifest.n_buckets} buckets, the data have {published.n_buckets}"
        )
    if published.lines.n_rows == 0:
        faults.append("the data have no rows, so there is nothing to guarantee")
    if published.buckets is not None and not np.array_equal(
        published.buckets.sizes, published.bucket_sizes
    ):
        faults.append("sensitive does not hold as many values as quasi has lines in each bucket")
    return faults


def _suppression_faults(published: Published) -> list[str]:
    """Find `*` where nothing is suppressed: it would count as one more value."""
    manifest = published.manifest
    if published.rows is not None:
        return _suppressed_cell_faults(manifest, published.rows)
    recoded = {column.name for column in manifest.columns if column.is_recoded}
    return [
        f"the column {domain.column!r} holds {SUPPRESSED!r}, but no value of it is suppressed"
        for domain in published.domains
        if domain.column not in recoded and SUPPRESSED in domain.texts
    ]


def _suppressed_cell_faults(manifest: Manifest, rows: Rows) -> list[str]:
    stated = {column.name: column.n_suppressed for column in manifest.columns}
    counted = dict(zip(rows.columns, rows.is_hidden.sum(axis=0).tolist(), strict=True))
    return [
        f"the manifest states {stated[column]} suppressed cells of column {column!r}, the data "
        f"have {n_suppressed}"
        for column, n_suppressed in counted.items()
        if n_suppressed != stated[column]
    ]


def _protection_faults(published: Published) -> list[str]:
    """Find guarantees about values that occur nowhere: they hold whatever is published."""
    if published.buckets is None:
        return []
    domain = published.buckets.domain
    faults = []
    for guarantee in published.manifest.guarantees:
        protect: tuple[str | None, ...] = getattr(guarantee, "protect", ())
        n_absent = int(np.count_nonzero(domain.codes_of(list(protect)) < 0))
        # A distorted value may have been the last of its kind.
        if n_absent and not isinstance(guarantee, MConfidentiality):
            faults.append(
                f"{guarantee.name}: {n_absent} of the {len(protect)} protected values occur "
                "nowhere in the release"
            )
    return faults


_HALF_OPEN = re.compile(r"[\[\]]([^ ,]+), ([^ ,]+)\[( or missing)?")
_CLOSED = re.compile(r"(-?\d{1,15})-(-?\d{1,15})")
_NUMBERED = re.compile(r"(.*\}) #\d+", re.DOTALL)
# The nodes of more labels are not compared pair by pair.
_MOST_NODES = 2000


def label_faults(published: Published) -> list[str]:
    """Compare the shown labels with what the file of labels says about them."""
    if published.rows is not None:
        return _cut_faults(published.manifest, published.rows, published.meanings)
    recoded = {column.name for column in published.manifest.columns if column.is_recoded}
    file = published.manifest.labels_file
    faults = [
        f"{file} explains a column that is not recoded: {column!r}"
        for column in sorted(set(published.meanings) - recoded)
    ]
    for domain in published.domains:
        if domain.column in recoded:
            faults += _explained_faults(file, domain, published.meanings.get(domain.column, {}))
    return faults


def _explained_faults(file: str, domain: Domain, explained: Mapping[str, Meaning]) -> Iterator[str]:
    shown = set(domain.texts.tolist())
    n_unexplained, n_extra = len(shown - set(explained)), len(set(explained) - shown)
    if n_unexplained:
        yield (
            f"{file} does not explain {n_unexplained} of the {len(shown)} labels of column "
            f"{domain.column!r}"
        )
    if n_extra:
        yield f"{file} explains {n_extra} unused labels of column {domain.column!r}"
    n_wrong = sum(not _says(label, meaning) for label, meaning in explained.items())
    if n_wrong:
        yield f"{file} gives {n_wrong} labels of column {domain.column!r} another meaning"


def _says(label: str, meaning: Meaning) -> bool:
    """Return whether a label agrees with its meaning, as far as a label can tell."""
    if meaning.interval is not None:
        return not meaning.members and not meaning.has_other and _is_interval(label, meaning)
    if label.startswith("{") and label not in meaning.members:
        return _is_set(label, meaning)
    return True


def _is_interval(label: str, meaning: Meaning) -> bool:
    half_open, closed = _HALF_OPEN.fullmatch(label), _CLOSED.fullmatch(label)
    if half_open is not None:
        is_open = label.startswith("]")
        says_missing = half_open[3] is not None
        return (
            half_open.group(1, 2) == meaning.interval
            and is_open == (half_open[1] == "-inf")
            and (meaning.has_missing or not says_missing)
        )
    if closed is None:
        return False
    return (str(int(closed[1])), str(int(closed[2]) + 1)) == meaning.interval


def _is_set(label: str, meaning: Meaning) -> bool:
    """Return whether a set that lists its members lists exactly these."""
    numbered = _NUMBERED.fullmatch(label)
    body = (label if numbered is None else numbered[1]).removeprefix("{").removesuffix("}")
    if ", missing" in f", {body}" and not meaning.has_missing and "missing" not in meaning.members:
        return False
    if " .. " in body and "values" in body:
        return True
    return all(member in body for member in meaning.members)


def _cut_faults(
    manifest: Manifest, rows: Rows, meanings: Mapping[str, Mapping[str, Meaning]]
) -> list[str]:
    """Compare the labels of columns cut into intervals with their file.

    Other columns of a suppressed release show values, or `*`: neither is a label.
    """
    stated = manifest.parameters.get("discretise")
    cut = set(stated) if isinstance(stated, dict) else set()
    file = manifest.labels_file
    faults = [
        f"{file} explains a column that is not cut into intervals: {column!r}"
        for column in sorted(set(meanings) - cut)
    ]
    for domain in rows.domains:
        explained = set(meanings.get(domain.column, {}))
        if domain.column in cut and explained != set(domain.texts.tolist()):
            faults.append(
                f"{file} does not explain exactly the labels that column {domain.column!r} shows"
            )
    return faults + [
        f"{file} gives a label of column {column!r} an interval that it does not lie in"
        for column, labels in meanings.items()
        if not all(map(_lies_within, labels, labels.values()))
    ]


def _lies_within(label: str, meaning: Meaning) -> bool:
    """Return whether a label is its interval, or a point in it."""
    if meaning.interval is None or meaning.members or meaning.has_other:
        return False
    low, high = meaning.interval
    if label.endswith("["):
        return label in (f"[{low}, {high}[", f"]{low}, {high}[")
    try:
        return float(low) <= float(label) < float(high)
    except ValueError:
        # Dates sort as their texts do, except for open ends.
        return (low.startswith("-inf") or low <= label) and (high == "+inf" or label < high)


def hierarchy_faults(folder: Path, published: Published) -> list[str]:
    """Compare the published hierarchies with the labels and values that are shown."""
    if published.manifest.shape.hides_cells:
        return []
    faults = []
    for domain in published.domains:
        name = hierarchy_file(domain.column)
        path = folder / name
        if path.exists():
            meanings = published.meanings.get(domain.column, {})
            found = _file_faults(path, domain, meanings)
            faults += [f"{name} {fault}" for fault in found]
    return faults


def _file_faults(path: Path, domain: Domain, meanings: Mapping[str, Meaning]) -> Iterator[str]:
    try:
        rows = read_rows(path, ";", "utf-8")
    except ShoalError:
        yield "cannot be read"
        return
    if rows_text(rows).encode() != path.read_bytes():
        yield "is not written as Shoal writes it"
    if len({len(row) for row in rows}) > 1 or any(row[-1] != SUPPRESSED for row in rows):
        yield "has rows that do not end in '*', or are of different lengths"
        return
    leaves = [row[0] for row in rows]
    shown = {*domain.texts.tolist(), *([None] if domain.has_missing else [])} - {SUPPRESSED}
    if len(set(leaves)) < len(leaves):
        yield "has two rows for one label"
    if set(leaves) - shown:
        yield f"has rows for {len(set(leaves) - shown)} labels that occur nowhere in the release"
    if any(True for _ in _contradictions(rows, meanings)):
        yield "contradicts the labels"


def _contradictions(
    rows: list[list[str | None]], meanings: Mapping[str, Meaning]
) -> Iterator[tuple[str, str]]:
    """Yield pairs of labels whose members contradict the hierarchy.

    The members of a node are a subset of those of its ancestor, or disjoint from them if every
    value has one label. Nodes of which neither is above the other share no members.
    """
    above = {row[0]: set(row[1:]) for row in rows}
    labels = [label for label in above if label is not None and label in meanings]
    labels = [label for label in labels if meanings[label].members]
    if len(labels) > _MOST_NODES:
        return
    for one, other in combinations(labels, 2):
        first, second = meanings[one].members, meanings[other].members
        if other in above[one] or one in above[other]:
            lower, upper = (first, second) if other in above[one] else (second, first)
            if lower & upper and not lower <= upper:
                yield one, other
        elif first & second:
            yield one, other
