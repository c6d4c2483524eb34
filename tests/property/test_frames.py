"""A frame that is counted without an engine has the counts that the engine finds.

The slow twin is the engine itself: every check of a frame is made both ways.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.errors import ShoalError
from shoal.core.guarantees import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    TCloseness,
)
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.frames import code_frame
from shoal.engines.sql.domains import texts_of
from shoal.release import verify

NAN = float("nan")
TEXTS = [
    "a",
    "A",
    "a ",
    "",
    " ",
    "*",
    "é",
    "e\u0301",
    "1",
    "1.0",
    "nan",
    "None",
    "-1",
    "\U0001f41f",
]
TEXTS += ["long " * 9, "l\nb", 'q"uo', "a\x00b"]
REALS = [0.0, -0.0, 1.0, 1.5, 1e16, 1e-7, 0.1, float("inf"), 2.0**70, 123456789.123, 1 / 3]
WHOLE = [0, 1, -1, 7, 120]

PANDAS = {
    "str": (TEXTS, lambda v: pd.Series(v, dtype="str")),
    "string": (TEXTS, lambda v: pd.Series(v, dtype="string")),
    "python": (TEXTS, lambda v: pd.Series(v, dtype=pd.StringDtype("python"))),
    "object": (TEXTS, lambda v: pd.Series(v, dtype=object)),
    "category": (TEXTS, lambda v: pd.Series(pd.Categorical(v, categories=[*TEXTS, "unused"]))),
    "ordered": (TEXTS, lambda v: pd.Series(pd.Categorical(v, TEXTS[::-1], ordered=True))),
    "float64": (REALS, lambda v: pd.Series(v, dtype="float64")),
    "Int8": (WHOLE, lambda v: pd.Series(v, dtype="Int8")),
    "Int64": (WHOLE, lambda v: pd.Series(v, dtype="Int64")),
    "boolean": ([True, False], lambda v: pd.Series(v, dtype="boolean")),
}
# Without missing values.
PANDAS_WHOLE = {
    "int8": (WHOLE, lambda v: pd.Series(v, dtype="int8")),
    "int64": ([*WHOLE, 2**62, -(2**63)], lambda v: pd.Series(v, dtype="int64")),
    "uint64": ([0, 5, 2**64 - 1], lambda v: pd.Series(v, dtype="uint64")),
    "bool": ([True, False], lambda v: pd.Series(v, dtype="bool")),
}
# Columns that only the engine reads.
PANDAS_FOREIGN = {
    "date": ([dt.date(2020, 1, 1), dt.date(1999, 12, 31)], lambda v: pd.Series(v, dtype=object)),
    "datetime": (
        [np.datetime64("2020-01-01T00:00")],
        lambda v: pd.Series(v, dtype="datetime64[ns]"),
    ),
    "decimal": (
        [decimal.Decimal("1.50"), decimal.Decimal(2)],
        lambda v: pd.Series(v, dtype=object),
    ),
    "mixed": (["a", 1, 2.5, True], lambda v: pd.Series(v, dtype=object)),
    "float32": (REALS[:4], lambda v: pd.Series(v, dtype="float32")),
    "numbers": ([1, 2], lambda v: pd.Series(pd.Categorical(v))),
    "broken": (["a", "\ud800"], lambda v: pd.Series(v, dtype=object)),
}
POLARS = {
    "String": (TEXTS, lambda v: pl.Series(v, dtype=pl.String)),
    "Categorical": (TEXTS, lambda v: pl.Series(v, dtype=pl.Categorical)),
    "Enum": (TEXTS, lambda v: pl.Series(v, dtype=pl.Enum([*TEXTS, "unused"]))),
    "Int16": (WHOLE, lambda v: pl.Series(v, dtype=pl.Int16)),
    "UInt64": ([0, 5, 2**64 - 1], lambda v: pl.Series(v, dtype=pl.UInt64)),
    "Float64": ([*REALS, NAN], lambda v: pl.Series(v, dtype=pl.Float64)),
    "Boolean": ([True, False], lambda v: pl.Series(v, dtype=pl.Boolean)),
    "Date": ([dt.date(2020, 1, 1)], lambda v: pl.Series(v, dtype=pl.Date)),
}


def _in_chunks(values):
    """Return chunks with different dictionaries."""
    half = len(values) // 2
    parts = [
        pa.array(part, pa.string()).dictionary_encode() for part in (values[:half], values[half:])
    ]
    return pa.chunked_array(parts)


def _with_a_repeated_word(values):
    """Return a dictionary that holds every word twice, and the missing value."""
    words = [*TEXTS, *TEXTS, None]
    places = [
        2 * len(TEXTS) if v is None else TEXTS.index(v) + n % 2 * len(TEXTS)
        for n, v in enumerate(values)
    ]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int16()), pa.array(words))


ARROW = {
    "string": (TEXTS, lambda v: pa.array(v, pa.string())),
    "view": (TEXTS, lambda v: pa.array(v, pa.string_view())),
    "dictionary": (TEXTS, lambda v: pa.array(v, pa.large_string()).dictionary_encode()),
    "chunks": (TEXTS, _in_chunks),
    "twice": (TEXTS, _with_a_repeated_word),
    "int32": (WHOLE, lambda v: pa.array(v, pa.int32())),
    "double": ([*REALS, NAN], lambda v: pa.array(v, pa.float64())),
    "bool": ([True, False], lambda v: pa.array(v, pa.bool_())),
    "decimal": ([decimal.Decimal("1.50")], lambda v: pa.array(v, pa.decimal128(5, 2))),
}
MAPPING = {
    "list": (TEXTS, list),
    "tuple": (TEXTS, tuple),
    "objects": (TEXTS, lambda v: np.array(v, dtype=object)),
    "reals": (REALS, lambda v: np.array([NAN if x is None else x for x in v])),
    "numbers": (WHOLE, list),
    "truths": ([True, False], list),
    "mixed": (["a", 1, NAN], list),
}
MAPPING_WHOLE = {
    "fixed": (["a", "bb", ""], lambda v: np.array(v, dtype=str)),
    "int": (WHOLE, lambda v: np.array(v, dtype=np.int16)),
    "bools": ([True, False], lambda v: np.array(v, dtype=bool)),
    "foreign": (WHOLE, lambda v: np.array(v, dtype=">i4")),
}
LIBRARIES = {
    "pandas": (PANDAS, PANDAS_WHOLE, pd.DataFrame),
    "foreign": (PANDAS, PANDAS_FOREIGN, pd.DataFrame),
    "polars": (POLARS, {}, pl.DataFrame),
    "pyarrow": (ARROW, {}, pa.table),
    "mapping": (MAPPING, MAPPING_WHOLE, dict),
}
NAMES = ["zip", "age", "sex", "disease"]


@st.composite
def sources(draw, library):
    """Draw a frame of some library, with columns of any type that it has."""
    some, whole, make = LIBRARIES[library]
    n = draw(st.integers(0, 14))
    columns = {}
    for name in NAMES:
        kind = draw(st.sampled_from(sorted([*some, *whole])))
        values, convert = {**some, **whole}[kind]
        few = values[: draw(st.integers(1, len(values)))]
        value = st.sampled_from(few)
        if kind in some and draw(st.booleans()):
            value = st.one_of(st.none(), value)
        columns[name] = convert(draw(st.lists(value, min_size=n, max_size=n)))
    return make(columns)


GUARANTEES = [
    KAnonymity(k=2),
    DistinctDiversity(ell=2),
    FrequencyDiversity(ell=1.5, protect=["a", "1", "1.0", None]),
    EntropyDiversity(ell=1.5),
    TCloseness(t=0.2),
]


def outcome_of(source, columns, sensitive, **options):
    """Return all that a check finds: the counts and the verification, or the error."""
    counted = []

    def keep(published, *arguments):
        counted.append(published)
        return judge(published, *arguments)

    judge = verify._judge_file
    with patch.object(verify, "_judge_file", keep):
        try:
            options = {"guarantees": GUARANTEES if sensitive else GUARANTEES[:1]} | options
            found = verify.verify_file(source, quasi=columns, sensitive=sensitive, **options)
        except ShoalError as error:
            return type(error), str(error)
    return found.to_dict(), _plain(counted[0])


def _plain(published):
    """Return counts as plain values."""
    buckets = published.buckets
    return (
        [(d.type, d.labels(), d.numbers is None or d.numbers.tolist()) for d in published.domains],
        published.lines.codes.tolist(),
        published.lines.counts.tolist(),
        buckets and [a.tolist() for a in (buckets.bucket, buckets.value, buckets.count)],
    )


def both_ways(source, columns, sensitive, **options):
    """Return the outcome without an engine if possible, and that with one."""
    own = outcome_of(source, columns, sensitive, **options)
    with patch.object(verify, "code_frame", lambda *_: None):
        return own, outcome_of(source, columns, sensitive, **options)


@pytest.mark.parametrize("library", sorted(LIBRARIES))
@settings(max_examples=40)
@given(data=st.data())
def test_a_frame_has_the_counts_that_the_engine_finds(library, data):
    source = data.draw(sources(library))
    n_quasi = data.draw(st.integers(1, 3))
    sensitive = data.draw(st.sampled_from([None, "disease"]))
    own, engines = both_ways(source, NAMES[:n_quasi], sensitive)
    assert own == engines


@settings(max_examples=25)
@given(data=st.data(), order=st.sampled_from([None, ["a", "A"], TEXTS, ["a"]]))
def test_an_order_and_a_distance_along_it_are_those_of_the_engine(data, order):
    source = data.draw(sources("pandas"))
    ordered = [TCloseness(t=0.3, distance="ordered")]
    own, engines = both_ways(source, ["zip"], "disease", order=order, guarantees=ordered)
    assert own == engines


KNOWN = [
    (library, kind, one)
    for library, (some, whole, _) in LIBRARIES.items()
    if library != "foreign"
    for kind, one in {**some, **whole}.items()
    if kind not in ("Date", "decimal", "mixed", "truths", "Float64", "double")
]


@pytest.mark.parametrize(("library", "kind", "one"), KNOWN, ids=lambda one: str(one)[:20])
def test_a_known_type_needs_no_engine(library, kind, one):
    values, convert = one
    frame = LIBRARIES[library][2]({"v": convert(values)})
    assert code_frame(frame, ["v"]) is not None
    if kind in LIBRARIES[library][0] and kind != "numbers":
        found = code_frame(LIBRARIES[library][2]({"v": convert([values[0], None])}), ["v"])
        assert found.coded["v"].texts[1] is None


REFUSED = {
    "same names": pd.DataFrame([["a", "b"]], columns=["v", "V"]),
    "names that are no texts": pd.DataFrame([["a", "b"]], columns=["v", 1]),
    "no rows": pd.DataFrame({"v": []}, dtype=object),
    "columns of two lengths": {"v": ["a", "b"], "w": ["a"]},
    "NaN beside missing values": pl.DataFrame({"v": [1.0, NAN, None]}),
    "lists": pa.table({"v": [["a"], ["b"]]}),
    "a column of times that nobody asks for": pd.DataFrame({"v": ["a"], "w": [dt.time(1)]}),
    "objects that are no texts": pd.DataFrame({"v": pd.Series(["a", 1], dtype=object)}),
    "a nested frame": {"v": np.array([["a", "b"]], dtype=object)},
    "nothing": {},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_known_is_left_to_the_engine(what):
    assert code_frame(REFUSED[what], ["v"]) is None
    own, engines = both_ways(REFUSED[what], ["v"], None)
    assert own == engines


def test_an_iterator_is_left_to_the_engine_unread():
    source = {"v": iter(["a", "a", "b"])}
    assert code_frame(source, ["v"]) is None
    assert list(source["v"]) == ["a", "a", "b"]


def test_a_column_that_is_lacking_is_named_as_by_the_engine():
    own, engines = both_ways(pd.DataFrame({"v": ["a"]}), ["v", "w"], None)
    assert own == engines
    assert "'w'" in own[1]


def test_a_wrong_amount_of_memory_is_refused_as_by_the_engine():
    own, engines = both_ways(pd.DataFrame({"v": ["a"]}), ["v"], None, memory="much")
    assert own == engines


def test_no_connection_is_opened_for_a_frame():
    with patch.object(verify, "DuckDB", side_effect=AssertionError):
        source = pd.DataFrame({"v": ["a", "a"]})
        assert verify.verify_file(source, quasi=["v"], guarantees=[KAnonymity(k=2)]).holds


def test_a_large_frame_goes_to_the_engine():
    source = pd.DataFrame({"v": ["a", "a"], "w": ["b", "b"]})
    with patch("shoal.engines.frames.MOST_CELLS", 3):
        assert code_frame(source, ["v"]) is not None
        assert code_frame(source, ["v", "w"]) is None


@settings(max_examples=40)
@given(
    bits=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=40),
    scaled=st.lists(st.floats(allow_nan=False), min_size=1, max_size=40),
)
def test_the_text_of_a_double_is_that_of_the_engine(bits, scaled):
    numbers = [struct.unpack("<d", struct.pack("<Q", one))[0] for one in bits]
    numbers = np.array([one for one in numbers if one == one] + scaled)
    found = code_frame({"v": numbers}, ["v"]).coded["v"]
    own = [found.texts[place] for place in found.codes.tolist()]
    engine = DuckDB()
    try:
        engine.push("given", {"place": np.arange(len(numbers)), "v": numbers})
        text = engine.text("v", "DOUBLE")
        fetched = engine.rows(f"SELECT {text} AS t FROM given ORDER BY place")["t"]
    finally:
        engine.close()
    assert own == texts_of(fetched)
