"""Insensitive columns and spellings: every engine counts, refuses and merges alike."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest

import shoal
from shoal.core.errors import DataError
from shoal.core.schema import Schema
from shoal.engines.sql.columns import count_table
from shoal.engines.sql.table import EngineTable

N_ROWS = 120


def people():
    numbers = range(N_ROWS)
    return {
        "no": [f"n{number:03d}" for number in numbers],
        "age": [20 + number % 4 for number in numbers],
        "disease": [("flu", "gout", "mumps", "cold", None)[number % 5] for number in numbers],
        "price": [(1.5, -0.0, None)[number % 3] for number in numbers],
        "seen": [dt.date(2024, 2, 1 + number // 3 % 3) for number in numbers],
        "note": [("", None, "a", "ä")[number // 9 % 4] for number in numbers],
    }


INSENSITIVE = ("price", "seen", "note")


def staged(engine, columns, **more):
    roles = {"quasi": "age", "sensitive": "disease", "key": "no"} | more
    return EngineTable(engine, replace(engine.scan(pa.table(columns)), line=None), Schema(**roles))


def test_cells_beside_insensitive_columns_are_those_of_the_rows(engine):
    columns = people()
    table = staged(engine, columns, insensitive=INSENSITIVE)
    cells = count_table(table, ("age", "disease"))
    assert cells.columns == ("age", "disease", *INSENSITIVE)
    names = cells.columns
    rows = list(zip(*(columns[name] for name in names), strict=True))
    assert sorted(cells.counts.tolist()) == sorted(Counter(rows).values())
    for place, name in enumerate(names):
        one = Counter(columns[name])
        counted = cells.select([name]).counts.tolist()
        assert sorted(counted) == sorted(one.values()), (place, name)


def test_every_engine_refuses_the_same_columns(engine, embedded):
    messages = []
    for one in dict.fromkeys((engine, embedded)):
        table = staged(one, people(), insensitive=INSENSITIVE)
        with pytest.raises(DataError, match="'price'") as caught:
            shoal.anonymize(table, shoal.Mondrian(k=5, ell=2, diversity="frequency"), seed=1)
        messages.append(str(caught.value))
    assert len(set(messages)) == 1


SPELLINGS = ("flu", "Flu ", "flu\u200b", "gout", "GOUT", "cold")


def spelled(n_rows=N_ROWS):
    columns = people()
    del columns["price"], columns["seen"], columns["note"]
    # The three ways to write flu are equally frequent: the first by code points is taken.
    columns["disease"] = [SPELLINGS[number % 6] for number in range(n_rows)]
    columns["disease"][3] = columns["disease"][4]
    return columns


def test_spellings_of_sensitive_values_are_refused(engine):
    with pytest.raises(DataError, match="5 different texts are spellings of 2 values") as caught:
        staged(engine, spelled())
    assert "flu" not in str(caught.value).lower()


def test_distinct_spellings_are_kept(engine):
    table = staged(engine, spelled(), variants={"disease": "distinct"})
    assert set(table.domains["disease"].labels()) == set(SPELLINGS)
    assert dict(table.variants) == {"disease": "distinct"}


def test_merged_spellings_are_one_value_in_every_summary(engine, tmp_path):
    table = staged(engine, spelled(), variants={"disease": "merge"})
    assert table.domains["disease"].labels() == ["Flu ", "GOUT", "cold"]
    assert table.counts(["disease"]).counts.tolist() == [60, 40, 20]
    assert table.counts(["age", "disease"]).n_rows == N_ROWS
    rows = table.rows(["disease"], cap=1000)
    assert Counter(rows["disease"]) == {"Flu ": 60, "GOUT": 40, "cold": 20}
    release = shoal.anonymize(table, shoal.Mondrian(k=5), seed=1)
    folder = release.write(tmp_path / "release")
    lines = (folder / "table.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert Counter(line.rpartition(",")[2] for line in lines) == {
        "Flu ": 60, "GOUT": 40, "cold": 20,
    }  # fmt: skip
    bucketized = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    assert int(bucketized.to_arrow("sensitive")["count"].to_pandas().sum()) == N_ROWS
    assert shoal.verify(bucketized).notes == ()


def test_what_is_not_spelled_in_several_ways_needs_no_choice(engine):
    table = staged(engine, people() | {"disease": ["flu", "gout"] * (N_ROWS // 2)},
                   identifying=INSENSITIVE)  # fmt: skip
    assert dict(table.variants) == {}
