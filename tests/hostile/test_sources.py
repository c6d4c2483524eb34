"""Sources that harm: changed bytes, pipes, tables with a log, views that reach out."""

from __future__ import annotations

import io
import os
import random
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from mutations import MARKER, mutate, outcomes

import shoal
from shoal.core.errors import DataError
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files import find_parquet
from shoal.engines.sql.table import EngineTable

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")


@pytest.fixture
def engine():
    made = DuckDB()
    yield made
    made.close()


# --- changed bytes ---------------------------------------------------------------------------


def tables() -> dict[str, pa.Table]:
    """Make tables whose types keep offsets, indices or run ends beside their values."""
    texts = [f"{MARKER}{n % 7}" for n in range(150)]
    return {
        "plain": pa.table({"a": range(150), "s": texts, "f": [n / 3 for n in range(150)]}),
        "dictionary": pa.table({"a": pa.array(texts).dictionary_encode()}),
        "nested": pa.table({"l": [[n, n] for n in range(150)], "s": [{"x": t} for t in texts]}),
        "view": pa.table({"v": pa.array(texts, pa.string_view()), "d": pa.array(texts)}),
    }


def arrow_bytes(table: pa.Table, compression: str | None, *, is_stream: bool) -> bytes:
    content = io.BytesIO()
    new = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with new(content, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=60)
    return content.getvalue()


@posix
def test_arrow_files_with_changed_bytes_end_no_process(tmp_path):
    draw = random.Random(4)
    for name, table in tables().items():
        for compression in (None, "zstd"):
            for is_stream in (True, False):
                content = arrow_bytes(table, compression, is_stream=is_stream)
                for number in range(5):
                    path = tmp_path / f"{name}-{compression}-{is_stream}-{number}.arrow"
                    path.write_bytes(mutate(content, draw))
    assert outcomes(tmp_path) == {}


@posix
def test_parquet_files_with_changed_bytes_end_no_process(tmp_path):
    draw = random.Random(5)
    for name in ("plain", "dictionary", "nested"):
        for compression in ("none", "zstd", "snappy"):
            content = io.BytesIO()
            pa.parquet.write_table(
                tables()[name], content, compression=compression, row_group_size=60
            )
            for number in range(5):
                path = tmp_path / f"{name}-{compression}-{number}.parquet"
                path.write_bytes(mutate(content.getvalue(), draw, first=4))
    assert outcomes(tmp_path) == {}


@posix
def test_duckdb_files_with_changed_bytes_end_no_process(tmp_path):
    original = tmp_path / "original.duckdb"
    with duckdb.connect(str(original)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT '{MARKER}' || range AS s FROM range(900)")
    content = original.read_bytes()
    original.unlink()
    draw = random.Random(6)
    for number in range(30):
        (tmp_path / f"{number}.duckdb").write_bytes(mutate(content, draw, first=12))
    assert outcomes(tmp_path) == {}


def test_arrow_index_that_leads_out_of_its_dictionary_is_refused(engine, tmp_path):
    table = pa.table({"a": pa.array(["x", "x", "x"]).dictionary_encode()})
    content = arrow_bytes(table, None, is_stream=True)
    indices, wrong = struct.pack("<3i", 0, 0, 0), struct.pack("<3i", 0, 2**30, 0)
    place = content.rindex(indices)
    path = tmp_path / "t.arrow"
    path.write_bytes(content[:place] + wrong + content[place + len(wrong) :])
    with pytest.raises(DataError, match=r"valid Arrow file"):
        engine.scan(path)


# --- neither files nor folders ---------------------------------------------------------------


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(path.parent, os.O_RDONLY)
        # The path of a socket may have some hundred characters only.
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@posix
@pytest.mark.parametrize("make", [make_pipe, make_socket, make_device])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "duckdb"])
def test_source_that_is_no_file_is_refused(engine, tmp_path, make: Callable[[Path], None], ending):
    path = tmp_path / f"people.{ending}"
    make(path)
    with pytest.raises(DataError, match=r"is a (named pipe|socket|device), not a file"):
        engine.scan(path)


@posix
def test_pipe_among_the_files_of_a_folder_is_refused(engine, tmp_path):
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    make_pipe(tmp_path / "2.parquet")
    with pytest.raises(DataError, match="named pipe"):
        engine.scan(tmp_path)


# --- tables with a log -----------------------------------------------------------------------


def write(path: Path, **columns: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.table(columns), path)
    return path


def make_delta(folder: Path) -> None:
    (folder / "_delta_log").mkdir(parents=True)


def make_iceberg(folder: Path) -> None:
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "00001-abc.metadata.json").write_text("{}")


def make_hudi(folder: Path) -> None:
    (folder / ".hoodie").mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "kind"), [(make_delta, "Delta Lake"), (make_iceberg, "Iceberg"), (make_hudi, "Hudi")]
)
@pytest.mark.parametrize("place", ["", "data", "year=2020", "data/year=2020/month=1"])
def test_table_with_a_log_is_refused(engine, tmp_path, make, kind, place):
    lake = tmp_path / "lake"
    make(lake)
    file = write(lake / place / "part.parquet", a=[1])
    for source in {lake, file.parent, file}:
        if source.is_dir() and not any(source.glob("**/*.parquet")):
            continue
        with pytest.raises(DataError, match=f"{kind} table") as raised:
            engine.scan(source)
        assert "deleted rows" in raised.value.fact
        assert "export the table" in raised.value.hint


def test_log_below_a_folder_of_hive_is_found_too(engine, tmp_path):
    file = write(tmp_path / "lake" / "year=2020" / "part.parquet", a=[1])
    make_delta(file.parent)
    with pytest.raises(DataError, match="Delta Lake"):
        engine.scan(tmp_path / "lake")


def test_folder_called_metadata_alone_is_no_log(engine, tmp_path):
    write(tmp_path / "people" / "part.parquet", a=[1])
    (tmp_path / "people" / "metadata").mkdir()
    (tmp_path / "people" / "metadata" / "readme.json").write_text("{}")
    assert engine.scan(tmp_path / "people").types == {"a": "BIGINT"}


# --- Hive's layout ---------------------------------------------------------------------------


def labels(engine: DuckDB, source: Path, *columns: str) -> dict[str, list[str | None]]:
    table = EngineTable(engine, engine.scan(source), shoal.Schema(quasi=columns))
    return {column: domain.labels() for column, domain in table.domains.items()}


def test_names_of_folders_are_columns(engine, tmp_path):
    write(tmp_path / "year=2019/zip=01/part.parquet", a=["x", "y"])
    write(tmp_path / "year=2020/zip=a%20b/part.parquet", a=["x"])
    write(tmp_path / "year=__HIVE_DEFAULT_PARTITION__/zip=1/part.parquet", a=["z"])
    assert engine.scan(tmp_path).types == {"a": "VARCHAR", "year": "BIGINT", "zip": "VARCHAR"}
    found = labels(engine, tmp_path, "a", "year", "zip")
    # 01 is another zip code than 1.
    assert found == {
        "a": ["x", "y", "z"],
        "year": ["2019", "2020", None],
        "zip": ["01", "1", "a b"],
    }


def test_dates_of_folders_are_dates(engine, tmp_path):
    write(tmp_path / "day=2020-02-29/part.parquet", a=[1])
    assert engine.scan(tmp_path).types["day"] == "DATE"
    write(tmp_path / "day=2020-02-30/part.parquet", a=[1])
    assert engine.scan(tmp_path).types["day"] == "VARCHAR"


def test_folder_above_the_source_adds_no_column(engine, tmp_path):
    outer = tmp_path / "user=ann"
    file = write(outer / "people" / "year=2020" / "part.parquet", a=[1])
    assert tuple(engine.scan(file).types) == ("a",)
    assert tuple(engine.scan(outer / "people").types) == ("a", "year")
    write(outer / "plain" / "part.parquet", a=[1])
    assert tuple(engine.scan(outer / "plain").types) == ("a",)


def test_work_that_is_not_finished_is_passed_over(tmp_path):
    write(tmp_path / "year=2020/part.parquet", a=[1])
    write(tmp_path / "_temporary=1/part.parquet", a=[2])
    assert len(find_parquet(tmp_path).paths) == 1


@pytest.mark.parametrize("other", ["part.parquet", "month=1/part.parquet"])
def test_folders_that_do_not_state_the_same_columns_are_refused(engine, tmp_path, other):
    write(tmp_path / "year=2020/part.parquet", a=[1])
    write(tmp_path / other, a=[2])
    with pytest.raises(DataError, match="do not state the same columns"):
        engine.scan(tmp_path)


def test_column_in_files_and_in_names_of_folders_is_refused(engine, tmp_path):
    write(tmp_path / "Year=2020/part.parquet", a=[1], year=[2021])
    with pytest.raises(DataError, match="both in its files and in the names"):
        engine.scan(tmp_path)


def test_files_that_do_not_agree_on_a_type_are_refused(engine, tmp_path):
    """DuckDB reads the second file with the types of the first: 1.5 becomes 2."""
    write(tmp_path / "1.parquet", a=[1], b=["x"])
    write(tmp_path / "2.parquet", a=[1.5], b=["x"])
    with pytest.raises(DataError, match="do not agree on 'a'"):
        engine.scan(tmp_path)


def test_files_that_do_not_agree_on_their_columns_are_refused(engine, tmp_path):
    write(tmp_path / "1.parquet", a=[1])
    write(tmp_path / "2.parquet", a=[1], b=["x"])
    with pytest.raises(DataError, match="do not agree on 'b'"):
        engine.scan(tmp_path)


def test_change_below_a_folder_of_hive_is_noticed(engine, tmp_path):
    write(tmp_path / "year=2020/part.parquet", a=[1])
    scan = engine.scan(tmp_path)
    with pytest.raises(DataError, match="changed while"), scan.unchanged():
        write(tmp_path / "year=2021/part.parquet", a=[1])


# --- DuckDB files ----------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "people.duckdb"
    (tmp_path / "secret.csv").write_text(f"a\n{MARKER}\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT 5::HUGEINT AS a, 'x' AS b")
        connection.execute("CREATE VIEW sound AS SELECT a + 1 AS a FROM people")
        connection.execute(f"CREATE VIEW files AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
        connection.execute(f"CREATE VIEW listing AS SELECT * FROM glob('{tmp_path}/*')")
    return path


def test_table_and_view_of_a_duckdb_file_are_read(engine, database):
    for table, expected in (("people", 5), ("sound", 6)):
        scan = engine.scan(database, table=table)
        assert scan.types["a"] == "HUGEINT"
        found = engine.rows(f"SELECT CAST(a AS VARCHAR) AS a FROM {scan.relation}")
        assert found["a"].tolist() == [str(expected)]


@pytest.mark.parametrize("view", ["files", "listing"])
def test_view_that_reads_other_files_is_refused(engine, database, view):
    with pytest.raises(DataError, match="more than the tables of its own file"):
        engine.scan(database, table=view)


@pytest.mark.parametrize(
    "statement",
    [
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET temp_directory = '.'",
        "SET autoload_known_extensions = true",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
    ],
)
def test_connection_of_the_engine_is_locked(engine, statement):
    with pytest.raises(duckdb.Error):
        engine._connection.execute(statement)


def test_limit_of_memory_can_still_be_set(engine):
    engine._connection.execute("SET memory_limit = '123MB'")
