"""Sets of items from files, as tables that are sliced like any other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import shoal
from shoal.analyse import Analyst
from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError

MARK = "Zqxv"
BOTH = {"item": "i", "transaction": "p"}
LISTS = [["milk", "bread"], ["milk"], ["tea", "milk", "bread"], []]
SETS = [
    ("bread + milk", "empty"),
    ("milk", "empty"),
    ("bread + milk", "tea"),
    ("empty", "empty"),
]


def long_file(path, lists, keys=None):
    keys = keys or [str(number) for number in range(len(lists))]
    # A basket that holds nothing has a line without an item; a repeated line says nothing more.
    lines = [
        f"{key},{item}" for key, items in zip(keys, lists, strict=True) for item in items or [""]
    ]
    path.write_text("\n".join(["person,item", *lines, lines[0]]) + "\n", encoding="utf-8")
    return path


def sets_of(found, *columns):
    listed = found.to_dict()
    return list(zip(*(listed[name] for name in columns or ("items_1", "items_2")), strict=True))


def test_lists_a_long_file_and_a_column_of_lists_are_one_table(tmp_path):
    path = long_file(tmp_path / "long.csv", LISTS)
    table = pa.table({"person": ["0", "1", "2", "3"], "items": [*LISTS[:3], None]})
    pyarrow.parquet.write_table(table, tmp_path / "lists.parquet")
    for found in (
        shoal.read_baskets(LISTS, max_items=2),
        shoal.read_baskets(path, item="item", transaction="person", max_items=2),
        shoal.read_baskets(tmp_path / "lists.parquet", item="items", max_items=2),
        shoal.read_baskets(table, item="items", transaction="person", max_items=2),
        shoal.read_baskets(pd.DataFrame({"items": LISTS}), item="items", max_items=2),
    ):
        assert sets_of(found) == SETS


def test_the_transaction_is_the_key_and_identifying(tmp_path):
    path = long_file(tmp_path / "long.csv", LISTS, keys=["d", "c", "b", "a"])
    found = shoal.read_baskets(path, item="item", transaction="person", max_items=2)
    assert found.to_dict()["person"] == ["a", "b", "c", "d"]
    assert sets_of(found) == SETS[::-1]
    assert (found.schema.key, found.schema.identifying) == ("person", ("person",))
    release = shoal.anonymize(shoal.read(found), shoal.Slicing(columns=2, bucket_size=2))
    assert "person" not in {column.name for column in release.manifest.columns}


def test_sensitive_items_have_a_column_of_their_own():
    found = shoal.read_baskets(LISTS, sensitive=["tea", "bread"])
    assert list(found.columns) == ["items_1", "sensitive_items"]
    assert sets_of(found, "items_1", "sensitive_items") == [
        ("milk", "bread"), ("milk", "empty"), ("milk", "bread + tea"), ("empty", "empty"),
    ]  # fmt: skip
    assert found.schema.sensitive == ("sensitive_items",)


def test_rare_sets_lose_items_and_no_value_reads_as_suppressed():
    lists = [["a", "b"], ["a"], ["a"], ["a", "c"], ["d"], []]
    found = shoal.read_baskets(lists, max_items=4, min_frequency=2)
    values = [value for (value,) in sets_of(found, *found.schema.quasi[:1])]
    assert "*" not in values
    assert min(values.count(value) for value in values) >= 2
    shoal.read(found)
    with pytest.raises(InfeasibleError):
        shoal.read_baskets(lists, min_frequency=7)
    two = shoal.read_baskets(LISTS, max_items=2, min_frequency=[1, 4])
    assert [first for first, _ in sets_of(two)] == [first for first, _ in SETS]
    assert len({second for _, second in sets_of(two)}) == 1


def test_baskets_are_sliced_published_and_asked(tmp_path):
    generator = np.random.default_rng(4)
    items = [f"i{number}" for number in range(30)]
    lists = [[item for item in items if generator.random() < 0.1] for _ in range(300)]
    found = shoal.read_baskets(lists, n_columns=5, min_frequency=5)
    columns = [[name] for name in found.columns]
    release = shoal.anonymize(shoal.read(found), shoal.Slicing(columns=columns, bucket_size=20))
    release.write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").holds
    analyst = Analyst(shoal.open_release(tmp_path / "release"))
    n_empty = found.to_dict()["items_1"].count("empty")
    assert analyst.count({"items_1": "empty"}).value == n_empty
    assert analyst.count().value == 300


@pytest.mark.parametrize(
    ("columns", "options", "error", "said"),
    [
        ({"p": ["1"], "i": ["a"]}, {}, SchemaError, "Which column"),
        ({"p": ["1"], "i": ["a"]}, {"item": "x"}, SchemaError, "no column 'x'"),
        ({"p": ["1"], "i": ["a"]}, {"item": "i"}, SchemaError, "the same basket"),
        ({"p": ["1", None], "i": ["a", "b"]}, BOTH, DataError, "1 items"),
        ({"items_1": ["1"], "i": ["a"]}, {**BOTH, "transaction": "items_1"}, SchemaError, "name"),
        ([["a"]], {"item": "i"}, ParameterError, "no columns to name"),
        ([["a"]], {"sensitive": ["a"]}, ParameterError, "No item is left"),
        ([["a"]], {"sensitive": [MARK]}, ParameterError, "1 of the sensitive items"),
        ([["a"]], {"n_columns": 1, "max_items": 2}, ParameterError, "either"),
        ([[], []], {}, ParameterError, "There is no item"),
        ([], {}, DataError, "no basket"),
    ],
)  # fmt: skip
def test_what_makes_no_baskets_is_refused(columns, options, error, said):
    with pytest.raises(error, match=said) as caught:
        shoal.read_baskets(columns, **options)
    assert MARK not in str(caught.value)


def test_items_with_hostile_texts_stay_apart():
    lists = [["a + b"], ["a", "b"], ["empty"], [], ["*"], ["…"], ['"'], [" a"]] * 2
    found = shoal.read_baskets(lists, n_columns=1)
    (column,) = found.columns
    assert len(set(found.to_dict()[column])) == 8
    table = shoal.read(found)
    assert table.n_rows == 16


def test_sensitive_items_are_bounded_by_how_many_stay_possible():
    lists = [
        ["bread", "insulin"],
        ["bread"],
        ["bread", "statin"],
        ["milk"],
        ["milk", "insulin"],
    ] * 8
    found = shoal.read_baskets(lists, sensitive=["insulin", "statin"], n_columns=1)
    table = shoal.read(found)
    method = shoal.Slicing(ell=2, diversity="distinct", columns=[["items_1"], ["sensitive_items"]])
    release = shoal.anonymize(table, method)
    assert Analyst(release).count({"sensitive_items": "insulin"}).value == 16
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, shoal.Slicing(ell=3, columns=[["items_1"], ["sensitive_items"]]))
