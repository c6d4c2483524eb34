"""What is published of rows in buckets whose columns are not linked: the sliced shape.

The canonical form is made by grouping alone: for each column of attributes how often each of its
values occurs in each bucket. Beside it stands one random linking of the columns, as a table with
one line a person; which linking it is, a keyed hash of rows decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.core.method import Shape
from shoal.core.plan import Plan
from shoal.core.release import BUCKET, COUNT
from shoal.core.sliced import Layout
from shoal.engines.sorting import sort_keys
from shoal.engines.table import EngineTable

__all__ = [
    "kind_query",
    "lay_out_slices",
    "linked_table",
    "placement_query",
    "slice_queries",
    "slice_table",
    "tuple_table",
]

_MOST_NESTED = 16
"""So many columns are linked in one query: engines refuse what is nested deeper and deeper."""


def slice_table(release: int, place: int) -> str:
    """Name the staged counts of a column's values."""
    return f"slice_{release}_{place}"


def linked_table(release: int) -> str:
    """Name the staged linking."""
    return f"linked_{release}"


def tuple_table(release: int) -> str:
    """Name the staged kinds of people: what is known of them, and how many there are."""
    return f"tuples_{release}"


def placement_query(table: EngineTable, release: int) -> str:
    """Give the query of which row is in which bucket, and of which kind its person is."""
    same = " AND ".join(f"p.{name} = t.{name}" for name in _names(table, table.schema.quasi))
    return (
        f"SELECT p.row_key, p.bucket, t.kind FROM published_{release} p "
        f"JOIN {tuple_table(release)} t ON {same or 'TRUE'} ORDER BY p.row_key"
    )


def kind_query(release: int, decoded: Sequence[tuple[str, str, str]]) -> str:
    """Give the query of the kinds of people, in the order of their numbers."""
    values = "".join(f"{expression} AS {name}, " for expression, name, _ in decoded)
    joins = "".join(join for _, _, join in decoded)
    people = f"p.n AS {COUNT}"
    return f"SELECT {values}{people} FROM {tuple_table(release)} p{joins} ORDER BY p.kind"


def lay_out_slices(table: EngineTable, plan: Plan, release: int, lines: str) -> None:
    """Count the values of every column by bucket, and link the columns at random.

    Parameters
    ----------
    release
        The number under which the engine keeps what is published.
    lines
        The query of all rows: row key, bucket, and the code that each column shows.
    """
    engine = table.engine.publisher
    published = f"published_{release}"
    engine.stage(published, f"SELECT row_key, bucket, {_listed(table, table.schema.coded)} "
                            f"FROM ({lines}) r")  # fmt: skip
    for place, attributes in enumerate(plan.slices):
        codes = _listed(table, attributes)
        engine.stage(
            slice_table(release, place),
            f"SELECT bucket, {codes}, count(*) AS n FROM {published} GROUP BY bucket, {codes}",
        )
    _link(table, plan, published, linked_table(release))
    known = _names(table, table.schema.quasi)
    listed = "".join(f"{name}, " for name in known)
    counted = f"SELECT {listed}count(*) AS n FROM {published}"
    if known:
        counted += f" GROUP BY {', '.join(known)}"
    order = f"ORDER BY {', '.join(known)}" if known else ""
    engine.stage(
        tuple_table(release),
        f"SELECT {listed}n, row_number() OVER ({order}) AS kind FROM ({counted}) c",
    )


def _listed(table: EngineTable, attributes: Sequence[str], alias: str = "") -> str:
    return ", ".join(f"{alias}{name}" for name in _names(table, attributes))


def _link(table: EngineTable, plan: Plan, published: str, name: str) -> None:
    """Stage one linking: the rows of each column, each in an order of its own.

    Columns that share attributes are linked where these agree.
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
        # What was a rank in one partition is none in the next.
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
    """Give the values of a column with a number for each row that a secret decides."""
    number = table.engine.publisher.hash_number(f"concat(s.line_key, ':{column}:', r.row_key)")
    codes = _listed(table, attributes, "r.")
    return f"SELECT r.bucket, {codes}, {number} AS k FROM {published} r CROSS JOIN secret s"


def _ranked(query: str, within: str) -> str:
    rank = f"row_number() OVER (PARTITION BY {within} ORDER BY k)"
    return f"(SELECT *, {rank} AS place FROM ({query}) q)"


def _names(table: EngineTable, attributes: Sequence[str]) -> list[str]:
    return [f"p{table.schema.coded.index(name)}" for name in attributes]


def slice_queries(
    table: EngineTable, plan: Plan, release: int, decoded: dict[str, tuple[str, str, str]]
) -> dict[str, str]:
    """Give the query of every data file, in the order that is published."""
    queries = {}
    for place, attributes in enumerate(plan.slices):
        values = ", ".join(f"{decoded[name][0]} AS {decoded[name][1]}" for name in attributes)
        keys, ranks = sort_keys(table, plan, Shape.SLICED, release, attributes)
        joins = "".join(decoded[name][2] for name in attributes) + ranks
        queries[f"column_{place + 1}"] = (
            f"SELECT p.bucket AS {BUCKET}, {values}, p.n AS {COUNT} "
            f"FROM {slice_table(release, place)} p{joins} ORDER BY p.bucket, {', '.join(keys)}"
        )
    names = list(dict.fromkeys(name for attributes in plan.slices for name in attributes))
    values = ", ".join(f"{decoded[name][0]} AS {decoded[name][1]}" for name in names)
    keys, ranks = sort_keys(table, plan, Shape.SLICED, release, names)
    joins = "".join(decoded[name][2] for name in names) + ranks
    queries["sliced"] = (
        f"SELECT p.bucket AS {BUCKET}, {values} FROM {linked_table(release)} p{joins} "
        f"ORDER BY p.bucket, {', '.join(keys)}"
    )
    return queries
