from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from shoal.report.risk_picture import Point, frontier, nearest, within

# Few different numbers, so that many are equal.
figures = st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])
clouds = st.lists(st.tuples(figures, figures), max_size=12).map(
    lambda pairs: [Point(str(place), *pair) for place, pair in enumerate(pairs)]
)

in_space = st.lists(st.tuples(figures, figures, figures), max_size=12).map(
    lambda triples: [Point(str(place), *triple) for place, triple in enumerate(triples)]
)


def is_beaten(point, points):
    def is_no_worse(other):
        return (
            other.risk <= point.risk and other.loss <= point.loss and other.exposed <= point.exposed
        )

    def is_better(other):
        return other.risk < point.risk or other.loss < point.loss or other.exposed < point.exposed

    return any(is_no_worse(other) and is_better(other) for other in points)


@given(in_space)
def test_exposed_people_are_a_third_criterion(points):
    expected = {point for point in points if not is_beaten(point, points)}
    assert set(frontier(points)) == expected
    for point in points:
        assert any(other.beats(point) for other in points) == is_beaten(point, points)


@given(clouds)
def test_the_frontier_is_what_no_other_beats(points):
    expected = {point for point in points if not is_beaten(point, points)}
    found = frontier(points)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert [point.risk for point in found] == sorted(point.risk for point in found)
    assert [point.loss for point in found] == sorted((point.loss for point in found), reverse=True)


@given(clouds)
def test_a_point_beats_what_it_is_better_than(points):
    for point in points:
        assert any(other.beats(point) for other in points) == is_beaten(point, points)


@given(clouds.filter(bool), figures)
def test_the_nearest_is_at_the_least_distance(points, risk):
    def distance(point):
        return math.sqrt((point.risk - risk) ** 2 + point.loss**2)

    assert math.isclose(distance(nearest(points, risk)), min(map(distance, points)))


@given(clouds, figures)
def test_within_a_risk_the_least_loss_is_taken(points, most):
    allowed = [point.loss for point in points if point.risk <= most]
    found = within(points, most)
    assert (found is None) == (not allowed)
    if found is not None:
        assert found.risk <= most
        assert found.loss == min(allowed)
