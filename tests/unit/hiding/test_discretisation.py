from __future__ import annotations

import datetime as dt
import itertools
import math
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.plan import Label
from shoal.hiding.discretisation import Discretisation

EPOCH = dt.date(1970, 1, 1)
SPECIFICATIONS = [
    {"bins": 1},
    {"bins": 7},
    {"bins": 150},
    {"width": 5},
    {"width": 0.1},
    {"quantiles": 2},
    {"quantiles": 9},
]


def domain_of(type, values, *, has_missing=False):
    """Make the domain of some numbers, or of dates."""
    ordered = sorted(set(values))
    if type is ColumnType.DATE:
        texts = [value.isoformat() for value in ordered]
        numbers = [(value - EPOCH).days for value in ordered]
    else:
        texts, numbers = [repr(value) for value in ordered], ordered
    return Domain.of_texts("x", texts, type=type, numbers=numbers, has_missing=has_missing)


def integers(*values, **options):
    return domain_of(ColumnType.INTEGER, values, **options)


def reals(*values, **options):
    return domain_of(ColumnType.REAL, [float(value) for value in values], **options)


def dates(*values, **options):
    return domain_of(ColumnType.DATE, [dt.date.fromisoformat(value) for value in values], **options)


def cut(specification, domain, counts=None):
    return Discretisation.of("x", specification).over(domain, counts)


def intervals(specification, domain, counts=None):
    """Return the interval texts of the labels, lowest first."""
    return [label.interval for label in cut(specification, domain, counts).labels]


def texts(specification, domain, counts=None):
    return [label.text for label in cut(specification, domain, counts).labels]


def comparable(text, type):
    """Read a bound or a value so that Python compares it exactly."""
    if text in ("-inf", "+inf"):
        return Decimal(text.lstrip("+"))
    if type is ColumnType.DATE:
        return Decimal((dt.date.fromisoformat(text) - EPOCH).days)
    return Decimal(text)


domains = st.one_of(
    st.builds(
        lambda values, has_missing: integers(*values, has_missing=has_missing),
        st.lists(st.integers(-100, 100) | st.integers(-(2**63), 2**63 - 1), min_size=1),
        st.booleans(),
    ),
    st.builds(
        lambda values, has_missing: reals(*values, has_missing=has_missing),
        st.lists(
            st.integers(-100, 100).map(lambda number: number / 10)
            | st.floats(allow_nan=False, allow_infinity=False),
            min_size=1,
        ),
        st.booleans(),
    ),
    st.builds(
        lambda values, has_missing: domain_of(ColumnType.DATE, values, has_missing=has_missing),
        st.lists(st.dates(dt.date(1999, 11, 1), dt.date(2000, 2, 1)) | st.dates(), min_size=1),
        st.booleans(),
    ),
)


# --- what holds for every way to cut -----------------------------------------------------------


@given(domains, st.sampled_from(SPECIFICATIONS), st.sampled_from(["midpoint", "interval"]))
@example(reals(-0.0, 5e-324, sys.float_info.max), {"bins": 7}, "midpoint")
@example(reals(-sys.float_info.max, sys.float_info.max), {"quantiles": 2}, "midpoint")
@example(reals(1e300, math.nextafter(1e300, math.inf)), {"quantiles": 2}, "midpoint")
@example(reals(0.3, math.nextafter(0.3, 1)), {"bins": 150}, "midpoint")
@example(dates("9999-12-31", "9999-12-30", "0001-01-01"), {"width": 5}, "midpoint")
@example(dates("9999-12-31", "9999-12-30", "0001-01-01"), {"bins": 7}, "midpoint")
def test_a_value_lies_in_exactly_the_interval_that_its_label_says(domain, specification, show):
    if domain.type is ColumnType.DATE and specification == {"width": 0.1}:
        specification = {"width": 1}
    found = cut({**specification, "show": show}, domain)
    assert len(found.index) == domain.size
    bounds = [
        tuple(comparable(text, domain.type) for text in label.interval)
        for label in found.labels
        if label.text is not None
    ]
    with localcontext(prec=1000):
        for text, place in zip(domain.texts, found.index, strict=False):
            value = comparable(text, domain.type)
            around = [number for number, (low, high) in enumerate(bounds) if low <= value < high]
            assert around == [place]
        assert all(low < high for low, high in bounds)
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(bounds))
    shown = [label.text for label in found.labels]
    assert len(set(shown)) == len(shown)
    assert set(found.index.tolist()) == set(range(len(found.labels)))
    assert all(label.members is None for label in found.labels)
    if domain.has_missing:
        assert found.labels[found.index[-1]] == Label(None, has_missing=True)
        assert None not in shown[:-1]
    else:
        assert None not in shown


@given(domains, st.sampled_from(SPECIFICATIONS))
def test_the_midpoint_is_the_middle_of_the_bounds_and_as_short_as_can_be(domain, specification):
    if domain.type is ColumnType.DATE:
        specification = {"bins": 7}
    for label in cut(specification, domain).labels:
        if label.text is None or "inf" in "".join(label.interval):
            continue
        low, high = (comparable(bound, domain.type) for bound in label.interval)
        with localcontext(prec=1000):
            middle = (low + high) / 2
            if domain.type is ColumnType.DATE:
                assert comparable(label.text, domain.type) == math.floor(middle)
                continue
            assert Decimal(label.text) == middle
        assert not label.text.startswith("-0") or "." in label.text
        assert not ("." in label.text and label.text.endswith(("0", ".")))
        assert "E" not in label.text


@given(domains, st.integers(1, 60))
def test_bins_have_one_width_and_are_never_more_than_asked_for(domain, number):
    found = [bounds for bounds in intervals({"bins": number}, domain) if bounds is not None]
    if any("inf" in end for bounds in found for end in bounds):
        return  # The calendar ends there.
    with localcontext(prec=1000):
        ends = [[comparable(end, domain.type) for end in bounds] for bounds in found]
        widths = {high - low for low, high in ends}
        assert len(widths) == 1
        width = widths.pop()
        assert all((low - ends[0][0]) % width == 0 for low, _ in ends)
        spanned = (ends[-1][1] - ends[0][0]) / width
        assert spanned <= number
        if domain.type is ColumnType.REAL and len(domain.texts) > 1:
            assert spanned == number


# --- bins --------------------------------------------------------------------------------------


def test_bins_are_bounded_by_round_numbers_beyond_the_least_and_the_largest():
    assert intervals(10, integers(17, 90)) == [("15", "23"), ("87", "95")]
    assert intervals({"bins": 150}, integers(13492, 1490400)) == [
        ("10000", "19900"),
        ("1485100", "1495000"),
    ]
    assert intervals({"bins": 4}, reals(-0.137, 0.862)) == [("-0.2", "0.1"), ("0.7", "1")]


def test_bins_of_numbers_that_begin_near_zero_begin_at_zero():
    assert intervals({"bins": 10}, integers(0, 97)) == [("0", "10"), ("90", "100")]
    assert intervals({"bins": 5}, integers(3, 100)) == [("0", "25"), ("100", "125")]
    assert intervals({"bins": 4}, reals(0.137, 0.862)) == [("0", "0.25"), ("0.75", "1")]
    assert intervals({"bins": 1}, integers(0, 7))[0][0] == "0"


def test_sixteen_whole_numbers_have_sixteen_bins_where_seventeen_are_asked_for():
    assert texts({"bins": 17}, integers(*range(1, 17)))[:3] == ["1.5", "2.5", "3.5"]
    assert len(texts({"bins": 17}, integers(*range(1, 17)))) == 16


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, unique=True), st.integers(2, 50))
def test_bins_hide_the_least_and_the_largest_value_within_a_fourth_of_a_width(values, number):
    values = [round(value, 3) + 0.0 for value in values]
    if len(set(values)) == 1 or 0 <= min(values) * number < max(values):
        return
    found = intervals({"bins": number}, reals(*values))
    low, high = Decimal(found[0][0]), Decimal(found[-1][1])
    width = Decimal(found[0][1]) - low
    spread = Decimal(repr(max(values))) - Decimal(repr(min(values)))
    assert high - low - spread >= width / 2


def test_bins_of_dates_begin_at_the_first_of_a_month_or_year_where_they_can():
    assert intervals({"bins": 3}, dates("2020-01-17", "2021-11-05")) == [
        ("2020-01-01", "2020-10-27"),
        ("2021-08-23", "2022-06-19"),
    ]
    assert intervals({"bins": 3}, dates("2020-02-17")) == [("2020-02-01", "2020-03-03")]
    assert texts({"bins": 3}, dates("2020-02-17")) == ["2020-02-16"]


@pytest.mark.parametrize(
    ("domain", "bounds"),
    [
        (integers(42), ("40", "50")),
        (integers(0), ("0", "1")),
        (integers(-7), ("-7", "-6")),
        (reals(1234.5), ("1000", "2000")),
        (reals(0.1), ("0.1", "0.2")),
        (reals(-0.0), ("0", "1")),
        (reals(2.5e-7), ("0.0000002", "0.0000003")),
    ],
)
@pytest.mark.parametrize("specification", [{"bins": 1}, {"bins": 10}, {"quantiles": 4}])
def test_one_value_has_one_interval_around_it(domain, bounds, specification):
    assert intervals(specification, domain) == [bounds]


# --- width, quantiles, cuts ---------------------------------------------------------------------


def test_widths_begin_at_zero_exactly():
    domain = reals(-0.1, -0.05, 0.0, 0.29, 0.3)
    assert texts({"width": 0.1, "show": "interval"}, domain) == [
        "[-0.1, 0[",
        "[0, 0.1[",
        "[0.2, 0.3[",
        "[0.3, 0.4[",
    ]
    assert texts({"width": 0.1}, domain) == ["-0.05", "0.05", "0.25", "0.35"]
    assert texts({"width": 5}, integers(20, 24, 25)) == ["22.5", "27.5"]
    assert texts({"width": 10}, integers(20, 24, 30)) == ["25", "35"]


def test_widths_of_dates_are_days():
    domain = dates("1969-12-31", "1970-01-01", "1970-01-08")
    assert intervals({"width": 7}, domain) == [
        ("1969-12-25", "1970-01-01"),
        ("1970-01-01", "1970-01-08"),
        ("1970-01-08", "1970-01-15"),
    ]
    assert texts({"width": 7}, domain) == ["1969-12-28", "1970-01-04", "1970-01-11"]
    with pytest.raises(ParameterError, match="'x' must be a whole number of days"):
        cut({"width": 0.5}, domain)


def test_an_interval_beyond_the_calendar_is_written_as_open():
    domain = dates("0001-01-01", "9999-12-31")
    assert intervals({"width": 1000}, domain)[0][0] == "-inf"
    assert intervals({"width": 1000}, domain)[-1][1] == "+inf"
    assert texts({"width": 100_000, "show": "interval"}, domain)[0].startswith("]-inf, ")
    assert texts({"width": 1}, domain) == ["0001-01-01", "9999-12-31"]
    assert texts({"width": 10**7}, domain) == ["0001-01-01", "9999-12-31"]


def test_quantiles_hold_equal_numbers_of_rows():
    domain = integers(*range(100))
    found = cut({"quantiles": 4}, domain, np.ones(100, dtype=np.int64))
    assert np.bincount(found.index).tolist() == [25, 25, 25, 25]
    weights = np.r_[np.full(10, 90), np.full(90, 10)]
    by_rows = cut({"quantiles": 2}, domain, weights)
    assert np.bincount(by_rows.index, weights=weights).tolist() == [900, 900]


def test_quantiles_are_fewer_where_most_rows_share_a_value():
    domain = integers(0, 1, 7, has_missing=True)
    assert intervals({"quantiles": 10}, domain, np.array([1000, 1, 1, 500])) == [
        ("0", "1"),
        ("1", "10"),
        None,
    ]


def test_quantiles_are_open_as_intervals_and_bounded_by_round_numbers_for_midpoints():
    domain = integers(17, 23, 41, 64, 89)
    assert texts({"quantiles": 2, "show": "interval"}, domain) == ["]-inf, 50[", "[50, +inf["]
    assert intervals({"quantiles": 2}, domain) == [("0", "50"), ("50", "100")]
    assert texts({"quantiles": 2}, domain) == ["25", "75"]
    born = dates("1950-03-03", "1971-05-05", "1990-07-07", "2004-02-29")
    assert intervals({"quantiles": 2}, born) == [
        ("1950-01-01", "1990-01-01"),
        ("1990-01-01", "2010-01-01"),
    ]


def test_a_value_at_a_cut_lies_above_it():
    domain = integers(0, 17, 18, 29, 30, has_missing=True)
    found = cut({"cuts": [0, 18, 30, 65]}, domain)
    assert found.index.tolist() == [0, 0, 1, 1, 2, 3]
    assert [label.text for label in found.labels] == ["9", "24", "47.5", None]
    tenths = cut({"cuts": [0.1, 0.2, 0.3], "show": "interval"}, reals(0.1, 0.2, 0.1 + 0.2))
    assert [label.text for label in tenths.labels] == ["[0.1, 0.2[", "[0.2, 0.3[", "[0.3, +inf["]


def test_whole_numbers_that_no_float_holds_are_told_apart():
    domain = Domain.of_texts(
        "x",
        [str(2**53), str(2**53 + 1)],
        type=ColumnType.INTEGER,
        numbers=[2.0**53, 2.0**53],
    )
    assert cut({"cuts": [0, 2**53 + 1, 2**60]}, domain).index.tolist() == [0, 1]
    assert cut({"width": 1}, domain).index.tolist() == [0, 1]


@pytest.mark.parametrize("cuts", [["2020-01-01", "2020-03-01"], [dt.date(2020, 1, 1)] * 1])
def test_cuts_of_dates_may_be_texts(cuts):
    assert texts({"cuts": cuts, "show": "interval"}, dates("2019-12-31"))[0] == (
        "]-inf, 2020-01-01["
    )


def test_an_unbounded_interval_has_no_midpoint_and_the_error_shows_no_value():
    with pytest.raises(ParameterError) as raised:
        cut({"cuts": [0, 18, 65]}, integers(20, 86753, 86754))
    assert "Column 'x' has 2 distinct values beyond its cuts" in raised.value.fact
    assert "add a cut" in raised.value.hint
    assert "8675" not in str(raised.value)
    assert texts({"cuts": [0, 18], "show": "interval"}, integers(-3, 99)) == [
        "]-inf, 0[",
        "[18, +inf[",
    ]


# --- what is missing, and what is refused --------------------------------------------------------


@pytest.mark.parametrize("type", [ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE])
@pytest.mark.parametrize("specification", [3, {"width": 2}, {"quantiles": 2}])
def test_a_column_without_values_has_no_interval(type, specification):
    empty = Domain.of_texts("x", [], type=type, numbers=[])
    assert cut(specification, empty).labels == ()
    missing = Domain.of_texts("x", [], type=type, numbers=[], has_missing=True)
    found = cut(specification, missing)
    assert (found.index.tolist(), found.labels) == ([0], (Label(None, has_missing=True),))


@pytest.mark.parametrize("type", [ColumnType.CATEGORICAL, ColumnType.ORDERED, ColumnType.BOOLEAN])
def test_only_numbers_and_dates_can_be_cut(type):
    with pytest.raises(SchemaError, match=f"'x' must have numbers or dates .* it is {type}"):
        cut(3, Domain.of_texts("x", ["1", "2"], type=type))


@pytest.mark.parametrize(
    "given",
    [
        None,
        True,
        2.5,
        "10",
        [],
        {},
        {"bins": 0},
        {"bins": True},
        {"bins": 2.0},
        {"bins": 10**9},
        {"bins": 3, "width": 2},
        {"bins": 3, "merge": 2},
        {"bins": 3, "show": "middle"},
        {"bins": 3, "show": []},
        {"show": "interval"},
        {"width": 0},
        {"width": -1},
        {"width": math.nan},
        {"width": math.inf},
        {"width": 10**400},
        {"width": "5"},
        {"width": True},
        {"quantiles": 1},
        {"quantiles": 10**9},
        {"cuts": []},
        {"cuts": 5},
        {"cuts": [1, 1]},
        {"cuts": [2, 1]},
        {"cuts": [1, dt.date(2020, 1, 1)]},
        {"cuts": [[1, 2], [1]]},
        {"cuts": ["2020-13-01"]},
        {"cuts": [[1, 2], [3]]},
    ],
)
def test_other_specifications_are_refused_by_the_name_of_the_column(given):
    with pytest.raises(ParameterError, match="column 'x'") as raised:
        Discretisation.of("x", given)
    assert raised.value.hint


def test_cuts_must_be_of_the_type_of_the_column():
    with pytest.raises(SchemaError, match="'x' must be of its type, which is integer; got dates"):
        cut({"cuts": ["2020-01-01"]}, integers(1))
    with pytest.raises(SchemaError, match="'x' must be of its type, which is date; got numbers"):
        cut({"cuts": [1]}, dates("2020-01-01"))


@pytest.mark.parametrize(
    "given",
    [
        {"bins": 3},
        {"width": 0.5, "show": "interval"},
        {"quantiles": 4},
        {"cuts": [1, 2.5]},
        {"cuts": ["2020-01-01"], "show": "interval"},
    ],
)
def test_a_specification_is_given_back_as_it_was_read(given):
    read = Discretisation.of("x", given)
    assert read.to_config() == given
    assert Discretisation.of("x", read.to_config()) == read


def test_numpy_numbers_are_numbers():
    assert Discretisation.of("x", np.int64(5)) == Discretisation.of("x", 5)
    assert Discretisation.of("x", {"width": np.float64(0.5)}).to_config() == {"width": 0.5}


def test_a_cut_shows_counts_only():
    assert repr(cut(3, integers(86753))) == "Cut(1 values under 1 labels)"


def test_what_was_read_is_taken_as_it_is():
    cut = Discretisation.of("age", {"bins": 3})
    assert Discretisation.of("age", cut) is cut
