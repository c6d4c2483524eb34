"""What a data engine must offer under the portable SQL: a dozen short functions."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from shoal.engines.limits import Limits
from shoal.engines.watched_file import WatchedFile

if TYPE_CHECKING:
    from shoal.engines.duckdb import DuckDB

__all__ = ["N_HASHES", "Columns", "Engine", "Origin", "Scan"]

Columns = Mapping[str, npt.NDArray[Any]]
"""Columns by name; masked where a value is missing."""
N_HASHES = 16**15
"""How many numbers `Engine.hash_number` may give."""


@dataclass(frozen=True)
class Origin:
    """Where a source stands and how it was read, for whoever reads it again.

    Parameters
    ----------
    address
        The absolute path, the address without its password, or the name of a table of Spark; None
        where the source was in memory.
    engine
        The name of the engine.
    options
        What was given of table, delimiter, quote and encoding.
    limits
        What it was allowed to cost.
    """

    address: str | None = None
    engine: str = "duckdb"
    options: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Scan:
    """A source that the engine can read.

    Parameters
    ----------
    relation
        What stands behind FROM.
    types
        The type of every column, in the order of the source, in DuckDB's words whichever engine
        reads it: BIGINT, DOUBLE, DECIMAL(10,2), DATE, TIMESTAMP, BOOLEAN, VARCHAR, ...
    line
        An expression for the position of a row in the source, a whole number; None where rows
        have none, as in a database. What is in the whole row then tells rows apart.
    is_text
        Whether all values are texts whose type has yet to be read off them (CSV).
    name
        What the source is called in the record.
    digest
        The SHA-256 of the file; None where the source is none.
    options
        What was given or found out about how the source is to be read.
    watched
        The file, to notice that somebody changes it while it is read; None where it is none.
    origin
        Where it stands.
    orders
        The values of every column that the source itself orders, from lowest to highest: an
        ordered category of pandas, an Enum of polars, an ordered dictionary of Arrow.
    """

    relation: str
    types: Mapping[str, str]
    line: str | None
    is_text: bool
    name: str
    digest: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    watched: WatchedFile | None = None
    origin: Origin = field(default_factory=Origin)
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def unchanged(self) -> contextlib.AbstractContextManager[None]:
        """Refuse a source that somebody changes while it is read."""
        return contextlib.nullcontext() if self.watched is None else self.watched.unchanged()


class Engine(Protocol):
    """A data engine."""

    @property
    def name(self) -> str:
        """What the engine and its version are called in the manifest."""

    @property
    def publisher(self) -> DuckDB:
        """The DuckDB that lays out and writes what is published; it may be the engine itself."""

    def scan(self, source: object, **options: object) -> Scan:
        """Make a source readable."""

    def stage(self, name: str, query: str) -> None:
        """Keep the result of a query under a name; replaces what the name stood for."""

    def push(self, name: str, columns: Columns) -> None:
        """Keep arrays under a name, as columns."""

    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and fetch its result by column."""

    def arrays(self, query: str, types: Mapping[str, npt.DTypeLike]) -> dict[str, npt.NDArray[Any]]:
        """Run a query whose result may be as long as the table, and fetch columns of numbers.

        They have the types given, in the order of the query, and none is missing.
        """

    def bring(self, query: str) -> str:
        """Bring the result of a query, as long as the table, to the publisher.

        Returns what stands behind FROM there; the table `brought`, where it takes one.
        """

    def drop(self, name: str) -> None:
        """Forget what a name stands for."""

    def quote(self, identifier: str) -> str:
        """Write an identifier so that any name is safe."""

    def cast(self, expression: str, kind: str) -> str:
        """Give an expression as VARCHAR, BIGINT, DOUBLE, DATE, TIMESTAMP or BOOLEAN.

        Texts sort by code points, whatever the language of the machine.
        """

    def text(self, expression: str, kind: str) -> str:
        """Give the canonical text of an expression of a type that `scan` named.

        Equal values have one text, and it is the same on every engine.
        """

    def has_nul(self, expression: str) -> str:
        """Give the test of a text for NUL characters, which some engines cannot even hold."""

    def hash(self, expression: str) -> str:
        """Give the expression of a text's SHA-256 in hexadecimal."""

    def hash_number(self, expression: str) -> str:
        """Give the expression of the first 15 hexadecimal digits of a text's SHA-256, a BIGINT."""

    def close(self) -> None:
        """Release all that the engine holds, files on disk included."""
