"""Anatomy: what holds for every table, and the draw against its definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import kernels
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.method import Problem
from shoal.core.plan import Plan
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.grouping.anatomy import Anatomy, draw_buckets

tables = st.one_of(
    st.lists(st.integers(1, 6), min_size=1, max_size=8),
    st.lists(st.integers(1, 40), min_size=3, max_size=12),
    st.lists(st.integers(1, 2), min_size=65, max_size=80),
    st.builds(lambda size, number: [size] * number, st.integers(1, 20), st.integers(1, 9)),
)
draws = st.sampled_from(["published", "ring"])


def problem_of(counts: list[int], seed: int) -> Problem:
    domain = Domain.of_texts(
        "s", [f"s{value:03d}" for value in range(len(counts) - 1)], has_missing=True
    )
    cells = Cells((domain,), np.arange(len(counts)).reshape(-1, 1), np.array(counts))
    return Problem(cells, Schema(quasi=["q"], sensitive="s"), {}, Secret.from_seed(seed))


def buckets_of(plan: Plan) -> list[Counter[int]]:
    group, _, bucket = plan.assign.expand()
    found: list[Counter[int]] = [Counter() for _ in range(plan.n_buckets)]
    for value, number in zip(group.tolist(), bucket.tolist(), strict=True):
        found[number][value] += 1
    return found


@given(tables, st.integers(2, 7), draws, st.integers(0, 99))
@settings(max_examples=250)
def test_every_bucket_holds_ell_rows_or_more_of_different_values(counts, ell, draw, seed):
    method = Anatomy(ell=ell, draw=draw)
    n_rows = sum(counts)
    if max(counts) * ell > n_rows:
        with pytest.raises(InfeasibleError) as caught:
            method.plan(problem_of(counts, seed))
        best = n_rows // max(counts)
        assert caught.value.best == ({"ell": best} if best >= 2 else {})
        return
    plan = method.plan(problem_of(counts, seed))
    plan.check()
    assert plan.n_buckets == n_rows // ell
    for bucket in buckets_of(plan):
        assert bucket.total() >= ell
        assert set(bucket.values()) == {1}


@given(tables, st.integers(2, 7), draws, st.integers(0, 99), st.data())
@settings(max_examples=250)
def test_protected_values_are_at_most_one_in_ell_of_every_bucket(counts, ell, draw, seed, data):
    problem = problem_of(counts, seed)
    codes = data.draw(
        st.lists(st.integers(0, len(counts) - 1), min_size=1, max_size=4, unique=True)
    )
    domain = problem.cells.domain("s")
    method = Anatomy(ell=ell, draw=draw, protect=[domain.text(code) for code in codes])
    n_rows, n_protected = sum(counts), sum(counts[code] for code in codes)
    if n_protected > n_rows // ell:
        with pytest.raises(InfeasibleError) as caught:
            method.plan(problem)
        best = n_rows // n_protected
        assert caught.value.best == ({"ell": best} if best >= 2 else {})
        return
    plan = method.plan(problem)
    plan.check()
    assert plan.n_buckets == n_rows // ell
    for bucket in buckets_of(plan):
        assert bucket.total() >= ell
        assert sum(bucket[code] for code in codes) <= 1


def run_draw(function, counts: list[int], ell: int, seed: int):
    """Run the kernel; give its buckets, the rows left of each class, and the runs."""
    group = np.argsort(-np.array(counts), kind="stable")
    left = np.array(counts)[group]
    n = sum(counts)
    runs = [np.zeros(n, dtype=np.int64) for _ in range(3)]
    numbers = Secret.from_seed(seed).numbers("draw", n)
    latest, run = np.full(len(counts), -2), np.zeros(len(counts), dtype=np.int64)
    n_buckets, n_runs = function(left, group, ell, numbers, latest, run, *runs)
    triples = [tuple(triple) for triple in np.stack(runs, axis=1)[:n_runs].tolist()]
    drawn: list[set[int]] = [set() for _ in range(n_buckets)]
    for which, first, length in triples:
        for bucket in range(first, first + length):
            assert which not in drawn[bucket]
            drawn[bucket].add(which)
    remaining = dict(zip(group.tolist(), left.tolist(), strict=True))
    return drawn, remaining, triples


@given(tables, st.integers(2, 7), st.integers(0, 99))
@settings(max_examples=250)
def test_every_bucket_is_drawn_from_the_largest_classes(counts, ell, seed):
    drawn, remaining, runs = run_draw(draw_buckets, counts, ell, seed)
    left = dict(enumerate(counts))
    for bucket in drawn:
        assert len(bucket) == ell
        others = [left[which] for which in left if which not in bucket]
        assert min(left[which] for which in bucket) >= max([1, *others])
        for which in bucket:
            left[which] -= 1
    assert left == remaining
    assert sum(count > 0 for count in left.values()) < ell
    # No run could have been made longer.
    ends = {(which, first + length) for which, first, length in runs}
    assert not ends & {(which, first) for which, first, _ in runs}
    if max(counts) * ell <= sum(counts):
        # [Xiao06] Property 1.
        assert max(left.values()) <= 1


@given(tables, st.integers(2, 7), st.integers(0, 99))
@settings(max_examples=50)
def test_compiled_and_plain_draw_agree(counts, ell, seed):
    plain = kernels.load_plain("shoal.grouping._kernels").draw_buckets
    assert run_draw(plain, counts, ell, seed) == run_draw(draw_buckets, counts, ell, seed)


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_different_secrets_give_different_plans(seed):
    method = Anatomy(ell=3)
    plans = [buckets_of(method.plan(problem_of([20] * 7, number))) for number in (seed, seed + 1)]
    assert plans[0] != plans[1]
