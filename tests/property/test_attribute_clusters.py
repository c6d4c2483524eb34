"""PAM against its definition in plain Python, and against exhaustive search."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.slicing.columns import cluster_attributes


@st.composite
def problems(draw, most=8):
    """Draw distances in hundredths, many of them equal, and a number of clusters."""
    n_attributes = draw(st.integers(1, most))
    largest = draw(st.sampled_from([1, 3, 100]))
    matrix = np.zeros((n_attributes, n_attributes), dtype=int)
    for first, second in combinations(range(n_attributes), 2):
        matrix[first, second] = matrix[second, first] = draw(st.integers(0, largest))
    return matrix, draw(st.integers(1, n_attributes))


def total(matrix, medoids):
    return sum(min(int(row[medoid]) for medoid in medoids) for row in matrix)


def slow_pam(matrix, n_clusters):
    """Do what [Kaufman90] says: build, then the best of all swaps, each tried in full."""
    everyone = range(len(matrix))
    medoids = []
    for _ in range(n_clusters):
        others = [place for place in everyone if place not in medoids]
        medoids.append(min(others, key=lambda new: (total(matrix, [*medoids, new]), new)))
    medoids.sort()
    while True:
        swaps = [
            (total(matrix, [new if m == old else m for m in medoids]), old, new)
            for old in medoids
            for new in everyone
            if new not in medoids
        ]
        if not swaps or min(swaps)[0] >= total(matrix, medoids):
            return medoids
        _, old, new = min(swaps)
        medoids = sorted(new if m == old else m for m in medoids)


@settings(max_examples=1500)
@given(problems())
def test_medoids_are_those_of_the_printed_algorithm(problem):
    matrix, n_clusters = problem
    found = cluster_attributes(matrix / 100, n_clusters)
    medoids = slow_pam(matrix, n_clusters)
    assert sorted(found.medoids) == medoids
    assert round(found.total * 100) == total(matrix, medoids)
    for place, label in enumerate(found.labels):
        nearest = min(medoids, key=lambda medoid: (matrix[place, medoid], medoid))
        assert found.medoids[label] == (place if place in medoids else nearest)
    assert list(found.members) == sorted(found.members)
    assert sorted(sum(found.members, ())) == list(range(len(matrix)))


@settings(max_examples=500)
@given(problems())
def test_no_single_swap_improves_and_one_medoid_is_the_best_one(problem):
    matrix, n_clusters = problem
    found = cluster_attributes(matrix / 100, n_clusters)
    reached = total(matrix, found.medoids)
    for old in found.medoids:
        for new in range(len(matrix)):
            swapped = [new if medoid == old else medoid for medoid in found.medoids]
            assert total(matrix, swapped) >= reached
    if n_clusters in (1, len(matrix) - 1, len(matrix)):
        every = combinations(range(len(matrix)), n_clusters)
        assert reached == min(total(matrix, medoids) for medoids in every)


def test_the_best_of_all_medoids_is_found_nearly_always():
    generator = np.random.default_rng(7)
    n_best, n_tried = 0, 400
    for _ in range(n_tried):
        n_attributes = int(generator.integers(3, 10))
        upper = np.triu(generator.integers(1, 101, (n_attributes, n_attributes)), 1)
        matrix = upper + upper.T
        n_clusters = int(generator.integers(1, n_attributes))
        best = min(
            total(matrix, medoids) for medoids in combinations(range(n_attributes), n_clusters)
        )
        reached = total(matrix, cluster_attributes(matrix / 100, n_clusters).medoids)
        assert best <= reached
        n_best += reached == best
    assert n_best >= 0.9 * n_tried
