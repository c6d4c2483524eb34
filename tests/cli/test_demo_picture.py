"""The picture of the README is what the demo prints."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "images" / "draw_demo.py"


@pytest.fixture(scope="module")
def draw_demo():
    spec = spec_from_file_location("draw_demo", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_what_the_demo_prints(draw_demo):
    lines = draw_demo.lines_of(draw_demo.drawn(draw_demo.printed()))
    assert any("homogeneitypassed" in line for line in lines)
    committed = draw_demo.lines_of(draw_demo.PICTURE.read_text(encoding="utf-8"))
    assert committed == lines, "draw it again: python docs/images/draw_demo.py"


def test_another_number_is_another_picture(draw_demo):
    picture = draw_demo.PICTURE.read_text(encoding="utf-8")
    changed = re.sub(r"(AUC[^<]*0\.\d)(\d)", lambda m: f"{m[1]}{9 - int(m[2])}", picture, count=1)
    assert changed != picture
    assert draw_demo.lines_of(changed) != draw_demo.lines_of(picture)


def test_the_readme_shows_the_picture(draw_demo):
    readme = (SCRIPT.parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"({draw_demo.PICTURE.relative_to(SCRIPT.parents[2]).as_posix()})" in readme
