"""Kill `shoal publish` at any instant, and tell whether what is left is whole.

The tests do it some times, and `benchmarks/killing.py` two hundred times.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb

import shoal
from shoal.release.seal import digests_of

FILES = {"people.csv", "shoal.toml"}
WRITTEN = {*FILES, "release", "release.internal"}
CONFIGURATION = """
[table]
source = "people.csv"
[columns]
identifying = "name"
quasi = ["age", "zip"]
sensitive = "disease"
[method]
name = "anatomy"
ell = 2
[attacks.foreground]
run = false
reason = "what is tried here is the writing, and attacks write nothing"
[attacks.membership]
run = false
reason = "as above"
"""
_verified: list[tuple[dict[str, str], dict[str, str]]] = []


def people() -> list[list[object]]:
    """Draw 300 people, the same each time: name, age, zip and disease."""
    draw = random.Random(5)
    return [
        [f"n{n}", draw.randrange(20, 90), draw.randrange(100), draw.choice("abcdef")]
        for n in range(300)
    ]


def start(folder: Path, temporary: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a command of Shoal's in a folder, as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "shoal", *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def kill_publishing(folder: Path, temporary: Path, seconds: float) -> bool:
    """Kill a replacement of the release after some time; return whether it still ran then."""
    started = start(folder, temporary, "publish", "shoal.toml", "--replace")
    time.sleep(seconds)
    started.kill()
    started.communicate()
    return started.returncode == -signal.SIGKILL


def whole(folder: Path) -> str | None:
    """Assert that the release, if there is one, is whole; return what tells it from others."""
    release, internal = folder / "release", folder / "release.internal"
    if not release.exists():
        return None
    # A folder that stays as it was is looked at once.
    public = digests_of(release)
    state, number = (public, digests_of(internal)), public["manifest.json"]
    if state in _verified:
        return number
    assert shoal.verify(release).status == "verified"
    record = json.loads((internal / "record.json").read_text())
    source = folder / "people.csv"
    assert record["source"]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert (internal / "risk.parquet").exists()
    with source.open(newline="") as file:
        given = [(row["age"], row["zip"]) for row in csv.DictReader(file)]
    # Buckets are drawn anew each time: the placement fits this public folder and no other.
    with (release / "quasi.csv").open(newline="") as file:
        lines = [(row["bucket"], row["age"], row["zip"]) for row in csv.DictReader(file)]
    placed = duckdb.sql(
        "SELECT CAST(row_key AS BIGINT), CAST(bucket AS VARCHAR), line "
        f"FROM '{internal / 'placement.parquet'}' ORDER BY line"
    ).fetchall()
    assert [line for *_, line in placed] == list(range(1, len(given) + 1))
    assert [(bucket, *given[key - 1]) for key, bucket, _ in placed] == lines
    _verified.append(state)
    return number


def left(folder: Path, temporary: Path) -> set[str]:
    """Name what lies in a folder and in that of temporary files."""
    found = {path.name for path in temporary.iterdir()}
    # Python looks whether it can write there, with a file of such a name.
    probes = {name for name in found if re.fullmatch("[a-z0-9_]{8}", name)}
    return {path.name for path in folder.iterdir()} | (found - probes)
