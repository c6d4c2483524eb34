"""Negative rules: parameters, corners, and what is refused."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.consequences import forbidden_marks, most_general
from shoal.injector.fuzzy_mining import memberships
from shoal.injector.mined_rules import Items, least_counts, least_supports
from shoal.injector.miners import mine

SEX = Domain.of_texts("sex", ["F", "M"])
AGE = Domain.of_texts(
    "age", ["20", "21", "30"], type=ColumnType.INTEGER, numbers=[20, 21, 30], has_missing=True
)
DISEASE = Domain.of_texts("disease", ["cancer", "flu"])


def cells_of(*rows: tuple[int, int, int, int]) -> Cells:
    """Make cells of (age, sex, disease, count)."""
    array = np.array(rows, dtype=np.int64).reshape(-1, 4)
    order = np.lexsort(array[:, 2::-1].T)
    return Cells((AGE, SEX, DISEASE), array[order, :3], array[order, 3])


PATIENTS = cells_of((0, 0, 0, 5), (1, 0, 1, 3), (2, 1, 1, 9), (3, 1, 1, 3))


def rules_of(cells: Cells = PATIENTS, **parameters):
    rules = mine(cells, "disease", {}, **({"min_exp": 0.9} | parameters))
    return list(
        zip(
            map(tuple, rules.nodes.tolist()),
            rules.value.tolist(),
            rules.count.tolist(),
            rules.hits.tolist(),
            strict=True,
        )
    )


def test_a_value_that_is_absent_where_it_would_be_expected_makes_a_rule():
    # Of 20 rows 5 have cancer: (3/4)**8 = .1001 and (3/4)**9 = .075.
    assert rules_of() == [((-1, 1), 0, 12, 0), ((0, -1), 1, 5, 0), ((2, -1), 0, 9, 0)]
    assert rules_of(min_exp=0.95) == [((-1, 1), 0, 12, 0), ((0, -1), 1, 5, 0)]


def test_longer_antecedents_are_found_where_asked_for():
    assert {len([node for node in rule[0] if node >= 0]) for rule in rules_of(max_len=None)} == {
        1,
        2,
    }
    assert rules_of(max_len=7) == rules_of(max_len=None)


def test_confidence_below_one_allows_exceptions_up_to_the_exact_share():
    cells = cells_of((0, 0, 0, 29), (0, 0, 1, 71), (1, 1, 0, 400))
    found = ((-1, 0), 0, 100, 29)
    assert found in rules_of(cells, min_conf=0.71)
    assert found not in rules_of(cells, min_conf=0.7101)
    # The denominator is far beyond what products of counts leave room for.
    assert found in rules_of(cells, min_conf="0.70999999999999999999")
    assert found not in rules_of(cells, min_conf="0.71000000000000000001")


def test_missing_values_are_a_leaf_of_their_own():
    assert ((3, -1), 0, 3, 0) in rules_of(min_exp=0.5)


def test_a_table_without_rows_or_without_quasi_identifiers_has_no_rules():
    assert rules_of(cells_of()) == []
    assert rules_of(cells_of(), max_len=None) == []
    alone = Cells((DISEASE,), np.array([[0], [1]]), np.array([3, 4]))
    for max_len in (1, None):
        rules = mine(alone, "disease", {}, min_exp=0, max_len=max_len)
        assert (len(rules), rules.nodes.shape, rules.n_itemsets) == (0, (0, 0), 0)


def test_a_column_with_one_value_says_nothing():
    cells = cells_of((0, 0, 0, 5), (0, 1, 1, 5))
    for max_len in (1, None):
        assert {rule[0][0] for rule in rules_of(cells, max_len=max_len, min_exp=0.5)} == {-1}


@pytest.mark.parametrize("max_len", [1, None])
def test_expectation_one_is_reached_by_no_rule(max_len):
    assert rules_of(min_exp=1, max_len=max_len) == []
    everybody = cells_of((0, 0, 1, 4), (1, 1, 1, 4))
    assert rules_of(everybody, min_exp=1, max_len=max_len) == []
    # Unless everybody has the value: then one row is enough, and exceptions are all there is.
    assert len(rules_of(everybody, min_exp=1, min_conf="0.1", max_len=max_len)) == 0


def test_shown_are_numbers_of_rules_and_no_values():
    text = repr(mine(PATIENTS, "disease", {}, min_exp=0.9))
    assert text == "MinedRules(3 rules over 2 columns, 6 itemsets)"


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_exp": -0.1},
        {"min_exp": 1.1},
        {"min_exp": "much"},
        {"min_exp": float("nan")},
        {"min_conf": 0},
        {"min_conf": 1.01},
        {"max_len": 0},
        {"max_len": 1.5},
        {"max_len": True},
        {"fuzzy": "mean", "width": {"age": 1}},
        {"fuzzy": "product"},
        {"fuzzy": "product", "width": {}},
        {"width": {"age": 1}},
        {"fuzzy": "product", "width": {"age": 0}},
        {"fuzzy": "product", "width": {"age": -1}},
        {"fuzzy": "product", "width": {"age": "1e400"}},
        {"fuzzy": "product", "width": {"age": "1e-400"}},
        {"fuzzy": "product", "width": {"age": float("inf")}},
        {"fuzzy": "minimum", "width": {"sex": 1}},
        {"fuzzy": "minimum", "width": {"disease": 1}},
        {"fuzzy": "minimum", "width": {"height": 1}},
    ],
)
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError):
        rules_of(**parameters)


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match="no column 'height'"):
        mine(PATIENTS, "height", {}, min_exp=0.9)


def test_a_table_beyond_counting_is_refused():
    with pytest.raises(DataError, match="2147483648"):
        rules_of(cells_of((0, 0, 0, 2**31)))


def test_a_table_just_within_counting_is_mined():
    many = 2**30 - 1
    cells = cells_of((0, 0, 0, many), (1, 1, 1, many))
    for max_len in (1, None):
        found = rules_of(cells, min_conf="0.999999999", max_len=max_len)
        assert found[0] == ((-1, 0), 1, many, 0)


# --- fuzzy rules ---------------------------------------------------------------------------------


def test_numbers_near_a_node_count_in_part():
    found = rules_of(min_exp=0.5, fuzzy="product", width={"age": 2})
    # Of 21 and, by half, of 20: cancer, and by half a rule about 21 is none.
    assert ((1, -1), 0, 3.0 + 2.5, 2.5) not in found
    assert ((2, -1), 0, 9.0, 0.0) in found
    assert ((1, -1), 0, 5.5, 2.5) in rules_of(
        min_exp=0.5, min_conf=0.5, fuzzy="product", width={"age": 2}
    )


def test_minimum_and_product_differ_where_two_columns_are_fuzzy():
    first, second = (
        Domain.of_texts(name, ["0", "1"], type=ColumnType.REAL, numbers=[0, 1])
        for name in ("first", "second")
    )
    cells = Cells((first, second, DISEASE), np.array([[0, 0, 0], [1, 1, 1]]), np.array([8, 8]))
    found = {}
    for how in ("product", "minimum"):
        rules = mine(
            cells,
            "disease",
            {},
            min_exp=0,
            min_conf="0.01",
            max_len=2,
            fuzzy=how,
            width={"first": 2, "second": 2},
        )
        place = rules.nodes.tolist().index([0, 0])
        found[how] = rules.count[place]
    assert found == {"product": 8 + 8 / 4, "minimum": 8 + 8 / 2}


def test_membership_of_numbers_far_apart_does_not_overflow():
    far = Domain.of_texts(
        "x", ["a", "b"], type=ColumnType.REAL, numbers=[-1.5e308, 1.5e308], has_missing=True
    )
    tree = Hierarchy.flat().over(far)
    found = memberships(tree, far, 1e-300, np.arange(tree.n_nodes))
    assert found.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]


# --- items and thresholds ------------------------------------------------------------------------


def test_of_nodes_that_hold_the_same_values_the_highest_is_reported():
    domain = Domain.of_texts("work", ["Federal", "Private", "State", "Unpaid"])
    rows = [
        ["Federal", "any government", "all"],
        ["Private", "any other", "all"],
        ["State", "any government", "all"],
        ["Unpaid", "any other", "all"],
    ]
    tree = Hierarchy.from_rows(rows).over(domain)

    def labels(*codes):
        return tree.labels[Items.of_tree(tree, np.array(codes, dtype=np.int64)).node].tolist()

    assert labels(0, 1, 2, 3) == [
        *("Federal", "State", "Private", "Unpaid"),
        *("any government", "any other"),
    ]
    assert labels(0, 1, 2) == ["Federal", "State", "any other", "any government"]
    # "all" holds every value, and so does not tell people apart.
    assert labels(0, 1) == ["any government", "any other"]
    assert labels(0, 2) == ["Federal", "State"]
    assert labels(1) == []
    assert labels() == []


def test_thresholds_at_the_ends():
    totals = np.array([0, 4, 6])
    assert least_counts(totals, Fraction(0)).tolist() == [11, 0, 0]
    assert least_counts(totals, Fraction(1)).tolist() == [11, 11, 11]
    assert least_counts(np.array([10]), Fraction(1)).tolist() == [1]
    assert least_counts(np.array([10]), Fraction(1, 10**999)).tolist() == [1]
    assert least_counts(np.array([0, 0]), Fraction(1, 2)).tolist() == [1, 1]
    assert least_supports(totals, Fraction(0)).tolist() == [np.inf, 0, 0]


def test_a_threshold_of_millions_is_decided_exactly():
    # Written out, (1 - 1/n)**count would have seven million digits.
    n_rows, count = 10**7, 10**6
    context = Context(prec=80)
    power = context.power(context.divide(Decimal(n_rows - 1), Decimal(n_rows)), count)
    totals, unit = np.array([1, n_rows - 1]), Fraction(1, 10**50)
    rounded = Fraction(power) // unit * unit
    assert least_counts(totals, 1 - rounded - unit)[0] == count
    assert least_counts(totals, 1 - rounded)[0] == count + 1


# --- generality and marks ------------------------------------------------------------------------


def test_no_rules_imply_and_exclude_nothing():
    none = np.empty((0, 2), dtype=np.int32)
    value = np.empty(0, dtype=np.int32)
    square = np.eye(3, dtype=bool)
    assert most_general(none, value, [square, square]).tolist() == []
    codes = np.zeros((4, 2), dtype=np.int64)
    assert not forbidden_marks(none, value, [square, square], codes, 5).any()
    assert forbidden_marks(none, value, [square, square], codes[:0], 5).shape == (0, 5)


def test_a_rule_without_antecedent_implies_all_of_its_value_and_excludes_it_for_everybody():
    nodes, value = np.array([[0], [-1], [1]]), np.array([1, 1, 0])
    square = np.eye(2, dtype=bool)
    assert most_general(nodes, value, [square]).tolist() == [False, True, True]
    marks = forbidden_marks(nodes, value, [square], np.array([[0], [1]]), 2)
    assert marks.tolist() == [[False, True], [True, True]]


def test_a_node_covers_itself_whatever_is_said():
    nodes, value = np.array([[0, -1], [0, 1], [1, 1]]), np.array([2, 2, 2])
    covers = [np.zeros((2, 2), dtype=bool), np.zeros((2, 2), dtype=bool)]
    assert most_general(nodes, value, covers).tolist() == [True, False, True]


def test_rules_that_say_the_same_are_kept_once():
    nodes, value = np.array([[2], [0], [0], [1]]), np.array([3, 3, 3, 3])
    # Nodes 0 and 2 are two names of one set.
    covers = np.array([[True, False, True], [False, True, False], [True, False, True]])
    assert most_general(nodes, value, [covers]).tolist() == [True, False, False, True]


def test_more_rules_than_anybody_can_use_are_refused(monkeypatch):
    monkeypatch.setattr("shoal.injector.crisp_mining.most_rules", lambda _: 3)
    city, disease = Domain.of_texts("city", list("abcd")), Domain.of_texts("disease", list("stuv"))
    sex = Domain.of_texts("sex", ["F", "M"])
    codes = np.array([[i, i % 2, i] for i in range(4)])
    cells = Cells.of_rows((city, sex, disease), codes)
    with pytest.raises(ParameterError, match="more than 3 rules"):
        mine(cells, "disease", {}, min_exp=0.1, max_len=None)
