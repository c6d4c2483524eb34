from __future__ import annotations

from xml.etree import ElementTree

import pytest

from shoal.core.frontier import Point
from shoal.report.risk_picture import risk_picture

SVG = "{http://www.w3.org/2000/svg}"
POINTS = [Point("a", 0.2, 0.5), Point("b", 0.4, 0.1), Point("c", 0.4, 0.5)]


def test_marks_differ_in_form_and_not_in_colour_alone():
    drawing = ElementTree.fromstring(risk_picture(POINTS, "b"))
    marks = [
        [(circle.get("fill"), circle.get("r")) for circle in group.iter(f"{SVG}circle")]
        for group in drawing.iter(f"{SVG}g")
    ]
    filled, empty, ring = ("#1b1b1b", "5"), ("#ffffff", "5"), ("none", "10")
    assert marks == [[filled], [filled, ring], [empty]]


def test_words_say_what_is_drawn():
    texts = "\n".join(ElementTree.fromstring(risk_picture(POINTS, "b")).itertext())
    assert "3 releases by risk and loss" in texts
    assert "On the frontier: a, b. Recommended: b." in texts
    for line in ("1  a: on the frontier", "2  b: recommended", "3  c: beaten by another"):
        assert line in texts


def test_less_risk_is_lower_and_less_loss_is_further_left():
    drawing = ElementTree.fromstring(risk_picture(POINTS, "b"))
    at = [
        (float(circle.get("cx")), float(circle.get("cy")))
        for circle in drawing.iter(f"{SVG}circle")
        if circle.get("r") == "5"
    ]
    (a, b, c) = at
    assert a[1] > b[1] == c[1]
    assert b[0] < a[0] == c[0]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", 'a & b "c"', "x" * 500, "\u202eright to left", "\x00\x1b[2J"],
)
def test_names_stay_text(name):
    drawing = ElementTree.fromstring(risk_picture([Point(name, 0.1, 0.1)], name))
    kinds = {element.tag.removeprefix(SVG) for element in drawing.iter()}
    assert kinds <= {"svg", "title", "desc", "rect", "path", "text", "g", "circle"}


@pytest.mark.parametrize("points", [[], [Point("a", 0.0, 0.0)], [Point("a", 1.0, 40.0)]])
def test_it_draws_few_and_far_points(points):
    ElementTree.fromstring(risk_picture(points, None))
