"""Releases that harm: a file of a sealed folder is changed, and its digest stated anew."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from pathlib import Path

import pytest
from mutations import MARKER, mutate, outcomes

import shoal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows forks no process")

N_CHANGES = 3


def reseal(folder: Path) -> None:
    """Do what whoever changes a file can do too: state its digest."""
    path = folder / "manifest.json"
    stated = json.loads(path.read_text())
    for name in stated["files"]:
        stated["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(stated))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    "method", [shoal.Mondrian(k=3), shoal.Anatomy(ell=2), shoal.Slicing(ell=2)], ids=repr
)
def test_release_with_changed_bytes_ends_no_process(tmp_path, ending, method):
    columns = {
        "age": [20 + n % 9 for n in range(60)],
        "zip": [f"{MARKER}{n % 4}" for n in range(60)],
        "s": [f"v{n % 5}" for n in range(60)],
    }
    table = shoal.read(columns, shoal.Schema(quasi=["age", "zip"], sensitive="s"))
    sealed = shoal.anonymize(table, method).write(tmp_path / "release", ending)
    draw = random.Random(repr(method) + ending)
    names = [path.name for path in sealed.iterdir() if path.suffix in (f".{ending}", ".json")]
    changed = tmp_path / "changed"
    for name in names:
        for number in range(N_CHANGES):
            folder = changed / f"{name}-{number}"
            shutil.copytree(sealed, folder)
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(mutate(content, draw, first=4))
            if name != "manifest.json":
                reseal(folder)
    assert outcomes(changed) == {}
