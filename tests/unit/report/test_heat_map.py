from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from shoal.report.plots import heat_map
from shoal.slicing.correlation import Correlations

SVG = "{http://www.w3.org/2000/svg}"


def correlations_of(names, seed=3):
    matrix = np.random.default_rng(seed).random((len(names), len(names))).round(12)
    matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, 1)
    return Correlations(tuple(names), matrix)


def squares_of(drawing):
    """Give the colour of every square by row and column."""
    colours = {}
    for path in drawing.iter(f"{SVG}path"):
        for column, row in re.findall(r"M(\d+) (\d+)h1v1h-1z", path.get("d")):
            colours[int(row), int(column)] = path.get("fill")
    return colours


def darkness(colour):
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 255 - (0.2126 * red + 0.7152 * green + 0.0722 * blue)


@pytest.mark.parametrize("n_names", [1, 2, 24, 25, 130])
def test_every_pair_is_a_square_the_darker_the_more_correlated(n_names):
    found = correlations_of([f"a{number}" for number in range(n_names)])
    squares = squares_of(ElementTree.fromstring(heat_map(found)))
    assert squares.keys() == set(np.ndindex(n_names, n_names))
    by_value = sorted((found.matrix[place], darkness(colour)) for place, colour in squares.items())
    assert np.all(np.diff([dark for _, dark in by_value]) >= 0)


@pytest.mark.parametrize(("n_names", "has_numbers", "has_names"), [
    (24, True, True), (25, False, True), (120, False, True), (121, False, False),
])  # fmt: skip
def test_numbers_and_names_stand_where_there_is_room(n_names, has_numbers, has_names):
    names = [f"name{number}" for number in range(n_names)]
    texts = list(ElementTree.fromstring(heat_map(correlations_of(names))).iter(f"{SVG}text"))
    shown = ["".join(text.itertext()) for text in texts]
    assert sum(bool(re.fullmatch(r"1|\.\d\d|1\.00", text)) for text in shown) == (
        n_names**2 if has_numbers else 0
    )
    assert sum("name0" in text for text in shown) == (2 if has_names else 0)


def test_a_drawing_of_hundreds_of_attributes_stays_small():
    drawing = heat_map(correlations_of([f"a{number}" for number in range(300)]))
    assert len(drawing) < 3_000_000


def test_hostile_names_are_texts_and_nothing_else():
    names = ["<script>alert(1)</script>", "a & b", 'q"uote', "bell\x07\x1b[2J", "x" * 500]
    drawing = ElementTree.fromstring(heat_map(correlations_of(names), title="<b>&"))
    assert drawing.find(f"{SVG}script") is None
    assert drawing.find(f"{SVG}title").text == "<b>&"
    told = [title.text for title in drawing.iter(f"{SVG}title")]
    assert names[0] in told
    assert names[4] in told
    assert "bell\ufffd\ufffd[2J" in told


def test_the_drawing_says_in_words_what_it_shows():
    matrix = np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    drawing = ElementTree.fromstring(heat_map(Correlations(("age", "job", "sex"), matrix)))
    described = drawing.find(f"{SVG}desc")
    assert drawing.get("role") == "img"
    assert described.get("id") in drawing.get("aria-labelledby")
    assert "The strongest: age and job (0.50)." in described.text
    nothing = ElementTree.fromstring(heat_map(Correlations(("age", "sex"), np.eye(2))))
    assert "No pair is correlated." in nothing.find(f"{SVG}desc").text
