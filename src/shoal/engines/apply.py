"""Give each row its place in a plan, and lay out what is published of it.

The same statements serve every engine. Rows of a class are ranked by a keyed hash of their key;
the plan's segments turn ranks into buckets; what is published is then sorted by its own content,
so that nothing of the original order is left.

Left behind for release number N: `published_N` (row key, line, bucket, and the code that each
column shows) and `label_N_...` (the labels of recoded columns).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.domain import SUPPRESSED
from shoal.core.method import Shape
from shoal.core.plan import Plan, Recode, Redraw, Segments
from shoal.core.release import BUCKET, COUNT
from shoal.core.secret import Secret
from shoal.engines.table import EngineTable

__all__ = ["apply_plan", "published_queries"]


def apply_plan(table: EngineTable, plan: Plan, secret: Secret, shape: Shape) -> int:
    """Place every row of the table as the plan says, and lay out what is published.

    Bucket numbers are a secret permutation of 1, ..., `plan.n_buckets`. Returns the number under
    which the engine keeps what is published.
    """
    release = table.next_release()
    engine = table.engine
    bucket_id = secret.permutation("bucket numbers", plan.n_buckets) + 1
    keys = {
        label: np.array([secret.derive(label).hex()], dtype=object)
        for label in ("rank", "redraw", "line")
    }
    # Keys are staged, not written into statements: statements are logged.
    engine.push("secret", {f"{label}_key": key for label, key in keys.items()})
    _place(table, plan, bucket_id)
    _redraw(table, plan.redraw, bucket_id)
    _push_recodes(table, plan, bucket_id, release)
    _lay_out(table, plan, shape, release)
    for name in ("secret", "placed"):
        engine.drop(name)
    return release


def _place(table: EngineTable, plan: Plan, bucket_id: npt.NDArray[np.int64]) -> None:
    engine = table.engine
    columns = plan.classes.columns
    names = [table.code_name(column) for column in columns]
    same = " AND ".join(f"t.{name} = k.{name}" for name in names) or "TRUE"
    classes = {
        name: np.ascontiguousarray(plan.classes.codes[:, place]) for place, name in enumerate(names)
    }
    if _keeps_classes_whole(plan):
        # No class is parted, so there is nothing to rank.
        bucket = np.full(plan.classes.n_cells, -1, dtype=np.int64)
        bucket[plan.assign.group] = bucket_id[plan.assign.base]
        kept = bucket >= 0
        pushed = {name: codes[kept] for name, codes in classes.items()}
        engine.push("class", pushed | {"bucket": bucket[kept]})
        engine.stage("placed", f"SELECT k.bucket, t.* FROM coded t JOIN class k ON {same}")
        engine.drop("class")
        return
    blocks = _block_sizes(plan.assign, plan.classes.n_cells)
    number = np.arange(plan.classes.n_cells, dtype=np.int64)
    engine.push("class", classes | {"class": number, "block": blocks})
    engine.push("bucket_number", {"place": np.arange(plan.n_buckets), "bucket": bucket_id})
    engine.push("segment", _blocked(plan.assign, blocks))
    hashed = engine.hash("concat(s.rank_key, ':', t.row_key)")
    engine.stage(
        "ranked",
        "SELECT t.*, k.class, k.block, row_number() OVER "
        f"(PARTITION BY k.class ORDER BY {hashed}, t.row_key) - 1 AS place "
        f"FROM coded t JOIN class k ON {same} CROSS JOIN secret s",
    )
    carried = ", ".join(["r.row_key", *(f"r.{name}" for name in _carried_names(table))])
    within = "g.base + g.step * (r.place - g.first)"
    engine.stage(
        "placed",
        f"SELECT b.bucket, {carried} FROM ranked r "
        "JOIN segment g ON g.class = r.class AND g.block = r.place - r.place % r.block "
        "AND r.place >= g.first AND r.place < g.last "
        f"JOIN bucket_number b ON b.place = CASE WHEN g.modulus > 0 THEN ({within}) % g.modulus "
        f"ELSE {within} END",
    )
    for name in ("class", "segment", "bucket_number", "ranked"):
        engine.drop(name)


def _carried_names(table: EngineTable) -> list[str]:
    return [
        *(f"c{place}" for place in range(len(table.schema.coded))),
        *(f"x{place}" for place in range(len(table.schema.insensitive))),
    ]


def _keeps_classes_whole(plan: Plan) -> bool:
    starts_first = not (
        plan.assign.first.any() or plan.assign.step.any() or plan.assign.modulus.any()
    )
    return starts_first and bool(
        np.array_equal(plan.assign.last, plan.classes.counts[plan.assign.group])
    )


def _block_sizes(segments: Segments, n_classes: int) -> npt.NDArray[np.int64]:
    """Choose for each class how many ranks share a join key.

    Joining ranks to segments by an equality on blocks keeps the work linear: with as many blocks
    as segments, rows times segments within a block add up to about twice the rows.
    """
    n_segments = np.bincount(segments.group, minlength=n_classes)
    n_ranks = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(n_ranks, segments.group, segments.last)
    return np.maximum(n_ranks // np.maximum(n_segments, 1), 1).astype(np.int64)


def _blocked(segments: Segments, blocks: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
    """Repeat each segment for every block that it touches."""
    size = blocks[segments.group]
    first_block = segments.first // size
    n_touched = (segments.last - 1) // size - first_block + 1
    source = np.repeat(np.arange(len(size)), n_touched)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(n_touched) - n_touched, n_touched)
    return {
        "class": segments.group[source],
        "block": (first_block[source] + offset) * size[source],
        "first": segments.first[source],
        "last": segments.last[source],
        "base": segments.base[source],
        "step": segments.step[source],
        "modulus": segments.modulus[source],
    }


def _redraw(table: EngineTable, redraw: Redraw, bucket_id: npt.NDArray[np.int64]) -> None:
    """Give some rows of a bucket another sensitive value, chosen by a keyed hash."""
    if len(redraw.bucket) == 0:
        return
    engine = table.engine
    name = table.code_name(table.schema.sensitive[0])
    order = np.lexsort((redraw.old, redraw.bucket))
    bucket, old, count = (array[order] for array in (redraw.bucket, redraw.old, redraw.count))
    total = np.cumsum(count) - count
    opens = np.r_[True, (bucket[1:] != bucket[:-1]) | (old[1:] != old[:-1])]
    first = total - np.maximum.accumulate(np.where(opens, total, 0))
    engine.push(
        "redraw",
        {
            "bucket": bucket_id[bucket],
            "old": old,
            "new": redraw.new[order],
            "first": first,
            "last": first + count,
        },
    )
    hashed = engine.hash("concat(s.redraw_key, ':', p.row_key)")
    engine.stage(
        "numbered",
        f"SELECT p.*, row_number() OVER (PARTITION BY p.bucket, p.{name} "
        f"ORDER BY {hashed}, p.row_key) - 1 AS place FROM placed p CROSS JOIN secret s",
    )
    carried = ", ".join(
        f"coalesce(r.new, n.{name}) AS {name}" if column == name else f"n.{column}"
        for column in ["bucket", "row_key", *_carried_names(table)]
    )
    engine.stage(
        "placed",
        f"SELECT {carried} FROM numbered n LEFT JOIN redraw r ON n.bucket = r.bucket "
        f"AND n.{name} = r.old AND n.place >= r.first AND n.place < r.last",
    )
    engine.drop("numbered")
    engine.drop("redraw")


def _push_recodes(
    table: EngineTable, plan: Plan, bucket_id: npt.NDArray[np.int64], release: int
) -> None:
    for recode in plan.recode:
        place = table.schema.coded.index(recode.column)
        texts: npt.NDArray[np.object_] = np.empty(len(recode.labels), dtype=object)
        texts[:] = [label.text for label in recode.labels]
        rank = _rank_of_labels(recode)
        _, first = np.unique(rank, return_index=True)
        labels = {"label": rank[first], "v": texts[first]}
        table.engine.push(f"label_{release}_{place}", labels)
        key = bucket_id if recode.by == "bucket" else np.arange(len(recode.index))
        table.engine.push(f"recode_{place}", {"key": key, "label": rank[recode.index]})


def _rank_of_labels(recode: Recode) -> npt.NDArray[np.int64]:
    """Number labels in an order that follows from what they say, equal texts alike."""

    def content(label: int) -> tuple[bool, float, str]:
        text = recode.labels[label].text
        interval = recode.labels[label].interval
        low = float("inf")
        if interval is not None:
            low = _sortable(interval[0])
        return (text is None, low, text or "")

    ordered = sorted(range(len(recode.labels)), key=content)
    rank = np.empty(len(ordered), dtype=np.int64)
    previous: tuple[bool, float, str] | None = None
    number = -1
    for label in ordered:
        current = content(label)
        number += current != previous
        rank[label] = number
        previous = current
    return rank


def _sortable(bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        # A date: dates sort as their texts do, behind an interval that is open below.
        return 0.0


def _lay_out(table: EngineTable, plan: Plan, shape: Shape, release: int) -> None:
    """Sort the rows by what is published of them and number the lines."""
    recoded = {recode.column: recode for recode in plan.recode}
    _push_blanks(table, plan)
    shown = [_shown(table, column, recoded, plan) for column in table.schema.coded]
    carried = [f"r.x{place}" for place in range(len(table.schema.insensitive))]
    content = [expression for expression, _ in shown]
    if shape is Shape.BUCKETIZED:
        content = ["r.bucket", *content[: len(table.schema.quasi)]]
    # By the text of insensitive values too, and where all is equal by a secret number: values that
    # compare equal may be written differently, as 0.0 and -0.0 are.
    texts = [f"CAST({name} AS VARCHAR)" for name in carried]
    order = ", ".join(f"{expression} NULLS LAST" for expression in [*content, *carried, *texts])
    number = table.engine.hash("concat(s.line_key, ':', r.row_key)")
    selected = "".join(f", {expression} AS p{i}" for i, (expression, _) in enumerate(shown))
    joins = "".join(join for _, join in shown)
    table.engine.stage(
        f"published_{release}",
        f"SELECT r.row_key, row_number() OVER (ORDER BY {order}, {number}) AS line, r.bucket"
        f"{selected}{''.join(f', {name}' for name in carried)} FROM placed r{joins} "
        "CROSS JOIN secret s",
    )


def _shown(
    table: EngineTable, column: str, recoded: Mapping[str, Recode], plan: Plan
) -> tuple[str, str]:
    """Give the code that a column shows and the joins that it takes; -1 where it is blank."""
    place = table.schema.coded.index(column)
    expression, join = f"r.c{place}", ""
    recode = recoded.get(column)
    if recode is not None:
        key = "r.bucket" if recode.by == "bucket" else expression
        expression = f"l{place}.label"
        join = f" JOIN recode_{place} l{place} ON l{place}.key = {key}"
    if column in plan.blank.column:
        # The hidden code must not decide where the line is sorted.
        expression = f"CASE WHEN b{place}.row_key IS NULL THEN {expression} ELSE -1 END"
        join += f" LEFT JOIN blank_{place} b{place} ON b{place}.row_key = r.row_key"
    return expression, join


def _push_blanks(table: EngineTable, plan: Plan) -> None:
    columns: npt.NDArray[np.object_] = np.array(plan.blank.column, dtype=object)
    keys: npt.NDArray[np.object_] = np.array(plan.blank.key, dtype=object)
    for column in set(plan.blank.column):
        place = table.schema.coded.index(column)
        blanked = np.unique(keys[columns == column].astype(str)).astype(object)
        table.engine.push(f"blank_{place}", {"row_key": blanked})


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
        names = ", ".join(expression for expression, _, _ in sensitive)
        code = ", ".join(f"p.p{schema.coded.index(column)}" for column in schema.sensitive)
        return {
            "quasi": _ordered_lines(release, [("p.bucket", BUCKET, ""), *quasi, *carried]),
            "sensitive": f"SELECT p.bucket AS {BUCKET}, {values}, count(*) AS {COUNT} "
            f"FROM published_{release} p{joins} GROUP BY p.bucket, {names}, {code} "
            f"ORDER BY p.bucket, {code}",
        }
    return {"table": _ordered_lines(release, [*quasi, *carried, *sensitive])}


def _ordered_lines(release: int, columns: Sequence[tuple[str, str, str]]) -> str:
    values, joins = _select(columns)
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
        source, code = (
            (f"label_{release}", "label") if column in recoded else ("dictionary", "code")
        )
        join = f" LEFT JOIN {source}_{place} v{place} ON v{place}.{code} = p.p{place}"
        expression = f"v{place}.v"
        if column in plan.blank.column:
            expression = f"CASE WHEN p.p{place} < 0 THEN '{SUPPRESSED}' ELSE {expression} END"
        decoded.append((expression, table.engine.quote(column), join))
    return decoded
