"""Place every row as a plan says.

The same statements serve every engine. The rows of a class are ranked by a keyed hash of their key,
and the segments of the plan turn ranks into buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Counts
from shoal.core.cells import group, total_by
from shoal.core.errors import InternalError
from shoal.core.levels import LevelDomain
from shoal.core.plan import Plan, Redraw, Segments
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.engines.engine import N_HASHES, Columns
from shoal.engines.sql.columns import Waiting
from shoal.engines.sql.layout import Integers, files_of, lay_out
from shoal.engines.sql.sorting import rank_of_labels
from shoal.engines.sql.table import FEW_ROWS, EngineTable

_KEY_DIGITS = 32
"""128 bits; together with most row keys they still fit into one block of SHA-256."""
_RANK_TEXT = "concat(s.rank_key, ':', t.row_key)"
_ROWS_PER_SLOT = 1 << 20
"""The number of rows of a class that are ranked in one piece."""
_MOST_SLOTS = 1 << 14
_SEGMENTS_PER_ROW = 0.25


def apply_plan(table: EngineTable, plan: Plan, secret: Secret, shape: Shape) -> int:
    """Place every row of the table as the plan says, and lay out the release.

    Bucket numbers are a secret permutation of 1, ..., `plan.n_buckets`. Returns the number under
    which the engine keeps the release. If what the rows will show follows from the plan, they are
    placed once somebody asks for rows; see `EngineTable.published_name`.
    """
    release = table.next_release()
    if _follows_from_plan(table, plan, shape):
        lines = _planned_lines(table, plan)
        call = partial(_place_as_counted, table, plan, secret, shape, release, lines)
        table.put_off(release, Waiting(call, lines))
    else:
        _place(table, plan, secret, shape, release)
    return release


def _follows_from_plan(table: EngineTable, plan: Plan, shape: Shape) -> bool:
    """Return whether a plan says what every line shows, without ranking rows or reading more.

    That is so if classes stay whole, and lines show nothing but labels of their coded columns.
    """
    schema = table.schema
    (file, *others) = files_of(table, plan, shape)
    return (
        table.n_rows <= FEW_ROWS
        and table.engine.publisher is table.engine
        and not (others or file.has_bucket or file.has_count or file.is_linking)
        and not (schema.insensitive or plan.blank.keys or len(plan.redraw.bucket))
        and set(schema.coded) <= set(plan.classes.columns)
        # Classes at levels do not tell which values are shown.
        and not _levelled(plan)
        and _keeps_classes_whole(plan)
    )


def _planned_lines(table: EngineTable, plan: Plan) -> Columns:
    """Return the distinct lines that rows will show, by code, with their number `n`."""
    bucket = _bucket_of_cells(plan, np.arange(plan.n_buckets))
    kept = np.flatnonzero(bucket >= 0)
    shown, sizes = [], []
    recodes = {recode.column: recode for recode in plan.recode}
    for column in table.schema.coded:
        codes, size = plan.classes.column(column)[kept], table.domains[column].size
        if column in recodes:
            recode = recodes[column]
            rank = rank_of_labels(recode)
            index = recode.index[bucket[kept] if recode.by == "bucket" else codes]
            codes = rank[index].astype(np.int64)
            size = int(rank.max(initial=-1)) + 1
        shown.append(codes)
        sizes.append(size)
    first, line = group(shown, sizes, len(kept))
    counts = total_by(line, plan.classes.counts[kept], len(first))
    return {f"p{place}": codes[first] for place, codes in enumerate(shown)} | {"n": counts}


def _place_as_counted(
    table: EngineTable, plan: Plan, secret: Secret, shape: Shape, release: int, lines: Columns
) -> None:
    """Place the rows of a release that was counted before, and confirm that the counts hold."""
    _place(table, plan, secret, shape, release)
    listed = ", ".join(name for name in lines if name != "n")
    found = table.engine.publisher.arrays(
        f"SELECT {listed}, count(*) AS n FROM published_{release} GROUP BY {listed} "
        f"ORDER BY {listed}",
        {name: column.dtype for name, column in lines.items()},
    )
    if not all(np.array_equal(found[name], column) for name, column in lines.items()):
        raise InternalError("The rows of a release were not placed as planned.")


def _place(table: EngineTable, plan: Plan, secret: Secret, shape: Shape, release: int) -> None:
    engine = table.engine
    bucket_id = _compact(secret.permutation("bucket numbers", plan.n_buckets) + 1)
    keys = {
        label: np.array([secret.derive(label).hex()[:_KEY_DIGITS]], dtype=object)
        for label in ("rank", "redraw", "line")
    }
    # Keys are staged and not written into statements, because statements are logged.
    engine.push("secret", {f"{label}_key": key for label, key in keys.items()})
    placed = _placed(table, plan, bucket_id)
    if len(plan.redraw.bucket):
        placed = _redrawn(table, placed, plan.redraw, bucket_id)
    publisher = engine.publisher
    if publisher is not engine:
        publisher.push("secret", {"line_key": keys["line"]})
    lay_out(table, plan, shape, bucket_id, release, engine.bring(placed))
    for name in ("brought", "secret"):
        publisher.drop(name)
    for name in ("secret", "class", "hashed", "slot", "segment", "bucket_number", "redrawn"):
        engine.drop(name)
    for domain in _levelled(plan):
        engine.drop(f"level_{table.code_name(domain.column)}")


def merge_buckets(
    table: EngineTable,
    plan: Plan,
    secret: Secret,
    shape: Shape,
    release: int,
    target: Integers,
) -> int:
    """Lay out a release with bucket numbers again, with some of its buckets merged.

    `plan` is that of the merged release; rows keep the places that they have in `release`, the
    number that `apply_plan` returned. `target` is the merged bucket, counted from 0, of each
    published bucket 1, 2, 3, ... Returns the number under which the engine keeps the merged
    release.
    """
    rows = table.published_name(release)
    number, engine = table.next_release(), table.engine.publisher
    bucket_id = _compact(secret.permutation("bucket numbers", plan.n_buckets) + 1)
    old = np.arange(1, len(target) + 1)
    engine.push("merged", {"old": _compact(old), "bucket": bucket_id[target]})
    line_key = np.array([secret.derive("line").hex()[:_KEY_DIGITS]], dtype=object)
    engine.push("secret", {"line_key": line_key})
    carried = [f"p.p{place} AS c{place}" for place in range(len(table.schema.coded))]
    carried += [f"p.x{place}" for place in range(len(table.schema.insensitive))]
    placed = (
        f"(SELECT m.bucket, p.row_key, {', '.join(carried)} FROM {rows} p "
        "JOIN merged m ON m.old = p.bucket)"
    )
    lay_out(table, plan, shape, bucket_id, number, placed)
    for name in ("merged", "secret"):
        engine.drop(name)
    return number


def _compact(numbers: Integers) -> Integers:
    """Return numbers as 32 bits, if they fit: a table then takes half the space."""
    fits = len(numbers) == 0 or int(numbers.max()) < 2**31
    return numbers.astype(np.int32) if fits else numbers


def _placed(table: EngineTable, plan: Plan, bucket_id: Integers) -> str:
    """Return the query of all rows that are not dropped, each with its bucket."""
    engine = table.engine
    columns = plan.classes.columns
    names = [table.code_name(column) for column in columns]
    levels = _push_levels(table, plan)
    same = " AND ".join(f"{levels.get(name, f't.{name}')} = k.{name}" for name in names) or "TRUE"
    rows = "coded t" + "".join(
        f" JOIN level_{name} l{name} ON l{name}.code = t.{name}" for name in levels
    )
    classes = {name: _compact(plan.classes.codes[:, place]) for place, name in enumerate(names)}
    carried = ", ".join(f"t.{name}" for name in ["row_key", *table.value_names])
    if _keeps_classes_whole(plan):
        # No class is divided between buckets, so there is nothing to rank.
        bucket = _bucket_of_cells(plan, bucket_id)
        kept = bucket >= 0
        pushed = {name: codes[kept] for name, codes in classes.items()}
        engine.push("class", pushed | {"bucket": bucket[kept]})
        return f"SELECT k.bucket, {carried} FROM {rows} JOIN class k ON {same}"
    first, block, joins = _push_buckets(table, plan, bucket_id)
    number = plan.class_of_cell.astype(np.int32)
    numbered: Columns = {"class": number, "first": first[number], "block": block[number]}
    engine.push("class", {**classes, **numbered})
    n_slots = _n_slots(plan.class_counts)
    rank = _rank_in_one if n_slots == 1 else partial(_rank_in_slots, n_slots=n_slots, first=first)
    ranked = rank(table, carried, f"{rows} JOIN class k ON {same} CROSS JOIN secret s")
    return f"SELECT b.bucket, {carried} FROM ({ranked}) t{joins}"


def _bucket_of_cells(plan: Plan, bucket_id: Integers) -> Integers:
    """Return the published bucket of each cell, -1 if it is dropped; no class is divided."""
    bucket = np.full(len(plan.class_counts), -1, dtype=bucket_id.dtype)
    bucket[plan.assign.group] = bucket_id[plan.assign.base]
    found: Integers = bucket[plan.class_of_cell]
    return found


def _push_levels(table: EngineTable, plan: Plan) -> dict[str, str]:
    """Push the level of every code of the columns that classes have at levels.

    Returns the expression of the level of a row, by the name of the column's codes.
    """
    expressions = {}
    for domain in _levelled(plan):
        name = table.code_name(domain.column)
        codes = np.arange(len(domain.level_of))
        pushed = {"code": _compact(codes), "level": _compact(domain.level_of)}
        table.engine.push(f"level_{name}", pushed)
        expressions[name] = f"l{name}.level"
    return expressions


def _levelled(plan: Plan) -> list[LevelDomain]:
    """Return the domains of the columns that the classes of a plan have at levels."""
    return [domain for domain in plan.classes.domains if isinstance(domain, LevelDomain)]


def _rank_in_one(table: EngineTable, carried: str, rows: str) -> str:
    """Return the query that ranks the rows of every class by a keyed hash."""
    hashed = table.engine.hash_number(_RANK_TEXT)
    return (
        f"SELECT {carried}, k.class, k.block, k.first - 1 + row_number() "
        f"OVER (PARTITION BY k.class ORDER BY {hashed}, t.row_key) AS place FROM {rows}"
    )


def _rank_in_slots(
    table: EngineTable, carried: str, rows: str, *, n_slots: int, first: Integers
) -> str:
    """Return the query that ranks the rows of every class in two levels.

    A slot is a range of hashes. Counting the rows of every slot gives the rank at which it begins;
    then the rows of each slot are ranked separately. The ranks are the same as in one level, and no
    class, however large, has to be sorted in one piece.
    """
    engine = table.engine
    hashed = engine.hash_number(_RANK_TEXT)
    engine.stage("hashed", f"SELECT {carried}, k.class, k.block, {hashed} AS h FROM {rows}")
    width = N_HASHES // n_slots
    slots = engine.rows(
        f"SELECT class, h - h % {width} AS slot, count(*) AS n FROM hashed "
        f"GROUP BY class, h - h % {width}"
    )
    engine.push("slot", _first_ranks(slots, first))
    return (
        f"SELECT {carried}, t.class, t.block, o.first - 1 + row_number() "
        "OVER (PARTITION BY o.class, o.slot ORDER BY t.h, t.row_key) AS place "
        f"FROM hashed t JOIN slot o ON o.class = t.class AND o.slot = t.h - t.h % {width}"
    )


def _n_slots(counts: Counts) -> int:
    n_slots = 1
    while n_slots < _MOST_SLOTS and int(counts.max(initial=0)) > n_slots * _ROWS_PER_SLOT:
        n_slots *= 2
    return n_slots


def _first_ranks(
    slots: Mapping[str, npt.NDArray[Any]], first_of_class: Integers
) -> dict[str, npt.NDArray[Any]]:
    """Return the rank at which every slot of every class begins."""
    order = np.lexsort((slots["slot"], slots["class"]))
    group, n = slots["class"][order], slots["n"][order].astype(np.int64)
    before = np.cumsum(n) - n
    opens = np.r_[True, group[1:] != group[:-1]][: len(group)]
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = before - np.maximum.accumulate(np.where(opens, before, 0))
    first = rank + first_of_class[slots["class"]]
    return {"class": slots["class"], "slot": slots["slot"], "first": first}


def _push_buckets(
    table: EngineTable, plan: Plan, bucket_id: Integers
) -> tuple[Integers, Integers, str]:
    """Push the tables that turn the rank of a row into its bucket.

    Returns the first rank of each class, the number of ranks of each class that share a join key,
    and the joins that lead to the bucket, `b.bucket`.
    """
    engine = table.engine
    counts = plan.class_counts
    if _SEGMENTS_PER_ROW * plan.classes.n_rows < len(plan.assign.group):
        # With nearly as many segments as rows, a table of the bucket of every rank is smaller.
        first = np.cumsum(counts) - counts
        group, rank, bucket = plan.assign.expand()
        group = first[group]
        group += rank
        engine.push("bucket_number", {"place": _compact(group), "bucket": bucket_id[bucket]})
        joins = " JOIN bucket_number b ON b.place = t.place"
        return first, np.ones(len(counts), dtype=np.int64), joins
    block = _block_sizes(plan.assign, len(counts))
    engine.push("bucket_number", {"place": np.arange(plan.n_buckets), "bucket": bucket_id})
    engine.push("segment", _blocked(plan.assign, block))
    # A segment deals its ranks to buckets in steps, cyclically if it has a modulus.
    within = "g.base + g.step * (t.place - g.first)"
    joins = (
        " JOIN segment g ON g.class = t.class AND g.block = t.place - t.place % t.block "
        "AND t.place >= g.first AND t.place < g.last "
        f"JOIN bucket_number b ON b.place = CASE WHEN g.modulus > 0 THEN ({within}) % g.modulus "
        f"ELSE {within} END"
    )
    return np.zeros(len(counts), dtype=np.int64), block, joins


def _keeps_classes_whole(plan: Plan) -> bool:
    starts_first = not (
        plan.assign.first.any() or plan.assign.step.any() or plan.assign.modulus.any()
    )
    return starts_first and bool(
        np.array_equal(plan.assign.last, plan.class_counts[plan.assign.group])
    )


def _block_sizes(segments: Segments, n_classes: int) -> Integers:
    """Return for each class how many ranks share a join key.

    Joining ranks to segments by an equality on blocks keeps the work linear: with as many blocks
    as segments, rows times segments within a block add up to about twice the rows.
    """
    n_segments = np.bincount(segments.group, minlength=n_classes)
    n_ranks = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(n_ranks, segments.group, segments.last)
    return np.maximum(n_ranks // np.maximum(n_segments, 1), 1).astype(np.int64)


def _blocked(segments: Segments, blocks: Integers) -> dict[str, Integers]:
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


def _redrawn(table: EngineTable, placed: str, redraw: Redraw, bucket_id: Integers) -> str:
    """Return the query with other sensitive values for some rows, chosen by a keyed hash."""
    engine = table.engine
    name = table.code_name(table.schema.sensitive[0])
    order = np.lexsort((redraw.old, redraw.bucket))
    bucket, old, count = (array[order] for array in (redraw.bucket, redraw.old, redraw.count))
    # The rows with a bucket and an old value are ranked; each new value takes a range of ranks.
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
    hashed = engine.hash_number("concat(s.redraw_key, ':', p.row_key)")
    carried = ", ".join(
        f"coalesce(r.new, n.{name}) AS {name}" if column == name else f"n.{column}"
        for column in ["bucket", "row_key", *table.value_names]
    )
    engine.stage(
        "redrawn",
        f"SELECT {carried} FROM (SELECT p.*, row_number() OVER (PARTITION BY p.bucket, p.{name} "
        f"ORDER BY {hashed}, p.row_key) - 1 AS place FROM ({placed}) p CROSS JOIN secret s) n "
        f"LEFT JOIN redraw r ON n.bucket = r.bucket "
        f"AND n.{name} = r.old AND n.place >= r.first AND n.place < r.last",
    )
    engine.drop("redraw")
    return "SELECT * FROM redrawn"
