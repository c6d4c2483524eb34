from fractions import Fraction

import numpy as np
import pytest

from shoal.checks._ratios import greatest, is_at_most


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
