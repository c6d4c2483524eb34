"""What documents state of insensitive columns is true of what is published, and of no more."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import duckdb
import pandas as pd
import pytest

import shoal
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError
from shoal.report.codebook import DDI_NAMESPACE

N = 24
TEXTS = {
    "wave": ["1", "2", "10"],
    "rate": ["0.5", "1.25", "-3"],
    "seen": ["2020-01-31", "2020-02-29"],
    "smokes": ["true", "false"],
    "zip": ["01067", "10115"],
    "note": ["x", "7"],
    "empty": [""],
}
TYPES = {
    "wave": ColumnType.INTEGER,
    "rate": ColumnType.REAL,
    "seen": ColumnType.DATE,
    "smokes": ColumnType.BOOLEAN,
    "zip": ColumnType.CATEGORICAL,
    "note": ColumnType.CATEGORICAL,
    "empty": ColumnType.CATEGORICAL,
}
STORED = {"wave": "BIGINT", "rate": "DOUBLE", "seen": "DATE", "smokes": "BOOLEAN"}


def schema_of(names=tuple(TEXTS), **given) -> shoal.Schema:
    roles = {"quasi": "age", "sensitive": "disease", "insensitive": list(names)}
    return shoal.Schema(**roles, meant=[list(names)] if names else [], **given)


def csv_file(path, **changed):
    columns = {"age": ["20", "30"], "disease": ["flu", "cold", "gout"], **TEXTS, **changed}
    lines = [",".join(columns)]
    lines += [",".join(one[row % len(one)] for one in columns.values()) for row in range(N)]
    path.write_text("\n".join(lines) + "\n")
    return path


def types_of(release) -> dict[str, ColumnType]:
    return {column.name: column.type for column in release.manifest.columns}


def released(source, schema=None, method=None):
    table = shoal.read(source, schema_of() if schema is None else schema)
    return shoal.anonymize(table, shoal.Anatomy(ell=2) if method is None else method, seed=1)


@pytest.mark.parametrize("method", [shoal.Anatomy(ell=2), shoal.Mondrian(k=2)], ids=repr)
def test_the_types_of_texts_are_read_off_them(tmp_path, method):
    release = released(csv_file(tmp_path / "people.csv"), method=method)
    assert {name: types_of(release)[name] for name in TYPES} == TYPES


def test_codebook_and_ddi_state_these_types(tmp_path):
    release = released(csv_file(tmp_path / "people.csv"))
    folder = release.write(tmp_path / "release")
    codebook = (folder / "codebook.md").read_text()
    for name, kind in TYPES.items():
        assert f"| {name} | insensitive | {kind} | original values |" in codebook
    root = fromstring((folder / "codebook.xml").read_text())
    inside = f"{{{DDI_NAMESPACE}}}"
    formats = {
        one.get("name"): (one.find(f"{inside}varFormat").get("type"), one.get("intrvl"))
        for one in root.iter(f"{inside}var")
    }
    assert formats["wave"] == ("numeric", "discrete")
    assert formats["rate"] == ("numeric", "contin")
    assert {formats[name] for name in ("seen", "smokes", "zip", "note")} == {
        ("character", "discrete")
    }
    assert shoal.verify(folder).holds


def test_parquet_stores_the_types_that_are_stated(tmp_path):
    release = released(csv_file(tmp_path / "people.csv"))
    folder = release.write(tmp_path / "release", format="parquet")
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{folder}/quasi.parquet'").fetchall()
    stored = {row[0]: row[1] for row in described}
    assert {name: stored[name] for name in TYPES} == {
        name: STORED.get(name, "VARCHAR") for name in TYPES
    }
    found = duckdb.sql(f"SELECT DISTINCT wave FROM '{folder}/quasi.parquet' ORDER BY 1").fetchall()
    assert found == [(1,), (2,), (10,)]
    assert shoal.verify(folder).holds


def test_rows_that_are_left_out_do_not_show_in_a_type(tmp_path):
    # Only the row that is left out, the one of age 99, has a wave that is no number.
    path = tmp_path / "people.csv"
    lines = [f"{20 + row % 2},{row % 3},{('flu', 'cold')[row % 2]}" for row in range(N)]
    path.write_text("\n".join(["age,wave,disease", *lines, "99,unknown,flu", ""]))
    method = shoal.FullDomain(k=2, suppress=0.1)
    hierarchy = shoal.Hierarchy.from_rows([[str(age), "*"] for age in (20, 21, 99)])
    schema = schema_of(["wave"], hierarchies={"age": hierarchy})
    release = released(path, schema, method)
    assert release.manifest.n_rows == N
    assert types_of(release)["wave"] is ColumnType.INTEGER


def test_a_declared_type_is_stated_and_has_to_be_true(tmp_path):
    path = csv_file(tmp_path / "people.csv")
    declared = {"wave": "categorical", "note": ["x", "7"]}
    found = types_of(released(path, schema_of(types=declared)))
    assert (found["wave"], found["note"]) == (ColumnType.CATEGORICAL, ColumnType.ORDERED)
    with pytest.raises(DataError, match="Column 'note' is integer, but 1 of its different values"):
        shoal.read(path, schema_of(types={"note": "integer"}))


def test_typed_sources_keep_their_types():
    moments = [pd.Timestamp("2020-01-01 00:00"), pd.Timestamp("2020-01-01 07:00")]
    days = [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")]
    frame = pd.DataFrame(
        {
            "age": [20, 30] * 12,
            "disease": ["flu", "cold", "gout"] * 8,
            "wave": [1, 2] * 12,
            "rate": [0.5, 1.5] * 12,
            "moment": moments * 12,
            "day": days * 12,
            "digits": ["1", "2"] * 12,
        }
    )
    names = ["wave", "rate", "moment", "day", "digits"]
    found = types_of(released(frame, schema_of(names)))
    assert [found[name] for name in names] == [
        ColumnType.INTEGER,
        ColumnType.REAL,
        # A moment of the day is no date.
        ColumnType.CATEGORICAL,
        ColumnType.DATE,
        # Texts of a frame are texts, whatever they look like.
        ColumnType.CATEGORICAL,
    ]
