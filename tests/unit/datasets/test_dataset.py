from __future__ import annotations

import csv
import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

from shoal.core.errors import DataError, EngineError, SchemaError
from shoal.core.schema import Schema
from shoal.datasets import Dataset, Encoded

SCHEMA = Schema(quasi=["text", "number", "real", "code"])


@pytest.fixture
def mixed() -> Dataset:
    return Dataset(
        "mixed",
        {
            "text": ["plain", "", None, 'with "quotes", and\nlines'],
            "number": [1, -2, 3, 4],
            "real": [0.5, float("nan"), 1e-9, 2.0],
            "code": Encoded(np.array([1, 0, -1, 1]), ("", "a;b")),
        },
        SCHEMA,
    )


def test_columns_become_arrays_of_their_kind(mixed):
    kinds = {
        column: "codes" if isinstance(values, Encoded) else values.dtype
        for column, values in mixed.columns.items()
    }
    assert kinds == {"text": object, "number": np.int64, "real": np.float64, "code": "codes"}
    assert mixed.n_rows == 4


def test_plain_values_have_none_where_one_is_missing(mixed):
    assert mixed.to_dict() == {
        "text": ["plain", "", None, 'with "quotes", and\nlines'],
        "number": [1, -2, 3, 4],
        "real": [0.5, None, 1e-9, 2.0],
        "code": ["a;b", "", None, "a;b"],
    }


def test_csv_tells_a_missing_value_from_the_empty_string(mixed, tmp_path):
    path = tmp_path / "mixed.csv"
    mixed.to_csv(path)
    assert path.read_text(encoding="utf-8") == (
        "text,number,real,code\n"
        "plain,1,0.5,a;b\n"
        '"",-2,,""\n'
        ",3,1e-09,\n"
        '"with ""quotes"", and\nlines",4,2.0,a;b\n'
    )


def test_csv_reads_back_as_it_was(mixed, tmp_path):
    path = tmp_path / "mixed.csv"
    mixed.to_csv(path)
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == list(mixed.columns)
    written = [
        ["" if value is None else str(value) for value in row]
        for row in zip(*mixed.to_dict().values(), strict=True)
    ]
    assert rows == written


def test_csv_replaces_a_file_and_leaves_nothing_beside_it(mixed, tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("old", encoding="utf-8")
    mixed.to_csv(path)
    assert path.read_text(encoding="utf-8").startswith("text,")
    assert list(tmp_path.iterdir()) == [path]


def test_csv_that_fails_leaves_the_old_file(mixed, tmp_path, monkeypatch):
    path = tmp_path / "mixed.csv"
    path.write_text("old", encoding="utf-8")

    def refuse(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(EngineError, match="No space left"):
        mixed.to_csv(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_csv_into_a_folder_that_is_not_there_is_refused(mixed, tmp_path):
    with pytest.raises(EngineError, match="could not be written"):
        mixed.to_csv(tmp_path / "absent" / "mixed.csv")


def test_take_gives_the_rows_in_the_order_asked_for(mixed):
    taken = mixed.take([3, 0])
    assert taken.to_dict()["number"] == [4, 1]
    assert taken.to_dict()["code"] == ["a;b", "a;b"]
    assert mixed.take(np.array([False, True, False, False])).to_dict()["text"] == [""]
    assert mixed.take([]).n_rows == 0


def test_a_dataset_of_no_rows_writes_its_header(mixed, tmp_path):
    path = tmp_path / "empty.csv"
    mixed.take([]).to_csv(path)
    assert path.read_text(encoding="utf-8") == "text,number,real,code\n"


def test_repr_shows_shape_and_no_value(mixed):
    assert repr(mixed) == "Dataset('mixed', 4 rows, 4 columns: 4 quasi-identifying)"
    assert repr(mixed.columns["code"]) == "Encoded(4 rows, 2 labels)"


def test_columns_of_different_length_are_refused():
    with pytest.raises(DataError, match="2 different lengths"):
        Dataset("bad", {"a": [1], "b": [1, 2]}, Schema(quasi=["a", "b"]))


def test_values_of_other_kinds_are_refused_without_showing_them():
    with pytest.raises(DataError, match="neither integers, reals nor texts") as error:
        Dataset("bad", {"a": ["secret", 3]}, Schema(quasi=["a"]))
    assert "secret" not in str(error.value)


def test_columns_and_roles_must_agree():
    with pytest.raises(SchemaError, match="without a role"):
        Dataset("bad", {"a": [1], "b": [1]}, Schema(quasi=["a"]))


def test_columns_cannot_be_exchanged(mixed):
    with pytest.raises(TypeError):
        mixed.columns["text"] = np.array([])


def test_functions_stand_where_submodules_of_their_name_are_imported():
    code = (
        "import shoal.datasets.synthetic, shoal.datasets.adult\n"
        "from shoal.datasets import adult, census, zipf\n"
        "assert all(map(callable, (adult, census, zipf)))"
    )
    run([sys.executable, "-c", code], check=True)
