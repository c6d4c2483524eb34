from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.domain import ColumnType
from shoal.methods.partition.bounds import bounds_of, round_between, round_outward

floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_the_bound_is_the_roundest_number_between(below, gap):
    bound = round_between(below, below + gap)
    assert below < bound <= below + gap
    steps = [factor * 10**power for power in range(9) for factor in (1, 2, 5)]

    def roundness(number):
        return max(step for step in steps if number % step == 0)

    candidates = range(below + 1, below + gap + 1)
    some = [*candidates[:50], *candidates[-50:]]
    assert roundness(bound) >= max(map(roundness, some))


def test_neighbours_leave_no_choice():
    assert round_between(41, 42) == 42


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**9))
def test_outermost_bounds_lie_outside(lowest, gap):
    lower, upper = round_outward(lowest, lowest + gap)
    assert lower <= lowest
    assert lowest + gap < upper
    assert upper - lower <= max(2 * gap, 2 * abs(lowest), 2)


@given(floats, floats)
def test_bounds_of_reals_lie_between_as_floats_and_as_written(first, second):
    below, above = sorted((first, second))
    if below == above:
        return
    between, around = bounds_of(ColumnType.REAL)
    bound = between(below, above)
    assert below < float(bound) <= above
    assert Fraction(repr(below)) < Fraction(bound) <= Fraction(repr(above))
    lower, upper = around(below, above)
    assert Fraction(lower) <= Fraction(repr(below))
    assert Fraction(repr(above)) < Fraction(upper)


@pytest.mark.parametrize(
    ("below", "above", "bound"),
    [(0.1, 0.2, "0.2"), (0.12, 0.34, "0.2"), (-1.5, 2.5, "0"), (1.23456, 1.23457, "1.23457")],
)
def test_bounds_of_reals_are_short(below, above, bound):
    assert bounds_of(ColumnType.REAL)[0](below, above) == bound


@pytest.mark.parametrize(
    ("below", "above", "bound"),
    [
        ("1987-03-02", "1992-07-01", "1990-01-01"),
        ("1991-03-02", "1993-07-01", "1993-01-01"),
        ("1991-03-02", "1991-07-21", "1991-07-01"),
        ("1991-03-02", "1991-03-21", "1991-03-21"),
        ("1999-12-31", "2000-01-01", "2000-01-01"),
    ],
)
def test_bounds_of_dates_begin_decades_years_or_months(below, above, bound):
    days = [float(np.datetime64(text, "D").astype(int)) for text in (below, above)]
    assert bounds_of(ColumnType.DATE)[0](*days) == bound


@pytest.mark.parametrize(
    ("lowest", "highest", "bounds"),
    [
        ("1950-06-01", "2004-02-29", ("1950-01-01", "2005-01-01")),
        ("0001-01-01", "9999-12-31", ("0001-01-01", "10000-01-01")),
        ("1960-12-31", "1960-12-31", ("1960-01-01", "1961-01-01")),
    ],
)
def test_outermost_dates_are_whole_years(lowest, highest, bounds):
    days = [float(np.datetime64(text, "D").astype(int)) for text in (lowest, highest)]
    assert bounds_of(ColumnType.DATE)[1](*days) == bounds
