"""Parts of a table, which methods plan one by one.

The part of a row stands beside its codes in `coded` and is counted as a column of its own, `PART`.
"""

from __future__ import annotations

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import NumberedDomain, Texts
from shoal.engines.table import PART, EngineTable
from shoal.engines.texts import texts_of

__all__ = ["PART", "keys_of_rows", "part_rows"]


def keys_of_rows(table: EngineTable) -> Texts:
    """Return the keys of all rows, in no particular order."""
    fetched = table.engine.rows("SELECT row_key FROM coded")["row_key"]
    keys: Texts = np.array([*texts_of(fetched), None], dtype=object)[:-1]
    return keys


def part_rows(table: EngineTable, keys: Texts, part: Codes) -> None:
    """Put every row of a table in a part; rows that were in others are no longer.

    Parameters
    ----------
    table
        The table.
    keys
        The keys of all its rows, in any order.
    part
        The part of each, numbered from 0 without gaps.
    """
    engine, schema = table.engine, table.schema
    n_parts = int(part.max(initial=-1)) + 1
    table.parts = NumberedDomain(PART, np.arange(1, n_parts + 1))
    carried = ["row_key"]
    carried += [f"c{place}" for place in range(len(schema.coded))]
    carried += [f"x{place}" for place in range(len(schema.insensitive))]
    own = ", ".join(f"t.{name}" for name in carried)
    engine.push("part", {"row_key": keys, "part": part.astype(np.int32)})
    engine.stage(
        "parted", f"SELECT {own}, p.part FROM coded t JOIN part p ON p.row_key = t.row_key"
    )
    engine.stage("coded", "SELECT * FROM parted")
    engine.drop("parted")
    engine.drop("part")
