from __future__ import annotations

import datetime as dt
import logging
import time

import duckdb
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


# --- what a condition means -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("x = '7'", {"x": 7}, True),
        ("x < '1e1'", {"x": 7.5}, True),
        ("x = 7", {"x": "07"}, True),
        ("age > 60", {"age": 61}, True),
        ("age > 60", {"age": 60}, False),
        ("age BETWEEN 18 AND 30", {"age": 30}, True),
        ("age not between 18 and 30", {"age": 30}, False),
        ("age IN (1, 2)", {"age": 2}, True),
        ("age NOT IN (1, other)", {"age": 3, "other": 3}, False),
        ("disease LIKE '%ill%'", {"disease": "illness"}, True),
        ("disease NOT LIKE '%ill%'", {"disease": "flu"}, True),
        ("name LIKE '_o'", {"name": "Bo"}, True),
        ("name ILIKE 'b%'", {"name": "Bo"}, True),
        ("sex = 'F' AND NOT smokes", {"sex": "F", "smokes": False}, True),
        ("smokes = TRUE", {"smokes": True}, True),
        ("smokes IS NOT TRUE", {"smokes": None}, True),
        ("sex = 'F' OR age / 0 > 1", {"sex": "F", "age": 1}, True),
        ("-age < -60", {"age": 61}, True),
        ("- -age = 61", {"age": 61}, True),
        ("CASE WHEN sex = 'F' THEN age ELSE 2 * age END >= 60", {"age": 30, "sex": "M"}, True),
        ("CASE WHEN age > 90 THEN 1 END IS NULL", {"age": 30}, True),
        ("age % 10 = 5 AND floor(age / 10) = 3 AND age + 1 - 1 = 35", {"age": 35}, True),
        ("-age % 10 = -5", {"age": 35}, True),
        ("lower(trim(name)) = 'ann'", {"name": " ANN"}, True),
        ("starts_with(name, 'B')", {"name": "Bo"}, True),
        ("substr(name, 2, 1) || 'x' = 'ox'", {"name": "Bo"}, True),
        ("upper(name) = 'ÄRA'", {"name": "ära"}, True),
        ("length(name) = abs(-2)", {"name": "Bo"}, True),
        ("round(income, -3) = 52000 AND round(0.26, 1) = 0.3", {"income": 51_900}, True),
        ("round(share) = 3 AND round(-share) = -3", {"share": 2.5}, True),
        ("coalesce(age, 70) > 60", {"age": None}, True),
        ("born < DATE '2020-03-01'", {"born": DAY}, True),
        ("born < '2020-03-01' AND '2020-01-01' < born", {"born": DAY}, True),
        ("born = DATE '2020-02-29'", {"born": dt.datetime(2020, 2, 29)}, True),  # noqa: DTZ001
        ("DATE '2020-03-01' - born = 1", {"born": DAY}, True),
        ("born + 1 = DATE '2020-03-01'", {"born": DAY}, True),
        ("year(born) = 2020 AND month(born) = 2 AND day(born) = 29", {"born": DAY}, True),
        ("born IN (DATE '2020-02-29')", {"born": DAY}, True),
        ("\"last name\" = 'O''Neil'", {"last name": "O'Neil"}, True),
        ('"a ""b""" = 1', {'a "b"': 1}, True),
        ("date = 2 AND length = 3", {"date": 2, "length": 3}, True),
        ("größe > 1", {"größe": 2}, True),
        ("  age\n>\t1 ", {"age": 2}, True),
        ("a <> b OR a != b", {"a": 1, "b": 2}, True),
        ("a IS DISTINCT FROM b", {"a": 1, "b": None}, True),
        ("a IS NOT DISTINCT FROM b", {"a": None, "b": None}, True),
        ("a = 1 OR b = 1 AND c = 1", {"a": 1, "b": 0, "c": 0}, True),
        ("NOT a = 1 AND b = 1", {"a": 0, "b": 1}, True),
    ],
)
def test_a_condition_means_what_it_means_in_sql(text, row, expected):
    assert let_through(text, **row) is expected


@pytest.mark.parametrize(
    "text",
    ["x > 1", "NOT x > 1", "x = 1", "x <> 1", "x IN (1, 2)", "x NOT IN (1, 2)", "x = NULL",
     "1 NOT IN (2, x)", "x + 1 > 0", "-x < 1", "lower(x) = 'a'", "x LIKE '%'",
     "x IS NOT NULL", "x IS TRUE", "year(x) = 2020", "x BETWEEN 1 AND 2", "x OR x"],
)  # fmt: skip
def test_what_is_not_known_lets_no_row_through(text):
    assert let_through(text, x=None) is False


def test_three_truth_values():
    for text, expected in [("x OR y", True), ("x AND y", False), ("NOT (x AND y)", False),
                           ("x OR NOT y", False), ("x IS NULL AND y", True),
                           ("NOT (x AND NOT y)", True)]:  # fmt: skip
        assert let_through(text, x=None, y=True) is expected


NUMBERS = st.sampled_from(["a", "b", "0", "1", "2.5", "(-3)", "m"])
TEXTS = st.sampled_from(["s", "''", "'ab'", "'B'", "'%b_'", "'a%'"])


def longer_numbers(inner):
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("coalesce({}, {})".format, inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "floor", "ceil", "round"]), inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, conditions, inner, inner),
    )


def longer_conditions(inner):
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner),
        st.builds("(NOT {})".format, inner),
        st.builds("(({}) IS {})".format, inner, st.sampled_from(["NULL", "NOT TRUE", "FALSE"])),
    )


ORDER = st.sampled_from(["<", "<=", ">", ">=", "=", "<>", "IS DISTINCT FROM"])
conditions = st.deferred(lambda: st.recursive(links, longer_conditions, max_leaves=6))
some_numbers = st.recursive(NUMBERS, longer_numbers, max_leaves=4)
some_texts = TEXTS | st.builds("{}({})".format, st.sampled_from(["lower", "upper", "trim"]), TEXTS)
links = st.one_of(
    st.builds("{} {} {}".format, some_numbers, ORDER, some_numbers),
    st.builds("{} BETWEEN {} AND {}".format, some_numbers, some_numbers, NUMBERS),
    st.builds("{} NOT IN ({}, {})".format, some_numbers, some_numbers, NUMBERS),
    st.builds("{} {} {}".format, some_texts, ORDER, some_texts),
    st.builds("{} {} {}".format, some_texts, st.sampled_from(["LIKE", "NOT ILIKE"]), some_texts),
    st.builds("starts_with({}, {} || {})".format, some_texts, some_texts, some_texts),
    st.builds("length({}) IN ({}, {})".format, some_texts, some_numbers, some_numbers),
)


@given(
    conditions,
    st.lists(
        st.tuples(
            st.integers(-3, 3),
            st.sampled_from([0.5, 1.0, -0.0, 2.5]),
            st.sampled_from(["", "a", "B", "AB ", "ä", None]),
            st.sampled_from([None, 1.0]),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_rows_are_those_that_an_engine_lets_through(text, rows):
    text = f"({text}) AND (a IS NOT NULL OR b = b OR s = s OR m = m)"
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE t (i INT, a DOUBLE, b DOUBLE, s VARCHAR, m DOUBLE)")
        engine.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)", [(i, *row) for i, row in enumerate(rows)]
        )
        found = {one for (one,) in engine.execute(f"SELECT i FROM t WHERE {text}").fetchall()}
    values = dict(zip("absm", zip(*rows, strict=True), strict=True))
    marks = RowFilter.read(text).rows(values)
    assert set(np.flatnonzero(marks).tolist()) == found


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "TRUE",
        "1 < 2",
        "read_text('/etc/passwd') = x",
        "x IN (SELECT y FROM '/etc/passwd')",
        "x = (SELECT 1)",
        "EXISTS (SELECT 1)",
        "x > 1; SELECT 1",
        "x > 1); DROP TABLE coded; --",
        "x > 1 -- to the end",
        "x > 1 /* more",
        "x > 1 /* more */",
        "(x > 1",
        "x > 1) OR (1 = 1",
        "x = 'y",
        'x = "y',
        "x = E'\\'' OR 1 = 1",
        "x = $$y$$",
        "x = $1",
        "x = ?",
        "x::INT = 1",
        "x[1] = 1",
        "t.x = 1",
        "x = {'a': 1}",
        "x -> 1",
        "x == 1",
        "x ** 2 > 1",
        "x SIMILAR TO 'a'",
        "x COLLATE NOCASE = 'a'",
        "CAST(x AS INT) = 1",
        "current_user = x",
        "getenv('HOME') = x",
        "x = DATE '2020-02-30'",
        "x = 1e400",
        "x BETWEEN 1",
        "x NOT 1",
        "x IS 1",
        "x IN ()",
        "CASE END = x",
        "CASE x WHEN 1 THEN 2 END = 2",
        "length() = x",
        "length(x, x) = 1",
        "x > 1 y",
        "x = 'a' 'b'",
        "\x00",
        "\ud800",
        "x" * 20_000,
        "(" * 500 + "x" + ")" * 500,
        "1" * 5_000 + " < x",
    ],
)
def test_what_is_not_on_the_list_is_refused_when_it_is_read(text):
    if text == "current_user = x":
        # A word like any other: no column of the table is called so.
        assert RowFilter.read(text).columns == ("current_user", "x")
        return
    with pytest.raises(ParameterError, match="A condition") as raised:
        RowFilter.read(text)
    assert raised.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "NOT " * 1_500 + "x = 1",
        "-" + " -" * 2_001 + "x = 1",
        "x" + " * x" * 2_000 + " = 1",
        "x = 1" + " OR x = 1" * 1_000,
        "x = 1" + " AND x = 1" * 900,
        "x IN (1" + ", x" * 2_000 + ")",
        "(" * 35 + "x = 1" + ")" * 35,
    ],
)
def test_long_conditions_are_evaluated(text):
    assert let_through(text, x=1)


def test_no_pattern_takes_long():
    text, pattern = "a" * 3_000, "%a" * 1_000 + "b"
    started = time.process_time()
    assert not let_through(f"x LIKE '{pattern}'", x=text)
    assert time.process_time() - started < 20


def test_a_refusal_says_what_is_allowed():
    with pytest.raises(ParameterError, match="at character 6") as raised:
        RowFilter.read("x >  ; 2")
    assert "length()" in raised.value.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x + 'a' = ''", "a"),
        ("x + 1 = 2", "Secret"),
        ("x > 1", "Secret"),
        ("x = 1", "Secret"),
        ("x <> 1", "Secret"),
        ("x IN (1, 2)", "Secret"),
        ("x = 'n86753'", 86753),
        ("x LIKE '8%'", 86753),
        ("lower(x) = 'a'", 86753),
        ("length(x) = 1", 86753),
        ("abs(x) = 1", "Secret"),
        ("x || 1 = 'a'", "Secret"),
        ("x", 86753),
        ("NOT x", "Secret"),
        ("x AND TRUE", 86753),
        ("x = TRUE", 1),
        ("x = DATE '2020-01-01'", "Secret"),
        ("x = 'Secret'", DAY),
        ("x + x = 1", DAY),
        ("year(x) = 1", 86753),
        ("x = DATE '2020-02-29'", dt.datetime(2020, 2, 29, 0, 1)),  # noqa: DTZ001
        ("1 / x > 1", 0),
        ("1 % x > 1", 0),
        ("x * 1.0 > 1", 10**400),
        ("x > 1", (86753,)),
    ],
)
def test_values_of_another_kind_are_refused_by_the_name_of_the_column(text, value):
    with pytest.raises(ParameterError, match="The condition on 'x' ") as raised:
        RowFilter.read(text).rows({"x": [value]})
    assert raised.value.hint
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    assert "Secret" not in str(raised.value)
    assert "86753" not in str(raised.value)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ParameterError, match="names 'agee', which is no column") as raised:
        RowFilter.read("agee > 1 AND sex = 'F'").rows({"age": [1], "sex": ["F"]})
    assert raised.value.hint == "did you mean 'age'? Its columns are age, sex."


# --- rows -----------------------------------------------------------------------------------------


def test_columns_are_named_once_in_the_order_of_the_text():
    read = RowFilter.read('b > 1 OR "a b" < coalesce(b, c) OR "c" IN (d, 1)')
    assert read.columns == ("b", "a b", "c", "d")
    assert repr(read) == "RowFilter(4 columns)"


class Counted(int):
    """A number that counts how often it is compared."""

    n_comparisons = 0

    def __gt__(self, other):
        Counted.n_comparisons += 1
        return int(self) > other


def test_a_condition_is_evaluated_once_for_rows_that_are_alike():
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
    found = RowFilter.read("(a * 7 + b * 3 + c) % 5 = 0").rows(values)
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
