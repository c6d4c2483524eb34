"""Anonymizing: what is refused, and what is kept."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path

import pytest

import shoal

ODD_TEXTS = [
    'a "quoted" one',
    "a, comma",
    "a\nnewline",
    "a;semicolon",
    "=cmd()",
    "😀 emoji",
    "007",
    " spaces ",
    "",
    None,
    "{a, b}",
    "missing",
]


@pytest.mark.parametrize("method", [shoal.Anatomy(ell=2), shoal.Mondrian(k=2, ell=2)])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_odd_values_are_published_as_they_are(
    method: shoal.methods.Anatomy, format: str, tmp_path: Path
) -> None:
    columns = {
        "code": [text for text in ODD_TEXTS for _ in range(2)],
        "note": ODD_TEXTS * 2,
        "disease": [text for text in ODD_TEXTS[:6] for _ in range(4)],
    }
    schema = shoal.Schema(
        quasi="code", insensitive="note", sensitive="disease", nearly_unique="note"
    )
    release = shoal.anonymize(shoal.read(columns, schema), method)
    opened = shoal.open_release(release.write(tmp_path / "release", format=format))
    if opened.names == ("table",):
        frame = opened.to_arrow("table").to_pydict()
        assert Counter(frame["disease"]) == Counter(columns["disease"])
    else:
        frame = opened.to_arrow("quasi").to_pydict()
        assert Counter(frame["code"]) == Counter(columns["code"])
        values = opened.to_arrow("sensitive").to_pydict()
        counted: Counter[str | None] = Counter()
        for value, count in zip(values["disease"], values["count"], strict=True):
            counted[value] += count
        assert counted == Counter(columns["disease"])
    assert Counter(frame["note"]) == Counter(columns["note"])


def test_types_survive_in_parquet(tmp_path: Path) -> None:
    columns = {
        "age": [20, 30, 40, 50],
        "weight": [50.5, 60.25, 70.0, 80.125],
        "born": [datetime.date(1850 + i, 1, 31) for i in range(4)],
        "smokes": [True, False, None, True],
        "disease": ["flu", "cold", "flu", "cold"],
    }
    schema = shoal.Schema(quasi=["age", "weight", "born", "smokes"], sensitive="disease")
    release = shoal.anonymize(shoal.read(columns, schema), shoal.Anatomy(ell=2))
    frame = shoal.open_release(release.write(tmp_path / "r", format="parquet")).to_arrow("quasi")
    for name in ("age", "weight", "born"):
        assert sorted(frame[name].to_pylist()) == columns[name]
    assert Counter(frame["smokes"].to_pylist()) == Counter(columns["smokes"])


def test_several_rows_a_person_are_refused() -> None:
    columns = {"who": ["a", "a", "b", "c"], "age": [1, 1, 2, 3], "d": ["x", "y", "x", "y"]}
    schema = shoal.Schema(quasi="age", sensitive="d", person="who")
    with pytest.raises(shoal.errors.DataError, match="4 rows belong to 3 people"):
        shoal.anonymize(shoal.read(columns, schema), shoal.Anatomy(ell=2))


def test_a_column_named_bucket_is_refused_where_it_would_collide() -> None:
    columns = {"Bucket": [1, 2, 3, 4], "d": ["x", "y", "x", "y"]}
    table = shoal.read(columns, shoal.Schema(quasi="Bucket", sensitive="d"))
    with pytest.raises(shoal.errors.SchemaError, match="bucket"):
        shoal.anonymize(table, shoal.Anatomy(ell=2))


def test_a_column_named_count_is_refused_only_where_it_would_collide() -> None:
    columns = {"age": [1, 2, 3, 4], "count": ["x", "y", "x", "y"]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="count"))
    with pytest.raises(shoal.errors.SchemaError, match="count"):
        shoal.anonymize(table, shoal.Anatomy(ell=2))
    assert shoal.anonymize(table, shoal.Mondrian(k=2)).manifest.n_rows == 4


def test_rare_values_are_not_named_in_labels_or_codebook(tmp_path: Path) -> None:
    columns = {
        "city": ["Paris"] * 10 + ["Rome"] * 10 + ["Atlantis"],
        "d": ["x", "y", "z"] * 7,
    }
    for hierarchies in ({}, {"city": shoal.Hierarchy.flat()}):
        schema = shoal.Schema(quasi="city", sensitive="d", hierarchies=hierarchies)
        release = shoal.anonymize(shoal.read(columns, schema), shoal.Mondrian(k=5, ell=2))
        folder = release.write(tmp_path / f"release{len(hierarchies)}")
        for path in folder.rglob("*"):
            assert path.is_dir() or b"Atlantis" not in path.read_bytes()


def test_the_order_of_the_table_is_lost() -> None:
    n = 400
    columns = {"age": list(range(n)), "d": [f"v{i % 7}" for i in range(n)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="d"))
    release = shoal.anonymize(table, shoal.Anatomy(ell=3))
    frame = release.to_arrow("quasi").to_pydict()
    assert frame["bucket"] == sorted(frame["bucket"])
    assert frame["age"] != sorted(frame["age"])


def test_buckets_are_numbered_afresh_each_time() -> None:
    columns = {"age": list(range(200)), "d": [f"v{i % 4}" for i in range(200)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="d"))
    method = shoal.Mondrian(ell=2, publish="bucketized")
    seen = {
        tuple(shoal.anonymize(table, method).to_arrow("quasi")["age"].to_pylist()) for _ in range(3)
    }
    assert len(seen) == 3
