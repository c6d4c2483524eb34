"""The SQL files that a release carries, run as a reader would run them."""

from __future__ import annotations

import shutil
import subprocess

import duckdb
import numpy as np
import pytest

import shoal
from shoal.analyse import Analyst
from shoal.core.domain import ColumnType, Role
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.shapes import Shape
from shoal.release.documents import DUCKDB_VIEWS, POSTGRES_VIEWS, view_files

LONG = "long " * 13 + "ü"
"""Of more than 63 bytes: Postgres cuts it, within a character."""
HOSTILE = ['say "so"; --', "select", "line\nbreak", "it's", "Weight", "rows", "n", LONG]


def hostile_columns(n_rows=40):
    """Make columns with names and values that a careless statement would trip over."""
    generator = np.random.default_rng(5)
    values = ["", "a'b", 'c"d', "x,y\nz", "NULL", None]
    columns = {"age": generator.integers(20, 25, n_rows).tolist()}
    columns |= {
        name: [values[code] for code in generator.integers(0, len(values), n_rows)]
        for name in HOSTILE
    }
    columns["disease"] = [f"d{code}" for code in generator.integers(0, 5, n_rows)]
    return columns


TYPES = {"age": "integer"} | dict.fromkeys([*HOSTILE, "disease"], "categorical")


def bucketized(columns):
    roles = {"quasi": ["age", *HOSTILE[1:]], "insensitive": HOSTILE[:1], "sensitive": "disease"}
    table = shoal.read(columns, shoal.Schema(**roles, types=TYPES))
    return shoal.anonymize(table, shoal.Anatomy(ell=2), seed=3)


def sliced(columns, *slices, overlap=False):
    roles = {"quasi": ["age", *HOSTILE], "sensitive": "disease"}
    table = shoal.read(columns, shoal.Schema(**roles, types=TYPES))
    method = shoal.Slicing(ell=1, columns=slices, buckets="random", bucket_size=8, overlap=overlap)
    return shoal.anonymize(table, method, seed=3)


RELEASES = {
    "bucketized": bucketized,
    "two columns": lambda columns: sliced(
        columns, ["age", *HOSTILE[:4]], [*HOSTILE[4:], "disease"]
    ),
    "three columns": lambda columns: sliced(
        columns, ["age", *HOSTILE[:2]], HOSTILE[2:], ["disease"]
    ),
    "shared by both": lambda columns: sliced(
        columns, ["age", *HOSTILE], [HOSTILE[2], "disease"], overlap=True
    ),
    "shared by some": lambda columns: sliced(
        columns, ["age", *HOSTILE[:3]], HOSTILE[2:], ["disease"], overlap=True
    ),
}

# By attribute, in Python and in SQL.
CONDITIONS = {
    "age": ((21, 24), '"age" >= 21 AND "age" < 24'),
    "select": (["", None], '("select" = \'\' OR "select" IS NULL)'),
    "line\nbreak": ("x,y\nz", "\"line\nbreak\" = 'x,y\nz'"),
    LONG: (["a'b", "NULL"], f"\"{LONG}\" IN ('a''b', 'NULL')"),
    "Weight": ('c"d', '"Weight" = \'c"d\''),
    "disease": (["d0", "d3"], "\"disease\" IN ('d0', 'd3')"),
}
ASKED = [
    ["age"],
    ["age", "disease"],
    ["select", LONG],
    ["line\nbreak", "disease"],
    ["Weight", "age"],
]


def compare(analyst, text, execute):
    """Compare counts, sums and standard errors with what the Python kit answers."""
    for names in ASKED:
        where = {name: CONDITIONS[name][0] for name in names}
        condition = " AND ".join(CONDITIONS[name][1] for name in names)
        # An attribute is called Weight.
        query = f'SELECT sum("weight_"), sum("weight_" * "age") FROM "expected" WHERE {condition}'
        counted, total = execute(query)
        assert (counted or 0) == pytest.approx(analyst.count(where).value, abs=1e-9)
        assert (total or 0) == pytest.approx(analyst.sum("age", where).value, abs=1e-9)
    if len(analyst_columns(text)) == 2:
        expected, error = execute(commented_query(text))
        estimate = analyst.count({"age": (21, 24), "disease": ["d0", "d3"]})
        assert estimate.standard_error > 0
        assert (expected, error) == pytest.approx((estimate.value, estimate.standard_error))


def analyst_columns(text):
    return [at for at in (1, 2, 3) if f"held_{at} AS" in text]


def commented_query(text):
    """Take the query for the standard error out of its comment, with conditions in place."""
    lines = text[text.index("-- How sure") :].splitlines()[2:]
    query = "\n".join(line.removeprefix("--").removeprefix(" ") for line in lines)
    for name in ("age", "disease"):
        query = query.replace("(TRUE)", f"({CONDITIONS[name][1]})", 1)
    return query


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", RELEASES)
def test_duckdb_runs_the_file_and_gives_what_python_gives(kind, ending, tmp_path, monkeypatch):
    release = RELEASES[kind](hostile_columns())
    release.write(tmp_path / "release", ending)
    monkeypatch.chdir(tmp_path / "release")
    text = (tmp_path / "release" / DUCKDB_VIEWS).read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.execute(text)
        analyst = Analyst(shoal.open_release(tmp_path / "release"))
        compare(analyst, text, lambda query: connection.execute(query).fetchone())


@pytest.mark.parametrize("kind", RELEASES)
def test_psql_runs_the_file_and_gives_what_python_gives(kind, tmp_path, postgres_server):
    program = shutil.which("psql")
    if program is None:
        pytest.skip("psql is not there")
    import psycopg

    RELEASES[kind](hostile_columns()).write(tmp_path / "release")
    with psycopg.connect(postgres_server.address(), autocommit=True) as connection:
        schema = f"views_{tmp_path.name}"
        connection.execute(f'CREATE SCHEMA "{schema}"')
        subprocess.run(
            [
                program,
                "-v",
                "ON_ERROR_STOP=1",
                "-q",
                "-f",
                POSTGRES_VIEWS,
                postgres_server.address(),
            ],
            cwd=tmp_path / "release",
            env={"PGOPTIONS": f'-c search_path="{schema}" -c client_min_messages=warning'},
            check=True,
        )
        connection.execute(f'SET search_path TO "{schema}"')
        text = (tmp_path / "release" / POSTGRES_VIEWS).read_text(encoding="utf-8")
        analyst = Analyst(shoal.open_release(tmp_path / "release"))
        compare(analyst, text, lambda query: connection.execute(query).fetchone())
        connection.execute(f'DROP SCHEMA "{schema}" CASCADE')


def test_a_release_in_a_database_has_its_views(tmp_path, postgres_server):
    import psycopg

    columns = {"age": [20, 20, 30, 30] * 5, "weight": [1, 2] * 10, "ill": ["a", "b", "c", "d"] * 5}
    table = shoal.read(columns, shoal.Schema(quasi=["age", "weight"], sensitive="ill"))
    method = shoal.Slicing(ell=2, columns=[["age"], ["weight"], ["ill"]])
    release = shoal.anonymize(table, method)
    release.write(tmp_path / "people", "parquet")
    address = postgres_server.address()
    for _ in range(2):
        exported = shoal.export_release(tmp_path / "people", address, replace=True)
        assert exported.views == tuple(
            f"people_expected{pair}" for pair in ("", "_1_2", "_1_3", "_2_3")
        )
    expected = Analyst(release).count({"age": 20, "weight": 1, "ill": "a"}).value
    with psycopg.connect(address) as connection:
        query = 'SELECT sum("weight_") FROM people_expected WHERE age = 20 AND weight = 1'
        found = connection.execute(f"{query} AND ill = 'a'").fetchone()[0]
    assert found == pytest.approx(expected)


def test_the_files_say_nothing_of_the_rows(tmp_path):
    """Two releases of different rows under the same names have the same views."""
    texts = []
    for number, rows in enumerate((20, 40)):
        release = RELEASES["three columns"](hostile_columns(rows))
        release.write(tmp_path / f"release_{number}")
        folder = tmp_path / f"release_{number}"
        texts.append([(folder / name).read_bytes() for name in (DUCKDB_VIEWS, POSTGRES_VIEWS)])
    assert texts[0] == texts[1]


def test_a_changed_view_fails_verification(tmp_path):
    RELEASES["two columns"](hostile_columns()).write(tmp_path / "release")
    assert shoal.verify(tmp_path / "release").holds
    with (tmp_path / "release" / DUCKDB_VIEWS).open("a") as file:
        file.write("DROP TABLE people;\n")
    problems = shoal.verify(tmp_path / "release").problems
    assert any(DUCKDB_VIEWS in problem and "changed" in problem for problem in problems)


def manifest_of(shape, names, slices=()):
    columns = tuple(PublishedColumn(name, Role.QUASI, ColumnType.CATEGORICAL) for name in names)
    return Manifest(
        shape=shape, method="slicing", parameters={}, guarantees=(), columns=columns, n_rows=1,
        n_buckets=1, slices=tuple(slices),
    )  # fmt: skip


def test_a_release_whose_lines_are_people_has_no_views():
    assert view_files(manifest_of(Shape.GENERALIZED, ["age"])) == {}


def test_names_that_postgres_would_confuse_leave_its_file_out():
    names = ["x" * 63 + "1", "x" * 63 + "2"]
    files = view_files(manifest_of(Shape.SLICED, names, [names[:1], names[1:]]))
    assert list(files) == [DUCKDB_VIEWS]
    short = ["x" * 62 + "1", "x" * 62 + "2"]
    assert POSTGRES_VIEWS in view_files(manifest_of(Shape.SLICED, short, [short[:1], short[1:]]))


def test_many_columns_have_no_view_of_each_pair():
    names = [f"a{number}" for number in range(13)]
    text = view_files(manifest_of(Shape.SLICED, names, [[name] for name in names]))[DUCKDB_VIEWS]
    assert "expected_1_2" not in text
    assert "too many columns" in text
    fewer = view_files(manifest_of(Shape.SLICED, names[:12], [[name] for name in names[:12]]))
    assert fewer[DUCKDB_VIEWS].count("CREATE OR REPLACE VIEW") == 12 + 1 + 1 + 66


def test_a_pair_that_a_third_column_links_has_no_view():
    slices = [["a", "s"], ["s", "t"], ["t", "b"]]
    text = view_files(manifest_of(Shape.SLICED, ["a", "s", "t", "b"], slices))[DUCKDB_VIEWS]
    assert "expected_1_2" in text
    assert "expected_2_3" in text
    assert "expected_1_3" not in text
