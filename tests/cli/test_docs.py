"""The pages of the documentation: links lead somewhere, and examples do what the pages show."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from shoal.core import shapes

PROJECT = Path(__file__).parents[2]
SHELVES = [PROJECT / "docs", PROJECT / "benchmarks"]
PAGES = [*sorted(PROJECT.glob("*.md")), *(p for s in SHELVES for p in sorted(s.rglob("*.md")))]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


def load_runner():
    spec = spec_from_file_location("run_pages", PROJECT / "docs" / "run_pages.py")
    module = sys.modules["run_pages"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_pages = load_runner()


def named(page):
    return page.relative_to(PROJECT).as_posix()


def anchor(heading):
    """Return the anchor that a heading gets on the usual sites: letters, digits, hyphens."""
    plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
    return plain.strip().lower().replace(" ", "-")


def anchors(page):
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def dead_links(page):
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for link in LINK.findall(text):
        target, _, part = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (part and part not in anchors(file)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page):
    assert list(dead_links(page)) == []


def test_a_dead_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](#one) [b](#two) [c](page.md#one) [d](gone.md) ![e](gone.png)\n")
    assert list(dead_links(page)) == ["#two", "gone.md", "gone.png"]


def test_every_page_is_reached_from_the_readme():
    seen, todo = set(), [PROJECT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")))
        todo += [(page.parent / link).resolve() for link in links if link]
    assert [named(page) for page in PAGES if page not in seen] == []


def test_the_architecture_names_files_that_exist():
    page = (PROJECT / "docs" / "understand" / "architecture.md").read_text(encoding="utf-8")
    named_files = set(re.findall(r"`([\w/]+/[\w/]+\.py)`", page))
    bases = [PROJECT, PROJECT / "src" / "shoal", PROJECT / "src" / "shoal" / "engines"]
    assert len(named_files) > 20
    assert [name for name in named_files if not any((b / name).exists() for b in bases)] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", run_pages.pages_with_examples(), ids=named)
def test_its_examples_print_what_it_shows(page, monkeypatch):
    # A page may register a shape of its own; other tests must not meet it.
    monkeypatch.setattr(shapes, "_SHAPES", dict(shapes._SHAPES))
    shown = page.read_text(encoding="utf-8")
    assert run_pages.run_page(page) == shown, f"python docs/run_pages.py {named(page)}"


def test_an_example_that_prints_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- run -->\n```console\n$ echo two\none\n```\n")
    assert "\n$ echo two\ntwo\n" in run_pages.run_page(page)
    page.write_text("<!-- run -->\n```console\n$ printf 'a\\nb\\nc\\n'\na\n...\nd\n```\n")
    with pytest.raises(run_pages.MismatchError):
        run_pages.run_page(page)
    page.write_text("<!-- run quietly -->\n```console\n$ exit 3\n```\n")
    with pytest.raises(run_pages.MismatchError, match="exit code 3"):
        run_pages.run_page(page)
