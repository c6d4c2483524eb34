"""Baskets as a table: one row per basket, one column per cluster of items.

Sets of items have hundreds or thousands of attributes that are almost all empty. Items that are
bought together share a column, whose value is the subset of them in a basket, or "empty". The
resulting table is read, sliced and published like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from shoal.core.domain import SUPPRESSED
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.schema import Schema
from shoal.core.table import Rows
from shoal.datasets.dataset import Column, Dataset, Encoded
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.survey import basket_entries
from shoal.slicing.basket_columns import WITHHELD, slice_baskets
from shoal.slicing.baskets import Baskets, ItemClusters, cluster_items

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
        name, baskets, keys = _read(source, item, transaction, given, memory)
    columns = _columns(baskets, sensitive, n_columns, max_items, min_frequency)
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


def _read(
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


def _columns(
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


def _only(baskets: Baskets, is_kept: np.ndarray[Any, np.dtype[np.bool_]]) -> Baskets:
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
