from __future__ import annotations

import numpy as np
import pytest

from shoal.core.errors import ParameterError
from shoal.slicing.columns import (
    bucketized_columns,
    cluster_attributes,
    clustered_columns,
    given_columns,
    one_attribute_each,
)
from shoal.slicing.correlation import Correlations

QUASI = ("age", "sex", "zipcode")


def by_hand(columns, quasi=QUASI, sensitive=("disease",), **options):
    return given_columns(columns, quasi=quasi, sensitive=sensitive, **options)


def test_columns_by_hand_keep_their_order():
    layout = by_hand([["zipcode", "disease"], ["sex", "age"]])
    assert layout.columns == (("zipcode", "disease"), ("sex", "age"))
    assert layout.known == QUASI
    assert layout.sensitive_columns == (0,)
    assert layout.outside_attributes == ("sex", "age")


def test_an_overlapping_attribute_is_in_several_columns():
    layout = by_hand([["age", "sex", "disease"], ["zipcode", "disease"]], overlap=True)
    assert layout.shared == ("disease",)
    assert layout.sensitive_columns == (0, 1)


def test_several_sensitive_attributes_have_columns_of_their_own_or_share_one():
    sensitive = ("disease", "salary")
    apart = by_hand([["age", "disease"], ["sex", "zipcode", "salary"]], sensitive=sensitive)
    assert apart.sensitive_columns == (0, 1)
    together = by_hand([QUASI, sensitive], sensitive=sensitive)
    assert together.sensitive_columns == (1,)


def test_none_need_be_sensitive():
    layout = given_columns([["age"], ["sex", "zipcode"]], quasi=QUASI)
    assert layout.sensitive_columns == ()
    assert layout.known == QUASI


def test_an_attribute_that_is_both_is_known_unless_it_is_guessed():
    layout = by_hand([["age", "sex"], ["zipcode"]], sensitive=["sex", "zipcode"])
    assert layout.attributes == QUASI
    assert layout.sensitive_columns == (0, 1)
    assert layout.known_for("sex") == ("age", "zipcode")
    assert layout.known_for("zipcode") == ("age", "sex")


def test_clusters_come_in_the_order_of_the_attributes_not_of_the_matrix():
    names = ("disease", "zipcode", "sex", "age", "other")
    matrix = np.full((5, 5), 0.1)
    for first, second in (("zipcode", "disease"), ("sex", "age")):
        places = names.index(first), names.index(second)
        matrix[places] = matrix[places[::-1]] = 0.8
    np.fill_diagonal(matrix, 1)
    found = clustered_columns(Correlations(names, matrix), 2, quasi=QUASI, sensitive=["disease"])
    assert found == by_hand([["age", "sex"], ["zipcode", "disease"]])


def test_clusters_need_the_correlations_of_all_attributes():
    with pytest.raises(ParameterError, match="no correlation of column 'sex'"):
        clustered_columns(Correlations(("age",), np.ones((1, 1))), 1, quasi=["age", "sex"])


def test_one_attribute_a_column():
    found = one_attribute_each(quasi=QUASI, sensitive=["disease", "sex"])
    assert found.columns == (("age",), ("sex",), ("zipcode",), ("disease",))


def test_bucketized_columns_part_the_sensitive_attributes_from_the_others():
    found = bucketized_columns(quasi=QUASI, sensitive=["disease", "sex"])
    assert found.columns == (("age", "zipcode"), ("disease", "sex"))


@pytest.mark.parametrize("sensitive", [[], QUASI])
def test_bucketized_columns_need_both_kinds(sensitive):
    with pytest.raises(ParameterError, match="separate sensitive attributes from others"):
        bucketized_columns(quasi=QUASI, sensitive=sensitive)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([["age", "sex"], ["zipcode"]], "in none of the 2 columns: 'disease'"),
        ([[*QUASI, "disease"], ["sex"]], "in more than one column: 'sex'"),
        ([[*QUASI, "disease", "name"]], "these are neither: 'name'"),
        ([[*QUASI, "disease", "age"]], "names an attribute twice: age"),
        ([[*QUASI, "disease"], []], "column 2 is empty"),
        ([], "in none of the 0 columns"),
        ([[*QUASI, "disease", 3]], "these are neither: 3"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns, message):
    with pytest.raises(ParameterError, match=message):
        by_hand(columns)


def test_an_attribute_twice_in_one_column_is_refused_even_with_overlap():
    with pytest.raises(ParameterError, match="twice: age"):
        by_hand([[*QUASI, "age", "disease"]], overlap=True)


def test_hundreds_of_attributes_are_not_all_listed():
    quasi = [f"a{place}" for place in range(100)]
    with pytest.raises(ParameterError, match="'a40' and 59 more"):
        given_columns([["a0"]], quasi=quasi)


def distances(n_attributes, near):
    """Return a matrix of ones except for the given pairs."""
    matrix = np.ones((n_attributes, n_attributes))
    np.fill_diagonal(matrix, 0)
    for (first, second), value in near.items():
        matrix[first, second] = matrix[second, first] = value
    return matrix


def test_attributes_near_to_each_other_are_one_cluster():
    found = cluster_attributes(distances(5, {(0, 3): 0.2, (1, 2): 0.1, (2, 4): 0.1}), 2)
    assert found.members == ((0, 3), (1, 2, 4))
    assert found.medoids == (0, 2)
    assert found.total == pytest.approx(0.4)


def test_as_many_clusters_as_attributes_leave_each_alone():
    found = cluster_attributes(distances(3, {(0, 1): 0.1}), 3)
    assert found.members == ((0,), (1,), (2,))
    assert found.total == 0


def test_equal_attributes_still_fill_every_cluster():
    found = cluster_attributes(np.zeros((4, 4)), 3)
    assert found.medoids == (0, 1, 2)
    assert found.labels == (0, 1, 2, 0)


def test_where_all_are_equally_far_the_first_are_medoids():
    assert cluster_attributes(distances(5, {}), 2).members == ((0, 2, 3, 4), (1,))


def test_swapping_mends_what_building_began():
    # The first medoid lies between two groups; it is in nobody's way only once it has left.
    near = {(0, place): 0.5 for place in range(1, 5)} | {(1, 2): 0.1, (3, 4): 0.1}
    found = cluster_attributes(distances(5, near), 2)
    assert found.total == pytest.approx(0.7)
    assert 0 not in found.medoids


def test_one_attribute_is_one_cluster():
    assert cluster_attributes([[0]], 1).to_dict() == {"medoids": [0], "labels": [0], "total": 0}


def test_twelve_decimals_decide_and_no_more():
    noise = distances(3, {(0, 1): 0.3, (0, 2): 0.3 - 1e-15, (1, 2): 0.3 + 1e-15})
    assert cluster_attributes(noise, 1).medoids == (0,)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 1]],
        [0, 1],
        [[0, 2], [2, 0]],
        [[0, -0.1], [-0.1, 0]],
        [[0, np.nan], [np.nan, 0]],
        [[0, 0.1], [0.2, 0]],
        [[0.1, 0], [0, 0]],
    ],
)
def test_what_is_no_distance_is_refused(matrix):
    with pytest.raises(ParameterError, match="Distances of attributes"):
        cluster_attributes(matrix, 1)


@pytest.mark.parametrize("n_clusters", [0, 4, 1.5])
def test_the_number_of_clusters_must_fit(n_clusters):
    with pytest.raises(ParameterError, match="clusters"):
        cluster_attributes(np.zeros((3, 3)), n_clusters)
