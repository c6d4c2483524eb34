from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.plots import Estimate, bars, estimates, histogram

SPACE = "{http://www.w3.org/2000/svg}"


def numbers_of_bars(drawing: str) -> list[int]:
    """Read the numbers that stand beside the bars: every second text behind the title."""
    texts = list(fromstring(drawing).iter(f"{SPACE}text"))
    return [int(one.text) for one in texts[2::2]]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30))
def test_a_histogram_counts_every_value_once(values):
    drawing = histogram(values, title="Sizes", unit="buckets")
    labels = [one.find(f"{SPACE}title") for one in fromstring(drawing).iter(f"{SPACE}text")]
    counted = dict(
        zip([one.text for one in labels if one is not None], numbers_of_bars(drawing), strict=True)
    )
    expected = dict.fromkeys(counted, 0)
    for value in values:
        (name,) = [one for one in counted if _holds(one, value)]
        expected[name] += 1
    assert counted == expected
    assert len(counted) <= 12


def _holds(label: str, value: int) -> bool:
    first, _, last = label.partition(" to ")
    return int(first) <= value <= int(last or first)


@given(st.lists(st.floats(-5, 5).map(lambda x: x + 0.01), min_size=1, max_size=30))
def test_a_histogram_of_reals_loses_none(values):
    assert sum(numbers_of_bars(histogram(values, title="t", unit="u"))) == len(values)


@given(st.text(), st.text(), st.floats(0, 1e9))
def test_whatever_is_written_is_xml(label, title, number):
    for drawing in (
        bars([label, label], [number, 0], title=title, unit=label),
        estimates([Estimate(label, number, 0, number, number)], title=title, unit=label),
    ):
        root = fromstring(drawing)
        assert root.find(f"{SPACE}title") is not None
        assert root.find(f"{SPACE}desc").text
        assert {one.tag.removeprefix(SPACE) for one in root.iter()} <= {
            *("svg", "title", "desc", "rect", "text", "circle", "path"),
        }


def test_bars_are_as_long_as_their_numbers():
    root = fromstring(bars(["a", "b", "c"], [4, 1, 0], title="t", unit="u"))
    widths = [float(one.get("width")) for one in root.iter(f"{SPACE}rect")][1:]
    assert widths[0] == pytest.approx(4 * widths[1], abs=0.2)
    assert widths[2] == 0


def test_more_bars_than_fit_are_said_to_be_left_out():
    drawing = bars([str(i) for i in range(50)], range(50), title="t", unit="u")
    assert "10 more are not drawn" in drawing
    assert drawing.count("<rect") == 41


def test_nothing_to_draw_is_a_drawing_too():
    for drawing in (
        bars([], [], title="t", unit="u"),
        histogram([], title="t", unit="u"),
        estimates([], title="t", unit="u"),
    ):
        fromstring(drawing)
