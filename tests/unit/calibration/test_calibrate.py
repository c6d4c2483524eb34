"""What calibration says of adversaries who are right, wrong, partly right or certain."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.calibration.calibrate import _filled_up, calibrate
from shoal.core.calibration import Suspicion, Suspicions
from shoal.foreground.law import posterior

GROUPS, SIZE = 600, 4


def drawn(rng, odds, n=1, truth_slope=1.0):
    """Draw who has the value: odds raised to a power say how likely each member of a group has."""
    truth = np.zeros(odds.shape, dtype=np.int64)
    for number, own in enumerate(odds):
        weight = np.exp(truth_slope * own)
        truth[number, rng.choice(len(own), n, replace=False, p=weight / weight.sum())] = 1
    return truth


def suspicions(odds, n=1, limit=1 / 3, *, with_odds=True):
    group = np.repeat(np.arange(len(odds)), odds.shape[1])
    belief = np.array([posterior(1 / (1 + np.exp(-own)), n) for own in odds]).ravel()
    about = Suspicion(
        (0,),
        belief,
        group,
        np.full(len(odds), n, dtype=np.int64),
        odds.ravel() if with_odds else None,
    )
    return Suspicions((about,), limit)


@pytest.mark.parametrize(
    ("slope", "with_odds"),
    [(0.0, True), (0.5, True), (1.0, True), (1.5, True), (0.0, False), (1.0, False)],
)
def test_the_slope_is_found(slope, with_odds):
    rng = np.random.default_rng(7)
    odds = rng.normal(0, 1.5, (GROUPS, SIZE))
    truth = drawn(rng, odds, truth_slope=slope)
    count = np.ones(odds.size, dtype=np.int64)
    found, _ = calibrate(suspicions(odds, with_odds=with_odds), count, [truth.ravel()])
    assert found.slope.low - 0.02 <= slope <= found.slope.high + 0.02
    assert found.slope.high - found.slope.low < 0.35


def test_a_worthless_attack_exposes_nobody_although_it_believes_much():
    rng = np.random.default_rng(3)
    odds = rng.normal(0, 2, (GROUPS, SIZE))
    truth = drawn(rng, odds, truth_slope=0.0)
    found, is_exposed = calibrate(
        suspicions(odds), np.ones(odds.size, dtype=np.int64), [truth.ravel()]
    )
    assert found.believed > 500
    assert found.right.low < found.baseline + 0.05
    assert found.slope.low == 0.0
    assert found.exposed < 0.05 * found.believed
    assert found.exposed == is_exposed.sum()


def test_certain_people_do_not_vanish_among_unknowable_ones():
    """The slope is near 0 for the sake of most; the few of whom she is rightly sure still count."""
    rng = np.random.default_rng(5)
    odds = rng.normal(0, 1, (GROUPS, SIZE))
    truth = drawn(rng, odds, truth_slope=0.0)
    odds[:25, 0], odds[:25, 1:] = 6.0, -2.0
    truth[:25], truth[:25, 0] = 0, 1
    found, is_exposed = calibrate(
        suspicions(odds), np.ones(odds.size, dtype=np.int64), [truth.ravel()]
    )
    assert found.slope.high < 0.8
    assert is_exposed.reshape(odds.shape)[:25, 0].all()
    assert found.n_in_bands >= 25


def test_what_follows_by_logic_is_not_calibrated_down():
    """Everybody else of the group is known not to have the value, and never has."""
    rng = np.random.default_rng(5)
    odds = rng.normal(0, 2, (GROUPS, SIZE))
    truth = drawn(rng, odds, truth_slope=0.0)
    odds[:5, 1:] = -np.inf
    truth[:5], truth[:5, 0] = 0, 1
    about = suspicions(np.where(np.isinf(odds), -40.0, odds)).about[0]
    exact = Suspicion((0,), about.belief, about.group, about.n_carrying, odds.ravel())
    found, is_exposed = calibrate(
        Suspicions((exact,), 1 / 3), np.ones(odds.size, dtype=np.int64), [truth.ravel()]
    )
    assert found.slope.high < 0.3
    assert is_exposed.reshape(odds.shape)[:5, 0].all()


def test_too_few_informative_people_fall_back_to_what_is_believed():
    odds = np.array([[3.0, 0, 0, 0]] * 7)
    truth = drawn(np.random.default_rng(1), odds).ravel()
    found, _ = calibrate(suspicions(odds), np.ones(28, dtype=np.int64), [truth])
    assert found.slope is None
    assert not found.is_calibrated
    assert found.exposed == found.believed == 7


def test_people_alike_are_not_informative():
    odds = np.zeros((100, SIZE))
    truth = drawn(np.random.default_rng(1), odds).ravel()
    found, _ = calibrate(suspicions(odds, limit=1 / 5), np.ones(400, dtype=np.int64), [truth])
    assert found.n_informative == 0
    assert found.exposed == found.believed == 400


def test_a_value_has_a_slope_of_its_own_only_if_the_truth_asks_for_it():
    rng = np.random.default_rng(11)
    odds = rng.normal(0, 1.5, (2, GROUPS, SIZE))
    abouts = [suspicions(one).about[0] for one in odds]
    count = np.ones(GROUPS * SIZE, dtype=np.int64)

    def judged(*slopes):
        truths = [
            drawn(rng, one, truth_slope=slope).ravel()
            for one, slope in zip(odds, slopes, strict=True)
        ]
        both = Suspicions(
            tuple(
                Suspicion((number,), one.belief, one.group, one.n_carrying, one.log_odds)
                for number, one in enumerate(abouts)
            ),
            1 / 3,
        )
        return calibrate(both, count, truths, ["first", "second"])[0]

    assert judged(1.0, 1.0).slopes == {}
    assert set(judged(1.5, 0.0).slopes) <= {"first", "second"}
    assert judged(1.5, 0.0).slopes


def test_figures_without_values_go_to_json():
    odds = np.random.default_rng(2).normal(0, 1, (GROUPS, SIZE))
    truth = drawn(np.random.default_rng(2), odds).ravel()
    found, _ = calibrate(suspicions(odds), np.ones(odds.size, dtype=np.int64), [truth], ["a value"])
    stated = found.to_dict()
    assert set(stated) == {
        *("believed", "right", "baseline", "wrongly_believed", "exposed", "slope", "informative"),
        "exposed_by_law",
    }
    assert set(stated["right"]) == {"rate", "low", "high"}
    assert set(stated["slope"]) == {"value", "low", "high"}
    assert "a value" not in str(stated)


def test_one_person_with_two_believed_values_is_believed_something_false():
    group = np.array([0, 0])
    ones = np.array([1])
    about = tuple(Suspicion((value,), np.array([0.5, 0.5]), group, ones) for value in (0, 1))
    found, _ = calibrate(
        Suspicions(about, 0.4), np.ones(2, dtype=np.int64), [np.array([1, 0]), np.array([0, 1])]
    )
    assert found.believed == found.wrongly_believed == 2


def test_people_are_filled_up_by_how_many_laws_put_them_above_the_limit():
    above = np.array([[1, 1, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool)
    count, marks = np.array([3, 2, 5, 1]), np.array([True, False, False, False])
    # The numbers are 6, 5, 8 and 5 people; the second cell is above by three laws of four.
    assert _filled_up(marks, above, count, 0.0).tolist() == [True, True, False, False]
    assert _filled_up(marks, above, count, 1.0).tolist() == [True, True, True, False]
    assert _filled_up(np.ones(4, dtype=bool), above, count, 1.0).all()
