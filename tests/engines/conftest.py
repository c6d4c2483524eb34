"""One suite for every engine: what holds on one must hold on all.

A further engine is one more entry in `ENGINES`. What is about files alone, such as the dialects of
CSV, takes `embedded`: every engine lets DuckDB read them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest

from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Engine
from shoal.engines.postgres.connection import Connection
from shoal.engines.postgres.engine import Postgres
from shoal.engines.spark.engine import Spark

MakeEngine = Callable[[], Engine]


def _duckdb(_: pytest.FixtureRequest) -> MakeEngine:
    return DuckDB


def _postgres(request: pytest.FixtureRequest) -> MakeEngine:
    address = request.getfixturevalue("postgres_server").address()
    return lambda: Postgres(address)


def _spark(request: pytest.FixtureRequest) -> MakeEngine:
    request.getfixturevalue("spark")
    return Spark


ENGINES = {"duckdb": _duckdb, "postgres": _postgres, "spark": _spark}

# Where each engine hands a statement over to the database.
DOORS: dict[type, tuple[type, str]] = {
    DuckDB: (DuckDB, "_run"),
    Postgres: (Connection, "_guarded"),
    Spark: (Spark, "_run"),
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Spark]:
    """Keep Spark running while one engine after another uses it; a start takes seconds."""
    has_java = shutil.which("java") or os.environ.get("JAVA_HOME")
    if find_spec("pyspark") is None or not has_java:
        reason = "pyspark or Java, which Spark needs, is not there"
        if os.environ.get("CI") or os.environ.get("SHOAL_ALL_ENGINES"):
            pytest.fail(reason)
        pytest.skip(reason)
    first = Spark(memory="2GB")
    yield first
    first.close()


@pytest.fixture(scope="module", params=list(ENGINES))
def make_engine(request: pytest.FixtureRequest) -> MakeEngine:
    """Give what makes an engine of the kind under test."""
    return ENGINES[request.param](request)


@pytest.fixture(scope="module")
def engine(make_engine: MakeEngine) -> Iterator[Engine]:
    """Give an engine that one table after another is staged in."""
    made = make_engine()
    yield made
    made.close()


@pytest.fixture(scope="module")
def embedded() -> Iterator[DuckDB]:
    """Give the engine that reads files for all others."""
    made = DuckDB()
    yield made
    made.close()


@pytest.fixture
def statements(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down every statement that the engine runs."""
    seen: list[str] = []
    owner, door = DOORS[type(engine)]
    run = getattr(owner, door)

    def spied(self: object, statement: str) -> object:
        seen.append(statement)
        return run(self, statement)

    monkeypatch.setattr(owner, door, spied)
    return seen


@pytest.fixture
def is_staged(engine: Engine) -> Callable[[str], bool]:
    """Tell whether a name still stands for something in the engine."""

    def ask(name: str) -> bool:
        if isinstance(engine, Spark):
            return bool(engine._session.catalog.tableExists(name))
        named = f"SELECT count(*) AS n FROM information_schema.tables WHERE table_name = '{name}'"
        return bool(engine.rows(named)["n"][0])

    return ask
