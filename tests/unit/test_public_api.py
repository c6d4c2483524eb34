"""Every public name is what its documentation says, whatever was imported before it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import shoal

CATALOGUES = (
    "shoal",
    "shoal.analyse",
    "shoal.attacks",
    "shoal.checks",
    "shoal.config",
    "shoal.datasets",
    "shoal.errors",
    "shoal.guarantees",
    "shoal.knowledge",
    "shoal.measures",
    "shoal.methods",
)
MODULES = {
    ("shoal", "analyse"),
    ("shoal", "attacks"),
    ("shoal", "checks"),
    ("shoal", "config"),
    ("shoal", "datasets"),
    ("shoal", "errors"),
    ("shoal", "guarantees"),
    ("shoal", "knowledge"),
    ("shoal", "measures"),
    ("shoal", "methods"),
    ("shoal.datasets", "papers"),
}
"""The public names that are modules on purpose."""
VALUES = {
    ("shoal", "__version__"),
    ("shoal.checks", "CHECKERS"),
}
"""The public names that are values, or types spelled out of others."""
NAMES = [(package, name) for package in CATALOGUES for name in import_module(package).__all__]


def kind_of(package: str, name: str) -> str:
    if (package, name) in MODULES:
        return "module"
    if (package, name) in VALUES:
        return "value"
    # [PEP 8] Classes are nouns in CapWords (MASK is all capitals), functions verbs in lower case.
    return "class" if name.lstrip("_")[:1].isupper() else "function"


def is_of_kind(found: object, kind: str) -> bool:
    return {
        "module": inspect.ismodule,
        "value": lambda one: (
            not any(
                is_one(one) for is_one in (inspect.ismodule, inspect.isclass, inspect.isroutine)
            )
        ),
        "class": inspect.isclass,
        "function": inspect.isroutine,
    }[kind](found)


VERBS = [
    "read",
    "anonymize",
    "attack",
    "measure",
    "verify",
    "publish",
    "compare",
    "profile",
    "repair",
    "replay",
    "mine",
    "open_release",
    "export_release",
    "read_baskets",
]
TYPES = ["Schema", "Hierarchy", "Release", "Table", "Knowledge"]
NAMESPACES = "methods attacks measures checks guarantees knowledge analyse datasets errors config"


def test_the_public_names_are_these_and_the_methods():
    stated = {*VERBS, *TYPES, *NAMESPACES.split(), *shoal.methods.__all__, "__version__"}
    assert set(shoal.__all__) == stated


@pytest.mark.parametrize("name", sorted({*shoal.__all__} - {"__version__"}))
def test_every_public_name_has_an_example_that_the_tests_run(name):
    """The doctests of `src` run it: one that is skipped as a whole would show nothing."""
    documented = inspect.getdoc(getattr(shoal, name)) or ""
    shown = [line for line in documented.splitlines() if line.lstrip().startswith(">>>")]
    assert [line for line in shown if "doctest: +SKIP" not in line], f"shoal.{name} has no example"


MOVED = [*[(name, "errors") for name in shoal.errors.__all__], ("About", "config"),
         ("Limits", "config"), ("log_to", "config")]  # fmt: skip


@pytest.mark.parametrize(("name", "place"), MOVED)
def test_names_that_moved_warn_and_work(name, place):
    with pytest.warns(DeprecationWarning, match=rf"write shoal\.{place}\.{name}\.$") as warned:
        found = getattr(shoal, name)
    assert found is getattr(getattr(shoal, place), name)
    assert warned[0].filename == __file__
    assert name not in shoal.__all__


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_public_name_is_what_it_is_called(package, name):
    found = getattr(import_module(package), name)
    kind = kind_of(package, name)
    assert is_of_kind(found, kind), f"{package}.{name} is no {kind}"
    if kind in ("class", "function"):
        assert (found.__doc__ or "").strip(), f"{package}.{name} has no docstring"


@pytest.mark.parametrize("package", CATALOGUES)
def test_public_names_are_listed_once(package):
    exported = import_module(package).__all__
    assert len(set(exported)) == len(exported)
    assert set(exported) <= set(dir(import_module(package)))


def printed_by(code: str) -> list[str]:
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


KINDS = """
import importlib, inspect
def kind(found):
    is_of = {{"module": inspect.ismodule, "class": inspect.isclass, "function": inspect.isroutine}}
    return next((name for name, is_one in is_of.items() if is_one(found)), "value")
for package, name in {names!r}:
    print(package, name, kind(getattr(importlib.import_module(package), name)))
"""
IMPORT_EVERYTHING = """
import pkgutil, importlib, shoal
for found in pkgutil.walk_packages(shoal.__path__, "shoal."):
    # Those need libraries that are optional.
    is_optional = any(word in found.name for word in ("__main__", "spark", "postgres", "learn"))
    if not is_optional:
        importlib.import_module(found.name)
"""


def test_public_names_mean_the_same_whatever_is_imported_first():
    """In fresh processes: names in their order, in the opposite order, and after all modules."""
    forward = printed_by(KINDS.format(names=NAMES))
    backward = printed_by(KINDS.format(names=NAMES[::-1]))
    after_all = printed_by(IMPORT_EVERYTHING + KINDS.format(names=NAMES))
    assert sorted(forward) == sorted(backward) == sorted(after_all)
    stated = {tuple(line.split()[:2]): line.split()[2] for line in forward}
    assert stated["shoal.knowledge", "guided_hierarchy"] == "function"


def test_guided_hierarchy_is_the_function_that_its_documentation_describes():
    table = shoal.read(shoal.datasets.papers.injector_patients())
    cells = table.counts(("sex", "disease"))
    assert shoal.knowledge.guided_hierarchy(cells, "sex", "disease").rows
