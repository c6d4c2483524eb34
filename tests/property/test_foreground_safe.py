"""Foreground-safe releases of random tables: the attack finds nobody, or no release is made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.foreground.attribute_sets import sample_size, usable_sets
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.method import _cut, _deal
from shoal.foreground.mining import expose
from shoal.locating.exposed import Exposed

COLUMNS = ("town", "sex", "job")
EPSILONS = (0.37, 0.2, 0.1, 0.01)
"""J of 3, 10, 40 and 3993 rows."""


@st.composite
def tables(draw, most_rows=60):
    n_values = draw(st.integers(1, 4))
    rows = draw(
        st.lists(
            st.tuples(*(st.integers(0, 2) for _ in COLUMNS), st.integers(0, n_values - 1)),
            min_size=1,
            max_size=most_rows,
        )
    )
    return np.array(rows), n_values


def problem_of(rows, n_values):
    texts = ["é", "b", "c", "d"][:n_values]
    domains = [Domain.of_texts(name, ["x", "y", "z"]) for name in COLUMNS]
    cells = Cells.of_rows([*domains, Domain.of_texts("disease", texts)], rows)
    return Problem(cells, Schema(quasi=COLUMNS, sensitive="disease"), {}, Secret.from_seed(1))


def exposed_of(plan):
    cell, _, bucket = plan.assign.expand()
    codes = plan.classes.codes[cell]
    domains = plan.classes.domains
    return Exposed.of_rows(domains[:-1], codes[:, :-1], bucket, codes[:, -1], domains[-1])


methods = st.fixed_dictionaries(
    {
        "r": st.sampled_from([1, 2, "5/2", 3, 4]),
        "epsilon": st.sampled_from(EPSILONS),
        "policy": st.sampled_from(["pool", "prior", "half"]),
    }
)


@given(tables(), methods, st.booleans())
def test_the_attack_finds_nobody_in_what_is_planned(table, parameters, is_named):
    problem = problem_of(*table)
    first = problem.cells.domain("disease").texts[problem.cells.codes[0, -1]]
    method = shoal.ForegroundSafe(value=first if is_named else None, **parameters)
    try:
        plan = method.plan(problem)
    except InfeasibleError as error:
        reached = Fraction(error.best["r"])
        assert reached < method.r
        return
    plan.check()
    if not is_named and plan.notes["rounds"] > 1:
        # One bucket of all rows says nothing, so it is refused.
        assert plan.n_buckets > 1
    exposed = exposed_of(plan)
    sets = usable_sets(exposed.looks, sample_size(method.epsilon, method.sigma))
    codes = [problem.cells.codes[0, -1]] if is_named else range(table[1])
    for code in codes:
        found, _ = expose(Target.of(exposed, [int(code)]), sets, policy=method.policy)
        assert found.p.max() <= 1 / method.r + 1e-9


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=60),
    st.sampled_from([Fraction(1), Fraction(2), Fraction(5, 2), Fraction(4)]),
)
def test_cuts_keep_the_share_in_every_bucket_of_a_profile_that_can(rows, r):
    profile, carries = (np.array(part) for part in zip(*sorted(rows), strict=True))
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    order = order[np.argsort(profile[order], kind="stable")]
    profile, carries = profile[order], carries[order].astype(bool)
    size = int(np.ceil(r))
    bucket = _cut(profile, carries, size, r)
    assert np.all(np.isin(np.diff(bucket), [0, 1]))
    for number in np.unique(bucket):
        inside = bucket == number
        (own,) = np.unique(profile[inside])
        whole = profile == own
        if carries[whole].sum() * r <= whole.sum():
            assert carries[inside].sum() * r <= inside.sum()
            assert inside.sum() >= min(size, whole.sum())
        else:
            assert np.array_equal(inside, whole)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=60),
    st.integers(1, 4),
)
def test_dealt_buckets_hold_a_value_once_or_are_whole_profiles(rows, size):
    profile, value = (np.array(part) for part in zip(*sorted(rows), strict=True))
    bucket = _deal(profile, value, size)
    assert np.array_equal(np.unique(bucket), np.arange(bucket.max() + 1))
    for number in np.unique(bucket):
        inside = bucket == number
        (own,) = np.unique(profile[inside])
        whole = profile == own
        if np.bincount(value[whole]).max() <= whole.sum() // size:
            assert np.bincount(value[inside]).max() == 1
            assert inside.sum() >= size
        else:
            assert np.array_equal(inside, whole)


@pytest.mark.parametrize(("policy", "least"), [("pool", 1), ("prior", 1), ("half", 0)])
def test_published_files_are_attacked_in_vain(policy, least, tmp_path):
    n_published = 0
    for seed in range(2):
        random = np.random.default_rng(seed)
        columns = {name: random.integers(0, 3, 120).tolist() for name in COLUMNS}
        odds = np.where(np.array(columns["sex"]) == 1, 0.3, 0.05)
        columns["disease"] = np.where(random.random(120) < odds, "flu", "cold").tolist()
        table = shoal.read(columns, shoal.Schema(quasi=COLUMNS, sensitive="disease"))
        method = shoal.ForegroundSafe(value="flu", r=3, epsilon=0.2, policy=policy)
        try:
            release = shoal.anonymize(table, method, seed=seed)
        except InfeasibleError:
            continue
        n_published += 1
        folder = release.write(tmp_path / f"release {seed}")
        assert shoal.verify(folder).holds
        attack = shoal.attacks.Foreground(
            value="flu", r=3, epsilon=0.2, policy=policy, adversary="paper"
        )
        (found,) = shoal.attack(folder, attack)
        assert found.n_breached == 0
    assert n_published >= least
