"""Measures of anjana, used as its README shows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from anjana.anonymity import l_diversity
from measure import Call, serve

Table = dict[str, Any]


def _hierarchies(table: Table) -> dict[str, dict[int, pd.Series]]:
    return {
        column: dict(pd.read_csv(path, header=None, sep=";"))
        for column, path in table["hierarchies"].items()
    }


def _release(
    frame: pd.DataFrame, hierarchies: dict[str, Any], table: Table, k: int, ell: int
) -> pd.DataFrame:
    # No row may be suppressed, as Shoal's methods suppress none.
    return l_diversity(frame, [], table["quasi"], table["sensitive"], k, ell, 0, hierarchies)


def anonymize(table: Table, k: int, ell: int) -> Call:
    """Generalize a frame in memory."""
    frame, hierarchies = pd.read_csv(table["path"]), _hierarchies(table)
    return lambda: _describe(_release(frame, hierarchies, table, k, ell), table)


def publish(table: Table, k: int, ell: int) -> Call:
    """Read a CSV file, generalize it and write a CSV file."""

    def call() -> object:
        frame, hierarchies = pd.read_csv(table["path"]), _hierarchies(table)
        released = _release(frame, hierarchies, table, k, ell)
        with tempfile.TemporaryDirectory() as folder:
            released.to_csv(Path(folder) / "released.csv", index=False)
        return _describe(released, table)

    return call


def _describe(released: pd.DataFrame, table: Table) -> object:
    # anjana returns an empty frame if it finds no solution.
    n_buckets = 0 if released.empty else released.groupby(table["quasi"]).ngroups
    return {"rows": len(released), "buckets": int(n_buckets)}


if __name__ == "__main__":
    serve({"anonymize": anonymize, "publish": publish})
