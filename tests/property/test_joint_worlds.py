"""Several releases of one table: elimination and counting against all worlds, one by one."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.progress import TooMuchWork, Work
from shoal.intersection.beliefs import Component, believe_jointly, count_worlds
from shoal.intersection.worlds import Bounds, JointWorlds, Partition, eliminate, propagate

N_PLACES = 3


@st.composite
def releases(draw, n_people=6, n_releases=(1, 3), may_change=False):
    """Draw the values of people and their places in releases; -1 for those who are left out."""
    n = draw(st.integers(1, n_people))
    n_releases = draw(st.integers(*n_releases))
    values = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    place = st.integers(-1, N_PLACES - 1)
    places = draw(
        st.lists(
            st.lists(place, min_size=n_releases, max_size=n_releases).filter(lambda p: max(p) >= 0),
            min_size=n,
            max_size=n,
        )
    )
    later = list(values)
    if may_change:
        later[draw(st.integers(0, n - 1))] = draw(st.integers(0, 3))
    return places, [values, *[later] * (n_releases - 1)]


def published(places, values):
    """Count the values of each bucket of each release."""
    held = [Counter() for _ in values]
    for person, own in enumerate(places):
        for which, place in enumerate(own):
            if place >= 0:
                held[which][place, values[which][person]] += 1
    return held


def all_worlds(places, held):
    """Go through every assignment of values to people that fits all buckets."""
    for world in itertools.product(range(4), repeat=len(places)):
        if published(places, [world] * len(held)) == held:
            yield world


def worlds_of(places, held, n_places=N_PLACES):
    partitions = []
    for counter in held:
        entries = sorted(counter.items())
        place = np.array([place for (place, _), _ in entries], dtype=np.int64)
        value = np.array([value for (_, value), _ in entries], dtype=np.int64)
        count = np.array([count for _, count in entries], dtype=np.int64)
        partitions.append(Partition.of_pairs(place, value, n_places, count))
    return JointWorlds.of_people(partitions, np.array(places))


def beliefs_by_person(found, cell, person):
    is_own = found.worlds.cell == cell[person]
    pairs = zip(found.worlds.value[is_own], found.belief[is_own], strict=True)
    return {int(value): float(belief) for value, belief in pairs if belief > 0}


@settings(max_examples=200, deadline=None)
@given(drawn=releases())
def test_beliefs_and_certain_people_are_those_of_all_worlds(drawn):
    places, values = drawn
    held = published(places, values)
    worlds = list(all_worlds(places, held))
    joint, cell = worlds_of(places, held)
    found = believe_jointly(joint, Work())
    assert found.is_exact.all()
    assert not found.is_contradicted.any()
    for person in range(len(places)):
        counted = Counter(world[person] for world in worlds)
        expected = {value: n / len(worlds) for value, n in counted.items()}
        assert beliefs_by_person(found, cell, person) == pytest.approx(expected, abs=1e-12)
        assert found.is_certain[cell[person]] == (len(expected) == 1)
        assert found.n_left[cell[person]] == len(expected)


@settings(max_examples=200, deadline=None)
@given(drawn=releases())
def test_without_work_nobody_is_called_certain_who_is_not(drawn):
    places, values = drawn
    held = published(places, values)
    worlds = list(all_worlds(places, held))
    joint, cell = worlds_of(places, held)
    found = believe_jointly(joint, Work(0))
    bounds = {
        (int(cell_), int(value)): (int(low), int(high))
        for cell_, value, low, high in zip(
            joint.cell, joint.value, found.low, found.high, strict=True
        )
    }
    for person in range(len(places)):
        possible = {world[person] for world in worlds}
        assert not (found.is_certain[cell[person]] and len(possible) > 1)
        assert found.n_left[cell[person]] >= len(possible)
    for world in worlds:
        counted = Counter((int(cell[person]), value) for person, value in enumerate(world))
        for key, (low, high) in bounds.items():
            assert low <= counted[key] <= high


@settings(max_examples=300, deadline=None)
@given(drawn=releases(may_change=True, n_releases=(2, 2)))
def test_releases_that_contradict_each_other_are_noticed(drawn):
    places, values = drawn
    held = published(places, values)
    joint, _ = worlds_of(places, held)
    found = believe_jointly(joint, Work())
    assert found.is_contradicted.any() == (next(all_worlds(places, held), None) is None)


@settings(max_examples=200, deadline=None)
@given(drawn=releases(n_releases=(1, 1)), data=st.data())
def test_the_same_partition_again_teaches_nothing(drawn, data):
    places, values = drawn
    numbers = data.draw(st.permutations(range(N_PLACES)))
    twice = [[place, numbers[place]] for (place,) in places]
    once, cell = worlds_of(places, published(places, values))
    both, cell_of_both = worlds_of(twice, published(twice, values * 2))
    alone, together = believe_jointly(once, Work()), believe_jointly(both, Work(0))
    for person in range(len(places)):
        expected = beliefs_by_person(alone, cell, person)
        assert beliefs_by_person(together, cell_of_both, person) == pytest.approx(expected)


def test_a_flow_settles_what_single_sums_leave_open():
    pairs = "00 22 20 21 10 13 23 21 11 13 12 02 02 12 32"
    places = [[int(one), int(other)] for one, other in pairs.split()]
    values = [4, 1, 0, 1, 1, 3, 4, 3, 4, 4, 3, 2, 2, 0, 3]
    joint, cell = worlds_of(places, published(places, [values] * 2), n_places=4)
    asked = (joint.cell == cell[1]) & (joint.value == 3)
    assert propagate(joint, Bounds.widest(joint)).high[asked] == 1
    assert eliminate(joint).high[asked] == 0


def test_counting_stops_at_the_limit():
    n = 8
    component = Component(
        [place // n for place in range(n * n)],
        [[place % n] for place in range(n * n)],
        [0] * n * n,
        [1] * n * n,
        [1] * n,
        [1] * n,
    )
    with pytest.raises(TooMuchWork):
        count_worlds(component, Work(10_000))
    counted = count_worlds(component, Work())
    assert counted.n_worlds == 40320
    assert set(counted.mean) == {Fraction(1, n)}
