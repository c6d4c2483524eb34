"""Estimate time and memory."""

from __future__ import annotations
from typing import NamedTuple


class Estimate(NamedTuple):
    seconds: float
    memory_bytes: int


def estimate(n_rows: int, n_columns: int, method: str) -> Estimate:
    return Estimate(0.0, 0)
