from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree

import pytest

from shoal.report.risk_picture import Point, _Axis, risk_picture

SVG = "{http://www.w3.org/2000/svg}"
POINTS = [Point("a", 0.2, 0.5), Point("b", 0.4, 0.1), Point("c", 0.4, 0.5)]


def test_marks_differ_in_form_and_not_in_colour_alone():
    drawing = ElementTree.fromstring(risk_picture(POINTS, "b"))
    marks = [
        [(circle.get("fill"), circle.get("r")) for circle in group.iter(f"{SVG}circle")]
        for group in drawing.iter(f"{SVG}g")
    ]
    filled, empty, ring = ("#1b1b1b", "5"), ("#ffffff", "5"), ("none", "10")
    # In the picture, and in the list beside it.
    assert marks == [[filled], [filled, ring], [empty]] * 2
    crossed = ElementTree.fromstring(risk_picture(POINTS, "b", failing=["a"]))
    without = [not list(group.iter(f"{SVG}circle")) for group in crossed.iter(f"{SVG}g")]
    assert without == [True, False, False] * 2


def test_words_say_what_is_drawn():
    texts = "\n".join(ElementTree.fromstring(risk_picture(POINTS, "b")).itertext())
    assert "3 releases by risk and loss" in texts
    assert "On the frontier: a, b. Recommended: b." in texts
    for line in ("on the frontier: risk 0.2", "recommended: risk 0.4", "beaten by another: risk"):
        assert line in texts
    assert "better: less risk, less loss" in texts
    failing = "\n".join(
        ElementTree.fromstring(risk_picture(POINTS, "b", failing=["a"], max_risk=0.4)).itertext()
    )
    assert "fails the gate: risk 0.2" in failing
    assert "On the frontier: b. Recommended: b." in failing
    assert "allowed risk 0.4" in failing


def test_less_risk_is_lower_and_less_loss_is_further_left():
    drawing = ElementTree.fromstring(risk_picture(POINTS, "b"))
    at = [
        (float(circle.get("cx")), float(circle.get("cy")))
        for circle in drawing.iter(f"{SVG}circle")
        if circle.get("r") == "5"
    ]
    (a, b, c) = at[:3]
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


def numbers_of(drawing):
    """Give where the numbers beside marks are; they alone have a white line around them."""
    return [
        (float(text.get("x")), float(text.get("y")) - 4)
        for text in drawing.iter(f"{SVG}text")
        if text.get("stroke") == "#ffffff"
    ]


@pytest.mark.parametrize(
    "points",
    [
        [Point(f"m{place}", 0.3, 0.3) for place in range(9)],
        [Point(f"m{place}", 0.3 + place / 1000, 0.3 + place / 900) for place in range(12)],
        [Point("a", 0.1, 0.1), Point("b", 0.9, 0.101), Point("c", 0.9, 0.1), Point("d", 0.1, 0.9)],
    ],
)
def test_numbers_keep_clear_of_one_another_and_of_marks(points):
    drawing = ElementTree.fromstring(risk_picture(points, points[0].name))
    places = numbers_of(drawing)
    assert len(places) == len(points)
    for one, other in itertools.combinations(places, 2):
        assert math.dist(one, other) >= 14
    marks = [
        (float(circle.get("cx")), float(circle.get("cy")), float(circle.get("r")))
        for group in list(drawing.iter(f"{SVG}g"))[: len(points)]
        for circle in group.iter(f"{SVG}circle")
    ]
    assert all(math.dist(place, (x, y)) > r + 6 for place in places for x, y, r in marks)
    width, height = float(drawing.get("width")), float(drawing.get("height"))
    assert all(0 < x < width and 0 < y < height for x, y in places)


@pytest.mark.parametrize(
    ("values", "low"), [([0.1, 0.4], 0.0), ([0.4, 0.41], 0.395), ([0.3, 0.3], 0.0), ([0.0], 0.0)]
)
def test_axes_hold_all_values_and_begin_at_0_unless_all_are_near(values, low):
    axis = _Axis.over(values)
    assert axis.low == pytest.approx(low, abs=0.004)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert 3 <= len(axis.ticks()) <= 8


def test_long_names_stand_on_several_lines_within_the_picture():
    name = "slicing columns=" + "W" * 90
    drawing = ElementTree.fromstring(risk_picture([Point(name, 0.1, 0.1)], name))
    lines = [text.text for text in drawing.iter(f"{SVG}text") if "W" in (text.text or "")]
    assert len(lines) >= 2
    assert "".join(lines).count("W") == 90
    left = 70 + 400 + 44 + 52
    assert all(left + 9.5 * len(line) <= float(drawing.get("width")) for line in lines)
