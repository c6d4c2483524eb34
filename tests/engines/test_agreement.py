"""Every engine publishes the same bytes: what differs is only who does the work."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.schema import Schema
from shoal.core.shapes import Shape
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.columns import whole_row
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.survey import texts_in_source
from shoal.engines.sql.table import EngineTable

N_ROWS = 240
METHODS = {
    "anatomy published": shoal.Anatomy(ell=3),
    "anatomy ring": shoal.Anatomy(ell=3, draw="ring"),
    "mask bucketized": shoal.Mask(m=2, k=4, protect=["flu", "x"], publish="bucketized"),
    "mask generalized": shoal.Mask(m=2, k=4, protect=["flu", None]),
    "mondrian generalized": shoal.Mondrian(k=4),
    "mondrian bucketized": shoal.Mondrian(k=4, ell=2, publish="bucketized"),
    "mondrian relaxed": shoal.Mondrian(k=4, cuts="relaxed"),
}
SLICINGS = {
    "strict": shoal.Slicing(
        ell=2, columns=[["age", "höhe", "born"], ["place."], ["smokes", "disease"]]
    ),
    "relaxed": shoal.Slicing(ell=2, columns="bucketized", cuts="relaxed"),
    "random": shoal.Slicing(ell=1, columns="one_each", buckets="random", bucket_size=20),
    "overlapping": shoal.Slicing(
        ell=1, columns=[["age", "born", "smokes"], ["place.", "höhe", "smokes"], ["disease"]],
        overlap=True, bucket_size=10,
    ),
    "generalized": shoal.Slicing(ell=2, columns="one_each", min_frequency=15),
}  # fmt: skip


def people():
    """Draw rows of every type, some missing, some equal in all columns."""
    generator = np.random.default_rng(12)

    def drawn(values, kind=None):
        return pa.array([values[i] for i in generator.integers(0, len(values), N_ROWS)], kind)

    table = pa.table(
        {
            "no": pa.array([f"ü{i}" for i in generator.permutation(N_ROWS)]),
            "age": drawn([None, *range(20, 40)], pa.int32()),
            "höhe": drawn([None, 0.1, 1e-7, 1e20, -0.0, 0.0, 123456789.125, 2e-3, 1 / 3, 1e16]),
            "born": drawn([None, dt.date(1, 1, 1), dt.date(1899, 12, 31), dt.date(2024, 2, 29)]),
            "place.": drawn(["Köln", "", "🐟", 'say "hi"', "a,b", None, "line\nbreak", "01"]),
            "smokes": drawn([True, False, None]),
            "noted": drawn([dt.datetime(2020, 1, 1, 12, 0, 0, 5), None]),  # noqa: DTZ001
            "paid": drawn([0.0, -0.0, None, 2.5, 1e22]),
            "disease": drawn(["flu", "Fieber", "x", None, "cold", "gout"]),
        }
    )
    return pa.concat_tables([table, table.slice(0, 20)])


def staged(engine, key, insensitive=("noted", "paid")):
    """Stage the people by key, or, where they have none, by what is in the whole row."""
    columns = people() if key is None else people().slice(0, N_ROWS)
    scan = replace(engine.scan(columns), line=None)
    schema = Schema(
        quasi=["age", "höhe", "born", "place.", "smokes"], sensitive="disease",
        insensitive=insensitive, key=key, meant=[insensitive],
        identifying=[column for column in ("no", "noted", "paid") if column not in insensitive],
    )  # fmt: skip
    return EngineTable(engine, scan, schema)


def published(table, method, folder):
    """Publish the people; give the bytes of every data file and the place of every row."""
    release = shoal.anonymize(table, method, seed=5)
    release.write(folder, accept_risk="a test")
    files = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
    reader = DuckDB()
    path = folder.with_name(folder.name + ".internal") / "placement.parquet"
    fetched = reader.rows(f"SELECT * FROM '{path}' ORDER BY row_key")
    reader.close()
    return files, list(zip(*(array.tolist() for array in fetched.values()), strict=True))


# What a row without a key is ranked by does not depend on the method.
@pytest.mark.parametrize(
    ("method", "key"),
    [
        *(pytest.param(method, "no", id=f"{method} by key") for method in METHODS),
        *(
            pytest.param(method, None, id=f"{method} by content")
            for method in ("anatomy published", "mondrian generalized")
        ),
    ],
)
def test_every_engine_publishes_the_same_bytes(engine, embedded, tmp_path, method, key):
    made = METHODS[method]
    files, placed = published(staged(embedded, key), made, tmp_path / "expected")
    found_files, found_placed = published(staged(engine, key), made, tmp_path / "found")
    assert len(files) == (1 if made.shape is Shape.GENERALIZED else 2)
    assert found_placed == placed
    assert found_files == files


LEVELLED = {
    "anatomy": shoal.Anatomy(ell=2),
    "mondrian": shoal.Mondrian(k=4, ell=2, publish="bucketized"),
    "slicing": shoal.Slicing(ell=2, columns="bucketized"),
}


@pytest.mark.parametrize("column", ["höhe", "born", "age"])
@pytest.mark.parametrize("method", LEVELLED)
def test_every_engine_protects_the_same_levels(engine, embedded, tmp_path, method, column):
    bounds = {"höhe": [0, "0.1", 1e9], "born": ["1900-01-01"], "age": [25, 30, 35]}[column]

    def staged_at_levels(made):
        others = [one for one in ("age", "höhe", "born", "smokes") if one != column]
        schema = Schema(
            quasi=others, sensitive=column, levels={column: {"intervals": bounds}}, key="no",
            identifying=["place.", "noted", "paid", "disease"],
        )  # fmt: skip
        scan = replace(made.scan(people().slice(0, N_ROWS)), line=None)
        return EngineTable(made, scan, schema)

    one, other = staged_at_levels(embedded), staged_at_levels(engine)
    assert one.levels == other.levels
    files, placed = published(one, LEVELLED[method], tmp_path / "expected")
    found_files, found_placed = published(other, LEVELLED[method], tmp_path / "found")
    assert found_placed == placed
    assert found_files == files


@pytest.mark.parametrize("method", SLICINGS)
def test_every_engine_slices_to_the_same_bytes(engine, embedded, tmp_path, method):
    made = SLICINGS[method]
    files, placed = published(staged(embedded, "no", ()), made, tmp_path / "expected")
    found_files, found_placed = published(staged(engine, "no", ()), made, tmp_path / "found")
    assert {"column_1.csv", "column_2.csv", "sliced.csv"} <= set(files)
    assert found_placed == placed
    assert found_files == files


@pytest.mark.parametrize("method", [name for name in METHODS if name.startswith("mask")])
def test_some_values_are_distorted_here(embedded, method):
    release = shoal.anonymize(staged(embedded, "no"), METHODS[method], seed=5)
    assert release.making.plan.notes["values distorted"] > 0


def test_the_whole_row_has_one_hash_on_every_engine(engine, embedded):
    hashes = []
    for made in (embedded, engine):
        scan = made.scan(people())
        hashed = made.hash(whole_row(made, scan))
        number = made.hash_number(whole_row(made, scan))
        found = made.rows(f"SELECT {hashed} AS h, {number} AS n FROM {scan.relation}")
        assert [int(h[:15], 16) for h in found["h"]] == found["n"].tolist()
        hashes.append(sorted(found["h"].tolist()))
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == N_ROWS


def drawn_reals():
    generator = np.random.default_rng(3)
    bits = generator.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64)
    return np.concatenate(
        [
            bits[np.isfinite(bits)],
            10.0 ** np.arange(-323, 309),
            # Of which DuckDB's own cast writes some as twice what they are.
            2.0 ** np.arange(-1074, 1024),
            np.arange(1, 300, dtype=np.int64).view(np.float64),
            generator.integers(-(2**53), 2**53, 1000).astype(float),
            generator.random(1000) * 10.0 ** generator.integers(-6, 18, 1000),
            [0.0, -0.0, 1e7, 1e-3, 1e-4, 9.999e-5, 2e-3, 2e23, 1e16, 1e15, 5e-324],
        ]
    )


def test_reals_are_written_as_python_writes_them(engine):
    numbers = drawn_reals()
    scan = engine.scan({"place": np.arange(len(numbers)), "a": numbers})
    text = engine.text(engine.quote("a"), scan.types["a"])
    engine.stage("written", f"SELECT place, {text} AS v FROM {scan.relation}")
    found = engine.rows("SELECT v FROM written ORDER BY place")["v"]
    engine.drop("written")
    assert texts_of(found) == [repr(number + 0.0) for number in numbers.tolist()]


def test_short_reals_have_the_fewest_digits(engine):
    generator = np.random.default_rng(4)
    bits = generator.integers(0, 2**32, 3000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    numbers = np.concatenate(
        [
            bits[np.isfinite(bits)],
            np.round(generator.random(3000) * 1e4, 2),
            10.0 ** np.arange(-37, 38),
            2.0 ** np.arange(-149, 128),
            [0.1, -0.0, 1e-45, 3e-45, 16777216],
        ]
    ).astype(np.float32)
    scan = engine.scan(pa.table({"place": np.arange(len(numbers)), "a": numbers}))
    assert scan.types["a"] in ("FLOAT", "REAL")
    text = engine.text(engine.quote("a"), scan.types["a"])
    engine.stage("written", f"SELECT place, {text} AS v FROM {scan.relation}")
    found = engine.rows("SELECT v FROM written ORDER BY place")["v"]
    engine.drop("written")
    assert texts_of(found) == [repr(float(str(number + 0))) for number in numbers]


def test_texts_are_looked_up_in_columns_that_are_not_staged(engine):
    columns = {
        "name": ["Ann Lee", " BO ", None, "Łódź", 'it\'s; -- "x"'],
        "number": [1234567, 2, 3, 4, None],
    }
    scan = engine.scan(columns)
    asked = {"ann lee", "bo", "Łódź", 'it\'s; -- "x"', "1234567", "ann", ""}
    found = texts_in_source(engine, scan, ["name", "number"], asked)
    assert found == asked - {"ann", ""}
    assert texts_in_source(engine, scan, ["number"], asked) == {"1234567"}
    assert texts_in_source(engine, scan, [], asked) == frozenset()
