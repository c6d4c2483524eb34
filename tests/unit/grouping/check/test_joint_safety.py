"""Joint safety: what the checker passes, all worlds confirm."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.checks import Evidence, check
from shoal.core.adversary_guarantees import JointSafety
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import FrequencyDiversity, KAnonymity, TCloseness
from shoal.core.manifest import guarantee_from_dict
from shoal.grouping.check.joint_safety import EarlierBuckets

ILLNESS = Domain.of_texts("illness", ["cold", "flu", "gout"])
HALF = FrequencyDiversity(ell=2)


def witness_of(own, places, values, others=(), earlier_values=None):
    """Build the witness and the evidence from people one by one."""
    own, places = np.array(own), np.array(places)
    held = values if earlier_values is None else earlier_values
    entries = Counter(
        (which, place, held[person])
        for person, row in enumerate(places.tolist())
        for which, place in enumerate(row)
        if place >= 0
    )
    release, place, value = (np.array(column) for column in zip(*sorted(entries), strict=True))
    count = np.array([entries[key] for key in sorted(entries)])
    witness = EarlierBuckets(own, places, release, place, value, count, others)
    inside = own >= 0
    buckets = Buckets.of_pairs(own[inside], np.array(values)[inside], ILLNESS)
    return Evidence(buckets, buckets.sizes, witnesses={"earlier releases": witness})


def claim(n_releases):
    return JointSafety(earlier=["0" * 64] * n_releases)


def views_of(own, places):
    return [list(own), *map(list, zip(*places, strict=True))]


def published(views, values):
    counted = [Counter() for _ in views]
    for held, view in zip(counted, views, strict=True):
        for place, value in zip(view, values, strict=True):
            if place >= 0:
                held[place, value] += 1
    return counted


@st.composite
def people(draw):
    n = draw(st.integers(2, 6))
    n_releases = draw(st.integers(1, 2))
    places = [[draw(st.integers(-1, 1)) for _ in range(n_releases)] for _ in range(n)]
    values = [draw(st.integers(0, 2)) for _ in range(n)]
    is_nested = draw(st.booleans())
    own = []
    for row in places:
        inside = draw(st.integers(0, 3)) > 0 or max(row) < 0
        cut = draw(st.integers(0, 1))
        number = sum((place + 1) * 3**which for which, place in enumerate(row)) if is_nested else 0
        own.append(2 * number + cut if inside else -1)
    numbers = {number: at for at, number in enumerate(sorted(set(own) - {-1}))}
    own = [numbers.get(number, -1) for number in own]
    return own, places, values


@settings(max_examples=600, deadline=None)
@given(drawn=people())
def test_what_passes_says_no_more_together_than_alone(drawn):
    own, places, values = drawn
    if max(own) < 0 or max(max(row) for row in places) < 0:
        return
    n_releases = len(places[0])
    evidence = witness_of(own, places, values, [HALF])
    if not check(claim(n_releases), evidence).holds:
        return
    views = views_of(own, places)
    expected = published(views, values)
    worlds = [
        world
        for world in itertools.product(range(3), repeat=len(values))
        if published(views, world) == expected
    ]
    is_partly = {
        (which, row[which])
        for person, row in enumerate(places)
        for which in range(n_releases)
        if own[person] >= 0 and row[which] >= 0
    }
    for person, row in enumerate(places):
        counted = Counter(world[person] for world in worlds)
        beliefs = {value: n / len(worlds) for value, n in counted.items()}
        if own[person] >= 0:
            alone = Counter(v for v, o in zip(values, own, strict=True) if o == own[person])
            shares = {value: n / alone.total() for value, n in alone.items()}
            assert beliefs == pytest.approx(shares)
        elif all((which, place) in is_partly or place < 0 for which, place in enumerate(row)):
            assert max(beliefs.values()) <= 0.5 + 1e-12


def test_a_bucket_across_earlier_ones_fails():
    verdict = check(claim(1), witness_of([0, 0, 1, 1], [[0], [1], [0], [1]], [0, 1, 0, 1]))
    assert not verdict.holds
    assert verdict.n_failing == 2
    assert "lie in several earlier ones" in verdict.detail


def test_newcomers_among_earlier_people_fail():
    assert not check(claim(1), witness_of([0, 0, 0], [[0], [0], [-1]], [0, 1, 2])).holds


def test_the_last_person_of_an_earlier_bucket_is_not_left_alone():
    """Two of three people are published again: the third has the value that is missing."""
    evidence = witness_of([0, 0, -1], [[0], [0], [0]], [0, 1, 2], [HALF])
    verdict = check(claim(1), evidence)
    assert not verdict.holds
    assert "do not keep frequency l-diversity" in verdict.detail
    evidence = witness_of([0, 0, -1, -1], [[0]] * 4, [0, 1, 2, 0], [HALF, KAnonymity(k=2)])
    assert check(claim(1), evidence).holds
    evidence = witness_of([0, 0, -1, -1], [[0]] * 4, [0, 1, 2, 0], [KAnonymity(k=3)])
    assert not check(claim(1), evidence).holds
    # What cannot be checked on the rest is not taken for kept.
    evidence = witness_of([0, 0, -1, -1], [[0]] * 4, [0, 1, 2, 0], [TCloseness(t=1)])
    assert not check(claim(1), evidence).holds


def test_values_that_changed_fail():
    evidence = witness_of([0, 0, 1, 1], [[0]] * 4, [0, 1, 0, 1], earlier_values=[0, 1, 0, 2])
    verdict = check(claim(1), evidence)
    assert not verdict.holds
    assert "different values for the same people" in verdict.detail


def test_without_the_witness_it_is_partly_checked():
    buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), ILLNESS)
    verdict = check(claim(1), Evidence.of_buckets(buckets))
    assert verdict.holds
    assert verdict.is_partial


def test_a_witness_of_other_people_is_refused():
    evidence = witness_of([0, 0, 1, 1], [[0]] * 4, [0, 1, 0, 1])
    witness = evidence.witnesses["earlier releases"]
    buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), ILLNESS)
    other = Evidence(buckets, buckets.sizes, witnesses={"earlier releases": witness})
    with pytest.raises(DataError, match="not those of the people"):
        check(claim(1), other)
    with pytest.raises(DataError, match="not those of the people"):
        check(claim(2), evidence)


@pytest.mark.parametrize("earlier", ["0" * 64, [], ["abc"], [7]])
def test_earlier_releases_are_named_by_digests(earlier):
    with pytest.raises(ParameterError, match="SHA-256"):
        JointSafety(earlier=earlier)


def test_the_manifest_states_it():
    one = JointSafety(earlier=["a" * 64, "b" * 64])
    assert guarantee_from_dict(one.to_dict()) == one
    assert "the 2 earlier releases" in one.statement
    assert "the earlier release" in claim(1).statement
