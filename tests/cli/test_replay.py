"""`shoal replay`: exit codes, what it prints, and what it leaves when it is killed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import shoal

FILES = {"people.csv", "release", "release.internal"}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_process_of_its_own_makes_the_same_files(finish, released, tmp_path, marker):
    code, stdout, stderr = finish("replay", "release.internal/record.json")
    assert (code, stderr) == (0, "")
    assert "identical to the sealed release" in stdout
    assert marker not in stdout
    assert bytes_of(tmp_path / "release-replayed") == bytes_of(tmp_path / "release")
    assert left(tmp_path) == {*FILES, "release-replayed", "release-replayed.internal"}


def test_replay_as_json(run, released, tmp_path):
    result = run("replay", "release.internal", "--to", "again", "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["folder"]) == (0, str(tmp_path / "again"))
    assert set(document["files"].values()) == {"identical"}
    assert document["sealed_folder"] == document["files"]
    error = json.loads(run("replay", "release.internal", "--to", "again", "--json").stdout)["error"]
    assert error["class"] == "ParameterError"


def test_a_changed_table_exits_with_5_and_another_place_is_named(run, released, tmp_path, marker):
    source = tmp_path / "people.csv"
    moved = source.rename(tmp_path / "moved.csv")
    assert run("replay", "release.internal").exit_code == 8
    source.write_text(moved.read_text().replace(",20,", ",21,"))
    result = run("replay", "release.internal")
    assert result.exit_code == 5
    assert "--source" in result.stderr
    assert marker not in result.output
    assert "release-replayed" not in left(tmp_path)
    assert run("replay", "release.internal", "--source", moved).exit_code == 0


def test_a_sealed_folder_that_was_changed_exits_with_7(run, released, tmp_path):
    (tmp_path / "release" / "table.csv").write_text("changed")
    result = run("replay", "release.internal")
    assert result.exit_code == 7
    assert "different" in result.stdout
    assert "was changed since" in result.stderr
    assert shoal.verify(tmp_path / "release-replayed").holds


def test_what_comes_out_otherwise_exits_with_7_and_is_not_left(run, released, tmp_path):
    path = tmp_path / "release.internal" / "record.json"
    stated = json.loads(path.read_text())
    stated["secret"] = "0" * 64
    stated["replay"]["files"]["table.csv"] = "0" * 64
    path.write_text(json.dumps(stated))
    result = run("replay", "release.internal")
    assert result.exit_code == 7
    assert "table.csv" in result.stdout
    assert "Nothing was written" in result.stderr
    details = json.loads(run("replay", "release.internal", "--json").stdout)
    assert details["error"]["files"]["table.csv"] == "different"
    assert left(tmp_path) == FILES


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
def test_killed_in_the_middle_leaves_nothing_half_written(process, finish, released, tmp_path):
    before = bytes_of(tmp_path / "release")
    for moment in (".release-replayed.lock", ".release-replayed.new-*"):
        started = process("replay", "release.internal")
        while not any(tmp_path.glob(moment)) and started.poll() is None:
            time.sleep(0.002)
        started.kill()
        started.communicate()
        standing = tmp_path / "release-replayed"
        # Killed too late, it is whole.
        assert not standing.exists() or bytes_of(standing) == before
    code, _, stderr = finish("replay", "release.internal")
    assert code == 0 or "replaces nothing" in stderr
    assert bytes_of(tmp_path / "release-replayed") == bytes_of(tmp_path / "release") == before
    assert left(tmp_path) == {*FILES, "release-replayed", "release-replayed.internal"}
