from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.beliefs.assignments import exact_posterior
from shoal.beliefs.beliefs import Beliefs, estimate_beliefs, overall_beliefs
from shoal.beliefs.informed import Mean, Share, reweigh
from shoal.beliefs.posteriors import gains, jensen_shannon, posteriors
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.prior_knowledge import BelievedRows

SEX = Domain.of_texts("sex", ["F", "M"])
DISEASE = Domain.of_texts("disease", ["cold", "flu", "gout"])
CELLS = Cells((SEX, DISEASE), np.array([[0, 0], [0, 1], [1, 1], [1, 2]]), np.array([3, 1, 1, 5]))


def table(numbers, texts=None, **more):
    """Make a table with one row for each number, each with a value of its own."""
    texts = texts or [f"{number:g}" for number in numbers]
    age = Domain.of_texts(
        "age", texts, type=ColumnType.REAL, numbers=[float(n) for n in numbers], **more
    )
    value = Domain.of_texts("value", [f"v{i:04}" for i in range(age.size)])
    return Cells.of_rows((age, value), np.stack([np.arange(age.size)] * 2, axis=1))


# --- estimates --------------------------------------------------------------------------------


def test_a_bandwidth_of_0_leaves_equal_values_alone():
    assert estimate_beliefs(CELLS, "disease", {}, 0).prior.tolist() == [
        [0.75, 0.25, 0],
        [0, 1 / 6, 5 / 6],
    ]


def test_the_sensitive_column_may_stand_anywhere():
    turned = CELLS.select(["disease", "sex"])
    found = estimate_beliefs(turned, "disease", {}, 0)
    assert found.cells.columns == ("sex",)
    assert found.prior.tolist() == estimate_beliefs(CELLS, "disease", {}, 0).prior.tolist()


def test_rows_at_the_bandwidth_have_no_weight_however_it_rounds():
    # 0.3 is no float, and neither is the distance of 3 in a range of 10.
    found = estimate_beliefs(table([0, 3, 6, 10]), "value", {}, "0.3").prior
    assert found.tolist() == np.eye(4).tolist()
    assert np.count_nonzero(estimate_beliefs(table([0, 3, 10]), "value", {}, "0.31").prior) == 5


def test_numbers_far_from_0_keep_their_distances():
    far = estimate_beliefs(table([1e15, 1e15 + 1, 1e15 + 2], ["a", "b", "c"]), "value", {}, 0.8)
    near = estimate_beliefs(table([0, 1, 2]), "value", {}, 0.8)
    assert far.prior == pytest.approx(near.prior)


def test_numbers_too_far_apart_for_a_float_have_distances():
    found = estimate_beliefs(table([-1.7e308, 0, 1.7e308], ["a", "b", "c"]), "value", {}, 1)
    assert found.prior == pytest.approx(estimate_beliefs(table([-1, 0, 1]), "value", {}, 1).prior)


def test_a_tiny_bandwidth_is_one():
    for bandwidth in ("1e-300", "1e-400"):
        found = estimate_beliefs(table([0, 1]), "value", {}, bandwidth)
        assert found.prior.tolist() == [[1, 0], [0, 1]]


def test_missing_numbers_are_near_to_nothing():
    found = estimate_beliefs(table([0, 1], has_missing=True), "value", {}, 1).prior
    assert found[2].tolist() == [0, 0, 1]
    assert found[:2, 2].tolist() == [0, 0]


def test_one_number_is_all_there_is():
    assert estimate_beliefs(table([7]), "value", {}, 0.5).prior.tolist() == [[1.0]]


def test_columns_of_many_values_are_weighed_when_needed():
    numbers = list(range(2100))
    found = estimate_beliefs(table(numbers), "value", {}, Fraction(3, 2099)).prior
    weights = [5 / 9, 8 / 9, 1, 8 / 9, 5 / 9]
    assert found[1000, 998:1003] == pytest.approx([one / sum(weights) for one in weights])
    assert np.count_nonzero(found[1000]) == 5


def test_bandwidths_go_by_column():
    found = estimate_beliefs(CELLS, "disease", {}, {"sex": 0})
    assert found.bandwidth == {"sex": 0}
    for given in ({}, {"sex": 0, "age": 1}, {"age": 1}):
        with pytest.raises(ParameterError, match="must name every quasi-identifying column"):
            estimate_beliefs(CELLS, "disease", {}, given)


@pytest.mark.parametrize("bandwidth", [-0.1, 1.1, "wide", math.nan, None, True])
def test_bandwidths_out_of_range_are_refused(bandwidth):
    with pytest.raises(ParameterError, match="bandwidth must"):
        estimate_beliefs(CELLS, "disease", {}, bandwidth)


def test_an_unknown_sensitive_column_is_refused():
    with pytest.raises(ParameterError, match="no sensitive column 'salary'"):
        overall_beliefs(CELLS, "salary")


def test_a_table_without_rows_has_no_beliefs():
    empty = Cells.of_rows((SEX, DISEASE), np.empty((0, 2), dtype=np.int64))
    assert estimate_beliefs(empty, "disease", {}).prior.shape == (0, 3)
    assert overall_beliefs(empty, "disease").overall.tolist() == [0, 0, 0]


def test_beliefs_must_be_distributions():
    cells = CELLS.select(["sex"])
    for prior in ([[0.5, 0.5, 0], [0.5, 0.6, 0]], [[1.5, -0.5, 0], [1, 0, 0]]):
        with pytest.raises(ParameterError, match="add up to 1"):
            Beliefs(cells, np.array(prior), DISEASE)
    with pytest.raises(ParameterError, match="2 cells and 3 values"):
        Beliefs(cells, np.ones((1, 3)) / 3, DISEASE)


def test_the_repr_shows_no_value():
    found = repr(overall_beliefs(CELLS, "disease"))
    assert found == "Beliefs(sex: 2 different people, 3 values of disease)"


def test_the_overall_belief_is_that_of_the_table():
    assert overall_beliefs(CELLS, "disease").overall == pytest.approx([0.3, 0.2, 0.5])
    assert estimate_beliefs(CELLS, "disease", {}, 0).overall == pytest.approx([0.3, 0.2, 0.5])


# --- posteriors -------------------------------------------------------------------------------


def test_other_sizes_than_those_of_the_buckets_are_refused():
    buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), DISEASE)
    alone = BelievedRows.of_pairs(np.array([0]), np.array([0]), np.ones((1, 3)) / 3)
    for measure in (posteriors, gains):
        with pytest.raises(DataError, match="1 in 1 buckets, and 2 in 1"):
            measure(buckets, alone)
    with pytest.raises(DataError, match="2 values and 1 rows"):
        exact_posterior([1, 1], [[0.5, 0.5]], [1])


def test_a_release_without_rows_has_no_posteriors():
    none = np.empty(0, dtype=np.int64)
    buckets = Buckets(0, none, none, none, DISEASE)
    occupants = BelievedRows(none, none, none, np.ones((1, 3)) / 3)
    found = posteriors(buckets, occupants)
    assert found.distances().tolist() == found.strongest()[0].tolist() == []
    assert gains(buckets, occupants).distance.tolist() == []


def test_exact_posteriors_of_large_buckets_do_not_underflow():
    # A product of 150 such numbers is below what a float can hold.
    priors = [[1e-3, 0.999], [2e-3, 0.998]]
    found, is_possible = exact_posterior([75, 75], priors, [75, 75])
    assert is_possible
    assert 75 * found.sum(axis=0) == pytest.approx([75, 75])
    assert found[1, 0] > found[0, 0]


def test_nearly_equal_distributions_are_nearly_at_distance_0():
    first = np.array([1 / 3, 1 / 3, 1 / 3])
    assert jensen_shannon(first, first * (1 + 1e-16)) < 1e-15
    assert jensen_shannon(first, np.array([1 / 3 + 1e-9, 1 / 3 - 1e-9, 1 / 3])) < 1e-8


def test_a_share_of_everything_or_nothing_leaves_no_doubt():
    everybody = np.ones(2, dtype=bool)
    beliefs = overall_beliefs(CELLS, "disease")
    assert reweigh(beliefs, [Share(everybody, 1, 1.0)]).prior.tolist() == [[0, 1, 0]] * 2
    assert reweigh(beliefs, [Share(everybody, 1, 0.0)]).prior == pytest.approx(
        np.array([[0.375, 0, 0.625]] * 2)
    )


def test_a_share_that_the_beliefs_rule_out_is_refused():
    beliefs = estimate_beliefs(CELLS, "disease", {}, 0)
    with pytest.raises(ParameterError, match="rule out"):
        reweigh(beliefs, [Share(np.array([True, False]), 2, 0.1)])


def test_conditions_that_contradict_each_other_are_refused():
    everybody = np.ones(2, dtype=bool)
    shares = [Share(everybody, 0, 0.3), Share(everybody, 0, 0.4)]
    with pytest.raises(ParameterError, match="all 2 conditions were found in 50 rounds"):
        reweigh(overall_beliefs(CELLS, "disease"), shares, n_rounds=50)


@pytest.mark.parametrize(
    ("condition", "fact"),
    [
        (Share(np.zeros(2, dtype=bool), 0, 0.5), "applies to nobody"),
        (Share(np.ones(3, dtype=bool), 0, 0.5), "must mark the 2 cells"),
        (Share(np.ones(2, dtype=bool), 3, 0.5), "a code below 3"),
        (Share(np.ones(2, dtype=bool), 0, 1.5), "between 0 and 1"),
        (Share(np.ones(2, dtype=bool), 0, math.nan), "between 0 and 1"),
        (Mean(np.ones(2, dtype=bool), 1.0), "is not numeric"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(condition, fact):
    with pytest.raises(ParameterError, match=fact):
        reweigh(overall_beliefs(CELLS, "disease"), [condition])


def salaries(*, has_missing):
    salary = Domain.of_texts(
        "salary", ["1", "2", "9"], type=ColumnType.INTEGER, numbers=[1, 2, 9],
        has_missing=has_missing,
    )  # fmt: skip
    rows = [[0, code] for code in range(salary.size)]
    return overall_beliefs(Cells.of_rows((SEX, salary), np.array(rows)), "salary")


def test_a_mean_is_that_of_the_values_that_are_there():
    somebody = np.ones(1, dtype=bool)
    found = reweigh(salaries(has_missing=True), [Mean(somebody, 5.0)]).prior[0]
    assert found[:3] @ [1, 2, 9] / found[:3].sum() == pytest.approx(5)
    assert found[3] > 0
    assert reweigh(salaries(has_missing=False), [Mean(somebody, 9.0)]).prior[0].tolist() == [
        0,
        0,
        1,
    ]


@pytest.mark.parametrize("mean", [0.5, 9.5, math.inf])
@pytest.mark.parametrize("has_missing", [False, True])
def test_a_mean_beyond_all_values_is_refused(mean, has_missing):
    with pytest.raises(ParameterError, match=r"rule out|finite"):
        reweigh(salaries(has_missing=has_missing), [Mean(np.ones(1, dtype=bool), mean)])


def test_forbidden_values_of_another_shape_are_refused():
    with pytest.raises(ParameterError, match="2 cells and 3 values"):
        reweigh(overall_beliefs(CELLS, "disease"), forbidden=np.zeros((2, 2), dtype=bool))
