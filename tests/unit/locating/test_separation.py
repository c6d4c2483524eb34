from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.calibration import share_interval
from shoal.core.errors import ParameterError
from shoal.locating.separation import MatchRate, separate

SCORES = st.lists(st.integers(-1, 4), min_size=1, max_size=9)


def kernel(member, other):
    return Fraction(1 if member > other else 0) + Fraction(member == other, 2)


def auc_by_definition(members, others):
    pairs = [kernel(one, other) for one in members for other in others]
    return sum(pairs) / len(pairs)


def variance_by_definition(members, others):
    """DeLong's structural components, one by one."""
    auc = auc_by_definition(members, others)
    total = Fraction(0)
    for parts in (
        [auc_by_definition([one], others) for one in members],
        [auc_by_definition(members, [other]) for other in others],
    ):
        squares = sum((part - auc) ** 2 for part in parts)
        total += squares / (len(parts) - 1) / len(parts)
    return total


@settings(max_examples=500)
@given(SCORES, SCORES)
def test_the_area_is_that_of_all_pairs(members, others):
    assert separate(members, others).auc == float(auc_by_definition(members, others))


@settings(max_examples=500)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=9),
    st.lists(st.integers(0, 4), min_size=2, max_size=9),
)
def test_the_interval_has_the_width_of_delong(members, others):
    found = separate(members, others)
    variance = variance_by_definition(members, others)
    if variance == 0:
        assert found.low < found.auc < found.high or found.auc in (found.low, found.high)
        return
    width = math.log(found.high / (1 - found.high)) - math.log(found.low / (1 - found.low))
    auc = float(auc_by_definition(members, others))
    error = math.sqrt(variance) / (auc * (1 - auc))
    assert width == pytest.approx(2 * 1.959963984540054 * error, rel=1e-6)


@settings(max_examples=300)
@given(SCORES, SCORES)
def test_exchanging_both_sides_mirrors_everything(members, others):
    one, other = separate(members, others), separate(others, members)
    assert one.auc == pytest.approx(1 - other.auc)
    assert one.low == pytest.approx(1 - other.high, abs=1e-9)
    assert one.high == pytest.approx(1 - other.low, abs=1e-9)
    assert 0 <= one.low <= one.auc <= one.high <= 1


@settings(max_examples=300)
@given(st.data(), SCORES, SCORES)
def test_people_alike_may_be_given_once(data, members, others):
    def repeated(scores):
        size = {"min_size": len(scores), "max_size": len(scores)}
        return np.array(data.draw(st.lists(st.integers(1, 3), **size)))

    member_counts, other_counts = repeated(members), repeated(others)
    compact = separate(members, others, member_counts=member_counts, other_counts=other_counts)
    assert compact == separate(np.repeat(members, member_counts), np.repeat(others, other_counts))


def test_a_perfect_separation_of_few_is_not_certain():
    few, many = separate([1] * 5, [0] * 5), separate([1] * 500, [0] * 500)
    assert few.auc == many.auc == few.high == many.high == 1
    assert few.low < 0.8 < many.low < 1


def test_one_score_for_all_says_nothing():
    found = separate([2, 2, 2], [2, 2])
    assert found.auc == 0.5
    assert found.low < 0.2
    assert found.high > 0.8


def test_the_score_interval_is_newcombes():
    """Its ends lie as far from the area as is likely where they are."""
    m, n = 5, 8
    low = separate([1] * m, [0] * n).low
    more = (m + n) / 2 - 1
    variance = (
        low * (1 - low) * (1 + more * (1 - low) / (2 - low) + more * low / (1 + low)) / (m * n)
    )
    assert 1 - low == pytest.approx(1.959963984540054 * math.sqrt(variance))


def test_intervals_hold_the_true_area_as_often_as_they_say():
    """Ties included: scores are rounded, and a third of the people match nothing."""
    generator = np.random.default_rng(17)

    def draw(shift, n):
        scores = np.maximum(np.round(generator.normal(shift, 1, n) * 2), 0)
        return scores * (generator.random(n) > 0.3)

    true = separate(draw(0.8, 200_000), draw(0, 200_000)).auc
    intervals = [separate(draw(0.8, 60), draw(0, 60)) for _ in range(600)]
    covered = np.mean([one.low <= true <= one.high for one in intervals])
    assert 0.92 <= covered <= 0.98


@pytest.mark.parametrize("shift", [0.0, 0.4, 1.5, 2.5])
def test_the_upper_end_is_above_the_true_area_often_enough_to_be_judged(shift):
    """A gate that judges it errs in about one case of forty; also where the area is near 1."""
    generator = np.random.default_rng(23)

    def draw(by, n):
        return np.round(generator.normal(by, 1, n) * 2)

    true = separate(draw(shift, 200_000), draw(0, 200_000)).auc
    ends = [separate(draw(shift, 80), draw(0, 80)).high for _ in range(600)]
    assert np.mean([true <= high for high in ends]) >= 0.95


def test_match_rates_count_scores_above_zero():
    found = separate([0, 0.2, 3], [0, 0, 0, 1])
    assert found.members == MatchRate(2, 3)
    assert found.others == MatchRate(1, 4)
    assert found.others.interval == share_interval(1, 4)
    assert found.to_dict()["others"]["share"] == 0.25
    assert MatchRate(0, 0).share == 0


@pytest.mark.parametrize(
    ("members", "others"), [([], [1]), ([1], []), ([float("nan")], [1]), ([1], [float("nan")])]
)
def test_nobody_and_no_number_are_refused(members, others):
    with pytest.raises(ParameterError):
        separate(members, others)
