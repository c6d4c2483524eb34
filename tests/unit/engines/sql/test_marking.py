from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.core.errors import DataError, ParameterError
from shoal.core.private_cells import PrivateCells

COLUMNS = {
    "name": ["Rosa", "Ida", "Emil", "Otto"],
    "age": [61, 35, None, 70],
    "sex": ["F", "F", "M", "M"],
    "born": [dt.date(1960, 1, 1), dt.date(1990, 5, 5), dt.date(2000, 2, 2), dt.date(1950, 3, 3)],
    "objects": [True, False, False, True],
}
ROLES = {"identifying": ["name", "objects"], "quasi": ["sex", "age"], "sensitive": "born"}
# As schema.coded has them: sex, age, born.


def read(source, **more):
    return shoal.read(source, shoal.Schema(**(ROLES | more)))


@pytest.fixture
def table():
    return read(COLUMNS)


def marked(table, given):
    """Give the private cells as (place in the source, column)."""
    rows = table.row_codes(100)
    marks = table.marked(PrivateCells.of(given), 100)
    if table.schema.key is None:
        place = [int(key) - 1 for key in rows.keys]
    else:
        place = [COLUMNS["name"].index(key) for key in rows.keys]
    return {(place[row], rows.columns[column]) for row, column in np.argwhere(marks).tolist()}


def test_a_column_is_private_as_a_whole(table):
    assert marked(table, "age") == {(row, "age") for row in range(4)}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("age where age > 60", {0, 3}),
        ("age where age IS NULL", {2}),
        ("age where sex = 'F' AND born < DATE '1980-01-01'", {0}),
        ("age where objects", {0, 3}),
        ("age where name LIKE 'O%'", {3}),
        ({"column": "age", "python": lambda row: row["name"] == "Ida"}, {1}),
        ({"column": "age", "python": lambda row: row["born"].year < 1955}, {3}),
    ],
)
def test_filters_choose_rows(table, condition, rows):
    assert marked(table, [condition]) == {(row, "age") for row in rows}


def test_numbers_of_a_csv_file_are_numbers_to_a_filter(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n9,F\n10,M\n,F\n")
    table = shoal.read(path, shoal.Schema(quasi=["age", "sex"]))
    assert marked(table, "sex where age > 9") == {(1, "sex")}


def test_a_mask_goes_by_the_order_of_the_source(table):
    mask = np.zeros((4, 5), dtype=bool)
    mask[0, 1] = mask[2, 3] = mask[1, 0] = True
    assert marked(table, mask) == {(0, "age"), (2, "born")}


def test_a_mask_by_name_has_some_columns(table):
    assert marked(table, pd.DataFrame({"sex": [False, False, True, False]})) == {(2, "sex")}


def test_a_mask_goes_by_position_with_a_key_too():
    mask = np.zeros((4, 5), dtype=bool)
    mask[3, 1] = True
    assert marked(read(COLUMNS, key="name"), mask) == {(3, "age")}


def test_cells_are_named_by_line_or_by_key(table):
    assert marked(table, [(1, "sex"), ("4", "age")]) == {(0, "sex"), (3, "age")}
    keyed = read(COLUMNS, key="name")
    assert marked(keyed, [("Emil", "sex"), ("Ida", "name")]) == {(2, "sex")}


def test_more_than_nine_lines_are_found_by_their_number():
    table = shoal.read({"a": list(range(120)), "b": [0] * 120}, shoal.Schema(quasi=["a", "b"]))
    rows = table.row_codes(1000)
    marks = table.marked(PrivateCells.of([(n, "a") for n in (1, 10, 100)]), 1000)
    assert sorted(rows.codes[marks[:, 0], 0].tolist()) == [0, 9, 99]


@pytest.mark.parametrize("key", ["key", "name"])
def test_a_file_lists_cells(tmp_path, key):
    path = tmp_path / "cells.csv"
    path.write_text(f"{key},column\nRosa,age\nOtto,born\n")
    table = read(COLUMNS, key="name")
    assert marked(table, path) == {(0, "age"), (3, "born")}
    assert marked(table, str(path)) == {(0, "age"), (3, "born")}


def test_a_file_holds_a_mask(tmp_path, table):
    path = tmp_path / "mask.csv"
    path.write_text("sex,age\n" + "true,0\n0,FALSE\nfalse,1\n1,0\n")
    assert marked(table, path) == {(0, "sex"), (2, "age"), (3, "sex")}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("wage", "begins with no column"),
        ([(9, "age")], "1 of 1 private cells are in rows that the table does not have"),
        ([("Rosa", "age")], "counted from 1"),
        ([(1, "wage")], "in 'wage', which is not a column"),
        (np.zeros((3, 5), dtype=bool), "has 3 rows and 5 columns; 4 and 5 are needed"),
        ({"wage": [True] * 4}, "in 'wage', which is not a column"),
        ("age where wage > 3", "names 'wage', which is not a column"),
        ("age where name > 3 +", "cells of column 'age': A condition ends too early"),
        ("age where name > 3", "The condition on 'name' meets values of a kind"),
    ],
)
def test_what_cannot_be_found_is_refused_without_a_value(table, given, message):
    with pytest.raises(ParameterError, match=message) as caught:
        marked(table, given)
    assert "Rosa" not in str(caught.value)
    assert "Ida" not in str(caught.value)


def test_a_file_that_says_nothing_is_refused(tmp_path, table):
    path = tmp_path / "mask.csv"
    path.write_text("sex,age\nF,61\n")
    with pytest.raises(DataError, match=r"mask\.csv does not say which cells are private"):
        marked(table, path)


def test_a_mask_may_mark_nothing_in_a_column_that_is_not_there(table):
    mask = {"wage": [False] * 4, "age": [True, False, False, False]}
    assert marked(table, mask) == {(0, "age")}


@pytest.mark.parametrize(
    "given",
    ["age where age > 99", "name", [("1", "name")], {"age": [False] * 4}],
)
def test_what_names_no_published_cell_is_refused(table, given):
    with pytest.raises(ParameterError, match=r"Entry 1 of 1 of the private cells .* names no cell"):
        marked(table, given)


def test_an_empty_list_of_cells_is_refused(tmp_path, table):
    path = tmp_path / "cells.csv"
    path.write_text("key,column\n")
    with pytest.raises(ParameterError, match=r"cells\.csv\) names no cell"):
        marked(table, path)


@pytest.mark.parametrize(
    "filter_",
    [
        "age > 1); DROP TABLE coded; --",
        "age > 1; SELECT 1",
        "age > 1 -- to the end",
        "age > 1 /* more",
        "(age > 1",
        "age > 1) OR (1 = 1",
        "name = 'x",
        "name = E'\\'' OR 1 = 1",
        "name = $$x$$",
    ],
)
def test_a_filter_is_one_condition(table, filter_):
    with pytest.raises(ParameterError, match=r"A condition (cannot be read|ends)"):
        marked(table, f"age where {filter_}")
    assert table.row_codes(10).n_rows == 4


def test_signs_within_quotes_belong_to_a_condition(table):
    assert marked(table, "age where name <> 'a; (b -- c' and sex = 'F'") == {(0, "age"), (1, "age")}


def test_a_column_may_be_called_as_the_key_is_inside():
    columns = {"row_key": [3, 2, 1], "y": [1, 2, 3]}
    table = shoal.read(columns, shoal.Schema(quasi=["row_key", "y"]))
    assert marked(table, "y where row_key = 3") == {(0, "y")}


def test_numbers_of_a_csv_column_that_is_not_published_are_numbers_too(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("no,age,sex,kind\n1,9,F,a\n2,10,M,b\n30,,F,a\n")
    schema = shoal.Schema(quasi=["sex", "kind"], identifying="age", key="no")
    table = shoal.read(path, schema)
    for condition in ("sex where age > 9", "sex where no % 2 = 0 and age > 1"):
        rows = table.row_codes(9)
        marks = table.marked(PrivateCells.of(condition), 9)
        assert rows.keys[marks[:, 0]].tolist() == ["2"]


def test_private_cells_of_an_insensitive_column_are_refused():
    table = shoal.read({"a": [1, 1, 1], "b": [2, 2, 2]}, shoal.Schema(quasi="a", insensitive="b"))
    with pytest.raises(ParameterError, match="'b' is insensitive and has private cells"):
        marked(table, "b")


def test_too_many_rows_are_refused(table):
    with pytest.raises(ParameterError, match="has 4 rows; work row by row"):
        table.row_codes(3)
