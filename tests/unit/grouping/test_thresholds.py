from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from shoal.core.exact import highest_at_most
from shoal.grouping.thresholds import (
    is_entropy_at_least,
    lowest_at_least,
)

shares = st.one_of(
    st.fractions(0, 1), st.fractions(0, 1, max_denominator=40), st.floats(0, 1).map(Fraction)
)


@given(shares, st.integers(1, 40))
def test_neighbours_among_small_fractions(share, limit):
    small = {Fraction(top, bottom) for bottom in range(1, limit + 1) for top in range(bottom + 1)}
    assert highest_at_most(share, limit) == max(value for value in small if value <= share)
    assert lowest_at_least(share, limit) == min(value for value in small if value >= share)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.fractions(1, 9, max_denominator=30))
def test_entropy_is_compared_exactly(counts, ell):
    n_rows = sum(counts)
    power = Fraction(n_rows**n_rows, math.prod(count**count for count in counts))
    assert is_entropy_at_least(counts, ell) == (power >= ell**n_rows)


def test_equal_counts_are_a_tie_however_many_they_are():
    assert is_entropy_at_least([10**12] * 5, Fraction(5))
    assert not is_entropy_at_least([10**12] * 5, Fraction(5) + Fraction(1, 10**40))


def test_large_counts_that_nearly_tie_are_told_apart():
    counts = [10**9, 10**9, 10**9 - 1]
    assert not is_entropy_at_least(counts, Fraction(3))
    assert is_entropy_at_least(counts, 3 - Fraction(1, 10**15))
