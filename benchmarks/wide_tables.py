"""Tables of many columns, as a register exports them: categories, codes, numbers, dates, gaps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

_FIRST_DAY = dt.date(1940, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
_SHARE_MISSING = 0.05
_EVERY_SO_MANY = 4
"""Every fourth column has missing values, and every fourth follows an earlier one."""

_Generator = np.random.Generator


def wide_columns(n_rows: int, n_columns: int, seed: int = 1) -> dict[str, pa.Array]:
    """Return columns of mixed types; equal arguments give equal columns.

    The first is a row number. The others are, in turn, categories, codes with leading zeros, ages,
    amounts, dates, flags and coded answers. Some repeat what an earlier one says for nine rows in
    ten, and some have missing values.
    """
    generator = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {"id": pa.array(np.arange(1, n_rows + 1))}
    kinds = list(_KINDS.items())
    earlier: list[np.ndarray] = []
    for place in range(1, n_columns):
        name, draw = kinds[place % len(kinds)]
        drawn = generator.random(n_rows)
        if earlier and place % _EVERY_SO_MANY == 0:
            source = earlier[int(generator.integers(len(earlier)))]
            drawn = np.where(generator.random(n_rows) < 0.9, source, drawn)
        earlier.append(drawn)
        missing = None
        if place % _EVERY_SO_MANY == 1:
            missing = generator.random(n_rows) < _SHARE_MISSING
        columns[f"{name}_{place}"] = pa.array(draw(drawn), mask=missing)
    return columns


def write_wide(path: Path, n_rows: int, n_columns: int) -> None:
    """Write such columns as a CSV file."""
    table = pa.table(wide_columns(n_rows, n_columns))
    with duckdb.connect() as connection:
        connection.register("wide", table)
        connection.execute(f"COPY wide TO '{path}' (HEADER)")


def _categories(drawn: np.ndarray) -> np.ndarray:
    return np.array([f"group {number:02}" for number in range(23)])[(drawn**2 * 23).astype(int)]


def _codes(drawn: np.ndarray) -> np.ndarray:
    return np.array([f"{number * 37:05}" for number in range(800)])[(drawn**3 * 800).astype(int)]


def _dates(drawn: np.ndarray) -> np.ndarray:
    return (_FIRST_DAY + (drawn * 25_000).astype(int)).astype("datetime64[D]")


_KINDS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "group": _categories,
    "code": _codes,
    "age": lambda drawn: (18 + 72 * drawn**1.5).astype(int),
    "amount": lambda drawn: np.round(np.exp(6 + 4 * drawn), 2),
    "day": _dates,
    "flag": lambda drawn: np.array(["no", "yes"])[(drawn < 0.2).astype(int)],
    "answer": lambda drawn: np.array([1, 2, 3, 4, 9])[(drawn * 5).astype(int)],
}
