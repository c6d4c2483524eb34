from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.secret import Secret
from shoal.grouping.axes import (
    Axes,
    Axis,
    draw_bounds,
    draw_point,
    months,
    multiples,
    round_step,
)
from shoal.hierarchies.hierarchy import Hierarchy


def test_missing_values_come_after_all_others():
    domain = Domain.of_texts("sex", ["F", "M"], has_missing=True)
    axis = Axis.of_domain(domain, None)
    assert axis.position.tolist() == [0, 1, 2]
    assert axis.missing == 2


def test_values_of_a_hierarchy_lie_in_the_order_of_its_leaves():
    domain = Domain.of_texts("letter", ["a", "b", "c"], has_missing=True)
    rows = [["a", "x"], ["c", "x"], [None, "x"], ["b", "y"]]
    axis = Axis.of_domain(domain, Hierarchy.from_rows(rows).over(domain))
    # The missing value has a leaf between c and b, and still comes last.
    assert axis.position.tolist() == [0, 3, 1, 4]
    assert not axis.is_numeric


def test_equal_numbers_have_one_position():
    domain = Domain.of_texts(
        "x", ["1", "1.0", "2"], type=ColumnType.REAL, numbers=[1, 1, 2], has_missing=True
    )
    axis = Axis.of_domain(domain, None)
    assert axis.position.tolist() == [0, 0, 1, 2]
    assert axis.is_numeric


def test_axes_of_all_columns_lie_one_after_the_other():
    letter = Domain.of_texts("letter", ["a", "b"])
    number = Domain.of_texts("number", ["3", "9"], type=ColumnType.INTEGER, numbers=[3, 9])
    tree = Hierarchy.flat().over(letter)
    cells = Cells.of_rows([letter, number], np.array([[0, 1], [1, 0]]))
    axes = Axes.of_cells(cells, ["number", "letter"], {"letter": tree})
    assert axes.position.tolist() == [1, 0, 0, 1]
    assert axes.span.tolist() == [6, 1]
    assert axes.tree_start.tolist() == [-1, 0]
    assert axes.parent.tolist() == tree.parent.tolist()


EPOCH = dt.date(1970, 1, 1)

draws = st.integers(0, 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)


def domain_of(texts: list[str], kind: ColumnType) -> Domain:
    """Lay out texts as an engine does."""
    if kind is ColumnType.DATE:
        numbers = [float((dt.date.fromisoformat(text) - EPOCH).days) for text in sorted(texts)]
        return Domain.of_texts("x", sorted(texts), type=kind, numbers=numbers)
    ordered = sorted(texts, key=Decimal)
    return Domain.of_texts("x", ordered, type=kind, numbers=[float(text) for text in ordered])


def bounds_between(
    texts: list[str],
    kind: ColumnType,
    *,
    seed: int = 1,
    count: int = 1,
    least: int = 5,
) -> tuple[Axis, list[str]]:
    """Draw a bound between every two neighbouring positions of a column."""
    axis = Axis.of_domain(domain_of(texts, kind), None)
    below = np.arange(axis.missing - 1)
    totals = np.full(len(texts), count)
    numbers = Secret.from_seed(seed).numbers("bounds", len(below))
    return axis, draw_bounds(axis, below, below + 1, totals, least, numbers)


# --- one point --------------------------------------------------------------------------------


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), draws, st.booleans())
def test_a_point_parts_its_neighbours_and_avoids_the_upper_one(below, gap, number, is_common):
    above = below + gap
    point = draw_point([multiples(100), multiples(1)], below, above, number, is_common=is_common)
    assert below < point <= above
    assert point < above or is_common or gap == 1
    if gap > 100:
        assert point % 100 == 0


@given(st.integers(-50, 50), st.integers(1, 30), st.booleans())
def test_every_point_is_drawn_about_as_often(below, gap, is_common):
    numbers = Secret.from_seed(3).numbers("points", 50 * gap).tolist()
    found = Counter(
        draw_point([multiples(1)], below, below + gap, number, is_common=is_common)
        for number in numbers
    )
    last = below + gap if is_common or gap == 1 else below + gap - 1
    assert set(found) == set(range(below + 1, last + 1))
    assert max(found.values()) < 110


@given(st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)))
def test_months_begin_on_their_first_day(date):
    grid = months()
    day = (date - EPOCH).days
    assert grid.point(grid.number(day)) == (date.replace(day=1) - EPOCH).days


@given(st.floats(0, 1e300), st.integers(0, 20))
def test_a_step_is_a_round_share_of_the_extent(extent, decimals):
    step = round_step(extent, decimals)
    assert str(step).rstrip("0") in ("1", "2", "5")
    share = Fraction(extent) * 10**decimals / 1000
    assert step == 1 or share / Fraction(5, 2) < step <= share


# --- dates ------------------------------------------------------------------------------------


@given(
    st.lists(st.dates(), min_size=2, max_size=30, unique=True), st.integers(1, 9), st.integers(1, 9)
)
def test_a_rare_date_is_a_bound_only_where_no_other_day_is_left(dates, seed, count):
    texts = [date.isoformat() for date in dates]
    _, bounds = bounds_between(texts, ColumnType.DATE, seed=seed, count=count)
    for below, above, bound in zip(sorted(texts), sorted(texts)[1:], bounds, strict=False):
        assert below < bound <= above
        gap = dt.date.fromisoformat(above) - dt.date.fromisoformat(below)
        if bound == above:
            assert count >= 5 or gap.days == 1


def test_bounds_of_dates_begin_months_where_one_begins_between():
    _, bounds = bounds_between(["1991-03-02", "1991-04-21", "1991-04-30"], ColumnType.DATE)
    assert bounds[0] == "1991-04-01"
    assert "1991-04-21" < bounds[1] < "1991-04-30"


def test_the_first_and_the_last_days_are_parted_too():
    texts = ["0001-01-01", "0001-01-02", "9999-12-30", "9999-12-31"]
    _, bounds = bounds_between(texts, ColumnType.DATE)
    assert bounds[0] == "0001-01-02"
    assert bounds[1].endswith("-01")
    assert bounds[2] == "9999-12-31"


# --- numbers ----------------------------------------------------------------------------------


def assert_parted(axis: Axis, bounds: list[str]) -> None:
    """Every bound lies above all texts on its left and up to all on its right, exactly."""
    exact = [Fraction(text) for text in axis.domain.texts.tolist()]
    position = axis.position.tolist()
    for place, bound in enumerate(bounds):
        below = max(value for value, at in zip(exact, position, strict=True) if at == place)
        above = min(value for value, at in zip(exact, position, strict=True) if at == place + 1)
        assert below < Fraction(bound) <= above
        assert axis.numbers[place] < float(bound) <= axis.numbers[place + 1]


integers = st.one_of(
    st.integers(-(2**63), 2**63), st.integers(2**60, 2**60 + 2000), st.integers(-9, 9)
)


@given(st.lists(integers, min_size=2, max_size=30, unique=True), st.integers(1, 9))
def test_bounds_of_whole_numbers_part_them_exactly(numbers, seed):
    axis, bounds = bounds_between(
        [str(number) for number in numbers], ColumnType.INTEGER, seed=seed
    )
    assert_parted(axis, bounds)
    assert all(bound == str(int(bound)) for bound in bounds)


def test_whole_numbers_may_be_written_otherwise():
    axis, bounds = bounds_between(["1e3", "17.0", "9007199254740993.0"], ColumnType.INTEGER)
    assert_parted(axis, bounds)
    assert all("." not in bound for bound in bounds)


def test_a_rare_number_is_a_bound_only_where_no_other_is_left():
    texts = ["1", "3", "4", "90"]
    for seed in range(20):
        rare = bounds_between(texts, ColumnType.INTEGER, seed=seed)[1]
        assert rare[:2] == ["2", "4"]
        assert 4 < int(rare[2]) < 90
    common = {
        bounds_between(texts, ColumnType.INTEGER, seed=seed, count=5)[1][0] for seed in range(20)
    }
    assert common == {"2", "3"}


def test_one_outlier_does_not_change_the_grid():
    texts = [str(1000 * number) for number in range(100)]
    for highest in ("99500", "1000000000000"):
        bounds = bounds_between([*texts, highest], ColumnType.INTEGER)[1]
        assert all(int(bound) % 50 == 0 for bound in bounds)
        assert any(int(bound) % 1000 for bound in bounds)


decimals = st.one_of(
    floats.map(repr),
    st.decimals(-2, 2, allow_nan=False, places=40).map("{:f}".format),
    st.integers(0, 10**6).map(lambda tail: f"0.1{tail:030d}"),
    st.sampled_from(["1e-1500", "-1e-1500", "1e300", "5e-324"]),
)


@given(st.lists(decimals, min_size=2, max_size=20, unique_by=Fraction), st.integers(1, 9))
def test_bounds_of_reals_part_them_exactly(texts, seed):
    axis, bounds = bounds_between(texts, ColumnType.REAL, seed=seed)
    assert_parted(axis, bounds)


@given(floats, floats)
def test_bounds_of_reals_lie_strictly_between(first, second):
    if first == second:
        return
    below, above = sorted((first, second))
    _, (bound,) = bounds_between([repr(below), repr(above)], ColumnType.REAL)
    assert Fraction(repr(below)) < Fraction(bound) < Fraction(repr(above))


@pytest.mark.parametrize(
    ("texts", "n_digits"), [(["0.1", "0.2"], 4), (["17.25", "90"], 4), (["1.23456", "1.23457"], 8)]
)
def test_bounds_of_reals_are_short(texts, n_digits):
    _, (bound,) = bounds_between(texts, ColumnType.REAL)
    assert len(bound.replace(".", "")) <= n_digits + 1


def test_numbers_that_differ_beyond_all_floats_are_parted_all_the_same():
    # They round to neighbouring floats, and differ in the last of 1,500 decimals.
    middle = (Decimal(1) + Decimal(2) ** -53).normalize()
    texts = [f"{middle}{'0' * 1500}1", f"0.99{'9' * 1500}"]
    axis, bounds = bounds_between(texts, ColumnType.REAL)
    assert_parted(axis, bounds)
