"""The digest of what a release depends on in a table that is no file.

The table of a database, a frame and a folder have no bytes that could be hashed alike on every
engine. Their rows have: each is hashed with its key, and the hashes are added up, so that it does
not matter in which order an engine gives them. The digest tells that somebody changed the table; it
is no protection against one who wants to find another table with the same digest.
"""

from __future__ import annotations

import hashlib
import json

from shoal.engines.carried import carried_kind
from shoal.engines.table import EngineTable, long_text

__all__ = ["content_digest"]

_MODULI = (2**30, 2**30 - 1)
"""Hashes have 60 bits; what is left of them can be added up over billions of rows."""


def content_digest(table: EngineTable) -> str:
    """Give the SHA-256 of the columns, the values and the rows of a table.

    Parameters
    ----------
    table
        The table. Identifying columns do not count, the key aside: nothing of them is published.

    Examples
    --------
    >>> from shoal.core.schema import Schema
    >>> from shoal.engines.duckdb import DuckDB
    >>> engine = DuckDB()
    >>> ages = EngineTable(engine, engine.scan({"age": [29, 22, 29]}), Schema(quasi=["age"]))
    >>> len(content_digest(ages))
    64
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
