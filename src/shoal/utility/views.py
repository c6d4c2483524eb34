"""The kit as SQL, for DuckDB and Postgres: text over the tables of a release.

A view has every combination of entries that a bucket could link, with its expected number of rows:
the product of the entries' counts, divided by the bucket's size to the power of the number of
columns minus one. So ``SELECT sum(weight) FROM expected WHERE ...`` is an expected COUNT, and
``sum(weight * age)`` an expected SUM. A combination joins as many entries as there are columns: a
view over the columns that a query names has the same answers and is smaller. Columns that share
attributes are joined where these agree, as `shoal.core.sliced.Layout` links them.

The standard error is not a sum over combinations; `shoal.utility.moment_queries` writes queries for
it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from shoal.core.shapes import BUCKET, COUNT
from shoal.core.sliced import Layout, Link
from shoal.utility.linked import columns_for
from shoal.utility.moment_queries import ColumnTable, attributes_of, count_query, quoted

_PAIR = 2
_MOST_PAIRED = 12
"""With more columns than this, there are too many pairs for a view of each."""
_HOW_TO = """Which entry of one column belongs to which of another is not published.
The view holds every combination that a bucket could link, and how many rows are expected to be it.
An expected count: SELECT sum({weight}) FROM expected WHERE ...
An expected sum: SELECT sum({weight} * attribute) FROM expected WHERE ..."""
_HOW_TO_PAIR = "A query about two columns is answered sooner by the view of the two."
_NO_PAIRS = """There are too many columns for a view of every two of them. A query is answered
sooner by a view of the columns that it names: shoal.utility.views.expected_view writes it."""
_HOW_SURE = "How sure a count is: in place of each TRUE, write a condition on that table."


def expected_view(tables: Sequence[ColumnTable], name: str = "expected") -> str:
    """Write the view of all combinations of entries, with the expected number of rows of each.

    `tables` are all columns of the release, or those that queries will name. The columns of the
    view are `bucket`, the attributes and `weight` (with underscores appended if an attribute has
    that name).

    Examples
    --------
    >>> quasi = ColumnTable("quasi", ("sex",), has_count=False)
    >>> print(expected_view([quasi, ColumnTable("sensitive", ("disease",))]))
    CREATE OR REPLACE VIEW "expected" AS
    WITH held_1 AS (
      SELECT "bucket", "sex", CAST(count(*) AS DOUBLE PRECISION) AS "rows"
      FROM "quasi" GROUP BY "bucket", "sex"
    ), held_2 AS (
      SELECT "bucket", "disease", CAST(sum("count") AS DOUBLE PRECISION) AS "rows"
      FROM "sensitive" GROUP BY "bucket", "disease"
    ), sizes AS (
      SELECT "bucket", sum("rows") AS n FROM held_1 GROUP BY "bucket"
    )
    SELECT sizes."bucket", held_1."sex", held_2."disease",
      held_1."rows" * (held_2."rows" / sizes.n) AS "weight"
    FROM sizes
    JOIN held_1 ON held_1."bucket" = sizes."bucket"
    JOIN held_2 ON held_2."bucket" = sizes."bucket"
    """
    attributes = attributes_of(tables)
    rows, weight, bucket = _free("rows", attributes), _free("weight", attributes), quoted(BUCKET)
    links = Layout([table.attributes for table in tables]).links()[1:]
    parts = [f"held_{at} AS (\n{_held(table, rows)}\n)" for at, table in enumerate(tables, start=1)]
    parts.append(
        f"sizes AS (\n  SELECT {bucket}, sum({rows}) AS n FROM held_1 GROUP BY {bucket}\n)"
    )
    parts += [_sizes(link, rows, _free("n", attributes)) for link in links if link.separator]
    factors = [f"held_1.{rows}"]
    joins = [f"JOIN held_1 ON held_1.{bucket} = sizes.{bucket}"]
    owner = dict.fromkeys(tables[0].attributes, 1)
    for link in links:
        factors.append(f"(held_{link.column + 1}.{rows} / {_size(link, attributes)})")
        joins += _joins(link, owner)
        owner = dict.fromkeys(tables[link.column].attributes, link.column + 1) | owner
    columns = [f"held_{owner[name]}.{quoted(name)}" for name in attributes]
    return "\n".join(
        [
            f"CREATE OR REPLACE VIEW {quoted(name)} AS",
            f"WITH {', '.join(parts)}",
            f"SELECT {', '.join([f'sizes.{bucket}', *columns])},",
            f"  {' * '.join(factors)} AS {weight}",
            "FROM sizes",
            *joins,
        ]
    )


def _size(link: Link, attributes: Sequence[str]) -> str:
    if not link.separator:
        return "sizes.n"
    return f"sizes_{link.column + 1}.{_free('n', attributes)}"


def _sizes(link: Link, rows: str, n: str) -> str:
    """Write the number of rows of a bucket that have each value of the shared attributes."""
    keys = ", ".join(map(quoted, (BUCKET, *link.separator)))
    at = link.column + 1
    return f"sizes_{at} AS (\n  SELECT {keys}, sum({rows}) AS {n} FROM held_{at} GROUP BY {keys}\n)"


def _joins(link: Link, owner: Mapping[str, int]) -> list[str]:
    """Write how a column is joined to those before it."""
    bucket = quoted(BUCKET)
    at = link.column + 1
    joins = []
    for name in (f"held_{at}", f"sizes_{at}")[: 1 + bool(link.separator)]:
        agree = [
            f" AND {name}.{shared} IS NOT DISTINCT FROM held_{at_owner}.{shared}"
            for shared, at_owner in ((quoted(one), owner[one]) for one in link.separator)
        ]
        joins.append(f"JOIN {name} ON {name}.{bucket} = sizes.{bucket}{''.join(agree)}")
    return joins


def expected_views(tables: Sequence[ColumnTable], prefix: str = "") -> dict[str, str]:
    """Return the statements of the views of a release by name; names begin with `prefix`.

    There is a view `expected` and, for 3 to 12 columns, a view of each pair, `expected_1_2` and so
    on. Pairs that are linked by other columns are left out: the pair alone does not show how they
    depend on each other.
    """
    name = f"{prefix}expected"
    views = {name: expected_view(tables, name)}
    if not _PAIR < len(tables) <= _MOST_PAIRED:
        return views
    columns = [table.attributes for table in tables]
    for pair in itertools.combinations(range(len(tables)), _PAIR):
        if set(columns_for(columns, {n for at in pair for n in columns[at]})) <= set(pair):
            paired = f"{name}_{pair[0] + 1}_{pair[1] + 1}"
            views[paired] = expected_view([tables[at] for at in pair], paired)
    return views


def views_text(tables: Sequence[ColumnTable]) -> str:
    """Write a script with the views of a release and comments on their use.

    It ends with a query for the standard error, in a comment.
    """
    everything, *pairs = expected_views(tables).values()
    weight = _free("weight", attributes_of(tables))
    parts = [_comment(_HOW_TO.format(weight=weight)), f"{everything};"]
    if pairs:
        parts += [_comment(_HOW_TO_PAIR), *(f"{pair};" for pair in pairs)]
    elif len(tables) > _MOST_PAIRED:
        parts.append(_comment(_NO_PAIRS))
    example = count_query(tables, dict.fromkeys((table.name for table in _two(tables)), "TRUE"))
    parts.append(_comment(f"{_HOW_SURE}\n\n{example};"))
    return "\n\n".join(parts) + "\n"


def _two(tables: Sequence[ColumnTable]) -> Sequence[ColumnTable]:
    """Choose two columns that a query can be about without needing others."""
    columns = [table.attributes for table in tables]
    for pair in itertools.combinations(range(len(tables)), _PAIR):
        if len(columns_for(columns, {n for at in pair for n in columns[at]})) <= _PAIR:
            return [tables[at] for at in pair]
    return tables[:1]


def _comment(text: str) -> str:
    return "\n".join(f"-- {line}".rstrip() for line in text.splitlines())


def _held(table: ColumnTable, rows: str) -> str:
    """Write the query of a table's entries, once per bucket, with the number of rows of each."""
    columns = ", ".join(quoted(name) for name in (BUCKET, *table.attributes))
    number = f"sum({quoted(COUNT)})" if table.has_count else "count(*)"
    return (
        f"  SELECT {columns}, CAST({number} AS DOUBLE PRECISION) AS {rows}\n"
        f"  FROM {quoted(table.name)} GROUP BY {columns}"
    )


def _free(name: str, attributes: Sequence[str]) -> str:
    """Append underscores to a name until no attribute has it, regardless of case."""
    taken = {attribute.lower() for attribute in (*attributes, BUCKET)}
    while name in taken:
        name += "_"
    return quoted(name)
