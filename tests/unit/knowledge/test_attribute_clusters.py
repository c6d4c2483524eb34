from __future__ import annotations

import numpy as np
import pytest

from shoal.core.errors import ParameterError
from shoal.knowledge.attribute_clusters import cluster_attributes


def distances(n_attributes, near):
    """Give a matrix of ones but for pairs that are named."""
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
