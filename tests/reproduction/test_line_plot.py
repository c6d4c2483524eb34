"""Curves and groups of bars: what is drawn is what the numbers say, whatever these are."""

from __future__ import annotations

import math
import re
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reproduction.line_plot import Scale, draw, shown
from reproduction.reproduced import Curve, Figure

SPACE = "{http://www.w3.org/2000/svg}"
any_number = st.floats(-1e12, 1e12) | st.just(math.nan) | st.just(math.inf)


def figure(x, *curves, **more):
    made = tuple(Curve(name, tuple(values)) for name, values in curves)
    return Figure("f", "A title", "a setting", "x name", tuple(x), "y name", made, **more)


def polylines(drawing):
    found = fromstring(drawing).iter(f"{SPACE}polyline")
    return [
        [tuple(map(float, point.split(","))) for point in one.get("points").split()]
        for one in found
    ]


def texts(drawing):
    return ["".join(one.itertext()) for one in fromstring(drawing).iter(f"{SPACE}text")]


# --- scales --------------------------------------------------------------------------------------


@given(st.lists(any_number, max_size=12), st.booleans(), st.booleans())
@example([5e-324], False, False)
@example([0.0, -5e-324], False, False)
def test_a_scale_holds_all_numbers_that_it_shows(numbers, is_log, is_tight):
    scale = Scale.over(numbers, 300, 40, is_log=is_log, is_tight=is_tight)
    for number in numbers:
        place = scale.place(number)
        is_shown = math.isfinite(number) and (number > 1e-300 or not is_log)
        assert (place is not None) == is_shown
        if place is not None:
            assert 39.999 <= place <= 300.001


@given(st.floats(1e-9, 1e9), st.floats(0, 1e9), st.booleans())
def test_ticks_are_few_in_order_and_on_the_axis(low, more, is_log):
    scale = Scale.over([low, low + more], 0, 100, is_log=is_log)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 16
    assert ticks == sorted(set(ticks))
    assert all(-0.001 <= scale.place(tick) <= 100.001 for tick in ticks)


def test_a_linear_axis_starts_at_0_unless_all_numbers_are_far_from_it():
    assert Scale.over([10, 100], 0, 1).low == 0
    assert Scale.over([0.80, 0.83], 0, 1).low >= 0.79
    assert Scale.over([-5, 3], 0, 1).low <= -5


# --- lines ---------------------------------------------------------------------------------------


def test_higher_numbers_are_drawn_higher_and_later_places_further_right():
    drawing = draw(figure([1, 2, 4], ("a", [10, 30, 20])))
    line, _ = polylines(drawing)
    xs, ys = zip(*line, strict=True)
    assert list(xs) == sorted(xs)
    assert ys[1] < ys[2] < ys[0]
    # Twice as far on the axis, twice as far on the paper.
    assert (xs[2] - xs[1]) == pytest.approx(2 * (xs[1] - xs[0]), abs=0.3)


def test_a_logarithmic_scale_draws_equal_ratios_alike():
    values = [1, 10, 100]
    line, _ = polylines(draw(figure(values, ("a", values), is_log=True, is_x_log=True)))
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.3)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.3)


def test_a_line_is_broken_where_there_is_no_number():
    drawn = polylines(draw(figure(range(5), ("a", [1, 2, math.nan, 3, 4]))))
    # Two stretches, and the sample in the legend.
    assert [len(line) for line in drawn] == [2, 2, 2]
    drawn = polylines(draw(figure(range(1, 6), ("a", [1, 2, 0, 3, 4]), is_log=True)))
    assert [len(line) for line in drawn] == [2, 2, 2]


def test_curves_differ_without_their_colours():
    drawing = draw(figure([1, 2], *((f"curve {n}", [n, n + 1]) for n in range(12))))
    root = fromstring(drawing)
    dashes = [one.get("stroke-dasharray") for one in root.iter(f"{SPACE}polyline")][:12]
    marks = [one for one in root.iter(f"{SPACE}path") if one.get("stroke-width") == "1.5"]
    forms = [
        (re.sub(r"^M[\d.]+ [\d.]+", "", one.get("d")), one.get("fill") == "#ffffff")
        for one in marks[:24:2]
    ]
    assert len(set(zip(dashes, forms, strict=True))) == 12


def test_the_legend_the_axes_and_the_words_say_everything():
    drawing = draw(figure([1, 2], ("first", [1, 2]), ("second", [3, math.nan]), is_log=True))
    shown_texts = texts(drawing)
    assert {"first", "second", "x name", "y name, logarithmic", "A title"} <= set(shown_texts)
    described = fromstring(drawing).find(f"{SPACE}desc").text
    assert described == "y name by x name. first: 1 at 1, 2 at 2; second: 3 at 1, none at 2."


# --- bars ----------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_numbers_and_have_them_beside():
    drawing = draw(figure(["p", "q"], ("a", [4, 1]), ("b", [2, math.nan])))
    widths = [float(one.get("width")) for one in fromstring(drawing).iter(f"{SPACE}rect")]
    _, *legend, four, two, one, none = widths
    assert legend == [28, 28]
    assert four == pytest.approx(2 * two, abs=0.2)
    assert two == pytest.approx(2 * one, abs=0.2)
    assert none == 0
    assert texts(drawing)[-6:] == ["pp", "4", "2", "qq", "1", "none"]


def directions(path):
    """Say which ways the strokes of a hatching go."""
    found = set(re.findall("[hv]", path))
    for x0, y0, x1, y1 in re.findall(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", path):
        if float(x0) != float(x1):
            found.add("up" if float(y1) < float(y0) else "down")
    return frozenset(found)


def test_bars_differ_without_their_colours():
    drawing = draw(figure(["p"], *((f"{n}", [5]) for n in range(7))))
    root = fromstring(drawing)
    strokes = [one.get("d") for one in root.iter(f"{SPACE}path")]
    fills = [one.get("fill") for one in root.iter(f"{SPACE}rect")][1:8]
    assert len(strokes) == 2 * 5
    assert len(set(map(directions, strokes[:5]))) == 5
    assert sum(fill != "#ffffff" for fill in fills) == 1


@given(st.integers(0, 6), st.floats(0, 400))
def test_no_hatching_leaves_its_bar(order, number):
    values = [*([0.0] * order), number]
    curves = [(f"{n}", [value, 400.0]) for n, value in enumerate(values)]
    root = fromstring(draw(figure(["p", "q"], *curves)))
    for path in root.iter(f"{SPACE}path"):
        for x, _ in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.get("d")):
            assert 189.9 <= float(x) <= 550.1


# --- whatever is given ---------------------------------------------------------------------------


@given(
    st.lists(any_number, min_size=1, max_size=6),
    st.lists(st.text(), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_whatever_is_drawn_is_xml_without_script(numbers, names, is_log, is_text, data):
    x = [data.draw(st.text() if is_text else any_number) for _ in numbers]
    curves = tuple(Curve(name, tuple(numbers)) for name in names)
    made = Figure("f", names[0], "", names[-1], tuple(x), names[0], curves, (), is_log, is_log)
    root = fromstring(draw(made))
    allowed = {"svg", "title", "desc", "rect", "text", "polyline", "path"}
    assert {one.tag.removeprefix(SPACE) for one in root.iter()} <= allowed
    assert not any("id" in one.attrib or "href" in one.attrib for one in root.iter())


def test_a_figure_without_curves_is_an_empty_one():
    assert polylines(draw(figure([]))) == []
    assert "x name" in texts(draw(figure([1.0])))[1] + texts(draw(figure([1.0])))[2]


def test_numbers_are_written_short():
    assert [shown(number) for number in (0, -3, 1234567, 0.12345)] == [
        "0",
        "-3",
        "1,234,567",
        "0.123",
    ]
