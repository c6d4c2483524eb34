from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Buckets, Cells, group, lexicographic_order
from shoal.core.domain import Domain

SEX = Domain.of_texts("sex", ["F", "M"], has_missing=True)
TOWN = Domain.of_texts("town", ["Bonn", "Jena", "Ulm"])
DISEASE = Domain.of_texts("disease", ["cold", "flu", "gout"])


@pytest.fixture
def cells():
    rows = np.array([[2, 0], [0, 1], [0, 1], [1, 0], [2, 2]])
    return Cells.of_rows([SEX, TOWN], rows)


def test_cells_are_distinct_counted_and_in_order(cells):
    assert cells.codes.tolist() == [[0, 1], [1, 0], [2, 0], [2, 2]]
    assert cells.counts.tolist() == [2, 1, 1, 1]
    assert (cells.n_cells, cells.n_rows, cells.columns) == (4, 5, ("sex", "town"))


def test_selecting_reorders_columns_and_adds_equal_cells_up(cells):
    by_town = cells.select(["town", "sex"])
    assert by_town.codes.tolist() == [[0, 1], [0, 2], [1, 0], [2, 2]]
    assert cells.select(["town"]).counts.tolist() == [2, 2, 1]
    assert cells.select(["sex"]).domain("sex") is SEX


def test_the_inverse_says_which_cell_each_became(cells):
    towns, inverse = cells.select_with_inverse(["town"])
    assert towns.codes[inverse, 0].tolist() == cells.column("town").tolist()


def test_selecting_no_column_leaves_one_cell_of_all_rows(cells):
    nothing = cells.select([])
    assert (nothing.counts.tolist(), nothing.codes.shape) == ([5], (1, 0))


def test_a_table_without_rows_has_no_cells():
    empty = Cells.of_rows([SEX, TOWN], np.empty((0, 2)))
    assert (empty.n_cells, empty.n_rows) == (0, 0)
    assert empty.select(["town"]).codes.shape == (0, 1)
    assert empty.select([]).n_cells == 0


def test_an_unknown_column_is_an_error(cells):
    for ask in (cells.column, cells.domain, lambda column: cells.select([column])):
        with pytest.raises(ValueError, match="not in"):
            ask("age")


def test_group_takes_no_column_and_no_row():
    first, inverse = group([], [], 3)
    assert (first.tolist(), inverse.tolist()) == ([0], [0, 0, 0])
    first, inverse = group([np.empty(0, np.int64)], [0], 0)
    assert (first.tolist(), inverse.tolist()) == ([], [])


def test_group_refuses_columns_without_a_size():
    with pytest.raises(ValueError, match="zip"):
        group([np.array([0])], [], 1)


def test_buckets_are_sorted_and_equal_pairs_added_up():
    buckets = Buckets.of_pairs(
        np.array([1, 0, 1, 1]), np.array([2, 0, 0, 2]), DISEASE, np.array([3, 1, 4, 2])
    )
    assert buckets.bucket.tolist() == [0, 1, 1]
    assert buckets.value.tolist() == [0, 0, 2]
    assert buckets.count.tolist() == [1, 4, 5]
    assert buckets.sizes.tolist() == [1, 9]
    assert buckets.starts.tolist() == [0, 1]
    assert buckets.totals.tolist() == [5, 0, 5]
    assert (buckets.n_buckets, buckets.n_rows) == (2, 10)


def test_there_may_be_no_buckets():
    none = np.empty(0, dtype=np.int64)
    buckets = Buckets.of_pairs(none, none, DISEASE)
    assert (buckets.n_buckets, buckets.n_rows, buckets.sizes.tolist()) == (0, 0, [])
    assert buckets.totals.tolist() == [0, 0, 0]


def test_a_repr_has_counts_and_names_but_no_value(cells):
    assert repr(cells) == "Cells(sex, town: 4 cells, 5 rows)"
    buckets = Buckets.of_pairs(np.array([0]), np.array([1]), DISEASE)
    assert repr(buckets) == "Buckets(disease: 1 buckets, 1 rows)"


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=40),
    sizes=st.sampled_from([(4, 61), (4, 5000), (2**40, 2**40)]),
)
def test_group_is_the_same_by_marking_by_sorting_and_by_hand(rows, sizes):
    columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1)]
    first, inverse = group(columns, sizes, len(rows))
    distinct = sorted(set(rows))
    assert first.tolist() == [rows.index(row) for row in distinct]
    assert inverse.tolist() == [distinct.index(row) for row in rows]
    if rows:
        shuffled = [column[first[::-1]] for column in columns]
        order = lexicographic_order(shuffled, sizes)
        expected = list(range(len(first) - 1, -1, -1))
        assert expected == ([0] if order is None else order.tolist())
