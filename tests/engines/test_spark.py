"""What is Spark's alone: sessions, its own frames and tables, its logs, its end."""

from __future__ import annotations

import datetime as dt
import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal.core.errors import DataError, EngineError, ParameterError
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.engines.spark import connection as spark_session
from shoal.engines.spark.engine import Spark
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.table import EngineTable


@pytest.fixture
def session(spark):
    """Give the session that a user would have."""
    return spark._base


@pytest.fixture
def engine(spark):
    made = Spark()
    yield made
    made.close()


# --- sources ---------------------------------------------------------------------------------


def frame_of(session, **columns):
    return session.createDataFrame(pa.table(columns))


def labels(table):
    return {column: domain.labels() for column, domain in table.domains.items()}


def test_a_frame_of_another_session_is_read(engine, session):
    frame = frame_of(session, a=[3, 1, None], b=["x", None, "x"])
    scan = engine.scan(frame)
    assert (scan.line, scan.digest, scan.is_text) == (None, None, False)
    table = EngineTable(engine, scan, Schema(quasi=["a", "b"]))
    assert labels(table) == {"a": ["1", "3", None], "b": ["x", None]}
    assert not session.catalog.listTables("global_temp")


def test_types_of_a_frame_are_named_in_the_words_of_duckdb(engine, session):
    frame = session.sql(
        "SELECT CAST(1 AS TINYINT) AS a, CAST(1 AS SMALLINT) AS b, 1 AS c, 1L AS d, "
        "CAST(1 AS FLOAT) AS e, 1D AS f, CAST(1 AS DECIMAL(10, 2)) AS g, DATE'2020-01-01' AS h, "
        "TIMESTAMP_NTZ'2020-01-01 00:00:00' AS i, TIMESTAMP_LTZ'2020-01-01 00:00:00' AS j, "
        "TRUE AS k, 'x' AS l, NULL AS m, array(1) AS n, named_struct('z', 1) AS o, X'00' AS p"
    )
    assert list(engine.scan(frame).types.values()) == [
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DATE",
        "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BOOLEAN", "VARCHAR", '"NULL"', "ARRAY<INT>",
        "STRUCT<Z:INT>", "BINARY",
    ]  # fmt: skip


def test_what_holds_no_plain_value_may_still_be_identifying(engine, session):
    frame = session.sql("SELECT id % 2 AS a, array(id) AS b, X'00FF' AS c FROM range(6)")
    table = EngineTable(engine, engine.scan(frame), Schema(quasi=["a"], identifying=["b", "c"]))
    assert table.n_rows == 6
    with pytest.raises(DataError, match="not hold plain values"):
        EngineTable(engine, engine.scan(frame), Schema(quasi=["a", "b"], identifying=["c"]))


def test_texts_of_another_collation_are_compared_as_they_are(engine, session):
    frame = session.sql("SELECT col1 COLLATE UTF8_LCASE AS a FROM VALUES ('x'), ('X'), ('x')")
    table = EngineTable(engine, engine.scan(frame), Schema(quasi=["a"]))
    assert table.domains["a"].labels() == ["X", "x"]


def test_equal_rows_of_a_frame_are_told_apart(engine, session):
    frame = frame_of(session, a=[1, 1, 1, 2], b=["x", "x", "x", None])
    table = EngineTable(engine, engine.scan(frame), Schema(quasi=["a"], sensitive="b"))
    keys = engine.rows("SELECT row_key FROM coded")["row_key"].tolist()
    assert table.n_rows == len(set(keys)) == 4
    assert sorted(key.split(":")[1] for key in keys) == ["1", "1", "2", "3"]


def test_tables_and_views_are_read_by_name(engine, session):
    frame_of(session, a=[1, 2, 2]).createOrReplaceTempView("people_view")
    assert EngineTable(engine, engine.scan("people_view"), Schema(quasi=["a"])).n_rows == 3
    session.sql("CREATE TABLE people_table USING parquet AS SELECT 1 AS a")
    try:
        assert EngineTable(engine, engine.scan("people_table"), Schema(quasi=["a"])).n_rows == 1
        scan = engine.scan("default.people_table")
        assert scan.name == "default.people_table"
    finally:
        session.sql("DROP TABLE people_table")
        session.catalog.dropTempView("people_view")
    with pytest.raises(DataError, match="no file"):
        engine.scan("people_table")


def test_parquet_files_are_read_by_spark_itself(engine, tmp_path):
    path = tmp_path / "it's [a] {b} *?.parquet"
    pa.parquet.write_table(pa.table({"a.b": [2, 1], "c`d": ["x", None]}), path)
    scan = engine.scan(path)
    assert (scan.line, len(scan.digest)) == (None, 64)
    table = EngineTable(engine, scan, Schema(quasi=["a.b", "c`d"]))
    assert labels(table) == {"a.b": ["1", "2"], "c`d": ["x", None]}


def test_a_folder_that_spark_partitioned_is_read(engine, session, tmp_path):
    frame = frame_of(session, a=[1, 2, 2], year=[2019, 2020, 2020])
    frame.write.partitionBy("year").parquet(str(tmp_path / "t"))
    for source in (tmp_path / "t", f"file://{tmp_path}/t"):
        table = EngineTable(engine, engine.scan(source), Schema(quasi=["a", "year"]))
        assert labels(table) == {"a": ["1", "2"], "year": ["2019", "2020"]}


def test_a_folder_in_the_layout_of_hive_has_the_types_that_duckdb_gives_it(engine, tmp_path):
    for zip_code in ("01", "1"):
        folder = tmp_path / "t" / f"zip={zip_code}"
        folder.mkdir(parents=True)
        pa.parquet.write_table(pa.table({"a": [1]}), folder / "part.parquet")
    table = EngineTable(engine, engine.scan(tmp_path / "t"), Schema(quasi=["a", "zip"]))
    assert labels(table) == {"a": ["1"], "zip": ["01", "1"]}


@pytest.mark.parametrize("mark", ["_delta_log/0.json", ".hoodie/x", "metadata/1.metadata.json"])
def test_files_of_a_table_with_a_log_are_refused(engine, tmp_path, mark):
    folder = tmp_path / "lake" / "year=2020"
    folder.mkdir(parents=True)
    (tmp_path / "lake" / mark).parent.mkdir()
    (tmp_path / "lake" / mark).write_text("{}")
    pa.parquet.write_table(pa.table({"a": [1]}), folder / "part.parquet")
    address = f"file://{tmp_path}/lake"
    for source in (
        tmp_path / "lake",
        address,
        f"{address}/",
        f"{address}/year=2020/part.parquet",
        f"{address}/*/part.parquet",
    ):
        with pytest.raises(DataError, match=r"(Delta Lake|Hudi|Iceberg) table"):
            engine.scan(source)


def test_moments_with_nanoseconds_are_read(engine, tmp_path):
    path = tmp_path / "t.parquet"
    moments = pa.array([0, 86_400 * 10**9, None], pa.timestamp("ns"))
    pa.parquet.write_table(pa.table({"a": moments}), path)
    table = EngineTable(engine, engine.scan(path), Schema(quasi=["a"]))
    assert table.domains["a"].labels() == ["1970-01-01", "1970-01-02", None]


def test_options_have_no_meaning_for_frames(engine, session):
    with pytest.raises(ParameterError, match="table"):
        engine.scan(frame_of(session, a=[1]), table="people")


def test_a_name_with_a_variable_in_it_is_left_as_it_is(engine):
    table = EngineTable(
        engine, engine.scan({"${x}": [1], "a.b": [2]}), Schema(quasi=["${x}", "a.b"])
    )
    assert labels(table) == {"${x}": ["1"], "a.b": ["2"]}


# --- texts and values ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "kind", "text"),
    [
        ("CAST('NaN' AS DOUBLE)", "DOUBLE", "nan"),
        ("CAST('-Infinity' AS DOUBLE)", "DOUBLE", "-inf"),
        ("CAST(0.05 AS DECIMAL(2,2))", "DECIMAL(2,2)", ".05"),
        ("CAST(-0.05 AS DECIMAL(3,2))", "DECIMAL(3,2)", "-0.05"),
        ("CAST(0 AS DECIMAL(38,10))", "DECIMAL(38,10)", "0.0000000000"),
        ("TIMESTAMP_NTZ'0001-01-01 00:00:00.5'", "TIMESTAMP", "0001-01-01 00:00:00.5"),
        ("TIMESTAMP_NTZ'2020-01-01 00:00:00'", "TIMESTAMP", "2020-01-01 00:00:00"),
        ("TIMESTAMP_LTZ'2020-01-01 01:00:00.000001'", "TIMESTAMP WITH TIME ZONE",
         "2020-01-01 01:00:00.000001+00"),
        ("DATE'9999-12-31'", "DATE", "9999-12-31"),
        ("TRUE", "BOOLEAN", "true"),
        ("X'00FF'", "BINARY", "00FF"),
    ],
)  # fmt: skip
def test_texts_are_those_of_duckdb(engine, expression, kind, text):
    assert engine.rows(f"SELECT {engine.text(expression, kind)} AS v")["v"].tolist() == [text]


def test_powers_of_two_are_written_as_python_writes_them(engine):
    numbers = 2.0 ** np.arange(-1074, 1024)
    engine.push("pushed", {"place": np.arange(len(numbers)), "a": numbers})
    engine.stage("written", f"SELECT place, {engine.text('a', 'DOUBLE')} AS v FROM pushed")
    found = engine.rows("SELECT v FROM written ORDER BY place")["v"].tolist()
    assert found == [repr(number) for number in numbers.tolist()]


def test_reals_are_written_alike_where_java_may_not_be_called(engine):
    numbers = [0.1, 1e-7, 1e20, -0.0, 2e-3, 5e-324, None, 123456789.125]
    scan = engine.scan(pa.table({"a": numbers, "b": pa.array(numbers, pa.float32())}))
    found = []
    for can_reflect in (True, False):
        if not can_reflect:
            engine._register_texts()
        engine._can_reflect = can_reflect
        texts = ", ".join(f"{engine.text(c, scan.types[c])} AS {c}" for c in "ab")
        engine.stage("written", f"SELECT {texts} FROM {scan.relation} ORDER BY shoal_line")
        fetched = engine.rows("SELECT * FROM written")
        found.append([np.ma.filled(fetched[c], "-").tolist() for c in "ab"])
    assert found[0] == found[1]


def test_pushed_columns_keep_their_types(engine):
    columns = {
        "a": np.array([1, 2], np.int16), "b": np.array([1, 2], np.int32), "c": np.array([1, 2]),
        "d": np.array([0.5, 1.5]), "e": np.array([True, False]), "f": np.array(["x", None], object),
        "g": np.ma.array([1, 2], mask=[True, False]),
    }  # fmt: skip
    engine.push("pushed", columns)
    found = engine.rows("SELECT * FROM pushed")
    assert {name: str(array.dtype) for name, array in found.items()} == {
        "a": "int16", "b": "int32", "c": "int64", "d": "float64", "e": "bool", "f": "object",
        "g": "int64",
    }  # fmt: skip
    assert [array.tolist() for array in found.values()][5:] == [["x", None], [None, 2]]
    empty = {name: array[:0] for name, array in columns.items()}
    engine.push("pushed", empty)
    assert [len(array) for array in engine.rows("SELECT * FROM pushed").values()] == [0] * 7


def test_a_large_pushed_table_is_joined_without_being_sent_to_every_task(engine, monkeypatch):
    monkeypatch.setattr("shoal.engines.spark.engine._BROADCAST_BYTES", 10)
    engine.push("pushed", {"a": np.arange(1000)})
    found = engine.rows("SELECT count(*) AS n FROM pushed p JOIN pushed q ON p.a = q.a + 1")
    assert found["n"][0] == 999


def test_what_is_staged_does_not_follow_its_source(engine, session, tmp_path):
    path = str(tmp_path / "t")
    frame_of(session, a=[1, 2]).write.parquet(path)
    engine.stage("kept", f"SELECT a, rand() AS r FROM parquet.`{path}`")
    before = engine.rows("SELECT a, r FROM kept ORDER BY a")
    frame_of(session, a=[7]).write.mode("overwrite").parquet(path)
    after = engine.rows("SELECT a, r FROM kept ORDER BY a")
    assert [c.tolist() for c in before.values()] == [c.tolist() for c in after.values()]


def test_dropping_frees_what_was_staged(engine, session):
    def n_kept():
        return session.sparkContext._jsc.getPersistentRDDs().size()

    before = n_kept()
    engine.stage("kept", "SELECT id FROM range(1000)")
    engine.stage("kept", "SELECT id + 1 AS id FROM kept")
    assert n_kept() == before + 1
    engine.drop("kept")
    engine.drop("kept")
    assert n_kept() == before


@pytest.mark.parametrize("is_local", [True, False], ids=["here", "on a cluster"])
def test_all_rows_are_brought_to_the_publisher(engine, monkeypatch, is_local):
    monkeypatch.setattr(engine, "_is_local", is_local)
    monkeypatch.setattr("shoal.engines.spark.engine._SLICE_ROWS", 1000)
    brought = engine.bring(
        "SELECT id AS n, CASE WHEN id % 2 = 0 THEN '' END AS t, CAST(id / 4 AS DOUBLE) AS r, "
        "TIMESTAMP_NTZ'2020-01-01 00:00:00' AS m FROM range(0, 5000, 1, 7)"
    )
    query = f"SELECT * FROM {brought} ORDER BY n"
    assert list(engine.publisher.types_of(query).values()) == [
        "BIGINT", "VARCHAR", "DOUBLE", "TIMESTAMP"
    ]  # fmt: skip
    fetched = engine.publisher.rows(query)
    assert fetched["n"].tolist() == list(range(5000))
    assert texts_of(fetched["t"][:3]) == ["", None, ""]
    assert (fetched["r"] == np.arange(5000) / 4).all()
    nothing = engine.bring("SELECT id AS n FROM range(5) WHERE id > 9")
    assert len(engine.publisher.rows(f"SELECT n FROM {nothing}")["n"]) == 0


def test_what_duckdb_reads_reaches_a_cluster_too(engine, monkeypatch):
    monkeypatch.setattr(engine, "_is_local", False)
    columns = {"a": [Decimal("1.50"), None], "b": [dt.date(1, 1, 1), None], "c": ["x", None]}
    table = EngineTable(engine, engine.scan(pa.table(columns)), Schema(quasi=list("abc")))
    assert labels(table) == {"a": ["1.50", None], "b": ["0001-01-01", None], "c": ["x", None]}


# --- sessions --------------------------------------------------------------------------------


def test_views_and_settings_of_the_users_session_are_left_alone(spark, session):
    before = {key: session.conf.get(key) for key in session.conf.getAll}
    engine = Spark(session)
    engine.stage("kept", "SELECT 1 AS a")
    assert "kept" not in {table.name for table in session.catalog.listTables()}
    engine.close()
    engine.close()
    assert {key: session.conf.get(key) for key in session.conf.getAll} == before
    assert session.range(3).count() == 3


def test_memory_of_a_running_session_cannot_be_chosen(spark):
    with pytest.raises(ParameterError, match="another memory limit"):
        Spark(memory="3GB")


def test_an_error_of_spark_does_not_show_what_it_stumbled_over(engine, capfd, caplog):
    engine.push("pushed", {"a": np.array(["Wally Whale"], object)})
    with pytest.raises(EngineError, match="Spark refused") as caught:
        engine.rows("SELECT CAST(a AS BIGINT) AS n FROM pushed")
    with pytest.raises(EngineError, match=r"refused \(TABLE_OR_VIEW_NOT_FOUND\)"):
        engine.rows("SELECT * FROM nowhere")
    said = capfd.readouterr()
    logged = [record.getMessage() for record in caplog.records if record.name != "shoal.internal"]
    for text in (str(caught.value), said.out, said.err, *logged):
        assert "Wally" not in text
    assert caught.value.__suppress_context__


# An interrupted call to Java leaves its socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("seconds", [0.02, 1.5], ids=["before it begins", "while it runs"])
def test_an_interruption_ends_a_job(engine, session, seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.rows("SELECT sum(hash(a.id, b.id)) AS n FROM range(1000000) a, range(1000000) b")
    timer.join()
    assert engine.rows("SELECT 1 AS n")["n"].tolist() == [1]
    # What runs is known a moment later than it runs.
    deadline = time.monotonic() + 20
    while session.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    gc.collect()


def test_no_java_is_said_with_the_way_to_get_it(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"needs Java(.|\n)*Hint: install Java 17"):
        spark_session._require_java()


def test_no_pyspark_is_said_with_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ParameterError, match=r"shoal-privacy\[spark\]"):
        Spark()


def run(script, folder):
    """Run a script in a process of its own: it needs a Java that is its own."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(script), encoding="utf-8")
    found = subprocess.run(
        [sys.executable, str(path), str(folder)], capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-3000:]
    return found


def test_a_lost_session_is_said_and_a_new_one_starts(spark, tmp_path):
    script = """
        import os, signal, tempfile
        tempfile.tempdir = os.path.dirname(__file__)
        from pyspark import SparkContext
        from shoal.core.errors import EngineError
        from shoal.engines.spark.engine import Spark

        engine = Spark(memory="1GB")
        engine.stage("kept", "SELECT 1 AS a")
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
        for ask in (lambda: engine.rows("SELECT * FROM kept"), lambda: engine.drop("kept")):
            try:
                ask()
            except EngineError as error:
                print(error.fact)
        engine.close()
        other = Spark()
        print(other.rows("SELECT 1 AS a")["a"].tolist(), other.name)
        other.close()
        print(SparkContext._gateway, [name for name in os.listdir(tempfile.tempdir)
                                      if name.startswith("shoal-")])
        unclosed = Spark()
    """
    found = run(script, tmp_path)
    said = found.stdout.splitlines()
    assert said[:2] == ["Spark lost its session."] * 2
    assert re.fullmatch(r"\[1\] spark 4[.0-9]+", said[2])
    assert said[3] == "None []"
    assert not found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


_LOG_EVERYTHING = """
<Configuration>
  <Appenders>
    <File name="file" fileName="{folder}/spark.log"><PatternLayout pattern="%p %c %m%n%ex"/></File>
  </Appenders>
  <Loggers>
    <Logger name="org.apache.spark.sql" level="debug"/>
    <Logger name="org.apache.spark.scheduler" level="debug"/>
    <Root level="info"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
"""


def test_neither_keys_nor_values_reach_the_logs_of_spark(spark, tmp_path):
    """Even where Spark logs every plan and keeps a history of all events."""
    (tmp_path / "events").mkdir()
    (tmp_path / "log4j2.xml").write_text(_LOG_EVERYTHING.format(folder=tmp_path))
    script = """
        import sys
        import numpy as np
        from pyspark.sql import SparkSession
        import shoal
        from shoal.engines.spark.engine import Spark
        from shoal.engines.sql.table import EngineTable

        folder = sys.argv[1]
        session = (
            SparkSession.builder.master("local[2]").config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.dir", f"file://{folder}/events")
            .config("spark.eventLog.compress", "false")
            .config("spark.driver.extraJavaOptions",
                    f"-Dlog4j2.configurationFile={folder}/log4j2.xml")
            .config("spark.ui.enabled", "false").getOrCreate()
        )
        engine = Spark(session)
        columns = {
            "person": [f"Wally Whale {i}" for i in range(40)],
            "town": [("Quahog", "Innsmouth")[i % 2] for i in range(40)],
            "illness": [("dropsy", "scurvy", "gout", "ague")[i % 4] for i in range(40)],
        }
        schema = shoal.Schema(quasi="town", sensitive="illness", identifying="person", key="person")
        table = EngineTable(engine, engine.scan(columns), schema)
        private = "illness WHERE town = 'Quahog' AND person <> 'Wally Whale 7'"
        hiding = shoal.RuleHiding(private=private, delta=0.9, gamma=5)
        for number, method in enumerate((shoal.Anatomy(ell=2), shoal.Mondrian(k=3), hiding)):
            release = shoal.anonymize(table, method, seed=31)
            release.write(f"{folder}/release{number}", accept_risk="a test")
        engine.close()
        written = session.sql("SELECT * FROM range(3) WHERE 'written out' <> CAST(id AS STRING)")
        print(written.count())
        session.stop()
    """
    found = run(script, tmp_path)
    assert found.stdout.splitlines()[-1] == "3"
    events = "".join(p.read_text("utf-8") for p in (tmp_path / "events").rglob("*") if p.is_file())
    log = (tmp_path / "spark.log").read_text("utf-8")
    said = events + log + found.stderr + found.stdout
    # What stands in a statement is in the logs, so this would find it.
    for text in (events, log):
        assert "sha2(" in text
        assert "written out" in text
    secret = Secret.from_seed(31)
    keys = [secret.reveal(), *(secret.derive(key).hex()[:32] for key in ("rank", "redraw", "line"))]
    values = ["Wally", "Quahog", "Innsmouth", "dropsy", "scurvy", "ague"]
    assert [word for word in [*keys, *values] if word in said] == []


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_catalogs_that_the_user_states_are_left_alone(monkeypatch, tmp_path, variable):
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert spark_session._stated_catalogs() == set()
    folder = tmp_path if variable == "SPARK_CONF_DIR" else tmp_path / "conf"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv(variable, str(tmp_path))
    assert spark_session._stated_catalogs() == set()
    (folder / "spark-defaults.conf").write_text(
        "# ours\nspark.sql.catalogImplementation hive\nspark.sql.warehouse.dir=/w\nspark.master x\n"
    )
    stated = {"spark.sql.catalogImplementation", "spark.sql.warehouse.dir"}
    assert spark_session._stated_catalogs() == stated
    assert stated <= spark_session._settings(tmp_path, 2**30).keys()
