"""What the foreground attack does first if its budget of work is small."""

from __future__ import annotations

from itertools import pairwise

import pytest

import shoal
from shoal.attacks import Foreground
from shoal.core.progress import silent
from shoal.foreground.pieces import Pieces, most_sets
from shoal.workflow.gate import GateError, Outcome, judge, pass_gate
from shoal.workflow.make import ConfiguredAttack

BUDGETS = [1, 10**7, 10**8, 3 * 10**8, 10**9, 3 * 10**9, 10**10, 10**12]


@pytest.mark.parametrize("n_entries", [1, 1000, 50_000, 10_000_000])
@pytest.mark.parametrize(("n_values", "n_sets", "n_columns"), [(0, 3, 2), (1, 0, 3), (9, 127, 7)])
def test_a_larger_budget_never_attacks_less(n_entries, n_values, n_sets, n_columns):
    whole = Pieces(n_values, n_sets)
    chosen = [whole.within(units, n_entries, n_columns) for units in BUDGETS]
    for smaller, larger in pairwise(chosen):
        assert smaller.n_values <= larger.n_values
        # Longer sets come only after all values.
        assert smaller.n_sets <= larger.n_sets or smaller.n_values < larger.n_values
    for units, one in zip(BUDGETS, chosen, strict=True):
        least = Pieces(min(n_values, 1), min(n_columns, n_sets))
        assert one.cost(n_entries) <= max(units, least.cost(n_entries))
    assert whole.within(whole.cost(n_entries), n_entries, n_columns) == whole


def test_sets_are_bounded_by_the_most_frequent_values():
    assert most_sets([], 0.1) == 0
    assert most_sets([1.0] * 7, 1.0) == 2**7 - 1
    assert most_sets([0.4, 0.3, 0.2], 1.0) == 0
    assert most_sets([1.0] * 900, 0.1) == 500
    # More people have no fewer frequent signatures.
    counted = [most_sets([0.6, 0.5, 0.3, 0.2, 0.1], 4000 / n) for n in range(1, 200_000, 999)]
    assert counted == sorted(counted)
    assert counted[-1] > counted[0]


def test_no_budget_pays_for_a_model_per_distinct_text():
    texts = [f"job {n}" for n in range(150) for _ in range(n % 7 + 1)]
    columns = {"sex": ["F", "M"] * (len(texts) // 2), "job": texts}
    table = shoal.read(columns, shoal.Schema(quasi="sex", sensitive="job"))
    made = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    (found,) = shoal.attack(made, Foreground(epsilon="0.1"), work=10**15)
    assert found.cut_short == "100 of 150 values were attacked"
    attack, published = Foreground(), made.levelled
    aims, _ = attack.aims(published)
    totals = [int(published.buckets.totals[code]) for (code,) in aims]
    assert totals == sorted(totals, reverse=True)
    assert attack.work_of(published, len(texts)) < 10**10


@pytest.fixture(scope="module")
def release():
    table = shoal.read(shoal.datasets.census(rows=600, seed=1))
    return shoal.anonymize(table, shoal.Anatomy(ell=3), seed=1)


def test_the_same_work_finds_the_same_and_less_work_says_what_is_missing(release):
    attack = Foreground(epsilon="0.2")
    (whole,) = shoal.attack(release, attack)
    assert not whole.cut_short
    work = Pieces(2, 7).cost(600)
    (first,) = shoal.attack(release, attack, work=work)
    (again,) = shoal.attack(release, attack, work=work)
    assert first.to_dict() == again.to_dict()
    n_values = whole.headline["values attacked"].split(" of ")[1]
    assert first.cut_short.startswith(f"2 of {n_values} values were attacked and ")
    assert first.to_dict()["cut_short"] == first.cut_short
    assert "attribute sets were left out" in first.cut_short


def test_a_judged_attack_without_enough_work_fails_and_more_work_is_advised(release):
    entry = ConfiguredAttack(name="foreground", parameters={"epsilon": "0.2"}, max_people=10**6)
    others = dict.fromkeys(["homogeneity", "linkage", "membership"], "it is not looked at here")
    (judged, *_), _ = judge(release, [entry], others, silent, Pieces(1, 7).cost(600))
    assert judged.outcome is Outcome.FAILED
    assert judged.is_only_limited
    with pytest.raises(GateError, match="foreground: it was cut short, because 1 of") as caught:
        pass_gate([judged], release.manifest, None)
    assert "--attack-work" in caught.value.hint
    accepted = pass_gate([judged], release.manifest, "the other values are public")
    assert accepted.startswith("the other values are public (foreground: it was cut short")
    (judged, *_), _ = judge(release, [entry], others, silent)
    assert judged.outcome is Outcome.PASSED
