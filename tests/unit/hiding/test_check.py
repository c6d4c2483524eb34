"""The checker of adversarial rules: parameters, and what it says of what it finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.core.errors import ParameterError
from shoal.hiding.check import remaining_rules

CODES = np.array([[0, 8], [0, 8], [0, 8], [1, 9]])
STATE = np.array([[0, 0], [0, 0], [0, 1], [0, 0]])
DELTA = Fraction(4, 5)


def test_a_rule_is_counted_for_the_column_that_it_predicts():
    left = remaining_rules(CODES, STATE, delta=DELTA, gamma=2, use_hidden=True)
    assert left.n_rules == 1
    assert dict(left.by_column) == {1: 1}
    assert dict(left.examples) == {1: (0,)}


def test_a_blanked_cell_takes_its_row_out():
    state = STATE.copy()
    state[2, 0] = 2
    assert remaining_rules(CODES, state, delta=DELTA, gamma=2, use_hidden=True).n_rules == 0


def test_hidden_values_count_only_where_they_are_asked_for():
    codes = CODES.copy()
    codes[2, 1] = 9
    assert remaining_rules(codes, STATE, delta=DELTA, gamma=2, use_hidden=True).n_rules == 0
    assert remaining_rules(codes, STATE, delta=DELTA, gamma=2, use_hidden=False).n_rules == 1


def test_support_is_that_of_the_public_set():
    assert remaining_rules(CODES, STATE, delta=DELTA, gamma=3, use_hidden=True).n_rules == 0


@pytest.mark.parametrize(
    "wrong",
    [{"delta": Fraction(0)}, {"delta": Fraction(2)}, {"gamma": 0}, {"state": STATE[:, :1]}],
)
def test_what_cannot_be_meant_is_refused(wrong):
    given = {"state": STATE, "delta": DELTA, "gamma": 1, "use_hidden": True} | wrong
    with pytest.raises(ParameterError):
        remaining_rules(CODES, **given)


def test_an_empty_table_has_no_rules():
    empty = np.empty((0, 3), dtype=np.int64)
    assert remaining_rules(empty, empty, delta=DELTA, gamma=1, use_hidden=True).n_rules == 0
