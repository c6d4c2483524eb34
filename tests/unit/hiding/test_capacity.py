"""How many adversarial rules are kept at most, and what is said where there are more."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.core import kernels
from shoal.core.errors import ParameterError
from shoal.hiding import rules as capacity
from shoal.hiding.cells import PRIVATE
from shoal.hiding.hiding import hide
from shoal.hiding.mining import mine
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
    with pytest.raises(ParameterError, match="too many to be kept"):
        find(codes, state, delta=0.5, gamma=1)
