from __future__ import annotations

import subprocess
import sys

import pytest

import shoal
from shoal.core import errors, registry

HEAVY = ("numpy", "scipy", "duckdb", "pandas", "polars", "pyarrow", "pydantic", "typer")


def words_printed_by(code: str) -> list[str]:
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def modules_after(statement: str) -> set[str]:
    return set(words_printed_by(f"{statement}\nimport sys\nprint(*sys.modules)"))


@pytest.mark.parametrize(
    "statement",
    [
        "import shoal",
        "import shoal; dir(shoal); shoal.__version__; shoal.errors.ShoalError",
        "import shoal; shoal.attacks; shoal.measures; shoal.methods",
        "import shoal; shoal.config; shoal.errors; shoal.guarantees; shoal.knowledge",
        "from shoal.core.registry import names; names('shoal.methods'); names('shoal.attacks')",
    ],
)
def test_the_package_is_light_until_it_is_used(statement):
    assert modules_after(statement).isdisjoint(HEAVY)


def test_the_exports_are_unique_and_listed():
    assert len(set(shoal.__all__)) == len(shoal.__all__)
    assert set(shoal.__all__) <= set(dir(shoal))


def test_every_error_and_every_method_is_exported():
    raised = {name for name in errors.__all__ if name.endswith("Error")}
    assert raised == set(shoal.errors.__all__)
    assert {registry.snake_case(name) for name in shoal.__all__} >= set(
        registry.names("shoal.methods")
    )


@pytest.mark.parametrize("name", shoal.__all__)
def test_every_exported_name_is_there(name):
    assert getattr(shoal, name) is not None


def test_verbs_are_functions_whatever_is_imported_first():
    code = """
import shoal.workflow.anonymize, shoal.workflow.attack, shoal.workflow.read
import shoal.release.verify, shoal.attacks
import shoal
verbs = shoal.anonymize, shoal.attack, shoal.open_release, shoal.read, shoal.verify
print(all(map(callable, verbs)), shoal.attacks.__name__)
"""
    assert words_printed_by(code) == ["True", "shoal.attacks"]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'shark'"):
        _ = shoal.shark
