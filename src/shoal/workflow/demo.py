"""A demonstration: the whole job on a sample that Shoal makes itself.

It leaves behind what a steward would have: a table, a configuration with hierarchies, and the
release that was published from them. No person in the sample exists.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.core.errors import EngineError, ParameterError
from shoal.core.progress import Progress, silent
from shoal.core.schema import Schema
from shoal.core.tree import Generalization
from shoal.datasets.synthetic import census
from shoal.workflow.config import load
from shoal.workflow.publish import Publication, publish

_TABLE, _CONFIGURATION, _RELEASE = "people.csv", "shoal.toml", "release"
_FEWEST_ROWS = 200


@dataclass(frozen=True)
class Demonstration:
    """The folder of a demonstration, its publication, and the files to look at."""

    folder: Path
    publication: Publication
    # What to look at, in order: a path and a line about it.
    places: tuple[tuple[Path, str], ...]

    def to_dict(self) -> dict[str, object]:
        """Return the demonstration as JSON holds it."""
        return {
            "folder": str(self.folder),
            "places": {str(path): about for path, about in self.places},
            "publication": self.publication.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Demonstration({self.folder.name}: {self.publication.manifest.n_rows} rows)"


def demo(
    folder: str | os.PathLike[str],
    *,
    rows: int = 2000,
    seed: int | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> Demonstration:
    """Make a sample, configure Shoal for it, and publish it in a new or empty folder.

    `seed` makes the sample repeatable, but never the release: its randomness is secret. `replace`
    overwrites the files of an earlier demonstration.
    """
    if rows < _FEWEST_ROWS:
        raise ParameterError(f"rows must be at least {_FEWEST_ROWS}, not {rows}.")
    place = Path(folder)
    was_there = _refuse_occupied(place, replace=replace)
    try:
        progress("make a sample")
        _write_sample(place, rows, secrets.randbits(32) if seed is None else seed)
        publication = publish(load(place / _CONFIGURATION), progress=progress, replace=replace)
    except BaseException:
        if not was_there:
            shutil.rmtree(place, ignore_errors=True)
        raise
    return Demonstration(place, publication, tuple(_places(place, publication)))


def _refuse_occupied(folder: Path, *, replace: bool) -> bool:
    """Refuse a folder with files in it; return whether the folder existed."""
    try:
        is_occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        is_earlier = (folder / _CONFIGURATION).is_file() and (folder / _TABLE).is_file()
    except OSError as error:
        raise EngineError(f"{folder} cannot be read: {error.strerror}.") from None
    if is_occupied and not (replace and is_earlier):
        what = "holds files that are not a demonstration's" if replace else "already exists"
        raise ParameterError(
            f"{folder} {what}.",
            hint="choose another folder; --replace overwrites an earlier demonstration only.",
        )
    return folder.exists()


def _write_sample(folder: Path, rows: int, seed: int) -> None:
    sample = census(rows=rows, seed=seed)
    try:
        (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
        sample.to_csv(folder / _TABLE)
        for column, hierarchy in sample.schema.hierarchies.items():
            if hierarchy.kind == "rows":
                hierarchy.to_csv(folder / _hierarchy_path(column))
        text = "\n".join(_configuration(sample.schema)) + "\n"
        (folder / _CONFIGURATION).write_text(text, encoding="utf-8")
    except OSError as error:
        raise EngineError(
            f"The sample cannot be written to {folder}: {error.strerror}.",
            hint="choose a folder that you may write to.",
        ) from None


def _hierarchy_path(column: str) -> str:
    return f"hierarchies/{column}.csv"


def _configuration(schema: Schema) -> Iterator[str]:
    """Yield the lines of the sample's configuration, with a comment for every choice."""
    yield "# What Shoal did, and all that it needs to do it again: shoal publish shoal.toml"
    yield from ("", "[table]", f'source = "{_TABLE}"', f'key = "{schema.key}"')
    yield from ("", "[columns]")
    yield f"identifying = {_toml(schema.identifying)}  # never published"
    yield f"quasi = {_toml(schema.quasi)}  # what others may know"
    yield f"sensitive = {_toml(schema.sensitive)}  # what nobody may be linked to"
    yield f"insensitive = {_toml(schema.insensitive)}  # published as it is"
    meant = _toml([list(columns) for columns in schema.meant])
    yield f"meant = {meant}  # in which wave somebody was asked, nobody else knows"
    yield from ("", "[types]", 'postcode = "categorical"  # some begin with 0')
    yield from ("", "[hierarchies]")
    for column, hierarchy in schema.hierarchies.items():
        yield f"{column} = {_hierarchy_entry(column, hierarchy)}"
    yield from ("", "[method]", 'name = "mondrian"')
    yield "k = 5  # every combination of quasi-identifiers is shared by at least 5 people"
    yield "ell = 3  # and no condition makes up more than a third of them"
    yield 'diversity = "frequency"'
    yield from ("", "# An attack with a limit is judged: above it, nothing is published.")
    yield from ("[attacks.homogeneity]", "max_people = 0")
    yield from ("", "[attacks.linkage]", "max_people = 0")
    yield from ("", "[release]", f'folder = "{_RELEASE}"', 'format = "csv"')


def _hierarchy_entry(column: str, hierarchy: Generalization) -> str:
    if hierarchy.kind == "rows":
        return _toml(_hierarchy_path(column))
    entries = (f"{key} = {_toml(value)}" for key, value in hierarchy.to_config().items())
    return f"{{ {', '.join(entries)} }}"


def _toml(value: object) -> str:
    """Return texts, numbers, booleans and lists of them as TOML, which equals JSON for these."""
    return json.dumps(value, ensure_ascii=False)


def _places(folder: Path, publication: Publication) -> Iterator[tuple[Path, str]]:
    public, internal = publication.folder, publication.internal
    yield folder / _TABLE, "the table, as a steward has it"
    yield folder / _CONFIGURATION, "what Shoal was told to do"
    yield public / "report.html", "what a reader of the release is told; open it in a browser"
    yield public / "codebook.md", "the same in short, column by column"
    yield public / "table.csv", "the release"
    yield public / "manifest.json", "what it promises; `shoal verify` checks it"
    yield internal / "report.html", "who is at risk, what is lost, what was decided; never ship it"
    yield internal / "risk.parquet", "what each attack believes of each person; never ship it"
    yield internal / "record.json", "how it was made, secret included; never ship it"
