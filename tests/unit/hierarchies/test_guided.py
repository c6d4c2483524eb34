from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.datasets.papers import injector_patients
from shoal.hierarchies.guided import guided_hierarchy


def cells_of(table, **options):
    """Count a table given as {value: {sensitive value: rows}}; None is the missing value."""
    texts = [text for text in table if text is not None]
    column = Domain.of_texts("job", texts, has_missing=None in table, **options)
    names = sorted({name for counts in table.values() for name in counts})
    disease = Domain.of_texts("disease", names)
    places = {text: code for code, text in enumerate(column.labels())}
    entries = sorted(
        (places[text], names.index(name), number)
        for text, counts in table.items()
        for name, number in counts.items()
    )
    codes = np.array([entry[:2] for entry in entries], dtype=np.int64).reshape(-1, 2)
    return Cells((column, disease), codes, np.array([entry[2] for entry in entries], np.int64))


def labels_of(cells, **options):
    """Give the labels of each level between the leaves and the root, leaf by leaf."""
    rows = guided_hierarchy(cells, "job", "disease", **options).rows
    return [list(labels) for labels in list(zip(*rows, strict=True))[1:-1]]


MEN_AND_WOMEN = {
    "a": {"flu": 60, "ovarian": 40},
    "b": {"flu": 60, "prostate": 40},
    "c": {"flu": 55, "ovarian": 45},
    "d": {"flu": 65, "prostate": 35},
}


def test_values_that_are_incompatible_meet_last():
    assert labels_of(cells_of(MEN_AND_WOMEN)) == [["{a, c}", "{b, d}", "{a, c}", "{b, d}"]]


def test_groups_count_by_their_rows():
    # Weighed alike, a and b would have 0.85 of flu, and c would be closer to d.
    table = {
        "a": {"flu": 9, "pox": 1},
        "b": {"flu": 800, "pox": 200},
        "c": {"flu": 62, "pox": 38},
        "d": {"flu": 40, "pox": 60},
    }
    labels = labels_of(cells_of(table), distance="largest-difference", fewest=1)
    assert labels == [["{a, b, c}", "{a, b, c}", "{a, b, c}", "d"]]


def test_ordered_values_merge_with_their_neighbours_only():
    table = {"a": {"flu": 20}, "b": {"pox": 20}, "c": {"flu": 20}, "d": {"flu": 20}}
    assert labels_of(cells_of(table)) == [["{a, c, d}", "b", "{a, c, d}", "{a, c, d}"]]
    ordered = cells_of(table, type=ColumnType.ORDERED)
    assert labels_of(ordered) == [["{a, b}", "{a, b}", "{c, d}", "{c, d}"]]


def test_numbers_have_intervals_between_them():
    table = {
        "18": {"flu": 5},
        "19": {"flu": 4, "pox": 1},
        "40": {"pox": 5},
        "41": {"pox": 4},
        "90": {"pox": 6, "flu": 3},
    }
    cells = cells_of(table, type=ColumnType.INTEGER, numbers=[18, 19, 40, 41, 90])
    young, middle, old = "]-inf, 20[", "[20, 50[", "[50, +inf["
    assert labels_of(cells, levels=2) == [
        [young, young, middle, middle, old],
        [young, young, "[20, +inf[", "[20, +inf[", "[20, +inf["],
    ]


def test_equal_numbers_that_are_written_differently_stay_together():
    table = {
        "1": {"flu": 5},
        "1.0": {"pox": 5},
        "2": {"flu": 5, "pox": 1},
        "3": {"flu": 5, "pox": 2},
    }
    cells = cells_of(table, type=ColumnType.REAL, numbers=[1, 1, 2, 3])
    assert labels_of(cells) == [["]-inf, 1.5[", "]-inf, 1.5[", "[1.5, +inf[", "[1.5, +inf["]]


def test_dates_have_intervals_between_them():
    texts = ["2001-05-01", "2001-05-02", "2013-01-01", "2013-01-02"]
    days = [(np.datetime64(text) - np.datetime64("1970-01-01")).astype(int) for text in texts]
    table = dict(zip(texts, ({"flu": 1}, {"flu": 2}, {"pox": 1}, {"pox": 2}), strict=True))
    cells = cells_of(table, type=ColumnType.DATE, numbers=days)
    early, late = "]-inf, 2010-01-01[", "[2010-01-01, +inf["
    assert labels_of(cells) == [[early, early, late, late]]


def test_the_missing_value_stays_alone_up_to_the_root():
    table = {**MEN_AND_WOMEN, None: {"flu": 60, "ovarian": 40}}
    rows = guided_hierarchy(cells_of(table), "job", "disease").rows
    assert rows[-1] == (None, None, "*")
    assert [row[1] for row in rows[:-1]] == ["{a, c}", "{b, d}", "{a, c}", "{b, d}"]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ({"a": {"flu": 1}}, [("a", "*")]),
        ({"a": {"flu": 1}, "b": {"flu": 9}}, [("a", "*"), ("b", "*")]),
        ({None: {"flu": 1}}, [(None, "*")]),
    ],
)
def test_few_values_have_no_level_between(table, rows):
    assert guided_hierarchy(cells_of(table), "job", "disease", levels=3).rows == tuple(rows)


def test_levels_take_geometric_shares_of_the_values():
    table = {f"{code:03}": {"flu": code % 7 + 1, "pox": code % 5 + 1} for code in range(100)}
    cells = cells_of(table)

    def numbers(levels):
        return [len(set(labels)) for labels in labels_of(cells, levels=levels)]

    assert numbers(1) == [10]
    assert numbers(3) == [32, 10, 3]
    assert numbers(None) == [52, 27, 14, 7, 4, 2]
    assert numbers(98) == list(range(99, 1, -1))
    assert numbers(500) == list(range(99, 1, -1))


def test_equally_close_groups_grow_evenly():
    table = {name: {name: 20} for name in "abcdefgh"}
    assert labels_of(cells_of(table), levels=2) == [
        ["{a, b}"] * 2 + ["{c, d}"] * 2 + ["{e, f}"] * 2 + ["{g, h}"] * 2,
        ["{a, b, c, d}"] * 4 + ["{e, f, g, h}"] * 4,
    ]


def test_a_rare_value_is_not_named():
    table = {"a": {"flu": 20}, "b": {"flu": 9}, "c": {"pox": 20}, "d": {"pox": 10}}
    assert labels_of(cells_of(table)) == [["group 1", "group 1", "{c, d}", "{c, d}"]]
    assert labels_of(cells_of(table), fewest=9)[0][0] == "{a, b}"


def test_long_labels_are_numbered():
    name = "a very long name of a value"
    table = {name: {"flu": 20}, f"{name}, too": {"flu": 20}, "x": {"pox": 20}, "y": {"pox": 20}}
    assert labels_of(cells_of(table)) == [["group 1", "group 1", "{x, y}", "{x, y}"]]


def test_labels_are_none_of_the_values():
    table = {
        "a": {"flu": 20},
        "b": {"flu": 30},
        "group 1": {"pox": 20},
        "{a, b}": {"pox": 30},
    }
    others = "{group 1, {a, b}}"
    assert labels_of(cells_of(table)) == [["group 2", "group 2", others, others]]


def test_the_largest_difference_looks_at_one_value():
    table = {
        "a": {"flu": 50, "pox": 50},
        "b": {"flu": 50, "pox": 40, "s1": 1, "s2": 1, "s3": 1, "s4": 1, "s5": 1, "s6": 5},
        "c": {"flu": 62, "pox": 38},
    }
    cells = cells_of(table)
    assert labels_of(cells, distance="largest-difference") == [["{a, b}", "{a, b}", "c"]]
    assert labels_of(cells) == [["{a, c}", "b", "{a, c}"]]


def test_a_value_that_no_row_has_joins_any_group():
    job = Domain.of_texts("job", ["a", "b", "c", "d"])
    disease = Domain.of_texts("disease", ["flu", "pox"])
    cells = Cells((job, disease), np.array([[0, 0], [1, 1], [2, 1]]), np.array([90, 20, 30]))
    assert labels_of(cells, fewest=1, levels=2) == [
        ["a", "group 1", "c", "group 1"],
        ["a", *["group 2"] * 3],
    ]


def test_table_one_of_the_paper():
    cells = shoal.read(injector_patients()).counts(["zip_code", "age", "sex", "disease"])
    assert guided_hierarchy(cells, "sex", "disease").rows == (("F", "*"), ("M", "*"))
    # Cancer and one heart disease below 31, then flu, then heart disease.
    young, middle, old = "]-inf, 31[", "[31, 45[", "[45, +inf["
    rows = guided_hierarchy(cells, "age", "disease", levels=1).rows
    assert [row[1] for row in rows] == [young] * 4 + [middle] * 3 + [old] * 2
    rows = guided_hierarchy(cells, "zip_code", "disease", levels=1).rows
    group_of = {row[0]: row[1] for row in rows}
    assert len({group_of[zip_code] for zip_code in ("47905", "47673", "47607")}) == 1
    assert len({group_of[zip_code] for zip_code in ("47909", "47906", "47605")}) == 1
    assert group_of["47905"] != group_of["47909"]
    assert set(group_of.values()) == {"group 1", "group 2", "group 3"}


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"column": "age"}, "column must be one of the table's columns"),
        ({"sensitive": "age"}, "sensitive must be one of the table's columns"),
        ({"sensitive": "job"}, "by the column itself"),
        ({"levels": 0}, "levels must be a whole number"),
        ({"levels": 1.5}, "levels must be a whole number"),
        ({"fewest": 0}, "fewest must be a whole number"),
        ({"distance": "euclid"}, "distance must be one of jensen-shannon"),
    ],
)
def test_parameters_are_checked(options, fact):
    cells = cells_of(MEN_AND_WOMEN)
    with pytest.raises(ParameterError, match=fact):
        guided_hierarchy(cells, **{"column": "job", "sensitive": "disease", **options})


def test_too_many_values_are_refused_unless_they_have_an_order(monkeypatch):
    monkeypatch.setattr("shoal.hierarchies.guided._MOST_UNORDERED", 3)
    with pytest.raises(ParameterError, match=r"4 values without an order; .* at most 3"):
        guided_hierarchy(cells_of(MEN_AND_WOMEN), "job", "disease")
    assert labels_of(cells_of(MEN_AND_WOMEN, type=ColumnType.ORDERED))
    monkeypatch.setattr("shoal.hierarchies.guided._MOST_PAIRS", 11)
    with pytest.raises(ParameterError, match=r"4 and 3 values; .* at most 11 pairs"):
        labels_of(cells_of(MEN_AND_WOMEN, type=ColumnType.ORDERED))


def test_a_column_without_values_is_refused():
    job, disease = Domain.of_texts("job", []), Domain.of_texts("disease", [])
    with pytest.raises(DataError, match="'job' has no values"):
        guided_hierarchy(Cells.of_rows([job, disease], np.empty((0, 2))), "job", "disease")
