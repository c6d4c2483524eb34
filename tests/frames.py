"""Frames of every kind, and tables to put into them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from shoal.datasets import papers

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
    "batch": lambda columns: pa.table(columns).to_batches()[0],
    "arrays": lambda columns: {name: np.array(values) for name, values in columns.items()},
    "mapping": dict,
}
MIXED = {
    "age": [30, 30, 41, 41, 41, 2**62 + 1],
    "born": [dt.date(1990, 1, 2)] * 2 + [dt.date(1980, 5, 6)] * 4,
    "city": ["Łódź", "Łódź", "東京", "東京", "東京", ""],
    "height": [1.5, 1.5, -0.0, 0.0, 0.0, 1.5],
    "smokes": [True, True, False, False, False, True],
}
MIXED_PRIVATE = [(1, "age"), (4, "city"), (2, "born"), (3, "height"), (0, "smokes")]
EMPLOYEE_COLUMNS = ("title", "gender", "marital_status", "education", "salary_level")
EMPLOYEES_PRIVATE = [(int(row) - 1, column) for row, column in papers.employees_private_cells()]


def employees() -> dict[str, list[str]]:
    """Give Table 2 of [Aggarwal06] without the row ids."""
    table = papers.employees_shuffled().to_dict()
    return {column: table[column] for column in EMPLOYEE_COLUMNS}
