"""The kit as SQL, for DuckDB and Postgres: text over the tables of a release.

A release has one table for each column of attributes (`ColumnTable`). A view has every combination
of entries that a bucket could link, with its expected number of rows: the product of the entries'
counts, divided by the bucket's size to the power of the number of columns minus one. So ``SELECT
sum(weight) FROM expected WHERE ...`` is an expected COUNT, and ``sum(weight * age)`` an expected
SUM. A combination joins as many entries as there are columns: a view over the columns that a query
names has the same answers and is smaller. Columns that share attributes are joined where these
agree, as `shoal.core.sliced.Layout` links them.

The standard error is not a sum over combinations. It follows from the spread of each column in each
bucket, by the formula of `shoal.utility.estimates`, which `count_query` and `sum_query` spell out.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shoal.core.errors import ParameterError
from shoal.core.manifest import Manifest
from shoal.core.shapes import BUCKET, COUNT
from shoal.core.sliced import Layout, Link
from shoal.utility.linked import columns_for, is_evenly_shared

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


@dataclass(frozen=True)
class ColumnTable:
    """A table of the release that holds one column of attributes.

    If `has_count`, its column `count` is the number of rows of each entry; otherwise every line is
    one row.
    """

    name: str
    attributes: tuple[str, ...]
    has_count: bool = True


def column_tables(manifest: Manifest, prefix: str = "") -> tuple[ColumnTable, ...]:
    """Describe the tables that hold the columns of a release; none if lines are people.

    The names of the tables begin with `prefix`. Default: no prefix.
    """
    return tuple(
        ColumnTable(f"{prefix}{file.name}", file.columns, file.has_count)
        for file in manifest.data_files
        if file.has_bucket and not file.is_linking
    )


def attributes_of(tables: Sequence[ColumnTable]) -> tuple[str, ...]:
    """Return the attributes of some tables, each once."""
    if not tables:
        raise ParameterError("The view needs at least one table.")
    return tuple(dict.fromkeys(name for table in tables for name in table.attributes))


def quoted(name: str) -> str:
    """Quote a name for SQL.

    Examples
    --------
    >>> print(quoted('say "so" twice'))
    "say ""so"" twice"
    """
    return '"' + name.replace('"', '""') + '"'


# --- views of expected rows -----------------------------------------------------------------------


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
            _agrees(f"{name}.{quoted(one)}", f"held_{owner[one]}.{quoted(one)}")
            for one in link.separator
        ]
        joins.append(f"JOIN {name} ON {name}.{bucket} = sizes.{bucket}{''.join(agree)}")
    return joins


def _agrees(one: str, other: str) -> str:
    """Write the condition of a join that two columns agree; missing values do.

    An array equals another whose missing elements are at the same places, on DuckDB and on
    Postgres. Postgres cannot hash IS NOT DISTINCT FROM: it would compare all pairs of a bucket.
    """
    return f" AND ARRAY[{one}] = ARRAY[{other}]"


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


# --- queries with a standard error ----------------------------------------------------------------


def count_query(tables: Sequence[ColumnTable], conditions: Mapping[str, str]) -> str:
    """Write a query that returns an expected COUNT and its standard error, both exact.

    `tables` includes at least the columns with a condition. `conditions` are in SQL, by table, and
    are joined by AND. The result of the query is one row: `expected` and `standard_error`.

    Examples
    --------
    >>> tables = [
    ...     ColumnTable("quasi", ("sex",), has_count=False), ColumnTable("sensitive", ("disease",))
    ... ]
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
    chosen, shared = _chosen(tables, conditions)
    parts = [_met(table, shared, conditions.get(table.name, "TRUE")) for table in chosen]
    return _moments_query(parts, len(shared))


def sum_query(tables: Sequence[ColumnTable], attribute: str, conditions: Mapping[str, str]) -> str:
    """Write a query that returns an expected SUM and its standard error, both exact.

    As `count_query`; `tables` also hold `attribute`, of which missing values count as 0.

    Examples
    --------
    >>> tables = [
    ...     ColumnTable("quasi", ("age",), has_count=False), ColumnTable("sensitive", ("disease",))
    ... ]
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
            hint=f"they hold {', '.join(attributes_of(tables))}.",
        )
    own = holders[0]
    chosen, shared = _chosen(tables, {own.name, *conditions})
    parts = [_added(own, attribute, shared, conditions.get(own.name, "TRUE"))]
    parts += [
        _met(table, shared, conditions.get(table.name, "TRUE"))
        for table in chosen
        if table is not own
    ]
    return _moments_query(parts, len(shared))


def _chosen(
    tables: Sequence[ColumnTable], wanted: Collection[str]
) -> tuple[list[ColumnTable], list[str]]:
    """Return the tables that a query needs, and the attributes that all of them share."""
    named = [table for table in tables if table.name in wanted]
    attributes = {name for table in named for name in table.attributes}
    needed = columns_for([table.attributes for table in tables], attributes)
    chosen = [table for at, table in enumerate(tables) if table in named or at in needed]
    chosen = chosen if named else chosen[:1]
    if not is_evenly_shared([table.attributes for table in chosen]):
        raise ParameterError(
            f"The query needs {len(chosen)} tables, of which some share attributes and others do "
            "not.",
            hint="give conditions on fewer tables; the view has expected values all the same.",
        )
    held = [set(table.attributes) for table in chosen]
    is_shared = set.intersection(*held) if len(chosen) > 1 else set()
    return chosen, [name for name in chosen[0].attributes if name in is_shared]


def _check_tables(tables: Sequence[ColumnTable], conditions: Mapping[str, str]) -> None:
    unknown = set(conditions) - {table.name for table in tables}
    if unknown or not tables:
        raise ParameterError(
            f"{len(unknown)} conditions are on tables that are not among those of the release.",
            hint=f"the tables are {', '.join(table.name for table in tables)}.",
        )


def _keys(shared: Sequence[str]) -> tuple[str, str, str]:
    """Return the keys within which columns are linked: original, with aliases, and aliases only."""
    bucket = quoted(BUCKET)
    # Named by number, since an attribute may have the name of one of the columns below.
    named = [f"key_{number}" for number in range(1, len(shared) + 1)]
    both = [f"{quoted(name)} AS {key}" for name, key in zip(shared, named, strict=True)]
    listed = [[bucket, *map(quoted, shared)], [bucket, *both], [bucket, *named]]
    return ", ".join(listed[0]), ", ".join(listed[1]), ", ".join(listed[2])


def _met(table: ColumnTable, shared: Sequence[str], condition: str) -> str:
    """Write the query of each bucket's size n, share m that meets a condition, and spread s."""
    keys, named, names = _keys(shared)
    number = quoted(COUNT) if table.has_count else "1"
    return (
        f"  SELECT {names}, n, k / n AS m, k * (n - k) / n AS s\n"
        "  FROM (\n"
        f"    SELECT {named}, CAST(sum({number}) AS DOUBLE PRECISION) AS n,\n"
        f"      CAST(sum(CASE WHEN ({condition}) THEN {number} ELSE 0 END) "
        "AS DOUBLE PRECISION) AS k\n"
        f"    FROM {quoted(table.name)} GROUP BY {keys}\n"
        "  ) counted"
    )


def _added(table: ColumnTable, attribute: str, shared: Sequence[str], condition: str) -> str:
    """Write the query of each bucket's size n, mean m of a number over its rows, and spread s."""
    _, named, names = _keys(shared)
    number = quoted(COUNT) if table.has_count else "1"
    value = f"coalesce(CAST({quoted(attribute)} AS DOUBLE PRECISION), 0)"
    return (
        f"  SELECT {names}, max(n) AS n, max(m) AS m, sum(c * (f - m) * (f - m)) AS s\n"
        "  FROM (\n"
        f"    SELECT {names}, c, f, sum(c) OVER w AS n, sum(c * f) OVER w / sum(c) OVER w AS m\n"
        "    FROM (\n"
        f"      SELECT {named}, CAST({number} AS DOUBLE PRECISION) AS c,\n"
        f"        CASE WHEN ({condition}) THEN {value} ELSE 0 END AS f\n"
        f"      FROM {quoted(table.name)}\n"
        f"    ) numbers WINDOW w AS (PARTITION BY {names})\n"
        f"  ) entries GROUP BY {names}"
    )


def _moments_query(parts: Sequence[str], n_shared: int) -> str:
    """Write the query of mean and standard error from those of n, m and s by column."""
    numbers = range(1, len(parts) + 1)
    bucket = quoted(BUCKET)
    met = ", ".join(f"met_{at} AS (\n{part}\n)" for at, part in zip(numbers, parts, strict=True))
    shares = ", ".join(f"met_{at}.m AS m{at}, met_{at}.s AS s{at}" for at in numbers)
    joins = []
    for at in numbers[1:]:
        agree = "".join(
            _agrees(f"met_{at}.key_{key}", f"met_1.key_{key}") for key in range(1, n_shared + 1)
        )
        joins.append(f"  JOIN met_{at} ON met_{at}.{bucket} = met_1.{bucket}{agree}")
    mean = " * ".join(["n", *(f"m{at}" for at in numbers)])
    # A bucket of one row, or a single column, has only one linking and no variance.
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
    """Write the terms of the variance, one per set S of columns; see `shoal.utility.estimates`."""
    columns = range(1, n_columns + 1)
    terms = []
    for r in range(_PAIR, n_columns + 1):
        sign = "+" if r % 2 == 0 else "-"
        weight = f"* (1 / power(n, {r - 1}) {sign} 1 / power(n * (n - 1), {r - 1}))"
        for chosen in itertools.combinations(columns, r):
            factors = [f"s{at}" if at in chosen else f"m{at} * m{at}" for at in columns]
            terms.append(f"{' * '.join(factors)} {'/ (n - 1)' if r == _PAIR else weight}")
    return terms
