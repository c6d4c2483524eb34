"""The minimal work of publishing a table, in DuckDB alone: read, count, sort, write.

``python bare_duckdb.py REQUEST``, a JSON document: the CSV file, the file to write, the columns and
the memory limit in bytes. Prints the number of rows and distinct cells as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import duckdb


def publish_bare(
    source: str, target: str, quasi: Sequence[str], sensitive: str, others: Sequence[str],
    identifying: Sequence[str], memory: int,
) -> dict[str, int]:  # fmt: skip
    """Do the work of every publication, without protecting anybody."""
    cell = ", ".join([*quasi, sensitive])
    written = ", ".join([*quasi, *others, sensitive])
    with duckdb.connect(
        ":memory:", config={"memory_limit": f"{memory}B", "temp_directory": "spill"}
    ) as connection:
        connection.execute(
            f"CREATE TEMP TABLE source AS SELECT * EXCLUDE ({', '.join(identifying)}) "
            f"FROM read_csv('{source}', all_varchar = true, header = true)"
        )
        connection.execute(
            f"CREATE TEMP TABLE cell AS SELECT {cell}, count(*) AS n FROM source GROUP BY {cell}"
        )
        connection.execute(
            f"COPY (SELECT {written} FROM source ORDER BY {written}) TO '{target}' "
            "(FORMAT csv, HEADER true)"
        )
        ((n_rows, n_cells),) = connection.execute(
            "SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM cell"
        ).fetchall()
    return {"rows": n_rows, "cells": n_cells}


if __name__ == "__main__":
    json.dump(publish_bare(**json.loads(sys.argv[1])), sys.stdout)
