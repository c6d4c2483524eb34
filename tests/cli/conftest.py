"""Run the command line in this process or in its own, and watch what it leaves behind."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

MARKER = "SECRETVALUE123"
HEADER = ("name", "age", "zip", "disease")
ROLES = ("--identifying", "name", "--quasi", "age,zip", "--sensitive", "disease")

Rows = Sequence[Sequence[object]]


def people(n_rows: int = 40) -> list[list[object]]:
    """Make rows in which every text carries the marker that no error may show."""
    return [
        [
            f"{MARKER}-{number}",
            20 + number % 7,
            f"{MARKER}{number % 3}",
            f"{MARKER}{'abcd'[number % 4]}",
        ]
        for number in range(n_rows)
    ]


@pytest.fixture
def marker() -> str:
    return MARKER


@pytest.fixture
def rows() -> list[list[object]]:
    return people()


@pytest.fixture
def roles() -> tuple[str, ...]:
    return ROLES


@pytest.fixture
def write_csv(tmp_path: Path) -> Callable[..., Path]:
    def write(
        rows: Rows | None = None, header: Sequence[str] = HEADER, name: str = "people.csv"
    ) -> Path:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([header, *(people() if rows is None else rows)])
        path = tmp_path / name
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture
def private_temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> Path:
    """Give temporary files a folder of their own, so that one left behind shows."""
    import tempfile

    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def run(monkeypatch, tmp_path: Path, private_temporary: Path):
    """Run a command in this process, from the test's own folder."""
    from shoal.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    runner = CliRunner()

    def invoke(*arguments: object):
        result = runner.invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def process(tmp_path: Path, private_temporary: Path):
    """Start a command as a process of its own, from the test's own folder."""

    def start(*arguments: object, **settings: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "shoal", *map(str, arguments)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "TMPDIR": str(private_temporary)},
            **settings,
        )

    return start


@pytest.fixture
def finish(process):
    """Run a command as a process of its own to its end: exit code, stdout, stderr."""

    def run_to_end(*arguments: object) -> tuple[int, str, str]:
        started = process(*arguments)
        stdout, stderr = started.communicate(timeout=120)
        return started.returncode, stdout, stderr

    return run_to_end


@pytest.fixture
def listing(tmp_path: Path, private_temporary: Path) -> Callable[[], set[str]]:
    """List everything that is there, hidden and temporary files included."""

    def look() -> set[str]:
        return {str(path) for folder in (tmp_path, private_temporary) for path in folder.rglob("*")}

    return look


@pytest.fixture
def released(run, write_csv, roles):
    """Write a release of the rows into the folder `release`."""
    options = ("-m", "mondrian", "-p", "k=4", "-p", "ell=2", "--out", "release")
    assert run("anonymize", write_csv(), *roles, *options).exit_code == 0
