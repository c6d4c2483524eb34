"""How a CSV file is found to be written."""

from __future__ import annotations

import gzip

import pytest

from shoal.core.errors import DataError, ParameterError
from shoal.engines.csv_dialect import check_kind, find_dialect, refuse_like_names


@pytest.fixture
def dialect_of(tmp_path):
    def find(content, *, name="t.csv", delimiter=None, quote=None, encoding=None):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return find_dialect(path, delimiter=delimiter, quote=quote, encoding=encoding)

    return find


@pytest.mark.parametrize(
    ("content", "delimiter", "columns"),
    [
        ("a,b\n1,2\n", ",", ("a", "b")),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";", ("a", "b")),
        ("a\tb\n1,2\t3\n", "\t", ("a", "b")),
        ("a|b|c\n1|2|3\n", "|", ("a", "b", "c")),
        ("a;b\nx,y;1\nz;2\n", ";", ("a", "b")),
        ("a\nx\ny\n", ",", ("a",)),
        ("a,b\n", ",", ("a", "b")),
        ('"a;1","b"\n"x;y","z;w"\n', ",", ("a;1", "b")),
        ("a,b\n\n1,2\n\n", ",", ("a", "b")),
        (" a , b\n1,2\n", ",", (" a ", " b")),
    ],
)
def test_the_delimiter_is_the_one_that_lines_agree_on(dialect_of, content, delimiter, columns):
    found = dialect_of(content)
    assert (found.delimiter, found.columns, found.quote) == (delimiter, columns, '"')


@pytest.mark.parametrize(
    ("content", "quote"),
    [
        ("a,b\n1,2\n", '"'),
        ('"a","b"\n"1","2"\n', '"'),
        ("'a','b'\n'1','2'\n", "'"),
        ("a,b\n1,'x,y'\n2,'z'\n", "'"),
        ("a,b\n'x','it''s'\n", "'"),
        ("a,b\n'tis,1\nrock'n'roll,2\n", '"'),
        ("a,b\n\"'x'\",1\n\"'y'\",2\n", '"'),
        ("a,b\n1,2\n3,'x'\n4,5\n6,7\n8,9\n", '"'),
        ('a,b\n"x,1\ny,2\n', '"'),
    ],
)
def test_the_quote_is_the_one_around_fields(dialect_of, content, quote):
    assert dialect_of(content).quote == quote


def test_what_is_given_is_not_looked_for(dialect_of):
    found = dialect_of("a,b;c\n1,2;3\n", delimiter=";", quote="'")
    assert (found.delimiter, found.quote, found.columns) == (";", "'", ("a,b", "c"))


@pytest.mark.parametrize(
    ("content", "given", "found"),
    [
        ("a,é\n1,2\n".encode(), None, "utf-8"),
        ("a,é\n1,2\n".encode("utf-8-sig"), None, "utf-8-sig"),
        ("a,é\n1,2\n".encode("utf-8-sig"), "UTF8", "utf-8-sig"),
        ("a,é\n1,2\n".encode("utf-16"), None, "utf-16"),
        ("\ufeffa,é\n1,2\n".encode("utf-16-be"), None, "utf-16"),
        ("\ufeffa,é\n1,2\n".encode("utf-16-le"), "utf-16-le", "utf-16-le"),
        ("a,é\n1,2\n".encode("cp1252"), "cp1252", "cp1252"),
    ],
)
def test_an_encoding_is_told_by_its_mark_or_given(dialect_of, content, given, found):
    dialect = dialect_of(content, encoding=given)
    assert (dialect.encoding, dialect.columns) == (found, ("a", "é"))


def test_a_character_cut_by_the_end_of_the_sample_is_no_error(dialect_of):
    assert dialect_of("é,b\n" + "é" * (1 << 20) + ",1\n").columns == ("é", "b")


def test_gzip_is_seen_through(dialect_of):
    found = dialect_of(gzip.compress(b"a;b\n1;2\n"), name="t.csv.gz")
    assert (found.is_compressed, found.delimiter) == (True, ";")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\xff\xfea\x00,\x00", "NUL|header|name"),
        (b"a,b\n1,\x00\n", "NUL"),
        (b"a,b\n1,\xe9\n", "line 2"),
        (b"\na,b\n", "header"),
        (b"a,,c\n", "number 2 of 3"),
        (b"a,b,a,b\n", "number 1, 2, 3, 4 of 4"),
        (b"Name,name\n", "number 1, 2 of 2"),
        (b'a,"b\rc",d\n', "again: number 2 of 3"),
        (b'"a\n",b\n', "again: number 1 of 2"),
        ("a,\ufeffb\n".encode(), "again: number 2 of 2"),
        (b"%PDF-1.7", "PDF"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"\x1f\x8b\x08\x00", "gzip"),
    ],
)
def test_what_is_no_csv_is_refused(dialect_of, content, said):
    with pytest.raises(DataError, match=said):
        dialect_of(content)


def test_an_encoding_must_exist(dialect_of):
    with pytest.raises(ParameterError, match="utf-9"):
        dialect_of(b"a\n1\n", encoding="utf-9")


@pytest.mark.parametrize("encoding", ["rot13", "hex", "a\0b"])
def test_an_encoding_must_be_one_of_texts(dialect_of, encoding):
    with pytest.raises(ParameterError, match="is not known"):
        dialect_of(b"a\n1\n", encoding=encoding)


def test_an_encoding_that_nothing_is_written_in_is_refused(dialect_of):
    with pytest.raises(DataError, match="not valid undefined"):
        dialect_of(b"a\n1\n", encoding="undefined")


def test_a_file_must_begin_as_its_name_says(tmp_path):
    path = tmp_path / "t.duckdb"
    path.write_bytes(b"12345678DUCK")
    check_kind(path, b"DUCK", 8, "a DuckDB database")
    with pytest.raises(DataError, match="not a Parquet file"):
        check_kind(path, b"PAR1", 0, "a Parquet file")


def test_names_that_sql_takes_for_one_are_refused():
    refuse_like_names("t.csv", ["a", "b", "ab"])
    with pytest.raises(DataError, match="number 1, 3 of 3"):
        refuse_like_names("t.csv", ["ID", "x", "id"])
