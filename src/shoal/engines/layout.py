"""Lay out what is published of rows that have their place.

What is published is sorted by its own content, so that nothing of the original order is left. An
engine that keeps the order of a table sorts it once. On the others line numbers are found in two
levels, as ranks are: for groups of lines that look alike, and then within each group, so that no
engine has to sort all rows in one task.

Left behind for release number N: `published_N` (row key, line, bucket, and the code that each
column shows), `label_N_...` (the labels of recoded columns) and, where the release is bucketized,
`values_N` (bucket, sensitive code, count).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import group
from shoal.core.domain import SUPPRESSED
from shoal.core.method import Shape
from shoal.core.plan import Plan, Recode
from shoal.core.release import BUCKET, COUNT
from shoal.engines.engine import Columns
from shoal.engines.table import EngineTable

__all__ = ["Integers", "lay_out", "published_queries", "shown_texts"]

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
        The query of all rows that are published, each with its bucket.
    """
    engine, schema = table.engine, table.schema
    by_bucket = _push_labels(table, plan, release)
    _push_blanks(table, plan)
    looks = None
    if not engine.keeps_order:
        looks = _looks_of_buckets(table, plan, shape, by_bucket, bucket_id)
    if looks is not None:
        by_bucket |= {"look": looks, "first_line": _first_lines(plan, looks)}
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
    if looks is not None:
        columns += ["k.look", "k.first_line"]
    listed = ", ".join(["r.row_key", "r.bucket", *columns, *(f"r.{name}" for name in carried)])
    lines = f"SELECT {listed} FROM ({placed}) r{joins}"
    n_quasi = len(schema.quasi)
    # What lines are sorted by first, and what tells those apart that are equal in it.
    outer, inner = codes[:n_quasi], codes[n_quasi:]
    if shape is Shape.BUCKETIZED:
        outer, inner = ["bucket"], codes[:n_quasi]
    texts = [] if is_exact else [engine.cast(name, "VARCHAR") for name in carried]
    order = [f"{name} NULLS LAST" for name in [*inner, *carried, *texts]]
    order += ["row_key"] if is_exact else ["tie", "row_key"]
    kept = ", ".join(["row_key", "bucket", *codes, *carried])
    if engine.keeps_order:
        query = (
            f"SELECT {kept}, row_number() OVER () AS line FROM "
            f"(SELECT {kept} FROM ({lines}) r ORDER BY {', '.join([*outer, *order])}) r"
        )
    else:
        lines = lines if looks is not None else _with_looks(table, lines, outer)
        query = (
            f"SELECT {kept}, first_line + row_number() OVER "
            f"(PARTITION BY look ORDER BY {', '.join(order)}) AS line FROM ({lines}) r"
        )
    engine.stage(f"published_{release}", query)
    for name in ("look", "shown", "look_size"):
        engine.drop(name)
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
        rank = _rank_of_labels(recode)
        texts: npt.NDArray[np.object_] = np.empty(len(recode.labels), dtype=object)
        texts[:] = [label.text for label in recode.labels]
        _, first = np.unique(rank, return_index=True)
        labels: Columns = {"label": rank[first], "v": texts[first]}
        table.engine.push(f"label_{release}_{place}", labels)
        if recode.by == "bucket":
            by_bucket[f"label_{place}"] = rank[recode.index]
        else:
            code = np.arange(len(recode.index), dtype=np.int64)
            table.engine.push(f"recode_{place}", {"code": code, "label": rank[recode.index]})
    return by_bucket


def _rank_of_labels(recode: Recode) -> npt.NDArray[np.int32]:
    """Number labels in an order that follows from what they say, equal texts alike."""
    contents = [_content(recode, label) for label in range(len(recode.labels))]
    rank = {content: number for number, content in enumerate(sorted(set(contents)))}
    return np.array([rank[content] for content in contents], dtype=np.int32)


def _content(recode: Recode, label: int) -> tuple[bool, float, str]:
    text, interval = recode.labels[label].text, recode.labels[label].interval
    low = float("inf") if interval is None else _sortable(interval[0])
    return (text is None, low, text or "")


def _sortable(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        # A date: dates sort as their texts do, behind an interval that is open below.
        return 0.0


def shown_texts(table: EngineTable, plan: Plan, column: str) -> list[str | None]:
    """Give the text of every code that `published_N` holds for a column; the last is for -1."""
    recode = next((recode for recode in plan.recode if recode.column == column), None)
    if recode is None:
        return [*table.domains[column].labels(), SUPPRESSED]
    rank = _rank_of_labels(recode)
    texts: list[str | None] = [None] * (int(rank.max(initial=-1)) + 1)
    for label, number in zip(recode.labels, rank.tolist(), strict=True):
        texts[number] = label.text
    return [*texts, SUPPRESSED]


def _push_blanks(table: EngineTable, plan: Plan) -> None:
    columns: npt.NDArray[np.object_] = np.array(plan.blank.column, dtype=object)
    keys: npt.NDArray[np.object_] = np.array(plan.blank.key, dtype=object)
    for column in set(plan.blank.column):
        place = table.schema.coded.index(column)
        blanked = np.unique(keys[columns == column].astype(str)).astype(object)
        table.engine.push(f"blank_{place}", {"row_key": blanked})


def _looks_of_buckets(
    table: EngineTable,
    plan: Plan,
    shape: Shape,
    by_bucket: Mapping[str, Integers],
    bucket_id: Integers,
) -> Integers | None:
    """Give the group of lines that each bucket belongs to, groups in the order of publication.

    A bucketized release is sorted by bucket first. In a generalized one all rows of a bucket look
    alike where every quasi-identifier is recoded by bucket; where not, there is None.
    """
    if shape is Shape.BUCKETIZED:
        return bucket_id - 1
    names = [f"label_{table.schema.coded.index(column)}" for column in table.schema.quasi]
    if not set(names) <= set(by_bucket) or set(plan.blank.column) & set(table.schema.quasi):
        return None
    labels = [by_bucket[name].astype(np.int64) for name in names]
    return group(labels, [int(label.max(initial=0)) + 1 for label in labels], plan.n_buckets)[1]


def _first_lines(plan: Plan, looks: Integers) -> Integers:
    """Give for every bucket the line behind which those of its group begin."""
    size = np.zeros(plan.n_buckets, dtype=np.int64)
    np.add.at(size, looks, plan.assign.bucket_sizes(plan.n_buckets))
    first: npt.NDArray[np.int64] = (np.cumsum(size) - size)[looks]
    return first


def _with_looks(table: EngineTable, lines: str, codes: Sequence[str]) -> str:
    """Group lines by what they show where rows of one bucket differ; none of the codes is null."""
    table.engine.stage("shown", lines)
    listed = ", ".join(codes) or "1"
    total = table.engine.cast(f"sum(n) OVER (ORDER BY {listed})", "BIGINT")
    names = ", ".join(f"{code}" for code in codes)
    counted = f"SELECT {names}{', ' if names else ''}count(*) AS n FROM shown"
    counted += f" GROUP BY {names}" if names else ""
    table.engine.stage(
        "look_size",
        f"SELECT {names}{', ' if names else ''}row_number() OVER (ORDER BY {listed}) AS look, "
        f"{total} - n AS first_line FROM ({counted}) c",
    )
    same = " AND ".join(f"s.{code} = z.{code}" for code in codes) or "TRUE"
    return f"SELECT s.*, z.look, z.first_line FROM shown s JOIN look_size z ON {same}"


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
    if column in plan.blank.column:
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
        (f"p.x{place}", table.engine.quote(column), "")
        for place, column in enumerate(schema.insensitive)
    ]
    sensitive = _decoded(table, plan, schema.sensitive, release)
    if shape is Shape.BUCKETIZED:
        values, joins = _select(sensitive)
        ordered = ", ".join(f"p.p{schema.coded.index(column)}" for column in schema.sensitive)
        return {
            "quasi": _ordered_lines(table, release, [("p.bucket", BUCKET, ""), *quasi, *carried]),
            "sensitive": f"SELECT p.bucket AS {BUCKET}, {values}, p.n AS {COUNT} "
            f"FROM values_{release} p{joins} ORDER BY p.bucket, {ordered}",
        }
    return {"table": _ordered_lines(table, release, [*quasi, *carried, *sensitive])}


def _ordered_lines(
    table: EngineTable, release: int, columns: Sequence[tuple[str, str, str]]
) -> str:
    values, joins = _select(columns)
    if table.engine.keeps_order and not joins:
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
    recoded = {recode.column for recode in plan.recode}
    decoded = []
    for column in columns:
        place = table.schema.coded.index(column)
        source, number = (
            (f"label_{release}", "label") if column in recoded else ("dictionary", "code")
        )
        n_texts = len(shown_texts(table, plan, column))
        expression, join = table.engine.decode(f"{source}_{place}", number, f"p.p{place}", n_texts)
        if column in plan.blank.column:
            expression = f"CASE WHEN p.p{place} < 0 THEN '{SUPPRESSED}' ELSE {expression} END"
        decoded.append((expression, table.engine.quote(column), join))
    return decoded
