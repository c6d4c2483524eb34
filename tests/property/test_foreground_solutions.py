"""Several solutions of the foreground equations: found, left, weighed, and the same to everybody.

The judge in these tests knows nothing of shapes, kernels or Newton's method: it lists every way to
share the carriers of a bucket out among its classes, and iterates the paper's equations.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import product
from math import comb, isclose, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.kernels import load_plain
from shoal.core.method import Problem
from shoal.core.progress import Work
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.foreground import expectation_maximization as likelihood_module
from shoal.foreground import solutions as solutions_module
from shoal.foreground.attribute_sets import sample_size, usable_sets
from shoal.foreground.check.safety import _links
from shoal.foreground.check.solutions import seed_numbers, starting_chances
from shoal.foreground.expectation_maximization import Likelihood, Mixed, Target
from shoal.foreground.law import log_odds, odds_of
from shoal.foreground.mining import expose
from shoal.foreground.optimization import Curvature
from shoal.foreground.shapes import Shapes
from shoal.foreground.solutions import numbers_of, solve, starting_points
from shoal.locating.exposed import Exposed

USUAL = settings(max_examples=40, deadline=None)
FEW = settings(max_examples=15, deadline=None)
DISEASE = Domain.of_texts("disease", ["cold", "flu"])
THIRTEEN = (
    "v2,v1,y v1,v0,x v2,v1,y v0,v1,y v2,v2,x v1,v2,y v0,v0,y v0,v1,y v1,v2,y v0,v2,y v0,v1,y "
    "v1,v0,y v1,v0,y"
)
"""Two roots tie at exactly one half for both attributes together."""


class Judge:
    """The likelihood of some buckets, each the rows of every class and the carriers."""

    def __init__(self, buckets, n_classes):
        self.n_classes = n_classes
        self.rows = np.zeros(n_classes)
        self.ways = []
        for rows, carriers in buckets:
            self.rows += rows
            ways = [way for way in product(*(range(n + 1) for n in rows)) if sum(way) == carriers]
            worlds = [log(np.prod([comb(n, k) for n, k in zip(rows, way, strict=True)]))
                      for way in ways]  # fmt: skip
            self.ways.append((np.array(ways, dtype=float), np.array(worlds), np.array(rows)))

    def step(self, f):
        """Apply Equation (4) to some points, one row each; return also their log-likelihoods."""
        f = np.clip(f, 1e-14, 1 - 1e-14)
        carry, lack = np.log(f), np.log1p(-f)
        expected, height = np.zeros(f.shape), np.zeros(len(f))
        for ways, worlds, rows in self.ways:
            logs = carry @ ways.T + lack @ (rows - ways).T + worlds
            top = logs.max(axis=1, keepdims=True)
            weight = np.exp(logs - top)
            total = weight.sum(axis=1, keepdims=True)
            expected += (weight / total) @ ways
            height += (np.log(total) + top)[:, 0]
        return np.clip(expected / np.maximum(self.rows, 1), 1e-14, 1 - 1e-14), height

    def climb(self, f, n_steps=4_000):
        for _ in range(n_steps):
            f = self.step(f)[0]
        return f

    def is_maximum(self, f, random, tolerance=1e-9):
        """Whether no point near by is higher."""
        height = self.step(f[np.newaxis])[1][0]
        for radius in (0.03, 0.003):
            near = f + radius * random.uniform(-1, 1, (400, len(f)))
            if self.step(np.clip(near, 0, 1))[1].max() > height + tolerance:
                return False
        return True

    def is_left(self, f, random):
        """Whether climbs from beside a point end higher.

        At a degenerate saddle point the way up is a narrow, nearly flat curve, which points drawn
        at random miss; a climb first falls onto the curve and then follows it.
        """
        height = self.step(f[np.newaxis])[1][0]
        beside = np.clip(f + 0.03 * random.uniform(-1, 1, (50, len(f))), 0, 1)
        return self.step(self.climb(beside))[1].max() > height + 1e-7

    def likelihood(self):
        carrying = [(rows, ways[0].sum()) for ways, _, rows in self.ways if ways[0].sum()]
        bucket = [b for b, (rows, _) in enumerate(carrying) for n in rows if n]
        which = [c for rows, _ in carrying for c, n in enumerate(rows) if n]
        count = [n for rows, _ in carrying for n in rows if n]
        n_carrying = [int(n) for _, n in carrying]
        shapes, _ = Shapes.of_buckets(
            *(np.array(part, dtype=np.int64) for part in (bucket, which, count, n_carrying)),
            self.n_classes,
        )
        rows = self.rows.astype(np.int64)
        return Likelihood(shapes, rows, np.full(self.n_classes, np.nan))


@st.composite
def judges(draw, n_classes=3):
    count = st.integers(0, 3)
    buckets = []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.tuples(*(count for _ in range(n_classes))))
        assume(sum(rows))
        buckets.append((rows, draw(st.integers(0, sum(rows)))))
    assume(any(n for _, n in buckets))
    return Judge(buckets, n_classes)


numbers = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).random((3, 8)))


@USUAL
@given(judge=judges(), numbers=numbers)
def test_what_counts_as_a_maximum_is_one(judge, numbers):
    found = solve(judge.likelihood(), numbers)
    random = np.random.default_rng(1)
    assert found.is_maximum
    for f in found.maxima:
        # On a ridge a point is as good as its neighbours, and no better.
        assert judge.is_maximum(f, random, 1e-9 if found.is_certain else 1e-4)


def random_judge(random, n_classes=3):
    rows = random.integers(0, 4, (random.integers(1, 5), n_classes))
    rows = rows[rows.sum(axis=1) > 0]
    buckets = [(tuple(one.tolist()), int(random.integers(0, one.sum() + 1))) for one in rows]
    carriers = sum(n for _, n in buckets)
    return Judge(buckets, n_classes) if 0 < carriers < rows.sum() else random_judge(random)


@pytest.mark.parametrize("seed", range(40))
def test_every_listed_start_leads_to_a_maximum_that_counts(seed):
    # The tables are fixed: a start on the border between two maxima may lead to the one by single
    # steps and to the other by strides, and hypothesis finds such starts.
    random = np.random.default_rng(seed)
    judge, numbers = random_judge(random), random.random((3, 8))
    likelihood = judge.likelihood()
    rate = float(likelihood.shapes.multiplicity @ likelihood.shapes.n_carrying) / judge.rows.sum()
    found = solve(likelihood, numbers)
    ends = judge.climb(starting_points(numbers, likelihood.n_rows, rate))
    highest = judge.step(ends)[1].max()
    assert judge.step(found.maxima)[1].max() > highest - 1e-6
    # Where nobody carries the value for sure or never, the chance says nothing.
    free = judge.rows > 0
    for end in ends:
        far = np.abs(found.maxima - end)[:, free].max(axis=1).min()
        is_negligible = judge.step(end[np.newaxis])[1][0] < highest - 25
        is_near_or_low = far < 0.02 or is_negligible
        assert is_near_or_low or not judge.is_maximum(end, random) or judge.is_left(end, random)


def test_a_degenerate_saddle_point_is_left():
    judge = Judge([((0, 1, 3), 1), ((0, 1, 3), 3)], 3)
    random = np.random.default_rng(0)
    found = solve(judge.likelihood(), random.random((3, 8)))
    assert judge.is_left(np.array([0.5, 0.5, 0.5]), random)
    ends = sorted(found.maxima[:, 1:].tolist())
    assert np.allclose(ends, [[0, 2 / 3], [1, 1 / 3]], atol=1e-6)


@USUAL
@given(judge=judges(), numbers=numbers)
def test_maxima_are_distinct_and_weighed_by_likelihood(judge, numbers):
    found = solve(judge.likelihood(), numbers)
    heights = judge.step(found.maxima)[1]
    expected = np.exp(heights - heights.max())
    assert np.allclose(found.weights, expected / expected.sum(), atol=1e-5)
    for place, f in enumerate(found.maxima):
        others = np.delete(found.maxima, place, axis=0)
        assert not len(others) or np.abs(others - f).max(axis=1).min() > 1e-6


@USUAL
@given(judge=judges(), data=st.data())
def test_many_points_at_once_are_as_the_judge_has_them(judge, data):
    chance = st.floats(1e-6, 1 - 1e-6)
    points = data.draw(
        st.lists(st.lists(chance, min_size=3, max_size=3), min_size=1, max_size=4).map(np.array)
    )
    expected, heights = judge.step(points)
    likelihood = judge.likelihood()
    odds = odds_of(points)
    free = judge.rows > 0
    whole = replace(likelihood)
    vars(whole)["mixed"] = Mixed.whole(whole.shapes, len(whole.n_rows))
    ways = [likelihood._expect(odds), likelihood._condition(odds), whole._expect(odds)]
    for found, _ in ways:
        assert np.allclose(
            (found / np.maximum(likelihood.n_rows, 1))[:, free], expected[:, free], atol=1e-9
        )
    assert np.ptp([height - heights for _, height in ways], axis=0) == pytest.approx(0, abs=1e-9)
    steps, whole_height = likelihood.steps(points)
    assert np.allclose(steps[:, free], expected[:, free], atol=1e-9)
    # The judge counts the rows of the whole release.
    assert np.ptp(whole_height - heights) == pytest.approx(0, abs=1e-9)


@USUAL
@given(judge=judges(), point=st.lists(st.floats(0.02, 0.98), min_size=3, max_size=3).map(np.array))
def test_second_derivatives_are_differences_of_slopes(judge, point):
    likelihood = judge.likelihood()
    is_free = likelihood.even() > 0
    is_free &= likelihood.even() < 1
    found = Curvature.at(likelihood, point, is_free)
    own = np.flatnonzero(found.is_open)
    n_rows, width = likelihood.n_at_least_one, 1e-5

    def slope(f):
        return n_rows * (likelihood.step(f)[0] - f) / (f * (1 - f))

    expected = np.zeros((len(own), len(own)))
    for column, place in enumerate(own.tolist()):
        aside = np.where(np.arange(3) == place, width, 0.0)
        expected[:, column] = -(slope(point + aside) - slope(point - aside))[own] / (2 * width)
    assert np.allclose(
        found.matrix, expected, rtol=1e-4, atol=1e-4 * (1 + np.abs(expected).max(initial=0))
    )


@pytest.mark.parametrize("kernels", ["compiled", "plain"])
@settings(max_examples=30, deadline=None)
@given(judge=judges(), numbers=numbers)
def test_climbs_in_the_kernel_are_those_step_by_step(kernels, judge, numbers):
    likelihood = judge.likelihood()
    search = solutions_module._Search.of(likelihood)
    if not search.is_free.any():
        return
    starts = search._within(numbers.T)
    with pytest.MonkeyPatch.context() as patch:
        if kernels == "plain":
            plain = load_plain("shoal.foreground._kernels")
            patch.setattr(solutions_module, "climb", plain.climb)
        patch.setattr(solutions_module._Search, "_jump", lambda *_: np.zeros(len(_[1]), dtype=bool))
        ends = search._ends(starts)
    expected = [climb_plainly(search, start) for start in starts]
    assert len(ends) == len(expected)
    for end, _, _ in expected:
        assert np.abs(ends - end).max(axis=1).min() < 1e-6
    # Near the end, rounding decides whether a stride leads down.
    assert search.n_steps == pytest.approx(sum(n for _, _, n in expected), rel=0.3)


def climb_plainly(search, f):
    """Go on from a point, in strides, until nothing moves; return also the numbers of steps."""
    free, n_steps, stride = search.is_free, 1, 1.0
    following, height = (one[0] for one in search.likelihood.steps(f[np.newaxis]))
    following = search._within(following)
    for number in range(401):
        if number:
            before = log_odds(f[free])
            change = log_odds(following[free]) - before
            stride = max(min(stride, 0.25 / max(np.abs(change).max(), 1e-12)), 1.0)
            ahead = following.copy()
            if stride > 1:
                ahead[free] = 1 / (1 + np.exp(-before - stride * change))
            ahead = search._within(ahead)
            beyond, above = (one[0] for one in search.likelihood.steps(ahead[np.newaxis]))
            n_steps += 1
            if stride > 1 and above < height:
                ahead, stride = following, 0.5
                beyond, above = (one[0] for one in search.likelihood.steps(ahead[np.newaxis]))
                n_steps += 1
            f, following, height = ahead, search._within(beyond), above
            stride = min(2 * stride, 32.0)
        still = np.abs(following - f) <= 1e-9 * np.minimum(f, 1 - f) + 1e-17
        if number < 400 and still[free].all():
            break
    return f, number, n_steps


@pytest.mark.parametrize("kernels", ["compiled", "plain"])
@settings(max_examples=60, deadline=None)
@given(judge=judges(), numbers=numbers, fixed=st.sampled_from([np.nan, 0.3]))
def test_a_maximum_that_all_starts_lead_to_is_that_of_a_search_step_by_step(
    kernels, judge, numbers, fixed
):
    likelihood = judge.likelihood()
    likelihood.fixed[-1] = fixed
    search = solutions_module._Search.of(likelihood)
    if not search.is_free.any():
        return
    with pytest.MonkeyPatch.context() as patch:
        if kernels == "plain":
            plain = load_plain("shoal.foreground._kernels")
            patch.setattr(solutions_module, "search_alone", plain.search)
        found = solve(likelihood, numbers)
        patch.setattr(solutions_module._Search, "alone", lambda *_: None)
        expected = solve(likelihood, numbers)
    assert found.n_maxima == expected.n_maxima
    assert found.is_certain == expected.is_certain
    assert found.n_starts == expected.n_starts
    assert np.allclose(found.maxima, expected.maxima, rtol=0, atol=1e-8)
    assert np.allclose(found.heights, expected.heights, rtol=1e-10, atol=1e-9)
    assert found.n_at_bound == expected.n_at_bound
    assert found.n_steps == pytest.approx(expected.n_steps, rel=0.3, abs=20)


@FEW
@given(judge=judges(), numbers=numbers)
def test_the_kernel_as_plain_python_finds_the_same(judge, numbers):
    likelihood = judge.likelihood()
    compiled = likelihood.steps(numbers.T)
    plain = load_plain("shoal.foreground._kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likelihood_module, "expect", plain.expect)
        again = likelihood.steps(numbers.T)
    for one, other in zip(compiled, again, strict=True):
        assert np.allclose(one, other, rtol=1e-13, atol=1e-13)


# --- the same starts and the same beliefs for everybody -------------------------------------------


def test_the_starts_are_those_that_the_documentation_lists():
    sex = Domain.of_texts("sex", ["F", "M"])
    job = Domain.of_texts("job", ["clerk", "nurse"])
    looks = Cells.of_rows([sex, job], np.array([[0, 1], [0, 1], [1, 0]]))
    both = usable_sets(looks, 2)[-1]
    found = numbers_of(looks, both, DISEASE, [1])
    for line, last in zip(found, ('["nurse","F"]', "null"), strict=True):
        text = f'["shoal foreground start",["job","sex"],["flu"],{last}]'
        digest = sha256(text.encode()).hexdigest()
        words = [int(digest[8 * place : 8 * place + 8], 16) for place in range(8)]
        assert np.allclose(line, (np.array(words) + 0.5) / 2**32, rtol=1e-15)
    own = seed_numbers(["sex", "job"], ["flu"], [["F", "nurse"], None])
    assert np.array_equal(own, found)


@USUAL
@given(
    n_classes=st.integers(1, 40),
    seed=st.integers(0, 10**6),
    rate=st.floats(0.01, 0.99),
)
def test_method_and_checker_list_the_same_starts(n_classes, seed, rate):
    random = np.random.default_rng(seed)
    numbers, rows = random.random((n_classes, 8)), random.integers(1, 5, n_classes)
    own = starting_points(numbers, rows, rate)
    other = starting_chances(numbers, rows, rate)
    assert len(own) == 1 + min(n_classes, 32) + 8
    order = [np.lexsort(points.T) for points in (own, other)]
    assert np.allclose(own[order[0]], other[order[1]], rtol=1e-12)


@st.composite
def releases(draw, most=16):
    n_rows, n_columns = draw(st.integers(2, most)), draw(st.integers(1, 3))
    row = st.tuples(*(st.integers(0, 2) for _ in range(n_columns)))
    rows = np.array(draw(st.lists(row, min_size=n_rows, max_size=n_rows)))
    value = np.array(draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows)))
    assume(value.any())
    bucket = np.arange(n_rows) % draw(st.integers(1, max(1, n_rows // 2)))
    return rows, bucket, value


@USUAL
@given(
    release=releases(),
    least=st.sampled_from([1, 2, 3, 5]),
    policy=st.sampled_from(["pool", "prior", "half"]),
)
def test_the_checker_believes_of_every_bucket_what_the_attack_believes(release, least, policy):
    rows, bucket, value = release
    columns = [Domain.of_texts(f"q{place}", ["a", "b", "c"]) for place in range(rows.shape[1])]
    names = Domain.of_texts("bucket", [f"{n:03}" for n in range(bucket.max() + 1)])
    lines = Cells.of_rows([names, *columns], np.column_stack([bucket, rows]))
    buckets = Buckets.of_pairs(bucket, value, DISEASE)
    exposed = Exposed.of_rows(columns, rows, bucket, value, DISEASE)
    found, sets = expose(Target.of(exposed, [1]), usable_sets(exposed.looks, least), policy=policy)
    is_certain = all(one.fit.is_certain for one in sets)
    highest, worst = np.zeros(buckets.n_buckets), np.zeros(buckets.n_buckets)
    np.maximum.at(highest, exposed.bucket, found.at_most)
    np.maximum.at(worst, exposed.bucket, np.where(found.at_most > 0, found.worst, 0.0))
    links = _links(buckets, lines, [(1,)], least, policy, Work())
    assert np.allclose(links.mean, highest, atol=1e-6 if is_certain else 0.03)
    if is_certain:
        is_mixed = links.mean > 0
        assert np.all(worst[is_mixed] >= links.alone[is_mixed] - 1e-6)


# --- releases ------------------------------------------------------------------------------------


def table_of(text):
    rows = [row.split(",") for row in text.split()]
    names = ("a0", "a1", "s")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return shoal.read(columns, shoal.Schema(quasi=["a0", "a1"], sensitive="s"))


@pytest.mark.parametrize("seed", range(3))
def test_a_table_whose_two_roots_tie_is_published_and_verified(seed):
    method = shoal.ForegroundSafe(value="x", r=2, epsilon=0.5)
    release = shoal.anonymize(table_of(THIRTEEN), method, seed=seed)
    assert shoal.verify(release).status == "verified"
    attack = shoal.attacks.Foreground(value="x", r=2, epsilon=0.5, adversary="paper")
    (found,) = shoal.attack(release, attack)
    assert found.calibration.believed == 0


@st.composite
def tables(draw):
    n_rows = draw(st.integers(3, 16))
    quasi = st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)
    columns = {f"a{place}": draw(quasi) for place in range(draw(st.integers(1, 2)))}
    columns["s"] = draw(st.lists(st.sampled_from("xyyy"), min_size=n_rows, max_size=n_rows))
    assume("x" in columns["s"])
    return columns


@FEW
@given(
    columns=tables(),
    r=st.sampled_from([2, "5/2", 3]),
    epsilon=st.sampled_from([0.5, 0.37]),
    policy=st.sampled_from(["pool", "prior", "half"]),
)
def test_method_checker_and_attack_agree_on_every_table(columns, r, epsilon, policy):
    quasi = [name for name in columns if name != "s"]
    table = shoal.read(columns, shoal.Schema(quasi=quasi, sensitive="s"))
    given_all = {"value": "x", "r": r, "epsilon": epsilon, "policy": policy}
    try:
        release = shoal.anonymize(table, shoal.ForegroundSafe(**given_all), seed=1)
    except InfeasibleError:
        return
    assert shoal.verify(release).status == "verified"
    (found,) = shoal.attack(release, shoal.attacks.Foreground(**given_all, adversary="paper"))
    assert found.calibration.believed == 0


# --- what cannot be reached ----------------------------------------------------------------------


def judged_largest(rows, bucket, value, least):
    """Return the largest belief of the paper's adversary, by the judge; None on a ridge."""
    looks = Cells.of_rows(
        [Domain.of_texts(f"q{place}", ["a", "b"]) for place in range(rows.shape[1])], rows
    )
    largest = 0.0
    for one in usable_sets(looks, least):
        which = np.array([one.class_of_look[_look(looks, row)] for row in rows])
        n_classes = int(which.max()) + 1
        inside = [bucket == number for number in range(bucket.max() + 1)]
        buckets = [
            (tuple(np.bincount(which[own], minlength=n_classes)), int(value[own].sum()))
            for own in inside
        ]
        judge = Judge(buckets, n_classes)
        numbers = numbers_of(looks, one, DISEASE, [1])
        ends = judge.climb(starting_points(numbers, judge.rows.astype(int), value.mean()))
        maxima = distinct_maxima(judge, ends)
        if maxima is None:
            return None
        weights = np.exp(judge.step(maxima)[1])
        for (ways, worlds, held), (_, carriers) in zip(judge.ways, buckets, strict=True):
            if not carriers:
                continue
            logs = np.log(maxima) @ ways.T + np.log1p(-maxima) @ (held - ways).T + worlds
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            p = (weights / weights.sum()) @ (shares @ ways)
            largest = max(largest, float((p / np.maximum(held, 1)).max()))
    return largest


def _look(looks, row):
    return int(np.flatnonzero((looks.codes == row).all(axis=1))[0])


def distinct_maxima(judge, ends):
    """Return the ends that are maxima, each once; None if one is a saddle or has not settled."""
    random = np.random.default_rng(3)
    found = []
    for end in ends:
        if (
            not judge.is_maximum(end, random)
            or np.abs(judge.step(end[np.newaxis])[0] - end).max() > 1e-9
        ):
            return None  # fmt: skip
        if not any(np.abs(end - one).max() <= 1e-4 for one in found):
            found.append(end)
    return np.array(found)


def test_infeasible_means_that_one_bucket_of_all_rows_still_breaches():
    """On tiny tables: what is refused breaches in one bucket, what is published is safe."""
    random = np.random.default_rng(5)
    n_refused = n_published = 0
    while n_refused < 6 or n_published < 12:
        n_rows, n_columns = int(random.integers(3, 7)), int(random.integers(1, 3))
        rows = random.integers(0, 2, (n_rows, n_columns))
        value = (np.arange(n_rows) < random.integers(1, 3)).astype(int)
        r, epsilon = Fraction(str(random.choice(["2", "3", "3/2"]))), 0.5
        least = sample_size(epsilon)
        domains = [Domain.of_texts(f"q{place}", ["a", "b"]) for place in range(n_columns)]
        cells = Cells.of_rows([*domains, DISEASE], np.column_stack([rows, value]))
        schema = Schema(quasi=[domain.column for domain in domains], sensitive="disease")
        problem = Problem(cells, schema, {}, Secret.from_seed(1))
        method = shoal.ForegroundSafe(value="flu", r=r, epsilon=epsilon)
        try:
            plan = method.plan(problem)
        except InfeasibleError as error:
            whole = judged_largest(rows, np.zeros(n_rows, dtype=int), value, least)
            is_share = value.sum() * r > n_rows
            if whole is not None and not is_share:
                assert whole > 1 / r - 2e-6
                # What it says can be reached, can be.
                best = shoal.ForegroundSafe(value="flu", r=error.best["r"], epsilon=epsilon)
                assert best.plan(problem).n_buckets
                n_refused += 1
            continue
        cell, _, bucket = plan.assign.expand()
        codes = plan.classes.codes[cell]
        found = judged_largest(codes[:, :-1], bucket, codes[:, -1], least)
        if found is not None:
            assert found <= 1 / r + 1e-6
            n_published += 1


def test_the_largest_r_of_one_bucket_can_be_reached_by_arithmetic():
    """Three of one kind, one of the other, one carrier: the other with 9/13, by hand."""
    rows, value = np.array([[0], [0], [0], [1]]), np.array([1, 0, 0, 0])
    domains = [Domain.of_texts("q0", ["a", "b"])]
    exposed = Exposed.of_rows(domains, rows, np.zeros(4, dtype=int), value, DISEASE)
    found, (one,) = expose(Target.of(exposed, [1]), usable_sets(exposed.looks, 1))
    assert sorted(one.fit.maxima[:, :2].round(6).tolist()) == [[0, 1], [0.333333, 0]]
    assert isclose(found.p[exposed.look == 1][0], 9 / 13, abs_tol=1e-6)
    assert isclose(found.worst.max(), 1, abs_tol=1e-6)
