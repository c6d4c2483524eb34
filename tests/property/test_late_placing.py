"""A release that is counted from its plan, and placed once rows are asked for.

The slow twin is the count of the placed rows by the engine.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError, InternalError

WORK = [
    ["nurse", "care", "*"],
    ["doctor", "care", "*"],
    ["smith", "craft", "*"],
    ["baker", "craft", "*"],
]
METHODS = {
    "full domain": shoal.FullDomain(k=2, suppress=0.4),
    "full domain, t": shoal.FullDomain(t=0.5, suppress=0.2),
    "full domain, distinct": shoal.FullDomain(ell=2),
    "Mondrian": shoal.Mondrian(k=2),
    "Anatomy": shoal.Anatomy(ell=2),
    "slicing": shoal.Slicing(ell=2, columns="bucketized"),
}


@st.composite
def tables(draw):
    """Draw a small table: a number, a column with a hierarchy, an ordered one, and an illness."""
    n = draw(st.integers(2, 30))
    values = {
        "age": st.integers(20, 24),
        "work": st.sampled_from([row[0] for row in WORK]),
        "pain": st.sampled_from(["mild", "bad", None]),
        "ill": st.sampled_from(["flu", "cold", "é", None]),
    }
    columns = {name: draw(st.lists(one, min_size=n, max_size=n)) for name, one in values.items()}
    return shoal.read(
        columns,
        quasi=["age", "work", "pain"],
        sensitive="ill",
        types={"pain": ["mild", "bad"]},
        hierarchies={"work": shoal.Hierarchy.from_rows(WORK)},
    )


def plain(published):
    counted = (published.lines, published.buckets)
    return (
        [(domain.type, domain.labels()) for domain in published.domains],
        [
            value.tolist()
            for one in counted
            for value in vars(one).values()
            if isinstance(value, np.ndarray)
        ],
    )


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("Anatomy", "slicing")])
@settings(max_examples=40)
@given(table=tables())
def test_the_counts_of_a_plan_are_those_of_the_placed_rows(name, table):
    try:
        release = shoal.anonymize(table, METHODS[name], seed=1)
    except InfeasibleError:
        return
    files, number = release.files, release.making.number
    assert table.waiting_lines(number) is not None
    early = files.published(release.manifest, release.meanings)
    shown = {one: files.shown_codes(one).tolist() for one in ("age", "pain", "ill")}
    n_lines = len(table.engine.rows(files.queries["table"])["ill"])
    assert table.waiting_lines(number) is None
    late = files.published(release.manifest, release.meanings)
    assert plain(early) == plain(late)
    assert shown == {one: files.shown_codes(one).tolist() for one in shown}
    assert n_lines == release.manifest.n_rows == late.lines.n_rows


@pytest.mark.parametrize("name", ["Anatomy", "slicing"])
def test_a_release_whose_rows_are_ranked_is_placed_at_once(name):
    columns = {"age": [1, 1, 2, 2], "ill": ["flu", "cold", "flu", "cold"]}
    table = shoal.read(columns, quasi=["age"], sensitive="ill")
    release = shoal.anonymize(table, METHODS[name], seed=1)
    assert table.waiting_lines(release.making.number) is None


def test_rows_that_are_not_placed_as_counted_are_noticed():
    columns = {"age": [1, 1, 2, 2], "ill": ["flu", "cold", "flu", "cold"]}
    table = shoal.read(columns, quasi=["age"], sensitive="ill")
    release = shoal.anonymize(table, shoal.FullDomain(k=2), seed=1)
    # Somebody else in the engine takes a row away.
    table.engine.stage("coded", "SELECT * FROM coded LIMIT 3")
    with pytest.raises(InternalError, match="placed"):
        release.files.queries["table"]


@settings(max_examples=60)
@given(table=tables(), data=st.data())
def test_codes_counted_outside_the_engine_are_those_it_counts(table, data):
    names = st.lists(st.sampled_from(["age", "work", "pain", "ill"]), min_size=2, max_size=4)
    columns = data.draw(names.filter(lambda one: len(set(one)) == len(one)))
    found = table.counts(columns)
    codes = [table.code_name(column) for column in columns]
    listed = ", ".join(codes)
    fetched = table.engine.rows(
        f"SELECT {listed}, count(*) AS n FROM coded GROUP BY {listed} ORDER BY {listed}"
    )
    assert isinstance(found, Cells)
    assert found.codes.T.tolist() == [fetched[code].tolist() for code in codes]
    assert found.counts.tolist() == fetched["n"].tolist()
