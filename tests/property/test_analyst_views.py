"""The SQL of the kit against its Python, on random releases, in DuckDB and Postgres."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.analyse import Analyst, Linked, LinkedColumn
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.utility.views import ColumnTable, count_query, expected_view, sum_query, views_text

ENGINES = ["duckdb", "postgres"]
TEXTS = ['a"b', "it's", "ü"]
# Names that a careless query would trip over.
NAMES = ["age", "Weight", "rows", 'say "so"', "n"]


def domain_of(name):
    if name == "age":
        numbers = [20.0, 30.0, 40.0]
        texts = ["20", "30", "40"]
        return Domain.of_texts(
            name, texts, type=ColumnType.INTEGER, numbers=numbers, has_missing=True
        )
    return Domain.of_texts(name, TEXTS, has_missing=True)


@st.composite
def releases(draw, most_columns=4):
    """Return the attributes of each column, and the bucket and codes of each row."""
    n_columns = draw(st.integers(1, most_columns))
    columns = [NAMES[at::n_columns] for at in range(n_columns)]
    n_rows = draw(st.integers(1, 9))
    rows = st.lists(st.tuples(*[st.integers(0, 3)] * len(NAMES)), min_size=n_rows, max_size=n_rows)
    bucket = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    codes = np.array(draw(rows))
    return columns, np.array(bucket), codes


def linked_of(columns, bucket, codes):
    ones = np.ones(len(bucket), dtype=np.int64)
    return Linked.of_columns(
        [
            LinkedColumn(
                tuple(map(domain_of, column)),
                bucket,
                codes[:, [NAMES.index(name) for name in column]],
                ones,
            )
            for column in columns
        ]
    )


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def tables_of(columns):
    """Describe the tables of a release: two are those of a bucketized one."""
    if len(columns) == 2:
        quasi, sensitive = map(tuple, columns)
        return [ColumnTable("quasi", quasi, has_count=False), ColumnTable("sensitive", sensitive)]
    return [ColumnTable(f"column_{at}", tuple(names)) for at, names in enumerate(columns, start=1)]


def load(execute, mark, columns, bucket, codes):
    """Make the tables of a release, one line an entry; their order says nothing."""
    for table in tables_of(columns):
        places = [NAMES.index(name) for name in table.attributes]
        kinds = ", ".join(
            f"{quoted(name)} {'BIGINT' if name == 'age' else 'VARCHAR'}"
            for name in table.attributes
        )
        count = ', "count" BIGINT' if table.has_count else ""
        execute(f"CREATE TEMPORARY TABLE {table.name} (bucket BIGINT, {kinds}{count})")
        entries = [
            (int(number), *(value_of(NAMES[place], row[place]) for place in places))
            for number, row in zip(bucket, codes, strict=True)
        ]
        listed = entries
        if table.has_count:
            listed = [(*entry, entries.count(entry)) for entry in sorted(set(entries), key=repr)]
        for entry in listed:
            execute(f"INSERT INTO {table.name} VALUES ({', '.join([mark] * len(entry))})", entry)


def value_of(name, code):
    if code == 3:
        return None
    return [20, 30, 40][code] if name == "age" else TEXTS[code]


CONDITIONS = {
    "age": [((20, 40), "age >= 20 AND age < 40"), (None, "age IS NULL")],
    "Weight": [(["it's", "ü"], "\"Weight\" IN ('it''s', 'ü')")],
    "rows": [("ü", "\"rows\" = 'ü'"), (None, '"rows" IS NULL')],
    'say "so"': [('a"b', '"say ""so""" = \'a"b\'')],
    "n": [([None, "ü"], "(n IS NULL OR n = 'ü')")],
}


@st.composite
def conditions(draw):
    chosen = draw(st.sets(st.sampled_from(NAMES)))
    return {name: draw(st.sampled_from(CONDITIONS[name])) for name in sorted(chosen)}


def check(release, chosen, execute, mark):
    columns, bucket, codes = release
    analyst = Analyst(linked_of(*release))
    where = {name: given for name, (given, _) in chosen.items()}
    condition = " AND ".join(text for _, text in chosen.values()) or "TRUE"
    load(execute, mark, columns, bucket, codes)
    tables = tables_of(columns)
    execute(views_text(tables))
    # `Weight` is taken, by an attribute that differs in case only.
    asked = 'SELECT coalesce(sum("weight_"), 0), sum("weight_" * age) FROM expected'
    ((counted, total),) = execute(f"{asked} WHERE {condition}")
    estimate = analyst.count(where)
    assert counted == pytest.approx(estimate.value, abs=1e-9)
    assert (total or 0) == pytest.approx(analyst.sum("age", where).value, abs=1e-9)
    by_table = {
        table.name: " AND ".join(chosen[name][1] for name in table.attributes if name in chosen)
        for table in tables
    }
    given = {name: text for name, text in by_table.items() if text}
    ((expected, error),) = execute(count_query(tables, given))
    assert expected == pytest.approx(estimate.value, abs=1e-9)
    assert error == pytest.approx(estimate.standard_error, abs=1e-7)
    estimate = analyst.sum("age", where)
    ((expected, error),) = execute(sum_query(tables, "age", given))
    assert expected == pytest.approx(estimate.value, abs=1e-9)
    assert error == pytest.approx(estimate.standard_error, abs=1e-7)


@contextlib.contextmanager
def connected(engine, request):
    """Yield a function that executes a statement and returns all rows, and its parameter mark."""
    if engine == "duckdb":
        with duckdb.connect() as connection:
            yield executor(connection, "?"), "?"
        return
    import psycopg

    address = request.getfixturevalue("postgres_server").address()
    with psycopg.connect(address) as connection:
        yield executor(connection, "%s"), "%s"
        connection.rollback()


def executor(connection, mark):
    def execute(statement, values=()):
        # Without parameters, Psycopg leaves percent signs alone.
        found = connection.execute(statement, list(values) or None)
        return found.fetchall() if found.description else None

    return execute


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(release=releases(), chosen=conditions())
def test_the_sql_gives_what_python_gives(request, engine, release, chosen):
    with connected(engine, request) as (execute, mark):
        check(release, chosen, execute, mark)


def test_a_view_of_some_columns_answers_queries_about_them():
    release = (
        [["age"], ["rows"], ["n"]],
        np.array([0, 0, 0, 1, 1]),
        np.array([[0, 0, 1, 0, 2], [1, 0, 2, 0, 2], [1, 0, 1, 0, 3], [2, 0, 0, 0, 1], [0] * 5]),
    )
    with duckdb.connect() as connection:
        load(lambda text, values=(): connection.execute(text, list(values)), "?", *release)
        first, _, third = tables_of(release[0])
        connection.execute(expected_view([first, third], "pair"))
        (found,) = connection.execute(
            "SELECT sum(weight) FROM pair WHERE age = 30 AND n = 'ü'"
        ).fetchone()
    assert found == pytest.approx(Analyst(linked_of(*release)).count({"age": 30, "n": "ü"}).value)
    assert found == pytest.approx(4 / 3)


def test_tables_and_attributes_that_are_not_there_are_refused():
    tables = tables_of([["age"], ["disease"]])
    with pytest.raises(ParameterError, match="1 conditions"):
        count_query(tables, {"column_1": "age > 3"})
    with pytest.raises(ParameterError, match="'height'"):
        sum_query(tables, "height", {})
    with pytest.raises(ParameterError, match="at least one table"):
        expected_view([])
    ring = tables_of([["a", "b"], ["b", "c"], ["c", "a"]])
    with pytest.raises(ParameterError, match="ring"):
        expected_view(ring)


SHARING = ["a", "n", "rows", "d"]
SHARED_ROWS = st.lists(
    st.tuples(*[st.sampled_from(["x", "y", None])] * len(SHARING)), min_size=1, max_size=5
)


def load_sharing(execute, mark, rows, layout):
    """Make tables of one bucket, of columns that may share attributes, and describe them."""
    tables = tables_of([[SHARING[place] for place in places] for places in layout])
    for table, places in zip(tables, layout, strict=True):
        kinds = ", ".join(f"{quoted(name)} VARCHAR" for name in table.attributes)
        execute(f'CREATE TEMPORARY TABLE {table.name} (bucket BIGINT, {kinds}, "count" BIGINT)')
        for entry, count in Counter(tuple(row[at] for at in places) for row in rows).items():
            marks = ", ".join([mark] * (len(entry) + 2))
            execute(f"INSERT INTO {table.name} VALUES ({marks})", [1, *entry, count])
    return tables


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=SHARED_ROWS,
    layout=st.sampled_from(
        [[[0, 1], [1, 2], [3]], [[0, 1], [1, 2], [2, 3]], [[0], [1, 3], [3, 2]]]
    ),
)
def test_columns_that_share_some_attributes_have_the_weights_of_all_linkings(
    request, engine, rows, layout
):
    with connected(engine, request) as (execute, mark):
        tables = load_sharing(execute, mark, rows, layout)
        execute(expected_view(tables).replace("OR REPLACE VIEW", "TEMPORARY VIEW"))
        listed = ", ".join(map(quoted, SHARING))
        found = execute(f'SELECT {listed}, sum("weight") FROM expected GROUP BY {listed}')
    expected = mean_over_linkings(rows, layout)
    assert {entry[:-1]: entry[-1] for entry in found} == pytest.approx(
        {entry: float(mean) for entry, mean in expected.items()}
    )


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(*[st.sampled_from(["x", None])] * 4), min_size=1, max_size=4),
    named=st.sets(st.integers(1, 3), min_size=1),
)
def test_counts_of_columns_that_share_an_attribute_are_those_of_all_linkings(
    request, engine, rows, named
):
    layout = [[0, 1], [0, 2], [0, 3]]
    conditions = {f"column_{at}": f"{quoted(SHARING[at])} = 'x'" for at in sorted(named)}
    with connected(engine, request) as (execute, mark):
        tables = load_sharing(execute, mark, rows, layout)
        ((expected, error),) = execute(count_query(tables, conditions))
    counts = [
        sum(all(row[at] == "x" for at in named) for row in linked)
        for linked in all_linkings(rows, layout)
    ]
    assert expected == pytest.approx(np.mean(counts))
    assert error == pytest.approx(np.std(counts), abs=1e-9)


def all_linkings(rows, layout):
    """Yield the rows of every linking of columns that agree where they share attributes."""
    columns = [[{at: row[at] for at in places} for row in rows] for places in layout]
    for orders in itertools.product(*map(itertools.permutations, columns[1:])):
        linked = [{} for _ in rows]
        agree = True
        for column in (columns[0], *orders):
            for row, entry in zip(linked, column, strict=True):
                agree = agree and all(row.get(at, value) == value for at, value in entry.items())
                row.update(entry)
        if agree:
            yield linked


def mean_over_linkings(rows, layout):
    """Return how often each combination occurs, on average over all linkings."""
    total, n_linkings = Counter(), 0
    for linked in all_linkings(rows, layout):
        n_linkings += 1
        total.update(tuple(row[at] for at in range(len(SHARING))) for row in linked)
    return {entry: Fraction(count, n_linkings) for entry, count in total.items()}
