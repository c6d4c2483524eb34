"""Every kind of source gives the same table, and what is no table is refused clearly."""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import gzip
import io
import time

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.schema import Schema
from shoal.engines.sql import columns as staged_columns
from shoal.engines.sql.table import EngineTable

COLUMNS = {
    "age": [29, 22, None, 22, 105],
    "postcode": ["01069", "10115", "01069", "10115", None],
    "height": [1.75, 0.5, 1.75, None, 2.0],
    "born": [
        dt.date(1899, 12, 31),
        None,
        dt.date(2000, 2, 29),
        dt.date(2000, 2, 29),
        dt.date(9999, 12, 31),
    ],
    "smokes": [True, False, None, True, True],
    "place": ['say "hi", ok', "Łódź;🐟", "", "line\nbreak", "=1+1"],
    "it's | a\tname": ["'a'", "b|c", "d\te", "100%", None],
}
TYPES = ["integer", "categorical", "real", "date", "boolean", "categorical", "categorical"]
LABELS = {
    "age": ["22", "29", "105", None],
    "postcode": ["01069", "10115", None],
    "height": ["0.5", "1.75", "2.0", None],
    "born": ["1899-12-31", "2000-02-29", "9999-12-31", None],
    "smokes": ["false", "true", None],
    "place": ["", "=1+1", "line\nbreak", 'say "hi", ok', "Łódź;🐟"],
    "it's | a\tname": ["'a'", "100%", "b|c", "d\te", None],
}


def as_csv(delimiter=",", quote='"', newline="\n"):
    """Write the columns as CSV: missing empty, the empty text quoted."""

    def field(value):
        if value is None:
            return ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        is_plain = text and not any(mark in text for mark in (delimiter, quote, "\n", "\r"))
        return text if is_plain else quote + text.replace(quote, quote * 2) + quote

    lines = [list(COLUMNS), *zip(*COLUMNS.values(), strict=True)]
    return "".join(delimiter.join(map(field, line)) + newline for line in lines)


def write(path, content):
    path.write_bytes(content)
    return path


def in_arrow_stream(path):
    table = pa.table(COLUMNS)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


def in_database(path):
    with duckdb.connect(str(path)) as connection:
        connection.register("columns_of_people", pa.table(COLUMNS))
        connection.execute("CREATE TABLE people AS FROM columns_of_people")
        connection.execute("CREATE TABLE other AS SELECT 1 AS one")
    return path


def in_parquet(path):
    pyarrow.parquet.write_table(pa.table(COLUMNS), path)
    return path


def in_parquet_folder(path):
    path.mkdir()
    table = pa.table(COLUMNS)
    pyarrow.parquet.write_table(table.slice(0, 2), path / "1.parquet")
    pyarrow.parquet.write_table(table.slice(2), path / "2.parquet")
    return path


def in_arrow(path, **options):
    pyarrow.feather.write_feather(pa.table(COLUMNS), path, **options)
    return path


SOURCES = {
    "csv": lambda d: (write(d / "t.csv", as_csv().encode()), {}),
    "csv semicolon": lambda d: (write(d / "t.csv", as_csv(";").encode()), {}),
    "csv tab": lambda d: (write(d / "t.csv", as_csv("\t").encode()), {}),
    "csv pipe": lambda d: (write(d / "t.csv", as_csv("|").encode()), {}),
    "csv of its own": lambda d: (write(d / "t.csv", as_csv("^").encode()), {"delimiter": "^"}),
    "tsv": lambda d: (write(d / "t.tsv", as_csv("\t").encode()), {}),
    "txt": lambda d: (write(d / "T.TXT", as_csv(";").encode()), {}),
    "csv single quote": lambda d: (write(d / "t.csv", as_csv(quote="'").encode()), {"quote": "'"}),
    "csv crlf": lambda d: (write(d / "t.csv", as_csv(newline="\r\n").encode()), {}),
    "csv no last newline": lambda d: (write(d / "t.csv", as_csv().encode().rstrip(b"\n")), {}),
    "csv mark": lambda d: (write(d / "t.csv", as_csv().encode("utf-8-sig")), {}),
    "csv mark given": lambda d: (
        write(d / "t.csv", as_csv().encode("utf-8-sig")),
        {"encoding": "UTF-8"},
    ),
    "csv utf-16": lambda d: (write(d / "t.csv", as_csv().encode("utf-16")), {}),
    "csv utf-16-le": lambda d: (
        write(d / "t.csv", as_csv().encode("utf-16-le")),
        {"encoding": "utf-16-le"},
    ),
    "csv gz": lambda d: (write(d / "t.csv.gz", gzip.compress(as_csv().encode())), {}),
    "csv with a strange name": lambda d: (write(d / "it's [a] *?.csv", as_csv().encode()), {}),
    "parquet": lambda d: (in_parquet(d / "t.parquet"), {}),
    "parquet with a strange name": lambda d: (in_parquet(d / "it's [a] *?.parquet"), {}),
    "parquet folder": lambda d: (in_parquet_folder(d / "t"), {}),
    "arrow": lambda d: (in_arrow(d / "t.arrow", compression="uncompressed"), {}),
    "feather": lambda d: (in_arrow(d / "t.feather", compression="zstd"), {}),
    "arrow stream file": lambda d: (in_arrow_stream(d / "t.arrow"), {}),
    "duckdb": lambda d: (in_database(d / "t.duckdb"), {"table": "people"}),
    "dict": lambda _: (COLUMNS, {}),
    "arrow table": lambda _: (pa.table(COLUMNS), {}),
    "arrow batch": lambda _: (pa.RecordBatch.from_pydict(COLUMNS), {}),
    "arrow stream": lambda _: (pa.table(COLUMNS).to_reader(max_chunksize=2), {}),
    "pandas": lambda _: (pd.DataFrame(COLUMNS).astype({"age": "Int64", "smokes": "boolean"}), {}),
    "pandas arrow": lambda _: (pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype), {}),
    "polars": lambda _: (pl.DataFrame(COLUMNS), {}),
    "polars lazy": lambda _: (pl.LazyFrame(COLUMNS), {}),
}


DIALECTS = [kind for kind in SOURCES if kind.startswith(("csv ", "tsv", "txt"))]


@pytest.mark.parametrize("kind", DIALECTS)
def test_every_dialect_gives_the_same_domains_and_counts(embedded, tmp_path, kind):
    check_domains_and_counts(embedded, tmp_path, kind)


@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind not in DIALECTS])
def test_every_source_gives_the_same_domains_and_counts(engine, tmp_path, kind):
    check_domains_and_counts(engine, tmp_path, kind)


def check_domains_and_counts(engine, tmp_path, kind):
    source, options = SOURCES[kind](tmp_path)
    schema = Schema(quasi=list(COLUMNS)[:-1], sensitive=list(COLUMNS)[-1])
    table = EngineTable(engine, engine.scan(source, **options), schema)
    assert {name: domain.labels() for name, domain in table.domains.items()} == LABELS
    assert [str(domain.type) for domain in table.domains.values()] == TYPES
    cells = table.counts(list(COLUMNS))
    assert cells.n_cells == cells.n_rows == 5
    counts = {name: table.counts([name]).counts.tolist() for name in LABELS}
    assert counts["postcode"] == [2, 2, 1]
    assert counts["born"] == [1, 2, 1, 1]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "iso-8859-15", "mac-roman"])
def test_an_encoding_without_a_mark_has_to_be_given(engine, tmp_path, encoding):
    path = write(tmp_path / "t.csv", "name,n\nJosé,1\nZoë,2\n".encode(encoding))
    with pytest.raises(DataError, match="line 2") as caught:
        engine.scan(path)
    assert "José" not in str(caught.value)
    table = EngineTable(engine, engine.scan(path, encoding=encoding), Schema(quasi=["name", "n"]))
    assert table.domains["name"].labels() == ["José", "Zoë"]


def test_a_relation_of_duckdb_is_read(engine):
    relation = duckdb.sql(
        "SELECT * FROM (VALUES (1, 'x', DATE '1820-01-01', TRUE, 1.5), (2, NULL, NULL, NULL, NULL))"
        ' t(i, "a b", d, b, f)'
    ).aggregate('sum(i) AS total, "a b", d, b, f')
    table = EngineTable(
        engine, engine.scan(relation), Schema(quasi=["total", "a b", "d", "b", "f"])
    )
    labels = [domain.labels() for domain in table.domains.values()]
    assert labels == [["1", "2"], ["x", None], ["1820-01-01", None], ["true", None], ["1.5", None]]


@pytest.mark.parametrize(
    ("column", "kind", "labels"),
    [
        (np.array([3, 1], dtype=">i4"), "integer", ["1", "3"]),
        (np.arange(6)[::3], "integer", ["0", "3"]),
        (np.array(["1820-01-01", "NaT"], dtype="datetime64[D]"), "date", ["1820-01-01", None]),
        (np.array(["2000-01", "1999-12"], dtype="datetime64[M]"), "date",
         ["1999-12-01", "2000-01-01"]),
        (np.array(["b", "ä"]), "categorical", ["b", "ä"]),
        (np.array([1.5, np.nan]), "real", ["1.5", None]),
        (np.ma.array([1, 2], mask=[False, True]), "integer", ["1", None]),
        ([np.int64(2), np.int64(1)], "integer", ["1", "2"]),
        ([np.bool_(True), None], "boolean", ["true", None]),
        ([2**63 - 1, -(2**63)], "integer", ["-9223372036854775808", "9223372036854775807"]),
        ([1, 2.5], "real", ["1.0", "2.5"]),
        (("x", None), "categorical", ["x", None]),
    ],
)  # fmt: skip
def test_a_mapping_takes_any_plain_column(engine, column, kind, labels):
    table = EngineTable(engine, engine.scan({"a": column}), Schema(quasi=["a"]))
    assert (str(table.domains["a"].type), table.domains["a"].labels()) == (kind, labels)


@pytest.mark.parametrize(
    ("late", "kind"), [(1.5, "real"), ("x", "categorical"), (None, "integer"), (2**40, "integer")]
)
def test_the_type_of_objects_follows_from_all_of_them(engine, late, kind):
    values = [7] + [None] * 20_003 + [late] + [None] * 20_000
    for source in ({"a": values}, pd.DataFrame({"a": pd.Series(values, dtype=object)})):
        table = EngineTable(engine, engine.scan(source), Schema(quasi=["a"]))
        assert str(table.domains["a"].type) == kind
        expected = {float(label) if kind == "real" else label for label in (7, late) if label}
        found = {label for label in table.domains["a"].labels() if label is not None}
        assert found == {str(label) for label in expected}


def test_a_moment_has_the_date_of_greenwich_on_every_machine(make_engine, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        other = make_engine()
        frame = pd.DataFrame({"at": pd.to_datetime(["2020-01-01", None]).tz_localize("UTC")})
        table = EngineTable(other, other.scan(frame), Schema(quasi=["at"]))
        assert table.domains["at"].labels() == ["2020-01-01", None]
        other.close()
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_line_is_the_key_of_a_row_that_has_none(engine, tmp_path):
    n_rows = 300_000
    content = io.StringIO()
    writer = csv.writer(content)
    writer.writerows([("a", "b"), *((i % 97, i) for i in range(1, n_rows + 1))])
    path = write(tmp_path / "t.csv", content.getvalue().encode())
    table = EngineTable(engine, engine.scan(path), Schema(quasi=["a"], sensitive="b"))
    fetched = engine.rows(
        "SELECT count(*) AS n FROM coded c JOIN dictionary_1 d ON d.code = c.c1 "
        "WHERE c.row_key = d.v"
    )
    assert fetched["n"][0] == table.n_rows == n_rows


def test_columns_that_are_coded_in_parts_are_those_coded_at_once(engine, monkeypatch):
    schema = Schema(quasi=list(COLUMNS)[:5], insensitive=["place"], sensitive="it's | a\tname")
    schema = dataclasses.replace(schema, nearly_unique=["place"])
    at_once = EngineTable(engine, engine.scan(COLUMNS), schema).counts(schema.coded)
    monkeypatch.setattr(staged_columns, "_MOST_JOINS", 2)
    in_parts = EngineTable(engine, engine.scan(COLUMNS), schema)
    assert np.array_equal(in_parts.counts(schema.coded).codes, at_once.codes)
    assert in_parts.n_rows == 5


def test_the_digest_of_a_file_is_kept_and_a_frame_has_none(engine, tmp_path):
    path = write(tmp_path / "t.csv", b"a\n1\n")
    assert len(engine.scan(path).digest) == 64
    assert engine.scan({"a": [1]}).digest is None


def test_a_scan_says_how_the_source_was_read(engine, tmp_path):
    path = write(tmp_path / "t.csv", "a;b\n1;é\n".encode("cp1252"))
    options = engine.scan(path, encoding="cp1252").options
    assert options == {"delimiter": ";", "quote": '"', "encoding": "cp1252"}
    assert engine.scan(in_database(tmp_path / "t.db"), table="people").options == {
        "table": "people"
    }
    assert not engine.scan({"a": [1]}).options


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"", "empty"),
        ("t.csv", b"\n1,2\n", "header"),
        ("t.csv", b"a,\n1,2\n", "without a name"),
        ("t.csv", b"a,a\n1,2\n", "of the same name"),
        ("t.csv", b"a,A\n1,2\n", "of the same name"),
        ("t.csv", b"PAR1....", "Parquet"),
        ("t.csv", b"PK\x03\x04....", "zip"),
        ("t.csv", b"a,b\n1,\x00\n", "NUL"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:-9], "gzip"),
        ("t.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("t.parquet", b"", "is empty"),
        ("t.arrow", b"a,b\n1,2\n", "not an Arrow file"),
        ("t.arrow", b"ARROW1....", "not a whole, valid Arrow file"),
        ("t.arrow", b"\xff\xff\xff\xff....", "not a whole, valid Arrow file"),
        ("t.duckdb", b"a,b\n1,2\n", "not a DuckDB database"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused(engine, tmp_path, name, content, said):
    with pytest.raises(DataError, match=said):
        engine.scan(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3\n", "Line 3 .* as many fields"),
        (b"a,b\n1,2\n3,4,5\n", "Line 3 .* as many fields"),
        (b'a,b\n1,2\n"3,4\n', "Line 3 .* cannot be read"),
        (b'a,b\n1,2\n"3"x,4\n', "Line 3 .* cannot be read"),
        (b"a,b\r\n1,2\n3,4\r\n", "lines end in the same way"),
        (b"a,b\n" + b"1,2\n" * 300_000 + b"1,\xff\n", "Line 300002 .* not valid UTF-8"),
        (b"a,b\n" + b"1,2\n" * 300_000 + b"1,\x00\n", "NUL"),
    ],
    ids=["header", "short", "long", "open quote", "quote", "line ends", "late byte", "late NUL"],
)
def test_a_broken_file_is_refused_with_the_line(engine, tmp_path, content, said):
    path = write(tmp_path / "t.csv", content)
    with pytest.raises(DataError, match=said):
        EngineTable(engine, engine.scan(path), Schema(quasi=["a", "b"]))


def test_an_error_of_the_engine_does_not_show_what_it_stumbled_over(engine, tmp_path):
    path = write(tmp_path / "t.csv", b"a,b\n1,2\nWally Whale,3,4\n")
    with pytest.raises(DataError) as caught:
        EngineTable(engine, engine.scan(path), Schema(quasi=["a", "b"]))
    assert "Wally" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_what_is_no_source_is_refused(engine, tmp_path):
    for source in (7, None, [1, 2], {}, object()):
        with pytest.raises(ParameterError, match="cannot read"):
            engine.scan(source)
    with pytest.raises(DataError, match="no file"):
        engine.scan(tmp_path / "nowhere.csv")
    with pytest.raises(ParameterError, match="file type"):
        engine.scan(write(tmp_path / "t.xlsx", b"x"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="no Parquet file"):
        engine.scan(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    "source",
    [
        {"a": [1, 2], "A": [1, 2]},
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pl.DataFrame({"a": [1], "A": [2]}),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_columns_of_one_name_are_refused(engine, source):
    with pytest.raises(DataError, match="of the same name"):
        engine.scan(source)


NO_NAMES = ["\ufeffa", "a\rb", "a\0b", " ", "", "\na", "a\n"]


@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_names_that_a_csv_file_cannot_carry_are_refused(engine, name, frame):
    with pytest.raises(DataError, match="names that a CSV file cannot carry"):
        engine.scan(frame({"b": [1, 2], name: [1, 2]}))


# In Parquet, DuckDB gives a name to what has none.
@pytest.mark.parametrize("name", [name for name in NO_NAMES if name], ids=ascii)
def test_such_names_are_refused_in_files_too(engine, tmp_path, name):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"b": [1], name: [1]}), path)
    with pytest.raises(DataError, match="names that a CSV file cannot carry"):
        engine.scan(path)


@pytest.mark.parametrize("path", ["a" * 5000, "b" * 300 + ".csv", "a\0b.csv", "a\ud800.csv"])
def test_a_path_that_no_file_can_have_is_refused(engine, path):
    with pytest.raises(DataError, match="cannot be the path of a file"):
        engine.scan(path)


@pytest.mark.parametrize("encoding", ["rot13", "hex", "base64", "a\0b", "\ud800", 5])
def test_an_encoding_must_be_one_of_texts(engine, tmp_path, encoding):
    path = write(tmp_path / "t.csv", b"a\n1\n")
    with pytest.raises(ParameterError, match="encoding"):
        engine.scan(path, encoding=encoding)


def test_columns_of_different_length_are_refused(engine):
    with pytest.raises(DataError, match="one length"):
        engine.scan({"a": [1, 2], "b": [1]})


def test_options_that_do_not_fit_the_source_are_refused(engine, tmp_path):
    path = write(tmp_path / "t.csv", b"a\n1\n")
    with pytest.raises(ParameterError, match="table"):
        engine.scan(path, table="people")
    with pytest.raises(ParameterError, match="delimiter"):
        engine.scan({"a": [1]}, delimiter=";")
    with pytest.raises(ParameterError, match="one character"):
        engine.scan(path, delimiter=";;")
    with pytest.raises(ParameterError, match="not known"):
        engine.scan(path, encoding="utf-9")


def test_which_table_of_a_database_has_to_be_clear(engine, tmp_path):
    path = in_database(tmp_path / "t.duckdb")
    with pytest.raises(SchemaError, match="2 tables"):
        engine.scan(path)
    with pytest.raises(SchemaError, match="no table"):
        engine.scan(path, table="nobody")
