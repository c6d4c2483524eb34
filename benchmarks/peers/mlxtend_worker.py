"""Measures of mlxtend's itemset mining, used as its documentation shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from measure import Call, serve
from mlxtend.frequent_patterns import fpgrowth


def _frame(path: str) -> pd.DataFrame:
    """Read the rows as a frame with a boolean column per item."""
    told = json.loads(Path(path).read_text(encoding="utf-8"))
    marks = np.zeros((len(told["rows"]), len(told["items"])), dtype=bool)
    for place, row in enumerate(told["rows"]):
        marks[place, row] = True
    return pd.DataFrame(np.repeat(marks, told["counts"], axis=0), columns=told["items"])


def mine(path: str, support: int, most: int) -> Call:
    """List the itemsets of at most `most` items that at least `support` rows have."""
    frame = _frame(path)
    # mlxtend takes a share and rounds the count up: half a row less is safe from rounding errors.
    share = (support - 0.5) / len(frame)
    return lambda: {"itemsets": len(fpgrowth(frame, min_support=share, max_len=most))}


if __name__ == "__main__":
    serve({"fpgrowth": mine})
