"""Amounts of work, and the sizes that fit into them."""

from __future__ import annotations

import pytest

from shoal.core.budget import UNITS_PER_SECOND, most_within, read_work, words_of_work
from shoal.core.errors import ParameterError


@pytest.mark.parametrize(
    ("given", "units"),
    [
        (7, 7),
        (2e9, 2_000_000_000),
        (" 2E9 ", 2_000_000_000),
        ("30s", 30 * UNITS_PER_SECOND),
        ("0.5 s", UNITS_PER_SECOND // 2),
        ("2min", 120 * UNITS_PER_SECOND),
        ("1h", 3600 * UNITS_PER_SECOND),
    ],
)
def test_units_and_seconds_are_the_same_work_everywhere(given, units):
    assert read_work(given) == units


@pytest.mark.parametrize(
    "given", [0, -1, "", "30 days", "s", True, None, [1], "1e400", float("nan")]
)
def test_anything_else_is_refused_without_repeating_it(given):
    with pytest.raises(ParameterError, match="amount of work must be") as caught:
        read_work(given)
    assert '"30s"' in caught.value.hint


def test_work_is_stated_in_the_time_that_people_know():
    assert words_of_work(read_work("60s")) == "60 s"
    assert words_of_work(read_work("2h")) == "120 min"
    assert words_of_work(3) == "3 units"


@pytest.mark.parametrize("units", range(0, 130, 7))
@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 10), (3, 11), (5, 2)])
def test_the_largest_size_within_a_budget_is_found(units, least, most):
    def cost(size):
        return size * size + 3

    fitting = [size for size in range(min(least, most), most + 1) if cost(size) <= units]
    found = most_within(units, cost, most, least=least)
    assert found == max(fitting, default=min(least, most))
