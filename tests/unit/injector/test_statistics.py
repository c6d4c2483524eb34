from __future__ import annotations

import json
import math

import numpy as np
import pytest

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.datasets.papers import injector_patients
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.association_rules import PositiveRule
from shoal.injector.statistics import Statistic, least_count, mine_positive, mine_statistics


def test_shares_of_table_one():
    cells = shoal.read(injector_patients()).counts(["sex", "disease"])
    found = mine_statistics(cells, "disease", {}, min_support=4)
    assert [(one.antecedent, one.value, one.share, one.count) for one in found] == [
        ({"sex": "M"}, "Flu", 3 / 6, 6),
        ({"sex": "M"}, "Heart Disease", 2 / 6, 6),
        ({"sex": "M"}, "Prostate Cancer", 1 / 6, 6),
    ]


def salaries(numbers, jobs, kind=ColumnType.INTEGER):
    """One row a person: the place of a salary, the last being the missing one, and of a job."""
    texts = [str(number) for number in numbers]
    job = Domain.of_texts("job", ["clerk", "therapist"])
    salary = Domain.of_texts("salary", texts, type=kind, numbers=numbers, has_missing=True)
    return Cells.of_rows([job, salary], np.array(jobs))


def test_the_average_salary_of_therapists():
    rows = [[0, 0], [0, 1], [1, 1], [1, 2], [1, 2], [1, 3]]
    found = mine_statistics(salaries([30, 60, 75], rows), "salary", {}, min_support=2)
    assert [(one.antecedent["job"], one.mean, one.count) for one in found] == [
        ("clerk", 45, 2),
        ("therapist", 70, 3),
    ]
    assert {(one.value, one.share) for one in found} == {(None, None)}


def test_a_mean_of_too_few_known_values_is_not_told():
    rows = [[0, 0], [0, 3], [0, 3], [1, 1], [1, 2]]
    found = mine_statistics(salaries([30, 60, 75], rows), "salary", {}, min_support=2)
    assert [one.antecedent["job"] for one in found] == ["therapist"]


def test_the_largest_numbers_have_a_mean():
    rows = [[0, 1], [0, 1], [0, 1], [1, 0], [1, 0]]
    cells = salaries([-1.7e308, 1.7e308], rows, ColumnType.REAL)
    found = mine_statistics(cells, "salary", {}, min_support=1)
    assert [one.mean for one in found] == [1.7e308, -1.7e308]
    zero = mine_statistics(salaries([0, 1], [[0, 0], [1, 1]]), "salary", {}, min_support=1)
    assert [one.mean for one in zero] == [0, 1]


def test_only_missing_values_have_no_mean():
    assert mine_statistics(salaries([1, 2], [[0, 2], [1, 2]]), "salary", {}, min_support=1) == ()


def test_statistics_are_sorted_by_length_columns_and_values():
    domains = [Domain.of_texts(name, ["a", "b"]) for name in ("q1", "s", "q2")]
    rows = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    found = mine_statistics(Cells.of_rows(domains, rows), "s", {}, min_support=1, max_len=None)
    said = [(*one.antecedent.items(), one.value) for one in found]
    assert said[:4] == [(("q1", label), value) for label in "ab" for value in "ab"]
    assert said[4:8] == [(("q2", label), value) for label in "ab" for value in "ab"]
    assert said[8:] == [
        (("q1", one), ("q2", two), value) for one in "ab" for two in "ab" for value in "ab"
    ]


@pytest.mark.parametrize(
    ("support", "n_rows", "least"),
    [
        (3, 10, 3),
        (30, 10, 30),
        (0.0, 10, 1),
        (0.3, 10, 3),
        (0.31, 10, 4),
        (1.0, 10, 10),
        # 0.07 * 100 is above 7 in floats.
        (0.07, 100, 7),
        ("1/3", 9, 3),
        (0.5, 0, 1),
    ],
)
def test_support_is_a_count_or_a_share(support, n_rows, least):
    assert least_count(support, n_rows) == least


def test_an_unknown_column_is_refused():
    with pytest.raises(ParameterError, match="sensitive must be one of the table's columns"):
        mine_statistics(salaries([1], [[0, 0]]), "income", {}, min_support=1)


def test_a_statistic_is_a_value():
    one = Statistic(antecedent={"job": "nurse"}, value="flu", share=0.5, count=8)
    same = Statistic(antecedent={"job": "nurse"}, value="flu", share=0.5, count=8)
    mean = Statistic(antecedent={"job": "nurse"}, mean=3.5)
    assert list(dict.fromkeys([one, same, mean])) == [one, mean]
    assert repr(one) == "Statistic(share given job: 8 rows)"
    assert one.to_dict() == {
        "antecedent": {"job": "nurse"},
        "value": "flu",
        "share": 0.5,
        "count": 8,
        "who": "",
        "why": "",
    }
    assert mean.to_dict() == {
        "antecedent": {"job": "nurse"},
        "mean": 3.5,
        "count": None,
        "who": "",
        "why": "",
    }


@pytest.mark.parametrize("given", [{}, {"value": "flu", "share": 0.5, "mean": 3}])
def test_a_statistic_is_either_a_share_or_a_mean(given):
    with pytest.raises(ParameterError, match="either a share or a mean"):
        Statistic(antecedent={"job": "nurse"}, **given)


def patients():
    """Table I of [Li08]: nine people."""
    table = shoal.read(injector_patients())
    return table.counts(["age", "sex", "disease"])


def said(rules):
    return [(dict(rule.antecedent), rule.value) for rule in rules]


def test_rules_of_table_one():
    cells = patients()
    trees = {"age": Hierarchy.intervals([[30, 40]]).over(cells.domain("age"))}
    rules = mine_positive(cells, "disease", trees, min_support=2)
    assert said(rules) == [
        ({"age": "]-inf, 30["}, "Ovarian Cancer"),
        ({"sex": "F"}, "Ovarian Cancer"),
        ({"age": "[30, 40["}, "Flu"),
        ({"age": "[40, +inf["}, "Heart Disease"),
        ({"sex": "M"}, "Flu"),
    ]
    first = rules[0]
    assert (first.count, first.confidence, first.support) == (3, 2 / 3, 2 / 9)
    # P(X) P(not s) / P(X and not s): 3/9 * 7/9 over 1/9.
    assert first.conviction == pytest.approx(7 / 3)


def test_longer_rules_are_found_on_request():
    cells = patients()
    trees = {"age": Hierarchy.intervals([[30, 40]]).over(cells.domain("age"))}
    rules = mine_positive(cells, "disease", trees, min_support=2, max_len=None)
    assert said(rules)[0] == ({"age": "]-inf, 30[", "sex": "F"}, "Ovarian Cancer")
    assert rules[0].conviction == math.inf
    assert {len(rule.antecedent) for rule in rules} == {1, 2}


def cells_of(counts):
    """Count people by a job and a disease, both numbered."""
    counts = np.array(counts)
    job = Domain.of_texts("job", [f"j{number}" for number in range(len(counts))])
    disease = Domain.of_texts("disease", [f"d{number:02}" for number in range(counts.shape[1])])
    return Cells((job, disease), np.argwhere(counts > 0), counts[counts > 0])


def test_a_conviction_that_is_met_exactly_counts():
    # j0 => d00: 10/20 * 11/20 over 5/20 is 1.1; j1 => d01: 10/20 * 9/20 over 4/20 is 1.125.
    cells = cells_of([[5, 5], [4, 6]])
    rules = mine_positive(cells, "disease", {}, min_support=5, min_conviction=1.1)
    assert said(rules) == [({"job": "j1"}, "d01"), ({"job": "j0"}, "d00")]
    rules = mine_positive(cells, "disease", {}, min_support=5, min_conviction=1.10000000001)
    assert said(rules) == [({"job": "j1"}, "d01")]


def test_counts_beyond_64_bits_do_not_overflow():
    cells = cells_of([[5 * 10**17, 5 * 10**17], [4 * 10**17, 6 * 10**17]])
    rules = mine_positive(cells, "disease", {}, min_support=1, min_conviction=1.1)
    assert said(rules) == [({"job": "j1"}, "d01"), ({"job": "j0"}, "d00")]


def test_more_than_64_sensitive_values():
    cells = cells_of([[3] * 70 + [30], [1] * 70 + [200]])
    rules = mine_positive(cells, "disease", {}, min_support=3, min_conviction=1)
    assert len(rules) == 71
    assert said(rules)[0] == ({"job": "j1"}, "d70")


def test_a_value_that_everybody_has_leaves_no_doubt():
    rules = mine_positive(cells_of([[3], [2]]), "disease", {}, min_support=1)
    assert [(rule.count, rule.conviction) for rule in rules] == [(3, math.inf), (2, math.inf)]


@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_table_of_no_or_one_row_has_no_rules(n_rows):
    domains = [Domain.of_texts("job", ["a"]), Domain.of_texts("disease", ["flu"])]
    cells = Cells.of_rows(domains, np.zeros((n_rows, 2)))
    assert mine_positive(cells, "disease", {}, min_support=1, max_len=None) == ()


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"sensitive": "age"}, "sensitive must be one of the table's columns"),
        ({"min_support": 0}, "min_support must be a whole number of at least 1"),
        ({"min_support": 1.5}, "min_support must lie between 0 and 1"),
        ({"min_support": -0.1}, "min_support must lie between 0 and 1"),
        ({"min_support": True}, "min_support must be a whole number"),
        ({"min_conviction": -1}, "min_conviction must be at least 0"),
        ({"min_conviction": "much"}, "min_conviction must be a finite number"),
        ({"max_len": 0}, "max_len must be a whole number"),
    ],
)
def test_parameters_are_checked(options, fact):
    given = {"sensitive": "disease", "trees": {}, "min_support": 1, **options}
    with pytest.raises(ParameterError, match=fact):
        mine_positive(cells_of([[3, 1], [1, 2]]), **given)


def test_a_tree_of_another_table_is_refused():
    tree = Hierarchy.flat().over(Domain.of_texts("job", ["a", "b", "c"]))
    with pytest.raises(ParameterError, match="3 leaves, the column 2 values"):
        mine_positive(cells_of([[3, 1], [1, 2]]), "disease", {"job": tree}, min_support=1)


def test_numpy_numbers_are_counts_too():
    cells = cells_of([[3, 1], [1, 2]])
    one = mine_positive(cells, "disease", {}, min_support=np.int64(1), min_conviction=0)
    assert len(one) == 4


def test_a_rule_is_a_value():
    rule = PositiveRule(antecedent={"job": "nurse"}, value="flu", confidence=0.4)
    same = PositiveRule(antecedent={"job": "nurse"}, value="flu", confidence=0.4)
    other = PositiveRule(antecedent={"job": "nurse"}, value=None, confidence=0.4)
    assert list(dict.fromkeys([rule, same, other])) == [rule, other]
    assert "nurse" not in repr(rule)
    assert "flu" not in repr(rule)


def test_a_rule_is_json():
    certain, likely = mine_positive(cells_of([[3, 0], [1, 2]]), "disease", {}, min_support=2)
    assert json.loads(json.dumps(certain.to_dict(), allow_nan=False))["conviction"] == "infinite"
    assert likely.to_dict() == {
        "antecedent": {"job": "j1"},
        "value": "d01",
        "count": 3,
        "confidence": 2 / 3,
        "conviction": 2.0,
        "support": 1 / 3,
        "who": "",
        "why": "",
    }


@pytest.mark.parametrize(("antecedent", "confidence"), [({}, 0.5), ({"job": "a"}, 1.5)])
def test_a_rule_that_says_nothing_is_refused(antecedent, confidence):
    with pytest.raises(ParameterError, match="needs an antecedent, and a confidence"):
        PositiveRule(antecedent=antecedent, value="flu", confidence=confidence)
