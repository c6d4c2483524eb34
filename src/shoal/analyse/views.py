"""The kit as SQL, for DuckDB and Postgres: text over the tables of a release.

A view gives every combination of entries that a bucket could link, with the number of rows
expected to be it: the product of the entries' counts over the bucket's size to the power of one
less than there are columns. So ``SELECT sum(weight) FROM expected WHERE ...`` is an expected COUNT,
and ``sum(weight * age)`` an expected SUM. A combination joins as many entries as there are columns:
a view over the columns that a query names gives the same answers and is smaller.

The standard error is no sum over combinations; `count_query` and `sum_query` write queries for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.core.errors import ParameterError
from shoal.core.release import BUCKET, COUNT

__all__ = [
    "ColumnTable",
    "bucketized_tables",
    "count_query",
    "expected_view",
    "sum_query",
    "views_text",
]

_PAIR = 2
_HOW_TO = """Which entry of one column belongs to which of another is not published.
The view holds every combination that a bucket could link, and how many rows are expected to be it.
An expected count: SELECT sum(weight) FROM expected WHERE ...
An expected sum: SELECT sum(weight * attribute) FROM expected WHERE ..."""
_HOW_TO_PAIR = "A query about two columns is answered sooner by the view of the two."
_HOW_SURE = "How sure a count is: in place of each TRUE, write a condition on that table."


@dataclass(frozen=True)
class ColumnTable:
    """A table of the release that holds one column of attributes.

    Parameters
    ----------
    name
        What the table is called.
    attributes
        Its attributes.
    has_count
        Whether it says in `count` how often a bucket holds an entry; else a line is one.
    """

    name: str
    attributes: tuple[str, ...]
    has_count: bool = True


def bucketized_tables(
    quasi: Sequence[str], sensitive: Sequence[str]
) -> tuple[ColumnTable, ColumnTable]:
    """Describe the tables of a bucketized release.

    Parameters
    ----------
    quasi
        The attributes in `quasi`, insensitive ones among them.
    sensitive
        The attributes in `sensitive`.
    """
    return (
        ColumnTable("quasi", tuple(quasi), has_count=False),
        ColumnTable("sensitive", tuple(sensitive)),
    )


def expected_view(tables: Sequence[ColumnTable], name: str = "expected") -> str:
    """Write the view of all combinations of entries, with the number of rows expected of each.

    Parameters
    ----------
    tables
        Columns of the release: all, or those that queries will name.
    name
        What the view is called.

    Returns
    -------
    The statement. Its columns are `bucket`, the attributes and `weight` (with underscores
    appended where an attribute is called so).

    Examples
    --------
    >>> print(expected_view(bucketized_tables(["sex"], ["disease"])))
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
    attributes = _attributes(tables)
    rows, weight, bucket = _free("rows", attributes), _free("weight", attributes), _quoted(BUCKET)
    held = ", ".join(
        f"held_{at} AS (\n{_held(table, rows)}\n)" for at, table in enumerate(tables, start=1)
    )
    columns = [
        f"held_{at}.{_quoted(attribute)}"
        for at, table in enumerate(tables, start=1)
        for attribute in table.attributes
    ]
    factors = [f"held_1.{rows}"]
    factors += [f"(held_{at}.{rows} / sizes.n)" for at in range(2, len(tables) + 1)]
    joins = [
        f"JOIN held_{at} ON held_{at}.{bucket} = sizes.{bucket}" for at in range(1, len(tables) + 1)
    ]
    return "\n".join(
        [
            f"CREATE OR REPLACE VIEW {_quoted(name)} AS",
            f"WITH {held}, sizes AS (",
            f"  SELECT {bucket}, sum({rows}) AS n FROM held_1 GROUP BY {bucket}",
            ")",
            f"SELECT {', '.join([f'sizes.{bucket}', *columns])},",
            f"  {' * '.join(factors)} AS {weight}",
            "FROM sizes",
            *joins,
        ]
    )


def count_query(tables: Sequence[ColumnTable], conditions: Mapping[str, str]) -> str:
    """Write a query that gives an expected COUNT and its standard error, both exact.

    Parameters
    ----------
    tables
        Columns of the release: at least those with a condition.
    conditions
        By table, the condition on its attributes, in SQL; they are joined by AND.

    Returns
    -------
    The query; one row, of `expected` and `standard_error`.

    Examples
    --------
    >>> tables = bucketized_tables(["sex"], ["disease"])
    >>> print(count_query(tables, {"quasi": "sex = 'F'", "sensitive": "disease = 'flu'"}))
    WITH met_1 AS (
      SELECT "bucket", n, k / n AS m, k * (n - k) / n AS s
      FROM (
        SELECT "bucket", CAST(sum(1) AS DOUBLE PRECISION) AS n,
          CAST(sum(CASE WHEN (sex = 'F') THEN 1 ELSE 0 END) AS DOUBLE PRECISION) AS k
        FROM "quasi" GROUP BY "bucket"
      ) counted
    ), met_2 AS (
      SELECT "bucket", n, k / n AS m, k * (n - k) / n AS s
      FROM (
        SELECT "bucket", CAST(sum("count") AS DOUBLE PRECISION) AS n,
          CAST(sum(CASE WHEN (disease = 'flu') THEN "count" ELSE 0 END) AS DOUBLE PRECISION) AS k
        FROM "sensitive" GROUP BY "bucket"
      ) counted
    ), shares AS (
      SELECT met_1.n, met_1.m AS m1, met_1.s AS s1, met_2.m AS m2, met_2.s AS s2
      FROM met_1
      JOIN met_2 ON met_2."bucket" = met_1."bucket"
    )
    SELECT coalesce(sum(n * m1 * m2), 0) AS expected,
      sqrt(coalesce(sum(CASE WHEN n > 1 THEN s1 * s2 / (n - 1) ELSE 0 END), 0)) AS standard_error
    FROM shares
    """
    _check_tables(tables, conditions)
    chosen = [table for table in tables if table.name in conditions] or list(tables[:1])
    parts = [_met(table, conditions.get(table.name, "TRUE")) for table in chosen]
    return _moments_query(parts)


def sum_query(tables: Sequence[ColumnTable], attribute: str, conditions: Mapping[str, str]) -> str:
    """Write a query that gives an expected SUM and its standard error, both exact.

    Parameters
    ----------
    tables
        Columns of the release: at least those with a condition, and that of the attribute.
    attribute
        What is added up; where it is missing it counts as 0.
    conditions
        By table, the condition on its attributes, in SQL; they are joined by AND.

    Returns
    -------
    The query; one row, of `expected` and `standard_error`.

    Examples
    --------
    >>> tables = bucketized_tables(["age"], ["disease"])
    >>> print(sum_query(tables, "age", {}))
    WITH met_1 AS (
      SELECT "bucket", max(n) AS n, max(m) AS m, sum(c * (f - m) * (f - m)) AS s
      FROM (
        SELECT "bucket", c, f, sum(c) OVER w AS n, sum(c * f) OVER w / sum(c) OVER w AS m
        FROM (
          SELECT "bucket", CAST(1 AS DOUBLE PRECISION) AS c,
            CASE WHEN (TRUE) THEN coalesce(CAST("age" AS DOUBLE PRECISION), 0) ELSE 0 END AS f
          FROM "quasi"
        ) numbers WINDOW w AS (PARTITION BY "bucket")
      ) entries GROUP BY "bucket"
    ), shares AS (
      SELECT met_1.n, met_1.m AS m1, met_1.s AS s1
      FROM met_1
    )
    SELECT coalesce(sum(n * m1), 0) AS expected,
      sqrt(coalesce(sum(CASE WHEN n > 1 THEN 0 ELSE 0 END), 0)) AS standard_error
    FROM shares
    """
    _check_tables(tables, conditions)
    holders = [table for table in tables if attribute in table.attributes]
    if not holders:
        raise ParameterError(
            f"No table of the release holds {attribute!r}.",
            hint=f"they hold {', '.join(_attributes(tables))}.",
        )
    own = holders[0]
    others = [table for table in tables if table.name in conditions and table is not own]
    parts = [_added(own, attribute, conditions.get(own.name, "TRUE"))]
    return _moments_query(parts + [_met(table, conditions[table.name]) for table in others])


def views_text(tables: Sequence[ColumnTable]) -> str:
    """Write the views of a release, with how they are used.

    Parameters
    ----------
    tables
        All columns of the release.

    Returns
    -------
    A script: the view `expected`, and where there are more than two columns a view of each pair,
    `expected_1_2` and so on.
    """
    example = count_query(tables, dict.fromkeys((table.name for table in tables[:2]), "TRUE"))
    parts = [_comment(_HOW_TO), expected_view(tables) + ";"]
    if len(tables) > _PAIR:
        parts.append(_comment(_HOW_TO_PAIR))
        parts += [
            expected_view([tables[one], tables[other]], f"expected_{one + 1}_{other + 1}") + ";"
            for one, other in itertools.combinations(range(len(tables)), _PAIR)
        ]
    parts.append(_comment(f"{_HOW_SURE}\n\n{example};"))
    return "\n\n".join(parts) + "\n"


def _comment(text: str) -> str:
    return "\n".join(f"-- {line}".rstrip() for line in text.splitlines())


def _held(table: ColumnTable, rows: str) -> str:
    """Write the query of a table's entries, each once a bucket, with how often it is held."""
    columns = ", ".join(_quoted(name) for name in (BUCKET, *table.attributes))
    number = f"sum({_quoted(COUNT)})" if table.has_count else "count(*)"
    return (
        f"  SELECT {columns}, CAST({number} AS DOUBLE PRECISION) AS {rows}\n"
        f"  FROM {_quoted(table.name)} GROUP BY {columns}"
    )


def _check_tables(tables: Sequence[ColumnTable], conditions: Mapping[str, str]) -> None:
    unknown = set(conditions) - {table.name for table in tables}
    if unknown or not tables:
        raise ParameterError(
            f"{len(unknown)} conditions are on tables that are not among those of the release.",
            hint=f"the tables are {', '.join(table.name for table in tables)}.",
        )


def _met(table: ColumnTable, condition: str) -> str:
    """Write the query of each bucket's size n, share m of rows that meet a condition, and spread s.

    They are those of `shoal.analyse.moments`.
    """
    bucket, number = _quoted(BUCKET), _quoted(COUNT) if table.has_count else "1"
    return (
        f"  SELECT {bucket}, n, k / n AS m, k * (n - k) / n AS s\n"
        "  FROM (\n"
        f"    SELECT {bucket}, CAST(sum({number}) AS DOUBLE PRECISION) AS n,\n"
        f"      CAST(sum(CASE WHEN ({condition}) THEN {number} ELSE 0 END) "
        "AS DOUBLE PRECISION) AS k\n"
        f"    FROM {_quoted(table.name)} GROUP BY {bucket}\n"
        "  ) counted"
    )


def _added(table: ColumnTable, attribute: str, condition: str) -> str:
    """Write the query of each bucket's size n, mean m of a number over its rows, and spread s."""
    bucket, number = _quoted(BUCKET), _quoted(COUNT) if table.has_count else "1"
    value = f"coalesce(CAST({_quoted(attribute)} AS DOUBLE PRECISION), 0)"
    return (
        f"  SELECT {bucket}, max(n) AS n, max(m) AS m, sum(c * (f - m) * (f - m)) AS s\n"
        "  FROM (\n"
        f"    SELECT {bucket}, c, f, sum(c) OVER w AS n, sum(c * f) OVER w / sum(c) OVER w AS m\n"
        "    FROM (\n"
        f"      SELECT {bucket}, CAST({number} AS DOUBLE PRECISION) AS c,\n"
        f"        CASE WHEN ({condition}) THEN {value} ELSE 0 END AS f\n"
        f"      FROM {_quoted(table.name)}\n"
        f"    ) numbers WINDOW w AS (PARTITION BY {bucket})\n"
        f"  ) entries GROUP BY {bucket}"
    )


def _moments_query(parts: Sequence[str]) -> str:
    """Write the query of mean and standard error from those of n, m and s by column."""
    numbers = range(1, len(parts) + 1)
    bucket = _quoted(BUCKET)
    met = ", ".join(f"met_{at} AS (\n{part}\n)" for at, part in zip(numbers, parts, strict=True))
    shares = ", ".join(f"met_{at}.m AS m{at}, met_{at}.s AS s{at}" for at in numbers)
    joins = [f"  JOIN met_{at} ON met_{at}.{bucket} = met_1.{bucket}" for at in numbers[1:]]
    mean = " * ".join(["n", *(f"m{at}" for at in numbers)])
    # A bucket of one row, and what a single column says, leave nothing open.
    terms = " + ".join(_variance_terms(len(parts))) or "0"
    return "\n".join(
        [
            f"WITH {met}, shares AS (",
            f"  SELECT met_1.n, {shares}",
            "  FROM met_1",
            *joins,
            ")",
            f"SELECT coalesce(sum({mean}), 0) AS expected,",
            f"  sqrt(coalesce(sum(CASE WHEN n > 1 THEN {terms} ELSE 0 END), 0)) AS standard_error",
            "FROM shares",
        ]
    )


def _variance_terms(n_columns: int) -> list[str]:
    """Write the parts of the variance, as `shoal.analyse.moments` has them."""
    columns = range(1, n_columns + 1)
    terms = []
    for r in range(_PAIR, n_columns + 1):
        sign = "+" if r % 2 == 0 else "-"
        weight = f"* (1 / power(n, {r - 1}) {sign} 1 / power(n * (n - 1), {r - 1}))"
        for chosen in itertools.combinations(columns, r):
            factors = [f"s{at}" if at in chosen else f"m{at} * m{at}" for at in columns]
            terms.append(f"{' * '.join(factors)} {'/ (n - 1)' if r == _PAIR else weight}")
    return terms


def _attributes(tables: Sequence[ColumnTable]) -> tuple[str, ...]:
    names = tuple(name for table in tables for name in table.attributes)
    if not tables or len(set(names)) < len(names):
        raise ParameterError(
            "The view needs at least one table, and every attribute in one table only.",
            hint="leave out of a table's attributes what another one holds too.",
        )
    return names


def _free(name: str, attributes: Sequence[str]) -> str:
    """Append underscores to a name until no attribute is called so; case tells no names apart."""
    taken = {attribute.lower() for attribute in (*attributes, BUCKET)}
    while name in taken:
        name += "_"
    return _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
