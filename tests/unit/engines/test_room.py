"""What DuckDB leaves to arrays that are held beside it."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.engines import assembling
from shoal.engines.duckdb import DuckDB
from shoal.engines.memory import engine_memory, memory_beside

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
    monkeypatch.setattr("shoal.engines.duckdb.memory_beside", lambda *_: 1)
    engine.stage("kept", "SELECT 7 AS v")
    engine.make_room(GIGABYTE)
    assert engine.rows("SELECT v FROM kept")["v"].tolist() == [7]


@pytest.fixture
def release(monkeypatch):
    monkeypatch.setattr(assembling, "_BYTES_A_LINE", GIGABYTE)
    table = shoal.read(shoal.datasets.papers.injector_patients(), memory="4GB")
    yield shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    table.engine.close()


def test_a_release_has_room_for_its_counts_until_they_are_forgotten(release):
    engine = release.files.engine
    assert limit_of(engine) < GIGABYTE
    release.forget_counts()
    assert limit_of(engine) > GIGABYTE
    assert release.published.lines.n_rows == 9
    assert limit_of(engine) < GIGABYTE


def test_a_release_that_was_written_holds_no_counts(release, tmp_path):
    before = release.published
    release.write(tmp_path / "release", accept_risk="a test")
    assert limit_of(release.files.engine) > GIGABYTE
    assert np.array_equal(release.published.lines.codes, before.lines.codes)


def test_a_generalized_release_has_few_lines_to_make_room_for(monkeypatch):
    monkeypatch.setattr(assembling, "_BYTES_A_LINE", GIGABYTE)
    table = shoal.read(shoal.datasets.papers.injector_patients(), memory="4GB")
    usual = limit_of(table.engine)
    release = shoal.anonymize(table, shoal.Mondrian(k=2), seed=1)
    assert limit_of(release.files.engine) == usual
    table.engine.close()
