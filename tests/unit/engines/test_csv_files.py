"""How CSV files are written is detected; they are unpacked and measured chunk by chunk."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from shoal.core.errors import DataError, EngineError, ParameterError
from shoal.engines import csv_files
from shoal.engines.csv_files import (
    Dialect,
    copy_as_utf8,
    digest_of_lines,
    find_dialect,
    is_plain_utf8,
    refuse_like_names,
)
from shoal.engines.files import check_kind
from shoal.engines.limits import DEFAULT_LIMITS, Limits


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


LINES = "name,note\n" + "".join(f"Zoë {number},“x”\r\n" for number in range(3000))


def dialect(encoding: str = "utf-8", *, is_compressed: bool = False) -> Dialect:
    return Dialect(",", '"', encoding, ("name", "note"), is_compressed)


def packed(n_bytes: int) -> bytes:
    """Pack a table of one line, again and again, into next to nothing."""
    part = gzip.compress(b"1,1\n" * 250_000)
    return gzip.compress(b"a,b\n") + part * (n_bytes // 1_000_000)


@pytest.mark.parametrize("chunk", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-32"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_the_copy_is_the_text(tmp_path, monkeypatch, chunk, encoding, is_compressed):
    monkeypatch.setattr(csv_files, "_CHUNK", chunk)
    text = LINES if chunk > 7 else LINES[:300]
    content = text.encode(encoding)
    path, copy = tmp_path / "people.csv", tmp_path / "copy.csv"
    path.write_bytes(gzip.compress(content) if is_compressed else content)
    copy_as_utf8(path, dialect(encoding, is_compressed=is_compressed), copy)
    assert copy.read_bytes() == text.encode()


def test_plain_files_need_no_copy():
    assert is_plain_utf8(dialect("UTF_8"))
    assert not is_plain_utf8(dialect("utf-8", is_compressed=True))
    assert not is_plain_utf8(dialect("cp1252"))


@pytest.mark.parametrize(
    ("content", "encoding", "is_compressed", "match"),
    [
        (LINES.encode("utf-8"), "ascii", False, "ascii"),
        (LINES.encode("utf-16")[:-1], "utf-16", False, "utf-16"),
        (gzip.compress(LINES.encode())[:-9], "utf-8", True, "gzip"),
        (gzip.compress(LINES.encode())[:500] + b"x" * 500, "utf-8", True, "gzip"),
        (gzip.compress(b"a") + b"what follows", "utf-8", True, "gzip"),
    ],
    ids=["encoding", "half a character", "half an archive", "damage", "what follows"],
)
def test_a_broken_file_leaves_no_copy(tmp_path, content, encoding, is_compressed, match):
    path, copy = tmp_path / "people.csv", tmp_path / "copy.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=match):
        copy_as_utf8(path, dialect(encoding, is_compressed=is_compressed), copy)
    assert not copy.exists()


@pytest.mark.parametrize(
    ("limits", "match"),
    [(Limits(), "200 times"), (Limits(max_ratio=10_000, max_expanded=10**8), "100MB")],
)
def test_a_file_that_bursts_is_refused_on_the_way(tmp_path, limits, match):
    path, copy = tmp_path / "people.csv.gz", tmp_path / "copy.csv"
    path.write_bytes(packed(200_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=match):
            copy_as_utf8(path, dialect(is_compressed=True), copy, limits)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert not copy.exists()


def test_a_regular_file_that_packs_well_is_read(tmp_path):
    path, copy = tmp_path / "people.csv.gz", tmp_path / "copy.csv"
    path.write_bytes(packed(20_000_000))
    copy_as_utf8(path, dialect(is_compressed=True), copy)
    assert copy.stat().st_size == 20_000_004


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_no_space_for_the_copy_is_an_engine_error(tmp_path, monkeypatch, code):
    class Full:
        def write(self, _):
            raise OSError(code, os.strerror(code))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    path = tmp_path / "people.csv"
    path.write_bytes(LINES.encode("utf-16"))
    monkeypatch.setattr(csv_files, "_opened", lambda _: Full())
    with pytest.raises(EngineError, match="temporary"):
        copy_as_utf8(path, dialect("utf-16"), tmp_path / "copy.csv")


def test_no_folder_for_the_copy_is_an_engine_error(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(LINES.encode("utf-16"))
    with pytest.raises(EngineError, match="temporary"):
        copy_as_utf8(path, dialect("utf-16"), tmp_path / "nowhere" / "copy.csv")


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(LINES.encode() * 40)
    assert digest_of_lines(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("chunk", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("after", [b"", b"a,b"])
def test_a_line_is_measured_wherever_chunks_end(tmp_path, monkeypatch, chunk, end, after):
    monkeypatch.setattr(csv_files, "_CHUNK", chunk)
    path = tmp_path / "people.csv"
    limits = Limits(max_line=100)
    for n_bytes in (99, 100, 101, 250):
        path.write_bytes(b"a,b" + end + b"x" * n_bytes + (end if after else b"") + after)
        if n_bytes <= 100:
            digest_of_lines(path, limits)
        elif chunk <= 100 or n_bytes > 200:
            with pytest.raises(DataError, match="100B"):
                digest_of_lines(path, limits)


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n1,")
        file.truncate(2 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="16MB"):
            digest_of_lines(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def find(path: Path, content: bytes, limits: Limits = DEFAULT_LIMITS, delimiter: str | None = None):
    path.write_bytes(content)
    return find_dialect(path, delimiter=delimiter, quote=None, encoding=None, limits=limits)


def test_too_many_columns_are_refused(tmp_path):
    path = tmp_path / "people.csv"
    header = ",".join(f"c{number}" for number in range(11)).encode() + b"\n"
    assert len(find(path, header, Limits(max_columns=11)).columns) == 11
    with pytest.raises(DataError, match="more than 10 columns"):
        find(path, header, Limits(max_columns=10))


def test_a_million_columns_are_refused_and_can_be_allowed(tmp_path):
    path = tmp_path / "people.csv"
    header = ",".join(f"c{number}" for number in range(1_000_000)).encode() + b"\n"
    with pytest.raises(DataError, match="more than 10000 columns"):
        find(path, header)
    assert len(find(path, header, Limits(max_columns=1_000_000)).columns) == 1_000_000


@pytest.mark.parametrize("end", [b"", b"\n", b"\r"])
def test_a_header_that_does_not_end_is_refused(tmp_path, end):
    with pytest.raises(DataError, match="header line of more than 1048576B"):
        find(tmp_path / "people.csv", b"x" * 3_000_000 + end)


def test_a_quote_left_open_in_the_header_is_refused(tmp_path):
    with pytest.raises(DataError, match="header"):
        find(tmp_path / "people.csv", b'a,"b\n' + b"1,2\n" * 500_000, delimiter=",")
    names = b"\n".join(b'"",' * 30_000 for _ in range(20))
    with pytest.raises(DataError, match="header line of more than 1048576B"):
        find(tmp_path / "people.csv", names.replace(b"\n", b'"\n"') + b'"', delimiter=",")


def test_a_name_that_is_no_name_is_refused(tmp_path):
    with pytest.raises(DataError, match="header that cannot be read"):
        find(tmp_path / "people.csv", b"a," + b"x" * 500_000 + b"\n1,2\n")


def test_long_lines_after_the_header_are_not_the_header(tmp_path):
    content = b"a,b\n" + b"x" * 2_000_000 + b",1\n"
    assert find(tmp_path / "people.csv", content).columns == ("a", "b")
    assert find(tmp_path / "people.csv", b"a,b\r" + b"1,2\r" * 500_000).columns == ("a", "b")
