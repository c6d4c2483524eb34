"""Levels: what may be declared, how they are named, and how a manifest states them."""

from __future__ import annotations

import datetime as dt
import json
import pickle

import pytest

import shoal
from shoal.core.domain import ColumnType
from shoal.core.levels import Level, LevelDeclaration
from shoal.errors import SchemaError


@pytest.mark.parametrize(
    "given",
    [
        None,
        20,
        [0, 1],
        {},
        "value",
        {"quantiles": 20, "intervals": [0]},
        {"quantiles": 1},
        {"quantiles": True},
        {"quantiles": 2.5},
        {"quantiles": 20, "k": 0},
        {"intervals": [0], "k": 5},
        {"intervals": []},
        {"intervals": "0, 1"},
        {"intervals": [1, 0]},
        {"intervals": [0, 0]},
        {"intervals": [0, "secret"]},
        {"intervals": [0, float("nan")]},
        {"intervals": [0, float("inf")]},
        {"intervals": ["1e999999999"]},
        {"intervals": [0, "2020-01-01"]},
        {"intervals": [True]},
        {"intervals": list(range(2000))},
        {"node_level": 0},
        {"node_level": "1"},
        {"node_level": 1000},
        {"secret": 1},
    ],
)
def test_wrong_declaration_names_the_column_and_repeats_nothing(given):
    with pytest.raises(SchemaError, match="'income'") as caught:
        LevelDeclaration.of("income", given)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ([0, 1.50, "2.25"], ("0", "1.5", "2.25")),
        ([-3, -0.0, 1e3], ("-3", "0", "1000")),
        ([dt.date(2020, 1, 1), "2021-02-03"], ("2020-01-01", "2021-02-03")),
    ],
)
def test_bounds_have_one_spelling(given, bounds):
    assert LevelDeclaration.of("a", {"intervals": given}).intervals == bounds


@pytest.mark.parametrize(
    "given", ["values", {"quantiles": 20}, {"quantiles": 5, "k": 3}, {"node_level": 2}]
)
def test_declaration_is_written_as_it_was_given(given):
    declared = LevelDeclaration.of("a", given)
    assert declared.to_config() == given
    assert LevelDeclaration.of("a", declared.to_config()) == declared


def test_only_a_sensitive_column_has_levels():
    with pytest.raises(SchemaError, match="'age', which is not sensitive"):
        shoal.Schema(quasi="age", sensitive="pay", levels={"age": {"quantiles": 4}})
    with pytest.raises(SchemaError, match="'pay', which is quasi-identifying too"):
        shoal.Schema(quasi="pay", sensitive="pay", levels={"pay": {"quantiles": 4}})


def test_schema_with_levels_can_be_copied():
    schema = shoal.Schema(quasi="age", sensitive="pay", levels={"pay": {"intervals": [0, 5]}})
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert schema.with_orders({"age": ("1", "2")}).levels == schema.levels


def test_labels_name_intervals():
    level = Level("pay", bounds=("-10", "0", "1", "100"))
    assert level.labels(ColumnType.INTEGER) == (
        "below -10", "[-10, 0[", "0", "1-99", "100 and above",
    )  # fmt: skip
    assert level.labels(ColumnType.REAL)[2:4] == ("[0, 1[", "[1, 100[")


@pytest.mark.parametrize(
    "level",
    [Level("a", bounds=("0", "0.5")), Level("a", node_level=3), Level("a", ("2020-01-01",))],
)
def test_manifest_states_levels_as_they_are(level):
    assert Level.from_dict("a", json.loads(json.dumps(level.to_dict()))) == level


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"intervals": []},
        {"intervals": ["1", "1"]},
        {"intervals": ["2", "1"]},
        {"intervals": [1, 2]},
        {"intervals": ["01"]},
        {"intervals": ["1.0"]},
        {"intervals": ["1e400"]},
        {"intervals": ["nan"]},
        {"intervals": ["0", "2020-01-01"]},
        {"intervals": "12"},
        {"intervals": ["1"], "node_level": 1},
        {"node_level": True},
        {"node_level": 0},
        {"node_level": 10**9},
        {"quantiles": 20},
        {"intervals": [str(n) for n in range(5000)]},
    ],
)
def test_malformed_levels_of_a_manifest_are_refused(stated):
    with pytest.raises(ValueError, match="no levels"):
        Level.from_dict("a", stated)
