"""One suite for every engine: what holds on one must hold on all.

A further engine is one more line in `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Engine

ENGINES: list[Callable[[], Engine]] = [DuckDB]

# Where each engine hands a statement over to the database.
DOORS = {DuckDB: "_run"}


@pytest.fixture(scope="module", params=ENGINES, ids=lambda factory: factory.__name__.lower())
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Give an engine that one table after another is staged in."""
    made = request.param()
    yield made
    made.close()


@pytest.fixture
def statements(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down every statement that the engine runs."""
    seen: list[str] = []
    door = DOORS[type(engine)]
    run = getattr(type(engine), door)

    def spied(self: Engine, statement: str) -> object:
        seen.append(statement)
        return run(self, statement)

    monkeypatch.setattr(type(engine), door, spied)
    return seen
