"""What is written is what was planned, and nothing else can be read from it."""

from __future__ import annotations

import csv
import itertools
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Role
from shoal.core.log import internal_log
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.plan import Blank, Label, Plan, Recode, Segments
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.apply import apply_plan
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.layout import published_queries
from shoal.engines.sql.published_files import PublishedFiles, open_files
from shoal.engines.sql.table import EngineTable

HARD = [
    "plain", "", " spaces ", "comma, and", "semi;colon", 'a "quote"', "'single'", "line\nbreak",
    "carriage\r\nreturn", "\rlone", "tab\there", "=cmd|' /C calc'!A0", "+1", "-1", "@x", "007",
    "1e5", "NULL", "null", "NaN", "\\N", "\\", "🐟🐠", "Łódź", "e\u0301", "\u2028", "\ufeffmark",
    "#comment", "true", "2020-01-01", "a|b", "''", '""', '"', ",", "\n", "null\u200b",
]  # fmt: skip


DISTINCT = {"s": "distinct"}
"""Hard texts are spellings of one another."""


def staged(engine, columns, **roles):
    return EngineTable(engine, engine.scan(columns), Schema(**roles))


def whole(table, columns=None, n_buckets=1, **parts):
    """Plan that every class goes whole into a bucket, class after class in turn."""
    classes = table.counts(table.schema.coded if columns is None else columns)
    bucket = np.arange(classes.n_cells) % n_buckets
    return Plan(classes, n_buckets, Segments.whole_classes(bucket, classes.counts), **parts)


def write(engine, table, plan, shape, folder, ending="csv", secret=None):
    """Write the files of a release; give them as a reader opens them."""
    number = apply_plan(table, plan, secret or Secret.from_seed(1), shape)
    queries = published_queries(table, plan, shape, number)
    files = PublishedFiles(engine.publisher, queries)
    stated = manifest(table, plan, shape)
    for name, query in queries.items():
        typed = files.typed_query(name, stated) if ending == "parquet" else query
        engine.publisher.write(typed, folder / f"{name}.{ending}", ending)
    # Whoever reads a release reads files.
    return open_files(DuckDB(), folder, list(queries), ending)


def manifest(table, plan, shape):
    recoded = {recode.column for recode in plan.recode} | set(plan.blank.counts)
    columns = tuple(
        PublishedColumn(column, role, table.type_of(column), is_recoded=column in recoded)
        for column, role in table.schema.roles.items()
        if role is not Role.IDENTIFYING
    )
    order = {column: place for place, column in enumerate(table.schema.published)}
    return Manifest(
        shape=shape,
        method="none",
        parameters={},
        guarantees=(),
        columns=tuple(sorted(columns, key=lambda column: order[column.name])),
        n_rows=table.n_rows,
        n_buckets=plan.n_buckets,
    )


def lines_of(files, name):
    fetched = files.engine.rows(files.queries[name])
    return list(zip(*(texts_of(array) for array in fetched.values()), strict=True))


# --- CSV -------------------------------------------------------------------------------------


def test_csv_tells_missing_empty_and_suppressed_apart(engine, tmp_path):
    table = staged(
        engine,
        {"k": ["1", "2", "3"], "a": ["", None, "x"], "s": ["p", "q", None]},
        quasi="a", sensitive="s", key="k",
    )  # fmt: skip
    plan = whole(table, blank=Blank({"a": np.array(["3"], dtype=object)}))
    write(engine, table, plan, Shape.GENERALIZED, tmp_path)
    assert (tmp_path / "table.csv").read_bytes() == b'a,s\n*,\n"",p\n,q\n'


def test_csv_is_what_any_reader_expects(engine, tmp_path):
    table = staged(engine, {"a": HARD, "s": HARD}, quasi="a", sensitive="s", variants=DISTINCT)
    write(engine, table, whole(table), Shape.GENERALIZED, tmp_path)
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["a", "s"]
    assert sorted(lines) == sorted([text, text] for text in HARD)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("shape", [Shape.GENERALIZED, Shape.BUCKETIZED])
def test_hard_texts_come_back_as_they_were(engine, tmp_path, shape, ending):
    columns = {"a": [*HARD, None], "x": [None, *HARD], "s": [*HARD[1:], None, HARD[0]]}
    table = staged(engine, columns, quasi="a", insensitive="x", sensitive="s", nearly_unique="x",
                   variants=DISTINCT)  # fmt: skip
    files = write(engine, table, whole(table), shape, tmp_path, ending)
    if shape is Shape.GENERALIZED:
        found = set(lines_of(files, "table"))
        assert found == set(zip(columns["a"], columns["x"], columns["s"], strict=True))
    else:
        assert set(lines_of(files, "quasi")) == {
            ("1", a, x) for a, x in zip(columns["a"], columns["x"], strict=True)
        }
        assert set(lines_of(files, "sensitive")) == {("1", s, "1") for s in columns["s"]}


@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.text("a\"',\n\r ;*\\ä🐟", max_size=4).filter(lambda text: text != "*"),
            st.none() | st.text('b"\n,', max_size=2),
        ),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=60)
def test_any_text_survives_csv(engine, tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("release")
    columns = {"a": [row[0] for row in rows], "x": [row[1] for row in rows]}
    table = staged(engine, columns, quasi="a", insensitive="x", nearly_unique="x")
    files = write(engine, table, whole(table), Shape.GENERALIZED, folder)
    assert sorted(map(str, lines_of(files, "table"))) == sorted(map(str, rows))


@pytest.mark.parametrize("values", [[None, "x", "y"], ["x", None], [None], ["", None], [""]])
def test_a_single_column_keeps_its_missing_values(engine, tmp_path, values):
    table = staged(engine, {"a": values}, quasi="a")
    files = write(engine, table, whole(table), Shape.GENERALIZED, tmp_path)
    found = [line[0] for line in lines_of(files, "table")]
    assert sorted(map(str, found)) == sorted(map(str, values))


@pytest.mark.parametrize("names", [('a"b', "a,b"), ("a\nb", "ä 🐟"), ("line", "row_key"),
                                   ("v0", "v1"), ("p", "f"), ("'a'", "1")])  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_any_name_of_a_column_is_written_and_read_back(engine, tmp_path, names, ending):
    columns = {names[0]: ["u", "v", None], names[1]: ["x", None, "y"]}
    table = staged(engine, columns, quasi=names[0], sensitive=names[1])
    for shape in (Shape.GENERALIZED, Shape.BUCKETIZED):
        folder = tmp_path / shape.name
        folder.mkdir()
        plan = whole(table)
        files = write(engine, table, plan, shape, folder, ending)
        published = files.published(manifest(table, plan, shape), {})
        assert published.lines.n_rows == 3
        assert [domain.column for domain in published.quasi] == [names[0]]
        assert published.quasi[0].labels() == ["u", "v", None]
        assert published.buckets.domain.labels() == ["x", "y", None]


# --- types -----------------------------------------------------------------------------------


def test_parquet_keeps_types_and_csv_keeps_texts(engine, tmp_path):
    columns = pa.table(
        {
            "n": [10, 9, None],
            "r": [0.1, 1e20, None],
            "d": pa.array([-36500, 0, None], pa.date32()),
            "b": [True, False, None],
            "z": ["007", "x", None],
            "m": pa.array([0, 3_600_000_000, None], pa.timestamp("us")),
            "s": ["p", "q", "p"],
        }
    )
    table = staged(engine, columns, quasi=["n", "r", "d", "b", "z"], insensitive="m",
                   sensitive="s", nearly_unique="m")  # fmt: skip
    write(engine, table, whole(table), Shape.GENERALIZED, tmp_path, "parquet")
    written = pyarrow.parquet.read_table(tmp_path / "table.parquet")
    assert [str(field.type) for field in written.schema] == [
        "int64", "double", "date32[day]", "bool", "string", "timestamp[us]", "string",
    ]  # fmt: skip
    assert sorted(map(str, written.to_pylist())) == sorted(
        map(str, columns.select(written.column_names).to_pylist())
    )
    write(engine, table, whole(table), Shape.GENERALIZED, tmp_path)
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        lines = sorted(csv.reader(file))
    assert ["10", "0.1", "1870-01-25", "true", "007", "1970-01-01 00:00:00", "p"] in lines


def test_leading_zeros_and_formulas_from_csv_stay_as_they_are(engine, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("zip,formula,n,s\n01069,=1+1,1.50,a\n00010,+2,2.0,b\n", encoding="utf-8")
    table = staged(engine, source, quasi=["zip", "n"], insensitive="formula", sensitive="s",
                   nearly_unique="formula")  # fmt: skip
    assert table.domains["n"].type is ColumnType.REAL
    write(engine, table, whole(table), Shape.GENERALIZED, tmp_path)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == (
        "zip,n,formula,s\n00010,2.0,+2,b\n01069,1.50,=1+1,a\n"
    )


def test_whole_numbers_of_64_bits_are_published_to_the_last_digit(engine, tmp_path):
    values = [2**53, 2**53 + 1, 2**63 - 1]
    table = staged(engine, {"n": values, "s": ["a", "b", "c"]}, quasi="n", sensitive="s")
    for ending in ("csv", "parquet"):
        plan = whole(table)
        files = write(engine, table, plan, Shape.BUCKETIZED, tmp_path, ending)
        assert [int(line[1]) for line in lines_of(files, "quasi")] == values
        published = files.published(manifest(table, plan, Shape.BUCKETIZED), {})
        assert published.quasi[0].labels() == [str(value) for value in values]


# --- what a reader counts --------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_reader_of_a_bucketized_release_counts_what_was_planned(engine, tmp_path, ending):
    rng = np.random.default_rng(2)
    columns = {
        "a": rng.integers(8, 12, 300),
        "b": [None if v == 3 else "xyz"[v] for v in rng.integers(0, 4, 300)],
        "s": [None if v == 0 else v / 4 for v in rng.integers(0, 5, 300).tolist()],
    }
    table = staged(engine, columns, quasi=["a", "b"], sensitive="s")
    plan = whole(table, n_buckets=7)
    secret = Secret.from_seed(4)
    files = write(engine, table, plan, Shape.BUCKETIZED, tmp_path, ending, secret)
    published = files.published(manifest(table, plan, Shape.BUCKETIZED), {})
    bucket = np.empty(7, dtype=np.int64)
    bucket[secret.permutation("bucket numbers", 7)] = np.arange(7)
    sizes = np.bincount(plan.assign.base, weights=plan.classes.counts, minlength=7)
    assert published.bucket_sizes.tolist() == sizes[bucket].tolist()
    assert published.buckets.sizes.tolist() == published.bucket_sizes.tolist()
    assert published.buckets.totals.tolist() == table.counts(["s"]).counts.tolist()
    together = Cells.select(published.lines, ["a", "b"])
    assert together.codes.tolist() == table.counts(["a", "b"]).codes.tolist()
    assert together.counts.tolist() == table.counts(["a", "b"]).counts.tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_reader_of_a_generalized_release_takes_equal_labels_for_one_bucket(
    engine, tmp_path, ending
):
    table = staged(engine, {"a": [1, 2, 3, 4], "s": ["x", "y", "x", None]}, quasi="a",
                   sensitive="s")  # fmt: skip
    labels = (Label("[1, 3[", interval=("1", "3")), Label("[3, 5[", interval=("3", "5")))
    recode = Recode("a", "bucket", np.array([0, 1, 0]), labels)
    classes = table.counts(["a"])
    assign = Segments.whole_classes(np.array([0, 2, 1, 1]), classes.counts)
    plan = Plan(classes, 3, assign, recode=(recode,))
    files = write(engine, table, plan, Shape.GENERALIZED, tmp_path, ending)
    published = files.published(manifest(table, plan, Shape.GENERALIZED), {})
    assert published.bucket_sizes.tolist() == [2, 2]
    assert published.quasi[0].labels() == ["[1, 3[", "[3, 5["]
    assert published.buckets.count.tolist() == [1, 1, 1, 1]


def test_a_blanked_number_can_still_be_counted(engine, tmp_path):
    columns = {"k": ["1", "2"], "n": [10, 9], "s": ["x", "y"]}
    table = staged(engine, columns, quasi="n", sensitive="s", key="k")
    plan = whole(table, blank=Blank({"n": np.array(["1"], dtype=object)}))
    for ending in ("csv", "parquet"):
        files = write(engine, table, plan, Shape.GENERALIZED, tmp_path, ending)
        published = files.published(manifest(table, plan, Shape.GENERALIZED), {})
        assert published.quasi[0].labels() == ["*", "9"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_lines_of_a_large_release_are_written_in_order(engine, tmp_path, ending):
    n_rows = 300_000
    rng = np.random.default_rng(3)
    columns = {"a": rng.integers(0, 10_000, n_rows), "s": rng.integers(0, 50, n_rows)}
    table = staged(engine, columns, quasi="a", sensitive="s")
    plan = whole(table, ["a"], n_buckets=1000)
    files = write(engine, table, plan, Shape.BUCKETIZED, tmp_path, ending)
    path = tmp_path / f"quasi.{ending}"
    if ending == "csv":
        with path.open(encoding="utf-8", newline="") as file:
            lines = np.array(list(itertools.islice(csv.reader(file), 1, None)), dtype=np.int64)
    else:
        read = pyarrow.parquet.read_table(path)
        lines = np.column_stack([read["bucket"].to_numpy(), read["a"].to_numpy()])
    assert np.array_equal(lines, lines[np.lexsort((lines[:, 1], lines[:, 0]))])
    published = files.published(manifest(table, plan, Shape.BUCKETIZED), {})
    cell = files.cell_of_lines(published)
    assert np.array_equal(published.lines.codes[cell, 0] + 1, lines[:, 0])


# --- nothing else can be read from it --------------------------------------------------------


@pytest.mark.parametrize("shape", [Shape.GENERALIZED, Shape.BUCKETIZED])
def test_nothing_is_left_of_the_original_order(engine, shape):
    """Buckets, the only trace of a row's place, say nothing about where it stood."""
    n_rows = 4000
    rng = np.random.default_rng(5)
    columns = {"a": np.repeat([0, 1], n_rows // 2), "s": rng.integers(0, 4, n_rows)}
    table = staged(engine, columns, quasi="a", sensitive="s")
    classes = table.counts(["s"])
    n_buckets = 1000
    ring = np.zeros(4, dtype=np.int64)
    assign = Segments(np.arange(4), ring, classes.counts, np.arange(4) * 97, ring + 1,
                      ring + n_buckets)  # fmt: skip
    plan = Plan(classes, n_buckets, assign)
    number = apply_plan(table, plan, Secret.from_seed(6), shape)
    fetched = engine.publisher.rows(
        f"SELECT CAST(row_key AS BIGINT) AS source, bucket FROM published_{number} ORDER BY line"
    )
    source, bucket = fetched["source"].astype(float), fetched["bucket"].astype(float)
    # Under independence the correlation has standard deviation 1 / sqrt(4000), about 0.016.
    assert abs(np.corrcoef(source, bucket)[0, 1]) < 0.08
    first_half = source <= n_rows // 2
    order = np.lexsort((rng.random(n_rows // 2), bucket[first_half]))
    neighbours = np.abs(np.diff(source[first_half][order]))
    assert abs(neighbours.mean() / (n_rows // 2) - 1 / 3) < 0.03


def test_the_same_rows_in_another_order_are_published_alike(engine):
    rng = np.random.default_rng(7)
    columns = {
        "k": [f"key {i}" for i in range(200)],
        "a": rng.integers(0, 5, 200).tolist(),
        "s": rng.integers(0, 4, 200).tolist(),
    }
    order = rng.permutation(200)
    releases = []
    for taken in (range(200), order):
        shuffled = {name: [values[i] for i in taken] for name, values in columns.items()}
        table = staged(engine, shuffled, quasi="a", sensitive="s", key="k")
        plan = whole(table, ["a"], n_buckets=3)
        number = apply_plan(table, plan, Secret.from_seed(8), Shape.BUCKETIZED)
        queries = published_queries(table, plan, Shape.BUCKETIZED, number)
        fetched = [engine.publisher.rows(query) for query in queries.values()]
        releases.append([[texts_of(a) for a in file.values()] for file in fetched])
    assert releases[0] == releases[1]


def test_secrets_never_stand_in_a_statement_or_in_the_log(engine, statements, is_staged, caplog):
    secret = Secret.fresh()
    columns = {"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]}
    table = staged(engine, columns, quasi="a", sensitive="s")
    classes = table.counts(["s"])
    zero = np.zeros(2, dtype=np.int64)
    plan = Plan(classes, 2, Segments(np.arange(2), zero, classes.counts, zero, zero + 1, zero))
    internal_log.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.DEBUG, "shoal.internal"):
            apply_plan(table, plan, secret, Shape.BUCKETIZED)
    finally:
        internal_log.removeHandler(caplog.handler)
    said = "\n".join([*statements, caplog.text]).lower()
    assert "sha2" in said
    for hidden in (
        secret.reveal(),
        *(secret.derive(label).hex()[:32] for label in ("rank", "redraw")),
    ):
        assert hidden not in said
    assert not is_staged("secret")


def test_identifying_columns_are_never_staged(engine, statements):
    scan = engine.scan({"name": ["Wally", "Nemo"], "a": [1, 2], "s": ["x", "y"]})
    statements.clear()
    table = EngineTable(engine, scan, Schema(quasi="a", sensitive="s", identifying="name"))
    apply_plan(table, whole(table), Secret.from_seed(1), Shape.GENERALIZED)
    assert not any(engine.quote("name") in statement for statement in statements)
