from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.core.errors import ParameterError
from shoal.core.private_cells import (
    CellFile,
    CellList,
    CellMask,
    CellText,
    Condition,
    PrivateCells,
)

MARKS = [[True, False], [False, False]]


@pytest.mark.parametrize("given", [np.array(MARKS), MARKS, [np.array(row) for row in MARKS]])
def test_a_table_of_booleans_marks_by_position(given):
    (mask,) = PrivateCells.of(given).parts
    assert isinstance(mask, CellMask)
    assert mask.marks.tolist() == MARKS
    assert mask.columns is None


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [True, False], "b": [False, False]}),
        pd.DataFrame({"a": [True, False], "b": [False, False]}, dtype=object),
        pl.DataFrame({"a": [True, False], "b": [False, False]}),
        pa.table({"a": [True, False], "b": [False, False]}),
        {"a": [True, False], "b": [False, False]},
    ],
)
def test_columns_of_booleans_mark_by_name(frame):
    (mask,) = PrivateCells.of(frame).parts
    assert isinstance(mask, CellMask)
    assert mask.columns == ("a", "b")
    assert mask.marks.tolist() == MARKS


def test_pairs_are_cells_by_key():
    (cells,) = PrivateCells.of([(7, "age"), ("x", "sex"), (np.int64(3), 1)]).parts
    assert isinstance(cells, CellList)
    assert cells.keys == (7, "x", 3)
    assert cells.columns == ("age", "sex", 1)


def test_several_parts_are_all_taken():
    given = ["age", {"column": "sex", "sql": "age > 1"}, (1, "age"), Path("cells.csv")]
    found = PrivateCells.of(given, Path("folder"))
    kinds = [type(part) for part in found.parts]
    assert kinds == [CellList, CellText, Condition, CellFile]
    assert found.parts[3].path == Path("folder/cells.csv")
    assert len((found | PrivateCells.of("sex")).parts) == 5


def test_nothing_is_no_part():
    assert not PrivateCells.of(None)
    assert PrivateCells.of("a")


@pytest.mark.parametrize(
    ("text", "column", "sql"),
    [
        ("age", "age", None),
        ("age where age > 60", "age", "age > 60"),
        ("age WHERE sex = 'F' if", "age", "sex = 'F' if"),
        ("age where", "age where", None),
        ("age group where x", "age group", "x"),
        ("age  where   x > 1 ", "age", "x > 1"),
    ],
)
def test_a_text_is_read_by_the_columns(text, column, sql):
    found = CellText(text).among(["age", "age group", "age where"])
    assert found == Condition(column, sql)


def test_a_text_may_be_a_file(tmp_path):
    (tmp_path / "cells.csv").write_text("key,column\n")
    assert CellText("cells.csv", tmp_path).among(["age"]) == CellFile(tmp_path / "cells.csv")


@pytest.mark.parametrize(
    "text", ["wage > 3", "agewhere x", "nothing.csv", "age whereas x", "age if age > 1", ""]
)
def test_a_text_that_is_nothing_is_refused(text):
    with pytest.raises(ParameterError, match="begins with no column and names no file"):
        CellText(text).among(["age"])


@pytest.mark.parametrize(
    "given",
    [
        7,
        3.5,
        np.array([[1, 0]]),
        np.array([True]),
        {"a": [1, 0]},
        {"column": "a", "where": "x"},
        {"column": "a", "sql": "x", "python": len},
        {"column": "a", "python": "secret > 1"},
        pd.DataFrame({"a": ["secret"]}),
        [object()],
    ],
)
def test_other_things_are_refused_without_showing_them(given):
    with pytest.raises(ParameterError) as caught:
        PrivateCells.of(given)
    assert "secret" not in str(caught.value)


def test_what_is_private_is_not_shown():
    shown = repr(PrivateCells.of(["age where name = 'Rosa'", ("Rosa", "age")]))
    assert "Rosa" not in shown
    assert "Rosa" not in repr(PrivateCells.of(["age where name = 'Rosa'"]).parts)
