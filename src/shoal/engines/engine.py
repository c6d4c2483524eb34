"""The contract of a data engine, and the choice of the engine that reads a source.

An engine stages tables, runs queries and writes the few expressions in which SQL dialects differ:
a dozen short functions. Everything else is the same for all engines; see `shoal.engines.sql`. The
engines are extras with large libraries behind them, so each is imported when it is chosen.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from shoal.core.errors import ParameterError
from shoal.engines.files import WatchedFile
from shoal.engines.limits import Limits

if TYPE_CHECKING:
    from shoal.engines.duckdb.engine import DuckDB


Columns = Mapping[str, npt.NDArray[Any]]
"""Columns by name; masked where a value is missing."""
N_HASHES = 16**15
"""The number of different values of `Engine.hash_number`."""
SEE_LOG = (
    "run again with --log FILE (in Python: shoal.config.log_to(FILE)) to see the engine's message."
)
"""The hint of errors whose own text may quote data."""


@dataclass(frozen=True)
class Origin:
    """The location of a source and how it was read, so that it can be read again."""

    # The absolute path, the address without its password, or the name of a Spark table; None if the
    # source was in memory.
    address: str | None = None
    engine: str = "duckdb"
    # Those of table, delimiter, quote and encoding that were given.
    options: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    # The source as it was given, to read it again in the same process.
    source: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Scan:
    """A source that the engine can read."""

    # The relation to write after FROM.
    relation: str
    # The type of every column, in the order of the source, under DuckDB's name whichever engine
    # reads it: BIGINT, DOUBLE, DECIMAL(10,2), DATE, TIMESTAMP, BOOLEAN, VARCHAR, ...
    types: Mapping[str, str]
    # An expression for the position of a row in the source, a whole number; None if rows have no
    # position, as in a database. Rows are then distinguished by their whole content.
    line: str | None
    # Whether all values are texts whose type has yet to be inferred (CSV).
    is_text: bool
    # The name of the source in the record.
    name: str
    # The SHA-256 of the file; None if the source is not a file.
    digest: str | None = None
    # The options with which the source is read, whether given or detected.
    options: Mapping[str, str] = field(default_factory=dict)
    # The file, to notice changes while it is read; None if the source is not a file.
    watched: WatchedFile | None = None
    origin: Origin = field(default_factory=Origin)
    # The values of every column that the source itself orders, from lowest to highest: an ordered
    # category of pandas, an Enum of polars, an ordered dictionary of Arrow.
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def unchanged(self) -> contextlib.AbstractContextManager[None]:
        """Refuse a source that changes while it is read."""
        return contextlib.nullcontext() if self.watched is None else self.watched.unchanged()


class Engine(Protocol):
    """A data engine."""

    @property
    def name(self) -> str:
        """The name and version of the engine, for the manifest."""

    @property
    def publisher(self) -> DuckDB:
        """The DuckDB that lays out and writes releases; it may be the engine itself."""

    def scan(self, source: object, **options: object) -> Scan:
        """Make a source readable."""

    def stage(self, name: str, query: str) -> None:
        """Keep the result of a query under a name; an earlier table of that name is replaced."""

    def push(self, name: str, columns: Columns) -> None:
        """Keep arrays as the columns of a table."""

    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and return its result by column."""

    def arrays(self, query: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Run a query whose result may be as long as the table, and return columns of numbers.

        They have the types given, in the order of the query, and no missing values.
        """

    def bring(self, query: str) -> str:
        """Bring the result of a query, as long as the table, to the publisher.

        Returns the relation to write after FROM there: the table `brought`, if one is needed.
        """

    def drop(self, name: str) -> None:
        """Drop a table, if there is one of that name."""

    def quote(self, identifier: str) -> str:
        """Return an identifier in quotes, so that any name is safe."""

    def cast(self, expression: str, kind: str) -> str:
        """Return an expression cast to VARCHAR, BIGINT, DOUBLE, DATE, TIMESTAMP or BOOLEAN.

        Texts sort by code points, whatever the locale of the machine.
        """

    def text(self, expression: str, kind: str) -> str:
        """Return the canonical text of an expression of a type that `scan` named.

        Equal values have one text, and it is the same on every engine.
        """

    def has_nul(self, expression: str) -> str:
        """Return the test of a text for NUL characters, which some engines cannot even hold."""

    def hash(self, expression: str) -> str:
        """Return the expression of a text's SHA-256 in hexadecimal."""

    def hash_number(self, expression: str) -> str:
        """Return the expression of the first 15 hexadecimal digits of a SHA-256, as a BIGINT."""

    def close(self) -> None:
        """Release everything that the engine holds, including files on disk."""


class RemoteEngine(ABC):
    """An engine with its rows in a server or a cluster; an embedded DuckDB writes its releases."""

    _embedded: DuckDB

    @property
    def publisher(self) -> DuckDB:
        """The DuckDB that lays out and writes releases."""
        return self._embedded

    @abstractmethod
    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and return its result by column."""

    def arrays(self, query: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Run a query whose result may be as long as the table, and return columns of numbers."""
        fetched = self.rows(query)
        return {name: fetched.pop(name).astype(kind, copy=False) for name, kind in types.items()}


ENGINES = ("duckdb", "spark", "postgres")
_POSTGRES = ("postgresql://", "postgres://")


def is_postgres_address(source: object) -> bool:
    """Return whether a source is the address of a Postgres database."""
    return isinstance(source, str) and source.startswith(_POSTGRES)


def open_engine(
    source: Any, engine: Any = None, *, memory: str | None = None, limits: Limits | None = None
) -> Engine:
    """Open the engine that reads a source.

    `engine` is the name of an engine, or a Spark session. Default: Postgres for the address of a
    database, Spark for a Spark frame, and the embedded DuckDB for everything else. `memory` is the
    memory limit of the run, such as ``"4GB"``. Default: half the free memory.
    """
    if engine is None:
        engine = _natural_engine(source)
    if engine == "postgres" or is_postgres_address(source):
        if not is_postgres_address(source) or engine != "postgres":
            raise ParameterError(
                "The engine 'postgres' and the address of a database go together.",
                hint="for example source='postgresql://host/database' with table='people'.",
            )
        from shoal.engines.postgres.engine import Postgres  # noqa: PLC0415 - an extra

        return Postgres(source, memory=memory, limits=limits)
    if engine == "spark" or _is_of_spark(engine):
        from shoal.engines.spark.engine import Spark  # noqa: PLC0415 - an extra

        session = None if engine == "spark" else engine
        return Spark(source.sparkSession if _is_of_spark(source) else session, memory=memory)
    if engine != "duckdb":
        raise ParameterError(
            f"There is no engine {engine!r}.", hint=f"the engines are {', '.join(ENGINES)}."
        )
    from shoal.engines.duckdb.engine import DuckDB  # noqa: PLC0415 - other engines need it later

    return DuckDB(memory, limits)


def _natural_engine(source: Any) -> str:
    if is_postgres_address(source):
        return "postgres"
    return "spark" if _is_of_spark(source) else "duckdb"


def _is_of_spark(thing: object) -> bool:
    return type(thing).__module__.split(".")[0] == "pyspark"
