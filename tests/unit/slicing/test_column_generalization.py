from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.tree import NO_GROUP, Level, grow_tree
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.slicing.column_generalization import generalize_columns

WORK = Domain.of_texts("work", ["Federal", "Private", "State"])
WORK_TREE = Hierarchy.from_rows(
    [["Private", "Other"], ["State", "Government"], ["Federal", "Government"]]
).over(WORK)
SEX = Domain.of_texts("sex", ["F", "M"], has_missing=True)


def cells_of(*columns):
    """Make cells from pairs of a domain and its codes, row by row."""
    domains = [domain for domain, _ in columns]
    return Cells.of_rows(domains, np.array([codes for _, codes in columns]).T)


def ages(numbers, *, has_missing=False):
    return Domain.of_texts(
        "age",
        list(map(str, numbers)),
        type=ColumnType.INTEGER,
        numbers=numbers,
        has_missing=has_missing,
    )


def test_frequent_values_stay_as_they_are():
    found = generalize_columns(cells_of((SEX, [0, 0, 1, 1, 2, 2])), [["sex"]], 2)
    assert dict(found.levels) == {"sex": 0}
    assert found.recode == ()
    assert found.least_counts == (2,)


def test_rare_values_become_the_lowest_frequent_labels():
    cells = cells_of((WORK, [0, 2, 1, 1]))
    found = generalize_columns(cells, [["work"]], 2, trees={"work": WORK_TREE})
    assert dict(found.levels) == {"work": 1}
    (recode,) = found.recode
    assert recode.by == "value"
    assert [recode.labels[place].text for place in recode.index] == [
        "Government",
        "Other",
        "Government",
    ]
    assert [label.members for label in recode.labels] == [(0, 2), (1,)]
    assert found.apply(cells).counts.tolist() == [2, 2]
    (highest,) = generalize_columns(cells, [["work"]], 3, trees={"work": WORK_TREE}).recode
    assert highest.labels[0].members == (0, 1, 2)


def test_only_the_attribute_that_helps_is_generalized():
    sex = (SEX, [0, 0, 0, 1, 1, 1])
    work = (WORK, [0, 2, 2, 2, 2, 0])
    found = generalize_columns(cells_of(sex, work), [["sex", "work"]], 3, trees={"work": WORK_TREE})
    assert dict(found.levels) == {"sex": 0, "work": 1}


def test_of_attributes_that_help_equally_the_first_one_of_the_columns_goes_up():
    codes = [0, 0, 1, 1], [0, 1, 0, 1]
    cells = cells_of((SEX, codes[0]), (WORK, codes[1]))
    assert dict(generalize_columns(cells, [["work", "sex"]], 2).levels) == {"work": 1, "sex": 0}
    assert dict(generalize_columns(cells, [["sex", "work"]], 2).levels) == {"sex": 1, "work": 0}


def test_one_attribute_goes_where_parts_of_two_would_lose_more():
    # The first steps of both would do as well; they lose more than the whole of city.
    domain = Domain.of_texts("city", ["Bonn", "Cork", "Oslo", "Rome"])
    rows = [["Bonn", "north"], ["Cork", "north"], ["Oslo", "north"], ["Rome", "south"]]
    tree = Hierarchy.from_rows(rows).over(domain)
    city = [0] * 10 + [0, 1, 2, 2] + [3] * 15
    work = [0] * 5 + [1] * 5 + [2] * 4 + [0] * 5 + [1] * 5 + [2] * 5
    cells = cells_of((domain, city), (WORK, work))
    found = generalize_columns(cells, [["city", "work"]], 5, trees={"city": tree})
    assert dict(found.levels) == {"city": 2, "work": 0}


def test_a_value_suppressed_early_has_the_label_of_all_values():
    domain = Domain.of_texts("work", ["Federal", "Private", "State"], has_missing=True)
    tree = grow_tree(domain, [Level(np.array([NO_GROUP, 0, 0]), ["Other"])])
    cells = cells_of((domain, [0, 0, 1, 2, 3, 3]))
    found = generalize_columns(cells, [["work"]], 2, trees={"work": tree})
    (recode,) = found.recode
    assert [label.text for label in recode.labels] == ["*", "Other", None]
    assert [label.members for label in recode.labels] == [(0, 1, 2), (1, 2), ()]
    assert found.apply(cells).domain("work").labels() == ["*", "Other", None]


def test_a_missing_value_is_a_value_of_its_own_and_its_label_is_last():
    domain = ages([20, 21, 40, 41], has_missing=True)
    tree = Hierarchy.intervals([30]).over(domain)
    cells = cells_of((domain, [4, 0, 1, 2, 3, 4]))
    found = generalize_columns(cells, [["age"]], 2, trees={"age": tree})
    (recode,) = found.recode
    assert [label.text for label in recode.labels] == ["]-inf, 30[", "[30, +inf[", None]
    assert [label.has_missing for label in recode.labels] == [False, False, True]
    assert found.apply(cells).domain("age").has_missing
    all_one = generalize_columns(cells, [["age"]], 3, trees={"age": tree})
    assert [label.text for label in all_one.recode[0].labels] == ["*"]
    assert all_one.recode[0].labels[0].has_missing


def test_numbers_without_a_hierarchy_become_intervals_of_equally_many_rows():
    domain = ages(list(range(64)))
    found = generalize_columns(cells_of((domain, list(range(64)))), [["age"]], 8)
    assert dict(found.heights) == {"age": 5}
    assert dict(found.levels) == {"age": 2}
    assert len(found.recode[0].labels) == 8


def test_columns_are_generalized_apart():
    cells = cells_of((SEX, [0, 0, 1, 1]), (WORK, [0, 1, 2, 2]))
    found = generalize_columns(cells, [["sex"], ["work"]], 2)
    assert dict(found.levels) == {"sex": 0, "work": 1}
    assert found.least_counts == (2, 4)


@pytest.mark.parametrize("columns", [[["work"], ["sex", "work"]], [["sex", "work"], ["work"]]])
def test_an_attribute_in_two_columns_has_one_level(columns):
    cells = cells_of((SEX, [0, 0, 1, 1]), (WORK, [0, 1, 0, 1]))
    found = generalize_columns(cells, columns, 2, keep=["sex"])
    assert dict(found.levels) == {"work": 1, "sex": 0}
    assert found.least_counts == ((4, 2) if columns[0] == ["work"] else (2, 4))


def test_what_stands_in_columns_without_rare_values_is_left_alone():
    # Neither step makes a value frequent; the first attribute is in no column that needs it.
    domain = Domain.of_texts("city", ["Bonn", "Oslo", "Rome"])
    city = (domain, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    sex = (SEX, [0, 0, 0, 0, 0, 0, 1, 1, 1])
    work = (WORK, [0, 1, 2] * 3)
    columns = [["city", "sex"], ["sex", "work"]]
    found = generalize_columns(cells_of(city, sex, work), columns, 3, keep=["sex"])
    assert dict(found.levels) == {"city": 0, "sex": 0, "work": 1}


def test_what_is_kept_is_not_generalized():
    cells = cells_of((SEX, [0, 0, 1, 1]), (WORK, [0, 1, 0, 1]))
    found = generalize_columns(cells, [["sex", "work"]], 2, keep=["sex"])
    assert dict(found.levels) == {"sex": 0, "work": 1}
    assert dict(found.heights) == {"sex": 0, "work": 1}


def test_what_cannot_be_reached_says_what_can():
    cells = cells_of((SEX, [0, 0, 0, 1]), (WORK, [0, 1, 2, 1]))
    with pytest.raises(InfeasibleError, match=r"column 2 \(sex, work\)") as caught:
        generalize_columns(cells, [["work"], ["sex", "work"]], 2, keep=["sex"])
    assert caught.value.best == {"min_frequency": 1}
    with pytest.raises(InfeasibleError) as caught:
        generalize_columns(cells, [["sex", "work"]], 5)
    assert caught.value.best == {"min_frequency": 4}
    generalize_columns(cells, [["sex", "work"]], 4)


def test_of_several_columns_out_of_reach_the_worst_says_what_can_be_reached():
    cells = cells_of((SEX, [0, 0, 1, 1, 1]), (WORK, [0, 0, 0, 0, 1]))
    with pytest.raises(InfeasibleError, match=r"column 1 \(sex\) .* 2 rows") as caught:
        generalize_columns(cells, [["sex"], ["work"]], 3, keep=["sex", "work"])
    assert caught.value.best == {"min_frequency": 1}


def test_an_empty_table_needs_no_generalization():
    cells = Cells.of_rows([SEX], np.empty((0, 1)))
    found = generalize_columns(cells, [["sex"]], 5)
    assert dict(found.levels) == {"sex": 0}
    assert found.to_dict()["least_counts"] == [0]


@pytest.mark.parametrize(("columns", "keep"), [([["age"]], ()), ([["sex"]], ["age"])])
def test_columns_that_are_not_there_are_named(columns, keep):
    with pytest.raises(ParameterError, match="'age' is not"):
        generalize_columns(cells_of((SEX, [0])), columns, 1, keep=keep)


@pytest.mark.parametrize("min_frequency", [0, 1.5, None])
def test_the_minimum_is_a_whole_number(min_frequency):
    with pytest.raises(ParameterError, match="min_frequency"):
        generalize_columns(cells_of((SEX, [0])), [["sex"]], min_frequency)


def test_a_group_of_ages_goes_before_sex():
    """Sixteen groups of ages are merged rather than the two sexes."""
    domain = ages(list(range(64)))
    generator = np.random.default_rng(1)
    age, sex = generator.integers(0, 64, 300), generator.integers(0, 2, 300)
    sex_domain = Domain.of_texts("sex", ["F", "M"])
    cells = Cells.of_rows([sex_domain, domain], np.column_stack([sex, age]))
    found = generalize_columns(cells, [["sex", "age"]], 8)
    assert found.levels["sex"] == 0
    assert 0 < found.levels["age"] < found.heights["age"]


def test_four_rare_combinations_do_not_cost_a_column():
    """Rare values without a hierarchy become one label; frequent ones stay as they are."""
    jobs = Domain.of_texts("job", ["clerk", "cook", "diver", "guard", "nurse", "smith"])
    rows = [(job, sex) for job in (0, 1, 3, 4) for sex in (0, 1) for _ in range(20)]
    rows += [(job, sex) for job in (2, 5) for sex in (0, 1)]
    cells = Cells.of_rows([jobs, Domain.of_texts("sex", ["F", "M"])], np.array(rows))
    found = generalize_columns(cells, [["job", "sex"]], 2)
    assert dict(found.levels) == {"job": 1, "sex": 0}
    (recode,) = found.recode
    texts = [recode.labels[place].text for place in recode.index.tolist()]
    assert texts == ["clerk", "cook", "2 others", "guard", "nurse", "2 others"]
    assert found.least_counts == (2,)


def test_a_label_of_folded_values_is_no_value():
    domain = Domain.of_texts("job", ["2 others", "2 others'", "a", "b"])
    cells = Cells.of_rows([domain], np.array([[0], [0], [1], [1], [2], [3]]))
    (recode,) = generalize_columns(cells, [["job"]], 2).recode
    assert {label.text for label in recode.labels} == {"2 others", "2 others'", "2 others''"}
