"""The folder of a release: its path, and the files in it beside the data files."""

from __future__ import annotations

import errno
from pathlib import Path

from shoal.core.documents import parse_json, read_whole, read_whole_text
from shoal.core.errors import DataError, ParameterError
from shoal.core.manifest import Manifest, Meaning
from shoal.hierarchies.hierarchy import Hierarchy


def path_of(given: object) -> Path:
    """Return the path of a folder; raise `ParameterError` if no folder can have it."""
    try:
        path = Path(given)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"A release is named by the path of its folder, not by a {type(given).__name__}."
        ) from None
    try:
        path.stat()
    except (OSError, ValueError) as error:
        # The caller decides whether the folder must exist and may be used.
        if not isinstance(error, OSError) or error.errno == errno.ENAMETOOLONG:
            raise ParameterError(
                "No folder can have the path given.",
                hint="it is too long, or holds a NUL or another character that no name has.",
            ) from None
    return path


def read_manifest(folder: Path) -> Manifest:
    """Read `manifest.json` of a release folder."""
    path = path_of(folder) / "manifest.json"
    try:
        return Manifest.from_json(read_whole_text(path))
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"{folder} is not a release: it has no manifest.json that can be read.",
            hint="name the folder that `shoal publish` or Release.write made.",
        ) from None


def read_meanings(folder: Path) -> dict[str, dict[str, Meaning]]:
    """Read `labels.json` of a release folder: the meaning of each label, by column."""
    path = folder / "labels.json"
    if not path.exists():
        return {}
    try:
        stated = parse_json(read_whole(path))
        return {
            column: {label: Meaning.from_dict(meaning) for label, meaning in labels.items()}
            for column, labels in stated.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        raise DataError(
            "labels.json cannot be read.", hint="was it changed after it was sealed?"
        ) from None


def read_hierarchy(folder: Path, column: str) -> Hierarchy | None:
    """Read the published hierarchy of a column; None if the release has none."""
    path = folder / hierarchy_file(column)
    return Hierarchy.from_csv(path, column=column) if path.exists() else None


def hierarchy_file(column: str) -> str:
    """Return the file name of a column's hierarchy; it is safe whatever the column is called."""
    safe = "".join(c if c.isalnum() or c in "-_ " else f"%{ord(c):06x}" for c in column)
    return f"hierarchies/{safe}.csv"
