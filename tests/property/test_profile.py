"""What a profile counts, against counting row by row."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.errors import SchemaError
from shoal.core.schema import Schema
from shoal.engines.csv_files import unusable_names
from shoal.workflow import combinations
from shoal.workflow import profile as profiling
from shoal.workflow.config import configure
from shoal.workflow.profile import profile

_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: not unusable_names([name])
)
_VALUES = st.none() | st.integers(0, 3) | st.sampled_from(["ä", "🐟", "", "01", " b", "l\nm"])


@st.composite
def tables(draw, max_columns=5):
    n_rows = draw(st.integers(1, 12))
    names = draw(
        st.lists(_NAMES, min_size=1, max_size=max_columns, unique_by=lambda name: name.lower())
    )
    return {
        name: [
            None if value is None else str(value)
            for value in draw(st.lists(_VALUES, min_size=n_rows, max_size=n_rows))
        ]
        for name in names
    }


def count_unique(table, columns):
    rows = Counter(zip(*(table[column] for column in columns), strict=True))
    return sum(count == 1 for count in rows.values())


def has_enough(table, columns):
    """Return whether some of the columns alone single out more than half of the rows."""
    n_rows = len(next(iter(table.values())))
    return any(
        2 * count_unique(table, part) > n_rows
        for size in range(1, len(columns))
        for part in itertools.combinations(columns, size)
    )


@given(tables())
@settings(max_examples=80)
def test_every_column_is_counted_as_row_by_row(table):
    found = profile(table)
    for column in found.columns:
        values = table[column.name]
        sizes = Counter(values)
        assert column.n_rows == len(values)
        assert column.n_missing == sizes[None]
        assert column.n_distinct == len(set(values) - {None})
        assert column.n_unique == count_unique(table, [column.name])
        assert (column.largest, column.smallest) == (max(sizes.values()), min(sizes.values()))
        assert column.is_key == (len(set(values)) == len(values) and None not in values)


@given(tables())
@settings(max_examples=80)
def test_every_single_column_pair_and_triple_is_counted_as_row_by_row(table):
    found = profile(table)
    considered = [
        column.name
        for column in found.columns
        if not column.is_identifier_like and len(set(table[column.name])) > 1
    ]
    counted = {one.columns: one.n_unique for one in found.combinations.counted}
    assert counted == {
        columns: count_unique(table, columns)
        for size in (1, 2, 3)
        for columns in itertools.combinations(considered, size)
        if not has_enough(table, columns)
    }
    shares = [(len(one.columns), -one.n_unique) for one in found.combinations.counted]
    assert shares == sorted(shares)
    assert not found.combinations.left_out


@given(tables())
@settings(max_examples=80)
def test_the_curve_adds_the_column_that_singles_out_most(table):
    found = profile(table).combinations
    considered = {one.columns[0] for one in found.counted if len(one.columns) == 1}
    for one in found.curve:
        assert one.n_unique == count_unique(table, one.columns)
        before = one.columns[:-1]
        reachable = [count_unique(table, (*before, c)) for c in considered - set(before)]
        assert one.n_unique == max(reachable)
    if considered:
        n_most = max(count_unique(table, [*considered]), 0)
        assert (n_most == 0) == (found.curve == ())


@given(tables(), st.sampled_from([0.0, 0.05, 0.5]))
@settings(max_examples=80)
def test_no_smaller_combination_is_above_the_threshold(table, share):
    found = profile(table).combinations
    considered = [one.columns[0] for one in found.counted if len(one.columns) == 1]
    n_rows = len(next(iter(table.values())))
    smallest = found.smallest_above(share)
    above = [
        columns
        for size in (1, 2, 3)
        for columns in itertools.combinations(considered, size)
        if count_unique(table, columns) > share * n_rows
    ]
    if above:
        assert len(smallest.columns) == len(above[0])
        assert count_unique(table, smallest.columns) > share * n_rows
    else:
        assert smallest is None or len(smallest.columns) > 3


@given(tables(max_columns=7))
@settings(max_examples=40)
def test_a_small_budget_counts_less_but_nothing_wrong(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combinations, "_MOST_IN_MEMORY", 12)
        found = profile(table)
    for one in (*found.combinations.counted, *found.combinations.curve):
        assert one.n_unique == count_unique(table, one.columns)
    considered = [one.columns[0] for one in found.combinations.counted if len(one.columns) == 1]
    wanted = {
        columns
        for size in (1, 2, 3)
        for columns in itertools.combinations(considered, size)
        if not has_enough(table, columns)
    }
    counted = {one.columns for one in found.combinations.counted}
    assert counted >= wanted or found.combinations.left_out


@given(tables())
@settings(max_examples=40)
def test_an_engine_counts_as_memory_does(table):
    in_memory = profile(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiling, "MOST_CODES", 0)
        in_engine = profile(table)
    assert in_engine.combinations == in_memory.combinations
    assert in_engine.correlations is None


@given(tables())
@settings(max_examples=80)
def test_a_draft_parses_names_every_column_and_is_refused_until_roles_are_given(
    tmp_path_factory, table
):
    found = profile(table)
    text = found.draft()
    given_roles = tomllib.loads(text)["columns"]
    assert set(given_roles["identifying"]) == set(found.identifier_like)
    configuration = configure(tomllib.loads(text), base=tmp_path_factory.getbasetemp())
    schema = configuration.schema()
    if len(found.identifier_like) < len(table):
        with pytest.raises(SchemaError, match="without a role"):
            schema.check_columns(list(table))
    # What the draft comments out is what a steward uncomments.
    uncommented = text.replace("\n    # ", "\n    ")
    roles = tomllib.loads(uncommented)["columns"]
    assert [*roles["identifying"], *roles["quasi"]] == [
        *found.identifier_like,
        *(name for name in table if name not in found.identifier_like),
    ]
    Schema(quasi=roles["quasi"], identifying=roles["identifying"]).check_columns(list(table))


@given(tables())
@settings(max_examples=60)
def test_no_value_of_the_table_is_shown(table):
    marked = {
        name: [None if value is None else f"secret{value}" for value in values]
        for name, values in table.items()
    }
    found = profile(marked)
    shown = repr(found) + str(found.to_dict()) + found.draft()
    shown += str([(section.title, section.rows) for section in found.sections()])
    assert "secret" not in shown
