"""Thresholds are read exactly, and ratios of counts are compared exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.errors import ParameterError
from shoal.core.exact import as_text, exact, greatest, is_at_most, whole


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (0.8, Fraction(4, 5)),
        (np.float64(0.2), Fraction(1, 5)),
        (np.float32(0.2), Fraction(1, 5)),
        (np.int64(3), Fraction(3)),
        (1e-7, Fraction(1, 10**7)),
        (".5", Fraction(1, 2)),
        ("1/3", Fraction(1, 3)),
        ("-2", Fraction(-2)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (10**40, Fraction(10**40)),
    ],
)
def test_a_number_is_what_its_text_says(typed, meant):
    assert exact("t", typed) == meant


@pytest.mark.parametrize(
    "typed", [True, False, np.True_, float("nan"), float("inf"), "-inf", "1/0", "", "a", None, [1]]
)
def test_what_is_no_finite_number_is_refused_by_name(typed):
    with pytest.raises(ParameterError, match=r"^t must be a"):
        exact("t", typed)


@pytest.mark.parametrize("typed", ["1e999999999", "1e-999999999", "1E+0000099999", "1e9_9_9_9_9"])
def test_a_number_that_would_fill_the_memory_is_refused_at_once(typed):
    with pytest.raises(ParameterError):
        exact("t", typed)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float_is_read_as_the_number_that_it_prints(number):
    assert exact("t", number) == Fraction(repr(number))


@given(st.fractions())
def test_a_fraction_survives_its_text(number):
    assert exact("t", as_text(number)) == number


@given(st.integers(0, 60), st.integers(0, 25), st.integers(-(10**40), 10**40))
def test_a_fraction_that_could_be_a_decimal_survives_its_text(twos, fives, numerator):
    number = Fraction(numerator, 2**twos * 5**fives)
    assert exact("t", as_text(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(1, 4), "0.25"),
        (Fraction(1, 3), "1/3"),
        (Fraction(100), "100"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(0), "0"),
        (Fraction(1, 10**7), "0.0000001"),
    ],
)
def test_a_fraction_is_written_as_a_steward_would(number, text):
    assert as_text(number) == text


def test_a_whole_number_is_given_back():
    assert whole("k", 2, least=2) == 2


@pytest.mark.parametrize("got", [1, -5, True, 2.0, "2", None, Fraction(2), [2]])
def test_what_is_no_whole_number_of_that_size_is_refused(got):
    with pytest.raises(ParameterError, match=r"^k must be a whole number of at least 2, not "):
        whole("k", got, least=2)


def test_ties_are_ties_though_floats_would_not_see_them():
    # 0.1 + 0.2 > 0.3 in floats.
    assert is_at_most(np.array([3]), np.array([10]), Fraction("0.3")).all()
    assert not is_at_most(np.array([3]), np.array([10]), Fraction("0.29999999999999999999")).any()


def test_products_beyond_64_bits_are_compared_exactly():
    size = 2**62 - 1
    bound = Fraction(2**61, size)
    assert is_at_most(np.array([2**61]), np.array([size]), bound).all()
    assert not is_at_most(np.array([2**61 + 1]), np.array([size]), bound).any()


def test_a_limit_beyond_64_bits_lets_everything_pass():
    assert is_at_most(np.array([2**62]), np.array([2**62]), Fraction(10**30)).all()


def test_pythons_integers_are_compared_too():
    numerators = np.array([10**40, 10**40 + 1], dtype=object)
    assert is_at_most(numerators, np.array([10, 10]), Fraction(10**39)).tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_the_greatest_is_found_where_floats_cannot_tell(dtype):
    size = 10**17
    numerators = np.array([size - 3, size - 1, size - 2], dtype=dtype)
    found = greatest(numerators, np.array([size, size, size]))
    assert found == Fraction(size - 1, size)


def test_the_greatest_of_nothing_but_zeros_is_zero():
    assert greatest(np.array([0, 0]), np.array([3, 4])) == 0
