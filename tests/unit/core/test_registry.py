from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

from shoal.core.errors import ParameterError
from shoal.core.registry import find, lazy_exports, names, snake_case

PACKAGE = """
from shoal.core.registry import lazy_exports

MODULES = {"Anatomy": "pond.anatomy", "RuleHiding": "pond.rule_hiding"}
__all__ = list(MODULES)
__getattr__, __dir__ = lazy_exports(__name__, MODULES)
"""


@pytest.fixture
def pond(tmp_path, monkeypatch):
    """Make a package with two classes, each in a module of its own."""
    folder = tmp_path / "pond"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text(PACKAGE)
    folder.joinpath("anatomy.py").write_text("class Anatomy: pass\n")
    folder.joinpath("rule_hiding.py").write_text("class RuleHiding: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("pond")
    for module in [name for name in sys.modules if name.partition(".")[0] == "pond"]:
        del sys.modules[module]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Anatomy", "anatomy"),
        ("RuleHiding", "rule_hiding"),
        ("TCloseness", "t_closeness"),
        ("KAnonymity", "k_anonymity"),
        ("LDiversity", "l_diversity"),
        ("MASK", "mask"),
        ("FullDomain2", "full_domain2"),
    ],
)
def test_snake_case_separates_words(name, expected):
    assert snake_case(name) == expected


def test_names_come_without_importing_the_modules(pond):
    assert names("pond") == ("anatomy", "rule_hiding")
    assert "pond.rule_hiding" not in sys.modules


def test_a_class_is_imported_when_first_used(pond):
    assert "pond.rule_hiding" not in sys.modules
    assert pond.RuleHiding.__module__ == "pond.rule_hiding"
    assert vars(pond)["RuleHiding"] is pond.RuleHiding


def test_find_returns_the_class_of_a_name(pond):
    assert find("pond", "rule_hiding") is pond.RuleHiding


def test_find_names_the_choices(pond):
    with pytest.raises(ParameterError) as caught:
        find("pond", "slicing")
    assert str(caught.value) == (
        "'slicing' is not one of the pond.\n\nHint: the pond are anatomy, rule_hiding."
    )


def test_find_does_not_take_the_class_name(pond):
    with pytest.raises(ParameterError):
        find("pond", "RuleHiding")


def test_dir_lists_what_is_not_imported_yet(pond):
    assert {"Anatomy", "RuleHiding", "__name__"} <= set(dir(pond))


def test_an_unknown_attribute_is_an_attribute_error(pond):
    with pytest.raises(AttributeError, match=r"module 'pond' has no attribute 'Slicing'"):
        _ = pond.Slicing


def test_an_error_within_the_module_is_not_hidden(pond):
    Path(pond.__path__[0], "anatomy.py").write_text("import no_such_module\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = pond.Anatomy


def test_a_function_is_not_shadowed_by_the_module_of_its_name(pond):
    reefs = Path(pond.__path__[0], "reefs")
    reefs.mkdir()
    reefs.joinpath("__init__.py").touch()
    reefs.joinpath("read.py").write_text("def read(): return 'fish'\n")
    get_attribute, _ = lazy_exports("pond", {"read": "pond.reefs.read", "reefs": "pond.reefs"})
    importlib.import_module("pond.reefs.read")
    assert get_attribute("read")() == "fish"
    assert get_attribute("reefs").__name__ == "pond.reefs"


def test_a_package_may_have_no_class_yet(pond):
    get_attribute, list_names = lazy_exports("pond", {})
    assert "__all__" in list_names()
    with pytest.raises(AttributeError):
        get_attribute("Slicing")


@pytest.mark.parametrize(
    "package",
    ["shoal.methods", "shoal.attacks", "shoal.measures", "shoal.knowledge", "shoal.analyse"],
)
def test_type_checkers_see_what_a_package_exports(package):
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module
        for branch in tree.body
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == module._MODULES
