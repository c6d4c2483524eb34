"""The order of published lines: it follows from what they show, and any reader can find it.

Numbers, dates and truth values are sorted by value. Labels are sorted by where their interval
begins, then as text. Everything else is sorted as text, ordered values among it: their order is not
always published. Missing values come last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.domain import SUPPRESSED, ColumnType
from shoal.core.method import Shape
from shoal.core.plan import Plan, Recode
from shoal.engines.engine import Engine
from shoal.engines.table import EngineTable

__all__ = [
    "carried_text",
    "label_place",
    "push_text_orders",
    "rank_of_labels",
    "shown_texts",
    "sort_keys",
    "text_place",
]


def text_place(text: str | None) -> tuple[bool, str]:
    """Return the place of a text among others: by code points, the missing value last."""
    return (text is None, text or "")


def label_place(text: str | None, interval: tuple[str, str] | None) -> tuple[bool, float, str]:
    """Return the place of a label among others: by where its interval begins, then as text.

    Examples
    --------
    >>> label_place("[9, 10[", ("9", "10")) < label_place("[10, 20[", ("10", "20"))
    True
    """
    low = float("inf") if interval is None else _beginning(interval[0])
    return (text is None, low, text or "")


def _beginning(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        # A date: dates sort as their texts do, behind an interval that is open below.
        return 0.0


def carried_text(engine: Engine, expression: str, kind: str) -> str:
    """Return the text of an insensitive value as CSV files hold it."""
    if kind in ("DOUBLE", "FLOAT"):
        return engine.text(expression, kind)
    return engine.cast(expression, "VARCHAR")


def rank_of_labels(recode: Recode) -> npt.NDArray[np.int32]:
    """Number labels in an order that follows from what they say, equal texts alike."""
    places = [label_place(label.text, label.interval) for label in recode.labels]
    rank = {place: number for number, place in enumerate(sorted(set(places)))}
    return np.array([rank[place] for place in places], dtype=np.int32)


def shown_texts(table: EngineTable, plan: Plan, column: str) -> list[str | None]:
    """Return the text of every code that `published_N` holds for a column; the last is for -1."""
    recode = next((recode for recode in plan.recode if recode.column == column), None)
    if recode is None:
        return [*table.domains[column].labels(), SUPPRESSED]
    rank = rank_of_labels(recode)
    texts: list[str | None] = [None] * (int(rank.max(initial=-1)) + 1)
    for label, number in zip(recode.labels, rank.tolist(), strict=True):
        texts[number] = label.text
    return [*texts, SUPPRESSED]


def push_text_orders(table: EngineTable, plan: Plan, shape: Shape, release: int) -> None:
    """Push the order of the texts of columns whose codes are in another order."""
    for place, column in enumerate(table.schema.coded):
        if not _is_sorted_as_text(table, plan, shape, column):
            continue
        texts = shown_texts(table, plan, column)
        order = sorted(range(len(texts)), key=lambda code: text_place(texts[code]))
        rank = np.empty(len(texts), dtype=np.int64)
        rank[order] = np.arange(len(texts))
        # A blank is -1: the last text.
        code = np.append(np.arange(len(texts) - 1, dtype=np.int64), -1)
        table.engine.publisher.push(_order_table(release, place), {"code": code, "rank": rank})


def _is_sorted_as_text(table: EngineTable, plan: Plan, shape: Shape, column: str) -> bool:
    if shape is Shape.SUPPRESSED:
        return True
    is_recoded = any(recode.column == column for recode in plan.recode)
    return table.domains[column].type is ColumnType.ORDERED and not is_recoded


def sort_keys(
    table: EngineTable, plan: Plan, shape: Shape, release: int, columns: Sequence[str]
) -> tuple[list[str], str]:
    """Return what to sort some columns of a relation `p` by, and the joins that this takes."""
    keys, joins = [], ""
    for column in columns:
        place = table.schema.coded.index(column)
        if _is_sorted_as_text(table, plan, shape, column):
            keys.append(f"o{place}.rank")
            joins += f" JOIN {_order_table(release, place)} o{place} ON o{place}.code = p.p{place}"
        else:
            keys.append(f"p.p{place}")
    return keys, joins


def _order_table(release: int, place: int) -> str:
    return f"text_order_{release}_{place}"
