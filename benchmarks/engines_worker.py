"""Publish a census with one engine, in a process of its own.

``python engines_worker.py REQUEST``, a JSON document: the engine, its cores, the source and the
memory. Prints a summary of the release and the SHA-256 of its data files as JSON. If the engine is
``load``, it only copies the source into the table `census` of a Postgres database.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shoal
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.table import EngineTable

_SEED = 1
_BYTES_A_MEGABYTE = 2**20


@contextlib.contextmanager
def _duckdb(source: str, cores: int, memory: str) -> Iterator[EngineTable]:
    engine = DuckDB(memory)
    engine._connection.execute(f"SET threads = {cores}")
    with contextlib.closing(engine):
        yield EngineTable(engine, engine.scan(source), _schema())


@contextlib.contextmanager
def _spark(source: str, cores: int, memory: str) -> Iterator[EngineTable]:
    """Publish in a session of the user, as in a notebook."""
    from pyspark.sql import SparkSession

    from shoal.engines.limits import bytes_of

    settings = {
        "spark.driver.memory": f"{bytes_of(memory) // _BYTES_A_MEGABYTE}m",
        "spark.driver.maxResultSize": "0",
        "spark.local.dir": str(Path.cwd()),
        "spark.sql.shuffle.partitions": str(4 * cores),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        table = shoal.read(session.read.parquet(source), _schema())
        with contextlib.closing(table.engine):
            yield table
    finally:
        _stop(session)


def _stop(session: Any) -> None:
    """Stop Spark and wait for its Java process: the system counts only processes waited for."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)


@contextlib.contextmanager
def _postgres(source: str, cores: int, memory: str) -> Iterator[EngineTable]:
    """Publish from a database; Postgres works on temporary tables with one core."""
    table = shoal.read(source, _schema(), table="census", memory=memory)
    with contextlib.closing(table.engine):
        yield table


_ENGINES = {"duckdb": _duckdb, "spark": _spark, "postgres": _postgres}


def _schema() -> shoal.Schema:
    return shoal.datasets.census(rows=1).schema


def publish(engine: str, **options: Any) -> dict[str, object]:
    """Read, plan, place, verify, attack and write, then verify the written files."""
    with _ENGINES[engine](**options) as table:
        release = shoal.anonymize(table, shoal.Anatomy(ell=5, draw="ring"), seed=_SEED)
        shoal.attack(release)
        release.write("release", accept_risk="a measurement with a seed, deleted afterwards")
        manifest = release.manifest
        return {
            "rows": manifest.n_rows,
            "buckets": manifest.n_buckets,
            "engine": manifest.versions["engine"],
            "digests": {
                name: digest for name, digest in manifest.files.items() if name.endswith(".csv")
            },
        }


def load(source: str, address: str) -> dict[str, object]:
    """Copy Parquet files into a table of a database."""
    import duckdb
    import psycopg

    copied = Path("census.csv")
    with duckdb.connect() as connection:
        relation = connection.read_parquet(f"{source}/*.parquet")
        types = {"BIGINT": "bigint", "VARCHAR": "text"}
        columns = [
            f"{name} {types[str(kind)]}"
            for name, kind in zip(relation.columns, relation.types, strict=True)
        ]
        relation.write_csv(str(copied), header=False)
    with psycopg.connect(address, autocommit=True) as database:
        database.execute(f"CREATE TABLE census ({', '.join(columns)})")
        with (
            copied.open("rb") as file,
            database.cursor() as cursor,
            cursor.copy("COPY census FROM STDIN (FORMAT csv)") as copy,
        ):
            while piece := file.read(1 << 18):
                copy.write(piece)
        database.execute("VACUUM ANALYZE census")
        # Otherwise, pending writes to disk would count as work of the measured process.
        database.execute("CHECKPOINT")
    copied.unlink()
    return {}


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    # Java writes to the standard output too, which is reserved for the answer.
    with contextlib.redirect_stdout(sys.stderr):
        is_load = request["engine"] == "load"
        answer = (
            load(**request["options"])
            if is_load
            else publish(request["engine"], **request["options"])
        )
    json.dump(answer, sys.stdout)
