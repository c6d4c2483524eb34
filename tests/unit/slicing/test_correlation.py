from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.table import HIDDEN, Rows
from shoal.slicing.correlation import (
    Correlations,
    correlations,
    correlations_of_rows,
    equal_bins,
)


def numbers(values, column="n", *, has_missing=False, type=ColumnType.REAL):
    return Domain.of_texts(
        column, [repr(v) for v in values], type=type, numbers=values, has_missing=has_missing
    )


def bins_of(values, n_bins=10):
    return equal_bins(numbers(values), np.full(len(values), True), n_bins).tolist()


def test_bins_have_equal_width_and_the_last_one_holds_its_end():
    assert bins_of([0, 9, 10, 11, 99, 100]) == [0, 0, 1, 1, 9, 9]


@pytest.mark.parametrize("largest", [*range(1, 150), 707, 10**9 + 10])
def test_whole_numbers_at_a_bound_of_bins_go_up(largest):
    values = sorted({value * largest // 250 for value in range(251)})
    values = sorted({*values, *(largest * place // 10 for place in range(11))})
    # In floats, 0.29 * 100 is below 29; in whole numbers the bin is plain.
    for n_bins in (7, 10, 100):
        expected = [min(value * n_bins // largest, n_bins - 1) for value in values]
        assert bins_of(values, n_bins) == expected


def test_the_range_of_numbers_may_be_beyond_all_floats():
    assert bins_of([-1.7e308, -1e308, 0.0, 1e308, 1.7e308], 2) == [0, 0, 1, 1, 1]


def test_tiny_numbers_have_bins_too():
    assert bins_of([0.0, 5e-324], 3) == [0, 2]


def test_values_that_no_row_has_do_not_widen_the_bins():
    domain = numbers([0, 5, 10, 1000])
    is_there = np.array([True, True, True, False])
    assert equal_bins(domain, is_there, 2).tolist() == [0, 1, 1, 1]


def test_one_number_is_one_bin():
    assert bins_of([7.5]) == [0]


def test_a_missing_number_is_a_value_of_its_own():
    domains = [numbers([1, 2], has_missing=True), Domain.of_texts("s", ["F", "M"])]
    rows = np.array([[0, 0], [1, 0], [2, 1], [2, 1]])
    assert correlations(Cells.of_rows(domains, rows)).between("n", "s") == 1


def test_a_suppressed_cell_is_a_value_of_its_own():
    domains = (Domain.of_texts("a", ["x"]), Domain.of_texts("s", ["F", "M"]))
    codes = np.array([[0, 0], [HIDDEN, 1], [HIDDEN, 1]], dtype=np.int32)
    assert correlations_of_rows(Rows(domains, codes)).between("a", "s") == 1


def test_a_suppressed_number_is_no_missing_one():
    domains = (numbers([1, 2], has_missing=True), Domain.of_texts("s", ["F", "M"]))
    codes = np.array([[2, 0], [2, 0], [HIDDEN, 1], [HIDDEN, 1]], dtype=np.int32)
    assert correlations_of_rows(Rows(domains, codes)).between("n", "s") == 1


def test_nearly_unique_numbers_do_not_win_once_they_are_binned():
    generator = np.random.default_rng(1)
    n_rows = 2000
    sex, job = generator.integers(0, 2, n_rows), generator.integers(0, 5, n_rows)
    job = np.where(generator.random(n_rows) < 0.5, sex, job)
    domains = (
        numbers(list(range(n_rows)), "weight"),
        Domain.of_texts("sex", ["F", "M"]),
        Domain.of_texts("job", list("abcde")),
    )
    rows = Rows(domains, np.stack([np.arange(n_rows), sex, job], axis=1).astype(np.int32))
    assert correlations_of_rows(rows).nearest("job")[0][0] == "sex"
    assert correlations_of_rows(rows, n_bins=n_rows).nearest("job")[0] == ("weight", 1.0)


def test_fewer_than_two_values_correlate_with_nothing():
    domains = [Domain.of_texts("one", ["x"]), Domain.of_texts("two", ["y", "z"])]
    found = correlations(Cells.of_rows(domains, np.array([[0, 0], [0, 1]])))
    assert found.matrix.tolist() == [[0, 0], [0, 1]]
    assert found.distance.tolist() == [[0, 1], [1, 0]]


def test_a_table_without_rows_or_columns_has_no_correlation():
    domains = (Domain.of_texts("a", ["x"]), numbers([1, 2]))
    found = correlations_of_rows(Rows(domains, np.empty((0, 2), dtype=np.int32)))
    assert not found.matrix.any()
    assert correlations_of_rows(Rows((), np.empty((3, 0), dtype=np.int32))).matrix.shape == (0, 0)


def test_many_values_are_counted_as_few_are():
    # So many pairs of values are possible that they are sorted, not counted in a table.
    n_rows = 3000
    domains = tuple(Domain.of_texts(c, [f"{v:04}" for v in range(n_rows)]) for c in "ab")
    codes = np.arange(n_rows, dtype=np.int32)
    rows = Rows(domains, np.stack([codes, codes // 2 * 2], axis=1))
    assert correlations_of_rows(rows).between("a", "b") == 1


def test_attributes_equally_near_come_in_their_order():
    found = Correlations(("c", "b", "a"), np.array([[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]]))
    assert [column for column, _ in found.nearest("b")] == ["c", "a"]
    names = tuple(f"a{place}" for place in range(100))
    many = Correlations(names, np.where(np.arange(100) % 2, 0.5, 0.25) * np.ones((100, 1)))
    expected = [names[place] for place in (*range(3, 100, 2), *range(0, 100, 2))]
    assert [column for column, _ in many.nearest("a1")] == expected


def test_some_attributes_are_kept_in_the_order_given():
    found = Correlations(("a", "b", "c"), np.array([[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]))
    kept = found.select(["c", "a"])
    assert kept.to_dict() == {"columns": ["c", "a"], "matrix": [[1, 0.2], [0.2, 1]]}


def test_a_column_that_is_not_there_is_named():
    found = Correlations(("a",), np.ones((1, 1)))
    with pytest.raises(ParameterError, match="no correlation of column 'b'"):
        found.nearest("b")


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True])
def test_the_number_of_bins_is_a_whole_number(n_bins):
    with pytest.raises(ParameterError, match="n_bins"):
        correlations(Cells.of_rows([numbers([1])], np.array([[0]])), n_bins)
