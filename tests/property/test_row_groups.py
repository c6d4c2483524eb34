"""Rows that agree in some columns, against slow twins that go through people one by one."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import kernels
from shoal.locating import row_groups
from shoal.locating.row_groups import CodedColumns

NAMES = ("a", "b", "c")


@st.composite
def tables(draw):
    most = draw(st.sampled_from([0, 1, 3, 90]))
    row = st.tuples(*[st.integers(0, most)] * len(NAMES), st.sampled_from([1, 1, 1, 2, 5]))
    return draw(st.lists(row, min_size=1, max_size=80))


def coded(rows):
    columns = np.array(rows, dtype=np.int64).T
    codes = {
        name: np.ascontiguousarray(column, dtype=np.int32)
        for name, column in zip(NAMES, columns[:-1], strict=True)
    }
    n_values = {name: int(column.max()) + 1 for name, column in codes.items()}
    return CodedColumns(codes, n_values, np.ascontiguousarray(columns[-1]))


def agreeing(rows, columns):
    """Return the places of rows, by their values in some columns."""
    found = defaultdict(list)
    for place, row in enumerate(rows):
        found[tuple(row[NAMES.index(name)] for name in columns)].append(place)
    return found


def n_people(rows, places):
    return sum(rows[place][-1] for place in places)


def slow_groups(rows, columns):
    groups = agreeing(rows, columns).values()
    return sorted(sorted(places) for places in groups if n_people(rows, places) > 1)


def slow_alone(rows, columns):
    return sum(n_people(rows, places) == 1 for places in agreeing(rows, columns).values())


chosen = st.permutations(NAMES).flatmap(
    lambda names: st.integers(0, len(names)).map(lambda number: names[:number])
)


@given(tables(), chosen)
@settings(max_examples=300)
def test_groups_are_the_rows_that_agree(rows, columns):
    found = coded(rows).group(columns)
    groups = [
        sorted(found.rows[begin:end].tolist())
        for begin, end in zip(found.starts, found.starts[1:], strict=False)
        if end > begin
    ]
    assert sorted(groups) == slow_groups(rows, columns)
    assert found.n_alone == slow_alone(rows, columns)


@given(tables(), chosen, st.sampled_from(NAMES))
@settings(max_examples=300)
def test_one_more_column_leaves_as_many_alone_as_grouping_by_it(rows, columns, last):
    found = coded(rows).group(columns).count_alone_with(last)
    assert found == slow_alone(rows, [*columns, last])


@given(tables(), chosen, st.sampled_from(NAMES), st.integers(0, 40))
@settings(max_examples=300)
def test_the_most_frequent_value_of_a_group_is_right_for_those_who_have_it(
    rows, columns, target, most_wrong
):
    groups, place = slow_groups(rows, columns), NAMES.index(target)
    frequencies = []
    for group in groups:
        counted = Counter()
        for number in group:
            counted[rows[number][place]] += rows[number][-1]
        frequencies.append(counted)
    right = sum(max(counted.values()) for counted in frequencies)
    wrong = sum(sum(counted.values()) for counted in frequencies) - right
    found = coded(rows).group(columns)
    assert found.count_right(target, most_wrong) == (None if wrong > most_wrong else right)
    assert found.count_usual(target) == max(sum(frequencies, Counter()).values(), default=0)
    # Nothing of one question is left for the next.
    assert found.count_right(target, wrong) == right


def test_the_kernels_count_the_same_as_plain_python(monkeypatch):
    generator = np.random.default_rng(3)
    rows = [(*generator.integers(0, 4, 3).tolist(), 1) for _ in range(60)]
    fast = coded(rows).group(["a", "b"])
    monkeypatch.setattr(row_groups, "_kernels", kernels.load_plain("shoal.locating._kernels"))
    plain = coded(rows).group(["a", "b"])
    assert plain.rows.tolist() == fast.rows.tolist()
    assert plain.count_alone_with("c") == fast.count_alone_with("c")
    assert plain.count_right("c", 60) == fast.count_right("c", 60)
