"""Adversarial rules: parameters, categories, records and what is never printed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import read_delta, read_gamma
from shoal.hiding.cells import BLANKED, PRIVATE, VISIBLE, HiddenTable, Limits
from shoal.hiding.hiding import Fate, hide
from shoal.hiding.mining import Category, categorize, mine
from shoal.hiding.rules import CodedRules

# Who has 0 in the first column has 90001 in the second; one of them hides it.
CODES = np.array([[0, 90001], [0, 90001], [0, 90001], [1, 7], [1, 90001]])
STATE = np.array([[0, 0], [0, 0], [0, 1], [0, 0], [0, 0]], dtype=np.uint8)


# --- tables and thresholds -----------------------------------------------------------------------


def test_codes_and_states_of_different_shapes_are_refused():
    with pytest.raises(ParameterError, match=r"the same shape; they have \(5, 2\) and \(5,\)"):
        HiddenTable(CODES, STATE[:, 0])
    with pytest.raises(ParameterError, match="shape"):
        HiddenTable(CODES[:, 0], STATE[:, 0])


@pytest.mark.parametrize("code", [-1, 2**31 - 1, 2**40])
def test_codes_out_of_range_are_refused(code):
    with pytest.raises(ParameterError, match="from 0 to"):
        HiddenTable(np.array([[code]]), np.array([[0]]))


@pytest.mark.parametrize("state", [3, -1, 257])
def test_states_out_of_range_are_refused(state):
    with pytest.raises(ParameterError, match=r"0 \(visible\), 1 \(private\) or 2 \(blanked\)"):
        HiddenTable(np.array([[0]]), np.array([[state]]))


def test_a_table_of_too_many_rows_is_refused():
    rows = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31, 1), (0, 0))
    with pytest.raises(DataError, match="2147483648 rows"):
        HiddenTable(rows, rows)


@pytest.mark.parametrize("delta", [0, -0.5, 1.01, "2"])
def test_a_confidence_out_of_range_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must be above 0 and at most 1"):
        mine(CODES, STATE, delta=delta)


@pytest.mark.parametrize("gamma", [0, -1, True, 0.0, 1.5, "0", "1.5", Fraction(-1, 2)])
def test_a_support_out_of_range_is_refused(gamma):
    with pytest.raises(ParameterError, match="gamma must be"):
        hide(CODES, STATE, delta=0.8, gamma=gamma)


@pytest.mark.parametrize(
    ("gamma", "count"),
    [
        (1, 1),
        (np.int64(3), 3),
        (0.001, 10),
        (0.00101, 11),
        (Fraction(1, 10_000), 1),
        (Decimal("0.0001001"), 2),
        (1.0, 10_000),
        (1e-9, 1),
    ],
)
def test_support_is_a_count_or_a_share_rounded_up(gamma, count):
    assert read_gamma(gamma, 10_000) == count


def test_confidence_is_what_was_typed():
    assert read_delta(0.1) == Fraction(1, 10)


@pytest.mark.parametrize("delta", ["0.6666", "2/3", "0.66667", "0.1", "1", "1/3", "0.999"])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 30])
def test_the_share_that_kernels_compare_with_decides_alike(delta, n_rows):
    limits = Limits.of(delta, 1, n_rows, use_hidden=True)
    assert limits.denominator <= n_rows
    for count in range(1, n_rows + 1):
        for hits in range(count + 1):
            is_enough = hits >= Fraction(delta) * count
            assert limits.is_confident(hits, count) == is_enough


def test_a_threshold_of_many_digits_neither_overflows_nor_loses_a_tie():
    codes = np.zeros((50_000, 2), dtype=np.int32)
    codes[:10_000, 1] = 1
    state = np.zeros(codes.shape, dtype=np.uint8)
    state[-1, 1] = PRIVATE
    just = Fraction(39_999, 49_999)
    assert len(mine(codes, state, delta=just)) == 1
    assert len(mine(codes, state, delta=just + Fraction(1, 10**30))) == 0


@pytest.mark.parametrize("max_len", [0, -1, 1.5])
def test_antecedents_of_no_length_are_refused(max_len):
    with pytest.raises(ParameterError, match="max_len"):
        mine(CODES, STATE, delta=0.8, max_len=max_len)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 0), (1, 1)])
def test_empty_tables_have_no_rules(shape):
    codes, state = np.zeros(shape, dtype=np.int32), np.ones(shape, dtype=np.uint8)
    for use_hidden in (True, False):
        assert len(mine(codes, state, delta=0.5, use_hidden=use_hidden)) == 0
    for mode in ("paper", "public", "oblivious"):
        done = hide(codes, state, delta=0.5, mode=mode)
        assert done.cells.shape == (0, 2)
        assert (done.state == state).all()


# --- rules ---------------------------------------------------------------------------------------


def test_a_rule_has_its_counts_and_confidences():
    (rule,) = mine(CODES, STATE, delta=0.8, gamma=2)
    assert (dict(rule.antecedent), rule.column, rule.value) == ({0: 0}, 1, 90001)
    assert (rule.n_public, rule.public_hits, rule.n_hidden, rule.hidden_hits) == (2, 2, 1, 1)
    assert (rule.public_confidence, rule.hidden_confidence) == (1, 1)
    assert rule.predicts(CODES, STATE).tolist() == [2]


def test_hidden_hits_are_not_told_where_they_do_not_matter():
    rules = mine(CODES, STATE, delta=0.8, gamma=2, use_hidden=False)
    assert rules.hidden_hits is None
    assert rules[0].hidden_confidence is None
    assert repr(rules[0]) == ("CodedRule(column 0 -> column 1, public 2 of 2, hidden 1)")


def test_a_missing_value_is_a_value():
    missing = 3
    codes = np.array([[missing, 1], [missing, 1], [missing, 1], [0, missing], [0, missing]])
    state = np.array([[0, 0], [0, 0], [0, 1], [0, 0], [0, 1]])
    rules = mine(codes, state, delta=1)
    assert {(tuple(rule.antecedent.items()), rule.value) for rule in rules} == {
        (((0, missing),), 1),
        (((0, 0),), missing),
    }


def test_nothing_prints_a_value():
    done = hide(CODES, STATE, delta=0.8, gamma=2)
    printed = [
        repr(done),
        repr(done.rules),
        *map(repr, done.rules),
        repr(HiddenTable(CODES, STATE)),
    ]
    assert not any("90001" in text for text in printed)


def test_rules_can_be_selected_by_a_mask():
    rules = mine(CODES, STATE, delta=0.5)
    assert isinstance(rules, CodedRules)
    assert len(rules.take(rules.n_public > 99)) == 0
    assert repr(rules.take(np.array([0]))) == "CodedRules(1 rule over 2 columns)"


# --- hiding --------------------------------------------------------------------------------------


def test_an_unknown_mode_is_refused():
    with pytest.raises(ParameterError, match="paper, public, oblivious"):
        hide(CODES, STATE, delta=0.8, mode="safe")


def n_fired_at(state, codes, private, delta):
    """Count private cells at which a rule of what is visible fires."""
    rules = mine(codes, state, delta=delta, gamma=5, use_hidden=False)
    fired = set()
    for rule in rules:
        shows = np.ones(len(codes), dtype=bool)
        for column, value in rule.antecedent.items():
            shows &= (codes[:, column] == value) & (state[:, column] == 0)
        rows = np.flatnonzero(shows & private[:, rule.column])
        fired |= {(row, rule.column) for row in rows.tolist()}
    return len(fired)


def test_shrinking_in_mode_paper_is_off_unless_asked_for():
    """It would let rules fire at more private cells, up to the share that is still allowed."""
    generator = np.random.default_rng(0)
    first = generator.integers(0, 3, 400)
    codes = np.column_stack([
        first,
        np.where(generator.random(400) < 0.85, first, generator.integers(0, 3, 400)),
        np.where(generator.random(400) < 0.85, first, generator.integers(0, 3, 400)),
    ])  # fmt: skip
    private = generator.random(codes.shape) < 0.1
    state = private.astype(np.uint8)
    by_default, shrunk, kept = (
        hide(codes, state, delta=0.8, gamma=5, mode="paper", shrink=shrink)
        for shrink in (None, True, False)
    )
    assert by_default.n_restored == 0
    assert np.array_equal(by_default.state, kept.state)
    assert shrunk.n_restored > 0
    fired = [n_fired_at(one.state, codes, private, 0.8) for one in (kept, shrunk)]
    assert fired[0] < fired[1]


@pytest.mark.parametrize("parameters", [{"mode": "oblivious"}, {"single_pass": True}])
def test_shrinking_is_refused_where_it_would_leak_or_not_be_safe(parameters):
    with pytest.raises(ParameterError, match="Shrinking is not possible"):
        hide(CODES, STATE, delta=0.8, shrink=True, **parameters)
    hide(CODES, STATE, delta=0.8, shrink=False, **parameters)


@pytest.mark.parametrize("number", [0, -1, True, 0.0, 1.5, "many"])
def test_a_number_of_cells_a_round_out_of_range_is_refused(number):
    with pytest.raises(ParameterError, match="blank_per_round"):
        hide(CODES, STATE, delta=0.8, blank_per_round=number)


def test_cells_that_are_blanked_already_stay_so():
    state = STATE.copy()
    state[0, 0] = BLANKED
    done = hide(CODES, state, delta=0.8, gamma=1)
    assert done.state[0, 0] == BLANKED
    assert [0, 0] not in done.cells.tolist()


def test_the_table_that_was_given_is_left_as_it_is():
    codes, state = CODES.astype(np.int32), STATE.copy()
    done = hide(codes, state, delta=0.8, gamma=1)
    assert len(done.cells) > 0
    assert (codes == CODES).all()
    assert (state == STATE).all()


def test_the_numbers_of_a_hiding_add_up():
    done = hide(CODES, STATE, delta=0.8, gamma=2)
    stated = done.to_dict()
    assert stated["mode"] == "public"
    assert stated["blanked"] == len(done.cells) == 1
    assert stated["rules"] == stated["invalidated"] + stated["marginalized"] == 1
    assert stated["remaining"] == done.n_ended(Fate.REMAINING) == 0


def test_a_column_that_everybody_shares_can_be_protected_from_rules():
    """Its base rate gives the value away, but no rule does."""
    codes = np.column_stack([np.arange(12) % 3, np.zeros(12, dtype=int)])
    state = np.zeros(codes.shape, dtype=np.uint8)
    state[0, 1] = PRIVATE
    for mode in ("paper", "public", "oblivious"):
        done = hide(codes, state, delta=0.9, gamma=2, mode=mode)
        assert done.cells.tolist() == [[0, 0]]
        assert Fate(done.fate[0]) is Fate.MARGINALIZED


# --- categories ----------------------------------------------------------------------------------


def test_a_hidden_value_that_is_not_visible_makes_a_contrast():
    codes = np.array([[0, 1], [0, 1], [0, 2]])
    state = np.array([[VISIBLE, VISIBLE], [VISIBLE, VISIBLE], [VISIBLE, PRIVATE]])
    assert categorize(codes, state, {0: 0}, delta=0.8) is Category.CONTRAST


def test_too_little_confidence_leaves_an_itemset_undetermined():
    codes = np.array([[0, 1], [0, 2], [0, 2]])
    state = np.array([[VISIBLE, VISIBLE], [VISIBLE, VISIBLE], [VISIBLE, PRIVATE]])
    assert categorize(codes, state, {0: 0}, delta=0.8) is Category.UNDETERMINED
    assert categorize(codes, state, {0: 0}, delta=0.5) is Category.DISCRIMINATIVE
    assert categorize(codes, state, {0: 0}, delta=0.5, gamma=3) is Category.UNDETERMINED


def test_an_itemset_of_other_columns_is_refused():
    with pytest.raises(ParameterError, match="names columns 0 to 1"):
        categorize(CODES, STATE, {2: 0}, delta=0.8)


@pytest.mark.parametrize("seed", range(40))
def test_pruned_categories_promise_that_no_larger_itemset_is_an_antecedent(seed):
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2, (9, 4))
    state = (generator.random(codes.shape) < 0.25).astype(np.uint8)
    rules = mine(codes, state, delta=0.6)
    named = [dict(rule.antecedent) for rule in rules]
    for column, code in [(column, code) for column in range(4) for code in range(2)]:
        category = categorize(codes, state, {column: code}, delta=0.6)
        larger = [one for one in named if one.get(column) == code]
        if category not in {Category.DISCRIMINATIVE, Category.UNDETERMINED}:
            assert larger == []
        assert (category is Category.DISCRIMINATIVE) == ({column: code} in named)
