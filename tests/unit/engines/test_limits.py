"""Limits say how to raise them, and a run stays within the memory of the machine."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.core.errors import DataError, ParameterError
from shoal.engines import limits
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.limits import Limits, bytes_of, engine_memory, memory_beside, size_of
from shoal.engines.sql import line_counts
from shoal.release.opened import forget_counts


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("1", 1),
        ("10B", 10),
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        (" 1.5MiB ", 3 * 2**19),
        ("0.5KB", 500),
        ("1TiB", 2**40),
        (7, 7),
    ],
)
def test_sizes(size, n_bytes):
    assert bytes_of(size) == n_bytes
    assert bytes_of(size_of(n_bytes)) == n_bytes


@pytest.mark.parametrize(
    "size", ["", "GB", "much", "-1GB", "0GB", "1e9", "1XB", 0, -1, True, 1.5, None, "1..5MB"]
)
def test_nonsense_is_refused_with_an_example(size):
    with pytest.raises(ParameterError) as refused:
        bytes_of(size)
    assert "64MB" in refused.value.hint


@pytest.mark.parametrize("name", ["max_columns", "max_line", "max_expanded", "max_ratio"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "1GB"])
def test_a_limit_is_a_number(name, value):
    with pytest.raises(ParameterError, match=name):
        Limits(**{name: value})


def test_every_refusal_names_the_limit_and_how_to_raise_it():
    limits = Limits(max_columns=3, max_line=1000, max_expanded=10**9, max_ratio=10)
    limits.check_columns("people.csv", 3)
    limits.check_line("people.csv", 1000)
    limits.check_expanded("people.csv", 10**9, 10**8)
    for check, fact, setting in (
        (lambda: limits.check_columns("people.csv", 4), "3 columns", "max_columns = 4"),
        (lambda: limits.check_line("people.csv", 1001), "1KB", 'max_line = "4KB"'),
        (
            lambda: limits.check_expanded("people.csv", 10**9 + 1, 10**9),
            "1GB",
            'max_expanded = "4GB"',
        ),
        (lambda: limits.check_expanded("people.csv", 10**9, 10**7), "10 times", "max_ratio = 50"),
    ):
        with pytest.raises(DataError) as refused:
            check()
        assert fact in refused.value.fact
        assert f"{setting} under [engine]" in refused.value.hint


def test_a_small_file_may_expand_more():
    Limits().check_expanded("people.csv.gz", 60_000_000, 60_000)


def test_a_header_has_room_for_the_names():
    assert Limits().max_header == 2**20
    assert Limits(max_columns=10**6).max_header == 10**8


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Pretend to be on another machine."""

    def pretend(*, available="", allowed="max", used="0", cached="0"):
        (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")
        (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available} kB\n")
        (tmp_path / "memory.max").write_text(allowed + "\n")
        (tmp_path / "memory.current").write_text(used + "\n")
        monkeypatch.setattr(limits, "_MEMINFO", tmp_path / "meminfo")
        monkeypatch.setattr(limits, "_GROUP", tmp_path)

    return pretend


def test_what_is_free_is_what_the_machine_says(machine):
    machine(available=8 * 2**20)
    assert limits.free_memory() == 8 * 2**30


def test_a_container_has_what_it_is_allowed(machine):
    machine(available=8 * 2**20, allowed=str(3 * 2**30), used=str(2**30))
    assert limits.free_memory() == 2 * 2**30
    machine(available=8 * 2**20, allowed=str(2**30), used=str(2**30), cached=str(2**29))
    assert limits.free_memory() == 2**29
    machine(available=2**20, allowed=str(3 * 2**30))
    assert limits.free_memory() == 2**30


def test_an_engine_has_half_of_what_is_given_or_a_quarter_of_what_is_free(machine):
    machine(available=8 * 2**20)
    assert limits.engine_memory("4GiB") == 2 * 2**30
    assert limits.engine_memory(None) == 2 * 2**30


def test_an_engine_has_enough_to_start_with(machine):
    machine(available=1)
    assert limits.engine_memory("1MB") == limits.engine_memory(None) == 256 * 2**20


@pytest.mark.parametrize("amount", ["", "lots", "4 parsecs", "-1GB", "0"])
def test_an_amount_must_be_one(amount):
    with pytest.raises(ParameterError, match="memory"):
        limits.engine_memory(amount)


GIGABYTE = 10**9
LEAST = engine_memory("1MB")


@pytest.mark.parametrize("n_bytes", [0, GIGABYTE, 3 * GIGABYTE, 8 * GIGABYTE, 90 * GIGABYTE])
def test_both_stay_within_the_memory_of_the_run(n_bytes):
    share = memory_beside(4 * GIGABYTE, n_bytes)
    assert LEAST <= share <= 4 * GIGABYTE
    assert share == LEAST or share + n_bytes <= 8 * GIGABYTE


def test_small_arrays_leave_the_engine_its_half():
    assert memory_beside(4 * GIGABYTE, 3 * GIGABYTE) == 4 * GIGABYTE


def test_an_engine_never_gets_more_than_its_half():
    assert memory_beside(LEAST // 2, 90 * GIGABYTE) == LEAST // 2


@pytest.fixture
def engine():
    engine = DuckDB("4GB")
    yield engine
    engine.close()


def limit_of(engine):
    found = engine.rows("SELECT current_setting('memory_limit') AS v")["v"][0]
    number, unit = found.split()
    return float(number) * {"MiB": 2**20, "GiB": 2**30}[unit]


def test_an_engine_makes_room_and_takes_it_back(engine):
    usual = limit_of(engine)
    engine.make_room(3 * GIGABYTE)
    assert limit_of(engine) < usual / 2
    engine.drop("nothing")
    assert limit_of(engine) < usual / 2
    engine.make_room(0)
    assert limit_of(engine) == usual


def test_what_is_spilled_to_make_room_is_still_there(engine):
    engine.stage("kept", "SELECT md5(CAST(i AS VARCHAR)) AS v FROM range(8_000_000) t(i)")
    total = "SELECT CAST(bit_xor(hash(v)) AS VARCHAR) AS h, count(*) AS n FROM kept"
    before = engine.rows(total)
    engine.make_room(90 * GIGABYTE)
    assert int(engine.rows("SELECT count(*) AS n FROM duckdb_temporary_files()")["n"][0])
    after = engine.rows(total)
    assert (after["h"][0], after["n"][0]) == (before["h"][0], 8_000_000)


def test_an_engine_that_cannot_make_room_goes_on(engine, monkeypatch):
    monkeypatch.setattr("shoal.engines.duckdb.engine.memory_beside", lambda *_: 1)
    engine.stage("kept", "SELECT 7 AS v")
    engine.make_room(GIGABYTE)
    assert engine.rows("SELECT v FROM kept")["v"].tolist() == [7]


@pytest.fixture
def release(monkeypatch):
    monkeypatch.setattr(line_counts, "_BYTES_PER_LINE", GIGABYTE)
    table = shoal.read(shoal.datasets.papers.injector_patients(), memory="4GB")
    yield shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    table.engine.close()


def test_a_release_has_room_for_its_counts_until_they_are_forgotten(release):
    engine = release.files.engine
    assert limit_of(engine) < GIGABYTE
    forget_counts(release)
    assert limit_of(engine) > GIGABYTE
    assert release.published.lines.n_rows == 9
    assert limit_of(engine) < GIGABYTE


def test_a_release_that_was_written_holds_no_counts(release, tmp_path):
    before = release.published
    release.write(tmp_path / "release", accept_risk="a test")
    assert limit_of(release.files.engine) > GIGABYTE
    assert np.array_equal(release.published.lines.codes, before.lines.codes)


def test_a_generalized_release_has_few_lines_to_make_room_for(monkeypatch):
    monkeypatch.setattr(line_counts, "_BYTES_PER_LINE", GIGABYTE)
    table = shoal.read(shoal.datasets.papers.injector_patients(), memory="4GB")
    usual = limit_of(table.engine)
    release = shoal.anonymize(table, shoal.Mondrian(k=2), seed=1)
    assert limit_of(release.files.engine) == usual
    table.engine.close()
