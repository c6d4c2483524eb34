"""The rows in which antecedents appear, against their definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import kernels
from shoal.hiding._follow_kernels import count_rules, find_members
from shoal.hiding.cells import Packed
from shoal.hiding.rules import FollowedRules, PackedRules


@st.composite
def examples(draw):
    """Draw packed codes, some of them no value that rules name, and antecedents."""
    n_columns, n_rows = draw(st.integers(1, 5)), draw(st.integers(0, 30))
    n_values = draw(st.lists(st.integers(0, 4), min_size=n_columns, max_size=n_columns))
    code = [
        draw(st.lists(st.integers(0, 2 * most + 2), min_size=n_rows, max_size=n_rows))
        for most in n_values
    ]
    one = st.tuples(*(st.integers(-1, most - 1) for most in n_values))
    some = one.filter(lambda values: max(values) >= 0)
    antecedents = draw(st.lists(some, max_size=12 if any(n_values) else 0))
    return (
        np.array(code, dtype=np.int32).reshape(n_columns, n_rows),
        np.array(n_values, dtype=np.int32),
        np.array(antecedents, dtype=np.int32).reshape(-1, n_columns),
    )


def define_members(code, antecedent):
    """Return the rows that show every value that an antecedent names."""
    named = antecedent >= 0
    return np.flatnonzero((code[named] == antecedent[named][:, np.newaxis]).all(axis=0)).tolist()


@pytest.mark.parametrize(
    "find",
    [find_members, kernels.load_plain("shoal.hiding._follow_kernels").find_members],
    ids=["as installed", "plain"],
)
@given(example=examples())
@settings(max_examples=300)
def test_members_are_the_rows_that_show_the_antecedent(find, example):
    code, n_values, antecedents = example
    start, member = find(code, n_values, antecedents)
    found = [member[low:high].tolist() for low, high in itertools.pairwise(start)]
    expected = [define_members(code, antecedent) for antecedent in antecedents]
    assert found == expected
    assert start[-1] == len(member)
    again, _ = find(code, n_values, antecedents, len(member))
    assert again.tolist() == start.tolist()
    if len(member):
        with pytest.raises(OverflowError):
            find(code, n_values, antecedents, len(member) - 1)


def define_counts(packed, followed):
    """Count the public and the hidden set of every rule, and the hits in each, row by row."""
    counts = []
    for place, antecedent in enumerate(followed.antecedent):
        rows = define_members(packed.code, antecedent)
        for rule in range(*followed.rule_start[place : place + 2]):
            column, value = followed.column[rule], followed.value[rule]
            blank, cells = packed.n_values[column] + 1, packed.code[column, rows]
            public, hidden = cells[cells < blank], cells[cells > blank] - blank - 1
            hits = (public == value).sum(), (hidden == value).sum()
            counts.append((len(public), hits[0], len(hidden), hits[1]))
    return np.array(counts, dtype=np.int64).reshape(-1, 4).T


@pytest.mark.parametrize(
    "count",
    [count_rules, kernels.load_plain("shoal.hiding._follow_kernels").count_rules],
    ids=["as installed", "plain"],
)
@given(example=examples(), blanked=st.integers(0, 4))
@settings(max_examples=200)
def test_rules_are_counted_in_the_rows_that_still_show_their_antecedent(count, example, blanked):
    code, n_values, antecedents = example
    packed = Packed(code.copy(), n_values, (), np.arange(code.shape[1]), n_values, n_values)
    names = [
        (one, column, value)
        for one in np.unique(antecedents, axis=0)
        for column in np.flatnonzero(one < 0)
        for value in range(n_values[column])
    ]
    rules = PackedRules(
        np.array([name[0] for name in names], dtype=np.int32).reshape(-1, len(code)),
        np.array([name[1:] for name in names], dtype=np.int64).reshape(-1, 2),
    )
    followed = FollowedRules.of(packed, rules, code)
    # Every fifth row loses its first cell.
    packed.code[0, blanked::5] = n_values[0] + 1
    assert count(packed, followed).tolist() == define_counts(packed, followed).tolist()
