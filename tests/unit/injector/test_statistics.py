from __future__ import annotations

import json
import math

import numpy as np
import pytest

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.hierarchy import Hierarchy
from shoal.datasets.papers import injector_patients
from shoal.knowledge.positive_rules import PositiveRule, mine_positive


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
