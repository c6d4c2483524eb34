"""Choose the engine that reads a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.core.errors import ParameterError

if TYPE_CHECKING:
    from shoal.engines.engine import Engine
    from shoal.engines.limits import Limits

__all__ = ["ENGINES", "is_postgres_address", "open_engine"]

ENGINES = ("duckdb", "spark", "postgres")
_ADDRESSES = ("postgresql://", "postgres://")


def is_postgres_address(source: object) -> bool:
    """Tell whether a source is the address of a Postgres database."""
    return isinstance(source, str) and source.startswith(_ADDRESSES)


def open_engine(
    source: Any, engine: Any = None, *, memory: str | None = None, limits: Limits | None = None
) -> Engine:
    """Open the engine that reads a source.

    Parameters
    ----------
    source
        What is to be read.
    engine
        Its name, or a Spark session; by default Postgres for an address of a database, Spark for
        a frame of Spark, and the embedded DuckDB for all else.
    memory
        The memory that a run is to stay within, such as ``"4GB"``.
    limits
        What a file may cost before it is refused.
    """
    if engine is None:
        engine = _natural_engine(source)
    if engine == "postgres" or is_postgres_address(source):
        if not is_postgres_address(source) or engine != "postgres":
            raise ParameterError(
                "The engine 'postgres' and an address of a database go together.",
                hint="for example source='postgresql://host/database' with table='people'.",
            )
        from shoal.engines.postgres import Postgres  # noqa: PLC0415 - an extra

        return Postgres(source, memory=memory)
    if engine == "spark" or _is_of_spark(engine):
        from shoal.engines.spark import Spark  # noqa: PLC0415 - an extra

        session = None if engine == "spark" else engine
        return Spark(source.sparkSession if _is_of_spark(source) else session, memory=memory)
    if engine != "duckdb":
        raise ParameterError(
            f"There is no engine {engine!r}.", hint=f"there are {', '.join(ENGINES)}."
        )
    from shoal.engines.duckdb import DuckDB  # noqa: PLC0415 - the others may do without

    return DuckDB(memory, limits)


def _natural_engine(source: Any) -> str:
    if is_postgres_address(source):
        return "postgres"
    return "spark" if _is_of_spark(source) else "duckdb"


def _is_of_spark(thing: object) -> bool:
    return type(thing).__module__.split(".")[0] == "pyspark"
