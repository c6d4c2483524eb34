"""The additive adversary against slow, obviously right twins."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise, permutations
from math import isclose, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.kernels import load_plain
from shoal.core.release import People
from shoal.foreground.additive import choose_penalty, fit_additive, fold_buckets
from shoal.foreground.additive_problem import AdditiveProblem
from shoal.foreground.effects import Effects, Relation
from shoal.foreground.expectation_maximization import Likelihood, Target
from shoal.foreground.mining import expose_by
from shoal.foreground.scene import weigh_jointly
from shoal.foreground.shapes import Shapes
from shoal.locating.exposed import Exposed

USUAL = settings(max_examples=200, deadline=None)
FEW = settings(max_examples=60, deadline=None)

DISEASES = Domain.of_texts("disease", ["cold", "flu", "ulcer"])


@st.composite
def releases(draw, most=16):
    """Draw the quasi-identifiers of people in buckets, and who carries the value."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = np.array(draw(st.lists(row, min_size=2, max_size=most)), dtype=np.int64)
    bucket = np.arange(len(rows)) % draw(st.integers(1, len(rows) // 2))
    values = st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
    domains = [
        Domain.of_texts(f"q{place}", [f"v{code}" for code in range(size)])
        for place, size in enumerate(sizes)
    ]
    return domains, rows, bucket.astype(np.int64), np.array(draw(values), dtype=np.int64)


def exposed_of(release):
    domains, rows, bucket, value = release
    exposed = Exposed.of_rows(domains, rows, bucket, value, DISEASES)
    cells = Cells(tuple(domains), rows, np.ones(len(rows), dtype=np.int64))
    return exposed, Exposed.of_people(People(cells, bucket), exposed.buckets)[1]


def worlds(odds, n):
    """Return p(t:x) of every row and the total weight of the worlds of a bucket."""
    total, share = 0.0, np.zeros(len(odds))
    for carriers in combinations(range(len(odds)), n):
        weight = float(np.prod([odds[row] for row in carriers]))
        total += weight
        share[list(carriers)] += weight
    return share / total, total


# --- effects and their prior ---------------------------------------------------------------------


@st.composite
def relations(draw, size):
    """Draw how the codes of a column are related: not at all, by an order or by nested groups."""
    kind = draw(st.sampled_from(["unrelated", "ordered", "grouped"]))
    if kind == "ordered":
        drawn = st.lists(st.integers(0, 9), min_size=size, max_size=size)
        position = np.array(draw(drawn), dtype=np.float64)
        position[np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))] = np.nan
        return Relation(position)
    if kind == "grouped":
        first = draw(st.integers(1, size))
        second = draw(st.integers(first, size))
        return Relation.of_sets([np.arange(first), np.arange(second)], size)
    return Relation()


@st.composite
def related_releases(draw, most=16):
    release = draw(releases(most))
    return release, [draw(relations(domain.size)) for domain in release[0]]


def slow_prior(effects, looks, given_relations, parameters):
    """Add up the prior of the parameters column by column."""
    total = 0.0
    for column, (own, relation) in enumerate(zip(effects.of_code, given_relations, strict=True)):
        share = len(relation.groups) + 1
        for level, groups in enumerate(relation.groups, start=1):
            used = {
                int(place) for place, group in zip(own[:, level], groups, strict=True) if group >= 0
            }
            total += share * sum(parameters[place] ** 2 for place in used)
        if relation.position is None:
            total += share * sum(parameters[place] ** 2 for place in own[:, 0])
            continue
        is_placed = np.isfinite(relation.position)
        total += sum(parameters[place] ** 2 for place in own[~is_placed, 0])
        at = sorted({(relation.position[code], own[code, 0]) for code in np.flatnonzero(is_placed)})
        total += 1e-3 * sum(parameters[place] ** 2 for _, place in at)
        people = [
            relation.position[code]
            for code, count in zip(looks.codes[:, column], looks.counts, strict=True)
            for _ in range(count)
            if is_placed[code]
        ]
        apart = [abs(one - other) / 2 for one in people for other in people]
        unit = sum(apart) / max(len(apart), 1)
        if unit == 0 and at:
            unit = at[-1][0] - at[0][0]
        for (low, first), (high, second) in pairwise(at):
            total += (parameters[second] - parameters[first]) ** 2 * unit / (high - low)
    return total


@USUAL
@given(drawn=related_releases(), seed=st.integers(0, 9))
def test_the_prior_ties_neighbours_by_distance_and_members_by_group(drawn, seed):
    release, given_relations = drawn
    looks = exposed_of(release)[0].looks
    effects = Effects.of(looks, given_relations)
    parameters = np.random.default_rng(seed).normal(size=effects.n_parameters)
    parameters[[0, -1]] = 0
    form, half = effects.form(parameters)
    assert isclose(form, slow_prior(effects, looks, given_relations, parameters), rel_tol=1e-9)
    assert np.allclose(effects.matrix() @ parameters, half)
    assert np.allclose(np.diag(effects.matrix()), effects.diagonal())
    both = np.array([parameters, 2 * parameters])
    assert np.allclose(effects.form(both)[1], [half, 2 * half])
    totals = effects.totals(parameters)
    for look, codes in enumerate(looks.codes):
        parts = [effects.by_column(parameters)[column][code] for column, code in enumerate(codes)]
        assert isclose(totals[look], sum(parts), abs_tol=1e-12)
    weights = np.arange(1.0, looks.n_cells + 1)
    collected = effects.collect(weights)
    for place in range(1, effects.n_parameters - 1):
        own = (effects.place == place).sum(axis=1)
        assert isclose(collected[place], (own * weights).sum(), abs_tol=1e-9)
    assert collected[0] == weights.sum()
    assert collected[-1] == 0


@FEW
@given(drawn=related_releases())
def test_the_gradient_is_that_of_the_likelihood_and_the_prior(drawn):
    release, given_relations = drawn
    target = Target.of(exposed_of(release)[0], [1])
    assume(len(target.carrying_buckets))
    problem = AdditiveProblem.of(target, None, given_relations)
    at = np.linspace(-1, 1, problem.effects.n_parameters)[np.newaxis]
    at[0, -1] = 0
    _, slope = problem.objective(at, 0.7)
    for place in range(at.size - 1):
        step = np.zeros_like(at)
        step[0, place] = 1e-5
        rise = problem.objective(at + step, 0.7)[0] - problem.objective(at - step, 0.7)[0]
        assert isclose(slope[0, place], rise / 2e-5, rel_tol=1e-4, abs_tol=1e-5)


@FEW
@given(drawn=related_releases(), data=st.data())
def test_kernels_weigh_parts_of_a_release_as_numpy_does(drawn, data):
    """The height and the slope of several parts at once, compiled and as plain Python."""
    release, given_relations = drawn
    target = Target.of(exposed_of(release)[0], [1])
    assume(len(target.carrying_buckets))
    whole = AdditiveProblem.of(target, None, given_relations)
    n_buckets = len(target.n_carrying)
    part = st.lists(st.booleans(), min_size=n_buckets, max_size=n_buckets)
    problem = whole.take(np.array([data.draw(part), data.draw(part)]))
    random = np.random.default_rng(data.draw(st.integers(0, 9)))
    at = random.normal(size=(2, problem.effects.n_parameters))
    at[:, 0] *= data.draw(st.sampled_from([1, 5]))
    at[:, -1] = 0
    with pytest.MonkeyPatch.context() as patch:
        # Near 0, odds are products of factors; with a lower bound, exponentials of sums.
        huge = data.draw(st.sampled_from([500.0, 20.0, 3.0]))
        patch.setattr("shoal.foreground.additive_problem._HUGE", huge)
        found = [problem.log_likelihoods(at), problem.objective(at, 0.3)[1]]
        kernels = load_plain("shoal.foreground._additive_kernels")
        for name in ("weigh_rows", "collect"):
            patch.setattr(f"shoal.foreground.additive_problem.{name}", getattr(kernels, name))
        # A copy, since a problem remembers its last answer.
        again = replace(problem)
        plain = [again.log_likelihoods(at), again.objective(at, 0.3)[1]]
        for one, other in zip(found, plain, strict=True):
            assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
        shapes, effects = problem.likelihood.shapes, problem.effects
        for number, parameters in enumerate(at):
            f = problem.chances(parameters)
            own = Shapes(
                shapes.start, shapes.which, shapes.count, shapes.n_carrying, problem.weights[number]
            )
            rows = np.append(problem.n_rows[number], 0).astype(np.int64)
            share, height = Likelihood(own, rows, problem.likelihood.fixed).step(np.append(f, 0.0))
            assert isclose(found[0][number], height, rel_tol=1e-9, abs_tol=1e-7)
            slope = effects.collect(problem.n_rows[number] * (f - share[:-1]))
            slope += 0.3 * effects.form(parameters)[1]
            assert np.allclose(found[1][number], slope, rtol=1e-8, atol=1e-7)


def assert_a_hill_between(problem, ends):
    """Assert that ends differ only where the way from one to the other leads up first."""
    low, high = (problem.objective(end, 1.0)[0] for end in ends)
    way = [ends[0] + part * (ends[1] - ends[0]) for part in np.linspace(0.05, 0.95, 19)]
    assert max(problem.objective(point, 1.0)[0] for point in way) > max(low, high)


@FEW
@given(drawn=related_releases())
def test_both_ways_down_lead_to_the_same_model(drawn):
    release, given_relations = drawn
    target = Target.of(exposed_of(release)[0], [1])
    assume(len(target.carrying_buckets))
    problem = AdditiveProblem.of(target, None, given_relations)
    begin, ends = problem.alike(), []
    for answer in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            name = "shoal.foreground.additive_problem.is_worthwhile"
            patch.setattr(name, lambda *_, answer=answer: answer)
            end, _, is_converged = problem.solve(1.0, begin, tolerance=1e-6)
        assert is_converged
        assert np.abs(problem.objective(end, 1.0)[1]).max() < 1e-4
        ends.append(end)
    if not np.allclose(*(problem.chances(end) for end in ends), atol=2e-3):
        assert_a_hill_between(problem, ends)


@USUAL
@given(data=st.data(), size=st.integers(2, 6))
def test_sets_that_are_nested_or_disjoint_become_levels(data, size):
    codes = st.frozensets(st.integers(0, size - 1), min_size=1)
    drawn = data.draw(st.lists(codes, max_size=4))
    relation = Relation.of_sets([np.array(sorted(one)) for one in drawn], size)
    kept = {one for one in drawn if 1 < len(one) < size}
    is_nested = all(
        one <= other or other <= one or not one & other for one in kept for other in kept
    )
    found = [
        frozenset(np.flatnonzero(level == group).tolist())
        for level in relation.groups
        for group in set(level.tolist()) - {-1}
    ]
    assert sorted(map(sorted, found)) == (sorted(map(sorted, kept)) if is_nested else [])


# --- the penalty ---------------------------------------------------------------------------------


@USUAL
@given(release=releases(), seed=st.integers(0, 9), n_folds=st.integers(2, 5))
def test_folds_share_carriers_and_do_not_depend_on_the_numbers_of_buckets(release, seed, n_folds):
    domains, rows, bucket, value = release
    exposed, _entry = exposed_of(release)
    target = Target.of(exposed, [1])
    fold = fold_buckets(target, n_folds)
    n_carrying = [
        np.count_nonzero((target.n_carrying > 0) & (fold == one)) for one in range(n_folds)
    ]
    assert max(n_carrying) - min(n_carrying) <= 1
    renumbered = np.random.default_rng(seed).permutation(bucket.max() + 1)[bucket]
    other = Target.of(Exposed.of_rows(domains, rows, renumbered, value, DISEASES), [1])
    other_fold = fold_buckets(other, n_folds)

    def contents(number, folds, of_row):
        return sorted(
            (
                sorted(map(tuple, rows[of_row == one].tolist())),
                np.count_nonzero(value[of_row == one] == 1),
            )
            for one in np.flatnonzero(folds == number)
        )

    for number in range(n_folds):
        assert contents(number, fold, bucket) == contents(number, other_fold, renumbered)


def slow_log_likelihood(f, carriers):
    """Return how likely independent rows have so many carriers, by adding rows one by one."""
    chance = [1.0]
    for one in f:
        longer = [0.0] * (len(chance) + 1)
        for n, own in enumerate(chance):
            longer[n] += own * (1 - one)
            longer[n + 1] += own * one
        chance = longer
    return log(max(chance[carriers], 1e-300))


@settings(max_examples=15, deadline=None)
@given(release=releases(most=12))
def test_held_out_likelihood_is_that_of_fits_made_fold_by_fold(release):
    _, _, bucket, value = release
    exposed, entry = exposed_of(release)
    target = Target.of(exposed, [1])
    assume(len(target.carrying_buckets) >= 2)
    look = exposed.look[entry]
    problem = AdditiveProblem.of(target, None, [Relation()] * len(exposed.looks.domains))
    place = problem.effects.place
    with pytest.MonkeyPatch.context() as patch:
        for name, setting in (("PENALTIES", (10.0, 2.0)), ("_ENOUGH", 1e-12), ("_PATIENCE", 9)):
            patch.setattr(f"shoal.foreground.additive.{name}", setting)
        _, table = choose_penalty(problem, problem.alike())
    fold = fold_buckets(target, table.n_folds)

    def log_likelihood(parameters, numbers):
        logs = parameters[0] + parameters[place].sum(axis=1)
        f = (1 / (1 + np.exp(-logs)))[look]
        return sum(
            slow_log_likelihood(f[bucket == one], np.count_nonzero(value[bucket == one] == 1))
            for one in numbers
        )

    for penalty, gain in zip(table.penalties[1:], table.gains[1:], strict=True):
        expected = 0.0
        for number in range(table.n_folds):
            own, others = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            n_rows = np.count_nonzero(np.isin(bucket, own))
            n_carriers = int(target.n_carrying[own].sum())
            # Without a row that lacks the value the level alone has no maximum.
            assume(n_carriers < n_rows)

            def height(parameters, own=own, penalty=penalty):
                prior = penalty / 2 * (parameters[1:] ** 2).sum()
                return prior - log_likelihood(parameters, own)

            start = np.zeros(problem.effects.n_parameters)
            start[0] = log(n_carriers / (n_rows - n_carriers))
            found = minimize(height, start, method="BFGS", options={"gtol": 1e-6})
            expected += log_likelihood(found.x, others) - log_likelihood(start, others)
        assert isclose(gain, expected, abs_tol=2e-3)
    best = max(range(len(table.gains)), key=lambda one: table.gains[one])
    assert table.penalty == table.penalties[best]
    assert table.gain == table.gains[best]


@FEW
@given(release=releases())
def test_an_infinite_penalty_leaves_everybody_alike(release):
    target = Target.of(exposed_of(release)[0], [1])
    model, found = fit_additive(target, penalty=np.inf)
    assert model.is_all_alike
    assert np.allclose(found.p, expose_by(target, 0.5).p, atol=1e-9)


# --- what was believed before --------------------------------------------------------------------


@FEW
@given(release=releases(), data=st.data())
def test_a_prior_is_never_forgotten(release, data):
    exposed, _ = exposed_of(release)
    n_looks = exposed.looks.n_cells
    drawn = st.lists(st.floats(0.01, 0.99), min_size=n_looks, max_size=n_looks)
    prior = np.array(data.draw(drawn))
    target = Target.of(exposed, [1])
    background = expose_by(target, prior).p
    alone, found = fit_additive(target, prior=prior, penalty=np.inf)
    assert np.allclose(found.p, background, atol=1e-6)
    _nearly, found = fit_additive(target, prior=prior, penalty=1e7)
    assert np.allclose(found.p, background, atol=1e-3)
    for penalty in (0.3, 3.0, None):
        model, _ = fit_additive(target, prior=prior, penalty=penalty)
        assert model.log_likelihood >= alone.log_likelihood - 1e-4


@FEW
@given(release=releases(), data=st.data())
def test_what_was_impossible_before_stays_so_unless_a_bucket_contradicts(release, data):
    _, _, bucket, value = release
    exposed, entry = exposed_of(release)
    n_looks = exposed.looks.n_cells
    drawn = st.lists(st.sampled_from([0.0, 0.2, 0.6]), min_size=n_looks, max_size=n_looks)
    prior = np.array(data.draw(drawn))
    _, found = fit_additive(Target.of(exposed, [1]), prior=prior)
    own, p = prior[exposed.look[entry]], found.p[entry]
    for number in range(bucket.max() + 1):
        here = bucket == number
        n = np.count_nonzero(value[here] == 1)
        if np.count_nonzero(own[here] > 0) >= n:
            assert np.all(p[here & (own == 0)] == 0)
        assert isclose(p[here].sum(), n, abs_tol=1e-9)


# --- all values together -------------------------------------------------------------------------


@FEW
@given(release=releases(most=9), seed=st.integers(0, 99))
def test_values_together_are_weighed_as_assignments_are(release, seed):
    _, _, bucket, value = release
    exposed, entry = exposed_of(release)
    chances = np.random.default_rng(seed).uniform(0.05, 0.9, (exposed.looks.n_cells, 3))
    p = weigh_jointly(exposed, chances)[entry]
    weights = chances[exposed.look[entry]]
    weights /= weights.sum(axis=1, keepdims=True)
    for number in set(bucket.tolist()):
        own = np.flatnonzero(bucket == number)
        expected, total = np.zeros((len(own), 3)), 0.0
        for given_out in set(permutations(value[own].tolist())):
            weight = np.prod([weights[row, v] for row, v in zip(own, given_out, strict=True)])
            total += weight
            for place, v in enumerate(given_out):
                expected[place, v] += weight
        assert np.allclose(p[own], expected / total, atol=1e-9)


def test_buckets_too_large_for_all_assignments_are_left_alone():
    sex = Domain.of_texts("sex", ["F", "M"])
    rows = np.arange(300)[:, np.newaxis] % 2
    bucket, value = np.zeros(300, dtype=np.int64), np.arange(300) % 3
    exposed = Exposed.of_rows([sex], rows, bucket, value, DISEASES)
    assert weigh_jointly(exposed, np.full((2, 3), 0.3)) is None
    ages = Domain.of_texts("age", ["1", "2"], type=ColumnType.INTEGER, numbers=[1, 2])
    alone = Exposed.of_rows([ages], rows, bucket, np.ones(300, dtype=np.int64), DISEASES)
    assert np.all(weigh_jointly(alone, np.full((2, 3), 0.3))[:, 1] == 1)
