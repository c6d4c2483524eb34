"""The labels of a release on disk: a text, or a table if there are many.

With nearly unique quasi-identifiers a release has nearly as many labels as lines, and JSON takes
several times the room of the data that it explains. Above `MOST_IN_JSON` lines the meanings are a
Parquet file with one line per label, or per member of a label that stands for several values. Which
of the two it is follows from the labels alone, so that every release has one form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np

from shoal.core.documents import parse_json, read_whole
from shoal.core.errors import DataError
from shoal.core.manifest import LABELS_IN_PARQUET, PLAIN_VERSION, Manifest
from shoal.core.meaning import Meaning
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files import digest
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sql.domains import text_array, texts_of

# Measured with intervals: at 10,000 labels the text is 0.9 MB, which editors open at once, and the
# table is 4.5 times smaller, written in half the time and read in a tenth of it. Below 2,000 the
# text is quicker to write.
MOST_IN_JSON = 10_000

Meanings = Mapping[str, Mapping[str, Meaning]]
# Column, label, low, high, member, other, missing.
_Line = tuple[str, str, str | None, str | None, str | None, bool, bool]

_TYPES = {
    "column": "VARCHAR",
    "label": "VARCHAR",
    "low": "VARCHAR",
    "high": "VARCHAR",
    "member": "VARCHAR",
    "other": "BOOLEAN",
    "missing": "BOOLEAN",
}
_STATED = ("column", "label", "other", "missing")
_STAGED = "label_lines"


def version_for(meanings: Meanings) -> int:
    """Return the format version of a release with these labels."""
    n_lines = sum(max(1, len(one.members)) for held in meanings.values() for one in held.values())
    return LABELS_IN_PARQUET if n_lines > MOST_IN_JSON else PLAIN_VERSION


def labels_text(meanings: Meanings) -> str:
    """Return the text of `labels.json`."""
    stated = {
        column: {label: meaning.to_dict() for label, meaning in labels.items()}
        for column, labels in meanings.items()
    }
    return json.dumps(stated, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def label_texts(meanings: Meanings) -> set[str]:
    """Return every text that `labels.parquet` holds."""
    return {text for line in _lines(meanings) for text in line if isinstance(text, str)}


def write_labels(engine: DuckDB, meanings: Meanings, path: Path) -> None:
    """Write `labels.parquet`, sorted by column, label and member."""
    columns = zip(*_lines(meanings), strict=True)
    given = dict(zip(_TYPES, columns, strict=True))
    # Arrays of texts have no missing values here: the bounds of a set, the member of an interval.
    pushed = {
        name: np.array(values) if _TYPES[name] == "BOOLEAN" else text_array(v or "" for v in values)
        for name, values in given.items()
    }
    pushed["is_interval"] = np.array([low is not None for low in given["low"]])
    pushed["is_member"] = np.array([member is not None for member in given["member"]])
    pushed["place"] = np.arange(len(pushed["label"]))
    engine.push(_STAGED, {f"{name}_": values for name, values in pushed.items()})
    shown = {name: f"{name}_" for name in _TYPES}
    shown |= {name: f"CASE WHEN is_interval_ THEN {name}_ END" for name in ("low", "high")}
    shown["member"] = "CASE WHEN is_member_ THEN member_ END"
    listed = ", ".join(f"{shown[name]} AS {engine.quote(name)}" for name in _TYPES)
    engine.write(f"SELECT {listed} FROM {_STAGED} ORDER BY place_", path, "parquet")
    engine.drop(_STAGED)


def labels_digest(engine: DuckDB, meanings: Meanings) -> str:
    """Return the SHA-256 of `labels.parquet` as it is written here."""
    directory = PrivateDirectory()
    try:
        path = directory.path / "labels.parquet"
        write_labels(engine, meanings, path)
        return digest(path)
    finally:
        directory.remove()


def _lines(meanings: Meanings) -> Iterator[_Line]:
    for column, labels in sorted(meanings.items()):
        for label in sorted(labels):
            one = labels[label]
            low, high = one.interval or (None, None)
            members: list[str | None] = [*sorted(one.members)] if one.members else [None]
            for member in members:
                yield column, label, low, high, member, one.has_other, one.has_missing


# Reading -----------------------------------------------------------------------------------


def read_meanings(
    folder: Path, manifest: Manifest, engine: DuckDB, *, is_trusted: bool
) -> dict[str, dict[str, Meaning]]:
    """Read the meaning of each label of a release folder, by column.

    Raises a DataError if the file is not one that Shoal writes. Only a file that was just written
    here is trusted.
    """
    path = folder / manifest.labels_file
    if not path.exists():
        return {}
    if manifest.version == LABELS_IN_PARQUET:
        return _read_table(path, engine, is_trusted=is_trusted)
    try:
        stated = parse_json(read_whole(path))
        return {
            column: {label: Meaning.from_dict(meaning) for label, meaning in labels.items()}
            for column, labels in stated.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        _refuse(path)


def _read_table(path: Path, engine: DuckDB, *, is_trusted: bool) -> dict[str, dict[str, Meaning]]:
    scan = engine.scan_own(path, is_trusted=is_trusted)
    if list(scan.types.items()) != list(_TYPES.items()):
        _refuse(path)
    found = engine.rows(f"SELECT * FROM {scan.relation}")
    if not len(found["label"]) or any(np.ma.getmaskarray(found[name]).any() for name in _STATED):
        _refuse(path)
    columns = [
        found[name].tolist() if kind == "BOOLEAN" else texts_of(found[name])
        for name, kind in _TYPES.items()
    ]
    lines: list[_Line] = list(zip(*columns, strict=True))
    if not all(map(_is_whole, lines)) or not all(map(_may_follow, *_neighbours(lines))):
        _refuse(path)
    return _meanings_of(lines)


def _neighbours(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    return lines[:-1], lines[1:]


def _is_whole(line: _Line) -> bool:
    """Return whether a line has both bounds and no member, or no bound."""
    _, _, low, high, member, other, _ = line
    return (low is None) == (high is None) and (low is None or (member is None and not other))


def _may_follow(line: _Line, after: _Line) -> bool:
    """Return whether a line belongs behind another: nothing is said twice, or in another order."""
    if line[:2] != after[:2]:
        return line[:2] < after[:2]
    first, second = line[4], after[4]
    return first is not None and second is not None and first < second and line[5:] == after[5:]


def _meanings_of(lines: list[_Line]) -> dict[str, dict[str, Meaning]]:
    meanings: dict[str, dict[str, Meaning]] = {}
    starts = [0, *(n for n, (a, b) in enumerate(pairwise(lines), 1) if a[:2] != b[:2]), len(lines)]
    for start, end in pairwise(starts):
        column, label, low, high, _, other, missing = lines[start]
        members = frozenset(line[4] for line in lines[start:end] if line[4] is not None)
        interval = None if low is None or high is None else (low, high)
        meanings.setdefault(column, {})[label] = Meaning(interval, members, other, missing)
    return meanings


def _refuse(path: Path) -> NoReturn:
    raise DataError(f"{path.name} cannot be read.", hint="was it changed after it was sealed?")
