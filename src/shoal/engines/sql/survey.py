"""The content of a source: counts before columns have roles, baskets, digests, a text search.

For a survey the source is staged once, as canonical texts. Columns of interest are coded
(`dictionary_0`, ..., and the table `coded`), so that grouping by several of them compares numbers,
not texts. Baskets have one line per item, or one line per basket with a list of items.

A database table, a frame and a folder have no bytes that every engine could hash in the same way.
Therefore each row is hashed with its key, and the hashes are added up, so that the order does not
matter. The digest shows that a table was changed; it does not protect against an attacker who
constructs another table with the same digest.

Public files must not hold values of identifying columns by chance. These columns are neither staged
nor coded, so the source is searched once more. The texts are sent to the table and not the table to
the texts, and only matches are fetched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Counts, Small, Texts
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, SchemaError
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Engine, Scan
from shoal.engines.sql.columns import (
    canonical_text,
    carried_kind,
    count_times_of_day,
    long_text,
    stage_coded,
)
from shoal.engines.sql.domains import (
    infer_type,
    plain_type,
    text_array,
    texts_of,
    type_of_engine,
)
from shoal.engines.sql.table import EngineTable


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of a column and the number of rows with each."""

    column: str
    # The type as Shoal reads it; None if the column does not hold plain values.
    type: ColumnType | None
    # The distinct texts without the missing one, the number of rows with each, and its code.
    texts: Texts
    counts: Counts
    codes: Codes
    n_missing: int
    # The code of the missing value; None if no value is missing.
    missing_code: int | None
    # The number of rows with a time of day and not only a date.
    n_timed: int

    @property
    def n_codes(self) -> int:
        """The number of codes: missing is a value like any other."""
        return len(self.texts) + (self.missing_code is not None)

    @property
    def n_distinct(self) -> int:
        """The number of distinct values; a missing value does not count."""
        return len(self.texts)

    @property
    def n_present(self) -> int:
        """The number of rows that have a value."""
        return int(self.counts.sum())

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.n_present + self.n_missing

    @property
    def sizes(self) -> Counts:
        """The number of rows with each value; missing is a value like any other."""
        return np.append(self.counts, self.n_missing) if self.n_missing else self.counts


class Survey:
    """A source staged in an engine, to be counted without roles."""

    def __init__(self, engine: Engine, scan: Scan) -> None:
        self.engine = engine
        self.scan = scan
        self.columns = tuple(scan.types)
        self._n_timed = {column: count_times_of_day(engine, scan, column) for column in scan.types}
        self._missing: dict[int, int] = {}
        texts = ", ".join(
            f"{self._text_expression(column)} AS c{place}"
            for place, column in enumerate(self.columns)
        )
        with scan.unchanged():
            engine.stage("source", f"SELECT {texts} FROM {scan.relation}")
        self.n_rows = int(engine.rows("SELECT count(*) AS n FROM source")["n"][0])
        if self.n_rows == 0:
            raise DataError(f"The table {scan.name} has no rows.")

    def _text_expression(self, column: str) -> str:
        kind = self.scan.types[column]
        if self._n_timed[column]:
            return self.engine.text(self.engine.quote(column), kind)
        return canonical_text(self.engine, column, kind)

    def values(self, column: str) -> Values:
        """Count the values of a column."""
        place = self.columns.index(column)
        self.engine.stage(
            f"dictionary_{place}",
            f"SELECT v, n, row_number() OVER (ORDER BY n DESC) - 1 AS code FROM "
            f"(SELECT c{place} AS v, count(*) AS n FROM source GROUP BY c{place}) d",
        )
        fetched = self.engine.rows(f"SELECT v, n, code FROM dictionary_{place}")
        texts = texts_of(fetched["v"])
        counts, codes = fetched["n"].astype(np.int64), fetched["code"].astype(np.int64)
        is_present = np.array([text is not None for text in texts], dtype=bool)
        self._missing[place] = int(fetched["code"][~is_present].max(initial=0))
        present = text_array(texts)[is_present]
        return Values(
            column=column,
            type=self._type(column, present),
            texts=present,
            counts=counts[is_present],
            codes=codes[is_present],
            n_missing=int(counts[~is_present].sum()),
            missing_code=next(iter(codes[~is_present].tolist()), None),
            n_timed=self._n_timed[column],
        )

    def _type(self, column: str, texts: Texts) -> ColumnType | None:
        if self.scan.is_text:
            return infer_type(texts)
        if column in self.scan.orders:
            return ColumnType.ORDERED
        return plain_type(self.scan.types[column])

    def code(self, columns: Sequence[str]) -> None:
        """Code some columns whose values have been counted; the staged texts are dropped."""
        places = (self.columns.index(column) for column in columns)
        # A join by IS NOT DISTINCT FROM compares every row with every value on Postgres.
        codes = {place: f"coalesce(d{place}.code, {self._missing[place]})" for place in places}
        stage_coded(
            self.engine, codes, "LEFT JOIN dictionary_{place} d{place} ON d{place}.v = s.c{place}"
        )

    def fetch_codes(self, columns: Sequence[str]) -> dict[str, Small]:
        """Return the codes of some columns whose values have been counted, row by row.

        Rows are in no order. The staged texts are dropped.
        """
        if not columns:
            return {}
        if self.engine.publisher is self.engine:
            found = {column: self._fetch_column(column) for column in columns}
            self.engine.drop("source")
            return found
        # One pass brings all codes of a server's table here, where they are counted.
        self.code(columns)
        names = {column: f"c{self.columns.index(column)}" for column in columns}
        query = f"SELECT {', '.join(names.values())} FROM coded"
        fetched = self.engine.arrays(query, dict.fromkeys(names.values(), np.int32))
        return {column: fetched.pop(name) for column, name in names.items()}

    def _fetch_column(self, column: str) -> Small:
        """Return the codes of one column in the order of the staged rows.

        One join per column is planned in no time, where a join of all of them is not.
        """
        place = self.columns.index(column)
        fetched = self.engine.rows(
            f"SELECT s.rowid AS r, d.code AS code FROM source s JOIN dictionary_{place} d "
            f"ON s.c{place} IS NOT DISTINCT FROM d.v"
        )
        codes = np.empty(self.n_rows, dtype=np.int32)
        codes[fetched["r"]] = fetched["code"]
        return codes

    def count_unique(self, columns: Sequence[str]) -> int:
        """Count the rows with a unique combination of values in some coded columns."""
        listed = ", ".join(f"c{self.columns.index(column)}" for column in columns)
        fetched = self.engine.rows(
            "SELECT count(*) AS n FROM "
            f"(SELECT 1 AS one FROM coded GROUP BY {listed} HAVING count(*) = 1) single"
        )
        return int(fetched["n"][0])


MOST_CODES = 50_000_000
"""The largest number of codes to hold at once: rows times columns."""


_LIST = "[]"


@dataclass(frozen=True, eq=False, repr=False)
class BasketEntries:
    """The items of every basket.

    Keys of baskets (`transactions`) and `items` are sorted. The entries (`basket`, `item`) are
    distinct, and sorted by basket, then item.
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
    """Read the baskets of a source.

    `item` is the column of items, or of lists of items; a missing item or an empty list adds no
    item, so a basket may be empty. `transaction` is the column that states the basket of a line.
    Default: every line is a basket.
    """
    for column in (item, *([transaction] if transaction is not None else [])):
        if column not in scan.types:
            raise SchemaError(f"The table {scan.name} has no column {column!r}.")
    kind = scan.types[item]
    if transaction is None and not kind.endswith(_LIST):
        raise SchemaError(
            f"Nothing says which items of {item!r} belong to the same basket.",
            hint="name the column of the transaction, or a column of lists.",
        )
    with scan.unchanged():
        engine.stage("entries", _entries(engine, scan, item, transaction))
    n_lost = int(engine.rows("SELECT count(*) AS n FROM entries WHERE t IS NULL")["n"][0])
    if n_lost:
        raise DataError(f"{n_lost} items have no value in {transaction!r}, so no basket.")
    return _coded(engine)


def _entries(engine: DuckDB, scan: Scan, item: str, transaction: str | None) -> str:
    """Return the query of distinct pairs of a basket and an item, which may be missing."""
    kind, items = scan.types[item], engine.quote(item)
    basket = "lpad(CAST(row_number() OVER () AS VARCHAR), 19, '0')"
    if transaction is not None:
        type_of_engine(transaction, scan.types[transaction])
        basket = engine.text(engine.quote(transaction), scan.types[transaction])
    if kind.endswith(_LIST):
        # An empty basket is a basket, too.
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
        found = engine.rows(f"SELECT v FROM coded_{name} ORDER BY code")["v"]
        texts[name] = text_array(texts_of(found))
    codes = engine.arrays(
        "SELECT a.code AS t, b.code AS i FROM entries e JOIN coded_t a ON a.v = e.t "
        "JOIN coded_i b ON b.v = e.i ORDER BY a.code, b.code",
        {"t": np.int64, "i": np.int64},
    )
    return BasketEntries(texts["t"], texts["i"], codes["t"], codes["i"])


_MODULI = (2**30, 2**30 - 1)
"""Hashes have 60 bits; their remainders can be added up over billions of rows."""


def content_digest(table: EngineTable) -> str:
    """Return the SHA-256 of the columns, values and rows of a table.

    Of the identifying columns, of which nothing is published, only the key counts.
    """
    coded = table.schema.coded
    domains = [table.domains[column] for column in coded]
    stated = {
        "coded": [[one.column, str(one.type), one.labels()] for one in domains],
        "carried": [[name, str(table.type_of(name))] for name in table.schema.insensitive],
        "is_text": table.scan.is_text,
        "rows": table.n_rows,
        "sums": _sums_of_hashes(table),
    }
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()


def _sums_of_hashes(table: EngineTable) -> list[int]:
    engine, schema = table.engine, table.schema
    codes = [engine.cast(table.code_name(column), "VARCHAR") for column in schema.coded]
    carried = [
        engine.text(f"x{place}", carried_kind(table.scan.types[column]))
        for place, column in enumerate(schema.insensitive)
    ]
    texts = [long_text(engine, text) for text in ("row_key", *codes, *carried)]
    number = engine.hash_number(f"concat({', '.join(texts)})")
    sums = ", ".join(
        f"{engine.cast(f'sum(n % {modulus})', 'BIGINT')} AS s{place}"
        for place, modulus in enumerate(_MODULI)
    )
    found = engine.rows(f"SELECT {sums} FROM (SELECT {number} AS n FROM coded) h")
    return [int(found[f"s{place}"][0]) for place in range(len(_MODULI))]


_ASKED = "looked_up"


def texts_in_source(
    engine: Engine, scan: Scan, columns: Sequence[str], texts: Collection[str]
) -> frozenset[str]:
    """Return those of some texts that are values of one of some columns.

    A value matches as it is and in lower case, as the engine converts it, without the spaces around
    it. A source that has changed is refused.
    """
    if not columns or not texts:
        return frozenset()
    engine.push(_ASKED, {"v": text_array(sorted(texts))})
    wanted, found = frozenset(texts), set[str | None]()
    try:
        with scan.unchanged():
            for column in columns:
                text = f"trim({engine.text(engine.quote(column), scan.types[column])})"
                held = f"SELECT {text} AS v, lower({text}) AS w FROM {scan.relation}"
                asked = f"(SELECT a.v FROM {_ASKED} a)"
                matching = engine.rows(
                    f"SELECT DISTINCT h.v AS v, h.w AS w FROM ({held}) h "
                    f"WHERE h.v IN {asked} OR h.w IN {asked}"
                )
                found |= {*texts_of(matching["v"]), *texts_of(matching["w"])} & wanted
    except DataError:
        raise DataError(
            f"The table {scan.name} changed before its release was written, so public files cannot "
            "be searched for identifying values; nothing was sealed.",
            hint="leave the table as it is until the release is written.",
        ) from None
    finally:
        engine.drop(_ASKED)
    return frozenset(text for text in wanted if text in found)
