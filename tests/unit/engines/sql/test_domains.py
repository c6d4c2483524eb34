"""Types read off texts, and domains in the order of their type."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, SchemaError
from shoal.engines.sql.domains import (
    build_domain,
    infer_type,
    refuse_reserved,
    retype,
    type_of_engine,
)


def array(texts):
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["9", "10", "-3", "0"], "integer"),
        (["999999999999999999"], "integer"),
        (["01", "10"], "categorical"),
        (["+1"], "categorical"),
        (["-0"], "real"),
        (["1", "1.5", "2e3"], "real"),
        (["1.5", "1.50"], "categorical"),
        (["1e400"], "categorical"),
        (["12345678901234567890", "12345678901234567891"], "categorical"),
        ([".5"], "categorical"),
        (["1,5"], "categorical"),
        (["1 "], "categorical"),
        (["nan", "1"], "categorical"),
        (["2020-02-29", "1899-12-31", "0001-01-01", "9999-12-31"], "date"),
        (["2021-02-29"], "categorical"),
        (["0000-01-01"], "categorical"),
        (["2020-1-1"], "categorical"),
        (["2020-01-01 00:00:00"], "categorical"),
        (["true", "false"], "boolean"),
        (["True", "False"], "categorical"),
        (["0", "1"], "integer"),
        (["\u0661"], "categorical"),
        ([""], "categorical"),
        ([], "categorical"),
    ],
)
def test_a_text_is_a_number_only_where_it_can_be_nothing_else(texts, expected):
    assert str(infer_type(array(texts))) == expected


@pytest.mark.parametrize(
    ("engine_type", "expected"),
    [
        ("BIGINT", "integer"),
        ("UTINYINT", "integer"),
        ("HUGEINT", "integer"),
        ("DOUBLE", "real"),
        ("DECIMAL(18,3)", "real"),
        ("DATE", "date"),
        ("TIMESTAMP WITH TIME ZONE", "date"),
        ("TIMESTAMP_NS", "date"),
        ("BOOLEAN", "boolean"),
        ("ENUM('a)', 'b\n')", "categorical"),
        ("UUID", "categorical"),
    ],
)
def test_plain_types_of_an_engine_have_a_type(engine_type, expected):
    assert str(type_of_engine("a", engine_type)) == expected


@pytest.mark.parametrize(
    "engine_type", ["INTEGER[]", "TIMESTAMP[]", "STRUCT(a INTEGER)", "BLOB", "TIME", "INTERVAL"]
)
def test_other_types_hold_no_plain_value(engine_type):
    with pytest.raises(DataError, match="not hold plain values"):
        type_of_engine("a", engine_type)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("categorical", ["b", None, "a", "B"], ["B", "a", "b", None]),
        ("integer", ["10", "9", None, "-1"], ["-1", "9", "10", None]),
        ("integer", ["10000000000000000", "9999999999999999"],
         ["9999999999999999", "10000000000000000"]),
        ("integer", ["-9999999999999999", "-10000000000000000"],
         ["-10000000000000000", "-9999999999999999"]),
        ("real", ["1e3", "0.5", "-2"], ["-2", "0.5", "1e3"]),
        ("date", ["2020-01-01", "0001-01-01"], ["0001-01-01", "2020-01-01"]),
        ("boolean", ["true", "false"], ["false", "true"]),
        ("categorical", [None], [None]),
        ("integer", [], []),
    ],
)  # fmt: skip
def test_values_stand_in_the_order_of_their_type(kind, values, expected):
    domain, codes = build_domain("a", ColumnType(kind), values)
    assert domain.labels() == expected
    assert [expected[code] for code in codes] == values


def test_an_order_may_name_values_that_the_column_lacks():
    domain, codes = build_domain("a", ColumnType.ORDERED, ["m", None, "s"], order=["s", "m", "l"])
    assert domain.labels() == ["s", "m", None]
    assert codes.tolist() == [1, 2, 0]
    with pytest.raises(SchemaError, match="1 different values"):
        build_domain("a", ColumnType.ORDERED, ["m", "xl"], order=["s", "m"])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True))
def test_whole_numbers_are_ordered_to_the_last_digit(numbers):
    domain, _ = build_domain("a", ColumnType.INTEGER, [str(number) for number in numbers])
    assert [int(text) for text in domain.texts] == sorted(numbers)
    assert np.all(np.diff(domain.numbers) >= 0)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True))
def test_reals_are_ordered_by_their_number(numbers):
    texts = list(dict.fromkeys(str(number + 0.0) for number in numbers))
    domain, _ = build_domain("a", ColumnType.REAL, texts)
    assert [float(text) for text in domain.texts] == sorted(float(text) for text in texts)


def test_reserved_texts_are_refused_by_number_not_by_name():
    with pytest.raises(DataError, match="literal value '\\*'"):
        refuse_reserved("a", array(["x", "*"]))
    with pytest.raises(DataError, match="2 different values"):
        refuse_reserved("a", array(["x\0", "secret\0", "y"]))
    refuse_reserved("a", array(["**", " *", ""]))


@pytest.mark.parametrize("text", ["1_000", "\uff11\uff12", "x", "0x10", "", "nan"])
def test_only_plain_digits_are_numbers(text):
    with pytest.raises(DataError, match="not numbers"):
        build_domain("a", ColumnType.REAL, [text])


@pytest.mark.parametrize("text", ["18446744073709551616", "-99999999999999999999"])
def test_a_whole_number_has_at_most_64_bits(text):
    with pytest.raises(DataError, match="64 bits"):
        build_domain("a", ColumnType.INTEGER, [text])


@pytest.mark.parametrize(
    ("texts", "kind", "expected"),
    [
        (["20.0", "9", "1_0"], "integer", ["9", "20.0", "1_0"]),
        (["b", "a"], "categorical", ["a", "b"]),
        (["True", "FALSE", "true", "0", "maybe"], "boolean", ["false", "maybe", "true"]),
        (["2020-01-02", "5.2020", "1899-12-31"], "date", ["1899-12-31", "2020-01-02", "5.2020"]),
        ([], "integer", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("has_missing", [True, False])
def test_values_of_strangers_are_read_as_another_type_does(texts, kind, expected, has_missing):
    domain = Domain.of_texts("a", texts, has_missing=has_missing)
    retyped, codes = retype(domain, ColumnType(kind))
    assert retyped.texts.tolist() == expected
    assert (retyped.type, retyped.has_missing) == (kind, has_missing)
    assert len(codes) == domain.size
    for old, new in zip(domain.labels(), codes.tolist(), strict=True):
        text = retyped.text(new)
        assert text == old or (kind == "boolean" and text in ("true", "false"))


def test_a_column_of_strangers_without_a_single_number_is_refused():
    with pytest.raises(DataError, match="Column 'a' is real in the release"):
        retype(Domain.of_texts("a", ["x", "y"]), ColumnType.REAL)
