"""Tell what a word names: a file, the address of a database, or a table of Spark."""

from __future__ import annotations

from pathlib import Path

from shoal.core.errors import ParameterError
from shoal.engines.opening import ENGINES, is_postgres_address

__all__ = ["ENGINES", "read_source"]


def read_source(source: str, engine: str | None = None) -> Path | str:
    """Read what somebody typed as a source.

    Parameters
    ----------
    source
        A path, an address, or the name of a table.
    engine
        The engine that was asked for by its name.

    Returns
    -------
    A path where it is one; else the text as it is.

    Raises
    ------
    ParameterError
        Where it is an address that nobody reads. It may hold a password, so it is not repeated.

    Examples
    --------
    >>> read_source("postgresql://host/people")
    'postgresql://host/people'
    """
    if is_postgres_address(source):
        return source
    if "://" in source and engine != "spark":
        raise ParameterError(
            "The source is an address that Shoal cannot read.",
            hint="it reads postgresql://...; with the engine spark also what Spark reads.",
        )
    if engine != "spark":
        return Path(source)
    try:
        return Path(source) if Path(source).exists() else source
    except (OSError, ValueError):
        return source
