"""The SQL that engines run, kept in files, so that every change to it shows up in review.

``SHOAL_GOLDEN=write pytest tests/engines/test_golden_sql.py`` writes the files again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import shoal
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.postgres.engine import Postgres
from shoal.engines.spark.engine import Spark
from shoal.engines.sql.table import EngineTable

GOLDEN = Path(__file__).with_name("golden")
SEED = 5
SICKNESS = ("flu", "cold", "gout", "")
PEOPLE = "no,age,sex,born,height,wave,disease\n" + "".join(
    f"p{row},{20 + 7 * row % 23},{'FM'[row % 2]},19{60 + row % 9}-03-1{row % 9},"
    f"1.{50 + row % 11},{row % 2},{SICKNESS[row * 5 % 4]}\n"
    for row in range(24)
)
"""Twenty-four people, with a column of every type and some diseases missing."""
METHODS = {
    "generalized": shoal.Mondrian(k=4),
    "bucketized": shoal.Anatomy(ell=3),
    "sliced": shoal.Slicing(ell=2, columns=[["age", "sex"], ["born", "height"], ["disease"]]),
    "suppressed": shoal.RuleHiding(private=["disease where age < 25"], delta=0.7, gamma=2),
}
TYPES = (
    *("VARCHAR", "BIGINT", "DECIMAL(10,2)", "DECIMAL(2,2)", "DOUBLE", "FLOAT"),
    *("BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
)
"""The types whose canonical texts must agree between engines."""


CLAUSES = (
    *("FROM", "JOIN", "LEFT JOIN", "CROSS JOIN", "WHERE", "GROUP BY", "HAVING", "ORDER BY"),
    *("UNION ALL", "EXCEPT"),
)
TOKEN = rf"'[^']*'|\"[^\"]*\"|\(SELECT\b|[()]|\b(?:{'|'.join(CLAUSES)})\b|\w+|\s+|[^\w\s]"


class Recorder:
    """A connection to DuckDB that writes down what it runs."""

    def __init__(self, connection):
        self._connection = connection
        self.statements = []

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, statement):
        self.statements.append(statement)
        return self._connection.execute(statement)

    def sql(self, statement):
        self.statements.append(statement)
        return self._connection.sql(statement)


def normalized(statements, folder):
    """Return every statement once, in a layout to review, without what differs between runs."""
    texts = []
    for statement in statements:
        text = statement.replace(str(folder), "FOLDER")
        text = re.sub(r"/[^' ]*/shoal-[a-z0-9_]{8}(?=/)", "PRIVATE", text)
        text = re.sub(r"\.new-[0-9a-f]+", ".new", text)
        if not text.startswith("SET memory_limit"):
            texts.append(laid_out(text) + ";\n")
    return "\n".join(dict.fromkeys(texts))


def laid_out(statement):
    """Begin a line for every clause of a query, indented by how deeply the query is nested."""
    found, is_query = "", [True]
    for token in re.findall(TOKEN, statement):
        if token.startswith("("):
            is_query.append(token == "(SELECT")
        elif token == ")":
            is_query.pop()
        if is_query[-1] and token in CLAUSES:
            found = found.rstrip(" ") + "\n" + "  " * sum(is_query)
        found += token
    return found


def agree(name, found):
    """Compare a text with a golden file, or write the file."""
    path = GOLDEN / name
    if os.environ.get("SHOAL_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert found == expected, (
        f"The SQL differs from {path.name}. If that is meant, run "
        "SHOAL_GOLDEN=write pytest tests/engines/test_golden_sql.py and review the difference."
    )


@pytest.mark.parametrize("shape", METHODS)
def test_duckdb_runs_the_sql_of_the_golden_file(shape, tmp_path):
    source = tmp_path / "people.csv"
    source.write_text(PEOPLE)
    insensitive = ["wave"] if shape in ("generalized", "bucketized") else []
    schema = Schema(
        key="no",
        quasi=["age", "sex", "born", "height"],
        sensitive="disease",
        insensitive=insensitive,
        meant=[insensitive] if insensitive else (),
        identifying=[] if insensitive else ["wave"],
    )
    engine = DuckDB(memory="1GB")
    recorder = engine._connection = Recorder(engine._connection)
    release = shoal.anonymize(
        EngineTable(engine, engine.scan(source), schema), METHODS[shape], seed=SEED
    )
    assert str(METHODS[shape].shape) == shape
    release.write(tmp_path / "release", accept_risk="a test")
    engine.close()
    found = normalized(recorder.statements, tmp_path)
    secret = Secret.from_seed(SEED)
    keys = [secret.derive(label).hex()[:32] for label in ("rank", "redraw", "line")]
    assert not [key for key in keys if key in found]
    agree(f"duckdb-{shape}.sql", found)


def unconnected(kind):
    """Return an engine that was never opened: writing expressions takes no server."""
    engine = kind.__new__(kind)
    engine._can_reflect = True
    return engine


@pytest.mark.parametrize("kind", [DuckDB, Postgres, Spark])
def test_engines_write_the_expressions_of_the_golden_file(kind):
    engine = unconnected(kind)
    written = {
        "quote": engine.quote("a column"),
        "has_nul": engine.has_nul("x"),
        "hash": engine.hash("x"),
        "hash_number": engine.hash_number("x"),
        **{
            f"cast {name}": engine.cast("x", name)
            for name in ("VARCHAR", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN")
        },
        **{f"text {name}": engine.text("x", name) for name in TYPES},
    }
    parted = {name: re.sub(r" (?=WHEN |ELSE )", "\n    ", text) for name, text in written.items()}
    found = "\n".join(f"-- {name}\n{text};\n" for name, text in parted.items())
    agree(f"{kind.__name__.lower()}-expressions.sql", found)
