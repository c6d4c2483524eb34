"""How many adversarial rules are kept at most, and what is said where there are more."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.core import kernels, progress
from shoal.core.errors import ParameterError
from shoal.core.progress import Work
from shoal.hiding import row_sets
from shoal.hiding import rules as capacity
from shoal.hiding.cells import PRIVATE, HiddenTable, Limits, pack
from shoal.hiding.hiding import hide
from shoal.hiding.mining import mine
from shoal.hiding.row_sets import Estimate, RowSetSearch
from shoal.hiding.rules import most_rules

THRESHOLDS = {"delta": 0.6, "gamma": 2}


@pytest.fixture
def table():
    generator = np.random.default_rng(4)
    codes = generator.integers(0, 2, (60, 5))
    state = np.where(generator.random(codes.shape) < 0.1, PRIVATE, 0).astype(np.uint8)
    return codes, state


def test_as_many_rules_as_can_be_kept_are_mined(table, monkeypatch):
    n_rules = len(mine(*table, **THRESHOLDS))
    assert n_rules > 50
    monkeypatch.setattr(capacity, "_MOST_RULES", n_rules)
    assert len(mine(*table, **THRESHOLDS)) == n_rules


def test_one_rule_more_than_can_be_kept_is_refused(table, monkeypatch):
    n_rules = len(mine(*table, **THRESHOLDS))
    monkeypatch.setattr(capacity, "_MOST_RULES", n_rules - 1)
    with pytest.raises(ParameterError, match=f"more than {n_rules - 1} adversarial") as caught:
        mine(*table, **THRESHOLDS)
    assert caught.value.hint is not None
    assert "gamma" in caught.value.hint
    assert "max_len" in caught.value.hint
    assert len(mine(*table, max_len=1, **THRESHOLDS)) < n_rules


@pytest.mark.parametrize("mode", ["paper", "public", "oblivious"])
def test_hiding_refuses_as_many_rules(table, monkeypatch, mode):
    monkeypatch.setattr(capacity, "_MOST_RULES", 20)
    with pytest.raises(ParameterError, match="more than 20 adversarial rules") as caught:
        hide(*table, mode=mode, **THRESHOLDS)
    assert caught.value.hint is not None
    assert "gamma" in caught.value.hint


def test_rows_of_rules_are_refused_where_they_cannot_be_followed(table, monkeypatch):
    rules = mine(*table, **THRESHOLDS)
    shown = np.where(table[1] == PRIVATE, -1, table[0])
    antecedents = np.unique(rules.antecedent, axis=0)
    named = antecedents >= 0
    n_members = sum(
        int((shown[:, which] == one[which]).all(axis=1).sum())
        for one, which in zip(antecedents, named, strict=True)
    )
    monkeypatch.setattr(capacity, "MOST_MEMBERS", n_members)
    hide(*table, mode="paper", single_pass=True, **THRESHOLDS)
    monkeypatch.setattr(capacity, "MOST_MEMBERS", n_members - 1)
    with pytest.raises(ParameterError, match="added up over all rules") as caught:
        hide(*table, mode="paper", single_pass=True, **THRESHOLDS)
    assert caught.value.hint is not None


def test_the_wider_a_table_the_fewer_rules_are_kept():
    assert most_rules(1) == most_rules(32) == 2**22
    assert most_rules(40) * 40 <= 2**27 < (most_rules(40) + 1) * 40


@pytest.mark.slow
@pytest.mark.skipif(
    not kernels.is_compiled("shoal.hiding._search_kernels"),
    reason="as plain Python the search takes minutes until it is refused",
)
@pytest.mark.parametrize("find", [mine, hide])
def test_a_wide_table_at_low_thresholds_is_refused(find):
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 3, (2_000, 40))
    state = np.where(generator.random(codes.shape) < 0.01, PRIVATE, 0).astype(np.uint8)
    with pytest.raises(ParameterError, match=r"too many to be kept|takes about"):
        find(codes, state, delta=0.5, gamma=1)


def wide_table():
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 2, (300, 30))
    state = np.where(generator.random(codes.shape) < 0.02, PRIVATE, 0).astype(np.uint8)
    return codes, state


def test_a_search_that_would_take_too_long_is_refused_before_it_starts():
    codes, state = wide_table()
    asked = {"delta": 0.8, "gamma": 10}
    with pytest.raises(ParameterError, match=r"takes about .* steps") as caught:
        mine(codes, state, max_work=10**6, **asked)
    assert caught.value.hint is not None
    assert all(word in caught.value.hint for word in ("gamma", "max_len", "max_work"))
    with pytest.raises(ParameterError) as again:
        mine(codes, state, max_work=10**6, **asked)
    assert str(again.value) == str(caught.value)
    mine(codes, state, max_len=1, max_work=10**6, **asked)


@pytest.mark.parametrize("mode", ["public", "paper", "oblivious"])
def test_hiding_is_refused_beyond_max_work(mode):
    codes, state = wide_table()
    with pytest.raises(ParameterError, match=r"takes about .* steps") as caught:
        hide(codes, state, delta=0.8, gamma=10, mode=mode, max_work=10**6)
    assert caught.value.hint is not None
    assert all(word in caught.value.hint for word in ("gamma", "leave out", "max_work"))


def test_a_search_that_takes_longer_than_estimated_is_stopped(monkeypatch):
    codes, state = wide_table()
    nothing = Estimate(0, 0, 0)
    monkeypatch.setattr(row_sets.RowSetSearch, "estimate", lambda _: nothing)
    with pytest.raises(ParameterError, match="takes more than 1000000 operations"):
        mine(codes, state, delta=0.8, gamma=10, max_work=10**6)


@pytest.mark.parametrize(("n_rows", "n_columns", "gamma"), [(60, 6, 1), (200, 8, 4), (300, 12, 10)])
def test_the_steps_of_a_search_lie_in_the_estimated_interval(n_rows, n_columns, gamma):
    generator = np.random.default_rng(n_rows)
    codes = generator.geometric(0.5, (n_rows, n_columns)).clip(max=4)
    state = np.where(generator.random(codes.shape) < 0.05, PRIVATE, 0).astype(np.uint8)
    limits = Limits.of("0.8", gamma, n_rows, use_hidden=True)
    work = Work(10**12)
    search = RowSetSearch(pack(HiddenTable(codes, state), limits), limits, work)
    estimate = search.estimate()
    search.all()
    assert estimate.least <= work.spent <= estimate.most
    assert search.estimate() == estimate


def test_progress_of_the_search_grows_to_the_end(monkeypatch):
    codes, state = wide_table()
    monkeypatch.setattr(progress, "_MOMENT", 0.0)
    told = []
    with progress.watching(told.append):
        mine(codes, state, delta=0.8, gamma=20)
    assert told == sorted(told)
    assert len(told) > 3
    assert told[-1] > 0.9
