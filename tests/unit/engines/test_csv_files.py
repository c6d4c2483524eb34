"""Files are unpacked, recoded and measured chunk by chunk, and refused beyond a limit."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from shoal.core.errors import DataError, EngineError
from shoal.engines import transcoding
from shoal.engines.csv_dialect import Dialect, find_dialect
from shoal.engines.limits import Limits
from shoal.engines.transcoding import copy_as_utf8, digest_of_lines, is_plain_utf8

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
    monkeypatch.setattr(transcoding, "_CHUNK", chunk)
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
    monkeypatch.setattr(transcoding, "_opened", lambda _: Full())
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
    monkeypatch.setattr(transcoding, "_CHUNK", chunk)
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


def find(path: Path, content: bytes, limits: Limits | None = None, delimiter: str | None = None):
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
