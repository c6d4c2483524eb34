"""MASK against a direct reading: its buckets, its shares, and what it tells who knows it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.grouping import mask_worlds
from shoal.grouping.mask import Mask, split_buckets
from shoal.grouping.mask_worlds import mask_credibility
from shoal.grouping.mondrian import Mondrian

DISEASES = ["HIV", "flu", "gout", "hepatitis"]
HOMES = ["a", "b", "c", "d", "é"]
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 4)), min_size=2, max_size=40
)


def problem_of(rows, seed=1):
    """Make a problem of rows (home, age, disease); the last disease is the missing one."""
    home = Domain.of_texts("home", HOMES)
    age = Domain.of_texts("age", [str(i) for i in range(10)], numbers=list(range(10)))
    disease = Domain.of_texts("disease", DISEASES, has_missing=True)
    cells = Cells.of_rows([home, age, disease], np.array(rows))
    schema = Schema(quasi=["home", "age"], sensitive="disease")
    return Problem(cells, schema, {}, Secret.from_seed(seed))


def buckets_of(plan):
    """Give the bucket of every (home, age, disease)."""
    group, _, bucket = plan.assign.expand()
    cells = [tuple(row) for row in plan.classes.codes.tolist()]
    return {cells[g]: b for g, b in zip(group.tolist(), bucket.tolist(), strict=True)}


def shown_of(plan):
    """Count the diseases of every bucket, before and after values are redrawn."""
    before = [Counter() for _ in range(plan.n_buckets)]
    for (_, _, disease), bucket, count in zip(
        plan.classes.codes.tolist(),
        (buckets_of(plan)[tuple(cell)] for cell in plan.classes.codes.tolist()),
        plan.classes.counts.tolist(),
        strict=True,
    ):
        before[bucket][disease] += count
    after = [Counter(held) for held in before]
    parts = (plan.redraw.bucket, plan.redraw.old, plan.redraw.new, plan.redraw.count)
    for bucket, old, new, count in zip(*(part.tolist() for part in parts), strict=True):
        after[bucket][old] -= count
        after[bucket][new] += count
    return before, after


def share(counts, protected):
    return Fraction(sum(counts[code] for code in protected), sum(counts.values()))


@settings(max_examples=300)
@given(
    ROWS,
    st.integers(2, 4),
    st.integers(2, 6),
    st.sets(st.integers(0, 4), min_size=1),
    st.sampled_from(["enough", "any"]),
    st.integers(0, 50),
)
def test_a_plan_is_what_the_paper_says_step_by_step(rows, m, k, protected, lenders, seed):
    problem = problem_of(rows, seed)
    texts = [None if code == 4 else DISEASES[code] for code in sorted(protected)]
    mask = Mask(m=m, k=k, protect=texts, publish="bucketized", lenders=lenders)
    if not protected <= {row[2] for row in rows}:
        with pytest.raises((ParameterError, InfeasibleError)):
            mask.plan(problem)
        return
    if len(rows) < k:
        with pytest.raises(InfeasibleError):
            mask.plan(problem)
        return
    first = Mondrian(k=k).plan(problem)
    before, _ = shown_of(first)
    shares = [share(counts, protected) for counts in before]
    above = [place for place, one in enumerate(shares) if one > Fraction(1, m)]
    kept = sorted((one for one in shares if one <= Fraction(1, m)), reverse=True)
    if len(kept) < ((m - 1) * len(above) if lenders == "enough" else min(len(above), 1)):
        with pytest.raises(InfeasibleError) as refused:
            mask.plan(problem)
        assert refused.value.best == best_m(shares, m, lenders)
        return
    plan = mask.plan(problem)
    plan.check()
    assert buckets_of(plan) == buckets_of(first)
    lent = kept[: (m - 1) * len(above)]
    _, after = shown_of(plan)
    for place, (held, shown) in enumerate(zip(before, after, strict=True)):
        assert min(shown.values()) >= 0
        size = sum(held.values())
        assert sum(shown.values()) == size
        if place not in above:
            assert +shown == +held
            continue
        count = share(shown, protected) * size
        assert count in {math.floor(size * one) for one in lent}
        assert all(shown[code] <= held[code] for code in protected)
        assert all(shown[code] >= held[code] for code in set(range(5)) - protected)
        drawn = {code for code in set(range(5)) - protected if shown[code] > held[code]}
        assert drawn <= {row[2] for row in rows}
    assert plan.notes["buckets above 1/m"] == len(above)
    assert plan.notes["values distorted"] == int(plan.redraw.count.sum())


def best_m(shares, m, lenders):
    """Give the largest smaller m that is within reach."""
    for smaller in range(m - 1, 1, -1):
        n_above = sum(one > Fraction(1, smaller) for one in shares)
        n_needed = (smaller - 1) * n_above if lenders == "enough" else min(n_above, 1)
        if len(shares) - n_above >= n_needed:
            return {"m": smaller}
    return {}


@settings(max_examples=100)
@given(ROWS, st.integers(2, 5), st.randoms())
def test_buckets_do_not_depend_on_sensitive_values(rows, k, chance):
    if len(rows) < k:
        return
    diseases = [row[2] for row in rows]
    chance.shuffle(diseases)
    others = [(home, age, d) for (home, age, _), d in zip(rows, diseases, strict=True)]
    one, other = (Mondrian(k=k).plan(problem_of(table)) for table in (rows, others))
    homes = [
        {(home, age): bucket for (home, age, _), bucket in buckets_of(plan).items()}
        for plan in (one, other)
    ]
    assert homes[0] == homes[1]


def test_every_share_that_is_lent_is_drawn_and_every_protected_value_changed():
    # Shares of 1/4 and 0 are lent to the bucket that holds HIV and hepatitis alone.
    rows = [(0, 0, 0)] + [(0, 0, 1)] * 3 + [(1, 0, 1)] * 4 + [(2, 0, 0)] * 2 + [(2, 0, 3)] * 2
    drawn, lost = Counter(), Counter()
    for seed in range(200):
        plan = Mask(m=3, k=4, protect=["HIV", "hepatitis"]).plan(problem_of(rows, seed))
        _, after = shown_of(plan)
        (changed,) = set(plan.redraw.bucket.tolist())
        drawn[share(after[changed], {0, 3})] += 1
        lost.update(plan.redraw.old.tolist())
    assert set(drawn) == {Fraction(1, 4), Fraction(0)}
    # Fair coins: 60 or fewer of 200 heads come once in ten million times.
    assert min(drawn.values()) > 60
    assert set(lost) == {0, 3}


# --- what it tells ---------------------------------------------------------------------------


def direct(held, sizes, m, prior, *, needs_enough=True):
    """Go through all tables by bucket, and all that MASK may draw."""
    n_buckets, total, sums = len(sizes), Fraction(0), [Fraction(0)] * len(sizes)
    for counts in itertools.product(*(range(size + 1) for size in sizes)):
        weight = Fraction(1)
        for count, size in zip(counts, sizes, strict=True):
            weight *= math.comb(size, count) * prior**count * (1 - prior) ** (size - count)
        shares = [Fraction(c, s) for c, s in zip(counts, sizes, strict=True)]
        above = [j for j in range(n_buckets) if shares[j] > Fraction(1, m)]
        kept = [j for j in range(n_buckets) if j not in above]
        n_needed = (m - 1) * len(above) if needs_enough else min(len(above), 1)
        if len(kept) < n_needed or any(counts[j] != held[j] for j in kept):
            continue
        lent = sorted((shares[j] for j in kept), reverse=True)[: (m - 1) * len(above)]
        for j in above:
            n_fitting = sum(math.floor(sizes[j] * one) == held[j] for one in lent)
            weight *= Fraction(n_fitting, len(lent))
        total += weight
        for j in range(n_buckets):
            sums[j] += weight * shares[j]
    return [one / total for one in sums]


@st.composite
def masked(draw, most=4):
    m = draw(st.integers(2, 3))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=most))
    held = [draw(st.integers(0, size // m)) for size in sizes]
    return held, sizes, m, Fraction(draw(st.integers(1, 9)), 10)


@settings(max_examples=300, deadline=None)
@given(masked(), st.booleans())
def test_credibility_is_the_share_among_all_tables(case, needs_enough):
    held, sizes, m, prior = case
    found = mask_credibility(np.array(held), np.array(sizes), m, prior, needs_enough=needs_enough)
    assert found.is_exact
    assert found.is_said.all()
    shares = direct(held, sizes, m, prior, needs_enough=needs_enough)
    expected = [float(one) for one in shares]
    assert found.estimate.tolist() == pytest.approx(expected, abs=1e-12)


def test_two_buckets_of_two_give_five_eighths():
    """With all tables equally likely MASK exceeds 1/m = 1/2."""
    assert direct([1, 1], [2, 2], 2, Fraction(1, 2)) == [Fraction(5, 8)] * 2
    found = mask_credibility(np.array([1, 1]), np.array([2, 2]), 2)
    assert found.estimate.tolist() == [0.625, 0.625]


@pytest.mark.parametrize("rate", [Fraction(1, 29), Fraction(1, 200)])
@pytest.mark.parametrize("size", [40, 900, 2_000, 4_000])
def test_large_buckets_are_believed_as_exact_tails_say(size, rate):
    """Chances that underflow as floats: in fractions, no two draws away from what is published."""
    held, m = size // 25, 2
    found = mask_credibility(np.array([held, held]), np.array([size, size]), m, rate)
    assert found.is_exact
    weights = [
        math.comb(size, count)
        * (rate.numerator**count)
        * (rate.denominator - rate.numerator) ** (size - count)
        for count in range(size // m + 1, min(size // m + 60, size) + 1)
    ]
    shown = (
        math.comb(size, held)
        * rate.numerator**held
        * (rate.denominator - rate.numerator) ** (size - held)
    )
    above = sum(weights)
    mean = Fraction(
        sum(w * count for count, w in enumerate(weights, start=size // m + 1)), above * size
    )
    # Both as published, or either distorted: the other lends the share that it shows.
    one_distorted = Fraction(above, 2 * above + shown)
    expected = (1 - one_distorted) * Fraction(held, size) + one_distorted * mean
    assert np.allclose(found.estimate, float(expected), rtol=1e-8)


def test_a_rare_value_is_less_credible():
    found = [
        mask_credibility(np.array([1, 1, 0, 0]), np.array([2, 2, 3, 3]), 2, Fraction(1, n))
        for n in (2, 10, 1000)
    ]
    worst = [one.estimate.max() for one in found]
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_chains_find_what_is_found_by_going_through(monkeypatch, seed):
    draw = np.random.default_rng(seed)
    m = int(draw.integers(2, 4))
    sizes = draw.integers(2, 6, size=12)
    held = np.minimum(draw.binomial(sizes, 0.4), sizes // m)
    exact = mask_credibility(held, sizes, m, Fraction(1, 3))
    assert exact.is_exact
    monkeypatch.setattr(mask_worlds, "_MOST_WORLDS", 0)
    found = mask_credibility(held, sizes, m, Fraction(1, 3), n_steps=4000, seed=seed)
    assert not found.is_exact
    assert found.estimate.tolist() == pytest.approx(exact.estimate.tolist(), abs=0.05)
    assert np.all((found.low - 0.02 <= exact.estimate) & (exact.estimate <= found.high + 0.02))
    assert np.all(found.n_draws >= 1)


def test_chains_that_were_cut_short_say_nothing(monkeypatch):
    monkeypatch.setattr(mask_worlds, "_MOST_WORLDS", 0)
    sizes = np.full(600, 3)
    held = np.repeat([1, 0], 300)
    short = mask_credibility(held, sizes, 2, n_steps=20)
    assert not short.is_said.all()


def test_the_buckets_that_lend_have_the_highest_shares():
    violating, donors = split_buckets(np.array([4, 1, 2, 3, 0]), np.array([4, 4, 4, 9, 3]), 2)
    assert violating.tolist() == [0]
    assert donors.tolist() == [2]
