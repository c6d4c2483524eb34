"""Measures of anonypyx, used as its README shows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anonypyx
import pandas as pd
from measure import Call, serve

Table = dict[str, Any]


def _read(table: Table) -> pd.DataFrame:
    frame = pd.read_csv(table["path"])
    for column in (*table["quasi"], table["sensitive"]):
        if column not in table["integers"]:
            frame[column] = frame[column].astype("category")
    return frame


def _anonymiser(frame: pd.DataFrame, table: Table, k: int, ell: int) -> anonypyx.Anonymiser:
    return anonypyx.Anonymiser(
        frame,
        k=k,
        l=ell,
        algorithm="Mondrian",
        feature_columns=table["quasi"],
        sensitive_column=table["sensitive"],
        generalisation_strategy="human-readable",
    )


def plan(table: Table, k: int, ell: int) -> Call:
    """Partition the rows; nothing is generalized."""
    anonymiser = _anonymiser(_read(table), table, k, ell)

    def call() -> object:
        return {"buckets": len(anonymiser.algorithm.partition(anonymiser.parameters))}

    return call


def anonymize(table: Table, k: int, ell: int) -> Call:
    """Partition and generalize a frame in memory."""
    frame = _read(table)
    return lambda: _describe(_anonymiser(frame, table, k, ell).anonymise(), table)


def publish(table: Table, k: int, ell: int) -> Call:
    """Read a CSV file, generalize it and write a CSV file."""

    def call() -> object:
        released = _anonymiser(_read(table), table, k, ell).anonymise()
        with tempfile.TemporaryDirectory() as folder:
            released.to_csv(Path(folder) / "released.csv", index=False)
        return _describe(released, table)

    return call


def _describe(released: pd.DataFrame, table: Table) -> object:
    return {
        "rows": int(released["count"].sum()),
        "buckets": int(released.groupby(table["quasi"]).ngroups),
    }


if __name__ == "__main__":
    serve({"plan": plan, "anonymize": anonymize, "publish": publish})
