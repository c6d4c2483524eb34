from __future__ import annotations

import datetime as dt
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.errors import ParameterError
from shoal.core.log import internal_log
from shoal.core.row_filter import RowFilter, rows_of_function

DAY = dt.date(2020, 2, 29)


def let_through(text, **columns):
    """Filter one row."""
    read = RowFilter.read(text)
    (found,) = read.rows({column: [value] for column, value in columns.items()}).tolist()
    return found


# --- what an expression means ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("age > 60", {"age": 61}, True),
        ("age > 60", {"age": 60}, False),
        ("18 <= age < 30", {"age": 18}, True),
        ("18 <= age < 30", {"age": 30}, False),
        ("age in (1, 2)", {"age": 2}, True),
        ("age in {1, 2}", {"age": 3}, False),
        ("age not in [1, other]", {"age": 3, "other": 3}, False),
        ("'ill' in disease", {"disease": "illness"}, True),
        ("'ill' not in disease", {"disease": "flu"}, True),
        ("sex == 'F' and not smokes", {"sex": "F", "smokes": False}, True),
        ("smokes == True", {"smokes": True}, True),
        ("sex == 'F' or age / 0 > 1", {"sex": "F", "age": 1}, True),
        ("(age or 70) > 60", {"age": 0}, True),
        ("(age and 70) > 60", {"age": 1}, True),
        ("-age < -60", {"age": 61}, True),
        ("(age if sex == 'F' else 2 * age) >= 60", {"age": 30, "sex": "M"}, True),
        ("age % 10 == 5 and age // 10 == 3 and age + 1 - 1 == 35", {"age": 35}, True),
        ("name.strip().lower() == 'ann'", {"name": " ANN"}, True),
        ("name.startswith(('A', 'B'))", {"name": "Bo"}, True),
        ("name.startswith('A') or name.endswith('o')", {"name": "Bo"}, True),
        ("name.upper() == 'ÄRA'", {"name": "ära"}, True),
        ("len(name) == abs(-2)", {"name": "Bo"}, True),
        ("max(a, b, 3) == 3 and min(a, b) == 1", {"a": 1, "b": 2}, True),
        ("round(income, -3) == 52000 and round(0.26, 1) == 0.3", {"income": 51_900}, True),
        ("round(share) == 1", {"share": 0.7}, True),
        ("born < date('2020-03-01')", {"born": DAY}, True),
        ("born == date('2020-02-29')", {"born": dt.datetime(2020, 2, 29)}, True),  # noqa: DTZ001
        ("date(written) == born", {"born": DAY, "written": "2020-02-29"}, True),
        ("date('2020-03-01') - born == 1", {"born": DAY}, True),
        ("born in (date('2020-02-29'),)", {"born": DAY}, True),
        ('col["last name"] == "Ode"', {"last name": "Ode"}, True),
        ("col == 1 and date == 2 and len == 3", {"col": 1, "date": 2, "len": 3}, True),
        ("größe > 1", {"größe": 2}, True),
        ("  age > 1 ", {"age": 2}, True),
        ("age", {"age": 2}, True),
        ("age", {"age": None}, False),
    ],
)
def test_an_expression_means_what_it_means_in_python(text, row, expected):
    assert let_through(text, **row) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 1", False),
        ("x < 1", False),
        ("1 <= x", False),
        ("not x >= 1", True),
        ("x == None", True),
        ("x is None", True),
        ("x is not None", False),
        ("x != None", False),
        ("x == 1", False),
        ("x != 1", True),
        ("x == 'a'", False),
        ("x in (1, 2)", False),
        ("x in (None, 2)", True),
        ("x not in (1, 2)", True),
        ("'a' in x", False),
        ("'a' not in x", True),
        ("x + 1 > 0", False),
        ("-x < 1", False),
        ("(x + 1) is None", True),
        ("x.lower() == 'a'", False),
        ("x.startswith('a') or 'a'.startswith(x)", False),
        ("len(x) > 0 or max(x, 1) > 0 or round(x) == 1", False),
        ("date(x) < date('2020-01-01')", False),
    ],
)
def test_a_missing_value_is_in_no_order_and_what_is_computed_from_it_is_missing(text, expected):
    assert let_through(text, x=None) is expected


NUMBERS = st.sampled_from(["a", "b", "0", "1", "2.5", "(-3)"])
TEXTS = st.sampled_from(["s", "''", "'ab'", "'B'"])


def longer_numbers(inner):
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("abs({})".format, inner),
        st.builds("({} if {} else {})".format, inner, conditions, inner),
    )


def longer_conditions(inner):
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("(not {})".format, inner),
    )


ORDER = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
conditions = st.deferred(lambda: st.recursive(links, longer_conditions, max_leaves=6))
some_numbers = st.recursive(NUMBERS, longer_numbers, max_leaves=4)
some_texts = TEXTS | st.builds(
    "{}.{}()".format, TEXTS, st.sampled_from(["lower", "upper", "strip"])
)
links = st.one_of(
    st.builds("{} {} {}".format, some_numbers, ORDER, some_numbers),
    st.builds("{} {} {} {} {}".format, NUMBERS, ORDER, some_numbers, ORDER, NUMBERS),
    st.builds("{} {} {}".format, some_texts, ORDER, some_texts),
    st.builds("{} in {}".format, some_texts, some_texts),
    st.builds("{} not in ({}, {})".format, some_texts, some_texts, some_texts),
    st.builds("{}.startswith({})".format, some_texts, some_texts),
    st.builds("len({}) in [{}, {}]".format, some_texts, some_numbers, some_numbers),
)


@given(
    conditions,
    st.lists(
        st.tuples(
            st.integers(-3, 3),
            st.sampled_from([0.5, 1.0, 1, True, -0.0]),
            st.sampled_from(["", "a", "B", "AB ", "ä"]),
        ),
        min_size=1,
    ),
)
def test_rows_are_those_that_python_itself_lets_through(text, rows):
    text = f"({text}) and (a == a and b == b and s == s)"
    names = {"min": min, "max": max, "abs": abs, "len": len, "__builtins__": {}}
    expected = [bool(eval(text, names, dict(zip("abs", row, strict=True)))) for row in rows]
    values = dict(zip("abs", zip(*rows, strict=True), strict=True))
    assert RowFilter.read(text).rows(values).tolist() == expected


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "__import__('os').system('true') == x",
        "(1).__class__ == x",
        "x.__class__",
        "x.real",
        "x.lower",
        "x.format(1)",
        "'{0.__class__}'.format(x)",
        "x.join(['a'])",
        "x.lower().encode()",
        "[x for x in ()]",
        "{x for x in ()}",
        "{x: 1 for x in ()}",
        "any(x for x in (1, 2))",
        "9**9**9 > x",
        "x ** 2",
        "1 << x",
        "x | 1",
        "x @ 1",
        "~x",
        "lambda: x",
        "(lambda: x)()",
        "(y := x)",
        "f'{x}'",
        "b'a' == x",
        "1j == x",
        "... == x",
        "x[0]",
        "x['a']",
        "col[0]",
        "col[x]",
        "col['a':'b']",
        "col['a']['b']",
        "(col)['a'].b",
        "eval('x')",
        "open(x)",
        "getattr(x, 'y')",
        "len(x, x)",
        "len()",
        "round(x, ndigits=1)",
        "max(x)",
        "max(*x)",
        "max((x, 1))",
        "x.strip('a')",
        "x.lower(1)",
        "x.startswith('a', 1)",
        "(x, 1) == (1, 1)",
        "[x] < [1]",
        "(1, 2) in x",
        "x in ((1, 2), 3)",
        "x is 1",
        "x is not y",
        "None is x",
        "{'a': x}",
        "*x",
        "x, y",
        "x = 1",
        "x; y",
        "import os",
        "await x",
        "yield x",
        "x if",
        "",
        "#",
        "x\ny",
        "__builtins__",
        "date('2020-02-30') < x",
        "date(5) < x",
        "True",
        "1 < 2",
        "\x00",
        "\ud800",
        "x" * 20_000,
        "(" * 500 + "x" + ")" * 500,
        "not " * 500 + "x",
        "-" * 5_000 + "x",
        "x" + " + x" * 500,
        "1" * 5_000 + " < x",
    ],
)
def test_what_is_not_on_the_list_is_refused_when_it_is_read(text):
    with pytest.raises(ParameterError, match="A Python filter") as raised:
        RowFilter.read(text)
    assert raised.value.hint


def test_a_refusal_says_what_is_allowed():
    with pytest.raises(ParameterError, match=r"may not hold \*\*") as raised:
        RowFilter.read("x ** 2")
    assert 'col["last name"]' in raised.value.hint
    assert ".startswith()" in raised.value.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a' * 10_000_000_000 == x", "a"),
        ("x * 10_000_000_000 == 'a'", "a"),
        ("'%10000000000d' % x == ''", 5),
        ("x + 'a' == ''", "a"),
        ("x + 1 == 2", "Secret"),
        ("x > 1", "Secret"),
        ("x == 1", "Secret"),
        ("x != 1", "Secret"),
        ("x in (1, 2)", "Secret"),
        ("x in (1, 'Secret')", "Secret"),
        ("1 in x", "Secret"),
        ("'a' in x", 86753),
        ("x.lower() == 'a'", 86753),
        ("len(x) == 1", 86753),
        ("abs(x) == 1", "Secret"),
        ("max(x, 1) == 1", "Secret"),
        ("x.startswith(1)", "Secret"),
        ("x.startswith((1, 'a'))", "Secret"),
        ("date(x) == date('2020-01-01')", "Secret"),
        ("date(x) == date('2020-01-01')", 86753),
        ("x == '2020-02-29'", DAY),
        ("x - 1 == 1", DAY),
        ("x + x == 1", DAY),
        ("x == date('2020-02-29')", dt.datetime(2020, 2, 29, tzinfo=dt.UTC)),
        ("x == date('2020-02-29')", dt.datetime(2020, 2, 29, 0, 1)),  # noqa: DTZ001
        ("round(x, 10_000_000_000) == 1", 86753),
        ("round(x, -10_000_000_000) == 1", 86753),
        ("round(1, x) == 1", 86753),
        ("round(x) == 1 and round(1, x) == 1", 1.0),
        ("1 / x > 1", 0),
        ("1 % x > 1", 0),
        ("x * 1.0 > 1", 10**400),
        ("x > 1", (86753,)),
    ],
)
def test_values_of_another_kind_are_refused_by_the_name_of_the_column(text, value):
    with pytest.raises(ParameterError, match="The Python filter on 'x' ") as raised:
        RowFilter.read(text).rows({"x": [value]})
    assert raised.value.hint
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert "Secret" not in str(raised.value)
    assert "86753" not in str(raised.value)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ParameterError, match="names 'agee', which is no column") as raised:
        RowFilter.read("agee > 1 and sex == 'F'").rows({"age": [1], "sex": ["F"]})
    assert raised.value.hint == "its columns are age, sex."


# --- rows -----------------------------------------------------------------------------------------


def test_columns_are_named_once_in_the_order_of_the_text():
    read = RowFilter.read('b > 1 or col["a b"] < max(b, c) or col["c"] in (d, 1)')
    assert read.columns == ("b", "a b", "c", "d")
    assert repr(read) == "RowFilter(4 columns)"


class Counted(int):
    """A number that counts how often it is compared."""

    n_comparisons = 0

    def __gt__(self, other):
        Counted.n_comparisons += 1
        return int(self) > other


def test_an_expression_is_evaluated_once_for_rows_that_are_alike():
    Counted.n_comparisons = 0
    values = {"x": [Counted(number % 3) for number in range(1000)], "unused": list(range(1000))}
    found = RowFilter.read("x > 1").rows(values)
    assert found.tolist() == [number % 3 > 1 for number in range(1000)]
    assert Counted.n_comparisons == 3


def test_a_function_is_called_once_for_rows_that_are_alike():
    calls = []
    values = {"a": [1, 1, 2, 1], "b": ["x", "x", "x", None]}
    found = rows_of_function(lambda row: calls.append(row) or row["b"] is None, values)
    assert found.tolist() == [False, False, False, True]
    assert sorted(calls, key=str) == sorted(
        [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"a": 1, "b": None}], key=str
    )


def test_equal_values_of_different_types_are_told_apart():
    values = {"x": [1, True, 1.0]}
    assert rows_of_function(lambda row: row["x"] is True, values).tolist() == [False, True, False]


def test_a_function_may_take_the_row_apart_and_give_anything_that_is_true_or_false():
    values = {"x": [0, 1, 0]}
    assert rows_of_function(lambda row: row.pop("x"), values).tolist() == [False, True, False]


def test_values_that_cannot_be_looked_up_are_rows_of_their_own():
    values = {"x": [[1], [2], [1]]}
    assert rows_of_function(lambda row: row["x"] == [1], values).tolist() == [True, False, True]


@pytest.mark.parametrize(
    "values", [np.array([1.5, np.nan, np.nan, 3]), np.array([1, 0, 0, 3], dtype=object)]
)
def test_columns_may_be_arrays(values):
    assert RowFilter.read("x > 2").rows({"x": values}).tolist() == [False, False, False, True]
    flags = {"x": np.array([True, False])}
    assert rows_of_function(lambda row: row["x"] is True, flags).tolist() == [True, False]


def test_no_rows_are_no_marks():
    found = RowFilter.read("x > 2").rows({"x": []})
    assert (found.dtype, found.tolist()) == (np.bool_, [])
    assert rows_of_function(lambda _: True, {"x": []}).tolist() == []
    assert rows_of_function(lambda _: True, {}).tolist() == []


def test_more_than_64_values_in_several_columns_are_told_apart():
    values = {name: [number % size for number in range(5000)] for name, size in
              (("a", 71), ("b", 89), ("c", 97))}  # fmt: skip
    found = RowFilter.read("(a * 7 + b * 3 + c) % 5 == 0").rows(values)
    assert found.tolist() == [
        (a * 7 + b * 3 + c) % 5 == 0 for a, b, c in zip(*values.values(), strict=True)
    ]


class Listener(logging.Handler):
    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


def test_what_a_function_raises_goes_to_the_internal_log_only():
    listener = Listener()
    internal_log.addHandler(listener)
    internal_log.setLevel(logging.INFO)
    try:
        with pytest.raises(ParameterError, match="failed with ValueError") as raised:
            rows_of_function(lambda row: int(row["x"]), {"x": ["Secret"]})
    finally:
        internal_log.removeHandler(listener)
        internal_log.setLevel(logging.NOTSET)
    assert "Secret" not in str(raised.value)
    assert raised.value.__suppress_context__
    assert "Secret" in listener.heard[0]
