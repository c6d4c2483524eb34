"""A source that changes while it is read is noticed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shoal.core.errors import DataError, EngineError
from shoal.engines.files import WatchedFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n1,f\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "people"
    path.mkdir()
    for name in ("a.parquet", "b.parquet", "notes.txt"):
        (path / name).write_text(name)
    return path


def test_a_file_that_is_only_read_passes(file: Path, folder: Path) -> None:
    for path in (file, folder):
        watched = WatchedFile(path)
        with watched.unchanged():
            file.read_text()
        watched.check()


def test_a_change_of_equal_length_at_once_is_noticed(file: Path) -> None:
    watched = WatchedFile(file)
    file.write_text("age,sex\n2,f\n")
    with pytest.raises(DataError, match=r"people\.csv changed while it was read"):
        watched.check()


def test_another_file_in_its_place_is_noticed(file: Path, tmp_path: Path) -> None:
    watched = WatchedFile(file)
    shutil.copy2(file, tmp_path / "copy")
    (tmp_path / "copy").replace(file)
    with pytest.raises(DataError, match="changed"):
        watched.check()


def test_a_file_that_vanishes_is_noticed(file: Path) -> None:
    watched = WatchedFile(file)
    file.unlink()
    with pytest.raises(DataError, match=r"people\.csv vanished"):
        watched.check()


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.parquet").write_text("other"),
        lambda folder: (folder / "a.parquet").unlink(),
        lambda folder: (folder / "c.parquet").write_text(""),
        lambda folder: os.truncate(folder / "b.parquet", 1),
    ],
)
def test_a_change_within_a_folder_is_noticed(folder: Path, change) -> None:
    watched = WatchedFile(folder)
    change(folder)
    with pytest.raises(DataError, match="people changed"):
        watched.check()


def test_other_files_of_a_folder_do_not_matter(folder: Path) -> None:
    watched = WatchedFile(folder)
    (folder / "notes.txt").write_text("other")
    watched.check()


def test_a_change_explains_an_error_of_the_engine(file: Path) -> None:
    refused = EngineError("DuckDB refused.")
    watched = WatchedFile(file)
    with pytest.raises(EngineError), watched.unchanged():
        raise refused
    file.unlink()
    with pytest.raises(DataError, match="vanished"), watched.unchanged():
        raise refused
