"""Tables that harm: any bytes as a CSV file, any names, any values, any condition."""

from __future__ import annotations

import contextlib
import string
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mutations import MARKER

import shoal
from shoal.core.errors import ShoalError
from shoal.core.row_filter import RowFilter
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.table import EngineTable

few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
characters = st.sampled_from(
    [*"aB1;,\t|\"'\\*%_$`-=+@ .", "\r", "\n", "\x00", "\x1b", "\x7f", "\u202e", "\ufeff", "ü", "🦈"]
)
texts = st.text(characters, max_size=12) | st.sampled_from(
    ["*", "NULL", "nan", "-0", "1e400", "0x1F", "'; DROP TABLE coded; --", '"', "{{7*7}}", "=1+1"]
)


@pytest.fixture(scope="module")
def engine():
    made = DuckDB()
    yield made
    made.close()


@contextlib.contextmanager
def typed_errors_alone():
    """Let typed errors pass that show no value; all others fail the test."""
    begun = time.perf_counter()
    try:
        yield
    except ShoalError as error:
        assert MARKER not in str(error)  # noqa: PT017 - there need be none
    assert time.perf_counter() - begun < 30


@few
@given(st.binary(max_size=300), st.booleans())
@example(b"\xff\xfea\x00", False)
@example(b"a,b\n" + b'"' * 99, False)
@example(b"a" * 300 + b"\r", True)
def test_any_bytes_are_read_or_refused(engine, tmp_path_factory, content, has_header):
    path = tmp_path_factory.mktemp("csv") / "people.csv"
    path.write_bytes((f"a,b\n{MARKER},1\n".encode() if has_header else b"") + content)
    with typed_errors_alone():
        scan = engine.scan(path)
        columns = list(scan.types)
        EngineTable(engine, scan, shoal.Schema(quasi=columns[:1], identifying=columns[1:]))


@few
@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts, min_size=2, max_size=12))
def test_any_names_and_values_are_published_or_refused(tmp_path_factory, names, values):
    columns = {name: [MARKER, *values] for name in names}
    with typed_errors_alone():
        table = shoal.read(columns, shoal.Schema(quasi=list(columns)))
        folder = tmp_path_factory.mktemp("any") / "release"
        written = shoal.anonymize(table, shoal.Mondrian(k=2)).write(folder)
        assert str(shoal.verify(written).status) == "verified"


words = st.sampled_from(
    [*"()<>=+-*/,.;", "a", '"a"', "'x'", "AND", "OR", "NOT", "NULL", "IS", "IN", "LIKE", "BETWEEN",
     "CASE", "WHEN", "THEN", "END", "1", "9" * 20, "1e308", "DATE '2020-01-31'", f"'{MARKER}'",
     "SELECT", "pg_sleep(9)", "--", "/*", "read_text('/etc/passwd')"]
)  # fmt: skip


@settings(few, max_examples=300)
@given(st.lists(words, max_size=12).map(" ".join) | st.text(string.printable, max_size=40))
@example("(" * 4_900 + "a" + ")" * 4_900)
@example("NOT " * 2_400 + "a")
@example("a LIKE '" + "%a" * 4_000 + "b'")
@example("a = " + "- " * 4_900 + "1")
@example("a > " + "*".join(["9" * 20] * 400))
def test_any_condition_is_evaluated_or_refused(text):
    with typed_errors_alone():
        read = RowFilter.read(text)
        read.rows({column: [1, None, f"{MARKER}aaaa" * 20] for column in read.columns})
