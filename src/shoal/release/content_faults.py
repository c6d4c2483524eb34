"""What is wrong with the labels and hierarchies of a release, as far as a reader can know it.

An interval is told by its label, a set by its members, and a node of a hierarchy by what stands
below it. Whether the steward filed the right values under a node, no reader can see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.errors import ShoalError
from shoal.core.hierarchy_file import read_rows, rows_text
from shoal.core.method import Shape
from shoal.core.release import Manifest, Meaning, Published
from shoal.core.rows import Rows
from shoal.pipeline.release import hierarchy_file

__all__ = ["hierarchy_faults", "label_faults"]

_HALF_OPEN = re.compile(r"[\[\]]([^ ,]+), ([^ ,]+)\[( or missing)?")
_CLOSED = re.compile(r"(-?\d{1,15})-(-?\d{1,15})")
_NUMBERED = re.compile(r"(.*\}) #\d+", re.DOTALL)
_MOST_NODES = 2000
"""Nodes of more labels are not compared pair by pair."""


def label_faults(published: Published) -> list[str]:
    """Compare the labels that are shown with what `labels.json` says about them."""
    if published.rows is not None:
        return _cut_faults(published.manifest, published.rows, published.meanings)
    recoded = {column.name for column in published.manifest.columns if column.is_recoded}
    faults = [
        f"labels.json explains a column that is not recoded: {column!r}"
        for column in sorted(set(published.meanings) - recoded)
    ]
    for domain in published.domains:
        if domain.column in recoded:
            faults += _explained_faults(domain, published.meanings.get(domain.column, {}))
    return faults


def _explained_faults(domain: Domain, explained: Mapping[str, Meaning]) -> Iterator[str]:
    shown = set(domain.texts.tolist())
    n_unexplained, n_extra = len(shown - set(explained)), len(set(explained) - shown)
    if n_unexplained:
        yield (
            f"labels.json does not explain {n_unexplained} of the {len(shown)} labels of column "
            f"{domain.column!r}"
        )
    if n_extra:
        yield f"labels.json explains {n_extra} unused labels of column {domain.column!r}"
    n_wrong = sum(not _says(label, meaning) for label, meaning in explained.items())
    if n_wrong:
        yield f"labels.json gives {n_wrong} labels of column {domain.column!r} another meaning"


def _says(label: str, meaning: Meaning) -> bool:
    """Whether a label means what it says, as far as it says anything."""
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
    """Whether a set that lists its members lists these."""
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
    """Compare the labels of columns that are cut into intervals with what is shown of them.

    Other columns of a suppressed release show values, or `*`: neither is a label.
    """
    stated = manifest.parameters.get("discretise")
    cut = set(stated) if isinstance(stated, dict) else set()
    faults = [
        f"labels.json explains a column that is not cut into intervals: {column!r}"
        for column in sorted(set(meanings) - cut)
    ]
    for domain in rows.domains:
        explained = set(meanings.get(domain.column, {}))
        if domain.column in cut and explained != set(domain.texts.tolist()):
            faults.append(
                f"labels.json does not explain the labels of column {domain.column!r} that are "
                "shown, and these alone"
            )
    return faults + [
        f"labels.json gives a label of column {column!r} an interval that it does not lie in"
        for column, labels in meanings.items()
        if not all(map(_lies_within, labels, labels.values()))
    ]


def _lies_within(label: str, meaning: Meaning) -> bool:
    """Whether a label is its interval, or a point in it."""
    if meaning.interval is None or meaning.members or meaning.has_other:
        return False
    low, high = meaning.interval
    if label.endswith("["):
        return label in (f"[{low}, {high}[", f"]{low}, {high}[")
    try:
        return float(low) <= float(label) < float(high)
    except ValueError:
        # Dates sort as their texts do, but where an end is open.
        return (low.startswith("-inf") or low <= label) and (high == "+inf" or label < high)


def hierarchy_faults(folder: Path, published: Published) -> list[str]:
    """Compare the published hierarchies with the labels and values that are shown."""
    if published.manifest.shape is Shape.SUPPRESSED:
        return []
    faults = []
    for domain in published.domains:
        path = folder / hierarchy_file(domain.column)
        if path.exists():
            name = hierarchy_file(domain.column)
            meanings = published.meanings.get(domain.column, {})
            faults += [f"{name} {fault}" for fault in _file_faults(path, domain, meanings)]
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
        yield "contradicts labels.json"


def _contradictions(
    rows: list[list[str | None]], meanings: Mapping[str, Meaning]
) -> Iterator[tuple[str, str]]:
    """Return pairs of labels whose members do not lie as the hierarchy says.

    Those of a node lie within those of an ancestor, or apart from them where every value has one
    label. Nodes of which none is above the other share none.
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
