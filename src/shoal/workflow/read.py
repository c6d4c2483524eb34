"""Read a table with its schema, and baskets of items as a table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.arrays import Flags
from shoal.core.domain import SUPPRESSED
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.schema import Schema
from shoal.core.table import Rows
from shoal.datasets.dataset import Column, Dataset, Encoded
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Engine, Origin, Scan, is_postgres_address, open_engine
from shoal.engines.limits import Limits
from shoal.engines.postgres.connection import without_password
from shoal.engines.sql.survey import basket_entries
from shoal.engines.sql.table import EngineTable
from shoal.slicing.basket_columns import WITHHELD, slice_baskets
from shoal.slicing.baskets import Baskets, ItemClusters, cluster_items


def read(
    source: Any,
    schema: Schema | None = None,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    engine: Any = None,
    memory: str | None = None,
    limits: Limits | None = None,
    **roles: Any,
) -> EngineTable:
    """Read a table and check it against its schema.

    Parameters
    ----------
    source
        The path of a CSV, Parquet, Arrow or DuckDB file; an Arrow table, a pandas or polars frame,
        a DuckDB relation, a mapping of columns, or a `shoal.datasets.Dataset`; a Spark frame; the
        address of a Postgres database.
    schema
        The roles of the columns, as a `shoal.Schema`. Default: made of `roles`; a Dataset brings
        its own.
    table
        The name of the table in a DuckDB file or a database. Default: the only one.
    delimiter, quote, encoding
        The format of a CSV file. Default: detected from the file.
    engine
        The engine that holds and sorts the rows: ``"duckdb"``, ``"spark"``, ``"postgres"``, or a
        Spark session. Default: chosen by the source.
    memory
        The memory limit, such as ``"4GB"``; larger data spills to a private directory on disk.
        Default: half the free memory.
    limits
        The limits beyond which a file is refused: `shoal.config.Limits(max_columns=..., ...)`.
        Default: those of `shoal.config.Limits()`.
    roles
        In place of a schema, the keywords of `shoal.Schema`: `quasi`, `sensitive`, `identifying`,
        `insensitive`, `hierarchies`, `key` and so on.

    Returns
    -------
    The table, staged in the engine.

    Raises
    ------
    SchemaError
        If no roles are given, or they don't fit the table: roles are never guessed.

    Examples
    --------
    >>> import shoal
    >>> columns = {"age": [29, 22, 27], "disease": ["flu", "cold", None]}
    >>> shoal.read(columns, quasi=["age"], sensitive="disease")
    Table(columns: 3 rows, 2 columns)
    >>> shoal.read(columns, shoal.Schema(quasi=["age"], sensitive="disease"))
    Table(columns: 3 rows, 2 columns)
    """
    if isinstance(source, Dataset):
        schema = source.schema if schema is None and not roles else schema
        source = source.columns
    schema = _schema(schema, roles)
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    given = {name: value for name, value in options.items() if value is not None}
    opened, scan = scan_source(source, given, engine=engine, memory=memory, limits=limits)
    try:
        return EngineTable(opened, scan, schema)
    except BaseException:
        opened.close()
        raise


def _schema(schema: Schema | None, roles: Mapping[str, Any]) -> Schema:
    """Return the schema: the one given, or the one that the roles make."""
    if schema is None and not roles:
        raise SchemaError(
            "No schema is given, and roles are never guessed.",
            hint="shoal.read(source, quasi=[...], sensitive=...)",
        )
    if schema is None:
        return Schema(**roles)
    if roles:
        raise SchemaError(
            f"A schema is given, and beside it {', '.join(sorted(roles))}.",
            hint="give either a schema or the roles of columns.",
        )
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"The schema must be a shoal.Schema, not a {type(schema).__name__}.",
            hint="shoal.Schema(quasi=[...], sensitive=...), or shoal.Schema.from_roles({...}).",
        )
    return schema


def scan_source(
    source: Any,
    options: dict[str, str],
    *,
    engine: Any = None,
    memory: str | None = None,
    limits: Limits | None = None,
) -> tuple[Engine, Scan]:
    """Open the engine that reads a source, and scan the source; the caller closes the engine.

    `options` holds those of table, delimiter, quote and encoding that are given.
    """
    opened = open_engine(source, engine, memory=memory, limits=limits)
    try:
        scan = opened.scan(source, **options)
    except BaseException:
        opened.close()
        raise
    origin = Origin(
        address=_address(source, opened.name),
        engine=opened.name.partition(" ")[0],
        options=options,
        limits=Limits() if limits is None else limits,
        source=source,
    )
    return opened, replace(scan, origin=origin)


def _address(source: Any, engine: str) -> str | None:
    """Return the address of a source, without a password; None if it is in memory."""
    if not isinstance(source, str | Path):
        return None
    if is_postgres_address(source):
        return without_password(str(source))
    if isinstance(source, str) and "://" in source:
        # Greedy: an unescaped slash or at sign in a password must not end it.
        return re.sub(r"://.*@", "://", source)
    if engine.startswith("spark") and not Path(source).exists():
        return str(source)
    return str(Path(source).absolute())


def columns_of(source: Any, **options: Any) -> tuple[str, ...]:
    """Return the names of the columns of a source, without reading its rows."""
    engine = DuckDB()
    try:
        return tuple(engine.scan(source, **options).types)
    finally:
        engine.close()


def read_source(source: str, engine: str | None = None) -> Path | str:
    """Interpret a source typed by a user: a path, an address, or the name of a table of Spark.

    An address that no engine reads is refused; it may hold a password, so it is not repeated.

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


# --- baskets --------------------------------------------------------------------------------------
# Sets of items have hundreds or thousands of attributes that are almost all empty. Items that are
# bought together share a column, whose value is the subset of them in a basket, or "empty". The
# resulting table is read, sliced and published like any other.

SENSITIVE_ITEMS = "sensitive_items"
"""The column of the sensitive items in a basket."""


def read_baskets(
    source: Any,
    *,
    item: str | None = None,
    transaction: str | None = None,
    sensitive: Collection[str] = (),
    n_columns: int | None = None,
    max_items: int | None = None,
    min_frequency: int | Sequence[int] | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> Dataset:
    """Read baskets as a table with one column per cluster of items.

    Parameters
    ----------
    source
        Lists of items; or a file, a frame or columns that `shoal.read` reads.
    item
        The column with one item per line, or one list of items per line. Default: none; needed
        unless `source` is lists.
    transaction
        The column that tells which basket a line belongs to. It becomes the key of the table, and
        is identifying: it is not published. Default: every line is a basket, given as a list.
    sensitive
        Items that nobody may be linked to. They get a column of their own, ``sensitive_items``.
        Default: none.
    n_columns
        The number of columns that the other items are clustered into, by their correlation.
        Default: follows from `max_items`.
    max_items
        In place of `n_columns`, the largest number of items per column. Default: 8, if neither is
        given.
    min_frequency
        The smallest number of baskets that share a value of a column, except the sensitive one; one
        number, or one per column. Sets held by fewer baskets lose their rarest items, and become
        ``bread + …``. Default: no minimum.
    table, delimiter, quote, encoding, memory
        As for `shoal.read`.

    Returns
    -------
    One row per basket, with a schema in which columns of items are quasi-identifying. `shoal.read`
    takes it, with this schema or another.

    Notes
    -----
    A value is a set of items, and every set counts as a value of its own: nothing is generalized
    except by `min_frequency`.

    Raises
    ------
    ParameterError
        If `sensitive` names an item that no basket holds.
    InfeasibleError
        If there are fewer baskets than `min_frequency`.

    Examples
    --------
    >>> baskets = [["milk", "bread"], ["milk"], ["tea", "milk", "bread"], []]
    >>> found = read_baskets(baskets, max_items=2)
    >>> found.to_dict()["items_1"]
    ['bread + milk', 'milk', 'bread + milk', 'empty']
    >>> import shoal
    >>> method = shoal.Slicing(columns=[["items_1"], ["items_2"]], bucket_size=2)
    >>> shoal.anonymize(shoal.read(found), method, seed=1)
    Release(sliced by slicing: 4 rows in 2 buckets, test)
    """
    options = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
    if isinstance(source, list | tuple):
        if item is not None or transaction is not None:
            raise ParameterError("Lists of items have no columns to name.")
        name, baskets, keys = "baskets", Baskets.of_lists(source), None
    elif item is None:
        raise SchemaError("Which column holds the items is not said.", hint="item=...")
    else:
        given = {key: value for key, value in options.items() if value is not None}
        name, baskets, keys = _read_entries(source, item, transaction, given, memory)
    columns = _clustered(baskets, sensitive, n_columns, max_items, min_frequency)
    quasi = [column for column in columns if column != SENSITIVE_ITEMS]
    roles: dict[str, Any] = {"quasi": quasi}
    if sensitive:
        roles["sensitive"] = SENSITIVE_ITEMS
    if keys is not None and transaction is not None:
        if transaction in columns:
            raise SchemaError(f"The column {transaction!r} has the name of a column of items.")
        columns = {transaction: keys, **columns}
        roles |= {"identifying": transaction, "key": transaction}
    return Dataset(name, columns, Schema(**roles))


def _read_entries(
    source: Any, item: str, transaction: str | None, options: dict[str, str], memory: str | None
) -> tuple[str, Baskets, Column | None]:
    engine = DuckDB(memory)
    try:
        scan = engine.scan(source, **options)
        found = basket_entries(engine, scan, item, transaction)
    finally:
        engine.close()
    baskets = Baskets(found.items, found.basket, found.item, len(found.transactions))
    return scan.name, baskets, None if transaction is None else found.transactions


def _clustered(
    baskets: Baskets,
    sensitive: Collection[str],
    n_columns: int | None,
    max_items: int | None,
    min_frequency: int | Sequence[int] | None,
) -> dict[str, Column]:
    if not baskets.n_baskets:
        raise DataError("There is no basket.")
    is_sensitive = np.isin(baskets.items, list(sensitive))
    n_absent = len(set(sensitive)) - int(is_sensitive.sum())
    if n_absent:
        raise ParameterError(f"{n_absent} of the sensitive items are in no basket.")
    if sensitive and is_sensitive.all():
        raise ParameterError("No item is left that is not sensitive.")
    if n_columns is None and max_items is None:
        max_items = 8
    others = _only(baskets, ~is_sensitive)
    clusters = cluster_items(others, n_clusters=n_columns, max_items=max_items)
    columns = _encoded(slice_baskets(others, clusters, min_frequency).folded())
    if sensitive:
        own = _only(baskets, is_sensitive)
        together = ItemClusters((tuple(range(own.n_items)),))
        (columns[SENSITIVE_ITEMS],) = _encoded(slice_baskets(own, together).rows).values()
    return columns


def _only(baskets: Baskets, is_kept: Flags) -> Baskets:
    """Keep some items; baskets without any of them remain."""
    number = np.cumsum(is_kept) - 1
    entries = is_kept[baskets.item]
    return Baskets(
        baskets.items[is_kept],
        baskets.basket[entries],
        number[baskets.item[entries]],
        baskets.n_baskets,
    )


def _encoded(rows: Rows) -> dict[str, Column]:
    """Return rows as columns of a table, in which no value reads as suppressed."""
    return {
        domain.column: Encoded(
            rows.codes[:, place],
            tuple(WITHHELD if text == SUPPRESSED else str(text) for text in domain.texts),
        )
        for place, domain in enumerate(rows.domains)
    }
