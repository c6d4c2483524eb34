"""Samples of people with their buckets, and intervals for everybody."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from shoal.core.sampling import draw_sample, mean_interval


def drawn(sizes, most, seed=0):
    return draw_sample(np.asarray(sizes), most, np.random.default_rng(seed))


def test_everybody_in_the_buckets_of_the_people_drawn_is_attacked():
    sizes = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    sample = drawn(sizes, 12)
    assert np.array_equal(sample.sizes, sizes[sample.buckets])
    assert np.all(np.diff(sample.buckets) > 0)
    assert set(sample.draws.tolist()) == set(range(len(sample.buckets)))
    assert sample.n_people == sample.sizes.sum() <= 12
    number = sample.number(len(sizes))
    assert number[sample.buckets].tolist() == list(range(len(sample.buckets)))
    assert np.count_nonzero(number < 0) == len(sizes) - len(sample.buckets)


def test_a_larger_sample_begins_with_the_draws_of_a_smaller_one():
    sizes = np.random.default_rng(1).integers(1, 30, 5000)
    smaller, larger = drawn(sizes, 2000), drawn(sizes, 9000)
    assert set(smaller.buckets.tolist()) < set(larger.buckets.tolist())
    first = larger.buckets[larger.draws][: len(smaller.draws)]
    assert np.array_equal(first, smaller.buckets[smaller.draws])
    again = drawn(sizes, 2000)
    assert np.array_equal(again.draws, smaller.draws)
    assert not np.array_equal(drawn(sizes, 2000, seed=2).buckets, smaller.buckets)


@pytest.mark.parametrize("sizes", [[1], [7], [50, 1], [1, 1, 1]])
def test_one_person_is_always_drawn_and_everybody_can_be(sizes):
    assert len(drawn(sizes, 1).draws) >= 1
    whole = drawn(sizes, sum(sizes))
    assert whole.is_whole
    assert whole.n_all == sum(sizes)


def test_buckets_are_drawn_in_proportion_to_their_people():
    sizes = np.array([1, 2, 3, 4, 90])
    first = [int(drawn(sizes, 1, seed).buckets[0]) for seed in range(1000)]
    assert 860 <= first.count(4) <= 940


@pytest.mark.parametrize(("n_hits", "n_draws"), [(0, 50), (1, 50), (7, 400), (0, 40_000), (30, 60)])
def test_the_interval_is_wider_than_that_of_clopper_and_pearson_but_not_by_much(n_hits, n_draws):
    share = np.zeros(n_draws)
    share[:n_hits] = 1
    low, high = mean_interval(share)
    exact_low = beta.ppf(0.025, n_hits, n_draws - n_hits + 1) if n_hits else 0.0
    exact_high = beta.ppf(0.975, n_hits + 1, n_draws - n_hits)
    assert low <= exact_low <= exact_high <= high
    assert high - n_hits / n_draws <= 2.1 * (exact_high - n_hits / n_draws)


def test_the_interval_holds_the_mean_and_turns_with_the_shares():
    share = np.random.default_rng(3).random(200)
    low, high = mean_interval(share)
    assert 0 <= low < share.mean() < high <= 1
    turned = mean_interval(1 - share)
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-6)
    assert mean_interval(np.ones(10))[1] == 1
    assert mean_interval(np.empty(0)) == (0.0, 1.0)


def test_people_at_risk_are_scaled_and_what_was_seen_holds():
    sizes = np.full(1000, 4)
    sample = drawn(sizes, 400)
    place = np.repeat(np.arange(len(sample.buckets)), 4)
    count = np.ones(len(place), dtype=np.int64)
    none = sample.judge(place, count, np.zeros(len(place), dtype=bool))
    assert (none.at_risk.value, none.at_risk.low) == (0, 0)
    assert 0 < none.at_risk.high < 4000
    every = sample.judge(place, count, np.ones(len(place), dtype=bool))
    assert (every.at_risk.value, every.at_risk.high) == (4000, 4000)
    assert every.at_risk.low > 3000
    one = np.zeros(len(place), dtype=bool)
    one[0] = True
    assert sample.judge(place, count, one).at_risk.low >= 1
    assert none.to_dict() == {
        "people": 400,
        "of": 4000,
        "draws": len(sample.draws),
        "at_risk": {"value": 0, "low": 0, "high": int(none.at_risk.high)},
    }


def _populations():
    """Yield the sizes of buckets and how many people of each are at risk, in hard cases."""
    random = np.random.default_rng(5)
    equal, mixed = np.full(4000, 5), random.integers(1, 60, 1000)
    yield "rare, alone", equal, (random.random(4000) < 0.004).astype(int)
    yield "rare, whole buckets", equal, 5 * (random.random(4000) < 0.004)
    yield "half of the buckets whole", equal, 5 * (random.random(4000) < 0.5)
    yield "large buckets only", mixed, np.where(mixed > 55, mixed, 0)
    yield "small buckets only", mixed, np.where(mixed < 6, mixed, 0)
    yield "some of everybody", mixed, random.binomial(mixed, 0.1)
    yield "one large bucket", np.append(np.full(2000, 4), 2000), np.append(np.zeros(2000, int), 900)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "at_risk"), [p[1:] for p in _populations()])
def test_intervals_cover_the_number_of_people_at_risk(sizes, at_risk):
    """In at least 95 % of samples, however people at risk are distributed over buckets."""
    truth, n_samples, n_missed = int(at_risk.sum()), 400, 0
    for seed in range(n_samples):
        sample = drawn(sizes, 1500, seed)
        held = at_risk[sample.buckets]
        place = np.repeat(np.arange(len(held)), 2)
        count = np.column_stack([held, sample.sizes - held]).ravel()
        found = sample.judge(place, count, np.tile([True, False], len(held))).at_risk
        n_missed += not found.low <= truth <= found.high
    assert n_missed <= 0.05 * n_samples
