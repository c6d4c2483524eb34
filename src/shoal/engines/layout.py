"""Lay out what is published of rows that have their place.

Whichever engine placed them, the embedded DuckDB lays them out: files are written where Shoal runs.
What is published is sorted by its own content, so that nothing of the original order is left; a
staged table keeps that order. Any reader can find the same order; see `shoal.engines.sorting`.

Left behind for release number N: `published_N` (row key, line, bucket, and the code that each
column shows), `label_N_...` (the labels of recoded columns) and, where the release is bucketized,
`values_N` (bucket, sensitive code, count).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.domain import SUPPRESSED
from shoal.core.method import Shape
from shoal.core.plan import Plan
from shoal.core.release import BUCKET, COUNT
from shoal.engines.engine import Columns
from shoal.engines.slicing import kind_query, lay_out_slices, slice_queries
from shoal.engines.sorting import (
    carried_text,
    push_text_orders,
    rank_of_labels,
    shown_texts,
    sort_keys,
)
from shoal.engines.table import EngineTable

__all__ = ["Integers", "lay_out", "published_queries", "tuple_query"]

Integers = npt.NDArray[np.signedinteger[Any]]

_EXACT_TYPES = re.compile(
    r"VARCHAR|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*\)|DATE|BOOLEAN|UUID|.*ENUM\(.*",
    flags=re.DOTALL,
)
"""Types whose values are written alike where they are equal; 0.0 and -0.0 are not."""


def lay_out(
    table: EngineTable, plan: Plan, shape: Shape, bucket_id: Integers, release: int, placed: str
) -> None:
    """Sort the placed rows by what is published of them and number the lines.

    Parameters
    ----------
    bucket_id
        The published number of each bucket of the plan.
    release
        The number under which the engine keeps what is published.
    placed
        What gives all rows that are published, each with its bucket; it stands behind FROM.
    """
    engine, schema = table.engine.publisher, table.schema
    by_bucket = _push_labels(table, plan, release)
    _push_blanks(table, plan)
    push_text_orders(table, plan, shape, release)
    if by_bucket:
        engine.push("look", {"bucket": bucket_id} | by_bucket)
    shown = [_shown(table, column, plan) for column in schema.coded]
    joins = " JOIN look k ON k.bucket = r.bucket" if by_bucket else ""
    joins += "".join(join for _, join in shown)
    columns = [f"{expression} AS p{place}" for place, (expression, _) in enumerate(shown)]
    codes = [f"p{place}" for place in range(len(shown))]
    carried = [f"x{place}" for place in range(len(schema.insensitive))]
    # Equal values of some types are written differently: a secret number decides between them.
    is_exact = all(_EXACT_TYPES.fullmatch(table.scan.types[name]) for name in schema.insensitive)
    if not is_exact:
        number = engine.hash_number("concat(s.line_key, ':', r.row_key)")
        columns.append(f"{number} AS tie")
        joins += " CROSS JOIN secret s"
    listed = ", ".join(["r.row_key", "r.bucket", *columns, *(f"r.{name}" for name in carried)])
    lines = f"SELECT {listed} FROM {placed} r{joins}"
    if shape is Shape.SLICED:
        lay_out_slices(table, plan, release, lines)
        engine.drop("look")
        return
    n_quasi = len(schema.quasi)
    keys, ranks = sort_keys(table, plan, shape, release, schema.coded)
    sorted_by = ["bucket", *keys[:n_quasi]] if shape is Shape.BUCKETIZED else keys
    texts = [
        carried_text(engine, f"x{place}", table.scan.types[column])
        for place, column in enumerate(schema.insensitive)
    ]
    order = [*sorted_by, *(f"{name} NULLS LAST" for name in [*texts, *carried])]
    order += ["row_key"] if is_exact else ["tie", "row_key"]
    kept = ", ".join(["row_key", "bucket", *codes, *carried])
    engine.stage(
        f"published_{release}",
        f"SELECT {kept}, row_number() OVER () AS line FROM "
        f"(SELECT {kept} FROM ({lines}) p{ranks} ORDER BY {', '.join(order)}) r",
    )
    engine.drop("look")
    if shape is Shape.BUCKETIZED:
        # What is published of sensitive values is counted once, for readers and for the files.
        values = ", ".join(codes[n_quasi:])
        engine.stage(
            f"values_{release}",
            f"SELECT bucket, {values}, count(*) AS n FROM published_{release} "
            f"GROUP BY bucket, {values}",
        )


def _push_labels(table: EngineTable, plan: Plan, release: int) -> dict[str, Integers]:
    """Push the labels of recoded columns; give those that go by bucket, one entry a bucket."""
    by_bucket: dict[str, Integers] = {}
    for recode in plan.recode:
        place = table.schema.coded.index(recode.column)
        rank = rank_of_labels(recode)
        texts: npt.NDArray[np.object_] = np.empty(len(recode.labels), dtype=object)
        texts[:] = [label.text for label in recode.labels]
        _, first = np.unique(rank, return_index=True)
        labels: Columns = {"label": rank[first], "v": texts[first]}
        table.engine.publisher.push(f"label_{release}_{place}", labels)
        if recode.by == "bucket":
            by_bucket[f"label_{place}"] = rank[recode.index]
        else:
            code = np.arange(len(recode.index), dtype=np.int64)
            table.engine.publisher.push(
                f"recode_{place}", {"code": code, "label": rank[recode.index]}
            )
    return by_bucket


def _push_blanks(table: EngineTable, plan: Plan) -> None:
    for column, keys in plan.blank.keys.items():
        blanked = np.unique(keys.astype(str)).astype(object)
        place = table.schema.coded.index(column)
        table.engine.publisher.push(f"blank_{place}", {"row_key": blanked})


def _shown(table: EngineTable, column: str, plan: Plan) -> tuple[str, str]:
    """Give the code that a column shows and the joins that it takes; -1 where it is blank."""
    place = table.schema.coded.index(column)
    expression, join = f"r.c{place}", ""
    by = next((recode.by for recode in plan.recode if recode.column == column), None)
    if by == "bucket":
        expression = f"k.label_{place}"
    elif by == "value":
        join = f" JOIN recode_{place} l{place} ON l{place}.code = {expression}"
        expression = f"l{place}.label"
    if column in plan.blank.keys:
        # The hidden code must not decide where the line is sorted.
        expression = f"CASE WHEN b{place}.row_key IS NULL THEN {expression} ELSE -1 END"
        join += f" LEFT JOIN blank_{place} b{place} ON b{place}.row_key = r.row_key"
    return expression, join


def published_queries(table: EngineTable, plan: Plan, shape: Shape, release: int) -> dict[str, str]:
    """Give the query of every data file of a release, in the order that is published.

    Parameters
    ----------
    release
        The number that `apply_plan` gave.
    """
    schema = table.schema
    quasi = _decoded(table, plan, schema.quasi, release)
    carried = [
        (f"p.x{place}", table.engine.publisher.quote(column), "")
        for place, column in enumerate(schema.insensitive)
    ]
    if shape is Shape.SLICED:
        decoded = zip(schema.coded, _decoded(table, plan, schema.coded, release), strict=True)
        return slice_queries(table, plan, release, dict(decoded))
    sensitive = _decoded(table, plan, schema.sensitive, release)
    if shape is Shape.BUCKETIZED:
        values, joins = _select(sensitive)
        keys, ranks = sort_keys(table, plan, shape, release, schema.sensitive)
        return {
            "quasi": _ordered_lines(release, [("p.bucket", BUCKET, ""), *quasi, *carried]),
            "sensitive": f"SELECT p.bucket AS {BUCKET}, {values}, p.n AS {COUNT} "
            f"FROM values_{release} p{joins}{ranks} ORDER BY p.bucket, {', '.join(keys)}",
        }
    return {"table": _ordered_lines(release, [*quasi, *carried, *sensitive])}


def tuple_query(table: EngineTable, plan: Plan, release: int) -> str:
    """Give the query of what is known of the people of a sliced release, with their numbers."""
    return kind_query(release, _decoded(table, plan, table.schema.quasi, release))


def _ordered_lines(release: int, columns: Sequence[tuple[str, str, str]]) -> str:
    values, joins = _select(columns)
    if not joins:
        # Nothing but a join could bring them out of order.
        return f"SELECT {values} FROM published_{release} p"
    return f"SELECT {values} FROM published_{release} p{joins} ORDER BY p.line"


def _select(columns: Sequence[tuple[str, str, str]]) -> tuple[str, str]:
    values = ", ".join(f"{expression} AS {name}" for expression, name, _ in columns)
    return values, "".join(join for _, _, join in columns)


def _decoded(
    table: EngineTable, plan: Plan, columns: Sequence[str], release: int
) -> list[tuple[str, str, str]]:
    """Give for each coded column its expression, its name and the join it takes."""
    engine = table.engine.publisher
    recoded = {recode.column for recode in plan.recode}
    decoded = []
    for column in columns:
        place = table.schema.coded.index(column)
        source, number = (
            (f"label_{release}", "label") if column in recoded else ("dictionary", "code")
        )
        n_texts = len(shown_texts(table, plan, column))
        expression, join = engine.decode(f"{source}_{place}", number, f"p.p{place}", n_texts)
        if column in plan.blank.keys:
            expression = f"CASE WHEN p.p{place} < 0 THEN '{SUPPRESSED}' ELSE {expression} END"
        decoded.append((expression, engine.quote(column), join))
    return decoded
