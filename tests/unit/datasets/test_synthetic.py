from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.datasets import Encoded, census, zipf
from shoal.datasets.synthetic import CONDITIONS, IMPOSSIBLE, NEVER_TOGETHER


@pytest.fixture(scope="module")
def large():
    return census(rows=300_000, seed=11)


def fits(table, pattern):
    mask = np.ones(table.n_rows, dtype=bool)
    for column, allowed in pattern.items():
        values = table.columns[column]
        if isinstance(values, Encoded):
            assert allowed <= set(values.labels)
            mask &= np.isin(values.codes, [values.labels.index(label) for label in allowed])
        else:
            mask &= np.isin(values, sorted(allowed))
    return mask


def has_condition(table, condition):
    return table.columns["condition"].codes == CONDITIONS.index(condition)


@pytest.mark.parametrize(("pattern", "condition"), IMPOSSIBLE)
def test_impossible_conditions_never_occur(large, pattern, condition):
    who = fits(large, pattern)
    assert who.any()
    assert has_condition(large, condition).any()
    assert not (who & has_condition(large, condition)).any()


def test_impossible_conditions_are_not_implied_by_one_another():
    facts = [(dict(pattern), condition) for pattern, condition in IMPOSSIBLE]
    for (general, value), (special, other) in combinations(facts, 2):
        if value == other:
            assert not (
                general.keys() <= special.keys()
                and all(special[column] <= general[column] for column in general)
            ), (value, sorted(general))


def test_the_fact_of_two_columns_needs_both(large):
    (pattern, condition) = IMPOSSIBLE[-1]
    assert set(pattern) == {"sex", "age"}
    for column in pattern:
        one = {column: pattern[column]}
        assert (fits(large, one) & has_condition(large, condition)).any()


@pytest.mark.parametrize("pattern", NEVER_TOGETHER)
def test_other_impossible_combinations_never_occur(large, pattern):
    assert not fits(large, pattern).any()
    for column, allowed in pattern.items():
        assert fits(large, {column: allowed}).any()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age", "education"),
        ("age", "marital_status"),
        ("age", "condition"),
        ("sex", "employment"),
        ("sex", "condition"),
        ("education", "income"),
        ("employment", "income"),
        ("income", "condition"),
        ("postcode", "age"),
        ("postcode", "education"),
    ],
)
def test_columns_depend_on_each_other(large, one, other):
    first, second = (
        getattr(large.columns[column], "codes", large.columns[column]) for column in (one, other)
    )
    counts = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(counts, (first, second), 1)
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    chi_square = ((counts - expected) ** 2 / expected).sum()
    n_free = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    # Of independent columns chi square is about n_free, give or take 2 % at the most.
    assert chi_square > 1.5 * n_free


@pytest.mark.parametrize("rows", [200, 201, 500, 3_000])
def test_no_condition_has_more_than_a_fifth_of_the_rows(rows):
    for seed in range(40):
        counts = np.bincount(census(rows=rows, seed=seed).columns["condition"].codes)
        assert counts.max() <= rows / 5


def test_every_condition_occurs_and_none_dominates(large):
    shares = np.bincount(large.columns["condition"].codes) / large.n_rows
    assert len(shares) == len(CONDITIONS) == 15
    assert shares.min() > 0.01
    assert shares.max() < 0.12


def test_all_four_roles_are_there():
    schema = census(rows=1).schema
    assert schema.key == "person_no"
    assert set(schema.identifying) == {"name", "person_no"}
    assert schema.sensitive == ("condition",)
    assert schema.insensitive == ("wave",)


def test_person_numbers_are_unique_and_tell_no_order():
    numbers = census(rows=1000).to_dict()["person_no"]
    assert len(set(numbers)) == 1000
    assert numbers != sorted(numbers)


def test_postcodes_are_texts_of_five_digits_some_with_a_leading_zero():
    postcodes = census(rows=1000).to_dict()["postcode"]
    assert all(len(postcode) == 5 and postcode.isdigit() for postcode in postcodes)
    assert any(postcode.startswith("0") for postcode in postcodes)


def test_a_seed_gives_one_table_and_another_seed_another():
    assert census(rows=50, seed=4).to_dict() == census(rows=50, seed=4).to_dict()
    assert census(rows=50, seed=4).to_dict() != census(rows=50, seed=5).to_dict()


def test_missing_values_have_their_share_and_their_columns():
    table = census(rows=20_000, missing=0.1)
    shares = {
        column: (values.codes < 0).mean()
        for column, values in table.columns.items()
        if isinstance(values, Encoded) and (values.codes < 0).any()
    }
    assert set(shares) == {"postcode", "education", "marital_status", "employment", "income"}
    assert list(shares.values()) == pytest.approx([0.1] * 5, abs=0.01)


def test_hierarchies_cover_every_value(large):
    for column, hierarchy in large.schema.hierarchies.items():
        values = large.columns[column]
        if isinstance(values, Encoded):
            domain = Domain.of_texts(column, sorted(values.labels))
        else:
            numbers = np.unique(values).tolist()
            domain = Domain.of_texts(
                column,
                [str(number) for number in numbers],
                type=ColumnType.INTEGER,
                numbers=[float(number) for number in numbers],
            )
        tree = hierarchy.over(domain)
        assert len(tree.code) == len(domain.texts)


def test_no_rows_and_one_row_work():
    assert census(rows=0).n_rows == 0
    assert census(rows=1).n_rows == 1


@pytest.mark.parametrize("parameters", [{"rows": -1}, {"missing": -0.1}, {"missing": 1.1}])
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError, match=f"{next(iter(parameters))} must be"):
        census(**parameters)


def test_defaults_are_those_of_the_paper():
    table = zipf()
    assert table.n_rows == 10_000
    assert len(table.columns) == 10
    assert all(len(column.labels) == 10 for column in table.columns.values())


def test_shares_follow_the_law():
    table = zipf(dimensions=1, cardinality=5, factor=1.5, rows=200_000, seed=3)
    weights = np.arange(1, 6) ** -1.5
    shares = np.bincount(table.columns["d1"].codes) / table.n_rows
    assert shares == pytest.approx(weights / weights.sum(), abs=0.005)


def test_factor_zero_draws_every_value_alike():
    codes = zipf(dimensions=1, cardinality=4, factor=0, rows=100_000).columns["d1"].codes
    assert np.bincount(codes) / len(codes) == pytest.approx([0.25] * 4, abs=0.01)


def test_columns_are_independent():
    table = zipf(dimensions=2, cardinality=3, factor=1, rows=100_000, seed=1)
    first, second = (column.codes for column in table.columns.values())
    together = np.bincount(first * 3 + second, minlength=9).reshape(3, 3) / table.n_rows
    assert together == pytest.approx(np.outer(together.sum(1), together.sum(0)), abs=0.005)


def test_a_seed_gives_one_zipf_table_and_another_seed_another():
    assert zipf(rows=100, seed=7).to_dict() == zipf(rows=100, seed=7).to_dict()
    assert zipf(rows=100, seed=7).to_dict() != zipf(rows=100, seed=8).to_dict()


def test_small_shapes_work():
    assert zipf(rows=0).n_rows == 0
    assert set(zipf(cardinality=1, rows=3, dimensions=1).to_dict()["d1"]) == {"v1"}


@pytest.mark.parametrize(
    "parameters", [{"rows": -1}, {"cardinality": 0}, {"dimensions": 0}, {"factor": -0.1}]
)
def test_parameters_of_zipf_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError, match=f"{next(iter(parameters))} must be at least"):
        zipf(**parameters)
