"""Folders that somebody made to pass, to burst, or to trip whoever verifies them."""

from __future__ import annotations

import duckdb
import pytest
from tampering import state, stated_in

import shoal
from shoal.core.errors import DataError
from shoal.core.guarantees import KAnonymity
from shoal.release.verify import Status, verify_file


@pytest.fixture
def release(tmp_path):
    columns = {"age": [20 + i % 4 for i in range(40)], "s": [i % 5 for i in range(40)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="s"))
    return shoal.anonymize(table, shoal.Anatomy(ell=2)).write(tmp_path / "release")


def reseal(folder):
    """Do what whoever changes a file can do too: state its digest."""
    stated = stated_in(folder)
    stated["files"] = {
        path.relative_to(folder).as_posix(): ""
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    state(folder, stated)


def test_a_line_that_the_reader_would_pass_over_is_found(release):
    with (release / "quasi.csv").open("ab") as file:
        file.write(b"1," + b"x" * 33_000_000 + b"\n")
    reseal(release)
    assert shoal.verify(release).status is Status.FAILED


def test_labels_that_are_nested_too_deep_are_a_fault(release):
    (release / "labels.json").write_text("[" * 200_000)
    reseal(release)
    assert shoal.verify(release).status is Status.FAILED


def test_a_folder_that_is_not_stated_is_not_gone_into(release):
    # However deep it is: somebody may have made it so deep that going through it fails.
    (release / "d" / "d" / "d").mkdir(parents=True)
    found = shoal.verify(release)
    assert found.status is Status.FAILED
    assert found.problems == ("d is not in the manifest",)


def test_numbers_that_duckdb_writes_alike_are_still_two(tmp_path):
    path = tmp_path / "table.parquet"
    numbers = f"[{2.0**81!r}::DOUBLE, {2.0**82!r}::DOUBLE]"
    duckdb.sql(f"COPY (SELECT unnest({numbers}) AS w) TO '{path}'")
    assert verify_file(path, quasi=["w"], guarantees=[KAnonymity(k=2)]).status is Status.FAILED


def test_such_numbers_are_published_as_they_are(tmp_path):
    columns = {"age": ["x", "y"] * 4, "s": [2.0**81, 2.0**82] * 4}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="s"))
    folder = shoal.anonymize(table, shoal.Anatomy(ell=2)).write(tmp_path / "release", "parquet")
    opened = shoal.open_release(folder)
    assert opened.published.buckets.domain.numbers.tolist() == [2.0**81, 2.0**82]


def test_findings_are_not_written_beside_another_release(tmp_path, release):
    opened = shoal.open_release(release)
    assert opened.published.n_buckets
    columns = {"age": [20 + i % 4 for i in range(40)], "s": [i % 5 for i in range(40)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="s"))
    shoal.anonymize(table, shoal.Anatomy(ell=2)).write(release, replace=True)
    with pytest.raises(DataError, match="replaced"):
        shoal.attack(opened)


def test_an_error_while_converting_shows_no_value(release):
    lines = (release / "sensitive.csv").read_text().splitlines()
    bucket, _, count = lines[1].split(",")
    lines[1] = f"{bucket},SECRETVALUE,{count}"
    (release / "sensitive.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(shoal.errors.ShoalError) as caught:
        shoal.open_release(release).to_pandas("sensitive")
    assert "SECRETVALUE" not in str(caught.value)
    assert caught.value.__suppress_context__
