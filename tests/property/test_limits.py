"""Limits that every release exceeds, against all ways to group a few people into buckets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.calibration import find_excess, raised_limit
from shoal.core.cells import Buckets
from shoal.core.domain import Domain

VALUES = "abc"
tables = st.lists(st.integers(0, 2), min_size=1, max_size=6)
bounds = st.sampled_from([Fraction(1, n) for n in (1, 2, 3, 4)] + [Fraction(2, 5), Fraction(3, 4)])
aimed = st.sampled_from([[(0,), (1,), (2,)], [(0,)], [(0, 1)], [(1,), (2,)]])


def partitions(items):
    """Return every way to group some items."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for place in range(len(smaller)):
            yield [*smaller[:place], [first, *smaller[place]], *smaller[place + 1 :]]


def n_above(grouping, aims, bound):
    """Count the people in buckets where some values exceed the bound, in plain words."""
    return sum(
        len(bucket)
        for bucket in grouping
        if any(
            Fraction(sum(value in values for value in bucket), len(bucket)) > bound
            for values in aims
        )
    )


@given(tables, aimed, bounds)
def test_no_grouping_puts_fewer_people_above_the_limit(table, aims, bound):
    domain = Domain.of_texts("ill", list(VALUES))
    held = Buckets.of_pairs(np.zeros(len(table), dtype=np.int64), np.array(table), domain)
    found = find_excess(held, aims, bound, is_belief=False)
    fewest = min(n_above(grouping, aims, bound) for grouping in partitions(table))
    assert found.n_people <= fewest
    assert bool(found.reason) == bool(found.n_people)
    if set(aims) == {(code,) for code in set(table)} and bound * len(set(table)) < 1:
        assert found.n_people == fewest == len(table)


@given(tables, bounds)
def test_one_frequent_value_is_bounded_exactly_to_whole_buckets(table, bound):
    """With buckets of any size the bound is reached up to rounding to whole people."""
    domain = Domain.of_texts("ill", list(VALUES))
    held = Buckets.of_pairs(np.zeros(len(table), dtype=np.int64), np.array(table), domain)
    found = find_excess(held, [(0,)], bound, is_belief=False)
    share = Fraction(table.count(0), len(table))
    assert bool(found.n_people) == (share > bound)


def test_two_values_and_one_half_mean_nothing_for_beliefs():
    domain = Domain.of_texts("ill", ["no", "yes"])
    even = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), domain)
    both = [(0,), (1,)]
    assert find_excess(even, both, Fraction(1, 2), is_belief=False).reason == ""
    found = find_excess(even, both, Fraction(1, 2), is_belief=True)
    assert (found.n_people, "2 values" in found.reason) == (0, True)
    assert find_excess(even, [(1,)], Fraction(1, 2), is_belief=True).reason == ""
    # Calibrated beliefs count from a higher belief on.
    skewed = Buckets.of_pairs(np.zeros(20, dtype=int), np.repeat([0, 1], [11, 9]), domain)
    counted = find_excess(skewed, both, Fraction(1, 2), is_belief=True, counted_from=Fraction(3, 5))
    assert counted.n_people == 0
    assert counted.reason


@given(st.fractions(0, 1))
def test_people_count_as_exposed_from_the_same_belief_as_in_the_calibration(limit):
    assert float(raised_limit(limit)) == pytest.approx(raised_limit(float(limit)))
