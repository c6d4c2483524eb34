"""Fakes and matching buckets, counted, against listing every combination of values."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from examples import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import kernels
from shoal.core.errors import InfeasibleError
from shoal.slicing import _kernels, fake_tuples
from shoal.slicing.fake_tuples import ValuesByBucket, count_fakes, matching_buckets


@st.composite
def sliced_tables(draw, most_rows=14):
    """Draw rows of values, one a column, and a bucket for each row."""
    n_columns = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, 5), min_size=n_columns, max_size=n_columns))
    n_rows = draw(st.integers(1, most_rows))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    n_buckets = draw(st.integers(1, most_rows))
    bucket = draw(st.lists(st.integers(0, n_buckets - 1), min_size=n_rows, max_size=n_rows))
    return np.array(rows).reshape(n_rows, n_columns), np.array(bucket), sizes, n_buckets


def columns_of(rows, bucket, sizes, n_buckets):
    return [ValuesByBucket(bucket, rows[:, at], n_buckets, size) for at, size in enumerate(sizes)]


def matches_by_definition(rows, bucket, n_buckets):
    """Return, for every combination of values, how many buckets hold all of them."""
    held = [
        [set(rows[bucket == number, at].tolist()) for at in range(rows.shape[1])]
        for number in range(n_buckets)
    ]
    found = Counter()
    for values in held:
        found.update(itertools.product(*values))
    return found


def fakes_by_definition(rows, bucket, sizes, n_buckets):
    matches = matches_by_definition(rows, bucket, n_buckets)
    originals = set(map(tuple, rows.tolist()))
    return (
        Counter(matches[one] for one in originals),
        Counter(n for one, n in matches.items() if one not in originals),
    )


@settings(max_examples=500)
@given(sliced_tables())
def test_fakes_are_those_that_listing_finds(table):
    rows, _bucket, _sizes, _n_buckets = table
    originals, fakes = fakes_by_definition(*table)
    found = count_fakes(columns_of(*table), rows)
    assert dict(found.originals) == originals
    assert dict(found.fakes) == fakes
    assert found.n_fakes == fakes.total()


@pytest.mark.parametrize(("few", "most"), [(1, 1), (1, 2), (2, 3), (3, 18)])
def test_however_the_sets_of_buckets_are_counted_the_numbers_are_the_same(monkeypatch, few, most):
    """Inclusion and exclusion, and parting by column after column, take over at other sizes."""
    monkeypatch.setattr(fake_tuples, "_FEW", few)
    monkeypatch.setattr(fake_tuples, "_MOST", most)
    monkeypatch.setattr(fake_tuples, "_MOST_MEMBERS", 3)
    # Small primes: numbers have to be put together from several.
    monkeypatch.setattr(fake_tuples, "_LARGEST_MODULUS", 2**4)

    @settings(max_examples=scaled(300))
    @given(sliced_tables())
    def compare(table):
        found = count_fakes(columns_of(*table), table[0])
        assert (dict(found.originals), dict(found.fakes)) == fakes_by_definition(*table)

    compare()


@settings(max_examples=300)
@given(sliced_tables(), st.data())
def test_matching_buckets_of_any_tuples_are_counted(table, data):
    rows, bucket, sizes, n_buckets = table
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    asked = data.draw(st.lists(row, max_size=8))
    tuples = np.array(asked, dtype=np.int64).reshape(-1, len(sizes))
    matches = matches_by_definition(rows, bucket, n_buckets)
    found = matching_buckets(columns_of(*table), tuples)
    assert found.tolist() == [matches[one] for one in asked]


def test_many_tuples_are_matched_in_parts(monkeypatch):
    generator = np.random.default_rng(5)
    rows = generator.integers(0, 4, size=(200, 3))
    table = rows, generator.integers(0, 20, size=200), [4, 4, 4], 20
    whole = matching_buckets(columns_of(*table), rows)
    monkeypatch.setattr(fake_tuples, "_MOST_PAIRS", 7)
    assert matching_buckets(columns_of(*table), rows).tolist() == whole.tolist()
    assert whole.min() >= 1


def test_numbers_beyond_64_bits_are_exact():
    """Twenty columns of twenty values in two buckets that share half of each."""
    values = np.concatenate([np.arange(20), np.arange(10, 30)])
    bucket = np.repeat([0, 1], 20)
    columns = [ValuesByBucket(bucket, values, 2, 30)] * 20
    found = count_fakes(columns, np.full((1, 20), 10))
    assert dict(found.originals) == {2: 1}
    assert dict(found.fakes) == {1: 2 * 20**20 - 2 * 10**20, 2: 10**20 - 1}


def test_values_that_every_bucket_holds_are_counted_together():
    """A billion tuples, and one thing to tell apart."""
    n_buckets = 40
    bucket, value = (grid.ravel() for grid in np.indices((n_buckets, 10)))
    columns = [ValuesByBucket(bucket, value, n_buckets, 10)] * 9
    found = count_fakes(columns, np.zeros((1, 9), dtype=np.int64))
    assert dict(found.fakes) == {n_buckets: 10**9 - 1}


def test_a_tuple_that_no_bucket_holds_is_an_original_without_matches():
    column = ValuesByBucket(np.array([0]), np.array([0]), 1, 2)
    found = count_fakes([column], np.array([[1]]))
    assert (dict(found.originals), dict(found.fakes)) == ({0: 1}, {1: 1})
    assert repr(found) == "FakeTuples(1 fakes beside 1 originals)"
    assert found.to_dict()["n_fakes"] == 1


@settings(max_examples=50)
@given(sliced_tables(), st.integers(2, 2**31 - 1), st.data())
def test_the_kernel_is_the_same_compiled_and_plain(table, modulus, data):
    rows, bucket, _sizes, n_buckets = table
    columns = columns_of(*table)
    plain = kernels.load_plain("shoal.slicing._kernels")
    members = np.array(sorted(data.draw(st.sets(st.integers(0, n_buckets - 1), min_size=1))))
    members = members[:8].astype(np.int64)
    starts = np.array([0, len(members)], dtype=np.int64)
    ends = np.cumsum([0, *(len(column.by_bucket[1]) for column in columns)])
    value_starts = np.array([column.by_bucket[0] + ends[at] for at, column in enumerate(columns)])
    values = np.concatenate([column.by_bucket[1] for column in columns])
    tallies = []
    for module in (_kernels, plain):
        tally = np.zeros(10, dtype=np.int64)
        room = [np.zeros(size, dtype=np.int64) for size in (5, 5, 1 << 8, 1 << 8)]
        weight = np.array([3 % modulus], dtype=np.int64)
        module.count_in_sets(
            modulus, 0, starts, members, weight, value_starts, values, *room, tally
        )
        tallies.append(tally.tolist())
    matches = matches_by_definition(
        rows[np.isin(bucket, members)], bucket[np.isin(bucket, members)], n_buckets
    )
    expected = Counter(matches.values())
    assert tallies[0] == tallies[1] == [3 * expected[m] % modulus for m in range(10)]


def test_counting_that_takes_too_long_is_given_up():
    rows = np.random.default_rng(1).integers(0, 6, (400, 4))
    columns = columns_of(rows, np.arange(400) % 40, [6] * 4, 40)
    with pytest.raises(InfeasibleError, match="after 100 steps"):
        count_fakes(columns, rows, max_steps=100)
    assert count_fakes(columns, rows, max_steps=10**7) == count_fakes(columns, rows)
