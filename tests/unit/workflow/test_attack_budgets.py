"""What each attack does with little work: the first pieces of the whole, and it says so."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import shoal
from shoal.attacks import Learned, Membership, Minimality, Rules
from shoal.core.attack import TrialPlan
from shoal.core.progress import silent
from shoal.grouping import mask_worlds, minimality
from shoal.hiding import attack_learned, attack_rules
from shoal.membership import pieces
from shoal.membership.pieces import cost_of_test, plan_within
from shoal.workflow.gate import Outcome, judge
from shoal.workflow.make import ConfiguredAttack

BUDGETS = [1, 10**6, 10**7, 10**8, 10**9, 10**10, 10**18]
N_ROWS = 500


@pytest.fixture(scope="module")
def table():
    census = shoal.datasets.census(rows=N_ROWS, seed=1)
    schema = census.schema
    return shoal.read(
        census.columns,
        shoal.Schema(
            quasi=schema.quasi[:3],
            sensitive=schema.sensitive,
            identifying=[name for name in census.columns if name not in
                         (*schema.quasi[:3], *schema.sensitive)],
        ),
    )  # fmt: skip


def release_by(table, method):
    return shoal.anonymize(table, method, seed=1)


@pytest.fixture(scope="module")
def grouped(table):
    return release_by(table, shoal.Mondrian(k=5, ell=2))


@pytest.fixture(scope="module")
def suppressed():
    rng = np.random.default_rng(5)
    title = rng.integers(0, 4, 400)
    columns = {
        "title": [f"title {code}" for code in title],
        "salary": [f"level {code}" for code in np.where(rng.random(400) < 0.9, title, 0)],
        "sex": [["F", "M"][code] for code in rng.integers(0, 2, 400)],
        "city": [f"city {code}" for code in rng.integers(0, 3, 400)],
    }
    table = shoal.read(columns, shoal.Schema(quasi=["title", "sex", "city"], sensitive="salary"))
    method = shoal.RuleHiding(private=["salary where sex = 'F'"], delta=0.8, gamma=5)
    return release_by(table, method)


def attacked(release, attack, **options):
    (found,) = shoal.attack(release, attack, **options)
    return found


def stated(found):
    return {name: value for name, value in found.to_dict().items() if name != "cut_short"}


# --- membership ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 100, 3000, 10_000_000])
@pytest.mark.parametrize("is_compared", [False, True])
def test_more_work_tests_no_less(n_rows, is_compared):
    wanted = TrialPlan(Fraction(1, 2), 100_000, is_compared, 50_000_000)
    plans = [plan_within(units, wanted, n_rows) for units in BUDGETS]
    for smaller, larger in pairwise(plans):
        assert smaller.max_rows <= larger.max_rows
        assert smaller.max_steps <= larger.max_steps
        assert smaller.compare <= larger.compare
    assert plans[-1] == wanted
    for units, plan in zip(BUDGETS, plans, strict=True):
        least = cost_of_test(min(pieces.FEWEST_ROWS, n_rows))
        n_tested = min(plan.max_rows, n_rows)
        assert n_tested >= min(pieces.FEWEST_ROWS, n_rows)
        assert cost_of_test(n_tested) <= max(units, least)


def test_a_smaller_membership_test_is_the_test_of_so_many_rows(grouped, monkeypatch):
    monkeypatch.setattr(pieces, "FEWEST_ROWS", 120)
    whole = attacked(grouped, Membership())
    assert whole.headline["published in the test"] == N_ROWS // 2
    assert "by a test" not in whole.line
    found = attacked(grouped, Membership(), work=1)
    assert stated(found) == stated(attacked(grouped, Membership(max_rows=120)))
    n_tested = found.headline["published in the test"] + found.headline["held out"]
    assert 80 < n_tested < 160
    assert f", by a test with {n_tested} of {N_ROWS} people" in found.line
    # A smaller sample has a wider interval, which a limit judges; nothing was left out.
    assert not found.cut_short

    def width(one):
        return one.headline["AUC, 95 % to"] - one.headline["AUC, 95 % from"]

    assert width(found) > width(whole)


def test_groupings_and_fakes_that_are_left_out_are_said():
    rng = np.random.default_rng(3)
    names = ("title", "city", "wage")
    columns = {name: [f"{name} {code}" for code in rng.integers(0, 6, 400)] for name in names}
    table = shoal.read(columns, shoal.Schema(quasi=names[:2], sensitive="wage"))
    method = shoal.Slicing(
        ell="5/4", columns=[[name] for name in names], buckets="random", bucket_size=10
    )
    release = release_by(table, method)
    attack = Membership(compare=True)
    whole = attacked(release, attack)
    assert not whole.cut_short
    found = attacked(release, attack, work=1)
    assert found.cut_short == (
        "the test was not repeated with rows grouped otherwise and fake tuples were not counted"
    )
    assert "not counted" in found.headline["fake tuples"]
    # The part that is judged is whole: there are few people.
    assert found.headline["AUC"] == whole.headline["AUC"]


# --- minimality ----------------------------------------------------------------------------------


def test_fewer_tables_are_the_first_ones(grouped, table):
    cost = minimality._TABLE_PER_PERSON * N_ROWS
    whole = attacked(grouped, Minimality(n_tables=40), people=table)
    assert not whole.cut_short
    found = attacked(grouped, Minimality(n_tables=40), people=table, work=10 * cost)
    n_tables = found.headline["tables published"]
    assert 1 <= n_tables < 10
    assert found.cut_short == f"{n_tables} of 40 tables were published"
    few = attacked(grouped, Minimality(n_tables=n_tables), people=table)
    assert stated(few) == stated(found)
    assert attacked(grouped, Minimality(n_tables=40), people=table, work=1).headline[
        "tables published"
    ] == 1  # fmt: skip


def test_exact_answers_are_never_cut_short():
    people = {"home": ["q1"] * 2 + ["q2"] * 5, "disease": ["HIV"] * 2 + ["flu"] * 5}
    table = shoal.read(people, shoal.Schema(quasi=["home"], sensitive="disease"))
    merged = shoal.Mondrian(ell=2, protect=["HIV"], publish="bucketized")
    found = attacked(release_by(table, merged), Minimality(), people=table, work=3000)
    assert found.headline["exact"] is True
    assert not found.cut_short


def test_chains_of_a_mask_release_are_shorter(table, monkeypatch):
    monkeypatch.setattr(mask_worlds, "_MOST_WORLDS", 0)
    (value, *_) = table.domains[table.schema.sensitive[0]].labels()
    release = release_by(table, shoal.Mask(m=3, k=3, protect=[value]))
    found = attacked(release, Minimality(), work=1)
    assert found.cut_short == "chains had 1000 of 20000 steps"
    assert found.headline["exact"] is False


# --- suppressed cells ----------------------------------------------------------------------------


def test_without_work_only_the_shortest_rules_are_used(suppressed):
    whole = attacked(suppressed, Rules())
    assert not whole.cut_short
    found = attacked(suppressed, Rules(), work=1)
    assert found.cut_short == "antecedents named at most 1 columns instead of 3"
    assert stated(found) == stated(attacked(suppressed, Rules(max_len=1)))
    # Six sets of at most two of four columns would be ten.
    found = attacked(suppressed, Rules(), work=2 * 400 * 10)
    assert found.cut_short == "antecedents named at most 2 columns instead of 3"
    assert stated(found) == stated(attacked(suppressed, Rules(max_len=2)))


@pytest.mark.parametrize("n_columns", [1, 2, 7, 30])
def test_more_work_allows_no_shorter_rules(n_columns):
    longest = [attack_rules._longest(n_columns, most) for most in BUDGETS]
    assert longest == sorted(longest)
    assert longest[0] == 1
    assert longest[-1] == n_columns


def test_without_work_nobody_is_simulated_and_models_learn_from_less(suppressed, monkeypatch):
    monkeypatch.setattr(attack_learned, "_FEWEST_LEARNED", 100)
    whole = attacked(suppressed, Learned())
    assert not whole.cut_short
    found = attacked(suppressed, Learned(), work=1)
    assert found.cut_short == (
        "models were learned from at most 100 cells and "
        "the publisher was not simulated as often as needed"
    )
    assert found.to_dict() == attacked(suppressed, Learned(), work=1).to_dict()
    assert found.headline["private cells there"] == whole.headline["private cells there"]


@pytest.mark.parametrize("n_cells", [1, 1000, 2_000_000])
def test_more_work_learns_from_no_fewer_cells(suppressed, n_cells):
    rows = suppressed.published.rows
    most = [attack_learned._most_learned(units, n_cells, rows, [0, 1], 3) for units in BUDGETS]
    assert most == sorted(most)
    assert most[0] == min(n_cells, attack_learned._FEWEST_LEARNED)
    assert most[-1] == n_cells


# --- the gate ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rules", "learned"])
def test_a_judged_attack_that_was_cut_short_fails(suppressed, name):
    entry = ConfiguredAttack(name=name, parameters={}, max_people=10**6)
    others = dict.fromkeys({"rules", "learned", "linkage", "membership"} - {name}, "not here")
    (judged, *_), _ = judge(suppressed, [entry], others, silent, 1)
    assert judged.outcome is Outcome.FAILED
    assert judged.is_only_limited
    assert judged.cut_short in str(judged)
    (judged, *_), _ = judge(suppressed, [entry], others, silent)
    assert judged.outcome is Outcome.PASSED
