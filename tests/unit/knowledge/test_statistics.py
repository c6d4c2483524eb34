from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.datasets.papers import injector_patients
from shoal.knowledge.statistics import Statistic, least_count, mine_statistics


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
