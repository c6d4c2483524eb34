from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from shoal.core.errors import ParameterError
from shoal.knowledge.correlation import Correlations
from shoal.knowledge.slicing_columns import SlicedColumns

QUASI = ("age", "sex", "zipcode")


def by_hand(columns, quasi=QUASI, sensitive="disease", **options):
    return SlicedColumns(columns, quasi=quasi, sensitive=sensitive, **options)


def test_columns_by_hand_keep_their_order():
    columns = by_hand([["zipcode", "disease"], ["sex", "age"]])
    assert columns.columns == (("zipcode", "disease"), ("sex", "age"))
    assert columns.names == ("column_1", "column_2")
    assert columns.attributes == ("age", "sex", "zipcode", "disease")
    assert columns.sensitive_columns == (0,)
    assert columns.quasi_part(0) == ("zipcode",)
    assert columns.quasi_part(1, "disease") == ("sex", "age")


def test_a_sensitive_attribute_alone_has_an_empty_part():
    assert by_hand([QUASI, ["disease"]]).quasi_part(1, "disease") == ()


def test_an_overlapping_attribute_is_in_several_columns():
    columns = by_hand([["age", "sex", "disease"], ["zipcode", "disease"]], overlap=True)
    assert columns.shared == ("disease",)
    assert columns.places("disease") == (0, 1)
    assert columns.sensitive_columns == (0, 1)
    assert columns.to_dict() == {
        "columns": {"column_1": ["age", "sex", "disease"], "column_2": ["zipcode", "disease"]},
        "quasi": ["age", "sex", "zipcode"],
        "sensitive": ["disease"],
        "overlap": True,
    }


def test_several_sensitive_attributes_have_columns_of_their_own_or_share_one():
    sensitive = ("disease", "salary")
    apart = by_hand([["age", "disease"], ["sex", "zipcode", "salary"]], sensitive=sensitive)
    assert apart.sensitive_columns == (0, 1)
    together = by_hand([QUASI, sensitive], sensitive=sensitive)
    assert together.sensitive_columns == (1,)
    # Whoever guesses one of them does not know the other.
    assert together.quasi_part(1, "disease") == ()


def test_none_need_be_sensitive():
    columns = SlicedColumns([["age"], ["sex", "zipcode"]], quasi=QUASI)
    assert columns.sensitive_columns == ()
    assert columns.quasi_part(1) == ("sex", "zipcode")


def test_an_attribute_that_is_both_is_known_unless_it_is_guessed():
    columns = by_hand([["age", "sex"], ["zipcode"]], sensitive=["sex", "zipcode"])
    assert columns.attributes == QUASI
    assert columns.sensitive_columns == (0, 1)
    assert columns.quasi_part(0, "sex") == ("age",)
    assert columns.quasi_part(0, "zipcode") == ("age", "sex")
    assert columns.quasi_part(1, "zipcode") == ()


def test_clusters_come_in_the_order_of_the_attributes_not_of_the_matrix():
    names = ("disease", "zipcode", "sex", "age", "other")
    matrix = np.full((5, 5), 0.1)
    for first, second in (("zipcode", "disease"), ("sex", "age")):
        places = names.index(first), names.index(second)
        matrix[places] = matrix[places[::-1]] = 0.8
    np.fill_diagonal(matrix, 1)
    found = SlicedColumns.clustered(
        Correlations(names, matrix), 2, quasi=QUASI, sensitive="disease"
    )
    assert found == by_hand([["age", "sex"], ["zipcode", "disease"]])


def test_clusters_need_the_correlations_of_all_attributes():
    with pytest.raises(ParameterError, match="no correlation of column 'sex'"):
        SlicedColumns.clustered(Correlations(("age",), np.ones((1, 1))), 1, quasi=["age", "sex"])


def test_one_attribute_a_column():
    found = SlicedColumns.one_attribute_each(quasi=QUASI, sensitive=["disease", "sex"])
    assert found.columns == (("age",), ("sex",), ("zipcode",), ("disease",))


def test_bucketized_columns_part_the_sensitive_attributes_from_the_others():
    found = SlicedColumns.bucketized(quasi=QUASI, sensitive=["disease", "sex"])
    assert found.columns == (("age", "zipcode"), ("disease", "sex"))


@pytest.mark.parametrize("sensitive", [[], QUASI])
def test_bucketized_columns_need_both_kinds(sensitive):
    with pytest.raises(ParameterError, match="part sensitive attributes from others"):
        SlicedColumns.bucketized(quasi=QUASI, sensitive=sensitive)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([["age", "sex"], ["zipcode"]], "in none of the 2 columns: 'disease'"),
        ([[*QUASI, "disease"], ["sex"]], "in more than one column: 'sex'"),
        ([[*QUASI, "disease", "name"]], "these are neither: 'name'"),
        ([[*QUASI, "disease", "age"]], "column 1 of columns must name .* more often: 'age'"),
        ([[*QUASI, "disease"], []], "column 2 is empty"),
        ([], "there is none"),
        (["age", "disease"], "column 1 of columns must be a list; got str"),
        ("age", "columns must be a list; got str"),
        (7, "columns must be a list; got int"),
        ([[*QUASI, "disease"], 3], "column 2 of columns must be a list"),
        ([[*QUASI, "disease", 3]], "column 1 of columns must hold names"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns, message):
    with pytest.raises(ParameterError, match=message):
        by_hand(columns)


def test_an_attribute_twice_in_one_column_is_refused_even_with_overlap():
    with pytest.raises(ParameterError, match="more often: 'age'"):
        by_hand([[*QUASI, "age", "disease"]], overlap=True)


def test_the_columns_of_an_unknown_attribute_are_refused():
    with pytest.raises(ParameterError, match="neither: 'name'"):
        by_hand([QUASI, ["disease"]]).places("name")


def test_hundreds_of_attributes_are_not_all_listed():
    quasi = [f"a{place}" for place in range(100)]
    with pytest.raises(ParameterError, match="'a40' and 59 more"):
        SlicedColumns([["a0"]], quasi=quasi)


def test_columns_are_frozen():
    with pytest.raises(FrozenInstanceError):
        by_hand([QUASI, ["disease"]]).overlap = True
