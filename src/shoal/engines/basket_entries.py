"""Baskets as a source holds them: a line an item, or a line a basket with a list of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import Texts
from shoal.core.errors import DataError, SchemaError
from shoal.engines.domains import type_of_engine
from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Scan
from shoal.engines.texts import texts_of

__all__ = ["BasketEntries", "basket_entries"]

_LIST = "[]"


@dataclass(frozen=True, eq=False, repr=False)
class BasketEntries:
    """Which basket holds which item.

    Parameters
    ----------
    transactions
        The key of every basket, sorted.
    items
        The items, sorted.
    basket, item
        The entries, by basket, then item, each once.
    """

    transactions: Texts
    items: Texts
    basket: Codes
    item: Codes

    def __repr__(self) -> str:
        return f"BasketEntries({len(self.transactions)} baskets, {len(self.items)} items)"


def basket_entries(
    engine: DuckDB, scan: Scan, item: str, transaction: str | None = None
) -> BasketEntries:
    """Read baskets.

    Parameters
    ----------
    engine
        The engine.
    scan
        The source.
    item
        The column of items, or of lists of items. A missing item, or an empty list, is a basket
        that may hold nothing.
    transaction
        The column that says which basket a line belongs to; without it every line is one.

    Raises
    ------
    SchemaError
        Where the source has no such column, or no column says which lines are one basket.
    DataError
        Where lines belong to no basket.
    """
    for column in (item, *([transaction] if transaction is not None else [])):
        if column not in scan.types:
            raise SchemaError(f"The table {scan.name} has no column {column!r}.")
    kind = scan.types[item]
    if transaction is None and not kind.endswith(_LIST):
        raise SchemaError(
            f"Nothing says which items of {item!r} are in one basket.",
            hint="name the column of the transaction, or give a column of lists.",
        )
    with scan.unchanged():
        engine.stage("entries", _entries(engine, scan, item, transaction))
    n_lost = int(engine.rows("SELECT count(*) AS n FROM entries WHERE t IS NULL")["n"][0])
    if n_lost:
        raise DataError(f"{n_lost} items have no value in {transaction!r}: they are in no basket.")
    return _coded(engine)


def _entries(engine: DuckDB, scan: Scan, item: str, transaction: str | None) -> str:
    """Give the query of different pairs of a basket and an item, which may be missing."""
    kind, items = scan.types[item], engine.quote(item)
    basket = "lpad(CAST(row_number() OVER () AS VARCHAR), 19, '0')"
    if transaction is not None:
        type_of_engine(transaction, scan.types[transaction])
        basket = engine.text(engine.quote(transaction), scan.types[transaction])
    if kind.endswith(_LIST):
        # A basket that holds nothing is one all the same.
        items = f"unnest(CASE WHEN len({items}) > 0 THEN {items} ELSE [NULL] END)"
        kind = kind.removesuffix(_LIST)
    type_of_engine(item, kind)
    lines = f"SELECT {basket} AS t, {items} AS i FROM {scan.relation}"
    return f"SELECT DISTINCT t, {engine.text('i', kind)} AS i FROM ({lines}) l"


def _coded(engine: DuckDB) -> BasketEntries:
    texts = {}
    for name in ("t", "i"):
        engine.stage(
            f"coded_{name}",
            f"SELECT v, row_number() OVER (ORDER BY v) - 1 AS code FROM "
            f"(SELECT {name} AS v FROM entries WHERE {name} IS NOT NULL GROUP BY {name}) d",
        )
        found = texts_of(engine.rows(f"SELECT v FROM coded_{name} ORDER BY code")["v"])
        texts[name] = np.array([*found, None], dtype=object)[:-1]
    codes = engine.arrays(
        "SELECT a.code AS t, b.code AS i FROM entries e JOIN coded_t a ON a.v = e.t "
        "JOIN coded_i b ON b.v = e.i ORDER BY a.code, b.code",
        {"t": np.int64, "i": np.int64},
    )
    return BasketEntries(texts["t"], texts["i"], codes["t"], codes["i"])
