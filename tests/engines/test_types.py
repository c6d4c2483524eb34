"""Types, canonical texts, domains and counts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, SchemaError
from shoal.core.schema import Schema
from shoal.engines.sql.table import EngineTable

_NO_SURROGATES = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")


def staged(engine, source, **roles):
    scan = engine.scan(source)
    return EngineTable(engine, scan, Schema(**(roles or {"quasi": list(scan.types)})))


def texts(engine, array):
    (column,) = staged(engine, pa.table({"a": array})).domains.values()
    return column.labels()


GOLDEN = [
    pytest.param(pa.array([0, -1, 10, 9, 2**63 - 1, -(2**63)]), ["-9223372036854775808", "-1", "0",
                 "9", "10", "9223372036854775807"], id="integers"),
    pytest.param(pa.array([255, 0], pa.uint8()), ["0", "255"], id="small unsigned integers"),
    pytest.param(pa.array([2**53 + 1, 2**53]), ["9007199254740992", "9007199254740993"],
                 id="integers beyond floats"),
    pytest.param(pa.array([0.1, 1e20, -0.0, -1.5, 1e-7, 100.0, 1 / 3]),
                 ["-1.5", "0.0", "1e-07", "0.1", "0.3333333333333333", "100.0", "1e+20"],
                 id="reals"),
    pytest.param(pa.array([0.0, -0.0]), ["0.0"], id="one zero"),
    pytest.param(pa.array([0.1, 2.5], pa.float32()), ["0.1", "2.5"], id="short reals"),
    pytest.param(pa.array([Decimal("1.50"), Decimal("-2.00")]), ["-2.00", "1.50"], id="decimals"),
    pytest.param(pa.array([dt.date(9999, 12, 31), dt.date(1, 1, 1),
                           dt.date(1899, 12, 31), dt.date(2024, 2, 29)]),
                 ["0001-01-01", "1899-12-31", "2024-02-29", "9999-12-31"], id="dates"),
    pytest.param(pa.array(["1820-05-01", "2020-01-01"]).cast(pa.timestamp("us")),
                 ["1820-05-01", "2020-01-01"], id="moments at midnight"),
    pytest.param(pa.array([True, False]), ["false", "true"], id="booleans"),
    pytest.param(pa.array(["b", "a", "B", "ä", "🐟", " a", "", "01", "=1+1", 'q"', "l\nm"]),
                 ["", " a", "01", "=1+1", "B", "a", "b", "l\nm", 'q"', "ä", "🐟"], id="texts"),
    pytest.param(pa.array(["x", "y"]).dictionary_encode(), ["x", "y"], id="dictionary"),
    pytest.param(pa.nulls(2), [None], id="nothing at all"),
]  # fmt: skip


@pytest.mark.parametrize(("array", "expected"), GOLDEN)
def test_canonical_texts_come_in_the_order_of_their_type(engine, array, expected):
    assert texts(engine, array) == expected


@pytest.mark.parametrize(("array", "expected"), GOLDEN)
def test_a_missing_value_is_the_last_value_of_every_type(engine, array, expected):
    with_missing = pa.concat_arrays([array.slice(0, 1), pa.nulls(1, array.type), array.slice(1)])
    assert texts(engine, with_missing) == [*(text for text in expected if text is not None), None]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1]), ColumnType.INTEGER),
        (pa.array([1.0]), ColumnType.REAL),
        (pa.array([Decimal("1.5")]), ColumnType.REAL),
        (pa.array([dt.date(2020, 1, 1)]), ColumnType.DATE),
        (pa.array([dt.datetime.fromisoformat("2020-01-01")]), ColumnType.DATE),
        (pa.array([True]), ColumnType.BOOLEAN),
        (pa.array(["1"]), ColumnType.CATEGORICAL),
        (pa.nulls(1), ColumnType.CATEGORICAL),
    ],
)
def test_a_typed_source_says_its_types_itself(engine, array, expected):
    assert staged(engine, pa.table({"a": array})).domains["a"].type is expected


def test_numbers_of_a_domain_ascend_and_dates_count_days(engine):
    table = staged(
        engine,
        pa.table({"n": [10, -3, 9], "d": pa.array([1, -1, 0], pa.date32()), "t": ["b", "a", "c"]}),
    )
    assert table.domains["n"].numbers.tolist() == [-3, 9, 10]
    assert table.domains["d"].numbers.tolist() == [-1, 0, 1]
    assert table.domains["t"].numbers is None


def test_a_declared_order_decides_the_codes(engine):
    columns = {"size": ["large", "small", None, "middle"], "x": [1, 1, 1, 2]}
    schema = Schema(
        quasi=["size", "x"], types={"size": ["small", "middle", "large", "huge"], "x": "real"}
    )
    table = EngineTable(engine, engine.scan(columns), schema)
    assert table.domains["size"].labels() == ["small", "middle", "large", None]
    assert table.domains["x"].type is ColumnType.REAL


@pytest.mark.parametrize(
    ("columns", "types", "error", "said"),
    [
        ({"a": ["b", "c"]}, {"a": ["b"]}, SchemaError, "1 different values"),
        ({"a": ["b"]}, {"a": "integer"}, DataError, "not numbers"),
        ({"a": ["1", "01"]}, {"a": "integer"}, DataError, "several ways"),
        ({"a": ["1.5"]}, {"a": "integer"}, DataError, "not whole"),
        ({"a": ["1_000"]}, {"a": "integer"}, DataError, "not numbers"),
        ({"a": ["١٢"]}, {"a": "integer"}, DataError, "not numbers"),
        ({"a": ["yes"]}, {"a": "boolean"}, DataError, "boolean"),
        ({"a": ["31.12.2020"]}, {"a": "date"}, DataError, "date"),
        ({"a": ["*"]}, {}, DataError, "literal"),
        ({"a": ["x\0y"]}, {}, DataError, "NUL"),
        ({"a": np.array([1.0, np.inf])}, {}, DataError, "infinite"),
        ({"a": pa.array([1.0, float("nan")])}, {}, DataError, "not numbers"),
        ({"a": pa.array([2**64], pa.decimal128(38, 0))}, {"a": "integer"}, DataError, "64 bits"),
        ({"a": [2**63, 1]}, {}, DataError, "64 bits"),
        ({"a": [-(2**63) - 1, 1]}, {}, DataError, "64 bits"),
        ({"a": ["9223372036854775808"]}, {"a": "integer"}, DataError, "64 bits"),
        ({"a": pa.array([2**63], pa.uint64())}, {}, DataError, "64 bits"),
        (
            {"a": pa.array([Decimal("1.00000000000000000001"), Decimal("1.00000000000000000002")])},
            {},
            DataError,
            "17 digits",
        ),
        ({"a": ["0.1", "0.10000000000000000001"]}, {"a": "real"}, DataError, "17 digits"),
        ({"a": pa.array([[1]])}, {}, DataError, "not hold plain values"),
        ({"a": [dt.datetime.fromisoformat("2020-01-01T12:00")]}, {}, DataError, "a time of day"),
        ({"a": []}, {}, DataError, "no rows"),
    ],
)
def test_what_cannot_be_used_is_refused_without_naming_a_value(engine, columns, types, error, said):
    source = pa.table(columns) if isinstance(columns["a"], pa.Array) else columns
    with pytest.raises(error, match=said) as caught:
        EngineTable(engine, engine.scan(source), Schema(quasi=["a"], types=types))
    assert caught.value.hint is not None or "no rows" in str(caught.value)


@pytest.mark.parametrize("value", ["*", "x\0y"])
def test_an_insensitive_column_holds_nothing_reserved_either(engine, value):
    with pytest.raises(DataError, match=r"literal|NUL"):
        staged(engine, {"a": [1, 2], "b": [value, "z"]}, quasi=["a"], insensitive=["b"])


def test_a_nearly_unique_insensitive_column_has_to_be_meant(engine):
    columns = {"a": [1, 2, 3], "b": ["x", "y", "z"]}
    with pytest.raises(DataError, match="3 of 3 rows"):
        staged(engine, columns, quasi=["a"], insensitive=["b"])
    assert staged(engine, columns, quasi=["a"], insensitive=["b"], nearly_unique=["b"]).n_rows == 3


def test_a_value_that_two_rows_share_is_nearly_unique_too(engine):
    columns = {"a": [1] * 7, "b": ["x", "x", "y", "y", "z", "z", "z"]}
    with pytest.raises(
        DataError, match="4 of 7 rows have a value there that fewer than 3 rows share"
    ):
        staged(engine, columns, quasi=["a"], insensitive=["b"])
    columns["b"][:2] = ["z", "z"]
    assert staged(engine, columns, quasi=["a"], insensitive=["b"]).n_rows == 7


def test_decimals_of_any_length_are_kept_apart_as_texts(engine):
    values = [Decimal("1.00000000000000000001"), Decimal("1.00000000000000000002")]
    schema = Schema(quasi=["a"], types={"a": "categorical"})
    table = EngineTable(engine, engine.scan(pa.table({"a": pa.array(values)})), schema)
    assert table.domains["a"].labels() == [str(value) for value in values]


@pytest.mark.parametrize("kind", ["categories", "lists of categories"])
def test_an_insensitive_column_brings_no_category_that_no_row_has(embedded, kind):
    letters = pd.Categorical(["x"] * 4, categories=["x", "Wally"])
    source = pd.DataFrame({"a": [1, 1, 2, 2], "b": letters})
    if kind != "categories":
        embedded._connection.register("frame", source)
        embedded.stage("listed", "SELECT a, [b] AS b FROM frame")
        scan = embedded._described("listed", name="listed")
        assert "ENUM(" in scan.types["b"]
    else:
        scan = embedded.scan(source)
    table = EngineTable(embedded, scan, Schema(quasi=["a"], insensitive=["b"]))
    (found,) = embedded.rows("SELECT DISTINCT typeof(x0) AS kind FROM coded")["kind"]
    assert (found, table.n_rows) == ("VARCHAR", 4)


def test_a_category_that_means_suppressed_is_refused(engine):
    source = pd.DataFrame({"a": [1, 1], "b": pd.Categorical(["*", "x"])})
    with pytest.raises(DataError, match="literal"):
        staged(engine, source, quasi=["a"], insensitive=["b"])


def test_a_key_must_tell_rows_apart(engine):
    with pytest.raises(DataError, match="1 rows repeat one"):
        staged(engine, {"a": [1, 2], "k": ["x", "x"]}, quasi=["a"], key="k")
    with pytest.raises(DataError, match="1 rows have none"):
        staged(engine, {"a": [1, 2], "k": ["x", None]}, quasi=["a"], key="k")


def test_people_are_counted_where_a_column_says_whose_row_it_is(engine):
    table = staged(engine, {"a": [1, 2, 3, 4], "p": ["x", "x", None, None]}, quasi="a", person="p")
    assert (table.n_rows, table.n_people) == (4, 3)


@pytest.mark.parametrize(
    "names",
    [
        ("c1", "c0", "row_key"),
        ("x0", "v", "person"),
        ('a"b', "a b", "a;b--"),
        ("select", "from", "n"),
        ("ä", "名前", "🐟"),
        ("count", "line", "bucket"),
        ("a\nb", "a,b", "a'b"),
    ],
)
def test_any_name_of_a_column_is_safe(engine, names):
    columns = dict(zip(names, ([1, 2, 2], ["x", None, "y"], [True, False, True]), strict=True))
    table = staged(engine, columns, quasi=names[:2], sensitive=names[2])
    assert [domain.column for domain in table.counts(names).domains] == list(names)
    assert table.domains[names[0]].labels() == ["1", "2"]
    assert table.domains[names[1]].labels() == ["x", "y", None]
    assert table.domains[names[2]].labels() == ["false", "true"]


@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(-3, 3),
            st.none() | st.text(_NO_SURROGATES, max_size=3).filter(lambda text: text != "*"),
            st.none() | st.sampled_from([0.5, -0.0, 0.0, 1e20]),
            st.none() | st.dates(),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_counts_are_those_of_a_counter(engine, rows):
    columns = dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True))
    table = staged(engine, pa.table(columns))
    cells = table.counts(["d", "b", "a", "c"])
    counted = Counter(
        (
            None if d is None else d.isoformat(),
            b,
            None if a is None else str(a),
            None if c is None else str(c + 0.0),
        )
        for a, b, c, d in rows
    )
    labels = [domain.labels() for domain in cells.domains]
    found = {
        tuple(column[code] for column, code in zip(labels, codes, strict=True)): count
        for codes, count in zip(cells.codes.tolist(), cells.counts.tolist(), strict=True)
    }
    assert found == counted
    assert cells.codes.tolist() == sorted(cells.codes.tolist())


def test_counts_of_no_column_is_the_number_of_rows(engine):
    assert staged(engine, {"a": [1, 2, 2]}).counts([]).counts.tolist() == [3]


def test_rows_come_by_key_and_only_below_the_cap(engine):
    table = staged(engine, {"a": ["x", None, "y"], "k": ["3", "1", "2"]}, quasi=["a"], key="k")
    assert table.rows(["a"], cap=3)["a"].tolist() == [None, "y", "x"]
    with pytest.raises(ValueError, match="for at most 2"):
        table.rows(["a"], cap=2)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
@example([2.0**81, 2.0**91, 2.0**807, 2.0**-44, 3.584e25, 5e-324, 1e15, 1e16, 1e23, -0.0, 2.0**53])
def test_a_real_number_is_written_as_python_writes_it(engine, numbers):
    found = texts(engine, pa.array(numbers))
    assert sorted(found) == sorted({repr(number + 0.0) for number in numbers})


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=60)
)
@example([2.0**81, 2.0**24 + 2, 3989478.25, 1e15, 21174166000.0, 0.3])
def test_a_short_real_number_is_written_with_the_digits_that_numpy_gives_it(engine, numbers):
    short = np.array(numbers, dtype=np.float32) + np.float32(0)
    found = texts(engine, pa.array(short))
    assert sorted(found) == sorted({repr(float(str(number))) for number in short})
