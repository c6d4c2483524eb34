"""Postgres alone: types, short transactions, nothing left behind, and no secret in a log."""

from __future__ import annotations

import csv
import json
import logging
import re

import duckdb
import numpy as np
import pyarrow.parquet
import pytest

import shoal
from shoal.core.errors import DataError, EngineError, ParameterError, SchemaError
from shoal.core.log import internal_log
from shoal.core.schema import Schema
from shoal.engines.postgres.connection import Connection, public_address, without_password
from shoal.engines.postgres.engine import Postgres
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.table import EngineTable

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def database(postgres_server, request):
    """Make an empty database; give its address."""
    name = f"d{abs(hash(request.node.nodeid))}"

    def run(statement):
        with psycopg.connect(postgres_server.address(), autocommit=True) as connection:
            connection.execute(statement)

    run(f"CREATE DATABASE {name}")
    yield postgres_server.address(name)
    run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def run(database):
    """Run a statement of somebody else, at once."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield lambda statement, *given: connection.execute(statement, given or None)


@pytest.fixture
def engine(database):
    made = Postgres(database)
    yield made
    made.close()


@pytest.fixture
def people(run):
    run("CREATE TABLE people (name text, age int, zip text, note text, disease text)")
    with run("SELECT 1").connection.cursor().copy("COPY people FROM STDIN") as copy:
        for i in range(400):
            row = (f"NAMEOF{i}", 20 + i % 37, f"ZIP{i % 5}", f"NOTE{i % 3}", f"SICK{i % 8}")
            copy.write_row(row)


ROLES = {
    "identifying": "name", "quasi": ["age", "zip"], "insensitive": "note", "sensitive": "disease",
    "meant": [["note"]],
}  # fmt: skip


def labels(engine, statement, **options):
    scan = engine.scan("postgresql://", table="t", **options)
    table = EngineTable(engine, scan, Schema(quasi=list(scan.types)))
    return {name: domain.labels() for name, domain in table.domains.items()}, scan


# --- types -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "values", "stated", "expected"),
    [
        ("smallint", "(1), (-2)", "SMALLINT", ["-2", "1"]),
        ("integer", "(1), (NULL)", "INTEGER", ["1", None]),
        ("bigint", "(9223372036854775807)", "BIGINT", ["9223372036854775807"]),
        ("oid", "(7)", "BIGINT", ["7"]),
        ("real", "(0.1), (1e6), (1.5e7)", "FLOAT", ["0.1", "1000000.0", "15000000.0"]),
        ("double precision", "(0.1), (1e15), (1e16), (-0.0), (1e-7), (100), (1e20)", "DOUBLE",
         ["0.0", "1e-07", "0.1", "100.0", "1000000000000000.0", "1e+16", "1e+20"]),
        ("numeric(6,2)", "(1.5), (-2)", "DECIMAL(6,2)", ["-2.00", "1.50"]),
        ("numeric(2,-3)", "(12000)", "DECIMAL(5,0)", ["12000"]),
        ("numeric(2,4)", "(0.0012)", "DECIMAL(4,4)", ["0.0012"]),
        ("numeric", "(1.5), (1.50), (10)", "DECIMAL(3,1)", ["1.5", "10.0"]),
        ("numeric", "(1e40), (2)", "DECIMAL(any)", ["2", "1" + "0" * 40]),
        ("date", "('0001-01-01'), ('9999-12-31')", "DATE", ["0001-01-01", "9999-12-31"]),
        ("timestamp", "('2020-02-29')", "TIMESTAMP", ["2020-02-29"]),
        ("timestamptz", "('2020-02-29 02:00+02')", "TIMESTAMP WITH TIME ZONE", ["2020-02-29"]),
        ("boolean", "(true), (false), (NULL)", "BOOLEAN", ["false", "true", None]),
        ("text", "('b'), ('B'), ('ä'), ('')", "VARCHAR", ["", "B", "b", "ä"]),
        ("varchar(5)", "('x')", "VARCHAR", ["x"]),
        ("char(5)", "('x'), ('y  ')", "VARCHAR", ["x", "y"]),
        ('"char"', "('x')", "VARCHAR", ["x"]),
        ("name", "('x')", "VARCHAR", ["x"]),
        ("uuid", "('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')", "VARCHAR",
         ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
        ("mood", "('sad'), ('glad')", "VARCHAR", ["glad", "sad"]),
        ("years", "(3), (20)", "INTEGER", ["3", "20"]),
        ("decades", "(3), (20)", "INTEGER", ["3", "20"]),
        ("amount", "(1.5)", "DECIMAL(8,3)", ["1.500"]),
    ],
)  # fmt: skip
def test_types_that_hold_plain_values(run, engine, kind, values, stated, expected):
    run("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    run("CREATE DOMAIN years AS int CHECK (VALUE > 0)")
    run("CREATE DOMAIN decades AS years")
    run("CREATE DOMAIN amount AS numeric(8,3)")
    run(f"CREATE TABLE t (a {kind}); INSERT INTO t VALUES {values}")
    # The snapshot of the engine is taken by its first statement.
    fresh = Postgres(engine_address(run))
    try:
        found, scan = labels(fresh, "t")
        assert scan.types == {"a": stated}
        assert found["a"] == expected
    finally:
        fresh.close()


def engine_address(run):
    info = run("SELECT 1").connection.info
    return f"postgresql://{info.user}@/{info.dbname}?host={info.host}"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("json", '{"a": 1}', '{"a": 1}'),
        ("jsonb", '{"a":1}', '{"a": 1}'),
        ("int[]", "{1,2}", "{1,2}"),
        ("bytea", "\\x00ff", "\\x00ff"),
        ("time", "12:00", "12:00:00"),
        ("interval", "1 day", "1 day"),
        ("inet", "10.0.0.1", "10.0.0.1/32"),
        ("money", "1", "$1.00"),
        ("point", "(1,2)", "(1,2)"),
        ("int4range", "[1,3)", "[1,3)"),
        ("xml", "<a/>", "<a/>"),
        ("bit(3)", "101", "101"),
    ],
)
def test_what_holds_no_plain_value_has_no_role_but_can_be_carried_as_text(
    run, database, tmp_path, kind, value, text
):
    run(f"CREATE TABLE t (a {kind}, q int, s text)")
    for i in range(4):
        run("INSERT INTO t VALUES (%s, %s, %s)".replace("%s", f"'{value}'", 1), i % 2, "xy"[i // 2])
    engine = Postgres(database)
    try:
        scan = engine.scan(database, table="t")
        with pytest.raises(DataError, match="does not hold plain values"):
            EngineTable(engine, scan, Schema(quasi=["a", "q"], sensitive="s"))
        table = EngineTable(engine, scan, Schema(quasi="q", insensitive="a", sensitive="s"))
        brought = engine.bring("SELECT x0 FROM coded")
        assert texts_of(engine.publisher.rows(f"SELECT x0 FROM {brought}")["x0"]) == [text] * 4
        assert table.n_rows == 4
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("double precision", "NaN", "not numbers"),
        ("double precision", "Infinity", "infinite"),
        ("numeric", "NaN", "not numbers"),
        ("numeric", "-Infinity", "infinite"),
        ("date", "infinity", "has values that are not dates"),
        ("date", "0044-03-15 BC", "has values that are not dates"),
        ("date", "12000-01-01", "has values that are not dates"),
        ("timestamp", "2020-01-01 12:00", "1 values with a time of day"),
    ],
)
def test_values_beyond_what_is_published_are_refused(run, database, kind, value, said):
    run(f"CREATE TABLE t (a {kind}); INSERT INTO t VALUES ('{value}')")
    with pytest.raises(DataError, match=said) as caught:
        shoal.read(database, Schema(quasi="a"), table="t")
    assert value not in caught.value.fact


def test_reals_are_written_as_python_writes_them(engine):
    rng = np.random.default_rng(11)
    numbers = np.concatenate(
        [
            rng.integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64),
            10.0 ** rng.uniform(-8, 24, 4000) * rng.choice([-1, 1], 4000),
            np.round(10.0 ** rng.uniform(0, 18, 4000)),
            rng.integers(1, 10**9, 4000) * 10.0 ** rng.integers(0, 22, 4000),
            10.0 ** np.arange(-30, 40),
            2.0 ** np.arange(-100, 150),
        ]
    )
    numbers = numbers[np.isfinite(numbers)]
    engine.push("real", {"i": np.arange(len(numbers)), "x": numbers})
    fetched = engine.rows(f"SELECT {engine.text('x', 'DOUBLE')} AS v FROM real ORDER BY i")
    assert texts_of(fetched["v"]) == [repr(number + 0.0) for number in numbers.tolist()]


def test_short_reals_are_written_with_the_fewest_digits(engine):
    rng = np.random.default_rng(12)
    bits = rng.integers(0, 2**32, 6000, dtype=np.uint32).view(np.float32)
    whole = rng.integers(0, 10**11, 6000).astype(np.float32)
    numbers = np.concatenate([bits[np.isfinite(bits)], whole])
    engine.push("real", {"i": np.arange(len(numbers)), "x": numbers})
    fetched = engine.rows(f"SELECT {engine.text('x', 'FLOAT')} AS v FROM real ORDER BY i")

    def shortest(number):
        if number == 0 or 1e-4 <= abs(number) < 1e16:
            return np.format_float_positional(number, unique=True, trim="0")
        return np.format_float_scientific(number, unique=True, trim="-", exp_digits=2)

    assert texts_of(fetched["v"]) == [shortest(number) for number in numbers + np.float32(0)]


def test_hashes_are_those_of_the_embedded_engine(engine, embedded):
    texts = np.array(["", "a", "ä🐟", "x" * 1000, "line\nbreak"], dtype=object)
    found = []
    for one in (engine, embedded):
        one.push("hashed_text", {"v": texts})
        query = f"SELECT {one.hash('v')} AS h, {one.hash_number('v')} AS n FROM hashed_text"
        fetched = one.rows(f"{query} ORDER BY 1")
        found.append((texts_of(fetched["h"]), fetched["n"].tolist()))
    assert found[0] == found[1]


def test_files_are_written_byte_by_byte_as_duckdb_writes_them(engine, embedded, tmp_path):
    hard = ["", None, "*", 'q"', "a,b", "\r", "\n", "\\N", "\\.", "x\n\\.\ny", " ", "\ufeff", "#",
            "🐟", "\t", "\\", "NULL", "\x7f", "'", "a\\nb"]  # fmt: skip
    source = {
        "t": hard,
        "n": list(range(len(hard))),
        "r": [None if i % 3 == 0 else i / 7 * 10.0**i for i in range(len(hard))],
        "d": np.arange(len(hard)).astype("datetime64[D]"),
        "m": np.arange(len(hard)).astype("datetime64[s]"),
        "b": [i % 2 == 0 for i in range(len(hard))],
    }
    for ending in ("csv", "parquet"):
        paths = []
        for one in (engine, embedded):
            scan = one.scan(source)
            columns = ", ".join(map(one.quote, source))
            paths.append(tmp_path / f"{type(one).__name__}.{ending}")
            brought = one.bring(f"SELECT {columns} FROM {scan.relation}")
            # What is published is always staged first.
            one.publisher.stage("kept", f"SELECT * FROM {brought} r")
            one.publisher.write("SELECT * FROM kept ORDER BY n", paths[-1], ending)
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert pyarrow.parquet.read_table(paths[0])["t"].to_pylist() == hard


# --- which table -----------------------------------------------------------------------------


def test_which_table_has_to_be_clear(run, database):
    run('CREATE SCHEMA "Other one"; CREATE TABLE "Other one".people AS SELECT 1 AS b')
    engine = Postgres(database)
    assert engine.scan(database).name == "postgresql:Other one.people"
    engine.close()
    run("CREATE TABLE people AS SELECT 1 AS a")
    run("CREATE VIEW aged AS SELECT a + 1 AS older FROM people")
    engine = Postgres(database)
    with pytest.raises(SchemaError, match="3 tables") as caught:
        engine.scan(database)
    assert "'public.aged'" in caught.value.hint
    with pytest.raises(SchemaError, match="2 tables to read named 'people'"):
        engine.scan(database, table="people")
    with pytest.raises(SchemaError, match="no table to read named 'nobody'"):
        engine.scan(database, table="nobody")
    for statement in ("SELECT * FROM people", "(SELECT 1)", "WITH x AS (SELECT 1) SELECT 1"):
        with pytest.raises(ParameterError, match="not SQL") as caught:
            engine.scan(database, table=statement)
        assert statement not in str(caught.value)
    with pytest.raises(ParameterError, match="delimiter has no meaning"):
        engine.scan(database, table="public.people", delimiter=";")
    assert list(engine.scan(database, table="Other one.people").types) == ["b"]
    scan = engine.scan(database, table="aged")
    assert (scan.line, scan.digest, scan.options) == (None, None, {"table": "public.aged"})
    engine.close()


def test_partitions_and_materialized_views_are_tables_too(run, database):
    run("CREATE TABLE whole (a int) PARTITION BY LIST (a)")
    run("CREATE TABLE part PARTITION OF whole FOR VALUES IN (1)")
    run("INSERT INTO whole VALUES (1); CREATE MATERIALIZED VIEW kept AS SELECT a FROM whole")
    for name in ("whole", "kept"):
        assert shoal.read(database, Schema(quasi="a"), table=name).n_rows == 1


def test_a_table_of_our_own_names_is_read_and_nobody_s_function_is_called(run, database):
    run("CREATE TABLE source (row_key int, c0 text); INSERT INTO source VALUES (1, 'x'), (2, 'x')")
    run("CREATE FUNCTION concat(text, text, text) RETURNS text LANGUAGE sql AS $$ SELECT 'no' $$")
    table = shoal.read(database, Schema(quasi="c0", identifying="row_key"), table="source")
    assert table.domains["c0"].labels() == ["x"]
    assert table.n_rows == 2
    table.engine.close()


def test_columns_that_may_not_be_read_are_left_out(run, database, postgres_server):
    run("CREATE TABLE people (name text, age int); INSERT INTO people VALUES ('Wally', 3)")
    run("DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN; GRANT SELECT (age) ON people TO clerk")
    address = database.replace("steward@", "clerk@")
    table = shoal.read(address, Schema(quasi="age"), table="people")
    assert list(table.scan.types) == ["age"]
    table.engine.close()
    run("DROP OWNED BY clerk; DROP ROLE clerk")


def test_equal_rows_are_told_apart_by_a_number(run, database):
    run("CREATE TABLE t AS SELECT 1 AS a, 'x' AS s FROM generate_series(1, 5)")
    table = shoal.read(database, Schema(quasi="a", sensitive="s"))
    fetched = table.engine.rows("SELECT count(DISTINCT row_key) AS n FROM coded")
    assert fetched["n"][0] == 5
    table.engine.close()


# --- short transactions -------------------------------------------------------------------------


def test_the_table_cannot_change_between_two_passes(run, people, database, tmp_path):
    engine = Postgres(database)
    scan = engine.scan(database, table="people")
    run("UPDATE people SET age = 99; DELETE FROM people WHERE zip = 'ZIP0'")
    run("INSERT INTO people SELECT * FROM people")
    table = EngineTable(engine, scan, Schema(**ROLES))
    assert table.n_rows == 400
    assert "99" not in table.domains["age"].labels()
    release = shoal.anonymize(table, shoal.Mondrian(k=5))
    release.write(tmp_path / "release")
    assert release.manifest.n_rows == 400
    engine.close()


def test_nothing_is_left_in_the_database(run, people, database, tmp_path):
    def content():
        return run("SELECT relname FROM pg_class ORDER BY 1").fetchall()

    before = content()
    table = shoal.read(database, Schema(**ROLES), table="people")
    shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")
    table.engine.close()
    assert content() == before
    abandoned = shoal.read(database, Schema(**ROLES), table="people")
    del abandoned
    assert content() == before
    assert run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shoal'").fetchone()[
        0
    ] in (0, 1)


LOCKS = "SELECT count(*) FROM pg_locks WHERE relation = 'people'::regclass"
SESSIONS = "SELECT state FROM pg_stat_activity WHERE application_name = 'shoal'"


def test_nobody_waits_for_the_table_while_attacks_run(run, people, database, tmp_path, monkeypatch):
    seen = []
    attack = shoal.attacks.Linkage.run

    def observed(self, view):
        seen.append((run(LOCKS).fetchone()[0], *run(SESSIONS).fetchall()))
        # Each would fail at once if it had to wait for Shoal.
        run("SET lock_timeout = '1ms'")
        if len(seen) == 1:
            run("ALTER TABLE people ADD COLUMN later int")
            assert run("SELECT count(later) FROM people").fetchone() == (0,)
            run("LOCK TABLE people; DROP TABLE people; CREATE TABLE people AS SELECT 1 AS age")
        return attack(self, view)

    monkeypatch.setattr(shoal.attacks.Linkage, "run", observed)
    published = shoal.publish(
        database, table="people", schema=Schema(**ROLES, key="name"), folder=tmp_path / "release",
        method=shoal.Mondrian(k=5),
    )  # fmt: skip
    assert set(seen) == {(0, ("idle",))}
    assert published.manifest.n_rows == 400
    assert shoal.verify(tmp_path / "release").holds


def test_a_pooler_keeps_the_transaction_and_its_settings_together(
    run, people, database, tmp_path, monkeypatch
):
    from shoal.engines.postgres import connection

    monkeypatch.setattr(connection, "_is_pooled", lambda _: True)
    table = shoal.read(database, Schema(**ROLES), table="people")
    assert run(SESSIONS).fetchall() == [("idle in transaction",)]
    shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")
    session = table.engine._connection._connection
    session.execute("ROLLBACK")
    # What the next one to get this session finds.
    assert session.execute("SHOW search_path").fetchone() == ('"$user", public',)
    assert (
        session.execute("SELECT count(*) FROM pg_class WHERE relpersistence = 't'").fetchone()[0]
        == 0
    )
    table.engine.close()


def test_a_session_is_closed_as_it_was_found(run, people, database):
    engine = Postgres(database)
    table = EngineTable(engine, engine.scan(database, table="people"), Schema(**ROLES))
    session = engine._connection._connection
    assert table.n_rows == 400
    discarded = []
    close = type(session).close

    def observed(self):
        discarded.append(self.execute("SHOW search_path").fetchone()[0])
        close(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(session), "close", observed)
        engine.close()
    assert discarded == ['"$user", public']


def test_a_killed_run_leaves_nothing(run, people, database):
    import subprocess
    import sys
    import time

    def content():
        return run("SELECT relname FROM pg_class ORDER BY 1").fetchall()

    before = content()
    program = (
        "import shoal, sys, time\n"
        f"table = shoal.read({database!r}, shoal.Schema(quasi='age', sensitive='disease',"
        " identifying=['name', 'zip', 'note']), table='people')\n"
        "print('read', flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"read\n"
        assert content() != before
        process.kill()
    for _ in range(100):
        if not run(SESSIONS).fetchall():
            break
        time.sleep(0.1)
    assert run(SESSIONS).fetchall() == []
    assert content() == before


def test_a_failed_statement_after_reading_leaves_the_tables(run, people, database):
    table = shoal.read(database, Schema(**ROLES), table="people")
    for statement in ("SELECT 1 / 0 AS x", "SELECT x FROM nowhere"):
        with pytest.raises(EngineError, match="SQLSTATE"):
            table.engine.rows(statement)
        with pytest.raises(EngineError, match="SQLSTATE"):
            table.engine.stage("coded", statement)
    assert table.counts(["zip"]).n_rows == 400
    table.engine.close()


def test_the_release_is_that_of_the_embedded_engine(run, people, database, tmp_path):
    columns = {
        name: [row[0] for row in run(f"SELECT {name} FROM people ORDER BY name")]
        for name in ("name", "age", "zip", "note", "disease")
    }
    for method in (shoal.Anatomy(ell=3), shoal.Mondrian(k=5)):
        folders = []
        for source in (database, columns):
            options = {"table": "people"} if source is database else {}
            table = shoal.read(source, Schema(**ROLES, key="name"), **options)
            folders.append(tmp_path / f"{type(method).__name__}{len(folders)}")
            shoal.anonymize(table, method, seed=5).write(folders[-1])
            table.engine.close()
        for path in folders[0].glob("*.csv"):
            assert path.read_bytes() == (folders[1] / path.name).read_bytes()


def test_a_profile_is_that_of_the_embedded_engine_and_counts_codes_here(run, database, monkeypatch):
    rng = np.random.default_rng(3)
    columns = {
        "age": rng.integers(20, 60, 300).tolist(),
        "zip": [None if i % 9 == 0 else f"ZIP{i % 40}" for i in rng.integers(0, 400, 300)],
        "sex": [None if i % 7 == 0 else "FM"[i % 2] for i in rng.integers(0, 400, 300)],
        "whole": [f"W{i % 3}" for i in range(300)],
    }
    run("CREATE TABLE people (age int, zip text, sex text, whole text)")
    with run("SELECT 1").connection.cursor().copy("COPY people FROM STDIN") as copy:
        for row in zip(*columns.values(), strict=True):
            copy.write_row(row)
    statements = []
    guarded = Connection._guarded

    def spied(self, statement):
        statements.append(statement)
        return guarded(self, statement)

    monkeypatch.setattr(Connection, "_guarded", spied)
    found, expected = (shoal.profile(source) for source in (database, columns))
    assert found.to_dict() | {"source": "columns"} == expected.to_dict()
    # Hundreds of combinations are counted, but not by the server, which does not join by hashes
    # what may be missing on both sides.
    assert len(expected.combinations.counted) > len(columns)
    assert not [one for one in statements if "HAVING" in one or "IS NOT DISTINCT" in one]


# --- nothing that is secret stands anywhere ---------------------------------------------------


def test_no_value_and_no_key_stands_in_the_log_of_the_server(
    run, people, database, tmp_path, postgres_server
):
    start = len(postgres_server.log)
    table = shoal.read(database, Schema(**ROLES, key="name"), table="people")
    release = shoal.anonymize(table, shoal.Anatomy(ell=3))
    release.write(tmp_path / "release", findings=shoal.attack(release))
    table.engine.close()
    said = postgres_server.log[start:]
    assert "CREATE TEMP TABLE" in said
    for value in ("NAMEOF", "ZIP", "NOTE", "SICK"):
        assert value not in said
    secret = release.making.secret
    for hidden in (
        secret.reveal(),
        *(secret.derive(k).hex()[:32] for k in ("rank", "redraw", "line")),
    ):
        assert hidden not in said


def test_the_password_is_shown_nowhere(run, people, database, postgres_server, tmp_path, caplog):
    run("DROP ROLE IF EXISTS locked; CREATE ROLE locked LOGIN PASSWORD 'pa/ss@w%rd'")
    run("GRANT SELECT ON people TO locked")
    start = len(postgres_server.log)
    address = database.replace("steward@", "locked:pa%2Fss%40w%25rd@")
    internal_log.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.DEBUG, "shoal.internal"):
            table = shoal.read(address, Schema(**ROLES), table="people")
            release = shoal.anonymize(table, shoal.Mondrian(k=5))
            release.write(tmp_path / "release")
            with pytest.raises(EngineError):
                table.engine.rows("SELECT 1 / 0 AS x")
            wrong = address.replace(database.split("@")[1], "/nowhere?host=/nowhere")
            with pytest.raises(EngineError) as caught:
                Postgres(wrong)
            with pytest.raises(ParameterError) as broken:
                Postgres("postgresql://locked:pa%ss@host/db")
    finally:
        internal_log.removeHandler(caplog.handler)
    shown = [repr(table), repr(table.engine), repr(release), table.scan.name, caplog.text]
    shown += [str(caught.value), str(broken.value), postgres_server.log[start:]]
    shown += [p.read_text("utf-8", "replace") for p in tmp_path.rglob("*") if p.is_file()]
    for text in shown:
        assert "pa/ss" not in text
        assert "pa%" not in text
    table.engine.close()
    run("DROP OWNED BY locked; DROP ROLE locked")


@pytest.mark.parametrize(
    ("address", "public", "kept"),
    [
        ("postgresql://me:pw@host:5433/db?sslmode=require", "postgresql://host:5433/db",
         "postgresql://me@host:5433/db?sslmode=require"),
        ("postgres:///db?host=/tmp/x&password=pw", "postgresql:///db",
         "postgresql:///db?host=%2Ftmp%2Fx"),
        ("postgresql://me:p/w@host/db", "postgresql://me:p/", None),
        ("postgresql://me:p%zz@host/db", "postgresql:", "postgresql:"),
        ("postgresql://", "postgresql:///", "postgresql:///"),
        ("postgresql://me@a,b/db", "postgresql://a,b/db", "postgresql:///db?user=me&host=a%2Cb"),
    ],
)  # fmt: skip
def test_what_is_shown_of_an_address(address, public, kept):
    assert public_address(address) in (public, "postgresql:")
    if kept is not None:
        assert without_password(address) == kept


# --- what goes wrong -------------------------------------------------------------------------


def test_a_lost_connection_is_said(run, people, database, tmp_path):
    table = shoal.read(database, Schema(**ROLES), table="people")
    run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shoal'")
    for _ in range(2):
        with pytest.raises(EngineError, match="connection to the database was lost") as caught:
            shoal.anonymize(table, shoal.Mondrian(k=5))
        assert caught.value.__suppress_context__
    table.engine.close()


def test_a_server_that_stops_in_mid_work_is_said(run, people, database, postgres_server):
    table = shoal.read(database, Schema(**ROLES), table="people")
    postgres_server.control("-m", "fast", "stop")
    try:
        with pytest.raises(EngineError, match="connection to the database was lost"):
            table.counts(["age", "zip"])
        table.engine.close()
        with pytest.raises(EngineError, match="cannot be reached"):
            Postgres(database)
    finally:
        postgres_server.start()


def test_an_error_shows_no_value_and_ends_the_transaction(engine, caplog):
    internal_log.addHandler(caplog.handler)
    try:
        with (
            caplog.at_level(logging.DEBUG, "shoal.internal"),
            pytest.raises(EngineError, match="SQLSTATE 22P02") as caught,
        ):
            engine.rows("SELECT CAST('Wally' AS integer) AS n")
    finally:
        internal_log.removeHandler(caplog.handler)
    assert "Wally" not in str(caught.value)
    assert "Wally" in caplog.text
    with pytest.raises(EngineError, match="earlier statement failed"):
        engine.rows("SELECT 1 AS n")


def test_refused_connections_are_explained(run, database, postgres_server):
    with pytest.raises(EngineError, match="no such database"):
        Postgres(postgres_server.address("nowhere"))
    with pytest.raises(EngineError, match="cannot be reached"):
        Postgres("postgresql:///db?host=/nowhere")
    hba = postgres_server.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    run("DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 'right'")
    try:
        hba.write_text("local all guarded scram-sha-256\n" + before)
        run("SELECT pg_reload_conf()")
        with pytest.raises(EngineError, match="requires a password"):
            Postgres(database.replace("steward@", "guarded@"))
        with pytest.raises(EngineError, match="refused the user or the password") as caught:
            Postgres(database.replace("steward@", "guarded:wrongone@"))
        assert "wrongone" not in str(caught.value)
        Postgres(database.replace("steward@", "guarded:right@")).close()
    finally:
        hba.write_text(before)
        run("SELECT pg_reload_conf()")
        run("DROP ROLE guarded")


def test_missing_privileges_are_explained(run, people, database):
    run("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    run("GRANT SELECT ON people TO guest")
    name = run("SELECT current_database()").fetchone()[0]
    run(f"REVOKE TEMPORARY ON DATABASE {name} FROM public")
    address = database.replace("steward@", "guest@")
    with pytest.raises(EngineError, match="does not permit") as caught:
        shoal.read(address, Schema(**ROLES), table="people")
    assert "TEMPORARY" in caught.value.hint
    run("REVOKE SELECT ON people FROM guest")
    with pytest.raises(SchemaError, match="no table to read named 'people'"):
        shoal.read(address, Schema(**ROLES), table="people")
    run("DROP ROLE guest")


def test_a_table_locked_by_another_session_is_not_waited_for_long(run, people, database):
    limits = shoal.config.Limits(lock_timeout=1)
    run("BEGIN; LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
    with pytest.raises(EngineError, match="holds a lock on a table") as caught:
        shoal.read(database, Schema(**ROLES), table="people", limits=limits)
    assert "lock_timeout" in caught.value.hint
    run("ROLLBACK")
    table = shoal.read(database, Schema(**ROLES), table="people", limits=limits)
    fetched = table.engine.rows("SELECT current_setting('lock_timeout') AS w")
    assert texts_of(fetched["w"]) == ["1s"]
    table.engine.close()
    engine = Postgres(database)
    fetched = engine.rows("SELECT current_setting('lock_timeout') AS w")
    assert texts_of(fetched["w"]) == ["30s"]
    engine.close()


def test_a_limit_on_temporary_files_comes_with_advice(run, people, database):
    run(f"ALTER DATABASE {run('SELECT current_database()').fetchone()[0]} SET temp_file_limit = 64")
    engine = Postgres(database, memory="64kB")
    with pytest.raises(EngineError, match="limit of the database server") as caught:
        engine.rows(
            "SELECT count(*) AS n FROM (SELECT i FROM generate_series(1, 100000) g(i) "
            "ORDER BY md5(CAST(i AS text)) OFFSET 1) o"
        )
    assert "temp_file_limit" in caught.value.hint
    assert "memory" in caught.value.hint
    engine.close()


@pytest.mark.parametrize(
    ("state", "fact", "advice"),
    [
        ("53100", "disk of the database server is full", "free some space"),
        ("53200", "out of memory or locks", "memory"),
        ("53400", "limit of the database server", "temp_file_limit"),
        ("55P03", "holds a lock", "lock_timeout"),
        ("57014", "cancelled", "--log"),
    ],
)
def test_what_the_server_lacks_comes_with_advice_and_without_values(engine, state, fact, advice):
    # A statement of the server's own language raises what is hard to provoke.
    raised = f"DO $$ BEGIN RAISE EXCEPTION 'Wally' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(EngineError, match=fact) as caught:
        engine._connection.run(raised)
    assert advice in caught.value.hint
    assert "Wally" not in str(caught.value)


def test_a_database_of_another_encoding_is_refused(run, postgres_server):
    run("DROP DATABASE IF EXISTS latin")
    run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(EngineError, match="LATIN1"):
        Postgres(postgres_server.address("latin"))
    run("DROP DATABASE latin")


def test_memory_is_that_of_the_transaction(database):
    engine = Postgres(database, memory="1GiB")
    fetched = engine.rows("SELECT current_setting('work_mem') AS w, pg_catalog.version() AS v")
    assert texts_of(fetched["w"]) == ["256MB"]
    assert engine.name in f"postgres {texts_of(fetched['v'])[0].split()[1]}"
    engine.close()
    with pytest.raises(ParameterError, match="amount"):
        Postgres(database, memory="much")


def test_names_that_postgres_would_cut_are_refused(engine):
    with pytest.raises(SchemaError, match="63 bytes"):
        engine.scan({"x" * 64: [1]})


def test_an_interrupted_statement_is_cancelled(database, run):
    import os
    import signal
    import threading

    engine = Postgres(database)
    # Whoever runs the tests in the background may have it ignored.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.rows("SELECT pg_sleep(60) AS slept")
    finally:
        signal.signal(signal.SIGINT, earlier)
    active = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE %s AND state = 'active'"
    assert run(active, "%pg_sleep(60)%").fetchone()[0] <= 1
    engine.close()


# --- writing a release to it -----------------------------------------------------------------


@pytest.fixture
def release(tmp_path):
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(20, 60, 300),
        "height": rng.integers(0, 9, 300) / 4,
        "born": np.array("2000-01-01", "datetime64[D]") + rng.integers(0, 9, 300),
        "price": rng.integers(0, 5, 300) / 2,
        "moment": np.array("2000-01-01T12", "datetime64[s]") + rng.integers(0, 3, 300),
        "note": rng.choice(["a\\.b", "", 'q"\n', "\t"], 300),
        "disease": rng.choice(["flu", "cold", "cough", "gout"], 300, p=[0.4, 0.3, 0.2, 0.1]),
    }
    schema = Schema(
        quasi=["age", "height", "born"], insensitive=["price", "moment", "note"],
        sensitive="disease",
    )  # fmt: skip
    table = shoal.read(columns, schema)
    made = shoal.anonymize(table, shoal.Anatomy(ell=2))
    return shoal.open_release(made.write(tmp_path / "my release"))


def test_a_release_is_loaded_in_order_with_types_and_a_comment(run, database, release, tmp_path):
    exported = shoal.export_release(release, database)
    assert exported.to_dict() == {
        "schema": "public",
        "tables": {
            "my release_quasi": 300,
            "my release_sensitive": run('SELECT count(*) FROM "my release_sensitive"').fetchone()[
                0
            ],
        },
        "views": ["my release_expected"],
    }
    types = run(
        "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
        "WHERE attrelid = '\"my release_quasi\"'::regclass AND attnum > 0 ORDER BY attnum"
    ).fetchall()
    assert types == [
        ("bucket", "bigint"), ("age", "bigint"), ("height", "double precision"), ("born", "date"),
        ("price", "double precision"), ("moment", "timestamp without time zone"), ("note", "text"),
    ]  # fmt: skip
    with (tmp_path / "my release" / "quasi.csv").open(encoding="utf-8", newline="") as file:
        _, *lines = csv.reader(file)
    found = run('SELECT * FROM "my release_quasi" ORDER BY ctid').fetchall()
    assert [[str(value) for value in row] for row in found] == lines
    comment = run("SELECT obj_description('\"my release_quasi\"'::regclass)").fetchone()[0]
    assert release.manifest.guarantees[0].statement in comment
    import hashlib

    digest = hashlib.sha256((tmp_path / "my release" / "manifest.json").read_bytes()).hexdigest()
    assert digest in comment


def test_tables_in_the_way_are_replaced_only_on_request_and_only_releases(run, database, release):
    run("CREATE SCHEMA open")
    shoal.export_release(release.folder, database, schema="open", name="people")
    with pytest.raises(ParameterError, match=r"open\.people_expected already"):
        shoal.export_release(release.folder, database, schema="open", name="people")
    shoal.export_release(release.folder, database, schema="open", name="people", replace=True)
    assert run("SELECT count(*) FROM open.people_quasi").fetchone()[0] == 300
    assert run("SELECT sum(weight) FROM open.people_expected").fetchone()[0] == pytest.approx(300)
    run("COMMENT ON TABLE open.people_sensitive IS NULL")
    with pytest.raises(ParameterError, match="not a release of Shoal"):
        shoal.export_release(release.folder, database, schema="open", name="people", replace=True)
    assert run("SELECT count(*) FROM open.people_quasi").fetchone()[0] == 300
    with pytest.raises(SchemaError, match="no schema 'shut'"):
        shoal.export_release(release.folder, database, schema="shut")
    with pytest.raises(ParameterError, match="63 bytes"):
        shoal.export_release(release.folder, database, name="x" * 60)


def test_a_release_is_loaded_whole_or_not_at_all(run, database, release, monkeypatch):
    from shoal.release import export

    load = export._load

    def fail_late(destination, opened, file, table, comment):
        if file == "sensitive":
            destination.connection.run("SELECT 1 / 0")
        return load(destination, opened, file, table, comment)

    monkeypatch.setattr(export, "_load", fail_late)
    with pytest.raises(EngineError):
        shoal.export_release(release, database)
    assert run("SELECT count(*) FROM pg_class WHERE relname LIKE 'my release%%'").fetchone()[0] == 0


@pytest.fixture
def roles(run):
    """Make an analyst, who gets privileges, and a stranger, who gets none."""
    for role in ("analyst", "stranger"):
        run(f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN")
    yield
    for role in ("analyst", "stranger"):
        run(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")


def other_release(tmp_path, method, **more):
    rng = np.random.default_rng(2)
    columns = {
        "age": rng.integers(20, 60, 200),
        **more,
        "disease": rng.choice(["flu", "cold", "cough", "gout"], 200, p=[0.4, 0.3, 0.2, 0.1]),
    }
    table = shoal.read(columns, quasi=["age", *more], sensitive="disease")
    return shoal.anonymize(table, method).write(tmp_path / f"next {len(more)}")


def test_replacing_keeps_who_may_read(run, database, release, roles, tmp_path, postgres_server):
    shoal.export_release(release.folder, database, name="p")
    run("GRANT SELECT ON p_sensitive TO analyst WITH GRANT OPTION")
    run("GRANT SELECT ON p_expected TO analyst; GRANT SELECT (age, height) ON p_quasi TO analyst")
    run("ALTER TABLE p_sensitive ENABLE ROW LEVEL SECURITY")
    run("CREATE POLICY few ON p_sensitive FOR SELECT TO analyst USING (disease = 'flu')")
    run("COMMENT ON COLUMN p_quasi.age IS 'in years'; CREATE INDEX ON p_quasi (age)")
    run("ALTER VIEW p_expected SET (security_barrier = true)")
    # What is made from now on, a stranger may read.
    run("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO stranger")
    state = (
        "SELECT relname, relowner, relacl, relrowsecurity, reloptions, (SELECT "
        "array_agg((attname, attacl) ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid "
        "AND attname IN ('age', 'disease', 'height')) FROM pg_class c "
        "WHERE relname IN ('p_quasi', 'p_sensitive', 'p_expected') ORDER BY 1"
    )
    numbers = (
        "SELECT oid FROM pg_class WHERE relname IN ('p_quasi', 'p_sensitive') ORDER BY relname"
    )
    before, tables = run(state).fetchall(), run(numbers).fetchall()
    run("CREATE VIEW mine AS SELECT age FROM p_quasi")

    def as_role(role, statement):
        with psycopg.connect(database.replace("steward@", f"{role}@"), autocommit=True) as session:
            return session.execute(statement).fetchall()

    def check(n_rows):
        assert len(as_role("analyst", "SELECT age FROM p_quasi")) == n_rows
        assert as_role("analyst", "SELECT DISTINCT disease FROM p_sensitive") == [("flu",)]
        assert as_role("analyst", "SELECT sum(weight) FROM p_expected")[0][0] == pytest.approx(
            n_rows
        )
        for role, name in (
            ("analyst", "p_quasi"), ("stranger", "p_quasi"), ("stranger", "p_sensitive"),
            ("stranger", "p_expected"),
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                as_role(role, f"SELECT * FROM {name}")

    # The same columns: even a view of somebody else's stays.
    shoal.export_release(release.folder, database, name="p", replace=True)
    assert run(state).fetchall() == before
    assert run("SELECT count(*) FROM mine").fetchone() == (300,)
    check(300)
    # Other columns: what depends on those that go is in the way, and nothing changes.
    run("CREATE VIEW theirs AS SELECT born FROM p_quasi")
    later = other_release(tmp_path, shoal.Anatomy(ell=2), height=np.arange(200) % 9)
    with pytest.raises(EngineError, match="depends on a table that would be replaced"):
        shoal.export_release(later, database, name="p", replace=True)
    assert run(state).fetchall() == before
    check(300)
    run("DROP VIEW theirs")
    shoal.export_release(later, database, name="p", replace=True)
    # The column changed its type, so it was made again: and its privileges with it.
    assert run(state).fetchall() == before
    assert run(numbers).fetchall() == tables
    assert run("SELECT count(*) FROM mine").fetchone() == (200,)
    assert run(
        "SELECT col_description('p_quasi'::regclass, attnum) FROM pg_attribute "
        "WHERE attrelid = 'p_quasi'::regclass AND attname = 'age'"
    ).fetchone() == ("in years",)
    found = run("SELECT * FROM p_quasi LIMIT 0").description
    assert [column.name for column in found] == ["bucket", "age", "height"]
    check(200)


def test_readers_see_the_old_release_while_a_new_one_is_loaded(run, database, release, monkeypatch):
    from shoal.release import export

    shoal.export_release(release.folder, database, name="p")
    seen = []
    views = export._make_views

    def observed(*given):
        run("SET lock_timeout = '1ms'")
        seen.append(run("SELECT count(*), max(bucket) FROM p_quasi").fetchone()[0])
        views(*given)

    monkeypatch.setattr(export, "_make_views", observed)
    shoal.export_release(release.folder, database, name="p", replace=True)
    assert seen == [300]
    assert run("SELECT count(*) FROM p_quasi").fetchone() == (300,)


def test_tables_of_another_role_or_in_use_are_not_replaced(run, database, release, roles):
    shoal.export_release(release.folder, database, name="p")
    run("GRANT CREATE ON SCHEMA public TO analyst")
    address = database.replace("steward@", "analyst@")
    with pytest.raises(ParameterError, match="belongs to another role"):
        shoal.export_release(release.folder, address, name="p", replace=True)
    run("BEGIN; LOCK TABLE p_quasi IN SHARE MODE")
    with pytest.raises(EngineError, match="holds a lock"):
        shoal.export_release(release.folder, database, name="p", replace=True, lock_timeout=1)
    run("ROLLBACK; ALTER TABLE p_quasi ADD CHECK (age < 0) NOT VALID")
    with pytest.raises(EngineError, match="constraint in the database"):
        shoal.export_release(release.folder, database, name="p", replace=True)
    assert run("SELECT count(*) FROM p_quasi").fetchone() == (300,)


def test_a_changed_or_unsealed_release_is_not_loaded(run, database, release, tmp_path):
    path = tmp_path / "my release" / "quasi.csv"
    path.write_bytes(path.read_bytes().replace(b"1,", b"2,", 1))
    with pytest.raises(shoal.errors.GuaranteeError, match="fails its verification"):
        shoal.export_release(release, database)
    stated = json.loads((tmp_path / "my release" / "manifest.json").read_text())
    (tmp_path / "my release" / "manifest.json").write_text(json.dumps(stated | {"sealed": False}))
    with pytest.raises(shoal.errors.GuaranteeError, match="not sealed"):
        shoal.export_release(release, database)
    table = shoal.read({"a": [1, 1], "s": ["x", "y"]}, Schema(quasi="a", sensitive="s"))
    unwritten = shoal.anonymize(table, shoal.Anatomy(ell=2))
    with pytest.raises(ParameterError, match="not written yet"):
        shoal.export_release(unwritten, database)
    with pytest.raises(ParameterError, match="address of a Postgres"):
        shoal.export_release(release, "mysql://me:pw@host/db")


def test_an_engine_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(ParameterError, match="extra 'postgres'"):
        Postgres("postgresql:///x")


# --- what would make the server log a value --------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "DATE '5000-01-01 (BC)'",
        "DATE '5874898-01-01'",
        "TIMESTAMP '5000-01-01 (BC) 11:00:00'",
        "TIMESTAMPTZ '5000-01-01 (BC) 00:00:00+00'",
    ],
)
@pytest.mark.parametrize("role", ["insensitive", "identifying"])
def test_dates_that_the_server_would_log_are_refused_before(
    database, postgres_server, tmp_path, value, role
):
    path = tmp_path / "people.parquet"
    duckdb.sql(f"COPY (SELECT {value} AS born, 1 AS age) TO '{path}'")
    start = len(postgres_server.log)
    engine = Postgres(database)
    with pytest.raises(DataError, match="'born' holds dates that Postgres cannot hold"):
        EngineTable(engine, engine.scan(path), Schema(quasi="age", **{role: "born"}))
    engine.close()
    said = postgres_server.log[start:]
    assert "CREATE TEMP TABLE" not in said
    assert not re.search("5000-01-01|5874898", said)


def test_dates_at_the_edges_are_read(database, tmp_path):
    path = tmp_path / "people.parquet"
    duckdb.sql(
        "COPY (SELECT unnest([DATE '5874897-12-30', DATE '4713-11-25 (BC)', DATE 'infinity']) AS d,"
        f" unnest([TIMESTAMP '294246-12-31', NULL, TIMESTAMP '-infinity']) AS t) TO '{path}'"
    )
    engine = Postgres(database)
    scan = engine.scan(path)
    assert engine.rows(f"SELECT count(*) AS n FROM {scan.relation}")["n"].tolist() == [3]
    engine.close()


def test_conditions_and_findings_reach_no_log_of_the_server(
    run, people, database, tmp_path, postgres_server
):
    """A condition on private cells is evaluated by Shoal, so the server never sees its text."""
    start = len(postgres_server.log)
    roles = {**ROLES, "quasi": ["age", "zip", "note"], "insensitive": [], "meant": []}
    table = shoal.read(database, Schema(**roles, key="name"), table="people")
    private = "disease WHERE note = 'NOTE1' AND name <> 'NAMEOF7' AND zip IN ('ZIP1', 'ZIP2')"
    methods = (
        shoal.RuleHiding(private=private, delta=0.9, gamma=20),
        shoal.Injector(ell=2),
        shoal.Slicing(ell=2),
    )
    for number, method in enumerate(methods):
        release = shoal.anonymize(table, method)
        found, measured = shoal.attack(release), shoal.measure(release)
        release.write(tmp_path / f"release{number}", findings=found, measured=measured)
    table.engine.close()
    said = postgres_server.log[start:]
    assert "CREATE TEMP TABLE" in said
    assert [word for word in ("NAMEOF", "ZIP1", "NOTE1", "SICK") if word in said] == []
