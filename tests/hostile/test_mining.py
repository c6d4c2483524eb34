"""Mining rules of any length keeps within its memory budget, or names the parameter to change."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.injector import crisp_mining, fuzzy_mining, mined_rules
from shoal.injector.miners import mine
from shoal.injector.statistics import mine_positive, mine_statistics


@pytest.fixture(scope="module")
def cells() -> Cells:
    """Make a table of chance, in which nearly everything is a rule."""
    draw = np.random.default_rng(3)
    columns = [Domain.of_texts(f"c{n}", ["1", "2", "3"], numbers=[1.0, 2.0, 3.0]) for n in range(9)]
    codes = draw.integers(0, 3, (400, 9))
    values = draw.integers(0, 8, (400, 1))
    disease = Domain.of_texts("s", [f"v{n}" for n in range(8)])
    return Cells.of_rows([*columns, disease], np.hstack([codes, values]))


@pytest.fixture
def few(monkeypatch):
    """Let the budget hold a thousand rules."""
    for module in (crisp_mining, fuzzy_mining):
        monkeypatch.setattr(module, "most_rules", lambda _: 1000)


def test_negative_rules_beyond_the_budget_are_refused(cells, few):
    with pytest.raises(ParameterError, match="more than 1000 rules") as raised:
        mine(cells, "s", {}, min_exp=0.2, max_len=None)
    assert "max_len" in raised.value.hint
    assert "min_exp" in raised.value.hint


def test_fuzzy_rules_beyond_the_budget_are_refused(cells, few):
    with pytest.raises(ParameterError, match="more than 1000 rules") as raised:
        mine(cells, "s", {}, min_exp=0.2, max_len=None, fuzzy="product", width={"c0": 1.0})
    assert "max_len" in raised.value.hint


def test_fuzzy_rules_within_the_budget_are_the_same(cells):
    given = {"min_exp": 0.8, "max_len": 2, "fuzzy": "product", "width": {"c0": 1e-6}}
    found = mine(cells, "s", {}, **given)
    plain = mine(cells, "s", {}, min_exp=0.8, max_len=2)
    assert len(plain) > 0
    assert found.nodes.tolist() == plain.nodes.tolist()
    assert found.n_itemsets == plain.n_itemsets


def test_positive_rules_and_statistics_beyond_the_budget_are_refused(cells, monkeypatch):
    monkeypatch.setattr(mined_rules.bounded, "__defaults__", (1000,))
    for miner in (mine_positive, mine_statistics):
        with pytest.raises(ParameterError, match="more than 1000 rules") as raised:
            miner(cells, "s", {}, min_support=2, max_len=None)
        assert "max_len" in raised.value.hint
        assert "min_support" in raised.value.hint


def test_search_that_is_too_wide_is_refused(cells, monkeypatch):
    monkeypatch.setattr(crisp_mining, "MEMORY", 10**4)
    with pytest.raises(ParameterError, match="search for rules") as raised:
        mine(cells, "s", {}, min_exp=0.9, max_len=3)
    assert "max_len" in raised.value.hint


@pytest.mark.parametrize("n_columns", [1, 10, 100, 10_000])
def test_budget_holds_for_any_number_of_columns(n_columns):
    least = n_columns * 4 + 3 * 8
    assert 0 < mined_rules.most_rules(n_columns) * least <= mined_rules.MEMORY
