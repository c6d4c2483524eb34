from __future__ import annotations

import numpy as np
import pytest

from shoal.core.domain import ColumnType, Domain

ODD = ["", " ", "*", "None", "nan", "a\nb", "\U0001f41f", "0", "00"]


@pytest.mark.parametrize("has_missing", [False, True])
def test_codes_and_texts_are_each_others_inverse(has_missing):
    domain = Domain.of_texts("odd", ODD, has_missing=has_missing)
    expected = [*ODD, None] if has_missing else ODD
    assert domain.labels() == expected
    assert [domain.text(code) for code in range(domain.size)] == expected
    assert domain.codes_of(expected).tolist() == list(range(domain.size))


def test_the_missing_value_is_a_value_of_its_own_with_the_last_code():
    domain = Domain.of_texts("odd", ODD, has_missing=True)
    assert (domain.size, domain.missing_code) == (len(ODD) + 1, len(ODD))
    assert domain.codes_of([None, ""]).tolist() == [len(ODD), 0]


def test_without_missing_values_missing_is_unknown():
    domain = Domain.of_texts("sex", ["F", "M"])
    assert domain.missing_code is None
    assert domain.codes_of([None, "M", "X", "None"]).tolist() == [-1, 1, -1, -1]


@pytest.mark.parametrize("has_missing", [False, True])
def test_a_domain_may_be_empty(has_missing):
    domain = Domain.of_texts("void", [], has_missing=has_missing)
    assert domain.size == has_missing
    assert domain.labels() == [None] * has_missing
    assert domain.codes_of([]).dtype == np.int64


def test_codes_index_arrays_even_where_no_text_is_known():
    domain = Domain.of_texts("sex", ["F", "M"])
    assert domain.codes_of(["M", "?"]).dtype == np.int64
    assert isinstance(domain.size, int)
    assert not isinstance(domain.size, bool)


def test_numbers_are_floats_in_the_order_of_the_texts():
    domain = Domain.of_texts("age", ["9", "10"], type=ColumnType.INTEGER, numbers=[9, 10])
    assert domain.numbers.dtype == np.float64
    assert domain.numbers.tolist() == [9.0, 10.0]


def test_a_repr_names_no_value():
    shown = repr(Domain.of_texts("disease", ["HIV", "flu"], has_missing=True))
    assert shown == "Domain(column='disease', type=categorical, 2 values and missing)"


def test_numbers_and_dates_have_a_distance_and_ordered_values_an_order():
    numeric = {kind for kind in ColumnType if kind.is_numeric}
    assert numeric == {ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE}
    assert {kind for kind in ColumnType if kind.has_order} == numeric | {ColumnType.ORDERED}
