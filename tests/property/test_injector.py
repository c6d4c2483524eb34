"""Injector against slow twins: who has how many values, and what no release can reach."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from injector_cases import (
    CHOICES,
    bucket_contents,
    forbidden_of,
    problem_of,
    row_of,
    tables,
)

from shoal.checks import valid_values
from shoal.core.arrays import marks_of
from shoal.core.declared import changed
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.injector import plain_bucketization as plain
from shoal.injector._bucketization_kernels import count_clashes
from shoal.injector.bucketization import Classes, bucketize
from shoal.injector.method import Injector
from shoal.knowledge import Fact, Knowledge, NegativeRule


@given(tables(), st.integers(2, 4), st.sampled_from(CHOICES), st.booleans())
@settings(max_examples=400)
def test_everybody_keeps_ell_values_or_no_release_could_give_them(case, ell, choose, suppresses):
    rows, rules = case
    known = Knowledge("value", rules)
    method = Injector(
        ell=ell, choose=choose, rules=known, mine=False,
        on_infeasible="suppress" if suppresses else "error",
    )  # fmt: skip
    whole = valid_values([row[2] for row in rows], [forbidden_of(rules, row) for row in rows])
    is_feasible = all(len(valid) >= ell for valid in whole)
    try:
        plan = method.plan(problem_of(rows))
    except InfeasibleError as error:
        assert not is_feasible
        fewest = min(map(len, whole))
        if not suppresses:
            assert error.best.get("ell", fewest) == fewest  # noqa: PT017 - or it does not raise
        return
    assert is_feasible or suppresses
    plan.check()
    if is_feasible:
        assert plan.drop.n_rows == 0
    buckets = bucket_contents(plan)
    assert set(buckets) == set(range(plan.n_buckets))
    placed = Counter()
    for cells in buckets.values():
        held = [row_of(plan, cell) for cell in cells]
        placed.update(held)
        valid = valid_values([row[2] for row in held], [forbidden_of(rules, row) for row in held])
        assert min(map(len, valid)) >= ell
    left_out = Counter(rows) - placed
    assert sum(left_out.values()) == plan.drop.n_rows
    assert not placed - Counter(rows)


@given(tables(max_rows=16), st.integers(2, 3))
@settings(max_examples=150)
def test_suppression_leaves_out_no_row_that_could_stay(case, ell):
    rows, rules = case
    method = Injector(ell=ell, rules=Knowledge("value", rules), mine=False,
                      on_infeasible="suppress")  # fmt: skip
    left = list(rows)
    while left:
        valid = valid_values([row[2] for row in left], [forbidden_of(rules, row) for row in left])
        kept = [row for row, values in zip(left, valid, strict=True) if len(values) >= ell]
        if len(kept) == len(left):
            break
        left = kept
    try:
        plan = method.plan(problem_of(rows))
    except InfeasibleError:
        assert not left
        return
    assert plan.drop.n_rows == len(rows) - len(left)


@given(tables(), st.sampled_from(CHOICES))
@settings(max_examples=150)
def test_what_is_mined_from_a_table_forbids_nobody_their_own_value(case, choose):
    rows, _ = case
    method = Injector(ell=2, min_exp=0.5, max_len=None, choose=choose, on_infeasible="suppress")
    problem = problem_of(rows)
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    known = Knowledge.from_toml(plan.witnesses["knowledge.toml"].decode())
    for cells in bucket_contents(plan).values():
        held = [row_of(plan, cell) for cell in cells]
        forbidden = [forbidden_of(known, row) for row in held]
        assert all(row[2] not in excluded for row, excluded in zip(held, forbidden, strict=True))
        valid = valid_values([row[2] for row in held], forbidden)
        assert min(map(len, valid)) >= 2


@given(tables(), st.sampled_from(CHOICES))
@settings(max_examples=200)
def test_rules_that_are_not_certain_never_break_a_bucket(case, choose):
    """With min_conf below 1 somebody's own value may be forbidden: buckets go by flow alone."""
    rows, _ = case
    method = Injector(ell=2, min_exp=0.3, min_conf=0.6, choose=choose, on_infeasible="suppress")
    try:
        plan = method.plan(problem_of(rows))
    except InfeasibleError:
        return
    known = Knowledge.from_toml(plan.witnesses["knowledge.toml"].decode())
    for cells in bucket_contents(plan).values():
        held = [row_of(plan, cell) for cell in cells]
        valid = valid_values([row[2] for row in held], [forbidden_of(known, row) for row in held])
        assert min(map(len, valid)) >= 2


@pytest.mark.parametrize("choose", CHOICES)
def test_a_row_that_can_have_one_value_only_is_never_hidden_in_a_bucket(choose):
    """Rows (a, {}), (b, {}), (b, {a}): one bucket of all would leave the last with b alone."""
    rows = [("a", "F", "a"), ("a", "F", "b"), ("a", "M", "b")]
    known = Knowledge("value", [NegativeRule(antecedent={"sex": "M"}, value="a")])
    method = Injector(ell=2, rules=known, mine=False, choose=choose)
    with pytest.raises(InfeasibleError) as raised:
        method.plan(problem_of(rows))
    assert raised.value.best == {}
    plan = changed(method, on_infeasible="suppress").plan(problem_of(rows))
    assert (plan.n_buckets, plan.drop.n_rows) == (1, 1)


@given(st.data())
@settings(max_examples=60)
def test_more_values_than_a_word_has_bits(data):
    n_values = data.draw(st.integers(65, 140))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n_classes = data.draw(st.integers(20, 60))
    value = np.sort(rng.integers(0, n_values, n_classes))
    marks = rng.random((n_classes, n_values)) < 0.1
    marks[np.arange(n_classes), value] = False
    domain = Domain.of_texts("value", [f"v{i:03d}" for i in range(n_values)])
    classes, _ = Classes.of_cells(
        value, ForbiddenSets.of_marks(marks), rng.integers(1, 4, n_classes), domain
    )
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in classes.sets]
    members = np.repeat(np.arange(classes.n_classes), classes.counts).tolist()
    whole = valid_values([int(classes.value[m]) for m in members],
                         [sets[classes.which[m]] for m in members])  # fmt: skip
    if min(map(len, whole)) < 3:
        return
    choose = data.draw(st.sampled_from(CHOICES))
    grouping = bucketize(classes, 3, choose)
    assert Counter(grouping.row_class.tolist()) == Counter(members)
    for bucket in range(grouping.n_buckets):
        held = grouping.row_class[grouping.bucket == bucket].tolist()
        valid = valid_values([int(classes.value[m]) for m in held],
                             [sets[classes.which[m]] for m in held])  # fmt: skip
        assert min(map(len, valid)) >= 3


def test_a_fact_about_one_person_holds_for_all_rows_like_theirs():
    rows = [("a", "F", value) for value in "sstttu"]
    problem = problem_of(rows, {"7": 0})
    known = Knowledge("value", facts=[Fact(person="7", value="u")])
    plan = Injector(ell=2, rules=known, mine=False).plan(problem)
    cell_of_fact = 0
    for cells in bucket_contents(plan).values():
        held = [row_of(plan, cell) for cell in cells]
        forbidden = [{"u"} if cell == cell_of_fact else set() for cell in cells]
        valid = valid_values([row[2] for row in held], forbidden)
        assert min(map(len, valid)) >= 2


@st.composite
def classes_of_rows(draw):
    """Classes of a few rows; some forbid their own value."""
    n_values = draw(st.integers(2, 5))
    values, excluded = st.integers(0, n_values - 1), st.integers(0, 2**n_values - 1)
    rows = draw(st.lists(st.tuples(values, excluded), min_size=2, max_size=14))
    if not draw(st.booleans()):
        rows = [(value, sets & ~(1 << value)) for value, sets in rows]
    value = np.array([value for value, _ in rows], dtype=np.int64)
    marks = np.array([[bool(sets >> v & 1) for v in range(n_values)] for _, sets in rows])
    domain = Domain.of_texts("value", [f"v{v}" for v in range(n_values)])
    counts = np.ones(len(rows), dtype=np.int64)
    classes, _ = Classes.of_cells(value, ForbiddenSets.of_marks(marks), counts, domain)
    return classes


@given(classes_of_rows(), st.sampled_from([1, 2, 256]))
def test_clashes_that_are_listed_are_those_of_all_pairs(classes, at_a_time):
    left = np.where(classes.forbids_own, 0, classes.counts)
    pairs = [int(left[classes.clash(one)].sum()) for one in range(classes.n_classes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.injector.bucketization._VALUES_A_TIME", at_a_time)
        barring = classes.barring
    assert np.array_equal(marks_of(barring, classes.n_classes), classes.sets[classes.which].T)
    starts = np.searchsorted(classes.value, np.arange(classes.domain.size + 1))
    found = np.zeros(classes.n_classes, dtype=np.int64)
    count_clashes(left, classes.value, classes.words, barring, starts, found)
    assert found.tolist() == pairs


@given(classes_of_rows(), st.integers(2, 3))
@settings(max_examples=400)
def test_the_fast_bucketization_is_that_of_figure_2(classes, ell):
    """The plain function is the reference, down to ties and the order of buckets."""
    ivs = [frozenset(np.flatnonzero(row).tolist()) for row in classes.sets]
    kinds = list(zip(classes.value.tolist(), classes.which.tolist(), strict=True))
    rows = [kind for kind, n in zip(kinds, classes.counts.tolist(), strict=True) for _ in range(n)]
    if min(map(len, plain.valid_values(rows, ivs))) < ell:
        return
    grouping = bucketize(classes, ell, "printed")
    held = [[] for _ in range(grouping.n_buckets)]
    for bucket, kind in zip(grouping.bucket.tolist(), grouping.row_class.tolist(), strict=True):
        held[bucket].append(kinds[kind])
    expected = plain.bucketize_plainly(rows, ivs, ell)
    assert [sorted(rows) for rows in held] == [sorted(rows) for rows in expected]


@given(classes_of_rows())
def test_the_valid_values_of_the_plain_figure_1_are_those_of_the_checker(classes):
    ivs = [frozenset(np.flatnonzero(row).tolist()) for row in classes.sets]
    rows = list(zip(classes.value.tolist(), classes.which.tolist(), strict=True))
    checked = valid_values([value for value, _ in rows], [ivs[which] for _, which in rows])
    assert [set(values) for values in checked] == plain.valid_values(rows, ivs)
