"""The layers of the design, kept by the tests: who may import whom, and how long a file may be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SOURCES = sorted((PROJECT / "src").rglob("*.py"))
LONGEST = 450
LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(sys.argv[1], no_cache=True))
"""


def lint_imports(folder):
    """Run the contracts that stand in pyproject.toml over the sources of a folder."""
    return subprocess.run(
        [sys.executable, "-c", LINT, str(PROJECT / "pyproject.toml")],
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied(tmp_path):
    """Copy the sources, so that a test may break them."""
    for source in SOURCES:
        copy = tmp_path / source.relative_to(PROJECT / "src")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_every_contract_is_kept():
    run = lint_imports(PROJECT / "src")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core/cells.py", "shoal.locating.location"),
        ("grouping/anatomy.py", "shoal.slicing.method"),
        ("grouping/check/k_anonymity.py", "shoal.locating.location"),
        ("beliefs/check.py", "shoal.beliefs.posteriors"),
        ("engines/sql/table.py", "shoal.grouping.anatomy"),
        ("grouping/linkage.py", "duckdb"),
        ("core/schema.py", "scipy"),
    ],
)
def test_a_contract_that_is_broken_is_found(copied, module, imported):
    with (copied / "shoal" / module).open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")
    run = lint_imports(copied)
    assert run.returncode != 0
    assert "BROKEN" in run.stdout


def test_the_picture_of_the_rooms_shows_the_imports():
    script = PROJECT / "docs" / "images" / "draw_rooms.py"
    run = subprocess.run([sys.executable, str(script), "--check"], check=False)
    assert run.returncode == 0, f"draw it again: python {script.relative_to(PROJECT)}"


def test_no_file_is_longer_than_a_reader_can_hold():
    lengths = {
        str(source.relative_to(PROJECT)): len(source.read_text(encoding="utf-8").splitlines())
        for source in SOURCES
        # A kernel declares the type of everything it touches, and cannot be split as others can.
        if not source.name.endswith("kernels.py")
    }
    assert {name: n_lines for name, n_lines in lengths.items() if n_lines > LONGEST} == {}
