"""Lay out the published content of placed rows.

Whichever engine placed them, the embedded DuckDB lays them out: files are written where Shoal runs.
Lines are sorted by their own content, so that nothing of the original order is left, and a staged
table keeps them in that order. Any reader can find the same order; see `shoal.engines.sql.sorting`.

Kept for release number N: `published_N` (row key, line, bucket, and the code that each column
shows), `label_N_...` (the labels of recoded columns) and `counts_N_...` (the lines of every data
file with counts, with their number `n`).

The shape says which data files there are; see `shoal.core.shapes`.

In a sliced release the columns of a bucket are not linked. Its canonical form comes from grouping
alone: for each column of attributes, how often each of its values occurs in each bucket. Beside it
there is one random linking of the columns, a table with one line per person; a keyed hash of the
rows decides which linking it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.domain import SUPPRESSED
from shoal.core.plan import Plan
from shoal.core.shapes import BUCKET, COUNT, Contents, DataFile, Shape
from shoal.core.sliced import Layout
from shoal.engines.engine import Columns
from shoal.engines.sql.domains import text_array
from shoal.engines.sql.sorting import (
    carried_text,
    push_text_orders,
    rank_of_labels,
    shown_texts,
    sort_keys,
)
from shoal.engines.sql.table import EngineTable

_MOST_NESTED = 16
"""The number of columns linked in one query: engines refuse queries nested too deeply."""

Integers = npt.NDArray[np.signedinteger[Any]]

_EXACT_TYPES = re.compile(
    r"VARCHAR|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*\)|DATE|BOOLEAN|UUID|.*ENUM\(.*",
    flags=re.DOTALL,
)
"""Types whose equal values have equal texts, unlike 0.0 and -0.0."""


def files_of(table: EngineTable, plan: Plan, shape: Shape) -> tuple[DataFile, ...]:
    """Return the data files of a release of a table."""
    schema = table.schema
    return shape.files(Contents(schema.quasi, schema.insensitive, schema.sensitive, plan.slices))


def counts_table(release: int, place: int) -> str:
    """Return the name of the staged lines of a data file with counts, by its place."""
    return f"counts_{release}_{place}"


def lay_out(
    table: EngineTable, plan: Plan, shape: Shape, bucket_id: Integers, release: int, placed: str
) -> None:
    """Sort the rows of the relation `placed` by their published content, and number the lines.

    `bucket_id` is the published number of each bucket of the plan, `release` the number under which
    the engine keeps the release.
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
    # Equal values of some types have different texts; a secret number decides their order.
    is_exact = all(_EXACT_TYPES.fullmatch(table.scan.types[name]) for name in schema.insensitive)
    if not is_exact:
        number = engine.hash_number("concat(s.line_key, ':', r.row_key)")
        columns.append(f"{number} AS tie")
        joins += " CROSS JOIN secret s"
    listed = ", ".join(["r.row_key", "r.bucket", *columns, *(f"r.{name}" for name in carried)])
    lines = f"SELECT {listed} FROM {placed} r{joins}"
    files = files_of(table, plan, shape)
    if shape.has_lines:
        # The first file is the one whose lines are numbered.
        by = [column for column in schema.coded if column in files[0].columns]
        keys, ranks = sort_keys(table, plan, shape, release, by)
        keys = [*["bucket"] * files[0].has_bucket, *keys, *_carried_keys(table)]
        keys += ["row_key"] if is_exact else ["tie", "row_key"]
        kept = ", ".join(["row_key", "bucket", *codes, *carried])
        engine.stage(
            f"published_{release}",
            f"SELECT {kept}, row_number() OVER () AS line FROM "
            f"(SELECT {kept} FROM ({lines}) p{ranks} ORDER BY {', '.join(keys)}) r",
        )
    else:
        _lay_out_slices(table, plan, release, lines)
    engine.drop("look")
    for place, file in enumerate(files):
        if file.has_count:
            # Counted once, for readers and for the file.
            listed = ", ".join([*["bucket"] * file.has_bucket, *_names(table, file.columns)])
            engine.stage(
                counts_table(release, place),
                f"SELECT {listed}, count(*) AS n FROM published_{release} GROUP BY {listed}",
            )


def _carried_keys(table: EngineTable) -> list[str]:
    """Return the sort keys of the insensitive columns: by text, then by value."""
    engine, columns = table.engine.publisher, table.schema.insensitive
    carried = [f"x{place}" for place in range(len(columns))]
    texts = [
        carried_text(engine, name, table.scan.types[column])
        for name, column in zip(carried, columns, strict=True)
    ]
    return [f"{name} NULLS LAST" for name in [*texts, *carried]]


def _push_labels(table: EngineTable, plan: Plan, release: int) -> dict[str, Integers]:
    """Push the labels of recoded columns; return those by bucket, one entry per bucket."""
    by_bucket: dict[str, Integers] = {}
    for recode in plan.recode:
        place = table.schema.coded.index(recode.column)
        rank = rank_of_labels(recode)
        texts = text_array(label.text for label in recode.labels)
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
    """Return the expression of the code that a column shows, -1 if blank, and its joins."""
    place = table.schema.coded.index(column)
    expression, join = f"r.c{place}", ""
    by = next((recode.by for recode in plan.recode if recode.column == column), None)
    if by == "bucket":
        expression = f"k.label_{place}"
    elif by == "value":
        join = f" JOIN recode_{place} l{place} ON l{place}.code = {expression}"
        expression = f"l{place}.label"
    if column in plan.blank.keys:
        # The hidden code must not influence the order of lines.
        expression = f"CASE WHEN b{place}.row_key IS NULL THEN {expression} ELSE -1 END"
        join += f" LEFT JOIN blank_{place} b{place} ON b{place}.row_key = r.row_key"
    return expression, join


def published_queries(table: EngineTable, plan: Plan, shape: Shape, release: int) -> dict[str, str]:
    """Return the query of every data file of a release, with its lines in published order.

    The rows are laid out first, if they wait.
    """
    queries, lines = {}, table.published_name(release)
    for place, file in enumerate(files_of(table, plan, shape)):
        values, joins = _select(
            [
                *[("p.bucket", BUCKET, "")] * file.has_bucket,
                *_decoded(table, plan, file.columns, release),
                *[("p.n", COUNT, "")] * file.has_count,
            ]
        )
        if file.has_count or file.is_linking:
            source = counts_table(release, place) if file.has_count else _linked_table(release)
            keys, ranks = sort_keys(table, plan, shape, release, file.columns)
            order = ", ".join([*["p.bucket"] * file.has_bucket, *keys])
            queries[file.name] = f"SELECT {values} FROM {source} p{joins}{ranks} ORDER BY {order}"
        else:
            # Only a join could change the order of the staged lines.
            order = " ORDER BY p.line" if joins else ""
            queries[file.name] = f"SELECT {values} FROM {lines} p{joins}{order}"
    return queries


def _select(columns: Sequence[tuple[str, str, str]]) -> tuple[str, str]:
    values = ", ".join(f"{expression} AS {name}" for expression, name, _ in columns)
    return values, "".join(join for _, _, join in columns)


def _decoded(
    table: EngineTable, plan: Plan, columns: Sequence[str], release: int
) -> list[tuple[str, str, str]]:
    """Return for each column its expression, its name and the join that it takes."""
    engine, insensitive = table.engine.publisher, table.schema.insensitive
    recoded = {recode.column for recode in plan.recode}
    decoded = []
    for column in columns:
        if column in insensitive:
            decoded.append((f"p.{table.shown_name(column)}", engine.quote(column), ""))
            continue
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


# Columns that are not linked ---------------------------------------------------------------


def _linked_table(release: int) -> str:
    """Return the name of the staged linking."""
    return f"linked_{release}"


def _tuple_table(release: int) -> str:
    """Return the name of the staged kinds of people: their known values, and their number."""
    return f"tuples_{release}"


def placement_query(table: EngineTable, release: int) -> str:
    """Return the query of the bucket of every row, and of the kind of its person."""
    same = " AND ".join(f"p.{name} = t.{name}" for name in _names(table, table.schema.quasi))
    return (
        f"SELECT p.row_key, p.bucket, t.kind FROM published_{release} p "
        f"JOIN {_tuple_table(release)} t ON {same or 'TRUE'} ORDER BY p.row_key"
    )


def tuple_query(table: EngineTable, plan: Plan, release: int) -> str:
    """Return the query of the kinds of people, in the order of their numbers."""
    decoded = _decoded(table, plan, table.schema.quasi, release)
    values, joins = _select([*decoded, ("p.n", COUNT, "")])
    return f"SELECT {values} FROM {_tuple_table(release)} p{joins} ORDER BY p.kind"


def _lay_out_slices(table: EngineTable, plan: Plan, release: int, lines: str) -> None:
    """Stage the rows, link the columns at random, and count the kinds of people.

    `lines` is the query of all rows: row key, bucket, and the code that each column shows.
    """
    engine = table.engine.publisher
    published = f"published_{release}"
    codes = _listed(table, table.schema.coded)
    engine.stage(published, f"SELECT row_key, bucket, {codes} FROM ({lines}) r")
    _link(table, plan, published, _linked_table(release))
    known = _names(table, table.schema.quasi)
    listed = "".join(f"{name}, " for name in known)
    counted = f"SELECT {listed}count(*) AS n FROM {published}"
    if known:
        counted += f" GROUP BY {', '.join(known)}"
    order = f"ORDER BY {', '.join(known)}" if known else ""
    engine.stage(
        _tuple_table(release),
        f"SELECT {listed}n, row_number() OVER ({order}) AS kind FROM ({counted}) c",
    )


def _listed(table: EngineTable, attributes: Sequence[str], alias: str = "") -> str:
    return ", ".join(f"{alias}{name}" for name in _names(table, attributes))


def _link(table: EngineTable, plan: Plan, published: str, name: str) -> None:
    """Stage one linking: the rows of each column, every column in a random order of its own.

    Columns that share attributes are linked where the shared values agree.
    """
    engine = table.engine.publisher
    staged: list[str] = []
    first, *others = Layout(plan.slices).links()
    shown = list(plan.slices[first.column])
    query = _in_random_order(table, published, first.column, shown)
    for number, link in enumerate(others, start=1):
        attributes = plan.slices[link.column]
        new = [name for name in attributes if name not in shown]
        within = ", ".join(["bucket", *_names(table, link.separator)])
        other = _in_random_order(table, published, link.column, attributes)
        codes = _listed(table, new, "b.")
        query = (
            f"SELECT a.*{', ' if codes else ''}{codes} FROM {_ranked(query, within)} a "
            f"JOIN {_ranked(other, within)} b USING ({within}, place)"
        )
        # The ranks of this partition mean nothing in the next.
        query = f"SELECT * EXCLUDE (place) FROM ({query}) l"
        shown += new
        if number % _MOST_NESTED == 0:
            staged.append(f"{name}_{number}")
            engine.stage(staged[-1], query)
            query = f"SELECT * FROM {staged[-1]}"
    engine.stage(name, f"SELECT bucket, {_listed(table, shown)} FROM ({query}) l")
    for one in staged:
        engine.drop(one)


def _in_random_order(
    table: EngineTable, published: str, column: int, attributes: Sequence[str]
) -> str:
    """Return the query of a column's values, each row with a secret random number."""
    number = table.engine.publisher.hash_number(f"concat(s.line_key, ':{column}:', r.row_key)")
    codes = _listed(table, attributes, "r.")
    return f"SELECT r.bucket, {codes}, {number} AS k FROM {published} r CROSS JOIN secret s"


def _ranked(query: str, within: str) -> str:
    rank = f"row_number() OVER (PARTITION BY {within} ORDER BY k)"
    return f"(SELECT *, {rank} AS place FROM ({query}) q)"


def _names(table: EngineTable, attributes: Sequence[str]) -> list[str]:
    return [table.shown_name(name) for name in attributes]
