"""Data frames of every kind as codes, seen by the rules that are mined from them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frames import EMPLOYEES_PRIVATE as PRIVATE
from frames import FRAMES, MIXED, MIXED_PRIVATE, employees

from shoal.core.errors import DataError, ParameterError
from shoal.datasets import papers
from shoal.knowledge import (
    AdversarialRules,
    Category,
    mine_adversarial_rules,
)

SECRET = "SECRETVALUE123"


@pytest.fixture(scope="module")
def rules() -> AdversarialRules:
    return mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_rules(rules, kind):
    frame = FRAMES[kind](employees())
    found = mine_adversarial_rules(frame, PRIVATE, delta=0.6, gamma=2)
    assert list(found) == list(rules)
    assert found.cells == rules.cells


@pytest.mark.parametrize("kind", FRAMES)
def test_numbers_dates_and_texts_stay_what_they_are(kind):
    found = mine_adversarial_rules(FRAMES[kind](MIXED), MIXED_PRIVATE, delta=0.6, gamma=1)
    assert list(found) == list(mine_adversarial_rules(MIXED, MIXED_PRIVATE, 0.6, 1))
    values = {(rule.column, type(rule.value)) for rule in found}
    assert values == {
        ("age", int),
        ("born", dt.date),
        ("city", str),
        ("height", float),
        ("smokes", bool),
    }


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([5, 5, None, 5, 7], dtype="Int64"),
        pd.Series([5, 5, None, 5, 7], dtype="float64"),
        pd.Series([5, 5, None, 5, 7], dtype=pd.ArrowDtype(pa.int64())),
        pd.Series([5, 5, pd.NA, 5, 7], dtype=object),
        pd.Series([5, 5, None, 5, 7], dtype="Int64").astype("category"),
        pl.Series([5, 5, None, 5, 7]),
        pl.Series([5.0, 5.0, float("nan"), 5.0, 7.0]),
        pa.chunked_array([[5, 5, None], [5, 7]]),
        np.array([5, 5, np.nan, 5, 7]),
        np.array([5, 5, None, 5, 7], dtype=object),
        np.ma.masked_equal([5, 5, -1, 5, 7], -1),
        [5, 5, float("nan"), 5, 7],
        [Decimal(5), 5, Decimal("NaN"), 5.0, np.int64(7)],
        (5, 5, None, 5, 7),
    ],
    ids=str,
)
def test_a_missing_value_is_one_value_whatever_stands_for_it(column):
    frame = {"a": column, "b": ["x", "x", "y", "x", "y"]}
    found = mine_adversarial_rules(frame, [(2, "b"), (3, "a")], delta=1, gamma=1)
    assert {rule.key for rule in found} == {(frozenset({("b", "x")}), "a", 5)}
    found = mine_adversarial_rules(frame, [(4, "b")], delta=1, gamma=1)
    assert not len(found)
    frame["c"] = ["z", "z", "y", "z", "y"]
    (rule,) = mine_adversarial_rules(frame, [(4, "b")], delta=1, gamma=1)
    assert rule.antecedent == {"c": "y"}
    found = mine_adversarial_rules(frame, [(2, "b")], delta=1, gamma=1)
    assert found.category({"a": None}) is found.category({"a": float("nan")})
    assert found.category({"a": pd.NA}) is Category.NON_DISCRIMINATIVE


def test_several_missing_values_support_rules():
    blanks = [None, float("nan"), pd.NaT, pd.NA, Decimal("NaN"), np.datetime64("NaT"), 1]
    frame = {"a": blanks, "b": ["x"] * 6 + ["y"]}
    found = mine_adversarial_rules(frame, [(0, "b")], delta=1, gamma=5)
    assert [rule.key for rule in found] == [(frozenset({("a", None)}), "b", "x")]
    (found,) = mine_adversarial_rules(frame, [(0, "a")], delta=1, gamma=5)
    assert found.value is None


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_arrays_of_dates(unit):
    born = np.array(["1990-01-02", "1990-01-02", "NaT"], dtype=f"datetime64[{unit}]")
    (rule,) = mine_adversarial_rules({"a": born, "b": [1, 1, 2]}, [(0, "b")], delta=1, gamma=1)
    (value,) = rule.antecedent.values()
    assert isinstance(value, dt.date)
    assert str(value)[:10] == "1990-01-02"


def test_nanoseconds_are_not_lost():
    moments = np.array([1, 1, 2, 2], dtype="datetime64[ns]")
    found = mine_adversarial_rules({"a": moments, "b": [1, 1, 2, 2]}, "b", delta=1, gamma=1)
    assert not found
    found = mine_adversarial_rules({"a": moments, "b": [1, 1, 2, 2]}, [(0, "b")], gamma=1)
    assert [rule.antecedent for rule in found] == [{"a": np.datetime64(1, "ns")}]


def test_values_of_different_kinds_in_one_column():
    frame = {"a": ["1", "1", 1, 1, (1, 2), (1, 2)], "b": ["x", "x", "y", "y", "z", "z"]}
    found = mine_adversarial_rules(frame, [(0, "b"), (2, "b"), (4, "b")], delta=1, gamma=1)
    assert {rule.antecedent["a"]: rule.value for rule in found} == {"1": "x", 1: "y", (1, 2): "z"}
    assert found.category({"a": (1, 2)}) is Category.DISCRIMINATIVE


def test_frames_without_rows_or_columns_have_no_rules():
    for frame in ({}, {"a": []}, {"a": [], "b": []}, pd.DataFrame()):
        found = mine_adversarial_rules(frame, np.zeros((0, len(dict(frame))), dtype=bool))
        assert (len(found), found.cells, found.base_rates) == (0, (), ())
        assert found.sensitive_cells.shape == (0, len(dict(frame)))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"a": [1, 2], "b": [1]}, "2 different lengths"),
        ({"a": [[SECRET], [2]]}, "Column 'a' holds values that cannot be compared"),
        (pl.DataFrame({"a": [[1], [2]]}), "Column 'a' holds values that cannot be compared"),
        ({"a": SECRET}, "Column 'a' is a str"),
        ({"a": 5}, "Column 'a' is a int"),
        ({"a": np.zeros((2, 2))}, "Column 'a' has 2 dimensions"),
        (pd.DataFrame(np.zeros((2, 3))), "3 of the table's 3 columns"),
        (pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]), "more than one column 'a'"),
    ],
)
def test_columns_that_cannot_be_coded_are_refused(frame, words):
    with pytest.raises(DataError, match=words) as caught:
        mine_adversarial_rules(frame, "a")
    assert SECRET not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "table",
    [None, 5, SECRET, np.zeros((2, 2)), [[1, 2]], papers.employees(), pl.LazyFrame({"a": [1]})],
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(ParameterError, match="data frame") as caught:
        mine_adversarial_rules(table, "a")
    assert "shoal.read" in str(caught.value)
    assert SECRET not in str(caught.value)
