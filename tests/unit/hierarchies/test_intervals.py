from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchies.intervals import round_between


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
