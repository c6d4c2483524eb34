"""Releases in the hands of a careful forger: everything that can be made to fit is made to fit."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.core.errors import ShoalError
from shoal.core.manifest import guarantee_from_dict
from shoal.engines.sql.sorting import write_again
from shoal.release.documents import count_of, documents_of
from shoal.release.opened import open_release

Stated = dict[str, Any]


def stated_in(folder: Path) -> Stated:
    """Read the manifest."""
    found: Stated = json.loads((folder / "manifest.json").read_text("utf-8"))
    return found


def state(folder: Path, stated: Stated) -> None:
    """Write a manifest as Shoal would, with the digests of what is there."""
    for name in stated["files"]:
        if (folder / name).is_file():
            content = (folder / name).read_bytes()
            stated["files"][name] = hashlib.sha256(content).hexdigest()
    text = json.dumps(stated, indent=2, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8", newline="")


def restate(folder: Path, change: Callable[[Stated], None] = lambda _: None) -> None:
    """Change the manifest, and make its digests and statements fit."""
    stated = stated_in(folder)
    change(stated)
    for entry in stated["guarantees"]:
        with contextlib.suppress(ShoalError, KeyError, TypeError):
            entry["statement"] = guarantee_from_dict(entry).statement
    state(folder, stated)


def reseal(
    folder: Path, change: Callable[[Stated], None] = lambda _: None, *, sort: bool = True
) -> None:
    """Change the manifest, then write data files and documents anew so that all of it fits.

    Parameters
    ----------
    folder
        The public folder.
    change
        Changes what the manifest states.
    sort
        Whether the data files are written as Shoal would write what they hold.
    """
    restate(folder, change)
    with contextlib.suppress(ShoalError, OSError):
        release = open_release(folder)
        with contextlib.closing(release.files.engine):
            manifest = release.manifest
            published = release.published
            for name in manifest.data_names if sort else ():
                path = folder / f"{name}.{manifest.format}"
                write_again(release.files, name, manifest, release.meanings, folder / "again")
                (folder / "again").replace(path)
            made = documents_of(manifest, release.meanings, count_of(published))
            for name, text in made.items():
                if name in manifest.files:
                    (folder / name).write_text(text, encoding="utf-8", newline="")
    (folder / "again").unlink(missing_ok=True)
    restate(folder)
