"""Calibration against a plain reading of its definition, on tiny groups whose worlds are listed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import exp, log, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import fdtri

from shoal.calibration import _kernels
from shoal.calibration.calibrate import calibrate, upper_quantile
from shoal.calibration.checked_beliefs import CheckedBeliefs
from shoal.core.calibration import Suspicion, Suspicions, raised_limit, share_interval
from shoal.core.kernels import load_plain
from shoal.foreground import _linear_kernels

KERNELS = {
    "compiled": (_kernels, _linear_kernels),
    "plain": (
        load_plain("shoal.calibration._kernels"),
        load_plain("shoal.foreground._linear_kernels"),
    ),
}


@st.composite
def guesses(draw):
    """Groups of people, who has the value, and log odds that somebody has for each of them."""
    n_groups = draw(st.integers(1, 5))
    group, truth, odds = [], [], []
    for number in range(n_groups):
        size = draw(st.integers(1, 5))
        group += [number] * size
        truth += draw(st.lists(st.booleans(), min_size=size, max_size=size))
        odds += draw(st.lists(st.floats(-3, 3), min_size=size, max_size=size))
    return np.array(group), np.array(truth, dtype=np.int64), np.array(odds)


def worlds(odds, n, slope):
    """Every way to have the value n times, with its weight."""
    for chosen in combinations(range(len(odds)), n):
        yield chosen, exp(slope * sum(odds[one] for one in chosen))


def plain_beliefs(group, truth, odds, slope):
    belief = np.zeros(len(group))
    log_likelihood = 0.0
    for number in np.unique(group):
        own = np.flatnonzero(group == number)
        n = int(truth[own].sum())
        if n == 0:
            continue
        listed = list(worlds(odds[own], n, slope))
        total = sum(weight for _, weight in listed)
        for chosen, weight in listed:
            belief[own[list(chosen)]] += weight / total
        right = tuple(np.flatnonzero(truth[own]).tolist())
        log_likelihood += log(dict(listed)[right] / total)
    return belief, log_likelihood


def beliefs_of(group, truth, odds):
    n_carrying = np.bincount(group, truth).astype(np.int64)
    belief, _ = plain_beliefs(group, truth, odds, 1.0)
    about = Suspicion((0,), belief, group, n_carrying, odds)
    return Suspicions((about,), 0.5)


@given(guesses(), st.floats(0, 3))
def test_a_slope_raises_odds_before_they_are_conditioned(drawn, slope):
    group, truth, odds = drawn
    suspicions = beliefs_of(group, truth, odds)
    found = CheckedBeliefs.of(suspicions, np.ones(len(group), dtype=np.int64), [truth])
    belief, log_likelihood, score = found.at(slope)
    expected, expected_log = plain_beliefs(group, truth, odds, slope)
    everybody = np.zeros(len(group))
    everybody[found.cell] = belief
    assert everybody == pytest.approx(expected, abs=1e-9)
    assert log_likelihood.sum() == pytest.approx(expected_log, abs=1e-8)
    step = 1e-5
    rise = [plain_beliefs(group, truth, odds, slope + by)[1] for by in (step, -step)]
    assert score.sum() == pytest.approx((rise[0] - rise[1]) / (2 * step), abs=1e-4)


@given(guesses())
def test_posteriors_are_given_back_at_a_slope_of_one_and_shares_at_zero(drawn):
    group, truth, odds = drawn
    n_carrying = np.bincount(group, truth).astype(np.int64)
    share = (n_carrying / np.bincount(group))[group]
    is_open = (share > 0) & (share < 1)
    belief = np.where(is_open, 1 / (1 + np.exp(-odds)), share)
    about = Suspicion((0,), belief, group, n_carrying)
    found = CheckedBeliefs.of(
        Suspicions((about,), 0.5), np.ones(len(group), dtype=np.int64), [truth]
    )
    for slope, expected in ((1.0, belief), (0.0, share)):
        everybody = np.zeros(len(group))
        everybody[found.cell] = found.at(slope)[0]
        assert everybody == pytest.approx(expected, abs=1e-9)


@given(guesses(), st.sampled_from([0.2, 1 / 3, 0.5, 0.9]))
@settings(max_examples=60)
def test_figures_are_counts_of_people(drawn, limit):
    group, truth, odds = drawn
    suspicions = beliefs_of(group, truth, odds)
    suspicions = Suspicions(suspicions.about, limit)
    count = np.ones(len(group), dtype=np.int64)
    found, is_exposed = calibrate(suspicions, count, [truth])
    belief = suspicions.about[0].belief
    above = belief > limit + 1e-9
    assert found.believed == above.sum()
    assert found.wrongly_believed == (above & (truth == 0)).sum()
    assert found.exposed == is_exposed.sum()
    if found.believed:
        assert found.right.value == pytest.approx(truth[above].mean())
        assert (found.right.low, found.right.high) == share_interval(
            int(truth[above].sum()), int(above.sum())
        )
        share = (np.bincount(group, truth) / np.bincount(group))[group]
        assert found.baseline == pytest.approx(share[above].mean())
    # So few people calibrate nothing.
    assert found.slope is None
    assert np.array_equal(is_exposed, above)


@given(guesses())
@settings(max_examples=60)
def test_people_who_are_alike_may_be_counted_together(drawn):
    group, truth, _ = drawn
    odds = (np.arange(len(group)) % 2).astype(np.float64)
    suspicions = beliefs_of(group, truth, odds)
    apart, _ = calibrate(suspicions, np.ones(len(group), dtype=np.int64), [truth])
    key, cell = np.unique(np.stack([group, odds]), axis=1, return_inverse=True)
    cell = cell.ravel()
    first = np.array([np.flatnonzero(cell == one)[0] for one in range(key.shape[1])])
    about = suspicions.about[0]
    together = Suspicions(
        (Suspicion((0,), about.belief[first], group[first], about.n_carrying, odds[first]),), 0.5
    )
    count = np.bincount(cell).astype(np.int64)
    carriers = np.bincount(cell, truth, len(count)).astype(np.int64)
    found = calibrate(together, count, [carriers])[0]
    assert found.baseline == pytest.approx(apart.baseline)
    assert replace(found, baseline=None) == replace(apart, baseline=None)


def test_the_raised_limit_never_passes_certainty():
    for limit in np.linspace(0.01, 1.0, 100):
        assert limit <= raised_limit(limit) <= 1.0


# --- the linear algebra of the law of a table ---------------------------------------------------


@st.composite
def regressions(draw):
    """Draw kinds of people with their carriers, the parameters of each kind, and parameters."""
    n_kinds, n_left = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    n_right = draw(st.integers(1, 3))
    place = [
        [0, 1 + draw(st.integers(0, n_left - 1)), 1 + n_left + draw(st.integers(0, n_right - 1))]
        for _ in range(n_kinds)
    ]
    rows = [draw(st.integers(1, 5)) for _ in place]
    have = [draw(st.integers(0, one)) for one in rows]
    size = 1 + n_left + n_right
    parameters = [draw(st.floats(-40, 40, width=32)) for _ in range(size)]
    return place, rows, have, parameters


@pytest.mark.parametrize("kernels", ["compiled", "plain"])
@settings(max_examples=100, deadline=None)
@given(drawn=regressions())
def test_derivatives_are_sums_over_kinds_of_people(kernels, drawn):
    module = KERNELS[kernels][0]
    place, rows, have, parameters = drawn
    size, most = len(parameters), 30.0
    slope, matrix = np.zeros(size), np.zeros((size, size))
    height = module.derive(
        np.array(place), np.array(rows, float), np.array(have, float), np.array(parameters), most,
        slope, matrix,
    )  # fmt: skip
    expected_height, expected_slope = 0.0, np.zeros(size)
    expected = np.zeros((size, size))
    for own, n_rows, n_have in zip(place, rows, have, strict=True):
        logs = min(max(sum(parameters[one] for one in own), -most), most)
        chance = 1 / (1 + exp(-logs))
        expected_height += n_have * logs - n_rows * log1p(exp(logs))
        design = np.bincount(own, minlength=size)
        expected_slope += (n_have - n_rows * chance) * design
        expected += n_rows * chance * (1 - chance) * np.outer(design, design)
    assert height == pytest.approx(expected_height, abs=1e-9)
    assert np.allclose(slope, expected_slope, atol=1e-11)
    assert np.allclose(np.triu(matrix), np.triu(expected), atol=1e-12)
    assert not np.tril(matrix, -1).any()


@pytest.mark.parametrize("kernels", ["compiled", "plain"])
@settings(max_examples=50, deadline=None)
@given(code=st.lists(st.integers(0, 4), max_size=12), seed=st.integers(0, 10**6))
def test_weights_are_summed_by_code_as_numpy_sums_them(kernels, code, seed):
    weights = np.random.default_rng(seed).normal(size=(2, len(code)))
    totals, code = np.zeros((5, 2)), np.array(code, dtype=np.int64)
    KERNELS[kernels][0].total(code, *weights, totals)
    for one, own in zip(weights, totals.T, strict=True):
        assert np.allclose(own, np.bincount(code, one, 5))


@pytest.mark.parametrize("kernels", ["compiled", "plain"])
@settings(max_examples=100, deadline=None)
@given(size=st.integers(1, 8), seed=st.integers(0, 10**6), is_sparse=st.booleans())
def test_systems_are_solved_as_numpy_solves_them(kernels, size, seed, is_sparse):
    module = KERNELS[kernels][1]
    random = np.random.default_rng(seed)
    root = random.normal(size=(size, size)) * (random.random((size, size)) < 0.3 + 0.7 * is_sparse)
    matrix = root @ root.T + np.eye(size)
    factor = np.triu(matrix)
    assert module.factorize(factor)
    assert np.allclose(factor.T @ factor, matrix, rtol=1e-12)
    right = random.normal(size=size)
    solution = right.copy()
    module.solve(factor, solution)
    assert np.allclose(matrix @ solution, right, atol=1e-9)
    several = random.normal(size=(size, 3))
    solutions = several.copy()
    module.solve_upper(factor, solutions)
    assert np.allclose(factor @ solutions, several, atol=1e-9)
    inverse = np.zeros((size, size))
    module.invert_upper(factor, inverse)
    assert np.allclose(inverse @ factor, np.eye(size), atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    assert not _linear_kernels.factorize(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert not _linear_kernels.factorize(np.array([[0.0]]))


@settings(max_examples=100, deadline=None)
@given(degrees=st.integers(1, 200_000), level=st.floats(1e-6, 0.999))
def test_quantiles_are_those_of_scipy(degrees, level):
    assert np.isclose(upper_quantile(degrees, level), fdtri(1, degrees, 1 - level), rtol=1e-7)
