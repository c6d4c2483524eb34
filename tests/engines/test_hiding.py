"""Hiding single cells: every engine gives the rows, and the same cells are blanked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import ParameterError
from shoal.core.private_cells import PrivateCells
from shoal.core.schema import Schema
from shoal.engines.sql.table import EngineTable
from shoal.release.verify import Status
from shoal.workflow import anonymize as anonymizing

N_ROWS = 160
CUT = {"age": {"bins": 4}}
PRIVATE = {
    "filter": ["salary where age < 30 or objects", "title where age is null"],
    "list": [(f"ü{row}", "salary") for row in range(0, 60, 2)],
}


def people():
    generator = np.random.default_rng(4)
    title = generator.integers(0, 4, N_ROWS)
    return pa.table(
        {
            "no": [f"ü{row}" for row in generator.permutation(N_ROWS)],
            "title": [["Köchin", "Wirt", "", None][code] for code in title],
            "salary": [f"level {code}" for code in title],
            "age": pa.array([None, *generator.integers(20, 60, N_ROWS - 1).tolist()]),
            "objects": (generator.random(N_ROWS) < 0.1).tolist(),
        }
    )


def staged(engine, key):
    """Stage the people by key, or by what is in the whole row: then some rows are equal."""
    columns = people()
    if key is None:
        columns = pa.concat_tables([columns, columns.slice(0, 9)])
    scan = replace(engine.scan(columns), line=None)
    schema = Schema(
        quasi=["title", "age"], sensitive="salary", identifying=["no", "objects"], key=key
    )
    return EngineTable(engine, scan, schema)


def published(engine, key, private, folder):
    table = staged(engine, key)
    method = shoal.RuleHiding(private=PRIVATE[private], gamma=3, discretise=CUT)
    release = shoal.anonymize(table, method, seed=5)
    assert shoal.verify(release).status is Status.VERIFIED
    release.write(folder, accept_risk="a test")
    internal = folder.with_name(folder.name + ".internal")
    assert shoal.verify(folder, internal=internal).status is Status.VERIFIED
    return (folder / "table.csv").read_bytes()


@pytest.mark.parametrize(
    ("key", "private"),
    [("no", "filter"), ("no", "list"), (None, "filter")],
)
def test_every_engine_hides_the_same_cells(engine, embedded, tmp_path, key, private):
    expected = published(embedded, key, private, tmp_path / "expected")
    assert published(engine, key, private, tmp_path / "found") == expected
    assert expected.count(b"*") > 20


def test_every_engine_draws_the_same_rows(engine, embedded):
    drawn = staged(engine, "no").sampled_codes(60, b"a key")
    expected = staged(embedded, "no").sampled_codes(60, b"a key")
    assert sorted(drawn.keys) == sorted(expected.keys)
    assert 40 < drawn.n_rows < 80
    rows = staged(engine, "no").row_codes(N_ROWS)
    of_key = dict(zip(rows.keys, rows.codes.tolist(), strict=True))
    assert [of_key[key] for key in drawn.keys] == drawn.codes.tolist()
    other = staged(engine, "no").sampled_codes(60, b"another")
    assert sorted(other.keys) != sorted(drawn.keys)
    assert staged(engine, "no").sampled_codes(N_ROWS, b"a key").n_rows == N_ROWS


def test_cells_by_position_need_lines(engine):
    table = staged(engine, "no")
    with pytest.raises(ParameterError, match="rows of a database have no position"):
        table.marked(PrivateCells.of(np.ones((N_ROWS, 5), dtype=bool)), N_ROWS)


def test_cells_by_key_need_a_key(engine):
    table = staged(engine, None)
    with pytest.raises(ParameterError, match="has no key column"):
        table.marked(PrivateCells.of([("ü1", "salary")]), 2 * N_ROWS)


def test_more_rows_than_fit_are_refused_on_every_engine(engine, monkeypatch):
    monkeypatch.setattr(anonymizing, "MOST_ROWS", N_ROWS - 1)
    table = staged(engine, "no")
    with pytest.raises(ParameterError, match=f"has {N_ROWS} rows; work row by row"):
        shoal.anonymize(table, shoal.RuleHiding(private="salary where age < 30"))
