from fractions import Fraction

import numpy as np
import pytest

from shoal.checks import Evidence, check, closeness
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import TCloseness
from shoal.core.tree import NO_GROUP, Level, grow_tree
from shoal.hierarchies.hierarchy import Hierarchy

SALARIES = [f"{thousands}k" for thousands in range(3, 12)]

# [Li07] Figure 1.
DISEASES = [
    ["flu", "respiratory infections", "respiratory system diseases"],
    ["pneumonia", "respiratory infections", "respiratory system diseases"],
    ["bronchitis", "respiratory infections", "respiratory system diseases"],
    ["pulmonary edema", "vascular lung diseases", "respiratory system diseases"],
    ["pulmonary embolism", "vascular lung diseases", "respiratory system diseases"],
    ["gastric ulcer", "stomach diseases", "digestive system diseases"],
    ["stomach cancer", "stomach diseases", "digestive system diseases"],
    ["gastritis", "stomach diseases", "digestive system diseases"],
    ["colitis", "colon diseases", "digestive system diseases"],
    ["colon cancer", "colon diseases", "digestive system diseases"],
]


def judge(guarantee, buckets, tree=None):
    return check(guarantee, Evidence.of_buckets(buckets, tree))


def of_matrix(matrix, column="salary"):
    matrix = np.asarray(matrix, dtype=np.int64)
    bucket, value = np.nonzero(matrix)
    domain = Domain.of_texts(column, [f"{code:05}" for code in range(matrix.shape[1])])
    return Buckets.of_pairs(bucket, value, domain, matrix[bucket, value])


def disease_tree(buckets):
    return Hierarchy.from_rows(DISEASES).over(buckets.domain)


def test_the_salaries_of_the_paper(buckets_of):
    # [Li07] Section 4: {3k, 4k, 5k} and {6k, 8k, 11k} against 3k, ..., 11k.
    low = buckets_of(["3k", "4k", "5k"], SALARIES[3:], order=SALARIES)
    assert closeness(low, "ordered") == Fraction(3, 8)
    spread = buckets_of(["6k", "8k", "11k"], ["3k", "4k", "5k", "7k", "9k", "10k"], order=SALARIES)
    assert closeness(spread, "ordered") == Fraction(1, 6)


def test_a_release_of_the_salaries_of_the_paper_is_at_its_distance(buckets_of):
    # [Li07] Table 5 is said to have 0.167-closeness, which is 1/6.
    salaries = [["3k", "5k", "9k"], ["6k", "11k", "8k"], ["4k", "7k", "10k"]]
    assert closeness(buckets_of(*salaries, order=SALARIES), "ordered") == Fraction(1, 6)


def test_mass_moves_first_to_what_is_near(buckets_of):
    diseases = buckets_of(
        ["gastric ulcer", "stomach cancer", "pneumonia"],
        ["gastritis", "flu", "bronchitis"],
        ["gastritis", "bronchitis", "stomach cancer"],
    )
    # In the second bucket one ninth moves within the infections and one within the diseases of the
    # stomach, both at 1/3; two ninths move from the one system to the other, at 1.
    found = closeness(diseases, "hierarchical", tree=disease_tree(diseases))
    assert found == Fraction(8, 27)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("flu", "bronchitis", Fraction(1, 3)),
        ("flu", "pulmonary embolism", Fraction(2, 3)),
        ("flu", "stomach cancer", Fraction(1)),
    ],
)
def test_the_ground_distances_of_the_paper(buckets_of, one, other, expected):
    # One of two equal buckets moves half of its mass to where the release has it.
    buckets = buckets_of([one], [other])
    assert closeness(buckets, "hierarchical", tree=disease_tree(buckets)) == expected / 2


def test_equal_distance_is_half_the_sum_of_differences():
    buckets = of_matrix([[2, 0, 0], [0, 1, 1]])
    assert closeness(buckets) == Fraction(1, 2)


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_a_release_of_one_bucket_is_at_distance_0(distance):
    buckets = of_matrix([[3, 1, 5]])
    tree = grow_tree(buckets.domain, [Level(np.array([0, 0, 1]), ["a", "b"])])
    assert closeness(buckets, distance, tree=tree) == 0
    assert judge(TCloseness(t=0, distance=distance), buckets, tree).holds


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_a_release_of_one_value_is_at_distance_0(distance):
    buckets = of_matrix([[3], [5]])
    assert closeness(buckets, distance, tree=grow_tree(buckets.domain, [])) == 0


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_equal_buckets_are_at_distance_0(distance):
    buckets = of_matrix([[1, 2, 0, 3]] * 5 + [[2, 4, 0, 6]])
    tree = grow_tree(buckets.domain, [Level(np.array([0, 1, 0, 1]), ["a", "b"])])
    assert closeness(buckets, distance, tree=tree) == 0


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_a_tie_holds_and_a_hair_less_fails(distance):
    buckets = of_matrix([[3, 1, 0, 2], [1, 1, 7, 0], [0, 5, 5, 5]])
    tree = grow_tree(buckets.domain, [Level(np.array([0, 1, 0, 1]), ["a", "b"])])
    least = closeness(buckets, distance, tree=tree)
    verdict = judge(TCloseness(t=least, distance=distance), buckets, tree)
    assert verdict.holds
    hair = least - Fraction(1, 10**30)
    verdict = judge(TCloseness(t=hair, distance=distance), buckets, tree)
    assert verdict.n_failing == 1
    assert Fraction(verdict.reached["t"]) == least
    assert distance in verdict.detail


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_swapping_two_rows_flips_the_verdict(distance):
    close, far = of_matrix([[1, 1], [1, 1]]), of_matrix([[2, 0], [0, 2]])
    tree = grow_tree(close.domain, [])
    assert judge(TCloseness(t=0.4, distance=distance), close, tree).holds
    assert judge(TCloseness(t=0.4, distance=distance), far, tree).n_failing == 2


def test_order_matters_to_the_ordered_distance():
    near, far = of_matrix([[1, 1, 0, 0], [0, 0, 1, 1]]), of_matrix([[1, 0, 0, 1], [0, 1, 1, 0]])
    assert closeness(near) == closeness(far) == Fraction(1, 2)
    assert closeness(near, "ordered") == Fraction(1, 3)
    assert closeness(far, "ordered") == Fraction(1, 6)


def test_every_value_of_the_domain_has_a_rank():
    # The second value occurs nowhere, and still lies between its neighbours.
    assert closeness(of_matrix([[1, 0, 1, 0], [0, 0, 1, 1]]), "ordered") == Fraction(1, 4)


def test_protected_values_count_as_one():
    buckets = of_matrix([[2, 1, 1], [1, 2, 1]])
    assert closeness(buckets) == Fraction(1, 8)
    assert closeness(buckets, protect=["00000", "00001"]) == 0
    assert closeness(buckets, protect=["00000"]) == Fraction(1, 8)
    assert judge(TCloseness(t=0, protect=["00002"]), buckets).holds


def test_protected_values_need_not_be_neighbours():
    buckets = of_matrix([[2, 1, 2, 0], [0, 3, 1, 2]])
    assert closeness(buckets, protect=["00000", "00002"]) == Fraction(4, 5) - Fraction(5, 11)


def test_protected_values_that_do_not_occur_are_at_distance_0():
    assert closeness(of_matrix([[2, 0], [0, 2]]), protect=["gout", None]) == 0


def test_missing_is_a_value_like_any_other(buckets_of):
    buckets = buckets_of([None, None], ["flu", "cold"])
    assert closeness(buckets) == Fraction(1, 2)
    assert closeness(buckets, protect=[None]) == Fraction(1, 2)
    # It has the last place in the order: 1/2 |1/4| + 1/2 |1/2|, both ways.
    assert closeness(buckets, "ordered") == Fraction(3, 8)


def test_values_that_are_suppressed_early_meet_at_the_root():
    buckets = of_matrix([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    levels = [
        Level(np.array([NO_GROUP, NO_GROUP, 0, 0]), ["low"]),
        Level(np.array([NO_GROUP, NO_GROUP, 0, 0]), ["high"]),
    ]
    tree = grow_tree(buckets.domain, levels)
    # All of {1, 0, 0, 0} but a quarter has to go to other branches, at distance 1.
    assert closeness(buckets, "hierarchical", tree=tree) == Fraction(3, 4)


def test_the_hierarchical_distance_needs_a_hierarchy():
    buckets = of_matrix([[1, 1]])
    with pytest.raises(ParameterError, match="needs a hierarchy of column 'salary'"):
        closeness(buckets, "hierarchical")
    other = grow_tree(Domain.of_texts("salary", ["a"]), [])
    with pytest.raises(ParameterError, match="cover the 2 published values"):
        closeness(buckets, "hierarchical", tree=other)


def test_what_has_no_meaning_is_refused():
    buckets = of_matrix([[1, 1]])
    with pytest.raises(ParameterError, match="distance must be one of"):
        closeness(buckets, "euclidean")
    with pytest.raises(ParameterError, match="protect"):
        closeness(buckets, "ordered", protect=["00000"])
    none = np.array([], dtype=np.int64)
    with pytest.raises(DataError, match="without rows"):
        closeness(Buckets(0, none, none, none, buckets.domain))


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@pytest.mark.parametrize("factor", [10**4, 10**9, 10**15])
def test_huge_counts_are_exact(distance, factor):
    small = np.array([[3, 1, 0, 2, 9], [1, 1, 7, 0, 2], [0, 5, 5, 5, 1]])
    tree = grow_tree(of_matrix(small).domain, [Level(np.array([0, 1, 0, 1, 2]), ["a", "b", "c"])])
    expected = closeness(of_matrix(small), distance, tree=tree)
    huge = of_matrix(small * factor)
    assert closeness(huge, distance, tree=tree) == expected
    assert judge(TCloseness(t=expected, distance=distance), huge, tree).holds
    hair = TCloseness(t=expected - Fraction(1, 10**60), distance=distance)
    assert judge(hair, huge, tree).n_failing == 1


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_one_huge_bucket_beside_small_ones_is_exact(distance):
    # The first bucket leaves 64 bits, the others do not.
    matrix = np.array([[2**40, 2**40 + 1, 0], [1, 0, 2], [0, 3, 1]])
    buckets = of_matrix(matrix)
    tree = grow_tree(buckets.domain, [Level(np.array([0, 1, 0]), ["a", "b"])])
    n_rows = int(matrix.sum())
    totals = [Fraction(int(total), n_rows) for total in matrix.sum(axis=0)]
    found = closeness(buckets, distance, tree=tree)
    surplus = [
        [Fraction(int(c), int(row.sum())) - q for c, q in zip(row, totals, strict=True)]
        for row in matrix
    ]
    by_distance = {
        "equal": lambda s: sum(map(abs, s)) / 2,
        "ordered": lambda s: (abs(s[0]) + abs(s[0] + s[1])) / 2,
        "hierarchical": lambda s: (sum(map(abs, s)) / 2 + abs(s[1])) / 2,
    }
    assert found == max(map(by_distance[distance], surplus))


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_ten_thousand_values_need_no_dense_table(distance):
    n_buckets, n_values = 50_000, 10_000
    rng = np.random.default_rng(5)
    bucket = np.repeat(np.arange(n_buckets), 2)
    domain = Domain.of_texts("salary", [f"{code:05}" for code in range(n_values)])
    buckets = Buckets.of_pairs(bucket, rng.integers(0, n_values, len(bucket)), domain)
    groups = np.arange(n_values) % 100
    tree = grow_tree(domain, [Level(groups, [f"g{group}" for group in range(100)])])
    assert 0 < closeness(buckets, distance, tree=tree) <= 1
