"""The mathematics of the foreground attack against slow, obviously right twins.

The twins enumerate every world of a bucket in fractions, count every combination of columns, and
iterate the paper's equations (`expectation_maximization`) in fractions or forty digits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import comb, isclose, log, log1p

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shoal.core.adversary_guarantees import ForegroundSafety
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.kernels import load_plain
from shoal.core.release import People
from shoal.foreground import _kernels as kernels_module
from shoal.foreground import law as law_module
from shoal.foreground import mining
from shoal.foreground import shapes as shapes_module
from shoal.foreground._kernels import weigh_each
from shoal.foreground.additive import fit_additive
from shoal.foreground.additive_problem import AdditiveProblem
from shoal.foreground.attribute_sets import profiles, sample_size, usable_sets
from shoal.foreground.effects import relate
from shoal.foreground.expectation_maximization import Likelihood, Target, expectation_maximization
from shoal.foreground.law import (
    EXACT,
    ROUGH,
    condition,
    odds_of,
    posterior,
    room_for,
    weigh_worlds,
)
from shoal.foreground.mining import compositions, expose, expose_by, mine
from shoal.foreground.optimization import information
from shoal.foreground.scoring import score_beliefs
from shoal.foreground.shapes import Shapes
from shoal.foreground.solutions import solve
from shoal.locating.exposed import Exposed

THOROUGH = settings(max_examples=1000, deadline=None)
USUAL = settings(max_examples=300, deadline=None)
FEW = settings(max_examples=100, deadline=None)

chances = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 1e-9, 1 - 1e-9, 1e-300, 1e-3]), st.floats(0, 1, width=32)
)


def worlds(f, n):
    """Return p(t:x) of every row and the probability of the bucket, as exact fractions."""
    share, total = weigh_worlds([Fraction(one) for one in f], n)
    return share if total else None, total


# --- the law of one bucket -----------------------------------------------------------------------


@THOROUGH
@given(f=st.lists(chances, max_size=9), data=st.data())
@example(f=[1e-300, 1e-300, 1 - 1e-16], data=None)
def test_a_posterior_adds_up_the_weights_of_worlds(f, data):
    n = 2 if data is None else data.draw(st.integers(0, len(f) + 1))
    expected, _ = worlds(f, n)
    if expected is None:
        with pytest.raises(DataError, match=f"{n} of its {len(f)} rows carry the value"):
            posterior(f, n)
        return
    found = posterior(f, n)
    assert len(found) == len(f)
    for one, other in zip(found, expected, strict=True):
        assert isclose(one, other, rel_tol=1e-13, abs_tol=1e-290)
    assert isclose(sum(found), n, abs_tol=1e-12)


@USUAL
@given(f=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8), data=st.data())
def test_the_law_does_not_change_when_all_odds_are_scaled(f, data):
    n = data.draw(st.integers(0, len(f)))
    scale = data.draw(st.floats(1e-3, 1e3))
    odds = scale * np.array(f) / (1 - np.array(f))
    assert np.allclose(posterior(odds / (1 + odds), n), posterior(f, n), rtol=1e-9)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 40, 500])
@pytest.mark.parametrize("f", [1e-300, 1e-9, 0.03, 0.5, 1 - 1e-9])
def test_rows_of_one_chance_share_the_carriers_evenly(n_rows, f):
    for n in {0, 1, n_rows // 3, n_rows - 1, n_rows}:
        assert np.allclose(posterior([f] * n_rows, n), n / n_rows, rtol=1e-11)


def test_a_large_bucket_neither_underflows_nor_takes_worlds():
    random = np.random.default_rng(3)
    f = np.concatenate([random.uniform(0, 1e-6, 600), random.uniform(0.99, 1, 5)])
    assert comb(len(f), 60) > 10**80
    found = np.array(posterior(f, 60))
    assert isclose(found.sum(), 60, rel_tol=1e-12)
    assert np.all(np.diff(found[np.argsort(f)]) >= -1e-15)


@pytest.mark.parametrize("f", [[0.5, 1.5], [-0.1], [float("nan")], [[0.5]]])
def test_chances_beyond_0_and_1_are_refused(f):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        posterior(f, 1)


@pytest.mark.parametrize("n", [-1, 1.0, True, "1"])
def test_carriers_that_are_no_count_are_refused(n):
    with pytest.raises(ParameterError):
        posterior([0.5], n)


# --- many buckets at once ------------------------------------------------------------------------


@st.composite
def buckets_of_classes(draw, n_classes=4, most_rows=6):
    """Draw the class of every row of some buckets, and how many carriers each bucket has."""
    rows = st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=most_rows)
    drawn = draw(st.lists(rows, min_size=1, max_size=6))
    return [(sorted(one), draw(st.integers(0, len(one)))) for one in drawn]


def shapes_of(drawn, n_classes=4):
    bucket = np.array([b for b, (rows, _) in enumerate(drawn) for _ in rows], dtype=np.int64)
    which = np.array([one for rows, _ in drawn for one in rows], dtype=np.int64)
    carrying = np.array([n for _, n in drawn], dtype=np.int64)
    return Shapes.of_buckets(bucket, which, np.ones_like(which), carrying, n_classes)


@pytest.mark.parametrize("most_keys", [2**62, 0])
@USUAL
@given(drawn=buckets_of_classes())
def test_buckets_share_a_shape_where_classes_and_carriers_agree(most_keys, drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes_module, "_MOST_KEYS", most_keys)
        shapes, of_bucket = shapes_of(drawn)
    assert shapes.n_shapes == len({(tuple(rows), n) for rows, n in drawn})
    for place, (rows, n) in enumerate(drawn):
        shape = of_bucket[place]
        own = slice(shapes.start[shape], shapes.start[shape + 1])
        assert np.repeat(shapes.which[own], shapes.count[own]).tolist() == rows
        assert shapes.n_carrying[shape] == n
        alike = [other for other in drawn if other == (rows, n)]
        assert shapes.multiplicity[shape] == len(alike)


@THOROUGH
@given(drawn=buckets_of_classes(), f=st.lists(chances, min_size=4, max_size=4))
def test_all_buckets_at_once_are_as_one_by_one(drawn, f):
    shapes, of_bucket = shapes_of(drawn)
    f = np.array(f)
    with np.errstate(divide="ignore"):
        share, logs = condition(shapes, f / (1 - f))
    for (rows, n), shape in zip(drawn, of_bucket.tolist(), strict=True):
        expected, chance = worlds(f[rows], n)
        if expected is None:
            assert logs[shape] == -np.inf
            continue
        of_class = np.zeros(4)
        of_class[shapes.which[shapes.shape == shape]] = share[shapes.shape == shape]
        for one, other in zip(of_class[rows].tolist(), expected, strict=True):
            assert isclose(one, other, rel_tol=1e-12, abs_tol=1e-290)
        lacking = [1 - Fraction(one) for one in f[rows].tolist() if one < 1]
        for one in lacking:
            chance /= one
        expected_log = float(log(chance.numerator) - log(chance.denominator))
        assert isclose(logs[shape], expected_log, rel_tol=1e-9, abs_tol=1e-9)


@USUAL
@given(drawn=buckets_of_classes(most_rows=9), f=st.lists(chances, min_size=4, max_size=4))
def test_the_kernel_as_plain_python_gives_the_same(drawn, f):
    plain = load_plain("shoal.foreground._kernels")
    shapes, _ = shapes_of(drawn)
    odds = np.array(f) / np.maximum(1 - np.array(f), 1e-12)
    compiled = condition(shapes, odds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(law_module, "weigh_each", plain.weigh_each)
        again = condition(shapes, odds)
    for one, other in zip(compiled, again, strict=True):
        assert np.allclose(one, other, rtol=1e-13)


# --- large buckets -------------------------------------------------------------------------------


def by_tables(count, f, n):
    """Return p(t:x) of each class and the chance of the bucket, row by row in sixty digits."""

    def up_to(rows):
        table = [Decimal(1)] + [Decimal(0)] * n
        for one, copies in zip(f, rows, strict=True):
            carry = Decimal(one)
            for _ in range(copies):
                for j in range(n, 0, -1):
                    table[j] = table[j] * (1 - carry) + table[j - 1] * carry
                table[0] *= 1 - carry
        return table

    with localcontext() as context:
        context.prec = 60
        total = up_to(count)[n]
        without = [[rows - (at == own) for at, rows in enumerate(count)] for own in range(len(f))]
        share = [
            Decimal(one) * up_to(rows)[n - 1] / total for one, rows in zip(f, without, strict=True)
        ]
        return [float(one) for one in share], float(total)


@st.composite
def wide_buckets(draw):
    """Draw classes of many rows and a number of carriers near to what they expect."""
    n_classes = draw(st.integers(1, 3))
    count = [draw(st.integers(1, 60)) for _ in range(n_classes - 1)] + [draw(st.integers(110, 160))]
    small = st.sampled_from([1e-12, 1e-4, 0.01, 1 - 1e-9])
    f = [draw(st.one_of(small, st.floats(0.01, 0.99))) for _ in count[:-1]]
    f.append(draw(st.floats(0.35, 0.65)))
    mean = sum(rows * one for rows, one in zip(count, f, strict=True))
    return count, f, round(mean)


@FEW
@given(
    drawn=st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 5)), max_size=5
    )
)
@pytest.mark.parametrize("kernels", ["compiled", "plain"])
def test_ways_are_binomial_coefficients(kernels, drawn):
    module = load_plain("shoal.foreground._kernels") if kernels == "plain" else kernels_module
    buckets = [(max(n, k), min(n, k), times) for n, k, times in drawn]
    columns = np.array(buckets, dtype=np.int64).reshape(-1, 3).T
    found = module.count_ways(*(np.ascontiguousarray(one) for one in columns))
    assert isclose(found, sum(t * log(comb(n, k)) for n, k, t in buckets), abs_tol=1e-9)


def integrated(count, odds, n, sure=EXACT):
    """Return the shares and the logarithm of the weight of one bucket, by the integral."""
    start = np.array([0, len(count)])
    share, log_weight = np.empty(len(count)), np.empty(1)
    # Tables without room leave nothing but the integral.
    room = room_for(start, np.zeros(1, dtype=np.int64))
    which = np.arange(len(count))
    own = (start, which, count, np.array([n]), odds, share, log_weight)
    weigh_each(*own, *room[:3], np.empty(1), sure)
    return share, float(log_weight[0])


@settings(max_examples=40, deadline=None)
@given(drawn=wide_buckets())
def test_the_integral_is_what_tables_over_the_rows_give(drawn):
    rows, f, n = drawn
    share, log_weight = integrated(np.array(rows), odds_of(np.array(f)), n)
    expected, chance = by_tables(rows, f, n)
    assert np.allclose(share, expected, rtol=1e-11, atol=0)
    rest = sum(copies * log1p(-one) for copies, one in zip(rows, f, strict=True))
    assert isclose(log_weight, log(chance) - rest, rel_tol=1e-11, abs_tol=1e-11)
    share, log_weight = integrated(np.array(rows), odds_of(np.array(f)), n, ROUGH)
    assert np.allclose(share, expected, rtol=1e-6, atol=0)
    assert isclose(log_weight, log(chance) - rest, rel_tol=1e-6, abs_tol=1e-6)


def test_the_integral_holds_if_everybody_is_as_likely_as_not():
    for n in range(1, 41):
        share, _ = integrated(np.array([2 * n - 1, 1]), np.ones(2), n)
        assert np.allclose(share, 0.5, rtol=1e-12)


@USUAL
@given(drawn=buckets_of_classes(), f=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=4, max_size=4))
def test_the_integral_holds_for_small_buckets_too(drawn, f):
    f = np.array(f)
    for rows, n in drawn:
        which, count = np.unique(rows, return_counts=True)
        if len(which) > 1 and 1 < n < len(rows):
            share, _ = integrated(count, odds_of(f[which]), n)
            expected = worlds(f[rows], n)[0]
            assert np.allclose(share, [float(expected[rows.index(one)]) for one in which])


def by_numpy(count, f, n):
    """Return p(t:x) of each class, row by row, by probabilities that sum to about n."""
    low, high = -60.0, 60.0
    odds = f / (1 - f)
    for _ in range(200):
        shift = (low + high) / 2
        p = odds * np.exp(shift) / (1 + odds * np.exp(shift))
        low, high = (shift, high) if (count * p).sum() < n else (low, shift)

    def weight(rows, carriers):
        table = np.zeros(carriers + 1)
        table[0] = 1.0
        for one, copies in zip(p.tolist(), rows, strict=True):
            for _ in range(copies):
                table[1:] = table[1:] * (1 - one) + table[:-1] * one
                table[0] *= 1 - one
        return table[carriers]

    whole = weight(count, n)
    each = np.eye(len(count), dtype=int)
    return np.array(
        [one * weight(count - own, n - 1) / whole for one, own in zip(p, each, strict=True)]
    )


@pytest.mark.parametrize("n", [200, 2_500, 4_800])
def test_large_buckets_add_up_beside_small_ones(n):
    """Buckets of both kinds go through one call, and the law does not see which it was."""
    random = np.random.default_rng(5)
    f = random.uniform(0, 0.3, 6)
    rows = np.array([[3000, 1000, 600, 300, 90, 10], [1, 2, 1, 3, 1, 2]])
    bucket, which = np.repeat([0, 1], 6), np.tile(np.arange(6), 2)
    carrying = np.array([n, 4])
    shapes, of_bucket = Shapes.of_buckets(bucket, which, rows.ravel(), carrying, 6)
    share, _ = condition(shapes, odds_of(f))
    carriers = np.bincount(shapes.shape, shapes.count * share)
    assert np.allclose(carriers[of_bucket], carrying, rtol=1e-12)
    for own, (count, carried) in enumerate(zip(rows, carrying, strict=True)):
        found = share[shapes.shape == of_bucket[own]]
        assert np.allclose(found, by_numpy(count, f, carried), rtol=1e-9)


# --- chances from buckets ------------------------------------------------------------------------


def likelihood_of(drawn, n_classes=4):
    """Set up the likelihood of the buckets with a carrier, as the mining does."""
    rows = np.bincount([one for members, _ in drawn for one in members], minlength=n_classes)
    shapes, _ = shapes_of([one for one in drawn if one[1]], n_classes)
    return Likelihood(shapes, rows, np.full(n_classes, np.nan))


def direct_likelihood(drawn, f):
    return sum(log(float(worlds(f[rows], n)[1])) for rows, n in drawn)


@USUAL
@given(drawn=buckets_of_classes(), f=st.lists(st.floats(0.02, 0.98), min_size=4, max_size=4))
def test_a_fast_step_is_a_plain_step_of_expectation_maximization(drawn, f):
    likelihood = likelihood_of(drawn)
    following, height = likelihood.step(np.array(f))
    is_there = {one for rows, _ in drawn for one in rows}
    expected = expectation_maximization(drawn, [Fraction(one) for one in f], 1)
    for one in is_there:
        assert isclose(following[one], expected[one], rel_tol=1e-11)
    assert isclose(height, direct_likelihood(drawn, np.array(f)), rel_tol=1e-9, abs_tol=1e-12)


def numbers_for(n_classes):
    """Return eight numbers for every class, the same in every run."""
    return np.random.default_rng(n_classes).random((n_classes, 8))


@USUAL
@given(drawn=buckets_of_classes(), f=st.lists(st.floats(0.02, 0.98), min_size=4, max_size=4))
def test_the_likelihood_never_falls_by_a_step(drawn, f):
    likelihood = likelihood_of(drawn)
    following, before = likelihood.step(np.array(f))
    inside = np.clip(following, 1e-12, 1 - 1e-12)
    assert likelihood.step(inside)[1] >= before - 1e-9


@USUAL
@given(drawn=buckets_of_classes())
def test_chances_add_up_to_the_carriers_at_every_maximum(drawn):
    likelihood = likelihood_of(drawn)
    found = solve(likelihood, numbers_for(4))
    assert np.all((found.maxima >= 0) & (found.maxima <= 1))
    assert isclose(found.weights.sum(), 1)
    carriers = float(likelihood.shapes.multiplicity @ likelihood.shapes.n_carrying)
    if found.is_certain:
        assert np.allclose(found.maxima @ likelihood.n_rows, carriers, rtol=1e-6)


@USUAL
@given(drawn=buckets_of_classes(), f=st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4))
def test_no_other_point_is_higher_where_the_maximum_is_the_only_one(drawn, f):
    likelihood = likelihood_of(drawn)
    found = solve(likelihood, numbers_for(4))
    # The starts are a list, not all points: another maximum may be missed, but seldom a higher one.
    if found.is_unique and found.is_certain and found.n_saddles_left == 0:
        height = likelihood.step(np.array(f))[1]
        assert height <= found.log_likelihood + 1e-6 or _leads_elsewhere(likelihood, f, found)


def _leads_elsewhere(likelihood, f, found):
    """Whether plain steps from a point end at a maximum that no listed start leads to."""
    now = np.array(f)
    for _ in range(5_000):
        now = np.clip(likelihood.step(now)[0], 1e-12, 1 - 1e-12)
    return bool(np.abs(found.maxima - now).max(axis=1).min() > 1e-3)


def precise_fixed_point(drawn, start):
    """Iterate the paper's equations in forty digits until nothing moves."""
    with localcontext() as context:
        context.prec = 40
        f = [Decimal(one) for one in start]
        for _ in range(5_000):
            following = expectation_maximization(drawn, f, 1)
            if max(abs(one - other) for one, other in zip(f, following, strict=True)) < 1e-25:
                break
            f = following
        return [float(one) for one in f]


@pytest.mark.parametrize(
    "drawn",
    [
        # Example 2 of the paper, then mixtures of two and three classes.
        [([0, 1], 1), ([0, 0], 1), ([1, 1], 0)],
        [([0, 1], 1), ([0, 0], 1), ([1, 1], 1), ([0, 1], 0), ([1, 1, 0], 1)],
        [([0, 1, 2], 1), ([0, 0, 1], 2), ([1, 2, 2], 0), ([0, 2], 1), ([1, 1, 1], 1), ([2], 0)],
        [([0, 1, 2, 2], 2), ([0, 0, 2], 1), ([1, 1, 2], 1), ([0, 0, 0], 2), ([1, 1], 0), ([2], 0)],
    ],
)
def test_the_fixed_point_is_that_of_a_precise_iteration(drawn):
    n_classes = 1 + max(one for rows, _ in drawn for one in rows)
    likelihood = likelihood_of(drawn, n_classes)
    found = solve(likelihood, numbers_for(n_classes))
    expected = np.array(precise_fixed_point(drawn, likelihood.even().tolist()))
    assert np.abs(found.maxima - expected).max(axis=1).min() < 1e-8
    assert found.is_converged
    assert found.is_maximum


def test_classes_that_are_always_together_have_two_solutions_of_equal_weight():
    drawn = [([0, 1], 1)] * 5
    found = solve(likelihood_of(drawn, 2), numbers_for(2))
    assert sorted(found.maxima.round(6).tolist()) == [[0, 1], [1, 0]]
    assert np.allclose(found.weights, 0.5)
    assert not found.is_unique


def test_a_fixed_chance_stays_and_others_adapt():
    drawn = [([0, 1], 1), ([0, 1], 1), ([0, 0], 1), ([0, 0], 0)]
    free = likelihood_of(drawn, 2)
    held = Likelihood(free.shapes, free.n_rows, np.array([np.nan, 0.5]))
    found = solve(held, numbers_for(2))
    assert found.f[1] == 0.5
    assert isclose(
        found.f[0], expectation_maximization(drawn, found.f.tolist(), 1)[0], rel_tol=1e-6
    )


# --- attribute sets ------------------------------------------------------------------------------


@st.composite
def rows_of_codes(draw, most=40):
    n_columns = draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 4)) for _ in range(n_columns)]
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = draw(st.lists(row, min_size=1, max_size=most))
    domains = [
        Domain.of_texts(f"q{place}", [f"v{code}" for code in range(size)])
        for place, size in enumerate(sizes)
    ]
    return domains, np.array(rows, dtype=np.int64).reshape(-1, n_columns)


@THOROUGH
@given(drawn=rows_of_codes(), least=st.integers(1, 12))
def test_attribute_sets_are_those_of_a_count_of_every_combination(drawn, least):
    domains, rows = drawn
    looks = Cells.of_rows(domains, rows)
    found = {one.columns: one for one in usable_sets(looks, least)}
    expected = {}
    for size in range(1, len(domains) + 1):
        for places in combinations(range(len(domains)), size):
            counts = Counter(map(tuple, rows[:, places].tolist()))
            frequent = {key: n for key, n in counts.items() if n >= least}
            if frequent:
                expected[tuple(f"q{place}" for place in places)] = (places, frequent)
    assert set(found) == set(expected)
    for columns, (places, frequent) in expected.items():
        one = found[columns]
        signatures = [tuple(row) for row in one.signatures.tolist()]
        assert dict(zip(signatures, one.counts.tolist(), strict=True)) == frequent
        named = [tuple(row) for row in looks.codes[:, places].tolist()]
        for key, number in zip(named, one.class_of_look.tolist(), strict=True):
            assert number == (signatures.index(key) if key in frequent else len(signatures))
        assert one.has_rare == any(key not in frequent for key in named)


@USUAL
@given(drawn=rows_of_codes(), least=st.integers(1, 12))
def test_rows_of_one_profile_have_one_class_under_every_set(drawn, least):
    looks = Cells.of_rows(*drawn)
    sets = usable_sets(looks, least)
    profile, n_profiles = profiles(sets, looks.n_cells)
    keys = [tuple(int(one.class_of_look[look]) for one in sets) for look in range(looks.n_cells)]
    assert n_profiles == len(set(keys))
    pairs = set(zip(profile.tolist(), keys, strict=True))
    assert len(pairs) == n_profiles


@pytest.mark.parametrize(
    ("epsilon", "sigma", "expected"), [(0.01, 0.9, 3993), (0.02, 0.9, 999), (1, 1, 1)]
)
def test_the_sample_size_is_that_of_theorem_1(epsilon, sigma, expected):
    assert sample_size(epsilon, sigma) == expected


@pytest.mark.parametrize(("epsilon", "sigma"), [("1e-200", 0.9), ("1e-5", "1e-400")])
def test_an_error_too_small_for_floats_asks_for_more_rows_than_any_table_has(epsilon, sigma):
    stated = ForegroundSafety(r=2, epsilon=epsilon, sigma=sigma)
    assert sample_size(epsilon, sigma) == stated.n_enough > 10**12
    looks = Cells.of_rows([DISEASES], np.array([[0], [0]]))
    assert usable_sets(looks, sample_size(epsilon, sigma)) == ()


@given(epsilon=st.fractions("1e-6", 1), sigma=st.fractions("1e-6", 1))
def test_the_guarantee_asks_for_as_many_rows_as_the_attack(epsilon, sigma):
    stated = ForegroundSafety(r=2, epsilon=epsilon, sigma=sigma)
    expected = log(2 / sigma) / float(2 * epsilon**2)
    assert sample_size(epsilon, sigma) == stated.n_enough
    assert isclose(stated.n_enough, expected, rel_tol=1e-9, abs_tol=1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "sigma"), [(0, 0.5), (0.1, 0), (0.1, 1.1), (2, 0.5)])
def test_errors_and_risks_beyond_0_and_1_are_refused(epsilon, sigma):
    with pytest.raises(ParameterError, match="must be above 0"):
        sample_size(epsilon, sigma)


# --- a release -----------------------------------------------------------------------------------

DISEASES = Domain.of_texts("disease", ["cold", "flu", "gout"])


@st.composite
def releases(draw, most=24, n_values=3):
    """Draw rows in buckets, with their values."""
    domains, rows = draw(rows_of_codes(most=most))
    n_buckets = draw(st.integers(1, max(1, len(rows) // 2)))
    # Every bucket has a row.
    bucket = np.arange(len(rows)) % n_buckets
    values = st.lists(st.integers(0, n_values - 1), min_size=len(rows), max_size=len(rows))
    value = np.array(draw(values), dtype=np.int64)
    return domains, rows, bucket.astype(np.int64), value


def exposed_of(release):
    domains, rows, bucket, value = release
    cells = Cells(tuple(domains), rows, np.ones(len(rows), dtype=np.int64))
    exposed = Exposed.of_rows(domains, rows, bucket, value, DISEASES)
    _, entry = Exposed.of_people(People(cells, bucket), exposed.buckets)
    return exposed, entry


@FEW
@given(
    release=releases(), least=st.integers(1, 6), policy=st.sampled_from(["pool", "prior", "half"])
)
def test_p_of_everybody_is_the_largest_over_sets_of_the_worlds_of_their_bucket(
    release, least, policy
):
    _, rows, bucket, value = release
    exposed, entry = exposed_of(release)
    sets = usable_sets(exposed.looks, least)
    target = Target.of(exposed, [1, 2])
    found, distributions = expose(target, sets, policy=policy)
    assert len(distributions) == len(sets)
    carriers = Counter(bucket[value > 0].tolist())
    expected = np.zeros(len(rows)) if sets else None
    for one in distributions:
        assert len(one.f) == one.attributes.n_classes
        if one.attributes.has_rare and policy != "pool":
            assert one.f[-1] == (0.5 if policy == "half" else pytest.approx(target.rate))
        which = one.attributes.class_of_look[exposed.look[entry]]
        mean = np.zeros(len(rows))
        for f, weight in zip(one.fit.maxima, one.fit.weights, strict=True):
            for number in set(bucket.tolist()):
                own = np.flatnonzero(bucket == number)
                shares, _ = worlds(f[which[own]], carriers[number])
                mean[own] += weight * np.array([float(p) for p in shares])
        expected = np.maximum(expected, mean)
    if expected is None:
        share = np.array([carriers[one] for one in bucket.tolist()]) / np.bincount(bucket)[bucket]
        expected = share
    assert np.allclose(found.p[entry], expected, atol=1e-9)
    for number in set(found.by[found.by >= 0].tolist()):
        assert number < len(sets)


def test_of_sets_that_tell_the_same_but_for_rounding_the_first_counts(monkeypatch):
    sex, disease = Domain.of_texts("sex", ["F", "M"]), DISEASES
    again = Domain.of_texts("again", ["F", "M"])
    codes, bucket = np.array([0, 1, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    rows = np.column_stack([codes, codes])
    exposed = Exposed.of_rows([sex, again], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    sets, target = usable_sets(exposed.looks, 3), Target.of(exposed, [1])
    mine_sets = mining._mine
    for shaken in (1e-13, -1e-13):

        def shaking(*args, by=shaken):
            for number, found in enumerate(mine_sets(*args)):
                yield replace(found, p=found.p + number * by)

        monkeypatch.setattr(mining, "_mine", shaking)
        found, distributions = expose(target, sets)
        assert len(distributions) == 3
        assert set(found.by.tolist()) <= {-1, 0}
        assert 0 in found.by


@USUAL
@given(release=releases(), least=st.integers(1, 6))
def test_what_buckets_consist_of_may_be_known_beforehand(release, least):
    exposed, _ = exposed_of(release)
    sets = usable_sets(exposed.looks, least)
    made = compositions(exposed, sets)
    for code in range(3):
        target = Target.of(exposed, [code])
        known, distributions = expose(target, sets, made=made)
        alone, others = expose(target, sets)
        for name in ("p", "worst", "at_most"):
            assert np.allclose(getattr(known, name), getattr(alone, name), rtol=1e-9, atol=1e-12)
        for one, other in zip(distributions, others, strict=True):
            assert np.allclose(one.f, other.f, rtol=1e-9, atol=1e-12)
            assert isclose(one.delta, other.delta, rel_tol=1e-9, abs_tol=1e-12)


@USUAL
@given(release=releases(), least=st.integers(1, 6))
def test_delta_is_the_mean_of_the_largest_differences_in_buckets(release, least):
    _, _, bucket, _ = release
    exposed, entry = exposed_of(release)
    for one, _ in mine(Target.of(exposed, [1]), usable_sets(exposed.looks, least)):
        f = one.f[one.attributes.class_of_look[exposed.look[entry]]]
        spread = [np.ptp(f[bucket == number]) for number in range(bucket.max() + 1)]
        assert isclose(one.delta, np.mean(spread), abs_tol=1e-12)


@FEW
@given(release=releases(), data=st.data())
def test_who_cannot_have_the_value_is_excluded_unless_the_bucket_contradicts(release, data):
    _, _, bucket, value = release
    exposed, entry = exposed_of(release)
    n_looks = exposed.looks.n_cells
    forbidden = np.array(data.draw(st.lists(st.booleans(), min_size=n_looks, max_size=n_looks)))
    target = Target.of(exposed, [1], forbidden)
    found, distributions = expose(target, usable_sets(exposed.looks, 3))
    model, coherent = fit_additive(target)
    is_forbidden = forbidden[exposed.look[entry]]
    carriers = np.bincount(bucket[value == 1], minlength=bucket.max() + 1)
    able = np.bincount(bucket[~is_forbidden], minlength=bucket.max() + 1)
    is_contradicted = (able < carriers)[bucket]
    for p in (found.p[entry], coherent.p[entry]):
        assert np.all(p[is_forbidden & ~is_contradicted] == 0)
        assert np.all(p <= 1 + 1e-12)
    sums = np.bincount(bucket, coherent.p[entry])
    assert np.allclose(sums, carriers, atol=1e-9)
    assert model.is_converged
    for one in distributions:
        assert np.all((one.f >= 0) & (one.f <= 1))


@USUAL
@given(release=releases(), data=st.data())
def test_where_a_release_tells_nothing_the_prior_is_what_is_believed(release, data):
    """By a set that makes everybody alike, buckets tell nothing about who is who."""
    domains, rows, bucket, value = release
    alike = Domain.of_texts("q", ["v"])
    rows = np.column_stack([np.zeros(len(rows), dtype=np.int64), rows])
    exposed, _ = exposed_of(([alike, *domains], rows, bucket, value))
    n_looks = exposed.looks.n_cells
    chance = st.floats(0.01, 0.99)
    prior = np.array(data.draw(st.lists(chance, min_size=n_looks, max_size=n_looks)))
    target = Target.of(exposed, [1])
    sets = [one for one in usable_sets(exposed.looks, 1) if one.columns == ("q",)]
    found, _ = expose(target, sets, prior=prior)
    assert np.allclose(found.p, expose_by(target, prior).p, atol=1e-6)


def test_a_prior_counts_beside_what_a_release_tells():
    """Everybody is a nurse with one carrier in two; only the prior knows which."""
    sex = Domain.of_texts("sex", ["F", "M"])
    rows, bucket = np.tile([[0], [1]], (20, 1)), np.repeat(np.arange(20), 2)
    value = np.tile([1, 0], 20)
    exposed = Exposed.of_rows([sex], rows, bucket, value, DISEASES)
    target, sets = Target.of(exposed, [1]), usable_sets(exposed.looks, 3)
    without = expose(target, sets)[0].p
    prior = np.array([0.6, 0.2])
    both, background = expose(target, sets, prior=prior)[0].p, expose_by(target, prior).p
    assert np.allclose(without, 0.5, atol=1e-6)
    assert np.all(both[exposed.look == 0] >= background[exposed.look == 0] - 1e-6)


@USUAL
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    f=st.lists(st.floats(0.001, 0.999), min_size=5, max_size=5),
    data=st.data(),
)
def test_a_bucket_of_one_profile_gives_n_of_n_rows_whatever_f_is(sizes, f, data):
    carrying = [data.draw(st.integers(0, size)) for size in sizes]
    drawn = [
        ([place] * size, n) for place, (size, n) in enumerate(zip(sizes, carrying, strict=True))
    ]
    shapes, of_bucket = shapes_of(drawn, 5)
    share, _ = condition(shapes, np.array(f) / (1 - np.array(f)))
    for place, shape in enumerate(of_bucket.tolist()):
        expected = carrying[place] / sizes[place]
        assert isclose(share[shapes.start[shape]], expected, rel_tol=1e-12)


@FEW
@given(release=releases())
def test_the_gradient_of_the_additive_model_is_that_of_its_likelihood(release):
    exposed, _ = exposed_of(release)
    target = Target.of(exposed, [1])
    assume(len(target.carrying_buckets))
    problem = AdditiveProblem.of(target, None, relate(exposed.looks, {}))
    n_parameters = problem.effects.n_parameters
    at = np.linspace(-1, 1, n_parameters)[np.newaxis]
    # The last parameter is none.
    at[0, -1] = 0
    height, slope = problem.objective(at, 0.7)
    assert slope[0, -1] == 0
    for place in range(n_parameters - 1):
        step = np.zeros_like(at)
        step[0, place] = 1e-5
        rise = problem.objective(at + step, 0.7)[0] - problem.objective(at - step, 0.7)[0]
        assert isclose(slope[0, place], rise / 2e-5, rel_tol=1e-4, abs_tol=1e-5)
    assert np.isfinite(height)
    model, _ = fit_additive(target, penalty=0.7)
    parameters = np.concatenate([[model.level], *model.effects, [0]])[np.newaxis]
    assert np.abs(problem.objective(parameters, 0.7)[1]).max() < 1e-2


@FEW
@given(release=releases())
def test_information_is_that_of_sums_of_independent_rows(release):
    exposed, _ = exposed_of(release)
    target = Target.of(exposed, [1])
    assume(len(target.carrying_buckets))
    problem = AdditiveProblem.of(target, None, relate(exposed.looks, {}))
    size, place = problem.effects.n_parameters, problem.effects.place
    at = np.linspace(-1, 1, size)
    f, shapes = problem.chances(at), problem.likelihood.shapes
    design = np.zeros((len(f), size))
    design[:, 0] = 1
    for look, places in enumerate(place):
        design[look, places] = 1
    expected, seen = np.zeros((size, size)), np.zeros(len(f))
    for shape, times in enumerate(shapes.multiplicity.tolist()):
        own = slice(shapes.start[shape], shapes.start[shape + 1])
        rows = np.repeat(shapes.which[own], shapes.count[own])
        with_sum = sum(f[row] * (1 - f[row]) * design[row] for row in rows)
        variance = sum(f[row] * (1 - f[row]) for row in rows)
        expected += times * np.outer(with_sum, with_sum) / variance
        seen += times * np.bincount(rows, minlength=len(f))
    for look, n_others in enumerate(problem.n_rows[0] - seen):
        expected += n_others * f[look] * (1 - f[look]) * np.outer(design[look], design[look])
    found = information(shapes, place, f, problem.n_rows[0], size)
    assert np.allclose(found, expected)


@FEW
@given(release=releases())
def test_the_additive_model_is_the_same_by_either_way_to_it(release):
    exposed, _ = exposed_of(release)
    target = Target.of(exposed, [1])
    fits = []
    for answer in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            name = "shoal.foreground.additive_problem.is_worthwhile"
            patch.setattr(name, lambda *_, answer=answer: answer)
            fits.append(fit_additive(target, penalty=1)[0])
    together, one_by_one = fits
    assert np.allclose(together.f, one_by_one.f, atol=2e-3)
    assert isclose(together.log_likelihood, one_by_one.log_likelihood, abs_tol=1e-3)


# --- scores --------------------------------------------------------------------------------------


@USUAL
@given(release=releases(), data=st.data())
def test_scores_are_those_of_a_count_over_people(release, data):
    _, rows, bucket, value = release
    exposed, entry = exposed_of(release)
    levels = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
    size = len(exposed.look)
    p = np.array(data.draw(st.lists(levels, min_size=size, max_size=size)))
    limit = data.draw(st.sampled_from([0.25, 0.5]))
    is_carrier = value == 1
    carriers = np.bincount(entry[is_carrier], minlength=size)
    found = score_beliefs(exposed.bucket, exposed.count, p, carriers, limit)
    own = p[entry]
    flagged = own > limit
    assert found.n_flagged == flagged.sum()
    assert isclose(found.recall, (flagged & is_carrier).sum() / max(is_carrier.sum(), 1))
    assert isclose(found.precision, (flagged & is_carrier).sum() / max(flagged.sum(), 1))
    assert isclose(found.false_flags, (flagged & ~is_carrier).sum() / max((~is_carrier).sum(), 1))
    assert isclose(found.average_probability, own[is_carrier].sum() / max(is_carrier.sum(), 1))
    assert isclose(found.top_share, named_rightly(bucket, own, is_carrier), abs_tol=1e-12)
    assert sum(band.n_people for band in found.bands) == len(rows)
    for band in found.bands:
        inside = (own <= band.highest) & (own > band.highest - 0.1 + 1e-9)
        inside |= (own == 0) & (band.highest == 0.1)
        assert band.n_people == inside.sum()
        if inside.any():
            assert isclose(band.actual, is_carrier[inside].mean(), abs_tol=1e-12)
            assert isclose(band.believed, own[inside].mean(), abs_tol=1e-12)


def named_rightly(bucket, p, is_carrier):
    """Name as many of each bucket as carry the value; the expected share that is right."""
    right = 0.0
    for number in set(bucket.tolist()):
        left = int(is_carrier[bucket == number].sum())
        by_level = defaultdict(list)
        for row in np.flatnonzero(bucket == number).tolist():
            by_level[p[row]].append(row)
        for level in sorted(by_level, reverse=True):
            named = min(left, len(by_level[level]))
            right += named * float(np.mean(is_carrier[by_level[level]]))
            left -= named
    return right / max(int(is_carrier.sum()), 1)


def test_more_carriers_than_rows_are_refused():
    with pytest.raises(DataError, match="more carriers"):
        score_beliefs(np.array([0]), np.array([1]), np.array([0.5]), np.array([2]), 0.5)


def test_a_bucket_without_as_many_rows_as_values_is_refused():
    domains = [Domain.of_texts("q", ["a"])]
    buckets = Exposed.of_rows(
        domains, np.array([[0], [0]]), np.array([0, 0]), np.array([0, 1]), DISEASES
    ).buckets
    lonely = Cells.of_rows(domains, np.array([[0]]))
    with pytest.raises(DataError, match="1 rows and 2 values in 1 buckets"):
        Exposed.of_people(People(lonely, np.array([0])), buckets)


def test_an_unknown_policy_is_refused():
    exposed = Exposed.of_rows(
        [Domain.of_texts("q", ["a"])], np.array([[0]]), np.array([0]), np.array([0]), DISEASES
    )
    with pytest.raises(ParameterError, match="pool, prior, half"):
        next(mine(Target.of(exposed, [0]), usable_sets(exposed.looks, 1), policy="none"))
