"""Adversarial rules in the values of frames and tables: the paper's example, the collection."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from frames import EMPLOYEE_COLUMNS as COLUMNS
from frames import EMPLOYEES_PRIVATE as PRIVATE
from frames import employees

import shoal
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.private_cells import PrivateCells
from shoal.core.table import MOST_ROWS, Rows
from shoal.datasets import papers
from shoal.hiding import adversarial_rules
from shoal.hiding._follow_kernels import find_members
from shoal.knowledge import AdversarialRule, AdversarialRules, Category, mine_adversarial_rules

SECRET = "SECRETVALUE123"


def mask_of(cells, n_rows, columns) -> np.ndarray:
    marks = np.zeros((n_rows, len(columns)), dtype=bool)
    for row, column in cells:
        marks[row, columns.index(column)] = True
    return marks


def text(rule: AdversarialRule) -> str:
    return f"{' & '.join(rule.antecedent.values())} -> {rule.value}"


@pytest.fixture(scope="module")
def rules() -> AdversarialRules:
    return mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2)


# --- the employees of the paper ------------------------------------------------------------------


def test_the_employees_have_eight_rules(rules):
    assert {text(rule) for rule in rules} == {
        "Assistant -> SL-3",
        "SL-5 -> F",
        "Unmarr. -> F",
        "F -> Married",
        "Manager -> Married",
        "Married -> Univ.",
        "Manager & F -> Married",
        "Manager & SL-5 -> Univ.",
    }


@pytest.mark.parametrize(
    ("antecedent", "column", "value", "support", "confidence", "row"),
    [
        ({"title": "Assistant"}, "salary_level", "SL-3", 2, 1, 8),
        ({"title": "Manager", "salary_level": "SL-5"}, "education", "Univ.", 3, Fraction(2, 3), 5),
        ({"title": "Manager", "gender": "F"}, "marital_status", "Married", 3, Fraction(2, 3), 9),
    ],
)
def test_example_1(rules, antecedent, column, value, support, confidence, row):
    (rule,) = [rule for rule in rules if rule.antecedent == antecedent and rule.column == column]
    assert (rule.value, rule.support, rule.n_public) == (value, support, support)
    assert rule.public_confidence == confidence
    assert rule.hidden_confidence == 1
    assert rule.cells == rule.hits == ((row - 1, column),)


def test_all_private_cells_but_that_of_tuple_10_are_predicted(rules):
    assert set(rules.cells) == {cell for cell in PRIVATE if cell != (9, "gender")}
    assert len(rules.cells) == 4
    assert rules.n_private == 5


def test_the_worst_come_first(rules):
    order = [
        (rule.hidden_hits, rule.hidden_confidence, rule.public_confidence, rule.support)
        for rule in rules
    ]
    assert order == sorted(order, reverse=True)


def test_rules_by_column(rules):
    assert {column: len(found) for column, found in rules.by_column.items()} == {
        "gender": 2,
        "marital_status": 3,
        "education": 2,
        "salary_level": 1,
    }
    for column, found in rules.by_column.items():
        assert list(found) == [rule for rule in rules if rule.column == column]


def test_sensitive_cells_are_visible(rules):
    marks = rules.sensitive_cells
    assert not marks[mask_of(PRIVATE, 10, COLUMNS)].any()
    assert marks[:, 0].any()


def test_categories_of_itemsets(rules):
    assert rules.category({"education": "Coll."}) is Category.PRIVACY_FREE
    assert rules.category({"title": "Accountant"}) is Category.NON_DISCRIMINATIVE
    assert rules.category({"title": "Manager", "gender": "F"}) is Category.DISCRIMINATIVE
    unmarried = {"marital_status": "Unmarr.", "salary_level": "SL-5"}
    assert rules.category(unmarried) is Category.UNDETERMINED


def test_a_category_is_asked_for_what_the_table_has(rules):
    with pytest.raises(ParameterError, match="no column 'size'"):
        rules.category({"size": "L"})
    for stray in (SECRET, 7, [SECRET]):
        with pytest.raises(ParameterError, match="'title' does not have") as caught:
            rules.category({"title": stray})
        assert SECRET not in str(caught.value)


def test_blanking_the_title_of_tuple_1_hides_two_rules(rules):
    after = mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2, hidden=[(0, "title")])
    assert {text(rule) for rule in rules} - {text(rule) for rule in after} == {
        "Manager & SL-5 -> Univ.",
        "Manager & F -> Married",
    }


def test_a_cell_that_is_private_and_hidden_is_private(rules):
    again = mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2, hidden=PRIVATE)
    assert list(again) == list(rules)


def test_shorter_antecedents_only(rules):
    short = mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2, max_len=1)
    assert list(short) == [rule for rule in rules if len(rule.antecedent) == 1]


# --- the collection ------------------------------------------------------------------------------


def test_the_collection_is_sized_indexable_and_sliceable(rules):
    assert len(rules) == len(list(rules)) == 8
    assert rules[-1] == rules[7]
    assert rules[0] in rules
    assert isinstance(rules[2:5], AdversarialRules)
    assert list(rules[2:5]) == [rules[2], rules[3], rules[4]]
    assert list(rules[::-1]) == list(reversed(rules))
    for number in (8, -9):
        with pytest.raises(IndexError):
            rules[number]


def test_rules_cannot_be_changed(rules):
    with pytest.raises(AttributeError):
        rules[0].column = "age"
    with pytest.raises(TypeError):
        rules[0].antecedent["title"] = "Boss"
    with pytest.raises(AttributeError):
        rules._coded = None


def test_the_collection_can_be_copied(rules):
    # What was asked of it before must not stand in the way.
    _ = rules.base_rates, rules.cells, rules.by_column
    assert list(pickle.loads(pickle.dumps(rules))) == list(rules)
    assert list(copy.deepcopy(rules)) == list(rules)


def test_reprs_show_counts_and_no_values(rules):
    assert repr(rules) == "AdversarialRules(8 rules about 4 of 5 columns, 5 private cells)"
    assert repr(rules[:1]).startswith("AdversarialRules(1 rule about 1 of 5 columns")
    shown = " ".join(map(repr, [*rules, *rules.base_rates, rules._source.rows]))
    values = {value for column in employees().values() for value in column}
    assert not any(value in shown.replace("public", "") for value in values - {"M", "F"})


def test_columns_with_a_dominant_value_are_base_rates():
    frame = {"a": [1, 1, 1, 1, 2], "b": [1, 2, 3, 4, 5]}
    found = mine_adversarial_rules(frame, [(0, "a"), (1, "b")], delta="0.75", gamma=1)
    (rate,) = found.base_rates
    assert (dict(rate.antecedent), rate.column, rate.value) == ({}, "a", 1)
    assert (rate.public_confidence, rate.hidden_confidence) == (Fraction(3, 4), 1)
    assert rate.cells == ((0, "a"),)
    assert not mine_adversarial_rules(frame, [(0, "a")], delta="0.76", gamma=1).base_rates


def test_the_kernel_gets_arrays_as_it_needs_them_compiled(monkeypatch):
    seen = []

    def find(*arrays):
        seen.extend(arrays)
        return find_members(*arrays)

    monkeypatch.setattr(adversarial_rules, "find_members", find)
    found = mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2)[1:]
    assert (len(found.cells), found.sensitive_cells.shape) == (4, (10, 5))
    assert len(seen) == 3
    assert all(array.flags.c_contiguous and array.flags.writeable for array in seen)
    assert {array.dtype for array in seen} == {np.dtype(np.int32)}


def test_many_rules_are_marked_in_pieces(rules, monkeypatch):
    monkeypatch.setattr("shoal.hiding.adversarial_rules._MOST_MEMBERS", 1)
    again = mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2)
    assert again.cells == rules.cells
    assert np.array_equal(again.sensitive_cells, rules.sensitive_cells)


# --- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "count"), [("2/3", 1), (Fraction(2, 3), 1), (0.67, 0)])
def test_a_tie_counts(delta, count):
    frame = {"a": ["x"] * 4, "b": [1, 1, 2, 1]}
    rules = mine_adversarial_rules(frame, [(3, "b")], delta=delta, gamma=3)
    assert len(rules) == count


@pytest.mark.parametrize(("gamma", "count"), [(3, 3), ("0.3", 3), (0.21, 3), (1, 1), (1.0, 10)])
def test_gamma_is_a_count_or_a_share_rounded_up(gamma, count):
    rules = mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=gamma)
    assert rules.gamma == count
    assert all(rule.support >= count for rule in rules)


@pytest.mark.parametrize("wrong", [{"delta": 0}, {"delta": 1.1}, {"gamma": 0}, {"max_len": 0}])
def test_thresholds_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        mine_adversarial_rules(employees(), PRIVATE, **wrong)


# --- tables --------------------------------------------------------------------------------------


def fake_table(columns, cells, n_rows=None):
    """Make what is enough of a table: rows in the order of keys, and marks of listed cells."""
    domains = {
        name: Domain.of_texts(
            name,
            sorted({value for value in values if value is not None}),
            has_missing=None in values,
        )
        for name, values in columns.items()
    }
    codes = np.column_stack([domains[name].codes_of(list(columns[name])) for name in columns])
    keys = np.array([f"p{row}" for row in range(len(codes))], dtype=object)
    marks = mask_of(cells, len(codes), list(columns))

    def refuse_many(cap):
        assert cap == MOST_ROWS
        if (n_rows or len(codes)) > cap:
            raise ParameterError("too many rows")

    def row_codes(cap):
        refuse_many(cap)
        return Rows(tuple(domains.values()), codes.astype(np.int32), keys)

    def marked(cells, cap):
        refuse_many(cap)
        assert isinstance(cells, PrivateCells)
        return marks if cells else np.zeros_like(marks)

    return SimpleNamespace(row_codes=row_codes, marked=marked, domains=domains)


def test_a_table_gives_texts_and_keys(rules):
    table = fake_table(employees(), PRIVATE)
    found = mine_adversarial_rules(table, PRIVATE, delta=0.6, gamma=2)
    assert list(found) == list(rules)
    assert found.cells == tuple((f"p{row}", column) for row, column in rules.cells)
    assert {type(key) for key, _ in found.cells} == {str}


def test_a_missing_value_of_a_table_is_none():
    columns = {"a": ["x", "x", None, None], "b": ["1", "1", None, None]}
    found = mine_adversarial_rules(fake_table(columns, [(0, "b"), (2, "b")]), "b", 1, 1)
    assert {rule.key for rule in found} == {
        (frozenset({("a", "x")}), "b", "1"),
        (frozenset({("a", None)}), "b", None),
    }


def test_a_table_of_too_many_rows_refuses():
    with pytest.raises(ParameterError, match="too many"):
        mine_adversarial_rules(fake_table(employees(), PRIVATE, MOST_ROWS + 1), PRIVATE)


def test_a_table_that_was_read(rules):
    table = shoal.read(papers.employees_shuffled())
    for private in (
        papers.employees_private_cells(),
        [f"{column} where id = '{row}'" for row, column in papers.employees_private_cells()],
        [f"{column} where id = '{row}'" for row, column in papers.employees_private_cells()],
    ):
        found = mine_adversarial_rules(table, private, delta=0.6, gamma=2)
        # Rows stand in the order of their keys, which are texts; that changes no rule.
        assert list(found) == list(rules)
        assert set(found.cells) == set(papers.employees_private_cells()) - {("10", "gender")}
    blanked = mine_adversarial_rules(
        table, papers.employees_private_cells(), 0.6, 2, hidden=[("1", "title")]
    )
    assert len(blanked) == 6
