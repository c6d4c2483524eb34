"""Measures of pyfim's itemset mining, which is written in C."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fim
from measure import Call, serve

Rows = dict[tuple[str, ...], int]
Miner = Callable[..., list[Any]]


def _rows(path: str) -> Rows:
    """Read the distinct rows, each with its count, which pyfim accepts directly."""
    told = json.loads(Path(path).read_text(encoding="utf-8"))
    named = (tuple(told["items"][item] for item in row) for row in told["rows"])
    return dict(zip(named, told["counts"], strict=True))


# A negative support is a number of rows, a positive one a percentage.
def _mine(miner: Miner, target: str, path: str, support: int, most: int) -> Call:
    """List itemsets of at most `most` items."""
    rows = _rows(path)
    return lambda: {"itemsets": len(miner(rows, target=target, supp=-support, zmax=most))}


def rules(path: str, support: int, most: int) -> Call:
    """List rules with at least one antecedent item, by the rows that have the antecedent."""
    rows = _rows(path)

    def call() -> object:
        found = fim.fpgrowth(rows, target="r", supp=-support, conf=80, zmin=2, zmax=most)
        return {"rules": len(found)}

    return call


def count(path: str, support: int, most: int) -> Call:
    """Count itemsets by their size and support; none is listed."""
    rows = _rows(path)

    def call() -> object:
        spectrum = fim.fpgrowth(rows, supp=-support, zmax=most, report="=")
        return {"itemsets": int(sum(number for _, _, number in spectrum))}

    return call


def count_antecedents(path: str, support: int, most: int) -> Call:
    """Count the itemsets that name no column twice; the time does not matter."""
    rows = _rows(path)

    def call() -> object:
        found = fim.fpgrowth(rows, supp=-support, zmax=most)
        columns = ([item.partition("=")[0] for item in itemset] for itemset, _ in found)
        return {"itemsets": sum(len(set(named)) == len(named) for named in columns)}

    return call


if __name__ == "__main__":
    serve(
        {
            "fpgrowth": partial(_mine, fim.fpgrowth, "s"),
            "eclat": partial(_mine, fim.eclat, "s"),
            "generators": partial(_mine, fim.fpgrowth, "g"),
            "rules": rules,
            "count": count,
            "antecedents": count_antecedents,
        }
    )
