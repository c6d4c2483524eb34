"""The reference page follows from the declarations."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from shoal.core.declared import parameters_of
from shoal.core.manifest import GUARANTEES
from shoal.core.registry import CATALOGUES, find, names

SCRIPT = Path(__file__).parents[2] / "docs" / "write_reference.py"


@pytest.fixture(scope="module")
def write_reference():
    spec = spec_from_file_location("write_reference", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(write_reference):
    return write_reference.PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_declarations_say(write_reference, page):
    assert page == write_reference.page(page), "write it again: python docs/write_reference.py"


@pytest.mark.parametrize("package", CATALOGUES)
def test_the_page_has_a_section_with_every_parameter(package, page):
    for name in names(package):
        section = page.partition(f"### `{name}`\n")[2].partition("\n#")[0]
        assert section, f"{name} has no section"
        for parameter in parameters_of(find(package, name)):
            assert f"| `{parameter}` |" in section


def test_the_page_has_a_line_about_every_guarantee(page):
    for name, cls in GUARANTEES.items():
        (line,) = [one for one in page.splitlines() if one.startswith(f"| {name} |")]
        assert f"`{cls.__name__}`" in line
        assert all(f"`{parameter}`" in line for parameter in parameters_of(cls))


def test_another_meaning_is_another_page(write_reference, page):
    changed = page.replace("The fewest rows of a bucket.", "The most rows of a bucket.")
    assert changed != page
    assert write_reference.page(changed) == page
